//! Four coefficients in 128-bit registers. Of four Keccak states two are in such registers and two in
//! integer registers beside them, once with plain NEON and once with the SHA3 extension.

// The SHA3 intrinsics are called from methods that lack the feature and are inlined into entry
// points that have it; after that the compiler inlines the intrinsics too.
#![allow(inline_always_mismatching_target_features, unknown_lints)]

use core::arch::aarch64::*;

use super::{engine_from_kernels, method};
use crate::kernels::keccak::{States, Words, permute_beside_two};
use crate::kernels::lanes::{Lanes, Map, Q_INVERSE};
use crate::kernels::poly::Poly;
use crate::kernels::sampling::Permute;
use crate::kernels::small::{ByteLanes, Offsets, SmallPoly};
use crate::kernels::{ntt, pointwise, rounding, sampling, small};
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

engine_from_kernels!(Neon, lanes I32x4, bytes U8x16, states 4, target_feature(enable = "neon"));
engine_from_kernels!(NeonSha3, lanes I32x4, bytes U8x16, states 4, target_feature(enable = "neon"));

/// Calls intrinsics on registers, none that takes a pointer. Each use stands in a method of a type whose
/// values prove the feature, or has the token at hand.
macro_rules! neon {
    ($expression:expr) => {
        // SAFETY: a value of this type, or the token, exists only where the feature does, which is all
        // that an intrinsic without a pointer asks.
        unsafe { $expression }
    };
}

/// The permutations of four states: the first two in `$words`, the other two in integer registers. Loops in
/// place of closures, which would not all be inlined.
macro_rules! permute_entry {
    ($engine:ty, $words:ident, $feature:meta) => {
        impl Permute<4> for $engine {
            #[inline]
            fn permute(self, states: &mut States<4>) {
                #[$feature]
                fn entry(states: &mut [[u64; 4]; 25]) {
                    let mut pair = [$words(vdupq_n_u64(0)); 25];
                    let [mut a, mut b] = [[0; 25]; 2];
                    for (i, row) in states.iter().enumerate() {
                        // SAFETY: `row` is 32 readable bytes.
                        pair[i] = $words(unsafe { vld1q_u64(row.as_ptr()) });
                        (a[i], b[i]) = (row[2], row[3]);
                    }
                    permute_beside_two(&mut pair, [&mut a, &mut b]);
                    for (i, row) in states.iter_mut().enumerate() {
                        // SAFETY: `row` is 32 writable bytes.
                        unsafe { vst1q_u64(row.as_mut_ptr(), pair[i].0) };
                        (row[2], row[3]) = (a[i], b[i]);
                    }
                }
                // SAFETY: `self` proves the feature.
                unsafe { entry(&mut states.0) }
            }
        }
    };
}
permute_entry!(Neon, U64x2, target_feature(enable = "neon"));
permute_entry!(NeonSha3, U64x2Sha3, target_feature(enable = "neon,sha3"));

/// Four coefficients. Made only from a [`Neon`] token or from other values of this type.
#[derive(Clone, Copy)]
pub(crate) struct I32x4(int32x4_t);

/// For each mask of four lanes, the bytes of the lanes in it, in order.
const KEPT_FIRST: &[[u8; 16]; 16] = &{
    let mut table = [[0; 16]; 16];
    let mut mask = 0;
    while mask < 16 {
        let (mut lane, mut place) = (0, 0);
        while lane < 4 {
            if mask >> lane & 1 == 1 {
                let mut byte = 0;
                while byte < 4 {
                    table[mask][4 * place + byte] = (4 * lane + byte) as u8;
                    byte += 1;
                }
                place += 1;
            }
            lane += 1;
        }
        mask += 1;
    }
    table
};

/// A lane's bit in a mask of four; in the bits above, a one for the number of lanes.
const KEPT_BITS: [u32; 4] = [0x11, 0x12, 0x14, 0x18];

/// The lanes of a mask, with bits above it that are ignored, in order; then anything.
#[inline(always)]
fn kept_first(values: I32x4, mask: usize) -> I32x4 {
    // SAFETY: `values` proves NEON; an entry of the table is 16 readable bytes.
    unsafe {
        let places = vld1q_u8(KEPT_FIRST[mask & 15].as_ptr());
        let packed = vqtbl1q_u8(vreinterpretq_u8_s32(values.0), places);
        I32x4(vreinterpretq_s32_u8(packed))
    }
}

