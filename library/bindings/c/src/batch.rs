//! Many signatures, verifications or keys in one call.

use std::num::NonZero;
use std::sync::{Mutex, MutexGuard};
use std::thread;

use mldsa_lanes::any::AnySignature;
use mldsa_lanes::any::batch::{self, AnySignJob, AnySignWith, AnyVerifyJob, AnyVerifyWith};
use mldsa_lanes::batch::piece_size;
use mldsa_lanes::{Mu, SysRng};
use zeroize::Zeroizing;

use crate::bytes::{Room, changed, check_heap, free, input, new_handle, reference, room};
use crate::input::mldsa_input;
use crate::keys::{known, mldsa_set, mldsa_signing_key, mldsa_verifying_key, use_environment};
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

/// An element of the caller's arrays, with pointers that the header lets any thread use.
#[repr(transparent)]
struct Element<T>(T);

// SAFETY: as the header says of what `T` points to; each element is used by one thread at a time.
unsafe impl<T> Send for Element<T> {}

/// As many jobs fill the lanes of every backend.
const LANES: usize = 8;
/// The most jobs of a piece. It bounds the memory of a call, whatever the number of jobs.
const MAX_PIECE: usize = 64 * LANES;
/// Bytes of heap for each job, and for each piece: bounds of what `mldsa_lanes::batch` documents, with
/// the results.
const JOB_HEAP: usize = 20 << 10;
const PIECE_HEAP: usize = 1 << 20;
/// Bytes of stack of a new thread.
const STACK: usize = 2 << 20;

/// Calls `work` with all of `jobs` in pieces, and with the place of each piece, on `threads` threads: the
/// calling one and new ones; 0 stands for as many as there are cores. Where no thread starts the others
/// do its work. Returns an error of `work`.
///
/// Threads end with the call. So a child of `fork` finds no pool without threads and no lock of another.
fn in_pieces<J>(
    jobs: &mut [Element<J>],
    threads: usize,
    work: impl Fn(usize, &mut [Element<J>]) -> Outcome + Sync,
) -> Outcome {
    // Before the number of cores is read, which allocates too.
    check_heap(PIECE_HEAP)?;
    let threads = match threads {
        0 => thread::available_parallelism().map_or(1, NonZero::get),
        1..=MLDSA_MAX_THREADS => threads,
        _ => return Err(MLDSA_ERROR_OPTION),
    };
    let size = piece_size(jobs.len(), LANES, threads).min(MAX_PIECE);
    let threads = threads.min(jobs.len().div_ceil(size));
    let pieces = Mutex::new(jobs.chunks_mut(size).enumerate());
    let outcome = Mutex::new(Ok(()));
    let run = || {
        loop {
            let Some((index, piece)) = locked(&pieces).next() else {
                return;
            };
            let done = check_heap(PIECE_HEAP + piece.len() * JOB_HEAP);
            if let Err(code) = done.and_then(|()| work(index * size, piece)) {
                *locked(&outcome) = Err(code);
            }
        }
    };
    thread::scope(|scope| {
        for thread in 1..threads {
            // For all threads up to this one, so that none takes another's.
            let heap = (thread + 1) * (STACK + PIECE_HEAP + size * JOB_HEAP);
            let start = || {
                thread::Builder::new()
                    .stack_size(STACK)
                    .spawn_scoped(scope, run)
            };
            if check_heap(heap).is_err() || start().is_err() {
                break;
            }
        }
        run();
    });
    *locked(&outcome)
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex
        .lock()
        .unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// The caller's jobs. Each `outcome`, which the caller need not have written, becomes MEMORY: it stays so
/// in a piece for which there is no memory.
///
/// # Safety
/// As the header says, for `'a`; `outcome` is a field of the job.
unsafe fn jobs<'a, J>(
    at: *mut J,
    count: usize,
    outcome: impl Fn(*mut J) -> *mut mldsa_error,
) -> Outcome<&'a mut [Element<J>]> {
    // SAFETY: the caller sees to it.
    for place in unsafe { room(at, count) }? {
        // SAFETY: it is in the caller's job.
        unsafe { outcome(place.as_mut_ptr()).write(MLDSA_ERROR_MEMORY) };
    }
    // SAFETY: now all fields of all jobs are written.
    unsafe { changed(at.cast(), count) }
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
    // SAFETY: the caller sees to it; the pointer stays in the job.
    let jobs = unsafe { self::jobs(jobs, count, |job| &raw mut (*job).outcome) }?;
    in_pieces(jobs, threads, |start, jobs| {
        let mut mus: Vec<Option<Mu>> = vec![None; jobs.len()];
        let mut rnds = Zeroizing::new(Vec::with_capacity(jobs.len()));
        let (mut own, mut places) = (Vec::new(), Vec::new());
        for (place, (Element(job), mu)) in jobs.iter_mut().zip(&mut mus).enumerate() {
            job.outcome = MLDSA_ERROR_INTERNAL;
            // SAFETY: the caller sees to it.
            let prepared = unsafe { to_sign(job, mu) };
            match prepared {
                Ok((job, room)) => {
                    own.push(job);
                    places.push((place, room));
                    if let Randomness::Given(given) = randomness {
                        rnds.push(given[start + place]);
                    }
                }
                Err(code) => job.outcome = code,
            }
        }
        let randomness = match randomness {
            Randomness::Given(_) => Randomness::Given(&rnds),
            other => other,
        };
        let signed = match batch::sign(&own, randomness.options(&mut SysRng)) {
            Ok(signed) => signed,
            Err(error) => {
                places
                    .iter()
                    .for_each(|&(place, _)| jobs[place].0.outcome = code(error));
                return Err(code(error));
            }
        };
        for ((place, room), signature) in places.into_iter().zip(signed) {
            let written = signature
                .map_err(code)
                .and_then(|of| room.write(of.as_ref()));
            jobs[place].0.outcome = written.err().unwrap_or(MLDSA_OK);
        }
        Ok(())
    })
}

