/* The C interface by its rules: round trips, NULL, short buffers, wrong lengths, handles used after
 * they were freed, and seeded random calls. interface [CALLS [SEED]]; after exit code 1 standard
 * error names the line of the first rule that was broken. */
#include <mldsa.h>
#include <mldsa_hazmat.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(condition)                                                            \
    do {                                                                            \
        if (!(condition)) {                                                         \
            fprintf(stderr, "interface.c:%d: %s does not hold\n", __LINE__, #condition); \
            exit(1);                                                                \
        }                                                                           \
    } while (0)
#define OK(call) CHECK((call) == MLDSA_OK)
#define FAILS(code, call) CHECK((call) == MLDSA_ERROR_##code)

enum { GUARD = 64, ROOM = 8192 };

static const mldsa_set SETS[3] = {MLDSA_44, MLDSA_65, MLDSA_87};
static const uint8_t SEED[32] = {7};
static const uint8_t ZERO[32] = {0};
static const uint8_t MESSAGE[] = {'m', 'e', 's', 's', 'a', 'g', 'e'};

/* A buffer whose end shows whether more was written than allowed. */
static uint8_t out[ROOM + GUARD];

static void guard(size_t from) { memset(out + from, 0xa5, GUARD); }

static int intact(size_t from) {
    for (size_t i = 0; i < GUARD; i++)
        if (out[from + i] != 0xa5) return 0;
    return 1;
}

/* splitmix64 */
static uint64_t state;

static uint64_t next(void) {
    uint64_t z = (state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static size_t below(size_t n) { return (size_t)(next() % n); }

static void constants(void) {
    CHECK(!strcmp(mldsa_version(), MLDSA_VERSION));
    snprintf((char *)out, ROOM, "%d.%d.%d", MLDSA_VERSION_MAJOR, MLDSA_VERSION_MINOR,
             MLDSA_VERSION_PATCH);
    CHECK(!strcmp((char *)out, MLDSA_VERSION));
    CHECK(mldsa_signature_bytes(MLDSA_44) == 2420 && mldsa_signature_bytes(MLDSA_65) == 3309);
    CHECK(mldsa_signature_bytes(MLDSA_87) == MLDSA_MAX_SIGNATURE_BYTES);
    CHECK(mldsa_signing_key_bytes(MLDSA_87) == MLDSA_MAX_SIGNING_KEY_BYTES);
    CHECK(mldsa_verifying_key_bytes(MLDSA_87) == MLDSA_MAX_VERIFYING_KEY_BYTES);
    CHECK(mldsa_signature_bytes(0) == 0 && mldsa_signing_key_bytes(1) == 0);
    CHECK(mldsa_verifying_key_bytes(UINT32_MAX) == 0);
    CHECK(strlen(mldsa_backend()) > 0);
    for (mldsa_error error = -1; error <= MLDSA_ERROR_ENCRYPTION + 1; error++)
        CHECK(strlen(mldsa_error_string(error)) > 0);
}

static void files(mldsa_signing_key *key, mldsa_verifying_key *public_key) {
    uint8_t raw[MLDSA_MAX_SIGNING_KEY_BYTES], again[MLDSA_MAX_SIGNING_KEY_BYTES];
    size_t sk = mldsa_signing_key_bytes(mldsa_signing_key_set(key)), length = 0, needed = 0;
    size_t pk = mldsa_verifying_key_bytes(mldsa_verifying_key_set(public_key));
    OK(mldsa_signing_key_raw(key, raw, sk));
    for (uint32_t form = 0; form < 3; form++)
        for (uint32_t encoding = 0; encoding < 2; encoding++) {
            mldsa_signing_key *read = NULL;
            FAILS(BUFFER, mldsa_signing_key_pkcs8(key, form, encoding, NULL, 0, &length));
            CHECK(length > 0 && length <= ROOM);
            guard(length - 1);
            FAILS(BUFFER, mldsa_signing_key_pkcs8(key, form, encoding, out, length - 1, &needed));
            CHECK(needed == length);
            CHECK(intact(length - 1));
            guard(length);
            OK(mldsa_signing_key_pkcs8(key, form, encoding, out, length, &length));
            CHECK(intact(length));
            OK(mldsa_signing_key_from_pkcs8(out, length, &read));
            OK(mldsa_signing_key_raw(read, again, sk));
            CHECK(memcmp(raw, again, sk) == 0);
            if (form == MLDSA_FORM_EXPANDED) {
                FAILS(NO_SEED, mldsa_signing_key_seed(read, again, 32));
                FAILS(NO_SEED, mldsa_signing_key_pkcs8(read, 2, encoding, out, ROOM, &needed));
            } else {
                OK(mldsa_signing_key_seed(read, again, 32));
            }
            mldsa_signing_key_free(&read);
            CHECK(mldsa_signing_key_from_pkcs8(out, length / 2, &read) != MLDSA_OK && read == NULL);
        }
    OK(mldsa_verifying_key_raw(public_key, raw, pk));
    for (uint32_t encoding = 0; encoding < 2; encoding++) {
        mldsa_verifying_key *read = NULL;
        FAILS(BUFFER, mldsa_verifying_key_spki(public_key, encoding, NULL, 0, &length));
        guard(length);
        OK(mldsa_verifying_key_spki(public_key, encoding, out, length, &length));
        CHECK(intact(length));
        OK(mldsa_verifying_key_from_spki(out, length, &read));
        OK(mldsa_verifying_key_raw(read, again, pk));
        CHECK(memcmp(raw, again, pk) == 0);
        mldsa_verifying_key_free(&read);
        FAILS(ENCODING, mldsa_verifying_key_from_spki(out, length / 2, &read));
        CHECK(read == NULL);
    }
    FAILS(OPTION, mldsa_signing_key_pkcs8(key, 3, MLDSA_DER, out, ROOM, &length));
    FAILS(OPTION, mldsa_signing_key_pkcs8(key, 0, 2, out, ROOM, &length));
    FAILS(OPTION, mldsa_verifying_key_spki(public_key, 2, out, ROOM, &length));
    mldsa_signing_key *none = NULL;
    FAILS(ENCODING, mldsa_signing_key_from_pkcs8(MESSAGE, sizeof MESSAGE, &none));
    CHECK(!none);
}

/* Encrypted files: each takes a fraction of a second. */
static void encrypted(mldsa_signing_key *key, uint32_t form, uint32_t encoding) {
    static uint8_t plain[ROOM], file[ROOM];
    static const uint8_t PASSWORD[] = {'p', 'a', 's', 's', 0xc3, 0xa9};
    size_t n = sizeof PASSWORD, length = 0, needed = 0, plain_length = 0;
    mldsa_signing_key *read = NULL;
    FAILS(BUFFER, mldsa_signing_key_encrypted_pkcs8(key, form, encoding, PASSWORD, n, NULL, 0,
                                                    &length));
    CHECK(length > 0 && length <= ROOM);
    guard(length);
    OK(mldsa_signing_key_encrypted_pkcs8(key, form, encoding, PASSWORD, n, out, length, &needed));
    CHECK(needed == length && intact(length));
    memcpy(file, out, length);
    OK(mldsa_signing_key_from_encrypted_pkcs8(file, length, PASSWORD, n, &read));
    OK(mldsa_signing_key_pkcs8(key, form, encoding, plain, ROOM, &plain_length));
    OK(mldsa_signing_key_pkcs8(read, form, encoding, out, ROOM, &needed));
    CHECK(plain_length == needed && memcmp(plain, out, needed) == 0);
    mldsa_signing_key_free(&read);

    FAILS(PASSWORD, mldsa_signing_key_from_encrypted_pkcs8(file, length, PASSWORD, n - 1, &read));
    FAILS(PASSWORD, mldsa_signing_key_from_encrypted_pkcs8(file, length, NULL, 0, &read));
    FAILS(ENCRYPTION, mldsa_signing_key_from_pkcs8(file, length, &read));
    FAILS(ENCRYPTION,
          mldsa_signing_key_from_encrypted_pkcs8(plain, plain_length, PASSWORD, n, &read));
    if (encoding == MLDSA_PEM) {
        static const char OTHER[] = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
        memcpy(out, OTHER, sizeof OTHER - 1);
        memcpy(out + sizeof OTHER - 1, file, length);
        FAILS(ENCRYPTION, mldsa_signing_key_from_pkcs8(out, sizeof OTHER - 1 + length, &read));
    }
    FAILS(ENCODING, mldsa_signing_key_from_encrypted_pkcs8(file, length / 2, PASSWORD, n, &read));
    FAILS(ENCODING, mldsa_signing_key_from_encrypted_pkcs8(NULL, 0, PASSWORD, n, &read));
    FAILS(NULL, mldsa_signing_key_from_encrypted_pkcs8(NULL, 1, PASSWORD, n, &read));
    FAILS(NULL, mldsa_signing_key_from_encrypted_pkcs8(file, length, NULL, n, &read));
    FAILS(NULL, mldsa_signing_key_from_encrypted_pkcs8(file, length, PASSWORD, n, NULL));
    CHECK(!read);
#define ENCRYPT(key, form, encoding, password, n) \
    mldsa_signing_key_encrypted_pkcs8(key, form, encoding, password, n, out, ROOM, &needed)
    FAILS(NULL, ENCRYPT(NULL, form, encoding, PASSWORD, n));
    FAILS(NULL, ENCRYPT(key, form, encoding, NULL, n));
    FAILS(LENGTH, ENCRYPT(key, form, encoding, PASSWORD, 0));
    FAILS(OPTION, ENCRYPT(key, 3, encoding, PASSWORD, n));
    FAILS(OPTION, ENCRYPT(key, form, 2, PASSWORD, n));
    OK(mldsa_signing_key_raw(key, out, ROOM));
    mldsa_set set = mldsa_signing_key_set(key);
    OK(mldsa_signing_key_from_raw(set, out, mldsa_signing_key_bytes(set), &read));
    FAILS(NO_SEED, ENCRYPT(read, MLDSA_FORM_SEED, encoding, PASSWORD, n));
    mldsa_signing_key_free(&read);
}

/* A file whose parameters are not those of ours. */
static void costs_of_encryption(mldsa_signing_key *key) {
    /* scrypt's N, r and p in DER. */
    static const uint8_t OURS[] = {2, 2, 0x40, 0, 2, 1, 8, 2, 1, 5};
    size_t at = 0, length = 0;
    mldsa_signing_key *read = NULL;
    OK(mldsa_signing_key_encrypted_pkcs8(key, MLDSA_FORM_SEED, MLDSA_DER, SEED, 3, out, ROOM,
                                         &length));
    while (at < length && memcmp(out + at, OURS, sizeof OURS)) at++;
    CHECK(at < length);
    out[at + 9] = 0x7f;
    FAILS(ENCRYPTION, mldsa_signing_key_from_encrypted_pkcs8(out, length, SEED, 3, &read));
    out[at + 9] = 1;
    FAILS(PASSWORD, mldsa_signing_key_from_encrypted_pkcs8(out, length, SEED, 3, &read));
    out[at + 3] = 1;
    FAILS(ENCODING, mldsa_signing_key_from_encrypted_pkcs8(out, length, SEED, 3, &read));
    CHECK(!read);
}

/* Pairs, and copies that outlive what they were made of. */
static void pairs(mldsa_signing_key *key, mldsa_verifying_key *public_key) {
    mldsa_set set = mldsa_signing_key_set(key);
    mldsa_signing_key *other = NULL, *copy = NULL;
    mldsa_verifying_key *other_public = NULL, *public_copy = NULL;
    OK(mldsa_signing_key_match(key, public_key));
    FAILS(NULL, mldsa_signing_key_match(NULL, public_key));
    FAILS(NULL, mldsa_signing_key_match(key, NULL));
    OK(mldsa_signing_key_equal(key, key));
    FAILS(NULL, mldsa_signing_key_equal(key, NULL));
    FAILS(NULL, mldsa_signing_key_equal(NULL, key));
    for (size_t i = 0; i < 3; i++) {
        OK(mldsa_signing_key_generate(SETS[i], &other));
        OK(mldsa_signing_key_verifying_key(other, &other_public));
        OK(mldsa_signing_key_match(other, other_public));
        FAILS(MISMATCH, mldsa_signing_key_match(key, other_public));
        FAILS(MISMATCH, mldsa_signing_key_match(other, public_key));
        FAILS(MISMATCH, mldsa_signing_key_equal(key, other));

        OK(mldsa_signing_key_expand(other));
        OK(mldsa_signing_key_duplicate(other, &copy));
        OK(mldsa_verifying_key_duplicate(other_public, &public_copy));
        CHECK(copy != other && public_copy != other_public);
        OK(mldsa_signing_key_equal(copy, other));
        mldsa_signing_key_free(&other);
        mldsa_verifying_key_free(&other_public);
        CHECK(mldsa_signing_key_set(copy) == SETS[i]);
        CHECK(mldsa_verifying_key_set(public_copy) == SETS[i]);
        OK(mldsa_signing_key_match(copy, public_copy));
        OK(mldsa_signing_key_seed(copy, out, 32));
        OK(mldsa_sign(copy, MESSAGE, 2, NULL, 0, out, ROOM));
        OK(mldsa_verify(public_copy, MESSAGE, 2, NULL, 0, out, mldsa_signature_bytes(SETS[i])));
        mldsa_signing_key_free(&copy);
        mldsa_verifying_key_free(&public_copy);
    }
    /* A copy has no more than its original. */
    size_t size = mldsa_signing_key_bytes(set);
    OK(mldsa_signing_key_raw(key, out, size));
    OK(mldsa_signing_key_from_raw(set, out, size, &other));
    OK(mldsa_signing_key_duplicate(other, &copy));
    FAILS(NO_SEED, mldsa_signing_key_seed(copy, out, 32));
    OK(mldsa_signing_key_match(copy, public_key));
    OK(mldsa_signing_key_equal(copy, key));
    mldsa_signing_key_free(&other);
    mldsa_signing_key_free(&copy);

    FAILS(NULL, mldsa_signing_key_duplicate(NULL, &copy));
    FAILS(NULL, mldsa_signing_key_duplicate(key, NULL));
    FAILS(NULL, mldsa_verifying_key_duplicate(NULL, &public_copy));
    FAILS(NULL, mldsa_verifying_key_duplicate(public_key, NULL));
    CHECK(!copy && !public_copy);

    mldsa_mu_hasher *hasher = NULL, *second = NULL;
    uint8_t mu[2][64];
    OK(mldsa_mu_hasher_new(public_key, MLDSA_HASH_NONE, NULL, 0, &hasher));
    OK(mldsa_mu_hasher_update(hasher, MESSAGE, 2));
    OK(mldsa_mu_hasher_duplicate(hasher, &second));
    OK(mldsa_mu_hasher_update(hasher, MESSAGE + 2, 3));
    OK(mldsa_mu_hasher_mu(hasher, mu[0], 64));
    mldsa_mu_hasher_free(&hasher);
    OK(mldsa_mu_hasher_mu(second, mu[1], 64));
    CHECK(memcmp(mu[0], mu[1], 64) != 0);
    OK(mldsa_mu_hasher_update(second, MESSAGE + 2, 3));
    OK(mldsa_mu_hasher_mu(second, mu[1], 64));
    CHECK(memcmp(mu[0], mu[1], 64) == 0);
    FAILS(NULL, mldsa_mu_hasher_duplicate(second, NULL));
    mldsa_mu_hasher_free(&second);
    FAILS(NULL, mldsa_mu_hasher_duplicate(NULL, &second));
    CHECK(!second);
}

/* Hardened calls give the signatures and the errors of the others. */
static void hardened(mldsa_signing_key *key, mldsa_verifying_key *public_key) {
    mldsa_set set = mldsa_signing_key_set(key);
    size_t size = mldsa_signature_bytes(set);
    uint8_t kept[MLDSA_MAX_SIGNATURE_BYTES];
    mldsa_input input = {0};
    input.message = MESSAGE;
    input.message_len = sizeof MESSAGE;
    input.context = ZERO;
    input.context_len = 3;
    for (mldsa_hash hash = 0; hash <= MLDSA_HASH_SHAKE256; hash += MLDSA_HASH_SHAKE256) {
        input.hash = hash;
        OK(mldsa_sign_input(key, &input, MLDSA_DETERMINISTIC, kept, size));
        guard(size);
        OK(mldsa_sign_hardened(key, &input, MLDSA_DETERMINISTIC, out, size));
        CHECK(intact(size) && memcmp(out, kept, size) == 0);
        OK(mldsa_verify_hardened(public_key, &input, out, size));
        OK(mldsa_sign_hardened(key, &input, MLDSA_HEDGED, out, size));
        CHECK(intact(size) && memcmp(out, kept, size) != 0);
        OK(mldsa_verify_input(public_key, &input, out, size));
        OK(mldsa_verify_hardened(public_key, &input, out, size));
        out[size / 2] ^= 1;
        FAILS(SIGNATURE, mldsa_verify_hardened(public_key, &input, out, size));
    }
    input.hash = MLDSA_HASH_NONE;
    FAILS(SIGNATURE, mldsa_verify_hardened(public_key, &input, out, size));

    /* A key without its seed, and a message in pieces. */
    mldsa_signing_key *other = NULL;
    mldsa_mu_hasher *hasher = NULL;
    mldsa_input pieces = {0};
    size_t raw = mldsa_signing_key_bytes(set);
    OK(mldsa_signing_key_raw(key, out, raw));
    OK(mldsa_signing_key_from_raw(set, out, raw, &other));
    OK(mldsa_mu_hasher_new(public_key, MLDSA_HASH_NONE, ZERO, 3, &hasher));
    OK(mldsa_mu_hasher_update(hasher, MESSAGE, sizeof MESSAGE));
    pieces.mu = hasher;
    OK(mldsa_sign_hardened(other, &pieces, MLDSA_DETERMINISTIC, out, size));
    OK(mldsa_sign_input(key, &input, MLDSA_DETERMINISTIC, kept, size));
    CHECK(memcmp(out, kept, size) == 0);
    OK(mldsa_verify_hardened(public_key, &pieces, out, size));
    mldsa_signing_key_free(&other);
    OK(mldsa_signing_key_generate(set, &other));
    FAILS(MU, mldsa_sign_hardened(other, &pieces, MLDSA_DETERMINISTIC, out, size));
    mldsa_signing_key_free(&other);
    mldsa_mu_hasher_free(&hasher);

    FAILS(NULL, mldsa_sign_hardened(NULL, &input, 0, out, size));
    FAILS(NULL, mldsa_sign_hardened(key, NULL, 0, out, size));
    FAILS(NULL, mldsa_sign_hardened(key, &input, 0, NULL, size));
    FAILS(OPTION, mldsa_sign_hardened(key, &input, 2, out, size));
    guard(size - 1);
    FAILS(BUFFER, mldsa_sign_hardened(key, &input, 0, out, size - 1));
    CHECK(intact(size - 1));
    FAILS(NULL, mldsa_verify_hardened(NULL, &input, out, size));
    FAILS(NULL, mldsa_verify_hardened(public_key, NULL, out, size));
    FAILS(NULL, mldsa_verify_hardened(public_key, &input, NULL, size));
    FAILS(LENGTH, mldsa_verify_hardened(public_key, &input, out, size - 1));
    input.context_len = 256;
    FAILS(CONTEXT, mldsa_sign_hardened(key, &input, 0, out, size));
    FAILS(CONTEXT, mldsa_verify_hardened(public_key, &input, out, size));
    input.context_len = 0;
    input.hash = MLDSA_HASH_SHA3_224;
    FAILS(HASH, mldsa_sign_hardened(key, &input, 0, out, size));
    FAILS(HASH, mldsa_verify_hardened(public_key, &input, out, size));

    /* Anybody can sign for a public key of zeros. */
    mldsa_verifying_key *zero = NULL;
    size_t public_bytes = mldsa_verifying_key_bytes(set);
    memset(out, 0, ROOM);
    OK(mldsa_verifying_key_from_raw(set, out, public_bytes, &zero));
    input.hash = MLDSA_HASH_NONE;
    FAILS(FAULT, mldsa_verify_hardened(zero, &input, out, size));
    mldsa_verifying_key_free(&zero);
}

static void signatures(mldsa_signing_key *key, mldsa_verifying_key *public_key) {
    mldsa_set set = mldsa_signing_key_set(key);
    size_t size = mldsa_signature_bytes(set), n = sizeof MESSAGE;
    uint8_t kept[MLDSA_MAX_SIGNATURE_BYTES], mu[64];
    guard(size);
    OK(mldsa_sign_deterministic(key, MESSAGE, n, ZERO, 3, kept, sizeof kept));
    mldsa_input input = {0};
    input.message = MESSAGE;
    input.message_len = n;
    input.context = ZERO;
    input.context_len = 3;
    OK(mldsa_sign_input(key, &input, MLDSA_DETERMINISTIC, out, size));
    CHECK(intact(size) && memcmp(out, kept, size) == 0);
    OK(mldsa_hazmat_sign_with_rnd(key, &input, ZERO, 32, out, size));
    CHECK(memcmp(out, kept, size) == 0);

    /* In pieces, and by mu. */
    mldsa_mu_hasher *hasher = NULL;
    OK(mldsa_mu_hasher_new(public_key, MLDSA_HASH_NONE, ZERO, 3, &hasher));
    OK(mldsa_mu_hasher_update(hasher, MESSAGE, 2));
    OK(mldsa_mu_hasher_update(hasher, NULL, 0));
    OK(mldsa_mu_hasher_update(hasher, MESSAGE + 2, n - 2));
    mldsa_input pieces = {0};
    pieces.mu = hasher;
    for (int twice = 0; twice < 2; twice++) {
        OK(mldsa_sign_input(key, &pieces, MLDSA_DETERMINISTIC, out, size));
        CHECK(memcmp(out, kept, size) == 0);
        OK(mldsa_verify_input(public_key, &pieces, kept, size));
    }
    FAILS(BUFFER, mldsa_mu_hasher_mu(hasher, mu, 63));
    OK(mldsa_mu_hasher_mu(hasher, mu, 64));
    OK(mldsa_hazmat_sign_mu(key, mu, 64, ZERO, 32, out, size));
    CHECK(memcmp(out, kept, size) == 0);
    OK(mldsa_hazmat_verify_mu(public_key, mu, 64, kept, size));
    FAILS(LENGTH, mldsa_hazmat_sign_mu(key, mu, 63, ZERO, 32, out, size));
    FAILS(LENGTH, mldsa_hazmat_verify_mu(public_key, mu, 65, kept, size));
    pieces.message_len = 1;
    FAILS(OPTION, mldsa_sign_input(key, &pieces, 0, out, size));
    pieces.message_len = 0;
    mldsa_signing_key *other = NULL;
    OK(mldsa_signing_key_generate(set, &other));
    FAILS(MU, mldsa_sign_input(other, &pieces, 0, out, size));
    mldsa_signing_key_free(&other);
    mldsa_mu_hasher_free(&hasher);
    mldsa_mu_hasher_free(&hasher);
    FAILS(NULL, mldsa_mu_hasher_update(hasher, MESSAGE, n));

    /* Hedged, expanded, wrong in one place. */
    for (int expanded = 0; expanded < 2; expanded++) {
        guard(size);
        OK(mldsa_sign(key, MESSAGE, n, NULL, 0, out, size));
        CHECK(intact(size));
        OK(mldsa_verify(public_key, MESSAGE, n, NULL, 0, out, size));
        OK(mldsa_sign_deterministic(key, MESSAGE, n, ZERO, 3, out, size));
        CHECK(memcmp(out, kept, size) == 0);
        OK(mldsa_verify(public_key, MESSAGE, n, ZERO, 3, kept, size));
        FAILS(SIGNATURE, mldsa_verify(public_key, MESSAGE, n - 1, ZERO, 3, kept, size));
        FAILS(SIGNATURE, mldsa_verify(public_key, MESSAGE, n, ZERO, 4, kept, size));
        kept[size / 2] ^= 1;
        FAILS(SIGNATURE, mldsa_verify(public_key, MESSAGE, n, ZERO, 3, kept, size));
        kept[size / 2] ^= 1;
        OK(mldsa_signing_key_expand(key));
        OK(mldsa_verifying_key_expand(public_key));
    }

    /* Short, long, NULL. */
    guard(size - 1);
    FAILS(BUFFER, mldsa_sign(key, MESSAGE, n, NULL, 0, out, size - 1));
    CHECK(intact(size - 1));
    FAILS(NULL, mldsa_sign(key, MESSAGE, n, NULL, 0, NULL, size));
    FAILS(NULL, mldsa_sign(key, NULL, n, NULL, 0, out, size));
    FAILS(LENGTH, mldsa_sign(key, MESSAGE, SIZE_MAX, NULL, 0, out, size));
    FAILS(NULL, mldsa_sign(key, MESSAGE, n, NULL, 1, out, size));
    FAILS(CONTEXT, mldsa_sign(key, MESSAGE, n, out, 256, out, size));
    FAILS(NULL, mldsa_sign(NULL, MESSAGE, n, NULL, 0, out, size));
    FAILS(NULL, mldsa_sign_input(key, NULL, 0, out, size));
    FAILS(OPTION, mldsa_sign_input(key, &input, 2, out, size));
    FAILS(LENGTH, mldsa_hazmat_sign_with_rnd(key, &input, ZERO, 31, out, size));
    FAILS(LENGTH, mldsa_verify(public_key, MESSAGE, n, ZERO, 3, kept, size - 1));
    FAILS(LENGTH, mldsa_verify(public_key, MESSAGE, n, ZERO, 3, kept, size + 1));
    FAILS(NULL, mldsa_verify(public_key, MESSAGE, n, ZERO, 3, NULL, size));
    FAILS(NULL, mldsa_verify(NULL, MESSAGE, n, ZERO, 3, kept, size));
    FAILS(NULL, mldsa_verify_input(public_key, NULL, kept, size));

    /* HashML-DSA. */
    for (mldsa_hash hash = 1; hash <= 12; hash++) {
        input.hash = hash;
        input.flags = 0;
        mldsa_error error = mldsa_sign_input(key, &input, MLDSA_DETERMINISTIC, out, size);
        CHECK(error == MLDSA_OK || error == MLDSA_ERROR_HASH);
        input.flags = MLDSA_INPUT_WEAK_HASH;
        OK(mldsa_sign_input(key, &input, MLDSA_DETERMINISTIC, out, size));
        OK(mldsa_verify_input(public_key, &input, out, size));
        input.flags |= MLDSA_INPUT_DIGEST;
        FAILS(LENGTH, mldsa_sign_input(key, &input, 0, out, size));
    }
    input.hash = 13;
    FAILS(HASH, mldsa_sign_input(key, &input, 0, out, size));
    input.hash = MLDSA_HASH_NONE;
    FAILS(OPTION, mldsa_sign_input(key, &input, 0, out, size));
    input.hash = MLDSA_HASH_SHAKE256;
    input.flags = 4;
    FAILS(OPTION, mldsa_sign_input(key, &input, 0, out, size));
}

/* Keys of all sets in one batch, and jobs that fail. */
static void batches(mldsa_signing_key **keys, mldsa_verifying_key **public_keys, size_t threads) {
    enum { COUNT = 24 };
    static uint8_t made[COUNT][MLDSA_MAX_SIGNATURE_BYTES], rnds[COUNT * 32];
    mldsa_sign_job sign[COUNT];
    mldsa_verify_job verify[COUNT];
    memset(sign, 0, sizeof sign);
    memset(verify, 0, sizeof verify);
    for (size_t i = 0; i < COUNT; i++) {
        size_t size = mldsa_signature_bytes(SETS[i % 3]);
        sign[i].key = keys[i % 3];
        verify[i].key = public_keys[i % 3];
        verify[i].input.message = sign[i].input.message = MESSAGE;
        verify[i].input.message_len = sign[i].input.message_len = i % sizeof MESSAGE;
        verify[i].signature = sign[i].signature = made[i];
        verify[i].signature_len = sign[i].signature_len = size;
    }
    sign[3].key = NULL;
    sign[4].signature_len--;
    sign[5].input.context_len = 256;
    for (int hazmat = 0; hazmat < 2; hazmat++) {
        memset(made, 0, sizeof made);
        if (hazmat)
            OK(mldsa_hazmat_sign_batch_with_rnd(sign, COUNT, rnds, sizeof rnds, threads));
        else
            OK(mldsa_sign_batch(sign, COUNT, MLDSA_DETERMINISTIC, threads));
        OK(mldsa_verify_batch(verify, COUNT, threads));
        for (size_t i = 0; i < COUNT; i++) {
            int fails = i >= 3 && i <= 5;
            CHECK(verify[i].outcome == (fails ? MLDSA_ERROR_SIGNATURE : MLDSA_OK));
            if (fails) continue;
            OK(sign[i].outcome);
            size_t n = i % sizeof MESSAGE;
            OK(mldsa_sign_deterministic(sign[i].key, MESSAGE, n, NULL, 0, out, ROOM));
            CHECK(memcmp(out, made[i], sign[i].signature_len) == 0);
        }
        CHECK(sign[3].outcome == MLDSA_ERROR_NULL && sign[4].outcome == MLDSA_ERROR_BUFFER);
        CHECK(sign[5].outcome == MLDSA_ERROR_CONTEXT);
    }
    verify[0].signature_len--;
    verify[1].key = public_keys[0];
    verify[2].signature = NULL;
    OK(mldsa_verify_batch(verify, COUNT, threads));
    CHECK(verify[0].outcome == MLDSA_ERROR_LENGTH && verify[1].outcome == MLDSA_ERROR_LENGTH);
    CHECK(verify[2].outcome == MLDSA_ERROR_NULL);
    OK(mldsa_sign_batch(NULL, 0, MLDSA_HEDGED, threads));
    OK(mldsa_verify_batch(NULL, 0, threads));
    FAILS(NULL, mldsa_sign_batch(NULL, 1, MLDSA_HEDGED, threads));
    FAILS(LENGTH, mldsa_verify_batch(verify, SIZE_MAX, threads));
    FAILS(OPTION, mldsa_sign_batch(sign, COUNT, 2, threads));
    FAILS(OPTION, mldsa_sign_batch(sign, COUNT, 0, MLDSA_MAX_THREADS + 1));
    FAILS(LENGTH, mldsa_hazmat_sign_batch_with_rnd(sign, COUNT, rnds, 33, threads));

    mldsa_signing_key *many[COUNT];
    for (int given = 0; given < 2; given++) {
        const uint8_t *seeds = given ? rnds : NULL;
        size_t length = given ? sizeof rnds : 0;
        OK(mldsa_signing_key_generate_batch(MLDSA_44, COUNT, seeds, length, many, threads));
        for (size_t i = 0; i < COUNT; i++) {
            CHECK(mldsa_signing_key_set(many[i]) == MLDSA_44);
            mldsa_signing_key_free(&many[i]);
        }
    }
    FAILS(LENGTH,
          mldsa_signing_key_generate_batch(MLDSA_44, COUNT, rnds, 33, many, threads));
    CHECK(many[0] == NULL && many[COUNT - 1] == NULL);
    FAILS(SET, mldsa_signing_key_generate_batch(9, COUNT, NULL, 0, many, threads));
}

static void makers(void) {
    mldsa_signing_key *key = NULL;
    mldsa_verifying_key *public_key = NULL;
    for (size_t i = 0; i < 3; i++) {
        size_t sk = mldsa_signing_key_bytes(SETS[i]), pk = mldsa_verifying_key_bytes(SETS[i]);
        memset(out, 0xff, ROOM);
        FAILS(KEY, mldsa_signing_key_from_raw(SETS[i], out, sk, &key));
        CHECK(!key);
        FAILS(LENGTH, mldsa_signing_key_from_raw(SETS[i], out, sk - 1, &key));
        CHECK(!key);
        FAILS(NULL, mldsa_signing_key_from_raw(SETS[i], NULL, sk, &key));
        CHECK(!key);
        FAILS(LENGTH, mldsa_verifying_key_from_raw(SETS[i], out, pk + 1, &public_key));
        FAILS(LENGTH, mldsa_verifying_key_from_raw(SETS[i], NULL, 0, &public_key));
        CHECK(!public_key);
        FAILS(LENGTH, mldsa_signing_key_from_seed(SETS[i], SEED, 31, &key));
        CHECK(!key);
        FAILS(NULL, mldsa_signing_key_from_seed(SETS[i], SEED, 32, NULL));
    }
    FAILS(SET, mldsa_signing_key_generate(0, &key));
    CHECK(!key);
    FAILS(NULL, mldsa_signing_key_generate(MLDSA_44, NULL));
    FAILS(NULL, mldsa_signing_key_expand(NULL));
    CHECK(mldsa_signing_key_set(NULL) == 0);
    FAILS(NULL, mldsa_verifying_key_expand(NULL));
    CHECK(mldsa_verifying_key_set(NULL) == 0);
    FAILS(NULL, mldsa_signing_key_verifying_key(NULL, &public_key));
    CHECK(!public_key);
    mldsa_signing_key_free(NULL);
    mldsa_verifying_key_free(NULL);
    mldsa_mu_hasher_free(NULL);

    /* Used after it was freed, and freed twice. */
    OK(mldsa_signing_key_from_seed(MLDSA_44, SEED, 32, &key));
    FAILS(BUFFER, mldsa_signing_key_raw(key, out, 2559));
    FAILS(BUFFER, mldsa_signing_key_seed(key, out, 31));
    OK(mldsa_signing_key_seed(key, out, 32));
    CHECK(memcmp(out, SEED, 32) == 0);
    mldsa_signing_key_free(&key);
    mldsa_signing_key_free(&key);
    FAILS(NULL, mldsa_signing_key_raw(key, out, ROOM));
}

/* One random call; the state of all handles stays valid. */
static void random_call(mldsa_signing_key **keys, mldsa_verifying_key **public_keys) {
    static uint8_t data[ROOM];
    static const size_t LENGTHS[] = {0,    1,    31,   32,   33,   54,   64,   255,  256,
                                     1312, 1952, 2420, 2560, 2592, 3309, 4032, 4627, 4896};
    size_t known = LENGTHS[below(sizeof LENGTHS / sizeof *LENGTHS)];
    size_t a = below(4) ? known : below(5000), b = below(300);
    size_t room = below(4) ? known : below(5000);
    data[below(ROOM)] = (uint8_t)next();
    const uint8_t *from = below(8) ? data + below(ROOM - 5000) : NULL;
    const uint8_t *context = below(8) ? data : NULL;
    uint8_t *to = below(8) ? out : NULL;
    mldsa_signing_key *key = below(8) ? keys[below(3)] : NULL, *new_key = NULL;
    mldsa_verifying_key *public_key = below(8) ? public_keys[below(3)] : NULL, *new_public = NULL;
    mldsa_mu_hasher *hasher = NULL;
    mldsa_set set = below(8) ? SETS[below(3)] : (mldsa_set)next();
    size_t needed = 0, *place = below(8) ? &needed : NULL;
    uint32_t form = (uint32_t)below(4), encoding = (uint32_t)below(3);
    mldsa_input input = {0};
    input.message = from;
    input.message_len = a;
    input.context = context;
    input.context_len = b;
    input.hash = (mldsa_hash)below(15);
    input.flags = (uint32_t)below(5);
    mldsa_sign_job job;
    mldsa_verify_job check;
    memset(&job, 0, sizeof job);
    memset(&check, 0, sizeof check);
    guard(room);
    mldsa_error error = MLDSA_OK;
    switch (below(24)) {
    case 0: error = mldsa_signing_key_generate(set, below(8) ? &new_key : NULL); break;
    case 1: error = mldsa_signing_key_from_seed(set, from, a, &new_key); break;
    case 2: error = mldsa_signing_key_from_raw(set, from, a, &new_key); break;
    case 3: error = mldsa_signing_key_from_pkcs8(from, a, &new_key); break;
    case 4: error = mldsa_verifying_key_from_raw(set, from, a, &new_public); break;
    case 5: error = mldsa_verifying_key_from_spki(from, a, &new_public); break;
    case 6: error = mldsa_signing_key_pkcs8(key, form, encoding, to, room, place); break;
    case 7: error = mldsa_verifying_key_spki(public_key, encoding, to, room, place); break;
    case 8: error = mldsa_signing_key_raw(key, to, room); break;
    case 9: error = mldsa_verifying_key_raw(public_key, to, room); break;
    case 10: error = mldsa_sign(key, from, a, context, b, to, room); break;
    case 11: error = mldsa_sign_input(key, &input, (uint32_t)below(3), to, room); break;
    case 12: error = mldsa_verify(public_key, from, a, context, b, data, room); break;
    case 13: error = mldsa_verify_input(public_key, &input, data, room); break;
    case 14: error = mldsa_hazmat_sign_with_rnd(key, &input, from, a, to, room); break;
    case 15: error = mldsa_hazmat_sign_mu(key, from, a, data, below(40), to, room); break;
    case 16: error = mldsa_hazmat_verify_mu(public_key, from, a, data, room); break;
    case 17:
        error = mldsa_mu_hasher_new(public_key, input.hash, context, b, below(8) ? &hasher : NULL);
        mldsa_mu_hasher_update(hasher, from, a);
        mldsa_mu_hasher_mu(hasher, to, room);
        break;
    case 18:
        job.key = key;
        job.input = input;
        job.signature = to;
        job.signature_len = room;
        error = mldsa_sign_batch(below(8) ? &job : NULL, below(2), (uint32_t)below(3), below(3));
        break;
    case 19: error = mldsa_sign_hardened(key, &input, (uint32_t)below(3), to, room); break;
    case 20: error = mldsa_verify_hardened(public_key, &input, data, room); break;
    case 21:
        error = mldsa_signing_key_from_encrypted_pkcs8(from, a, context, b, &new_key);
        break;
    case 22:
        error = mldsa_signing_key_match(key, public_key);
        if (!error || error == MLDSA_ERROR_MISMATCH)
            error = mldsa_signing_key_equal(key, keys[below(3)]);
        if (error == MLDSA_ERROR_MISMATCH) error = MLDSA_OK;
        mldsa_signing_key_duplicate(key, &new_key);
        mldsa_verifying_key_duplicate(public_key, &new_public);
        break;
    default:
        check.key = public_key;
        check.input = input;
        check.signature = from;
        check.signature_len = a;
        error = mldsa_verify_batch(below(8) ? &check : NULL, below(2), below(3));
    }
    CHECK(error >= MLDSA_OK && error < MLDSA_ERROR_INTERNAL && intact(room));
    CHECK(job.outcome >= MLDSA_OK && job.outcome < MLDSA_ERROR_INTERNAL);
    mldsa_signing_key_free(&new_key);
    mldsa_verifying_key_free(&new_public);
    mldsa_mu_hasher_free(&hasher);
}

int main(int argc, char **argv) {
    long calls = argc > 1 ? atol(argv[1]) : 1000;
    state = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
    mldsa_signing_key *keys[3];
    mldsa_verifying_key *public_keys[3];
    constants();
    makers();
    for (size_t i = 0; i < 3; i++) {
        OK(mldsa_signing_key_from_seed(SETS[i], SEED, 32, &keys[i]));
        OK(mldsa_signing_key_verifying_key(keys[i], &public_keys[i]));
        files(keys[i], public_keys[i]);
        pairs(keys[i], public_keys[i]);
        encrypted(keys[i], (uint32_t)i, (uint32_t)i % 2);
        hardened(keys[i], public_keys[i]);
    }
    costs_of_encryption(keys[0]);
    batches(keys, public_keys, 1);
    batches(keys, public_keys, 2);
    for (size_t i = 0; i < 3; i++) signatures(keys[i], public_keys[i]);
    batches(keys, public_keys, 0);
    for (long i = 0; i < calls; i++) random_call(keys, public_keys);
    for (size_t i = 0; i < 3; i++) {
        mldsa_signing_key_free(&keys[i]);
        mldsa_verifying_key_free(&public_keys[i]);
    }
    printf("interface: right, %ld random calls, backend %s\n", calls, mldsa_backend());
    return 0;
}
