//! Jobs of signing with their values of `rnd`.

use alloc::vec::Vec;

use super::{SignWith, by_backend, vec_from_fn};
use crate::ParameterSet;
use crate::error::Error;
use crate::kernels::poly::{Secret, Zero};
use crate::keys::{SignOptions, Signature};
use crate::scheme::message::Input;
use crate::scheme::sign::UNSIGNED;

/// A message to be signed with a known `rnd`.
#[derive(Clone, Copy)]
pub struct SignJob<'a, P: ParameterSet> {
    pub(crate) key: SignWith<'a, P>,
    pub(crate) input: Input<'a>,
    pub(crate) rnd: &'a [u8; 32],
}

/// `rnd` of `count` signatures, in the memory from which they are used.
pub(crate) fn rnds(
    count: usize,
    options: &mut SignOptions<'_>,
) -> Result<Vec<Secret<[u8; 32]>>, Error> {
    let mut rnds = vec_from_fn(count, Secret::<[u8; 32]>::zero);
    options.fill(&mut rnds)?;
    Ok(rnds)
}

/// Signs the jobs with values of `rnd` from `options`. `sign_into` takes the jobs, the limit of iterations and
/// the results.
pub(crate) fn sign<P: ParameterSet>(
    jobs: &[super::SignJob<'_, P>],
    mut options: SignOptions<'_>,
    sign_into: impl FnOnce(&[SignJob<'_, P>], u32, &mut [Result<Signature<P>, Error>]),
) -> Result<Vec<Result<Signature<P>, Error>>, Error> {
    let rnds = rnds(jobs.len(), &mut options)?;
    let mut results = unsigned(jobs.len());
    let jobs = jobs.iter().zip(&rnds).map(|(job, rnd)| SignJob {
        key: job.key,
        input: job.input,
        rnd,
    });
    let jobs: Vec<_> = jobs.collect();
    sign_into(&jobs, options.max_attempts, &mut results);
    Ok(results)
}

/// Room for results, every one of which will be written.
pub(crate) fn unsigned<P: ParameterSet>(count: usize) -> Vec<Result<Signature<P>, Error>> {
    vec_from_fn(count, || Err(UNSIGNED))
}

pub(crate) fn sign_into<P: ParameterSet>(
    jobs: &[SignJob<'_, P>],
    limit: u32,
    results: &mut [Result<Signature<P>, Error>],
) {
    for (backend, order) in by_backend(jobs.iter().map(|job| job.key.backend())) {
        P::sign_jobs(backend, jobs, &order, limit, results);
    }
}
