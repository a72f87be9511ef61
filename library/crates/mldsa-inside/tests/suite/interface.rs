//! What the interface refuses and asks for by name: weak hash functions, and what `hazmat` has.

use crate::common::{backends, context};
use mldsa_acvp::{Input as Form, Mode};
use mldsa_lanes::batch::{self, SignJob, VerifyJob};
use mldsa_lanes::hazmat::{SignInternal, VerifyInternal, external_mu, with_rnd};
use mldsa_lanes::{
    Context, Error, Input, MlDsa44, MlDsa65, MlDsa87, ParameterSet, PreHash, SignOptions,
    Signature, SigningKey, mldsa44,
};

/// The hash functions with a collision strength of λ bits and more (FIPS 204, section 5.4.1; SP
/// 800-57 part 1, table 3).
fn strong_enough(lambda: usize) -> Vec<PreHash> {
    use PreHash::*;
    let strengths = [
        (128, &[Sha2_256, Sha2_512_256, Sha3_256, Shake128][..]),
        (192, &[Sha2_384, Sha3_384]),
        (256, &[Sha2_512, Sha3_512, Shake256]),
    ];
    let strong = strengths.iter().filter(|(bits, _)| *bits >= lambda);
    strong
        .flat_map(|(_, hashes)| hashes.iter().copied())
        .collect()
}

/// In every call: signing, verifying, batches of both, and the hashers of keys.
fn weak_hash_functions<P: ParameterSet>() {
    let key = SigningKey::<P>::from_seed(&[5; 32]);
    let (expanded, public) = (key.expand(), key.verifying_key());
    let expanded_public = public.expand();
    let strong = strong_enough(P::LAMBDA);
    let (message, context) = (b"message".as_slice(), context(b"c"));
    for hash in PreHash::ALL {
        let digest = &[3; 64][..hash.digest_bytes()];
        let expected = if strong.contains(&hash) {
            Ok(())
        } else {
            let (needed, actual) = (P::LAMBDA, 4 * digest.len());
            Err(Error::WeakPreHash { needed, actual })
        };
        #[rustfmt::skip]
        let inputs = [
            (Input::PreHash { hash, message, context }, Input::WeakPreHash { hash, message, context }),
            (Input::Digest { hash, digest, context }, Input::WeakDigest { hash, digest, context }),
        ];
        for (input, any_strength) in inputs {
            let at = format!("{} {input:?}", P::NAME);
            let signature = key.sign_deterministic(any_strength).unwrap();
            let same = expected.map(|()| signature.clone());
            assert_eq!(key.sign_deterministic(input), same, "{at}");
            assert_eq!(expanded.sign_deterministic(input), same, "{at}");
            let key = (&key).into();
            let jobs = [&input, &any_strength, &input].map(|input| SignJob { key, input: *input });
            let results = [same.clone(), Ok(signature.clone()), same];
            let options = SignOptions::deterministic();
            assert_eq!(batch::sign(&jobs, options), Ok(results.into()), "{at}");

            assert_eq!(
                public.verify_signature(any_strength, &signature),
                Ok(()),
                "{at}"
            );
            assert_eq!(public.verify_signature(input, &signature), expected, "{at}");
            assert_eq!(
                expanded_public.verify_signature(input, &signature),
                expected,
                "{at}"
            );
            let jobs = [&input, &any_strength, &input].map(|input| VerifyJob {
                key: public.into(),
                input: *input,
                signature: &signature,
            });
            assert_eq!(batch::verify(&jobs), [expected, Ok(()), expected], "{at}");
        }
        let hashers = [
            key.prehash_mu_hasher(hash, context),
            expanded.prehash_mu_hasher(hash, context),
            public.prehash_mu_hasher(hash, context),
            expanded_public.prehash_mu_hasher(hash, context),
        ];
        for hasher in hashers {
            assert_eq!(hasher.map(|_| ()), expected, "{} {hash:?}", P::NAME);
        }
    }
}

/// Sign_internal and Verify_internal with NIST's cases of the internal interface.
fn internal_functions<P: ParameterSet>() {
    let mut count = 0;
    for case in Mode::SigGen.cases(P::NAME) {
        let Form::Formatted(m_prime) = case.input() else {
            continue;
        };
        count += 1;
        let signature = Signature::from_bytes(&case.bytes("signature")).unwrap();
        for backend in backends() {
            let at = format!("{} on {}: {}", P::NAME, backend.name(), case.id());
            let key = SigningKey::<P>::from_encoded_bytes_on(backend, &case.bytes("sk")).unwrap();
            let (public, rnd) = (key.verifying_key(), case.rnd());
            assert_eq!(
                key.sign_internal(&m_prime, with_rnd(&[rnd])).as_ref(),
                Ok(&signature),
                "{at}"
            );
            let expanded = key.expand().sign_internal(&m_prime, with_rnd(&[rnd]));
            assert_eq!(expanded.as_ref(), Ok(&signature), "{at}");
            let other = [&m_prime[..], b"\0"].concat();
            for (m_prime, expected) in [
                (m_prime.clone(), Ok(())),
                (other, Err(Error::InvalidSignature)),
            ] {
                assert_eq!(
                    public.verify_internal(&m_prime, &signature),
                    expected,
                    "{at}"
                );
                let verdict = public.expand().verify_internal(&m_prime, &signature);
                assert_eq!(verdict, expected, "{at}");
            }
        }
    }
    assert!(count > 0, "{}: no case", P::NAME);
}

