//! Four coefficients in 128-bit registers, with plain NEON or with the SHA3 extension beside it.

// The SHA3 intrinsics are called from methods that lack the feature and are inlined into entry
// points that have it; after that the compiler inlines the intrinsics too.
#![allow(inline_always_mismatching_target_features, unknown_lints)]

/// Calls intrinsics on registers, none that takes a pointer. Each use stands in a method of a type whose
/// values prove the feature, or has the token at hand.
macro_rules! neon {
    ($expression:expr) => {
        // SAFETY: a value of this type, or the token, exists only where the feature does, which is all
        // that an intrinsic without a pointer asks.
        unsafe { $expression }
    };
}

mod accepted;
mod keccak;
mod packing;

use core::arch::aarch64::*;

use self::accepted::{KEPT_BITS, halves, kept, kept_first, store_sixteen};
use self::packing::{Pack, Unpack};
use super::kernels;
use crate::kernels::lanes::{Lanes, Map, Q_INVERSE};
use crate::kernels::small::ByteLanes;
use crate::params::{N, Q};

/// A module of its own, so that nothing else can make the tokens.
mod token {
    // Each feature that the entry points have, implied ones too (a test compares).
    cpufeatures::new!(cpu_has_sha3, "sha2", "sha3");

    /// Proof of NEON, which this target has by definition.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub(crate) struct Neon(());

    /// Proof that this CPU has NEON and the SHA3 extension.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub(crate) struct NeonSha3(Neon);

    impl Neon {
        pub(crate) fn detect() -> Option<Self> {
            cfg!(target_feature = "neon").then_some(Neon(()))
        }
    }

    impl NeonSha3 {
        pub(crate) fn detect() -> Option<Self> {
            let found = cpu_has_sha3::get();
            Neon::detect().filter(|_| found).map(NeonSha3)
        }

        #[inline(always)]
        pub(super) fn lane_token(self) -> Neon {
            self.0
        }
    }
}
pub(crate) use token::{Neon, NeonSha3};

impl Neon {
    #[inline(always)]
    fn lane_token(self) -> Self {
        self
    }
}

kernels!(Neon, I32x4, U8x16, 4, target_feature(enable = "neon"));
kernels!(NeonSha3, I32x4, U8x16, 4, target_feature(enable = "neon"));

/// Four coefficients. Made only from a [`Neon`] token or from other values of this type.
#[derive(Clone, Copy)]
pub(crate) struct I32x4(int32x4_t);

impl Lanes for I32x4 {
    type Token = Neon;
    type Wide = (int64x2_t, int64x2_t);
    const COUNT: usize = 4;

    #[inline(always)]
    fn splat(_: Neon, value: i32) -> Self {
        neon!(I32x4(vdupq_n_s32(value)))
    }
    /// One load for both, from which each product takes the entry that it needs. The compiler must not
    /// know the table's values: it would make each of them by three instructions wherever a loop uses it.
    #[inline(always)]
    fn splat_pair<const LENGTH: usize>(
        _: Neon,
        table: &'static [[i32; 2]; LENGTH],
        at: usize,
    ) -> (Self, Self) {
        let mut table = core::ptr::from_ref(table);
        // SAFETY: the token proves NEON. The assembly is a comment that names the register of `table`, so it
        // still points to the table; `at` is checked against its length, and an entry is 8 readable bytes.
        unsafe {
            core::arch::asm!("/* {} */", inout(reg) table, options(pure, nomem, nostack, preserves_flags));
            let pair = vld1_s32((&*table)[at].as_ptr());
            (
                I32x4(vdupq_lane_s32::<0>(pair)),
                I32x4(vdupq_lane_s32::<1>(pair)),
            )
        }
    }
    #[inline(always)]
    fn load(_: Neon, from: &[i32]) -> Self {
        let from = &from[..4];
        // SAFETY: the token proves NEON; `from` is 16 readable bytes.
        unsafe { I32x4(vld1q_s32(from.as_ptr())) }
    }
    #[inline(always)]
    fn store(self, to: &mut [i32]) {
        let to = &mut to[..4];
        // SAFETY: `self` proves NEON; `to` is 16 writable bytes.
        unsafe { vst1q_s32(to.as_mut_ptr(), self.0) }
    }
    #[inline(always)]
    fn add(self, other: Self) -> Self {
        neon!(I32x4(vaddq_s32(self.0, other.0)))
    }
    #[inline(always)]
    fn sub(self, other: Self) -> Self {
        neon!(I32x4(vsubq_s32(self.0, other.0)))
    }
    #[inline(always)]
    fn mul_low(self, other: Self) -> Self {
        neon!(I32x4(vmulq_s32(self.0, other.0)))
    }
    #[inline(always)]
    fn and(self, other: Self) -> Self {
        neon!(I32x4(vandq_s32(self.0, other.0)))
    }
    #[inline(always)]
    fn or(self, other: Self) -> Self {
        neon!(I32x4(vorrq_s32(self.0, other.0)))
    }
    #[inline(always)]
    fn shift_right<const BITS: i32>(self) -> Self {
        neon!(I32x4(vshrq_n_s32::<BITS>(self.0)))
    }
    #[inline(always)]
    fn greater(self, other: Self) -> Self {
        neon!(I32x4(vreinterpretq_s32_u32(vcgtq_s32(self.0, other.0))))
    }
    #[inline(always)]
    fn abs(self) -> Self {
        neon!(I32x4(vabsq_s32(self.0)))
    }
    #[inline(always)]
    fn any(self) -> bool {
        neon!(vmaxvq_u32(vreinterpretq_u32_s32(self.0)) != 0)
    }

