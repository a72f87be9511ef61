"""A workload: operations measured one by one or in runs, and the plan of a kind.

Neighbours in a round measure the same operation of different variants. The defaults of a plan are
for single operations.
"""

from __future__ import annotations

import hashlib
import math
from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any

from mldsa_lab.bench.engine import Case, Excluded, Workload
from mldsa_lab.bench.fleet import Fleet, WorkerHandle, role_of, runs_of
from mldsa_lab.bench.options import Options
from mldsa_lab.inputs.input import Input
from mldsa_lab.machine import find_tick
from mldsa_lab.records import DESIGN, RANDOM, Fault, Row, Variant, WorkerRow
from mldsa_lab.sets import LOOKUP, PARAMETER_SETS, SCHEMES
from mldsa_lab.theory.rejection import RejectionModel
from mldsa_lab.worker.cases import flip
from mldsa_lab.worker.protocol import JobInput, Link, Runs, Sample, expected_output, make_job
from mldsa_lab.worker.registry import BuildDirs

SAMPLE_NS = 150_000
"""Shortest sample of a deterministic operation: reading the clocks takes under 1/200 of it."""
WARMUP_NS = 1_000_000
"""Time each cell runs before its samples, to fill caches and predictors that others have used."""
CELL_NS = 250_000_000
"""A slow operation measures fewer inputs a round, so that a cell takes about this long at most."""
_LONG_NS = 4 * CELL_NS
_CALLS_MAX = 100_000
SAMPLE_TICKS = 50
"""Shortest sample in ticks of the clock that is reported."""
# The calibration makes longer samples until they take so many ticks of the finest clock.
_SEEN_TICKS = 5
_LONGER = 8
LARGE_RUN = 1000
"""Runs of more operations on a thread than this are measured in every `_LARGE_EVERY`th round: one
of 10,000 takes as long as everything else. They last so long that they need no warm-up."""
_LARGE_EVERY = 4


@dataclass(slots=True, eq=False)
class Cell(Case):
    """One variant, set and operation, with its inputs and the digests that must come out.

    `expected` has no digest for outputs that differ from call to call. `random` is true for a
    signer whose iterations differ from call to call: each of its calls is a sample. With `runs` its
    samples are of runs, and `expected` has the digest of each by its first input.
    """

    variant: Variant
    set_name: str
    operation: str
    inputs: list[JobInput]
    expected: Mapping[int, bytes]
    random: bool
    runs: Runs | None = None
    calls: int = 0
    job: int = -1
    started: int = -1
    """The start of the worker in which `job` was prepared."""

    def __str__(self) -> str:
        return f"{self.variant.id} {self.set_name} {self.operation}"

    @property
    def group(self) -> Hashable:
        return self.set_name, self.operation

    def excludes(self, other: Case, *, whole: bool) -> bool:
        assert isinstance(other, Cell)
        return other.variant.id == self.variant.id and (whole or other.set_name == self.set_name)

    def fault(self, number: int | None, reason: str, *, whole: bool) -> Fault:
        set_name = None if whole else self.set_name
        return Fault(self.variant.id, set_name, self.operation, number, reason)

    def is_due(self, number: int) -> bool:
        return self.runs is None or self.runs.size <= LARGE_RUN or number % _LARGE_EVERY == 0

    def warmup(self, unit: str) -> int:
        """Ticks to run before the samples: none of a unit that does not tell how long that is."""
        large = self.runs is not None and self.runs.size >= LARGE_RUN
        return 0 if large or unit != "ns" else WARMUP_NS


def times_of(samples: Sequence[Sample | Link]) -> dict[str, tuple[int, ...]]:
    """Return the ticks of samples or links by clock, as a record has them."""
    cpu = tuple(s.cpu for s in samples if s.cpu is not None)
    wall = {"wall": tuple(s.wall for s in samples)}
    return wall | ({"cpu": cpu} if len(cpu) == len(samples) else {})


def role_in(variant: Variant, set_name: str, operation: str) -> str:
    """Return the role of a cell's inputs: designed ones for deterministic signing."""
    if variant.runs:
        return role_of(variant, set_name)
    designed = operation == "sign" and variant.deterministic and set_name in PARAMETER_SETS
    return DESIGN if designed else RANDOM


