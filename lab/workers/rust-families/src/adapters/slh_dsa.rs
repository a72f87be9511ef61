//! RustCrypto's `slh-dsa`. Its key objects are the keys' bytes.

use std::marker::PhantomData;

use slh_dsa::{
    ParameterSet, Sha2_128f, Sha2_128s, Sha2_192f, Sha2_192s, Sha2_256f, Sha2_256s, Shake128f,
    Shake128s, Shake192f, Shake192s, Shake256f, Shake256s, Signature, SigningKey, VerifyingKey,
};

use crate::build_info;
use mldsa_worker_rust::adapter::{
    Family, Output, Prepared, Scheme, Variant, describe, job, refused, verdict,
};
use mldsa_worker_rust::protocol::Fields;

pub fn variants() -> Vec<Variant> {
    vec![Variant {
        family: Family::SlhDsa,
        note: "crate slh-dsa, a release candidate, since its stable 0.1.0 does not build; keys are made by \
               slh_keygen_internal, as no other interface takes seeds"
            .into(),
        schemes: vec![
            scheme::<Sha2_128s>(),
            scheme::<Sha2_128f>(),
            scheme::<Shake128s>(),
            scheme::<Shake128f>(),
            scheme::<Sha2_192s>(),
            scheme::<Sha2_192f>(),
            scheme::<Shake192s>(),
            scheme::<Shake192f>(),
            scheme::<Sha2_256s>(),
            scheme::<Sha2_256f>(),
            scheme::<Shake256s>(),
            scheme::<Shake256f>(),
        ],
        ..Variant::new("rustcrypto-slh-dsa", build_info::SLH_DSA)
    }]
}

fn scheme<P: ParameterSet + 'static>() -> (&'static str, Box<dyn Scheme>) {
    (P::NAME, Box::new(RustCrypto::<P>(PhantomData)))
}

struct RustCrypto<P>(PhantomData<fn() -> P>);

impl<P: ParameterSet + 'static> Scheme for RustCrypto<P> {
    fn keygen(&self, input: &Fields) -> Prepared {
        let n = size_of_n::<P>();
        let seed = input.slh_seed(n)?;
        job(
            move || {
                let (sk_seed, rest) = seed.split_at(n);
                let (sk_prf, pk_seed) = rest.split_at(n);
                let key = SigningKey::<P>::slh_keygen_internal(sk_seed, sk_prf, pk_seed);
                let public = key.as_ref().to_bytes();
                Ok::<_, ()>((key, public))
            },
            |(key, public)| Output::key_pair(public, key.to_bytes()),
        )
    }

    fn sign(&self, input: &Fields) -> Prepared {
        let key = SigningKey::<P>::try_from(input.sk()?).map_err(|error| describe(&error))?;
        let (message, context) = (input.message()?, input.context()?);
        let rnd = input.opt_rand(size_of_n::<P>())?;
        job(
            move || {
                key.try_sign_with_context(&message, &context, rnd.as_deref())
                    .map(|signature| signature.to_bytes())
            },
            Output::bytes,
        )
    }

    fn verify(&self, input: &Fields) -> Prepared {
        let Ok(key) = VerifyingKey::<P>::try_from(input.pk()?) else {
            return refused();
        };
        let (message, context) = (input.message()?, input.context()?);
        let signature = input.signature()?;
        verdict(move || {
            Signature::<P>::try_from(&signature[..]).is_ok_and(|parsed| {
                key.try_verify_with_context(&message, &context, &parsed)
                    .is_ok()
            })
        })
    }
}

/// The security parameter n in bytes, which the crate keeps to itself: a set's name ends in its bits.
fn size_of_n<P: ParameterSet>() -> usize {
    let digits = P::NAME.rsplit('-').next().unwrap_or_default();
    digits[..3].parse::<usize>().unwrap_or_default() / 8
}
