//! Mistakes that real implementations of ML-DSA or Dilithium have made: those that a verifier or a
//! parser makes. `past_bugs_sign.rs` has the others; the numbers run through both files.

use crate::common::forge::{self, Forger};
use crate::common::{Stream, context, subjects, subjects_of};
use mldsa_lanes::{Context, Error, Input, SigningKey, VerifyingKey, hazmat, mldsa44, mldsa65};
use mldsa_oracle as oracle;
use mldsa_oracle::{PARAMETER_SETS, Params, PreHash};

const RHO: [u8; 32] = [0x33; 32];
const MU: [u8; 64] = [0x44; 64];

/// Bug 1: verification without the norm check of z, or with a wrong bound. The signatures here
/// are right in everything else.
#[test]
fn bug_01_norm_check_of_z() {
    for p in PARAMETER_SETS {
        let forger = Forger::new(p, &RHO, MU);
        let bound = p.gamma1 - p.beta;
        for (value, accepted) in [
            (bound - 1, true),
            (bound, false),
            (bound + 1, false),
            (p.gamma1 - 1, false),
            (p.gamma1, false),
            (-(bound - 1), true),
            (-bound, false),
            (-bound - 1, false),
            (-p.gamma1 + 1, false),
        ] {
            // One coefficient alone, at the ends and inside of every polynomial.
            for polynomial in 0..p.l {
                for position in [0, 1, 7, 8, 100, 254, 255] {
                    let mut z = forge::constant_z(p, 5);
                    z[polynomial][position] = value;
                    let signature = forger.signature(&z, &forge::no_hint(p));
                    let what = format!("z[{polynomial}][{position}] = {value}");
                    forger.assert_checked_verdict(&signature, accepted, &what);
                }
            }
        }
    }
}

/// Bug 1 with honest keys: signatures of attempts that fail the check of z and nothing else.
#[test]
fn bug_01_norm_check_of_z_with_honest_keys() {
    for p in PARAMETER_SETS {
        let mut stream = Stream::new(&format!("z violations, {}", p.name));
        for _ in 0..6 {
            let (pk, sk) = oracle::keygen(p, &stream.array());
            let message = stream.pure(2);
            let mu = message.mu(&oracle::h(&[&pk], 64));
            let signature = oracle::sign_mu_z_violation(p, &sk, &mu, &[0; 32], 1000).unwrap();
            assert!(oracle::verify_mu_without_z_check(p, &pk, &mu, &signature));
            for subject in subjects_of(p) {
                assert!(
                    !subject.accepts(&pk, &message.input(), &signature),
                    "{}",
                    subject.label()
                );
            }
        }
    }
}

/// Bug 2: UseHint at r0 = 0, where the hint must count downwards. z = 0 makes every r0 zero.
#[test]
fn bug_02_use_hint_at_zero() {
    for p in PARAMETER_SETS {
        let forger = Forger::new(p, &RHO, MU);
        let z = forge::constant_z(p, 0);
        for position in [0, 3, 128, 255] {
            let mut hint = forge::no_hint(p);
            hint[p.k - 1][position] = 1;
            let right = forger.signature(&z, &hint);
            forger.assert_checked_verdict(&right, true, "UseHint(1, 0)");
            // What a verifier computes that counts upwards: high bits 1 in place of m - 1.
            let mut w1 = forge::no_hint(p);
            w1[p.k - 1][position] = 1;
            let c_tilde = oracle::h(&[&MU, &oracle::w1_encode(p, &w1)], p.lambda / 4);
            let wrong = oracle::sig_encode(p, &c_tilde, &z, &hint);
            forger.assert_checked_verdict(&wrong, false, "UseHint(1, 0) counted upwards");
        }
    }
}

/// A forged signature with two hints in polynomial 0 and two in the last one.
fn with_hints(forger: &Forger, p: &Params) -> Vec<u8> {
    let mut hint = forge::no_hint(p);
    for poly in [0, p.k - 1] {
        hint[poly][10] = 1;
        hint[poly][20] = 1;
    }
    forger.signature(&forge::constant_z(p, 77), &hint)
}

