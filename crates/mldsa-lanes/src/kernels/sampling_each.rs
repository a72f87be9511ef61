//! The samplers where every polynomial has a seed of its own, so that the lanes of a group may
//! belong to different keys and messages. The rest as in [`super::sampling`].

use super::keccak::{RATE_128, RATE_256, States};
use super::lanes::Lanes;
use super::poly::{Poly, Wipe};
use super::sampling::{
    MASK_BLOCKS, MaskBytes, Permute, accept_bounded, accept_uniform, unpack_mask,
};
use crate::params::{N, Parameters};

/// A polynomial to be sampled from XOF(seed ‖ nonce).
pub(crate) struct Target<'a, const SEED: usize> {
    pub(crate) seed: &'a [u8; SEED],
    pub(crate) nonce: u16,
    pub(crate) out: &'a mut Poly,
}

/// [`super::keccak::seeded`] with a seed for each lane.
#[inline(always)]
fn seeded<const COUNT: usize, const SEED: usize>(
    rate: usize,
    group: &[Target<'_, SEED>],
) -> States<COUNT> {
    const { assert!(SEED.is_multiple_of(8) && SEED + 3 < RATE_256) };
    let mut states = States([[0; COUNT]; 25]);
    for (lane, target) in group.iter().enumerate() {
        for (row, word) in states.0.iter_mut().zip(target.seed.as_chunks::<8>().0) {
            row[lane] = u64::from_le_bytes(*word);
        }
        states.0[SEED / 8][lane] = u64::from(target.nonce) | 0x1f << 16;
    }
    states.0[rate / 8 - 1] = [1 << 63; COUNT];
    states
}

/// [`super::sampling::uniform`]: RejNTTPoly (Algorithm 30), coefficients in [0, q).
#[inline(always)]
pub(crate) fn uniform<V: Lanes, E: Permute<COUNT>, const COUNT: usize>(
    token: V::Token,
    engine: E,
    targets: &mut [Target<'_, 32>],
) {
    let mut bytes = [[0u8; RATE_128]; COUNT];
    for group in targets.chunks_mut(COUNT) {
        let mut states = seeded::<COUNT, 32>(RATE_128, group);
        let mut filled = [0; COUNT];
        while filled[..group.len()].iter().any(|n| *n < N) {
            engine.permute(&mut states);
            engine.copy_block(&states, RATE_128, &mut bytes, 0);
            for ((target, bytes), filled) in group.iter_mut().zip(&bytes).zip(&mut filled) {
                *filled = accept_uniform::<V>(token, target.out, *filled, bytes);
            }
        }
    }
}

/// [`super::sampling::bounded`]: RejBoundedPoly (Algorithm 31), coefficients in [-η, η].
#[inline(always)]
pub(crate) fn bounded<P: Parameters, V: Lanes, E: Permute<COUNT>, const COUNT: usize>(
    token: V::Token,
    engine: E,
    targets: &mut [Target<'_, 64>],
) {
    let mut bytes = [[0u8; RATE_256]; COUNT];
    for group in targets.chunks_mut(COUNT) {
        let mut states = seeded::<COUNT, 64>(RATE_256, group);
        let mut filled = [0; COUNT];
        while filled[..group.len()].iter().any(|n| *n < N) {
            engine.permute(&mut states);
            engine.copy_block(&states, RATE_256, &mut bytes, 0);
            for ((target, bytes), filled) in group.iter_mut().zip(&bytes).zip(&mut filled) {
                *filled = accept_bounded::<P, V>(token, target.out, *filled, bytes);
            }
        }
    }
    bytes.as_flattened_mut().wipe();
}

/// [`super::sampling::mask`]: a polynomial of ExpandMask (Algorithm 34), coefficients in
/// (-γ1, γ1]. `bytes`, `COUNT` of them, keeps secrets and is wiped by the caller.
#[inline(always)]
pub(crate) fn mask<P: Parameters, V: Lanes, E: Permute<COUNT>, const COUNT: usize>(
    token: V::Token,
    engine: E,
    targets: &mut [Target<'_, 64>],
    bytes: &mut [MaskBytes],
) {
    for group in targets.chunks_mut(COUNT) {
        let mut states = seeded::<COUNT, 64>(RATE_256, group);
        for block in 0..MASK_BLOCKS {
            engine.permute(&mut states);
            engine.copy_block(&states, RATE_256, bytes, block * RATE_256);
        }
        for (target, bytes) in group.iter_mut().zip(&*bytes) {
            if P::Z_BITS == 18 {
                unpack_mask::<V, 18>(token, target.out, bytes);
            } else {
                unpack_mask::<V, 20>(token, target.out, bytes);
            }
        }
    }
}
