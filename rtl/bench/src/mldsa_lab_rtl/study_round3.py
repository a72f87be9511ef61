"""Cores of the competition's third round. The gate knows FIPS 204 only, so that dilithium-py takes
its place; cycles are those of the same inputs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from mldsa_lab.errors import LabError
from mldsa_lab.estimate.figure import Figure
from mldsa_lab.inputs.candidates import candidates
from mldsa_lab.theory.trace import Trace
from mldsa_lab.worker.protocol import JobInput, Sample
from mldsa_lab.worker.worker import Worker
from mldsa_lab_rtl.core_worker import measure, start_core
from mldsa_lab_rtl.manifest import Manifest
from mldsa_lab_rtl.study import LOADED, PHASES, core_keys, operation_figures

INPUTS = 16
"""Random keys and messages of each set."""
_TAKES = {
    "keygen": ("seed",),
    "sign": ("seed", "sk", "pk", "message", "context", "rnd"),
    "verify": ("pk", "message", "context", "signature"),
}


def round_3_rows(
    manifest: Manifest, sets: Sequence[str], seed: bytes, show: Callable[[str], None]
) -> Iterator[Figure]:
    """Yield the figures of a core of round 3; its configuration names the round.

    LabError for the first answer, under random stalls or without, that is not dilithium-py's, for a
    valid signature that it rejects and for one of another message that it accepts.
    """
    f = manifest.file
    with start_core(manifest, show) as worker:
        variants = worker.hello().variants
        for name in (name for name in sets if name in f.sets):
            show(f"{worker.name} {name}: {INPUTS} inputs by dilithium-py")
            jobs, traces = _jobs(name, seed)
            keys = core_keys(f.name, f"{f.configuration}, round 3", name)
            for variant in variants:
                for operation in variant.operations:
                    show(f"{worker.name} {name}: {operation}")
                    samples = _checked(worker, variant.id, name, operation, jobs)
                    cycles = np.array([sample.phases for sample in samples]).T
                    phases = dict(zip(PHASES, cycles, strict=True))
                    figure = operation + LOADED * (variant.key == "expanded")
                    yield from operation_figures(keys, figure, phases, traces, 0.95)


def _jobs(set_name: str, seed: bytes) -> tuple[list[JobInput], list[Trace]]:
    """Inputs with keys and signatures, and the traces of these."""
    from mldsa_lab_rtl.round3 import Round3

    scheme = Round3(set_name)
    jobs, traces = [], []
    for number, one in enumerate(candidates(seed, set_name, INPUTS, stream="round 3")):
        pk, sk = scheme.keys(one.seed)
        signature = scheme.sign(sk, one.message)
        jobs.append(JobInput(number, seed=one.seed, sk=sk, pk=pk, message=one.message, context=b"",
                             rnd=one.rnd, signature=signature))  # fmt: skip
        traces.append(scheme.trace(sk, one.message))
    return jobs, traces


def _checked(
    worker: Worker, variant: str, set_name: str, operation: str, jobs: Sequence[JobInput]
) -> list[Sample]:
    """Return the samples of an operation on all inputs."""
    taken = [
        JobInput(job.id, **{name: getattr(job, name) for name in _TAKES[operation]}) for job in jobs
    ]
    right = {"keygen": "pk", "sign": "signature"}
    outputs = [getattr(job, right[operation]) if operation in right else b"\1" for job in jobs]
    samples = measure(worker, variant, set_name, operation, taken, outputs)
    where = f"{worker.name} {set_name}, {operation}"
    # Answers are given under random stalls, measurements without.
    for job, output, answer in zip(jobs, outputs, worker.answer(1).values(), strict=True):
        if answer.value != output or answer.private_key not in (None, b"", job.sk):
            why = answer.failure or "it is not that of dilithium-py"
            raise LabError(f"{where}: the answer to input {job.id}: {why}")
    if operation == "verify":
        others = [replace(job, message=(job.message or b"") + b"x") for job in taken]
        worker.prepare(1, variant, set_name, operation, others)
        if any(answer.value != b"\0" for answer in worker.answer(1).values()):
            raise LabError(f"{where}: a signature of another message is accepted")
    return samples
