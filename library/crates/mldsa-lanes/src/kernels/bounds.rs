//! The ranges of coefficients that kernels take and give, which `backend/engine.rs` states in each
//! method of an engine. Asserted there in debug builds; `tests/intervals.rs` shows that they suffice.

use super::poly::Poly;
use super::small::SmallPoly;
pub(crate) use crate::params::{D, Q};
use crate::params::{N, Parameters};

/// The numbers from the first to the second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range(pub i32, pub i32);

/// |x| ≤ `most`.
pub const fn within(most: i32) -> Range {
    Range(-most, most)
}

/// |x| < `bound`.
pub const fn below(bound: i32) -> Range {
    within(bound - 1)
}

/// Results of `rounding::reduce` for numbers in [-2q, 2q], small mod q or not.
pub(crate) const REDUCED: Range = within((1 << 22) + (1 << 14));

/// High bits.
pub const fn high<P: Parameters>() -> Range {
    Range(0, (Q - 1) / (2 * P::GAMMA2) - 1)
}

/// Whatever ranges are stated of.
pub trait Coefficients {
    fn each(&self, see: &mut dyn FnMut(i32));
}

impl Coefficients for [i32; N] {
    fn each(&self, see: &mut dyn FnMut(i32)) {
        self.iter().copied().for_each(see);
    }
}

impl Coefficients for Poly {
    fn each(&self, see: &mut dyn FnMut(i32)) {
        self.0.each(see);
    }
}

impl Coefficients for [Poly] {
    fn each(&self, see: &mut dyn FnMut(i32)) {
        self.iter().for_each(|p| p.each(see));
    }
}

/// The bytes: η and a coefficient.
impl Coefficients for SmallPoly {
    fn each(&self, see: &mut dyn FnMut(i32)) {
        self.bytes().iter().for_each(|byte| see(i32::from(*byte)));
    }
}

/// Assert that `values` are in `range`; only in debug builds. `what` names the kernel and the argument.
#[inline(always)]
pub fn check(what: &str, values: &(impl Coefficients + ?Sized), range: Range) {
    #[cfg(all(test, mldsa_inside))]
    if super::tests::intervals::is_under_way() {
        super::tests::intervals::check(what, values, range);
        return;
    }
    if cfg!(debug_assertions) {
        values.each(&mut |x| {
            let holds = (range.0..=range.1).contains(&x);
            assert!(holds, "{what} {range:?}, not {x}");
        });
    }
}
