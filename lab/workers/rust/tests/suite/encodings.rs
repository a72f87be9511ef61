//! mldsa-lanes' encodings of keys (RFC 9881) beside those of AWS-LC and RustCrypto, and the RFC's own
//! examples, which AWS-LC's source has.

use std::path::Path;

use aws_lc_rs::encoding::{AsDer, PublicKeyX509Der};
use aws_lc_rs::signature::{
    KeyPair, ML_DSA_44_SIGNING, ML_DSA_65_SIGNING, ML_DSA_87_SIGNING, PqdsaKeyPair,
    PqdsaSigningAlgorithm,
};
use mldsa_lanes::pkcs8::{
    DecodePrivateKey, DecodePublicKey, EncodePrivateKey, EncodePublicKey, PrivateKeyInfoRef,
};
use mldsa_lanes::{
    MlDsa44, MlDsa65, MlDsa87, ParameterSet, PrivateKeyForm, SigningKey, VerifyingKey,
};

#[path = "../../../../../library/verify/mldsa-acvp/package.rs"]
mod package;

const SEED: [u8; 32] = [0x5a; 32];

/// A PEM string of AWS-LC's tests, with the backslashes and quotes that C needs taken off.
fn example(source: &str, name: &str) -> String {
    let head = format!("const char *{name} =\n");
    let (_, rest) = source
        .split_once(&head)
        .unwrap_or_else(|| panic!("no {name}"));
    let lines = rest.split(';').next().unwrap().lines();
    lines
        .map(|line| line.trim_matches('"').replace("\\n", "\n"))
        .collect()
}

/// Appendix C of the RFC: the seed is 00 01 … 1f.
fn rfc_examples<P: ParameterSet>(source: &str, set: &str) {
    let seed: [u8; 32] = std::array::from_fn(|i| i as u8);
    let key = SigningKey::<P>::from_seed(&seed);
    let public = example(source, &format!("mldsa_{set}_pub_pem_str"));
    let public = VerifyingKey::<P>::from_public_key_pem(&public).unwrap();
    assert_eq!(public, *key.verifying_key());
    for (name, form) in [
        ("seed", PrivateKeyForm::Seed),
        ("both", PrivateKeyForm::Both),
    ] {
        let pem = example(source, &format!("mldsa_{set}_priv_{name}_pem_str"));
        let read = SigningKey::<P>::from_pkcs8_pem(&pem).unwrap();
        assert_eq!(read.seed(), Some(&seed));
        let written = key.to_pkcs8_der_as(form).unwrap();
        let written = written.to_pem("PRIVATE KEY", Default::default()).unwrap();
        assert!(*written == pem, "ML-DSA-{set} {name}");
    }
}

#[test]
fn examples_of_the_rfc() {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml");
    let folder = package::folder(&manifest, "aws-lc-sys-").unwrap();
    let source = folder.join("aws-lc/crypto/evp_extra/p_pqdsa_test.cc");
    let source = std::fs::read_to_string(source).unwrap();
    rfc_examples::<MlDsa44>(&source, "44");
    rfc_examples::<MlDsa65>(&source, "65");
    rfc_examples::<MlDsa87>(&source, "87");
    // C.4: seed and expanded key of two keys; tr that is not the public key's hash.
    for name in ["inconsistent", "inconsistent_tr"] {
        let pem = example(&source, &format!("mldsa_44_priv_both_pem_str_{name}"));
        assert!(
            SigningKey::<MlDsa44>::from_pkcs8_pem(&pem).is_err(),
            "{name}"
        );
    }
}

/// AWS-LC reads what we write in each form, and writes what we do.
fn aws_lc<P: ParameterSet>(algorithm: &'static PqdsaSigningAlgorithm) {
    let key = SigningKey::<P>::from_seed(&SEED);
    for form in [
        PrivateKeyForm::Seed,
        PrivateKeyForm::ExpandedKey,
        PrivateKeyForm::Both,
    ] {
        let der = key.to_pkcs8_der_as(form).unwrap();
        let pair = PqdsaKeyPair::from_pkcs8(algorithm, der.as_bytes()).unwrap();
        assert_eq!(pair.public_key().as_ref(), key.verifying_key().as_ref());
        let mut signature = vec![0; algorithm.signature_len()];
        pair.sign(b"message", &mut signature).unwrap();
        let signature = signature.as_slice().try_into().unwrap();
        assert_eq!(
            key.verifying_key().verify_signature(b"message", &signature),
            Ok(())
        );
    }
    let pair = PqdsaKeyPair::from_seed(algorithm, &SEED).unwrap();
    let theirs = pair.to_pkcs8v1().unwrap();
    assert!(theirs.as_ref() == key.to_pkcs8_der().unwrap().as_bytes());
    let theirs: PublicKeyX509Der = pair.public_key().as_der().unwrap();
    assert!(theirs.as_ref() == key.verifying_key().to_public_key_der().unwrap().as_bytes());
}

/// RustCrypto, which has the seed alone, likewise.
fn rust_crypto<P, Q>()
where
    P: ParameterSet,
    Q: ml_dsa::MlDsaParams,
    ml_dsa::SigningKey<Q>: EncodePrivateKey + DecodePrivateKey,
    ml_dsa::VerifyingKey<Q>: EncodePublicKey + DecodePublicKey,
{
    use ml_dsa::signature::Keypair;
    let key = SigningKey::<P>::from_seed(&SEED);
    let der = key.to_pkcs8_der().unwrap();
    let theirs = ml_dsa::SigningKey::<Q>::from_pkcs8_der(der.as_bytes()).unwrap();
    assert!(theirs.to_pkcs8_der().unwrap().as_bytes() == der.as_bytes());
    let public = key.verifying_key().to_public_key_der().unwrap();
    let theirs = theirs.verifying_key().to_public_key_der().unwrap();
    assert_eq!(theirs.as_bytes(), public.as_bytes());
    let info = PrivateKeyInfoRef::try_from(der.as_bytes()).unwrap();
    assert!(SigningKey::<P>::try_from(info).is_ok());
}

#[test]
fn other_libraries_read_and_write_the_same() {
    aws_lc::<MlDsa44>(&ML_DSA_44_SIGNING);
    aws_lc::<MlDsa65>(&ML_DSA_65_SIGNING);
    aws_lc::<MlDsa87>(&ML_DSA_87_SIGNING);
    rust_crypto::<MlDsa44, ml_dsa::MlDsa44>();
    rust_crypto::<MlDsa65, ml_dsa::MlDsa65>();
    rust_crypto::<MlDsa87, ml_dsa::MlDsa87>();
}
