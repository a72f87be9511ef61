//! C functions of a few shapes made safe. Every one reads and writes whole polynomials, strings
//! and states; `SLACK` is what PQClean's code reads or writes beyond a string.

use mldsa_lanes::internals::{Poly, coefficients_mut};

/// Proof of the CPU features that the peers' x86-64 code is compiled for.
#[derive(Clone, Copy)]
pub struct Avx2(());

impl Avx2 {
    pub fn detect() -> Option<Self> {
        let all = std::is_x86_feature_detected!("avx2")
            && std::is_x86_feature_detected!("bmi1")
            && std::is_x86_feature_detected!("bmi2")
            && std::is_x86_feature_detected!("popcnt");
        all.then_some(Avx2(()))
    }
}

/// Bytes behind a string that is read or written in whole registers.
pub const SLACK: usize = 32;

/// Four Keccak states: word `i` of state `j` at `4 * i + j`, or at `25 * j + i`.
#[derive(Clone)]
#[repr(align(32))]
pub struct States(pub [u64; 100]);

pub(super) fn pointer(p: &mut Poly) -> *mut i32 {
    coefficients_mut(p).as_mut_ptr()
}

/// A `Poly` is its coefficients and nothing else, aligned as vector loads want it; so a slice of
/// them is an array of coefficients.
pub(super) fn start(polys: &[Poly]) -> *const i32 {
    const { assert!(size_of::<Poly>() == 1024 && align_of::<Poly>() >= 32) };
    polys.as_ptr().cast()
}

