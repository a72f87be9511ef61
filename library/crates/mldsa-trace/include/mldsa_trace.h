/* Rejection traces of many ML-DSA signatures (FIPS 204), and the signatures.
 *
 * For tests and measurements, with keys made for them: the time that tracing takes depends on
 * secrets, and keys and messages are not wiped.
 *
 * Every function may be called from several threads at once; each call uses one thread and gives
 * its memory back, which does not grow with the number of jobs. The backend (AVX2 ...) is the
 * library's own choice for this CPU.
 *
 * Pointers. A pointer may be NULL, or anything else, where it points to 0 elements. Otherwise it
 * points to as many elements as stated, aligned as its type asks; what is written overlaps nothing
 * that is read. The caller owns all buffers. Nothing is kept after the call.
 *
 * Errors. All arguments are checked before any work, but private keys when they are used: the public
 * key is computed again, and a key is refused whose s1 or s2 is out of range or whose t0 or tr does
 * not belong to the rest. After an error the contents of the output
 * buffers are undefined, except *needed after MLDSA_TRACE_ERROR_BUFFER. No Rust panic leaves the library.
 */
#ifndef MLDSA_TRACE_H
#define MLDSA_TRACE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The outcome of a call. Names and meanings that mldsa.h has too are its own. */
enum mldsa_trace_error {
    MLDSA_TRACE_OK = 0,
    MLDSA_TRACE_ERROR_SET = 1,         /* set is none of 44, 65, 87 */
    MLDSA_TRACE_ERROR_OPTION = 2,      /* all_checks is neither 0 nor 1 */
    MLDSA_TRACE_ERROR_SIZE = 3,        /* a buffer of that many elements cannot exist */
    MLDSA_TRACE_ERROR_NULL = 4,        /* a pointer is NULL or not aligned where elements are needed */
    MLDSA_TRACE_ERROR_KEY_NUMBER = 5,  /* key_of is not below keys */
    MLDSA_TRACE_ERROR_ENDS = 6,        /* ends decrease */
    MLDSA_TRACE_ERROR_CONTEXT = 7,     /* a context of more than 255 bytes */
    MLDSA_TRACE_ERROR_BUFFER = 8,      /* more codes than room; *needed says how many there are */
    MLDSA_TRACE_ERROR_ITERATIONS = 9,  /* a signature needs more than 821: below 2^-256 */
    MLDSA_TRACE_ERROR_INTERNAL = 10,   /* a defect of the library; it wrote to standard error */
    MLDSA_TRACE_ERROR_FORM = 11,       /* form is neither MLDSA_TRACE_XI nor MLDSA_TRACE_SK */
    MLDSA_TRACE_ERROR_KEY = 12         /* a private key that no key generation writes */
};

/* The form in which keys are given. */
enum mldsa_trace_form {
    MLDSA_TRACE_XI = 0, /* seeds, 32 bytes each */
    MLDSA_TRACE_SK = 1  /* private keys as skEncode writes them, 2560, 4032 or 4896 bytes each */
};

/* The version of this interface: 3. */
int32_t mldsa_trace_abi(void);

/* A sentence in English about an error code, also for an unknown code: static, ends with NUL. */
const char *mldsa_trace_error_string(int32_t error);

/* The backend in use, such as "avx2": static, ends with NUL. */
const char *mldsa_trace_backend(void);

/* Traces the signatures of the jobs: job i signs its message and context with key key_of[i] and
 * its rnd (FIPS 204, Algorithm 2).
 *
 * set         44, 65 or 87.
 * all_checks  1: z, r0, c*t0 and hints are checked in every attempt. 0: c*t0 and hints only where
 *             z and r0 hold, as Algorithm 7 does; elsewhere they count as holding.
 * form        of the keys: see above.
 * key         keys elements of that form. Keys without a job are not looked at. Jobs with one key are
 *             best next to each other.
 * key_of      jobs numbers below keys.
 * ends        2 * jobs: where in data job 0's message ends, its context, job 1's message ... The
 *             first message begins at 0, every other piece where the one before it ends. So data
 *             has ends[2 * jobs - 1] bytes.
 * rnd         jobs * 32 bytes; NULL: all zeros, the deterministic variant.
 * codes       room elements. One for each attempt, those of job 0 in order, then those of job 1 ...
 *             Four half-bytes, the lowest for z, then r0, c*t0, hints: the index of the first
 *             polynomial that fails the check (for the hints, at which their number passes omega),
 *             15 where it holds. So 0xffff is the accepted attempt, the last of its job.
 * code_ends   jobs elements: where in codes each job's attempts end.
 * needed      one element: how many codes there are. On average 4.3, 5.2 and 3.9 for a job.
 */
int32_t mldsa_trace_run(uint32_t set, uint32_t all_checks,
                        uint32_t form, size_t keys, const uint8_t *key,
                        size_t jobs, const uint32_t *key_of,
                        const uint8_t *data, const uint64_t *ends,
                        const uint8_t *rnd,
                        size_t room, uint16_t *codes, uint64_t *code_ends,
                        size_t *needed);

/* Signs with the key of each job.
 *
 * form, key   jobs elements: each job's own key.
 * data, ends, rnd  as for mldsa_trace_run.
 * pk          jobs * 1312, 1952 or 2592 bytes: the public keys.
 * sk          jobs * 2560, 4032 or 4896 bytes: the private keys as skEncode writes them.
 * signature   jobs * 2420, 3309 or 4627 bytes.
 * Each of pk, sk and signature may be NULL: then it is not written.
 */
int32_t mldsa_trace_sign(uint32_t set, uint32_t form, size_t jobs, const uint8_t *key,
                         const uint8_t *data, const uint64_t *ends, const uint8_t *rnd,
                         uint8_t *pk, uint8_t *sk, uint8_t *signature);

#ifdef __cplusplus
}
#endif

#endif
