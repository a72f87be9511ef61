//! [Batches](crate::batch) of jobs whose parameter sets are known at run time. Jobs of several sets are
//! worked off one set after another; their outcomes are in the order of the jobs.

use alloc::vec::Vec;
use core::hint::black_box;

use rand_core::TryCryptoRng;

use super::{
    AnyExpandedSigningKey, AnyExpandedVerifyingKey, AnySignature, AnySigningKey, AnyVerifyingKey,
    Set, of_another_set,
};
use crate::ParameterSet;
use crate::backend::{Backend, Wiper};
use crate::batch::{
    SignWith, VerifyJob, VerifyWith, boxed, reserved, unverified, vec_from_fn, verify_into,
    with_rnd,
};
use crate::error::Error;
use crate::keys::{SignOptions, SigningKey};
use crate::scheme::message::Input;
use crate::scheme::sign::UNSIGNED;
use crate::sets::{MlDsa44, MlDsa65, MlDsa87};

/// The key of an [`AnySignJob`].
#[derive(Clone, Copy, Debug)]
pub enum AnySignWith<'a> {
    /// Expanded here, once for each run of jobs with the same reference.
    Compact(&'a AnySigningKey),
    /// Used as it is.
    Expanded(&'a AnyExpandedSigningKey),
}

/// A message to be signed.
#[derive(Clone, Copy, Debug)]
pub struct AnySignJob<'a> {
    /// The key.
    pub key: AnySignWith<'a>,
    /// What to sign.
    pub input: Input<'a>,
}

/// The key of an [`AnyVerifyJob`].
#[derive(Clone, Copy, Debug)]
pub enum AnyVerifyWith<'a> {
    /// Expanded here, once for each run of jobs with the same key.
    Compact(&'a AnyVerifyingKey),
    /// Used as it is.
    Expanded(&'a AnyExpandedVerifyingKey),
}

/// A signature to be verified.
#[derive(Clone, Copy, Debug)]
pub struct AnyVerifyJob<'a> {
    /// The key.
    pub key: AnyVerifyWith<'a>,
    /// What was signed.
    pub input: Input<'a>,
    /// The signature.
    pub signature: &'a AnySignature,
}

