"""Cells measured by JMH, the Java Microbenchmark Harness: a run of it, in one fork, for each cell.

The worker's registry entry says how JMH is started. Its benchmark prepares a cell's inputs by the
worker's own code, makes passes over them, and checks their outputs before it is timed and after
every iteration. An iteration is a round of the record. What JMH says of an operation is the mean
over the inputs, which is shared out among them by the clock that is read between them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from msgspec import structs

from mldsa_lab.bench.engine import Workload
from mldsa_lab.bench.fleet import Fleet, Station
from mldsa_lab.bench.options import Jmh
from mldsa_lab.bench.workloads.jmh_result import JmhResult, read_result, read_times, shared_out
from mldsa_lab.bench.workloads.operations import Cell
from mldsa_lab.bench.workloads.plan import Ready, WorkloadPlan
from mldsa_lab.checkout import BuildError, run_tool
from mldsa_lab.errors import LabError
from mldsa_lab.files import writing
from mldsa_lab.records import Fault, Row, Samples, WorkerRow
from mldsa_lab.sets import SCHEMES
from mldsa_lab.worker.build import Place
from mldsa_lab.worker.protocol import format_prepare

_FAILURE, _DIED = "<failure>", "<forked VM failed"


class JmhRuns(Workload[Cell]):
    """Measures cells by JMH, each in one visit that holds all iterations."""

    noun = "cells by JMH"
    visits = 1

    def __init__(
        self,
        settings: Jmh,
        timeout: float,
        fleet: Fleet,
        place: Place,
        folder: Path,
        cells: Sequence[Cell],
    ) -> None:
        """``timeout``: seconds of an iteration beyond its own; ``folder``: new, for JMH's files."""
        self._settings = settings
        self.rounds_of_visit = settings.iterations
        self._timeout = timeout
        self._fleet = fleet
        self._place = place
        self._folder = folder
        self._cells = list(cells)
        with writing(folder):
            folder.mkdir()

    def cases(self) -> list[Cell]:
        return self._cells

    def is_prepared(self, case: Cell) -> bool:
        return True  # JMH warms up in a process of its own

    def sample(self, case: Cell, number: int, turn: int) -> Iterable[Row]:
        station = self._fleet.station(case.variant.id)
        named = f"{turn + 1:03}-{case.variant.implementation}-{case.set_name}-{case.operation}"
        inputs, times, result = (
            self._folder / f"{named}.{kind}" for kind in ("inputs", "times", "json")
        )
        try:
            self._prepare(case, inputs)
            self._run(case, station, inputs, times, result)
            yield from self._rows(case, turn, station, read_result(result), times)
        except LabError as error:
            result.unlink(missing_ok=True)  # JMH leaves one without a result
            # Its process ran this cell alone: no other is excluded.
            yield Fault(case.variant.id, case.set_name, case.operation, None, str(error))
        finally:
            # What is in them is in the record; with messages of 64 KiB they are large.
            for path in (inputs, times):
                path.unlink(missing_ok=True)

    def _prepare(self, cell: Cell, path: Path) -> None:
        if cell.operation == "verify" and not SCHEMES[cell.set_name].kin.encoded:
            raise LabError("JMH cannot have keys that stay in a worker")
        announced = self._fleet.announced[cell.variant.id].id
        request = format_prepare(0, announced, cell.set_name, cell.operation, cell.inputs)
        lines = request.decode("ascii").splitlines()[1:-1]
        lines += [f"sha256 {cell.expected[i.id].hex()}" for i in cell.inputs if cell.expected]
        with writing(path):
            path.write_text("".join(f"{line}\n" for line in lines), encoding="ascii")

    def _run(self, cell: Cell, station: Station, inputs: Path, times: Path, result: Path) -> None:
        s = self._settings
        command = [
            *station.entry.jmh_command(self._place.root, self._place.target),
            "-f", "1", "-foe", "true", "-rf", "json", "-rff", str(result.absolute()),
            "-wi", str(s.warmup_iterations), "-w", _milliseconds(s.warmup_seconds),
            "-i", str(s.iterations), "-r", _milliseconds(s.iteration_seconds),
            "-to", _milliseconds(max(s.warmup_seconds, s.iteration_seconds) + self._timeout),
            "-opi", str(len(cell.inputs)),
            "-p", f"cell={cell.variant.id}/{cell.set_name}/{cell.operation}",
        ]  # fmt: skip
        environment = {
            "MLDSA_LAB_INPUTS": str(inputs.absolute()),
            "MLDSA_LAB_TIMES": str(times.absolute()),
        }
        said: list[str] = []
        try:
            run_tool(command, self._place.root, environment, said.append, "JMH")
        except BuildError as error:
            raise LabError(f"JMH: {_why(said) or error}") from None

    def _rows(
        self, cell: Cell, turn: int, station: Station, result: JmhResult, times: Path
    ) -> list[Samples]:
        if result.machine not in station.announcement.compiler:
            raise LabError(
                f"JMH ran in {result.machine}, the worker in {station.announcement.compiler}"
            )
        size = len(cell.inputs)
        shared = shared_out(result, read_times(times, size), size)
        inputs = [item.id for item in cell.inputs]
        return [
            cell.samples(number, turn, inputs, {"wall": tuple(ns)}, calls=passes)
            for number, (passes, ns) in enumerate(zip(result.passes, shared, strict=True))
        ]


class JmhPlan(WorkloadPlan):
    """JMH's measurements of the cells of a run."""

    def worker_row(self, station: Station) -> WorkerRow:
        return row_of(station, self.place)

    def workload(self, ready: Ready) -> JmhRuns:
        o = self.options
        assert o.jmh is not None
        folder, cells = ready.folder / "jmh", self.cells(ready)
        made = JmhRuns(o.jmh, o.timeout, ready.fleet, self.place, folder, cells)
        # The first cell follows from the seed, so that it differs from process to process.
        made.first = o.seed[0]
        return made


def row_of(station: Station, place: Place) -> WorkerRow:
    """The worker's line in a record of what JMH measured. LabError if it has no JMH."""
    name = station.name
    command = station.entry.jmh_command(place.root, place.target)
    if not command:
        raise LabError(f"worker {name}: its entry in the registry has no JMH")
    said: list[str] = []
    run_tool(command, place.root, {}, said.append, f"worker {name}: JMH")
    clock = f"JMH {said[-1] if said else ''}, average time by System.nanoTime"
    return structs.replace(station.row(), clock=clock, cpu_clock=None, warmups={})


def _milliseconds(seconds: float) -> str:
    return f"{round(1000 * seconds)}ms"


def _why(said: list[str]) -> str | None:
    """The line of JMH's output that says why it failed."""
    for place, line in enumerate(said):
        if _FAILURE in line and place + 1 < len(said):
            return said[place + 1]
        if _DIED in line:
            return line.strip()
    return None
