//! Four coefficients in 128-bit registers, with plain NEON or with the SHA3 extension beside it.

// The SHA3 intrinsics are called from methods that lack the feature and are inlined into entry
// points that have it; after that the compiler inlines the intrinsics too.
#![allow(inline_always_mismatching_target_features, unknown_lints)]

/// Calls intrinsics on registers, none that takes a pointer: those are in [`memory`]. `NeonSha3:` before the token
/// allows those of the SHA3 extension. With a type, puts the result and the token in a value of it.
macro_rules! neon {
    ($proof:ident: $token:expr, $expression:expr) => {{
        let _: $crate::backend::neon::$proof = $token;
        // SAFETY: the token proves the features, which is all that an intrinsic without a pointer asks.
        unsafe { $expression }
    }};
    ($proof:ident: $token:expr, $type:ident, $expression:expr) => {
        $type(neon!($proof: $token, $expression), $token)
    };
    ($token:expr, $($rest:tt)*) => {
        neon!(Neon: $token, $($rest)*)
    };
}

mod accepted;
mod keccak;
mod memory;
mod packing;

use core::arch::aarch64::*;

use self::accepted::{KEPT_BITS, halves, kept, kept_first, store_sixteen};
use self::packing::{Pack, Unpack};
use super::{first, first_mut, kernels};
use crate::kernels::lanes::{Lanes, Map, Q_INVERSE, Transform};
use crate::kernels::poly::Poly;
use crate::kernels::sampling::Rejection;
use crate::kernels::sixteen::{self, Sixteen};
use crate::kernels::small::ByteLanes;
use crate::params::{N, Parameters, Q};

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
            let has_sha3 = cpu_has_sha3::get();
            Neon::detect().filter(|_| has_sha3).map(NeonSha3)
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

/// Four coefficients and the token that proves NEON.
#[derive(Clone, Copy)]
pub(crate) struct I32x4(int32x4_t, Neon);

impl Lanes for I32x4 {
    type Token = Neon;
    type Wide = (int64x2_t, int64x2_t, Neon);
    const COUNT: usize = 4;

    #[inline(always)]
    fn splat(token: Neon, value: i32) -> Self {
        neon!(token, I32x4, vdupq_n_s32(value))
    }
    #[inline(always)]
    fn load(token: Neon, from: &[i32]) -> Self {
        let values = memory::load(token, first::<_, 4>(from));
        neon!(token, I32x4, vreinterpretq_s32_u8(values))
    }
    #[inline(always)]
    fn store(self, to: &mut [i32]) {
        let bytes = neon!(self.1, vreinterpretq_u8_s32(self.0));
        memory::store(self.1, bytes, first_mut::<_, 4>(to));
    }
    #[inline(always)]
    fn add(self, other: Self) -> Self {
        neon!(self.1, I32x4, vaddq_s32(self.0, other.0))
    }
    #[inline(always)]
    fn sub(self, other: Self) -> Self {
        neon!(self.1, I32x4, vsubq_s32(self.0, other.0))
    }
    #[inline(always)]
    fn mul_low(self, other: Self) -> Self {
        neon!(self.1, I32x4, vmulq_s32(self.0, other.0))
    }
    #[inline(always)]
    fn and(self, other: Self) -> Self {
        neon!(self.1, I32x4, vandq_s32(self.0, other.0))
    }
    #[inline(always)]
    fn or(self, other: Self) -> Self {
        neon!(self.1, I32x4, vorrq_s32(self.0, other.0))
    }
    #[inline(always)]
    fn shift_right<const BITS: i32>(self) -> Self {
        neon!(self.1, I32x4, vshrq_n_s32::<BITS>(self.0))
    }
    #[inline(always)]
    fn greater(self, other: Self) -> Self {
        neon!(
            self.1,
            I32x4,
            vreinterpretq_s32_u32(vcgtq_s32(self.0, other.0))
        )
    }
    #[inline(always)]
    fn abs(self) -> Self {
        neon!(self.1, I32x4, vabsq_s32(self.0))
    }
    #[inline(always)]
    fn any(self) -> bool {
        neon!(self.1, vmaxvq_u32(vreinterpretq_u32_s32(self.0)) != 0)
    }

