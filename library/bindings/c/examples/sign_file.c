/* Sign a file: sign_file KEY.pem FILE SIGNATURE. KEY.pem is PKCS#8; FILE is read in pieces. */
#include <mldsa.h>
#include <stdio.h>

static int failed(const char *what, mldsa_error error) {
    fprintf(stderr, "sign_file: %s: %s\n", what, mldsa_error_string(error));
    return 1;
}

int main(int argc, char **argv) {
    if (argc != 4) return fprintf(stderr, "usage: sign_file KEY.pem FILE SIGNATURE\n"), 2;
    uint8_t buffer[16384], signature[MLDSA_MAX_SIGNATURE_BYTES];
    FILE *key_file = fopen(argv[1], "rb"), *file = fopen(argv[2], "rb");
    if (!key_file || !file) return perror("sign_file"), 1;

    mldsa_signing_key *key = NULL;
    mldsa_verifying_key *public_key = NULL;
    mldsa_mu_hasher *hasher = NULL;
    size_t length = fread(buffer, 1, sizeof buffer, key_file);
    mldsa_error error = mldsa_signing_key_from_pkcs8(buffer, length, &key);
    if (error) return failed(argv[1], error);
    if ((error = mldsa_signing_key_verifying_key(key, &public_key)) ||
        (error = mldsa_mu_hasher_new(public_key, MLDSA_HASH_NONE, NULL, 0, &hasher)))
        return failed("hasher", error);
    while ((length = fread(buffer, 1, sizeof buffer, file)) > 0)
        mldsa_mu_hasher_update(hasher, buffer, length);

    mldsa_input input = {0};
    input.mu = hasher;
    error = mldsa_sign_input(key, &input, MLDSA_HEDGED, signature, sizeof signature);
    if (error) return failed("sign", error);
    FILE *out = fopen(argv[3], "wb");
    length = mldsa_signature_bytes(mldsa_signing_key_set(key));
    if (!out || fwrite(signature, 1, length, out) != length || fclose(out))
        return perror(argv[3]), 1;
    mldsa_mu_hasher_free(&hasher);
    mldsa_verifying_key_free(&public_key);
    mldsa_signing_key_free(&key); /* also wipes it */
    return 0;
}
