//! Batches against single calls.

use crate::common::batch::{self as given, Case, Key, parts, sign_alone, verify_alone};
use crate::common::{Stream, backends};
use crate::set;
use mldsa_lanes::batch::{self, VerifyJob, parallel};
use mldsa_lanes::hazmat::with_rnd;
use mldsa_lanes::{MlDsa44, MlDsa65, MlDsa87, ParameterSet, Signature, SigningKey};

/// Jobs of every kind in any mix of keys, backends, forms, errors and sizes.
pub fn batch(data: &[u8]) {
    let mut stream = Stream::after(data);
    match set(&mut stream).name {
        "ML-DSA-44" => of::<MlDsa44>(&mut stream),
        "ML-DSA-65" => of::<MlDsa65>(&mut stream),
        _ => of::<MlDsa87>(&mut stream),
    }
}

fn of<P: ParameterSet>(stream: &mut Stream) {
    let backends = backends();
    let keys: Vec<Key<P>> = (0..stream.below(5) + 1)
        .map(|_| Key::new(backends[stream.below(backends.len())], &stream.array()))
        .collect();
    let size = [stream.below(4), stream.below(12), stream.below(40)][stream.below(3)];
    let cases: Vec<_> = (0..size).map(|_| Case::new(stream, keys.len())).collect();
    let jobs: Vec<_> = cases.iter().map(|case| case.sign_job(&keys)).collect();
    let alone: Vec<_> = jobs.iter().map(sign_alone).collect();
    let threads = stream.below(2) == 0;
    let signed = if threads {
        let (messages, rnds) = parts(&jobs);
        parallel::sign(&messages, with_rnd(&rnds)).expect("a value of rnd for each")
    } else {
        given::sign(&jobs)
    };
    assert!(signed == alone, "{}: signatures of {size} jobs", P::NAME);

    let bent: Vec<Signature<P>> = signed
        .iter()
        .map(|signature| {
            let mut bytes = match signature {
                Ok(signature) => signature.as_ref().to_vec(),
                Err(_) => vec![1; P::SIGNATURE_BYTES],
            };
            if stream.below(3) == 0 {
                bytes[stream.below(P::SIGNATURE_BYTES)] ^= 1 << stream.below(8);
            }
            Signature::from_bytes(&bytes).unwrap()
        })
        .collect();
    let jobs: Vec<_> = cases
        .iter()
        .zip(&bent)
        .map(|(case, signature)| VerifyJob {
            key: keys[case.key].verify_with(case.expanded),
            input: case.input(),
            signature,
        })
        .collect();
    let verdicts = if threads {
        parallel::verify(&jobs)
    } else {
        batch::verify(&jobs)
    };
    let alone: Vec<_> = jobs.iter().map(verify_alone).collect();
    assert!(verdicts == alone, "{}: verdicts on {size} jobs", P::NAME);

    let backend = backends[stream.below(backends.len())];
    let seeds: Vec<[u8; 32]> = (0..stream.below(12)).map(|_| stream.array()).collect();
    let made = if threads {
        parallel::keygen::<P>(backend, &seeds)
    } else {
        batch::keygen::<P>(backend, &seeds)
    };
    let mut expanded = Vec::new();
    batch::keygen_expanded::<P>(backend, &seeds, &mut expanded);
    for ((seed, key), expanded) in seeds.iter().zip(&made).zip(&expanded) {
        let alone = SigningKey::<P>::from_seed_on(backend, seed);
        let label = format!("{}: keys on {}", P::NAME, backend.name());
        assert!(key.encoded_bytes() == alone.encoded_bytes(), "{label}");
        assert!(key.verifying_key() == alone.verifying_key(), "{label}");
        let signature = expanded.sign_deterministic(seed);
        assert!(signature == alone.sign_deterministic(seed), "{label}");
    }
}
