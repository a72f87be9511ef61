"""The plugin of QEMU that counts instructions, on a program whose instructions are known."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

pytestmark = [
    pytest.mark.toolchain,
    pytest.mark.skipif(
        not (shutil.which("qemu-aarch64") and shutil.which("aarch64-linux-gnu-gcc")),
        reason="needs qemu-user and gcc-aarch64-linux-gnu",
    ),
]

COUNTER = Path(__file__).parents[1] / "workers" / "counted" / "counter.c"
# A turn: three vector instructions, one of which moves to a general register, four of SHA3, two
# scalar ones, three loads and stores of either kind of register, one branch.
PROGRAM = r"""
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
static uint64_t memory[8];
static void turns(uint64_t n) {
    __asm__ volatile(
        ".arch armv8.4-a+sha3\n1:\n"
        "add v0.4s, v1.4s, v2.4s\n sqrdmulh v3.4s, v0.4s, v1.4s\n umov w9, v3.s[0]\n"
        "eor3 v4.16b, v0.16b, v1.16b, v2.16b\n bcax v5.16b, v0.16b, v1.16b, v2.16b\n"
        "rax1 v6.2d, v0.2d, v1.2d\n xar v7.2d, v0.2d, v1.2d, #5\n"
        "ldr q16, [%1]\n st1 {v16.4s}, [%1]\n ldp x10, x11, [%1, #16]\n"
        "eor x10, x10, x11, ror #7\n subs %0, %0, #1\n b.ne 1b\n"
        : "+r"(n) : "r"(memory)
        : "x9", "x10", "x11", "v0", "v3", "v4", "v5", "v6", "v7", "v16", "memory", "cc");
}
int main(void) {
    volatile uint64_t *now = mmap(NULL, 40, PROT_READ, MAP_SHARED, 700, 0);
    if (now == MAP_FAILED) return 1;
    uint64_t at[3][5];
    for (int pass = 0; pass < 3; pass++) {
        for (int i = 0; i < 5; i++) at[pass][i] = now[i];
        if (pass < 2) turns(pass ? 1001 : 1);
    }
    for (int i = 0; i < 5; i++)
        printf("%ld ", (long)(at[2][i] - at[1][i] - (at[1][i] - at[0][i])));
    return 0;
}
"""


def test_classes_of_a_known_loop(tmp_path: Path) -> None:
    plugin, program = tmp_path / "counter.so", tmp_path / "program"
    (source := tmp_path / "program.c").write_text(PROGRAM)
    subprocess.run(["cc", "-fPIC", "-shared", "-o", plugin, COUNTER], check=True)
    compiler = ["aarch64-linux-gnu-gcc", "-O1", "-static", "-o", program, source]
    subprocess.run(compiler, check=True)
    command = ["qemu-aarch64", "-cpu", "max", "-plugin", plugin, program]
    counts = [subprocess.run(command, check=True, capture_output=True).stdout for _ in range(2)]
    vector, sha3, scalar, memory, branch = map(int, counts[0].split())
    # Less the branches around the loops, which the compiler chooses.
    assert (vector, sha3, memory) == (3000, 4000, 3000)
    assert abs(scalar - 2000) < 10 and abs(branch - 1000) < 10
    assert counts[0] == counts[1]
