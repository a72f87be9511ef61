//! How bytes come into sixteen lanes: double words across the register, then bytes inside its
//! 128-bit parts. The caller drops the bits above each value.

use core::arch::x86_64::*;

use super::Avx512;

/// Three bytes a lane, of 48; where there are fewer, the other lanes are all ones.
#[inline(always)]
pub(super) fn triples(_: Avx512, from: &[u8]) -> __m512i {
    // SAFETY: the token proves AVX-512.
    unsafe { by_parts::<24>(load_triples(from)) }
}

/// Four bits a lane, the lowest first.
#[inline(always)]
pub(super) fn halves(_: Avx512, from: u64) -> __m512i {
    // SAFETY: the token proves AVX-512.
    unsafe {
        let low = _mm512_set1_epi32(from as i32);
        let both = _mm512_mask_set1_epi32(low, 0xff00, (from >> 32) as i32);
        _mm512_srlv_epi32(both, vector(&SHIFTS_OF_HALVES))
    }
}

/// `BITS` bits a lane, 25 at most, of 2·`BITS` bytes.
#[inline(always)]
pub(super) fn bits<const BITS: u32>(_: Avx512, from: &[u8]) -> __m512i {
    // SAFETY: the token proves AVX-512.
    unsafe {
        let lanes = by_parts::<BITS>(load::<BITS>(from));
        _mm512_srlv_epi32(lanes, vector(&Tables::<BITS>::SHIFTS))
    }
}

/// The 2·`BITS` bytes of sixteen values and zeros, without reading further.
///
/// # Safety
/// The CPU has AVX-512.
#[inline(always)]
unsafe fn load<const BITS: u32>(from: &[u8]) -> __m512i {
    let from = &from[..const { 2 * BITS as usize }];
    // SAFETY: the caller has AVX-512; the mask keeps the load within `from`.
    unsafe { _mm512_maskz_loadu_epi8((1 << (2 * BITS)) - 1, from.as_ptr().cast()) }
}

/// The 48 bytes of sixteen triples and anything after; or fewer bytes, then ones.
///
/// # Safety
/// The CPU has AVX-512.
#[inline(always)]
unsafe fn load_triples(from: &[u8]) -> __m512i {
    // SAFETY: the caller has AVX-512; the mask keeps the second load within `from`.
    unsafe {
        if from.len() >= 48 {
            load::<24>(from)
        } else {
            let mask = (1u64 << from.len()) - 1;
            _mm512_mask_loadu_epi8(_mm512_set1_epi8(-1), mask, from.as_ptr().cast())
        }
    }
}

/// Lane i gets the four bytes in which its value begins: first the double words of each 128-bit
/// part's lanes, then the bytes inside the parts.
///
/// # Safety
/// The CPU has AVX-512.
#[inline(always)]
unsafe fn by_parts<const BITS: u32>(bytes: __m512i) -> __m512i {
    // SAFETY: the caller has AVX-512.
    unsafe {
        let words = vector(&Tables::<BITS>::WORDS_OF_PARTS);
        let parts = _mm512_permutexvar_epi32(words, bytes);
        _mm512_shuffle_epi8(parts, vector(&Tables::<BITS>::BYTES_IN_PARTS))
    }
}

/// A register of constants.
#[repr(align(64))]
struct Table<T>(T);

/// # Safety
/// The CPU has AVX-512.
#[inline(always)]
unsafe fn vector<T>(table: &'static Table<T>) -> __m512i {
    const { assert!(size_of::<Table<T>>() == 64) };
    // SAFETY: the caller has AVX-512; the table is 64 bytes, aligned.
    unsafe { _mm512_load_si512((&raw const *table).cast()) }
}

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
