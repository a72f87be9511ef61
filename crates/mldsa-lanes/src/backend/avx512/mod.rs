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

/// A module of its own, so that nothing else can make the tokens.
mod token {
    use core::sync::atomic::{AtomicU8, Ordering::Relaxed};

    use crate::backend::avx2::Avx2;

    // Each feature that the entry points have, implied ones too (a test compares). DQ is left out
    // on purpose: with it LLVM turns the Montgomery product's multiplication by a constant, whose
    // low half alone is used, into `vpmullq`, which costs three multiplications.
    cpufeatures::new!(cpu_has_avx512, "fma", "avx512f", "avx512bw");
    cpufeatures::new!(cpu_has_vbmi, "avx512vbmi", "avx512vbmi2");

    /// F16C, which comes with AVX-512 F and which `cpufeatures` does not know. A hypervisor may
    /// take long to answer, so it is asked once. Only after AVX-512 was found, so that the
    /// instruction is there.
    fn cpu_has_f16c() -> bool {
        const UNKNOWN: u8 = 2;
        static F16C: AtomicU8 = AtomicU8::new(UNKNOWN);
        let mut found = F16C.load(Relaxed);
        if found == UNKNOWN {
            #[allow(unused_unsafe)] // Safe since Rust 1.94.
            // SAFETY: every x86-64 CPU has CPUID.
            let leaf = unsafe { core::arch::x86_64::__cpuid(1) };
            found = (leaf.ecx >> 29 & 1) as u8;
            F16C.store(found, Relaxed);
        }
        found == 1
    }

    /// Proof that this CPU has AVX-512 F and BW.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub(crate) struct Avx512(Avx2);

    /// Proof that this CPU has these and VBMI and VBMI2.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub(crate) struct Avx512Vbmi(Avx512);

    impl Avx512 {
        pub(crate) fn detect() -> Option<Self> {
            let found = cpu_has_avx512::get() && (cfg!(target_feature = "f16c") || cpu_has_f16c());
            Avx2::detect().filter(|_| found).map(Avx512)
        }

        #[inline(always)]
        pub(in crate::backend) fn avx2(self) -> Avx2 {
            self.0
        }
    }

    impl Avx512Vbmi {
        pub(crate) fn detect() -> Option<Self> {
            let found = cpu_has_vbmi::get();
            Avx512::detect().filter(|_| found).map(Avx512Vbmi)
        }

        #[inline(always)]
        pub(in crate::backend) fn avx512(self) -> Avx512 {
            self.0
        }
    }
}
pub(crate) use token::{Avx512, Avx512Vbmi};

impl Avx512 {
    #[inline(always)]
    fn lane_token(self) -> Self {
        self
    }
}

impl Avx512Vbmi {
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
                fn entry(token: Avx512, states: &mut [[u64; 8]; 25]) {
                    let mut words = load_states(token, states);
                    permute(&mut words);
                    store_states(&words, states);
                }
                // SAFETY: `self` proves AVX-512.
                unsafe { entry(self.avx512(), &mut states.0) }
            }

            #[inline]
            fn permutation(self) -> Permutation {
                self.avx512().avx2().permutation()
            }

            #[inline]
            fn permute_beside(self, states: &mut States<8>, one: &mut [u64; 25]) {
                #[target_feature(enable = "avx512f,bmi1,bmi2")]
                fn entry(token: Avx512, states: &mut [[u64; 8]; 25], one: &mut [u64; 25]) {
                    let mut words = load_states(token, states);
                    permute_beside(&mut words, one);
                    store_states(&words, states);
                }
                // SAFETY: `self` proves AVX-512, BMI1 and BMI2.
                unsafe { entry(self.avx512(), &mut states.0, one) }
            }

            #[inline(always)]
            fn copy_block<const LEN: usize>(
                self,
                states: &States<8>,
                rate: usize,
                out: &mut [[u8; LEN]],
                at: usize,
            ) {
                copy_block(self.avx512(), states, rate, out, at);
            }
        }
    };
}
permute_eight!(Avx512);
permute_eight!(Avx512Vbmi);

