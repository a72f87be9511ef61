//! The crate `fips204`. Its key objects hold tr and the NTT forms of s1, s2, t0 and t1, but not
//! A-hat: the expanded variant prepares them, the compact variant builds them in the timed call.

use fips204::traits::{KeyGen, SerDes, Signer, Verifier};
use fips204::{ml_dsa_44, ml_dsa_65, ml_dsa_87};

use crate::adapter::{
    Key, Output, Prepared, Scheme, TIMED, Variant, WITH_KEY, job, ml_dsa_sets, refused, shared,
    verdict,
};
use crate::build_info;
use crate::protocol::Fields;

pub fn variants() -> Vec<Variant> {
    let compact = variant::<false>(
        "signing and verifying build the key object, which caches tr and NTT forms but not A-hat, \
         from the key bytes in the timed call",
    );
    let expanded = variant::<true>(
        "the library's ordinary key objects: tr and the NTT forms of s1, s2, t0 and t1 are outside \
         the timed call, A-hat is inside it",
    );
    vec![compact, expanded]
}

fn variant<const EXPANDED: bool>(note: &str) -> Variant {
    Variant {
        backend: "portable",
        key: if EXPANDED {
            Key::Expanded
        } else {
            Key::Compact
        },
        operations: if EXPANDED { WITH_KEY } else { TIMED },
        note: note.into(),
        schemes: ml_dsa_sets(Set44::<EXPANDED>, Set65::<EXPANDED>, Set87::<EXPANDED>),
        ..Variant::new("fips204", build_info::FIPS204)
    }
}

macro_rules! scheme {
    ($name:ident, $set:ident) => {
        struct $name<const EXPANDED: bool>;

        impl<const EXPANDED: bool> Scheme for $name<EXPANDED> {
            fn keygen(&self, input: &Fields) -> Prepared {
                let seed = input.seed()?;
                job(
                    move || {
                        let (pk, sk) = $set::KG::keygen_from_seed(&seed);
                        Ok::<_, ()>((pk.into_bytes(), sk))
                    },
                    |(pk, sk)| Output::key_pair(pk, sk.into_bytes()),
                )
            }

            fn sign(&self, input: &Fields) -> Prepared {
                let bytes: [u8; $set::SK_LEN] = input
                    .sk()?
                    .try_into()
                    .map_err(|_| format!("sk must be {} bytes", $set::SK_LEN))?;
                let rnd = input.rnd()?;
                let (message, context) = (input.message()?, input.context()?);
                let sign =
                    move |key: &$set::PrivateKey| key.try_sign_with_seed(&rnd, &message, &context);
                if EXPANDED {
                    let key = shared(bytes.to_vec(), || {
                        $set::PrivateKey::try_from_bytes(bytes).map_err(str::to_owned)
                    })?;
                    job(move || sign(&key), Output::bytes)
                } else {
                    job(
                        move || $set::PrivateKey::try_from_bytes(bytes).and_then(|key| sign(&key)),
                        Output::bytes,
                    )
                }
            }

            fn verify(&self, input: &Fields) -> Prepared {
                let Ok(bytes) = <[u8; $set::PK_LEN]>::try_from(input.pk()?) else {
                    return refused();
                };
                let (message, context) = (input.message()?, input.context()?);
                let signature = input.signature()?;
                let verify = move |key: &$set::PublicKey| {
                    <&[u8; $set::SIG_LEN]>::try_from(&signature[..])
                        .is_ok_and(|parsed| key.verify(&message, parsed, &context))
                };
                if EXPANDED {
                    let read = || $set::PublicKey::try_from_bytes(bytes).map_err(str::to_owned);
                    let Ok(key) = shared(bytes.to_vec(), read) else {
                        return refused();
                    };
                    verdict(move || verify(&key))
                } else {
                    verdict(move || {
                        $set::PublicKey::try_from_bytes(bytes).is_ok_and(|key| verify(&key))
                    })
                }
            }
        }
    };
}

scheme!(Set44, ml_dsa_44);
scheme!(Set65, ml_dsa_65);
scheme!(Set87, ml_dsa_87);