def make_cell(
    variant: Variant,
    set_name: str,
    operation: str,
    inputs: Sequence[Input],
    runs: Runs | None = None,
) -> Cell:
    """Return a cell over these inputs, by single calls or by runs. The outputs of classical
    references are not known; signatures to verify are made when the cell is prepared."""
    jobs = [make_job(item, operation, variant) for item in inputs]
    every = (expected_output(item, operation, variant) for item in inputs)
    outputs = [output for output in every if output is not None]
    one_by_one = Runs("loop", 1, len(jobs), 1)
    known = len(outputs) == len(jobs)
    expected = _run_digests(jobs, outputs, runs or one_by_one) if known else {}
    hedged = operation in SCHEMES[set_name].traits.random and not variant.deterministic
    return Cell(variant, set_name, operation, jobs, expected, hedged, runs)


def other_message(job: JobInput) -> JobInput:
    """Return the input with another message, for which its signature is not valid."""
    message = job.message or b""
    return replace(job, message=flip(message, len(message) - 1) if message else b"\0")


def _run_digests(
    jobs: Sequence[JobInput], outputs: Sequence[bytes], runs: Runs
) -> dict[int, bytes]:
    """The digest of each run's outputs, all threads one after another, by first input."""
    digests: dict[int, bytes] = {}
    for number in range(runs.count):
        whole = hashlib.sha256()
        for thread in range(runs.threads):
            positions = runs.positions(number, len(jobs), thread)
            whole.update(b"".join(outputs[p] for p in positions))
        digests[jobs[runs.positions(number, len(jobs))[0]].id] = whole.digest()
    return digests


