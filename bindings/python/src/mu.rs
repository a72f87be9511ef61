//! mu of a message that arrives in pieces.

use std::sync::{Mutex, MutexGuard, PoisonError};

use mldsa_lanes::MuHasher;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::arguments::{ContextBytes, Data, HashName, Message, context};
use crate::keys::PublicKey;
use crate::{AlreadyFinalized, exception};

/// Compute mu, the message representative (FIPS 204, Algorithm 7, step 6), of a message in pieces.
///
/// `PrivateKey.sign_mu` and `PublicKey.verify_mu` take it. It belongs to `public_key` alone. With `prehash`
/// it is the mu of HashML-DSA (Algorithm 4). ValueError: the context has more than 255 bytes, or the hash
/// function is weaker than the parameter set.
#[pyclass(module = "mldsa_lanes", frozen)]
pub struct MLDSAMuHasher(Mutex<Option<MuHasher>>);

impl MLDSAMuHasher {
    fn state(&self) -> MutexGuard<'_, Option<MuHasher>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
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
        Ok(MLDSAMuHasher(Mutex::new(Some(hasher))))
    }

    /// Append `data` to the message. AlreadyFinalized: `finalize` was called.
    fn update(&self, py: Python<'_>, data: Data<'_, Message>) -> PyResult<()> {
        let data: &[u8] = &data;
        // The lock is never held while a thread waits for the GIL.
        let known = py.detach(|| self.state().as_mut().map(|hasher| hasher.update(data)));
        known.ok_or_else(finalized)
    }

    /// Return an independent hasher with the same state. AlreadyFinalized: `finalize` was called.
    fn copy(&self, py: Python<'_>) -> PyResult<Self> {
        let hasher = py.detach(|| self.state().clone());
        Ok(MLDSAMuHasher(Mutex::new(Some(
            hasher.ok_or_else(finalized)?,
        ))))
    }

    /// Return mu, 64 bytes, and end the hasher. AlreadyFinalized: it was called before.
    fn finalize<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let hasher = py.detach(|| self.state().take());
        let mu = hasher.ok_or_else(finalized)?.finish();
        Ok(PyBytes::new(py, mu.as_bytes()))
    }
}
