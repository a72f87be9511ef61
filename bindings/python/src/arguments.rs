//! Arguments: bytes, contexts and hash functions.

use std::ops::Deref;

use mldsa_lanes::{Context, Error, Input, PreHash};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyMemoryView};

use crate::exception;

/// A bytes-like argument. `bytes` are borrowed, since they cannot change. Any other buffer is copied once: its
/// owner can write to it while the GIL is released. The copy also makes it contiguous.
pub struct Data<'py>(Bound<'py, PyBytes>);

impl<'py> FromPyObject<'_, 'py> for Data<'py> {
    type Error = PyErr;

    fn extract(argument: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        if let Ok(bytes) = argument.cast::<PyBytes>() {
            return Ok(Data(bytes.to_owned()));
        }
        let view = PyMemoryView::from(&argument)?;
        Ok(Data(view.call_method0("tobytes")?.cast_into()?))
    }
}

impl Deref for Data<'_> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.0.as_bytes()
    }
}

impl Data<'_> {
    /// The bytes, of which there must be `N`.
    pub fn exactly<const N: usize>(&self, name: &str) -> PyResult<&[u8; N]> {
        let bytes: &[u8] = self;
        bytes.try_into().map_err(|_| {
            let actual = bytes.len();
            PyValueError::new_err(format!("{name} of {actual} bytes; it must have {N}"))
        })
    }
}

/// The context; `None` is the empty one.
pub fn context<'a>(context: Option<&'a Data<'_>>) -> PyResult<Context<'a>> {
    Context::new(context.map_or(&[], |context| context)).map_err(exception)
}

/// A hash function of HashML-DSA, by its name.
#[derive(Clone, Copy)]
pub struct HashName(pub PreHash);

impl FromPyObject<'_, '_> for HashName {
    type Error = PyErr;

    fn extract(argument: Borrowed<'_, '_, PyAny>) -> PyResult<Self> {
        let name = argument.extract::<String>()?;
        let hash = name
            .parse()
            .map_err(|error: Error| PyValueError::new_err(format!("prehash {name:?}: {error}")))?;
        Ok(HashName(hash))
    }
}

/// What is signed or verified.
pub fn input<'a>(
    data: &'a [u8],
    context: Context<'a>,
    prehash: Option<HashName>,
    is_digest: bool,
) -> PyResult<Input<'a>> {
    match (prehash, is_digest) {
        (None, false) => Ok((data, context).into()),
        (None, true) => Err(PyValueError::new_err(
            "is_digest needs prehash, the hash function",
        )),
        (Some(HashName(hash)), false) => Ok(Input::PreHash {
            hash,
            message: data,
            context,
        }),
        (Some(HashName(hash)), true) => Ok(Input::Digest {
            hash,
            digest: data,
            context,
        }),
    }
}
