"""Measuring in interleaved rounds: every round visits every cell once, in a rotated order.

A cell is a variant, a set and an operation. Neighbours in the order measure the same operation of
different variants, so that a disturbance of the machine meets all of them alike; who comes first
changes from round to round, and every second round runs backwards. One worker measures at a time.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import groupby
from typing import TypeVar

from mldsa_lab.bench.examination import ACCEPTED
from mldsa_lab.bench.fleet import Fleet
from mldsa_lab.bench.material import PlainInput, keygen_job, sign_job, verify_job
from mldsa_lab.bench.shapes import role_of
from mldsa_lab.inputs.input import Input
from mldsa_lab.machine import load1
from mldsa_lab.records import DESIGN, RANDOM, Fault, Load, Row, Samples, Variant
from mldsa_lab.sets import PARAMETER_SETS, SCHEMES
from mldsa_lab.worker.protocol import JobInput, Runs, Sample
from mldsa_lab.worker.worker import WorkerFault, WorkerRefusal

SAMPLE_NS = 150_000
"""Shortest sample of a deterministic operation: reading the clocks takes under 1/200 of it."""
WARMUP_NS = 1_000_000
"""Time each cell runs before its samples, to fill caches and predictors that others have used."""
CELL_NS = 250_000_000
"""A slow operation measures fewer inputs a round, so that a cell takes about this long at most."""
_LONG_NS = 4 * CELL_NS
_CALLS_MAX = 100_000
LARGE_RUN = 1000
"""Runs of more operations on a thread than this are measured in every `_LARGE_EVERY`th round: one
of 10,000 takes as long as everything else. They last so long that they need no warm-up."""
_LARGE_EVERY = 4

T = TypeVar("T")


@dataclass(slots=True, eq=False)
class Cell:
    """One variant, set and operation, with its inputs and the digests that must come out.

    `expected` holds no digest for outputs that differ from call to call. `random` is true for a
    signer whose attempts differ from call to call: each of its calls is a sample. With `runs` its
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

    def due(self, number: int) -> bool:
        """Whether round `number` measures it."""
        return self.runs is None or self.runs.size <= LARGE_RUN or number % _LARGE_EVERY == 0

    def warmup(self, unit: str) -> int:
        """Ticks to run before the samples: none of a unit that does not tell how long that is."""
        large = self.runs is not None and self.runs.size >= LARGE_RUN
        return 0 if large or unit != "ns" else WARMUP_NS


class Left(Exception):
    """A variant that has to be left out from here on, in one set or (None) everywhere."""

    def __init__(self, set_name: str | None, reason: str) -> None:
        super().__init__(reason)
        self.set_name = set_name
        self.reason = reason


