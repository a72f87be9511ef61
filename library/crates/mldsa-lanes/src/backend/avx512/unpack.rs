//! How bytes come into sixteen lanes: double words across the register, then bytes inside its
//! 128-bit parts. The caller drops the bits above each value.

use core::arch::x86_64::*;

use super::{Avx512, avx512, memory};

/// Three bytes a lane, of 48.
#[inline(always)]
pub(super) fn triples(token: Avx512, from: &[u8]) -> __m512i {
    by_parts::<24>(token, load::<24>(token, from))
}

/// Three bytes a lane, of at most 48; where there are fewer, the other lanes are all ones.
#[inline(always)]
pub(super) fn fewer_triples(token: Avx512, from: &[u8]) -> __m512i {
    let ones = avx512!(token, _mm512_set1_epi8(-1));
    by_parts::<24>(token, memory::load_part(token, ones, from))
}

/// Four bits a lane, the lowest first.
#[inline(always)]
pub(super) fn halves(token: Avx512, from: u64) -> __m512i {
    let shifts = memory::load(token, const { &SHIFTS_OF_HALVES.0 });
    avx512!(token, {
        let low = _mm512_set1_epi32(from as i32);
        let both = _mm512_mask_set1_epi32(low, 0xff00, (from >> 32) as i32);
        _mm512_srlv_epi32(both, shifts)
    })
}

/// `BITS` bits a lane, 25 at most, of 2·`BITS` bytes.
#[inline(always)]
pub(super) fn bits<const BITS: u32>(token: Avx512, from: &[u8]) -> __m512i {
    let lanes = by_parts::<BITS>(token, load::<BITS>(token, from));
    let shifts = memory::load(token, const { &Tables::<BITS>::SHIFTS.0 });
    avx512!(token, _mm512_srlv_epi32(lanes, shifts))
}

/// The 2·`BITS` bytes of sixteen values and zeros, without reading further.
#[inline(always)]
fn load<const BITS: u32>(token: Avx512, from: &[u8]) -> __m512i {
    let from = &from[..const { 2 * BITS as usize }];
    memory::load_part(token, avx512!(token, _mm512_setzero_si512()), from)
}

/// Lane i gets the four bytes in which its value begins: first the double words of each 128-bit
/// part's lanes, then the bytes inside the parts.
#[inline(always)]
fn by_parts<const BITS: u32>(token: Avx512, bytes: __m512i) -> __m512i {
    let words = memory::load(token, const { &Tables::<BITS>::WORDS_OF_PARTS.0 });
    let places = memory::load(token, const { &Tables::<BITS>::BYTES_IN_PARTS.0 });
    avx512!(
        token,
        _mm512_shuffle_epi8(_mm512_permutexvar_epi32(words, bytes), places)
    )
}

/// A register of constants, aligned so that loads of it stay in one line of the cache.
#[repr(align(64))]
struct Table<T>(T);

/// Half-byte `lane` of eight in a double word.
const SHIFTS_OF_HALVES: Table<[i32; 16]> = {
    let mut shifts = [0; 16];
    let mut lane = 0;
    while lane < 16 {
        shifts[lane] = lane as i32 * 4 % 32;
        lane += 1;
    }
    Table(shifts)
};

/// Where the bits of sixteen values of `BITS` bits each lie.
struct Tables<const BITS: u32>;

impl<const BITS: u32> Tables<BITS> {
    /// The double word in which the bytes of a 128-bit part's four lanes begin.
    const fn part_start(part: usize) -> usize {
        4 * part * BITS as usize / 32
    }

    /// For each part, four double words from there on.
    const WORDS_OF_PARTS: Table<[i32; 16]> = {
        let mut places = [0; 16];
        let mut word = 0;
        while word < 16 {
            places[word] = (Self::part_start(word / 4) + word % 4) as i32;
            word += 1;
        }
        Table(places)
    };

    /// For lane i, the four bytes from byte ⌊i·BITS/8⌋ on, counted from the beginning of the part.
    const BYTES_IN_PARTS: Table<[i8; 64]> = {
        let mut places = [0; 64];
        let mut byte = 0;
        while byte < 64 {
            let place = byte / 4 * BITS as usize / 8 + byte % 4;
            places[byte] = (place - 4 * Self::part_start(byte / 16)) as i8;
            assert!(0 <= places[byte] && places[byte] < 16);
            byte += 1;
        }
        Table(places)
    };

    /// For lane i, the bits of its first byte that belong to the value before: at most 7, so that
    /// 25 bits are left of its four bytes.
    const SHIFTS: Table<[i32; 16]> = {
        let mut shifts = [0; 16];
        let mut lane = 0;
        while lane < 16 {
            shifts[lane] = (lane as u32 * BITS % 8) as i32;
            lane += 1;
        }
        Table(shifts)
    };
}
