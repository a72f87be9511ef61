//! Signing with given values of `rnd`: below the ordinary functions, and for
//! [`hazmat`](crate::hazmat).

use alloc::vec::Vec;
use core::fmt;

use rand_core::TryCryptoRng;

use super::entry::Batch;
use super::{SignWith, by_backend, made};
use crate::error::Error;
use crate::kernels::poly::{Secret, Zero};
use crate::keys::Signature;
use crate::params::MAX_ATTEMPTS;
use crate::scheme::entry::Scheme;
use crate::scheme::message::Input;

/// A message to be signed with a given `rnd`.
#[derive(Clone, Copy)]
pub struct SignJob<'a, P: Scheme> {
    /// The key; its backend does the work.
    pub key: SignWith<'a, P>,
    /// What to sign.
    pub input: Input<'a>,
    /// 32 fresh random bytes, or zeros for the deterministic variant.
    pub rnd: &'a [u8; 32],
}

impl<P: Scheme> fmt::Debug for SignJob<'_, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Without rnd, which may have to stay secret.
        let mut out = f.debug_struct("SignJob");
        out.field("key", &self.key).field("input", &self.input);
        out.finish_non_exhaustive()
    }
}

/// [`batch::sign`](super::sign) with given values of `rnd`.
///
/// # Errors
/// Each job has its own, as there.
pub fn sign<P: Batch>(jobs: &[SignJob<'_, P>]) -> Vec<Result<Signature<P>, Error>> {
    sign_bounded(jobs, MAX_ATTEMPTS)
}

/// [`batch::sign_bounded`](super::sign_bounded) with given values of `rnd`.
///
/// # Errors
/// Each job has its own, as those of [`batch::sign`](super::sign).
pub fn sign_bounded<P: Batch>(
    jobs: &[SignJob<'_, P>],
    max_attempts: u32,
) -> Vec<Result<Signature<P>, Error>> {
    let mut results = unsigned(jobs.len());
    sign_into(jobs, max_attempts, &mut results);
    results
}

/// `count` values of rnd, in the place from which they are used.
pub(super) fn draw<R: TryCryptoRng + ?Sized>(
    count: usize,
    rng: &mut R,
) -> Result<Vec<Secret<[u8; 32]>>, Error> {
    let mut rnds = made(count, Secret::<[u8; 32]>::zero);
    for rnd in &mut rnds {
        rng.try_fill_bytes(rnd.as_mut()).map_err(|_| Error::Rng)?;
    }
    Ok(rnds)
}

pub(super) fn hedged<'a, P: Scheme>(
    jobs: &[super::SignJob<'a, P>],
    rnds: &'a [Secret<[u8; 32]>],
) -> Vec<SignJob<'a, P>> {
    with(jobs, rnds.iter().map(|rnd| &rnd.0))
}

pub(super) fn deterministic<'a, P: Scheme>(jobs: &[super::SignJob<'a, P>]) -> Vec<SignJob<'a, P>> {
    with(jobs, core::iter::repeat(&[0; 32]))
}

fn with<'a, P: Scheme>(
    jobs: &[super::SignJob<'a, P>],
    rnds: impl Iterator<Item = &'a [u8; 32]>,
) -> Vec<SignJob<'a, P>> {
    let job = |(job, rnd): (&super::SignJob<'a, P>, _)| SignJob {
        key: job.key,
        input: job.input,
        rnd,
    };
    jobs.iter().zip(rnds).map(job).collect()
}

/// Room for results, every one of which will be written.
pub(super) fn unsigned<P: Scheme>(count: usize) -> Vec<Result<Signature<P>, Error>> {
    made(count, || Err(Error::TooManyAttempts { allowed: 0 }))
}

pub(super) fn sign_into<P: Batch>(
    jobs: &[SignJob<'_, P>],
    max_attempts: u32,
    results: &mut [Result<Signature<P>, Error>],
) {
    if let ([job], [result]) = (jobs, &mut *results) {
        let SignJob { key, input, rnd } = job;
        *result = match key {
            SignWith::Compact(key) => key.run(input, rnd, max_attempts),
            SignWith::Expanded(key) => key.run(input, rnd, max_attempts),
        };
        return;
    }
    by_backend(
        jobs.iter().map(|job| job.key.backend()),
        |backend, order| P::sign_jobs(backend, jobs, order, max_attempts, results),
    );
}
