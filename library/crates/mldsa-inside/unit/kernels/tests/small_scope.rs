//! SampleInBall and the hint's encodings against FIPS 204's Algorithms 20, 21 and 29, for all inputs of a small scope.
//!
//! These are bounded proofs. The texts are the same for every τ, ω and k, and compare bytes only with each other, with
//! counters, ω and i. So an alphabet suffices that has 0, each value up to ω + 1, neighbours, and the ends of a byte.

use core::cell::Cell;
use std::vec::Vec;
use std::{thread_local, vec};

use mldsa_oracle::{ML_DSA_44, Params, hint_bit_pack, hint_bit_unpack};

use crate::kernels::keccak::RATE_256;
use crate::kernels::packing::{HintBits, hint_is_valid, pack_hint, unpack_hint_row};
use crate::kernels::poly::{Poly, Zero};
use crate::kernels::sampling::in_ball_from;
use crate::kernels::small::Offsets;
use crate::kernels::sponge::Shake256;
use crate::params::N;

/// Two blocks of H's output; those after them are zero.
type Output = [u8; 2 * RATE_256];

thread_local! {
    static OUTPUT: Cell<(usize, Output)> = const { Cell::new((0, [0; 2 * RATE_256])) };
}

/// In place of the permutation: the next block of [`OUTPUT`].
fn next_block(state: &mut [u64; 25]) {
    let (block, output) = OUTPUT.get();
    *state = [0; 25];
    if let Some(bytes) = output.chunks_exact(RATE_256).nth(block) {
        for (word, bytes) in state.iter_mut().zip(bytes.chunks_exact(8)) {
            *word = u64::from_le_bytes(bytes.try_into().unwrap());
        }
    }
    OUTPUT.set((block + 1, output));
}

/// Algorithm 29 from step 4 on, as it is written.
fn sample_in_ball(tau: usize, output: &Output) -> [i32; N] {
    let mut c = [0; N];
    let (s, mut bytes) = (
        &output[..8],
        output[8..].iter().chain(core::iter::repeat(&0)),
    );
    let h = |bit: usize| s[bit / 8] >> (bit % 8) & 1;
    for i in 256 - tau..256 {
        let mut j = usize::from(*bytes.next().unwrap());
        while j > i {
            j = usize::from(*bytes.next().unwrap());
        }
        c[i] = c[j];
        c[j] = if h(i + tau - 256) == 1 { -1 } else { 1 };
    }
    c
}

/// Both texts of the challenge, as a polynomial and as offsets, against Algorithm 29.
fn check_in_ball(tau: usize, output: &Output) {
    let expected = sample_in_ball(tau, output);
    let mut c = Poly([7; N]);
    OUTPUT.set((0, *output));
    in_ball_from(tau, &mut Shake256::new(next_block).finish(), &mut c);
    assert_eq!(c.0, expected, "τ = {tau}, {output:?}");
    let mut offsets = Offsets::ZERO;
    OUTPUT.set((0, *output));
    offsets.sample(tau, &mut Shake256::new(next_block).finish());
    c = Poly([7; N]);
    offsets.write(tau, &mut c);
    assert_eq!(c.0, expected, "offsets, τ = {tau}, {output:?}");
}

/// Each string of `length` symbols of an alphabet.
fn each_string(alphabet: &[u8], length: usize, mut check: impl FnMut(&[u8])) {
    let mut places = vec![0; length];
    loop {
        let string: Vec<u8> = places.iter().map(|place| alphabet[*place]).collect();
        check(&string);
        let Some(at) = places.iter().rposition(|place| place + 1 < alphabet.len()) else {
            return;
        };
        places[at] += 1;
        places[at + 1..].fill(0);
    }
}

