//! Many jobs in one call.

use std::hint::black_box;
use std::mem;
use std::ops::{Range, RangeInclusive};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::available_parallelism;
use std::time::{Duration, Instant};

use mldsa_lanes::any::batch::{
    self, AnySignJob, AnySignWith, AnyVerifyJob, AnyVerifyWith, parallel,
};
use mldsa_lanes::any::{AnySignature, Set};
use mldsa_lanes::{SignOptions, SysRng};
use pyo3::PyTypeInfo;
use pyo3::exceptions::{PyMemoryError, PyRuntimeError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyTuple};
use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::arguments::{ContextBytes, Data, Message, SignatureBytes, context};
use crate::keys::{PrivateKey, PublicKey};
use crate::{exception, fork};

/// The context of a job, where it has one.
type JobContext<'py> = Option<Data<'py, ContextBytes>>;

/// Sign every job `(private_key, data)` or `(private_key, data, context)` and return the signatures in order.
///
/// Keys may be of several parameter sets. Jobs fill the CPU's lanes together, and a run of jobs with the same
/// key object expands it once. Hedged as `PrivateKey.sign`, or with `deterministic` as `sign_deterministic`.
/// `threads`: how many work, 0 for one per core. TypeError, ValueError: a job is wrong, and none is signed.
#[pyfunction]
#[pyo3(signature = (jobs, *, deterministic=false, threads=1))]
pub fn sign_batch<'py>(
    py: Python<'py>,
    jobs: &Bound<'py, PyAny>,
    deterministic: bool,
    threads: usize,
) -> PyResult<Bound<'py, PyList>> {
    type Job<'py> = (Bound<'py, PrivateKey>, Data<'py, Message>, JobContext<'py>);
    let form = "(private_key, data) or (private_key, data, context)";
    let jobs = read_jobs(jobs, form, 2..=3, |job| {
        let (key, data, context): Job<'py> = match job.len() {
            2 => {
                let (key, data) = job.extract()?;
                (key, data, None)
            }
            _ => job.extract()?,
        };
        Ok((key, data, context))
    })?;
    check_contexts(jobs.iter().map(|job| &job.2))?;
    let pool = pool(threads)?;
    let signatures = PyList::empty(py);
    in_chunks(
        py,
        jobs.len(),
        &pool,
        |n| cost(&jobs[n].1),
        |chunk| {
            let jobs = jobs[chunk].iter().map(|(key, data, context)| {
                let key = key.get();
                let key = match &key.expanded {
                    Some(expanded) => AnySignWith::Expanded(expanded),
                    None => AnySignWith::Compact(&key.key),
                };
                let input = (&**data, self::context(context.as_ref())?).into();
                Ok(AnySignJob { key, input })
            });
            let jobs = jobs.collect::<PyResult<Vec<_>>>()?;
            let outcomes = py.detach(|| {
                let sign = |sign: fn(&[AnySignJob<'_>], SignOptions<'_>) -> _| match deterministic {
                    true => sign(&jobs, SignOptions::deterministic()),
                    false => sign(&jobs, SignOptions::hedged(&mut SysRng)),
                };
                match &pool {
                    None => sign(batch::sign),
                    Some(pool) => pool.install(|| sign(parallel::sign)),
                }
            });
            for signature in outcomes.map_err(exception)? {
                let signature = signature.map_err(exception)?;
                let signature: &[u8] = signature.as_ref();
                signatures.append(PyBytes::new_with(py, signature.len(), |bytes| {
                    bytes.copy_from_slice(signature);
                    Ok(())
                })?)?;
            }
            Ok(())
        },
    )?;
    Ok(signatures)
}

