//! NIST ACVP: 75 keyGen, 360 sigGen and 180 sigVer cases, on every backend. They include external
//! μ, HashML-DSA with its twelve hashes, the internal interface and hedged signing with a given rnd.

use crate::common::{acvp, subjects};

#[test]
fn key_generation() {
    for subject in subjects() {
        for case in acvp::cases("keyGen", subject.p.name, 25) {
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
        for case in acvp::cases("sigGen", subject.p.name, 120) {
            let at = format!("{}: {}", subject.label(), case.id());
            let key = subject
                .import(&case.bytes("sk"))
                .unwrap_or_else(|e| panic!("{at}: {e}"));
            let tr = mldsa_oracle::h(&[&key.public], 64);
            let message = case.message(&tr);
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
        for case in acvp::cases("sigVer", subject.p.name, 60) {
            let pk = case.bytes("pk");
            let message = case.message(&mldsa_oracle::h(&[&pk], 64));
            let verdict = subject.accepts(&pk, &message.input(), &case.bytes("signature"));
            assert_eq!(
                verdict,
                case.is("testPassed"),
                "{}: {}",
                subject.label(),
                case.id()
            );
            accepted += u32::from(verdict);
        }
        assert!(accepted > 0);
    }
}
