//! Input of every shape: an error or a verdict, never a panic, and the verdict is the oracle's.

use crate::common::forge::{self, Forger};
use crate::common::{Stream, TestRng, context, subjects, subjects_of};
use mldsa_lanes::{Context, Error, Input, InvalidKeyReason, mldsa65};
use mldsa_oracle as oracle;
use mldsa_oracle::{PARAMETER_SETS, Params, Poly};

/// Signatures of every length up to a little more than the right one.
#[test]
fn signature_lengths() {
    for subject in subjects() {
        let p = subject.p;
        let key = subject.key(&[1; 32]);
        let verifier = subject.verifier(&key.public).unwrap();
        let mut signature = key.signer.deterministic(b"m", b"").unwrap();
        signature.resize(p.sig_bytes() + 70, 0);
        for actual in (0..signature.len()).filter(|actual| *actual != p.sig_bytes()) {
            let error = Error::SignatureLength {
                expected: p.sig_bytes(),
                actual,
            };
            assert_eq!(
                verifier.verify_pure(b"m", b"", &signature[..actual]),
                Err(error)
            );
        }
        assert_eq!(
            verifier.verify_pure(b"m", b"", &signature[..p.sig_bytes()]),
            Ok(())
        );
    }
}

/// The same byte everywhere, in signatures, public keys and private keys.
#[test]
fn uniform_bytes() {
    for subject in subjects() {
        let p = subject.p;
        let key = subject.key(&[2; 32]);
        let signature = key.signer.deterministic(b"m", b"").unwrap();
        for byte in [0, 1, 0x55, 0x7f, 0x80, 0xaa, 0xfe, 0xff] {
            let input = b"m".into();
            assert!(!subject.accepts(&key.public, &input, &vec![byte; p.sig_bytes()]));
            assert!(!subject.accepts(&vec![byte; p.pk_bytes()], &input, &signature));
            assert!(!subject.accepts(
                &vec![byte; p.pk_bytes()],
                &input,
                &vec![byte; p.sig_bytes()]
            ));
            let imported = subject.import(&vec![byte; p.sk_bytes()]);
            assert!(matches!(imported.err(), Some(Error::InvalidSigningKey(_))));
        }
    }
}

/// A private key with any one bit altered is refused, unless the bit is in K, which nothing else
/// depends on.
#[test]
fn altered_private_keys() {
    for p in PARAMETER_SETS {
        let mut stream = Stream::new(&format!("altered private keys, {}", p.name));
        let (_, sk) = oracle::keygen(p, &stream.array());
        let subjects = subjects_of(p);
        for number in 0..200 {
            let subject = &subjects[number % subjects.len()];
            let position = match number % 4 {
                0 => stream.below(128),
                _ => stream.below(sk.len()),
            };
            let mut altered = sk.clone();
            altered[position] ^= 1 << stream.below(8);
            let imported = subject.import(&altered);
            let at = format!("{}: byte {position}", subject.label());
            if (32..64).contains(&position) {
                assert!(imported.is_ok(), "{at}");
            } else {
                let Some(Error::InvalidSigningKey(reason)) = imported.err() else {
                    panic!("{at}");
                };
                let is_place = match reason {
                    InvalidKeyReason::TrMismatch => (64..128).contains(&position),
                    InvalidKeyReason::T0Mismatch => !(32..128).contains(&position),
                    InvalidKeyReason::SecretOutOfRange => {
                        (128..sk.len() - 416 * p.k).contains(&position)
                    }
                    _ => false,
                };
                assert!(is_place, "{at}: {reason:?}");
            }
        }
    }
}

/// The caller's generator: its bytes are ξ and rnd, and its failure is an error.
#[test]
fn generators() {
    let xi: [u8; 32] = Stream::new("xi").array();
    let mut rng = TestRng::new(&xi);
    let key = mldsa65::SigningKey::generate(&mut rng).unwrap();
    assert_eq!((key.seed(), rng.left()), (Some(&xi), 0));
    for short in [0, 1, 31] {
        let generated = mldsa65::SigningKey::generate(&mut TestRng::new(&xi[..short]));
        assert_eq!(generated.err(), Some(Error::Rng));
    }
    for subject in subjects() {
        let key = subject.key(&xi);
        let rnd: [u8; 32] = Stream::new("rnd").array();
        let input = (b"m", context(b"c")).into();
        let hedged = key
            .signer
            .hedged(b"m", b"c", &mut TestRng::new(&rnd))
            .unwrap();
        assert_eq!(
            Ok(&hedged),
            key.signer.sign(&input, &rnd).as_ref(),
            "{}",
            subject.label()
        );
        assert_ne!(Ok(&hedged), key.signer.deterministic(b"m", b"c").as_ref());
        let failed = key.signer.hedged(b"m", b"c", &mut TestRng::new(&rnd[..31]));
        assert_eq!(failed, Err(Error::Rng), "{}", subject.label());
    }
}