    /// With p = self·other and m = the multiplier of q, 2p ≡ 2mq modulo 2^33, so the difference of the
    /// doubled high halves is exact and even. No saturation: |q|, |other| < 2^31.
    #[inline(always)]
    fn montgomery(self, other: Self) -> Self {
        neon!({
            let high = vqdmulhq_s32(self.0, other.0);
            let multiplier = vmulq_s32(self.mul_low(other).0, vdupq_n_s32(Q_INVERSE));
            let multiple = vqdmulhq_s32(multiplier, vdupq_n_s32(Q));
            I32x4(vhsubq_s32(high, multiple))
        })
    }
    const BARRETT: bool = true;
    /// The error of the quotient self·c / q is |self| / 2^32 < 1/2 from rounding the companion, and at most 1/2
    /// from `vqrdmulh`. So the remainder is below q in magnitude, and arithmetic modulo 2^32 gives it exactly.
    /// No saturation: |companion| < 2^30.
    #[inline(always)]
    fn times(self, [constant, companion]: [Self; 2], _: [Self; 2]) -> Self {
        neon!({
            let product = vmulq_s32(self.0, constant.0);
            let quotient = vqrdmulhq_s32(self.0, companion.0);
            I32x4(vmlsq_s32(product, quotient, vdupq_n_s32(Q)))
        })
    }

    #[inline(always)]
    fn wide_zero(_: Neon) -> Self::Wide {
        neon!((vdupq_n_s64(0), vdupq_n_s64(0)))
    }
    #[inline(always)]
    fn wide_add((low, high): Self::Wide, a: Self, b: Self) -> Self::Wide {
        neon!((
            vmlal_s32(low, vget_low_s32(a.0), vget_low_s32(b.0)),
            vmlal_high_s32(high, a.0, b.0),
        ))
    }
    #[inline(always)]
    fn wide_sub((low, high): Self::Wide, a: Self, b: Self) -> Self::Wide {
        neon!((
            vmlsl_s32(low, vget_low_s32(a.0), vget_low_s32(b.0)),
            vmlsl_high_s32(high, a.0, b.0),
        ))
    }
    #[inline(always)]
    fn wide_reduce((low, high): Self::Wide) -> Self {
        neon!({
            let low_halves = vuzp1q_s32(vreinterpretq_s32_s64(low), vreinterpretq_s32_s64(high));
            let multiplier = vmulq_s32(low_halves, vdupq_n_s32(Q_INVERSE));
            let q = vdupq_n_s32(Q);
            let low = vmlsl_s32(low, vget_low_s32(multiplier), vget_low_s32(q));
            let high = vmlsl_high_s32(high, multiplier, q);
            I32x4(vuzp2q_s32(
                vreinterpretq_s32_s64(low),
                vreinterpretq_s32_s64(high),
            ))
        })
    }

