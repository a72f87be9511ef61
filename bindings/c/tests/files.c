/* files key KEY.pem writes a private key; files check KEY.pem FILE SIGNATURE verifies. */
#include <mldsa.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static size_t read_file(const char *path, uint8_t *to, size_t room) {
    FILE *file = fopen(path, "rb");
    if (!file) perror(path), exit(2);
    size_t length = fread(to, 1, room, file);
    fclose(file);
    return length;
}

int main(int argc, char **argv) {
    static uint8_t key_file[16384], file[1 << 20], signature[8192];
    mldsa_signing_key *key = NULL;
    mldsa_verifying_key *public_key = NULL;
    mldsa_error error;
    size_t length = 0;
    if (argc == 3 && strcmp(argv[1], "key") == 0) {
        FILE *out = fopen(argv[2], "wb");
        error = mldsa_signing_key_generate(MLDSA_65, &key);
        if (!error)
            error = mldsa_signing_key_pkcs8(key, MLDSA_FORM_BOTH, MLDSA_PEM, key_file,
                                            sizeof key_file, &length);
        if (!out || fwrite(key_file, 1, length, out) != length || fclose(out))
            return perror(argv[2]), 2;
    } else if (argc == 5 && strcmp(argv[1], "check") == 0) {
        length = read_file(argv[2], key_file, sizeof key_file);
        error = mldsa_signing_key_from_pkcs8(key_file, length, &key);
        if (!error) error = mldsa_signing_key_verifying_key(key, &public_key);
        length = read_file(argv[3], file, sizeof file);
        size_t size = read_file(argv[4], signature, sizeof signature);
        if (!error) error = mldsa_verify(public_key, file, length, NULL, 0, signature, size);
    } else {
        fprintf(stderr, "usage: files key KEY.pem | files check KEY.pem FILE SIGNATURE\n");
        return 2;
    }
    mldsa_verifying_key_free(&public_key);
    mldsa_signing_key_free(&key);
    if (error) fprintf(stderr, "files: %s\n", mldsa_error_string(error));
    return error ? 1 : 0;
}
