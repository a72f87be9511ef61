//! The traits of `signature`, as generic code uses them.

use crate::common::TestRng;
use mldsa_lanes::any::{AnySigningKey, Set};
use mldsa_lanes::crypto_common::{Generate, KeyExport, KeyInit};
use mldsa_lanes::ctutils::CtEq;
use mldsa_lanes::signature::digest::Update;
use mldsa_lanes::signature::{
    self, DigestSigner, DigestVerifier, Keypair, MultipartSigner, MultipartVerifier,
    RandomizedDigestSigner, RandomizedMultipartSigner, RandomizedSigner, SignatureEncoding, Signer,
    Verifier,
};
use mldsa_lanes::{
    Backend, Error, MlDsa44, MlDsa65, MlDsa87, MuHasher, ParameterSet, Signature, SigningKey,
    VerifyingKey,
};
use std::collections::HashSet;
use std::error::Error as _;

const MESSAGE: &[u8] = b"a message";
const PIECES: &[&[u8]] = &[b"a", b"", b" mess", b"age"];

/// The message, as a caller hashes it that knows no type but `Update`.
fn hash<D: Update>(digest: &mut D) -> Result<(), signature::Error> {
    PIECES.iter().for_each(|piece| digest.update(piece));
    Ok(())
}

/// A caller that knows no type but the signature's.
fn signs<P, K>(key: &K, expected: &SigningKey<P>)
where
    P: ParameterSet,
    K: Signer<Signature<P>>
        + MultipartSigner<Signature<P>>
        + RandomizedSigner<Signature<P>>
        + RandomizedMultipartSigner<Signature<P>>
        + DigestSigner<MuHasher, Signature<P>>
        + RandomizedDigestSigner<MuHasher, Signature<P>>
        + Keypair,
    K::VerifyingKey: Verifier<Signature<P>>
        + MultipartVerifier<Signature<P>>
        + DigestVerifier<MuHasher, Signature<P>>,
{
    let deterministic = expected.sign_deterministic(MESSAGE).unwrap();
    assert_eq!(key.sign(MESSAGE), deterministic);
    assert_eq!(key.multipart_sign(PIECES), deterministic);
    assert_eq!(key.sign_digest(|mu| hash(mu).unwrap()), deterministic);
    assert!(
        key.try_sign_digest(|_| Err(signature::Error::new()))
            .is_err()
    );
    let hedged = expected
        .sign_hedged(MESSAGE, &mut TestRng::new(&[5; 32]))
        .unwrap();
    assert_ne!(hedged, deterministic);
    let rng = || TestRng::new(&[5; 32]);
    assert_eq!(key.try_sign_with_rng(&mut rng(), MESSAGE).unwrap(), hedged);
    assert_eq!(
        key.try_multipart_sign_with_rng(&mut rng(), PIECES).unwrap(),
        hedged
    );
    assert_eq!(
        key.try_sign_digest_with_rng(&mut rng(), hash).unwrap(),
        hedged
    );
    let failed = key.try_sign_with_rng(&mut TestRng::new(&[5; 31]), MESSAGE);
    let source = failed.unwrap_err();
    let source = source.source().and_then(|source| source.downcast_ref());
    assert_eq!(source, Some(&Error::Rng));
    verifies(&key.verifying_key(), &deterministic);
}

fn verifies<P, V>(key: &V, signature: &Signature<P>)
where
    P: ParameterSet,
    V: Verifier<Signature<P>>
        + MultipartVerifier<Signature<P>>
        + DigestVerifier<MuHasher, Signature<P>>,
{
    assert!(key.verify_digest(hash, signature).is_ok());
    assert!(key.verify_digest(|_| Ok(()), signature).is_err());
    let failed = |_: &mut MuHasher| Err(signature::Error::new());
    assert!(key.verify_digest(failed, signature).is_err());
    assert!(key.verify(MESSAGE, signature).is_ok());
    assert!(key.multipart_verify(PIECES, signature).is_ok());
    let source = key.verify(b"another", signature).unwrap_err();
    let source = source.source().and_then(|source| source.downcast_ref());
    assert_eq!(source, Some(&Error::InvalidSignature));
    assert!(key.multipart_verify(&PIECES[1..], signature).is_err());
}

