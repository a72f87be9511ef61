//! Section 7.3: pseudorandom sampling, Algorithms 29-34.

use crate::Poly;
use crate::convert::{
    bit_unpack, bytes_to_bits, coeff_from_half_byte, coeff_from_three_bytes, integer_to_bytes,
};
use crate::hash::{g_absorb, g_squeeze, h, h_absorb, h_squeeze};
use crate::params::{N, Params, bitlen};

/// Algorithm 29, SampleInBall(rho): tau coefficients of ±1, all others 0.
pub fn sample_in_ball(p: &Params, rho: &[u8]) -> Poly {
    let mut c = vec![0; N]; // 1
    let mut ctx = h_absorb(&[rho]); // 2-3
    let s = h_squeeze(&mut ctx, 8); // 4
    let signs = bytes_to_bits(&s); // 5
    for i in 256 - p.tau..256 {
        let mut j = h_squeeze(&mut ctx, 1)[0]; // 7
        while usize::from(j) > i {
            j = h_squeeze(&mut ctx, 1)[0]; // 9
        }
        let j = usize::from(j);
        c[i] = c[j]; // 11
        c[j] = if signs[i + p.tau - 256] == 1 { -1 } else { 1 }; // 12
    }
    c
}

/// Algorithm 30, RejNTTPoly(rho): `rho` is 34 bytes; a polynomial in the NTT domain.
pub fn rej_ntt_poly(rho: &[u8]) -> Poly {
    let mut a_hat = Vec::with_capacity(N); // 1
    let mut ctx = g_absorb(&[rho]); // 2-3
    while a_hat.len() < N {
        let s = g_squeeze(&mut ctx, 3); // 5
        a_hat.extend(coeff_from_three_bytes(s[0], s[1], s[2])); // 6-9
    }
    a_hat
}

/// Algorithm 31, RejBoundedPoly(rho): `rho` is 66 bytes; coefficients in `-eta..=eta`.
pub fn rej_bounded_poly(p: &Params, rho: &[u8]) -> Poly {
    let mut a = Vec::with_capacity(N + 1); // 1
    let mut ctx = h_absorb(&[rho]); // 2-3
    while a.len() < N {
        let z = h_squeeze(&mut ctx, 1)[0]; // 5
        a.extend(coeff_from_half_byte(p, z % 16)); // 6, 8-11
        a.extend(coeff_from_half_byte(p, z / 16)); // 7, 12-15
    }
    a.truncate(N); // step 12's "and j < 256"
    a
}

/// Algorithm 32, ExpandA(rho): k rows of l polynomials in the NTT domain.
pub fn expand_a(p: &Params, rho: &[u8]) -> Vec<Vec<Poly>> {
    (0..p.k)
        .map(|r| {
            (0..p.l)
                .map(|s| {
                    let rho_prime = [
                        rho,
                        &integer_to_bytes(s as i64, 1),
                        &integer_to_bytes(r as i64, 1),
                    ]
                    .concat(); // 3
                    rej_ntt_poly(&rho_prime) // 4
                })
                .collect()
        })
        .collect()
}

/// Algorithm 33, ExpandS(rho): `rho` is 64 bytes; (s1, s2).
pub fn expand_s(p: &Params, rho: &[u8]) -> (Vec<Poly>, Vec<Poly>) {
    let poly = |r: usize| rej_bounded_poly(p, &[rho, &integer_to_bytes(r as i64, 2)].concat());
    let s1 = (0..p.l).map(poly).collect(); // 2
    let s2 = (0..p.k).map(|r| poly(r + p.l)).collect(); // 5
    (s1, s2)
}

/// Algorithm 34, ExpandMask(rho, mu): `rho` is 64 bytes, `mu` is kappa; the vector y.
pub fn expand_mask(p: &Params, rho: &[u8], mu: usize) -> Vec<Poly> {
    let c = 1 + bitlen(p.gamma1 - 1); // 1
    (0..p.l)
        .map(|r| {
            let rho_prime = [rho, &integer_to_bytes((mu + r) as i64, 2)].concat(); // 3
            let v = h(&[&rho_prime], 32 * c); // 4
            bit_unpack(&v, p.gamma1 - 1, p.gamma1) // 5
        })
        .collect()
}
