"""JMH studies: the operations of a Java worker timed by JMH in forked virtual machines."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Annotated, Literal, TypeVar

from msgspec import Meta, Struct, field, structs

from mldsa_lab import LabError
from mldsa_lab.bench.engine import Workload
from mldsa_lab.bench.fleet import Fleet, WorkerHandle
from mldsa_lab.bench.options import Jmh
from mldsa_lab.bench.workload import Cell, RunContext, WorkloadPlan
from mldsa_lab.checkout import BuildError, run_tool
from mldsa_lab.files import Positive, Text, convert, parse_json, read_text, writing
from mldsa_lab.records import Fault, Row, Samples, WorkerRow
from mldsa_lab.sets import SCHEMES
from mldsa_lab.worker.protocol import format_prepare
from mldsa_lab.worker.registry import BuildDirs

_FAILURE, _DIED = "<failure>", "<forked VM failed"
_REFUSED = "ERROR: "
"""The start of JMH's line on a request that it refuses, such as a second run at the same time."""
T = TypeVar("T")
One = Annotated[tuple[T, ...], Meta(min_length=1, max_length=1)]
_Above0 = Annotated[float, Meta(gt=0)]
_From0 = Annotated[float, Meta(ge=0)]


class Iterations(Struct, frozen=True, rename="camel"):
    """A metric: ``raw_data`` has its values by fork and iteration."""

    raw_data: One[tuple[_Above0, ...]]


class Primary(Iterations, frozen=True, rename="camel"):
    """The time of an operation."""

    score_unit: Literal["ns/op"]


class Collections(Struct, frozen=True, rename="camel"):
    """Garbage collections in each iteration."""

    raw_data: One[tuple[_From0, ...]]


class Secondary(Struct, frozen=True):
    """The benchmark's passes over the inputs, as fractions, and JMH's count of collections."""

    passes: Iterations
    collections: Collections | None = field(name="gc.count", default=None)


class JmhResult(Struct, frozen=True, rename="camel"):
    """One entry, as far as it is needed here."""

    jmh_version: Text
    mode: Literal["avgt"]
    threads: Literal[1]
    vm_name: Text
    vm_version: Text
    measurement_iterations: Positive
    primary_metric: Primary
    secondary_metrics: Secondary

    @property
    def machine(self) -> str:
        """The virtual machine, as the Java worker's `compiler` begins."""
        return f"{self.vm_name} {self.vm_version}"

    @property
    def nanoseconds(self) -> tuple[float, ...]:
        """Of an operation, by iteration."""
        return self.primary_metric.raw_data[0]

    @property
    def passes(self) -> tuple[int, ...]:
        """Passes over the inputs, by iteration."""
        return tuple(map(round, self.secondary_metrics.passes.raw_data[0]))

    @property
    def collections(self) -> tuple[int, ...]:
        """Garbage collections, by iteration. LabError if JMH did not count them."""
        if self.secondary_metrics.collections is None:
            raise LabError("JMH: its profiler gc counted no garbage collections")
        return tuple(map(round, self.secondary_metrics.collections.raw_data[0]))


class _File(Struct, frozen=True):
    results: One[JmhResult]


