"""What single operations take of memory, by the workers that are timed, unchanged.

*Stack and heap*: the worker runs with `workers/meter/meter.c` loaded before its libraries, which
finds the timed regions by the worker's own readings of the clocks. *Traffic*: the worker runs under
two tools of Valgrind, once for one pass over an input and once for `1 + PASSES`; the difference is
that of the operations alone. Outputs are compared with the expected ones, as while timing.
"""

from __future__ import annotations

import hashlib
import re
import shutil
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import Self, TypeVar

from msgspec import structs

from mldsa_lab.bench.fleet import Fleet, Station
from mldsa_lab.bench.rounds import Bench, Cell, Left, Schedule
from mldsa_lab.checkout import BuildError, run_tool
from mldsa_lab.errors import LabError
from mldsa_lab.files import writing
from mldsa_lab.records import Fault, MemoryRow, Row, TrafficRow
from mldsa_lab.sets import PARAMETER_SETS
from mldsa_lab.theory.rejection import RejectionModel
from mldsa_lab.worker.build import Place
from mldsa_lab.worker.protocol import JobInput
from mldsa_lab.worker.worker import Limits

COMPILED = ("Rust", "C", "C++", "Zig")
"""Languages of workers whose operations use the thread's stack and the C library's heap. Others
have a runtime, whose own stacks, heap and collector a meter would show."""
PASSES = 4
"""Operations that traffic is the mean of."""
VALGRIND = "valgrind"
CACHES = ("--I1=32768,8,64", "--D1=32768,8,64", "--LL=1048576,16,64")
"""The simulated caches (bytes, ways, bytes of a line), the same on every machine: a first level,
and a last one as large as a core's second level on present servers."""

# Bytes of each type of value that Lackey counts.
_WIDTHS = {"I8": 1, "I16": 2, "I32": 4, "I64": 8, "I128": 16, "F32": 4, "F64": 8, "F128": 16,
           "V128": 16, "V256": 32, "D32": 4, "D64": 8, "D128": 16}  # fmt: skip
_TYPE = re.compile(r"^==\d+== +([A-Z]\d+) +([\d,]+) +([\d,]+) +[\d,]+$", re.MULTILINE)
Measured = TypeVar("Measured", MemoryRow, TrafficRow)
_SOURCE = Path("workers") / "meter" / "meter.c"


def build_meter(place: Place) -> Path:
    """The meter as a library, compiled if its source is new. BuildError if it cannot be."""
    if sys.platform != "linux":
        raise BuildError("the meter needs Linux with glibc: no stack and heap here", [])
    source = place.root / _SOURCE
    digest = hashlib.sha256(source.read_bytes()).hexdigest()[:16]
    library = place.target / "meter" / f"meter-{digest}.so"
    if not library.exists():
        with writing(library):
            library.parent.mkdir(parents=True, exist_ok=True)
        command = ("cc", "-O2", "-Wall", "-shared", "-fPIC", "-o")
        new = library.with_suffix(".new")
        run_tool([*command, str(new), str(source)], place.root, {}, lambda line: None, "meter")
        new.replace(library)
    return library


@dataclass(frozen=True, slots=True)
class MeteredRegion:
    """What the meter says of one operation, in bytes but for `allocations`."""

    stack: int
    painted: int
    heap: int
    allocations: int
    allocated: int


def read_regions(text: str) -> list[MeteredRegion]:
    """The lines of the meter."""
    return [MeteredRegion(*map(int, line.split())) for line in text.splitlines()]


def read_lackey(text: str) -> tuple[int, int]:
    """Bytes read and written, of Lackey's detailed counts. LabError if there are none."""
    rows = [(_WIDTHS.get(kind, 0), loads, stores) for kind, loads, stores in _TYPE.findall(text)]
    if not rows:
        raise LabError("Lackey gave no counts by type")
    counted = [(w, int(r.replace(",", "")), int(s.replace(",", ""))) for w, r, s in rows]
    return sum(w * r for w, r, _ in counted), sum(w * s for w, _, s in counted)


def read_cachegrind(text: str) -> tuple[int, int, int]:
    """Instructions, misses of the first and of the last level for data, of Cachegrind's file."""
    found = {line.split(": ")[0]: line.split(": ")[1].split() for line in text.splitlines()
             if line.startswith(("events: ", "summary: "))}  # fmt: skip
    if len(found) != 2:
        raise LabError("Cachegrind's file has no summary")
    counts = dict(zip(found["events"], map(int, found["summary"]), strict=True))
    return counts["Ir"], counts["D1mr"] + counts["D1mw"], counts["DLmr"] + counts["DLmw"]


