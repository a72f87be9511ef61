//! The batch functions on several threads. No other test uses rayon in the suite's process: the first one
//! here asks whether the global pool was used.

use std::process::Command;

use crate::common::batch::{self as given, Case, keys, parts, sign_alone};
use crate::common::{Stream, backends};
use mldsa_lanes::batch::{self, SignJob, SignWith, VerifyJob, parallel};
use mldsa_lanes::hazmat::with_rnd;
use mldsa_lanes::{Error, MlDsa44, MlDsa65, MlDsa87, ParameterSet, SignOptions, Signature};
use rayon::{ThreadPool, ThreadPoolBuilder};

fn agrees<P: ParameterSet>(pool: &ThreadPool) {
    let threads = pool.current_num_threads();
    let mut stream = Stream::new(&format!("batch parallel, {} {threads}", P::NAME));
    let keys = keys::<P>(&mut stream);
    for size in [0, 1, 2, 3, 5, 8, 13, 40, 150] {
        let cases: Vec<_> = (0..size)
            .map(|_| Case::new(&mut stream, keys.len()))
            .collect();
        let jobs: Vec<_> = cases.iter().map(|case| case.sign_job(&keys)).collect();
        let (messages, rnds) = parts(&jobs);
        let signed = pool.install(|| parallel::sign(&messages, with_rnd(&rnds)));
        let signed = signed.unwrap();
        assert_eq!(signed, jobs.iter().map(sign_alone).collect::<Vec<_>>());
        assert_eq!(signed, given::sign(&jobs));

        let other = Signature::from_bytes(&vec![1; P::SIGNATURE_BYTES]).unwrap();
        let jobs: Vec<_> = cases
            .iter()
            .zip(&signed)
            .map(|(case, signature)| VerifyJob {
                key: keys[case.key].verify_with(case.expanded),
                input: case.input(),
                signature: signature.as_ref().unwrap_or(&other),
            })
            .collect();
        let verdicts = pool.install(|| parallel::verify(&jobs));
        assert_eq!(verdicts, batch::verify(&jobs));
        for (verdict, signature) in verdicts.into_iter().zip(signed) {
            let expected = match signature {
                // The signature in its place is malformed, which is told first.
                Err(Error::MuOfAnotherKey) => Err(Error::InvalidSignature),
                signed => signed.map(|_| ()),
            };
            assert_eq!(verdict, expected, "{} of {size}", P::NAME);
        }

        let seeds: Vec<[u8; 32]> = (0..size).map(|_| stream.array()).collect();
        for backend in backends() {
            let made = pool.install(|| parallel::keygen::<P>(backend, &seeds));
            let expected = batch::keygen::<P>(backend, &seeds);
            assert_eq!(made.len(), size);
            for (a, b) in made.iter().zip(&expected) {
                assert!(a.encoded_bytes() == b.encoded_bytes() && a.seed() == b.seed());
                assert!(a.verifying_key() == b.verifying_key());
            }
        }
    }
}

#[test]
fn the_callers_pool_gives_the_same_results() {
    for threads in 1..=3 {
        let pool = ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .unwrap();
        agrees::<MlDsa44>(&pool);
        agrees::<MlDsa65>(&pool);
        agrees::<MlDsa87>(&pool);
    }
    // Work that had left the caller's pool would have made the global one, which can be made once.
    let global = ThreadPoolBuilder::new().num_threads(2).build_global();
    assert!(global.is_ok(), "the global pool was used");
    // Outside any pool it is the global one that works.
    let seeds = [[1; 32], [2; 32]];
    let keys = parallel::keygen::<MlDsa44>(mldsa_lanes::Backend::portable(), &seeds);
    assert_eq!(keys.len(), 2);
}

/// Runs in a process of its own, in which no stack of a thread fits into the address space.
#[test]
fn the_calling_thread_works_where_no_thread_can_start() {
    const FIRST: &str = "MLDSA_TEST_FIRST_USE_OF_RAYON";
    let name = "batch_parallel::the_calling_thread_works_where_no_thread_can_start";
    match std::env::var(FIRST).as_deref() {
        Ok("the library") => {}
        Ok(_) => assert!(ThreadPoolBuilder::new().build_global().is_err()),
        Err(_) => {
            for first in ["the library", "the program"] {
                let output = Command::new(std::env::current_exe().unwrap())
                    .args(["--exact", name, "--test-threads=1"])
                    .envs([(FIRST, first), ("RUST_MIN_STACK", "1152921504606846976")])
                    .output()
                    .unwrap();
                let said = String::from_utf8_lossy(&output.stdout);
                assert!(output.status.success(), "{first}: {said}");
                assert!(said.contains("1 passed"), "{first}: {said}");
            }
            return;
        }
    }
    assert!(std::thread::Builder::new().spawn(|| {}).is_err());
    for count in [0, 1, 40] {
        let seeds: Vec<[u8; 32]> = (0..count).map(|seed| [seed; 32]).collect();
        for backend in backends() {
            let keys = parallel::keygen::<MlDsa44>(backend, &seeds);
            let job = |key| SignJob {
                key: SignWith::Compact(key),
                input: b"message".into(),
            };
            let jobs: Vec<_> = keys.iter().map(job).collect();
            let signed = parallel::sign(&jobs, SignOptions::deterministic()).unwrap();
            assert_eq!(Ok(signed), batch::sign(&jobs, SignOptions::deterministic()));
        }
    }
}
