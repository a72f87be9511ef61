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
//! Beyond the results and 8 bytes a job, some 100 a job that is signed, the memory does not grow with
//! the number of jobs. A backend keeps S jobs in flight, one for each of its Keccak states: 1 (`portable`), 4
//! (`avx2`, `neon`) or 8 (`avx512`). At most so many KiB for ML-DSA-44, -65, -87; what is secret is wiped:
//!
//! | | each job in flight | each job in flight, with compact keys | once | once, with compact keys |
//! |---|---|---|---|---|
//! | [`sign`] | 15, 20, 26 | 27, 45, 76 more | 22, 22, 22 | |
//! | [`verify`] | 7, 8, 10 | 4, 5, 7 more | | 21, 37, 65 |
//! | [`keygen`], [`keygen_expanded`] | 17, 23, 31 | | 25, 28, 32 | |
//!
//! So `avx2` signs ML-DSA-65 in 102 KiB with expanded keys, whatever the number of jobs, and in 282
//! KiB with compact ones. The repository's library/evidence/stack.md has the stack that a thread needs.

pub(crate) mod keygen;
pub(crate) mod with_rnd;
#[cfg(all(test, mldsa_inside))]
mod limit_tests {
    include!(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/unit/batch/limit_tests.rs"
    ));
}
#[cfg(feature = "rayon")]
pub mod parallel;
mod rows;
pub(crate) mod sign;
#[cfg(all(test, mldsa_inside))]
mod tests {
    include!(concat!(env!("CARGO_MANIFEST_DIR"), "/unit/batch/tests.rs"));
}
pub(crate) mod verify;

use alloc::boxed::Box;
use alloc::vec::Vec;

use rand_core::TryCryptoRng;

use crate::ParameterSet;
use crate::backend::Backend;
use crate::error::Error;
use crate::kernels::poly::Wipe;
use crate::keys::{
    ExpandedSigningKey, ExpandedVerifyingKey, SignOptions, Signature, SigningKey, VerifyingKey,
};
use crate::scheme::message::Input;

/// The key of a [`SignJob`].
#[derive(Clone, Copy, Debug)]
pub enum SignWith<'a, P: ParameterSet> {
    /// Expanded here, once for each run of jobs with the same reference.
    Compact(&'a SigningKey<P>),
    /// Used as it is.
    Expanded(&'a ExpandedSigningKey<P>),
}

/// A message to be signed.
#[derive(Clone, Copy, Debug)]
pub struct SignJob<'a, P: ParameterSet> {
    /// The key; its backend does the work.
    pub key: SignWith<'a, P>,
    /// The message to sign.
    pub input: Input<'a>,
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
    /// The message that was signed.
    pub input: Input<'a>,
    /// The signature.
    pub signature: &'a Signature<P>,
}

