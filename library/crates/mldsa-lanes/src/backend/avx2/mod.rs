//! Eight coefficients, or four Keccak states, in 256-bit registers.

use core::arch::x86_64::*;

use super::{first, first_mut, kernels};
use crate::kernels::lanes::{Lanes, Map, Q_INVERSE, Transform};
use crate::kernels::sampling::Rejection;
use crate::kernels::small::ByteLanes;
use crate::params::{N, Q};

/// A module of its own, so that nothing else can make the token.
mod token {
    // Each feature that the entry points have, implied ones too (a test compares).
    cpufeatures::new!(
        cpu_has_avx2,
        "sse3",
        "ssse3",
        "sse4.1",
        "sse4.2",
        "avx",
        "avx2",
        "popcnt",
        "bmi1",
        "bmi2"
    );

    /// Proof that this CPU has AVX2, POPCNT, BMI1 and BMI2.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub(crate) struct Avx2(());

    impl Avx2 {
        pub(crate) fn detect() -> Option<Self> {
            cpu_has_avx2::get().then_some(Avx2(()))
        }

        /// The token, for a function that is called by a pointer and so cannot have it as an argument.
        ///
        /// # Safety
        /// The pointer came from a token.
        #[inline(always)]
        pub(in crate::backend) unsafe fn of_pointer() -> Self {
            Avx2(())
        }
    }
}
pub(crate) use token::Avx2;

impl Avx2 {
    #[inline(always)]
    fn lane_token(self) -> Self {
        self
    }
}

kernels!(
    Avx2,
    I32x8,
    U8x32,
    4,
    target_feature(enable = "avx2,popcnt")
);

/// Calls intrinsics on registers, none that takes a pointer: those are in [`memory`]. With a type,
/// puts the result and the token in a value of it.
macro_rules! avx2 {
    ($token:expr, $expression:expr) => {{
        let _: $crate::backend::avx2::Avx2 = $token;
        // SAFETY: the token proves AVX2, which is all that an intrinsic without a pointer asks.
        unsafe { $expression }
    }};
    ($token:expr, $type:ident, $expression:expr) => {
        $type(avx2!($token, $expression), $token)
    };
}

// After the macro, which they use.
mod keccak;
pub(in crate::backend) mod memory;
mod packing;

/// Eight coefficients and the token that proves AVX2.
#[derive(Clone, Copy)]
pub(crate) struct I32x8(__m256i, Avx2);

/// For each mask, the indices of its set bits from the lowest on, one a byte.
const KEPT_FIRST: &[u64; 256] = &{
    let mut table = [0; 256];
    let mut mask = 0;
    while mask < 256 {
        let (mut lane, mut place) = (0, 0);
        while lane < 8 {
            if mask >> lane & 1 == 1 {
                table[mask] |= lane << (8 * place);
                place += 1;
            }
            lane += 1;
        }
        mask += 1;
    }
    table
};

impl I32x8 {
    /// The odd lanes in the even places, where `_mm256_mul_epi32` reads.
    #[inline(always)]
    fn odd(self) -> __m256i {
        avx2!(self.1, _mm256_shuffle_epi32::<0xf5>(self.0))
    }

    /// The high halves of two vectors of 64-bit differences, interleaved.
    #[inline(always)]
    fn join_high(even: __m256i, odd: __m256i, token: Avx2) -> Self {
        avx2!(
            token,
            I32x8,
            _mm256_blend_epi32::<0xaa>(_mm256_shuffle_epi32::<0xf5>(even), odd)
        )
    }
}

impl Lanes for I32x8 {
    type Token = Avx2;
    type Wide = (__m256i, __m256i, Avx2);
    const COUNT: usize = 8;

