// The checks of an attempt (FIPS 204, Algorithm 7, steps 17 to 28) for traces, over the library's
// kernels and two of its own.
//
// As |c·s| ≤ β, a norm of a ± c·s passes a bound only where |a| ≥ bound − β: for y and w0 in one
// polynomial of four or so, and there at one coefficient or two, whose products are cheaper than a
// polynomial's. Branches and addresses depend on y and w0, so this is no part of signing.

use core::marker::PhantomData;

use mldsa_lanes::internals::bounds::{Range, below, check as in_range, high, within};
use mldsa_lanes::internals::{
    Engine, Iteration, Kernel, Lanes, Material, N, Observer, Offsets, Parameters, Poly, Q, Scratch,
    Shapes, Signing, SmallPoly, canonical, decompose, kappa,
};

use super::attempt::{Attempt, Check, Checks};

/// Tells of each attempt.
pub(crate) struct Tracing<F> {
    pub(crate) checks: Checks,
    /// Gets the job's position too.
    pub(crate) on_attempt: F,
}

impl<P: Shapes, F: FnMut(usize, Attempt)> Observer<P> for Tracing<F> {
    fn observe<E: Engine>(
        &mut self,
        e: E,
        key: &Material<P>,
        iteration: Iteration,
        signing: &Signing<P>,
        scratch: &mut Scratch,
    ) -> bool {
        let mut attempt = Attempt::new(kappa::<P>(iteration.number));
        check(e, key, self.checks, signing, scratch, &mut attempt);
        (self.on_attempt)(iteration.message, attempt);
        attempt.accepted()
    }
}

/// Steps 17 to 28 as far as `checks` goes; `signing` stays as it is, and z is not computed.
fn check<P: Shapes, E: Engine>(
    e: E,
    key: &Material<P>,
    checks: Checks,
    signing: &Signing<P>,
    scratch: &mut Scratch,
    attempt: &mut Attempt,
) {
    let c = signing.c();
    let mut z = signing.y().iter().zip(key.s1.as_ref());
    let bound = P::GAMMA1 - P::BETA;
    if let Some(i) = z.position(|(y, s1)| sum_exceeds::<P, E>(e, y, c, s1, bound)) {
        attempt.fail(Check::Z, i);
    }
    let mut r0 = signing.w0().iter().zip(key.s2.as_ref());
    let bound = P::GAMMA2 - P::BETA;
    if let Some(i) = r0.position(|(w0, s2)| difference_exceeds::<P, E>(e, w0, c, s2, bound)) {
        attempt.fail(Check::R0, i);
    }
    if checks == Checks::All || attempt.accepted() {
        hints(e, key, signing, scratch, attempt);
    }
}

/// Steps 25 to 28. The last polynomials are left out once nothing can fail first there.
fn hints<P: Shapes, E: Engine>(
    e: E,
    key: &Material<P>,
    signing: &Signing<P>,
    scratch: &mut Scratch,
    attempt: &mut Attempt,
) {
    // |c·t0| ≤ τ·2^12, below γ2 but for ML-DSA-44.
    let bounded = const { (P::TAU as i32) << 12 < P::GAMMA2 };
    let Scratch { product, c_hat } = scratch;
    let (product, c_hat) = (&mut product[0], &mut c_hat[0]);
    let mut cs2 = Poly([0; N]);
    signing.c().write(P::TAU, c_hat);
    e.ntt(c_hat);
    let mut weight = 0;
    let keys = key.s2.as_ref().iter().zip(key.t0_hat.as_ref());
    let rows = signing.w0().iter().zip(signing.w1());
    for (i, ((s2, t0_hat), (w0, w1))) in keys.zip(rows).enumerate() {
        cs2.0.fill(0);
        e.add_small::<P>(signing.c(), s2, &mut cs2, i32::MAX);
        e.product(c_hat, t0_hat, product);
        e.inverse_ntt(product);
        if e.center(product, P::GAMMA2) {
            attempt.fail(Check::Ct0, i);
        }
        make_hint_any::<P, E>(e, w0, &cs2, product, w1);
        weight += product.0.iter().sum::<i32>();
        if weight > P::OMEGA as i32 {
            attempt.fail(Check::Hint, i);
            if bounded || attempt.fails(Check::Ct0) {
                break;
            }
        }
    }
}

