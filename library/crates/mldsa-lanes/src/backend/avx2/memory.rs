//! Arrays to registers and back: the reference says that all the bytes are there, in any alignment, so
//! no caller has anything to prove.

use core::arch::x86_64::*;

use super::Avx2;
use crate::backend::Number;

/// 32 bytes.
#[inline(always)]
pub(super) fn load<T: Number, const COUNT: usize>(_: Avx2, from: &[T; COUNT]) -> __m256i {
    const { assert!(size_of::<[T; COUNT]>() == 32) };
    // SAFETY: the token proves AVX2; `from` is 32 readable bytes.
    unsafe { _mm256_loadu_si256(from.as_ptr().cast()) }
}

/// 16 bytes.
#[inline(always)]
pub(super) fn load_half<T: Number, const COUNT: usize>(_: Avx2, from: &[T; COUNT]) -> __m128i {
    const { assert!(size_of::<[T; COUNT]>() == 16) };
    // SAFETY: the token proves AVX2; `from` is 16 readable bytes.
    unsafe { _mm_loadu_si128(from.as_ptr().cast()) }
}

/// 32 bytes.
#[inline(always)]
pub(super) fn store<T: Number, const COUNT: usize>(_: Avx2, all: __m256i, to: &mut [T; COUNT]) {
    const { assert!(size_of::<[T; COUNT]>() == 32) };
    // SAFETY: the token proves AVX2; `to` is 32 writable bytes.
    unsafe { _mm256_storeu_si256(to.as_mut_ptr().cast(), all) }
}

/// 16 bytes.
#[inline(always)]
pub(super) fn store_half<T: Number, const COUNT: usize>(
    _: Avx2,
    half: __m128i,
    to: &mut [T; COUNT],
) {
    const { assert!(size_of::<[T; COUNT]>() == 16) };
    // SAFETY: the token proves AVX2; `to` is 16 writable bytes.
    unsafe { _mm_storeu_si128(to.as_mut_ptr().cast(), half) }
}

/// 8 bytes, in the low half.
#[inline(always)]
pub(in crate::backend) fn load_word(_: Avx2, from: &u64) -> __m128i {
    // SAFETY: the token proves AVX2; `from` is 8 readable bytes.
    unsafe { _mm_loadl_epi64(core::ptr::from_ref(from).cast()) }
}

/// The 8 bytes of the low half.
#[inline(always)]
pub(in crate::backend) fn store_word(_: Avx2, half: __m128i, to: &mut u64) {
    // SAFETY: the token proves AVX2; `to` is 8 writable bytes.
    unsafe { _mm_storel_epi64(core::ptr::from_mut(to).cast(), half) }
}
