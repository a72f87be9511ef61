//! As [`crate::backend`]'s for x86-64: arrays to registers and back. The reference says that all the bytes are
//! there, in any alignment, so no caller has anything to prove.

use core::arch::aarch64::*;

use super::Neon;
use crate::backend::Number;

/// 16 bytes.
#[inline(always)]
pub(super) fn load<T: Number, const COUNT: usize>(_: Neon, from: &[T; COUNT]) -> uint8x16_t {
    const { assert!(size_of::<[T; COUNT]>() == 16) };
    // SAFETY: the token proves NEON; `from` is 16 readable bytes.
    unsafe { vld1q_u8(from.as_ptr().cast()) }
}

/// 8 bytes.
#[inline(always)]
pub(super) fn load_half<T: Number, const COUNT: usize>(_: Neon, from: &[T; COUNT]) -> uint8x8_t {
    const { assert!(size_of::<[T; COUNT]>() == 8) };
    // SAFETY: the token proves NEON; `from` is 8 readable bytes.
    unsafe { vld1_u8(from.as_ptr().cast()) }
}

/// 16 times three bytes: the first of each three, the second, the third.
#[inline(always)]
pub(super) fn load_triples(_: Neon, from: &[u8; 48]) -> uint8x16x3_t {
    // SAFETY: the token proves NEON; `from` is 48 readable bytes.
    unsafe { vld3q_u8(from.as_ptr()) }
}

/// 16 bytes.
#[inline(always)]
pub(super) fn store<T: Number, const COUNT: usize>(_: Neon, all: uint8x16_t, to: &mut [T; COUNT]) {
    const { assert!(size_of::<[T; COUNT]>() == 16) };
    // SAFETY: the token proves NEON; `to` is 16 writable bytes.
    unsafe { vst1q_u8(to.as_mut_ptr().cast(), all) }
}
