//! Bit packing (FIPS 204, section 7.1): coefficients as little-endian strings of bits.

use super::lanes::Lanes;
pub(crate) use super::lanes::Map;
use super::poly::{Poly, Wipe};
use crate::params::N;

/// SimpleBitPack or BitPack (Algorithms 16 and 17): `BITS` bits a coefficient. `out` has 32·BITS
/// bytes; `map` is not `Scaled`.
#[inline(always)]
pub(crate) fn pack<V: Lanes, const BITS: usize>(
    token: V::Token,
    p: &Poly,
    map: Map,
    out: &mut [u8],
) {
    debug_assert_eq!(out.len(), 32 * BITS);
    V::write_bits::<BITS>(token, &p.0, map, out);
}

/// SimpleBitUnpack or BitUnpack (Algorithms 18 and 19). `from` has 32·BITS bytes.
#[inline(always)]
pub(crate) fn unpack<V: Lanes, const BITS: u32>(
    token: V::Token,
    from: &[u8],
    map: Map,
    p: &mut Poly,
) {
    let bytes = BITS as usize;
    debug_assert_eq!(from.len(), 32 * bytes);
    // Reading goes 16 bytes beyond a value; the last 64 values, of 24 bytes or more, come from a
    // copy with room behind.
    const LAST: usize = 64;
    let mut end = [0; LAST * 25 / 8 + 16];
    end[..LAST / 8 * bytes].copy_from_slice(&from[(N - LAST) / 8 * bytes..]);
    for at in (0..N - LAST).step_by(V::COUNT) {
        let value = V::from_any_bits::<BITS>(token, from, at);
        map.apply(token, value).store(&mut p.0[at..]);
    }
    for at in (0..LAST).step_by(V::COUNT) {
        let value = V::from_any_bits::<BITS>(token, &end, at);
        map.apply(token, value).store(&mut p.0[N - LAST + at..]);
    }
    end.wipe();
}

/// [`pack`] with a width of some parameter set.
#[inline(always)]
pub(crate) fn pack_width<V: Lanes>(
    token: V::Token,
    bits: usize,
    p: &Poly,
    map: Map,
    out: &mut [u8],
) {
    match bits {
        1 => pack::<V, 1>(token, p, map, out),
        3 => pack::<V, 3>(token, p, map, out),
        4 => pack::<V, 4>(token, p, map, out),
        6 => pack::<V, 6>(token, p, map, out),
        10 => pack::<V, 10>(token, p, map, out),
        13 => pack::<V, 13>(token, p, map, out),
        18 => pack::<V, 18>(token, p, map, out),
        20 => pack::<V, 20>(token, p, map, out),
        _ => unreachable!("no parameter set packs {bits} bits"),
    }
}

/// [`unpack`] with a width of some parameter set and its map: with any map, the loops would be compiled three times
/// for each width.
#[inline(always)]
pub(crate) fn unpack_width<V: Lanes>(
    token: V::Token,
    bits: usize,
    from: &[u8],
    map: Map,
    p: &mut Poly,
) {
    match (bits, map) {
        (3, Map::Below(_)) => unpack::<V, 3>(token, from, map, p),
        (4, Map::Below(_)) => unpack::<V, 4>(token, from, map, p),
        (10, Map::Scaled) => unpack::<V, 10>(token, from, map, p),
        (13, Map::Below(_)) => unpack::<V, 13>(token, from, map, p),
        (18, Map::Below(_)) => unpack::<V, 18>(token, from, map, p),
        (20, Map::Below(_)) => unpack::<V, 20>(token, from, map, p),
        _ => unreachable!("no parameter set unpacks {bits} bits with this map"),
    }
}

/// The number of ones of a polynomial of hints.
#[inline(never)]
pub(crate) fn count_ones(hint: &Poly) -> i32 {
    hint.0.iter().sum()
}

/// A polynomial of hints as a string of bits ([`pack`] with one bit).
pub(crate) type HintBits = [u8; N / 8];

/// HintBitPack (Algorithm 20) from the hints' strings of bits, at most ω ones in all; `out` has ω + k bytes.
#[inline(never)]
pub(crate) fn pack_hint(hint: &[HintBits], omega: usize, out: &mut [u8]) {
    out.fill(0);
    let (indices, counters) = out.split_at_mut(omega);
    let mut count = 0;
    for (bits, counter) in hint.iter().zip(counters) {
        for (word, bytes) in bits.chunks_exact(8).enumerate() {
            // Eight bytes; ones are few, so they are looked for by words.
            let mut ones = bytes
                .iter()
                .rfold(0u64, |word, byte| word << 8 | u64::from(*byte));
            while ones != 0 {
                indices[count] = (64 * word) as u8 + ones.trailing_zeros() as u8;
                count += 1;
                ones &= ones - 1;
            }
        }
        *counter = count as u8;
    }
}

/// Whether HintBitUnpack (Algorithm 21) takes the string, of ω + k bytes. It refuses whatever `pack_hint`
/// cannot write: counters that fall or pass ω, indices that do not rise, bytes after the last index.
#[must_use]
pub(crate) fn hint_is_valid(omega: usize, from: &[u8]) -> bool {
    let (indices, counters) = from.split_at(omega);
    let mut start = 0;
    for counter in counters {
        let end = usize::from(*counter);
        if end < start || end > omega || !indices[start..end].is_sorted_by(|a, b| a < b) {
            return false;
        }
        start = end;
    }
    indices[start..].iter().all(|byte| *byte == 0)
}

/// Polynomial number `row` of HintBitUnpack (Algorithm 21) of a valid string.
#[inline]
pub(crate) fn unpack_hint_row(omega: usize, from: &[u8], row: usize, p: &mut Poly) {
    let (indices, counters) = from.split_at(omega);
    let start = row.checked_sub(1).map_or(0, |before| counters[before]);
    p.0.fill(0);
    for index in &indices[usize::from(start)..usize::from(counters[row])] {
        p.0[usize::from(*index)] = 1;
    }
}
