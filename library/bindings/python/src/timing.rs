//! The library's own time, for `overhead.py`: with the feature `timing` alone, which no released wheel has.

use std::hint::black_box;
use std::time::Instant;

use mldsa_lanes::any::AnySignature;
use pyo3::prelude::*;

use crate::arguments::Data;
use crate::exception;
use crate::keys::{PrivateKey, PublicKey};

/// Nanoseconds that `calls` deterministic signatures take.
#[pyfunction]
pub fn time_sign(key: &Bound<'_, PrivateKey>, data: Data<'_>, calls: u32) -> PyResult<u128> {
    let (key, data): (_, &[u8]) = (&key.get().key, &data);
    let start = Instant::now();
    for _ in 0..calls {
        black_box(key.sign_deterministic(black_box(data)).map_err(exception)?);
    }
    Ok(start.elapsed().as_nanos())
}

/// Nanoseconds that `calls` verifications take, reading the signature's bytes included.
#[pyfunction]
pub fn time_verify(
    key: &Bound<'_, PublicKey>,
    signature: Data<'_>,
    data: Data<'_>,
    calls: u32,
) -> PyResult<u128> {
    let (key, data): (_, &[u8]) = (&key.get().key, &data);
    let start = Instant::now();
    for _ in 0..calls {
        let signature = AnySignature::from_bytes(key.set(), black_box(&signature));
        let verified =
            signature.and_then(|signature| key.verify_signature(black_box(data), &signature));
        verified.map_err(exception)?;
    }
    Ok(start.elapsed().as_nanos())
}
