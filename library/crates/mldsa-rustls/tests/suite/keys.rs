//! Private keys and signatures by themselves.

use mldsa_rustls::mldsa_lanes::PrivateKeyForm;
use mldsa_rustls::mldsa_lanes::any::Set;
use mldsa_rustls::mldsa_lanes::pkcs8::{EncodePrivateKey, EncodePublicKey};
use mldsa_rustls::{ML_DSA_44, ML_DSA_65, ML_DSA_87, signing_key, with_ml_dsa};
use rcgen::KeyPair;
use rustls::crypto::{GetRandomFailed, SecureRandom, aws_lc_rs, ring};
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs1KeyDer, PrivateSec1KeyDer};
use rustls::{Error, SignatureScheme};

use crate::loopback::CertificateKey;
use crate::{der, ours};

#[test]
fn schemes_come_first_and_once() {
    let points = [0x0904, 0x0905, 0x0906].map(SignatureScheme::from);
    for provider in [ring::default_provider(), aws_lc_rs::default_provider()] {
        let before = provider.signature_verification_algorithms;
        let with = with_ml_dsa(with_ml_dsa(provider)).signature_verification_algorithms;
        let schemes = with.supported_schemes();
        assert_eq!(schemes[..3], points);
        let others = before.supported_schemes().into_iter();
        let others: Vec<_> = others.filter(|scheme| !points.contains(scheme)).collect();
        assert_eq!(schemes[3..], others);

        let ids: Vec<_> = with.all.iter().map(|one| one.signature_alg_id()).collect();
        for ours in [ML_DSA_44, ML_DSA_65, ML_DSA_87] {
            let id = ours.signature_alg_id();
            assert_eq!(id, ours.public_key_alg_id());
            assert_eq!(ids.iter().filter(|other| **other == id).count(), 1);
        }
    }
}

#[test]
fn private_keys_of_each_form() {
    let provider = ours();
    for set in Set::ALL {
        let name = set.name();
        let load = |bytes: &[u8]| provider.key_provider.load_private_key(der(bytes));
        let key = CertificateKey::generate(set).unwrap().key;
        let other = CertificateKey::generate(set).unwrap().key;
        let public = signing_key(&key, provider.secure_random);
        for form in [
            PrivateKeyForm::Seed,
            PrivateKeyForm::ExpandedKey,
            PrivateKeyForm::Both,
        ] {
            let written = key.to_pkcs8_der_as(form).unwrap();
            let loaded = load(written.as_bytes()).unwrap();
            assert_eq!(loaded.public_key(), public.public_key());
            let shown = format!("{loaded:?}");
            assert!(shown.starts_with("MlDsaKey") && shown.len() < 40, "{shown}");
        }

        // Seed of one key, encoded private key of another.
        let mut both = key
            .to_pkcs8_der_as(PrivateKeyForm::Both)
            .unwrap()
            .as_bytes()
            .to_vec();
        let encoded = both.len() - set.signing_key_bytes();
        both[encoded..].copy_from_slice(other.encoded_bytes());
        let error = load(&both).unwrap_err().to_string();
        assert!(
            error.contains(name) && error.contains("RFC 9881"),
            "{error}"
        );

        let seed = key.to_pkcs8_der().unwrap().as_bytes().to_vec();
        for length in 0..seed.len() {
            load(&seed[..length]).unwrap_err();
        }
        for at in 0..seed.len() - 32 {
            let mut bent = seed.clone();
            bent[at] ^= 1;
            let _ = load(&bent); // no panic
        }
    }
}

