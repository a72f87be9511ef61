//! Section 7.4: high-order and low-order bits and hints, Algorithms 35-40.

use crate::params::{D, Params, Q};

/// r mod± alpha: the representative in `-ceil(alpha/2) + 1 ..= floor(alpha/2)` (Section 2.3).
pub fn mod_pm(r: i64, alpha: i64) -> i64 {
    let positive = r.rem_euclid(alpha);
    if positive > alpha / 2 {
        positive - alpha
    } else {
        positive
    }
}

/// ‖w‖∞ of one polynomial: the largest |w_i mod± q|.
pub fn infinity_norm(w: &[i64]) -> i64 {
    w.iter()
        .map(|&coefficient| mod_pm(coefficient, Q).abs())
        .max()
        .unwrap_or(0)
}

/// Algorithm 35, Power2Round(r): (r1, r0) with r ≡ r1·2^d + r0.
pub fn power2_round(r: i64) -> (i64, i64) {
    let r_plus = r.rem_euclid(Q); // 1
    let r0 = mod_pm(r_plus, 1 << D); // 2
    ((r_plus - r0) / (1 << D), r0) // 3
}

/// Algorithm 36, Decompose(r): (r1, r0) with r ≡ r1·2·gamma2 + r0.
pub fn decompose(p: &Params, r: i64) -> (i64, i64) {
    let r_plus = r.rem_euclid(Q); // 1
    let r0 = mod_pm(r_plus, 2 * p.gamma2); // 2
    if r_plus - r0 == Q - 1 {
        (0, r0 - 1) // 4-5
    } else {
        ((r_plus - r0) / (2 * p.gamma2), r0) // 6
    }
}

/// Algorithm 37, HighBits(r).
pub fn high_bits(p: &Params, r: i64) -> i64 {
    decompose(p, r).0
}

/// Algorithm 38, LowBits(r).
pub fn low_bits(p: &Params, r: i64) -> i64 {
    decompose(p, r).1
}

/// Algorithm 39, MakeHint(z, r): does adding z to r change its high bits?
pub fn make_hint(p: &Params, z: i64, r: i64) -> bool {
    let r1 = high_bits(p, r); // 1
    let v1 = high_bits(p, r + z); // 2
    r1 != v1 // 3
}

/// Algorithm 40, UseHint(h, r): the high bits of r, adjusted by the hint.
pub fn use_hint(p: &Params, h: bool, r: i64) -> i64 {
    let m = (Q - 1) / (2 * p.gamma2); // 1
    let (r1, r0) = decompose(p, r); // 2
    if h && r0 > 0 {
        return (r1 + 1).rem_euclid(m); // 3
    }
    if h && r0 <= 0 {
        return (r1 - 1).rem_euclid(m); // 4
    }
    r1 // 5
}
