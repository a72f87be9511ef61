//! Accepted coefficients, moved together.

use core::arch::aarch64::*;

use super::{I32x4, Neon, memory};
use crate::backend::first;
use crate::kernels::lanes::Lanes;

/// For each mask of four lanes, the bytes of the lanes in it, in order.
const KEPT_FIRST: &[[u8; 16]; 16] = &{
    let mut table = [[0; 16]; 16];
    let mut mask = 0;
    while mask < 16 {
        let (mut lane, mut place) = (0, 0);
        while lane < 4 {
            if mask >> lane & 1 == 1 {
                let mut byte = 0;
                while byte < 4 {
                    table[mask][4 * place + byte] = (4 * lane + byte) as u8;
                    byte += 1;
                }
                place += 1;
            }
            lane += 1;
        }
        mask += 1;
    }
    table
};

/// A lane's bit in a mask of four; in the bits above, a one for the number of lanes.
pub(super) const KEPT_BITS: [u32; 4] = [0x11, 0x12, 0x14, 0x18];

/// The lanes of a mask, with bits above it that are ignored, in order; then anything.
#[inline(always)]
pub(super) fn kept_first(values: I32x4, mask: usize) -> I32x4 {
    let places = memory::load(values.1, &KEPT_FIRST[mask & 15]);
    neon!(values.1, I32x4, {
        let packed = vqtbl1q_u8(vreinterpretq_u8_s32(values.0), places);
        vreinterpretq_s32_u8(packed)
    })
}

/// For each four of 16 bytes of zeros or ones, a byte of [`KEPT_BITS`]' form.
#[inline(always)]
pub(super) fn kept(token: Neon, keep: uint8x16_t) -> u32 {
    neon!(token, {
        let bits = vreinterpretq_u8_u32(vdupq_n_u32(0x1814_1211));
        let fours = vandq_u8(keep, bits);
        let pairs = vpaddq_u8(fours, fours);
        let sums = vpaddq_u8(pairs, pairs);
        vgetq_lane_u32::<0>(vreinterpretq_u32_u8(sums))
    })
}

/// The half-bytes of the first eight bytes, each in a byte, the low half of a byte first.
#[inline(always)]
pub(super) fn halves(token: Neon, from: &[u8]) -> uint8x16_t {
    let bytes = memory::load_half(token, first::<_, 8>(from));
    neon!(token, {
        let (low, high) = (vand_u8(bytes, vdup_n_u8(15)), vshr_n_u8::<4>(bytes));
        vcombine_u8(vzip1_u8(low, high), vzip2_u8(low, high))
    })
}

/// [`Lanes::store_kept`] of four times four lanes, by what [`kept`] says of them.
#[inline(always)]
pub(super) fn store_sixteen(values: [I32x4; 4], kept: u32, to: &mut [i32]) -> usize {
    let to = &mut to[..16];
    let mut count = 0;
    for (values, kept) in values.into_iter().zip(kept.to_le_bytes()) {
        kept_first(values, usize::from(kept)).store(&mut to[count..]);
        count += usize::from(kept >> 4);
    }
    count
}