/// Each file that is no ML-DSA key is described as what it is, whatever the provider says of it.
#[test]
fn bad_private_keys_are_named() {
    let key = CertificateKey::generate(Set::MlDsa65).unwrap().key;
    let pkcs8 = key.to_pkcs8_der().unwrap().as_bytes().to_vec();
    let with = |at: usize, byte: u8| {
        let mut der = pkcs8.clone();
        der[at] = byte;
        der
    };
    // SEQUENCE { SEQUENCE { PBES2, parameters }, OCTET STRING }
    let mut encrypted = vec![
        0x30, 20, 0x30, 13, 6, 9, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 5, 13,
    ];
    encrypted.extend([0x30, 0, 4, 3, 1, 2, 3]);
    let public = key.verifying_key().to_public_key_der().unwrap();
    let truncated = pkcs8[..40].to_vec();
    let longer = [&pkcs8[..], b"\n"].concat();
    let damaged = "ML-DSA-65 private key in damaged PKCS#8";
    let cases = [
        (der(&truncated), damaged),
        (der(&longer), damaged),
        (der(&with(4, 7)), damaged), // version
        (der(&with(0, 0x31)), damaged),
        (der(&encrypted), "encrypted private key: decrypt"),
        (
            der(public.as_bytes()),
            "ML-DSA-65 public key where the private key is needed",
        ),
        (
            der(b"-----BEGIN PRIVATE KEY-----\n"),
            "PEM where DER is needed",
        ),
        (
            der(b"text\n-----BEGIN PRIVATE KEY-----\n"),
            "PEM where DER is needed",
        ),
        (der(&[7; 32]), "the length of a raw seed"),
        (
            der(key.encoded_bytes()),
            "4032 bytes, the length of a raw ML-DSA-65 private key",
        ),
        // HashML-DSA-65 with SHA-512, and another algorithm of the same arc.
        (der(&with(17, 33)), "algorithm 2.16.840.1.101.3.4.3.33"),
        (der(&with(17, 99)), "algorithm 2.16.840.1.101.3.4.3.99"),
        (
            PrivateSec1KeyDer::from(pkcs8.clone()).into(),
            "use PrivateKeyDer::Pkcs8",
        ),
        (
            PrivatePkcs1KeyDer::from(pkcs8.clone()).into(),
            "use PrivateKeyDer::Pkcs8",
        ),
        (der(&[]), "no PKCS#8"),
        (der(&[0xff; 50]), "no PKCS#8"),
    ];
    for (case, (file, text)) in cases.into_iter().enumerate() {
        for provider in [ring::default_provider(), aws_lc_rs::default_provider()] {
            let keys = with_ml_dsa(provider).key_provider;
            let error = keys.load_private_key(file.clone_key()).unwrap_err();
            assert!(error.to_string().contains(text), "{case}: {error}");
        }
    }
}

/// The provider itself reports keys of its own algorithms.
#[test]
fn bad_keys_of_other_algorithms_stay_with_the_provider() {
    let ed25519 = KeyPair::generate_for(&rcgen::PKCS_ED25519).unwrap();
    let mut bytes = ed25519.serialized_der().to_vec();
    let last = bytes.len() - 1;
    bytes[last] ^= 1; // the public key is that of another key
    let sec1 = |bytes: &[u8]| PrivateKeyDer::from(PrivateSec1KeyDer::from(bytes.to_vec()));
    // SEQUENCE { 0, SEQUENCE { rsaEncryption, NULL }, OCTET STRING }: an RSA key with the text of PEM in its bytes.
    let mut rsa = vec![0x30, 31, 2, 1, 0, 0x30, 13, 6, 9];
    rsa.extend([0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 1, 1, 5, 0, 4, 11]);
    rsa.extend(b"-----BEGIN ");
    let text = [&[0x30, 11][..], b"-----BEGIN "].concat();
    for file in [der(&bytes), der(&rsa), sec1(&[0x30, 0]), sec1(&text)] {
        let alone = ring::default_provider().key_provider;
        let alone = alone.load_private_key(file.clone_key()).err();
        let loaded = ours().key_provider.load_private_key(file).err();
        assert_eq!(loaded, alone);
    }
}

#[test]
fn a_generator_that_fails() {
    #[derive(Debug)]
    struct Broken;
    impl SecureRandom for Broken {
        fn fill(&self, _: &mut [u8]) -> Result<(), GetRandomFailed> {
            Err(GetRandomFailed)
        }
    }
    let key = CertificateKey::generate(Set::MlDsa44).unwrap().key;
    let key = signing_key(&key, &Broken);
    let signer = key.choose_scheme(&[SignatureScheme::ML_DSA_44]).unwrap();
    assert_eq!(signer.sign(b"message"), Err(Error::FailedToGetRandomBytes));
    assert!(key.choose_scheme(&[SignatureScheme::ML_DSA_65]).is_none());
}

#[test]
fn verification_by_itself() {
    for (set, ours) in Set::ALL.into_iter().zip([ML_DSA_44, ML_DSA_65, ML_DSA_87]) {
        let key = CertificateKey::generate(set).unwrap().key;
        let public = key.verifying_key();
        let signature = key.sign_deterministic(b"message").unwrap();
        let (public, signature) = (public.as_ref(), signature.as_ref());
        ours.verify_signature(public, b"message", signature)
            .unwrap();
        let refuse = |public: &[u8], message: &[u8], signature: &[u8]| {
            ours.verify_signature(public, message, signature)
                .unwrap_err();
        };
        refuse(public, b"massage", signature);
        refuse(&public[1..], b"message", signature);
        refuse(public, b"message", &signature[1..]);
        refuse(public, b"message", &[signature, &[0]].concat());
        refuse(&[], b"message", &[]);
    }
}
