//! Bit packing (FIPS 204, section 7.1): coefficients as little-endian strings of bits.

use super::poly::Poly;
use crate::params::N;

/// Coefficients per group: the fewest whose bits fill whole bytes and fit 128 bits.
const fn group(bits: usize) -> usize {
    if bits > 16 { 4 } else { 8 }
}

/// Writes `map(coefficient)`, `BITS` bits each. `out` has 32·BITS bytes.
#[inline(always)]
pub(crate) fn pack<const BITS: usize>(p: &Poly, out: &mut [u8], map: impl Fn(i32) -> i32) {
    debug_assert_eq!(out.len(), 32 * BITS);
    let count = group(BITS);
    for (chunk, bytes) in
        p.0.chunks_exact(count)
            .zip(out.chunks_exact_mut(count * BITS / 8))
    {
        let mut bits = 0u128;
        for (i, x) in chunk.iter().enumerate() {
            let value = map(*x);
            debug_assert!((0..1 << BITS).contains(&value));
            bits |= (value as u128) << (i * BITS);
        }
        bytes.copy_from_slice(&bits.to_le_bytes()[..count * BITS / 8]);
    }
}

/// Reads `BITS` bits per coefficient, each then through `map`. `from` has 32·BITS bytes.
#[inline(always)]
pub(crate) fn unpack<const BITS: usize>(p: &mut Poly, from: &[u8], map: impl Fn(i32) -> i32) {
    debug_assert_eq!(from.len(), 32 * BITS);
    let count = group(BITS);
    for (chunk, bytes) in
        p.0.chunks_exact_mut(count)
            .zip(from.chunks_exact(count * BITS / 8))
    {
        let mut buffer = [0; 16];
        buffer[..count * BITS / 8].copy_from_slice(bytes);
        let bits = u128::from_le_bytes(buffer);
        for (i, x) in chunk.iter_mut().enumerate() {
            *x = map((bits >> (i * BITS)) as i32 & ((1 << BITS) - 1));
        }
    }
}

/// `pack` with a width that is a constant of the parameter set.
#[inline(always)]
pub(crate) fn pack_width(bits: usize, p: &Poly, out: &mut [u8], map: impl Fn(i32) -> i32) {
    match bits {
        3 => pack::<3>(p, out, map),
        4 => pack::<4>(p, out, map),
        6 => pack::<6>(p, out, map),
        10 => pack::<10>(p, out, map),
        13 => pack::<13>(p, out, map),
        18 => pack::<18>(p, out, map),
        20 => pack::<20>(p, out, map),
        _ => unreachable!("no parameter set packs {bits} bits"),
    }
}

/// `unpack` with a width that is a constant of the parameter set.
#[inline(always)]
pub(crate) fn unpack_width(bits: usize, p: &mut Poly, from: &[u8], map: impl Fn(i32) -> i32) {
    match bits {
        3 => unpack::<3>(p, from, map),
        4 => unpack::<4>(p, from, map),
        10 => unpack::<10>(p, from, map),
        13 => unpack::<13>(p, from, map),
        18 => unpack::<18>(p, from, map),
        20 => unpack::<20>(p, from, map),
        _ => unreachable!("no parameter set unpacks {bits} bits"),
    }
}

/// HintBitPack (Algorithm 20). `hint` holds 0 and 1, at most ω ones; `out` has ω + k bytes.
pub(crate) fn pack_hint(hint: &[Poly], omega: usize, out: &mut [u8]) {
    out.fill(0);
    let (indices, counters) = out.split_at_mut(omega);
    let mut count = 0;
    for (p, counter) in hint.iter().zip(counters) {
        for i in (0..N).filter(|i| p.0[*i] != 0) {
            indices[count] = i as u8;
            count += 1;
        }
        *counter = count as u8;
    }
}

/// HintBitUnpack (Algorithm 21). Returns false for any string that `pack_hint` cannot write:
/// counters that fall or pass ω, indices that do not rise, bytes after the last index.
#[must_use]
pub(crate) fn unpack_hint(hint: &mut [Poly], omega: usize, from: &[u8]) -> bool {
    let (indices, counters) = from.split_at(omega);
    let mut start = 0;
    for (p, counter) in hint.iter_mut().zip(counters) {
        p.0.fill(0);
        let end = usize::from(*counter);
        if end < start || end > omega {
            return false;
        }
        let mine = &indices[start..end];
        if !mine.is_sorted_by(|a, b| a < b) {
            return false;
        }
        for index in mine {
            p.0[usize::from(*index)] = 1;
        }
        start = end;
    }
    indices[start..].iter().all(|byte| *byte == 0)
}
