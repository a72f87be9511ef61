//! What only the inside shows: which attempts the scheduler makes, and the memory it takes.

use std::vec::Vec;

use super::*;
use crate::params::{MlDsa44, MlDsa65, MlDsa87};

/// Jobs of two keys, each in both forms, that differ in their messages; every seventh has a context
/// that is too long.
fn with_jobs<P: ParameterSet>(
    backend: Backend,
    count: usize,
    test: impl FnOnce(&[SignJob<'_, P>]),
) {
    let keys = [3, 4].map(|seed| SigningKey::<P>::from_seed_on(backend, &[seed; 32]));
    let expanded = keys.each_ref().map(SigningKey::expand);
    let messages: Vec<_> = (0..count).map(|i| [i as u8, (i >> 8) as u8]).collect();
    let context = [0; 256];
    let jobs: Vec<_> = messages
        .iter()
        .enumerate()
        .map(|(i, message)| SignJob {
            key: match i % 5 {
                0 | 1 => (&expanded[i % 2]).into(),
                _ => (&keys[i / 2 % 2]).into(),
            },
            input: Input::Pure {
                message,
                context: &context[..if i % 7 == 6 { 256 } else { 0 }],
            },
            rnd: [0; 32],
        })
        .collect();
    test(&jobs);
}

fn bounded<P: ParameterSet>(job: &SignJob<'_, P>, most: u32) -> Result<Signature<P>, Error> {
    match job.key {
        SignWith::Compact(key) => key.sign_bounded(&job.input, &job.rnd, most),
        SignWith::Expanded(key) => key.sign_bounded(&job.input, &job.rnd, most),
    }
}

fn attempts<P: ParameterSet>(job: &SignJob<'_, P>) -> u32 {
    let mut count = 0;
    let result = match job.key {
        SignWith::Compact(key) => key.sign_traced(&job.input, &job.rnd, |_| count += 1),
        SignWith::Expanded(key) => key.sign_traced(&job.input, &job.rnd, |_| count += 1),
    };
    result.map_or(0, |_| count)
}

/// Every attempt of a job is made once, from 0 without gaps up to the one that succeeds or is the
/// last allowed, and none after it: no mask is used twice, none is sampled in vain.
fn units_are_exact<P: ParameterSet>(backend: Backend, count: usize, allowed: u32) {
    with_jobs::<P>(backend, count, |jobs| {
        let order: Vec<usize> = (0..count).collect();
        let mut results = unsigned(count);
        let mut made = std::vec![0; count];
        with_engine!(backend, e => sign::run(e, jobs, &order, allowed, &mut results, |job, attempt| {
            assert_eq!(attempt, made[job], "job {job} of {count}");
            made[job] += 1;
        }));
        for (i, (job, result)) in jobs.iter().zip(&results).enumerate() {
            assert_eq!(*result, bounded(job, allowed), "job {i} of {count}");
            assert_eq!(made[i], attempts(job).min(allowed), "job {i} of {count}");
        }
    });
}

#[test]
fn every_attempt_is_made_once_and_in_order() {
    fn check<P: ParameterSet>() {
        for backend in Backend::available() {
            for count in [1, 2, 3, 4, 7, 8, 9, 33, 70] {
                units_are_exact::<P>(backend, count, MAX_ATTEMPTS);
            }
            for allowed in 1..6 {
                units_are_exact::<P>(backend, 24, allowed);
            }
        }
    }
    check::<MlDsa44>();
    check::<MlDsa65>();
    check::<MlDsa87>();
}

/// The positions that are left out are not touched.
#[test]
fn only_the_positions_given_are_signed() {
    with_jobs::<MlDsa44>(Backend::portable(), 6, |jobs| {
        let mut results = unsigned(6);
        with_engine!(Backend::portable(), e => sign::run(e, jobs, &[4, 1], 821, &mut results, |_, _| {}));
        for (i, result) in results.iter().enumerate() {
            let written = *result != Err(Error::TooManyAttempts { allowed: 0 });
            assert_eq!(written, i == 1 || i == 4);
        }
    });
}

/// The table in the module's documentation.
#[test]
fn the_memory_is_as_documented() {
    fn kib<P: ParameterSet>() -> Vec<usize> {
        let all = [
            &sign::memory::<P>()[..],
            &verify::memory::<P>(),
            &[keygen::memory::<P>()],
        ]
        .concat();
        all.into_iter()
            .map(|bytes: usize| bytes.div_ceil(1024))
            .collect()
    }
    // sign: three columns; verify: three; keygen.
    assert_eq!(kib::<MlDsa44>(), [16, 27, 11, 11, 5, 21, 21]);
    assert_eq!(kib::<MlDsa65>(), [21, 45, 12, 14, 6, 37, 28]);
    assert_eq!(kib::<MlDsa87>(), [27, 76, 14, 18, 8, 65, 38]);
}
