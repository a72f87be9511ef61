//! Power2Round, Decompose, hints and norm checks (FIPS 204, section 7.4), without branches on
//! coefficients.

use super::lanes::Lanes;
use super::poly::Poly;
use crate::params::{D, N, Parameters, Q};

/// A representative of x mod q at most 2^22 + 2^13·⌈|x/q|⌉ from 0, for |x| < 2^31 − 2^22; exact
/// centering for values that are small mod q.
#[inline(always)]
fn reduce<V: Lanes>(token: V::Token, x: V) -> V {
    let t = x.add(V::splat(token, 1 << 22)).shift_right::<23>();
    x.sub(t.mul_low(V::splat(token, Q)))
}

/// x in (-q, q) to [0, q).
#[inline(always)]
pub fn canonical<V: Lanes>(token: V::Token, x: V) -> V {
    x.add(x.shift_right::<31>().and(V::splat(token, Q)))
}

/// Algorithm 36 for x in [0, q): (r1, r0), r0 in [-γ2, γ2], r1 in [0, (q−1)/2γ2).
///
/// r1 is ⌈x/128⌉ · c / 2^s, rounded, with c = round(2^s · 128 / 2γ2): exact for every x in [0, q),
/// as a test shows by going through all of them.
#[inline(always)]
pub fn decompose<V: Lanes, P: Parameters>(token: V::Token, x: V) -> (V, V) {
    let parts = x.add(V::splat(token, 127)).shift_right::<7>();
    let r1 = if P::GAMMA2 == (Q - 1) / 32 {
        // 2γ2/128 = 4092 and 2^22/4092 rounds to 1025; r1 = 16 wraps to 0.
        parts
            .mul_low(V::splat(token, 1025))
            .add(V::splat(token, 1 << 21))
            .shift_right::<22>()
            .and(V::splat(token, 15))
    } else {
        // 2γ2/128 = 1488 and 2^24/1488 rounds to 11275; r1 = 44 wraps to 0.
        let r1 = parts
            .mul_low(V::splat(token, 11275))
            .add(V::splat(token, 1 << 23))
            .shift_right::<24>();
        let keep = V::splat(token, 44).greater(r1);
        r1.and(keep)
    };
    let r0 = x.sub(r1.mul_low(V::splat(token, 2 * P::GAMMA2)));
    let wraps = r0.greater(V::splat(token, (Q - 1) / 2));
    (r1, r0.sub(wraps.and(V::splat(token, Q))))
}

/// w in (-q, q): w becomes LowBits(w), w1 HighBits(w).
#[inline(always)]
pub(crate) fn split<V: Lanes, P: Parameters>(token: V::Token, w: &mut Poly, w1: &mut Poly) {
    for at in (0..N).step_by(V::COUNT) {
        let x = canonical(token, V::load(token, &w.0[at..]));
        let (high, low) = decompose::<V, P>(token, x);
        low.store(&mut w.0[at..]);
        high.store(&mut w1.0[at..]);
    }
}

/// Algorithm 35. t in (-q, q): t becomes t0 in (-2^12, 2^12], t1 in [0, 2^10).
#[inline(always)]
pub(crate) fn power2round<V: Lanes>(token: V::Token, t: &mut Poly, t1: &mut Poly) {
    for at in (0..N).step_by(V::COUNT) {
        let x = canonical(token, V::load(token, &t.0[at..]));
        let high = x
            .add(V::splat(token, (1 << (D - 1)) - 1))
            .shift_right::<{ D as i32 }>();
        x.sub(high.mul_low(V::splat(token, 1 << D)))
            .store(&mut t.0[at..]);
        high.store(&mut t1.0[at..]);
    }
}

