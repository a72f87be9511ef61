//! Sixteen coefficients, or eight Keccak states, in 512-bit registers; once for every CPU with
//! AVX-512 and once for those with VBMI too, which differ in how bytes come into lanes.

mod lanes;
mod unpack;

use core::arch::x86_64::*;

use super::{engine_from_kernels, method};
use crate::kernels::keccak::{Permutation, States, Words, permute, permute_beside};
use crate::kernels::poly::Poly;
use crate::kernels::sampling::Permute;
use crate::kernels::small::{ByteLanes, Offsets, SmallPoly};
use crate::kernels::{ntt, pointwise, rounding, sampling, small};
use crate::params::Parameters;
use lanes::I32x16;
use unpack::Unpack;

// What every CPU with AVX-512 BW has; asking for all makes the entry points sound by themselves. DQ
// is left out on purpose: with it LLVM turns the Montgomery product's multiplication by a constant,
// whose low half alone is used, into `vpmullq`, which costs three multiplications.
cpufeatures::new!(
    cpu_has_avx512,
    "avx2",
    "fma",
    "popcnt",
    "bmi1",
    "bmi2",
    "avx512f",
    "avx512bw"
);
cpufeatures::new!(cpu_has_vbmi, "avx512vbmi", "avx512vbmi2");

/// Proof that this CPU has AVX-512 F and BW.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Avx512(());

/// Proof that this CPU has these and VBMI and VBMI2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Avx512Vbmi(());

impl Avx512 {
    pub(crate) fn detect() -> Option<Self> {
        cpu_has_avx512::get().then_some(Avx512(()))
    }

    #[inline(always)]
    fn lane_token(self) -> Self {
        self
    }
}

impl Avx512Vbmi {
    pub(crate) fn detect() -> Option<Self> {
        (cpu_has_avx512::get() && cpu_has_vbmi::get()).then_some(Avx512Vbmi(()))
    }

    #[inline(always)]
    fn lane_token(self) -> Self {
        self
    }
}

engine_from_kernels!(Avx512, lanes I32x16<Avx512>, bytes U8x64<Avx512>, states 8,
    target_feature(enable = "avx512f,avx512bw,popcnt,bmi1,bmi2"));
engine_from_kernels!(Avx512Vbmi, lanes I32x16<Avx512Vbmi>, bytes U8x64<Avx512Vbmi>, states 8,
    target_feature(enable = "avx512f,avx512bw,avx512vbmi,avx512vbmi2,popcnt,bmi1,bmi2"));

/// Calls intrinsics; each use stands in a method of a type whose values prove AVX-512, or has the
/// token at hand.
macro_rules! avx512 {
    ($expression:expr) => {
        // SAFETY: a value of this type, or the token, exists only where AVX-512 was detected.
        unsafe { $expression }
    };
}
use avx512;

/// What Keccak asks of `$engine`.
macro_rules! permute_eight {
    ($engine:ty) => {
        impl Permute<8> for $engine {
            #[inline]
            fn permute(self, states: &mut States<8>) {
                #[target_feature(enable = "avx512f")]
                fn entry(states: &mut [[u64; 8]; 25]) {
                    let mut words = load_states(states);
                    permute(&mut words);
                    store_states(&words, states);
                }
                // SAFETY: `self` proves AVX-512.
                unsafe { entry(&mut states.0) }
            }

            #[inline]
            fn permutation(self) -> Permutation {
                self.avx2().permutation()
            }

            #[inline]
            fn permute_beside(self, states: &mut States<8>, one: &mut [u64; 25]) {
                #[target_feature(enable = "avx512f,bmi1,bmi2")]
                fn entry(states: &mut [[u64; 8]; 25], one: &mut [u64; 25]) {
                    let mut words = load_states(states);
                    permute_beside(&mut words, one);
                    store_states(&words, states);
                }
                // SAFETY: `self` proves AVX-512, BMI1 and BMI2.
                unsafe { entry(&mut states.0, one) }
            }

            #[inline(always)]
            fn copy_block<const LEN: usize>(
                self,
                states: &States<8>,
                rate: usize,
                out: &mut [[u8; LEN]],
                at: usize,
            ) {
                // SAFETY: `self` proves AVX-512.
                unsafe { copy_block(states, rate, out, at) }
            }
        }
    };
}
permute_eight!(Avx512);
permute_eight!(Avx512Vbmi);

/// [`crate::kernels::keccak::copy_block`], eight words of eight lanes at a time: words at a lane's
/// stride cost a store each. The last eight have words past the rate, which a mask keeps back; the
/// state has as many, as no rate passes 24 words.
///
/// # Safety
/// The CPU has AVX-512.
#[inline(always)]
unsafe fn copy_block<const LEN: usize>(
    states: &States<8>,
    rate: usize,
    out: &mut [[u8; LEN]],
    at: usize,
) {
    let words = rate / 8;
    for (eight, rows) in states.0.as_chunks::<8>().0.iter().enumerate() {
        let count = words.saturating_sub(8 * eight).min(8);
        // SAFETY: the caller has AVX-512; each row is 64 readable bytes.
        let lanes =
            unsafe { transpose_words(rows.map(|row| _mm512_loadu_si512(row.as_ptr().cast()))) };
        let from = at + 64 * eight;
        for (lane, bytes) in lanes.into_iter().zip(&mut *out) {
            let to = &mut bytes[from..from + 8 * count];
            let mask = ((1u32 << count) - 1) as u8;
            // SAFETY: the caller has AVX-512; the mask keeps the store within `to`.
            unsafe { _mm512_mask_storeu_epi64(to.as_mut_ptr().cast(), mask, lane) }
        }
    }
}