/// Verify every job `(public_key, signature, data)` or `(public_key, signature, data, context)` and return
/// for each, in order, whether its signature is valid.
///
/// Keys may be of several parameter sets. A signature of a wrong length is invalid. `threads`: how many work,
/// 0 for one per core. TypeError, ValueError (a context of more than 255 bytes): a job is wrong, and none is
/// verified.
#[pyfunction]
#[pyo3(signature = (jobs, *, threads=1))]
pub fn verify_batch<'py>(
    py: Python<'py>,
    jobs: &Bound<'py, PyAny>,
    threads: usize,
) -> PyResult<Bound<'py, PyList>> {
    type Job<'py> = (
        Bound<'py, PublicKey>,
        Data<'py, SignatureBytes>,
        Data<'py, Message>,
        JobContext<'py>,
    );
    let form = "(public_key, signature, data) or (public_key, signature, data, context)";
    let jobs = read_jobs(jobs, form, 3..=4, |job| {
        let (key, signature, data, context): Job<'py> = match job.len() {
            3 => {
                let (key, signature, data) = job.extract()?;
                (key, signature, data, None)
            }
            _ => job.extract()?,
        };
        Ok((key, signature, data, context))
    })?;
    check_contexts(jobs.iter().map(|job| &job.3))?;
    let pool = pool(threads)?;
    let valid = PyList::empty(py);
    in_chunks(
        py,
        jobs.len(),
        &pool,
        |n| {
            let (key, signature, data, _) = &jobs[n];
            let is_well_formed = signature.len() == key.get().key.set().signature_bytes();
            if is_well_formed { cost(data) } else { 0.001 }
        },
        |chunk| {
            let jobs = &jobs[chunk];
            // None where the length is wrong: such a signature is invalid.
            let signatures = jobs.iter().map(|(key, signature, ..)| {
                AnySignature::from_bytes(key.get().key.set(), signature).ok()
            });
            let signatures: Vec<_> = signatures.collect();
            let well_formed = jobs.iter().zip(&signatures).filter_map(|(job, signature)| {
                let (key, _, data, context) = job;
                let signature = signature.as_ref()?;
                let key = key.get();
                let key = match &key.expanded {
                    Some(expanded) => AnyVerifyWith::Expanded(expanded),
                    None => AnyVerifyWith::Compact(&key.key),
                };
                let job = |context| AnyVerifyJob {
                    key,
                    input: (&**data, context).into(),
                    signature,
                };
                Some(self::context(context.as_ref()).map(job))
            });
            let well_formed = well_formed.collect::<PyResult<Vec<_>>>()?;
            let outcomes = py.detach(|| match &pool {
                None => batch::verify(&well_formed),
                Some(pool) => pool.install(|| parallel::verify(&well_formed)),
            });
            let mut outcomes = outcomes.iter().map(Result::is_ok);
            for signature in &signatures {
                valid.append(signature.is_some() && outcomes.next() == Some(true))?;
            }
            Ok(())
        },
    )?;
    Ok(valid)
}

/// Make `count` private keys of a set from the operating system's randomness, each `wrapped` for Python.
pub fn generate<'py, T: PyTypeInfo>(
    py: Python<'py>,
    set: Set,
    count: usize,
    threads: usize,
    wrap: impl Fn(PrivateKey) -> PyResult<Bound<'py, T>>,
) -> PyResult<Bound<'py, PyList>> {
    // Check the memory for all keys first: a later chunk would fail late, or an infallible allocation would abort.
    let key_bytes = set.signing_key_bytes() + set.verifying_key_bytes() + KEY_OVERHEAD;
    let mut room: Vec<u8> = Vec::new();
    room.try_reserve_exact(count.saturating_mul(key_bytes))
        .map_err(|_| PyMemoryError::new_err(format!("no memory for {count} keys")))?;
    // Without this the compiler may leave the allocation out.
    drop(black_box(room));
    let pool = pool(threads)?;
    let keys = PyList::empty(py);
    in_chunks(
        py,
        count,
        &pool,
        |_| 1.0,
        |chunk| {
            let generated = py.detach(|| match &pool {
                None => batch::generate(set, chunk.len(), &mut SysRng),
                Some(pool) => pool.install(|| parallel::generate(set, chunk.len(), &mut SysRng)),
            });
            for key in generated.map_err(exception)? {
                keys.append(wrap(key.into())?)?;
            }
            Ok(())
        },
    )?;
    Ok(keys)
}

/// Bytes of a key in Python beyond its two encodings, at most.
const KEY_OVERHEAD: usize = 512;

/// The jobs of an iterable, tuples of certain `lengths`, each by `read`.
///
/// A TypeError names the job's number and the `form` of a job. Other errors are those of the caller's objects or
/// of Python, and pass with the number as a note.
fn read_jobs<'py, T>(
    jobs: &Bound<'py, PyAny>,
    form: &str,
    lengths: RangeInclusive<usize>,
    read: impl Fn(&Bound<'py, PyTuple>) -> PyResult<T>,
) -> PyResult<Vec<T>> {
    let py = jobs.py();
    let mut read_jobs = Vec::new();
    for (number, job) in jobs.try_iter()?.enumerate() {
        if number % CHUNK_JOBS == 0 {
            py.check_signals()?;
        }
        let job = job?;
        let job = job.cast::<PyTuple>().map_err(PyErr::from);
        let job = job.and_then(|job| match lengths.contains(&job.len()) {
            true => read(job),
            false => Err(PyTypeError::new_err(format!("it has {} items", job.len()))),
        });
        let job = job.map_err(|error| job_error(py, number, form, error))?;
        if read_jobs.try_reserve(1).is_err() {
            let text = format!("no memory for more than {number} jobs");
            return Err(PyMemoryError::new_err(text));
        }
        read_jobs.push(job);
    }
    Ok(read_jobs)
}

