//! Four Keccak states: two in vector registers, two in integer registers beside them, once with plain
//! NEON and once with the SHA3 extension.

use core::arch::aarch64::*;

use super::{Neon, NeonSha3};
use crate::kernels::keccak::{States, Words, permute_beside_two};
use crate::kernels::sampling::Permute;

/// The permutations of four states: the first two in `$words`, the other two in integer registers. Loops in
/// place of closures, which would not all be inlined.
macro_rules! permute_entry {
    ($engine:ty, $words:ident, $feature:meta) => {
        impl Permute<4> for $engine {
            #[inline]
            fn permute(self, states: &mut States<4>) {
                #[$feature]
                fn entry(states: &mut [[u64; 4]; 25]) {
                    let mut pair = [$words(vdupq_n_u64(0)); 25];
                    let [mut a, mut b] = [[0; 25]; 2];
                    for (i, row) in states.iter().enumerate() {
                        // SAFETY: `row` is 32 readable bytes.
                        pair[i] = $words(unsafe { vld1q_u64(row.as_ptr()) });
                        (a[i], b[i]) = (row[2], row[3]);
                    }
                    permute_beside_two(&mut pair, [&mut a, &mut b]);
                    for (i, row) in states.iter_mut().enumerate() {
                        // SAFETY: `row` is 32 writable bytes.
                        unsafe { vst1q_u64(row.as_mut_ptr(), pair[i].0) };
                        (row[2], row[3]) = (a[i], b[i]);
                    }
                }
                // SAFETY: `self` proves the feature.
                unsafe { entry(&mut states.0) }
            }
        }
    };
}
permute_entry!(Neon, U64x2, target_feature(enable = "neon"));
permute_entry!(NeonSha3, U64x2Sha3, target_feature(enable = "neon,sha3"));

/// One word of each of two Keccak states. Made only inside functions that have NEON.
#[derive(Clone, Copy)]
struct U64x2(uint64x2_t);

impl Words for U64x2 {
    #[inline(always)]
    fn xor(self, other: Self) -> Self {
        neon!(U64x2(veorq_u64(self.0, other.0)))
    }
    #[inline(always)]
    fn xor_constant(self, constant: u64) -> Self {
        neon!(U64x2(veorq_u64(self.0, vdupq_n_u64(constant))))
    }
    #[inline(always)]
    fn rotate_left<const LEFT: i32, const RIGHT: i32>(self) -> Self {
        neon!(U64x2(vsriq_n_u64::<RIGHT>(
            vshlq_n_u64::<LEFT>(self.0),
            self.0
        )))
    }
    #[inline(always)]
    fn chi(self, b: Self, c: Self) -> Self {
        neon!(U64x2(veorq_u64(self.0, vbicq_u64(c.0, b.0))))
    }
}

/// The same with the SHA3 extension. Made only inside functions that have it.
#[derive(Clone, Copy)]
struct U64x2Sha3(uint64x2_t);

/// Whether all vector units have the extension's instructions, as Apple's cores do. Arm's have them in one
/// unit of two or four, which is busy enough with the rotations (docs/arm.md).
const EVERYWHERE: bool = cfg!(target_vendor = "apple");

impl Words for U64x2Sha3 {
    #[inline(always)]
    fn xor(self, other: Self) -> Self {
        neon!(U64x2Sha3(veorq_u64(self.0, other.0)))
    }
    #[inline(always)]
    fn xor_constant(self, constant: u64) -> Self {
        neon!(U64x2Sha3(veorq_u64(self.0, vdupq_n_u64(constant))))
    }
    #[inline(always)]
    fn rotate_left<const LEFT: i32, const RIGHT: i32>(self) -> Self {
        neon!(U64x2Sha3(vxarq_u64::<RIGHT>(self.0, vdupq_n_u64(0))))
    }
    #[inline(always)]
    fn chi(self, b: Self, c: Self) -> Self {
        neon!(U64x2Sha3(if EVERYWHERE {
            vbcaxq_u64(self.0, c.0, b.0)
        } else {
            // Not as BCAX, which the compiler would make of it.
            vbslq_u64(b.0, self.0, veorq_u64(self.0, c.0))
        }))
    }
    #[inline(always)]
    fn xor5(self, b: Self, c: Self, d: Self, e: Self) -> Self {
        if !EVERYWHERE {
            return self.xor(b).xor(c.xor(d)).xor(e);
        }
        neon!(U64x2Sha3(veor3q_u64(
            veor3q_u64(self.0, b.0, c.0),
            d.0,
            e.0
        )))
    }
    #[inline(always)]
    fn xor_rotated_once(self, other: Self) -> Self {
        neon!(U64x2Sha3(if EVERYWHERE {
            vrax1q_u64(self.0, other.0)
        } else {
            veorq_u64(
                self.0,
                vsriq_n_u64::<63>(vshlq_n_u64::<1>(other.0), other.0),
            )
        }))
    }
    #[inline(always)]
    fn xor_then_rotate<const LEFT: i32, const RIGHT: i32>(self, other: Self) -> Self {
        neon!(U64x2Sha3(vxarq_u64::<RIGHT>(self.0, other.0)))
    }
}
