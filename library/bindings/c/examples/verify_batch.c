/* Sign and verify 100 messages in two calls, on all cores; one signature is damaged. */
#include <mldsa.h>
#include <stdio.h>

enum { COUNT = 100 };

static uint8_t signatures[COUNT][MLDSA_MAX_SIGNATURE_BYTES];
static char messages[COUNT][16];

int main(void) {
    size_t length = mldsa_signature_bytes(MLDSA_65);
    mldsa_signing_key *key = NULL;
    mldsa_verifying_key *public_key = NULL;
    mldsa_sign_job sign[COUNT] = {0};
    mldsa_verify_job verify[COUNT] = {0};
    mldsa_error error = mldsa_signing_key_generate(MLDSA_65, &key);
    if (!error) error = mldsa_signing_key_verifying_key(key, &public_key);
    for (size_t i = 0; i < COUNT; i++) {
        int written = snprintf(messages[i], sizeof messages[i], "message %zu", i);
        verify[i].input.message = sign[i].input.message = (const uint8_t *)messages[i];
        verify[i].input.message_len = sign[i].input.message_len = (size_t)written;
        verify[i].signature = sign[i].signature = signatures[i];
        verify[i].signature_len = sign[i].signature_len = length;
        sign[i].key = key;
        verify[i].key = public_key;
    }
    if (!error) error = mldsa_sign_batch(sign, COUNT, MLDSA_HEDGED, 0);
    signatures[7][0] ^= 1;
    if (!error) error = mldsa_verify_batch(verify, COUNT, 0);
    for (size_t i = 0; i < COUNT && !error; i++)
        if (verify[i].outcome)
            printf("%s: %s\n", messages[i], mldsa_error_string(verify[i].outcome));
    if (error) fprintf(stderr, "verify_batch: %s\n", mldsa_error_string(error));
    mldsa_verifying_key_free(&public_key);
    mldsa_signing_key_free(&key);
    return error ? 1 : 0;
}
