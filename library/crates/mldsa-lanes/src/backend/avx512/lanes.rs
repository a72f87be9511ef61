//! Sixteen coefficients.

use core::arch::x86_64::*;

use super::{Avx512, avx512, memory, unpack};
use crate::backend::avx2::I32x8;
use crate::backend::{first, first_mut};
use crate::kernels::lanes::{Lanes, Map, Q_INVERSE, Transform};
use crate::kernels::poly::Poly;
use crate::kernels::ragged::{self, Ragged};
use crate::kernels::sampling::Rejection;
use crate::params::{N, Parameters, Q};

/// Sixteen coefficients and the token that proves AVX-512.
#[derive(Clone, Copy)]
pub(crate) struct I32x16(__m512i, Avx512);

/// The same value, of which the compiler knows nothing. It stands between a multiplication whose
/// low halves alone are used and the next: LLVM 22 would merge the sign extension of those halves
/// with a constant factor into a full 64-bit product, `vpmullq` or two more shifts, where
/// `vpmuldq` extends the sign by itself.
#[inline]
#[target_feature(enable = "avx512f")]
fn opaque(mut x: __m512i) -> __m512i {
    // SAFETY: there is no instruction.
    unsafe {
        core::arch::asm!("/* {0} */", inout(zmm_reg) x, options(pure, nomem, nostack, preserves_flags));
    }
    x
}

/// [`Transform::times`]. Neither this nor [`exchange`] is `inline(always)`: unoptimised builds would give each of
/// their values a place in the frame of the NTT, which has 128 calls.
#[inline]
#[target_feature(enable = "avx512f")]
fn times(x: I32x16, [constant, companion]: [I32x16; 2], above: [I32x16; 2]) -> I32x16 {
    let q = _mm512_set1_epi32(Q);
    let odd = x.odd();
    let even_product = _mm512_mul_epi32(x.0, constant.0);
    let odd_product = _mm512_mul_epi32(odd, above[0].0);
    let even_multiple = opaque(_mm512_mul_epi32(x.0, companion.0));
    let odd_multiple = opaque(_mm512_mul_epi32(odd, above[1].0));
    I32x16::join_high(
        _mm512_sub_epi64(even_product, _mm512_mul_epi32(even_multiple, q)),
        _mm512_sub_epi64(odd_product, _mm512_mul_epi32(odd_multiple, q)),
        x.1,
    )
}

/// [`Transform::exchange`].
#[inline]
#[target_feature(enable = "avx512f")]
fn exchange<const HOP: usize>(a: I32x16, b: I32x16) -> (I32x16, I32x16) {
    let token = a.1;
    let (a, b) = match HOP {
        8 => (
            _mm512_shuffle_i64x2::<0x44>(a.0, b.0),
            _mm512_shuffle_i64x2::<0xee>(a.0, b.0),
        ),
        4 => (
            _mm512_mask_shuffle_i64x2::<0x80>(a.0, 0xcc, b.0, b.0),
            _mm512_mask_shuffle_i64x2::<0x31>(b.0, 0x33, a.0, a.0),
        ),
        2 => (
            _mm512_unpacklo_epi64(a.0, b.0),
            _mm512_unpackhi_epi64(a.0, b.0),
        ),
        _ => (
            _mm512_mask_shuffle_epi32::<0x80>(a.0, 0xaaaa, b.0),
            _mm512_mask_shuffle_epi32::<0x31>(b.0, 0x5555, a.0),
        ),
    };
    (I32x16(a, token), I32x16(b, token))
}

impl I32x16 {
    /// The odd lanes in the even places, where `_mm512_mul_epi32` reads. A shift, not a shuffle:
    /// shuffles have one port on Intel's cores, and the transposition needs it.
    #[inline(always)]
    fn odd(self) -> __m512i {
        avx512!(self.1, _mm512_srli_epi64::<32>(self.0))
    }

    /// The high halves of two vectors of 64-bit differences, interleaved.
    #[inline(always)]
    fn join_high(even: __m512i, odd: __m512i, token: Avx512) -> Self {
        avx512!(
            token,
            I32x16,
            _mm512_mask_shuffle_epi32::<0xf5>(odd, 0x5555, even)
        )
    }
}

