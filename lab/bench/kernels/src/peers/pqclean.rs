//! PQClean's AVX2 code, the scheme's authors' own, as the crate `pqcrypto-mldsa` compiles it.

use mldsa_lanes::internals::Poly;
// Linked for its C library alone.
use pqcrypto_mldsa as _;

use super::import::{Avx2, SLACK, States, pointer, start};
use super::keccak::ROUND_CONSTANTS;

import! {
    /// |p| < q in FIPS 204's order, to `nttunpack`'s order.
    ntt = "PQCLEAN_MLDSA65_AVX2_poly_ntt": in_place;
    inverse_ntt = "PQCLEAN_MLDSA65_AVX2_poly_invntt_tomont": in_place;
    /// The order of a transform that `ntt` gives and `inverse_ntt` takes.
    nttunpack = "PQCLEAN_MLDSA65_AVX2_poly_nttunpack": in_place;
    product = "PQCLEAN_MLDSA65_AVX2_poly_pointwise_montgomery": of_two;
    dot_44 = "PQCLEAN_MLDSA44_AVX2_polyvecl_pointwise_acc_montgomery": row 4;
    dot_65 = "PQCLEAN_MLDSA65_AVX2_polyvecl_pointwise_acc_montgomery": row 5;
    dot_87 = "PQCLEAN_MLDSA87_AVX2_polyvecl_pointwise_acc_montgomery": row 7;
    add = "PQCLEAN_MLDSA65_AVX2_poly_add": of_two;
    reduce = "PQCLEAN_MLDSA65_AVX2_poly_reduce": in_place;
    caddq = "PQCLEAN_MLDSA65_AVX2_poly_caddq": in_place;
    /// Times 2^d.
    shiftl = "PQCLEAN_MLDSA65_AVX2_poly_shiftl": in_place;
    exceeds = "PQCLEAN_MLDSA65_AVX2_poly_chknorm": norm;
    use_hint_44 = "PQCLEAN_MLDSA44_AVX2_poly_use_hint": of_two;
    use_hint_65 = "PQCLEAN_MLDSA65_AVX2_poly_use_hint": of_two;
    pack_w1_44 = "PQCLEAN_MLDSA44_AVX2_polyw1_pack": pack 192;
    pack_w1_65 = "PQCLEAN_MLDSA65_AVX2_polyw1_pack": pack 128;
    pack_z_44 = "PQCLEAN_MLDSA44_AVX2_polyz_pack": pack 576;
    pack_z_65 = "PQCLEAN_MLDSA65_AVX2_polyz_pack": pack 640;
    unpack_z_44 = "PQCLEAN_MLDSA44_AVX2_polyz_unpack": unpack 576;
    unpack_z_65 = "PQCLEAN_MLDSA65_AVX2_polyz_unpack": unpack 640;
    pack_t1 = "PQCLEAN_MLDSA65_AVX2_polyt1_pack": pack 320;
    unpack_t1 = "PQCLEAN_MLDSA65_AVX2_polyt1_unpack": unpack 320;
    unpack_t0 = "PQCLEAN_MLDSA65_AVX2_polyt0_unpack": unpack 416;
    challenge_44 = "PQCLEAN_MLDSA44_AVX2_poly_challenge": unpack 32;
    challenge_65 = "PQCLEAN_MLDSA65_AVX2_poly_challenge": unpack 48;
    challenge_87 = "PQCLEAN_MLDSA87_AVX2_poly_challenge": unpack 64;
    uniform = "PQCLEAN_MLDSA65_AVX2_poly_uniform_4x": sample4 32;
    bounded_44 = "PQCLEAN_MLDSA44_AVX2_poly_uniform_eta_4x": sample4 64;
    bounded_65 = "PQCLEAN_MLDSA65_AVX2_poly_uniform_eta_4x": sample4 64;
    mask_44 = "PQCLEAN_MLDSA44_AVX2_poly_uniform_gamma1_4x": sample4 64;
    mask_65 = "PQCLEAN_MLDSA65_AVX2_poly_uniform_gamma1_4x": sample4 64;
}