/// Transposes 8 × 8 words.
///
/// # Safety
/// The CPU has AVX-512.
#[inline(always)]
unsafe fn transpose_words(r: [__m512i; 8]) -> [__m512i; 8] {
    // SAFETY: the caller has AVX-512.
    unsafe {
        // Part `l` of `pairs[2 * g + c]` is column 2·l + c of rows 2·g and 2·g + 1.
        let mut pairs = r;
        for g in 0..4 {
            pairs[2 * g] = _mm512_unpacklo_epi64(r[2 * g], r[2 * g + 1]);
            pairs[2 * g + 1] = _mm512_unpackhi_epi64(r[2 * g], r[2 * g + 1]);
        }
        // The 4 × 4 parts of each c: 0x88 takes the even ones of two registers, 0xdd the odd ones.
        let mut out = r;
        for c in 0..2 {
            let p = [pairs[c], pairs[2 + c], pairs[4 + c], pairs[6 + c]];
            let even_low = _mm512_shuffle_i64x2::<0x88>(p[0], p[1]);
            let even_high = _mm512_shuffle_i64x2::<0x88>(p[2], p[3]);
            let odd_low = _mm512_shuffle_i64x2::<0xdd>(p[0], p[1]);
            let odd_high = _mm512_shuffle_i64x2::<0xdd>(p[2], p[3]);
            out[c] = _mm512_shuffle_i64x2::<0x88>(even_low, even_high);
            out[2 + c] = _mm512_shuffle_i64x2::<0x88>(odd_low, odd_high);
            out[4 + c] = _mm512_shuffle_i64x2::<0xdd>(even_low, even_high);
            out[6 + c] = _mm512_shuffle_i64x2::<0xdd>(odd_low, odd_high);
        }
        out
    }
}

#[inline]
#[target_feature(enable = "avx512f")]
fn load_states(states: &[[u64; 8]; 25]) -> [U64x8; 25] {
    let mut words = [U64x8(_mm512_setzero_si512()); 25];
    for (word, row) in words.iter_mut().zip(states) {
        // SAFETY: `row` is 64 readable bytes; the load needs no alignment.
        *word = U64x8(unsafe { _mm512_loadu_si512(row.as_ptr().cast()) });
    }
    words
}

#[inline]
#[target_feature(enable = "avx512f")]
fn store_states(words: &[U64x8; 25], states: &mut [[u64; 8]; 25]) {
    for (word, row) in words.iter().zip(states) {
        // SAFETY: `row` is 64 writable bytes; the store needs no alignment.
        unsafe { _mm512_storeu_si512(row.as_mut_ptr().cast(), word.0) };
    }
}

/// One word of each of eight Keccak states. Made only inside functions that have AVX-512.
#[derive(Clone, Copy)]
struct U64x8(__m512i);

/// The truth tables of `vpternlogq`: bit 4a + 2b + c is the result for these bits of the operands.
const XOR3: i32 = 0b1001_0110;
/// a ^ (!b & c).
const CHI: i32 = 0b1101_0010;

impl Words for U64x8 {
    #[inline(always)]
    fn xor(self, other: Self) -> Self {
        avx512!(U64x8(_mm512_xor_si512(self.0, other.0)))
    }
    #[inline(always)]
    fn xor_constant(self, constant: u64) -> Self {
        avx512!(U64x8(_mm512_xor_si512(
            self.0,
            _mm512_set1_epi64(constant as i64)
        )))
    }
    #[inline(always)]
    fn rotate_left<const LEFT: i32, const RIGHT: i32>(self) -> Self {
        avx512!(U64x8(_mm512_rol_epi64::<LEFT>(self.0)))
    }
    #[inline(always)]
    fn chi(self, b: Self, c: Self) -> Self {
        avx512!(U64x8(_mm512_ternarylogic_epi64::<CHI>(self.0, b.0, c.0)))
    }
    #[inline(always)]
    fn xor5(self, b: Self, c: Self, d: Self, e: Self) -> Self {
        avx512!({
            let three = _mm512_ternarylogic_epi64::<XOR3>(self.0, b.0, c.0);
            U64x8(_mm512_ternarylogic_epi64::<XOR3>(three, d.0, e.0))
        })
    }
}

/// 64 bytes. Made only from a token of AVX-512 or from other values of this type.
#[derive(Clone, Copy)]
pub(crate) struct U8x64<T>(__m512i, T);

impl<T: Unpack> ByteLanes for U8x64<T> {
    type Token = T;
    const COUNT: usize = 64;
    #[inline(always)]
    fn zero(token: T) -> Self {
        avx512!(U8x64(_mm512_setzero_si512(), token))
    }
    #[inline(always)]
    fn add(self, from: &[u8]) -> Self {
        let from = &from[..64];
        // SAFETY: `self` proves AVX-512; `from` is 64 readable bytes, in any alignment.
        unsafe {
            let more = _mm512_loadu_si512(from.as_ptr().cast());
            U8x64(_mm512_add_epi8(self.0, more), self.1)
        }
    }
    #[inline(always)]
    fn store(self, to: &mut [u8]) {
        let to = &mut to[..64];
        // SAFETY: `self` proves AVX-512; `to` is 64 writable bytes, in any alignment.
        unsafe { _mm512_storeu_si512(to.as_mut_ptr().cast(), self.0) }
    }
}
