//! Kernels for all inputs where there are few enough.

use std::vec::Vec;

use super::{agree, residues};
use crate::backend::Engine;
use crate::backend::portable::Portable;
use crate::kernels::bounds::{Coefficients, REDUCED};
use crate::kernels::lanes::Q_INVERSE;
use crate::kernels::packing::{Map, hint_is_valid, pack_hint, unpack_hint_row};
use crate::kernels::poly::Poly;
use crate::kernels::rounding::tests::literal;
use crate::params::{N, Parameters, Q};
use crate::sets::{MlDsa44, MlDsa65};

/// The numbers from `low` to `high`, a polynomial at a time: all where `make bounds` asks for them,
/// else a few, the ends among them.
fn domain(low: i32, high: i32) -> impl Iterator<Item = Poly> {
    let all = std::env::var_os("MLDSA_BOUNDS").is_some();
    let (step, count) = (if all { 1 } else { 509 }, (high - low) / N as i32 + 1);
    let chosen = (0..count).filter(move |i| i % step == 0 || *i == count - 1);
    chosen.map(move |i| {
        let from = low + i * N as i32;
        Poly(core::array::from_fn(|j| (from + j as i32).min(high)))
    })
}

/// Every function of one coefficient for every coefficient, against FIPS 204's words.
fn rounding_is_exact<P: Parameters, E: Engine>(e: E) {
    let m = (Q - 1) / (2 * P::GAMMA2);
    for p in domain(1 - Q, Q - 1) {
        let (mut low, mut high) = (p, p);
        e.split::<P>(&mut low, &mut high);
        let (mut t0, mut t1) = (p, p);
        e.power2round(&mut t0, &mut t1);
        let mut hinted = [p; 2];
        e.use_hint::<P>(&mut hinted[0], &Poly([0; N]));
        e.use_hint::<P>(&mut hinted[1], &Poly([1; N]));
        for i in 0..N {
            let x = p.0[i].rem_euclid(Q);
            let (r1, r0) = literal(x, P::GAMMA2);
            assert_eq!((high.0[i], low.0[i]), (r1, r0), "Decompose({x})");
            // mod± 2^13.
            let r0_of_t = 4096 - (4096 - x).rem_euclid(8192);
            let t = ((x - r0_of_t) / 8192, r0_of_t);
            assert_eq!((t1.0[i], t0.0[i]), t, "Power2Round({x})");
            let up = if r0 > 0 { r1 + 1 } else { r1 - 1 };
            let used = [hinted[0].0[i], hinted[1].0[i]];
            assert_eq!(used, [r1, up.rem_euclid(m)], "UseHint({x})");
        }
    }
    for p in domain(-2 * P::GAMMA2, 2 * P::GAMMA2) {
        for w1 in [0, 1, m - 1] {
            let mut hints = p;
            e.make_hint::<P>(&mut hints, &Poly([w1; N]));
            for (x, hint) in p.0.iter().zip(&hints.0) {
                let beyond = x.abs() > P::GAMMA2 || (*x == -P::GAMMA2 && w1 != 0);
                assert_eq!(*hint, i32::from(beyond), "MakeHint({x}, {w1})");
            }
        }
    }
}

/// The reduction before a norm check, as a whole and as the end of sums.
fn centering_is_exact<E: Engine>(e: E) {
    const BOUND: i32 = 1 << 20;
    for p in domain(-2 * Q, 2 * Q) {
        let half = Poly(p.0.map(|x| x / 2));
        let rest = Poly(p.0.map(|x| x - x / 2));
        let (mut centered, mut sum) = (p, half);
        let beyond = e.center(&mut centered, BOUND);
        e.add_center(&mut sum, &rest);
        assert!(centered == sum);
        let expected = centered.0.iter().any(|x| x.abs() >= BOUND);
        assert_eq!(beyond, expected);
        centered.each(&mut |x| assert!((REDUCED.0..=REDUCED.1).contains(&x)));
        for (x, got) in p.0.iter().zip(&centered.0) {
            assert_eq!((x - got) % Q, 0, "{x}");
            let small = (x + Q / 2).rem_euclid(Q) - Q / 2;
            assert!(small.abs() >= 1 << 21 || *got == small, "{x}");
        }
    }
}

