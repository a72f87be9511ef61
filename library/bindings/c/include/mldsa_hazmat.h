/* ML-DSA (FIPS 204): functions that ask for care. Generated; edit bindings/c/src/hazmat.rs
 * instead.
 *
 * Ordinary signing and verification, HashML-DSA and messages in pieces need none of them: see
 * mldsa.h, whose rules for errors, pointers and handles hold here too.
 */

#ifndef MLDSA_HAZMAT_H
#define MLDSA_HAZMAT_H

#include <stddef.h>
#include <stdint.h>
#include "mldsa.h"

#ifdef __cplusplus
extern "C" {
#endif /* __cplusplus */

/**
 * Sign as mldsa_sign_input does, with a given rnd. It hedges only if it is fresh and secret for
 * each signature.
 *
 * rnd  rnd_len bytes, which must be 32; zeros make the deterministic variant.
 *
 * Errors: those of mldsa_sign_input without RANDOM; LENGTH of rnd.
 * Thread safety, ownership: as mldsa_sign.
 * Wiping: the caller wipes rnd.
 */
mldsa_error mldsa_hazmat_sign_with_rnd(const mldsa_signing_key *key,
                                       const mldsa_input *input,
                                       const uint8_t *rnd,
                                       size_t rnd_len,
                                       uint8_t *signature,
                                       size_t signature_len);

/**
 * Sign as mldsa_sign_batch does, with a given rnd for each job.
 *
 * rnds  rnds_len bytes, which must be 32 for each job.
 *
 * Errors: those of mldsa_sign_batch without RANDOM; LENGTH of rnds.
 * Thread safety, ownership: as mldsa_sign_batch.
 * Wiping: the caller wipes rnds, the library its own copy.
 */
mldsa_error mldsa_hazmat_sign_batch_with_rnd(mldsa_sign_job *jobs,
                                             size_t count,
                                             const uint8_t *rnds,
                                             size_t rnds_len,
                                             size_t threads);

/**
 * Sign mu that was computed elsewhere (external mu of FIPS 204, section 6.2). The key signs a
 * message that it does not see, in the context and the variant that somebody else chose.
 *
 * mu   mu_len bytes, which must be 64.
 * rnd  rnd_len bytes, which must be 32; zeros make the deterministic variant.
 *
 * Errors: NULL, LENGTH, BUFFER, ITERATIONS, MEMORY.
 * Thread safety, ownership: as mldsa_sign.
 * Wiping: the caller wipes rnd.
 */
mldsa_error mldsa_hazmat_sign_mu(const mldsa_signing_key *key,
                                 const uint8_t *mu,
                                 size_t mu_len,
                                 const uint8_t *rnd,
                                 size_t rnd_len,
                                 uint8_t *signature,
                                 size_t signature_len);

/**
 * Verify a signature of mu that was computed elsewhere.
 *
 * mu  mu_len bytes, which must be 64.
 *
 * Return MLDSA_OK for a valid signature, and for it only.
 * Errors: SIGNATURE for one that is not valid; NULL, LENGTH.
 * Thread safety, ownership: as mldsa_verify.
 */
mldsa_error mldsa_hazmat_verify_mu(const mldsa_verifying_key *key,
                                   const uint8_t *mu,
                                   size_t mu_len,
                                   const uint8_t *signature,
                                   size_t signature_len);

#ifdef __cplusplus
}  /* extern "C" */
#endif  /* __cplusplus */

#endif  /* MLDSA_HAZMAT_H */