    #[inline(always)]
    fn from_triples(_: Neon, from: &[u8]) -> Self {
        const PLACES: [u8; 16] = [0, 1, 2, 255, 3, 4, 5, 255, 6, 7, 8, 255, 9, 10, 11, 255];
        let mut bytes = [0; 16];
        bytes[..12].copy_from_slice(&from[..12]);
        // SAFETY: the token proves NEON; both arrays are 16 readable bytes.
        unsafe {
            let values = vqtbl1q_u8(vld1q_u8(bytes.as_ptr()), vld1q_u8(PLACES.as_ptr()));
            I32x4(vandq_s32(
                vreinterpretq_s32_u8(values),
                vdupq_n_s32(0x7f_ffff),
            ))
        }
    }
    #[inline(always)]
    fn from_bytes(_: Neon, from: &[u8]) -> Self {
        let word = u32::from_le_bytes([from[0], from[1], from[2], from[3]]);
        // SAFETY: the token proves NEON.
        unsafe {
            let sixteen = vget_low_u16(vmovl_u8(vcreate_u8(word.into())));
            I32x4(vreinterpretq_s32_u32(vmovl_u16(sixteen)))
        }
    }
    #[inline(always)]
    fn from_halves(_: Neon, from: &[u8], at: usize) -> Self {
        const SHIFTS: [i32; 4] = [0, -4, -8, -12];
        let word = u32::from(from[at / 2]) | u32::from(from[at / 2 + 1]) << 8;
        // SAFETY: the token proves NEON; the array is 16 readable bytes.
        unsafe {
            let halves = vshlq_u32(vdupq_n_u32(word), vld1q_s32(SHIFTS.as_ptr()));
            I32x4(vreinterpretq_s32_u32(vandq_u32(halves, vdupq_n_u32(15))))
        }
    }
    #[inline(always)]
    fn from_bits<const BITS: u32>(token: Neon, from: &[u8], at: usize) -> Self {
        Self::from_any_bits::<BITS>(token, from, at)
    }
    #[inline(always)]
    fn from_any_bits<const BITS: u32>(_: Neon, from: &[u8], at: usize) -> Self {
        let start = at * BITS as usize / 8;
        let odd = if BITS.is_multiple_of(2) {
            0
        } else {
            at / 4 % 2
        };
        let (places, shifts) = const { &(Unpack::<BITS>::PLACES, Unpack::<BITS>::SHIFTS) };
        let (places, shifts) = (&places[odd], &shifts[odd]);
        let from = &from[start..start + 16];
        // SAFETY: the token proves NEON; all three are 16 readable bytes.
        unsafe {
            let words = vqtbl1q_u8(vld1q_u8(from.as_ptr()), vld1q_u8(places.as_ptr()));
            let values = vshlq_u32(vreinterpretq_u32_u8(words), vld1q_s32(shifts.as_ptr()));
            I32x4(vreinterpretq_s32_u32(vandq_u32(
                values,
                vdupq_n_u32((1 << BITS) - 1),
            )))
        }
    }
    #[inline(always)]
    fn write_bits<const BITS: usize>(token: Neon, p: &[i32; N], map: Map, to: &mut [u8]) {
        match map {
            Map::Below(top) => Pack::<BITS>::write::<true>(token, p, top, to),
            _ => Pack::<BITS>::write::<false>(token, p, 0, to),
        }
    }

    #[inline(always)]
    fn store_kept(self, keep: Self, to: &mut [i32]) -> usize {
        let to = &mut to[..4];
        // SAFETY: `self` proves NEON; all are 16 bytes.
        unsafe {
            let bits = vandq_u32(vreinterpretq_u32_s32(keep.0), vld1q_u32(KEPT_BITS.as_ptr()));
            let kept = vaddvq_u32(bits) as usize;
            vst1q_s32(to.as_mut_ptr(), kept_first(self, kept).0);
            kept >> 4
        }
    }

    const SIXTEEN: bool = true;

