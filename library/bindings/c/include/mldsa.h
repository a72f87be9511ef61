/* ML-DSA (FIPS 204): the C interface of mldsa-lanes. Generated; edit bindings/c/src instead.
 *
 * Errors. Every function that can fail returns a code; all arguments are checked before any work.
 * After an error the contents of output buffers are undefined unless stated otherwise. No Rust
 * panic leaves the library.
 *
 * Memory. Verifying, signing with an expanded key and freeing allocate nothing. Other functions
 * first ask the heap for a bound of what they allocate, and return MLDSA_ERROR_MEMORY if the heap
 * lacks it: 16 KiB for a handle, 96 KiB for signing, 128 KiB for an expanded key, four times its
 * length for a file, at least 64 and at most 256 KiB; for an encrypted file 17 MiB to write, and to
 * read what its scrypt asks for, at most 512 MiB; for each thread of a batch 1 MiB, its stack, and
 * 20 KiB for each of at most 512 jobs at a time. The process ends only if another thread takes the
 * memory between this check and its use.
 *
 * Environment. MLDSA_LANES_BACKEND names the backend and MLDSA_LANES_DISABLE CPU features to do
 * without. Both are read before the first key. If they cannot be followed, every function that makes
 * a handle returns MLDSA_ERROR_ENVIRONMENT.
 *
 * Pointers. A buffer is a pointer with its number of bytes, and may be NULL where that number is
 * 0. A pointer that is not NULL points to as much as stated. The caller owns all buffers; the
 * library keeps no pointer after a call. What is written overlaps nothing that is read.
 *
 * Handles. A function with a place for a new handle makes an object, which its ..._free gives
 * back. ..._free takes the place of the handle and sets it to NULL, so that a second call does
 * nothing and a later use is MLDSA_ERROR_NULL.
 *
 * Stack. Up to about 128 KiB for signing with ML-DSA-87, 144 KiB if hardened: give threads 256 KiB.
 */

#ifndef MLDSA_H
#define MLDSA_H

#include <stddef.h>
#include <stdint.h>

/**
 * The version of this header. mldsa_version() is that of the library.
 */
#define MLDSA_VERSION "0.3.0"
#define MLDSA_VERSION_MAJOR 0
#define MLDSA_VERSION_MINOR 3
#define MLDSA_VERSION_PATCH 0

/**
 * Bytes of a seed (xi of FIPS 204), for every set.
 */
#define MLDSA_SEED_BYTES 32

/**
 * Bytes of the largest encoded private key: 2560, 4032, 4896 for ML-DSA-44, -65, -87.
 */
#define MLDSA_MAX_SIGNING_KEY_BYTES 4896

/**
 * Bytes of the largest public key: 1312, 1952, 2592 for ML-DSA-44, -65, -87.
 */
#define MLDSA_MAX_VERIFYING_KEY_BYTES 2592

/**
 * Bytes of the largest signature: 2420, 3309, 4627 for ML-DSA-44, -65, -87.
 */
#define MLDSA_MAX_SIGNATURE_BYTES 4627

/**
 * PKCS#8 with the 32-byte seed, which RFC 9881 recommends.
 */
#define MLDSA_FORM_SEED 0

/**
 * PKCS#8 with the encoded private key, which RFC 9881 calls expandedKey.
 */
#define MLDSA_FORM_EXPANDED 1

/**
 * PKCS#8 with both; readers check that they belong together.
 */
#define MLDSA_FORM_BOTH 2

/**
 * Binary encoding.
 */
#define MLDSA_DER 0

/**
 * Text: base64 between BEGIN and END lines, ended by line feeds. No NUL is appended.
 */
#define MLDSA_PEM 1

/**
 * Flag of mldsa_input: message is the digest that hash made of the message.
 */
#define MLDSA_INPUT_DIGEST 1

/**
 * Flag of mldsa_input: hash may be weaker than the parameter set asks for (FIPS 204, section
 * 5.4.1).
 */
#define MLDSA_INPUT_WEAK_HASH 2

/**
 * Signing draws 32 random bytes (rnd) from the operating system: FIPS 204's default.
 */
#define MLDSA_HEDGED 0

/**
 * Signing is deterministic: rnd is 32 zero bytes.
 */
#define MLDSA_DETERMINISTIC 1

/**
 * The most threads that a call may ask for.
 */
#define MLDSA_MAX_THREADS 1024

/**
 * Hashes a message that comes in pieces, for one key: the state of mu, FIPS 204's message
 * representative.
 *
 * Thread safety: one thread at a time while pieces are added.
 * Wiping: not wiped; mu is no secret of the key, but tells whether a guess of the message is
 * right.
 */
typedef struct mldsa_mu_hasher mldsa_mu_hasher;

/**
 * A private key.
 *
 * Thread safety: functions that take it as const may use it from several threads at once.
 * Wiping: the memory of the key is overwritten when it is freed.
 */