impl I32x16 {
    /// How many lanes `keep` keeps, and these at the front. Compressed in a register, since compressing into memory is
    /// slow on some cores.
    #[inline(always)]
    fn keep(self, keep: Self) -> (usize, __m512i) {
        let (mask, packed) = avx512!(self.1, {
            let mask = _mm512_test_epi32_mask(keep.0, keep.0);
            (mask, _mm512_maskz_compress_epi32(mask, self.0))
        });
        (mask.count_ones() as usize, packed)
    }
}

impl Lanes for I32x16 {
    type Token = Avx512;
    type Wide = (__m512i, __m512i, Avx512);
    const COUNT: usize = 16;

    #[inline(always)]
    fn splat(token: Avx512, value: i32) -> Self {
        avx512!(token, I32x16, _mm512_set1_epi32(value))
    }
    #[inline(always)]
    fn load(token: Avx512, from: &[i32]) -> Self {
        I32x16(memory::load(token, first::<_, 16>(from)), token)
    }
    #[inline(always)]
    fn store(self, to: &mut [i32]) {
        memory::store(self.1, self.0, first_mut::<_, 16>(to));
    }
    #[inline(always)]
    fn add(self, other: Self) -> Self {
        avx512!(self.1, I32x16, _mm512_add_epi32(self.0, other.0))
    }
    #[inline(always)]
    fn sub(self, other: Self) -> Self {
        avx512!(self.1, I32x16, _mm512_sub_epi32(self.0, other.0))
    }
    #[inline(always)]
    fn mul_low(self, other: Self) -> Self {
        avx512!(self.1, I32x16, _mm512_mullo_epi32(self.0, other.0))
    }
    #[inline(always)]
    fn and(self, other: Self) -> Self {
        avx512!(self.1, I32x16, _mm512_and_si512(self.0, other.0))
    }
    #[inline(always)]
    fn or(self, other: Self) -> Self {
        avx512!(self.1, I32x16, _mm512_or_si512(self.0, other.0))
    }
    #[inline(always)]
    fn shift_right<const BITS: i32>(self) -> Self {
        avx512!(
            self.1,
            I32x16,
            _mm512_sra_epi32(self.0, _mm_cvtsi32_si128(BITS))
        )
    }
    /// A mask register by way of a vector; the compiler drops the way where the use is a mask too.
    #[inline(always)]
    fn greater(self, other: Self) -> Self {
        avx512!(
            self.1,
            I32x16,
            _mm512_maskz_set1_epi32(_mm512_cmpgt_epi32_mask(self.0, other.0), -1)
        )
    }
    #[inline(always)]
    fn abs(self) -> Self {
        avx512!(self.1, I32x16, _mm512_abs_epi32(self.0))
    }
    #[inline(always)]
    fn any(self) -> bool {
        avx512!(self.1, _mm512_test_epi32_mask(self.0, self.0) != 0)
    }

    #[inline(always)]
    fn montgomery(self, other: Self) -> Self {
        Self::wide_reduce(avx512!(
            self.1,
            (
                _mm512_mul_epi32(self.0, other.0),
                _mm512_mul_epi32(self.odd(), other.odd()),
                self.1
            )
        ))
    }
    #[inline(always)]
    fn wide_zero(token: Avx512) -> Self::Wide {
        avx512!(
            token,
            (_mm512_setzero_si512(), _mm512_setzero_si512(), token)
        )
    }
    #[inline(always)]
    fn wide_add((even, odd, token): Self::Wide, a: Self, b: Self) -> Self::Wide {
        avx512!(token, {
            let even = _mm512_add_epi64(even, _mm512_mul_epi32(a.0, b.0));
            let odd = _mm512_add_epi64(odd, _mm512_mul_epi32(a.odd(), b.odd()));
            (even, odd, token)
        })
    }
    #[inline(always)]
    fn wide_sub((even, odd, token): Self::Wide, a: Self, b: Self) -> Self::Wide {
        avx512!(token, {
            let even = _mm512_sub_epi64(even, _mm512_mul_epi32(a.0, b.0));
            let odd = _mm512_sub_epi64(odd, _mm512_mul_epi32(a.odd(), b.odd()));
            (even, odd, token)
        })
    }
    #[inline(always)]
    fn wide_reduce((even, odd, token): Self::Wide) -> Self {
        avx512!(token, {
            let q = _mm512_set1_epi32(Q);
            let q_inverse = _mm512_set1_epi32(Q_INVERSE);
            let even_multiple = opaque(_mm512_mul_epi32(even, q_inverse));
            let odd_multiple = opaque(_mm512_mul_epi32(odd, q_inverse));
            Self::join_high(
                _mm512_sub_epi64(even, _mm512_mul_epi32(even_multiple, q)),
                _mm512_sub_epi64(odd, _mm512_mul_epi32(odd_multiple, q)),
                token,
            )
        })
    }

