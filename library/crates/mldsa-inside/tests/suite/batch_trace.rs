//! Batches of traces against `sign_traced`: attempt by attempt, position by position.

use crate::common::batch::{Case, Key, SignJob, keys, parts};
use crate::common::kats::{Kat, REJECTION_PATHS};
use crate::common::{Stream, backends};
use mldsa_acvp::unhex;
use mldsa_lanes::batch::{self, SignWith};
use mldsa_lanes::hazmat::{external_mu, with_rnd};
use mldsa_lanes::{Backend, Error, Input, MlDsa44, MlDsa65, MlDsa87, Mu, ParameterSet, SigningKey};
use mldsa_oracle::message_representative;
use mldsa_trace::{Attempt, Check, Checks, SignTraced, trace};

/// The attempts of a job, and its error.
type Trace = (Vec<Attempt>, Result<(), Error>);

fn alone<P: ParameterSet>(job: &SignJob<'_, P>) -> Trace {
    let mut attempts = Vec::new();
    let tell = |attempt| attempts.push(attempt);
    let result = match job.key {
        SignWith::Compact(key) => key.sign_traced(&job.input, job.rnd, tell),
        SignWith::Expanded(key) => key.sign_traced(&job.input, job.rnd, tell),
    };
    (attempts, result.map(|_| ()))
}

/// A trace without what Algorithm 7 does not reach.
fn reached((attempts, result): &Trace) -> Trace {
    let one = |attempt: &Attempt| {
        let mut attempt = *attempt;
        if attempt.fails(Check::Z) || attempt.fails(Check::R0) {
            attempt.failed &= 0b0011;
            attempt.first_failing[2] = 255;
            attempt.first_failing[3] = 255;
        }
        attempt
    };
    (attempts.iter().map(one).collect(), *result)
}

fn traces<P: ParameterSet>(jobs: &[SignJob<'_, P>], checks: Checks) -> Vec<Trace> {
    let mut attempts = vec![Vec::new(); jobs.len()];
    let (messages, rnds) = parts(jobs);
    let tell = |job: usize, attempt| attempts[job].push(attempt);
    let results = trace(&messages, with_rnd(&rnds), checks, tell).unwrap();
    assert_eq!(results.len(), jobs.len());
    attempts.into_iter().zip(results).collect()
}

/// Jobs of every kind, with keys of every backend in both forms.
fn every_kind_of_job<P: ParameterSet>() {
    let mut stream = Stream::new(&format!("batch traces, {}", P::NAME));
    let keys = keys::<P>(&mut stream);
    for size in [0, 1, 2, 3, 7, 20, 50] {
        let cases: Vec<_> = (0..size)
            .map(|_| Case::new(&mut stream, keys.len()))
            .collect();
        let jobs: Vec<_> = cases.iter().map(|case| case.sign_job(&keys)).collect();
        let all: Vec<_> = jobs.iter().map(alone).collect();
        let label = format!("{} {size}", P::NAME);
        assert_eq!(traces(&jobs, Checks::All), all, "{label}");
        let less: Vec<_> = all.iter().map(reached).collect();
        assert_eq!(traces(&jobs, Checks::Reached), less, "{label}");
    }
}

#[test]
fn jobs_of_every_kind() {
    every_kind_of_job::<MlDsa44>();
    every_kind_of_job::<MlDsa65>();
    every_kind_of_job::<MlDsa87>();
}

/// The known answers that are rejected at every check, those for ML-DSA-44 at c·t0 too, in one batch on
/// each backend.
fn every_outcome<P: ParameterSet>() {
    let kats = REJECTION_PATHS.iter().filter(|kat| kat.set == P::NAME);
    let kats: Vec<_> = kats.collect();
    for backend in backends() {
        let seed = |kat: &&Kat| unhex(kat.seed).try_into().unwrap();
        let keys: Vec<_> = kats
            .iter()
            .map(|kat| Key::<P>::new(backend, &seed(kat)))
            .collect();
        let mus: Vec<Mu> = kats
            .iter()
            .zip(&keys)
            .map(|(kat, key)| message_representative(&key.verifying.tr(), &unhex(kat.message)))
            .map(external_mu)
            .collect();
        let jobs: Vec<_> = keys
            .iter()
            .zip(&mus)
            .map(|(key, mu)| SignJob {
                key: key.sign_with(true),
                input: Input::Mu(mu),
                rnd: &[0; 32],
            })
            .collect();
        let all: Vec<_> = jobs.iter().map(alone).collect();
        let label = format!("{} on {}", P::NAME, backend.name());
        assert!(traces(&jobs, Checks::All) == all, "{label}");
        let less: Vec<_> = all.iter().map(reached).collect();
        let told = traces(&jobs, Checks::Reached);
        assert!(told == less, "{label}");

        let mut seen = [false; 16];
        for attempt in told.iter().flat_map(|(attempts, _)| attempts) {
            seen[usize::from(attempt.failed)] = true;
        }
        // None, z, r0, both, hints; c·t0 with and without hints.
        assert!(
            [0, 1, 2, 3, 8].iter().all(|failed| seen[*failed]),
            "{label}"
        );
        assert_eq!(seen[4] || seen[12], P::NAME == "ML-DSA-44", "{label}");
    }
}

#[test]
fn outcomes_of_every_kind() {
    every_outcome::<MlDsa44>();
    every_outcome::<MlDsa65>();
    every_outcome::<MlDsa87>();
}

/// Keys made expanded sign and trace as those that are generated and then expanded.
fn expanded_keys<P: ParameterSet>() {
    let mut stream = Stream::new(&format!("batch expanded keys, {}", P::NAME));
    let mut keys = Vec::new();
    for backend in backends() {
        for size in [0, 1, 6, 17, 3] {
            let seeds: Vec<[u8; 32]> = (0..size).map(|_| stream.array()).collect();
            batch::keygen_expanded::<P>(backend, &seeds, &mut keys);
            assert_eq!(keys.len(), size);
            for (seed, key) in seeds.iter().zip(&keys) {
                let alone = SigningKey::<P>::from_seed(seed);
                assert_eq!(
                    key.sign_deterministic(b"message"),
                    alone.sign_deterministic(b"message"),
                    "{} on {}",
                    P::NAME,
                    backend.name()
                );
            }
        }
    }
}

#[test]
fn keys_made_expanded() {
    expanded_keys::<MlDsa44>();
    expanded_keys::<MlDsa65>();
    expanded_keys::<MlDsa87>();
}

/// No job depends on the others, nor on how they are cut into batches.
#[test]
fn batches_of_every_size_agree() {
    let key = Key::<MlDsa65>::new(Backend::detect(), &[8; 32]);
    let mus: Vec<Mu> = (0..60).map(|i| external_mu([i; 64])).collect();
    let jobs: Vec<_> = mus
        .iter()
        .map(|mu| SignJob {
            key: key.sign_with(false),
            input: Input::Mu(mu),
            rnd: &[3; 32],
        })
        .collect();
    let whole = traces(&jobs, Checks::Reached);
    for size in [1, 2, 5, 9, 33] {
        let pieces = jobs.chunks(size);
        let pieces: Vec<_> = pieces
            .flat_map(|jobs| traces(jobs, Checks::Reached))
            .collect();
        assert!(pieces == whole, "{size}");
    }
}