class Operations(Workload[Cell]):
    """Measures cells with the workers of a fleet."""

    noun = "cells"

    def __init__(self, fleet: Fleet, cells: Sequence[Cell] = (), clock: str = "cpu") -> None:
        self.fleet = fleet
        self.cases = list(cells)
        self.clock = clock
        """The clock that is reported where a worker has it: "cpu" or "wall"."""
        self._readings: dict[str, dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
        """Readings of each clock of each worker, from calibration."""
        self._jobs: dict[tuple[str, str, str, int], tuple[int, int]] = {}
        """Start and number of the job that cells of runs over the same inputs share."""

    def is_prepared(self, case: Cell) -> bool:
        handle = self.fleet.handle(case.variant.id)
        return handle.is_running and case.started == handle.starts

    def warm(self, case: Cell, ticks: int) -> Iterable[Row]:
        worker = self.fleet.handle(case.variant.id).worker()
        self.send_job(case)
        self.check(case, worker.measure(case.job, 1, 1, ticks, runs=case.runs))
        return ()

    def prepare(self, case: Cell) -> Iterable[Row]:
        """Choose the number of calls per sample, and the inputs of a slow operation."""
        handle = self.fleet.handle(case.variant.id)
        self.send_job(case)
        if case.runs is not None and case.runs.size > LARGE_RUN:
            case.calls = 1
            return ()
        unit = handle.announcement.unit
        # Twice: the first run of a process pays for page faults and lazily filled tables.
        for _ in range(2):
            warmup = case.warmup(unit)
            samples = handle.worker().measure(case.job, 1, 1, warmup, runs=case.runs)
            if unit != "ns" or sum(s.wall for s in samples) > _LONG_NS:
                break  # beside which that is nothing
        self.check(case, samples)
        case.calls = 1
        if unit != "ns":
            return ()
        designed = case.operation == "sign" and case.set_name in PARAMETER_SETS and not case.random
        is_sample = case.runs is None and not designed
        total = sum(s.wall for s in samples)
        if not case.random:
            case.calls, total = self._calls(case, samples, 2 if is_sample else len(samples))
        if is_sample and total > CELL_NS:
            case.inputs = case.inputs[: max(2, len(case.inputs) * CELL_NS // total)]
            self.send_job(case)
        return ()

    def _calls(self, case: Cell, samples: Sequence[Sample], fewest: int) -> tuple[int, int]:
        """Return the number of calls per sample, and the time that all inputs then take.

        ``samples``: one call of each input; ``fewest``: the least number of inputs to measure. The
        shortest sample takes `SAMPLE_NS`, and `SAMPLE_TICKS` of the reported clock while ``fewest``
        samples take no longer than `CELL_NS`. The reported clock is the wall clock if all inputs
        would take longer by the CPU clock.
        """
        handle, calls = self.fleet.handle(case.variant.id), 1
        readings = self._readings[handle.name]
        while True:
            times = times_of(samples)
            for name, values in times.items():
                readings[name] += values
            ticks = {name: find_tick(readings[name]) for name in times}
            finest = min(times, key=lambda name: (ticks[name], name == "cpu"))
            least, total = min(times[finest]), max(map(sum, times.values()))
            is_seen = (
                least >= max(_SEEN_TICKS * ticks[finest], 1) and max(ticks.values()) < math.inf
            )
            if is_seen or calls * _LONGER > _CALLS_MAX or total * _LONGER > CELL_NS:
                break
            calls *= _LONGER
            samples = handle.worker().measure(case.job, 1, calls, 0, runs=case.runs)
            self.check(case, samples)
        clock = self.clock if self.clock in times and case.variant.threads == 1 else "wall"
        if SAMPLE_TICKS * ticks[clock] * len(samples) > CELL_NS:
            clock = finest
        # Of a clock that hardly moved, the mean tells more than the least.
        whole = sum(times[finest])
        least = least if is_seen else -(-whole // len(samples))
        if not least:
            return calls, total
        enough, longer = (
            -(-round(ns) * calls // least)
            for ns in (SAMPLE_NS, min(SAMPLE_TICKS * ticks[clock], CELL_NS))
        )
        most = CELL_NS * calls * len(samples) // (whole * fewest)
        chosen = min(max(enough, min(longer, most)), _CALLS_MAX)
        return chosen, whole * chosen // calls

    def send_job(self, cell: Cell) -> None:
        """Send the cell's job to the worker's present process."""
        handle = self.fleet.handle(cell.variant.id)
        inputs = cell.inputs
        key = (cell.variant.base, cell.set_name, cell.operation, inputs[0].id)
        started, job = self._jobs.get(key, (-1, 0))
        # A process that a fault ended has prepared nothing that the next one knows.
        if cell.runs is not None and handle.is_running and started == handle.starts:
            cell.started, cell.job = started, job
            return
        if cell.operation == "verify" and not SCHEMES[cell.set_name].traits.has_bytes:
            inputs = self._signed(cell)
        cell.job = handle.prepare(cell.variant, cell.set_name, cell.operation, inputs)
        cell.started = handle.starts
        if cell.runs is not None:
            self._jobs[key] = (cell.started, cell.job)

    def _signed(self, cell: Cell) -> list[JobInput]:
        """Classical signatures to verify."""
        v = cell.variant
        rnd = SCHEMES[cell.set_name].traits.plain_rnd if v.deterministic else None
        jobs = [replace(job, rnd=rnd) for job in cell.inputs]
        signatures = signatures_of(self.fleet, v, cell.set_name, jobs)
        return [replace(job, signature=signatures[job.id]) for job in cell.inputs]

    def sample(self, case: Cell, number: int, turn: int) -> Iterable[Row]:
        handle = self.fleet.handle(case.variant.id)
        worker = handle.worker()
        if case.started != handle.starts:
            self.send_job(case)
        # A signer that draws its own rnd needs many samples for its percentiles.
        passes = 2 if case.random and case.runs is None else 1
        warmup = case.warmup(handle.announcement.unit)
        samples = worker.measure(case.job, passes, case.calls, warmup, runs=case.runs)
        self.check(case, samples)
        phases = handle.announcement.phases if case.runs is None else ()
        parts = {n: tuple(s.phases[place] for s in samples) for place, n in enumerate(phases)}
        inputs = (s.input for s in samples)
        times = times_of(samples)
        yield case.samples(number, turn, inputs, times, calls=case.calls, phases=parts)

    def check(self, cell: Cell, samples: Sequence[Sample]) -> None:
        """Raise `Excluded` if an operation failed or an output is not the expected one."""
        for s in samples:
            if s.failure is not None:
                text = f"{cell.operation} of input {s.input} failed: {s.failure}"
                raise Excluded(text, whole=True)
            expected = cell.expected.get(s.input)
            if expected is not None and s.digest != expected:
                raise Excluded(
                    f"{cell.operation} of input {s.input} gave a wrong output: its digest is "
                    f"{s.digest.hex()[:16]}…, must be {expected.hex()[:16]}…",
                    whole=True,
                )


def signatures_of(
    fleet: Fleet, variant: Variant, set_name: str, jobs: Sequence[JobInput]
) -> dict[int, bytes | None]:
    """Return a variant's own signatures by input, for it to verify: its worker may keep keys to
    itself. `Excluded` if it fails on one."""
    outputs = fleet.handle(variant.id).answer(variant, set_name, "sign", jobs)
    for output in outputs.values():
        if output.failure is not None:
            raise Excluded(f"signing input {output.input} failed: {output.failure}")
    return {number: output.value for number, output in outputs.items()}


def typical_input(cell: Cell, iterations: Mapping[tuple[str, int], int]) -> JobInput:
    """Return the input whose rejection-sampling iterations are nearest to the set's mean."""
    if cell.operation != "sign" or cell.set_name not in PARAMETER_SETS:
        return cell.inputs[0]
    mean = RejectionModel.for_set(cell.set_name).expected_iterations
    return min(cell.inputs, key=lambda i: abs(iterations.get((cell.set_name, i.id), 0) - mean))


@dataclass(frozen=True)
class RunContext:
    """The state of a run after the gate. ``folder``: of the run; ``passed``: pairs of variant id
    and set; ``inputs``: by set."""

    fleet: Fleet
    folder: Path
    variants: Sequence[Variant]
    passed: set[tuple[str, str]]
    inputs: Mapping[str, Sequence[Input]]

    def iterations(self) -> dict[tuple[str, int], int]:
        """Return, by set and input, the iterations of the signatures whose traces are known."""
        return {
            (name, item.id): len(item.trace)
            for name, items in self.inputs.items()
            for item in items
            if item.trace
        }


class WorkloadPlan:
    """The decisions of a run, in the order in which they are needed. LabError ends the run."""

    name = "operations"
    """As the options of a record have it."""
    about_inputs = ""
    """Its signing inputs in words, where they differ from single operations."""
    in_memory = False
    """True if it measures memory: a loop takes the memory of single calls."""

    def __init__(self, options: Options, dirs: BuildDirs) -> None:
        self.options = options
        self.dirs = dirs

    def check_tools(self) -> None:
        """Check that the measuring tools are there, before anything is built."""

    def choose(self, fleet: Fleet, variants: list[Variant]) -> list[Variant]:
        """Return the variants that take part."""
        return variants

    def worker_row(self, handle: WorkerHandle) -> WorkerRow:
        """Return a worker's line in the record."""
        return handle.row()

    def more_inputs(self, set_name: str, first: int) -> list[Input]:
        """Return further inputs of a set, numbered from ``first``."""
        return []

    def workload(self, context: RunContext) -> Workload[Any]:
        """Return the workload over everything that passed the gate."""
        return Operations(context.fleet, self.cells(context), self.options.clock)

    def cells(self, context: RunContext) -> list[Cell]:
        """Return the cells of single operations and runs that passed the gate, grouped by set and
        operation."""
        cells: list[Cell] = []
        o = self.options
        for name, operation, v in product(o.sets, o.operations, context.variants):
            if (v.id, name) not in context.passed or operation not in v.operations:
                continue
            if v.runs and SCHEMES[name].is_slow and operation != "verify":
                continue  # a hundred of them take minutes
            taken = [i for i in context.inputs[name] if i.role == role_in(v, name, operation)]
            if operation == LOOKUP:
                taken = taken[:1]  # which it ignores
            cells.append(make_cell(v, name, operation, taken, runs_of(v, len(taken))))
        return cells
