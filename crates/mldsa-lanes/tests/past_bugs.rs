//! Mistakes that real implementations of ML-DSA or Dilithium have made, one test or more for each.
//! Some are matters of structure that a test from outside can see in part only; their comments say
//! which part, and what covers the rest.

mod common;

use common::{Message, Stream, Subject, Traced, forge, subjects, subjects_of};
use mldsa_lanes::{Backend, Error, Input, MuHasher, SigningKey, VerifyingKey, mldsa44, mldsa65};
use mldsa_oracle as oracle;
use mldsa_oracle::{PARAMETER_SETS, Params, Poly, PreHash};
use std::collections::BTreeSet;

const RHO: [u8; 32] = [0x33; 32];

/// A message for the key with t1 = 0, and its μ.
fn forged_message(p: &Params) -> (Vec<u8>, Message, [u8; 64]) {
    let pk = forge::zero_t1_key(p, &RHO);
    let message = Message::Pure {
        message: b"forged".to_vec(),
        context: vec![],
    };
    let mu = message.mu(&oracle::h(&[&pk], 64));
    (pk, message, mu)
}

/// Asserts one verdict on all subjects of a set, and on the oracle.
fn assert_verdict(p: &'static Params, signature: &[u8], accepted: bool, what: &str) {
    let (pk, message, mu) = forged_message(p);
    assert_eq!(
        oracle::verify_mu(p, &pk, &mu, signature),
        accepted,
        "oracle: {what}"
    );
    for subject in subjects_of(p) {
        let verdict = subject.accepts(&pk, &message.input(), signature);
        assert_eq!(verdict, accepted, "{}: {what}", subject.label());
    }
}

/// Bug 1: verification without the norm check of z, or with a wrong bound. The signatures here
/// are right in everything else.
#[test]
fn bug_01_norm_check_of_z() {
    for p in PARAMETER_SETS {
        let (_, _, mu) = forged_message(p);
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
                    let signature = forge::signature(p, &RHO, &mu, &z, &forge::no_hint(p));
                    let what = format!("z[{polynomial}][{position}] = {value}");
                    assert_verdict(p, &signature, accepted, &what);
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
        let (_, _, mu) = forged_message(p);
        let z = forge::constant_z(p, 0);
        for position in [0, 3, 128, 255] {
            let mut hint = forge::no_hint(p);
            hint[p.k - 1][position] = 1;
            let right = forge::signature(p, &RHO, &mu, &z, &hint);
            assert_verdict(p, &right, true, "UseHint(1, 0)");
            // What a verifier computes that counts upwards: high bits 1 in place of m - 1.
            let mut w1 = forge::no_hint(p);
            w1[p.k - 1][position] = 1;
            let c_tilde = oracle::h(&[&mu, &oracle::w1_encode(p, &w1)], p.lambda / 4);
            let wrong = oracle::sig_encode(p, &c_tilde, &z, &hint);
            assert_verdict(p, &wrong, false, "UseHint(1, 0) counted upwards");
        }
    }
}

/// A forged signature with two hints in polynomial 0 and two in the last one.
fn with_hints(p: &Params) -> Vec<u8> {
    let (_, _, mu) = forged_message(p);
    let mut hint = forge::no_hint(p);
    for poly in [0, p.k - 1] {
        hint[poly][10] = 1;
        hint[poly][20] = 1;
    }
    forge::signature(p, &RHO, &mu, &forge::constant_z(p, 77), &hint)
}

/// Bug 3: hint positions repeated or out of order. A lenient decoder reads the same hint and
/// accepts, so one signature would have several encodings.
#[test]
fn bug_03_hint_order() {
    for p in PARAMETER_SETS {
        let signature = with_hints(p);
        assert_verdict(p, &signature, true, "hints in order");
        let start = signature.len() - p.omega - p.k;
        let counters = signature.len() - p.k;
        assert_eq!(signature[start..start + 5], [10, 20, 10, 20, 0]);
        for first in [0, 2] {
            let mut swapped = signature.clone();
            swapped.swap(start + first, start + first + 1);
            assert_verdict(p, &swapped, false, "hints out of order");
        }
        // 10, 10, 20 in polynomial 0 is the same set of positions.
        let mut repeated = signature.clone();
        repeated[start..start + 5].copy_from_slice(&[10, 10, 20, 10, 20]);
        repeated[counters..]
            .iter_mut()
            .for_each(|counter| *counter += 1);
        assert_verdict(p, &repeated, false, "a repeated hint");
        let mut repeated_last = signature.clone();
        repeated_last[start..start + 5].copy_from_slice(&[10, 20, 10, 20, 20]);
        *repeated_last.last_mut().unwrap() += 1;
        assert_verdict(p, &repeated_last, false, "the last hint repeated");
        let mut padded = signature.clone();
        padded[start + p.omega - 1] = 1;
        assert_verdict(p, &padded, false, "a byte behind the last hint");
        let mut padded_first = signature;
        padded_first[start + 4] = 30;
        assert_verdict(p, &padded_first, false, "a byte right behind the last hint");
    }
}