/// Bug 3: hint positions repeated or out of order. A lenient decoder reads the same hint and
/// accepts, so one signature would have several encodings.
#[test]
fn bug_03_hint_order() {
    for p in PARAMETER_SETS {
        let forger = Forger::new(p, &RHO, MU);
        let signature = with_hints(&forger, p);
        forger.assert_checked_verdict(&signature, true, "hints in order");
        let start = signature.len() - p.omega - p.k;
        let counters = signature.len() - p.k;
        assert_eq!(signature[start..start + 5], [10, 20, 10, 20, 0]);
        for first in [0, 2] {
            let mut swapped = signature.clone();
            swapped.swap(start + first, start + first + 1);
            forger.assert_checked_verdict(&swapped, false, "hints out of order");
        }
        // 10, 10, 20 in polynomial 0 is the same set of positions.
        let mut repeated = signature.clone();
        repeated[start..start + 5].copy_from_slice(&[10, 10, 20, 10, 20]);
        repeated[counters..]
            .iter_mut()
            .for_each(|counter| *counter += 1);
        forger.assert_checked_verdict(&repeated, false, "a repeated hint");
        let mut repeated_last = signature.clone();
        repeated_last[start..start + 5].copy_from_slice(&[10, 20, 10, 20, 20]);
        *repeated_last.last_mut().unwrap() += 1;
        forger.assert_checked_verdict(&repeated_last, false, "the last hint repeated");
        let mut padded = signature.clone();
        padded[start + p.omega - 1] = 1;
        forger.assert_checked_verdict(&padded, false, "a byte behind the last hint");
        let mut padded_first = signature;
        padded_first[start + 4] = 30;
        forger.assert_checked_verdict(&padded_first, false, "a byte right behind the last hint");
    }
}

/// Bug 4: hint counters above ω or going backwards, the last one in particular.
#[test]
fn bug_04_hint_counters() {
    for p in PARAMETER_SETS {
        let forger = Forger::new(p, &RHO, MU);
        let signature = with_hints(&forger, p);
        let counters = signature.len() - p.k;
        for polynomial in 0..p.k {
            let honest = signature[counters + polynomial];
            for counter in 0..=255 {
                if counter == honest {
                    continue;
                }
                let mut altered = signature.clone();
                altered[counters + polynomial] = counter;
                // A counter between 0 and 4 moves hints between polynomials: another hint, and so
                // another w1. Any other one is malformed. Refused alike.
                forger.assert_verdict(
                    &altered,
                    false,
                    &format!("counter {polynomial} = {counter}"),
                );
            }
        }
        // Increasing positions up to the end, so that a reader without a bound runs on.
        let mut full = signature.clone();
        let start = counters - p.omega;
        for (i, byte) in full[start..counters].iter_mut().enumerate() {
            *byte = i as u8;
        }
        for counter in [p.omega + 1, p.omega + p.k, p.omega + p.k + 1, 128, 255] {
            full[counters..].fill(p.omega as u8);
            *full.last_mut().unwrap() = counter as u8;
            forger.assert_verdict(&full, false, "last counter above omega");
        }
    }
}

/// Bugs 4 and 5: hints of every legal weight are accepted: none at all, exactly ω, all in one
/// polynomial, empty polynomials first, between and last.
#[test]
fn bug_05_legal_hints() {
    for p in PARAMETER_SETS {
        let forger = Forger::new(p, &RHO, MU);
        let z = forge::constant_z(p, -3);
        let mut hints = vec![forge::no_hint(p)];
        for polynomial in 0..p.k {
            for weight in [1, 2, p.omega - 1, p.omega] {
                let mut hint = forge::no_hint(p);
                for i in 0..weight {
                    hint[polynomial][255 - 3 * i] = 1;
                }
                hints.push(hint);
            }
        }
        let mut spread = forge::no_hint(p);
        for i in 0..p.omega {
            spread[i % p.k][i] = 1;
        }
        hints.push(spread);
        for hint in hints {
            let weight = hint.iter().flatten().sum::<i64>();
            let signature = forger.signature(&z, &hint);
            forger.assert_checked_verdict(&signature, true, &format!("a hint of weight {weight}"));
        }
    }
}

/// Bug 11: HashML-DSA with a digest of the wrong length (SHAKE128 gives 32 bytes, SHAKE256 64).
#[test]
fn bug_11_digest_lengths() {
    for subject in subjects() {
        let key = subject.key(&[1; 32]);
        let verifier = subject.verifier(&key.public).unwrap();
        for hash in PreHash::ALL {
            let digest = hash.digest(b"message");
            let ours = crate::common::prehash(hash);
            let input = |digest| Input::WeakDigest {
                hash: ours,
                digest,
                context: context(b"c"),
            };
            let signature = key.signer.sign(&input(&digest), &[0; 32]).unwrap();
            assert_eq!(verifier.verify(&input(&digest), &signature), Ok(()));
            let long = [&digest[..], &[0; 40]].concat();
            for length in (0..=digest.len() + 40).filter(|length| *length != digest.len()) {
                let error = Error::DigestLength {
                    expected: digest.len(),
                    actual: length,
                };
                let input = input(&long[..length]);
                assert_eq!(
                    key.signer.sign(&input, &[0; 32]),
                    Err(error),
                    "{}",
                    hash.name()
                );
                assert_eq!(
                    verifier.verify(&input, &signature),
                    Err(error),
                    "{}",
                    hash.name()
                );
            }
        }
    }
}