    /// With p = self·other and m = the multiplier of q, 2p ≡ 2mq modulo 2^33, so the difference of the
    /// doubled high halves is exact and even. No saturation: |q|, |other| < 2^31.
    #[inline(always)]
    fn montgomery(self, other: Self) -> Self {
        neon!(self.1, I32x4, {
            let high = vqdmulhq_s32(self.0, other.0);
            let multiplier = vmulq_s32(self.mul_low(other).0, vdupq_n_s32(Q_INVERSE));
            let multiple = vqdmulhq_s32(multiplier, vdupq_n_s32(Q));
            vhsubq_s32(high, multiple)
        })
    }
    #[inline(always)]
    fn wide_zero(token: Neon) -> Self::Wide {
        neon!(token, (vdupq_n_s64(0), vdupq_n_s64(0), token))
    }
    #[inline(always)]
    fn wide_add((low, high, token): Self::Wide, a: Self, b: Self) -> Self::Wide {
        neon!(token, {
            let low = vmlal_s32(low, vget_low_s32(a.0), vget_low_s32(b.0));
            (low, vmlal_high_s32(high, a.0, b.0), token)
        })
    }
    #[inline(always)]
    fn wide_sub((low, high, token): Self::Wide, a: Self, b: Self) -> Self::Wide {
        neon!(token, {
            let low = vmlsl_s32(low, vget_low_s32(a.0), vget_low_s32(b.0));
            (low, vmlsl_high_s32(high, a.0, b.0), token)
        })
    }
    #[inline(always)]
    fn wide_reduce((low, high, token): Self::Wide) -> Self {
        neon!(token, I32x4, {
            let low_halves = vuzp1q_s32(vreinterpretq_s32_s64(low), vreinterpretq_s32_s64(high));
            let multiplier = vmulq_s32(low_halves, vdupq_n_s32(Q_INVERSE));
            let q = vdupq_n_s32(Q);
            let low = vmlsl_s32(low, vget_low_s32(multiplier), vget_low_s32(q));
            let high = vmlsl_high_s32(high, multiplier, q);
            vuzp2q_s32(vreinterpretq_s32_s64(low), vreinterpretq_s32_s64(high))
        })
    }

