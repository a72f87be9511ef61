//! Four Keccak states in 256-bit registers, and one in the integer registers beside them.

use core::arch::x86_64::*;

use super::{Avx2, memory};
use crate::backend::first_mut;
use crate::kernels::keccak::{
    Permutation, PermutationOfTwo, States, Words, permute, permute_beside,
};
use crate::kernels::sampling::Permute;

/// One word of each of four Keccak states and the token that proves AVX2.
#[derive(Clone, Copy)]
struct U64x4(__m256i, Avx2);

/// Aligns the stack frame of its caller to a page, so that spilled registers share one page: measured on Zen 3, a
/// frame across the end of a page costs up to a third (library/evidence/performance-log.md), and its place is chance.
#[inline(always)]
fn frame_in_one_page() {
    #[repr(align(4096))]
    struct Page([u64; 1]);
    core::hint::black_box(&mut Page([0]).0);
}

impl Permute<4> for Avx2 {
    #[inline]
    fn permute(self, states: &mut States<4>) {
        #[target_feature(enable = "avx2")]
        fn entry(token: Avx2, states: &mut [[u64; 4]; 25]) {
            frame_in_one_page();
            let mut words = load_states(token, states);
            permute(&mut words);
            store_states(&words, states);
        }
        // SAFETY: `self` proves AVX2.
        unsafe { entry(self, &mut states.0) }
    }

    #[inline]
    fn permutation(self) -> Permutation {
        #[target_feature(enable = "bmi1,bmi2")]
        fn entry(state: &mut [u64; 25]) {
            permute(state);
        }
        // SAFETY: this pointer comes from a token, which proves BMI1 and BMI2.
        |state| unsafe { entry(state) }
    }

    /// Two of the four lanes: the permutation of four costs less than two of one.
    #[inline]
    fn permutation_of_two(self) -> PermutationOfTwo {
        #[target_feature(enable = "avx2")]
        fn entry(token: Avx2, a: &mut [u64; 25], b: &mut [u64; 25]) {
            frame_in_one_page();
            let mut words = load_two(token, a, b);
            permute(&mut words);
            store_two(&words, a, b);
        }
        // SAFETY: this pointer comes from a token, which proves AVX2.
        |a, b| unsafe { entry(Avx2::of_pointer(), a, b) }
    }

    const BESIDE: bool = true;
    #[inline]
    fn permute_beside(self, states: &mut States<4>, one: &mut [u64; 25]) {
        #[target_feature(enable = "avx2,bmi1,bmi2")]
        fn entry(token: Avx2, states: &mut [[u64; 4]; 25], one: &mut [u64; 25]) {
            frame_in_one_page();
            let mut words = load_states(token, states);
            permute_beside(&mut words, one);
            store_states(&words, states);
        }
        // SAFETY: `self` proves AVX2, BMI1 and BMI2.
        unsafe { entry(self, &mut states.0, one) }
    }

    /// In registers: a word stored into a row would keep the row's load waiting.
    #[inline]
    fn permute_with_last(self, states: &mut States<4>, one: &mut [u64; 25]) {
        #[target_feature(enable = "avx2")]
        fn entry(token: Avx2, states: &mut [[u64; 4]; 25], one: &mut [u64; 25]) {
            frame_in_one_page();
            let mut words = load_states(token, states);
            for (word, last) in words.iter_mut().zip(&*one) {
                let last = _mm256_set1_epi64x(*last as i64);
                word.0 = _mm256_blend_epi32::<0b1100_0000>(word.0, last);
            }
            permute(&mut words);
            store_states(&words, states);
            for (row, last) in states.iter().zip(one) {
                *last = row[3];
            }
        }
        // SAFETY: `self` proves AVX2.
        unsafe { entry(self, &mut states.0, one) }
    }