/// For each four of 16 bytes of zeros or ones, a byte of [`KEPT_BITS`]' form.
///
/// # Safety
/// The CPU has NEON.
#[inline(always)]
unsafe fn kept(keep: uint8x16_t) -> u32 {
    neon!({
        let bits = vreinterpretq_u8_u32(vdupq_n_u32(0x1814_1211));
        let fours = vandq_u8(keep, bits);
        let pairs = vpaddq_u8(fours, fours);
        let sums = vpaddq_u8(pairs, pairs);
        vgetq_lane_u32::<0>(vreinterpretq_u32_u8(sums))
    })
}

/// The half-bytes of the first eight bytes, each in a byte, the low half of a byte first.
///
/// # Safety
/// The CPU has NEON.
#[inline(always)]
unsafe fn halves(from: &[u8]) -> uint8x16_t {
    let from = &from[..8];
    // SAFETY: the caller proves NEON; `from` is 8 readable bytes.
    unsafe {
        let bytes = vld1_u8(from.as_ptr());
        let (low, high) = (vand_u8(bytes, vdup_n_u8(15)), vshr_n_u8::<4>(bytes));
        vcombine_u8(vzip1_u8(low, high), vzip2_u8(low, high))
    }
}

/// [`Lanes::store_kept`] of four times four lanes, by what [`kept`] says of them.
#[inline(always)]
fn store_sixteen(values: [I32x4; 4], kept: u32, to: &mut [i32]) -> usize {
    let to = &mut to[..16];
    let mut count = 0;
    for (values, kept) in values.into_iter().zip(kept.to_le_bytes()) {
        kept_first(values, usize::from(kept)).store(&mut to[count..]);
        count += usize::from(kept >> 4);
    }
    count
}

/// How four values of `BITS` bits lie in a string, of which the first begins with a byte (0) or, where
/// `BITS` is odd, in the middle of one (1).
struct Unpack<const BITS: u32>;

impl<const BITS: u32> Unpack<BITS> {
    const fn bit(odd: usize, lane: usize) -> usize {
        odd * (4 * BITS as usize % 8) + lane * BITS as usize
    }

    /// The four bytes from the one that holds a value's first bit on: 25 bits at least.
    const PLACES: [[u8; 16]; 2] = {
        assert!(BITS <= 25);
        let mut places = [[0; 16]; 2];
        let mut i = 0;
        while i < 32 {
            places[i / 16][i % 16] = (Self::bit(i / 16, i % 16 / 4) / 8 + i % 4) as u8;
            i += 1;
        }
        places
    };

    /// To the left, so less than 0.
    const SHIFTS: [[i32; 4]; 2] = {
        let mut shifts = [[0; 4]; 2];
        let mut i = 0;
        while i < 8 {
            shifts[i / 4][i % 4] = -((Self::bit(i / 4, i % 4) % 8) as i32);
            i += 1;
        }
        shifts
    };
}

/// How a few values of `BITS` bits become a string of whole bytes, by way of two words of 64 bits.
struct Pack<const BITS: usize>;

impl<const BITS: usize> Pack<BITS> {
    /// Values of a string.
    const COUNT: usize = match BITS {
        0..=8 => 16,
        9..=16 => 8,
        _ => 4,
    };
    /// Bytes of it.
    const BYTES: usize = Self::COUNT * BITS / 8;
    /// Bits of a word.
    const WORD: usize = Self::COUNT / 2 * BITS;
    /// Where the string's bytes are: in the first word, or, if it ends with a whole byte, in both; then
    /// in the second, shifted by half a byte.
    const PLACES: [[u8; 16]; 2] = {
        let mut places = [[0xff; 16]; 2];
        let mut i = 0;
        while i < Self::BYTES {
            if i < Self::WORD.div_ceil(8) {
                places[0][i] = i as u8;
            }
            if i >= Self::WORD / 8 {
                let half = if Self::WORD.is_multiple_of(8) { 0 } else { 1 };
                places[half][i] = (8 + i - Self::WORD / 8) as u8;
            }
            i += 1;
        }
        places
    };

