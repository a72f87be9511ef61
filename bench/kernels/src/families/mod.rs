//! The kernels, each with all its implementations.
//!
//! Where a peer's kernel leaves out a step that ours has in it (or has it as a kernel of its own), the
//! peer's step is called along, so that all do the same work. Conversions between representations
//! happen before and after, never in a timed call.

mod arithmetic;
pub mod hashing;
mod packing;
mod rounding;
mod sampling;

use mldsa_lanes::internals::{Poly, coefficients, coefficients_mut};

use crate::case::Kernels;
use crate::data::N;

/// Adds every kernel that `kernels` was made for.
pub fn collect(kernels: &mut Kernels) {
    arithmetic::collect(kernels);
    rounding::collect(kernels);
    packing::collect(kernels);
    sampling::collect(kernels);
    hashing::collect(kernels);
}

/// The order of coefficients of a peer's transform.
#[derive(Clone)]
pub struct Order(Vec<usize>);

impl Order {
    /// Of a peer that brings a transform from FIPS 204's order to its own by `unpack`.
    pub fn of(unpack: impl Fn(&mut Poly)) -> Self {
        let mut numbers = mldsa_lanes::internals::poly(core::array::from_fn(|i| i as i32));
        unpack(&mut numbers);
        Order(coefficients(&numbers).iter().map(|i| *i as usize).collect())
    }

    /// From FIPS 204's order.
    pub fn to_peer(&self, p: &Poly) -> Poly {
        let mut out = *p;
        for i in 0..N {
            coefficients_mut(&mut out)[i] = coefficients(p)[self.0[i]];
        }
        out
    }

    /// To FIPS 204's order.
    pub fn to_standard(&self, p: &Poly) -> Poly {
        let mut out = *p;
        for i in 0..N {
            coefficients_mut(&mut out)[self.0[i]] = coefficients(p)[i];
        }
        out
    }
}