    /// Four words of four lanes at a time; words at a lane's stride cost a store each.
    #[inline(always)]
    fn copy_block<const LEN: usize>(
        self,
        states: &States<4>,
        rate: usize,
        out: &mut [[u8; LEN]],
        at: usize,
    ) {
        let (fours, rest) = states.0[..rate / 8].as_chunks::<4>();
        let mut at = at;
        for [row0, row1, row2, row3] in fours {
            let (r0, r1) = (U64x4::load(self, row0).0, U64x4::load(self, row1).0);
            let (r2, r3) = (U64x4::load(self, row2).0, U64x4::load(self, row3).0);
            let lanes = avx2!(self, {
                let (even01, odd01) =
                    (_mm256_unpacklo_epi64(r0, r1), _mm256_unpackhi_epi64(r0, r1));
                let (even23, odd23) =
                    (_mm256_unpacklo_epi64(r2, r3), _mm256_unpackhi_epi64(r2, r3));
                [
                    _mm256_permute2x128_si256::<0x20>(even01, even23),
                    _mm256_permute2x128_si256::<0x20>(odd01, odd23),
                    _mm256_permute2x128_si256::<0x31>(even01, even23),
                    _mm256_permute2x128_si256::<0x31>(odd01, odd23),
                ]
            });
            for (lane, bytes) in lanes.into_iter().zip(&mut *out) {
                memory::store(self, lane, first_mut::<_, 32>(&mut bytes[at..]));
            }
            at += 32;
        }
        for row in rest {
            for (word, bytes) in row.iter().zip(&mut *out) {
                bytes[at..at + 8].copy_from_slice(&word.to_le_bytes());
            }
            at += 8;
        }
    }
}

impl U64x4 {
    #[inline(always)]
    fn load(token: Avx2, row: &[u64; 4]) -> Self {
        U64x4(memory::load(token, row), token)
    }
}

#[inline(always)]
fn load_states(token: Avx2, states: &[[u64; 4]; 25]) -> [U64x4; 25] {
    let mut words = [U64x4::load(token, &states[0]); 25];
    for (word, row) in words.iter_mut().zip(states) {
        *word = U64x4::load(token, row);
    }
    words
}

#[inline(always)]
fn store_states(words: &[U64x4; 25], states: &mut [[u64; 4]; 25]) {
    for (word, row) in words.iter().zip(states) {
        memory::store(word.1, word.0, row);
    }
}

/// Two states in the low half of each register.
#[inline(always)]
fn load_two(token: Avx2, a: &[u64; 25], b: &[u64; 25]) -> [U64x4; 25] {
    let mut words = [U64x4(avx2!(token, _mm256_setzero_si256()), token); 25];
    for (word, (a, b)) in words.iter_mut().zip(a.iter().zip(b)) {
        let (a, b) = (memory::load_word(token, a), memory::load_word(token, b));
        word.0 = avx2!(token, _mm256_castsi128_si256(_mm_unpacklo_epi64(a, b)));
    }
    words
}

#[inline(always)]
fn store_two(words: &[U64x4; 25], a: &mut [u64; 25], b: &mut [u64; 25]) {
    for (word, (a, b)) in words.iter().zip(a.iter_mut().zip(b)) {
        let (low, high) = avx2!(word.1, {
            let two = _mm256_castsi256_si128(word.0);
            (two, _mm_unpackhi_epi64(two, two))
        });
        memory::store_word(word.1, low, a);
        memory::store_word(word.1, high, b);
    }
}

impl Words for U64x4 {
    type Column = Self;
    #[inline(always)]
    fn column(left: Self, right: Self) -> Self {
        left.xor(Words::rotate_left::<1, 63>(right))
    }
    #[inline(always)]
    fn add_column(self, column: Self) -> Self {
        self.xor(column)
    }
    #[inline(always)]
    fn xor(self, other: Self) -> Self {
        avx2!(self.1, U64x4, _mm256_xor_si256(self.0, other.0))
    }
    #[inline(always)]
    fn xor_constant(self, constant: u64) -> Self {
        avx2!(
            self.1,
            U64x4,
            _mm256_xor_si256(self.0, _mm256_set1_epi64x(constant as i64))
        )
    }
    #[inline(always)]
    fn rotate_left<const LEFT: i32, const RIGHT: i32>(self) -> Self {
        avx2!(
            self.1,
            U64x4,
            _mm256_or_si256(
                _mm256_slli_epi64::<LEFT>(self.0),
                _mm256_srli_epi64::<RIGHT>(self.0)
            )
        )
    }
    #[inline(always)]
    fn chi(self, b: Self, c: Self) -> Self {
        avx2!(
            self.1,
            U64x4,
            _mm256_xor_si256(self.0, _mm256_andnot_si256(b.0, c.0))
        )
    }
}