@dataclass(eq=False)
class JmhRuns(Workload[Cell]):
    """Measures cells by JMH, each in one visit with all iterations.

    ``timeout``: seconds of an iteration beyond its own; ``folder``: new, for JMH's files.
    """

    settings: Jmh
    timeout: float
    fleet: Fleet
    dirs: BuildDirs
    folder: Path
    cases: list[Cell]
    noun = "cells by JMH"
    visits = 1

    def __post_init__(self) -> None:
        self.rounds_of_visit = self.settings.iterations
        with writing(self.folder):
            self.folder.mkdir()

    def sample(self, case: Cell, number: int, turn: int) -> Iterable[Row]:
        handle = self.fleet.handle(case.variant.id)
        named = f"{turn + 1:03}-{case.variant.implementation}-{case.set_name}-{case.operation}"
        inputs, times, result = (
            self.folder / f"{named}.{kind}" for kind in ("inputs", "times", "json")
        )
        try:
            self._prepare(case, inputs)
            self._run(case, handle, inputs, times, result)
            yield from self._rows(case, turn, handle, read_result(result), times)
        except LabError as error:
            result.unlink(missing_ok=True)  # JMH leaves one without a result
            # Its process ran only this cell: no other is excluded.
            yield Fault(case.variant.id, case.set_name, case.operation, None, str(error))
        finally:
            # What is in them is in the record; with messages of 64 KiB they are large.
            for path in (inputs, times):
                path.unlink(missing_ok=True)

    def _prepare(self, cell: Cell, path: Path) -> None:
        if cell.operation == "verify" and not SCHEMES[cell.set_name].traits.has_bytes:
            raise LabError("JMH cannot have keys that stay in a worker")
        announced = self.fleet.announced[cell.variant.id].id
        request = format_prepare(0, announced, cell.set_name, cell.operation, cell.inputs)
        lines = request.decode("ascii").splitlines()[1:-1]
        lines += [f"sha256 {cell.expected[i.id].hex()}" for i in cell.inputs if cell.expected]
        with writing(path):
            path.write_text("".join(f"{line}\n" for line in lines), encoding="ascii")

    def _run(
        self, cell: Cell, handle: WorkerHandle, inputs: Path, times: Path, result: Path
    ) -> None:
        s = self.settings
        command = [
            *handle.entry.fill(handle.entry.jmh, self.dirs),
            "-f", "1", "-foe", "true", "-rf", "json", "-rff", str(result.absolute()),
            "-wi", str(s.warmup_iterations), "-w", _milliseconds(s.warmup_seconds),
            "-i", str(s.iterations), "-r", _milliseconds(s.iteration_seconds),
            "-to", _milliseconds(max(s.warmup_seconds, s.iteration_seconds) + self.timeout),
            "-opi", str(len(cell.inputs)),
            *(("-prof", s.profiler) if s.profiler else ()),
            "-p", f"cell={cell.variant.id}/{cell.set_name}/{cell.operation}",
        ]  # fmt: skip
        environment = {
            "MLDSA_LAB_INPUTS": str(inputs.absolute()),
            "MLDSA_LAB_TIMES": str(times.absolute()),
            **({"MLDSA_LAB_MEMORY": "1"} if s.profiler else {}),
        }
        output: list[str] = []
        try:
            run_tool(command, self.dirs.root, environment, output.append, "JMH")
        except BuildError as error:
            raise LabError(f"JMH: {_failure_reason(output) or error}") from None

    def _rows(
        self, cell: Cell, turn: int, handle: WorkerHandle, result: JmhResult, times: Path
    ) -> list[Samples]:
        if result.machine not in handle.announcement.compiler:
            raise LabError(
                f"JMH ran in {result.machine}, the worker in {handle.announcement.compiler}"
            )
        size = len(cell.inputs)
        taken, allocated = read_times(times, size, memory=bool(self.settings.profiler))
        walls = distribute_over_inputs(result, taken, size)
        inputs = [item.id for item in cell.inputs]
        metrics: list[dict[str, tuple[int, ...]]] = [{"wall": tuple(ns)} for ns in walls]
        if self.settings.profiler:
            metrics = [
                {**wall, "allocated": bytes_, "collections": (count,)}
                for wall, bytes_, count in zip(metrics, allocated, result.collections, strict=True)
            ]
        return [
            cell.samples(number, turn, inputs, values, calls=passes)
            for number, (passes, values) in enumerate(zip(result.passes, metrics, strict=True))
        ]


