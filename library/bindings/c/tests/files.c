/* files KEY.pem PUBLIC.pem writes a new pair of keys. */
#include <mldsa.h>
#include <stdio.h>

static int write_file(const char *path, const uint8_t *bytes, size_t length) {
    FILE *out = fopen(path, "wb");
    if (!out || fwrite(bytes, 1, length, out) != length || fclose(out)) return perror(path), 1;
    return 0;
}

int main(int argc, char **argv) {
    if (argc != 3) return fprintf(stderr, "usage: files KEY.pem PUBLIC.pem\n"), 2;
    uint8_t file[16384];
    mldsa_signing_key *key = NULL;
    mldsa_verifying_key *public_key = NULL;
    size_t length = 0;
    mldsa_error error = mldsa_signing_key_generate(MLDSA_65, &key);
    if (!error)
        error = mldsa_signing_key_pkcs8(key, MLDSA_FORM_BOTH, MLDSA_PEM, file, sizeof file, &length);
    if (!error && write_file(argv[1], file, length)) return 2;
    if (!error) error = mldsa_signing_key_verifying_key(key, &public_key);
    if (!error)
        error = mldsa_verifying_key_spki(public_key, MLDSA_PEM, file, sizeof file, &length);
    if (!error && write_file(argv[2], file, length)) return 2;
    mldsa_verifying_key_free(&public_key);
    mldsa_signing_key_free(&key);
    if (error) fprintf(stderr, "files: %s\n", mldsa_error_string(error));
    return error ? 1 : 0;
}
