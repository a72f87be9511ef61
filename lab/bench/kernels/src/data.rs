//! Inputs: the same in every run, spread over the range that a kernel takes.

use mldsa_lanes::internals::{Poly, coefficients, poly};

pub const Q: i32 = 8_380_417;
pub const N: usize = 256;

/// SplitMix64.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Random(seed)
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Below `end`, which is small beside 2^64.
    pub fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }
}

/// Coefficients in [`low`, `high`], the same for the same `seed`. Both ends occur.
pub fn spread(seed: u64, low: i32, high: i32) -> Poly {
    let mut random = Random::new(seed);
    let width = (i64::from(high) - i64::from(low) + 1) as u64;
    let mut values: [i32; N] = core::array::from_fn(|_| low + random.below(width) as i32);
    values[N - 2] = low;
    values[N - 1] = high;
    poly(values)
}

pub fn spread_vec(seed: u64, low: i32, high: i32, len: usize) -> Vec<Poly> {
    (0..len as u64)
        .map(|i| spread(seed + i, low, high))
        .collect()
}

/// 25 words.
pub fn state(seed: u64) -> [u64; 25] {
    let mut random = Random::new(seed);
    core::array::from_fn(|_| random.next())
}

pub fn bytes<const LEN: usize>(seed: u64) -> [u8; LEN] {
    let mut random = Random::new(seed);
    core::array::from_fn(|_| random.next() as u8)
}

/// The coefficients as they stand.
pub fn plain(polys: &[Poly]) -> Vec<u8> {
    let values = polys.iter().flat_map(coefficients);
    values.flat_map(|x| x.to_le_bytes()).collect()
}

/// The coefficients modulo q, for kernels that may give any representative.
pub fn modulo(polys: &[Poly]) -> Vec<u8> {
    let values = polys.iter().flat_map(coefficients);
    values.flat_map(|x| x.rem_euclid(Q).to_le_bytes()).collect()
}

pub fn words(states: &[[u64; 25]]) -> Vec<u8> {
    let words = states.iter().flatten();
    words.flat_map(|x| x.to_le_bytes()).collect()
}