    #[inline(always)]
    fn splat(token: Avx2, value: i32) -> Self {
        avx2!(token, I32x8, _mm256_set1_epi32(value))
    }
    #[inline(always)]
    fn load(token: Avx2, from: &[i32]) -> Self {
        I32x8(memory::load(token, first::<_, 8>(from)), token)
    }
    #[inline(always)]
    fn store(self, to: &mut [i32]) {
        memory::store(self.1, self.0, first_mut::<_, 8>(to));
    }
    #[inline(always)]
    fn add(self, other: Self) -> Self {
        avx2!(self.1, I32x8, _mm256_add_epi32(self.0, other.0))
    }
    #[inline(always)]
    fn sub(self, other: Self) -> Self {
        avx2!(self.1, I32x8, _mm256_sub_epi32(self.0, other.0))
    }
    #[inline(always)]
    fn mul_low(self, other: Self) -> Self {
        avx2!(self.1, I32x8, _mm256_mullo_epi32(self.0, other.0))
    }
    #[inline(always)]
    fn and(self, other: Self) -> Self {
        avx2!(self.1, I32x8, _mm256_and_si256(self.0, other.0))
    }
    #[inline(always)]
    fn or(self, other: Self) -> Self {
        avx2!(self.1, I32x8, _mm256_or_si256(self.0, other.0))
    }
    #[inline(always)]
    fn shift_right<const BITS: i32>(self) -> Self {
        avx2!(self.1, I32x8, _mm256_srai_epi32::<BITS>(self.0))
    }
    #[inline(always)]
    fn greater(self, other: Self) -> Self {
        avx2!(self.1, I32x8, _mm256_cmpgt_epi32(self.0, other.0))
    }
    #[inline(always)]
    fn abs(self) -> Self {
        avx2!(self.1, I32x8, _mm256_abs_epi32(self.0))
    }
    #[inline(always)]
    fn any(self) -> bool {
        avx2!(self.1, _mm256_testz_si256(self.0, self.0) == 0)
    }

    #[inline(always)]
    fn montgomery(self, other: Self) -> Self {
        Self::wide_reduce(avx2!(
            self.1,
            (
                _mm256_mul_epi32(self.0, other.0),
                _mm256_mul_epi32(self.odd(), other.odd()),
                self.1,
            )
        ))
    }
    #[inline(always)]
    fn wide_zero(token: Avx2) -> Self::Wide {
        avx2!(
            token,
            (_mm256_setzero_si256(), _mm256_setzero_si256(), token)
        )
    }
    #[inline(always)]
    fn wide_add((even, odd, token): Self::Wide, a: Self, b: Self) -> Self::Wide {
        avx2!(token, {
            let even = _mm256_add_epi64(even, _mm256_mul_epi32(a.0, b.0));
            let odd = _mm256_add_epi64(odd, _mm256_mul_epi32(a.odd(), b.odd()));
            (even, odd, token)
        })
    }
    #[inline(always)]
    fn wide_sub((even, odd, token): Self::Wide, a: Self, b: Self) -> Self::Wide {
        avx2!(token, {
            let even = _mm256_sub_epi64(even, _mm256_mul_epi32(a.0, b.0));
            let odd = _mm256_sub_epi64(odd, _mm256_mul_epi32(a.odd(), b.odd()));
            (even, odd, token)
        })
    }
    #[inline(always)]
    fn wide_reduce((even, odd, token): Self::Wide) -> Self {
        avx2!(token, {
            let q = _mm256_set1_epi32(Q);
            let q_inverse = _mm256_set1_epi32(Q_INVERSE);
            let even_multiple = _mm256_mul_epi32(_mm256_mul_epi32(even, q_inverse), q);
            let odd_multiple = _mm256_mul_epi32(_mm256_mul_epi32(odd, q_inverse), q);
            Self::join_high(
                _mm256_sub_epi64(even, even_multiple),
                _mm256_sub_epi64(odd, odd_multiple),
                token,
            )
        })
    }

