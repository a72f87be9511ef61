//! Many signatures, verifications or keys in one call.

use std::sync::{Arc, Mutex};

use mldsa_lanes::any::batch::{
    self, AnySignJob, AnySignWith, AnyVerifyJob, AnyVerifyWith, parallel,
};
use mldsa_lanes::any::{AnySignature, AnySigningKey};
use mldsa_lanes::{Error, Mu, SysRng};
use rayon::{ThreadPool, ThreadPoolBuilder};
use zeroize::Zeroizing;

use crate::bytes::{Room, changed, input, reference};
use crate::input::mldsa_input;
use crate::keys::{known, mldsa_set, mldsa_signing_key, mldsa_verifying_key};
use crate::sign::Randomness;
use crate::{Outcome, barrier, error::*};

/// The most threads that a call may ask for.
pub const MLDSA_MAX_THREADS: usize = 1024;

/// A message to be signed. One call may have keys of several sets.
///
/// Ownership: the caller keeps everything it points to.
#[repr(C)]
pub struct mldsa_sign_job {
    /// The private key. Expanded once for consecutive jobs with the same handle, unless it is
    /// expanded.
    pub key: *const mldsa_signing_key,
    /// What to sign.
    pub input: mldsa_input,
    /// Room for signature_len bytes, at least 2420, 3309 or 4627; no other job's.
    pub signature: *mut u8,
    /// Bytes of signature.
    pub signature_len: usize,
    /// Written by the call: MLDSA_OK, or an error of mldsa_sign_input.
    pub outcome: mldsa_error,
}

/// A signature to be verified. One call may have keys of several sets.
///
/// Ownership: the caller keeps everything it points to.
#[repr(C)]
pub struct mldsa_verify_job {
    /// The public key. Expanded once for consecutive jobs with the same key, unless it is expanded.
    pub key: *const mldsa_verifying_key,
    /// What was signed.
    pub input: mldsa_input,
    /// signature_len bytes.
    pub signature: *const u8,
    /// Bytes of signature.
    pub signature_len: usize,
    /// Written by the call: MLDSA_OK for a valid signature, or an error of mldsa_verify_input.
    pub outcome: mldsa_error,
}

/// `alone` on this thread, or `spread` in a pool of `threads`; 0 stands for as many as there are
/// cores.
fn on_threads<R: Send>(
    threads: usize,
    alone: impl FnOnce() -> R,
    spread: impl FnOnce() -> R + Send,
) -> Outcome<R> {
    // The pool of the last call, which the next one most likely uses.
    static LAST: Mutex<Option<(usize, Arc<ThreadPool>)>> = Mutex::new(None);
    match threads {
        1 => return Ok(alone()),
        0..=MLDSA_MAX_THREADS => {}
        _ => return Err(MLDSA_ERROR_OPTION),
    }
    let pool = {
        let mut last = LAST.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        match &*last {
            Some((count, pool)) if *count == threads => Arc::clone(pool),
            _ => {
                let pool = ThreadPoolBuilder::new().num_threads(threads).build();
                let pool = Arc::new(pool.map_err(|_| MLDSA_ERROR_THREADS)?);
                *last = Some((threads, Arc::clone(&pool)));
                pool
            }
        }
    };
    Ok(pool.install(spread))
}

/// # Safety
/// As the header says, for `'a`.
unsafe fn to_sign<'a>(
    job: &mldsa_sign_job,
    mu: &'a mut Option<Mu>,
) -> Outcome<(AnySignJob<'a>, Room)> {
    // SAFETY: the caller sees to it.
    let key: &'a mldsa_signing_key = unsafe { reference(job.key) }?;
    let size = key.key.set().signature_bytes();
    // SAFETY: the caller sees to it.
    let room = unsafe { Room::new(job.signature, job.signature_len, size) }?;
    let key = match key.expanded.get() {
        Some(key) => AnySignWith::Expanded(key),
        None => AnySignWith::Compact(&key.key),
    };
    // SAFETY: the caller sees to it.
    let input = unsafe { job.input.read(mu) }?;
    Ok((AnySignJob { key, input }, room))
}