    /// Packs all of `p`, of which a value is `top` less what goes into the string if `BELOW`.
    #[inline(always)]
    fn write<const BELOW: bool>(token: Neon, p: &[i32; N], top: i32, to: &mut [u8]) {
        let top = I32x4::splat(token, top);
        for i in 0..N / Self::COUNT {
            let load = |at: usize| {
                let values = I32x4::load(token, &p[Self::COUNT * i + 4 * at..]);
                if BELOW { top.sub(values) } else { values }
            };
            let string = Self::string(load);
            let to = &mut to[Self::BYTES * i..];
            // Zeros past the string are overwritten by the next.
            match to.first_chunk_mut() {
                Some(to) => *to = string,
                None => to[..Self::BYTES].copy_from_slice(&string[..Self::BYTES]),
            }
        }
    }

    /// The string of the values that `load` gives, four at a time, and zeros.
    #[inline(always)]
    fn string(load: impl Fn(usize) -> I32x4) -> [u8; 16] {
        let narrow = |at: usize| {
            let (a, b) = (load(at), load(at + 1));
            neon!(vuzp1q_u16(
                vreinterpretq_u16_s32(a.0),
                vreinterpretq_u16_s32(b.0)
            ))
        };
        // Each step puts two neighbours together.
        neon!({
            let bits = |steps: i64| (BITS as i64) << steps;
            let fours = match Self::COUNT {
                4 => vreinterpretq_u32_s32(load(0).0),
                8 => {
                    let all = vreinterpretq_u32_u16(narrow(0));
                    let high = vshlq_u32(vshrq_n_u32::<16>(all), vdupq_n_s32(BITS as i32));
                    vorrq_u32(vandq_u32(all, vdupq_n_u32(0xffff)), high)
                }
                _ => {
                    let (a, b) = (narrow(0), narrow(2));
                    let all = vuzp1q_u8(vreinterpretq_u8_u16(a), vreinterpretq_u8_u16(b));
                    let all = vreinterpretq_u16_u8(all);
                    let high = vshlq_u16(vshrq_n_u16::<8>(all), vdupq_n_s16(BITS as i16));
                    let all = vorrq_u16(vandq_u16(all, vdupq_n_u16(0xff)), high);
                    let all = vreinterpretq_u32_u16(all);
                    let high = vshlq_u32(vshrq_n_u32::<16>(all), vdupq_n_s32(bits(1) as i32));
                    vorrq_u32(vandq_u32(all, vdupq_n_u32(0xffff)), high)
                }
            };
            let steps = Self::COUNT.trailing_zeros() - 2;
            let all = vreinterpretq_u64_u32(fours);
            let high = vshlq_u64(vshrq_n_u64::<32>(all), vdupq_n_s64(bits(i64::from(steps))));
            let words = vorrq_u64(vandq_u64(all, vdupq_n_u64(0xffff_ffff)), high);
            let [first, second] = const { &Self::PLACES };
            let mut bytes = vqtbl1q_u8(vreinterpretq_u8_u64(words), vld1q_u8(first.as_ptr()));
            if !Self::WORD.is_multiple_of(8) {
                let words = vreinterpretq_u8_u64(vshlq_n_u64::<4>(words));
                bytes = vorrq_u8(bytes, vqtbl1q_u8(words, vld1q_u8(second.as_ptr())));
            }
            let mut string = [0; 16];
            vst1q_u8(string.as_mut_ptr(), bytes);
            string
        })
    }
}

impl Lanes for I32x4 {
    type Token = Neon;
    type Wide = (int64x2_t, int64x2_t);
    const COUNT: usize = 4;

