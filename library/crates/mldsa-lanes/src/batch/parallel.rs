//! The functions of [`super`] on several cores, with the same results: on the rayon pool in which
//! they are called, the caller's own through `ThreadPool::install`, else the global one.
//!
//! The calling thread does all work where rayon cannot start its global pool, as under a limit on
//! processes, and where there are no more jobs than one thread has lanes. Rayon tries to start it
//! once in a process. If code other than this module has tried and failed, the first panic of rayon
//! is caught here, which needs `panic = "unwind"`.
//!
//! A child of `fork` has no threads of its parent's pools, and rayon waits for them without end. In
//! such a child call the functions of [`super`], or these in a pool that the child has built.
//!
//! The jobs are cut into pieces, each worked off by one thread with the memory that [`super`]
//! states, so the memory grows with the number of threads. A run of jobs with one compact key is
//! expanded once in each piece.

use alloc::vec::Vec;
use core::error::Error as _;
use core::sync::atomic::{AtomicBool, Ordering};

use rayon::prelude::*;

use rand_core::TryCryptoRng;

use super::{SignJob, VerifyJob, with_rnd};
use crate::ParameterSet;
use crate::backend::{Backend, Engine, with_engine};
use crate::error::Error;
use crate::keys::{SignOptions, Signature, SigningKey};

/// As [`super::sign`].
///
/// # Errors
/// As [`super::sign`].
pub fn sign<P: ParameterSet>(
    jobs: &[SignJob<'_, P>],
    options: SignOptions<'_>,
) -> Result<Vec<Result<Signature<P>, Error>>, Error> {
    let backend = jobs.first().map(|job| job.key.backend());
    with_rnd::sign(jobs, options, |jobs, limit, results| {
        spread(backend, jobs, results, |jobs, results| {
            with_rnd::sign_into(jobs, limit, results);
        });
    })
}

/// As [`super::verify`].
///
/// # Errors
/// As [`super::verify`].
pub fn verify<P: ParameterSet>(jobs: &[VerifyJob<'_, P>]) -> Vec<Result<(), Error>> {
    let mut results = super::unverified(jobs.len());
    let backend = jobs.first().map(|job| job.key.backend());
    spread(backend, jobs, &mut results, super::verify_into);
    results
}

/// As [`super::generate`].
///
/// # Errors
/// As [`super::generate`].
pub fn generate<P: ParameterSet, R: TryCryptoRng + ?Sized>(
    count: usize,
    rng: &mut R,
) -> Result<Vec<SigningKey<P>>, Error> {
    super::generated(count, rng, keygen_into)
}

/// As [`super::keygen`].
pub fn keygen<P: ParameterSet>(backend: Backend, seeds: &[[u8; 32]]) -> Vec<SigningKey<P>> {
    let backend = backend.granted();
    let mut keys = super::unfilled(backend, seeds.len());
    keygen_into(backend, seeds, &mut keys);
    keys
}

fn keygen_into<P: ParameterSet>(backend: Backend, seeds: &[[u8; 32]], keys: &mut [SigningKey<P>]) {
    spread(Some(backend), seeds, keys, |seeds, keys| {
        super::keygen_into(backend, seeds, keys);
    });
}

/// Cuts `jobs`, and with them the places of their results, into pieces for `run`, on the pool's threads.
pub(crate) fn spread<J: Sync, R: Send>(
    backend: Option<Backend>,
    jobs: &[J],
    results: &mut [R],
    run: impl Fn(&[J], &mut [R]) + Sync,
) {
    let lanes = backend.map_or(1, |backend| with_engine!(backend, e => states(e)));
    if jobs.len() <= lanes || !has_pool() {
        return run(jobs, results);
    }
    let size = super::piece_size(jobs.len(), lanes, rayon::current_num_threads());
    let pieces = jobs.par_chunks(size).zip(results.par_chunks_mut(size));
    pieces.for_each(|(jobs, results)| run(jobs, results));
}

/// True if this thread is in a pool, or the global one runs or can be started.
fn has_pool() -> bool {
    static GLOBAL: AtomicBool = AtomicBool::new(true);
    if rayon::current_thread_index().is_some() {
        return true;
    }
    // Only the first attempt in a process returns the reason; rayon panics after it. On wasm32 without
    // threads rayon's own start makes a pool of the current thread, and this one would not.
    if cfg!(not(target_family = "wasm")) {
        let started = rayon::ThreadPoolBuilder::new().build_global();
        if started.is_err_and(|error| error.source().is_some()) {
            GLOBAL.store(false, Ordering::Relaxed);
        }
    }
    GLOBAL.load(Ordering::Relaxed) && std::panic::catch_unwind(rayon::current_num_threads).is_ok()
}

fn states<E: Engine>(_: E) -> usize {
    E::STATES
}
