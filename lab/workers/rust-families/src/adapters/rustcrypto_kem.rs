//! RustCrypto's `ml-kem`. Its key objects hold what the keys' bytes do, and derive A-hat in each call.

#[allow(deprecated)] // The lab's inputs need not have the seed, the form that it prefers.
use ml_kem::ExpandedKeyEncoding;
use ml_kem::{B32, Decapsulate, DecapsulationKey, EncapsulationKey, KeyExport, Seed};
use ml_kem::{MlKem512, MlKem768, MlKem1024};

use crate::build_info;
use mldsa_worker_rust::adapter::{
    Family, KEM, Output, Prepared, Scheme, Variant, describe, job, ml_kem_sets,
};
use mldsa_worker_rust::protocol::Fields;

const LENGTH: &str = "a key of another length than the set's";

pub fn variants() -> Vec<Variant> {
    vec![Variant {
        backend: "portable",
        family: Family::MlKem,
        operations: KEM,
        context: false,
        note: "crate ml-kem; the ordinary key objects; m is handed over by the feature hazmat"
            .into(),
        schemes: ml_kem_sets(RustCrypto512, RustCrypto768, RustCrypto1024),
        ..Variant::new("rustcrypto-ml-kem", build_info::ML_KEM)
    }]
}

macro_rules! scheme {
    ($name:ident, $set:ident) => {
        struct $name;

        impl Scheme for $name {
            #[allow(deprecated)]
            fn keygen(&self, input: &Fields) -> Prepared {
                let seed = Seed::from(input.kem_seed()?);
                job(
                    move || {
                        let private = DecapsulationKey::<$set>::from_seed(seed);
                        let public = private.encapsulation_key().to_bytes();
                        Ok::<_, ()>((private, public))
                    },
                    |(private, public)| Output::key_pair(public, private.to_expanded_bytes()),
                )
            }

            fn encaps(&self, input: &Fields) -> Prepared {
                let bytes = input.pk()?.try_into().map_err(|_| LENGTH)?;
                let key =
                    EncapsulationKey::<$set>::new(&bytes).map_err(|error| describe(&error))?;
                let m = B32::from(input.rnd()?);
                job(
                    move || Ok::<_, ()>(key.encapsulate_deterministic(&m)),
                    |(ciphertext, secret)| Output::encapsulated(ciphertext, secret),
                )
            }

            #[allow(deprecated)]
            fn decaps(&self, input: &Fields) -> Prepared {
                let bytes = input.sk()?.try_into().map_err(|_| LENGTH)?;
                let key = DecapsulationKey::<$set>::from_expanded_bytes(&bytes)
                    .map_err(|error| describe(&error))?;
                let ciphertext = input.ciphertext()?;
                job(move || key.decapsulate_slice(&ciphertext), Output::bytes)
            }
        }
    };
}

scheme!(RustCrypto512, MlKem512);
scheme!(RustCrypto768, MlKem768);
scheme!(RustCrypto1024, MlKem1024);
