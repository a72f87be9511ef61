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
fn canonical<V: Lanes>(token: V::Token, x: V) -> V {
    x.add(x.shift_right::<31>().and(V::splat(token, Q)))
}

/// Algorithm 36 for x in [0, q): (r1, r0), r0 in [-γ2, γ2], r1 in [0, (q−1)/2γ2).
///
/// r1 is ⌈x/128⌉ · c / 2^s, rounded, with c = round(2^s · 128 / 2γ2): exact for every x in [0, q),
/// as a test shows by going through all of them.
#[inline(always)]
fn decompose<V: Lanes, P: Parameters>(token: V::Token, x: V) -> (V, V) {
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

/// a becomes a + b, or a − b, centered; true if some |a| ≥ bound. Where the true value mod q is small
/// (below 2^21), `reduce` gives it exactly; any other sum of |a| < q and |b| ≤ η comes out as some
/// representative in (-q, q), which is all that key generation asks.
#[inline(always)]
pub(crate) fn combine<V: Lanes, const SUBTRACT: bool>(
    token: V::Token,
    a: &mut Poly,
    b: &Poly,
    bound: i32,
) -> bool {
    let limit = V::splat(token, bound - 1);
    let mut beyond = V::splat(token, 0);
    for at in (0..N).step_by(V::COUNT) {
        let (x, y) = (V::load(token, &a.0[at..]), V::load(token, &b.0[at..]));
        let sum = reduce(token, if SUBTRACT { x.sub(y) } else { x.add(y) });
        beyond = beyond.or(sum.abs().greater(limit));
        sum.store(&mut a.0[at..]);
    }
    beyond.any()
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

/// The hints by definition: HighBits(w − c·s2) against HighBits(w − c·s2 + c·t0), for attempts
/// that failed earlier checks too (only a trace asks). `low` is w0 − c·s2, centered, and becomes the
/// hints, 0 or 1; |c·t0| < q − γ2.
#[inline(always)]
pub(crate) fn make_hint_any<V: Lanes, P: Parameters>(
    token: V::Token,
    low: &mut Poly,
    ct0: &Poly,
    w1: &Poly,
) {
    let one = V::splat(token, 1);
    let q = V::splat(token, Q);
    let step = V::splat(token, 2 * P::GAMMA2);
    for at in (0..N).step_by(V::COUNT) {
        let (x, high) = (V::load(token, &low.0[at..]), V::load(token, &w1.0[at..]));
        // w1·2γ2 ≤ q − 1 − 2γ2 and |low| ≤ γ2 + β: in (-q, q).
        let r = canonical(token, high.mul_low(step).add(x));
        let sum = r.add(V::load(token, &ct0.0[at..]));
        let over = sum.greater(V::splat(token, Q - 1));
        let moved = canonical(token, sum.sub(over.and(q)));
        let (before, _) = decompose::<V, P>(token, r);
        let (after, _) = decompose::<V, P>(token, moved);
        let differ = before.greater(after).or(after.greater(before));
        differ.and(one).store(&mut low.0[at..]);
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

#[cfg(all(test, feature = "ml-dsa-44", feature = "ml-dsa-65"))]
pub(crate) mod tests {
    use super::*;
    use crate::params::{MlDsa44, MlDsa65};

    /// FIPS 204, Algorithm 36, as it stands there.
    pub(crate) fn literal(x: i32, gamma2: i32) -> (i32, i32) {
        let mut r0 = x.rem_euclid(2 * gamma2);
        if r0 > gamma2 {
            r0 -= 2 * gamma2;
        }
        if x - r0 == Q - 1 {
            (0, r0 - 1)
        } else {
            ((x - r0) / (2 * gamma2), r0)
        }
    }

    #[test]
    fn decompose_is_exact_for_all_of_z_q() {
        for x in 0..Q {
            assert_eq!(
                decompose::<i32, MlDsa44>((), x),
                literal(x, MlDsa44::GAMMA2),
                "{x}"
            );
            assert_eq!(
                decompose::<i32, MlDsa65>((), x),
                literal(x, MlDsa65::GAMMA2),
                "{x}"
            );
        }
    }

    #[test]
    fn reduce_centers_small_values_exactly() {
        for x in (-(1 << 21)..1 << 21).step_by(7) {
            for representative in [x - Q, x, x + Q] {
                assert_eq!(reduce::<i32>((), representative), x);
            }
        }
    }

    #[test]
    fn use_hint_follows_the_standard_for_all_of_z_q() {
        fn check<P: Parameters>() {
            let m = (Q - 1) / (2 * P::GAMMA2);
            for start in (0..Q).step_by(N) {
                let mut values = Poly([0; N]);
                for (i, v) in values.0.iter_mut().enumerate() {
                    *v = (start + i as i32).min(Q - 1);
                }
                let inputs = values;
                for h in 0..2 {
                    let mut w = inputs;
                    use_hint::<i32, P>((), &mut w, &Poly([h; N]));
                    for (x, got) in inputs.0.iter().zip(&w.0) {
                        let (r1, r0) = literal(*x, P::GAMMA2);
                        let want = match (h, r0 > 0) {
                            (0, _) => r1,
                            (_, true) => (r1 + 1).rem_euclid(m),
                            (_, false) => (r1 - 1).rem_euclid(m),
                        };
                        assert_eq!(*got, want, "{x} {h}");
                    }
                }
            }
        }
        check::<MlDsa44>();
        check::<MlDsa65>();
    }

    /// Every w1, low parts and c·t0 at the edges of all that a trace meets.
    #[test]
    fn hints_of_any_attempt_follow_the_standard() {
        fn check<P: Parameters>() {
            let m = (Q - 1) / (2 * P::GAMMA2);
            let (low_most, ct0_most) = (P::GAMMA2 + P::BETA, P::TAU as i32 * (1 << (D - 1)));
            for w1 in 0..m {
                for low in [-low_most, -P::GAMMA2, -1, 0, 1, P::GAMMA2, low_most] {
                    let r = w1 * 2 * P::GAMMA2 + low;
                    let mut ct0 = Poly([0; N]);
                    for (i, x) in ct0.0.iter_mut().enumerate() {
                        *x = match i {
                            // To the borders between high bits, and to 0 and q.
                            0..64 => (i as i32 / 8 - 4) * P::GAMMA2 - low + i as i32 % 8 - 4,
                            64..72 => -r + i as i32 - 68,
                            72..80 => Q - r + i as i32 - 76,
                            _ => (i as i32 - 168) * (ct0_most / 88),
                        };
                        *x = (*x).clamp(-ct0_most, ct0_most);
                    }
                    let mut hint = Poly([low; N]);
                    make_hint_any::<i32, P>((), &mut hint, &ct0, &Poly([w1; N]));
                    for (x, got) in ct0.0.iter().zip(&hint.0) {
                        let before = literal(r.rem_euclid(Q), P::GAMMA2).0;
                        let after = literal((r + x).rem_euclid(Q), P::GAMMA2).0;
                        assert_eq!(*got, i32::from(before != after), "{w1} {low} {x}");
                    }
                }
            }
        }
        check::<MlDsa44>();
        check::<MlDsa65>();
    }

    #[test]
    fn the_two_hint_texts_agree_where_both_hold() {
        fn check<P: Parameters>() {
            let m = (Q - 1) / (2 * P::GAMMA2);
            let reach = P::GAMMA2 - P::BETA - 1;
            for w1 in 0..m {
                let edges = [-reach, -reach + 1, -1, 0, 1, reach - 1, reach];
                for low in edges {
                    for target in [
                        -P::GAMMA2 - 1,
                        -P::GAMMA2,
                        -P::GAMMA2 + 1,
                        0,
                        P::GAMMA2,
                        P::GAMMA2 + 1,
                    ] {
                        let ct0 = target - low;
                        if ct0.abs() >= P::GAMMA2 {
                            continue;
                        }
                        let mut fast = Poly([target; N]);
                        make_hint::<i32, P>((), &mut fast, &Poly([w1; N]));
                        let mut slow = Poly([low; N]);
                        let (ct0_all, w1_all) = (Poly([ct0; N]), Poly([w1; N]));
                        make_hint_any::<i32, P>((), &mut slow, &ct0_all, &w1_all);
                        assert_eq!(fast.0[0], slow.0[0], "w1 {w1} low {low} ct0 {ct0}");
                    }
                }
            }
        }
        check::<MlDsa44>();
        check::<MlDsa65>();
    }
}
