// The known answers are those of the oracle, take every rejection, and each wrong answer is an error.

use super::*;
use mldsa_oracle as oracle;
use std::vec::Vec;

fn every_step<P: ParameterSet>() {
    let p = oracle::by_name(P::NAME).unwrap();
    let known = answer::<P>();
    let (pk, sk) = oracle::keygen(p, &known.xi);
    let mu = oracle::message_representative(&oracle::h(&[&pk], 64), &known.m_prime);
    let (signature, trace) = oracle::sign_mu(p, &sk, &mu, &[0; 32]);
    // Each reason comes first in an attempt: z, r0, the hint; c·t0, which only one set can fail.
    let reasons = if p.gamma2 == (oracle::Q - 1) / 88 {
        0b1111
    } else {
        0b1011
    };
    let first = |attempt: &oracle::Attempt| attempt.failed & attempt.failed.wrapping_neg();
    assert_eq!(
        trace.iter().fold(0, |all, attempt| all | first(attempt)),
        reasons
    );
    let hex = |bytes: &[u8]| -> Vec<std::string::String> {
        bytes
            .iter()
            .map(|byte| std::format!("{byte:02x}"))
            .collect()
    };
    let keys = oracle::h(&[&pk, &sk], 32);
    assert_eq!(known.keys[..], keys, "{} {}", P::NAME, hex(&keys).concat());
    let digest = oracle::h(&[&signature], 32);
    assert_eq!(known.signature[..], digest, "{}", hex(&digest).concat());

    for backend in Backend::available() {
        assert_eq!(self_test_of::<P>(backend), Ok(()));
        let failed = |alter: fn(&mut Answer)| {
            let mut wrong = answer::<P>();
            alter(&mut wrong);
            match check::<P>(backend, &wrong) {
                Err(Error::SelfTest { set, step }) if set == P::NAME => step,
                other => panic!("{other:?}"),
            }
        };
        use SelfTestStep::{KeyGeneration, Signing};
        assert_eq!(failed(|answer| answer.xi[31] ^= 1), KeyGeneration);
        assert_eq!(failed(|answer| answer.keys[31] ^= 1), KeyGeneration);
        assert_eq!(failed(|answer| answer.m_prime[31] ^= 1), Signing);
        assert_eq!(failed(|answer| answer.signature[31] ^= 1), Signing);
        assert_eq!(self_test(backend), Ok(()));
    }

    // A pair that does not belong together.
    let mut key = SigningKey::<P>::from_seed(&[3; 32]);
    assert_eq!(key.check_pair(), Ok(()));
    key.public.pk.as_mut()[40] ^= 1;
    assert_eq!(key.check_pair(), Err(Error::PairwiseConsistency));
}

#[test]
fn answers() {
    every_step::<crate::MlDsa44>();
    every_step::<crate::MlDsa65>();
    every_step::<crate::MlDsa87>();
}
