//! The order that a peer's transform leaves its coefficients in.

use mldsa_lanes::internals::{Poly, coefficients, coefficients_mut, poly};

use crate::data::N;

/// The order of coefficients of a peer's transform.
#[derive(Clone)]
pub struct Order(Vec<usize>);

impl Order {
    /// Of a peer that brings a transform from FIPS 204's order to its own by `unpack`.
    pub fn of(unpack: impl Fn(&mut Poly)) -> Self {
        let mut numbers = poly(core::array::from_fn(|i| i as i32));
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