    #[inline(always)]
    fn from_triples(token: Avx512, from: &[u8]) -> Self {
        let values = unpack::triples(token, from);
        avx512!(
            token,
            I32x16,
            _mm512_and_si512(values, _mm512_set1_epi32(0x7f_ffff))
        )
    }
    #[inline(always)]
    fn from_bytes(token: Avx512, from: &[u8]) -> Self {
        let bytes = memory::load_quarter(token, first::<_, 16>(from));
        avx512!(token, I32x16, _mm512_cvtepu8_epi32(bytes))
    }
    #[inline(always)]
    fn from_halves(token: Avx512, from: &[u8], at: usize) -> Self {
        let mut word = [0; 8];
        word.copy_from_slice(&from[at / 2..at / 2 + 8]);
        let values = unpack::halves(token, u64::from_le_bytes(word));
        avx512!(
            token,
            I32x16,
            _mm512_and_si512(values, _mm512_set1_epi32(15))
        )
    }
    #[inline(always)]
    fn from_bits<const BITS: u32>(token: Avx512, from: &[u8], at: usize) -> Self {
        // Sixteen values fill 2·BITS bytes.
        let start = at / 8 * BITS as usize;
        let values = unpack::bits::<BITS>(token, &from[start..start + 2 * BITS as usize]);
        avx512!(
            token,
            I32x16,
            _mm512_and_si512(values, _mm512_set1_epi32((1 << BITS) - 1))
        )
    }
    #[inline(always)]
    fn from_any_bits<const BITS: u32>(token: Avx512, from: &[u8], at: usize) -> Self {
        Self::from_bits::<BITS>(token, from, at)
    }
    /// In 256-bit registers: strings are too short a part of any operation to have a text of their
    /// own here.
    #[inline(always)]
    fn write_bits<const BITS: usize>(token: Avx512, p: &[i32; N], map: Map, to: &mut [u8]) {
        I32x8::write_bits::<BITS>(token.avx2(), p, map, to);
    }
    #[inline(always)]
    fn store_kept(self, keep: Self, to: &mut [i32]) -> usize {
        let (kept, packed) = self.keep(keep);
        memory::store(self.1, packed, first_mut::<_, 16>(to));
        kept
    }
}

impl Ragged for I32x16 {
    #[inline(always)]
    fn from_fewer_triples(token: Avx512, from: &[u8]) -> Self {
        let values = unpack::fewer_triples(token, from);
        avx512!(
            token,
            I32x16,
            _mm512_and_si512(values, _mm512_set1_epi32(0x7f_ffff))
        )
    }
    #[inline(always)]
    fn store_fewer(self, keep: Self, to: &mut [i32]) -> usize {
        let (kept, packed) = self.keep(keep);
        if let Some(to) = to.first_chunk_mut::<16>() {
            memory::store(self.1, packed, to);
            return kept;
        }
        let room = ((1u32 << to.len()) - 1) as u16;
        // SAFETY: `self` proves AVX-512; the mask has as many entries as `to`, fewer than 16.
        unsafe { _mm512_mask_storeu_epi32(to.as_mut_ptr(), room, packed) };
        kept.min(to.len())
    }
}

impl Rejection for I32x16 {
    #[inline(always)]
    fn accept_triples(token: Avx512, p: &mut Poly, filled: usize, bytes: &[u8]) -> usize {
        ragged::accept_triples::<Self>(token, p, filled, bytes)
    }
    #[inline(always)]
    fn accept_halves<P: Parameters>(
        token: Avx512,
        p: &mut Poly,
        filled: usize,
        bytes: &[u8],
    ) -> usize {
        ragged::accept_halves::<P, Self>(token, p, filled, bytes)
    }
}

impl Transform for I32x16 {
    const BARRETT: bool = false;
    const MIXED: bool = true;

    #[inline(always)]
    fn times(self, factor: [Self; 2], above: [Self; 2]) -> Self {
        avx512!(self.1, times(self, factor, above))
    }
    #[inline(always)]
    fn exchange<const HOP: usize>(a: Self, b: Self) -> (Self, Self) {
        avx512!(a.1, exchange::<HOP>(a, b))
    }
}
