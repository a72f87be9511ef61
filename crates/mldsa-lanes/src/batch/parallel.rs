//! The functions of [`super`] on several cores, with the same results: on the rayon pool in which
//! they are called, the caller's own through `ThreadPool::install`, else the global one.
//!
//! The jobs are cut into pieces, each worked off by one thread with the memory that [`super`]
//! states, so the memory grows with the number of threads. A run of jobs with one compact key is
//! expanded once in each piece.

use alloc::vec::Vec;

use rayon::prelude::*;

use rand_core::TryCryptoRng;

use super::{SignJob, VerifyJob, given};
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
    mut options: SignOptions<'_>,
) -> Result<Vec<Result<Signature<P>, Error>>, Error> {
    let rnds = given::rnds(jobs.len(), &mut options)?;
    let mut results = given::unsigned(jobs.len());
    let size = piece(jobs.len(), jobs.iter().map(|job| job.key.backend()));
    let jobs = given::with(jobs, &rnds);
    let pieces = jobs.par_chunks(size).zip(results.par_chunks_mut(size));
    pieces.for_each(|(jobs, results)| given::sign_into(jobs, options.max_attempts, results));
    Ok(results)
}

/// As [`super::verify`].
///
/// # Errors
/// As [`super::verify`].
pub fn verify<P: ParameterSet>(jobs: &[VerifyJob<'_, P>]) -> Vec<Result<(), Error>> {
    let mut results = super::unverified(jobs.len());
    let size = piece(jobs.len(), jobs.iter().map(|job| job.key.backend()));
    let pieces = jobs.par_chunks(size).zip(results.par_chunks_mut(size));
    pieces.for_each(|(jobs, results)| super::verify_into(jobs, results));
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
    super::generated(count, rng, |seeds| keygen(Backend::detect(), seeds))
}

/// As [`super::keygen`].
pub fn keygen<P: ParameterSet>(backend: Backend, seeds: &[[u8; 32]]) -> Vec<SigningKey<P>> {
    let backend = backend.granted();
    let mut keys = super::unfilled(backend, seeds.len());
    let size = piece(seeds.len(), core::iter::once(backend));
    let pieces = seeds.par_chunks(size).zip(keys.par_chunks_mut(size));
    pieces.for_each(|(seeds, keys)| super::keygen_into(backend, seeds, keys));
    keys
}

/// Pieces for each thread where there are many jobs: enough that a thread which is late has others
/// take its share.
const PIECES: usize = 4;
/// Jobs of a piece for each lane, at least, where there are enough for every thread: at the end of
/// a piece lanes fall idle one by one.
const JOBS: usize = 16;

/// How many jobs a piece has: full lanes, and work for every thread of the pool.
fn piece(jobs: usize, mut backends: impl Iterator<Item = Backend>) -> usize {
    let lanes = backends
        .next()
        .map_or(1, |backend| with_engine!(backend, e => states(e)));
    let threads = rayon::current_num_threads();
    let pieces = (jobs / (JOBS * lanes)).clamp(threads, PIECES * threads);
    jobs.div_ceil(pieces).next_multiple_of(lanes).max(lanes)
}

fn states<E: Engine>(_: E) -> usize {
    E::STATES
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every thread has work as soon as there is a group of lanes for each, and a full group in each
    /// piece but the last.
    #[test]
    fn pieces_are_for_all_threads_and_of_full_lanes() {
        for threads in 1..=5 {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
            let pool = pool.build().expect("a few threads");
            for backend in Backend::available() {
                let lanes = with_engine!(backend, e => states(e));
                for jobs in (0..200).chain([1000, 9999, 100_000]) {
                    let size = pool.install(|| piece(jobs, core::iter::once(backend)));
                    assert!(size >= lanes && size.is_multiple_of(lanes));
                    let pieces = jobs.div_ceil(size);
                    assert!(pieces <= PIECES * threads, "{jobs} jobs, {threads} threads");
                    if jobs >= JOBS * lanes * PIECES * threads {
                        assert!(
                            pieces > (PIECES - 1) * threads,
                            "{jobs} jobs, {threads} threads"
                        );
                    }
                    // A thread's share, but for the lanes that this fills.
                    assert!(size < jobs.div_ceil(threads).max(1) + lanes);
                }
            }
        }
    }
}
