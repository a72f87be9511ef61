//! NIST ACVP: 75 keyGen, 359 sigGen and 180 sigVer cases, on every backend. They include external
//! μ, HashML-DSA with its twelve hashes, the internal interface and hedged signing with a given rnd.

use crate::common::{Message, subjects};
use mldsa_acvp::{Case, Input, Mode};
use mldsa_oracle as oracle;

/// What a case signs. M′ of the internal interface becomes an external μ; `tr` is the hash of the
/// public key.
pub fn message(case: &Case, tr: &[u8]) -> Message {
    match case.input() {
        Input::Mu(mu) => Message::of_mu(mu),
        Input::Formatted(m_prime) => Message::of_mu(oracle::message_representative(tr, &m_prime)),
        Input::Pure { message, context } => Message::Pure { message, context },
        Input::PreHash {
            hash,
            message,
            context,
        } => Message::PreHash {
            hash: oracle::PreHash::by_name(hash).expect("a known hash"),
            message,
            context,
        },
    }
}

#[test]
fn key_generation() {
    for subject in subjects() {
        for case in Mode::KeyGen.cases(subject.p.name) {
            let key = subject.key(&case.array("seed"));
            let (pk, sk) = (case.bytes("pk"), case.bytes("sk"));
            assert!(
                key.public == pk && key.secret == sk,
                "{}: {}",
                subject.label(),
                case.id()
            );
        }
    }
}

#[test]
fn signing() {
    for subject in subjects() {
        for case in Mode::SigGen.cases(subject.p.name) {
            let at = format!("{}: {}", subject.label(), case.id());
            let key = subject
                .import(&case.bytes("sk"))
                .unwrap_or_else(|e| panic!("{at}: {e}"));
            let message = message(&case, &oracle::h(&[&key.public], 64));
            let signature = key.signer.sign(&message.input(), &case.rnd());
            assert_eq!(signature, Ok(case.bytes("signature")), "{at}");
            assert!(
                subject.accepts(&key.public, &message.input(), &signature.unwrap()),
                "{at}"
            );
        }
    }
}

#[test]
fn verification() {
    for subject in subjects() {
        let mut accepted = 0;
        for case in Mode::SigVer.cases(subject.p.name) {
            let pk = case.bytes("pk");
            let message = message(&case, &oracle::h(&[&pk], 64));
            let verdict = subject.accepts(&pk, &message.input(), &case.bytes("signature"));
            assert_eq!(verdict, case.passes(), "{}: {}", subject.label(), case.id());
            accepted += u32::from(verdict);
        }
        assert!(accepted > 0);
    }
}
