//! Coefficients to strings of bits and back, eight or 32 at a time. The places of bytes and the
//! shifts follow from the width, so they are computed when the code is compiled.

use core::arch::x86_64::*;

use super::{Avx2, I32x8, memory};
use crate::backend::{first, first_mut};
use crate::kernels::lanes::{Lanes, Map};
use crate::params::N;

/// Byte `i` of a shuffle's places; 0x80 makes it zero.
const NONE: u8 = 0x80;

struct Unpack<const BITS: u32>;

impl<const BITS: u32> Unpack<BITS> {
    /// Where the upper four values begin: in byte `HALF`, `BITS`·4 mod 8 bits in.
    const HALF: usize = BITS as usize / 2;

    /// The bit of lane `i`'s value, counted from the byte that its half begins in.
    const fn bit(lane: usize) -> usize {
        if lane < 4 {
            lane * BITS as usize
        } else {
            lane * BITS as usize - 8 * Self::HALF
        }
    }

    /// The four bytes from the one that holds a value's first bit on: 25 bits at least.
    const PLACES: [u8; 32] = {
        assert!(BITS <= 25);
        let mut places = [0; 32];
        let mut i = 0;
        while i < 32 {
            places[i] = (Self::bit(i / 4) / 8 + i % 4) as u8;
            i += 1;
        }
        places
    };

    const SHIFTS: [u32; 8] = {
        let mut shifts = [0; 8];
        let mut lane = 0;
        while lane < 8 {
            shifts[lane] = (Self::bit(lane) % 8) as u32;
            lane += 1;
        }
        shifts
    };
}

/// [`crate::kernels::lanes::Lanes::from_any_bits`]: eight values fill `BITS` bytes.
#[inline(always)]
pub(super) fn unpack<const BITS: u32>(token: Avx2, from: &[u8], at: usize) -> I32x8 {
    let start = at / 8 * BITS as usize;
    let half = Unpack::<BITS>::HALF;
    let from = &from[start..start + half + 16];
    let low = memory::load_half(token, first::<_, 16>(from));
    let high = memory::load_half(token, first::<_, 16>(&from[half..]));
    let places = memory::load(token, const { &Unpack::<BITS>::PLACES });
    let shifts = memory::load(token, const { &Unpack::<BITS>::SHIFTS });
    avx2!(token, I32x8, {
        let bytes = _mm256_shuffle_epi8(_mm256_set_m128i(high, low), places);
        let values = _mm256_srlv_epi32(bytes, shifts);
        _mm256_and_si256(values, _mm256_set1_epi32((1 << BITS) - 1))
    })
}

/// [`crate::kernels::lanes::Lanes::write_bits`].
#[inline(always)]
pub(super) fn pack<const BITS: usize>(token: Avx2, p: &[i32; N], map: Map, to: &mut [u8]) {
    if BITS == 4 {
        for i in 0..N / 64 {
            let eight = load::<8>(token, &p[64 * i..], map);
            pack_nibbles(eight, &mut to[32 * i..]);
        }
    } else if BITS <= 6 {
        for i in 0..N / 32 {
            let four = load::<4>(token, &p[32 * i..], map);
            pack_narrow::<BITS>(four, &mut to[4 * BITS * i..]);
        }
    } else {
        for i in 0..N / 8 {
            let [one] = load::<1>(token, &p[8 * i..], map);
            pack_wide::<BITS>(one, &mut to[BITS * i..]);
        }
    }
}

/// The first 8·`COUNT` coefficients, mapped.
#[inline(always)]
fn load<const COUNT: usize>(token: Avx2, from: &[i32], map: Map) -> [I32x8; COUNT] {
    let mut values = [I32x8::splat(token, 0); COUNT];
    for (i, value) in values.iter_mut().enumerate() {
        *value = map.apply(token, I32x8::load(token, &from[8 * i..]));
    }
    values
}

/// In each 64-bit lane: the low half, with the high half moved down to bit `bits`.
#[inline(always)]
fn join(values: I32x8, bits: usize) -> I32x8 {
    avx2!(values.1, I32x8, {
        let low = _mm256_blend_epi32::<0xaa>(values.0, _mm256_setzero_si256());
        let high = _mm256_srli_epi64::<32>(values.0);
        // A shift by a constant, once `bits` is one.
        let high = _mm256_sllv_epi64(high, _mm256_set1_epi64x(bits as i64));
        _mm256_or_si256(low, high)
    })
}

/// Where the bytes of the two 64-bit lanes of each half go: those of the even lane to the front,
/// those of the odd one, `SHIFT` bits up, from byte `AT` on.
struct Pack<const BITS: usize>;

impl<const BITS: usize> Pack<BITS> {
    const SHIFT: usize = 2 * BITS % 8;
    const AT: usize = 2 * BITS / 8;

    const EVEN: [u8; 32] = {
        let mut places = [NONE; 32];
        let mut i = 0;
        while i < (2 * BITS).div_ceil(8) {
            places[i] = i as u8;
            places[16 + i] = i as u8;
            i += 1;
        }
        places
    };

    const ODD: [u8; 32] = {
        let mut places = [NONE; 32];
        let mut i = 0;
        while i < (2 * BITS + Self::SHIFT).div_ceil(8) {
            places[Self::AT + i] = 8 + i as u8;
            places[16 + Self::AT + i] = 8 + i as u8;
            i += 1;
        }
        places
    };

    /// Two strings of `BITS` bytes, one from each 64-bit lane; for narrow widths.
    const WHOLE: [u8; 32] = {
        let mut places = [NONE; 32];
        let mut i = 0;
        while i < BITS && BITS <= 8 {
            places[i] = i as u8;
            places[BITS + i] = 8 + i as u8;
            places[16 + i] = i as u8;
            places[16 + BITS + i] = 8 + i as u8;
            i += 1;
        }
        places
    };
}

