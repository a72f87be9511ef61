//! The batch functions against the single ones: bit for bit, position by position.

use crate::common::batch::{
    self as given, Case, keys, parts, sign_alone, sign_alone_bounded, verify_alone,
};
use crate::common::{Stream, TestRng, backends};
use mldsa_lanes::batch::{self, VerifyJob};
use mldsa_lanes::hazmat::{with_max_attempts, with_rnd};
use mldsa_lanes::{
    Error, MlDsa44, MlDsa65, MlDsa87, ParameterSet, SignOptions, Signature, SigningKey,
};

fn sizes_agree<P: ParameterSet>() {
    let mut stream = Stream::new(&format!("batch sizes, {}", P::NAME));
    let keys = keys::<P>(&mut stream);
    for size in 0..=40 {
        let cases: Vec<Case> = (0..size)
            .map(|_| Case::new(&mut stream, keys.len()))
            .collect();
        let jobs: Vec<_> = cases.iter().map(|case| case.sign_job(&keys)).collect();
        let signatures = given::sign(&jobs);
        assert_eq!(signatures.len(), size);
        for (i, (job, signature)) in jobs.iter().zip(&signatures).enumerate() {
            assert_eq!(*signature, sign_alone(job), "{} {i} of {size}", P::NAME);
        }
    }
}

/// With few attempts, some jobs end without a signature: those that end so alone.
fn bounds_agree<P: ParameterSet>() {
    let mut stream = Stream::new(&format!("batch bounds, {}", P::NAME));
    let keys = keys::<P>(&mut stream);
    let cases: Vec<Case> = (0..60)
        .map(|_| Case::new(&mut stream, keys.len()))
        .collect();
    let jobs: Vec<_> = cases.iter().map(|case| case.sign_job(&keys)).collect();
    for most in [0, 1, 2, 3, 6, 821, u32::MAX] {
        let signatures = given::sign_bounded(&jobs, most);
        for (i, (job, signature)) in jobs.iter().zip(&signatures).enumerate() {
            let alone = sign_alone_bounded(job, most);
            assert_eq!(*signature, alone, "{} {i}, {most} attempts", P::NAME);
        }
        let refused = Err(Error::TooManyAttempts { allowed: most });
        let refused = signatures.iter().filter(|result| **result == refused);
        let expected = if most == 0 { 20 } else { 3 };
        assert!(refused.count() > expected || most > 6, "{most} attempts");
    }
}

/// Each job gets its own 32 bytes of the generator, in order; if they run out nothing is signed.
fn hedged_agree<P: ParameterSet>() {
    let mut stream = Stream::new(&format!("batch hedged, {}", P::NAME));
    let keys = keys::<P>(&mut stream);
    for size in [0, 1, 2, 13] {
        let mut cases: Vec<Case> = (0..size)
            .map(|_| Case::new(&mut stream, keys.len()))
            .collect();
        for case in &mut cases {
            case.rnd = stream.array();
        }
        let jobs: Vec<_> = cases.iter().map(|case| case.sign_job(&keys)).collect();
        let (messages, rnds) = parts(&jobs);
        let bytes = rnds.concat();
        let mut rng = TestRng::new(&bytes);
        let signatures = batch::sign(&messages, SignOptions::hedged(&mut rng));
        let given = given::sign(&jobs);
        assert_eq!(signatures, Ok(given), "{} {size}", P::NAME);
        assert_eq!(rng.left(), 0);
        let mut rng = TestRng::new(&bytes);
        let options = with_max_attempts(SignOptions::hedged(&mut rng), 2);
        let bounded = batch::sign(&messages, options);
        assert_eq!(bounded, Ok(given::sign_bounded(&jobs, 2)));
        let deterministic = batch::sign(&messages, SignOptions::deterministic());
        let zeros = batch::sign(&messages, with_rnd(&vec![[0; 32]; size]));
        assert_eq!(deterministic, zeros);
        if size > 0 {
            let mut short = TestRng::new(&bytes[1..]);
            let options = SignOptions::hedged(&mut short);
            assert_eq!(batch::sign(&messages, options), Err(Error::Rng));
            let (expected, actual) = (size, size - 1);
            let few = batch::sign(&messages, with_rnd(&rnds[1..]));
            assert_eq!(few, Err(Error::RndCount { expected, actual }));
        }
    }
}

/// A way to spoil a signature of the set; 0 leaves it whole.
fn damage<P: ParameterSet>(how: usize, signature: &Signature<P>) -> Signature<P> {
    let mut bytes = signature.as_ref().to_vec();
    let hints = bytes.len() - P::OMEGA - P::K;
    match how {
        0 => {}
        // c_tilde: its first and its last byte.
        1 => bytes[0] ^= 1,
        2 => bytes[P::C_TILDE_BYTES - 1] ^= 0x80,
        // z: a coefficient moved by one, and one of γ1, beyond the norm.
        3 => bytes[P::C_TILDE_BYTES + 5] ^= 1,
        4 => bytes[P::C_TILDE_BYTES..P::C_TILDE_BYTES + 3].fill(0),
        // Hints: a counter that falls, one beyond ω, a byte after the last, two the same.
        5 => *bytes.last_mut().unwrap() = 0,
        6 => *bytes.last_mut().unwrap() = P::OMEGA as u8 + 1,
        7 => bytes[hints + P::OMEGA - 1] ^= 1,
        8 => bytes[hints + 1] = bytes[hints],
        _ => bytes.fill(0xff),
    }
    Signature::from_bytes(&bytes).unwrap()
}
const DAMAGES: usize = 10;