/// Errors say in one line which input breaks which rule.
#[test]
fn error_texts() {
    let errors = [
        Error::SigningKeyLength {
            expected: 4032,
            actual: 5,
        },
        Error::VerifyingKeyLength {
            expected: 1952,
            actual: 5,
        },
        Error::SignatureLength {
            expected: 3309,
            actual: 5,
        },
        Error::ContextTooLong { actual: 256 },
        Error::DigestLength {
            expected: 32,
            actual: 5,
        },
        Error::InvalidSigningKey(InvalidKeyReason::T0Mismatch),
        Error::MuOfAnotherKey,
        Error::AttemptLimit {
            least: 814,
            most: 821,
            actual: 5,
        },
        Error::RndCount {
            expected: 3,
            actual: 2,
        },
        Error::TooManyAttempts { allowed: 821 },
        Error::InvalidSignature,
        Error::Rng,
    ];
    let numbers = [
        "4032",
        "1952",
        "3309",
        "255",
        "32",
        "t0 does not belong",
        "another key",
        "814",
        "rnd",
        "821",
        "invalid",
        "random",
    ];
    for (error, expected) in errors.iter().zip(numbers) {
        let text = error.to_string();
        assert!(text.contains(expected) && !text.contains('\n'), "{text}");
        let _: &dyn core::error::Error = error;
    }
}

/// Calls `check` for 96 random cases: a parameter set and a stream of data.
fn for_any(label: &str, check: impl Fn(&'static Params, &mut Stream)) {
    for number in 0..96 {
        let mut stream = Stream::new(&format!("{label} {number}"));
        let p = PARAMETER_SETS[stream.below(PARAMETER_SETS.len())];
        check(p, &mut stream);
    }
}

/// Fewer than `limit` random bytes.
fn bytes_below(stream: &mut Stream, limit: usize) -> Vec<u8> {
    let length = stream.below(limit);
    stream.bytes(length)
}

/// Any bytes as public key, message, context and signature.
#[test]
fn any_bytes() {
    for_any("any bytes", |p, stream| {
        let message = bytes_below(stream, 200);
        let context = bytes_below(stream, 300);
        let pk = stream.bytes(p.pk_bytes());
        let signature = stream.bytes(p.sig_bytes());
        let Ok(context) = Context::new(&context) else {
            assert!(context.len() > 255);
            return;
        };
        let input = Input::Pure {
            message: &message,
            context,
        };
        for subject in subjects_of(p) {
            assert!(!subject.accepts(&pk, &input, &signature));
        }
    });
}

/// Signatures with random z and hints for a key that lets anything else pass: accepted if and
/// only if the oracle accepts, and that is if z is in range.
#[test]
fn any_z_and_hint() {
    for_any("any z", |p, stream| {
        let weight = stream.below(81);
        let beyond = stream.below(3) as i64 - 2;
        let rho = stream.array();
        let forger = Forger::new(p, &rho, stream.array());
        let largest = p.gamma1 - p.beta + beyond;
        let range = 2 * largest as usize + 1;
        let mut z: Vec<Poly> = (0..p.l)
            .map(|_| {
                (0..256)
                    .map(|_| stream.below(range) as i64 - largest)
                    .collect()
            })
            .collect();
        let (polynomial, position) = (stream.below(p.l), stream.below(256));
        z[polynomial][position] = [largest, -largest][stream.below(2)];
        let mut hint = forge::no_hint(p);
        for _ in 0..weight.min(p.omega) {
            hint[stream.below(p.k)][stream.below(256)] = 1;
        }
        let signature = forger.signature(&z, &hint);
        let expected = beyond < 0;
        forger.assert_checked_verdict(&signature, expected, "random z and hint");
    });
}

/// Any bytes in the place of the hint, of every shape that counters can have.
#[test]
fn any_hint_bytes() {
    for_any("any hint bytes", |p, stream| {
        let forger = Forger::new(p, &[8; 32], [6; 64]);
        let z = forge::constant_z(p, 3);
        let mut signature = forger.signature(&z, &forge::no_hint(p));
        let start = signature.len() - p.omega - p.k;
        let mut positions = stream.bytes(p.omega);
        let mut counters: Vec<u8> = (0..p.k).map(|_| stream.below(91) as u8).collect();
        if stream.below(2) == 1 {
            counters.sort_unstable();
            let mut from = 0;
            for &counter in &counters {
                let to = usize::from(counter).clamp(from, p.omega);
                positions[from..to].sort_unstable();
                from = to;
            }
            positions[from..].fill(0);
        }
        signature[start..start + p.omega].copy_from_slice(&positions);
        signature[start + p.omega..].copy_from_slice(&counters);
        // c_tilde made for the hint, if these bytes are one: then the signature is valid.
        if let Some(hint) = oracle::hint_bit_unpack(p, &signature[start..]) {
            let c_tilde = forger.challenge(&z, &hint);
            signature[..c_tilde.len()].copy_from_slice(&c_tilde);
        }
        let expected = oracle::verify_mu(p, &forger.pk, &forger.mu, &signature);
        forger.assert_verdict(&signature, expected, "random bytes for a hint");
    });
}

/// Sign and verify, whatever the message, its context and rnd.
#[test]
fn round_trip() {
    for_any("round trip", |p, stream| {
        let (seed, rnd) = (stream.array(), stream.array());
        let message = bytes_below(stream, 2000);
        let context = bytes_below(stream, 256);
        let input = (&message[..], self::context(&context)).into();
        let mut first = None;
        for subject in subjects_of(p) {
            let key = subject.key(&seed);
            let signature = key.signer.sign(&input, &rnd).unwrap();
            assert!(subject.accepts(&key.public, &input, &signature));
            let other = (&context[..]).into();
            assert!(
                message == context && context.is_empty()
                    || !subject.accepts(&key.public, &other, &signature)
            );
            assert_eq!(first.get_or_insert(signature.clone()), &signature);
        }
    });
}