    #[inline(always)]
    fn from_triples(token: Neon, from: &[u8]) -> Self {
        const PLACES: [u8; 16] = [0, 1, 2, 255, 3, 4, 5, 255, 6, 7, 8, 255, 9, 10, 11, 255];
        let mut bytes = [0; 16];
        bytes[..12].copy_from_slice(&from[..12]);
        let (bytes, places) = (memory::load(token, &bytes), memory::load(token, &PLACES));
        neon!(token, I32x4, {
            let values = vreinterpretq_s32_u8(vqtbl1q_u8(bytes, places));
            vandq_s32(values, vdupq_n_s32(0x7f_ffff))
        })
    }
    #[inline(always)]
    fn from_bytes(token: Neon, from: &[u8]) -> Self {
        let word = u32::from_le_bytes([from[0], from[1], from[2], from[3]]);
        neon!(token, I32x4, {
            let sixteen = vget_low_u16(vmovl_u8(vcreate_u8(word.into())));
            vreinterpretq_s32_u32(vmovl_u16(sixteen))
        })
    }
    #[inline(always)]
    fn from_halves(token: Neon, from: &[u8], at: usize) -> Self {
        const SHIFTS: [i32; 4] = [0, -4, -8, -12];
        let word = u32::from(from[at / 2]) | u32::from(from[at / 2 + 1]) << 8;
        let shifts = memory::load(token, &SHIFTS);
        neon!(token, I32x4, {
            let halves = vshlq_u32(vdupq_n_u32(word), vreinterpretq_s32_u8(shifts));
            let halves = vandq_u32(halves, vdupq_n_u32(15));
            vreinterpretq_s32_u32(halves)
        })
    }
    #[inline(always)]
    fn from_bits<const BITS: u32>(token: Neon, from: &[u8], at: usize) -> Self {
        Self::from_any_bits::<BITS>(token, from, at)
    }
    #[inline(always)]
    fn from_any_bits<const BITS: u32>(token: Neon, from: &[u8], at: usize) -> Self {
        let start = at * BITS as usize / 8;
        let odd = if BITS.is_multiple_of(2) {
            0
        } else {
            at / 4 % 2
        };
        let (places, shifts) = const { &(Unpack::<BITS>::PLACES, Unpack::<BITS>::SHIFTS) };
        let (places, shifts) = (&places[odd], &shifts[odd]);
        let from = memory::load(token, first::<_, 16>(&from[start..]));
        let (places, shifts) = (memory::load(token, places), memory::load(token, shifts));
        neon!(token, I32x4, {
            let words = vreinterpretq_u32_u8(vqtbl1q_u8(from, places));
            let values = vshlq_u32(words, vreinterpretq_s32_u8(shifts));
            let values = vandq_u32(values, vdupq_n_u32((1 << BITS) - 1));
            vreinterpretq_s32_u32(values)
        })
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
        let bits = memory::load(self.1, &KEPT_BITS);
        let kept = neon!(self.1, {
            let bits = vandq_u32(vreinterpretq_u32_s32(keep.0), vreinterpretq_u32_u8(bits));
            vaddvq_u32(bits) as usize
        });
        kept_first(self, kept).store(to);
        kept >> 4
    }
}

impl Sixteen for I32x4 {
    #[inline(always)]
    fn store_triples(token: Neon, from: &[u8], to: &mut [i32]) -> usize {
        let uint8x16x3_t(low, middle, high) = memory::load_triples(token, first::<_, 48>(from));
        neon!(token, {
            let high = vandq_u8(high, vdupq_n_u8(127));
            let zero = vdupq_n_u8(0);
            let pairs = [vzip1q_u8(low, middle), vzip2q_u8(low, middle)];
            let tops = [vzip1q_u8(high, zero), vzip2q_u8(high, zero)];
            let zip1 = |i: usize| {
                let (pairs, tops) = (
                    vreinterpretq_s16_u8(pairs[i]),
                    vreinterpretq_s16_u8(tops[i]),
                );
                I32x4(vreinterpretq_s32_s16(vzip1q_s16(pairs, tops)), token)
            };
            let zip2 = |i: usize| {
                let (pairs, tops) = (
                    vreinterpretq_s16_u8(pairs[i]),
                    vreinterpretq_s16_u8(tops[i]),
                );
                I32x4(vreinterpretq_s32_s16(vzip2q_s16(pairs, tops)), token)
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
            store_sixteen(values, kept(token, keep), to)
        })
    }

    #[inline(always)]
    fn accepted_halves(token: Neon, from: &[u8], refused: u8) -> u32 {
        let halves = halves(token, from);
        kept(token, neon!(token, vcltq_u8(halves, vdupq_n_u8(refused))))
    }
    #[inline(always)]
    fn store_halves(
        token: Neon,
        from: &[u8],
        coefficients: &[i8; 16],
        accepted: u32,
        to: &mut [i32],
    ) -> usize {
        let (coefficients, halves) = (memory::load(token, coefficients), halves(token, from));
        neon!(token, {
            let values = vreinterpretq_s8_u8(vqtbl1q_u8(coefficients, halves));
            let pairs = [vmovl_s8(vget_low_s8(values)), vmovl_high_s8(values)];
            let values = [
                I32x4(vmovl_s16(vget_low_s16(pairs[0])), token),
                I32x4(vmovl_high_s16(pairs[0]), token),
                I32x4(vmovl_s16(vget_low_s16(pairs[1])), token),
                I32x4(vmovl_high_s16(pairs[1]), token),
            ];
            store_sixteen(values, accepted, to)
        })
    }
}

impl Rejection for I32x4 {
    #[inline(always)]
    fn accept_triples(token: Neon, p: &mut Poly, filled: usize, bytes: &[u8]) -> usize {
        sixteen::accept_triples::<Self>(token, p, filled, bytes)
    }
    #[inline(always)]
    fn accept_halves<P: Parameters>(
        token: Neon,
        p: &mut Poly,
        filled: usize,
        bytes: &[u8],
    ) -> usize {
        sixteen::accept_halves::<P, Self>(token, p, filled, bytes)
    }
}

impl Transform for I32x4 {
    const BARRETT: bool = true;
    const MIXED: bool = false;