typedef struct mldsa_signing_key mldsa_signing_key;

/**
 * A public key.
 *
 * Thread safety: functions that take it as const may use it from several threads at once.
 */
typedef struct mldsa_verifying_key mldsa_verifying_key;

/**
 * The outcome of a call: MLDSA_OK or one of MLDSA_ERROR_... below.
 */
typedef int32_t mldsa_error;

/**
 * A parameter set of FIPS 204: MLDSA_44, MLDSA_65 or MLDSA_87.
 */
typedef uint32_t mldsa_set;

/**
 * A hash function of HashML-DSA: the last arc of its object identifier 2.16.840.1.101.3.4.2.x.
 * MLDSA_HASH_NONE stands for pure ML-DSA.
 */
typedef uint32_t mldsa_hash;

/**
 * What to sign or verify. Fill it with zeros first: then message and message_len alone make pure
 * ML-DSA with the empty context.
 *
 * Ownership: the caller keeps everything it points to, unchanged until the call returns.
 */
typedef struct {
  /**
   * message_len bytes: the message, or with MLDSA_INPUT_DIGEST its digest; may be NULL where
   * message_len is 0.
   */
  const uint8_t *message;
  /**
   * Bytes of message.
   */
  size_t message_len;
  /**
   * context_len bytes; may be NULL where context_len is 0.
   */
  const uint8_t *context;
  /**
   * Bytes of context, at most 255.
   */
  size_t context_len;
  /**
   * MLDSA_HASH_NONE for pure ML-DSA, else the hash function of HashML-DSA.
   */
  mldsa_hash hash;
  /**
   * 0, or a sum of MLDSA_INPUT_DIGEST and MLDSA_INPUT_WEAK_HASH, which need a hash.
   */
  uint32_t flags;
  /**
   * NULL, or a hasher that has had the message; then everything else is 0.
   */
  const mldsa_mu_hasher *mu;
} mldsa_input;

/**
 * A message to be signed. One call may have keys of several sets.
 *
 * Ownership: the caller keeps everything it points to.
 */
typedef struct {
  /**
   * The private key. Expanded once for consecutive jobs with the same handle, unless it is
   * expanded.
   */
  const mldsa_signing_key *key;
  /**
   * What to sign.
   */
  mldsa_input input;
  /**
   * Room for signature_len bytes, at least 2420, 3309 or 4627; no other job's.
   */
  uint8_t *signature;
  /**
   * Bytes of signature.
   */
  size_t signature_len;
  /**
   * Written by the call: MLDSA_OK, or an error of mldsa_sign_input.
   */
  mldsa_error outcome;
} mldsa_sign_job;

/**
 * A signature to be verified. One call may have keys of several sets.
 *
 * Ownership: the caller keeps everything it points to.
 */
typedef struct {
  /**
   * The public key. Expanded once for consecutive jobs with the same key, unless it is expanded.
   */
  const mldsa_verifying_key *key;
  /**
   * What was signed.
   */
  mldsa_input input;
  /**
   * signature_len bytes.
   */
  const uint8_t *signature;
  /**
   * Bytes of signature.
   */
  size_t signature_len;
  /**
   * Written by the call: MLDSA_OK for a valid signature, or an error of mldsa_verify_input.
   */
  mldsa_error outcome;
} mldsa_verify_job;

/**
 * Success; for a verification: the signature is valid.
 */
#define MLDSA_OK 0

/**
 * The signature is not valid for this key, message and context.
 */
#define MLDSA_ERROR_SIGNATURE 1

/**
 * A pointer is NULL, or not aligned for its type, where data are needed.
 */
#define MLDSA_ERROR_NULL 2

/**
 * The parameter set is none of MLDSA_44, MLDSA_65 and MLDSA_87.
 */
#define MLDSA_ERROR_SET 3

/**
 * A key, seed, signature, digest, rnd or password does not have the number of bytes that it must have.
 */
#define MLDSA_ERROR_LENGTH 4

/**
 * The buffer for the result is too short; nothing was written to it.
 */
#define MLDSA_ERROR_BUFFER 5

/**
 * The context has more than 255 bytes.
 */
#define MLDSA_ERROR_CONTEXT 6

/**
 * The hash function is unknown, or weaker than the parameter set asks for.
 */
#define MLDSA_ERROR_HASH 7

/**
 * A form, an encoding, a kind of randomness, a flag or a number of threads that there is not, or
 * options that conflict.
 */
#define MLDSA_ERROR_OPTION 8

/**
 * The private key is one that no key generation writes.
 */
#define MLDSA_ERROR_KEY 9

/**
 * The file is not PKCS#8 or SubjectPublicKeyInfo of an ML-DSA key, in DER or PEM (RFC 9881).
 */
#define MLDSA_ERROR_ENCODING 10

/**
 * The seed of this private key is not known: it was imported without it.
 */