/// Bug 4: hint counters above ω or going backwards, the last one in particular.
#[test]
fn bug_04_hint_counters() {
    for p in PARAMETER_SETS {
        let signature = with_hints(p);
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
                assert_verdict(
                    p,
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
            assert_verdict(p, &full, false, "last counter above omega");
        }
    }
}

/// Bugs 4 and 5: hints of every legal weight are accepted: none at all, exactly ω, all in one
/// polynomial, empty polynomials first, between and last.
#[test]
fn bug_05_legal_hints() {
    for p in PARAMETER_SETS {
        let (_, _, mu) = forged_message(p);
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
            let signature = forge::signature(p, &RHO, &mu, &z, &hint);
            assert_verdict(p, &signature, true, &format!("a hint of weight {weight}"));
        }
    }
}

/// Bug 6: division instructions on secrets, whose time depends on the operands. Seen from outside
/// is only that the replacement is exact: signing over secrets at the ends of their range, where a
/// reciprocal with too few bits fails first. That no division is left is a property of the text of
/// the kernels: they hold no `/` or `%` outside constants.
#[test]
fn bug_06_rounding_without_division() {
    extreme_keys("division");
    let kernels = concat!(env!("CARGO_MANIFEST_DIR"), "/src/kernels");
    let mut files = 0;
    for entry in std::fs::read_dir(kernels).unwrap() {
        let path = entry.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap();
        files += 1;
        // Unit tests stand at the end of a file and may divide.
        let text = text.split("#[cfg(test)]").next().unwrap();
        for (number, line) in text.lines().enumerate() {
            let code = line.split("//").next().unwrap();
            let constant = ["const ", "assert!", "for ", "let _: "]
                .iter()
                .any(|c| code.contains(c));
            assert!(
                constant || !(code.contains(" / ") || code.contains(" % ")),
                "{}:{}: {line}",
                path.display(),
                number + 1
            );
        }
    }
    assert!(files > 3, "no kernels in {kernels}");
}

/// Keys whose secrets are all at an end of their range, read as bytes, sign as the oracle does.
fn extreme_keys(label: &str) {
    for p in PARAMETER_SETS {
        let mut stream = Stream::new(&format!("extreme keys, {label}, {}", p.name));
        for (first, second) in [(p.eta, p.eta), (-p.eta, -p.eta), (p.eta, -p.eta), (0, 0)] {
            let constant = |length, value| vec![vec![value; 256]; length];
            let (sk, pk) = forge::key(
                p,
                &stream.array(),
                constant(p.l, first),
                constant(p.k, second),
            );
            let message = stream.pure(0);
            let expected = common::oracle_signature(p, &sk, &message, &[0; 32]);
            for subject in subjects_of(p) {
                let key = subject.import(&sk).unwrap();
                assert_eq!(key.public, pk, "{}", subject.label());
                let traced = key.signer.traced(&message.input(), &[0; 32]);
                assert_eq!(traced.as_ref(), Ok(&expected), "{}", subject.label());
                assert!(subject.accepts(&pk, &message.input(), &expected.signature));
            }
        }
    }
}

/// Bug 7: a transform whose input is larger than its bounds allow. z at the ends of its range in
/// every coefficient, and secrets at the ends of theirs, are the largest inputs there are. The
/// bounds of each kernel are asserted in its own unit tests.
#[test]
fn bug_07_largest_inputs_of_the_transforms() {
    for p in PARAMETER_SETS {
        let (_, _, mu) = forged_message(p);
        let end = p.gamma1 - p.beta - 1;
        for (even, odd) in [(end, end), (-end, -end), (end, -end), (-end, end)] {
            let mut z = forge::constant_z(p, even);
            z.iter_mut()
                .for_each(|poly| poly.iter_mut().step_by(2).for_each(|c| *c = odd));
            let signature = forge::signature(p, &RHO, &mu, &z, &forge::no_hint(p));
            assert_verdict(p, &signature, true, "z at the ends of its range");
        }
        for sign in [1, -1] {
            let mut stream = Stream::new(&format!("mixed signs {sign}, {}", p.name));
            let z: Vec<Poly> = (0..p.l)
                .map(|_| {
                    (0..256)
                        .map(|_| sign * end * (1 - 2 * stream.below(2) as i64))
                        .collect()
                })
                .collect();
            let signature = forge::signature(p, &RHO, &mu, &z, &forge::no_hint(p));
            assert_verdict(p, &signature, true, "z at mixed ends of its range");
        }
        // t1 at its largest: nothing to accept, but the same verdict without overflow.
        let pk = [&RHO[..], &vec![0xff; p.pk_bytes() - 32]].concat();
        let z = forge::constant_z(p, end);
        let signature = forge::signature(p, &RHO, &mu, &z, &forge::no_hint(p));
        for subject in subjects_of(p) {
            assert!(!subject.accepts(&pk, &Input::Mu(&mu), &signature));
        }
    }
    extreme_keys("transforms");
}