    #[inline(always)]
    fn from_triples(token: Avx2, from: &[u8]) -> Self {
        let from = first::<_, 24>(from);
        let low = memory::load_half(token, first::<_, 16>(from));
        let high = memory::load_half(token, first::<_, 16>(&from[8..]));
        avx2!(token, I32x8, {
            // Lanes 0 to 3 from bytes 0 to 11 of the low half, 4 to 7 from 4 to 15 of the high.
            let places = _mm256_setr_epi8(
                0, 1, 2, -1, 3, 4, 5, -1, 6, 7, 8, -1, 9, 10, 11, -1, //
                4, 5, 6, -1, 7, 8, 9, -1, 10, 11, 12, -1, 13, 14, 15, -1,
            );
            let bytes = _mm256_shuffle_epi8(_mm256_set_m128i(high, low), places);
            _mm256_and_si256(bytes, _mm256_set1_epi32(0x7f_ffff))
        })
    }
    #[inline(always)]
    fn from_bytes(token: Avx2, from: &[u8]) -> Self {
        let word = i64::from_le_bytes(*first(from));
        avx2!(token, I32x8, _mm256_cvtepu8_epi32(_mm_cvtsi64_si128(word)))
    }
    #[inline(always)]
    fn from_halves(token: Avx2, from: &[u8], at: usize) -> Self {
        let mut word = [0; 4];
        word.copy_from_slice(&from[at / 2..at / 2 + 4]);
        avx2!(token, I32x8, {
            let all = _mm256_set1_epi32(i32::from_le_bytes(word));
            let shifts = _mm256_setr_epi32(0, 4, 8, 12, 16, 20, 24, 28);
            _mm256_and_si256(_mm256_srlv_epi32(all, shifts), _mm256_set1_epi32(15))
        })
    }
    #[inline(always)]
    fn from_bits<const BITS: u32>(token: Avx2, from: &[u8], at: usize) -> Self {
        packing::unpack::<BITS>(token, from, at)
    }
    #[inline(always)]
    fn from_any_bits<const BITS: u32>(token: Avx2, from: &[u8], at: usize) -> Self {
        packing::unpack::<BITS>(token, from, at)
    }
    #[inline(always)]
    fn write_bits<const BITS: usize>(token: Avx2, p: &[i32; N], map: Map, to: &mut [u8]) {
        packing::pack::<BITS>(token, p, map, to);
    }
    #[inline(always)]
    fn store_kept(self, keep: Self, to: &mut [i32]) -> usize {
        let mask = avx2!(self.1, _mm256_movemask_ps(_mm256_castsi256_ps(keep.0))) as usize;
        let places = KEPT_FIRST[mask] as i64;
        let packed = avx2!(self.1, {
            let places = _mm256_cvtepu8_epi32(_mm_cvtsi64_si128(places));
            _mm256_permutevar8x32_epi32(self.0, places)
        });
        memory::store(self.1, packed, first_mut::<_, 8>(to));
        mask.count_ones() as usize
    }
}

impl Rejection for I32x8 {}

impl Transform for I32x8 {
    const BARRETT: bool = false;
    const MIXED: bool = true;

    #[inline(always)]
    fn times(self, [constant, companion]: [Self; 2], above: [Self; 2]) -> Self {
        avx2!(self.1, {
            let q = _mm256_set1_epi32(Q);
            let odd = self.odd();
            let even_product = _mm256_mul_epi32(self.0, constant.0);
            let odd_product = _mm256_mul_epi32(odd, above[0].0);
            let even_multiple = _mm256_mul_epi32(self.0, companion.0);
            let odd_multiple = _mm256_mul_epi32(odd, above[1].0);
            Self::join_high(
                _mm256_sub_epi64(even_product, _mm256_mul_epi32(even_multiple, q)),
                _mm256_sub_epi64(odd_product, _mm256_mul_epi32(odd_multiple, q)),
                self.1,
            )
        })
    }
    #[inline(always)]
    fn exchange<const HOP: usize>(a: Self, b: Self) -> (Self, Self) {
        avx2!(
            a.1,
            match HOP {
                4 => (
                    I32x8(_mm256_permute2x128_si256::<0x20>(a.0, b.0), a.1),
                    I32x8(_mm256_permute2x128_si256::<0x31>(a.0, b.0), a.1),
                ),
                2 => (
                    I32x8(_mm256_unpacklo_epi64(a.0, b.0), a.1),
                    I32x8(_mm256_unpackhi_epi64(a.0, b.0), a.1),
                ),
                _ => (
                    I32x8(
                        _mm256_blend_epi32::<0xaa>(a.0, _mm256_slli_epi64::<32>(b.0)),
                        a.1
                    ),
                    I32x8(
                        _mm256_blend_epi32::<0xaa>(_mm256_srli_epi64::<32>(a.0), b.0),
                        a.1
                    ),
                ),
            }
        )
    }
}

/// 32 bytes and the token.
#[derive(Clone, Copy)]
pub(crate) struct U8x32(__m256i, Avx2);

impl ByteLanes for U8x32 {
    type Token = Avx2;
    const COUNT: usize = 32;
    #[inline(always)]
    fn zero(token: Avx2) -> Self {
        avx2!(token, U8x32, _mm256_setzero_si256())
    }
    #[inline(always)]
    fn add(self, from: &[u8]) -> Self {
        let more = memory::load(self.1, first::<_, 32>(from));
        avx2!(self.1, U8x32, _mm256_add_epi8(self.0, more))
    }
    #[inline(always)]
    fn store(self, to: &mut [u8]) {
        memory::store(self.1, self.0, first_mut::<_, 32>(to));
    }
}
