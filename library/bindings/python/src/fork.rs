//! Forks. A child has none of its parent's other threads, and what these held stays locked in the child.

use std::sync::atomic::{AtomicU64, Ordering};

use pyo3::PyResult;

static FORKS: AtomicU64 = AtomicU64::new(0);

/// The number of forks from the process that imported the module to this one. Unlike a process's number, it
/// differs from that of every ancestor.
pub fn count() -> u64 {
    FORKS.load(Ordering::Relaxed)
}

/// Counts the forks from now on. `os.register_at_fork` would miss the forks of other languages, and its hooks
/// run after those of other modules.
#[cfg(unix)]
#[allow(unsafe_code)]
pub fn watch() -> PyResult<()> {
    extern "C" fn count_fork() {
        FORKS.fetch_add(1, Ordering::Relaxed);
    }
    // SAFETY: the handler takes nothing and adds to an atomic number, which a handler may do in every state of
    // the process. CPython never unloads the module that has it.
    match unsafe { libc::pthread_atfork(None, None, Some(count_fork)) } {
        0 => Ok(()),
        error => Err(std::io::Error::from_raw_os_error(error).into()),
    }
}

/// Other systems have no `fork`.
#[cfg(not(unix))]
pub fn watch() -> PyResult<()> {
    Ok(())
}
