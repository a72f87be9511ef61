//! Many jobs in one call.

use std::process;
use std::sync::{Mutex, PoisonError};
use std::thread::available_parallelism;

use mldsa_lanes::any::batch::{
    self, AnySignJob, AnySignWith, AnyVerifyJob, AnyVerifyWith, parallel,
};
use mldsa_lanes::any::{AnySignature, Set};
use mldsa_lanes::{SignOptions, SysRng};
use pyo3::exceptions::{PyRuntimeError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};
use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::arguments::{ContextBytes, Data, Message, SignatureBytes, context};
use crate::exception;
use crate::keys::{PrivateKey, PublicKey};

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
) -> PyResult<Vec<Bound<'py, PyBytes>>> {
    let taken = take(
        jobs,
        "(private_key, data) or (private_key, data, context)",
        |job| {
            Ok(match job.len() {
                2 => {
                    let (key, data): (Bound<'py, PrivateKey>, Data<'py, Message>) =
                        job.extract()?;
                    (key, data, None::<Data<'py, ContextBytes>>)
                }
                _ => job.extract()?,
            })
        },
    )?;
    let jobs = each(&taken, |(key, data, context)| {
        let key = key.get();
        let key = match &key.expanded {
            Some(expanded) => AnySignWith::Expanded(expanded),
            None => AnySignWith::Compact(&key.key),
        };
        let context = self::context(context.as_ref())?;
        Ok(AnySignJob {
            key,
            input: (&**data, context).into(),
        })
    })?;
    let pool = pool(threads)?;
    let outcomes = py.detach(|| {
        let sign = |sign: fn(&[AnySignJob<'_>], SignOptions<'_>) -> _| match deterministic {
            true => sign(&jobs, SignOptions::deterministic()),
            false => sign(&jobs, SignOptions::hedged(&mut SysRng)),
        };
        match pool {
            None => sign(batch::sign),
            Some(pool) => pool.install(|| sign(parallel::sign)),
        }
    });
    let outcomes = outcomes.map_err(exception)?.into_iter();
    outcomes
        .map(|signature| Ok(PyBytes::new(py, signature.map_err(exception)?.as_ref())))
        .collect()
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
) -> PyResult<Vec<bool>> {
    let form = "(public_key, signature, data) or (public_key, signature, data, context)";
    let taken = take(jobs, form, |job| {
        Ok(match job.len() {
            3 => {
                let (key, signature, data): (
                    Bound<'py, PublicKey>,
                    Data<'py, SignatureBytes>,
                    Data<'py, Message>,
                ) = job.extract()?;
                (key, signature, data, None::<Data<'py, ContextBytes>>)
            }
            _ => job.extract()?,
        })
    })?;
    // A signature of a wrong length is told apart from all others by its job's missing place.
    let signatures: Vec<_> = taken
        .iter()
        .map(|(key, signature, ..)| AnySignature::from_bytes(key.get().key.set(), signature).ok())
        .collect();
    let jobs = each(&taken, |job| Ok((job, self::context(job.3.as_ref())?)))?;
    let known =
        jobs.into_iter()
            .zip(&signatures)
            .filter_map(|(((key, _, data, _), context), of)| {
                let key = key.get();
                let with = match &key.expanded {
                    Some(expanded) => AnyVerifyWith::Expanded(expanded),
                    None => AnyVerifyWith::Compact(&key.key),
                };
                let input = (&**data, context).into();
                of.as_ref().map(|signature| AnyVerifyJob {
                    key: with,
                    input,
                    signature,
                })
            });
    let known: Vec<_> = known.collect();
    let pool = pool(threads)?;
    let outcomes = py.detach(|| match pool {
        None => batch::verify(&known),
        Some(pool) => pool.install(|| parallel::verify(&known)),
    });
    let mut outcomes = outcomes.iter().map(Result::is_ok);
    let valid = signatures
        .iter()
        .map(|of| of.is_some() && outcomes.next() == Some(true));
    Ok(valid.collect())
}

/// Make `count` private keys of a set from the operating system's randomness.
pub fn generate(
    py: Python<'_>,
    set: Set,
    count: usize,
    threads: usize,
) -> PyResult<Vec<PrivateKey>> {
    let pool = pool(threads)?;
    let keys = py.detach(|| match pool {
        None => batch::generate(set, count, &mut SysRng),
        Some(pool) => pool.install(|| parallel::generate(set, count, &mut SysRng)),
    });
    Ok(keys
        .map_err(exception)?
        .into_iter()
        .map(PrivateKey::from)
        .collect())
}

/// The jobs of an iterable, each by `read`. An error names the job's number.
fn take<'py, T>(
    jobs: &Bound<'py, PyAny>,
    form: &str,
    read: impl Fn(&Bound<'py, PyTuple>) -> PyResult<T>,
) -> PyResult<Vec<T>> {
    let jobs = jobs.try_iter()?.enumerate();
    jobs.map(|(number, job)| {
        let job = job?;
        let read = job.cast::<PyTuple>().map_err(PyErr::from).and_then(&read);
        read.map_err(|error| {
            let text = format!("job {number} must be {form}: {}", error.value(job.py()));
            PyTypeError::new_err(text)
        })
    })
    .collect()
}

/// What `make` makes of each job. An error names the job's number.
fn each<'a, T, U>(jobs: &'a [T], make: impl Fn(&'a T) -> PyResult<U>) -> PyResult<Vec<U>> {
    let numbered = jobs.iter().enumerate();
    numbered
        .map(|(number, job)| {
            make(job).map_err(|error| PyValueError::new_err(format!("job {number}: {error}")))
        })
        .collect()
}

/// Pools by process and number of threads. A pool stays for good: a child of `fork` has none of its
/// parent's threads and must not end them.
static POOLS: Mutex<Vec<(u32, usize, &'static ThreadPool)>> = Mutex::new(Vec::new());
const MOST_THREADS: usize = 1024;

/// The pool with so many threads; none for one thread, which is the caller's.
fn pool(threads: usize) -> PyResult<Option<&'static ThreadPool>> {
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
    // Under the GIL, so that no other thread forks meanwhile.
    let mut pools = POOLS.lock().unwrap_or_else(PoisonError::into_inner);
    let process = process::id();
    if let Some((.., pool)) = pools
        .iter()
        .find(|(of, n, _)| (*of, *n) == (process, threads))
    {
        return Ok(Some(pool));
    }
    let pool = ThreadPoolBuilder::new().num_threads(threads).build();
    let pool = pool.map_err(|error| PyRuntimeError::new_err(error.to_string()))?;
    let pool: &'static ThreadPool = Box::leak(Box::new(pool));
    pools.push((process, threads, pool));
    Ok(Some(pool))
}