#[test]
fn weak_hash_functions_are_asked_for_by_name() {
    weak_hash_functions::<MlDsa44>();
    weak_hash_functions::<MlDsa65>();
    weak_hash_functions::<MlDsa87>();
}

#[test]
fn hash_functions_have_names() {
    let message = Error::UnknownPreHash.to_string();
    for hash in PreHash::ALL {
        assert_eq!(hash.name().parse(), Ok(hash));
        assert!(message.contains(&format!(" {hash}")), "{message}");
    }
    assert_eq!("SHAKE-128".parse(), Ok(PreHash::Shake128));
    assert_eq!("SHAKE-256".parse(), Ok(PreHash::Shake256));
    for name in [
        "",
        "SHAKE-",
        "SHAKE-SHAKE256",
        "shake256",
        "SHA3-256 ",
        "MD5",
    ] {
        assert_eq!(
            name.parse::<PreHash>(),
            Err(Error::UnknownPreHash),
            "{name}"
        );
    }
}

#[test]
fn internal_interface() {
    internal_functions::<MlDsa44>();
    internal_functions::<MlDsa65>();
    internal_functions::<MlDsa87>();
}

/// The hasher of a key gives μ that no other key signs or verifies, in any form; μ from elsewhere is for
/// all.
fn mu_is_bound<P: ParameterSet>() {
    for backend in backends() {
        let at = format!("{} on {}", P::NAME, backend.name());
        let [key, other] = [1, 2].map(|byte| SigningKey::<P>::from_seed_on(backend, &[byte; 32]));
        let mut hasher = key.mu_hasher(context(b"c"));
        hasher.update(b"message");
        let mu = hasher.finish();
        let signature = key.sign_deterministic(&mu).unwrap();
        let whole = key.sign_deterministic((b"message", context(b"c")));
        assert_eq!(whole.as_ref(), Ok(&signature), "{at}");
        for (key, expected) in [(&key, Ok(())), (&other, Err(Error::MuOfAnotherKey))] {
            let (expanded, public) = (key.expand(), key.verifying_key());
            let expanded_public = public.expand();
            let signed = expected.map(|()| signature.clone());
            assert_eq!(key.sign_deterministic(&mu), signed, "{at}");
            assert_eq!(expanded.sign_deterministic(&mu), signed, "{at}");
            assert_eq!(public.verify_signature(&mu, &signature), expected, "{at}");
            let verdict = expanded_public.verify_signature(&mu, &signature);
            assert_eq!(verdict, expected, "{at}");
            let external = external_mu(*mu.as_bytes());
            let made = key.sign_deterministic(&external).unwrap();
            assert_eq!(made == signature, expected.is_ok(), "{at}");
            assert_eq!(public.verify_signature(&external, &made), Ok(()), "{at}");

            let sign = [key.into(), (&expanded).into(), key.into()].map(|key| SignJob {
                key,
                input: (&mu).into(),
            });
            let signed = vec![signed; 3];
            let options = SignOptions::deterministic();
            assert_eq!(batch::sign(&sign, options), Ok(signed), "{at}");
            let verify = [public.into(), (&expanded_public).into(), public.into()];
            let verify = verify.map(|key| VerifyJob {
                key,
                input: (&mu).into(),
                signature: &signature,
            });
            assert_eq!(batch::verify(&verify), [expected; 3], "{at}");
        }
    }
}

#[test]
fn mu_belongs_to_its_key() {
    mu_is_bound::<MlDsa44>();
    mu_is_bound::<MlDsa65>();
    mu_is_bound::<MlDsa87>();
}

/// What converts into an input, and the limits of options.
#[test]
fn inputs_and_options() {
    let key = mldsa44::SigningKey::from_seed(&[5; 32]);
    let message: &[u8] = b"message";
    let whole = Input::Pure {
        message,
        context: Context::default(),
    };
    let expected = key.sign_deterministic(whole).unwrap();
    for input in [
        message.into(),
        b"message".into(),
        "message".into(),
        (&message.to_vec()).into(),
        (message, Context::EMPTY).into(),
        ("message", Context::EMPTY).into(),
    ] {
        let input: Input<'_> = input;
        assert_eq!(key.sign_deterministic(input).as_ref(), Ok(&expected));
    }
    let bytes = [7; 256];
    assert_eq!(context(&bytes[..255]).as_bytes(), &bytes[..255]);
    let long = Err(Error::ContextTooLong { actual: 256 });
    assert_eq!(Context::try_from(&bytes[..]).map(|_| ()), long);

    for limit in [0, 813, 814, 821, 822] {
        let options = SignOptions::deterministic().max_attempts(limit);
        if (814..=821).contains(&limit) {
            let signature = key.sign_with(message, options.unwrap());
            assert_eq!(signature.as_ref(), Ok(&expected));
            continue;
        }
        let text = options.unwrap_err().to_string();
        assert!(text.contains("814") && text.contains("821"), "{text}");
    }
    let (expected, actual) = (1, 2);
    let two = key.sign_with(message, with_rnd(&[[1; 32]; 2]));
    assert_eq!(two, Err(Error::RndCount { expected, actual }));
}
