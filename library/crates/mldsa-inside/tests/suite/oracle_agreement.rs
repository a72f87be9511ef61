//! Keys, signatures, traces and verdicts equal to those of the literal transcription of FIPS 204,
//! for random input on every backend, with compact and with expanded keys.

use crate::common::{
    Message, Stream, Traced, backends, context, oracle_signature, prehash, subjects_of,
};
use mldsa_lanes::mldsa65::{SigningKey, VerifyingKey};
use mldsa_lanes::{Context, Error, hazmat};
use mldsa_oracle as oracle;
use mldsa_oracle::{PARAMETER_SETS, Params, PreHash};

/// Keys per parameter set.
const KEYS: usize = 24;
/// Messages per key.
const MESSAGES: usize = 3;

fn stream(p: &Params, what: &str) -> Stream {
    Stream::new(&format!("oracle agreement, {what}, {}", p.name))
}

#[test]
fn keys_signatures_and_traces() {
    for p in PARAMETER_SETS {
        let mut stream = stream(p, "signatures");
        for _ in 0..KEYS {
            let seed = stream.array();
            let (pk, sk) = oracle::keygen(p, &seed);
            let keys: Vec<_> = subjects_of(p)
                .into_iter()
                .map(|subject| (subject, subject.key(&seed)))
                .collect();
            for (subject, key) in &keys {
                assert!(key.public == pk && key.secret == sk, "{}", subject.label());
            }
            for number in 0..MESSAGES {
                let context = stream.below(256);
                let message = stream.pure(context);
                let rnd = if number == 0 { [0; 32] } else { stream.array() };
                let expected = oracle_signature(p, &sk, &message, &rnd);
                for (subject, key) in &keys {
                    let at = subject.label();
                    let traced = key.signer.traced(&message.input(), &rnd);
                    assert_eq!(traced.as_ref(), Ok(&expected), "{at}");
                    // Without a trace the library may compute less: same signature?
                    let signature = key.signer.sign(&message.input(), &rnd).unwrap();
                    assert_eq!(signature, expected.signature, "{at}");
                    assert!(subject.accepts(&pk, &message.input(), &signature), "{at}");
                }
            }
        }
    }
}

/// A key read back from its `skEncode` bytes signs as the key from the seed does.
#[test]
fn imported_keys() {
    for p in PARAMETER_SETS {
        let mut stream = stream(p, "import");
        for _ in 0..4 {
            let (pk, sk) = oracle::keygen(p, &stream.array());
            let message = stream.pure(9);
            let expected = oracle_signature(p, &sk, &message, &[0; 32]);
            for subject in subjects_of(p) {
                let key = subject.import(&sk).unwrap();
                assert!(key.public == pk && key.secret == sk, "{}", subject.label());
                let traced = key.signer.traced(&message.input(), &[0; 32]);
                assert_eq!(traced.as_ref(), Ok(&expected), "{}", subject.label());
            }
        }
    }
}

/// Every length of context that exists.
#[test]
fn contexts_of_all_lengths() {
    for p in PARAMETER_SETS {
        let mut stream = stream(p, "contexts");
        let seed = stream.array();
        let (pk, sk) = oracle::keygen(p, &seed);
        let subjects: Vec<_> = subjects_of(p)
            .into_iter()
            .map(|s| (s, s.key(&seed)))
            .collect();
        for length in 0..=255 {
            let message = stream.pure(length);
            let expected = oracle_signature(p, &sk, &message, &[0; 32]);
            let (subject, key) = &subjects[length % subjects.len()];
            let at = format!("{}: context of {length} bytes", subject.label());
            let signature = key.signer.sign(&message.input(), &[0; 32]).unwrap();
            assert_eq!(signature, expected.signature, "{at}");
            let Message::Pure { message, context } = message else {
                unreachable!()
            };
            assert_eq!(
                key.signer.deterministic(&message, &context),
                Ok(signature.clone()),
                "{at}"
            );
            let verifier = subject.verifier(&pk).unwrap();
            assert_eq!(
                verifier.verify_pure(&message, &context, &signature),
                Ok(()),
                "{at}"
            );
            // A context is bound to the signature: one byte moved to the message is refused.
            if let Some((first, rest)) = context.split_last() {
                let moved = [&[*first], &message[..]].concat();
                assert!(
                    verifier.verify_pure(&moved, rest, &signature).is_err(),
                    "{at}"
                );
            }
        }
    }
}

