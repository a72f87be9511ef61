//! Every operation once on the portable backend, little enough for Miri (`make miri`) and without any
//! feature of the library. Whether the answers are FIPS 204's is the suite's business.

use mldsa_lanes::mldsa44::{Signature, SigningKey, VerifyingKey};
use mldsa_lanes::{Backend, Error};

const SEED: [u8; 32] = [4; 32];

#[test]
fn keys_signatures_and_verdicts() {
    let key = SigningKey::from_seed_on(Backend::portable(), &SEED);
    let signature = key.sign_deterministic(b"message", b"context").unwrap();
    let expanded = key.expand();
    assert_eq!(
        expanded.sign_deterministic(b"message", b"context"),
        Ok(signature)
    );

    let public = VerifyingKey::from_bytes(key.verifying_key().as_bytes()).unwrap();
    let public = public.with_backend(Backend::portable()).expand();
    let mut altered = *signature.as_bytes();
    let signature = Signature::from_bytes(&altered).unwrap();
    assert_eq!(public.verify(b"message", b"context", &signature), Ok(()));
    altered[100] ^= 1;
    let altered = Signature::from_bytes(&altered).unwrap();
    assert_eq!(
        public.verify(b"message", b"context", &altered),
        Err(Error::InvalidSignature)
    );
}

#[test]
fn import() {
    let key = SigningKey::from_seed_on(Backend::portable(), &SEED);
    let mut bytes = *key.expanded_bytes();
    let imported = SigningKey::from_expanded_bytes_on(Backend::portable(), &bytes).unwrap();
    assert_eq!(imported.verifying_key(), key.verifying_key());
    // In tr.
    bytes[64] ^= 1;
    let refused = SigningKey::from_expanded_bytes_on(Backend::portable(), &bytes);
    assert!(matches!(refused, Err(Error::InvalidSigningKey(_))));
}

#[cfg(feature = "alloc")]
#[test]
fn batches() {
    use mldsa_lanes::batch;
    let seeds = [SEED, [5; 32]];
    let keys = batch::keygen::<mldsa_lanes::MlDsa44>(Backend::portable(), &seeds);
    for (key, xi) in keys.iter().zip(&seeds) {
        let alone = SigningKey::from_seed_on(Backend::portable(), xi);
        assert_eq!(key.expanded_bytes(), alone.expanded_bytes());
        assert_eq!(key.verifying_key(), alone.verifying_key());
    }
}
