/* Verify a signature of a file: verify_file PUBLIC.pem FILE SIGNATURE. FILE is read in pieces. */
#include <mldsa.h>
#include <stdio.h>

static int failed(const char *what, mldsa_error error) {
    fprintf(stderr, "verify_file: %s: %s\n", what, mldsa_error_string(error));
    return 1;
}

int main(int argc, char **argv) {
    if (argc != 4) return fprintf(stderr, "usage: verify_file PUBLIC.pem FILE SIGNATURE\n"), 2;
    uint8_t buffer[16384], signature[MLDSA_MAX_SIGNATURE_BYTES + 1];
    FILE *key_file = fopen(argv[1], "rb"), *file = fopen(argv[2], "rb");
    FILE *signature_file = fopen(argv[3], "rb");
    if (!key_file || !file || !signature_file) return perror("verify_file"), 1;

    mldsa_verifying_key *key = NULL; /* of raw bytes: mldsa_verifying_key_from_raw */
    mldsa_mu_hasher *hasher = NULL;
    size_t length = fread(buffer, 1, sizeof buffer, key_file);
    mldsa_error error = mldsa_verifying_key_from_spki(buffer, length, &key);
    if (error) return failed(argv[1], error);
    if ((error = mldsa_mu_hasher_new(key, MLDSA_HASH_NONE, NULL, 0, &hasher)))
        return failed("hasher", error);
    while ((length = fread(buffer, 1, sizeof buffer, file)) > 0)
        mldsa_mu_hasher_update(hasher, buffer, length);

    mldsa_input input = {0};
    input.mu = hasher;
    length = fread(signature, 1, sizeof signature, signature_file);
    error = mldsa_verify_input(key, &input, signature, length);
    if (error) return failed(argv[3], error);
    puts("valid");
    mldsa_mu_hasher_free(&hasher);
    mldsa_verifying_key_free(&key);
    return 0;
}