/// Signs every job (Algorithms 2, 4 and 7): what [`sign_with`](SigningKey::sign_with) gives for each.
/// `rnd` of each job is 32 bytes of memory until the end.
///
/// # Errors
/// [`Error::Rng`] if the generator fails, [`Error::RndCount`]; then nothing is signed. Each job has its own:
/// [`Error::DigestLength`], [`Error::WeakPreHash`], [`Error::MuOfAnotherKey`],
/// [`Error::TooManyAttempts`].
pub fn sign<P: ParameterSet>(
    jobs: &[SignJob<'_, P>],
    options: SignOptions<'_>,
) -> Result<Vec<Result<Signature<P>, Error>>, Error> {
    with_rnd::sign(jobs, options, with_rnd::sign_into)
}

/// Verifies every job (Algorithms 3, 5 and 8): what
/// [`verify_signature`](VerifyingKey::verify_signature) gives for each.
///
/// # Errors
/// Each job has its own: [`Error::InvalidSignature`], [`Error::DigestLength`],
/// [`Error::WeakPreHash`], [`Error::MuOfAnotherKey`].
pub fn verify<P: ParameterSet>(jobs: &[VerifyJob<'_, P>]) -> Vec<Result<(), Error>> {
    let mut results = unverified(jobs.len());
    verify_into(jobs, &mut results);
    results
}

/// The results until signatures have passed.
pub(crate) fn unverified(count: usize) -> Vec<Result<(), Error>> {
    alloc::vec![Err(Error::InvalidSignature); count]
}

pub(crate) fn verify_into<P: ParameterSet>(
    jobs: &[VerifyJob<'_, P>],
    results: &mut [Result<(), Error>],
) {
    if let ([job], [result]) = (jobs, &mut *results) {
        *result = match job.key {
            VerifyWith::Compact(key) => key.verify_signature(job.input, job.signature),
            VerifyWith::Expanded(key) => key.verify_signature(job.input, job.signature),
        };
        return;
    }
    for (backend, order) in by_backend(jobs.iter().map(|job| job.key.backend())) {
        P::verify_jobs(backend, jobs, &order, results);
    }
}

/// ML-DSA.KeyGen (Algorithm 1), `count` times.
///
/// # Errors
/// [`Error::OutOfMemory`] if the keys and their seeds cannot be allocated, before `rng` is used; [`Error::Rng`]
/// if `rng` fails.
pub fn generate<P: ParameterSet, R: TryCryptoRng + ?Sized>(
    count: usize,
    rng: &mut R,
) -> Result<Vec<SigningKey<P>>, Error> {
    generated(count, rng, keygen_into)
}

/// Draws seeds, and overwrites them when `keygen_into` has had them.
fn generated<P: ParameterSet, R: TryCryptoRng + ?Sized>(
    count: usize,
    rng: &mut R,
    keygen_into: impl FnOnce(Backend, &[[u8; 32]], &mut [SigningKey<P>]),
) -> Result<Vec<SigningKey<P>>, Error> {
    let backend = Backend::detect();
    let mut keys = reserved(count)?;
    let mut seeds = filled(reserved(count)?, count, || [0; 32]);
    let drawn = rng.try_fill_bytes(seeds.as_flattened_mut());
    if drawn.is_ok() {
        keys = filled(keys, count, || SigningKey::empty(backend));
        keygen_into(backend, &seeds, &mut keys);
    }
    seeds.as_flattened_mut().wipe();
    drawn.map(|()| keys).map_err(|_| Error::Rng)
}

/// Room for a number of values that the caller chose, for which there may not be enough memory.
pub(crate) fn reserved<T>(count: usize) -> Result<Vec<T>, Error> {
    let mut values = Vec::new();
    let reserved = values.try_reserve_exact(count);
    reserved.map(|()| values).map_err(|_| Error::OutOfMemory)
}

/// ML-DSA.KeyGen_internal (Algorithm 6) for every seed ξ, on the given backend, which the keys keep,
/// unless it was [disabled](Backend::disable_for_process).
pub fn keygen<P: ParameterSet>(backend: Backend, seeds: &[[u8; 32]]) -> Vec<SigningKey<P>> {
    let backend = backend.granted();
    let mut keys = unfilled(backend, seeds.len());
    keygen_into(backend, seeds, &mut keys);
    keys
}

/// [`keygen`] and [`SigningKey::expand`] in one, for keys that only sign: Â, most of the work of either,
/// is sampled once. `keys` becomes the keys of the seeds; what it held before is overwritten. They
/// take 27, 46 and 78 KiB each.
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
    keys.resize_with(seeds.len(), || ExpandedSigningKey::EMPTY);
    P::keygen_expanded_jobs(backend, seeds, keys);
    for key in keys {
        key.public.backend = backend;
    }
}

/// Jobs of a piece for a thread: full lanes, and work for every thread.
#[doc(hidden)] // for `parallel` and the C library, which has threads of its own
pub fn piece_size(jobs: usize, lanes: usize, threads: usize) -> usize {
    let pieces = match threads {
        1 => 1,
        _ => (jobs / (MIN_JOBS_PER_LANE * lanes)).clamp(threads, PIECES_PER_THREAD * threads),
    };
    jobs.div_ceil(pieces).next_multiple_of(lanes).max(lanes)
}

/// Where there are many jobs: enough that others take the share of a thread which is late.
const PIECES_PER_THREAD: usize = 4;
/// Where there are enough jobs for every thread: at the end of a piece lanes become idle one by one.
const MIN_JOBS_PER_LANE: usize = 16;

/// Keys to be filled in place: a secret that is moved leaves a copy behind, unwiped.
fn unfilled<P: ParameterSet>(backend: Backend, count: usize) -> Vec<SigningKey<P>> {
    vec_from_fn(count, || SigningKey::empty(backend))
}

fn keygen_into<P: ParameterSet>(backend: Backend, seeds: &[[u8; 32]], keys: &mut [SigningKey<P>]) {
    P::keygen_jobs(backend, seeds, keys);
}

/// A large value on the heap. Not a part of its caller, whose frame would have room for it: what lies
/// below a small frame is overwritten in the end.
#[inline(never)]
pub(crate) fn boxed<T>(new: impl FnOnce() -> T) -> Box<T> {
    Box::new(new())
}

/// `count` values, likewise.
pub(crate) fn vec_from_fn<T>(count: usize, new: impl FnMut() -> T) -> Vec<T> {
    filled(Vec::new(), count, new)
}

#[inline(never)]
fn filled<T>(mut values: Vec<T>, count: usize, new: impl FnMut() -> T) -> Vec<T> {
    values.resize_with(count, new);
    values
}

/// Each backend, with the positions that have it, in order.
pub(crate) fn by_backend(backends: impl Iterator<Item = Backend>) -> Vec<(Backend, Vec<usize>)> {
    let mut groups: Vec<(Backend, Vec<usize>)> = Vec::new();
    for (position, backend) in backends.enumerate() {
        match groups.iter_mut().find(|(known, _)| *known == backend) {
            Some((_, order)) => order.push(position),
            None => groups.push((backend, alloc::vec![position])),
        }
    }
    groups
}

impl<P: ParameterSet> SignWith<'_, P> {
    pub(crate) fn backend(&self) -> Backend {
        match self {
            SignWith::Compact(key) => key.backend(),
            SignWith::Expanded(key) => key.backend(),
        }
    }
}

impl<P: ParameterSet> VerifyWith<'_, P> {
    pub(crate) fn backend(&self) -> Backend {
        match self {
            VerifyWith::Compact(key) => key.backend,
            VerifyWith::Expanded(key) => key.backend,
        }
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
        impl<'a, P: ParameterSet> From<&'a Box<$expanded<P>>> for $with<'a, P> {
            fn from(key: &'a Box<$expanded<P>>) -> Self {
                $with::Expanded(key)
            }
        }
    };
}
from_keys!(SignWith: SigningKey, ExpandedSigningKey);
from_keys!(VerifyWith: VerifyingKey, ExpandedVerifyingKey);
