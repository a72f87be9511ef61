"""Signatures for the tests of studies that no signer made, and workers that answer with them."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from fake_worker import HELLO
from msgspec.structs import replace

from mldsa_lab.inputs.input import Input, Spec
from mldsa_lab.sets import Unit
from mldsa_lab.theory.rejection import RejectionModel
from mldsa_lab.worker.registry import BuildDirs, WorkerEntry
from mldsa_studies.collect import InputBatch
from mldsa_studies.costs import Costs, CostsHead, Described
from mldsa_studies.signers import Signer, random_table

SPEC = Spec("ML-DSA-44", bytes(32))


def announced(language: str, cpu: str = "own") -> str:
    """Two backends of one implementation."""
    head, _, variant = HELLO.removesuffix("end\n").partition("variant ")
    head = head.replace("Python", language).replace("cpu_clock none", f"cpu_clock {cpu}")
    variant = variant.replace("rnd given\ncontext yes", "rnd zero\ncontext no")
    backends = (variant.replace("python", b).replace("fake", "toy") for b in ("fast", "portable"))
    return head + "".join(f"variant {backend}" for backend in backends) + "end\n"


# Work that grows with the message's first byte, in a function with a name of its own.
C_WORKER = r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static char *ids[1000], *messages[1000];
static volatile unsigned long sink;
__attribute__((noinline)) void sign_one(const char *message) {
    char byte[3] = {message[0], message[1], 0};
    long rounds = 100 * strtol(byte, 0, 16);
    for (long i = 0; i < rounds; i++) sink += i;
}
int main(int argc, char **argv) {
    char *line = 0; size_t room = 0; int count = 0;
    while (getline(&line, &room, stdin) > 0) {
        line[strcspn(line, "\n")] = 0;
        if (!strcmp(line, "quit")) return 0;
        if (!strncmp(line, "hello", 5)) {
            FILE *f = fopen(argv[1], "r");
            for (int c; (c = fgetc(f)) != EOF;) putchar(c);
            fclose(f);
        } else if (!strncmp(line, "prepare", 7)) count = 0;
        else if (!strncmp(line, "input ", 6)) ids[count] = strdup(line + 6);
        else if (!strncmp(line, "message ", 8)) messages[count++] = strdup(line + 8);
        else if (!strcmp(line, "end")) printf("ready 1\n");
        else if (!strncmp(line, "answer", 6)) {
            for (int i = 0; i < count; i++) {
                sign_one(messages[i]);
                FILE *f = fopen(argv[2], "r"); char *row = 0; size_t size = 0;
                while (getline(&row, &size, f) > 0)
                    if (!strncmp(row, messages[i], strlen(messages[i])))
                        printf("output %s %s", ids[i], row + strlen(messages[i]) + 1);
                fclose(f); free(row);
            }
            printf("done 1\n");
        }
        fflush(stdout);
    }
}
"""

PYTHON_WORKER = """
import json, sys
from pathlib import Path
announced, table = (Path(p).read_text() for p in sys.argv[1:3])
digests = json.loads(table)
jobs, reading = {}, None
for line in sys.stdin:
    words = line.split()
    if reading is not None and words[0] != "prepare":
        if words[0] == "input": reading.append([words[1], None])
        elif words[0] == "message": reading[-1][1] = words[1]
        elif words[0] == "end": reading = None; print("ready", job, flush=True)
        continue
    if words[0] == "hello": print(announced, end="", flush=True)
    elif words[0] == "prepare": job = words[1]; reading = jobs[job] = []
    elif words[0] == "measure":
        with Path(__file__).with_name("order.txt").open("a") as log:
            print(*(number for number, _ in jobs[words[1]]), file=log)
        for number, message in jobs[words[1]]:
            ticks = 1000 + 10 * int(message[:2], 16)
            print("sample", number, ticks + 7, ticks, 1, digests[message])
        print("done", words[1], flush=True)
    elif words[0] == "quit": break
"""