/// Functions of one polynomial with two outputs: the high part first.
macro_rules! two_parts {
    ($($name:ident = $symbol:literal;)*) => {
        $(pub fn $name(_: Avx2, high: &mut Poly, low: &mut Poly, of: &Poly) {
            unsafe extern "C" {
                #[link_name = $symbol]
                fn c(high: *mut i32, low: *mut i32, of: *const i32);
            }
            // SAFETY: the symbol has this signature, and the token proves the CPU features.
            unsafe { c(pointer(high), pointer(low), start(std::slice::from_ref(of))) }
        })*
    };
}
two_parts! {
    decompose_44 = "PQCLEAN_MLDSA44_AVX2_poly_decompose";
    decompose_65 = "PQCLEAN_MLDSA65_AVX2_poly_decompose";
    power2round = "PQCLEAN_MLDSA65_AVX2_poly_power2round";
}

/// The places of the hints, one byte each; the result is how many there are. Whole registers are
/// written: `places` has room for one more.
macro_rules! make_hint {
    ($($name:ident = $symbol:literal;)*) => {
        $(pub fn $name(_: Avx2, places: &mut [u8; 256 + SLACK], low: &Poly, w1: &Poly) -> u32 {
            unsafe extern "C" {
                #[link_name = $symbol]
                fn c(places: *mut u8, low: *const i32, w1: *const i32) -> u32;
            }
            let (low, w1) = (std::slice::from_ref(low), std::slice::from_ref(w1));
            // SAFETY: the symbol has this signature, and the token proves the CPU features.
            unsafe { c(places.as_mut_ptr(), start(low), start(w1)) }
        })*
    };
}
make_hint! {
    make_hint_44 = "PQCLEAN_MLDSA44_AVX2_poly_make_hint";
    make_hint_65 = "PQCLEAN_MLDSA65_AVX2_poly_make_hint";
}

/// Word `i` of state `j` is at `4 * i + j`.
pub fn keccak_4(_: Avx2, states: &mut States) {
    unsafe extern "C" {
        #[link_name = "PQCLEAN_MLDSA65_AVX2_f1600x4"]
        fn c(states: *mut u64, round_constants: *const u64);
    }
    // SAFETY: the symbol has this signature, the states are aligned, and the token proves AVX2.
    unsafe { c(states.0.as_mut_ptr(), ROUND_CONSTANTS.as_ptr()) }
}

/// Five blocks of SHAKE128 of the first `len` bytes of each input.
pub fn shake128_4(_: Avx2, input: &[[u8; 64 + SLACK]; 4], len: usize, out: &mut [[u8; 840]; 4]) {
    unsafe extern "C" {
        #[link_name = "PQCLEAN_MLDSA65_AVX2_shake128x4_absorb_once"]
        fn absorb(s: *mut u64, a: *const u8, b: *const u8, c: *const u8, d: *const u8, len: usize);
        #[link_name = "PQCLEAN_MLDSA65_AVX2_shake128x4_squeezeblocks"]
        fn squeeze(a: *mut u8, b: *mut u8, c: *mut u8, d: *mut u8, blocks: usize, s: *mut u64);
    }
    assert!(len <= 64);
    let mut states = States([0; 100]);
    let ([a, b, c, d], s) = (input, states.0.as_mut_ptr());
    let [w, x, y, z] = out;
    // SAFETY: the symbols have these signatures; inputs are read in words of eight bytes, which they
    // have room for, and five blocks of 168 bytes fill each output.
    unsafe {
        absorb(s, a.as_ptr(), b.as_ptr(), c.as_ptr(), d.as_ptr(), len);
        squeeze(
            w.as_mut_ptr(),
            x.as_mut_ptr(),
            y.as_mut_ptr(),
            z.as_mut_ptr(),
            5,
            s,
        );
    }
}

/// The constants that all of these transforms take: q, its inverse and the twiddles, 624 numbers at a
/// multiple of 32 bytes. mldsa-native and AWS-LC have the same table, but keep it to themselves.
pub(super) fn constants() -> *const i32 {
    unsafe extern "C" {
        #[link_name = "PQCLEAN_MLDSA65_AVX2_qdata"]
        static QDATA: [i32; 624];
    }
    &raw const QDATA as *const i32
}
