"""A core as a running worker: measured outputs, compared with the expected ones, and its own
counters, compared with known rejections."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence

from mldsa_lab.bench.launch import time_limits
from mldsa_lab.checkout import find_root
from mldsa_lab.errors import LabError
from mldsa_lab.theory.trace import Trace
from mldsa_lab.worker.build import Place, build
from mldsa_lab.worker.protocol import JobInput, Sample
from mldsa_lab.worker.worker import Worker
from mldsa_lab_rtl.entry import core_entry
from mldsa_lab_rtl.manifest import CoreCounters, Manifest

TIMEOUT = 600.0
"""Seconds that a core has for one request."""
_JOB = 1
_NAMES = CoreCounters.__struct_fields__


def start_core(manifest: Manifest, show: Callable[[str], None]) -> Worker:
    """Build a core's worker and start it."""
    entry, place = core_entry(manifest), Place.of(find_root())
    show(f"{entry.name}: building")
    build(entry, place, lambda line: None)
    argv = entry.run_command(place.root, place.target)
    return Worker.start(entry.name, argv, cwd=place.root, limits=time_limits(TIMEOUT))


def measure(
    worker: Worker,
    variant: str,
    set_name: str,
    operation: str,
    jobs: Sequence[JobInput],
    outputs: Sequence[bytes],
) -> list[Sample]:
    """Perform each job once. LabError for the first output that is not the expected one."""
    worker.prepare(_JOB, variant, set_name, operation, jobs)
    samples = worker.measure(_JOB, 1, 1, 0)
    for job, sample, output in zip(jobs, samples, outputs, strict=True):
        if sample.digest != hashlib.sha256(output).digest():
            why = sample.failure or "it is not the expected one"
            raise LabError(
                f"{worker.name} {set_name}, {operation}: the answer to input {job.id}: {why}"
            )
    return samples


def own_counters(worker: Worker, job: int, inputs: int) -> list[dict[str, int]]:
    """Return the core's counters for each input of a job that the harness has just performed."""
    word, *given = worker.raw(f"counters {job}\n".encode()).split(" ")
    lists = [one.split(",") for one in given]
    if word != "counters" or [len(of) for of in lists] != [len(_NAMES)] * inputs:
        raise LabError(f"worker {worker.name}: counters {job}: not {inputs} lists of {len(_NAMES)}")
    return [{n: int(v) for n, v in zip(_NAMES, of, strict=True) if v != "-"} for of in lists]


def check_attempts(told: dict[str, int], trace: Trace) -> None:
    """LabError if a counter of attempts, or of rejections by the first failing check, differs from
    the trace."""
    first = [attempt.failed & -attempt.failed for attempt in trace]
    known = {"attempts": len(trace)}
    known |= {name: first.count(1 << bit) for bit, name in enumerate(("z", "r0", "ct0", "hint"))}
    for name, value in known.items():
        if told.get(name, value) != value:
            raise LabError(f"its counter of {name} says {told[name]}, and there were {value}")