/// [`crate::kernels::keccak::copy_block`], eight words of eight lanes at a time: words at a lane's
/// stride cost a store each. The last eight have words past the rate, which a mask keeps back; the
/// state has as many, as no rate passes 24 words.
#[inline(always)]
fn copy_block<const LEN: usize>(
    token: Avx512,
    states: &States<8>,
    rate: usize,
    out: &mut [[u8; LEN]],
    at: usize,
) {
    let words = rate / 8;
    for (eight, rows) in states.0.as_chunks::<8>().0.iter().enumerate() {
        let count = words.saturating_sub(8 * eight).min(8);
        let mut eight_rows = [U64x8::load(token, &rows[0]); 8];
        for (to, row) in eight_rows.iter_mut().zip(rows) {
            *to = U64x8::load(token, row);
        }
        let from = at + 64 * eight;
        for (lane, bytes) in transpose_words(eight_rows).iter().zip(&mut *out) {
            let to = &mut bytes[from..from + 8 * count];
            let mask = ((1u32 << count) - 1) as u8;
            // SAFETY: the token proves AVX-512; the mask keeps the store within `to`.
            unsafe { _mm512_mask_storeu_epi64(to.as_mut_ptr().cast(), mask, lane.0) }
        }
    }
}

/// Transposes 8 × 8 words.
#[inline(always)]
fn transpose_words(r: [U64x8; 8]) -> [U64x8; 8] {
    avx512!({
        // Part `l` of `pairs[2 * g + c]` is column 2·l + c of rows 2·g and 2·g + 1.
        let mut pairs = r;
        for g in 0..4 {
            let (even, odd) = (r[2 * g].0, r[2 * g + 1].0);
            pairs[2 * g].0 = _mm512_unpacklo_epi64(even, odd);
            pairs[2 * g + 1].0 = _mm512_unpackhi_epi64(even, odd);
        }
        // The 4 × 4 parts of each c: 0x88 takes the even ones of two registers, 0xdd the odd ones.
        let mut out = r;
        for c in 0..2 {
            let p = [pairs[c].0, pairs[2 + c].0, pairs[4 + c].0, pairs[6 + c].0];
            let even_low = _mm512_shuffle_i64x2::<0x88>(p[0], p[1]);
            let even_high = _mm512_shuffle_i64x2::<0x88>(p[2], p[3]);
            let odd_low = _mm512_shuffle_i64x2::<0xdd>(p[0], p[1]);
            let odd_high = _mm512_shuffle_i64x2::<0xdd>(p[2], p[3]);
            out[c].0 = _mm512_shuffle_i64x2::<0x88>(even_low, even_high);
            out[2 + c].0 = _mm512_shuffle_i64x2::<0x88>(odd_low, odd_high);
            out[4 + c].0 = _mm512_shuffle_i64x2::<0xdd>(even_low, even_high);
            out[6 + c].0 = _mm512_shuffle_i64x2::<0xdd>(odd_low, odd_high);
        }
        out
    })
}

#[inline(always)]
fn load_states(token: Avx512, states: &[[u64; 8]; 25]) -> [U64x8; 25] {
    let mut words = [U64x8::load(token, &states[0]); 25];
    for (word, row) in words.iter_mut().zip(states) {
        *word = U64x8::load(token, row);
    }
    words
}

#[inline(always)]
fn store_states(words: &[U64x8; 25], states: &mut [[u64; 8]; 25]) {
    for (word, row) in words.iter().zip(states) {
        // SAFETY: `word` proves AVX-512; `row` is 64 writable bytes, in any alignment.
        unsafe { _mm512_storeu_si512(row.as_mut_ptr().cast(), word.0) };
    }
}

/// One word of each of eight Keccak states. Made only from an [`Avx512`] token or from other values
/// of this type.
#[derive(Clone, Copy)]
struct U64x8(__m512i);

impl U64x8 {
    #[inline(always)]
    fn load(_: Avx512, row: &[u64; 8]) -> Self {
        // SAFETY: the token proves AVX-512; `row` is 64 readable bytes, in any alignment.
        U64x8(unsafe { _mm512_loadu_si512(row.as_ptr().cast()) })
    }
}

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
