//! Jobs of signing with their values of `rnd`.

use alloc::vec::Vec;

use super::{SignWith, by_backend, made};
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
    let mut rnds = made(count, Secret::<[u8; 32]>::zero);
    options.fill(&mut rnds)?;
    Ok(rnds)
}

/// Jobs with their values of `rnd`.
pub(crate) fn jobs<'a, P: ParameterSet>(
    jobs: &[super::SignJob<'a, P>],
    rnds: &'a [Secret<[u8; 32]>],
) -> Vec<SignJob<'a, P>> {
    let job = |(job, rnd): (&super::SignJob<'a, P>, &'a Secret<[u8; 32]>)| SignJob {
        key: job.key,
        input: job.input,
        rnd,
    };
    jobs.iter().zip(rnds).map(job).collect()
}

/// Room for results, every one of which will be written.
pub(crate) fn unsigned<P: ParameterSet>(count: usize) -> Vec<Result<Signature<P>, Error>> {
    made(count, || Err(UNSIGNED))
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
