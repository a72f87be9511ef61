//! Section 7.5 and 7.6: the number-theoretic transform and arithmetic on it, Algorithms 41-48;
//! appendix A: Algorithm 49.

use crate::Poly;
use crate::params::{N, Q, ZETA};

/// a^e mod q.
fn power(a: i64, e: u32) -> i64 {
    (0..e).fold(1, |product, _| product * a % Q)
}

/// zetas[m] = zeta^BitRev8(m) mod q, the table of appendix B.
fn zetas() -> &'static [i64] {
    static TABLE: std::sync::OnceLock<Vec<i64>> = std::sync::OnceLock::new();
    TABLE.get_or_init(|| {
        (0..=255)
            .map(|m| power(ZETA, u32::from(bit_rev8(m))))
            .collect()
    })
}

/// Algorithm 41, NTT(w).
pub fn ntt(w: &[i64]) -> Poly {
    let mut w_hat: Poly = w.iter().map(|c| c.rem_euclid(Q)).collect(); // 1-3
    let mut m = 0; // 4
    let mut len = 128; // 5
    while len >= 1 {
        let mut start = 0; // 7
        while start < N {
            m += 1; // 9
            let z = zetas()[m]; // 10
            for j in start..start + len {
                let t = (z * w_hat[j + len]).rem_euclid(Q); // 12
                w_hat[j + len] = (w_hat[j] - t).rem_euclid(Q); // 13
                w_hat[j] = (w_hat[j] + t).rem_euclid(Q); // 14
            }
            start += 2 * len; // 16
        }
        len /= 2; // 18
    }
    w_hat
}

/// Algorithm 42, NTT⁻¹(ŵ).
pub fn inverse_ntt(w_hat: &[i64]) -> Poly {
    let mut w: Poly = w_hat.iter().map(|c| c.rem_euclid(Q)).collect(); // 1-3
    let mut m = 256; // 4
    let mut len = 1; // 5
    while len < N {
        let mut start = 0; // 7
        while start < N {
            m -= 1; // 9
            let z = -zetas()[m]; // 10
            for j in start..start + len {
                let t = w[j]; // 12
                w[j] = (t + w[j + len]).rem_euclid(Q); // 13
                w[j + len] = (t - w[j + len]).rem_euclid(Q); // 14
                w[j + len] = (z * w[j + len]).rem_euclid(Q); // 15
            }
            start += 2 * len; // 17
        }
        len *= 2; // 19
    }
    let f = 8_347_681; // 21: 256⁻¹ mod q
    w.iter().map(|c| (f * c).rem_euclid(Q)).collect() // 22-24
}

/// Algorithm 43, BitRev8(m).
pub fn bit_rev8(m: u8) -> u8 {
    let b = crate::convert::integer_to_bits(i64::from(m), 8); // 1
    let mut b_rev = vec![0; 8]; // 2
    for i in 0..8 {
        b_rev[i] = b[7 - i]; // 4
    }
    crate::convert::bits_to_integer(&b_rev) as u8 // 6
}

/// Algorithm 44, AddNTT(â, b̂).
pub fn add_ntt(a: &[i64], b: &[i64]) -> Poly {
    a.iter()
        .zip(b)
        .map(|(x, y)| (x + y).rem_euclid(Q))
        .collect()
}

/// Algorithm 45, MultiplyNTT(â, b̂).
pub fn multiply_ntt(a: &[i64], b: &[i64]) -> Poly {
    a.iter()
        .zip(b)
        .map(|(x, y)| (x * y).rem_euclid(Q))
        .collect()
}

/// Algorithm 46, AddVectorNTT(v̂, ŵ).
pub fn add_vector_ntt(v: &[Poly], w: &[Poly]) -> Vec<Poly> {
    v.iter().zip(w).map(|(x, y)| add_ntt(x, y)).collect()
}

/// Algorithm 47, ScalarVectorNTT(ĉ, v̂).
pub fn scalar_vector_ntt(c: &[i64], v: &[Poly]) -> Vec<Poly> {
    v.iter().map(|x| multiply_ntt(c, x)).collect()
}

/// Algorithm 48, MatrixVectorNTT(M̂, v̂).
pub fn matrix_vector_ntt(m: &[Vec<Poly>], v: &[Poly]) -> Vec<Poly> {
    m.iter()
        .map(|row| {
            row.iter().zip(v).fold(vec![0; N], |w, (entry, x)| {
                add_ntt(&w, &multiply_ntt(entry, x))
            }) // 4
        })
        .collect()
}

/// Algorithm 49, MontgomeryReduce(a): r ≡ a·2⁻³² mod q with |r| < q, for |a| <= 2^31·q. The scheme
/// does not need it; it stands here because fast arithmetic is checked against it.
pub fn montgomery_reduce(a: i64) -> i64 {
    const QINV: i64 = 58_728_449; // 1: q⁻¹ mod 2^32
    let t = i64::from(((a as i32 as i64).wrapping_mul(QINV)) as i32); // 2
    (a - t * Q) >> 32 // 3
}
