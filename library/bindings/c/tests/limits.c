/* limits CASE: the library where a process lacks threads or memory, and in children of fork.
 *   threads  no thread can be started
 *   memory   the heap is exhausted, but for some bytes
 *   fork     a child, while other threads of its parent use the library */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <mldsa.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHECK(condition) \
    do { \
        if (!(condition)) { \
            fprintf(stderr, "limits: line %d: %s\n", __LINE__, #condition); \
            abort(); \
        } \
    } while (0)

enum { COUNT = 100, KEYS = 64 };
static const uint8_t MESSAGE[] = "message", SEED[32] = {7};
static uint8_t signatures[COUNT][MLDSA_MAX_SIGNATURE_BYTES];
static mldsa_sign_job sign[COUNT];
static mldsa_verify_job verify[COUNT];
static mldsa_signing_key *key, *expanded, *keys[KEYS], *made[COUNT];
static mldsa_verifying_key *public_key;
static uint8_t secret_file[16384], public_file[16384];
static uint8_t encrypted_file[16384];
static size_t secret_length, public_length, encrypted_length;

static int refuse_threads;
typedef int create(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);

/* Takes the place of the C library's. */
int pthread_create(pthread_t *thread, const pthread_attr_t *with, void *(*run)(void *), void *of) {
    static create *next;
    if (refuse_threads) return EAGAIN;
    if (!next) *(void **)&next = dlsym(RTLD_NEXT, "pthread_create");
    return next(thread, with, run, of);
}

static void prepare(void) {
    CHECK(!mldsa_signing_key_from_seed(MLDSA_65, SEED, sizeof SEED, &key));
    CHECK(!mldsa_signing_key_verifying_key(key, &public_key));
    for (size_t i = 0; i < COUNT; i++) {
        sign[i].key = key;
        verify[i].key = public_key;
        sign[i].input.message = verify[i].input.message = MESSAGE;
        sign[i].input.message_len = verify[i].input.message_len = sizeof MESSAGE;
        verify[i].signature = sign[i].signature = signatures[i];
        verify[i].signature_len = sign[i].signature_len = mldsa_signature_bytes(MLDSA_65);
    }
}

static void batches(size_t threads) {
    CHECK(!mldsa_sign_batch(sign, COUNT, MLDSA_HEDGED, threads));
    CHECK(!mldsa_verify_batch(verify, COUNT, threads));
    for (size_t i = 0; i < COUNT; i++) CHECK(!sign[i].outcome && !verify[i].outcome);
    CHECK(!mldsa_signing_key_generate_batch(MLDSA_44, COUNT, NULL, 0, made, threads));
    for (size_t i = 0; i < COUNT; i++) mldsa_signing_key_free(&made[i]);
}

static void without_threads(void) {
    refuse_threads = 1;
    for (size_t threads = 0; threads < 4; threads++) batches(threads);
}

static void use_heap(size_t left) {
    static void *blocks[1 << 16];
    void *room = malloc(left + 1);
    size_t n = 0;
    CHECK(room);
    for (size_t size = 1 << 20; size >= 16; size /= 2)
        while (n < sizeof blocks / sizeof *blocks && (blocks[n] = malloc(size))) n++;
    CHECK(n < sizeof blocks / sizeof *blocks && !malloc(16));
    free(room);
}

/* Each process makes one of the calls of with_heap: memory that another call has used is split. */
enum { CALLS = 24, MORE = 4096 /* What an allocator adds. */ };
static size_t call, calls;

#define BOUND(kib, function) \
    do { \
        if (calls++ == call) { \
            mldsa_error error = function; \
            CHECK(!error || (error == MLDSA_ERROR_MEMORY && left < (size_t)(kib) * 1024 + MORE)); \
        } \
    } while (0)

static mldsa_error without_encoding(mldsa_error error) {
    CHECK(error);
    return error == MLDSA_ERROR_ENCODING ? MLDSA_OK : error;
}

/* Every function gives its result or MEMORY, and MEMORY only where its bound of the header exceeds `left`. */
static void with_heap(size_t left) {
    static uint8_t file[16384], long_file[16 << 20];
    size_t needed, length = mldsa_signature_bytes(MLDSA_65);
    mldsa_signing_key *new_key = NULL;
    mldsa_verifying_key *new_public = NULL;
    mldsa_mu_hasher *hasher = NULL;
    CHECK(!mldsa_verify(public_key, MESSAGE, sizeof MESSAGE, NULL, 0, signatures[0], length));
    CHECK(!mldsa_verify_hardened(public_key, &verify[0].input, signatures[0], length));
    CHECK(!mldsa_sign(expanded, MESSAGE, sizeof MESSAGE, NULL, 0, signatures[1], length));
    CHECK(!mldsa_signing_key_match(key, public_key));
    BOUND(17 * 1024, mldsa_signing_key_encrypted_pkcs8(key, MLDSA_FORM_BOTH, MLDSA_PEM, SEED, 7,
                                                       file, sizeof file, &needed));
    BOUND(17 * 1024, mldsa_signing_key_from_encrypted_pkcs8(encrypted_file, encrypted_length, SEED,
                                                            7, &new_key));
    BOUND(96, mldsa_sign(key, MESSAGE, sizeof MESSAGE, NULL, 0, signatures[1], length));
    BOUND(96, mldsa_sign_hardened(key, &sign[0].input, MLDSA_HEDGED, signatures[1], length));
    BOUND(16, mldsa_signing_key_duplicate(key, &new_key));
    BOUND(16, mldsa_verifying_key_duplicate(public_key, &new_public));
    BOUND(16, mldsa_signing_key_generate(MLDSA_87, &new_key));
    BOUND(16, mldsa_signing_key_from_seed(MLDSA_87, SEED, sizeof SEED, &new_key));
    BOUND(16, mldsa_signing_key_verifying_key(key, &new_public));
    BOUND(16, mldsa_mu_hasher_new(public_key, 0, NULL, 0, &hasher));
    BOUND(64, mldsa_signing_key_pkcs8(key, MLDSA_FORM_BOTH, MLDSA_PEM, file, sizeof file, &needed));
    BOUND(64, mldsa_verifying_key_spki(public_key, MLDSA_PEM, file, sizeof file, &needed));
    BOUND(64, mldsa_signing_key_from_pkcs8(secret_file, secret_length, &new_key));
    BOUND(64, mldsa_verifying_key_from_spki(public_file, public_length, &new_public));
    /* A file that is too long needs no more. */
    BOUND(256,
          without_encoding(mldsa_signing_key_from_pkcs8(long_file, sizeof long_file, &new_key)));
    BOUND(256, without_encoding(
                   mldsa_verifying_key_from_spki(long_file, sizeof long_file, &new_public)));
    BOUND(128, mldsa_signing_key_expand(key));
    BOUND(128, mldsa_verifying_key_expand(public_key));
    for (size_t threads = 1; threads < 3; threads++) {
        /* Two threads may disturb each other, but no call ends the process. */
        size_t bound = threads == 1 ? 1024 + 20 * COUNT : SIZE_MAX / 2048;
        BOUND(bound, mldsa_sign_batch(sign, COUNT, MLDSA_DETERMINISTIC, threads));
        BOUND(bound, mldsa_verify_batch(verify, COUNT, threads));
        BOUND(bound,
              mldsa_signing_key_generate_batch(MLDSA_87, COUNT, NULL, 0, made, threads));
    }
    for (size_t i = 0; i < COUNT; i++) {
        CHECK(!sign[i].outcome || sign[i].outcome == MLDSA_ERROR_MEMORY);
        CHECK(!verify[i].outcome || verify[i].outcome == MLDSA_ERROR_MEMORY);
        mldsa_signing_key_free(&made[i]);
    }
    mldsa_signing_key_free(&new_key);
    mldsa_verifying_key_free(&new_public);
    mldsa_mu_hasher_free(&hasher);
    CHECK(calls == CALLS);
}

static int status_of(pid_t child) {
    int status;
    CHECK(child > 0 && waitpid(child, &status, 0) == child);
    return status;
}

static void without_memory(void) {
    struct rlimit limit = {(rlim_t)256 << 20, (rlim_t)256 << 20};
    batches(1);
    CHECK(!mldsa_signing_key_pkcs8(key, MLDSA_FORM_BOTH, MLDSA_PEM, secret_file, sizeof secret_file,
                                   &secret_length));
    CHECK(!mldsa_signing_key_encrypted_pkcs8(key, MLDSA_FORM_BOTH, MLDSA_PEM, SEED, 7,
                                             encrypted_file, sizeof encrypted_file,
                                             &encrypted_length));
    CHECK(!mldsa_verifying_key_spki(public_key, MLDSA_PEM, public_file, sizeof public_file,
                                    &public_length));
    CHECK(!mldsa_signing_key_from_seed(MLDSA_65, SEED, sizeof SEED, &expanded));
    CHECK(!mldsa_signing_key_expand(expanded));
    for (size_t left = 0; left <= (size_t)32 << 20; left = left ? left * 2 : 64)
        for (call = 0; call < CALLS; call++) {
            pid_t child = fork();
            if (child == 0) {
                CHECK(!setrlimit(RLIMIT_AS, &limit));
                use_heap(left);
                with_heap(left);
                _exit(0);
            }
            if (status_of(child)) {
                fprintf(stderr, "limits: call %zu, with %zu bytes of heap left\n", call, left);
                abort();
            }
        }
    mldsa_signing_key_free(&expanded);
}

static void *expand_all(void *unused) {
    for (size_t i = 0; i < KEYS; i++) CHECK(!mldsa_signing_key_expand(keys[i]));
    return unused;
}

static void *work_in_batches(void *unused) {
    static mldsa_verify_job own[COUNT];
    memcpy(own, verify, sizeof own);
    for (int i = 0; i < 20; i++) CHECK(!mldsa_verify_batch(own, COUNT, 2));
    return unused;
}

static void in_children(void) {
    pthread_t expanding, working;
    batches(2);
    for (int round = 0; round < 20; round++) {
        for (size_t i = 0; i < KEYS; i++) CHECK(!mldsa_signing_key_generate(MLDSA_44, &keys[i]));
        CHECK(!pthread_create(&expanding, NULL, expand_all, NULL));
        CHECK(!pthread_create(&working, NULL, work_in_batches, NULL));
        usleep(500);
        pid_t child = fork();
        if (child == 0) {
            alarm(120); /* One that hangs ends by this signal. */
            expand_all(NULL);
            batches(2);
            _exit(0);
        }
        CHECK(!status_of(child));
        CHECK(!pthread_join(expanding, NULL) && !pthread_join(working, NULL));
        for (size_t i = 0; i < KEYS; i++) mldsa_signing_key_free(&keys[i]);
    }
}

int main(int argc, char **argv) {
    const char *name = argc == 2 ? argv[1] : "";
    prepare();
    if (!strcmp(name, "threads"))
        without_threads();
    else if (!strcmp(name, "memory"))
        without_memory();
    else if (!strcmp(name, "fork"))
        in_children();
    else
        return fprintf(stderr, "usage: limits threads|memory|fork\n"), 2;
    mldsa_verifying_key_free(&public_key);
    mldsa_signing_key_free(&key);
    return 0;
}
