//! Every operation once on the portable backend, little enough for Miri (`make miri`) and without any
//! feature of the library. Whether the answers are FIPS 204's is the suite's business.

use mldsa_lanes::mldsa44::{
    ExpandedSigningKey, ExpandedVerifyingKey, Signature, SigningKey, VerifyingKey,
};
use mldsa_lanes::{Backend, Context, Error, Place};

/// Signed under `key` at the first attempt.
const MESSAGE: &[u8] = &[5];
const CONTEXT: Context<'_> = match Context::new(b"context") {
    Ok(context) => context,
    Err(_) => panic!("more than 255 bytes"),
};

fn key() -> SigningKey {
    SigningKey::from_seed_on(Backend::portable(), &[4; 32])
}

#[test]
fn keys_signatures_and_verdicts() {
    let key = key();
    let compact = key.sign_deterministic((MESSAGE, CONTEXT)).unwrap();
    let mut place = Box::new(Place::<ExpandedSigningKey>::new());
    let expanded = place.fill(&key);
    let signature = expanded.sign_deterministic((MESSAGE, CONTEXT)).unwrap();
    assert_eq!(compact, signature);

    let public = VerifyingKey::from_bytes(key.verifying_key().as_bytes()).unwrap();
    let mut place = Box::new(Place::<ExpandedVerifyingKey>::new());
    let public = place.fill(&public.with_backend(Backend::portable()));
    assert_eq!(
        public.verify_signature((MESSAGE, CONTEXT), &signature),
        Ok(())
    );
    let mut altered = *signature.as_bytes();
    altered[100] ^= 1;
    let altered = Signature::from_bytes(&altered).unwrap();
    let refused = Err(Error::InvalidSignature);
    assert_eq!(
        public.verify_signature((MESSAGE, CONTEXT), &altered),
        refused
    );

    #[cfg(feature = "alloc")]
    {
        use mldsa_lanes::SignOptions;
        use mldsa_lanes::batch::{self, SignJob, VerifyJob};
        let input = (MESSAGE, CONTEXT).into();
        let job = SignJob {
            key: expanded.into(),
            input,
        };
        let signed = batch::sign(&[job], SignOptions::deterministic());
        assert_eq!(signed, Ok(vec![Ok(signature.clone())]));
        let jobs = [&signature, &altered].map(|signature| VerifyJob {
            key: public.into(),
            input,
            signature,
        });
        assert_eq!(batch::verify(&jobs), [Ok(()), refused]);
    }
}

#[test]
fn import() {
    let key = key();
    let bytes = key.encoded_bytes();
    let imported = SigningKey::from_encoded_bytes_on(Backend::portable(), bytes).unwrap();
    assert_eq!(imported.verifying_key(), key.verifying_key());
}
