//! Rejection sampling of 16 candidates at a time.

use super::lanes::Lanes;
use super::poly::Poly;
use super::sampling::{halves_by_lanes, triples_by_lanes};
use crate::declassify::{Site, public};
use crate::params::{N, Parameters};

/// Samplers of 16 candidates at a time. They write the accepted ones to the front of `to`, in order, and anything to
/// the rest of its first 16 entries; they return how many were accepted.
pub trait Sixteen: Lanes {
    /// Which of the half-bytes of 8 bytes are below `refused`.
    fn accepted_halves(token: Self::Token, from: &[u8], refused: u8) -> u32;
    /// CoeffFromThreeBytes of 48 bytes.
    fn store_triples(token: Self::Token, from: &[u8], to: &mut [i32]) -> usize;
    /// CoeffFromHalfByte of 8 bytes, the low half of a byte first: `coefficients` has what becomes of each
    /// half-byte, and `accepted` is what [`Sixteen::accepted_halves`] says of them.
    fn store_halves(
        token: Self::Token,
        from: &[u8],
        coefficients: &[i8; 16],
        accepted: u32,
        to: &mut [i32],
    ) -> usize;
}

/// [`crate::kernels::sampling::Rejection::accept_triples`], 16 at a time.
#[inline(always)]
pub(crate) fn accept_triples<V: Sixteen>(
    token: V::Token,
    p: &mut Poly,
    mut filled: usize,
    mut bytes: &[u8],
) -> usize {
    while filled + 16 <= N && bytes.len() >= 48 {
        filled += V::store_triples(token, bytes, &mut p.0[filled..]);
        bytes = &bytes[48..];
    }
    triples_by_lanes::<V>(token, p, filled, bytes)
}

/// `sampling::from_half_byte` as a table, and the first half-byte that is refused.
const fn coefficients(eta: i32) -> ([i8; 16], u8) {
    let refused = if eta == 2 { 15 } else { 9 };
    let mut coefficients = [0; 16];
    let mut half = 0;
    while half < refused {
        coefficients[half as usize] = if eta == 2 { 2 - half % 5 } else { 4 - half };
        half += 1;
    }
    (coefficients, refused as u8)
}

/// [`crate::kernels::sampling::Rejection::accept_halves`], 16 at a time.
#[inline(always)]
pub(crate) fn accept_halves<P: Parameters, V: Sixteen>(
    token: V::Token,
    p: &mut Poly,
    mut filled: usize,
    bytes: &[u8],
) -> usize {
    let mut at = 0;
    while filled + 16 <= N && at + 16 <= 2 * bytes.len() {
        let (coefficients, refused) = const { &coefficients(P::ETA) };
        let (from, to) = (&bytes[at / 2..], &mut p.0[filled..]);
        let accepted = V::accepted_halves(token, from, *refused);
        let accepted = public(Site::RefusedHalfBytes, accepted);
        filled += V::store_halves(token, from, coefficients, accepted, to);
        at += 16;
    }
    halves_by_lanes::<P, V>(token, p, filled, bytes, at)
}