/// Whether some |a + c·s| ≥ bound.
pub(crate) fn sum_exceeds<P: Parameters, E: Engine>(
    e: E,
    a: &Poly,
    c: &Offsets,
    s: &SmallPoly,
    bound: i32,
) -> bool {
    in_range("sum_exceeds takes a", a, within(P::GAMMA1));
    in_range("sum_exceeds takes s", s, Range(0, 2 * P::ETA));
    let of = PhantomData::<P>;
    e.run(Near::<P, false> { a, c, s, bound, of })
}

/// Whether some |a − c·s| ≥ bound.
pub(crate) fn difference_exceeds<P: Parameters, E: Engine>(
    e: E,
    a: &Poly,
    c: &Offsets,
    s: &SmallPoly,
    bound: i32,
) -> bool {
    in_range("difference_exceeds takes a", a, within(P::GAMMA1));
    in_range("difference_exceeds takes s", s, Range(0, 2 * P::ETA));
    let of = PhantomData::<P>;
    e.run(Near::<P, true> { a, c, s, bound, of })
}

/// A norm check by way of the few coefficients of a that are near the bound.
struct Near<'a, P, const SUBTRACT: bool> {
    a: &'a Poly,
    c: &'a Offsets,
    s: &'a SmallPoly,
    bound: i32,
    of: PhantomData<P>,
}

impl<P: Parameters, const SUBTRACT: bool> Kernel for Near<'_, P, SUBTRACT> {
    type Output = bool;

    #[inline(always)]
    fn run<V: Lanes>(self, token: V::Token) -> bool {
        /// Coefficients that one branch decides on.
        const GROUP: usize = 64;
        let least = self.bound - P::BETA;
        let limit = V::splat(token, least - 1);
        for start in (0..N).step_by(GROUP) {
            let mut near = V::splat(token, 0);
            for at in (start..start + GROUP).step_by(V::COUNT) {
                near = near.or(V::load(token, &self.a.0[at..]).abs().greater(limit));
            }
            if !near.any() {
                continue;
            }
            for (i, x) in self.a.0[start..start + GROUP].iter().enumerate() {
                if x.abs() >= least {
                    let product = self.c.coefficient::<P>(self.s, start + i);
                    let sum = if SUBTRACT { x - product } else { x + product };
                    if sum.abs() >= self.bound {
                        return true;
                    }
                }
            }
        }
        false
    }
}

/// The hints by definition: HighBits(w − c·s2) against HighBits(w − c·s2 + c·t0), for attempts that
/// failed earlier checks too. `ct0` becomes the hints, 0 or 1; |c·t0| < q − γ2.
pub(crate) fn make_hint_any<P: Parameters, E: Engine>(
    e: E,
    w0: &Poly,
    cs2: &Poly,
    ct0: &mut Poly,
    w1: &Poly,
) {
    in_range("make_hint_any takes w0", w0, within(P::GAMMA2));
    in_range("make_hint_any takes cs2", cs2, within(P::BETA));
    in_range("make_hint_any takes ct0", ct0, below(Q - P::GAMMA2));
    in_range("make_hint_any takes w1", w1, high::<P>());
    let (of, out) = (PhantomData::<P>, &mut *ct0);
    e.run(Hints {
        w0,
        cs2,
        out,
        w1,
        of,
    });
    in_range("make_hint_any gives ct0", ct0, Range(0, 1));
}

struct Hints<'a, P> {
    w0: &'a Poly,
    cs2: &'a Poly,
    /// c·t0, then the hints.
    out: &'a mut Poly,
    w1: &'a Poly,
    of: PhantomData<P>,
}

impl<P: Parameters> Kernel for Hints<'_, P> {
    type Output = ();

    #[inline(always)]
    fn run<V: Lanes>(self, token: V::Token) {
        let one = V::splat(token, 1);
        let q = V::splat(token, Q);
        let step = V::splat(token, 2 * P::GAMMA2);
        for at in (0..N).step_by(V::COUNT) {
            let low = V::load(token, &self.w0.0[at..]).sub(V::load(token, &self.cs2.0[at..]));
            let w1 = V::load(token, &self.w1.0[at..]);
            // w1·2γ2 ≤ q − 1 − 2γ2 and |low| ≤ γ2 + β: in (-q, q).
            let r = canonical(token, w1.mul_low(step).add(low));
            let sum = r.add(V::load(token, &self.out.0[at..]));
            let over = sum.greater(V::splat(token, Q - 1));
            let moved = canonical(token, sum.sub(over.and(q)));
            let (before, _) = decompose::<V, P>(token, r);
            let (after, _) = decompose::<V, P>(token, moved);
            let differ = before.greater(after).or(after.greater(before));
            differ.and(one).store(&mut self.out.0[at..]);
        }
    }
}
