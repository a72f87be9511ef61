//! The reader of PEM: the table that all layers share, the limits, and damaged files.

use mldsa_lanes::PrivateKeyForm;
use mldsa_lanes::any::{AnySigningKey, AnyVerifyingKey, Set};
use mldsa_lanes::mldsa44;
use mldsa_lanes::pem::{self, Error};
use mldsa_lanes::pkcs8::{EncodePrivateKey, EncodePublicKey, LineEnding, SecretDocument};

#[path = "../../../../verify/pem/cases.rs"]
mod cases;
use cases::{LABELS, cases};

/// A key pair in PEM: a private key of 54 bytes of DER, a public key of 1974, both without padding.
fn pair() -> (AnySigningKey, [String; 2]) {
    let key = AnySigningKey::from_seed(Set::MlDsa65, &[9; 32]);
    let private = key.to_pkcs8_pem(LineEnding::LF).unwrap();
    let public = key
        .verifying_key()
        .to_public_key_pem(LineEnding::LF)
        .unwrap();
    (key, [private.to_string(), public])
}

fn certificate(bytes: usize) -> String {
    let body = "MAAw\n".repeat(bytes / 5);
    format!("-----BEGIN CERTIFICATE-----\n{body}-----END CERTIFICATE-----\n")
}

fn read(kind: usize, file: &[u8]) -> Result<AnyVerifyingKey, Error> {
    match kind {
        0 => pem::read_private_key(file).map(|key: AnySigningKey| key.verifying_key()),
        _ => pem::read_public_key(file),
    }
}

#[test]
fn every_case_of_the_shared_table() {
    let (key, pems) = pair();
    for (kind, pem) in pems.iter().enumerate() {
        for case in cases(pem) {
            let at = format!("{} {}", LABELS[kind], case.name);
            match (read(kind, &case.file), case.error) {
                (Ok(read), None) => assert!(read == key.verifying_key(), "{at}"),
                (Err(error), Some((variant, text))) => {
                    assert!(
                        format!("{error:?}").starts_with(&variant),
                        "{at}: {error:?}"
                    );
                    assert!(error.to_string().contains(&text), "{at}: {error}");
                }
                (read, error) => panic!("{at}: {:?} where {error:?} is due", read.err()),
            }
        }
    }
}

#[test]
fn each_set_and_form_in_long_lines() {
    for set in Set::ALL {
        let key = AnySigningKey::from_seed(set, &[3; 32]);
        for form in [
            PrivateKeyForm::Seed,
            PrivateKeyForm::ExpandedKey,
            PrivateKeyForm::Both,
        ] {
            let pem = key.to_pkcs8_der_as(form).unwrap();
            let pem = pem.to_pem("PRIVATE KEY", LineEnding::LF).unwrap();
            for case in cases(&pem).iter().filter(|case| case.name.contains("76")) {
                assert!(
                    read(0, &case.file).unwrap() == key.verifying_key(),
                    "{set} {form:?}"
                );
            }
        }
    }
}

#[test]
fn a_reader_of_one_set_names_the_algorithm_of_another() {
    let (_, [private, public]) = pair();
    let private = pem::read_private_key::<mldsa44::SigningKey>(private.as_bytes());
    let public = pem::read_public_key::<mldsa44::VerifyingKey>(public.as_bytes());
    for error in [private.err().unwrap(), public.err().unwrap()] {
        assert!(
            error.to_string().contains("2.16.840.1.101.3.4.3.18"),
            "{error}"
        );
        assert!(error.to_string().ends_with("pass an ML-DSA key"), "{error}");
    }
}

#[test]
fn the_remedy_fits_the_block() {
    let (_, [private, public]) = pair();
    let encrypted = private.replace("PRIVATE", "ENCRYPTED PRIVATE");
    let rsa = private.replace("PRIVATE", "RSA PRIVATE");
    for (kind, file, remedy) in [
        (0, &public, "pass an ML-DSA private key in PKCS#8"),
        (0, &certificate(5), "pass an ML-DSA private key in PKCS#8"),
        (0, &rsa, "pass an ML-DSA private key in PKCS#8"),
        (
            0,
            &encrypted,
            "decrypt it with `openssl pkey` of OpenSSL 3.5 or newer",
        ),
        (1, &encrypted, "pass an ML-DSA public key"),
        (1, &private, "read the private key, and take its public key"),
        (
            1,
            &certificate(5),
            "`openssl x509 -pubkey -noout` of OpenSSL 3.5 or newer",
        ),
    ] {
        let error = read(kind, file.as_bytes()).err().unwrap();
        assert!(
            matches!(error, Error::OtherLabel { line: 1, .. }),
            "{error:?}"
        );
        assert!(error.to_string().ends_with(remedy), "{error}");
    }
}

#[test]
fn files_up_to_the_limit() {
    let (key, pems) = pair();
    for (kind, pem) in pems.iter().enumerate() {
        let mut file = certificate(pem::MAX_BYTES - pem.len() - 100) + pem;
        file.extend(std::iter::repeat_n(' ', pem::MAX_BYTES - file.len()));
        assert!(read(kind, file.as_bytes()).unwrap() == key.verifying_key());
        file.push(' ');
        let bytes = file.len();
        assert_eq!(
            read(kind, file.as_bytes()).err(),
            Some(Error::TooLong { bytes })
        );
    }
}

/// Each file that is cut off, and each whose byte is replaced, gives the key or an error.
#[test]
fn damaged_files_are_errors() {
    let (key, [private, _]) = pair();
    let file = certificate(20) + &private;
    for at in 0..file.len() {
        let cut = read(0, &file.as_bytes()[..at]);
        assert_eq!(cut.is_ok(), at == file.len() - 1, "{at}");
        for byte in [b'-', b'\n', b' ', b'=', 0, 0xff] {
            let mut damaged = file.clone().into_bytes();
            damaged[at] = byte;
            let read = read(0, &damaged);
            let is_key = read.as_ref().is_ok_and(|read| *read == key.verifying_key());
            assert!(is_key || read.is_err(), "{at} {byte}");
        }
    }
}

#[test]
fn blocks_have_labels_and_lines_and_show_no_content() {
    let (_, [private, public]) = pair();
    let file = format!("text\r\n{}\r{private}{public}", certificate(10));
    let blocks: Result<Vec<_>, _> = pem::blocks(file.as_bytes()).unwrap().collect();
    let blocks = blocks.unwrap();
    let places: Vec<_> = blocks
        .iter()
        .map(|block| (block.label(), block.line()))
        .collect();
    assert_eq!(
        places,
        [("CERTIFICATE", 2), ("PRIVATE KEY", 7), ("PUBLIC KEY", 11)]
    );
    let shown = format!("{:?}", blocks[1]);
    assert_eq!(shown, "Block { label: \"PRIVATE KEY\", line: 7, .. }");
    let der: SecretDocument = blocks[1].decode().unwrap();
    assert_eq!(der.as_bytes().len(), 54);
}
