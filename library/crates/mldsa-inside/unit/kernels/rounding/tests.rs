use super::*;
use crate::backend::tests::wide::Wide2;
use crate::sets::{MlDsa44, MlDsa65, MlDsa87};
use crate::tests::checks::make_hint_any;

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

/// What `scheme::sign::accepts` relies on, by Algorithm 36: for every w1 and v = w0 − c·s2 at all edges,
/// |v| is at the bound of r0 exactly if |r0| is; and where it is not, r1 is w1 and r0 is v.
#[test]
fn low_bits_of_w_less_cs2_stand_for_r0() {
    fn check<P: Parameters>() {
        let bound = P::GAMMA2 - P::BETA;
        let near = |x: i32| x - 3..=x + 3;
        let edges = [bound, P::GAMMA2, P::GAMMA2 + P::BETA - 3];
        let edges = edges.into_iter().chain([0, 1 << 15]).flat_map(near);
        for v in edges.flat_map(|v| [-v, v]) {
            for w1 in 0..(Q - 1) / (2 * P::GAMMA2) {
                let r = (w1 * 2 * P::GAMMA2 + v).rem_euclid(Q);
                let (r1, r0) = literal(r, P::GAMMA2);
                assert_eq!(v.abs() >= bound, r0.abs() >= bound, "{w1} {v}");
                assert!(v.abs() >= bound || (r1, r0) == (w1, v), "{w1} {v}");
            }
        }
    }
    check::<MlDsa44>();
    check::<MlDsa65>();
    check::<MlDsa87>();
}

/// `make_hint_any` where w0 − c·s2 is `low` in every place.
fn hints_any<P: Parameters>(low: i32, ct0: Poly, w1: i32) -> Poly {
    let w0 = low.clamp(-P::GAMMA2, P::GAMMA2);
    let (mut hints, cs2) = (ct0, Poly([w0 - low; N]));
    make_hint_any::<P, _>(Wide2, &Poly([w0; N]), &cs2, &mut hints, &Poly([w1; N]));
    hints
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
                let hint = hints_any::<P>(low, ct0, w1);
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
                    let slow = hints_any::<P>(low, Poly([ct0; N]), w1);
                    assert_eq!(fast.0[0], slow.0[0], "w1 {w1} low {low} ct0 {ct0}");
                }
            }
        }
    }
    check::<MlDsa44>();
    check::<MlDsa65>();
}