#define MLDSA_ERROR_NO_SEED 11

/**
 * The mu hasher was made for another key.
 */
#define MLDSA_ERROR_MU 12

/**
 * The random number generator of the operating system failed.
 */
#define MLDSA_ERROR_RANDOM 13

/**
 * The threads cannot be started. No function returns it any more: the calling thread does the work.
 */
#define MLDSA_ERROR_THREADS 14

/**
 * Signing gave up after 821 rejected iterations; probability below 2^-256.
 */
#define MLDSA_ERROR_ITERATIONS 15

/**
 * A defect of the library; it wrote a message to standard error.
 */
#define MLDSA_ERROR_INTERNAL 16

/**
 * The heap has no memory left for what the call allocates.
 */
#define MLDSA_ERROR_MEMORY 17

/**
 * The environment variable MLDSA_LANES_BACKEND names no backend that this CPU can run, or
 * MLDSA_LANES_DISABLE names an unknown CPU feature.
 */
#define MLDSA_ERROR_ENVIRONMENT 18

/**
 * The two keys do not belong together, or are not the same.
 */
#define MLDSA_ERROR_MISMATCH 19

/**
 * Hardened calls: two computations of the same result differ, a key changed in memory, or t1 of
 * the public key is 0, for which anybody can sign.
 */
#define MLDSA_ERROR_FAULT 20

/**
 * The password is wrong, or the encrypted file is damaged.
 */
#define MLDSA_ERROR_PASSWORD 21

/**
 * The private key is encrypted and the call takes no password, or the other way round; or its
 * encryption has an algorithm or a cost that is not read.
 */
#define MLDSA_ERROR_ENCRYPTION 22

/**
 * ML-DSA-44, NIST security category 2.
 */
#define MLDSA_44 44

/**
 * ML-DSA-65, NIST security category 3.
 */
#define MLDSA_65 65

/**
 * ML-DSA-87, NIST security category 5.
 */
#define MLDSA_87 87

/**
 * Pure ML-DSA: the message itself is signed.
 */
#define MLDSA_HASH_NONE 0

/**
 * SHA-256, for ML-DSA-44.
 */
#define MLDSA_HASH_SHA2_256 1

/**
 * SHA-384, for ML-DSA-44 and -65.
 */
#define MLDSA_HASH_SHA2_384 2

/**
 * SHA-512, for every set.
 */
#define MLDSA_HASH_SHA2_512 3

/**
 * SHA-224: only with MLDSA_INPUT_WEAK_HASH.
 */
#define MLDSA_HASH_SHA2_224 4

/**
 * SHA-512/224: only with MLDSA_INPUT_WEAK_HASH.
 */
#define MLDSA_HASH_SHA2_512_224 5

/**
 * SHA-512/256, for ML-DSA-44.
 */
#define MLDSA_HASH_SHA2_512_256 6

/**
 * SHA3-224: only with MLDSA_INPUT_WEAK_HASH.
 */
#define MLDSA_HASH_SHA3_224 7

/**
 * SHA3-256, for ML-DSA-44.
 */
#define MLDSA_HASH_SHA3_256 8

/**
 * SHA3-384, for ML-DSA-44 and -65.
 */
#define MLDSA_HASH_SHA3_384 9

/**
 * SHA3-512, for every set.
 */
#define MLDSA_HASH_SHA3_512 10

/**
 * SHAKE128 with 32 bytes, for ML-DSA-44.
 */
#define MLDSA_HASH_SHAKE128 11

/**
 * SHAKE256 with 64 bytes, for every set.
 */
#define MLDSA_HASH_SHAKE256 12

