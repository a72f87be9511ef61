/* Stack and heap of each timed region of a worker, by a library that is loaded before the others
 * (LD_PRELOAD). The worker is the program that is timed, unchanged: its readings of the clocks, in
 * the order of PROTOCOL.md, tell where an operation begins and ends: thread, wall, operation, wall,
 * thread; of several threads each reads thread, operation, thread. Before it the stack below the
 * caller is painted, after it the paint is looked for. malloc and its kin are counted between, in
 * all threads, in bytes as malloc_usable_size tells; so one region waits for another's end, and
 * what threads take does not depend on how they were scheduled.
 *
 * MLDSA_METER names a file, which gets a line for each region: bytes of stack, bytes of stack that
 * were painted, the most bytes of heap at a time above those at the beginning, allocations (a
 * realloc that is not of NULL is one too), and bytes of these together. Between two readings of the
 * process's clock a worker prepares an input: the line is `kept` and the bytes of heap that are
 * left of it. Needs glibc. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);
void *__libc_realloc(void *, size_t);
void *__libc_memalign(size_t, size_t);
void __libc_free(void *);

#define PAINT UINT64_C(0x6c1d93a8e0f5472b)
#define PAINTED_MOST ((size_t)4 << 20) /* more than an operation takes */
#define SPARE ((size_t)32 << 10)       /* of a thread's stack, left alone */
#define OWN ((size_t)512)              /* more than the frame that paints */

static int out = -1;
static atomic_bool counting;
static atomic_llong live, peak, allocations, allocated;

static void taken(void *block, long long before) {
    if (!block || !atomic_load_explicit(&counting, memory_order_relaxed))
        return;
    long long size = (long long)malloc_usable_size(block);
    allocations++;
    allocated += size;
    long long now = (live += size - before), most = peak;
    while (now > most && !atomic_compare_exchange_weak(&peak, &most, now)) {
    }
}

static void given(void *block) {
    if (block && atomic_load_explicit(&counting, memory_order_relaxed))
        live -= (long long)malloc_usable_size(block);
}

void *malloc(size_t size) {
    void *block = __libc_malloc(size);
    taken(block, 0);
    return block;
}

void *calloc(size_t count, size_t size) {
    void *block = __libc_calloc(count, size);
    taken(block, 0);
    return block;
}

void *realloc(void *old, size_t size) {
    long long before = old ? (long long)malloc_usable_size(old) : 0;
    void *block = __libc_realloc(old, size);
    if (!block && old && !size && atomic_load(&counting))
        live -= before; /* glibc has freed it */
    taken(block, before);
    return block;
}

void *memalign(size_t alignment, size_t size) {
    void *block = __libc_memalign(alignment, size);
    taken(block, 0);
    return block;
}

void *aligned_alloc(size_t alignment, size_t size) { return memalign(alignment, size); }

int posix_memalign(void **block, size_t alignment, size_t size) {
    if (alignment % sizeof(void *) || alignment & (alignment - 1) || !alignment)
        return EINVAL;
    void *made = memalign(alignment, size);
    if (!made)
        return ENOMEM;
    *block = made;
    return 0;
}

void free(void *block) {
    given(block);
    __libc_free(block);
}

__attribute__((constructor)) static void begin(void) {
    const char *path = getenv("MLDSA_METER");
    if (path)
        out = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
}

/* ARMED: the thread's clock was read, and a region is under way unless the wall clock is next;
 * WITHIN: the wall clock was read too; BEHIND: and read again. */
enum { IDLE, ARMED, WITHIN, BEHIND };
static __thread int state;
static __thread int preparing;
static __thread uint64_t *lowest, *top;
static __thread uintptr_t bottom; /* of this thread's stack */
static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;

static uintptr_t stack_bottom(void) {
    pthread_attr_t attributes;
    void *at = NULL;
    size_t size = 0;
    if (pthread_getattr_np(pthread_self(), &attributes))
        return UINTPTR_MAX;
    pthread_attr_getstack(&attributes, &at, &size);
    pthread_attr_destroy(&attributes);
    return (uintptr_t)at;
}

/* Paints what lies below the caller, whose stack pointer is `from`: the last thing before the
 * operation, in a frame of less than OWN bytes. */
__attribute__((noinline)) static void paint(uintptr_t from) {
    top = (uint64_t *)(from & ~(uintptr_t)7);
    volatile uint64_t *word = top - OWN / 8;
    for (uint64_t *last = lowest; (uint64_t *)word >= last; word--)
        *word = PAINT;
}

static void count(void) {
    live = peak = allocations = allocated = 0;
    atomic_store(&counting, 1);
}

static void tell(const char *line, int size) {
    if (size > 0 && write(out, line, (size_t)size) != size)
        _exit(99); /* figures would be of another input */
}

static void region_begins(uintptr_t from) {
    if (!bottom)
        bottom = stack_bottom();
    uintptr_t least = from - PAINTED_MOST;
    if (bottom == UINTPTR_MAX || bottom + SPARE > from - OWN)
        least = from - OWN; /* nothing to paint */
    else if (least < bottom + SPARE)
        least = bottom + SPARE;
    lowest = (uint64_t *)((least + 7) & ~(uintptr_t)7);
    count();
    paint(from);
}

static void region_ends(void) {
    const volatile uint64_t *word = lowest;
    while ((const uint64_t *)word < top && *word == PAINT)
        word++;
    atomic_store(&counting, 0);
    char line[160];
    int size = snprintf(line, sizeof line, "%zu %zu %lld %lld %lld\n",
                        (size_t)((char *)top - (char *)word), (size_t)((char *)top - (char *)lowest),
                        (long long)peak, (long long)allocations, (long long)allocated);
    tell(line, size);
}

static void prepares(void) {
    preparing = !preparing;
    if (preparing) {
        pthread_mutex_lock(&one_at_a_time);
        count();
        return;
    }
    atomic_store(&counting, 0);
    char line[40];
    tell(line, snprintf(line, sizeof line, "kept %lld\n", (long long)live));
    pthread_mutex_unlock(&one_at_a_time);
}

int clock_gettime(clockid_t clock, struct timespec *now) {
    int wall = clock == CLOCK_MONOTONIC, thread = clock == CLOCK_THREAD_CPUTIME_ID;
    if (out < 0 || !(wall || thread || clock == CLOCK_PROCESS_CPUTIME_ID))
        return (int)syscall(SYS_clock_gettime, clock, now);
    /* Before any call that could write to the stack. */
    if ((wall && state == WITHIN) || (thread && state == ARMED))
        region_ends();
    int status = (int)syscall(SYS_clock_gettime, clock, now);
    if (!wall && !thread) {
        prepares();
    } else if (thread && state != IDLE) {
        state = IDLE;
        pthread_mutex_unlock(&one_at_a_time);
    } else if (thread || state == ARMED) {
        if (thread)
            pthread_mutex_lock(&one_at_a_time);
        state = thread ? ARMED : WITHIN;
        region_begins((uintptr_t)__builtin_dwarf_cfa());
    } else if (state == WITHIN) {
        state = BEHIND;
    }
    return status;
}
