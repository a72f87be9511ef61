//! Many signatures, verifications or keys at once: the lanes are filled across jobs, so that the
//! hashes which are serial in one operation (tr, μ, ρ″, c̃, SampleInBall) run side by side too.
//!
//! Every job has an outcome of its own, in the order of the jobs, bit for bit that of the single
//! call; a job that fails spoils no other. Any number of jobs serves, 0 and 1 included. These
//! functions use one thread; those of `parallel` (feature `rayon`) use several.
//!
//! Jobs on different backends are worked off one backend after another. A compact key is expanded
//! once for each run of consecutive jobs that have it: the same reference for signing, the same
//! bytes for verification.
//!
//! # Memory
//! Beyond the results and 8 bytes a job, the memory does not grow with the number of jobs. A
//! backend keeps S jobs in flight, one for each of its Keccak states: 1 (`portable`), 2 (`neon`), 4
//! (`avx2`) or 8 (`avx512`). At most so many KiB for ML-DSA-44, -65, -87; what is secret is wiped:
//!
//! | | each job in flight | each job in flight, with compact keys | once | once, with compact keys |
//! |---|---|---|---|---|
//! | [`sign`], [`trace`] | 16, 21, 27 | 27, 45, 76 more | 11, 12, 14 | |
//! | [`verify`] | 11, 14, 18 | 5, 6, 8 more | | 21, 37, 65 |
//! | [`keygen`], [`keygen_expanded`] | 21, 28, 38 | | | |
//!
//! So `avx2` signs ML-DSA-65 in 96 KiB with expanded keys, whatever the number of jobs, and in 276
//! KiB with compact ones.

mod keygen;
#[cfg(feature = "rayon")]
pub mod parallel;
mod rows;
mod sign;
#[cfg(test)]
mod tests;
mod trace;
mod verify;

use alloc::vec::Vec;
use core::fmt;

use crate::backend::{Backend, Engine, with_engine};
use crate::error::Error;
use crate::kernels::sponge::Shake256Reader;
use crate::kernels::sponges::shake256_each;
use crate::keys::{ExpandedSigningKey, ExpandedVerifyingKey, Signature, SigningKey, VerifyingKey};
use crate::params::{MAX_ATTEMPTS, ParameterSet};
use crate::scheme::message::Input;
use crate::trace::{Attempt, Checks};

/// The key of a [`SignJob`].
#[derive(Clone, Copy, Debug)]
pub enum SignWith<'a, P: ParameterSet> {
    /// Expanded here, once for each run of jobs with the same reference.
    Compact(&'a SigningKey<P>),
    /// Used as it is.
    Expanded(&'a ExpandedSigningKey<P>),
}

/// A message to be signed.
#[derive(Clone, Copy)]
pub struct SignJob<'a, P: ParameterSet> {
    /// The key; its backend does the work.
    pub key: SignWith<'a, P>,
    /// What to sign.
    pub input: Input<'a>,
    /// 32 fresh random bytes, or zeros for the deterministic variant.
    pub rnd: [u8; 32],
}

/// The key of a [`VerifyJob`].
#[derive(Clone, Copy, Debug)]
pub enum VerifyWith<'a, P: ParameterSet> {
    /// Expanded here, once for each run of jobs with the same key.
    Compact(&'a VerifyingKey<P>),
    /// Used as it is.
    Expanded(&'a ExpandedVerifyingKey<P>),
}

/// A signature to be verified.
#[derive(Clone, Copy, Debug)]
pub struct VerifyJob<'a, P: ParameterSet> {
    /// The key; its backend does the work.
    pub key: VerifyWith<'a, P>,
    /// What was signed.
    pub input: Input<'a>,
    /// The signature.
    pub signature: &'a Signature<P>,
}