/// HashML-DSA with each of its twelve hashes, from the message and from the digest.
#[test]
fn prehash_with_all_hashes() {
    for p in PARAMETER_SETS {
        let mut stream = stream(p, "prehash");
        let seed = stream.array();
        let (pk, sk) = oracle::keygen(p, &seed);
        for hash in PreHash::ALL {
            let context = stream.bytes(7);
            let length = stream.below(500);
            let message = stream.bytes(length);
            let digest = hash.digest(&message);
            let rnd = stream.array();
            let whole = Message::PreHash {
                hash,
                message: message.clone(),
                context: context.clone(),
            };
            let digested = Message::Digest {
                hash,
                digest,
                message,
                context,
            };
            let expected = oracle_signature(p, &sk, &whole, &rnd);
            for subject in subjects_of(p) {
                let at = format!("{} and {}", subject.label(), hash.name());
                let key = subject.key(&seed);
                for input in [&whole, &digested] {
                    let traced = key.signer.traced(&input.input(), &rnd);
                    assert_eq!(traced.as_ref(), Ok(&expected), "{at}");
                    assert!(
                        subject.accepts(&pk, &input.input(), &expected.signature),
                        "{at}"
                    );
                }
                // The same bytes signed purely, or under another hash's name, are another message.
                let Message::Digest {
                    digest,
                    message,
                    context,
                    ..
                } = &digested
                else {
                    unreachable!()
                };
                let pure = Message::Pure {
                    message: message.clone(),
                    context: context.clone(),
                };
                assert!(
                    !subject.accepts(&pk, &pure.input(), &expected.signature),
                    "{at}"
                );
                for other in PreHash::ALL {
                    if other != hash && other.digest(b"").len() == digest.len() {
                        let other = Message::Digest {
                            hash: other,
                            digest: digest.clone(),
                            message: message.clone(),
                            context: context.clone(),
                        };
                        assert!(
                            !subject.accepts(&pk, &other.input(), &expected.signature),
                            "{at}"
                        );
                    }
                }
            }
        }
    }
}

/// μ computed in pieces, whatever the pieces, of pure and pre-hashed messages, from tr and from keys.
#[test]
fn streamed_mu() {
    let p = &oracle::ML_DSA_65;
    let mut stream = stream(p, "streamed mu");
    let seed = stream.array();
    let (pk, sk) = oracle::keygen(p, &seed);
    let tr: [u8; 64] = oracle::h(&[&pk], 64).try_into().unwrap();
    let keys = backends().into_iter().map(|backend| {
        let key = SigningKey::from_seed_on(backend, &seed);
        (key.verifying_key().clone(), key)
    });
    let keys: Vec<_> = keys.collect();
    for hash in std::iter::once(None).chain(PreHash::ALL.map(Some)) {
        for length in [0, 1, 7, 71, 72, 135, 136, 137, 272, 1000, 4097] {
            let message = stream.bytes(length);
            let context = stream.bytes(length % 256);
            let hashers = |context: Context<'_>| {
                let from_keys = |(public, secret): &(VerifyingKey, SigningKey)| match hash {
                    None => [public.mu_hasher(context), secret.mu_hasher(context)].map(Ok),
                    // The keys refuse it, as another test sees.
                    Some(hash) if prehash(hash).collision_bits() < p.lambda => [
                        hazmat::prehash_mu_hasher(&tr, prehash(hash), context),
                        hazmat::prehash_mu_hasher(&tr, prehash(hash), context),
                    ]
                    .map(Ok),
                    Some(hash) => [
                        public.prehash_mu_hasher(prehash(hash), context),
                        secret.prehash_mu_hasher(prehash(hash), context),
                    ],
                };
                let from_tr = match hash {
                    None => hazmat::mu_hasher(&tr, context),
                    Some(hash) => hazmat::prehash_mu_hasher(&tr, prehash(hash), context),
                };
                let all = keys.iter().flat_map(from_keys).chain([Ok(from_tr)]);
                all.collect::<Result<Vec<_>, Error>>()
            };
            let whole = match hash {
                None => Message::Pure {
                    message: message.clone(),
                    context: context.clone(),
                },
                Some(hash) => Message::PreHash {
                    hash,
                    message: message.clone(),
                    context: context.clone(),
                },
            };
            for longest in [1, 3, 64, 136, 1000] {
                let mut hashers = hashers(self::context(&context)).unwrap();
                let mut rest = &message[..];
                while !rest.is_empty() {
                    let (piece, tail) = rest.split_at(rest.len().min(stream.below(longest + 1)));
                    for hasher in &mut hashers {
                        hasher.update(piece);
                    }
                    rest = tail;
                }
                for hasher in hashers {
                    assert_eq!(
                        *hasher.finish().as_bytes(),
                        whole.mu(&tr),
                        "{hash:?}, {length} bytes in pieces of {longest}"
                    );
                }
            }
        }
    }
    for subject in subjects_of(p) {
        assert_eq!(subject.verifier(&pk).unwrap().tr(), tr);
        let message = stream.pure(3);
        let mu = Message::of_mu(message.mu(&tr));
        let expected = oracle_signature(p, &sk, &message, &[1; 32]);
        let key = subject.import(&sk).unwrap();
        assert_eq!(
            key.signer.traced(&mu.input(), &[1; 32]).as_ref(),
            Ok(&expected)
        );
        assert!(subject.accepts(&pk, &mu.input(), &expected.signature));
    }
}

