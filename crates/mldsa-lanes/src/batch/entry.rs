//! As [`crate::scheme::entry`], for many jobs.

use super::given::SignJob;
use super::{VerifyJob, keygen, sign, verify};
use crate::ParameterSet;
use crate::backend::{Backend, with_engine};
use crate::error::Error;
use crate::kernels::poly::StackWiper;
use crate::keys::{ExpandedSigningKey, Signature, SigningKey};
use crate::scheme::entry::Scheme;

/// The batches of a parameter set. Generic code names [`ParameterSet`](crate::ParameterSet), of
/// which this is a part.
pub trait Batch: Scheme {
    /// Signs the jobs at the positions in `order`, all with keys of that backend.
    #[doc(hidden)]
    fn sign_jobs(
        backend: Backend,
        jobs: &[SignJob<'_, Self>],
        order: &[usize],
        limit: u32,
        results: &mut [Result<Signature<Self>, Error>],
    ) where
        Self: ParameterSet;
    /// Verifies the jobs at the positions in `order`.
    #[doc(hidden)]
    fn verify_jobs(
        backend: Backend,
        jobs: &[VerifyJob<'_, Self>],
        order: &[usize],
        results: &mut [Result<(), Error>],
    ) where
        Self: ParameterSet;
    /// A key for each seed.
    #[doc(hidden)]
    fn keygen_jobs(backend: Backend, seeds: &[[u8; 32]], keys: &mut [SigningKey<Self>])
    where
        Self: ParameterSet;
    /// An expanded key for each seed.
    #[doc(hidden)]
    fn keygen_expanded_jobs(
        backend: Backend,
        seeds: &[[u8; 32]],
        keys: &mut [ExpandedSigningKey<Self>],
    ) where
        Self: ParameterSet;
}

macro_rules! entry_points {
    ($feature:literal $set:ident) => {
        #[cfg(feature = $feature)]
        impl Batch for crate::params::$set {
            fn sign_jobs(
                backend: Backend,
                jobs: &[SignJob<'_, Self>],
                order: &[usize],
                limit: u32,
                results: &mut [Result<Signature<Self>, Error>],
            ) {
                let _wiper = StackWiper::<32>;
                with_engine!(backend, e =>
                    sign::sign_messages(e, jobs, order, limit, results));
            }

            fn verify_jobs(
                backend: Backend,
                jobs: &[VerifyJob<'_, Self>],
                order: &[usize],
                results: &mut [Result<(), Error>],
            ) {
                with_engine!(backend, e => verify::run(e, jobs, order, results));
            }

            fn keygen_jobs(backend: Backend, seeds: &[[u8; 32]], keys: &mut [SigningKey<Self>]) {
                let _wiper = StackWiper::<32>;
                with_engine!(backend, e => keygen::run(e, seeds, keys));
            }

            fn keygen_expanded_jobs(
                backend: Backend,
                seeds: &[[u8; 32]],
                keys: &mut [ExpandedSigningKey<Self>],
            ) {
                let _wiper = StackWiper::<32>;
                with_engine!(backend, e => keygen::run_expanded(e, seeds, keys));
            }
        }
    };
}
entry_points!("ml-dsa-44" MlDsa44);
entry_points!("ml-dsa-65" MlDsa65);
entry_points!("ml-dsa-87" MlDsa87);
