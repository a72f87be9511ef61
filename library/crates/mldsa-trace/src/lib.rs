//! Rejection traces of ML-DSA signatures: which checks failed in each attempt that mldsa-lanes made.
//!
//! For tests and measurements, with keys made for them. Which branches are taken, which memory is read
//! and so how long it takes depends on y, w0 and the private key, not just on what a signature tells;
//! signing decides by itself ([`mldsa_lanes::internals::Observer`]).

#![deny(missing_docs, unsafe_code, unsafe_op_in_unsafe_fn)]

mod attempt;
#[cfg(feature = "c")]
mod c;
mod checks;

use std::slice;

use mldsa_lanes::batch::{SignJob, SignWith};
use mldsa_lanes::hazmat::with_rnd;
use mldsa_lanes::internals::sign_observed;
use mldsa_lanes::{
    Error, ExpandedSigningKey, Input, ParameterSet, SignOptions, Signature, SigningKey,
};

pub use attempt::{Attempt, Check, Checks};
#[cfg(feature = "c")]
pub use c::*;
use checks::Tracing;
/// The library whose keys and jobs traces take: the package mldsa-inside.
pub use mldsa_lanes;

/// Traces every job: tells `on_attempt` of each attempt that signing it takes, with the job's position.
/// A job's attempts come in order, those of different jobs mixed. The signatures are dropped.
///
/// # Errors
/// As [`mldsa_lanes::batch::sign`]; all attempts of a job with [`Error::TooManyAttempts`] have been told.
pub fn trace<P: ParameterSet>(
    jobs: &[SignJob<'_, P>],
    options: SignOptions<'_>,
    checks: Checks,
    on_attempt: impl FnMut(usize, Attempt),
) -> Result<Vec<Result<(), Error>>, Error> {
    let results = sign_observed(jobs, options, &mut Tracing { checks, on_attempt })?;
    Ok(results.into_iter().map(|result| result.map(drop)).collect())
}

/// Private keys that tell of the attempts of a signature.
pub trait SignTraced<P: ParameterSet> {
    /// Signs any [`Input`] with the given `rnd`, telling `on_attempt` of every attempt in order, with all
    /// four checks.
    ///
    /// # Errors
    /// As [`SigningKey::sign_deterministic`].
    fn sign_traced(
        &self,
        input: &Input<'_>,
        rnd: &[u8; 32],
        on_attempt: impl FnMut(Attempt),
    ) -> Result<Signature<P>, Error>;
}

macro_rules! sign_traced {
    ($key:ident) => {
        impl<P: ParameterSet> SignTraced<P> for $key<P> {
            fn sign_traced(
                &self,
                input: &Input<'_>,
                rnd: &[u8; 32],
                on_attempt: impl FnMut(Attempt),
            ) -> Result<Signature<P>, Error> {
                traced(self.into(), input, rnd, on_attempt)
            }
        }
    };
}
sign_traced!(SigningKey);
sign_traced!(ExpandedSigningKey);

/// A batch of one.
fn traced<P: ParameterSet>(
    key: SignWith<'_, P>,
    input: &Input<'_>,
    rnd: &[u8; 32],
    mut on_attempt: impl FnMut(Attempt),
) -> Result<Signature<P>, Error> {
    let input = *input;
    let mut observer = Tracing {
        checks: Checks::All,
        on_attempt: |_, attempt| on_attempt(attempt),
    };
    let options = with_rnd(slice::from_ref(rnd));
    let results = sign_observed(&[SignJob { key, input }], options, &mut observer)?;
    results.into_iter().next().expect("a result for each job")
}
