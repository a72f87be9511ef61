//! Every way in which an attempt of Algorithm 7 can be rejected, and the trace that reports it.
//!
//! The check of c·t0 exists in practice for ML-DSA-44 alone, where about one attempt in 3·10^7
//! fails it: no test can search for that. The ACVP draft's table of rejection cases (also in
//! Wycheproof) has five keys and messages that do, and they are used here. For 65 and 87 the check
//! cannot fail, see `ct0_cannot_fail_for_65_and_87`.

use crate::common::kats::{Kat, MANY_REJECTIONS, REJECTION_PATHS};
use crate::common::{Message, Stream, Traced, hex, oracle_signature, subjects_of};
use mldsa_lanes::Error;
use mldsa_oracle as oracle;
use mldsa_oracle::{PARAMETER_SETS, Params, PreHash};
use std::collections::BTreeSet;

const Z: u8 = 1;
const R0: u8 = 2;
const CT0: u8 = 4;
const HINT: u8 = 8;

/// The check that rejects an attempt in FIPS 204's order: z, r0, c·t0, hint. 0 if accepted.
fn rejected_by(attempt: &oracle::Attempt) -> u8 {
    [Z, R0, CT0, HINT]
        .into_iter()
        .find(|check| attempt.failed & check != 0)
        .unwrap_or(0)
}

/// Signs a known answer on all subjects, checks keys, signature and trace, and gives the trace.
fn check_kat(kat: &Kat) -> Vec<oracle::Attempt> {
    let p = oracle::by_name(kat.set).unwrap();
    let seed: [u8; 32] = mldsa_acvp::unhex(kat.seed).try_into().unwrap();
    let (pk, sk) = oracle::keygen(p, &seed);
    let keys = PreHash::Sha2_256.digest(&[&pk[..], &sk].concat());
    assert_eq!(hex(&keys), kat.keys);
    let tr = oracle::h(&[&pk], 64);
    let message = Message::of_mu(oracle::message_representative(
        &tr,
        &mldsa_acvp::unhex(kat.message),
    ));
    let expected = oracle_signature(p, &sk, &message, &[0; 32]);
    assert_eq!(
        hex(&PreHash::Sha2_256.digest(&expected.signature)),
        kat.signature
    );
    assert_all(p, &seed, &[pk, sk], &message, &expected);
    expected.trace
}

/// Asserts the key of a seed, and the signature and trace of a message, on all subjects.
fn assert_all(
    p: &'static Params,
    seed: &[u8; 32],
    [pk, sk]: &[Vec<u8>; 2],
    message: &Message,
    expected: &Traced,
) {
    for subject in subjects_of(p) {
        let key = subject.key(seed);
        let label = subject.label();
        assert!(key.public == *pk && key.secret == *sk, "{label}");
        let traced = key.signer.traced(&message.input(), &[0; 32]);
        assert_eq!(traced.as_ref(), Ok(expected), "{label}");
        let signature = key.signer.sign(&message.input(), &[0; 32]);
        assert_eq!(signature.as_ref(), Ok(&expected.signature), "{label}");
        assert!(subject.accepts(pk, &message.input(), &expected.signature));
    }
}

/// ω hints are accepted and ω + 1 are one too many. The messages, numbers for μ, were found by search.
#[test]
fn hints_at_the_limit() {
    let found = [
        ("ML-DSA-44", 542u32, 2226u32),
        ("ML-DSA-65", 150, 414),
        ("ML-DSA-87", 247, 291),
    ];
    for (name, full, over) in found {
        let p = oracle::by_name(name).unwrap();
        let seed = Stream::new(&format!("hints, {name}")).array();
        let (pk, sk) = oracle::keygen(p, &seed);
        let keys = [pk, sk];
        for (number, failed, weight) in [(full, 0, p.omega), (over, HINT, p.omega + 1)] {
            let mut mu = [0; 64];
            mu[..4].copy_from_slice(&number.to_le_bytes());
            let message = Message::of_mu(mu);
            let expected = oracle_signature(p, &keys[1], &message, &[0; 32]);
            let mut signer = oracle::Signer::new(p, &keys[1], &mu, &[0; 32]);
            let seen = expected.trace.iter().any(|_| {
                let candidate = signer.attempt();
                let ones = candidate.h.iter().flatten().sum::<i64>() as usize;
                candidate.attempt.failed == failed && ones == weight
            });
            assert!(seen, "{name}: no attempt of {number} has {weight} hints");
            assert_all(p, &seed, &keys, &message, &expected);
        }
    }
}