/// Signs every job; see [`batch::sign`](crate::batch::sign).
///
/// # Errors
/// [`Error::Rng`] if the generator fails, [`Error::RndCount`]; then nothing is signed. Each job has its own:
/// [`Error::DigestLength`], [`Error::WeakPreHash`], [`Error::MuOfAnotherKey`], [`Error::TooManyAttempts`].
pub fn sign(
    jobs: &[AnySignJob<'_>],
    options: SignOptions<'_>,
) -> Result<Vec<Result<AnySignature, Error>>, Error> {
    sign_by(OneThread, jobs, options)
}

/// Verifies every job; see [`batch::verify`](crate::batch::verify).
///
/// # Errors
/// Each job has its own: [`Error::InvalidSignature`], [`Error::DigestLength`], [`Error::WeakPreHash`],
/// [`Error::MuOfAnotherKey`], and [`Error::SignatureLength`] for a signature of another set than its key.
pub fn verify(jobs: &[AnyVerifyJob<'_>]) -> Vec<Result<(), Error>> {
    verify_by(OneThread, jobs)
}

/// The keys of seeds ξ; see [`batch::keygen`](crate::batch::keygen).
pub fn keygen(set: Set, seeds: &[[u8; 32]]) -> Vec<AnySigningKey> {
    with_set!(set, P => kept(&crate::batch::keygen::<P>(Backend::detect(), seeds), Vec::new()))
}

/// `count` keys of seeds from `rng`; see [`batch::generate`](crate::batch::generate).
///
/// # Errors
/// [`Error::OutOfMemory`] if the heap has no room for the seeds and two copies of the keys, before `rng` is used;
/// [`Error::Rng`] if `rng` fails.
pub fn generate<R: TryCryptoRng + ?Sized>(
    set: Set,
    count: usize,
    rng: &mut R,
) -> Result<Vec<AnySigningKey>, Error> {
    with_set!(set, P => generated(count, || crate::batch::generate::<P, _>(count, rng)))
}

/// The functions of [`super`] on several cores; see [`batch::parallel`](crate::batch::parallel).
#[cfg(feature = "rayon")]
pub mod parallel {
    use super::*;

    /// As [`super::sign`].
    ///
    /// # Errors
    /// As [`super::sign`].
    pub fn sign(
        jobs: &[AnySignJob<'_>],
        options: SignOptions<'_>,
    ) -> Result<Vec<Result<AnySignature, Error>>, Error> {
        sign_by(Pool, jobs, options)
    }

    /// As [`super::verify`].
    ///
    /// # Errors
    /// As [`super::verify`].
    pub fn verify(jobs: &[AnyVerifyJob<'_>]) -> Vec<Result<(), Error>> {
        verify_by(Pool, jobs)
    }

    /// As [`super::keygen`].
    pub fn keygen(set: Set, seeds: &[[u8; 32]]) -> Vec<AnySigningKey> {
        with_set!(set, P => kept(&crate::batch::parallel::keygen::<P>(Backend::detect(), seeds), Vec::new()))
    }

    /// As [`super::generate`].
    ///
    /// # Errors
    /// As [`super::generate`].
    pub fn generate<R: TryCryptoRng + ?Sized>(
        set: Set,
        count: usize,
        rng: &mut R,
    ) -> Result<Vec<AnySigningKey>, Error> {
        with_set!(set, P => generated(count, || crate::batch::parallel::generate::<P, _>(count, rng)))
    }
}

/// Who works off jobs.
trait Workers {
    fn work<J: Sync, R: Send>(
        &self,
        backend: Option<Backend>,
        jobs: &[J],
        results: &mut [R],
        run: impl Fn(&[J], &mut [R]) + Sync,
    );
}

/// The caller's thread.
struct OneThread;

impl Workers for OneThread {
    fn work<J: Sync, R: Send>(
        &self,
        _: Option<Backend>,
        jobs: &[J],
        results: &mut [R],
        run: impl Fn(&[J], &mut [R]) + Sync,
    ) {
        run(jobs, results);
    }
}

/// The pool of rayon.
#[cfg(feature = "rayon")]
struct Pool;

#[cfg(feature = "rayon")]
impl Workers for Pool {
    fn work<J: Sync, R: Send>(
        &self,
        backend: Option<Backend>,
        jobs: &[J],
        results: &mut [R],
        run: impl Fn(&[J], &mut [R]) + Sync,
    ) {
        crate::batch::parallel::spread(backend, jobs, results, run);
    }
}

fn sign_by(
    workers: impl Workers,
    jobs: &[AnySignJob<'_>],
    mut options: SignOptions<'_>,
) -> Result<Vec<Result<AnySignature, Error>>, Error> {
    let rnds = with_rnd::rnds(jobs.len(), &mut options)?;
    let mut results = vec_from_fn(jobs.len(), || Err(UNSIGNED));
    macro_rules! of {
        ($($set:ident)*) => { $(
            let mut places = Vec::new();
            let mut own = Vec::new();
            for (place, (job, rnd)) in jobs.iter().zip(&rnds).enumerate() {
                let key = match job.key {
                    AnySignWith::Compact(AnySigningKey::$set(key)) => SignWith::Compact(key),
                    AnySignWith::Expanded(AnyExpandedSigningKey::$set(key)) => SignWith::Expanded(key),
                    _ => continue,
                };
                places.push(place);
                own.push(with_rnd::SignJob { key, input: job.input, rnd });
            }
            let mut signed = with_rnd::unsigned::<$set>(own.len());
            let backend = own.first().map(|job| job.key.backend());
            workers.work(backend, &own, &mut signed, |jobs, results| {
                with_rnd::sign_into(jobs, options.max_attempts, results);
            });
            for (place, signature) in places.into_iter().zip(signed) {
                results[place] = signature.map(AnySignature::from);
            }
        )* };
    }
    of!(MlDsa44 MlDsa65 MlDsa87);
    Ok(results)
}

fn verify_by(workers: impl Workers, jobs: &[AnyVerifyJob<'_>]) -> Vec<Result<(), Error>> {
    let mut results = unverified(jobs.len());
    macro_rules! of {
        ($($set:ident)*) => { $(
            let mut places = Vec::new();
            let mut own = Vec::new();
            for (place, job) in jobs.iter().enumerate() {
                let key = match job.key {
                    AnyVerifyWith::Compact(AnyVerifyingKey::$set(key)) => VerifyWith::Compact(key),
                    AnyVerifyWith::Expanded(AnyExpandedVerifyingKey::$set(key)) => VerifyWith::Expanded(key),
                    _ => continue,
                };
                let AnySignature::$set(signature) = job.signature else {
                    results[place] = Err(of_another_set(Set::$set, job.signature));
                    continue;
                };
                places.push(place);
                own.push(VerifyJob { key, input: job.input, signature });
            }
            let mut judged = unverified(own.len());
            let backend = own.first().map(|job| job.key.backend());
            workers.work(backend, &own, &mut judged, verify_into);
            for (place, outcome) in places.into_iter().zip(judged) {
                results[place] = outcome;
            }
        )* };
    }
    of!(MlDsa44 MlDsa65 MlDsa87);
    results
}

/// [`kept`] of keys that are generated, after a check of the heap. Boxes have no allocation that returns an error.
fn generated<P: ParameterSet>(
    count: usize,
    generate: impl FnOnce() -> Result<Vec<SigningKey<P>>, Error>,
) -> Result<Vec<AnySigningKey>, Error>
where
    AnySigningKey: From<super::Signing<P>>,
{
    let boxes = reserved(count)?;
    // Keys with their seeds, and boxes with the bytes that an allocator adds to each.
    let copies: [Vec<(SigningKey<P>, [u8; 32])>; 2] = [reserved(count)?, reserved(count)?];
    // Without this the compiler may leave the allocations out.
    drop(black_box(copies));
    Ok(kept(&generate()?, boxes))
}

/// Copies in boxes; the originals are wiped where they lie.
fn kept<P: ParameterSet>(
    keys: &[SigningKey<P>],
    mut boxes: Vec<AnySigningKey>,
) -> Vec<AnySigningKey>
where
    AnySigningKey: From<super::Signing<P>>,
{
    let _wiper = Wiper::<20>;
    boxes.extend(keys.iter().map(|key| boxed(|| key.clone()).into()));
    boxes
}
