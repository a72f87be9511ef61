//! Rejection sampling that takes the remainder of a block, and of a polynomial, in part of a register.

use super::lanes::Lanes;
use super::poly::Poly;
use super::sampling::{below_q, from_half_byte, whole_triples};
use crate::declassify::{Site, public};
use crate::params::{N, Parameters};

/// Lanes that take and keep fewer than `COUNT` candidates, so that no remainder goes one at a time.
pub trait Ragged: Lanes {
    /// [`Lanes::from_triples`] of at most 3·`COUNT` bytes, whole triples. Lanes without any hold 2^23 − 1, which is no
    /// coefficient.
    fn from_fewer_triples(token: Self::Token, from: &[u8]) -> Self;
    /// [`Lanes::store_kept`] where `to` may have fewer than `COUNT` entries: keeps as many as fit.
    fn store_fewer(self, keep: Self, to: &mut [i32]) -> usize;
}

/// [`crate::kernels::sampling::Rejection::accept_triples`], the remainder in a register.
#[inline(always)]
pub(crate) fn accept_triples<V: Ragged>(
    token: V::Token,
    p: &mut Poly,
    filled: usize,
    bytes: &[u8],
) -> usize {
    let (mut filled, mut bytes) = whole_triples::<V>(token, p, filled, bytes);
    while filled < N && !bytes.is_empty() {
        let (some, rest) = bytes.split_at(bytes.len().min(3 * V::COUNT));
        let values = V::from_fewer_triples(token, some);
        filled += values.store_fewer(below_q(token, values), &mut p.0[filled..]);
        bytes = rest;
    }
    filled
}

/// [`crate::kernels::sampling::Rejection::accept_halves`], the remainder in a register. A block has a multiple of
/// `COUNT` half-bytes.
#[inline(always)]
pub(crate) fn accept_halves<P: Parameters, V: Ragged>(
    token: V::Token,
    p: &mut Poly,
    mut filled: usize,
    bytes: &[u8],
) -> usize {
    let mut at = 0;
    while filled < N && at + V::COUNT <= 2 * bytes.len() {
        let halves = V::from_halves(token, bytes, at);
        let (values, accepted) = from_half_byte::<P, V>(token, halves);
        let accepted = public(Site::RefusedHalfBytes, accepted);
        filled += values.store_fewer(accepted, &mut p.0[filled..]);
        at += V::COUNT;
    }
    filled
}
