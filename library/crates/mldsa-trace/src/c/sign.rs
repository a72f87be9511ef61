//! Keys and signatures, a chunk of jobs at a time.

use mldsa_lanes::batch::{self, SignJob};
use mldsa_lanes::hazmat::with_rnd;
use mldsa_lanes::{Error, ParameterSet};

use super::jobs::{Jobs, Keys};
use super::{Failure, Out};

/// Jobs in a chunk, at most: 15 KiB each.
const JOBS: usize = 64;

/// Lengths in bytes.
pub(crate) struct Sizes {
    pub(crate) pk: usize,
    pub(crate) sk: usize,
    pub(crate) signature: usize,
}

pub(crate) fn sizes<P: ParameterSet>() -> Sizes {
    Sizes {
        pk: P::VERIFYING_KEY_BYTES,
        sk: P::SIGNING_KEY_BYTES,
        signature: P::SIGNATURE_BYTES,
    }
}

/// What the caller wants, each of all jobs.
pub(crate) struct Output<'a> {
    pub(crate) pk: Option<&'a mut [Out<u8>]>,
    pub(crate) sk: Option<&'a mut [Out<u8>]>,
    pub(crate) signature: Option<&'a mut [Out<u8>]>,
}

/// [`run`] of a parameter set.
pub(crate) type Run = fn(Keys<'_>, &Jobs<'_>, Output<'_>) -> Result<(), Failure>;

/// Writes what is wanted.
pub(crate) fn run<P: ParameterSet>(
    keys: Keys<'_>,
    jobs: &Jobs<'_>,
    mut output: Output<'_>,
) -> Result<(), Failure> {
    let sizes = sizes::<P>();
    let count = keys.count();
    for start in (0..count).step_by(JOBS) {
        let keys = keys.make::<P>(start..count.min(start + JOBS))?;
        for (i, key) in keys.iter().enumerate() {
            let pk = key.verifying_key();
            put(&mut output.pk, start + i, sizes.pk, pk.as_bytes().as_ref());
            let sk = key.encoded_bytes().as_ref();
            put(&mut output.sk, start + i, sizes.sk, sk);
        }
        if output.signature.is_none() {
            continue;
        }
        let rnds = jobs.rnds(start..start + keys.len());
        let jobs: Vec<_> = keys
            .iter()
            .zip(start..)
            .map(|(key, job)| SignJob {
                key: key.into(),
                input: jobs.input(job),
            })
            .collect();
        let signatures = batch::sign(&jobs, with_rnd(&rnds)).map_err(|_| Failure::Internal)?;
        for (signature, job) in signatures.into_iter().zip(start..) {
            let signature = signature.map_err(|error| match error {
                Error::TooManyAttempts { .. } => Failure::Iterations,
                _ => Failure::Internal,
            })?;
            let bytes = signature.as_ref();
            put(&mut output.signature, job, sizes.signature, bytes);
        }
    }
    Ok(())
}

/// Writes a job's bytes, `size` of them, to their place, if they are wanted.
fn put(to: &mut Option<&mut [Out<u8>]>, job: usize, size: usize, bytes: &[u8]) {
    if let Some(to) = to {
        let places = to[job * size..][..size].iter_mut();
        for (place, byte) in places.zip(bytes) {
            place.write(*byte);
        }
    }
}
