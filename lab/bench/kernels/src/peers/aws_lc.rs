//! AWS-LC's AVX2 assembly, which comes from s2n-bignum, as the crate `aws-lc-sys` compiles it.

use mldsa_lanes::internals::Poly;
// Linked for its C library alone.
use aws_lc_sys as _;

use super::import::{Avx2, SLACK, States, pointer, start};
use super::keccak::{RHO_8, RHO_56, ROUND_CONSTANTS};
use super::pqclean::constants;

import! {
    /// The order of a transform that `ntt` gives and `inverse_ntt` takes.
    nttunpack = "aws_lc_0_47_0_mldsa_nttunpack_avx2_asm": in_place;
    caddq = "aws_lc_0_47_0_mldsa_poly_caddq_avx2_asm": in_place;
    /// w1, and w in [0, q), which becomes w0.
    decompose_44 = "aws_lc_0_47_0_mldsa_poly_decompose_88_avx2_asm": both;
    decompose_65 = "aws_lc_0_47_0_mldsa_poly_decompose_32_avx2_asm": both;
    use_hint_44 = "aws_lc_0_47_0_mldsa_poly_use_hint_88_avx2_asm": onto;
    use_hint_65 = "aws_lc_0_47_0_mldsa_poly_use_hint_32_avx2_asm": onto;
    exceeds = "aws_lc_0_47_0_mldsa_poly_chknorm_avx2_asm": norm;
    unpack_z_44 = "aws_lc_0_47_0_mldsa_polyz_unpack_17_avx2_asm": unpack 576;
    unpack_z_65 = "aws_lc_0_47_0_mldsa_polyz_unpack_19_avx2_asm": unpack 640;
}

transforms! {
    ntt = "aws_lc_0_47_0_mldsa_ntt_avx2_asm";
    inverse_ntt = "aws_lc_0_47_0_mldsa_invntt_avx2_asm";
}

rows! {
    dot_44 = "aws_lc_0_47_0_mldsa_pointwise_acc_l4_avx2_asm", 4;
    dot_65 = "aws_lc_0_47_0_mldsa_pointwise_acc_l5_avx2_asm", 5;
    dot_87 = "aws_lc_0_47_0_mldsa_pointwise_acc_l7_avx2_asm", 7;
}

/// a becomes a·b·2^-32.
pub fn product(_: Avx2, a: &mut Poly, b: &Poly) {
    unsafe extern "C" {
        #[link_name = "aws_lc_0_47_0_mldsa_pointwise_avx2_asm"]
        fn c(a: *mut i32, b: *const i32, constants: *const i32);
    }
    // SAFETY: the symbol has this signature, and the token proves the CPU features.
    unsafe { c(pointer(a), start(std::slice::from_ref(b)), constants()) }
}

/// Word `i` of state `j` is at `25 * j + i`.
pub fn keccak_4(_: Avx2, states: &mut States) {
    unsafe extern "C" {
        #[link_name = "aws_lc_0_47_0_sha3_keccak4_f1600_alt"]
        fn c(states: *mut u64, rounds: *const u64, rho_8: *const u8, rho_56: *const u8);
    }
    let (rho_8, rho_56) = (RHO_8.0.as_ptr(), RHO_56.0.as_ptr());
    // SAFETY: the symbol has this signature; states and tables are aligned; the token proves AVX2.
    unsafe {
        c(
            states.0.as_mut_ptr(),
            ROUND_CONSTANTS.as_ptr(),
            rho_8,
            rho_56,
        )
    }
}

/// The permutation of one state.
pub fn keccak(state: &mut [u64; 25]) {
    unsafe extern "C" {
        #[link_name = "aws_lc_0_47_0_KeccakF1600"]
        fn c(state: *mut u64);
    }
    // SAFETY: the symbol has this signature, and chooses its code by the CPU.
    unsafe { c(state.as_mut_ptr()) }
}

/// Five blocks of SHAKE128 of the first `len` bytes of each input.
pub fn shake128_4(input: &[[u8; 64 + SLACK]; 4], len: usize, out: &mut [[u8; 840]; 4]) {
    unsafe extern "C" {
        #[link_name = "aws_lc_0_47_0_Keccak1600_Absorb_once_x4"]
        fn absorb(
            s: *mut u64,
            a: *const u8,
            b: *const u8,
            c: *const u8,
            d: *const u8,
            len: usize,
            rate: usize,
            suffix: u8,
        );
        #[link_name = "aws_lc_0_47_0_Keccak1600_Squeezeblocks_x4"]
        fn squeeze(
            s: *mut u64,
            a: *mut u8,
            b: *mut u8,
            c: *mut u8,
            d: *mut u8,
            blocks: usize,
            rate: usize,
        );
    }
    assert!(len <= 64);
    let mut states = States([0; 100]);
    let ([a, b, c, d], s) = (input, states.0.as_mut_ptr());
    let [w, x, y, z] = out;
    // SAFETY: the symbols have these signatures and choose their code by the CPU; the inputs have
    // `len` bytes, and five blocks of 168 bytes fill each output.
    unsafe {
        absorb(
            s,
            a.as_ptr(),
            b.as_ptr(),
            c.as_ptr(),
            d.as_ptr(),
            len,
            168,
            0x1f,
        );
        squeeze(
            s,
            w.as_mut_ptr(),
            x.as_mut_ptr(),
            y.as_mut_ptr(),
            z.as_mut_ptr(),
            5,
            168,
        );
    }
}