fn all<P: ParameterSet>() {
    let key = SigningKey::<P>::from_seed(&[8; 32]);
    let signature = key.sign_deterministic(MESSAGE).unwrap();
    signs(&key, &key);
    signs(&*key.expand(), &key);
    verifies(key.verifying_key(), &signature);
    verifies(&*key.verifying_key().expand(), &signature);

    let encoded = signature.to_bytes();
    assert_eq!(signature.encoded_len(), P::SIGNATURE_BYTES);
    assert_eq!(Signature::try_from(encoded.as_ref()), Ok(signature.clone()));
    let public = key.verifying_key();
    assert_eq!(VerifyingKey::try_from(public.as_ref()).as_ref(), Ok(public));
    let actual = P::SIGNATURE_BYTES - 1;
    let expected = P::SIGNATURE_BYTES;
    let refused = Signature::<P>::try_from(&encoded.as_ref()[1..]);
    assert_eq!(refused, Err(Error::SignatureLength { expected, actual }));
    let keys = HashSet::from([public.clone(), key.expand().verifying_key().clone()]);
    assert_eq!(keys.len(), 1);
    let again = Signature::from_array(&encoded);
    assert_eq!(HashSet::from([signature.clone(), again]).len(), 1);
}

/// Private keys are equal if their encoded forms are, whatever their seeds and backends.
fn equality<P: ParameterSet>(set: Set) {
    let key = SigningKey::<P>::from_seed(&[8; 32]);
    let encoded = key.encoded_bytes().as_ref();
    let mut altered = encoded.to_vec();
    altered[40] ^= 1; // K, which nothing in the key checks
    let read = |bytes| SigningKey::<P>::from_encoded_bytes(bytes).unwrap();
    let others = [
        (read(encoded), true),
        (
            key.clone()
                .with_backend(Backend::by_name("portable").unwrap()),
            true,
        ),
        (read(&altered), false),
        (SigningKey::from_seed(&[9; 32]), false),
    ];
    let any = AnySigningKey::from_seed(set, &[8; 32]);
    for (other, is_equal) in others {
        let any_other =
            AnySigningKey::from_encoded_bytes(set, other.encoded_bytes().as_ref()).unwrap();
        assert_eq!(key == other, is_equal);
        assert_eq!(bool::from(key.ct_eq(&other)), is_equal);
        assert_eq!(key.expand() == other.expand(), is_equal);
        assert_eq!(bool::from(key.expand().ct_eq(&*other.expand())), is_equal);
        assert_eq!(any == any_other, is_equal);
        assert_eq!(bool::from(any.ct_eq(&any_other)), is_equal);
        assert_eq!(any.expand() == any_other.expand(), is_equal);
    }
    for other in Set::ALL {
        let other = AnySigningKey::from_seed(other, &[8; 32]);
        assert_eq!(any == other, other.set() == set);
        assert_eq!(bool::from(any.ct_eq(&other)), other.set() == set);
    }
}

/// Keys from a generator and from bytes.
fn keys<P: ParameterSet>()
where
    VerifyingKey<P>: KeyInit + KeyExport,
{
    let mut rng = TestRng::new(&[8; 32]);
    let key = SigningKey::<P>::try_generate_from_rng(&mut rng).unwrap();
    assert_eq!((key.seed(), rng.left()), (Some(&[8; 32]), 0));
    assert!(SigningKey::<P>::try_generate_from_rng(&mut TestRng::new(&[8; 31])).is_err());
    assert!(<SigningKey<P> as Generate>::generate() != Generate::generate());
    let read: SigningKey<P> = KeyInit::new_from_slice(&[8; 32]).unwrap();
    assert!(read == key && read.seed() == key.seed());
    assert!(<SigningKey<P> as KeyInit>::new_from_slice(&[8; 31]).is_err());

    let public = key.verifying_key();
    assert_eq!(public.to_bytes().as_slice(), public.as_ref());
    let read: VerifyingKey<P> = KeyInit::new(&public.to_bytes());
    assert_eq!(read, *public);
    assert!(<VerifyingKey<P> as KeyInit>::new_from_slice(&public.as_ref()[1..]).is_err());
}

#[test]
fn traits_of_other_crates() {
    keys::<MlDsa44>();
    keys::<MlDsa65>();
    keys::<MlDsa87>();
    equality::<MlDsa44>(Set::MlDsa44);
    equality::<MlDsa65>(Set::MlDsa65);
    equality::<MlDsa87>(Set::MlDsa87);
    all::<MlDsa44>();
    all::<MlDsa65>();
    all::<MlDsa87>();
}
