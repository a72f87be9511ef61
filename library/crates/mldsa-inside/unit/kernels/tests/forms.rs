//! The NTT and the products in its domain for all inputs: [`Lanes`] of polynomials over Z_q in place of numbers, so
//! that a kernel's own text runs once on unknown coefficients. Its result is then FIPS 204's, coefficient by
//! coefficient, or it is not. That no step overflows is shown by intervals over the same text ([`super::intervals`]);
//! that a backend's methods do what [`Lanes`] says is not shown here (docs/proofs.md).
//!
//! Memory holds coefficients of 32 bits: a number, or from `CELLS` on the place of a polynomial of this thread.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::vec::Vec;

use crate::kernels::lanes::{Lanes, Map, Q_INVERSE, Transform};
use crate::kernels::poly::Poly;
use crate::kernels::{ntt, pointwise};
use crate::params::{N, Q};

const CELLS: i32 = 1 << 30;
const R_INVERSE: i64 = power(1 << 32, Q as u32 - 2);

/// Monomials of at most two unknowns, by their numbers from 1; 0 stands for none.
type Form = BTreeMap<(usize, usize), i64>;

std::thread_local! {
    static FORMS: RefCell<Vec<Form>> = const { RefCell::new(Vec::new()) };
}

const fn power(base: i64, mut exponent: u32) -> i64 {
    let (mut result, mut square) = (1, base % Q as i64);
    while exponent > 0 {
        if exponent & 1 == 1 {
            result = result * square % Q as i64;
        }
        square = square * square % Q as i64;
        exponent >>= 1;
    }
    result
}

fn form(raw: i32) -> Form {
    if raw >= CELLS {
        return FORMS.with_borrow(|forms| forms[(raw - CELLS) as usize].clone());
    }
    plus(Form::new(), &Form::from([((0, 0), raw.into())]), 1)
}

fn cell(form: Form) -> i32 {
    FORMS.with_borrow_mut(|forms| {
        forms.push(form);
        CELLS + (forms.len() - 1) as i32
    })
}

fn plus(mut a: Form, b: &Form, factor: i64) -> Form {
    for (monomial, coefficient) in b {
        let sum = a.entry(*monomial).or_default();
        *sum = (*sum + coefficient * factor).rem_euclid(Q.into());
    }
    a.retain(|_, coefficient| *coefficient != 0);
    a
}

fn times(a: &Form, b: &Form) -> Form {
    let mut product = Form::new();
    for ((i, none), x) in a {
        for ((j, no_more), y) in b {
            assert_eq!((none, no_more), (&0, &0), "three unknowns");
            let monomial = (*i.max(j), *i.min(j));
            product = plus(product, &Form::from([(monomial, x * y)]), 1);
        }
    }
    product
}

/// `COUNT` lanes.
#[derive(Clone, Copy)]
struct Forms<const COUNT: usize, const BARRETT: bool, const MIXED: bool>([i32; COUNT]);

impl<const COUNT: usize, const BARRETT: bool, const MIXED: bool> Forms<COUNT, BARRETT, MIXED> {
    #[inline(never)]
    fn zip(self, other: Self, f: impl Fn(Form, Form) -> Form) -> Self {
        Forms(core::array::from_fn(|i| {
            cell(f(form(self.0[i]), form(other.0[i])))
        }))
    }
}

impl<const COUNT: usize, const BARRETT: bool, const MIXED: bool> Lanes
    for Forms<COUNT, BARRETT, MIXED>
{
    type Token = ();
    type Wide = [i32; COUNT];
    const COUNT: usize = COUNT;

    fn splat((): (), value: i32) -> Self {
        Forms([value; COUNT])
    }
    fn load((): (), from: &[i32]) -> Self {
        Forms(core::array::from_fn(|i| from[i]))
    }
    fn store(self, to: &mut [i32]) {
        to[..COUNT].copy_from_slice(&self.0);
    }
    fn add(self, other: Self) -> Self {
        self.zip(other, |a, b| plus(a, &b, 1))
    }
    fn sub(self, other: Self) -> Self {
        self.zip(other, |a, b| plus(a, &b, -1))
    }
    fn montgomery(self, other: Self) -> Self {
        Self::wide_reduce(Self::wide_add(Self::wide_zero(()), self, other))
    }
    fn wide_zero((): ()) -> Self::Wide {
        [0; COUNT]
    }
    fn wide_add(accumulator: Self::Wide, a: Self, b: Self) -> Self::Wide {
        let product = a.zip(b, |a, b| times(&a, &b));
        Forms(accumulator).add(product).0
    }
    fn wide_sub(accumulator: Self::Wide, a: Self, b: Self) -> Self::Wide {
        let product = a.zip(b, |a, b| times(&a, &b));
        Forms(accumulator).sub(product).0
    }
    fn wide_reduce(accumulator: Self::Wide) -> Self {
        Forms(accumulator.map(|raw| cell(plus(Form::new(), &form(raw), R_INVERSE))))
    }

    fn mul_low(self, _: Self) -> Self {
        unreachable!("no product of these kernels")
    }
    fn and(self, _: Self) -> Self {
        unreachable!()
    }
    fn or(self, _: Self) -> Self {
        unreachable!()
    }
    fn shift_right<const BITS: i32>(self) -> Self {
        unreachable!()
    }
    fn greater(self, _: Self) -> Self {
        unreachable!()
    }
    fn abs(self) -> Self {
        unreachable!()
    }
    fn any(self) -> bool {
        unreachable!()
    }
    fn from_triples((): (), _: &[u8]) -> Self {
        unreachable!()
    }
    fn from_bytes((): (), _: &[u8]) -> Self {
        unreachable!()
    }
    fn from_halves((): (), _: &[u8], _: usize) -> Self {
        unreachable!()
    }
    fn from_bits<const BITS: u32>((): (), _: &[u8], _: usize) -> Self {
        unreachable!()
    }
    fn write_bits<const BITS: usize>((): (), _: &[i32; N], _: Map, _: &mut [u8]) {
        unreachable!()
    }
    fn store_kept(self, _: Self, _: &mut [i32]) -> usize {
        unreachable!()
    }
}

