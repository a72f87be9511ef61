//! Encrypted PKCS#8: keys that `cryptography` and OpenSSL wrote, each kind of error, and limits of cost.

use crate::common::TestRng;
use mldsa_lanes::any::{AnySigningKey, Set};
use mldsa_lanes::encryption::{self, Error};
use mldsa_lanes::pem;
use mldsa_lanes::pkcs8::der::Encode;
use mldsa_lanes::pkcs8::der::asn1::OctetStringRef;
use mldsa_lanes::pkcs8::pkcs5::pbes2::{
    self, EncryptionScheme, Kdf, Pbkdf2Params, Pbkdf2Prf, ScryptParams,
};
use mldsa_lanes::pkcs8::{self, EncodePrivateKey, EncryptedPrivateKeyInfo, LineEnding, spki};
use mldsa_lanes::{MlDsa44, MlDsa65, MlDsa87, ParameterSet, PrivateKeyForm, SigningKey};

const PASSWORD: &[u8] = b"password";

/// Written by `cryptography` 50: PBKDF2-HMAC-SHA-256, AES-256-CBC; each byte of a seed is its set's number.
const KEYS: [(Set, u8, &str); 3] = [
    (
        Set::MlDsa44,
        44,
        concat!(
            "3081a3305f06092a864886f70d01050d3052303106092a864886f70d01050c3024041045820cb905b16db3f560e42355f5af",
            "d102020800300c06082a864886f70d02090500301d060960864801650304012a0410d0c1465402d7bea4c441c352b9f1ff4e",
            "0440bcfea5e25442a7c0f2d2a0eec3d3a9d58a132b200668ebebf65a022bdab5ac8eee8b8528fdac228c2a5ac5a43581b7d7",
            "36fbefc0da21d9f117314dfc38b69e83",
        ),
    ),
    (
        Set::MlDsa65,
        65,
        concat!(
            "3081a3305f06092a864886f70d01050d3052303106092a864886f70d01050c30240410eefa94b8a8154fc6c6da2c9abc2122",
            "8902020800300c06082a864886f70d02090500301d060960864801650304012a04104bbf9446d170e61d983176d53ac65582",
            "0440b4f76ce00a751c8f66cacb96953c23c0d5426a6c32962ec35e2dd4fcd4218650aafeb49911e53dd7374724ab4f461ad4",
            "3832adffc31a57682589c4c776f42391",
        ),
    ),
    (
        Set::MlDsa87,
        87,
        concat!(
            "3081a3305f06092a864886f70d01050d3052303106092a864886f70d01050c3024041086f7d8a6b659706a5361b10e3afe57",
            "2602020800300c06082a864886f70d02090500301d060960864801650304012a0410fc955a75ce6e5629a1ad6efcb7c49b00",
            "0440ecf19d229813bdb83aef21aac7f0a65cfa8bdeaff3877e8b3d1b0931065fef6cd8a76972c5804e51c9926a0355dce571",
            "0c4adf2bceea0d4ed484b31ae9fa3e6d",
        ),
    ),
];

/// An Ed25519 key, as OpenSSL 3.0 encrypts it with scrypt.
const ED25519: &str = concat!(
    "308193304f06092a864886f70d01050d3042302106092b06010401da47040b301404087118cc7eee67f29002024000020108",
    "020101301d060960864801650304012a0410d3e0c0d5a38e84f684c90ae686aef0b504400d8c29a07a350ec8c6ae4e57f516",
    "20c25a2bb62a96dde5c5749d4cad38121f2b1c09c45938353a2b6db3d04e27de5d68c6a53b963ba9b1c8cf8dce14dd56e08a",
);