@dataclass(slots=True)
class Schedule:
    """The cells of a run, and the order of each round."""

    cells: list[Cell] = field(default_factory=list)

    def order(self, number: int) -> list[Cell]:
        """The order of round `number`: rotated by pairs of rounds, odd rounds reversed."""
        due = [c for c in self.cells if c.due(number)]
        groups = [list(cells) for _, cells in groupby(due, key=lambda c: (c.set_name, c.operation))]
        turned = [
            cell for group in rotated(groups, number // 2) for cell in rotated(group, number // 2)
        ]
        return turned[::-1] if number % 2 else turned

    def drop(self, variant_id: str, set_name: str | None) -> None:
        """Leave out a variant, in one set or everywhere."""
        self.cells = [
            c
            for c in self.cells
            if c.variant.id != variant_id or (set_name is not None and c.set_name != set_name)
        ]


def rotated(items: Sequence[T], by: int) -> list[T]:
    """The items from number ``by`` on, then those before it."""
    by %= max(len(items), 1)
    return [*items[by:], *items[:by]]


def role_in(variant: Variant, set_name: str, operation: str) -> str:
    """The role of the inputs that a cell takes: designed ones where signing is deterministic."""
    if variant.runs:
        return role_of(variant, set_name)
    designed = operation == "sign" and variant.deterministic and set_name in PARAMETER_SETS
    return DESIGN if designed else RANDOM


def make_cell(
    variant: Variant,
    set_name: str,
    operation: str,
    inputs: Sequence[Input | PlainInput],
    runs: Runs | None = None,
) -> Cell:
    """A cell over these inputs, by single calls or by runs. Of classical references what comes out
    is not known, and signatures to verify are made when the cell is prepared."""
    pairs = [job_and_output(item, variant, operation) for item in inputs]
    jobs = [job for job, _ in pairs]
    outputs = [output for _, output in pairs if output is not None]
    expected: dict[int, bytes] = {}
    if len(outputs) == len(jobs) and runs is not None:
        expected = _run_digests(jobs, outputs, runs)
    elif len(outputs) == len(jobs):
        digests = (hashlib.sha256(output).digest() for output in outputs)
        expected = {job.id: digest for job, digest in zip(jobs, digests, strict=True)}
    hedged = operation in SCHEMES[set_name].kin.random and not variant.deterministic
    return Cell(variant, set_name, operation, jobs, expected, hedged, runs)


def job_and_output(
    item: Input | PlainInput, variant: Variant, operation: str
) -> tuple[JobInput, bytes | None]:
    """What the worker is handed, and the output, None where it is not known."""
    if isinstance(item, PlainInput):
        return item.job(operation, variant), item.expected(operation, variant)
    match operation:
        case "lookup":
            return JobInput(item.id), b""
        case "keygen":
            return keygen_job(item), item.made.pk
        case "verify":
            return verify_job(item), ACCEPTED
        case _:
            known = item.made.signature if variant.deterministic else None
            return sign_job(item, variant), known


def _run_digests(
    jobs: Sequence[JobInput], outputs: Sequence[bytes], runs: Runs
) -> dict[int, bytes]:
    """The digest of each run's outputs, those of all threads one after another, by first input."""
    digests: dict[int, bytes] = {}
    for number in range(runs.count):
        whole = hashlib.sha256()
        for thread in range(runs.threads):
            positions = runs.positions(number, len(jobs), thread)
            whole.update(b"".join(outputs[p] for p in positions))
        digests[jobs[runs.positions(number, len(jobs))[0]].id] = whole.digest()
    return digests


class Bench:
    """Measures cells with the workers of a fleet; what happens goes to `write` as record rows."""

    def __init__(self, fleet: Fleet, schedule: Schedule, write: Callable[[Row], None]) -> None:
        self.fleet = fleet
        self.schedule = schedule
        self._write = write
        self._jobs: dict[tuple[str, str, str, int], tuple[int, int]] = {}
        """Start and number of the job that cells of runs over the same inputs share."""

    @property
    def left(self) -> Sequence[Cell]:
        """The cells that are still measured."""
        return self.schedule.cells

    def calibrate(self, on_cell: Callable[[Cell], None]) -> None:
        """Prepare every cell and choose its number of calls per sample."""
        self._warm_up(None, self.schedule.cells, on_cell)
        for cell in list(self.schedule.cells):
            if cell in self.schedule.cells:
                on_cell(cell)
                if not self._guarded(cell, None, partial(self._calibrate, cell)):
                    # Those before it too, whose first round would be in a process not warmed up.
                    self._warm_up(None, self.schedule.cells, on_cell)

    def round(self, number: int, on_cell: Callable[[Cell, float], None]) -> None:
        """Visit every cell once; `on_cell` gets each and the part of the round behind it.

        Each round has processes of its own. Where a process's memory happens to lie makes some
        operations faster or slower by percents for as long as it lives; in one process that would
        be a bias that no interval shows, over rounds it is scatter that every interval holds.
        """
        if number > 0:
            self.fleet.stop()
            self._warm_up(number, self.schedule.order(number), lambda cell: on_cell(cell, 0.0))
        self._write(Load(number, load1()))
        order = self.schedule.order(number)
        for turn, cell in enumerate(order):
            # Another cell's fault may have left this one out meanwhile.
            if cell in self.schedule.cells:

                def show(shown: Cell, part: float = turn / len(order)) -> None:
                    on_cell(shown, part)

                show(cell)
                if not self._guarded(cell, number, partial(self._visit, cell, number, turn)):
                    self._warm_up(number, order[turn + 1 :], show)

    def _warm_up(
        self, number: int | None, cells: Sequence[Cell], on_cell: Callable[[Cell], None]
    ) -> None:
        """Let the cells of new processes run for as long as their variants ask, in equal shares.

        All do so before any is measured: a compiler that works meanwhile compiles what cells have
        in common once, and compiles it again when another cell shows it more. Where one breaks
        down, those that were warm in its process begin again in the next.
        """
        of_variant = Counter(cell.variant.base for cell in cells)
        ticks = {b: self.fleet.announced[b].warmup // count for b, count in of_variant.items()}
        due = [cell for cell in cells if ticks[cell.variant.base]]
        while cold := [c for c in due if c in self.schedule.cells and not self._prepared(c)]:
            for cell in cold:
                on_cell(cell)
                share = ticks[cell.variant.base]
                if not self._guarded(cell, number, partial(self._run_warm, cell, share)):
                    break

    def _prepared(self, cell: Cell) -> bool:
        """Whether the worker's present process, if there is one, has the cell's job."""
        station = self.fleet.station(cell.variant.id)
        return station.running and cell.started == station.starts

    def _run_warm(self, cell: Cell, ticks: int) -> None:
        worker = self.fleet.station(cell.variant.id).worker()
        self.prepare(cell)
        self.check(cell, worker.measure(cell.job, 1, 1, ticks, runs=cell.runs))

    def _visit(self, cell: Cell, number: int, turn: int) -> None:
        self._write(self._measured(cell, number, turn))

    def _guarded(self, cell: Cell, number: int | None, action: Callable[[], None]) -> bool:
        """Do it, or leave the variant out; whether it was done."""
        try:
            action()
            return True
        except WorkerFault as fault:
            self._leave(cell, number, None, fault.rule)
        except WorkerRefusal as refusal:
            self._leave(cell, number, cell.set_name, f"the worker refused: {refusal.text}")
        except Left as left:
            if left.set_name is None:
                self.fleet.station(cell.variant.id).kill()
            self._leave(cell, number, left.set_name, left.reason)
        return False

    def _leave(self, cell: Cell, number: int | None, set_name: str | None, reason: str) -> None:
        self.schedule.drop(cell.variant.id, set_name)
        self._write(Fault(cell.variant.id, set_name, cell.operation, number, reason))

    def _calibrate(self, cell: Cell) -> None:
        station = self.fleet.station(cell.variant.id)
        self.prepare(cell)
        if cell.runs is not None and cell.runs.size > LARGE_RUN:
            cell.calls = 1
            return
        unit = station.announcement.unit
        # Twice: the first run of a process pays for page faults and lazily filled tables.
        for _ in range(2):
            warmup = cell.warmup(unit)
            samples = station.worker().measure(cell.job, 1, 1, warmup, runs=cell.runs)
            if unit != "ns" or sum(s.wall for s in samples) > _LONG_NS:
                break  # beside which that is nothing
        self.check(cell, samples)
        cell.calls = 1
        if unit != "ns":
            return
        ticks = [s.wall for s in samples]
        if not cell.random:
            cell.calls = min(max(-(-SAMPLE_NS // max(min(ticks), 1)), 1), _CALLS_MAX)
        designed = cell.operation == "sign" and cell.set_name in PARAMETER_SETS and not cell.random
        total = sum(ticks) * cell.calls
        if cell.runs is not None:
            return
        if total > CELL_NS and not designed:
            cell.inputs = cell.inputs[: max(2, len(cell.inputs) * CELL_NS // total)]
            self.prepare(cell)

    def prepare(self, cell: Cell) -> None:
        """Hand over the cell's job, in the worker's present process."""
        station = self.fleet.station(cell.variant.id)
        inputs = cell.inputs
        key = (cell.variant.base, cell.set_name, cell.operation, inputs[0].id)
        started, job = self._jobs.get(key, (-1, 0))
        # A process that a fault ended has prepared nothing that the next one knows.
        if cell.runs is not None and station.running and started == station.starts:
            cell.started, cell.job = started, job
            return
        if cell.operation == "verify" and not SCHEMES[cell.set_name].kin.encoded:
            inputs = self._signed(cell)
        cell.job = station.prepare(cell.variant.id, cell.set_name, cell.operation, inputs)
        cell.started = station.starts
        if cell.runs is not None:
            self._jobs[key] = (cell.started, cell.job)

    def _signed(self, cell: Cell) -> list[JobInput]:
        """Classical signatures to verify, of the process that will: it may keep keys to itself."""
        v = cell.variant
        rnd = SCHEMES[cell.set_name].kin.plain_rnd if v.deterministic else None
        jobs = [replace(job, rnd=rnd) for job in cell.inputs]
        made = self.fleet.station(v.id).answer(v.id, cell.set_name, "sign", jobs)
        for output in made.values():
            if output.failure is not None:
                raise Left(cell.set_name, f"signing input {output.input} failed: {output.failure}")
        return [replace(job, signature=made[job.id].value) for job in cell.inputs]

    def _measured(self, cell: Cell, number: int, turn: int) -> Samples:
        station = self.fleet.station(cell.variant.id)
        worker = station.worker()
        if cell.started != station.starts:
            self.prepare(cell)
        # A signer that draws its own rnd needs many samples for its percentiles.
        passes = 2 if cell.random and cell.runs is None else 1
        warmup = cell.warmup(station.announcement.unit)
        samples = worker.measure(cell.job, passes, cell.calls, warmup, runs=cell.runs)
        self.check(cell, samples)
        cpu = [s.cpu for s in samples if s.cpu is not None]
        phases = station.announcement.phases if cell.runs is None else ()
        return Samples(
            round=number,
            turn=turn,
            variant=cell.variant.id,
            set=cell.set_name,
            operation=cell.operation,
            calls=cell.calls,
            inputs=tuple(s.input for s in samples),
            wall=tuple(s.wall for s in samples),
            cpu=tuple(cpu) if len(cpu) == len(samples) else None,
            phases={
                name: tuple(s.phases[place] for s in samples) for place, name in enumerate(phases)
            },
        )

    def check(self, cell: Cell, samples: Sequence[Sample]) -> None:
        """`Left` if an operation failed or an output is not the one that must come out."""
        for s in samples:
            if s.failure is not None:
                raise Left(None, f"{cell.operation} of input {s.input} failed: {s.failure}")
            expected = cell.expected.get(s.input)
            if expected is not None and s.digest != expected:
                raise Left(
                    None,
                    f"{cell.operation} of input {s.input} gave a wrong output: its digest is "
                    f"{s.digest.hex()[:16]}…, must be {expected.hex()[:16]}…",
                )