    #[inline(always)]
    fn splat(_: Neon, value: i32) -> Self {
        neon!(I32x4(vdupq_n_s32(value)))
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

    #[inline(always)]
    fn montgomery(self, other: Self) -> Self {
        let constant_q_inverse = other.mul_low(neon!(I32x4(vdupq_n_s32(Q_INVERSE))));
        self.montgomery_by(other, constant_q_inverse)
    }
    /// With p = self·constant and m = the multiplier of q, 2p ≡ 2mq modulo 2^33, so the difference
    /// of the doubled high halves is exact and even. No saturation: |q|, |constant| < 2^31.
    #[inline(always)]
    fn montgomery_by(self, constant: Self, constant_q_inverse: Self) -> Self {
        neon!({
            let high = vqdmulhq_s32(self.0, constant.0);
            let multiplier = vmulq_s32(self.0, constant_q_inverse.0);
            let multiple = vqdmulhq_s32(multiplier, vdupq_n_s32(Q));
            I32x4(vhsubq_s32(high, multiple))
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
    fn transpose(block: &mut [Self; 16]) {
        neon!({
            let [a, b, c, d] = [block[0].0, block[1].0, block[2].0, block[3].0];
            let pairs = [
                vreinterpretq_s64_s32(vtrn1q_s32(a, b)),
                vreinterpretq_s64_s32(vtrn2q_s32(a, b)),
                vreinterpretq_s64_s32(vtrn1q_s32(c, d)),
                vreinterpretq_s64_s32(vtrn2q_s32(c, d)),
            ];
            block[0] = I32x4(vreinterpretq_s32_s64(vtrn1q_s64(pairs[0], pairs[2])));
            block[1] = I32x4(vreinterpretq_s32_s64(vtrn1q_s64(pairs[1], pairs[3])));
            block[2] = I32x4(vreinterpretq_s32_s64(vtrn2q_s64(pairs[0], pairs[2])));
            block[3] = I32x4(vreinterpretq_s32_s64(vtrn2q_s64(pairs[1], pairs[3])));
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

/// One word of each of two Keccak states. Made only inside functions that have NEON.
#[derive(Clone, Copy)]
struct U64x2(uint64x2_t);

impl Words for U64x2 {
    #[inline(always)]
    fn xor(self, other: Self) -> Self {
        neon!(U64x2(veorq_u64(self.0, other.0)))
    }
    #[inline(always)]
    fn xor_constant(self, constant: u64) -> Self {
        neon!(U64x2(veorq_u64(self.0, vdupq_n_u64(constant))))
    }
    #[inline(always)]
    fn rotate_left<const LEFT: i32, const RIGHT: i32>(self) -> Self {
        neon!(U64x2(vsriq_n_u64::<RIGHT>(
            vshlq_n_u64::<LEFT>(self.0),
            self.0
        )))
    }
    #[inline(always)]
    fn chi(self, b: Self, c: Self) -> Self {
        neon!(U64x2(veorq_u64(self.0, vbicq_u64(c.0, b.0))))
    }
}

/// The same with the SHA3 extension. Made only inside functions that have it.
#[derive(Clone, Copy)]
struct U64x2Sha3(uint64x2_t);

/// Whether all vector units have the extension's instructions, as Apple's cores do. Arm's have them in one
/// unit of two or four, which is busy enough with the rotations (docs/arm.md).
const EVERYWHERE: bool = cfg!(target_vendor = "apple");

impl Words for U64x2Sha3 {
    #[inline(always)]
    fn xor(self, other: Self) -> Self {
        neon!(U64x2Sha3(veorq_u64(self.0, other.0)))
    }
    #[inline(always)]
    fn xor_constant(self, constant: u64) -> Self {
        neon!(U64x2Sha3(veorq_u64(self.0, vdupq_n_u64(constant))))
    }
    #[inline(always)]
    fn rotate_left<const LEFT: i32, const RIGHT: i32>(self) -> Self {
        neon!(U64x2Sha3(vxarq_u64::<RIGHT>(self.0, vdupq_n_u64(0))))
    }
    #[inline(always)]
    fn chi(self, b: Self, c: Self) -> Self {
        neon!(U64x2Sha3(if EVERYWHERE {
            vbcaxq_u64(self.0, c.0, b.0)
        } else {
            // Not as BCAX, which the compiler would make of it.
            vbslq_u64(b.0, self.0, veorq_u64(self.0, c.0))
        }))
    }
    #[inline(always)]
    fn xor5(self, b: Self, c: Self, d: Self, e: Self) -> Self {
        if !EVERYWHERE {
            return self.xor(b).xor(c.xor(d)).xor(e);
        }
        neon!(U64x2Sha3(veor3q_u64(
            veor3q_u64(self.0, b.0, c.0),
            d.0,
            e.0
        )))
    }
    #[inline(always)]
    fn xor_rotated_once(self, other: Self) -> Self {
        neon!(U64x2Sha3(if EVERYWHERE {
            vrax1q_u64(self.0, other.0)
        } else {
            veorq_u64(
                self.0,
                vsriq_n_u64::<63>(vshlq_n_u64::<1>(other.0), other.0),
            )
        }))
    }
    #[inline(always)]
    fn xor_then_rotate<const LEFT: i32, const RIGHT: i32>(self, other: Self) -> Self {
        neon!(U64x2Sha3(vxarq_u64::<RIGHT>(self.0, other.0)))
    }
}
