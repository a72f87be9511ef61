"""Signatures for the tests of studies that no signer made, and workers that answer with them."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from fake_worker import HELLO, fake_worker
from msgspec.structs import replace

from mldsa_lab.inputs.input import Input, Spec
from mldsa_lab.sets import Unit
from mldsa_lab.theory.rejection import RejectionModel
from mldsa_lab.worker.registry import BuildDirs, WorkerEntry
from mldsa_studies.collect import InputBatch
from mldsa_studies.costs import Costs, CostsHead, Described
from mldsa_studies.signers import Signer, random_table

SPEC = Spec("ML-DSA-44", bytes(32))


def _hello() -> str:
    head, _, variant = HELLO.removesuffix("end\n").partition("variant ")
    head = head.replace("cpu_clock none", "cpu_clock own")
    variant = variant.replace("rnd given\ncontext yes", "rnd zero\ncontext no")
    backends = (variant.replace("python", b).replace("fake", "toy") for b in ("fast", "portable"))
    return head + "".join(f"variant {backend}" for backend in backends) + "end\n"


HELLO_OF_TWO = _hello()
"""The announcement of two backends of one implementation."""

MEASURING = """
jobs = {}
while True:
    word, *rest = request()
    if word == "hello": say(HELLO)
    elif word == "prepare":
        jobs[rest[0]] = [line[1] for line in body if line[0] in ("input", "message")]
        say(f"ready {rest[0]}\\n")
    elif word == "measure":
        numbers, messages = jobs[rest[0]][::2], jobs[rest[0]][1::2]
        with open(ORDER, "a") as log: print(*numbers, file=log)
        for number, message in zip(numbers, messages):
            ticks = 1000 + 10 * int(message[:2], 16)
            say(f"sample {number} {ticks + 7} {ticks} 1 {DIGESTS[message]}\\n")
        say(f"done {rest[0]}\\n")
    elif word == "quit": sys.exit(0)
"""


def signed(count: int) -> tuple[Input, ...]:
    """``count`` inputs with signatures that are random bytes."""
    rng = np.random.default_rng(1)
    inputs = SPEC.inputs(0, count)
    traces = random_table(
        RejectionModel.for_set(SPEC.set), count, np.random.default_rng(2)
    ).traces()
    return tuple(
        replace(item, trace=trace, pk=rng.bytes(1312), sk=rng.bytes(2560), output=rng.bytes(2420))
        for item, trace in zip(inputs, traces, strict=True)
    )


def batch(count: int, sample: int | None = None) -> InputBatch:
    """The same with traces that have nothing to do with them."""
    table = random_table(RejectionModel.for_set(SPEC.set), count, np.random.default_rng(2))
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
    table = random_table(RejectionModel.for_set("ML-DSA-65"), inputs + added, rng)
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


def python_worker(folder: Path, inputs: Sequence[Input]) -> tuple[WorkerEntry, BuildDirs]:
    """Return a worker that measures: 1,000 ticks, and 10 for each unit of the message's first byte.
    It writes the order of its inputs to ``order.txt``."""
    digests = {item.message.hex(): item.digests.signature for item in inputs}
    known = f"HELLO, DIGESTS = {HELLO_OF_TWO!r}, {digests!r}\n"
    known += f"ORDER = {str(folder / 'order.txt')!r}\n"
    argv = fake_worker(folder, known + MEASURING)
    return WorkerEntry("fake", "Python", ".", (), tuple(argv)), BuildDirs(folder, folder)


def need_valgrind() -> None:
    """Skip the test where Valgrind is missing, unless it is expected."""
    is_missing = shutil.which("valgrind") is None
    if is_missing and not os.environ.get("MLDSA_EXPECT_VALGRIND"):
        pytest.skip("valgrind is not installed")
    assert not is_missing, "valgrind is not installed, and MLDSA_EXPECT_VALGRIND is set"
