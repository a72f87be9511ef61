/* A plugin of QEMU's user-mode emulation that counts the executed AArch64 instructions of a worker
 * by class. The counters lie in memory that emulator and worker share, so that reading them costs
 * the worker one load each: crates of lab/workers/loop map it (`timing::count_instructions`). */
#define _GNU_SOURCE
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "qemu.h"

/* The order of `timing::CLASSES`. */
enum class { VECTOR, SHA3, SCALAR, MEMORY, BRANCH, CLASSES };
/* File descriptor of the counters: `timing::COUNTERS_FD`. */
enum { COUNTERS_FD = 700 };

static uint64_t *counters;

/* By the groups of the Arm Architecture Reference Manual, "A64 instruction set encoding". */
static enum class class_of(uint32_t word)
{
    uint32_t group = word >> 25 & 15;
    if ((group & 5) == 4)
        return MEMORY;
    if ((group & 14) == 10) /* with system instructions */
        return BRANCH;
    if (group == 2) /* SVE: the upper half of its encodings are loads and stores */
        return word >> 31 ? MEMORY : VECTOR;
    if ((group & 7) != 7)
        return SCALAR;
    /* EOR3 and BCAX, RAX1, XAR. */
    if ((word & 0xffc08000) == 0xce000000 || (word & 0xffe0fc00) == 0xce608c00 ||
        (word & 0xffe00000) == 0xce800000)
        return SHA3;
    return VECTOR;
}

static void translated(qemu_plugin_id_t id, struct qemu_plugin_tb *block)
{
    (void)id;
    for (size_t i = 0; i < qemu_plugin_tb_n_insns(block); i++) {
        struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(block, i);
        const uint32_t *word = qemu_plugin_insn_data(insn);
        qemu_plugin_register_vcpu_insn_exec_inline(insn, QEMU_PLUGIN_INLINE_ADD_U64,
                                                   &counters[class_of(*word)], 1);
    }
}

EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const void *info, int argc, char **argv)
{
    (void)info, (void)argc, (void)argv;
    size_t size = (size_t)sysconf(_SC_PAGESIZE);
    int fd = memfd_create("instructions", 0);
    if (fd < 0 || ftruncate(fd, (off_t)size) || dup2(fd, COUNTERS_FD) < 0 || close(fd)) {
        perror("instruction counter: shared memory");
        return 1;
    }
    counters = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, COUNTERS_FD, 0);
    if (counters == MAP_FAILED) {
        perror("instruction counter: shared memory");
        return 1;
    }
    qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
    return 0;
}