/// # Safety
/// As the header says, for `'a`.
unsafe fn to_verify<'a>(
    job: &mldsa_verify_job,
    mu: &'a mut Option<Mu>,
    signature: &'a mut Option<AnySignature>,
) -> Outcome<AnyVerifyJob<'a>> {
    // SAFETY: the caller sees to it.
    let key: &'a mldsa_verifying_key = unsafe { reference(job.key) }?;
    // SAFETY: the caller sees to it.
    let bytes = unsafe { input(job.signature, job.signature_len) }?;
    let signature = signature.insert(AnySignature::from_bytes(key.key.set(), bytes).map_err(code)?);
    let key = match key.expanded.get() {
        Some(key) => AnyVerifyWith::Expanded(key),
        None => AnyVerifyWith::Compact(&key.key),
    };
    // SAFETY: the caller sees to it.
    let input = unsafe { job.input.read(mu) }?;
    Ok(AnyVerifyJob {
        key,
        input,
        signature,
    })
}

/// # Safety
/// As the header says.
pub(crate) unsafe fn sign_batch(
    jobs: *mut mldsa_sign_job,
    count: usize,
    randomness: Randomness<'_>,
    threads: usize,
) -> Outcome {
    // SAFETY: the caller sees to it.
    let jobs = unsafe { changed(jobs, count) }?;
    let mut mus: Vec<Option<Mu>> = vec![None; jobs.len()];
    let mut rnds = Zeroizing::new(Vec::with_capacity(jobs.len()));
    let (mut own, mut places) = (Vec::new(), Vec::new());
    for (place, (job, mu)) in jobs.iter_mut().zip(&mut mus).enumerate() {
        job.outcome = MLDSA_ERROR_INTERNAL;
        // SAFETY: the caller sees to it.
        let prepared = unsafe { to_sign(job, mu) };
        match prepared {
            Ok((job, room)) => {
                own.push(job);
                places.push((place, room));
                if let Randomness::Given(given) = randomness {
                    rnds.push(given[place]);
                }
            }
            Err(code) => job.outcome = code,
        }
    }
    let randomness = match randomness {
        Randomness::Given(_) => Randomness::Given(&rnds),
        other => other,
    };
    let signed = on_threads(
        threads,
        || batch::sign(&own, randomness.options(&mut SysRng)),
        || parallel::sign(&own, randomness.options(&mut SysRng)),
    )?;
    for ((place, room), signature) in places.into_iter().zip(signed.map_err(code)?) {
        let written = signature
            .map_err(code)
            .and_then(|of| room.write(of.as_ref()));
        jobs[place].outcome = written.err().unwrap_or(MLDSA_OK);
    }
    Ok(())
}

/// Sign many inputs at once: several times as fast as one after another, since a batch fills the
/// CPU's lanes. Each job has its own outcome, and its signature is the one that mldsa_sign_input
/// gives; a job that fails spoils no other.
///
/// jobs        count jobs; may be NULL where count is 0.
/// randomness  MLDSA_HEDGED or MLDSA_DETERMINISTIC.
/// threads     1: the calling thread; 0: one for each core; else that many, at most
///             MLDSA_MAX_THREADS. The library keeps the threads for the next call.
///
/// Return MLDSA_OK where every job has its outcome, whatever that is.
/// Errors: NULL, LENGTH for more jobs than memory can hold, OPTION, THREADS, RANDOM: then nothing
/// was signed.
/// Thread safety: any thread, any time. After fork, a child may use one thread only.
/// Ownership: the caller keeps everything.
/// Wiping: the library wipes what depends on the keys.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mldsa_sign_batch(
    jobs: *mut mldsa_sign_job,
    count: usize,
    randomness: u32,
    threads: usize,
) -> mldsa_error {
    barrier(|| {
        let randomness = Randomness::known(randomness)?;
        // SAFETY: as the header says.
        unsafe { sign_batch(jobs, count, randomness, threads) }
    })
}