/// Batches of every size whose signatures are whole, or damaged in every way, or by another key, or
/// of another message.
fn verdicts_agree<P: ParameterSet>() {
    let mut stream = Stream::new(&format!("batch verdicts, {}", P::NAME));
    let keys = keys::<P>(&mut stream);
    let (mut valid, mut refused) = (0, [0; DAMAGES]);
    for size in 0..=40 {
        let cases: Vec<Case> = (0..size)
            .map(|_| Case::new(&mut stream, keys.len()))
            .collect();
        let signed: Vec<_> = cases
            .iter()
            .map(|case| {
                let how = stream.below(2) * stream.below(DAMAGES);
                let signer = &keys[if stream.below(10) == 0 { 0 } else { case.key }];
                // Where the input is none, any string of the right length will do.
                let signature = signer
                    .signing_expanded
                    .sign_with(case.input(), with_rnd(&[case.rnd]))
                    .unwrap_or(Signature::from_bytes(&vec![1; P::SIGNATURE_BYTES]).unwrap());
                (how, damage(how, &signature))
            })
            .collect();
        let jobs: Vec<_> = cases
            .iter()
            .zip(&signed)
            .map(|(case, (_, signature))| VerifyJob {
                key: keys[case.key].verify_with(case.expanded),
                input: case.input(),
                signature,
            })
            .collect();
        let verdicts = batch::verify(&jobs);
        assert_eq!(verdicts.len(), size);
        for (i, (job, verdict)) in jobs.iter().zip(&verdicts).enumerate() {
            assert_eq!(*verdict, verify_alone(job), "{} {i} of {size}", P::NAME);
            match verdict {
                Ok(()) => valid += 1,
                Err(Error::InvalidSignature) => refused[signed[i].0] += 1,
                Err(Error::MuOfAnotherKey | Error::DigestLength { .. }) => {}
                Err(other) => panic!("{other}"),
            }
        }
    }
    assert!(valid > 100, "{valid} valid signatures");
    assert!(refused.iter().all(|count| *count > 5), "{refused:?}");
}

fn keys_agree<P: ParameterSet>() {
    let mut stream = Stream::new(&format!("batch keys, {}", P::NAME));
    for backend in backends() {
        for size in 0..=40 {
            let seeds: Vec<[u8; 32]> = (0..size).map(|_| stream.array()).collect();
            let keys = batch::keygen::<P>(backend, &seeds);
            assert_eq!(keys.len(), size);
            for (i, (seed, key)) in seeds.iter().zip(&keys).enumerate() {
                let alone = SigningKey::<P>::from_seed_on(backend, seed);
                let label = format!("{} on {}: {i} of {size}", P::NAME, backend.name());
                assert!(key.encoded_bytes() == alone.encoded_bytes(), "{label}");
                assert!(key.verifying_key() == alone.verifying_key(), "{label}");
                assert_eq!(key.seed(), Some(seed), "{label}");
            }
            // Drawn, they are the same.
            let drawn = batch::generate::<P, _>(size, &mut TestRng::new(seeds.as_flattened()));
            let drawn = drawn.unwrap();
            assert!(
                drawn
                    .iter()
                    .map(SigningKey::seed)
                    .eq(seeds.iter().map(Some))
            );
            let short = &mut TestRng::new(&seeds.as_flattened()[..(32 * size).saturating_sub(1)]);
            let failed = batch::generate::<P, _>(size, short).err();
            assert_eq!(failed, (size > 0).then_some(Error::Rng));
        }
    }
}

#[test]
fn more_keys_than_memory_holds_are_refused() {
    for count in [usize::MAX, usize::MAX >> 4, usize::MAX >> 22] {
        let rng = &mut TestRng::new(&[]);
        let failed = batch::generate::<MlDsa44, _>(count, rng).err();
        assert_eq!(failed, Some(Error::OutOfMemory), "{count} keys");
        let failed = batch::parallel::generate::<MlDsa44, _>(count, rng).err();
        assert_eq!(failed, Some(Error::OutOfMemory), "{count} keys, parallel");
    }
}

#[test]
fn signatures_of_every_size() {
    sizes_agree::<MlDsa44>();
    sizes_agree::<MlDsa65>();
    sizes_agree::<MlDsa87>();
}

#[test]
fn attempts_are_bounded() {
    bounds_agree::<MlDsa44>();
    bounds_agree::<MlDsa65>();
    bounds_agree::<MlDsa87>();
}

#[test]
fn hedged() {
    hedged_agree::<MlDsa44>();
    hedged_agree::<MlDsa65>();
    hedged_agree::<MlDsa87>();
}

#[test]
fn verdicts_of_every_size() {
    verdicts_agree::<MlDsa44>();
    verdicts_agree::<MlDsa65>();
    verdicts_agree::<MlDsa87>();
}

#[test]
fn keys_of_every_size() {
    keys_agree::<MlDsa44>();
    keys_agree::<MlDsa65>();
    keys_agree::<MlDsa87>();
}
