//! The functions of `mldsa_hazmat.h`: a given `rnd`, and μ from elsewhere.

use mldsa_lanes::{Input, hazmat::external_mu};

use crate::barrier;
use crate::batch::{mldsa_sign_job, sign_batch};
use crate::bytes::{exactly, input, reference};
use crate::error::*;
use crate::input::mldsa_input;
use crate::keys::{mldsa_signing_key, mldsa_verifying_key};
use crate::sign::{Randomness, sign, verify};

/// Sign as mldsa_sign_input does, with a given rnd. It hedges only if it is fresh and secret for
/// each signature.
///
/// rnd  rnd_len bytes, which must be 32; zeros make the deterministic variant.
///
/// Errors: those of mldsa_sign_input without RANDOM; LENGTH of rnd.
/// Thread safety, ownership: as mldsa_sign.
/// Wiping: the caller wipes rnd.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mldsa_hazmat_sign_with_rnd(
    key: *const mldsa_signing_key,
    input: *const mldsa_input,
    rnd: *const u8,
    rnd_len: usize,
    signature: *mut u8,
    signature_len: usize,
) -> mldsa_error {
    barrier(|| {
        let mut mu = None;
        // SAFETY: as the header says.
        let rnd = unsafe { exactly(rnd, rnd_len) }?;
        // SAFETY: as the header says.
        let input = unsafe { reference(input)?.read(&mut mu) }?;
        let randomness = Randomness::Given(std::slice::from_ref(rnd));
        // SAFETY: as the header says.
        unsafe { sign(key, input, randomness, signature, signature_len) }
    })
}

/// Sign as mldsa_sign_batch does, with a given rnd for each job.
///
/// rnds  rnds_len bytes, which must be 32 for each job.
///
/// Errors: those of mldsa_sign_batch without RANDOM; LENGTH of rnds.
/// Thread safety, ownership: as mldsa_sign_batch.
/// Wiping: the caller wipes rnds, the library its own copy.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mldsa_hazmat_sign_batch_with_rnd(
    jobs: *mut mldsa_sign_job,
    count: usize,
    rnds: *const u8,
    rnds_len: usize,
    threads: usize,
) -> mldsa_error {
    barrier(|| {
        // SAFETY: as the header says.
        let (rnds, rest) = unsafe { input(rnds, rnds_len) }?.as_chunks::<32>();
        if rnds.len() != count || !rest.is_empty() {
            return Err(MLDSA_ERROR_LENGTH);
        }
        // SAFETY: as the header says.
        unsafe { sign_batch(jobs, count, Randomness::Given(rnds), threads) }
    })
}

/// Sign mu that was computed elsewhere (external mu of FIPS 204, section 6.2). The key signs a
/// message that it does not see, in the context and the variant that somebody else chose.
///
/// mu   mu_len bytes, which must be 64.
/// rnd  rnd_len bytes, which must be 32; zeros make the deterministic variant.
///
/// Errors: NULL, LENGTH, BUFFER, ITERATIONS, MEMORY.
/// Thread safety, ownership: as mldsa_sign.
/// Wiping: the caller wipes rnd.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mldsa_hazmat_sign_mu(
    key: *const mldsa_signing_key,
    mu: *const u8,
    mu_len: usize,
    rnd: *const u8,
    rnd_len: usize,
    signature: *mut u8,
    signature_len: usize,
) -> mldsa_error {
    barrier(|| {
        // SAFETY: as the header says.
        let (mu, rnd) = unsafe { (exactly(mu, mu_len)?, exactly(rnd, rnd_len)?) };
        let mu = external_mu(*mu);
        let randomness = Randomness::Given(std::slice::from_ref(rnd));
        // SAFETY: as the header says.
        unsafe { sign(key, Input::Mu(&mu), randomness, signature, signature_len) }
    })
}

/// Verify a signature of mu that was computed elsewhere.
///
/// mu  mu_len bytes, which must be 64.
///
/// Return MLDSA_OK for a valid signature, and for it only.
/// Errors: SIGNATURE for one that is not valid; NULL, LENGTH.
/// Thread safety, ownership: as mldsa_verify.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mldsa_hazmat_verify_mu(
    key: *const mldsa_verifying_key,
    mu: *const u8,
    mu_len: usize,
    signature: *const u8,
    signature_len: usize,
) -> mldsa_error {
    barrier(|| {
        // SAFETY: as the header says.
        let mu = external_mu(*unsafe { exactly(mu, mu_len) }?);
        // SAFETY: as the header says.
        unsafe { verify(key, Input::Mu(&mu), signature, signature_len) }
    })
}