/// Verify many signatures at once. Each job has its own outcome, that of mldsa_verify_input.
///
/// jobs     count jobs; may be NULL where count is 0.
/// threads  as for mldsa_sign_batch.
///
/// Return MLDSA_OK where every job has its outcome: it does not say that the signatures are valid.
/// Errors: NULL, LENGTH for more jobs than memory can hold, OPTION, THREADS.
/// Thread safety: any thread, any time. After fork, a child may use one thread only.
/// Ownership: the caller keeps everything.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mldsa_verify_batch(
    jobs: *mut mldsa_verify_job,
    count: usize,
    threads: usize,
) -> mldsa_error {
    barrier(|| {
        // SAFETY: as the header says.
        let jobs = unsafe { changed(jobs, count) }?;
        let mut mus: Vec<Option<Mu>> = vec![None; jobs.len()];
        let mut signatures: Vec<Option<AnySignature>> = vec![None; jobs.len()];
        let (mut own, mut places) = (Vec::new(), Vec::new());
        let rows = jobs.iter_mut().zip(&mut mus).zip(&mut signatures);
        for (place, ((job, mu), signature)) in rows.enumerate() {
            job.outcome = MLDSA_ERROR_INTERNAL;
            // SAFETY: as the header says.
            let prepared = unsafe { to_verify(job, mu, signature) };
            match prepared {
                Ok(job) => {
                    own.push(job);
                    places.push(place);
                }
                Err(code) => job.outcome = code,
            }
        }
        let judged = on_threads(threads, || batch::verify(&own), || parallel::verify(&own))?;
        for (place, outcome) in places.into_iter().zip(judged) {
            jobs[place].outcome = outcome.map_err(code).err().unwrap_or(MLDSA_OK);
        }
        Ok(())
    })
}

/// Generate many private keys at once.
///
/// set        MLDSA_44, MLDSA_65 or MLDSA_87.
/// count      how many keys.
/// seeds      seeds_len bytes: 32 secret random bytes for each key; or NULL with seeds_len 0: the
///            operating system's random number generator makes them.
/// keys       count places for handles; after an error all are NULL.
/// threads    as for mldsa_sign_batch.
///
/// Errors: NULL, SET, LENGTH, OPTION, THREADS, RANDOM.
/// Thread safety: any thread, any time. After fork, a child may use one thread only.
/// Ownership: the caller frees each handle with mldsa_signing_key_free and keeps seeds.
/// Wiping: the library wipes the seeds that it draws, the caller its own.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mldsa_signing_key_generate_batch(
    set: mldsa_set,
    count: usize,
    seeds: *const u8,
    seeds_len: usize,
    keys: *mut *mut mldsa_signing_key,
    threads: usize,
) -> mldsa_error {
    barrier(|| {
        // SAFETY: as the header says; any bits are a pointer.
        let places = unsafe { changed(keys, count) }?;
        places.fill(std::ptr::null_mut());
        let set = known(set)?;
        // SAFETY: as the header says.
        let seeds = unsafe { input(seeds, seeds_len) }?;
        let (given, rest) = seeds.as_chunks::<32>();
        let made: Result<Vec<AnySigningKey>, Error> = if seeds.is_empty() {
            on_threads(
                threads,
                || batch::generate(set, count, &mut SysRng),
                || parallel::generate(set, count, &mut SysRng),
            )?
        } else if given.len() == count && rest.is_empty() {
            let keygen = || Ok(batch::keygen(set, given));
            on_threads(threads, keygen, || Ok(parallel::keygen(set, given)))?
        } else {
            return Err(MLDSA_ERROR_LENGTH);
        };
        for (place, key) in places.iter_mut().zip(made.map_err(code)?) {
            *place = Box::into_raw(Box::new(key.into()));
        }
        Ok(())
    })
}
