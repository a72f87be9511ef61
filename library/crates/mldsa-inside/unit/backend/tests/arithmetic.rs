//! Transforms, products, rounding and packing: against the portable kernels, schoolbook arithmetic and
//! the strings' definition.

use core::array;
use std::vec::Vec;

use super::{Engine, ROUNDS, Values, agree, residues};
use crate::backend::portable::Portable;
use crate::kernels::keccak::permute_one;
use crate::kernels::packing::Map;
use crate::kernels::poly::{Poly, Zero};
use crate::kernels::sampling::in_ball_from;
use crate::kernels::small::{Offsets, SmallPoly};
use crate::kernels::sponge::Shake256;
use crate::params::{N, Parameters, Q};
use crate::tests::checks::{difference_exceeds, make_hint_any, sum_exceeds};

fn negacyclic(a: &Poly, b: &Poly) -> Vec<i64> {
    let mut out = std::vec![0i64; N];
    for i in 0..N {
        for j in 0..N {
            let product = i64::from(a.0[i]) * i64::from(b.0[j]) % i64::from(Q);
            if i + j < N {
                out[i + j] += product;
            } else {
                out[i + j - N] -= product;
            }
        }
    }
    out.iter().map(|x| x.rem_euclid(i64::from(Q))).collect()
}

pub fn transforms_multiply<E: Engine>(e: E) {
    let mut values = Values::new("multiply");
    for _ in 0..8 {
        let (a, b) = (values.poly(-Q + 1, Q - 1), values.poly(-Q + 1, Q - 1));
        let (mut a_hat, mut b_hat, mut c) = (a, b, Poly([0; N]));
        e.ntt(&mut a_hat);
        e.ntt(&mut b_hat);
        assert!(a_hat.0.iter().all(|x| x.abs() < 10 * Q));
        e.product(&a_hat, &b_hat, &mut c);
        e.inverse_ntt(&mut c);
        assert!(c.0.iter().all(|x| x.abs() < Q));
        let got: Vec<i64> = c.0.iter().map(|x| i64::from(x.rem_euclid(Q))).collect();
        assert_eq!(got, negacyclic(&a, &b));
    }
}

pub fn arithmetic_agrees<E: Engine>(e: E) {
    let mut values = Values::new("arithmetic");
    for _ in 0..ROUNDS {
        let p = values.poly(-2 * Q, 2 * Q);
        agree!(e, "ntt", |e| {
            let mut p = p;
            e.ntt(&mut p);
            residues(&p, 10 * Q)
        });
        let p = values.poly(-Q + 1, Q - 1);
        agree!(e, "inverse_ntt", |e| {
            let mut p = p;
            e.inverse_ntt(&mut p);
            residues(&p, Q)
        });
        for length in 1..=7 {
            let row: Vec<_> = (0..length).map(|_| values.poly(0, Q - 1)).collect();
            let v: Vec<_> = (0..length)
                .map(|_| values.poly(-10 * Q + 1, 10 * Q - 1))
                .collect();
            let (c, t) = (
                values.poly(-10 * Q + 1, 10 * Q - 1),
                values.poly(-10 * Q + 1, 10 * Q - 1),
            );
            agree!(e, "dot", |e| {
                let mut out = Poly([0; N]);
                e.dot(&row, &v, &mut out);
                assert!(out.0.iter().all(|x| x.abs() < Q));
                out
            });
            agree!(e, "dot_minus", |e| {
                let mut out = Poly([0; N]);
                e.dot_minus(&row, &v, &c, &t, &mut out);
                assert!(out.0.iter().all(|x| x.abs() < Q));
                out
            });
            agree!(e, "product", |e| {
                let mut out = Poly([0; N]);
                e.product(&c, &t, &mut out);
                out
            });
        }
    }
}

pub fn rounding_agrees<P: Parameters, E: Engine>(e: E) {
    let mut values = Values::new(P::NAME);
    for _ in 0..ROUNDS {
        let p = values.poly(-Q + 1, Q - 1);
        agree!(e, "split", |e| {
            let (mut w, mut w1) = (p, Poly([0; N]));
            e.split::<P>(&mut w, &mut w1);
            (w, w1)
        });
        agree!(e, "power2round", |e| {
            let (mut t, mut t1) = (p, Poly([0; N]));
            e.power2round(&mut t, &mut t1);
            (t, t1)
        });
        let hints = values.poly(0, 1);
        agree!(e, "use_hint", |e| {
            let mut w = p;
            e.use_hint::<P>(&mut w, &hints);
            w
        });
        let low = values.poly(-2 * P::GAMMA2, 2 * P::GAMMA2);
        let high = values.poly(0, (Q - 1) / (2 * P::GAMMA2) - 1);
        agree!(e, "make_hint", |e| {
            let mut low = low;
            e.make_hint::<P>(&mut low, &high);
            low
        });
        let w0 = values.poly(-P::GAMMA2, P::GAMMA2);
        let cs2 = values.poly(-P::BETA, P::BETA);
        let ct0 = values.poly(-(P::TAU as i32) << 12, (P::TAU as i32) << 12);
        agree!(e, "make_hint_any", |e| {
            let mut hints = ct0;
            make_hint_any::<P, _>(e, &w0, &cs2, &mut hints, &high);
            hints
        });
        // Bounds just at, below and above the largest value there is.
        let a = values.poly(-P::GAMMA1 + 1, P::GAMMA1);
        let b = values.poly(-P::BETA, P::BETA);
        for bound in [
            P::GAMMA1 - P::BETA,
            P::GAMMA1,
            P::GAMMA1 + 1,
            P::GAMMA1 + P::BETA + 1,
        ] {
            for shift in [-Q, 0, Q] {
                let mut b = b;
                for x in &mut b.0 {
                    *x += if *x * shift <= 0 { shift } else { 0 };
                }
                agree!(e, "add_center", |e| {
                    let mut a = a;
                    e.add_center(&mut a, &b);
                    a
                });
                agree!(e, "center", |e| {
                    let mut b = b;
                    (e.center(&mut b, P::BETA), b)
                });
            }
            agree!(e, "exceeds", |e| e.exceeds(&a, bound));
        }
    }
    // One coefficient at the bound, in each place.
    for place in 0..N {
        for value in [-P::GAMMA1, -P::GAMMA1 + 1, P::GAMMA1 - 1, P::GAMMA1] {
            let mut p = Poly([0; N]);
            p.0[place] = value;
            assert_eq!(e.exceeds(&p, P::GAMMA1), value.abs() >= P::GAMMA1);
            assert_eq!(e.center(&mut p, P::GAMMA1), value.abs() >= P::GAMMA1);
        }
    }
}

