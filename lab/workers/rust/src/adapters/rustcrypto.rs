//! RustCrypto's `ml-dsa`. Its key objects always cache A-hat and NTT forms: the expanded variant
//! prepares them, the compact variant builds them from the key bytes in the timed call.

use std::marker::PhantomData;

use ml_dsa::{
    EncodedVerifyingKey, ExpandedSigningKey, ExpandedSigningKeyBytes, MlDsa44, MlDsa65, MlDsa87,
    MlDsaParams, Seed, Signature, SigningKey, VerifyingKey,
};

use crate::adapter::{
    Key, Output, Prepared, Rnd, Scheme, TIMED, Variant, WITH_KEY, job, ml_dsa_sets, refused,
    shared, verdict,
};
use crate::build_info;
use crate::protocol::Fields;

pub fn variants() -> Vec<Variant> {
    let compact = variant::<false>(
        "crate ml-dsa; signing and verifying build the key object, which caches A-hat and NTT \
         forms, from the key bytes in the timed call",
    );
    let expanded = variant::<true>(
        "crate ml-dsa; the library's ordinary key objects: A-hat, tr and the NTT forms of s1, s2, \
         t0 and t1 are outside the timed call",
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
        rnd: Rnd::Zero,
        note: note.into(),
        schemes: ml_dsa_sets(
            RustCrypto::<MlDsa44, EXPANDED>(PhantomData),
            RustCrypto::<MlDsa65, EXPANDED>(PhantomData),
            RustCrypto::<MlDsa87, EXPANDED>(PhantomData),
        ),
        ..Variant::new("rustcrypto", build_info::ML_DSA)
    }
}

struct RustCrypto<P, const EXPANDED: bool>(PhantomData<fn() -> P>);

/// From FIPS 204 `skEncode` bytes. Deprecated there in favour of the seed, which a lab's input need
/// not have.
#[allow(deprecated)]
fn signing_key<P: MlDsaParams>(bytes: &ExpandedSigningKeyBytes<P>) -> ExpandedSigningKey<P> {
    ExpandedSigningKey::from_expanded(bytes)
}

#[allow(deprecated)]
fn encode_signing_key<P: MlDsaParams>(key: &SigningKey<P>) -> ExpandedSigningKeyBytes<P> {
    key.expanded_key().to_expanded()
}

impl<P: MlDsaParams + 'static, const EXPANDED: bool> Scheme for RustCrypto<P, EXPANDED> {
    fn keygen(&self, input: &Fields) -> Prepared {
        let seed = Seed::from(input.seed()?);
        job(
            move || {
                let key = SigningKey::<P>::from_seed(&seed);
                let public = ml_dsa::Keypair::verifying_key(&key).encode();
                Ok::<_, ()>((key, public))
            },
            |(key, public)| Output::key_pair(public, encode_signing_key(&key)),
        )
    }

    fn sign(&self, input: &Fields) -> Prepared {
        let sk = input.sk()?;
        let bytes = ExpandedSigningKeyBytes::<P>::try_from(sk).map_err(|_| {
            format!(
                "sk of {} bytes is of another length than the set's",
                sk.len()
            )
        })?;
        let (message, context) = (input.message()?, input.context()?);
        let sign = move |key: &ExpandedSigningKey<P>| {
            key.sign_deterministic(&message, &context)
                .map(|signature| signature.encode())
        };
        if EXPANDED {
            let key = shared(sk.to_vec(), || Ok(signing_key::<P>(&bytes)))?;
            job(move || sign(&key), Output::bytes)
        } else {
            job(move || sign(&signing_key::<P>(&bytes)), Output::bytes)
        }
    }

    fn verify(&self, input: &Fields) -> Prepared {
        let Ok(bytes) = EncodedVerifyingKey::<P>::try_from(input.pk()?) else {
            return refused();
        };
        let (message, context) = (input.message()?, input.context()?);
        let signature = input.signature()?;
        let verify = move |key: &VerifyingKey<P>| {
            Signature::<P>::try_from(&signature[..])
                .is_ok_and(|parsed| key.verify_with_context(&message, &context, &parsed))
        };
        if EXPANDED {
            let key = shared(bytes.to_vec(), || Ok(VerifyingKey::<P>::decode(&bytes)))?;
            verdict(move || verify(&key))
        } else {
            verdict(move || verify(&VerifyingKey::<P>::decode(&bytes)))
        }
    }
}
