//! What the interface refuses and asks for by name: weak hash functions, and what `hazmat` has.

use crate::common::backends;
use mldsa_acvp::{Input as Form, Mode};
use mldsa_lanes::batch::{self, SignJob, VerifyJob};
use mldsa_lanes::hazmat::{SignWithRnd, VerifyInternal};
use mldsa_lanes::{
    Error, Input, MlDsa44, MlDsa65, MlDsa87, ParameterSet, PreHash, Signature, SigningKey,
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
    let (message, context) = (b"message".as_slice(), b"c".as_slice());
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
            let signature = key.sign_input_deterministic(&any_strength).unwrap();
            let same = expected.map(|()| signature.clone());
            assert_eq!(key.sign_input_deterministic(&input), same, "{at}");
            assert_eq!(expanded.sign_input_deterministic(&input), same, "{at}");
            let key = (&key).into();
            let jobs = [&input, &any_strength, &input].map(|input| SignJob { key, input: *input });
            let results = [same.clone(), Ok(signature.clone()), same];
            assert_eq!(batch::sign_deterministic(&jobs), results, "{at}");

            assert_eq!(
                public.verify_input(&any_strength, &signature),
                Ok(()),
                "{at}"
            );
            assert_eq!(public.verify_input(&input, &signature), expected, "{at}");
            assert_eq!(
                expanded_public.verify_input(&input, &signature),
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
            let key = SigningKey::<P>::from_expanded_bytes_on(backend, &case.bytes("sk")).unwrap();
            let (public, rnd) = (key.verifying_key(), case.rnd());
            assert_eq!(
                key.sign_internal(&m_prime, &rnd).as_ref(),
                Ok(&signature),
                "{at}"
            );
            let expanded = key.expand().sign_internal(&m_prime, &rnd);
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
fn internal_interface() {
    internal_functions::<MlDsa44>();
    internal_functions::<MlDsa65>();
    internal_functions::<MlDsa87>();
}
