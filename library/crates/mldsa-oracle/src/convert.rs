//! Section 7.1: conversion between data types, Algorithms 9-21.

use crate::Poly;
use crate::params::{N, Params, Q, bitlen};

/// Algorithm 9, IntegerToBits(x, alpha): the `alpha` low bits of `x`, least significant first.
pub fn integer_to_bits(x: i64, alpha: usize) -> Vec<u8> {
    let mut x_prime = x; // 1
    let mut y = vec![0; alpha];
    for bit in &mut y {
        *bit = x_prime.rem_euclid(2) as u8; // 3
        x_prime = x_prime.div_euclid(2); // 4
    }
    y
}

/// Algorithm 10, BitsToInteger(y, alpha).
pub fn bits_to_integer(y: &[u8]) -> i64 {
    let mut x = 0; // 1
    for i in 1..=y.len() {
        x = 2 * x + i64::from(y[y.len() - i]); // 3
    }
    x
}

/// Algorithm 11, IntegerToBytes(x, alpha): `alpha` bytes, least significant first.
pub fn integer_to_bytes(x: i64, alpha: usize) -> Vec<u8> {
    let mut x_prime = x; // 1
    let mut y = vec![0; alpha];
    for byte in &mut y {
        *byte = x_prime.rem_euclid(256) as u8; // 3
        x_prime = x_prime.div_euclid(256); // 4
    }
    y
}

/// Algorithm 12, BitsToBytes(y): the last byte is filled up with zero bits.
pub fn bits_to_bytes(y: &[u8]) -> Vec<u8> {
    let mut z = vec![0u8; y.len().div_ceil(8)]; // 1
    for (i, bit) in y.iter().enumerate() {
        z[i / 8] += bit << (i % 8); // 3
    }
    z
}

/// Algorithm 13, BytesToBits(z).
pub fn bytes_to_bits(z: &[u8]) -> Vec<u8> {
    let mut z_prime = z.to_vec(); // 1
    let mut y = vec![0; 8 * z.len()];
    for i in 0..z.len() {
        for j in 0..8 {
            y[8 * i + j] = z_prime[i] % 2; // 4
            z_prime[i] /= 2; // 5
        }
    }
    y
}

/// Algorithm 14, CoeffFromThreeBytes(b0, b1, b2): a coefficient, or `None` for ⊥.
pub fn coeff_from_three_bytes(b0: u8, b1: u8, b2: u8) -> Option<i64> {
    let mut b2_prime = i64::from(b2); // 1
    if b2_prime > 127 {
        b2_prime -= 128; // 3: set the top bit to zero
    }
    let z = (1 << 16) * b2_prime + (1 << 8) * i64::from(b1) + i64::from(b0); // 5
    (z < Q).then_some(z) // 6-8
}

/// Algorithm 15, CoeffFromHalfByte(b): a coefficient in `-eta..=eta`, or `None` for ⊥.
pub fn coeff_from_half_byte(p: &Params, b: u8) -> Option<i64> {
    let b = i64::from(b);
    if p.eta == 2 && b < 15 {
        Some(2 - b.rem_euclid(5)) // 1
    } else if p.eta == 4 && b < 9 {
        Some(4 - b) // 3
    } else {
        None // 4
    }
}

/// Algorithm 16, SimpleBitPack(w, b): coefficients in `0..=b`.
pub fn simple_bit_pack(w: &[i64], b: i64) -> Vec<u8> {
    let mut z = Vec::new(); // 1
    for &coefficient in w {
        assert!((0..=b).contains(&coefficient), "coefficient out of range");
        z.extend(integer_to_bits(coefficient, bitlen(b))); // 3
    }
    bits_to_bytes(&z) // 5
}

/// Algorithm 17, BitPack(w, a, b): coefficients in `-a..=b`.
pub fn bit_pack(w: &[i64], a: i64, b: i64) -> Vec<u8> {
    let mut z = Vec::new(); // 1
    for &coefficient in w {
        assert!((-a..=b).contains(&coefficient), "coefficient out of range");
        z.extend(integer_to_bits(b - coefficient, bitlen(a + b))); // 3
    }
    bits_to_bytes(&z) // 5
}

/// Algorithm 18, SimpleBitUnpack(v, b): coefficients in `0..=2^bitlen(b) - 1`.
pub fn simple_bit_unpack(v: &[u8], b: i64) -> Poly {
    let c = bitlen(b); // 1
    assert_eq!(v.len(), 32 * c, "length of a packed polynomial");
    let z = bytes_to_bits(v); // 2
    (0..N)
        .map(|i| bits_to_integer(&z[i * c..i * c + c])) // 4
        .collect()
}

/// Algorithm 19, BitUnpack(v, a, b): coefficients in `b - 2^bitlen(a + b) + 1 ..= b`.
pub fn bit_unpack(v: &[u8], a: i64, b: i64) -> Poly {
    let c = bitlen(a + b); // 1
    assert_eq!(v.len(), 32 * c, "length of a packed polynomial");
    let z = bytes_to_bits(v); // 2
    (0..N)
        .map(|i| b - bits_to_integer(&z[i * c..i * c + c])) // 4
        .collect()
}

/// Algorithm 20, HintBitPack(h): `omega + k` bytes. `h` has at most omega ones.
#[allow(clippy::needless_range_loop)] // the standard's own loop
pub fn hint_bit_pack(p: &Params, h: &[Poly]) -> Vec<u8> {
    let mut y = vec![0; p.omega + p.k]; // 1
    let mut index = 0; // 2
    for i in 0..p.k {
        for j in 0..N {
            if h[i][j] != 0 {
                y[index] = j as u8; // 6
                index += 1; // 7
            }
        }
        y[p.omega + i] = index as u8; // 10
    }
    y
}

/// Algorithm 21, HintBitUnpack(y): `None` for ⊥.
pub fn hint_bit_unpack(p: &Params, y: &[u8]) -> Option<Vec<Poly>> {
    let mut h = vec![vec![0; N]; p.k]; // 1
    let mut index = 0; // 2
    for i in 0..p.k {
        let bound = usize::from(y[p.omega + i]);
        if bound < index || bound > p.omega {
            return None; // 4
        }
        let first = index; // 6
        while index < bound {
            if index > first && y[index - 1] >= y[index] {
                return None; // 9
            }
            h[i][usize::from(y[index])] = 1; // 12
            index += 1; // 13
        }
    }
    for &unused in &y[index..p.omega] {
        if unused != 0 {
            return None; // 17
        }
    }
    Some(h)
}
