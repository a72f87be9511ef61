//! Eight Keccak states in 512-bit registers, and one in the integer registers beside them; one alone
//! in vector registers, which rotate and combine three words in one instruction, on Intel's CPUs in five
//! registers ([`keccak_one`]).

use core::arch::x86_64::*;

use super::{Avx512, avx512, keccak_one, memory};
use crate::backend::avx2::memory::{load_word, store_word};
use crate::kernels::keccak::{
    Permutation, PermutationOfTwo, States, Words, permute, permute_beside,
};
use crate::kernels::sampling::Permute;

impl Permute<8> for Avx512 {
    #[inline]
    fn permute(self, states: &mut States<8>) {
        #[target_feature(enable = "avx512f")]
        fn entry(token: Avx512, states: &mut [[u64; 8]; 25]) {
            let mut words = load_states(token, states);
            permute(&mut words);
            store_states(token, &words, states);
        }
        // SAFETY: `self` proves AVX-512.
        unsafe { entry(self, &mut states.0) }
    }

    #[inline]
    fn permutation(self) -> Permutation {
        self.permutations()[usize::from(self.is_intel())]
    }

    #[inline]
    fn permutation_of_two(self) -> PermutationOfTwo {
        #[target_feature(enable = "avx512f,avx512vl")]
        fn entry(token: Avx512, a: &mut [u64; 25], b: &mut [u64; 25]) {
            let mut words = load_two(token, a, b);
            permute(&mut words);
            store_two(&words, a, b);
        }
        // SAFETY: this pointer comes from a token, which proves AVX-512.
        |a, b| unsafe { entry(Avx512::of_pointer(), a, b) }
    }

    const BESIDE: bool = true;
    #[inline]
    fn permute_beside(self, states: &mut States<8>, one: &mut [u64; 25]) {
        #[target_feature(enable = "avx512f,bmi1,bmi2")]
        fn entry(token: Avx512, states: &mut [[u64; 8]; 25], one: &mut [u64; 25]) {
            let mut words = load_states(token, states);
            permute_beside(&mut words, one);
            store_states(token, &words, states);
        }
        // SAFETY: `self` proves AVX-512, BMI1 and BMI2.
        unsafe { entry(self, &mut states.0, one) }
    }

    /// In registers: a word stored into a row would keep the row's load waiting.
    #[inline]
    fn permute_with_last(self, states: &mut States<8>, one: &mut [u64; 25]) {
        #[target_feature(enable = "avx512f")]
        fn entry(token: Avx512, states: &mut [[u64; 8]; 25], one: &mut [u64; 25]) {
            let mut words = load_states(token, states);
            for (word, last) in words.iter_mut().zip(&*one) {
                word.0 = _mm512_mask_set1_epi64(word.0, 1 << 7, *last as i64);
            }
            permute(&mut words);
            store_states(token, &words, states);
            for (row, last) in states.iter().zip(one) {
                *last = row[7];
            }
        }
        // SAFETY: `self` proves AVX-512.
        unsafe { entry(self, &mut states.0, one) }
    }

    #[inline(always)]
    fn copy_block<const LEN: usize>(
        self,
        states: &States<8>,
        rate: usize,
        out: &mut [[u8; LEN]],
        at: usize,
    ) {
        copy_block(self, states, rate, out, at);
    }
}