    #[inline(always)]
    fn store_triples(_: Neon, from: &[u8], to: &mut [i32]) -> usize {
        let from = &from[..48];
        // SAFETY: a token proves NEON; `from` is 48 readable bytes.
        let [low, middle, high] = unsafe {
            let bytes = vld3q_u8(from.as_ptr());
            [bytes.0, bytes.1, vandq_u8(bytes.2, vdupq_n_u8(127))]
        };
        neon!({
            let zero = vdupq_n_u8(0);
            let pairs = [vzip1q_u8(low, middle), vzip2q_u8(low, middle)];
            let tops = [vzip1q_u8(high, zero), vzip2q_u8(high, zero)];
            let zip1 = |i: usize| {
                let (pairs, tops) = (
                    vreinterpretq_s16_u8(pairs[i]),
                    vreinterpretq_s16_u8(tops[i]),
                );
                I32x4(vreinterpretq_s32_s16(vzip1q_s16(pairs, tops)))
            };
            let zip2 = |i: usize| {
                let (pairs, tops) = (
                    vreinterpretq_s16_u8(pairs[i]),
                    vreinterpretq_s16_u8(tops[i]),
                );
                I32x4(vreinterpretq_s32_s16(vzip2q_s16(pairs, tops)))
            };
            let values = [zip1(0), zip2(0), zip1(1), zip2(1)];
            let q = vdupq_n_s32(Q);
            let below = |i: usize| vreinterpretq_u16_u32(vcgtq_s32(q, values[i].0));
            let halves = [
                vuzp1q_u16(below(0), below(1)),
                vuzp1q_u16(below(2), below(3)),
            ];
            let keep = vuzp1q_u8(
                vreinterpretq_u8_u16(halves[0]),
                vreinterpretq_u8_u16(halves[1]),
            );
            store_sixteen(values, kept(keep), to)
        })
    }

    #[inline(always)]
    fn accepted_halves(_: Neon, from: &[u8], refused: u8) -> u32 {
        neon!(kept(vcltq_u8(halves(from), vdupq_n_u8(refused))))
    }
    #[inline(always)]
    fn store_halves(
        _: Neon,
        from: &[u8],
        coefficients: &[i8; 16],
        accepted: u32,
        to: &mut [i32],
    ) -> usize {
        // SAFETY: a token proves NEON; `coefficients` is 16 readable bytes.
        let coefficients = unsafe { vld1q_s8(coefficients.as_ptr()) };
        neon!({
            let values = vqtbl1q_s8(coefficients, halves(from));
            let pairs = [vmovl_s8(vget_low_s8(values)), vmovl_high_s8(values)];
            let values = [
                I32x4(vmovl_s16(vget_low_s16(pairs[0]))),
                I32x4(vmovl_high_s16(pairs[0])),
                I32x4(vmovl_s16(vget_low_s16(pairs[1]))),
                I32x4(vmovl_high_s16(pairs[1])),
            ];
            store_sixteen(values, accepted, to)
        })
    }

    #[inline(always)]
    fn exchange<const HOP: usize>(a: Self, b: Self) -> (Self, Self) {
        neon!(if HOP == 2 {
            let (a, b) = (vreinterpretq_s64_s32(a.0), vreinterpretq_s64_s32(b.0));
            (
                I32x4(vreinterpretq_s32_s64(vtrn1q_s64(a, b))),
                I32x4(vreinterpretq_s32_s64(vtrn2q_s64(a, b))),
            )
        } else {
            (I32x4(vtrn1q_s32(a.0, b.0)), I32x4(vtrn2q_s32(a.0, b.0)))
        })
    }
}

/// 16 bytes. Made only from a [`Neon`] token or from other values of this type.
#[derive(Clone, Copy)]
pub(crate) struct U8x16(uint8x16_t);

impl ByteLanes for U8x16 {
    type Token = Neon;
    const COUNT: usize = 16;
    #[inline(always)]
    fn zero(_: Neon) -> Self {
        neon!(U8x16(vdupq_n_u8(0)))
    }
    #[inline(always)]
    fn add(self, from: &[u8]) -> Self {
        let from = &from[..16];
        // SAFETY: `self` proves NEON; `from` is 16 readable bytes.
        unsafe { U8x16(vaddq_u8(self.0, vld1q_u8(from.as_ptr()))) }
    }
    #[inline(always)]
    fn store(self, to: &mut [u8]) {
        let to = &mut to[..16];
        // SAFETY: `self` proves NEON; `to` is 16 writable bytes.
        unsafe { vst1q_u8(to.as_mut_ptr(), self.0) }
    }
}
