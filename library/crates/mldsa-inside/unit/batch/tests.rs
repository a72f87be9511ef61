// What only the inside shows: which iterations the scheduler makes, and the memory it takes.

use std::format;
use std::vec::Vec;

use super::with_rnd::SignJob;
use super::*;
use crate::backend::tests::wide::{Wide2, Wide4, Wide8};
use crate::backend::{Engine, with_engine};
use crate::hazmat::{with_max_attempts, with_rnd};
use crate::internals::{Observer, observed};
use crate::params::MAX_ATTEMPTS;
use crate::scheme::message::{Context, PreHash};
use crate::scheme::sign::{Iteration, Material, Scratch, Signing};
use crate::sets::{MlDsa44, MlDsa65, MlDsa87};

/// Jobs of two keys, each in both forms, that differ in their messages; every seventh has a digest of a
/// wrong length.
fn with_jobs<P: ParameterSet>(
    backend: Backend,
    count: usize,
    test: impl FnOnce(&[SignJob<'_, P>]),
) {
    let keys = [3, 4].map(|seed| SigningKey::<P>::from_seed_on(backend, &[seed; 32]));
    let expanded = keys.each_ref().map(SigningKey::expand);
    let messages: Vec<_> = (0..count).map(|i| [i as u8, (i >> 8) as u8]).collect();
    let context = Context::EMPTY;
    let jobs: Vec<_> = messages
        .iter()
        .enumerate()
        .map(|(i, message)| SignJob {
            key: match i % 5 {
                0 | 1 => (&expanded[i % 2]).into(),
                _ => (&keys[i / 2 % 2]).into(),
            },
            input: match i % 7 {
                6 => Input::WeakDigest {
                    hash: PreHash::Sha2_256,
                    digest: message,
                    context,
                },
                _ => message.into(),
            },
            rnd: &[0; 32],
        })
        .collect();
    test(&jobs);
}

fn bounded<P: ParameterSet>(job: &SignJob<'_, P>, most: u32) -> Result<Signature<P>, Error> {
    let options = with_max_attempts(with_rnd(core::slice::from_ref(job.rnd)), most);
    match job.key {
        SignWith::Compact(key) => key.sign_with(job.input, options),
        SignWith::Expanded(key) => key.sign_with(job.input, options),
    }
}

/// Rejects the iterations of which a closure says no.
pub(super) struct AllowedIf<F>(pub(super) F);

impl<P: ParameterSet, F: FnMut(Iteration) -> bool> Observer<P> for AllowedIf<F> {
    fn observe<E: Engine>(
        &mut self,
        _: E,
        _: &Material<P>,
        iteration: Iteration,
        _: &Signing<P>,
        _: &mut Scratch,
    ) -> bool {
        (self.0)(iteration)
    }
}

/// The results of the jobs at the positions in `order`, and the attempts that were made.
fn counted<P: ParameterSet, E: Engine>(
    e: E,
    jobs: &[SignJob<'_, P>],
    order: &[usize],
    allowed: u32,
) -> (Vec<Result<Signature<P>, Error>>, Vec<u32>) {
    let mut results: Vec<_> = jobs
        .iter()
        .map(|_| Err(Error::TooManyAttempts { allowed: 0 }))
        .collect();
    let mut made = std::vec![0; jobs.len()];
    let mut counting = AllowedIf(|Iteration { message, number }| {
        assert_eq!(number, made[message], "message {message}");
        made[message] += 1;
        true
    });
    observed(e, jobs, order, allowed, &mut counting, &mut results);
    (results, made)
}

/// Every attempt of a job is made once, from 0 without gaps up to the one that succeeds or is the
/// last allowed, and none after it: no mask is used twice.
fn units_are_exact<P: ParameterSet, E: Engine>(e: E, jobs: &[SignJob<'_, P>], allowed: u32) {
    let order: Vec<usize> = (0..jobs.len()).collect();
    let (results, made) = counted(e, jobs, &order, allowed);
    for (i, (job, result)) in jobs.iter().zip(&results).enumerate() {
        let label = std::format!("{}: {i} of {}", P::NAME, jobs.len());
        assert_eq!(*result, bounded(job, allowed), "{label}");
        let alone = counted(e, jobs, &[i], MAX_ATTEMPTS).1[i];
        assert_eq!(made[i], alone.min(allowed), "{label}");
    }
}

/// On `e`, whatever the backend of the keys.
fn schedules_on<P: ParameterSet, E: Engine>(e: E) {
    with_jobs::<P>(Backend::detect(), 70, |jobs| {
        for count in [0, 1, 2, 3, 4, 7, 8, 9, 20, 70] {
            units_are_exact(e, &jobs[..count], MAX_ATTEMPTS);
        }
        for allowed in 1..6 {
            units_are_exact(e, &jobs[..24], allowed);
        }
    });
}

/// This machine's engines, and portable ones with groups of every size.
macro_rules! on_every_engine {
    ($function:ident::<$set:ty>) => {
        for backend in Backend::available() {
            with_engine!(backend, e => $function::<$set, _>(e));
        }
        $function::<$set, _>(Wide2);
        $function::<$set, _>(Wide4);
        $function::<$set, _>(Wide8);
    };
}

#[test]
fn every_attempt_is_made_once_and_in_order() {
    on_every_engine!(schedules_on::<MlDsa44>);
    on_every_engine!(schedules_on::<MlDsa65>);
    on_every_engine!(schedules_on::<MlDsa87>);
}

/// Keys, and verdicts on good and altered signatures of them, on `e`.
fn keys_and_verdicts_on<P: ParameterSet, E: Engine>(e: E) {
    let seeds: Vec<_> = (0..19).map(|i| [i; 32]).collect();
    for count in 0..seeds.len() {
        let mut keys = unfilled::<P>(Backend::detect(), count);
        keygen::run(e, &seeds[..count], &mut keys);
        for (seed, key) in seeds.iter().zip(&keys) {
            let alone = SigningKey::<P>::from_seed(seed);
            assert!(key.encoded_bytes() == alone.encoded_bytes());
            assert!(key.verifying_key() == alone.verifying_key());
        }
        // Keys in runs of 1, 2, 3 …, so that some go on from group to group.
        let public: Vec<_> = keys.iter().map(SigningKey::verifying_key).collect();
        let expanded: Vec<_> = public.iter().map(|key| key.expand()).collect();
        let runs: Vec<_> = (0..count)
            .flat_map(|i| (0..i % 7 + 1).map(move |_| i))
            .collect();
        let signatures: Vec<_> = (0..runs.len())
            .map(|i| {
                let signature = keys[runs[i]]
                    .sign_deterministic(&[i as u8])
                    .expect("a signature");
                let mut bytes = signature.as_ref().to_vec();
                bytes[i * 997 % P::SIGNATURE_BYTES] ^= u8::from(i % 3 == 1);
                Signature::from_bytes(&bytes).expect("of the right length")
            })
            .collect();
        let messages: Vec<_> = (0..runs.len()).map(|i| [i as u8]).collect();
        let jobs: Vec<_> = (0..runs.len())
            .map(|i| VerifyJob {
                key: match i % 5 {
                    0 => (&expanded[runs[i]]).into(),
                    _ => public[runs[i]].into(),
                },
                input: (&messages[i]).into(),
                signature: &signatures[i],
            })
            .collect();
        let order: Vec<_> = (0..jobs.len()).collect();
        let mut verdicts = unverified(jobs.len());
        verify::run(e, &jobs, &order, &mut verdicts);
        for (i, job) in jobs.iter().enumerate() {
            let alone = public[runs[i]].verify_signature(job.input, job.signature);
            assert_eq!(verdicts[i], alone, "{} {i} of {}", P::NAME, jobs.len());
            assert_eq!(verdicts[i].is_ok(), i % 3 != 1);
        }
    }
}

/// Expanded keys on `e`, over keys of other seeds: they sign as those of the single calls.
fn expanded_keys_on<P: ParameterSet, E: Engine>(e: E) {
    let seeds: Vec<_> = (0..19).map(|i| [i; 32]).collect();
    let sign = |key: &ExpandedSigningKey<P>| key.sign_deterministic(b"message");
    let alone: Vec<_> = seeds
        .iter()
        .map(|seed| sign(&SigningKey::<P>::from_seed(seed).expand()))
        .collect();
    let mut keys = Vec::new();
    keygen_expanded(Backend::detect(), &seeds, &mut keys);
    for range in [1..19, 0..18, 10..18, 3..8, 7..8, 0..0] {
        keys.truncate(range.len());
        keygen::run_expanded(e, &seeds[range.clone()], &mut keys);
        assert_eq!(keys.iter().map(sign).collect::<Vec<_>>(), alone[range]);
    }
}

#[test]
fn expanded_keys_in_groups_of_every_size() {
    on_every_engine!(expanded_keys_on::<MlDsa44>);
    on_every_engine!(expanded_keys_on::<MlDsa65>);
    on_every_engine!(expanded_keys_on::<MlDsa87>);
}

#[test]
fn keys_and_verdicts_in_groups_of_every_size() {
    on_every_engine!(keys_and_verdicts_on::<MlDsa44>);
    on_every_engine!(keys_and_verdicts_on::<MlDsa65>);
    on_every_engine!(keys_and_verdicts_on::<MlDsa87>);
}

/// The positions that are left out are not touched.
#[test]
fn only_the_positions_given_are_signed() {
    with_jobs::<MlDsa44>(Backend::portable(), 6, |jobs| {
        let (results, _) =
            with_engine!(Backend::portable(), e => counted(e, jobs, &[4, 1], MAX_ATTEMPTS));
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
            &keygen::memory::<P>(),
        ]
        .concat();
        all.into_iter()
            .map(|bytes: usize| bytes.div_ceil(1024))
            .collect()
    }
    // sign: three columns; verify: three; keygen: each, once.
    assert_eq!(kib::<MlDsa44>(), [15, 27, 22, 7, 4, 21, 17, 25]);
    assert_eq!(kib::<MlDsa65>(), [20, 45, 22, 8, 5, 37, 23, 28]);
    assert_eq!(kib::<MlDsa87>(), [26, 76, 22, 10, 7, 65, 31, 32]);
}

/// Every thread has work as soon as there is a group of lanes for each, and a full group in each
/// piece but the last.
#[test]
fn pieces_are_for_all_threads_and_of_full_lanes() {
    for (threads, lanes) in (1..=5).flat_map(|threads| [1, 4, 8].map(|lanes| (threads, lanes))) {
        for jobs in (0..200).chain([1000, 9999, 100_000]) {
            let size = piece_size(jobs, lanes, threads);
            assert!(size >= lanes && size.is_multiple_of(lanes));
            let pieces = jobs.div_ceil(size);
            let label = format!("{jobs} jobs, {threads} threads");
            assert!(pieces <= PIECES_PER_THREAD * threads, "{label}");
            if threads > 1 && jobs >= MIN_JOBS_PER_LANE * lanes * PIECES_PER_THREAD * threads {
                assert!(pieces > (PIECES_PER_THREAD - 1) * threads, "{label}");
            }
            // A thread's share, but for the lanes that this fills.
            assert!(size < jobs.div_ceil(threads).max(1) + lanes);
        }
    }
}
