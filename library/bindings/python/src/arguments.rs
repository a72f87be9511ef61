//! Arguments: bytes, contexts and hash functions.

use std::marker::PhantomData;
use std::ops::Deref;

use mldsa_lanes::{Context, Error, Input, PreHash};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyMemoryView};

use crate::exception;

/// The name of an argument in errors.
pub trait Name {
    const NAME: &'static str;
}

macro_rules! names {
    ($($name:ident $text:literal)*) => { $(
        pub enum $name {}

        impl Name for $name {
            const NAME: &'static str = $text;
        }
    )* };
}
names! {
    Anything "data"
    Message "message"
    ContextBytes "context"
    SignatureBytes "signature"
    MuBytes "mu"
    Password "password"
    Seed "seed"
    PrivateKeyBytes "private key"
    PublicKeyBytes "public key"
}

/// A bytes-like argument. `bytes` are borrowed, since they cannot change. Any other buffer is copied once: its
/// owner can write to it while the GIL is released. The copy also makes it contiguous.
pub struct Data<'py, N: Name = Anything>(Bound<'py, PyBytes>, PhantomData<N>);

impl<'py, N: Name> FromPyObject<'_, 'py> for Data<'py, N> {
    type Error = PyErr;

    fn extract(argument: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        if let Ok(bytes) = argument.cast::<PyBytes>() {
            return Ok(Data(bytes.to_owned(), PhantomData));
        }
        let py = argument.py();
        let view = PyMemoryView::from(&argument).map_err(|error| {
            if !error.is_instance_of::<PyTypeError>(py) {
                return error;
            }
            let kind = argument.get_type().name();
            let kind = kind.map_or_else(|_| "this type".into(), |kind| kind.to_string());
            PyTypeError::new_err(format!("{} must be bytes-like, not {kind}", N::NAME))
        })?;
        Ok(Data(
            view.call_method0("tobytes")?.cast_into()?,
            PhantomData,
        ))
    }
}

impl<N: Name> Deref for Data<'_, N> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.0.as_bytes()
    }
}

impl<N: Name> Data<'_, N> {
    /// The bytes, of which there must be `LENGTH`.
    pub fn exactly<const LENGTH: usize>(&self) -> PyResult<&[u8; LENGTH]> {
        let bytes: &[u8] = self;
        bytes.try_into().map_err(|_| {
            let (name, actual) = (N::NAME, bytes.len());
            PyValueError::new_err(format!("{name} of {actual} bytes; it must have {LENGTH}"))
        })
    }
}

/// The context; `None` is the empty one.
pub fn context<'a>(context: Option<&'a Data<'_, ContextBytes>>) -> PyResult<Context<'a>> {
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
