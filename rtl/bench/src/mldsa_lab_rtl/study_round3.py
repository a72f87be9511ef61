"""Cores of the competition's third round: what the gate, which knows FIPS 204 alone, is to other
cores, a comparison with dilithium-py is to them; then they are measured on the same inputs."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from mldsa_lab.bench.launch import time_limits
from mldsa_lab.errors import LabError
from mldsa_lab.inputs.candidates import candidates
from mldsa_lab.theory.trace import Trace
from mldsa_lab.worker.build import Place, build
from mldsa_lab.worker.protocol import JobInput, Sample
from mldsa_lab.worker.worker import Worker
from mldsa_lab_rtl.entry import core_entry
from mldsa_lab_rtl.manifest import Manifest
from mldsa_lab_rtl.study import PHASES, CoreCell, CoreRow, cell_rows

INPUTS = 16
"""Keys and messages of each set, at random."""


def round_3_rows(
    manifest: Manifest,
    place: Place,
    sets: Sequence[str],
    seed: bytes,
    confidence: float,
    timeout: float,
    progress: Callable[[str], None],
) -> list[CoreRow]:
    """The figures of a core of round 3, made if need be; its configuration is told with the round.

    LabError for the first answer, under random stalls or without, that is not dilithium-py's, for a
    signature that it refuses and for one of another message that it does not."""
    f, entry = manifest.file, core_entry(manifest)
    progress(f"{entry.name}: building")
    build(entry, place, lambda line: None)
    argv = entry.run_command(place.root, place.target)
    core = (f.name, f"{f.configuration}, round 3")
    rows: list[CoreRow] = []
    with Worker.start(entry.name, argv, cwd=place.root, limits=time_limits(timeout)) as worker:
        variants = worker.hello().variants
        for name in (name for name in sets if name in f.sets):
            progress(f"{entry.name} {name}: what dilithium-py makes of {INPUTS} inputs")
            made, traces = _made(name, seed)
            for variant in variants:
                for operation in variant.operations:
                    progress(f"{entry.name} {name}: {operation}")
                    samples = _checked(worker, variant.id, name, operation, made)
                    phases = np.array([sample.phases for sample in samples]).T
                    cell = CoreCell(
                        core, variant.key == "expanded", name, operation, tuple(range(INPUTS)),
                        phases.sum(axis=0), dict(zip(PHASES, phases, strict=True)),
                    )  # fmt: skip
                    rows += cell_rows(cell, traces, confidence)
    return rows


def _made(set_name: str, seed: bytes) -> tuple[list[JobInput], list[Trace]]:
    """Inputs with keys and signatures, and the traces of these."""
    from mldsa_lab_rtl.round3 import Round3

    scheme = Round3(set_name)
    made, traces = [], []
    for number, one in enumerate(candidates(seed, set_name, INPUTS, stream="round 3")):
        pk, sk = scheme.keys(one.seed)
        signature = scheme.sign(sk, one.message)
        made.append(JobInput(number, seed=one.seed, sk=sk, pk=pk, message=one.message, context=b"",
                             rnd=one.rnd, signature=signature))  # fmt: skip
        traces.append(scheme.trace(sk, one.message))
    return made, traces


_TAKES = {
    "keygen": ("seed",),
    "sign": ("seed", "sk", "pk", "message", "context", "rnd"),
    "verify": ("pk", "message", "context", "signature"),
}


def _checked(
    worker: Worker, variant: str, set_name: str, operation: str, made: Sequence[JobInput]
) -> list[Sample]:
    """The samples of an operation on all inputs."""
    where = f"{worker.name} {set_name}, {operation}"
    taken = [
        JobInput(one.id, **{name: getattr(one, name) for name in _TAKES[operation]}) for one in made
    ]
    worker.prepare(1, variant, set_name, operation, taken)
    answers, samples = worker.answer(1), worker.measure(1, 1, 1, 0)
    for one, sample in zip(made, samples, strict=True):
        wanted = {"keygen": one.pk, "sign": one.signature, "verify": b"\1"}[operation]
        answer = answers[one.id]
        right = answer.value == wanted and answer.private_key in (None, b"", one.sk)
        if not (right and sample.digest == hashlib.sha256(wanted or b"").digest()):
            why = answer.failure or sample.failure or "it is not that of dilithium-py"
            raise LabError(f"{where}: the answer to input {one.id}: {why}")
    if operation == "verify":
        others = [replace(one, message=(one.message or b"") + b"x") for one in taken]
        worker.prepare(1, variant, set_name, operation, others)
        if any(answer.value != b"\0" for answer in worker.answer(1).values()):
            raise LabError(f"{where}: a signature of another message is not refused")
    return samples
