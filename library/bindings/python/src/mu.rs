//! mu of a message that arrives in pieces.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use mldsa_lanes::MuHasher;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::arguments::{ContextBytes, Data, HashName, Message, context};
use crate::keys::PublicKey;
use crate::{AlreadyFinalized, exception, fork};

/// Compute mu, the message representative (FIPS 204, Algorithm 7, step 6), of a message in pieces.
///
/// `PrivateKey.sign_mu` and `PublicKey.verify_mu` take it. It belongs to `public_key` alone. With `prehash`
/// it is the mu of HashML-DSA (Algorithm 4). After `os.fork` the child's hasher has all pieces whose `update`
/// had returned. ValueError: the context has more than 255 bytes, or the hash function is weaker than the
/// parameter set.
#[pyclass(module = "mldsa_lanes", frozen)]
pub struct MLDSAMuHasher(Mutex<State>);

/// Fewer bytes are hashed with the GIL: that takes a few microseconds.
const DETACHED_BYTES: usize = 2048;

/// Locked only by threads that have the GIL, so it is unlocked in a forked child.
struct State {
    /// None after `finalize`.
    hasher: Option<MuHasher>,
    update: Option<Update>,
}

/// An `update` that hashes without the GIL.
struct Update {
    /// `fork::count` of its process.
    forks: u64,
    /// Locked until it ends.
    end: Arc<Mutex<()>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl MLDSAMuHasher {
    fn with(hasher: MuHasher) -> Self {
        MLDSAMuHasher(Mutex::new(State {
            hasher: Some(hasher),
            update: None,
        }))
    }

    /// The state, once no other thread updates it. An update that a fork interrupted has changed nothing.
    fn state(&self, py: Python<'_>) -> MutexGuard<'_, State> {
        loop {
            let state = lock(&self.0);
            let end = match &state.update {
                Some(update) if update.forks == fork::count() => update.end.clone(),
                _ => return state,
            };
            drop(state);
            py.detach(|| drop(lock(&end)));
        }
    }
}

fn finalized() -> PyErr {
    AlreadyFinalized::new_err("the hasher has been finalized; make a new one")
}

#[pymethods]
impl MLDSAMuHasher {
    #[new]
    #[pyo3(signature = (public_key, context=None, *, prehash=None))]
    fn new(
        public_key: &Bound<'_, PublicKey>,
        context: Option<Data<'_, ContextBytes>>,
        prehash: Option<HashName>,
    ) -> PyResult<Self> {
        let key = &public_key.get().key;
        let context = self::context(context.as_ref())?;
        let hasher = match prehash {
            None => key.mu_hasher(context),
            Some(HashName(hash)) => key.prehash_mu_hasher(hash, context).map_err(exception)?,
        };
        Ok(MLDSAMuHasher::with(hasher))
    }

    /// Append `data` to the message. AlreadyFinalized: `finalize` was called.
    fn update(&self, py: Python<'_>, data: Data<'_, Message>) -> PyResult<()> {
        let data: &[u8] = &data;
        let mut state = self.state(py);
        let hasher = state.hasher.as_mut().ok_or_else(finalized)?;
        if data.len() < DETACHED_BYTES {
            hasher.update(data);
            return Ok(());
        }
        // A copy: a child that is forked meanwhile has the state before.
        let mut hasher = hasher.clone();
        let end = Arc::new(Mutex::new(()));
        let ended = lock(&end);
        state.update = Some(Update {
            forks: fork::count(),
            end: end.clone(),
        });
        drop(state);
        py.detach(|| hasher.update(data));
        *lock(&self.0) = State {
            hasher: Some(hasher),
            update: None,
        };
        drop(ended);
        Ok(())
    }

    /// Return an independent hasher with the same state. AlreadyFinalized: `finalize` was called.
    fn copy(&self, py: Python<'_>) -> PyResult<Self> {
        let hasher = self.state(py).hasher.clone();
        Ok(MLDSAMuHasher::with(hasher.ok_or_else(finalized)?))
    }

    /// Return mu, 64 bytes, and end the hasher. AlreadyFinalized: it was called before.
    fn finalize<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let hasher = self.state(py).hasher.take();
        let mu = hasher.ok_or_else(finalized)?.finish();
        Ok(PyBytes::new(py, mu.as_bytes()))
    }
}