/// a becomes a + b, reduced by [`reduce`]: exact and centered where the sum is below 2^21 mod q, else some
/// representative in (-q, q), which is all that key generation asks.
#[inline(always)]
pub(crate) fn add<V: Lanes>(token: V::Token, a: &mut Poly, b: &Poly) {
    for at in (0..N).step_by(V::COUNT) {
        let sum = V::load(token, &a.0[at..]).add(V::load(token, &b.0[at..]));
        reduce(token, sum).store(&mut a.0[at..]);
    }
}

/// Centers a, small mod q; true if some |a| ≥ bound.
#[inline(always)]
pub(crate) fn center<V: Lanes>(token: V::Token, a: &mut Poly, bound: i32) -> bool {
    let limit = V::splat(token, bound - 1);
    let mut beyond = V::splat(token, 0);
    for at in (0..N).step_by(V::COUNT) {
        let x = reduce(token, V::load(token, &a.0[at..]));
        beyond = beyond.or(x.abs().greater(limit));
        x.store(&mut a.0[at..]);
    }
    beyond.any()
}

/// True if some |a| ≥ bound.
#[inline(always)]
pub(crate) fn exceeds<V: Lanes>(token: V::Token, a: &Poly, bound: i32) -> bool {
    let limit = V::splat(token, bound - 1);
    let mut beyond = V::splat(token, 0);
    for at in (0..N).step_by(V::COUNT) {
        beyond = beyond.or(V::load(token, &a.0[at..]).abs().greater(limit));
    }
    beyond.any()
}

/// Algorithm 39 in the form that needs no second decomposition. `low` is w0 − c·s2 + c·t0, where
/// w = w1·2γ2 + w0 and |w0 − c·s2| < γ2 − β, so that w1 is HighBits(w − c·s2) too; adding c·t0
/// leaves the high bits alone exactly if low stays in (-γ2, γ2], or is -γ2 where w1 = 0
/// (there q−1 wraps to 0). `low` becomes the hints, 0 or 1.
#[inline(always)]
pub(crate) fn make_hint<V: Lanes, P: Parameters>(token: V::Token, low: &mut Poly, w1: &Poly) {
    let one = V::splat(token, 1);
    let zero = V::splat(token, 0);
    let edge = V::splat(token, -P::GAMMA2);
    for at in (0..N).step_by(V::COUNT) {
        let x = V::load(token, &low.0[at..]);
        let high = V::load(token, &w1.0[at..]);
        let above = x.greater(V::splat(token, P::GAMMA2));
        // x < -γ2, or x = -γ2 with w1 > 0: x < -γ2 + [w1 > 0], as [w1 > 0] is -1 in a mask.
        let below = edge.sub(high.greater(zero)).greater(x);
        above.or(below).and(one).store(&mut low.0[at..]);
    }
}

/// Algorithm 40. w in (-q, q) becomes UseHint(h, w) in [0, (q−1)/2γ2).
#[inline(always)]
pub(crate) fn use_hint<V: Lanes, P: Parameters>(token: V::Token, w: &mut Poly, hint: &Poly) {
    let zero = V::splat(token, 0);
    let top = V::splat(token, (Q - 1) / (2 * P::GAMMA2) - 1);
    for at in (0..N).step_by(V::COUNT) {
        let x = canonical(token, V::load(token, &w.0[at..]));
        let h = V::load(token, &hint.0[at..]);
        let (high, low) = decompose::<V, P>(token, x);
        // +1 where r0 > 0, −1 where r0 ≤ 0, only where there is a hint.
        let up = low.greater(zero);
        let step = up.and(V::splat(token, 2)).sub(V::splat(token, 1));
        let moved = high.add(step.and(zero.sub(h)));
        // Wrap modulo (q−1)/2γ2: above the top to 0, below 0 to the top.
        let over = moved.greater(top);
        let under = zero.greater(moved);
        let wrapped = moved.sub(moved.and(over.or(under))).add(top.and(under));
        wrapped.store(&mut w.0[at..]);
    }
}

#[cfg(all(test, mldsa_inside))]
pub(crate) mod tests {
    include!(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/unit/kernels/rounding/tests.rs"
    ));
}