/// Signatures altered in one bit, and verdicts equal to the oracle's for each.
#[test]
fn altered_signatures() {
    for p in PARAMETER_SETS {
        let mut stream = stream(p, "alterations");
        let (pk, sk) = oracle::keygen(p, &stream.array());
        let message = stream.pure(4);
        let Traced { signature, .. } = oracle_signature(p, &sk, &message, &[0; 32]);
        let mu = message.mu(&oracle::h(&[&pk], 64));
        let verifiers: Vec<_> = subjects_of(p)
            .into_iter()
            .map(|s| (s, s.verifier(&pk).unwrap()))
            .collect();
        for _ in 0..100 {
            let mut altered = signature.clone();
            // The hint at the end is short; give it a third of the alterations.
            let hint = p.omega + p.k;
            let position = match stream.below(3) {
                0 => altered.len() - 1 - stream.below(hint),
                _ => stream.below(altered.len()),
            };
            altered[position] ^= 1 << stream.below(8);
            let expected = oracle::verify_mu(p, &pk, &mu, &altered);
            assert!(!expected, "an altered signature that verifies");
            for (subject, verifier) in &verifiers {
                let verdict = verifier.verify(&message.input(), &altered).is_ok();
                assert_eq!(verdict, expected, "{}: byte {position}", subject.label());
            }
        }
        let other = Stream::new("another message").pure(4);
        for (_, verifier) in &verifiers {
            assert!(verifier.verify(&other.input(), &signature).is_err());
        }
    }
}

/// Hedged signing takes its `rnd` from the generator, for every kind of input and key, and passes
/// the generator's failure on.
#[test]
fn hedged_signing_of_every_input() {
    use crate::common::TestRng;
    use mldsa_lanes::hazmat::{external_mu, with_rnd};
    use mldsa_lanes::{Input, PreHash, mldsa44::SigningKey};
    use rand_core::TryCryptoRng;

    let key = SigningKey::from_seed(&[3; 32]);
    let expanded = key.expand();
    let (message, context) = (b"message".as_slice(), context(b"context"));
    let hash = PreHash::Sha2_256;
    let inputs = [
        Input::Pure { message, context },
        Input::PreHash {
            hash,
            message,
            context,
        },
        Input::Digest {
            hash,
            digest: &[5; 32],
            context,
        },
        Input::Mu(&external_mu([9; 64])),
    ];
    let rnd: [u8; 32] = core::array::from_fn(|i| i as u8 + 1);
    for input in inputs {
        let given = key.sign_with(input, with_rnd(&[rnd])).unwrap();
        let zeros = key.sign_with(input, with_rnd(&[[0; 32]])).unwrap();
        assert_ne!(given, zeros);
        assert_eq!(key.sign_deterministic(input).unwrap(), zeros);
        let mut rng = TestRng::new(&rnd);
        assert_eq!(key.sign_hedged(input, &mut rng).unwrap(), given);
        assert_eq!(rng.left(), 0);
        let mut rng = TestRng::new(&rnd);
        // Behind a reference to something unsized too.
        let unsized_rng: &mut dyn TryCryptoRng<Error = _> = &mut rng;
        assert_eq!(expanded.sign_hedged(input, unsized_rng).unwrap(), given);
        let mut short = TestRng::new(&rnd[1..]);
        assert_eq!(key.sign_hedged(input, &mut short), Err(Error::Rng));
    }
}