/// Each case of the ACVP draft's table 1 takes every path of its parameter set.
#[test]
fn acvp_rejection_cases() {
    for kat in &REJECTION_PATHS {
        let trace = check_kat(kat);
        let taken: BTreeSet<u8> = trace.iter().map(rejected_by).collect();
        let mut expected = BTreeSet::from([0, Z, R0, HINT]);
        if kat.set == "ML-DSA-44" {
            expected.insert(CT0);
        }
        assert_eq!(taken, expected, "{} {}", kat.set, kat.seed);
    }
}

/// Table 2: up to a hundred rejections, so that κ needs its second byte.
#[test]
fn acvp_many_rejections() {
    for (rejections, kat) in &MANY_REJECTIONS {
        assert_eq!(
            check_kat(kat).len() - 1,
            *rejections,
            "{} {}",
            kat.set,
            kat.seed
        );
    }
}

/// Every combination of failing checks that random input reaches, asserted attempt by attempt.
#[test]
fn every_combination() {
    for p in PARAMETER_SETS {
        let mut stream = Stream::new(&format!("rejection paths, {}", p.name));
        let seed = stream.array();
        let (_, sk) = oracle::keygen(p, &seed);
        let keys: Vec<_> = subjects_of(p)
            .into_iter()
            .map(|s| (s, s.key(&seed)))
            .collect();
        let mut seen = BTreeSet::new();
        let wanted: BTreeSet<u8> =
            [0, Z, R0, Z | R0, HINT, Z | HINT, R0 | HINT, Z | R0 | HINT].into();
        let mut signatures = 0;
        while !wanted.is_subset(&seen) {
            signatures += 1;
            assert!(
                signatures < 2000,
                "{}: only {seen:?} after {signatures} signatures",
                p.name
            );
            let message = Message::of_mu(stream.array());
            // One subject looks; where it reports something new the others and the oracle agree.
            let (_, first) = &keys[signatures % keys.len()];
            let traced = first.signer.traced(&message.input(), &[0; 32]).unwrap();
            let new: Vec<u8> = traced.trace.iter().map(|attempt| attempt.failed).collect();
            if new.iter().all(|failed| seen.contains(failed)) {
                continue;
            }
            seen.extend(new);
            let expected = oracle_signature(p, &sk, &message, &[0; 32]);
            for (subject, key) in &keys {
                let traced = key.signer.traced(&message.input(), &[0; 32]).unwrap();
                assert_eq!(traced, expected, "{}", subject.label());
            }
            for attempt in &expected.trace {
                for (check, first) in attempt.first_failing.into_iter().enumerate() {
                    let polynomials = if check == 0 { p.l } else { p.k };
                    let failed = attempt.failed & (1 << check) != 0;
                    assert_eq!(failed, first != 255);
                    assert!(!failed || usize::from(first) < polynomials);
                }
            }
        }
    }
}

/// ‖c·t0‖∞ <= τ·2^(d-1), which is below γ2 for 65 and 87.
#[test]
fn ct0_cannot_fail_for_65_and_87() {
    let can_fail: Vec<&str> = PARAMETER_SETS
        .into_iter()
        .filter(|p| (p.tau as i64) << (oracle::D - 1) >= p.gamma2)
        .map(|p| p.name)
        .collect();
    assert_eq!(can_fail, ["ML-DSA-44"]);
}

/// The limit counts attempts exactly: one that suffices changes nothing, one less is an error.
#[test]
fn attempt_limit() {
    for p in PARAMETER_SETS {
        for subject in subjects_of(p) {
            let mut stream = Stream::new(&format!("attempt limit, {}", p.name));
            let key = subject.key(&stream.array());
            let mut lengths = BTreeSet::new();
            for _ in 0..12 {
                let message = stream.pure(1);
                let rnd = stream.array();
                let Traced { signature, trace } =
                    key.signer.traced(&message.input(), &rnd).unwrap();
                let needed = trace.len() as u32;
                lengths.insert(needed);
                for enough in [needed, needed + 1, 821] {
                    let bounded = key.signer.bounded(&message.input(), &rnd, enough);
                    assert_eq!(bounded.as_ref(), Ok(&signature), "{}", subject.label());
                }
                for short in [0, needed / 2, needed - 1] {
                    let bounded = key.signer.bounded(&message.input(), &rnd, short);
                    assert_eq!(
                        bounded,
                        Err(Error::TooManyAttempts { allowed: short }),
                        "{}",
                        subject.label()
                    );
                }
            }
            assert!(
                lengths.len() > 3,
                "messages of different numbers of attempts"
            );
        }
    }
}
