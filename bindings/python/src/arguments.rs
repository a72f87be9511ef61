//! Arguments: bytes, contexts and hash functions.

use std::ops::Deref;

use mldsa_lanes::{Context, Input, PreHash};
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

const HASHES: [(&str, PreHash); 12] = [
    ("SHA2-224", PreHash::Sha2_224),
    ("SHA2-256", PreHash::Sha2_256),
    ("SHA2-384", PreHash::Sha2_384),
    ("SHA2-512", PreHash::Sha2_512),
    ("SHA2-512/224", PreHash::Sha2_512_224),
    ("SHA2-512/256", PreHash::Sha2_512_256),
    ("SHA3-224", PreHash::Sha3_224),
    ("SHA3-256", PreHash::Sha3_256),
    ("SHA3-384", PreHash::Sha3_384),
    ("SHA3-512", PreHash::Sha3_512),
    ("SHAKE-128", PreHash::Shake128),
    ("SHAKE-256", PreHash::Shake256),
];

impl FromPyObject<'_, '_> for HashName {
    type Error = PyErr;

    fn extract(argument: Borrowed<'_, '_, PyAny>) -> PyResult<Self> {
        let name: &str = &argument.extract::<String>()?;
        let known = HASHES.iter().find(|(known, _)| *known == name);
        known.map(|(_, hash)| HashName(*hash)).ok_or_else(|| {
            let names = HASHES.map(|(known, _)| known).join(", ");
            PyValueError::new_err(format!("unknown hash function {name:?}; known are {names}"))
        })
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