/// Bug 8: (c, z) of a rejected attempt given away. From outside: an error carries no bytes, a
/// trace carries positions only, `Debug` of a key prints no secret, and a dropped key leaves
/// neither ξ nor the private key in its place. The workspace of signing lives on the stack of the
/// callee; that it is wiped is a property of its types (each field of it is wiped when dropped).
#[test]
fn bug_08_secrets_left_behind() {
    assert!(size_of::<Error>() <= 40 && size_of::<mldsa_lanes::Attempt>() <= 8);
    let seed: [u8; 32] = Stream::new("secrets left behind").array();
    let key = mldsa44::SigningKey::from_seed(&seed);
    let private = key.expanded_bytes().to_vec();
    let printed = format!("{key:?} {:?}", key.expand());
    for secret in [&seed[..], &private[32..64], &private[128..160]] {
        assert!(
            !printed.contains(&common::hex(secret)) && !printed.contains(&format!("{secret:?}"))
        );
    }
    let (k, s1) = (&private[32..64], &private[128..224]);
    left_by(key.clone(), &[&seed, k, s1]);
    left_by(key.expand(), &[k]);
}

/// Drops a value in its place and asserts that none of the secrets, which it held, is still there.
fn left_by<T>(value: T, secrets: &[&[u8]]) {
    let mut place = Box::new(std::mem::ManuallyDrop::new(value));
    let bytes = (&raw const *place).cast::<u8>();
    // Byte by byte and volatile: the compiler must not reason about a dropped value.
    let read = || -> Vec<u8> {
        // SAFETY: `place` owns `size_of::<T>()` bytes throughout; padding is read as some byte.
        (0..size_of::<T>())
            .map(|i| unsafe { bytes.add(i).read_volatile() })
            .collect()
    };
    let find = |memory: &[u8], secret: &[u8]| memory.windows(secret.len()).any(|w| w == secret);
    let before = read();
    assert!(
        secrets.iter().all(|secret| find(&before, secret)),
        "the test looks at wrong bytes"
    );
    // SAFETY: dropped once; `place` is not used as a `T` afterwards.
    unsafe { std::mem::ManuallyDrop::drop(&mut place) };
    let after = read();
    assert!(
        !secrets.iter().any(|secret| find(&after, secret)),
        "a secret outlives its key"
    );
}

/// Bug 9: a fallback nobody tests gives wrong output. Every backend of this machine signs here
/// and every one verifies what every other signed; `MLDSA_EXPECT_BACKENDS` makes a machine's list
/// binding, and the other files of this folder run on all of them, too.
#[test]
fn bug_09_every_backend_is_tested() {
    for p in PARAMETER_SETS {
        let mut stream = Stream::new(&format!("backends, {}", p.name));
        for _ in 0..4 {
            let seed = stream.array();
            let message = stream.pure(5);
            let keys: Vec<_> = subjects_of(p)
                .into_iter()
                .map(|s| (s, s.key(&seed)))
                .collect();
            let signatures: Vec<Traced> = keys
                .iter()
                .map(|(_, key)| key.signer.traced(&message.input(), &[9; 32]).unwrap())
                .collect();
            for (subject, key) in &keys {
                assert_eq!(key.public, keys[0].1.public, "{}", subject.label());
                for made in &signatures {
                    assert_eq!(*made, signatures[0]);
                    assert!(subject.accepts(&key.public, &message.input(), &made.signature));
                }
            }
        }
    }
}