def signed(count: int) -> tuple[Input, ...]:
    """``count`` inputs with signatures that are random bytes."""
    rng = np.random.default_rng(1)
    inputs = SPEC.inputs(0, count)
    traces = random_table(RejectionModel.of(SPEC.set), count, np.random.default_rng(2)).traces()
    return tuple(
        replace(item, trace=trace, pk=rng.bytes(1312), sk=rng.bytes(2560), output=rng.bytes(2420))
        for item, trace in zip(inputs, traces, strict=True)
    )


def batch(count: int, sample: int | None = None) -> InputBatch:
    """The same with traces that have nothing to do with them."""
    table = random_table(RejectionModel.of(SPEC.set), count, np.random.default_rng(2))
    index = np.arange(count, dtype=np.uint64)
    return InputBatch(SPEC, index, sample or count, signed(count), table)


ABOUT = Described(
    variant="toy:fast:compact", implementation="toy", version="1", backend="fast", key="compact",
    worker="w", language="C", compiler="cc", flags="", clock="c", note="",
)  # fmt: skip
SIGNER = Signer(z=17_000.0, r=19_000.0, z_step=400.0, r_step=300.0)


def costs_of(
    unit: Unit,
    noise: float = 0.0,
    rounds: int = 1,
    inputs: int = 480,
    added: int = 40,
    abouts: Sequence[Described] = (ABOUT,),
) -> Costs:
    """Costs of a synthetic signer for ML-DSA-65, the same for each of the ``abouts``."""
    rng = np.random.default_rng(11)
    table = random_table(RejectionModel.of("ML-DSA-65"), inputs + added, rng)
    exact = SIGNER.cost_of(table.traces())
    level = np.exp(0.2 * rng.standard_normal(rounds) * (rounds > 1))[:, None]
    seen = exact * level * np.exp(noise * rng.standard_normal((rounds, len(exact))))
    started = [{"started": "2026-01-01T00:00:00Z", "load1": 0.5}] * rounds
    head = CostsHead(
        set="ML-DSA-65", unit=unit, spec=Spec("ML-DSA-65", bytes(32)), sample=inputs,
        machine={"cpu": None}, series=list(abouts), rounds=started,
    )  # fmt: skip
    index = np.arange(len(table), dtype=np.uint64)
    cost = np.stack([np.rint(seen).astype(np.uint64)] * len(abouts))
    return Costs(head, index, table, cost)


def python_worker(
    folder: Path, made: Sequence[Input], cpu: str = "own"
) -> tuple[WorkerEntry, BuildDirs]:
    """A worker that measures: 1,000 ticks, and 10 for each unit of the message's first byte."""
    program, hello, digests = (folder / n for n in ("w.py", "hello.txt", "digests.json"))
    program.write_text(PYTHON_WORKER, encoding="utf-8")
    hello.write_text(announced("Python", cpu), encoding="utf-8")
    table = {i.message.hex(): i.digests.signature for i in made}
    digests.write_text(json.dumps(table), encoding="utf-8")
    run = ("python3", "-S", str(program), str(hello), str(digests))
    return WorkerEntry("fake", "Python", ".", (), run), BuildDirs(folder, folder)


def c_worker(folder: Path, made: Sequence[Input]) -> tuple[WorkerEntry, BuildDirs]:
    """A worker that answers, in C, with a function ``sign_one``."""
    source, program = folder / "w.c", folder / "worker"
    source.write_text(C_WORKER, encoding="utf-8")
    subprocess.run(["cc", "-O1", "-o", str(program), str(source)], check=True)
    hello, outputs = folder / "hello.txt", folder / "outputs.txt"
    hello.write_text(announced("C"), encoding="utf-8")
    rows = [f"{i.message.hex()} {i.output.hex()}\n" for i in made]
    outputs.write_text("".join(rows), encoding="utf-8")
    run = (str(program), str(hello), str(outputs))
    return WorkerEntry("fake", "C", ".", (), run), BuildDirs(folder, folder)


def need_tools() -> None:
    """Skip the test where Valgrind or a C compiler is missing, unless they are expected."""
    missing = [tool for tool in ("valgrind", "cc") if shutil.which(tool) is None]
    if missing and not os.environ.get("MLDSA_EXPECT_VALGRIND"):
        pytest.skip(f"{missing[0]} is not installed")
    assert not missing, f"{missing[0]} is not installed, and MLDSA_EXPECT_VALGRIND is set"
