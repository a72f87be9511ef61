"""What a core's own counters say, held against the attempts that its inputs are known to take."""

from __future__ import annotations

from mldsa_lab.errors import LabError
from mldsa_lab.theory.trace import Trace
from mldsa_lab.worker.worker import Worker
from mldsa_lab_rtl.manifest import CoreCounters

_NAMES = CoreCounters.__struct_fields__


def own_counters(worker: Worker, job: int, inputs: int) -> list[dict[str, int]]:
    """Of each input of a job that the harness has just performed, those counters that there are."""
    word, *given = worker.raw(f"counters {job}\n".encode()).split(" ")
    lists = [one.split(",") for one in given]
    if word != "counters" or [len(of) for of in lists] != [len(_NAMES)] * inputs:
        raise LabError(f"worker {worker.name}: counters {job}: not {inputs} lists of {len(_NAMES)}")
    return [{n: int(v) for n, v in zip(_NAMES, of, strict=True) if v != "-"} for of in lists]


def check_attempts(told: dict[str, int], trace: Trace) -> None:
    """LabError for a counter of attempts, or of rejections by the check that fails first, that is
    not what the trace says."""
    first = [attempt.failed & -attempt.failed for attempt in trace]
    known = {"attempts": len(trace)}
    known |= {name: first.count(1 << bit) for bit, name in enumerate(("z", "r0", "ct0", "hint"))}
    for name, value in known.items():
        if told.get(name, value) != value:
            raise LabError(f"its counter of {name} says {told[name]}, and there were {value}")