/// Sparse products against schoolbook multiplication, with secrets at the ends of their range.
pub fn small_products_are_exact<P: Parameters, E: Engine>(e: E) {
    let mut values = Values::new(P::NAME);
    for round in 0..12u8 {
        let s = if round == 0 {
            Poly([P::ETA; N])
        } else {
            values.poly(-P::ETA, P::ETA)
        };
        let mut c = Poly([0; N]);
        let hash = || Shake256::new(permute_one).absorb(&[round; 64]).finish();
        in_ball_from(P::TAU, &mut hash(), &mut c);
        let mut offsets = Offsets::zero();
        offsets.sample(P::TAU, &mut hash());
        let mut written = Poly([1; N]);
        offsets.write(P::TAU, &mut written);
        assert_eq!(written, c);
        let mut sorted = Offsets::zero();
        sorted.set(&c);
        assert_eq!(offsets.sorted::<P>(), sorted.sorted::<P>());
        let mut small = SmallPoly::zero();
        small.set(&s, P::ETA);
        let mut out = Poly([0; N]);
        let beyond = e.add_small::<P>(&offsets, &small, &mut out, P::BETA + 1);
        assert!(!beyond && out.0.iter().all(|x| x.abs() <= P::BETA));
        let got: Vec<i64> = out.0.iter().map(|x| i64::from(x.rem_euclid(Q))).collect();
        assert_eq!(got, negacyclic(&c, &s));
        sums_near_a_bound::<P, E>(e, &offsets, &small, &out);
    }
}

/// One sum just below or at the bound, in each place, others where the product cannot decide.
fn sums_near_a_bound<P: Parameters, E: Engine>(e: E, c: &Offsets, s: &SmallPoly, product: &Poly) {
    for bound in [P::GAMMA1 - P::BETA, P::GAMMA2 - P::BETA] {
        for place in 0..N {
            assert_eq!(c.coefficient::<P>(s, place), product.0[place]);
            for target in [-bound, 1 - bound, bound - 1, bound] {
                let mut a = Poly([bound - P::BETA - 1; N]);
                // Near the bound, and no further.
                a.0[place ^ 5] = 1 - bound - product.0[place ^ 5];
                a.0[place] = target - product.0[place];
                let beyond = target.abs() == bound;
                assert_eq!(sum_exceeds::<P, _>(e, &a, c, s, bound), beyond);
                let mut sum = a;
                assert_eq!(e.add_small::<P>(c, s, &mut sum, bound), beyond);
                assert_eq!(sum.0, array::from_fn(|i| a.0[i] + product.0[i]));
                a.0[place ^ 5] = bound - 1 + product.0[place ^ 5];
                a.0[place] = target + product.0[place];
                assert_eq!(difference_exceeds::<P, _>(e, &a, c, s, bound), beyond);
                if bound < P::GAMMA2 {
                    let mut difference = a;
                    assert_eq!(e.subtract_small::<P>(c, s, &mut difference, bound), beyond);
                    assert_eq!(difference.0, array::from_fn(|i| a.0[i] - product.0[i]));
                }
            }
        }
    }
}

/// Strings against their definition, bit by bit, and back.
pub fn packing_agrees<E: Engine>(e: E) {
    let mut values = Values::new("packing");
    let maps = |bits: usize| {
        [
            (Map::Same, 0),
            (Map::Below(1 << (bits - 1)), 1 << (bits - 1)),
        ]
    };
    for bits in [1, 3, 4, 6, 10, 13, 18, 20] {
        for _ in 0..ROUNDS {
            for (map, top) in maps(bits) {
                let string = values.poly(0, (1 << bits) - 1);
                let p = Poly(string.0.map(|x| if top == 0 { x } else { top - x }));
                let mut expected = std::vec![0u8; 32 * bits];
                for (i, x) in string.0.iter().enumerate() {
                    for bit in (0..bits).filter(|bit| x >> bit & 1 == 1) {
                        expected[(i * bits + bit) / 8] |= 1 << ((i * bits + bit) % 8);
                    }
                }
                let mut out = std::vec![0xa5; 32 * bits];
                e.pack(bits, &p, map, &mut out);
                assert_eq!(out, expected, "pack {bits}");
                let mut back = Poly([-1; N]);
                if bits == 10 {
                    e.unpack(bits, &expected, Map::Scaled, &mut back);
                    assert_eq!(back.0, string.0.map(|x| x << 13), "unpack {bits}");
                } else if top != 0 && bits != 1 && bits != 6 {
                    e.unpack(bits, &expected, map, &mut back);
                    assert_eq!(back, p, "unpack {bits}");
                }
            }
        }
    }
}