/// Bug 13: c_tilde compared in part. With t1 = 0 the challenge has no influence on w1, so that
/// only the comparison can refuse an altered c_tilde.
#[test]
fn bug_13_c_tilde_compared_in_full() {
    for p in PARAMETER_SETS {
        let forger = Forger::new(p, &RHO, MU);
        let signature = with_hints(&forger, p);
        forger.assert_verdict(&signature, true, "unaltered");
        for byte in 0..p.lambda / 4 {
            for bit in 0..8 {
                let mut altered = signature.clone();
                altered[byte] ^= 1 << bit;
                forger.assert_verdict(&altered, false, &format!("c_tilde byte {byte} bit {bit}"));
            }
        }
        // A comparison of C strings ends at a zero byte.
        let hint = forge::no_hint(p);
        let signature = (1..)
            .map(|value| forger.signature(&forge::constant_z(p, value), &hint))
            .find(|signature| signature[0] == 0)
            .unwrap();
        forger.assert_verdict(&signature, true, "c_tilde beginning with zero");
        let mut altered = signature;
        altered[1] ^= 1;
        forger.assert_verdict(&altered, false, "c_tilde altered behind a zero");
    }
}

/// Bug 15: lengths of seeds and keys unchecked. A seed is `&[u8; 32]`, so the compiler checks it;
/// everything else is a slice and is refused unless its length is exact.
#[test]
fn bug_15_lengths() {
    let _: fn(&[u8; 32]) -> mldsa65::SigningKey = SigningKey::from_seed;
    for p in PARAMETER_SETS {
        for subject in subjects_of(p) {
            let key = subject.key(&[2; 32]);
            for actual in [
                0,
                1,
                31,
                32,
                33,
                key.secret.len() - 1,
                key.secret.len() + 1,
                1 << 16,
            ] {
                let mut sk = key.secret.clone();
                sk.resize(actual, 0);
                let error = Error::SigningKeyLength {
                    expected: p.sk_bytes(),
                    actual,
                };
                assert_eq!(subject.import(&sk).err(), Some(error));
            }
            for actual in [
                0,
                1,
                32,
                key.public.len() - 1,
                key.public.len() + 1,
                1 << 16,
            ] {
                let mut pk = key.public.clone();
                pk.resize(actual, 0);
                let error = Error::VerifyingKeyLength {
                    expected: p.pk_bytes(),
                    actual,
                };
                assert_eq!(subject.verifier(&pk).err(), Some(error));
            }
        }
    }
}

/// Bug 17: contexts longer than 255 bytes, whose length does not fit its byte.
#[test]
fn bug_17_long_contexts() {
    let longest = vec![7; 70_000];
    for subject in subjects() {
        let key = subject.key(&[3; 32]);
        let verifier = subject.verifier(&key.public).unwrap();
        let signature = key.signer.deterministic(b"m", &longest[..255]).unwrap();
        assert_eq!(
            verifier.verify_pure(b"m", &longest[..255], &signature),
            Ok(())
        );
        for actual in [256, 257, 511, 512, 65_535, 65_536, 65_791] {
            let context = &longest[..actual];
            let error = Err(Error::ContextTooLong { actual });
            assert_eq!(Context::new(context).map(|_| ()), error);
            assert_eq!(key.signer.deterministic(b"m", context).map(|_| ()), error);
            assert_eq!(verifier.verify_pure(b"m", context, &signature), error);
        }
        // A context of 256 bytes whose length was cut to one byte is the empty one and a message.
        let mu = oracle::h(&[&verifier.tr(), &[0, 0], &longest[..256], b"m"], 64);
        let cut = key
            .signer
            .sign(
                &Input::Mu(&hazmat::external_mu(mu.try_into().unwrap())),
                &[0; 32],
            )
            .unwrap();
        assert!(verifier.verify_pure(b"m", &longest[..256], &cut).is_err());
    }
}

/// The parts of an API that rule a bug out by type: a signature or key of one set is no value of
/// another, and an expanded key cannot be read from bytes.
#[test]
fn sets_do_not_mix() {
    let key = mldsa44::SigningKey::from_seed(&[4; 32]);
    let signature = key.sign_deterministic(b"m").unwrap();
    let error = mldsa65::Signature::from_bytes(signature.as_bytes()).err();
    assert_eq!(
        error,
        Some(Error::SignatureLength {
            expected: 3309,
            actual: 2420
        })
    );
    let error = VerifyingKey::<mldsa65::Set>::from_bytes(key.verifying_key().as_bytes()).err();
    assert_eq!(
        error,
        Some(Error::VerifyingKeyLength {
            expected: 1952,
            actual: 1312
        })
    );
}