impl Avx512 {
    /// The permutation of one state: with a register for each word, and with five words in a register.
    #[inline]
    fn permutations(self) -> [Permutation; 2] {
        #[target_feature(enable = "avx512f,avx512vl")]
        fn entry(token: Avx512, state: &mut [u64; 25]) {
            let mut words = load_one(token, state);
            permute(&mut words);
            store_one(&words, state);
        }
        // SAFETY: these pointers come from a token, which proves AVX-512.
        [
            |state| unsafe { entry(Avx512::of_pointer(), state) },
            |state| unsafe { keccak_one::entry(Avx512::of_pointer(), state) },
        ]
    }
}

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
    avx512!(r[0].1, {
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
fn store_states(token: Avx512, words: &[U64x8; 25], states: &mut [[u64; 8]; 25]) {
    for (word, row) in words.iter().zip(states) {
        memory::store(token, word.0, row);
    }
}

/// One word of each of eight Keccak states and the token that proves AVX-512.
#[derive(Clone, Copy)]
struct U64x8(__m512i, Avx512);

impl U64x8 {
    #[inline(always)]
    fn load(token: Avx512, row: &[u64; 8]) -> Self {
        U64x8(memory::load(token, row), token)
    }
}

/// The truth tables of `vpternlogq`: bit 4a + 2b + c is the result for these bits of the operands.
pub(super) const XOR3: i32 = 0b1001_0110;
/// a ^ (!b & c).
pub(super) const CHI: i32 = 0b1101_0010;

impl Words for U64x8 {
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
        avx512!(self.1, U64x8, _mm512_xor_si512(self.0, other.0))
    }
    #[inline(always)]
    fn xor_constant(self, constant: u64) -> Self {
        avx512!(
            self.1,
            U64x8,
            _mm512_xor_si512(self.0, _mm512_set1_epi64(constant as i64))
        )
    }
    #[inline(always)]
    fn rotate_left<const LEFT: i32, const RIGHT: i32>(self) -> Self {
        avx512!(self.1, U64x8, _mm512_rol_epi64::<LEFT>(self.0))
    }
    #[inline(always)]
    fn chi(self, b: Self, c: Self) -> Self {
        avx512!(
            self.1,
            U64x8,
            _mm512_ternarylogic_epi64::<CHI>(self.0, b.0, c.0)
        )
    }
    #[inline(always)]
    fn xor5(self, b: Self, c: Self, d: Self, e: Self) -> Self {
        avx512!(self.1, U64x8, {
            let three = _mm512_ternarylogic_epi64::<XOR3>(self.0, b.0, c.0);
            _mm512_ternarylogic_epi64::<XOR3>(three, d.0, e.0)
        })
    }
}

/// One word of each of two Keccak states; of one, the high half holds anything.
#[derive(Clone, Copy)]
struct U64x2(__m128i, Avx512);

#[inline(always)]
fn load_one(token: Avx512, state: &[u64; 25]) -> [U64x2; 25] {
    let mut words = [U64x2(avx512!(token, _mm_setzero_si128()), token); 25];
    for (word, from) in words.iter_mut().zip(state) {
        word.0 = load_word(token.avx2(), from);
    }
    words
}

#[inline(always)]
fn store_one(words: &[U64x2; 25], state: &mut [u64; 25]) {
    for (word, to) in words.iter().zip(state) {
        store_word(word.1.avx2(), word.0, to);
    }
}

#[inline(always)]
fn load_two(token: Avx512, a: &[u64; 25], b: &[u64; 25]) -> [U64x2; 25] {
    let (mut words, more) = (load_one(token, a), load_one(token, b));
    for (word, more) in words.iter_mut().zip(more) {
        word.0 = avx512!(token, _mm_unpacklo_epi64(word.0, more.0));
    }
    words
}

#[inline(always)]
fn store_two(words: &[U64x2; 25], a: &mut [u64; 25], b: &mut [u64; 25]) {
    store_one(words, a);
    let high = words
        .map(|U64x2(word, token)| U64x2(avx512!(token, _mm_unpackhi_epi64(word, word)), token));
    store_one(&high, b);
}

impl Words for U64x2 {
    /// Both summands, which `vpternlogq` adds at once. Eight states gain nothing from that: there are too few
    /// registers for ten summands.
    type Column = (Self, Self);
    #[inline(always)]
    fn column(left: Self, right: Self) -> (Self, Self) {
        (left, right.rotate_left::<1, 63>())
    }
    #[inline(always)]
    fn add_column(self, (left, right): (Self, Self)) -> Self {
        avx512!(
            self.1,
            U64x2,
            _mm_ternarylogic_epi64::<XOR3>(self.0, left.0, right.0)
        )
    }
    #[inline(always)]
    fn xor(self, other: Self) -> Self {
        avx512!(self.1, U64x2, _mm_xor_si128(self.0, other.0))
    }
    #[inline(always)]
    fn xor_constant(self, constant: u64) -> Self {
        avx512!(
            self.1,
            U64x2,
            _mm_xor_si128(self.0, _mm_set1_epi64x(constant as i64))
        )
    }
    #[inline(always)]
    fn rotate_left<const LEFT: i32, const RIGHT: i32>(self) -> Self {
        avx512!(self.1, U64x2, _mm_rol_epi64::<LEFT>(self.0))
    }
    #[inline(always)]
    fn chi(self, b: Self, c: Self) -> Self {
        avx512!(
            self.1,
            U64x2,
            _mm_ternarylogic_epi64::<CHI>(self.0, b.0, c.0)
        )
    }
    #[inline(always)]
    fn xor5(self, b: Self, c: Self, d: Self, e: Self) -> Self {
        avx512!(self.1, U64x2, {
            let three = _mm_ternarylogic_epi64::<XOR3>(self.0, b.0, c.0);
            _mm_ternarylogic_epi64::<XOR3>(three, d.0, e.0)
        })
    }
}

#[cfg(all(test, mldsa_inside))]
mod tests {
    include!(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/unit/backend/avx512/keccak/tests.rs"
    ));
}
