//! As [`crate::backend::avx2`]'s: arrays to registers and back, of which the reference says that all the
//! bytes are there; parts of registers, of which a mask says how much.

use core::arch::x86_64::*;

use super::Avx512;
use crate::backend::Number;

/// 64 bytes, in any alignment.
#[inline(always)]
pub(super) fn load<T: Number, const COUNT: usize>(_: Avx512, from: &[T; COUNT]) -> __m512i {
    const { assert!(size_of::<[T; COUNT]>() == 64) };
    // SAFETY: the token proves AVX-512; `from` is 64 readable bytes.
    unsafe { _mm512_loadu_si512(from.as_ptr().cast()) }
}

/// 16 bytes, in any alignment.
#[inline(always)]
pub(super) fn load_quarter<T: Number, const COUNT: usize>(_: Avx512, from: &[T; COUNT]) -> __m128i {
    const { assert!(size_of::<[T; COUNT]>() == 16) };
    // SAFETY: the token proves AVX-512; `from` is 16 readable bytes.
    unsafe { _mm_loadu_si128(from.as_ptr().cast()) }
}

/// 64 bytes, in any alignment.
#[inline(always)]
pub(super) fn store<T: Number, const COUNT: usize>(_: Avx512, all: __m512i, to: &mut [T; COUNT]) {
    const { assert!(size_of::<[T; COUNT]>() == 64) };
    // SAFETY: the token proves AVX-512; `to` is 64 writable bytes.
    unsafe { _mm512_storeu_si512(to.as_mut_ptr().cast(), all) }
}

/// Fewer than 64 bytes, in place of the first ones of `rest`.
#[inline(always)]
pub(super) fn load_part(_: Avx512, rest: __m512i, from: &[u8]) -> __m512i {
    debug_assert!(from.len() < 64);
    // SAFETY: the token proves AVX-512; the mask keeps the load within `from`, whose length it counts
    // modulo 64.
    unsafe {
        let mask = (1u64 << (from.len() & 63)) - 1;
        _mm512_mask_loadu_epi8(rest, mask, from.as_ptr().cast())
    }
}

/// Five words in the low lanes, then zeros.
#[inline(always)]
pub(super) fn load_five(_: Avx512, from: &[u64; 5]) -> __m512i {
    // SAFETY: the token proves AVX-512; the mask keeps the load within `from`.
    unsafe { _mm512_maskz_loadu_epi64(0b1_1111, from.as_ptr().cast()) }
}

/// The words of the five low lanes.
#[inline(always)]
pub(super) fn store_five(_: Avx512, all: __m512i, to: &mut [u64; 5]) {
    // SAFETY: the token proves AVX-512; the mask keeps the store within `to`.
    unsafe { _mm512_mask_storeu_epi64(to.as_mut_ptr().cast(), 0b1_1111, all) }
}