impl<const COUNT: usize, const BARRETT: bool, const MIXED: bool> Transform
    for Forms<COUNT, BARRETT, MIXED>
{
    const BARRETT: bool = BARRETT;
    const MIXED: bool = MIXED;

    fn times(self, factor: [Self; 2], above: [Self; 2]) -> Self {
        Forms(core::array::from_fn(|i| {
            // Of a table: numbers, companions of 32 bits.
            let [constant, companion] = factor.map(|lanes| i64::from(lanes.0[i]));
            let q = i64::from(Q);
            let multiplier = if BARRETT {
                // The nearest integer to c·2^31 / q.
                assert!((2 * companion * q - (constant << 32)).abs() <= q);
                constant
            } else {
                assert_eq!(companion, (constant as i32).wrapping_mul(Q_INVERSE).into());
                constant * R_INVERSE % q
            };
            assert!(2 * constant.abs() < q);
            if COUNT > 1 && i % 2 == 0 {
                for (above, factor) in above.iter().zip(&factor) {
                    assert_eq!(above.0[i], factor.0[i + 1], "the odd lane above");
                }
            }
            cell(plus(Form::new(), &form(self.0[i]), multiplier))
        }))
    }
    fn exchange<const HOP: usize>(mut a: Self, mut b: Self) -> (Self, Self) {
        for lane in (0..COUNT).filter(|lane| lane & HOP == 0) {
            core::mem::swap(&mut a.0[lane + HOP], &mut b.0[lane]);
        }
        (a, b)
    }
}

/// N unknowns of their own for each of `count` polynomials.
fn unknowns(count: usize) -> Vec<Poly> {
    FORMS.with_borrow_mut(Vec::clear);
    (0..count)
        .map(|p| Poly(core::array::from_fn(|i| cell(unknown(p, i)))))
        .collect()
}

fn unknown(polynomial: usize, i: usize) -> Form {
    Form::from([((1 + N * polynomial + i, 0), 1)])
}

/// FIPS 204, section 2.5: coefficient i of the transform is the value at ζ^(2·BitRev8(i) + 1).
fn zeta(i: usize, exponent: usize) -> i64 {
    let odd = 2 * usize::from((i as u8).reverse_bits()) + 1;
    power(1753, (odd * exponent % (2 * N)) as u32)
}

fn transforms<V: Lanes<Token = ()> + Transform>() {
    let mut p = unknowns(1).remove(0);
    ntt::forward::<V>((), &mut p.0);
    for i in 0..N {
        let mut value = Form::new();
        for j in 0..N {
            value = plus(value, &unknown(0, j), zeta(i, j));
        }
        assert!(form(p.0[i]) == value, "coefficient {i} of the transform");
    }
    let mut p = unknowns(1).remove(0);
    ntt::inverse::<V>((), &mut p.0);
    // With the factor 2^32.
    let scale = power(256, Q as u32 - 2) * ((1 << 32) % i64::from(Q)) % i64::from(Q);
    for j in 0..N {
        let mut value = Form::new();
        for i in 0..N {
            let power = zeta(i, 2 * N - j);
            value = plus(value, &unknown(0, i), power * scale % i64::from(Q));
        }
        assert!(form(p.0[j]) == value, "coefficient {j} of the inverse");
    }
}

fn products<V: Lanes<Token = ()>>() {
    let mut out = Poly([0; N]);
    for length in [4, 5, 7] {
        let polynomials = unknowns(2 * length + 2);
        let (row, rest) = polynomials.split_at(length);
        let (v, rest) = rest.split_at(length);
        let sum = |i: usize| {
            (0..length).fold(Form::new(), |sum, p| {
                let product = times(&unknown(p, i), &unknown(length + p, i));
                plus(sum, &product, R_INVERSE)
            })
        };
        pointwise::dot::<V>((), row, v, &mut out);
        assert!((0..N).all(|i| form(out.0[i]) == sum(i)), "dot of {length}");
        pointwise::dot_minus::<V>((), row, v, &rest[0], &rest[1], &mut out);
        let less = |i| times(&unknown(2 * length, i), &unknown(2 * length + 1, i));
        assert!(
            (0..N).all(|i| form(out.0[i]) == plus(sum(i), &less(i), -R_INVERSE)),
            "dot_minus of {length}"
        );
    }
    let two = unknowns(2);
    pointwise::product::<V>((), &two[0], &two[1], &mut out);
    for i in 0..N {
        let product = times(&unknown(0, i), &unknown(1, i));
        assert!(form(out.0[i]) == plus(Form::new(), &product, R_INVERSE));
    }
}

/// With the lanes, products and order of each backend.
#[test]
fn transforms_are_fips_204_s_for_all_inputs() {
    transforms::<Forms<1, false, false>>();
    transforms::<Forms<4, true, false>>();
    transforms::<Forms<8, false, true>>();
    transforms::<Forms<16, false, true>>();
}

#[test]
fn products_are_fips_204_s_for_all_inputs() {
    products::<Forms<1, false, false>>();
    products::<Forms<4, true, false>>();
    products::<Forms<8, false, true>>();
    products::<Forms<16, false, true>>();
}