class MemoryBench:
    """Measures the memory of cells; what happens goes to ``write`` as record rows."""

    def __init__(
        self,
        fleet: Fleet,
        place: Place,
        limits: Limits,
        write: Callable[[Row], None],
        attempts: Mapping[tuple[str, int], int],
    ) -> None:
        """``attempts``: those of each set's inputs."""
        self._fleet = fleet
        self._place = place
        self._limits = limits
        self._temporary = TemporaryDirectory(prefix="mldsa-memory-")
        self._folder = Path(self._temporary.name)
        self._write = write
        self._attempts = attempts
        self._metered = Fleet()
        self._lines: dict[str, Path] = {}
        try:
            self._meter, self._no_meter = build_meter(place), ""
        except BuildError as error:
            self._meter, self._no_meter = Path(), f"the meter could not be built: {error}"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._metered.__exit__(kind, error, trace)
        self._temporary.cleanup()

    def _written(
        self, cell: Cell, row: Measured, why: str, measured: Callable[[], Measured]
    ) -> None:
        """Write what was measured, or the row with the reason why not, or a fault."""
        try:
            self._write(structs.replace(row, lacking=why) if why else measured())
        except Left as error:
            where = (cell.variant.id, cell.set_name, cell.operation)
            self._write(Fault(*where, None, error.reason))
        except LabError as error:
            self._write(structs.replace(row, lacking=str(error)))

    def _own_runtime(self, cell: Cell) -> str:
        """Why a cell's worker cannot be looked into, if it cannot."""
        language = self._fleet.station(cell.variant.id).announcement.language
        if language in COMPILED:
            return ""
        return f"a {language} runtime keeps stacks and a heap of its own"

    def _typical(self, cell: Cell) -> JobInput:
        """The input whose attempts are nearest to the mean number of its set."""
        if cell.operation != "sign" or cell.set_name not in PARAMETER_SETS:
            return cell.inputs[0]
        mean = RejectionModel.of(cell.set_name).expected_attempts
        return min(
            cell.inputs, key=lambda i: abs(self._attempts.get((cell.set_name, i.id), 0) - mean)
        )

    # --- stack and heap ---------------------------------------------------------------------------

    def meter(self, cell: Cell) -> None:
        """The row of a cell's stack and heap, or of why it has none."""
        row = MemoryRow(cell.variant.id, cell.set_name, cell.operation, lacking="")
        why = self._own_runtime(cell) or self._no_meter
        self._written(cell, row, why, lambda: self._metered_row(cell, row))

    def _metered_row(self, cell: Cell, row: MemoryRow) -> MemoryRow:
        station = self._fleet.station(cell.variant.id)
        name = station.name
        if name not in self._lines:
            self._lines[name] = path = self._folder / f"{name.replace(':', '-')}.meter"
            path.touch()
            env = {"LD_PRELOAD": str(self._meter), "MLDSA_METER": str(path)}
            self._metered.add(Station(station.entry, self._place, self._limits, env=env))
        path = self._lines[name]
        bench = Bench(self._metered, Schedule(), self._write)
        own = replace(cell)
        bench.prepare(own)
        before = path.stat().st_size
        samples = self._metered.station(cell.variant.id).worker().measure(own.job, 1, 1, 0)
        bench.check(own, samples)
        found = read_regions(path.read_bytes()[before:].decode("ascii"))
        if len(found) < len(samples):  # there may be more, of the warm-up
            raise LabError("the meter does not see it read the clocks")
        found = found[-len(samples) :]
        if any(r.stack >= r.painted for r in found):
            raise LabError("it takes more stack than could be painted")
        return structs.replace(
            row,
            lacking=None,
            samples=len(samples),
            stack=max(r.stack for r in found),
            heap=max(r.heap for r in found),
            allocations=max(r.allocations for r in found),
            allocated=max(r.allocated for r in found),
        )

    # --- traffic ----------------------------------------------------------------------------------

    def traffic(self, cell: Cell) -> None:
        """The row of a cell's traffic, or of why it has none."""
        row = TrafficRow(cell.variant.id, cell.set_name, cell.operation, lacking="")
        none = "" if shutil.which(VALGRIND) else "Valgrind is not installed"
        other = "it draws its own rnd, and no two of its signatures take as much"
        why = self._own_runtime(cell) or (other if cell.random else none)
        self._written(cell, row, why, lambda: self._traffic_row(cell, row))

    def _traffic_row(self, cell: Cell, row: TrafficRow) -> TrafficRow:
        entry = self._fleet.station(cell.variant.id).entry
        one = replace(cell, inputs=[self._typical(cell)])
        number, signs = one.inputs[0].id, cell.operation == "sign"
        log = self._folder / "valgrind"
        told = Path(f"{log}.log")
        counts = Path(f"{log}.counts")
        lackey = ["--tool=lackey", "--detailed-counts=yes"]
        cachegrind = [
            "--tool=cachegrind", "--cache-sim=yes", f"--cachegrind-out-file={counts}", *CACHES,
        ]  # fmt: skip

        def run(tool: list[str], passes: int) -> None:
            prefix = [VALGRIND, *tool, f"--log-file={told}"]
            own = Station(entry, self._place, self._limits, prefix=prefix)
            with Fleet() as fleet:
                fleet.add(own)
                if cell.variant.id not in fleet.variants:
                    raise LabError(
                        f"Valgrind's CPU does not have what {cell.variant.backend} needs"
                    )
                bench = Bench(fleet, Schedule(), self._write)
                there = replace(one)
                bench.prepare(there)
                bench.check(there, own.worker().measure(there.job, passes, 1, 0))

        def counted(tool: list[str], read: Callable[[], tuple[int, ...]]) -> list[int]:
            run(tool, 1)
            first = read()
            run(tool, 1 + PASSES)
            return [round((b - a) / PASSES) for a, b in zip(first, read(), strict=True)]

        read, written = counted(lackey, lambda: read_lackey(told.read_text()))
        instructions, first, last = counted(cachegrind, lambda: read_cachegrind(counts.read_text()))
        return structs.replace(
            row,
            lacking=None,
            input=number,
            attempts=self._attempts.get((cell.set_name, number)) if signs else None,
            instructions=instructions,
            read=read,
            written=written,
            first_misses=first,
            last_misses=last,
        )
