/* A plugin of QEMU's user-mode emulation that writes down the instructions of one call, in the order in which
 * they are executed: lab/scripts/model_arm.py predicts their cycles.
 *
 * Arguments: out=FILE, start=N: the function begins N bytes (decimal) after the program's first executable
 * segment; skip=N: so many calls are left out. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "qemu.h"

struct instruction {
    uint64_t address;
    uint32_t word;
};

static uint64_t offset, start, end, last;
static unsigned long skip;
static enum { WAITING, RECORDING, DONE } state;
static FILE *file;

static void executed(unsigned cpu, void *data)
{
    (void)cpu;
    const struct instruction *now = data;
    if (state == RECORDING && now->address == end) {
        state = DONE;
        fclose(file);
    }
    if (state == WAITING && now->address == start && skip-- == 0) {
        state = RECORDING;
        end = last + 4; /* where the call returns to */
    }
    if (state == RECORDING)
        fwrite(&now->word, sizeof now->word, 1, file);
    last = now->address;
}

static void translated(qemu_plugin_id_t id, struct qemu_plugin_tb *block)
{
    (void)id;
    start = qemu_plugin_start_code() + offset; /* not known when the plugin is installed */
    for (size_t i = 0; state != DONE && i < qemu_plugin_tb_n_insns(block); i++) {
        struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(block, i);
        struct instruction *data = malloc(sizeof *data); /* for as long as the block may be executed */
        if (!data)
            abort();
        data->address = qemu_plugin_insn_vaddr(insn);
        memcpy(&data->word, qemu_plugin_insn_data(insn), sizeof data->word);
        qemu_plugin_register_vcpu_insn_exec_cb(insn, executed, QEMU_PLUGIN_CB_NO_REGS, data);
    }
}

EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const void *info, int argc, char **argv)
{
    (void)info;
    for (int i = 0; i < argc; i++) {
        if (!strncmp(argv[i], "out=", 4))
            file = fopen(argv[i] + 4, "wb");
        else if (!strncmp(argv[i], "start=", 6))
            offset = strtoull(argv[i] + 6, NULL, 10);
        else if (!strncmp(argv[i], "skip=", 5))
            skip = strtoul(argv[i] + 5, NULL, 10);
    }
    if (!file) {
        fprintf(stderr, "trace: out=FILE is missing or cannot be written\n");
        return -1;
    }
    qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
    return 0;
}