/// The same key under algorithms that are not read, and the name of each.
const FOREIGN: [(&str, &str); 3] = [
    (
        "1.2.840.113549.3.7",
        concat!(
            "30818a304e06092a864886f70d01050d3041302906092a864886f70d01050c301c0408b80a230b3f2b376102020800300c06",
            "082a864886f70d02090500301406082a864886f70d0307040831360b4ba3682729043853a54b21bc82e1904a02e7b3058b4f",
            "4cccf009023fd098092c22410319602f32b336c28a32b363478e8cefefbb31f20bf32997f11a26e01c",
        ),
    ),
    (
        "1.2.840.113549.1.12.1.3",
        concat!(
            "3058301c060a2a864886f70d010c0103300e04089a271e966023866a0202080004382fc54b58e42372b6f7249a726f2dead5",
            "756188f0fe433962bf56ffda1527129c3d0667b326093162967b4ab48c9e24b3659e2ffa29bf98f9",
        ),
    ),
    (
        "1.2.840.113549.2.7",
        concat!(
            "30818d304906092a864886f70d01050d303c301b06092a864886f70d01050c300e040821e33e5b796862df02020800301d06",
            "0960864801650304012a04104a55f4d55e9ca1b46d32aa759229d6890440472f3b8bbdcf94be374bf056dcd52508b3e711da",
            "4d9c7b0e63af4a619d9cbec96d498a911270d1a70e43a942cbd5982fdadcc797120cbd24aa2427077012d539",
        ),
    ),
];

fn bytes(hex: &str) -> Vec<u8> {
    let byte = |at: usize| u8::from_str_radix(&hex[at..at + 2], 16).unwrap();
    (0..hex.len()).step_by(2).map(byte).collect()
}

fn read(der: &[u8], password: &[u8]) -> Result<AnySigningKey, Error> {
    encryption::read_private_key(der, password)
}

fn round_trip<P: ParameterSet>(set: Set) {
    let key = SigningKey::<P>::from_seed(&[5; 32]);
    let document = key.to_pkcs8_der_as(PrivateKeyForm::Both).unwrap();
    let mut rng = TestRng::new(&[1; 32]);
    let encrypted = encryption::encrypt(&document, PASSWORD, &mut rng).unwrap();
    assert_eq!(rng.left(), 0);
    let mut rng = TestRng::new(&[2; 32]);
    let again = encryption::encrypt(&document, PASSWORD, &mut rng).unwrap();
    assert!(
        encrypted.as_bytes() != again.as_bytes(),
        "salt and IV are random"
    );
    let same: SigningKey<P> = encryption::read_private_key(encrypted.as_bytes(), PASSWORD).unwrap();
    assert!(same.encoded_bytes().as_ref() == key.encoded_bytes().as_ref());
    let any = read(again.as_bytes(), PASSWORD).unwrap();
    assert!(any.set() == set && any.seed() == key.seed());

    let text = encrypted
        .to_pem("ENCRYPTED PRIVATE KEY", LineEnding::LF)
        .unwrap();
    let same: SigningKey<P> = pem::read_encrypted_private_key(text.as_bytes(), PASSWORD).unwrap();
    assert!(same.seed() == key.seed());
    let wrong = pem::read_encrypted_private_key::<AnySigningKey>(text.as_bytes(), b"Password");
    let (label, line, error) = ("ENCRYPTED PRIVATE KEY".into(), 1, Error::Password);
    assert_eq!(
        wrong.unwrap_err(),
        pem::Error::Decryption { label, line, error }
    );
    let plain = key.to_pkcs8_pem(LineEnding::LF).unwrap();
    let error = pem::read_encrypted_private_key::<AnySigningKey>(plain.as_bytes(), PASSWORD);
    assert!(error.unwrap_err().to_string().contains("not encrypted"));
}

#[test]
fn written_and_read() {
    round_trip::<MlDsa44>(Set::MlDsa44);
    round_trip::<MlDsa65>(Set::MlDsa65);
    round_trip::<MlDsa87>(Set::MlDsa87);
}

#[test]
fn keys_of_another_implementation() {
    for (set, byte, hex) in KEYS {
        let key = read(&bytes(hex), PASSWORD).unwrap();
        assert!(key.set() == set && key.seed() == Some(&[byte; 32]));
    }
}

