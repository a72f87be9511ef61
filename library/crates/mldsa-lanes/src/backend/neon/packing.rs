//! Coefficients to strings of bits and back. The places of bytes and the shifts follow from the width, so they
//! are computed when the code is compiled.

use core::arch::aarch64::*;

use super::{I32x4, Neon, memory};
use crate::kernels::lanes::Lanes;
use crate::params::N;

/// How four values of `BITS` bits lie in a string, of which the first begins with a byte (0) or, where
/// `BITS` is odd, in the middle of one (1).
pub(super) struct Unpack<const BITS: u32>;

impl<const BITS: u32> Unpack<BITS> {
    const fn bit(odd: usize, lane: usize) -> usize {
        odd * (4 * BITS as usize % 8) + lane * BITS as usize
    }

    /// The four bytes from the one that holds a value's first bit on: 25 bits at least.
    pub(super) const PLACES: [[u8; 16]; 2] = {
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
    pub(super) const SHIFTS: [[i32; 4]; 2] = {
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
pub(super) struct Pack<const BITS: usize>;

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
    pub(super) const PLACES: [[u8; 16]; 2] = {
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
    pub(super) fn write<const BELOW: bool>(token: Neon, p: &[i32; N], top: i32, to: &mut [u8]) {
        let top = I32x4::splat(token, top);
        for i in 0..N / Self::COUNT {
            let load = |at: usize| {
                let values = I32x4::load(token, &p[Self::COUNT * i + 4 * at..]);
                if BELOW { top.sub(values) } else { values }
            };
            let string = Self::string(token, load);
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
    fn string(token: Neon, load: impl Fn(usize) -> I32x4) -> [u8; 16] {
        let narrow = |at: usize| {
            let (a, b) = (load(at), load(at + 1));
            neon!(
                token,
                vuzp1q_u16(vreinterpretq_u16_s32(a.0), vreinterpretq_u16_s32(b.0))
            )
        };
        // Each step puts two neighbours together.
        let bytes = neon!(token, {
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
            let (first, second) = (memory::load(token, first), memory::load(token, second));
            let mut bytes = vqtbl1q_u8(vreinterpretq_u8_u64(words), first);
            if !Self::WORD.is_multiple_of(8) {
                let words = vreinterpretq_u8_u64(vshlq_n_u64::<4>(words));
                bytes = vorrq_u8(bytes, vqtbl1q_u8(words, second));
            }
            bytes
        });
        let mut string = [0; 16];
        memory::store(token, bytes, &mut string);
        string
    }
}