/// `shape name = "symbol";` lines. `row LEN` takes so many polynomials, `string LEN` so many bytes
/// and `SLACK` more.
macro_rules! import {
    ($($(#[$doc:meta])* $name:ident = $symbol:literal: $shape:ident $($len:literal)?;)*) => {
        $(import!(@$shape $name $symbol [$(#[$doc])*] $($len)?);)*
    };
    (@in_place $name:ident $symbol:literal [$($doc:tt)*]) => {
        $($doc)*
        pub fn $name(_: $crate::peers::import::Avx2, p: &mut Poly) {
            unsafe extern "C" {
                #[link_name = $symbol]
                fn c(p: *mut i32);
            }
            // SAFETY: the symbol has this signature, `p` is a polynomial, and the token proves the
            // CPU features. The same holds below.
            unsafe { c(pointer(p)) }
        }
    };
    (@onto $name:ident $symbol:literal [$($doc:tt)*]) => {
        $($doc)*
        pub fn $name(_: $crate::peers::import::Avx2, out: &mut Poly, a: &Poly) {
            unsafe extern "C" {
                #[link_name = $symbol]
                fn c(out: *mut i32, a: *const i32);
            }
            // SAFETY: as for `in_place`.
            unsafe { c(pointer(out), start(std::slice::from_ref(a))) }
        }
    };
    (@both $name:ident $symbol:literal [$($doc:tt)*]) => {
        $($doc)*
        pub fn $name(_: $crate::peers::import::Avx2, a: &mut Poly, b: &mut Poly) {
            unsafe extern "C" {
                #[link_name = $symbol]
                fn c(a: *mut i32, b: *mut i32);
            }
            // SAFETY: as for `in_place`.
            unsafe { c(pointer(a), pointer(b)) }
        }
    };
    (@of_two $name:ident $symbol:literal [$($doc:tt)*]) => {
        $($doc)*
        pub fn $name(_: $crate::peers::import::Avx2, out: &mut Poly, a: &Poly, b: &Poly) {
            unsafe extern "C" {
                #[link_name = $symbol]
                fn c(out: *mut i32, a: *const i32, b: *const i32);
            }
            let (a, b) = (std::slice::from_ref(a), std::slice::from_ref(b));
            // SAFETY: as for `in_place`.
            unsafe { c(pointer(out), start(a), start(b)) }
        }
    };
    (@row $name:ident $symbol:literal [$($doc:tt)*] $len:literal) => {
        $($doc)*
        pub fn $name(_: $crate::peers::import::Avx2, out: &mut Poly, row: &[Poly], v: &[Poly]) {
            unsafe extern "C" {
                #[link_name = $symbol]
                fn c(out: *mut i32, row: *const i32, v: *const i32);
            }
            assert!(row.len() == $len && v.len() == $len);
            // SAFETY: as for `in_place`; both arguments have their length.
            unsafe { c(pointer(out), start(row), start(v)) }
        }
    };
    (@norm $name:ident $symbol:literal [$($doc:tt)*]) => {
        $($doc)*
        pub fn $name(_: $crate::peers::import::Avx2, p: &Poly, bound: i32) -> bool {
            unsafe extern "C" {
                #[link_name = $symbol]
                fn c(p: *const i32, bound: i32) -> i32;
            }
            // SAFETY: as for `in_place`.
            unsafe { c(start(std::slice::from_ref(p)), bound) != 0 }
        }
    };
    (@pack $name:ident $symbol:literal [$($doc:tt)*] $len:literal) => {
        $($doc)*
        pub fn $name(_: $crate::peers::import::Avx2, out: &mut [u8], p: &Poly) {
            unsafe extern "C" {
                #[link_name = $symbol]
                fn c(out: *mut u8, p: *const i32);
            }
            assert!(out.len() >= $len + $crate::peers::import::SLACK);
            // SAFETY: as for `in_place`; `out` has room for the string and what is written behind.
            unsafe { c(out.as_mut_ptr(), start(std::slice::from_ref(p))) }
        }
    };
    (@unpack $name:ident $symbol:literal [$($doc:tt)*] $len:literal) => {
        $($doc)*
        pub fn $name(_: $crate::peers::import::Avx2, p: &mut Poly, from: &[u8]) {
            unsafe extern "C" {
                #[link_name = $symbol]
                fn c(p: *mut i32, from: *const u8);
            }
            assert!(from.len() >= $len + $crate::peers::import::SLACK);
            // SAFETY: as for `in_place`; `from` has the string and what is read behind.
            unsafe { c(pointer(p), from.as_ptr()) }
        }
    };
    (@sample4 $name:ident $symbol:literal [$($doc:tt)*] $len:literal) => {
        $($doc)*
        pub fn $name(_: $crate::peers::import::Avx2, seed: &[u8; $len], nonces: [u16; 4], out: &mut [Poly; 4]) {
            unsafe extern "C" {
                #[link_name = $symbol]
                fn c(a: *mut i32, b: *mut i32, c: *mut i32, d: *mut i32, seed: *const u8, i: u16, j: u16, k: u16, l: u16);
            }
            let [a, b, d, e] = out;
            let [i, j, k, l] = nonces;
            // SAFETY: as for `in_place`; the seed has its length.
            unsafe { c(pointer(a), pointer(b), pointer(d), pointer(e), seed.as_ptr(), i, j, k, l) }
        }
    };
}

/// Transforms in place that take the table of constants.
macro_rules! transforms {
    ($($name:ident = $symbol:literal;)*) => {
        $(pub fn $name(_: Avx2, p: &mut Poly) {
            unsafe extern "C" {
                #[link_name = $symbol]
                fn c(p: *mut i32, constants: *const i32);
            }
            // SAFETY: the symbol has this signature, and the token proves the CPU features.
            unsafe { c(pointer(p), constants()) }
        })*
    };
}

/// Dot products of rows of a fixed length that take the table of constants.
macro_rules! rows {
    ($($name:ident = $symbol:literal, $len:literal;)*) => {
        $(pub fn $name(_: Avx2, out: &mut Poly, row: &[Poly], v: &[Poly]) {
            unsafe extern "C" {
                #[link_name = $symbol]
                fn c(out: *mut i32, row: *const i32, v: *const i32, constants: *const i32);
            }
            assert!(row.len() == $len && v.len() == $len);
            // SAFETY: the symbol has this signature, both arguments have their length, and the token
            // proves the CPU features.
            unsafe { c(pointer(out), start(row), start(v), constants()) }
        })*
    };
}
