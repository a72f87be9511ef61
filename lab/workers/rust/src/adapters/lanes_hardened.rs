//! mldsa-lanes' hardened mode, on the backend that it picks. Checking a key that is made or read is a part
//! of key generation and outside the timed call elsewhere, as with the ordinary keys.

use std::marker::PhantomData;

use mldsa_lanes::hardened::{Error, SigningKey, VerifyingKey};
use mldsa_lanes::{Backend, MlDsa44, MlDsa65, MlDsa87, ParameterSet, SignOptions, Signature};

use super::lanes_batch::pure;
use crate::adapter::{Output, Prepared, Rnd, Scheme, Variant, job, ml_dsa_sets, refused, verdict};
use crate::build_info;
use crate::protocol::Fields;

pub fn variants() -> Vec<Variant> {
    let backend = Backend::detect();
    vec![Variant {
        backend: build_info::backend_name(backend.name(), build_info::rust_allowed),
        // A given rnd would be `hazmat`'s.
        rnd: Rnd::Zero,
        note: "signatures made twice and verified, verification twice; the key's digest each time"
            .into(),
        schemes: ml_dsa_sets(
            Hardened::<MlDsa44>(PhantomData),
            Hardened::<MlDsa65>(PhantomData),
            Hardened::<MlDsa87>(PhantomData),
        ),
        ..Variant::new("mldsa-lanes-hardened", build_info::MLDSA_LANES)
    }]
}

struct Hardened<P>(PhantomData<fn() -> P>);

impl<P: ParameterSet> Scheme for Hardened<P> {
    fn keygen(&self, input: &Fields) -> Prepared {
        let seed = input.seed()?;
        job(
            move || SigningKey::<P>::from_seed(&seed),
            |key| {
                let public = key.verifying_key().expect("no fault");
                let private = key.encoded_bytes().expect("no fault");
                Output::key_pair(public.as_bytes(), private)
            },
        )
    }

    fn sign(&self, input: &Fields) -> Prepared {
        let key = SigningKey::<P>::from_encoded_bytes(input.sk()?).map_err(|e| e.to_string())?;
        let (message, context) = (input.message()?, input.context()?);
        job(
            move || {
                let (input, options) = (pure(&message, &context)?, SignOptions::deterministic());
                let mut signature = Signature::default();
                let proof = key.sign_into(input, options, &mut signature)?;
                match proof.holds(key.verifying_key()?, input, &signature) {
                    true => Ok(signature),
                    false => Err(Error::Disagreement),
                }
            },
            |signature: Signature<P>| Output::bytes(signature.as_bytes()),
        )
    }

    fn verify(&self, input: &Fields) -> Prepared {
        let Ok(key) = VerifyingKey::<P>::from_bytes(input.pk()?) else {
            return refused();
        };
        let (message, context) = (input.message()?, input.context()?);
        let signature = input.signature()?;
        verdict(move || {
            Signature::from_bytes(&signature).is_ok_and(|signature| {
                let Ok(input) = pure(&message, &context) else {
                    return false;
                };
                let verified = key.verify_signature(input, &signature);
                let public = key.verifying_key();
                verified.is_ok_and(|proof| proof.holds(public, input, &signature))
            })
        })
    }
}