/// Signs every job (Algorithms 2, 4 and 7): what `sign_input` gives for each.
///
/// # Errors
/// Each job has its own: [`Error::ContextTooLong`], [`Error::DigestLength`],
/// [`Error::TooManyAttempts`].
pub fn sign<P: ParameterSet>(jobs: &[SignJob<'_, P>]) -> Vec<Result<Signature<P>, Error>> {
    let mut results = unsigned(jobs.len());
    sign_into(jobs, &mut results);
    results
}

/// Room for results, every one of which will be written.
fn unsigned<P: ParameterSet>(count: usize) -> Vec<Result<Signature<P>, Error>> {
    let mut results = Vec::new();
    results.resize_with(count, || Err(Error::TooManyAttempts { allowed: 0 }));
    results
}

fn sign_into<P: ParameterSet>(
    jobs: &[SignJob<'_, P>],
    results: &mut [Result<Signature<P>, Error>],
) {
    if let ([job], [result]) = (jobs, &mut *results) {
        *result = match job.key {
            SignWith::Compact(key) => key.sign_input(&job.input, &job.rnd),
            SignWith::Expanded(key) => key.sign_input(&job.input, &job.rnd),
        };
        return;
    }
    by_backend(
        jobs.iter().map(|job| job.key.backend()),
        |backend, order| {
            with_engine!(backend, e => 
                sign::run(e, jobs, order, MAX_ATTEMPTS, &mut sign::Signing(results)));
        },
    );
}

/// Traces every job: tells `on_attempt` of each attempt that signing it takes, with the job's position.
/// A job's attempts come in order, those of different jobs mixed. No signature is made.
///
/// For tests and measurements, with keys made for them: which branches are taken, which memory is
/// read and so how long it takes depends on y, w0 and the private key, not just on what a signature
/// tells. Signing shares none of that text.
///
/// # Errors
/// As [`sign`]; all attempts of a job with [`Error::TooManyAttempts`] have been told.
pub fn trace<P: ParameterSet>(
    jobs: &[SignJob<'_, P>],
    checks: Checks,
    on_attempt: impl FnMut(usize, Attempt),
) -> Vec<Result<(), Error>> {
    let mut results = alloc::vec![Ok(()); jobs.len()];
    let mut outcome = trace::Traces {
        checks,
        on_attempt,
        results: &mut results,
    };
    by_backend(
        jobs.iter().map(|job| job.key.backend()),
        |backend, order| {
            with_engine!(backend, e => sign::run(e, jobs, order, MAX_ATTEMPTS, &mut outcome));
        },
    );
    results
}

/// Verifies every job (Algorithms 3, 5 and 8): what `verify_input` gives for each.
///
/// # Errors
/// Each job has its own: [`Error::InvalidSignature`], [`Error::ContextTooLong`],
/// [`Error::DigestLength`].
pub fn verify<P: ParameterSet>(jobs: &[VerifyJob<'_, P>]) -> Vec<Result<(), Error>> {
    let mut results = unverified(jobs.len());
    verify_into(jobs, &mut results);
    results
}

/// The results until signatures have passed.
fn unverified(count: usize) -> Vec<Result<(), Error>> {
    alloc::vec![Err(Error::InvalidSignature); count]
}

fn verify_into<P: ParameterSet>(jobs: &[VerifyJob<'_, P>], results: &mut [Result<(), Error>]) {
    if let ([job], [result]) = (jobs, &mut *results) {
        *result = match job.key {
            VerifyWith::Compact(key) => key.verify_input(&job.input, job.signature),
            VerifyWith::Expanded(key) => key.verify_input(&job.input, job.signature),
        };
        return;
    }
    by_backend(
        jobs.iter().map(|job| job.key.backend()),
        |backend, order| {
            with_engine!(backend, e => verify::run(e, jobs, order, results));
        },
    );
}

/// ML-DSA.KeyGen_internal (Algorithm 6) for every seed ξ, on the given backend, which the keys keep,
/// unless it was [disabled](Backend::disable).
pub fn keygen<P: ParameterSet>(backend: Backend, seeds: &[[u8; 32]]) -> Vec<SigningKey<P>> {
    let backend = backend.granted();
    let mut keys = unfilled(backend, seeds.len());
    keygen_into(backend, seeds, &mut keys);
    keys
}

/// [`keygen`] and [`SigningKey::expand`] in one, for keys that only sign: Â, most of the work of either,
/// is sampled once. `keys` becomes the keys of the seeds; what it held before is overwritten. They
/// take 26, 44 and 75 KiB each, and the jobs in flight 3 KiB more than with [`keygen`].
pub fn keygen_expanded<P: ParameterSet>(
    backend: Backend,
    seeds: &[[u8; 32]],
    keys: &mut Vec<ExpandedSigningKey<P>>,
) {
    if keys.capacity() < seeds.len() {
        // Secrets would be moved.
        *keys = Vec::with_capacity(seeds.len());
    }
    let backend = backend.granted();
    keys.resize_with(seeds.len(), || ExpandedSigningKey::zero(backend));
    with_engine!(backend, e => keygen::run_expanded(e, seeds, keys));
    for key in keys {
        key.backend = backend;
    }
}

/// Keys to be filled in place: a secret that is moved leaves a copy behind, unwiped.
fn unfilled<P: ParameterSet>(backend: Backend, count: usize) -> Vec<SigningKey<P>> {
    let mut keys = Vec::new();
    keys.resize_with(count, || SigningKey::zero(backend));
    keys
}

fn keygen_into<P: ParameterSet>(backend: Backend, seeds: &[[u8; 32]], keys: &mut [SigningKey<P>]) {
    with_engine!(backend, e => keygen::run(e, seeds, keys));
}

/// Calls `run` once for each backend, with the positions that have it, in order.
fn by_backend(
    backends: impl ExactSizeIterator<Item = Backend> + Clone,
    mut run: impl FnMut(Backend, &[usize]),
) {
    let mut order = Vec::with_capacity(backends.len());
    let mut seen = Vec::new();
    for backend in backends.clone() {
        if seen.contains(&backend) {
            continue;
        }
        seen.push(backend);
        order.clear();
        let positions = backends.clone().enumerate();
        order.extend(positions.filter(|(_, b)| *b == backend).map(|(i, _)| i));
        run(backend, &order);
    }
}

/// [`shake256_each`] on an engine.
fn hash_each<'a, E: Engine, T, const PARTS: usize>(
    e: E,
    strings: impl Iterator<Item = ([&'a [u8]; PARTS], T)>,
    digest: impl FnMut(T, &mut Shake256Reader),
) {
    shake256_each(
        |states: &mut E::States| e.permute(states),
        e.permutation(),
        strings,
        digest,
    );
}

impl<P: ParameterSet> SignWith<'_, P> {
    fn backend(&self) -> Backend {
        match self {
            SignWith::Compact(key) => key.backend,
            SignWith::Expanded(key) => key.backend,
        }
    }
}

impl<P: ParameterSet> VerifyWith<'_, P> {
    fn backend(&self) -> Backend {
        match self {
            VerifyWith::Compact(key) => key.backend,
            VerifyWith::Expanded(key) => key.backend,
        }
    }
}

impl<P: ParameterSet> fmt::Debug for SignJob<'_, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Without rnd, which may have to stay secret.
        let mut out = f.debug_struct("SignJob");
        out.field("key", &self.key).field("input", &self.input);
        out.finish_non_exhaustive()
    }
}

macro_rules! from_keys {
    ($with:ident: $compact:ident, $expanded:ident) => {
        impl<'a, P: ParameterSet> From<&'a $compact<P>> for $with<'a, P> {
            fn from(key: &'a $compact<P>) -> Self {
                $with::Compact(key)
            }
        }
        impl<'a, P: ParameterSet> From<&'a $expanded<P>> for $with<'a, P> {
            fn from(key: &'a $expanded<P>) -> Self {
                $with::Expanded(key)
            }
        }
    };
}
from_keys!(SignWith: SigningKey, ExpandedSigningKey);
from_keys!(VerifyWith: VerifyingKey, ExpandedVerifyingKey);