    /// One load for both, from which each product takes the entry that it needs. The compiler must not
    /// know the table's values: it would make each of them by three instructions wherever a loop uses it.
    #[inline(always)]
    fn splat_pair<const LENGTH: usize>(
        token: Neon,
        table: &'static [[i32; 2]; LENGTH],
        at: usize,
    ) -> (Self, Self) {
        let mut table = core::ptr::from_ref(table);
        // SAFETY: the assembly is a comment that names the register of `table`, which still points to the table.
        let table = unsafe {
            core::arch::asm!("/* {} */", inout(reg) table, options(pure, nomem, nostack, preserves_flags));
            &*table
        };
        let pair = memory::load_half(token, &table[at]);
        neon!(token, {
            let pair = vreinterpret_s32_u8(pair);
            (
                I32x4(vdupq_lane_s32::<0>(pair), token),
                I32x4(vdupq_lane_s32::<1>(pair), token),
            )
        })
    }
    /// The error of the quotient self·c / q is |self| / 2^32 < 1/2 from rounding the companion, and at most 1/2
    /// from `vqrdmulh`. So the remainder is below q in magnitude, and arithmetic modulo 2^32 gives it exactly.
    /// No saturation: |companion| < 2^30.
    #[inline(always)]
    fn times(self, [constant, companion]: [Self; 2], _: [Self; 2]) -> Self {
        neon!(self.1, I32x4, {
            let product = vmulq_s32(self.0, constant.0);
            let quotient = vqrdmulhq_s32(self.0, companion.0);
            vmlsq_s32(product, quotient, vdupq_n_s32(Q))
        })
    }
    #[inline(always)]
    fn exchange<const HOP: usize>(a: Self, b: Self) -> (Self, Self) {
        let token = a.1;
        neon!(token, {
            let (a, b) = if HOP == 2 {
                let (a, b) = (vreinterpretq_s64_s32(a.0), vreinterpretq_s64_s32(b.0));
                let (a, b) = (vtrn1q_s64(a, b), vtrn2q_s64(a, b));
                (vreinterpretq_s32_s64(a), vreinterpretq_s32_s64(b))
            } else {
                (vtrn1q_s32(a.0, b.0), vtrn2q_s32(a.0, b.0))
            };
            (I32x4(a, token), I32x4(b, token))
        })
    }
}

/// 16 bytes and the token.
#[derive(Clone, Copy)]
pub(crate) struct U8x16(uint8x16_t, Neon);

impl ByteLanes for U8x16 {
    type Token = Neon;
    const COUNT: usize = 16;
    #[inline(always)]
    fn zero(token: Neon) -> Self {
        neon!(token, U8x16, vdupq_n_u8(0))
    }
    #[inline(always)]
    fn add(self, from: &[u8]) -> Self {
        let more = memory::load(self.1, first::<_, 16>(from));
        neon!(self.1, U8x16, vaddq_u8(self.0, more))
    }
    #[inline(always)]
    fn store(self, to: &mut [u8]) {
        memory::store(self.1, self.0, first_mut::<_, 16>(to));
    }
}