class JmhPlan(WorkloadPlan):
    """JMH's measurements of the cells of a run."""

    name = "jmh"

    def worker_row(self, handle: WorkerHandle) -> WorkerRow:
        return make_row(handle, self.dirs)

    def workload(self, context: RunContext) -> JmhRuns:
        o = self.options
        assert o.jmh is not None
        folder, cells = context.folder / "jmh", self.cells(context)
        runs = JmhRuns(o.jmh, o.timeout, context.fleet, self.dirs, folder, cells)
        # The first cell follows from the seed, so that it differs from process to process.
        runs.first = o.seed[0]
        return runs


def make_row(handle: WorkerHandle, dirs: BuildDirs) -> WorkerRow:
    """Return the worker's line in a record of measurements by JMH. LabError if it has no JMH."""
    name = handle.name
    command = handle.entry.fill(handle.entry.jmh, dirs)
    if not command:
        raise LabError(f"worker {name}: its entry in the registry has no JMH")
    output: list[str] = []
    run_tool(command, dirs.root, {}, output.append, f"worker {name}: JMH")
    clock = f"JMH {output[-1] if output else ''}, average time by System.nanoTime"
    return structs.replace(handle.row(), clock=clock, cpu_clock=None, warmups={})


def _milliseconds(seconds: float) -> str:
    return f"{round(1000 * seconds)}ms"


def _failure_reason(output: list[str]) -> str | None:
    """Return the line of JMH's output with the reason of its failure."""
    for place, line in enumerate(output):
        if _FAILURE in line and place + 1 < len(output):
            return output[place + 1]
        if _DIED in line or line.startswith(_REFUSED):
            return line.strip()
    return None


def read_result(path: Path) -> JmhResult:
    """The one result in a file. LabError names the file, the place in it and the rule."""
    results = parse_json(read_text(path), str(path))
    (result,) = convert({"results": results}, _File, str(path)).results
    for name, metric in (
        ("primaryMetric", result.primary_metric),
        ("secondaryMetrics.passes", result.secondary_metrics.passes),
        ("secondaryMetrics.gc.count", result.secondary_metrics.collections),
    ):
        if metric is not None and len(metric.raw_data[0]) != result.measurement_iterations:
            raise LabError(
                f"{path}, results[0].{name}.rawData[0]: must have measurementIterations "
                f"({result.measurement_iterations}) entries, has {len(metric.raw_data[0])}"
            )
    return result


def read_times(
    path: Path, inputs: int, *, memory: bool = False
) -> tuple[list[tuple[int, ...]], list[tuple[int, ...]]]:
    """Return the ns of each of so many inputs, by iteration, and with ``memory`` the bytes that
    each allocated. A line of the file has both. LabError names the file, the line and the rule."""
    columns = 2 * inputs if memory else inputs
    rows = []
    for number, line in enumerate(read_text(path).splitlines(), 1):
        words = line.split(" ")
        if len(words) != columns or not all(w.isascii() and w.isdigit() for w in words):
            what = "ns and bytes" if memory else "ns"
            raise LabError(f"{path}, line {number}: must be {columns} whole numbers of {what}")
        rows.append(tuple(map(int, words)))
    return [row[:inputs] for row in rows], [row[inputs:] for row in rows]


def distribute_over_inputs(
    result: JmhResult, times: Sequence[Sequence[int]], inputs: int
) -> list[list[int]]:
    """For each iteration the ns of all passes by input: JMH's own, in the proportions of ``times``.

    LabError unless there is a line of times for each iteration.
    """
    if len(times) != result.measurement_iterations:
        raise LabError(
            f"{len(times)} lines of times for {result.measurement_iterations} iterations of JMH"
        )
    shares = []
    for ns, passes, taken in zip(result.nanoseconds, result.passes, times, strict=True):
        whole, total = ns * inputs * passes, sum(taken)
        parts = taken if total else [1] * inputs
        # Differences of rounded sums: their own sum is the whole.
        ends = [round(whole * (end / (total or inputs))) for end in accumulate(parts)]
        shares.append([b - a for a, b in pairwise([0, *ends])])
    return shares
