//! The checks of an attempt (FIPS 204, Algorithm 7, steps 18 to 28) for traces: how long they take
//! depends on secrets, so signing uses none of this.

use crate::backend::Engine;
use crate::declassify::{Site, public};
use crate::scheme::shapes::Shapes;
use crate::scheme::sign::{Material, Scratch, Trial};
use crate::trace::{Attempt, Check, Checks};

/// Steps 18 to 28 of [`super::sign`] with every check carried out on every polynomial; z, w0 and the
/// hints are what signing makes them.
pub(crate) fn check_all<P: Shapes, E: Engine>(
    e: E,
    key: &Material<P>,
    kappa: u16,
    trial: &mut Trial<P>,
    scratch: &mut Scratch<P>,
) -> Attempt {
    let product = &mut scratch.product[0];
    let mut attempt = Attempt::new(kappa);
    for (i, (s1, z)) in key.s1.as_ref().iter().zip(trial.z.as_mut()).enumerate() {
        e.small_product::<P>(&trial.c_offsets, s1, product);
        let fails = e.add_center(z, product, P::GAMMA1 - P::BETA);
        if public(Site::RejectedByZ, fails) {
            attempt.fail(Check::Z, i);
        }
    }
    let c_hat = &mut trial.c[0];
    e.ntt(c_hat);
    let mut weight = 0;
    let keys = key.s2.as_ref().iter().zip(key.t0_hat.as_ref());
    let rows = trial.low.as_mut().iter_mut().zip(trial.w1.as_ref());
    for (i, ((s2, t0_hat), (low, w1))) in keys.zip(rows).enumerate() {
        e.small_product::<P>(&trial.c_offsets, s2, product);
        let fails = e.subtract_center(low, product, P::GAMMA2 - P::BETA);
        if public(Site::RejectedByR0, fails) {
            attempt.fail(Check::R0, i);
        }
        e.product(c_hat, t0_hat, product);
        e.inverse_ntt(product);
        if public(Site::RejectedByCt0, e.center(product, P::GAMMA2)) {
            attempt.fail(Check::Ct0, i);
        }
        e.make_hint_any::<P>(low, product, w1);
        weight += low.0.iter().sum::<i32>();
        if public(Site::RejectedByHint, weight > P::OMEGA as i32) {
            attempt.fail(Check::Hint, i);
        }
    }
    attempt
}

/// What [`check_all`] says of an attempt, as far as `checks` goes: z is not computed, nor anything else
/// that only a signature needs.
pub(crate) fn check<P: Shapes, E: Engine>(
    e: E,
    key: &Material<P>,
    checks: Checks,
    kappa: u16,
    trial: &mut Trial<P>,
    scratch: &mut Scratch<P>,
) -> Attempt {
    let mut attempt = Attempt::new(kappa);
    let c = &*trial.c_offsets;
    let mut z = trial.z.as_ref().iter().zip(key.s1.as_ref());
    let bound = P::GAMMA1 - P::BETA;
    if let Some(i) = z.position(|(y, s1)| e.sum_exceeds::<P>(y, c, s1, bound)) {
        attempt.fail(Check::Z, i);
    }
    let mut r0 = trial.low.as_ref().iter().zip(key.s2.as_ref());
    let bound = P::GAMMA2 - P::BETA;
    if let Some(i) = r0.position(|(w0, s2)| e.difference_exceeds::<P>(w0, c, s2, bound)) {
        attempt.fail(Check::R0, i);
    }
    if checks == Checks::All || attempt.accepted() {
        hints(e, key, trial, scratch, &mut attempt);
    }
    attempt
}

/// Steps 25 to 28. The last polynomials are left out once nothing can fail first there.
fn hints<P: Shapes, E: Engine>(
    e: E,
    key: &Material<P>,
    trial: &mut Trial<P>,
    scratch: &mut Scratch<P>,
    attempt: &mut Attempt,
) {
    // |c·t0| ≤ τ·2^12, below γ2 but for ML-DSA-44.
    let bounded = const { (P::TAU as i32) << 12 < P::GAMMA2 };
    let product = &mut scratch.product[0];
    let c_hat = &mut trial.c[0];
    e.ntt(c_hat);
    let mut weight = 0;
    let keys = key.s2.as_ref().iter().zip(key.t0_hat.as_ref());
    let rows = trial.low.as_mut().iter_mut().zip(trial.w1.as_ref());
    for (i, ((s2, t0_hat), (low, w1))) in keys.zip(rows).enumerate() {
        e.small_product::<P>(&trial.c_offsets, s2, product);
        e.subtract_center(low, product, i32::MAX);
        e.product(c_hat, t0_hat, product);
        e.inverse_ntt(product);
        if e.center(product, P::GAMMA2) {
            attempt.fail(Check::Ct0, i);
        }
        e.make_hint_any::<P>(low, product, w1);
        weight += low.0.iter().sum::<i32>();
        if weight > P::OMEGA as i32 {
            attempt.fail(Check::Hint, i);
            if bounded || attempt.fails(Check::Ct0) {
                break;
            }
        }
    }
}