/// The error of a job that could not be read.
fn job_error(py: Python<'_>, number: usize, form: &str, error: PyErr) -> PyErr {
    let text = error.value(py);
    if error.is_instance_of::<PyTypeError>(py) {
        let described = PyTypeError::new_err(format!("job {number} must be {form}: {text}"));
        described.set_cause(py, Some(error));
        return described;
    }
    // PEP 678; Python 3.10 has no notes.
    let _ = text.call_method1("add_note", (format!("in job {number}"),));
    error
}

/// Refuses a context that is too long, with its job's number.
fn check_contexts<'a, 'py: 'a>(
    contexts: impl Iterator<Item = &'a JobContext<'py>>,
) -> PyResult<()> {
    for (number, context) in contexts.enumerate() {
        self::context(context.as_ref())
            .map_err(|error| PyValueError::new_err(format!("job {number}: {error}")))?;
    }
    Ok(())
}

/// A chunk ends after about this time, so that a batch acts on Ctrl-C.
const CHUNK_TIME: Duration = Duration::from_millis(150);
/// Jobs of the first chunk for each thread. Fewer would leave lanes of the CPU idle at its end.
const CHUNK_JOBS: usize = 128;
/// About as much of a message takes as long to hash as the rest of a job.
const JOB_BYTES: usize = 1 << 15;

/// The cost of a job, in signatures or verifications of a short message.
fn cost(message: &[u8]) -> f64 {
    1.0 + message.len() as f64 / JOB_BYTES as f64
}

/// Calls `run` with one range of the `count` jobs after another, and acts on signals in between.
fn in_chunks(
    py: Python<'_>,
    count: usize,
    pool: &Option<Arc<ThreadPool>>,
    cost: impl Fn(usize) -> f64,
    mut run: impl FnMut(Range<usize>) -> PyResult<()>,
) -> PyResult<()> {
    let threads = pool.as_ref().map_or(1, |pool| pool.current_num_threads());
    let mut limit = (CHUNK_JOBS * threads) as f64;
    let mut start = 0;
    while start < count {
        let (mut end, mut sum) = (start, 0.0);
        while end < count && sum < limit {
            sum += cost(end);
            end += 1;
        }
        let clock = Instant::now();
        run(start..end)?;
        py.check_signals()?;
        let rate = sum / clock.elapsed().as_secs_f64().max(1e-6);
        // At most halved: a chunk may have been slow because of other programs.
        limit = (rate * CHUNK_TIME.as_secs_f64()).clamp(limit / 2.0, limit * 16.0);
        start = end;
    }
    Ok(())
}

/// The pool of the last batch in threads. Used only with the GIL, so it is unlocked in a forked child.
static POOL: Mutex<Option<Pool>> = Mutex::new(None);

struct Pool {
    /// `fork::count` of its process.
    forks: u64,
    threads: Arc<ThreadPool>,
}
const MOST_THREADS: usize = 1024;

/// The pool with so many threads; none for one thread, which is the caller's. A pool of another number is ended
/// when its batches are.
fn pool(threads: usize) -> PyResult<Option<Arc<ThreadPool>>> {
    if threads > MOST_THREADS {
        let text = format!("threads must be at most {MOST_THREADS}, is {threads}");
        return Err(PyValueError::new_err(text));
    }
    let threads = match threads {
        0 => available_parallelism().map_or(1, usize::from),
        given => given,
    };
    if threads == 1 {
        return Ok(None);
    }
    let mut last = POOL.lock().unwrap_or_else(PoisonError::into_inner);
    match last.take() {
        // Its threads are not in this process, and to end them would take their locks.
        Some(pool) if pool.forks != fork::count() => mem::forget(pool),
        Some(pool) if pool.threads.current_num_threads() == threads => {
            return Ok(Some(last.insert(pool).threads.clone()));
        }
        _ => {}
    }
    let pool = ThreadPoolBuilder::new().num_threads(threads).build();
    let pool = Arc::new(pool.map_err(|error| {
        let text = format!("cannot start {threads} threads ({error}); use threads=1");
        PyRuntimeError::new_err(text)
    })?);
    *last = Some(Pool {
        forks: fork::count(),
        threads: pool.clone(),
    });
    Ok(Some(pool))
}