#ifdef __cplusplus
extern "C" {
#endif /* __cplusplus */

/**
 * Return a sentence in English about an error code, also for an unknown code. Never NULL.
 *
 * Thread safety: any thread, any time. Ownership: static, ends with NUL, never freed.
 */
const char *mldsa_error_string(mldsa_error error);

/**
 * Return the bytes of an encoded private key: 2560, 4032 or 4896; 0 for an unknown set.
 *
 * Thread safety: any thread, any time.
 */
size_t mldsa_signing_key_bytes(mldsa_set set);

/**
 * Return the bytes of a public key: 1312, 1952 or 2592; 0 for an unknown set.
 *
 * Thread safety: any thread, any time.
 */
size_t mldsa_verifying_key_bytes(mldsa_set set);

/**
 * Return the bytes of a signature: 2420, 3309 or 4627; 0 for an unknown set.
 *
 * Thread safety: any thread, any time.
 */
size_t mldsa_signature_bytes(mldsa_set set);

/**
 * Return the library's version, MLDSA_VERSION of the header that it was built with. Never NULL.
 *
 * Thread safety: any thread, any time. Ownership: static, ends with NUL, never freed.
 */
const char *mldsa_version(void);

/**
 * Return the name of the backend that the library chose for this CPU, such as "avx2". Never NULL.
 *
 * Thread safety: any thread, any time. Ownership: static, ends with NUL, never freed.
 */
const char *mldsa_backend(void);

/**
 * Generate a private key with the operating system's random number generator.
 *
 * set  MLDSA_44, MLDSA_65 or MLDSA_87.
 * key  where the handle is written; NULL is written there after an error.
 *
 * Errors: NULL, SET, RANDOM.
 * Thread safety: any thread, any time.
 * Ownership: the caller frees *key with mldsa_signing_key_free.
 * Wiping: the seed stays in the key only.
 */
mldsa_error mldsa_signing_key_generate(mldsa_set set, mldsa_signing_key **key);

/**
 * Make the private key of a seed (Algorithm 6 of FIPS 204).
 *
 * set        MLDSA_44, MLDSA_65 or MLDSA_87.
 * seed       seed_len bytes, which must be 32 secret random bytes.
 * key        where the handle is written; NULL is written there after an error.
 *
 * Errors: NULL, SET, LENGTH.
 * Thread safety: any thread, any time.
 * Ownership: the caller frees *key with mldsa_signing_key_free and keeps seed.
 * Wiping: the caller wipes seed.
 */
mldsa_error mldsa_signing_key_from_seed(mldsa_set set,
                                        const uint8_t *seed,
                                        size_t seed_len,
                                        mldsa_signing_key **key);

/**
 * Import an encoded private key (skEncode of FIPS 204). The public key is computed again: a key
 * whose parts do not belong together is refused.
 *
 * set      MLDSA_44, MLDSA_65 or MLDSA_87.
 * raw      raw_len bytes, which must be mldsa_signing_key_bytes(set).
 * key      where the handle is written; NULL is written there after an error.
 *
 * Errors: NULL, SET, LENGTH, KEY.
 * Thread safety: any thread, any time.
 * Ownership: the caller frees *key with mldsa_signing_key_free and keeps raw.
 * Wiping: the caller wipes raw.
 */
mldsa_error mldsa_signing_key_from_raw(mldsa_set set,
                                       const uint8_t *raw,
                                       size_t raw_len,
                                       mldsa_signing_key **key);

/**
 * Import a private key from PKCS#8, in DER or in PEM, in each of the three forms of RFC 9881. The
 * file names the parameter set.
 *
 * In PEM, lines may have any length, and text, certificates and the public key may precede or
 * follow the private key. ENCODING is also the error for two private keys, and PEM of more than
 * 64 KiB. `mldsa inspect FILE` prints the reason.
 *
 * file      file_len bytes, which need no NUL.
 * key       where the handle is written; NULL is written there after an error.
 *
 * Errors: NULL, ENCODING, KEY, ENCRYPTION for an encrypted key.
 * Thread safety: any thread, any time.
 * Ownership: the caller frees *key with mldsa_signing_key_free and keeps file.
 * Wiping: the caller wipes file.
 */
mldsa_error mldsa_signing_key_from_pkcs8(const uint8_t *file,
                                         size_t file_len,
                                         mldsa_signing_key **key);

/**
 * Import a private key from encrypted PKCS#8 (PBES2 of RFC 8018), in DER or in PEM. The key comes
 * from the password by scrypt or PBKDF2, which may take seconds; the cipher is AES in CBC or GCM.
 *
 * file      file_len bytes, which need no NUL.
 * password  password_len bytes, without a NUL; may be NULL where password_len is 0.
 * key       where the handle is written; NULL is written there after an error.
 *
 * Errors: NULL, ENCODING, KEY, PASSWORD, MEMORY, ENCRYPTION for a key without encryption, another
 * algorithm, or a cost above 10000000 iterations of PBKDF2 or 128 MiB of scrypt.
 * Thread safety: any thread, any time.
 * Ownership: the caller frees *key with mldsa_signing_key_free and keeps file and password.
 * Wiping: the caller wipes password. The library wipes the decrypted file, but not the memory of
 * scrypt.
 */
mldsa_error mldsa_signing_key_from_encrypted_pkcs8(const uint8_t *file,
                                                   size_t file_len,
                                                   const uint8_t *password,
                                                   size_t password_len,
                                                   mldsa_signing_key **key);

/**
 * Wipe and free a private key, and set *key to NULL. Does nothing where key or *key is NULL.
 *
 * Thread safety: no other thread may be using *key.
 */
void mldsa_signing_key_free(mldsa_signing_key **key);

/**
 * Return the key's parameter set; 0 where key is NULL.
 *
 * Thread safety: any thread, any time.
 */
mldsa_set mldsa_signing_key_set(const mldsa_signing_key *key);

/**
 * Keep an expanded form of the key in the handle, with which signing is faster: A-hat and the NTT
 * forms, about 27, 46 and 78 KiB for ML-DSA-44, -65, -87. Later calls do nothing.
 *
 * Errors: NULL.
 * Thread safety: any thread, any time.
 * Wiping: wiped with the key.
 */
mldsa_error mldsa_signing_key_expand(const mldsa_signing_key *key);

/**
 * Make a handle of the public key.
 *
 * public_key  where the handle is written; NULL is written there after an error.
 *
 * Errors: NULL.
 * Thread safety: any thread, any time.
 * Ownership: the caller frees *public_key with mldsa_verifying_key_free; it does not depend on
 * key.
 */
mldsa_error mldsa_signing_key_verifying_key(const mldsa_signing_key *key,
                                            mldsa_verifying_key **public_key);

/**
 * Make a second handle of the same private key, a copy that does not depend on key. It has no
 * expanded form.
 *
 * copy  where the handle is written; NULL is written there after an error.
 *
 * Errors: NULL, MEMORY.
 * Thread safety: any thread, any time.
 * Ownership: the caller frees *copy with mldsa_signing_key_free, before or after key.
 * Wiping: each of the two is wiped when it is freed.
 */
mldsa_error mldsa_signing_key_duplicate(const mldsa_signing_key *key, mldsa_signing_key **copy);

/**
 * Check that a public key is the one of this private key. It takes no longer than a comparison of
 * their bytes.
 *
 * Return MLDSA_OK if they belong together, and only then.
 * Errors: MISMATCH if they do not, also if their sets differ; NULL.
 * Thread safety: any thread, any time.
 */
mldsa_error mldsa_signing_key_match(const mldsa_signing_key *key,
                                    const mldsa_verifying_key *public_key);

/**
 * Check that two handles have the same private key, in constant time. Known seeds and expanded
 * forms do not matter.
 *
 * Return MLDSA_OK if they have, and only then.
 * Errors: MISMATCH if they have not, also if their sets differ; NULL.
 * Thread safety: any thread, any time.
 */
mldsa_error mldsa_signing_key_equal(const mldsa_signing_key *key, const mldsa_signing_key *other);

/**
 * Write the seed, 32 bytes.
 *
 * seed  room for seed_len bytes, at least 32.
 *
 * Errors: NULL, BUFFER, NO_SEED for a key that was imported without its seed.
 * Thread safety: any thread, any time.
 * Wiping: the caller wipes seed.
 */
mldsa_error mldsa_signing_key_seed(const mldsa_signing_key *key, uint8_t *seed, size_t seed_len);

/**
 * Write the encoded private key (skEncode of FIPS 204): 2560, 4032 or 4896 bytes.
 *
 * raw  room for raw_len bytes, at least mldsa_signing_key_bytes of the key's set.
 *
 * Errors: NULL, BUFFER.
 * Thread safety: any thread, any time.
 * Wiping: the caller wipes raw.
 */
mldsa_error mldsa_signing_key_raw(const mldsa_signing_key *key, uint8_t *raw, size_t raw_len);

/**
 * Write the private key as PKCS#8 (RFC 9881).
 *
 * form      MLDSA_FORM_SEED, MLDSA_FORM_EXPANDED or MLDSA_FORM_BOTH.
 * encoding  MLDSA_DER or MLDSA_PEM.
 * file      room for file_len bytes; may be NULL where file_len is 0.
 * needed    where the bytes of the file are written, also after BUFFER.
 *
 * Bytes in DER: 54 with the seed; 2588, 4060, 4924 with the encoded private key; 2626, 4098, 4962
 * with both.
 *
 * Errors: NULL, OPTION, BUFFER, NO_SEED.
 * Thread safety: any thread, any time.
 * Wiping: the caller wipes file. The library wipes its own copies.
 */
mldsa_error mldsa_signing_key_pkcs8(const mldsa_signing_key *key,
                                    uint32_t form,
                                    uint32_t encoding,
                                    uint8_t *file,
                                    size_t file_len,
                                    size_t *needed);

/**
 * Write the private key as encrypted PKCS#8 (PBES2 of RFC 8018): with scrypt (N = 2^14, r = 8,
 * p = 5) and AES-256-CBC, which OpenSSL reads. It takes a fraction of a second and 17 MiB of heap.
 *
 * form      MLDSA_FORM_SEED, MLDSA_FORM_EXPANDED or MLDSA_FORM_BOTH.
 * encoding  MLDSA_DER or MLDSA_PEM.
 * password  password_len bytes, at least 1, without a NUL.
 * file      room for file_len bytes; 8192 suffice for every set, form and encoding.
 * needed    where the bytes of the file are written, also after BUFFER.
 *
 * Errors: NULL, OPTION, BUFFER, NO_SEED, LENGTH for an empty password, RANDOM, MEMORY.
 * Thread safety: any thread, any time.
 * Wiping: the caller wipes password. The library wipes its own copies of the key, but not the
 * memory of scrypt.
 */
mldsa_error mldsa_signing_key_encrypted_pkcs8(const mldsa_signing_key *key,
                                              uint32_t form,
                                              uint32_t encoding,
                                              const uint8_t *password,
                                              size_t password_len,
                                              uint8_t *file,
                                              size_t file_len,
                                              size_t *needed);

/**
 * Import a public key (pkEncode of FIPS 204). Any bytes are a public key.
 *
 * set      MLDSA_44, MLDSA_65 or MLDSA_87.
 * raw      raw_len bytes, which must be mldsa_verifying_key_bytes(set).
 * key      where the handle is written; NULL is written there after an error.
 *
 * Errors: NULL, SET, LENGTH.
 * Thread safety: any thread, any time.
 * Ownership: the caller frees *key with mldsa_verifying_key_free and keeps raw.
 */
mldsa_error mldsa_verifying_key_from_raw(mldsa_set set,
                                         const uint8_t *raw,
                                         size_t raw_len,
                                         mldsa_verifying_key **key);

/**
 * Import a public key from SubjectPublicKeyInfo, in DER or in PEM. The file names the parameter
 * set. In PEM, it may have what mldsa_signing_key_from_pkcs8 describes.
 *
 * file      file_len bytes, which need no NUL.
 * key       where the handle is written; NULL is written there after an error.
 *
 * Errors: NULL, ENCODING.
 * Thread safety: any thread, any time.
 * Ownership: the caller frees *key with mldsa_verifying_key_free and keeps file.
 */
mldsa_error mldsa_verifying_key_from_spki(const uint8_t *file,
                                          size_t file_len,
                                          mldsa_verifying_key **key);

/**
 * Make a second handle of the same public key, a copy that does not depend on key. It has no
 * expanded form.
 *
 * copy  where the handle is written; NULL is written there after an error.
 *
 * Errors: NULL, MEMORY.
 * Thread safety: any thread, any time.
 * Ownership: the caller frees *copy with mldsa_verifying_key_free, before or after key.
 */
mldsa_error mldsa_verifying_key_duplicate(const mldsa_verifying_key *key,
                                          mldsa_verifying_key **copy);

/**
 * Free a public key, and set *key to NULL. Does nothing where key or *key is NULL.
 *
 * Thread safety: no other thread may be using *key.
 */
void mldsa_verifying_key_free(mldsa_verifying_key **key);

/**
 * Return the key's parameter set; 0 where key is NULL.
 *
 * Thread safety: any thread, any time.
 */
mldsa_set mldsa_verifying_key_set(const mldsa_verifying_key *key);

/**
 * Keep an expanded form of the key in the handle, with which verification is faster: A-hat, the
 * NTT form of t1 and the key's hash, about 20, 36 and 64 KiB for ML-DSA-44, -65, -87. Later calls
 * do nothing.
 *
 * Errors: NULL.
 * Thread safety: any thread, any time.
 */
mldsa_error mldsa_verifying_key_expand(const mldsa_verifying_key *key);

/**
 * Write the public key (pkEncode of FIPS 204): 1312, 1952 or 2592 bytes.
 *
 * raw  room for raw_len bytes, at least mldsa_verifying_key_bytes of the key's set.
 *
 * Errors: NULL, BUFFER.
 * Thread safety: any thread, any time.
 */
mldsa_error mldsa_verifying_key_raw(const mldsa_verifying_key *key, uint8_t *raw, size_t raw_len);

/**
 * Write the public key as SubjectPublicKeyInfo (RFC 9881): 1334, 1974 or 2614 bytes in DER.
 *
 * encoding  MLDSA_DER or MLDSA_PEM.
 * file      room for file_len bytes; may be NULL where file_len is 0.
 * needed    where the bytes of the file are written, also after BUFFER.
 *
 * Errors: NULL, OPTION, BUFFER.
 * Thread safety: any thread, any time.
 */
mldsa_error mldsa_verifying_key_spki(const mldsa_verifying_key *key,
                                     uint32_t encoding,
                                     uint8_t *file,
                                     size_t file_len,
                                     size_t *needed);

/**
 * Make a hasher for a message that comes in pieces. It serves for signing with the private key of
 * the pair, and for verification with this public key: put it into mldsa_input.
 *
 * key      the public key of the pair; not needed any more after the call.
 * hash     MLDSA_HASH_NONE for pure ML-DSA, else the hash function of HashML-DSA.
 * context  context_len bytes, at most 255; may be NULL where context_len is 0.
 * hasher   where the handle is written; NULL is written there after an error.
 *
 * Errors: NULL, HASH, CONTEXT.
 * Thread safety: any thread, any time.
 * Ownership: the caller frees *hasher with mldsa_mu_hasher_free and keeps the rest.
 */
mldsa_error mldsa_mu_hasher_new(const mldsa_verifying_key *key,
                                mldsa_hash hash,
                                const uint8_t *context,
                                size_t context_len,
                                mldsa_mu_hasher **hasher);

/**
 * Add the next piece of the message. Pieces may also be added after the hasher has been used in an
 * mldsa_input: every use stands for the message up to then.
 *
 * piece  piece_len bytes; may be NULL where piece_len is 0.
 *
 * Errors: NULL, LENGTH.
 * Thread safety: no other thread may be using hasher.
 */
mldsa_error mldsa_mu_hasher_update(mldsa_mu_hasher *hasher, const uint8_t *piece, size_t piece_len);

/**
 * Write mu of the message up to now, 64 bytes. The hasher stays as it is.
 *
 * mu  room for mu_len bytes, at least 64.
 *
 * Errors: NULL, BUFFER.
 * Thread safety: no other thread may be adding pieces.
 */
mldsa_error mldsa_mu_hasher_mu(const mldsa_mu_hasher *hasher, uint8_t *mu, size_t mu_len);

/**
 * Make a second hasher that has had the same pieces. Both take further pieces by themselves.
 *
 * copy  where the handle is written; NULL is written there after an error.
 *
 * Errors: NULL, MEMORY.
 * Thread safety: no other thread may be adding pieces to hasher.
 * Ownership: the caller frees *copy with mldsa_mu_hasher_free, before or after hasher.
 */
mldsa_error mldsa_mu_hasher_duplicate(const mldsa_mu_hasher *hasher, mldsa_mu_hasher **copy);

/**
 * Free a hasher, and set *hasher to NULL. Does nothing where hasher or *hasher is NULL.
 *
 * Thread safety: no other thread may be using *hasher.
 */
void mldsa_mu_hasher_free(mldsa_mu_hasher **hasher);

/**
 * Sign a message with pure ML-DSA, hedged (Algorithm 2 of FIPS 204): rnd comes from the operating
 * system.
 *
 * message    message_len bytes; may be NULL where message_len is 0.
 * context    context_len bytes, at most 255; may be NULL where context_len is 0.
 * signature  room for signature_len bytes, at least mldsa_signature_bytes of the key's set (2420,
 *            3309, 4627), which are written. Overlaps nothing that is read.
 *
 * Errors: NULL, LENGTH, BUFFER, CONTEXT, RANDOM, ITERATIONS, MEMORY.
 * Thread safety: any thread, any time. Ownership: the caller keeps everything.
 * Wiping: the library wipes what depends on the key.
 */
mldsa_error mldsa_sign(const mldsa_signing_key *key,
                       const uint8_t *message,
                       size_t message_len,
                       const uint8_t *context,
                       size_t context_len,
                       uint8_t *signature,
                       size_t signature_len);

/**
 * Sign as mldsa_sign does, deterministically: rnd is 32 zero bytes. Hedged signatures withstand
 * fault and power analysis better.
 *
 * Errors, thread safety, ownership, wiping: as mldsa_sign, without RANDOM.
 */
mldsa_error mldsa_sign_deterministic(const mldsa_signing_key *key,
                                     const uint8_t *message,
                                     size_t message_len,
                                     const uint8_t *context,
                                     size_t context_len,
                                     uint8_t *signature,
                                     size_t signature_len);

/**
 * Sign any input: HashML-DSA of a message or of its digest, or a message that came in pieces.
 *
 * input          what to sign.
 * randomness     MLDSA_HEDGED or MLDSA_DETERMINISTIC.
 * signature      as for mldsa_sign.
 *
 * Errors: those of mldsa_sign, OPTION, HASH, LENGTH of a digest, MU for a hasher of another key.
 * Thread safety, ownership, wiping: as mldsa_sign.
 */
mldsa_error mldsa_sign_input(const mldsa_signing_key *key,
                             const mldsa_input *input,
                             uint32_t randomness,
                             uint8_t *signature,
                             size_t signature_len);

/**
 * Verify a signature of a message with pure ML-DSA (Algorithm 3 of FIPS 204).
 *
 * message    message_len bytes; may be NULL where message_len is 0.
 * context    context_len bytes, at most 255; may be NULL where context_len is 0.
 * signature  signature_len bytes, which must be mldsa_signature_bytes of the key's set (2420,
 *            3309, 4627).
 *
 * Return MLDSA_OK for a valid signature, and for it only.
 * Errors: SIGNATURE for one that is not valid; NULL, LENGTH, CONTEXT.
 * Thread safety: any thread, any time. Ownership: the caller keeps everything.
 */
mldsa_error mldsa_verify(const mldsa_verifying_key *key,
                         const uint8_t *message,
                         size_t message_len,
                         const uint8_t *context,
                         size_t context_len,
                         const uint8_t *signature,
                         size_t signature_len);

/**
 * Verify a signature of any input: HashML-DSA of a message or of its digest, or a message that
 * came in pieces.
 *
 * input      what was signed.
 * signature  as for mldsa_verify.
 *
 * Return MLDSA_OK for a valid signature, and for it only.
 * Errors: those of mldsa_verify, OPTION, HASH, LENGTH of a digest, MU for a hasher of another key.
 * Thread safety, ownership: as mldsa_verify.
 */
mldsa_error mldsa_verify_input(const mldsa_verifying_key *key,
                               const mldsa_input *input,
                               const uint8_t *signature,
                               size_t signature_len);

/**
 * Sign as mldsa_sign_input does, with protection against a single hardware fault. The key is
 * computed again, the signature is made twice, compared and verified. It is the one that
 * mldsa_sign_input makes with the same rnd.
 *
 * It takes 3 to 4 times as long as mldsa_sign_input; an expanded form does not change that. It does
 * not protect what the caller does: a call that is skipped whole, the branch on the code, memory
 * that changes before the call.
 *
 * Errors: those of mldsa_sign_input, RANDOM also if the generator gives 32 zero bytes; FAULT. After
 * an error signature contains no signature.
 * Thread safety, ownership, wiping: as mldsa_sign.
 */
mldsa_error mldsa_sign_hardened(const mldsa_signing_key *key,
                                const mldsa_input *input,
                                uint32_t randomness,
                                uint8_t *signature,
                                size_t signature_len);

/**
 * Verify as mldsa_verify_input does, with protection against a single hardware fault: twice, with
 * two copies of the public key.
 *
 * It takes 2 to 3 times as long as mldsa_verify_input; an expanded form does not change that. What
 * it does not protect is as for mldsa_sign_hardened.
 *
 * Return MLDSA_OK for a valid signature, and for it only.
 * Errors: those of mldsa_verify_input; FAULT.
 * Thread safety, ownership: as mldsa_verify.
 */
mldsa_error mldsa_verify_hardened(const mldsa_verifying_key *key,
                                  const mldsa_input *input,
                                  const uint8_t *signature,
                                  size_t signature_len);

/**
 * Sign many inputs at once: several times as fast as one after another, since a batch fills the
 * CPU's lanes. Each job has its own outcome, and its signature is the one that mldsa_sign_input
 * gives; a job that fails spoils no other.
 *
 * jobs        count jobs; may be NULL where count is 0.
 * randomness  MLDSA_HEDGED or MLDSA_DETERMINISTIC.
 * threads     1: the calling thread; 0: one for each core; else that many, at most
 *             MLDSA_MAX_THREADS. The call starts the others and ends them; where they cannot start,
 *             the calling thread does their work.
 *
 * Return MLDSA_OK where every job has its outcome, whatever that is.
 * Errors: NULL, LENGTH for more jobs than memory can hold, OPTION: then nothing was signed. RANDOM,
 * MEMORY: they are the outcome of the jobs that were not signed.
 * Thread safety: any thread, any time, also in a child of fork.
 * Ownership: the caller keeps everything.
 * Wiping: the library wipes what depends on the keys.
 */
mldsa_error mldsa_sign_batch(mldsa_sign_job *jobs,
                             size_t count,
                             uint32_t randomness,
                             size_t threads);

/**
 * Verify many signatures at once. Each job has its own outcome, that of mldsa_verify_input.
 *
 * jobs     count jobs; may be NULL where count is 0.
 * threads  as for mldsa_sign_batch.
 *
 * Return MLDSA_OK where every job has its outcome: it does not say that the signatures are valid.
 * Errors: NULL, LENGTH for more jobs than memory can hold, OPTION. MEMORY: it is the outcome of the
 * jobs that were not verified.
 * Thread safety: any thread, any time, also in a child of fork.
 * Ownership: the caller keeps everything.
 */
mldsa_error mldsa_verify_batch(mldsa_verify_job *jobs, size_t count, size_t threads);

/**
 * Generate many private keys at once.
 *
 * set        MLDSA_44, MLDSA_65 or MLDSA_87.
 * count      how many keys.
 * seeds      seeds_len bytes: 32 secret random bytes for each key; or NULL with seeds_len 0: the
 *            operating system's random number generator makes them.
 * keys       count places for handles; after an error all are NULL.
 * threads    as for mldsa_sign_batch.
 *
 * Errors: NULL, SET, LENGTH, OPTION, RANDOM, MEMORY, ENVIRONMENT.
 * Thread safety: any thread, any time, also in a child of fork.
 * Ownership: the caller frees each handle with mldsa_signing_key_free and keeps seeds.
 * Wiping: the library wipes the seeds that it draws, the caller its own.
 */
mldsa_error mldsa_signing_key_generate_batch(mldsa_set set,
                                             size_t count,
                                             const uint8_t *seeds,
                                             size_t seeds_len,
                                             mldsa_signing_key **keys,
                                             size_t threads);

#ifdef __cplusplus
}  /* extern "C" */
#endif  /* __cplusplus */

#endif  /* MLDSA_H */
