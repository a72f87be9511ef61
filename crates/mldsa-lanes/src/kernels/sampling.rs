//! Pseudorandom sampling (FIPS 204, section 7.3), several XOFs side by side.

use super::keccak::{RATE_128, RATE_256, Shake256, States, copy_block, seeded};
use super::packing::unpack_width;
use super::poly::{Poly, Wipe};
use crate::params::{N, ParameterSet, Q};

/// A backend's permutation of `COUNT` states at once.
pub(crate) trait Permute<const COUNT: usize>: Copy {
    fn permute(self, states: &mut States<COUNT>);
}

/// RejNTTPoly (Algorithm 30) for each nonce: uniform coefficients in [0, q) from
/// SHAKE128(rho ‖ nonce). All values are public.
#[inline(always)]
pub(crate) fn uniform<E: Permute<COUNT>, const COUNT: usize>(
    engine: E,
    rho: &[u8; 32],
    nonces: &[u16],
    out: &mut [Poly],
) {
    // Five blocks give 280 candidates of three bytes; 256 are needed and 1 in 1,024 is refused.
    const BLOCKS: usize = 5;
    for (nonces, out) in nonces.chunks(COUNT).zip(out.chunks_mut(COUNT)) {
        let mut states = seeded::<COUNT>(RATE_128, rho, nonces);
        let mut bytes = [[0u8; BLOCKS * RATE_128]; COUNT];
        for block in 0..BLOCKS {
            engine.permute(&mut states);
            copy_block(&states, RATE_128, &mut bytes, block * RATE_128);
        }
        let mut filled = [0; COUNT];
        for ((p, bytes), filled) in out.iter_mut().zip(&bytes).zip(&mut filled) {
            *filled = accept_uniform(p, 0, bytes);
        }
        while filled[..out.len()].iter().any(|n| *n < N) {
            let mut more = [[0u8; RATE_128]; COUNT];
            engine.permute(&mut states);
            copy_block(&states, RATE_128, &mut more, 0);
            for ((p, bytes), filled) in out.iter_mut().zip(&more).zip(&mut filled) {
                *filled = accept_uniform(p, *filled, bytes);
            }
        }
    }
}

/// CoeffFromThreeBytes (Algorithm 14) over a block; returns how many coefficients p now has.
#[inline(always)]
fn accept_uniform(p: &mut Poly, mut filled: usize, bytes: &[u8]) -> usize {
    for three in bytes.chunks_exact(3) {
        if filled == N {
            break;
        }
        let value =
            i32::from(three[0]) | i32::from(three[1]) << 8 | i32::from(three[2] & 127) << 16;
        p.0[filled] = value;
        filled += usize::from(value < Q);
    }
    filled
}

/// RejBoundedPoly (Algorithm 31) for each nonce: coefficients in [-η, η] from
/// SHAKE256(rho' ‖ nonce). Which half-bytes are refused is independent of those accepted, so
/// only the refusal steers the code; the write itself is unconditional.
#[inline(always)]
pub(crate) fn bounded<P: ParameterSet, E: Permute<COUNT>, const COUNT: usize>(
    engine: E,
    rho_prime: &[u8; 64],
    nonces: &[u16],
    out: &mut [Poly],
) {
    for (nonces, out) in nonces.chunks(COUNT).zip(out.chunks_mut(COUNT)) {
        let mut states = seeded::<COUNT>(RATE_256, rho_prime, nonces);
        let mut filled = [0; COUNT];
        let mut bytes = [[0u8; RATE_256]; COUNT];
        while filled[..out.len()].iter().any(|n| *n < N) {
            engine.permute(&mut states);
            copy_block(&states, RATE_256, &mut bytes, 0);
            for ((p, bytes), filled) in out.iter_mut().zip(&bytes).zip(&mut filled) {
                *filled = accept_bounded::<P>(p, *filled, bytes);
            }
        }
        bytes.as_flattened_mut().wipe();
    }
}

/// CoeffFromHalfByte (Algorithm 15) over a block.
#[inline(always)]
fn accept_bounded<P: ParameterSet>(p: &mut Poly, mut filled: usize, bytes: &[u8]) -> usize {
    for byte in bytes {
        for half in [i32::from(byte & 15), i32::from(byte >> 4)] {
            if filled == N {
                return N;
            }
            let (value, accepted) = if P::ETA == 2 {
                // half mod 5 without a division: 205/1024 is 1/5 closely enough below 16.
                (2 - (half - 5 * ((half * 205) >> 10)), half < 15)
            } else {
                (4 - half, half < 9)
            };
            p.0[filled] = value;
            filled += usize::from(accepted);
        }
    }
    filled
}

/// One polynomial of ExpandMask (Algorithm 34) for each nonce: coefficients in (-γ1, γ1] from
/// SHAKE256(rho'' ‖ nonce).
#[inline(always)]
pub(crate) fn mask<P: ParameterSet, E: Permute<COUNT>, const COUNT: usize>(
    engine: E,
    rho_second: &[u8; 64],
    nonces: &[u16],
    out: &mut [Poly],
) {
    // 576 or 640 bytes of five blocks.
    const BLOCKS: usize = 5;
    for (nonces, out) in nonces.chunks(COUNT).zip(out.chunks_mut(COUNT)) {
        let mut states = seeded::<COUNT>(RATE_256, rho_second, nonces);
        let mut bytes = [[0u8; BLOCKS * RATE_256]; COUNT];
        for block in 0..BLOCKS {
            engine.permute(&mut states);
            copy_block(&states, RATE_256, &mut bytes, block * RATE_256);
        }
        for (p, bytes) in out.iter_mut().zip(&bytes) {
            unpack_width(P::Z_BITS, p, &bytes[..32 * P::Z_BITS], |x| P::GAMMA1 - x);
        }
        bytes.as_flattened_mut().wipe();
    }
}

/// SampleInBall (Algorithm 29): τ coefficients ±1, the rest 0. Positions and signs come from
/// `c_tilde`, which is public once a signature is out and commonly treated as public before.
pub(crate) fn in_ball<P: ParameterSet>(c_tilde: &[u8], c: &mut Poly) {
    c.0.fill(0);
    let mut reader = Shake256::new().absorb(c_tilde).finish();
    let mut signs = u64::from_le_bytes(reader.read());
    for i in N - P::TAU..N {
        let j = loop {
            let [j] = reader.read::<1>();
            if usize::from(j) <= i {
                break usize::from(j);
            }
        };
        c.0[i] = c.0[j];
        c.0[j] = 1 - 2 * (signs & 1) as i32;
        signs >>= 1;
    }
}