#[test]
fn each_error() {
    let der = bytes(KEYS[0].2);
    for password in [&b""[..], b"Password", b"password ", &[0; 300]] {
        assert_eq!(read(&der, password).unwrap_err(), Error::Password);
    }
    let key = AnySigningKey::from_seed(Set::MlDsa44, &[1; 32])
        .to_pkcs8_der()
        .unwrap();
    assert_eq!(
        read(key.as_bytes(), PASSWORD).unwrap_err(),
        Error::NotEncrypted
    );
    assert_eq!(read(b"", PASSWORD).unwrap_err(), Error::Malformed);
    let mut longer = der.clone();
    longer.push(0);
    assert_eq!(read(&longer, PASSWORD).unwrap_err(), Error::Malformed);
    for (oid, hex) in FOREIGN {
        let oid = oid.parse().unwrap();
        assert_eq!(
            read(&bytes(hex), PASSWORD).unwrap_err(),
            Error::Algorithm { oid }
        );
    }
    let Error::Key(error) = read(&bytes(ED25519), PASSWORD).unwrap_err() else {
        panic!("the key of another algorithm");
    };
    assert!(matches!(
        error,
        pkcs8::Error::PublicKey(spki::Error::OidUnknown { .. })
    ));
    let other = encryption::read_private_key::<SigningKey<MlDsa65>>(&der, PASSWORD);
    assert!(matches!(other, Err(Error::Key(_))));
    for length in [0, 15, 16, 31] {
        let mut rng = TestRng::new(&[1; 31][..length]);
        let failed = encryption::encrypt(&key, PASSWORD, &mut rng);
        assert_eq!(failed.unwrap_err(), Error::Rng);
    }
}

/// Truncated and altered files: an error or a key, never a panic.
#[test]
fn damaged() {
    let der = bytes(KEYS[0].2);
    for length in 0..der.len() {
        assert!(read(&der[..length], PASSWORD).is_err());
    }
    // Salt, costs and object identifiers, but not the ciphertext.
    for at in 0..102 {
        for bit in 0..8 {
            let mut der = der.clone();
            der[at] ^= 1 << bit;
            let _ = read(&der, PASSWORD);
        }
    }
}

fn cost(kdf: impl Into<Kdf>) -> Error {
    let (kdf, encryption) = (kdf.into(), EncryptionScheme::Aes256Cbc { iv: [0; 16] });
    let info = EncryptedPrivateKeyInfo {
        encryption_algorithm: pbes2::Parameters { kdf, encryption }.into(),
        encrypted_data: OctetStringRef::new(&[0; 16]).unwrap(),
    };
    read(&info.to_der().unwrap(), PASSWORD).unwrap_err()
}

#[test]
fn costs_are_bounded() {
    let scrypt = |cost_parameter, block_size, parallelization| {
        cost(ScryptParams {
            salt: [1; 16].as_slice().try_into().unwrap(),
            cost_parameter,
            block_size,
            parallelization,
            key_length: None,
        })
    };
    for (n, r, p) in [
        (1 << 18, 8, 1),
        (1 << 20, 8, 1),
        (1 << 63, 1, 1),
        (1 << 17, 8, 5),
        // A block of r for each p, beside those of N.
        (2, 65535, 32),
        (2, 1, 65535),
    ] {
        let expected = if n == 2 && r == 1 {
            Error::Password
        } else {
            Error::Cost
        };
        assert_eq!(scrypt(n, r, p), expected, "{n} {r} {p}");
    }
    for (n, r, p) in [
        (0, 8, 1),
        (1, 8, 1),
        (3, 8, 1),
        (1 << 14, 0, 1),
        (1 << 14, 8, 0),
        (u64::MAX, 8, 1),
    ] {
        assert_eq!(scrypt(n, r, p), Error::Malformed, "{n} {r} {p}");
    }
    let pbkdf2 = |iteration_count| {
        cost(Pbkdf2Params {
            salt: [1; 16].as_slice().try_into().unwrap(),
            iteration_count,
            key_length: None,
            prf: Pbkdf2Prf::HmacWithSha256,
        })
    };
    assert_eq!(pbkdf2(10_000_001), Error::Cost);
    assert_eq!(pbkdf2(u32::MAX), Error::Cost);
    assert_eq!(pbkdf2(0), Error::Malformed);
    assert_eq!(pbkdf2(1), Error::Password);
}
