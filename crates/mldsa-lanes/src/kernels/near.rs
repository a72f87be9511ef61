//! Norm checks of a ± c·s by way of the few coefficients of a that are near the bound, for traces.
//!
//! As |c·s| ≤ β, the sum passes a bound only where |a| ≥ bound − β: for y and w0 in one polynomial
//! of four or so, and there at one coefficient or two, whose products are cheaper than a
//! polynomial's. Branches and addresses depend on y and w0, so this is no part of signing.

use super::lanes::Lanes;
use super::poly::Poly;
use super::small::{Offsets, SmallPoly};
use crate::params::{N, Parameters};

/// Coefficients that one branch decides on.
const GROUP: usize = 64;

/// True if some |a + c·s| ≥ bound, or |a − c·s| to subtract.
#[inline(always)]
pub(crate) fn sum_exceeds<V: Lanes, P: Parameters, const SUBTRACT: bool>(
    token: V::Token,
    a: &Poly,
    c: &Offsets,
    s: &SmallPoly,
    bound: i32,
) -> bool {
    let least = bound - P::BETA;
    let limit = V::splat(token, least - 1);
    for start in (0..N).step_by(GROUP) {
        let mut near = V::splat(token, 0);
        for at in (start..start + GROUP).step_by(V::COUNT) {
            near = near.or(V::load(token, &a.0[at..]).abs().greater(limit));
        }
        if !near.any() {
            continue;
        }
        for (i, x) in a.0[start..start + GROUP].iter().enumerate() {
            if x.abs() >= least {
                let product = c.coefficient::<P>(s, start + i);
                let sum = if SUBTRACT { x - product } else { x + product };
                if sum.abs() >= bound {
                    return true;
                }
            }
        }
    }
    false
}