#[inline(always)]
fn shuffle(values: I32x8, places: &'static [u8; 32]) -> I32x8 {
    let places = memory::load(values.1, places);
    avx2!(values.1, I32x8, _mm256_shuffle_epi8(values.0, places))
}

/// Eight values of 7 to 25 bits: `BITS` bytes to the front of `to`.
#[inline(always)]
fn pack_wide<const BITS: usize>(values: I32x8, to: &mut [u8]) {
    let pairs = join(values, BITS);
    let shifted = avx2!(values.1, I32x8, {
        let shift = Pack::<BITS>::SHIFT as i64;
        _mm256_sllv_epi64(pairs.0, _mm256_setr_epi64x(0, shift, 0, shift))
    });
    let even = shuffle(shifted, const { &Pack::<BITS>::EVEN });
    let odd = shuffle(shifted, const { &Pack::<BITS>::ODD });
    let halves = avx2!(values.1, I32x8, _mm256_or_si256(even.0, odd.0));
    if BITS.is_multiple_of(2) {
        write_halves(halves, BITS / 2, to);
    } else {
        // The halves meet within a byte.
        let (low, high) = avx2!(
            values.1,
            (
                _mm256_extract_epi64::<0>(halves.0) as u64,
                _mm256_extract_epi64::<2>(halves.0) as u64,
            )
        );
        const { assert!(BITS.is_multiple_of(2) || BITS <= 16) };
        let bits = u128::from(low) | u128::from(high) << (4 * BITS);
        to[..BITS].copy_from_slice(&bits.to_le_bytes()[..BITS]);
    }
}

/// 64 values of 4 bits, as w1 of ML-DSA-65 and -87 has: 32 bytes to the front of `to`.
#[inline(always)]
fn pack_nibbles([a, b, c, d, e, f, g, h]: [I32x8; 8], to: &mut [u8]) {
    let bytes = avx2!(a.1, {
        // The packs work on halves: [a0-3 b0-3 c0-3 d0-3 | a4-7 b4-7 c4-7 d4-7].
        let low = (_mm256_packus_epi32(a.0, b.0), _mm256_packus_epi32(c.0, d.0));
        let high = (_mm256_packus_epi32(e.0, f.0), _mm256_packus_epi32(g.0, h.0));
        let low = _mm256_packus_epi16(low.0, low.1);
        let high = _mm256_packus_epi16(high.0, high.1);
        // Neighbours joined: even + odd·16, below 256, in 16 bits each.
        let weights = _mm256_set1_epi16(1 | 16 << 8);
        let (low, high) = (
            _mm256_maddubs_epi16(low, weights),
            _mm256_maddubs_epi16(high, weights),
        );
        let bytes = _mm256_packus_epi16(low, high);
        // [low's first half, low's second | high's first, high's second], whose pairs of bytes
        // alternate.
        let bytes = _mm256_permute4x64_epi64::<0b11_01_10_00>(bytes);
        let order = _mm256_broadcastsi128_si256(_mm_setr_epi8(
            0, 1, 8, 9, 2, 3, 10, 11, 4, 5, 12, 13, 6, 7, 14, 15,
        ));
        _mm256_shuffle_epi8(bytes, order)
    });
    memory::store(a.1, bytes, first_mut::<_, 32>(to));
}

/// 32 values of at most 6 bits: 4·`BITS` bytes to the front of `to`.
#[inline(always)]
fn pack_narrow<const BITS: usize>([a, b, c, d]: [I32x8; 4], to: &mut [u8]) {
    let quads = avx2!(a.1, I32x8, {
        let words = (_mm256_packus_epi32(a.0, b.0), _mm256_packus_epi32(c.0, d.0));
        let bytes = _mm256_packus_epi16(words.0, words.1);
        // The packs work on halves: four values each of a, b, c, d, twice.
        let order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
        let bytes = _mm256_permutevar8x32_epi32(bytes, order);
        // Neighbours joined by multiplication: even + odd·2^BITS, at most 63·65 < 2^15.
        let pairs = _mm256_maddubs_epi16(bytes, _mm256_set1_epi16(1 | (256 << BITS) as i16));
        _mm256_madd_epi16(pairs, _mm256_set1_epi32(1 | 65536 << (2 * BITS)))
    });
    let eights = join(quads, 4 * BITS);
    write_halves(
        shuffle(eights, const { &Pack::<BITS>::WHOLE }),
        2 * BITS,
        to,
    );
}

/// The first `len` bytes of each 128-bit half, one after the other, to the front of `to`.
#[inline(always)]
fn write_halves(halves: I32x8, len: usize, to: &mut [u8]) {
    if to.len() >= len + 16 {
        store_halves(halves, len, to);
    } else {
        let mut end = [0; 32];
        store_halves(halves, len, &mut end);
        to[..2 * len].copy_from_slice(&end[..2 * len]);
    }
}

/// The same with the whole of the second half.
#[inline(always)]
fn store_halves(halves: I32x8, len: usize, to: &mut [u8]) {
    let to = &mut to[..len + 16];
    let I32x8(halves, token) = halves;
    let (low, high) = avx2!(
        token,
        (
            _mm256_castsi256_si128(halves),
            _mm256_extracti128_si256::<1>(halves)
        )
    );
    memory::store_half(token, low, first_mut::<_, 16>(to));
    memory::store_half(token, high, first_mut::<_, 16>(&mut to[len..]));
}
