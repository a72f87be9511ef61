//! Mistakes that real implementations of ML-DSA or Dilithium have made: those that a signer or a
//! backend makes. `past_bugs_verify.rs` has the others; the numbers run through both files.
//!
//! Some are matters of structure that a test from outside can see in part only; their comments say
//! which part, and what covers the rest.

use crate::common::forge::{self, Forger};
use crate::common::{Stream, Subject, Traced, subjects_of};
use mldsa_lanes::hazmat::external_mu;
use mldsa_lanes::{Backend, Error, Input, InvalidKeyReason, mldsa44};
use mldsa_oracle as oracle;
use mldsa_oracle::{PARAMETER_SETS, Poly};
use std::collections::BTreeSet;

const RHO: [u8; 32] = [0x33; 32];
const MU: [u8; 64] = [0x44; 64];

/// Bug 6: division instructions on secrets, whose time depends on the operands. Seen from outside
/// is only that the replacement is exact: signing over secrets at the ends of their range, where a
/// reciprocal with too few bits fails first. `make ct` and `make ct-code` look for divisions in the
/// compiled code.
#[test]
fn bug_06_no_division_on_secrets() {
    extreme_keys("division");
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
            let expected = crate::common::oracle_signature(p, &sk, &message, &[0; 32]);
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
        let forger = Forger::new(p, &RHO, MU);
        let end = p.gamma1 - p.beta - 1;
        for (even, odd) in [(end, end), (-end, -end), (end, -end), (-end, end)] {
            let mut z = forge::constant_z(p, even);
            z.iter_mut()
                .for_each(|poly| poly.iter_mut().step_by(2).for_each(|c| *c = odd));
            let signature = forger.signature(&z, &forge::no_hint(p));
            forger.assert_verdict(&signature, true, "z at the ends of its range");
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
            let signature = forger.signature(&z, &forge::no_hint(p));
            forger.assert_verdict(&signature, true, "z at mixed ends of its range");
        }
        // t1 at its largest, 1023·2^13 = q - 1: the verdict is the oracle's.
        let pk = [&RHO[..], &vec![0xff; p.pk_bytes() - 32]].concat();
        let z = forge::constant_z(p, end);
        let signature = forger.signature(&z, &forge::no_hint(p));
        let expected = oracle::verify_mu(p, &pk, &MU, &signature);
        for subject in subjects_of(p) {
            let verdict = subject.accepts(&pk, &Input::Mu(&external_mu(MU)), &signature);
            assert_eq!(verdict, expected, "{}", subject.label());
        }
    }
    extreme_keys("transforms");
}

/// Bug 8: (c, z) of a rejected attempt given away. From outside: an error carries no bytes, a
/// trace carries positions only, `Debug` of a key prints no secret, and a dropped key leaves
/// neither ξ nor the private key in its place. The workspace of signing lives on the stack of the
/// callee; that it is wiped is a property of its types (each field of it is wiped when dropped,
/// none of it is moved).
#[test]
fn bug_08_secrets_left_behind() {
    assert!(size_of::<Error>() <= 40 && size_of::<mldsa_trace::Attempt>() <= 8);
    let seed: [u8; 32] = Stream::new("secrets left behind").array();
    let key = mldsa44::SigningKey::from_seed(&seed);
    let private = key.encoded_bytes().to_vec();
    let printed = format!("{key:?} {:?}", key.expand());
    for secret in [&seed[..], &private[32..64], &private[128..160]] {
        assert!(
            !printed.contains(&crate::common::hex(secret))
                && !printed.contains(&format!("{secret:?}"))
        );
    }
    let (k, s1) = (&private[32..64], &private[128..224]);
    left_by(Box::new(key.clone()), &[&seed, k, s1]);
    left_by(key.expand(), &[k]);
}

/// Drops a value in its place and asserts that none of the secrets, which it held, is still there.
fn left_by<T>(value: Box<T>, secrets: &[&[u8]]) {
    let value = Box::into_raw(value).cast::<std::mem::ManuallyDrop<T>>();
    // SAFETY: from `Box::into_raw`; `ManuallyDrop<T>` is `T` in memory.
    let mut place = unsafe { Box::from_raw(value) };
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
    let names: Vec<&str> = Backend::available().map(|backend| backend.name()).collect();
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

/// Bug 12: κ wrapping at 16 bits. It grows by l for each attempt, into its second byte in the
/// cases of `rejection_paths.rs` with up to a hundred attempts. The limit of 821 attempts keeps it
/// below 2^16; no key is known that needs so many: `batch/limit_tests.rs` reaches it with made-up ones.
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
            let signature = key
                .signer
                .sign(&Input::Mu(&external_mu(mu)), &[0; 32])
                .unwrap();
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
                        error == Some(Error::InvalidSigningKey(InvalidKeyReason::SecretOutOfRange)),
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
                    let Traced { signature, trace } = key
                        .signer
                        .traced(&Input::Mu(&external_mu(mu)), &rnd)
                        .unwrap();
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
