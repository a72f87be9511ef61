//! Products in the NTT domain.

use super::lanes::Lanes;
use super::poly::Poly;
use crate::params::N;

/// out = Σ row[i]·v[i]·2^-32, |out| < q. With |row| < q (Â) and |v| < 10q, seven products
/// stay below 70q² < 2^31·q, so one reduction a coefficient is enough.
#[inline(always)]
pub(crate) fn dot<V: Lanes>(token: V::Token, row: &[Poly], v: &[Poly], out: &mut Poly) {
    // Inlined for each length of a row that a parameter set has, so that the sum is written out.
    debug_assert!(row.len() <= 7);
    match row.len() {
        4 => dot_of::<V>(token, &row[..4], &v[..4], out),
        5 => dot_of::<V>(token, &row[..5], &v[..5], out),
        7 => dot_of::<V>(token, &row[..7], &v[..7], out),
        len => dot_of::<V>(token, row, &v[..len], out),
    }
}

#[inline(always)]
fn dot_of<V: Lanes>(token: V::Token, row: &[Poly], v: &[Poly], out: &mut Poly) {
    for at in (0..N).step_by(V::COUNT) {
        V::wide_reduce(sum::<V>(token, row, v, at)).store(&mut out.0[at..]);
    }
}

#[inline(always)]
fn sum<V: Lanes>(token: V::Token, row: &[Poly], v: &[Poly], at: usize) -> V::Wide {
    let mut sum = V::wide_zero(token);
    for (a, b) in row.iter().zip(v) {
        sum = V::wide_add(sum, V::load(token, &a.0[at..]), V::load(token, &b.0[at..]));
    }
    sum
}

/// out = (Σ row[i]·v[i] − c·t)·2^-32, |out| < q. With |c|, |t| < 10q the sum stays below
/// 70q² + 100q² < 2^31·q.
#[inline(always)]
pub(crate) fn dot_minus<V: Lanes>(
    token: V::Token,
    row: &[Poly],
    v: &[Poly],
    c: &Poly,
    t: &Poly,
    out: &mut Poly,
) {
    // As in `dot`.
    debug_assert!(row.len() <= 7);
    match row.len() {
        4 => dot_minus_of::<V>(token, &row[..4], &v[..4], c, t, out),
        5 => dot_minus_of::<V>(token, &row[..5], &v[..5], c, t, out),
        7 => dot_minus_of::<V>(token, &row[..7], &v[..7], c, t, out),
        len => dot_minus_of::<V>(token, row, &v[..len], c, t, out),
    }
}

#[inline(always)]
fn dot_minus_of<V: Lanes>(
    token: V::Token,
    row: &[Poly],
    v: &[Poly],
    c: &Poly,
    t: &Poly,
    out: &mut Poly,
) {
    for at in (0..N).step_by(V::COUNT) {
        let (x, y) = (V::load(token, &c.0[at..]), V::load(token, &t.0[at..]));
        let sum = V::wide_sub(sum::<V>(token, row, v, at), x, y);
        V::wide_reduce(sum).store(&mut out.0[at..]);
    }
}

/// out = a·b·2^-32, |out| < q, for |a·b| < 2^31·q.
#[inline(always)]
pub(crate) fn product<V: Lanes>(token: V::Token, a: &Poly, b: &Poly, out: &mut Poly) {
    for at in (0..N).step_by(V::COUNT) {
        V::load(token, &a.0[at..])
            .montgomery(V::load(token, &b.0[at..]))
            .store(&mut out.0[at..]);
    }
}
