//! mldsa-native's AVX2 assembly, as the crate `mldsa-native-rs` compiles it with its feature `native`.

use mldsa_lanes::internals::Poly;
// Linked for its C library alone.
use mldsa_native_rs as _;

use super::import::{Avx2, States, pointer, start};
use super::keccak::{RHO_8, RHO_56, ROUND_CONSTANTS};
use super::pqclean::constants;

import! {
    /// The order of a transform that `ntt` gives and `inverse_ntt` takes.
    nttunpack = "mldsa_nttunpack_avx2_asm": in_place;
    caddq = "mldsa_poly_caddq_avx2_asm": in_place;
    /// w1, and w in [0, q), which becomes w0.
    decompose_44 = "mldsa_poly_decompose_88_avx2_asm": both;
    decompose_65 = "mldsa_poly_decompose_32_avx2_asm": both;
    use_hint_44 = "mldsa_poly_use_hint_88_avx2_asm": onto;
    use_hint_65 = "mldsa_poly_use_hint_32_avx2_asm": onto;
    exceeds = "mldsa_poly_chknorm_avx2_asm": norm;
    unpack_z_44 = "mldsa_polyz_unpack_17_avx2_asm": unpack 576;
    unpack_z_65 = "mldsa_polyz_unpack_19_avx2_asm": unpack 640;
}

transforms! {
    ntt = "mldsa_ntt_avx2_asm";
    inverse_ntt = "mldsa_invntt_avx2_asm";
}

rows! {
    dot_44 = "mldsa_pointwise_acc_l4_avx2_asm", 4;
    dot_65 = "mldsa_pointwise_acc_l5_avx2_asm", 5;
    dot_87 = "mldsa_pointwise_acc_l7_avx2_asm", 7;
}

/// a becomes a·b·2^-32.
pub fn product(_: Avx2, a: &mut Poly, b: &Poly) {
    unsafe extern "C" {
        #[link_name = "mldsa_pointwise_avx2_asm"]
        fn c(a: *mut i32, b: *const i32, constants: *const i32);
    }
    // SAFETY: the symbol has this signature, and the token proves the CPU features.
    unsafe { c(pointer(a), start(std::slice::from_ref(b)), constants()) }
}

/// Word `i` of state `j` is at `25 * j + i`.
pub fn keccak_4(_: Avx2, states: &mut States) {
    unsafe extern "C" {
        #[link_name = "mldsa_keccak_f1600_x4_avx2_asm"]
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