/// Bug 10: an instruction used without asking the CPU. A backend is on offer only where the
/// features that its name promises were detected, and cannot be had by name otherwise.
#[test]
fn bug_10_backends_are_detected() {
    let names: Vec<&str> = common::backends()
        .iter()
        .map(|backend| backend.name())
        .collect();
    assert_eq!(
        names.iter().collect::<BTreeSet<_>>().len(),
        names.len(),
        "names are unique"
    );
    assert_eq!(Backend::portable().name(), "portable");
    assert!(names.contains(&Backend::detect().name()));
    for name in ["", "Portable", "avx1024", "portable "] {
        assert!(Backend::by_name(name).is_none());
    }
    for name in ["portable", "avx2", "avx512", "neon"] {
        let found = Backend::by_name(name);
        assert_eq!(found.is_some(), names.contains(&name));
        assert!(found.is_none_or(|backend| backend.name() == name));
    }
    #[cfg(target_arch = "x86_64")]
    {
        assert!(!names.contains(&"avx2") || std::arch::is_x86_feature_detected!("avx2"));
        assert!(!names.contains(&"avx512") || std::arch::is_x86_feature_detected!("avx512f"));
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
            let ours = common::prehash(hash);
            let input = |digest| Input::Digest {
                hash: ours,
                digest,
                context: b"c",
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

/// Bug 12: κ wrapping at 16 bits. It grows by l for each attempt, into its second byte in the
/// cases of `rejection_paths.rs` with up to a hundred attempts. The limit of 821 attempts keeps it
/// below 2^16; no key is known that needs so many, so the limit itself is seen only in the code.
#[test]
fn bug_12_kappa() {
    for p in PARAMETER_SETS {
        assert!(mldsa_lanes::MAX_ATTEMPTS as usize * p.l < 1 << 16);
        for subject in subjects_of(p) {
            let mut stream = Stream::new("kappa");
            let key = subject.key(&stream.array());
            for _ in 0..20 {
                let traced = key
                    .signer
                    .traced(&stream.pure(0).input(), &[0; 32])
                    .unwrap();
                for (number, attempt) in traced.trace.iter().enumerate() {
                    assert_eq!(
                        usize::from(attempt.kappa),
                        number * p.l,
                        "{}",
                        subject.label()
                    );
                }
            }
        }
    }
}

/// Bug 13: c_tilde compared in part. With t1 = 0 the challenge has no influence on w1, so that
/// only the comparison can refuse an altered c_tilde.
#[test]
fn bug_13_c_tilde_compared_in_full() {
    for p in PARAMETER_SETS {
        let signature = with_hints(p);
        assert_verdict(p, &signature, true, "unaltered");
        for byte in 0..p.lambda / 4 {
            for bit in 0..8 {
                let mut altered = signature.clone();
                altered[byte] ^= 1 << bit;
                assert_verdict(
                    p,
                    &altered,
                    false,
                    &format!("c_tilde byte {byte} bit {bit}"),
                );
            }
        }
        // A comparison of C strings ends at a zero byte.
        let (_, _, mu) = forged_message(p);
        let hint = forge::no_hint(p);
        let signature = (1..)
            .map(|value| forge::signature(p, &RHO, &mu, &forge::constant_z(p, value), &hint))
            .find(|signature| signature[0] == 0)
            .unwrap();
        assert_verdict(p, &signature, true, "c_tilde beginning with zero");
        let mut altered = signature;
        altered[1] ^= 1;
        assert_verdict(p, &altered, false, "c_tilde altered behind a zero");
    }
}

/// Bug 14: MakeHint with its arguments swapped or a sign lost. The verifier of the oracle, and the
/// oracle's own hint, find it in the first signature that has hints; here are a hundred.
#[test]
fn bug_14_hint_arguments() {
    for p in PARAMETER_SETS {
        let mut stream = Stream::new(&format!("hint arguments, {}", p.name));
        let keys: Vec<(Subject, _)> = {
            let seed = stream.array();
            subjects_of(p)
                .into_iter()
                .map(|s| (s, s.key(&seed)))
                .collect()
        };
        let mut ones = 0;
        for number in 0..100 {
            let (subject, key) = &keys[number % keys.len()];
            let mu = stream.array();
            let signature = key.signer.sign(&Input::Mu(&mu), &[0; 32]).unwrap();
            assert!(
                oracle::verify_mu(p, &key.public, &mu, &signature),
                "{}",
                subject.label()
            );
            let (_, _, hint) = oracle::sig_decode(p, &signature).unwrap();
            ones += hint.unwrap().iter().flatten().sum::<i64>();
        }
        assert!(ones > 1000, "{ones} hints in a hundred signatures");
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

/// Bug 16: s1 or s2 out of range in a key read from bytes. t and tr are made to agree with the bad
/// secrets, so that only the check of the range can refuse.
#[test]
fn bug_16_secrets_out_of_range() {
    for p in PARAMETER_SETS {
        // Values that the encoding can hold and the scheme forbids.
        let lowest = p.eta - if p.eta == 2 { 7 } else { 15 };
        let positions = [
            (0, 0),
            (0, 255),
            (p.l - 1, 17),
            (p.l, 0),
            (p.l, 100),
            (p.l + p.k - 1, 255),
        ];
        for value in lowest..-p.eta {
            for (polynomial, position) in positions {
                let mut s1 = vec![vec![1; 256]; p.l];
                let mut s2 = vec![vec![-1; 256]; p.k];
                let all = s1.iter_mut().chain(s2.iter_mut()).nth(polynomial).unwrap();
                all[position] = value;
                let (sk, _) = forge::key(p, &RHO, s1, s2);
                for subject in subjects_of(p) {
                    let error = subject.import(&sk).err();
                    let at = format!("{}: s[{polynomial}][{position}] = {value}", subject.label());
                    assert!(
                        matches!(error, Some(Error::InvalidSigningKey(_))),
                        "{at}: {error:?}"
                    );
                }
            }
        }
        let (sk, pk) = forge::key(p, &RHO, vec![vec![1; 256]; p.l], vec![vec![-1; 256]; p.k]);
        for subject in subjects_of(p) {
            assert_eq!(
                subject.import(&sk).unwrap().public,
                pk,
                "{}",
                subject.label()
            );
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
            let hash = mldsa_lanes::PreHash::Sha2_256;
            let error = Err(Error::ContextTooLong { actual });
            for input in [
                Input::Pure {
                    message: b"m",
                    context,
                },
                Input::PreHash {
                    hash,
                    message: b"m",
                    context,
                },
                Input::Digest {
                    hash,
                    digest: &[0; 32],
                    context,
                },
            ] {
                assert_eq!(key.signer.sign(&input, &[0; 32]).map(|_| ()), error);
                assert_eq!(verifier.verify(&input, &signature), error);
            }
            assert_eq!(MuHasher::new(&[0; 64], context).map(|_| ()), error);
        }
        // A context of 256 bytes whose length was cut to one byte is the empty one and a message.
        let mu = oracle::h(&[&verifier.tr(), &[0, 0], &longest[..256], b"m"], 64);
        let cut = key
            .signer
            .sign(&Input::Mu(&mu.try_into().unwrap()), &[0; 32])
            .unwrap();
        assert!(verifier.verify_pure(b"m", &longest[..256], &cut).is_err());
    }
}

/// Bug 18: one y used twice, between lanes, attempts or messages. y = z - c·s1 of many signatures:
/// every polynomial is the one that ExpandMask gives for its index, and no two are alike.
#[test]
fn bug_18_masks_are_used_once() {
    for p in PARAMETER_SETS {
        for subject in subjects_of(p) {
            let mut stream = Stream::new(&format!("masks, {}", p.name));
            let key = subject.key(&stream.array());
            let secret = oracle::sk_decode(p, &key.secret);
            let mut seen = BTreeSet::new();
            for number in 0..30 {
                let mu = stream.array();
                // The same message twice in a row: with another rnd every mask is another one.
                for rnd in [[number; 32], stream.array()] {
                    let Traced { signature, trace } =
                        key.signer.traced(&Input::Mu(&mu), &rnd).unwrap();
                    let (c_tilde, z, _) = oracle::sig_decode(p, &signature).unwrap();
                    let c = oracle::ntt(&oracle::sample_in_ball(p, &c_tilde));
                    let rho_second = oracle::h(&[&secret.key, &rnd, &mu], 64);
                    let kappa = trace.last().unwrap().kappa.into();
                    let masks = oracle::expand_mask(p, &rho_second, kappa);
                    for ((z, s1), mask) in z.iter().zip(&secret.s1).zip(masks) {
                        let cs1 = oracle::inverse_ntt(&oracle::multiply_ntt(&c, &oracle::ntt(s1)));
                        let y: Poly = z
                            .iter()
                            .zip(&cs1)
                            .map(|(z, x)| oracle::mod_pm(z - x, oracle::Q))
                            .collect();
                        assert_eq!(y, mask, "{}", subject.label());
                        assert!(seen.insert(y), "{}: a mask used twice", subject.label());
                    }
                }
            }
        }
    }
}

/// The parts of an API that rule a bug out by type: a signature or key of one set is no value of
/// another, and an expanded key cannot be read from bytes.
#[test]
fn sets_do_not_mix() {
    let key = mldsa44::SigningKey::from_seed(&[4; 32]);
    let signature = key.sign_deterministic(b"m", b"").unwrap();
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