/// Sign many inputs at once: several times as fast as one after another, since a batch fills the
/// CPU's lanes. Each job has its own outcome, and its signature is the one that mldsa_sign_input
/// gives; a job that fails spoils no other.
///
/// jobs        count jobs; may be NULL where count is 0.
/// randomness  MLDSA_HEDGED or MLDSA_DETERMINISTIC.
/// threads     1: the calling thread; 0: one for each core; else that many, at most
///             MLDSA_MAX_THREADS. The call starts the others and ends them; where they cannot start,
///             the calling thread does their work.
///
/// Return MLDSA_OK where every job has its outcome, whatever that is.
/// Errors: NULL, LENGTH for more jobs than memory can hold, OPTION: then nothing was signed. RANDOM,
/// MEMORY: they are the outcome of the jobs that were not signed.
/// Thread safety: any thread, any time, also in a child of fork.
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
/// Errors: NULL, LENGTH for more jobs than memory can hold, OPTION. MEMORY: it is the outcome of the
/// jobs that were not verified.
/// Thread safety: any thread, any time, also in a child of fork.
/// Ownership: the caller keeps everything.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mldsa_verify_batch(
    jobs: *mut mldsa_verify_job,
    count: usize,
    threads: usize,
) -> mldsa_error {
    barrier(|| {
        // SAFETY: as the header says; the pointer stays in the job.
        let jobs = unsafe { self::jobs(jobs, count, |job| &raw mut (*job).outcome) }?;
        in_pieces(jobs, threads, |_, jobs| {
            let mut mus: Vec<Option<Mu>> = vec![None; jobs.len()];
            let mut signatures: Vec<Option<AnySignature>> = vec![None; jobs.len()];
            let (mut own, mut places) = (Vec::new(), Vec::new());
            let rows = jobs.iter_mut().zip(&mut mus).zip(&mut signatures);
            for (place, ((Element(job), mu), signature)) in rows.enumerate() {
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
            for (place, outcome) in places.into_iter().zip(batch::verify(&own)) {
                jobs[place].0.outcome = outcome.map_err(code).err().unwrap_or(MLDSA_OK);
            }
            Ok(())
        })
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
/// Errors: NULL, SET, LENGTH, OPTION, RANDOM, MEMORY, ENVIRONMENT.
/// Thread safety: any thread, any time, also in a child of fork.
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
        // SAFETY: as the header says.
        for place in unsafe { room(keys, count) }? {
            place.write(std::ptr::null_mut());
        }
        // SAFETY: now all are written.
        let keys: &mut [Element<*mut mldsa_signing_key>] = unsafe { changed(keys.cast(), count) }?;
        use_environment()?;
        let set = known(set)?;
        // SAFETY: as the header says.
        let (given, rest) = unsafe { input(seeds, seeds_len) }?.as_chunks::<32>();
        if seeds_len > 0 && (given.len() != count || !rest.is_empty()) {
            return Err(MLDSA_ERROR_LENGTH);
        }
        let outcome = in_pieces(keys, threads, |start, keys| {
            let made = match given {
                [] => batch::generate(set, keys.len(), &mut SysRng).map_err(code)?,
                _ => batch::keygen(set, &given[start..start + keys.len()]),
            };
            for (Element(place), key) in keys.iter_mut().zip(made) {
                *place = new_handle(key.into())?;
            }
            Ok(())
        });
        if outcome.is_err() {
            for Element(key) in keys {
                // SAFETY: NULL or a handle from here.
                unsafe { free(key) };
            }
        }
        outcome
    })
}
