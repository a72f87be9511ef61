//! How bytes come into sixteen lanes: with byte permutes inside 128-bit parts, or with VBMI across
//! the register.

use core::arch::x86_64::*;

use super::{Avx512, Avx512Vbmi};

/// A token of AVX-512 with its way of unpacking. The caller drops the bits above each value.
pub(super) trait Unpack: Copy {
    /// Three bytes a lane, of 48; where there are fewer, the other lanes are all ones.
    fn triples(self, from: &[u8]) -> __m512i;
    /// Four bits a lane, the lowest first.
    fn halves(self, from: u64) -> __m512i;
    /// `BITS` bits a lane, 25 at most, of 2·`BITS` bytes.
    fn bits<const BITS: u32>(self, from: &[u8]) -> __m512i;
    /// The token of what all CPUs with AVX-512 have.
    fn avx512(self) -> Avx512;
}

impl Unpack for Avx512 {
    #[inline(always)]
    fn triples(self, from: &[u8]) -> __m512i {
        // SAFETY: the token proves AVX-512.
        unsafe { by_parts::<24>(load_triples(from)) }
    }
    #[inline(always)]
    fn halves(self, from: u64) -> __m512i {
        // SAFETY: the token proves AVX-512.
        unsafe {
            let low = _mm512_set1_epi32(from as i32);
            let both = _mm512_mask_set1_epi32(low, 0xff00, (from >> 32) as i32);
            _mm512_srlv_epi32(both, vector(&SHIFTS_OF_HALVES))
        }
    }
    #[inline(always)]
    fn bits<const BITS: u32>(self, from: &[u8]) -> __m512i {
        // SAFETY: the token proves AVX-512.
        unsafe {
            let lanes = by_parts::<BITS>(load::<BITS>(from));
            _mm512_srlv_epi32(lanes, vector(&Tables::<BITS>::SHIFTS))
        }
    }
    #[inline(always)]
    fn avx512(self) -> Avx512 {
        self
    }
}

impl Unpack for Avx512Vbmi {
    #[inline(always)]
    fn triples(self, from: &[u8]) -> __m512i {
        // SAFETY: the token proves AVX-512 with VBMI.
        unsafe { at_once::<24>(load_triples(from)) }
    }
    #[inline(always)]
    fn halves(self, from: u64) -> __m512i {
        // SAFETY: the token proves AVX-512 with VBMI.
        unsafe { _mm512_multishift_epi64_epi8(vector(&HALVES), _mm512_set1_epi64(from as i64)) }
    }
    #[inline(always)]
    fn bits<const BITS: u32>(self, from: &[u8]) -> __m512i {
        // SAFETY: the token proves AVX-512 with VBMI.
        unsafe {
            let lanes = at_once::<BITS>(load::<BITS>(from));
            _mm512_srlv_epi32(lanes, vector(&Tables::<BITS>::SHIFTS))
        }
    }
    #[inline(always)]
    fn avx512(self) -> Avx512 {
        Avx512Vbmi::avx512(self)
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

/// The same in one step.
///
/// # Safety
/// The CPU has AVX-512 with VBMI.
#[inline(always)]
unsafe fn at_once<const BITS: u32>(bytes: __m512i) -> __m512i {
    // SAFETY: the caller has VBMI.
    unsafe { _mm512_permutexvar_epi8(vector(&Tables::<BITS>::BYTES_OF_LANES), bytes) }
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

/// For lane 2j + h, byte 4h of quad word j from bit 8j + 4h on; the other bytes do not matter.
const HALVES: Table<[i8; 64]> = {
    let mut places = [0; 64];
    let mut lane = 0;
    while lane < 16 {
        places[4 * lane] = 4 * lane as i8;
        lane += 1;
    }
    Table(places)
};

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
    /// For lane i, the four bytes from byte ⌊i·BITS/8⌋ on.
    const BYTES_OF_LANES: Table<[i8; 64]> = {
        let mut places = [0; 64];
        let mut byte = 0;
        while byte < 64 {
            places[byte] = (byte / 4 * BITS as usize / 8 + byte % 4) as i8;
            byte += 1;
        }
        Table(places)
    };

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

    /// `BYTES_OF_LANES`, counted from the beginning of the part.
    const BYTES_IN_PARTS: Table<[i8; 64]> = {
        let mut places = Self::BYTES_OF_LANES.0;
        let mut byte = 0;
        while byte < 64 {
            places[byte] -= 4 * Self::part_start(byte / 16) as i8;
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
