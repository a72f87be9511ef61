//! Products in the NTT domain.

use super::lanes::Lanes;
use super::poly::Poly;
use crate::params::N;

/// out = Σ row[i]·v[i]·2^-32, |out| < q. With |row| < q (Â) and |v| < 10q, seven products
/// stay below 70q² < 2^31·q, so one reduction a coefficient is enough.
#[inline(always)]
pub(crate) fn dot<V: Lanes>(token: V::Token, row: &[Poly], v: &[Poly], out: &mut Poly) {
    for at in (0..N).step_by(V::COUNT) {
        let mut sum = V::wide_zero(token);
        for (a, b) in row.iter().zip(v) {
            sum = V::wide_add(sum, V::load(token, &a.0[at..]), V::load(token, &b.0[at..]));
        }
        V::wide_reduce(sum).store(&mut out.0[at..]);
    }
}

/// out = (Σ row[i]·v[i] − c·t)·2^-32, |out| < q. With |c|, |t| < 9q the sum stays below
/// 70q² + 81q² < 2^31·q.
#[inline(always)]
pub(crate) fn dot_minus<V: Lanes>(
    token: V::Token,
    row: &[Poly],
    v: &[Poly],
    c: &Poly,
    t: &Poly,
    out: &mut Poly,
) {
    for at in (0..N).step_by(V::COUNT) {
        let mut sum = V::wide_zero(token);
        for (a, b) in row.iter().zip(v) {
            sum = V::wide_add(sum, V::load(token, &a.0[at..]), V::load(token, &b.0[at..]));
        }
        sum = V::wide_sub(sum, V::load(token, &c.0[at..]), V::load(token, &t.0[at..]));
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
