//! The module `mldsa_lanes._native`. It converts arguments and results; all cryptography is in the crate
//! mldsa-lanes. The names are those of `cryptography.hazmat.primitives.asymmetric.mldsa`.

mod arguments;
mod batch;
mod fork;
mod keys;
mod mu;
mod serialization;
#[cfg(feature = "timing")]
mod timing;

use std::sync::atomic::{AtomicI64, Ordering};

use mldsa_lanes::{Backend, Error};
use pyo3::exceptions::{PyImportError, PyMemoryError, PyOSError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::{ffi, import_exception};

// In Python, since their bases are those of `cryptography` where that is installed.
import_exception!(mldsa_lanes._exceptions, InvalidSignature);
import_exception!(mldsa_lanes._exceptions, AlreadyFinalized);

/// The Python exception of an error of the library.
fn exception(error: Error) -> PyErr {
    let text = error.to_string();
    match error {
        Error::InvalidSignature | Error::SignatureLength { .. } => InvalidSignature::new_err(text),
        Error::Rng => PyOSError::new_err(text),
        Error::OutOfMemory => PyMemoryError::new_err(text),
        Error::TooManyAttempts { .. } => PyRuntimeError::new_err(text),
        _ => PyValueError::new_err(text),
    }
}

/// Return the name of the backend of new keys, for example `avx2`.
///
/// The environment variable MLDSA_LANES_BACKEND chooses another one before the import.
#[pyfunction]
fn backend() -> &'static str {
    Backend::detect().name()
}

/// Classes are kept in static variables, which belong to the first interpreter that imports the module.
/// CPython 3.12 and newer refuses isolated interpreters by itself; others are refused here.
#[allow(unsafe_code)]
fn refuse_subinterpreters(_attached: Python<'_>) -> PyResult<()> {
    static FIRST: AtomicI64 = AtomicI64::new(-1);
    // SAFETY: this thread is attached to an interpreter, whose state is never null.
    let current = unsafe { ffi::PyInterpreterState_GetID(ffi::PyInterpreterState_Get()) };
    match FIRST.compare_exchange(-1, current, Ordering::SeqCst, Ordering::SeqCst) {
        Err(first) if first != current => Err(PyImportError::new_err(
            "module mldsa_lanes does not support loading in subinterpreters",
        )),
        _ => Ok(()),
    }
}

#[pymodule]
mod _native {
    use super::*;

    #[pymodule_export]
    use super::backend;
    #[pymodule_export]
    use super::batch::{sign_batch, verify_batch};
    #[pymodule_export]
    use super::keys::{
        MLDSA44PrivateKey, MLDSA44PublicKey, MLDSA65PrivateKey, MLDSA65PublicKey,
        MLDSA87PrivateKey, MLDSA87PublicKey, PrivateKey, PublicKey,
    };
    #[pymodule_export]
    use super::mu::MLDSAMuHasher;
    #[pymodule_export]
    use super::serialization::{
        load_der_private_key, load_der_public_key, load_pem_private_key, load_pem_public_key,
    };

    #[cfg(feature = "timing")]
    #[pymodule_export]
    use super::timing::{time_sign, time_verify};

    #[pymodule_export]
    #[allow(non_upper_case_globals)]
    const __version__: &str = env!("CARGO_PKG_VERSION");

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        let py = module.py();
        refuse_subinterpreters(py)?;
        fork::watch()?;
        // Looked up now: a process that is sandboxed later could not.
        py.get_type::<InvalidSignature>();
        py.get_type::<AlreadyFinalized>();
        Backend::use_environment().map_err(|error| PyImportError::new_err(error.to_string()))?;
        Ok(())
    }
}