/// All signs, and all positions with two of those that are rejected among them. Then positions after so many rejected
/// ones that words and blocks end before, within and after them.
#[test]
fn in_ball_is_algorithm_29() {
    let all: Vec<u8> = (0..=255).collect();
    each_string(&all, 2, |positions| {
        let mut output = [0; 2 * RATE_256];
        output[8..10].copy_from_slice(positions);
        for signs in 0..4 {
            output[0] = signs;
            check_in_ball(2, &output);
        }
    });
    each_string(&[0, 1, 128, 252, 253, 254, 255], 5, |positions| {
        let mut output = [0; 2 * RATE_256];
        output[8..13].copy_from_slice(positions);
        for signs in 0..8 {
            output[0] = signs;
            check_in_ball(3, &output);
        }
    });
    for rejected in (0..20).chain(115..140) {
        each_string(&[0, 253, 254], 3, |positions| {
            let mut output = [0; 2 * RATE_256];
            output[0] = 5;
            output[8..8 + rejected].fill(255);
            output[8 + rejected..11 + rejected].copy_from_slice(positions);
            check_in_ball(3, &output);
        });
    }
    // Each sign bit for itself, and positions from all of the range.
    for tau in [39, 49, 60] {
        for step in 0..=255_u8 {
            let mut output = [0; 2 * RATE_256];
            for (at, byte) in output.iter_mut().enumerate() {
                *byte = (at as u8).wrapping_mul(step).wrapping_add(step >> 3);
            }
            output[..8].copy_from_slice(&(1u64 << (step & 63)).to_le_bytes());
            check_in_ball(tau, &output);
        }
    }
}

fn params(omega: usize, k: usize) -> Params {
    Params {
        omega,
        k,
        ..ML_DSA_44
    }
}

/// The hint's rows of a valid string.
fn unpacked(omega: usize, k: usize, from: &[u8]) -> Vec<Vec<i64>> {
    let mut p = Poly([7; N]);
    (0..k)
        .map(|row| {
            unpack_hint_row(omega, from, row, &mut p);
            p.0.iter().map(|x| i64::from(*x)).collect()
        })
        .collect()
}

#[test]
fn hint_decoding_is_algorithm_21() {
    for (omega, k) in (0..4).flat_map(|omega| (1..4).map(move |k| (omega, k))) {
        each_string(&[0, 1, 2, 3, 4, 254, 255], omega + k, |from| {
            let expected = hint_bit_unpack(&params(omega, k), from);
            let valid = hint_is_valid(omega, from);
            assert_eq!(valid, expected.is_some(), "ω = {omega}, k = {k}, {from:?}");
            if let Some(expected) = expected {
                assert_eq!(
                    unpacked(omega, k, from),
                    expected,
                    "ω = {omega}, k = {k}, {from:?}"
                );
            }
        });
    }
}

/// Packs ones at numbers 256·row + place, and unpacks them.
fn check_hint(omega: usize, k: usize, ones: &[usize]) {
    let (mut h, mut bits) = (vec![vec![0; N]; k], vec![HintBits::default(); k]);
    for one in ones {
        h[one / N][one % N] = 1;
        bits[one / N][one % N / 8] |= 1 << (one % 8);
    }
    let mut packed = vec![7; omega + k];
    pack_hint(&bits, omega, &mut packed);
    assert_eq!(
        packed,
        hint_bit_pack(&params(omega, k), &h),
        "ω = {omega}, {ones:?}"
    );
    assert!(hint_is_valid(omega, &packed), "ω = {omega}, {ones:?}");
    assert_eq!(unpacked(omega, k, &packed), h, "ω = {omega}, {ones:?}");
}

/// All pairs of ones in a polynomial; and up to three ones in three, where words and bytes begin and end.
#[test]
fn hint_encoding_is_algorithm_20() {
    for a in 0..N {
        for b in 0..=a {
            check_hint(2, 1, &[a, b]);
        }
    }
    let places = [0, 1, 7, 8, 62, 63, 64, 65, 127, 128, 191, 192, 254, 255];
    let all: Vec<usize> = (0..3)
        .flat_map(|row| places.iter().map(move |place| N * row + place))
        .collect();
    check_hint(3, 3, &[]);
    for (i, a) in all.iter().enumerate() {
        for (j, b) in all[..=i].iter().enumerate() {
            for c in &all[..=j] {
                check_hint(3, 3, &[*a, *b, *c]);
                check_hint(4, 3, &[*a, *b, *c]);
            }
        }
    }
}
