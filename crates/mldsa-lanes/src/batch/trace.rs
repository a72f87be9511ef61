//! Traces of many signatures, by the scheduler of [`super::sign`].

use super::sign::{Outcome, Which};
use crate::ParameterSet;
use crate::backend::Engine;
use crate::error::Error;
use crate::scheme::sample::first_nonce;
use crate::scheme::sign::{Material, Scratch, Trial};
use crate::scheme::traced::check;
use crate::trace::{Attempt, Checks};

/// What is told of each attempt, and the position of its job.
pub(super) type Telling<'t> = &'t mut dyn FnMut(usize, Attempt);

/// Hands each attempt to a closure.
pub struct Traces<'r, F> {
    pub(super) checks: Checks,
    pub(super) on_attempt: F,
    /// Written where they are errors.
    pub(super) results: &'r mut [Result<(), Error>],
}

impl<P: ParameterSet, F: FnMut(usize, Attempt)> Outcome<P> for Traces<'_, F> {
    fn check<E: Engine>(
        &mut self,
        e: E,
        key: &Material<P>,
        which: Which,
        trial: &mut Trial<P>,
        scratch: &mut Scratch<P>,
    ) -> bool {
        let kappa = first_nonce::<P>(which.attempt);
        let attempt = check(e, key, self.checks, kappa, trial, scratch);
        (self.on_attempt)(which.job, attempt);
        attempt.accepted()
    }

    fn accept<E: Engine>(&mut self, _: E, _: usize, _: &mut Trial<P>) {}

    fn refuse(&mut self, job: usize, error: Error) {
        self.results[job] = Err(error);
    }
}