/// The transforms where their first layer gets every number, as the portable backend has them; and
/// Montgomery's reduction for all 2^32 lower halves with upper halves of each size.
fn reductions_are_exact<E: Engine>(e: E) {
    for p in domain(-2 * Q, 2 * Q) {
        agree!(e, "ntt of a run", |e| {
            let mut p = p;
            e.ntt(&mut p);
            residues(&p, 10 * Q)
        });
    }
    for p in domain(1 - Q, Q - 1) {
        agree!(e, "inverse_ntt of a run", |e| {
            let mut p = p;
            e.inverse_ntt(&mut p);
            residues(&p, Q)
        });
    }
    let most = 10 * Q - 1;
    for end in [-most, 0, most] {
        let row = [
            Poly([1; N]),
            Poly([1 << 22; N]),
            Poly([Q - 1; N]),
            Poly([Q - 1; N]),
        ];
        for low in domain(0, (1 << 22) - 1) {
            let all = std::env::var_os("MLDSA_BOUNDS").is_some();
            for upper in (0..1 << 10).step_by(if all { 1 } else { 341 }) {
                let v = [low, Poly([upper; N]), Poly([end; N]), Poly([end; N])];
                let mut out = Poly([0; N]);
                e.dot(&row, &v, &mut out);
                let rest = (i64::from(upper) << 22) + 2 * i64::from(Q - 1) * i64::from(end);
                for (x, got) in low.0.iter().zip(&out.0) {
                    let sum = i64::from(*x) + rest;
                    let multiplier = (sum as i32).wrapping_mul(Q_INVERSE);
                    let difference = sum - i64::from(multiplier) * i64::from(Q);
                    // The lower half of the difference is zero.
                    assert_eq!(i64::from(*got) << 32, difference, "{sum}");
                }
            }
        }
    }
}

/// Every number of every width, in every place.
fn packing_is_exact<E: Engine>(e: E) {
    for bits in [1, 3, 4, 6, 10, 13, 18, 20] {
        let most = (1 << bits) - 1;
        for p in domain(0, most) {
            for shift in 0..=N.min(most as usize) {
                let p = Poly(core::array::from_fn(|i| p.0[(i + shift) % N]));
                let mut string = [0; 32 * 20 + 4];
                e.pack(bits, &p, Map::Same, &mut string[..32 * bits]);
                for (i, x) in p.0.iter().enumerate() {
                    let four = string[i * bits / 8..][..4].try_into().unwrap();
                    let found = u32::from_le_bytes(four) >> (i * bits % 8) & most as u32;
                    assert_eq!(found, *x as u32, "{bits}");
                }
                let mut back = Poly([-1; N]);
                match bits {
                    1 | 6 => {}
                    10 => {
                        e.unpack(bits, &string[..32 * bits], Map::Scaled, &mut back);
                        assert_eq!(back.0, p.0.map(|x| x << 13), "{bits}");
                    }
                    _ => {
                        e.unpack(bits, &string[..32 * bits], Map::Below(0), &mut back);
                        assert_eq!(back.0, p.0.map(|x| -x), "{bits}");
                    }
                }
            }
        }
    }
}

/// What is asked of every input, on one backend.
pub(super) fn whole_domains<E: Engine>(e: E) {
    rounding_is_exact::<MlDsa44, E>(e);
    rounding_is_exact::<MlDsa65, E>(e);
    centering_is_exact(e);
    reductions_are_exact(e);
    packing_is_exact(e);
}

/// FIPS 204, Algorithm 21, as it stands there.
fn literal_hints(omega: usize, k: usize, y: &[u8]) -> Option<Vec<Poly>> {
    let mut h = std::vec![Poly([0; N]); k];
    let mut index = 0;
    for i in 0..k {
        let end = usize::from(y[omega + i]);
        if end < index || end > omega {
            return None;
        }
        let first = index;
        while index < end {
            if index > first && y[index - 1] >= y[index] {
                return None;
            }
            h[i].0[usize::from(y[index])] = 1;
            index += 1;
        }
    }
    y[index..omega].iter().all(|byte| *byte == 0).then_some(h)
}

/// Every string of bytes from 0 to 5 where k = 3 and ω = 4: read or refused as the standard says, and
/// what is read is written as it was.
#[test]
fn hint_strings_of_a_small_set() {
    const OMEGA: usize = 4;
    const K: usize = 3;
    let mut read = 0;
    for number in 0..6u32.pow((OMEGA + K) as u32) {
        let y: [u8; OMEGA + K] = core::array::from_fn(|i| (number / 6u32.pow(i as u32) % 6) as u8);
        let mut hint = [Poly([7; N]); K];
        let accepted = hint_is_valid(OMEGA, &y);
        if accepted {
            for (row, p) in hint.iter_mut().enumerate() {
                unpack_hint_row(OMEGA, &y, row, p);
            }
        }
        let literal = literal_hints(OMEGA, K, &y);
        assert_eq!(accepted, literal.is_some(), "{y:?}");
        if literal.is_some_and(|literal| literal == hint) {
            let bits = hint.each_ref().map(|p| {
                let mut bits = [0; N / 8];
                Portable.pack(1, p, Map::Same, &mut bits);
                bits
            });
            let mut back = [0xa5; OMEGA + K];
            pack_hint(&bits, OMEGA, &mut back);
            assert_eq!(back, y);
            read += 1;
        }
    }
    // As many as there are ways to place up to four hints in three times six places.
    let choose = |n: u32, k: u32| (0..k).fold(1, |product, i| product * (n - i) / (i + 1));
    assert_eq!(
        read,
        (0..=OMEGA as u32)
            .map(|ones| choose(6 * K as u32, ones))
            .sum::<u32>()
    );
}
