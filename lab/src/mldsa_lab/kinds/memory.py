"""The kind `memory`: stack, heap and traffic of operations, by the workers that are timed.

*Stack and heap*, of single calls and batches: the worker runs with `workers/meter/meter.c` loaded
before its libraries. The worker's own readings of the clocks mark the timed regions and, before
them, the preparation of keys.

*Traffic*, of single calls: the worker runs under two tools of Valgrind, once for one pass over an
input and once for `1 + PASSES`. The difference belongs to the operations only. Outputs are compared
with the expected ones, as in a timed run.
"""

from __future__ import annotations

import hashlib
import shutil
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import numpy as np

from mldsa_lab import LabError
from mldsa_lab.bench.engine import Excluded, Workload
from mldsa_lab.bench.fleet import Fleet, WorkerHandle
from mldsa_lab.bench.launch import time_limits
from mldsa_lab.bench.workload import Cell, Operations, RunContext, WorkloadPlan, typical_input
from mldsa_lab.checkout import BuildError, run_tool
from mldsa_lab.estimate.figure import Figure, Key
from mldsa_lab.files import writing
from mldsa_lab.kinds.kind import ROW_KEYS, TableKind
from mldsa_lab.records import Definition, Fault, Record, Row, Samples
from mldsa_lab.sets import ALL_SETS, OBJECTS, OPERATIONS, TLS_OPERATIONS, raw_bytes
from mldsa_lab.show.figure_tables import KIB, Bars, SpreadColumns, TableLayout
from mldsa_lab.theory.rejection import RejectionModel
from mldsa_lab.theory.trace import TraceTable, parse_trace
from mldsa_lab.worker.protocol import JobInput
from mldsa_lab.worker.registry import BuildDirs
from mldsa_lab.worker.worker import Limits, WorkerFault, WorkerRefusal

# Figures.


_FIGURES: dict[str, dict[str, tuple[str, dict[str, Key], str]]] = {
    "stack and heap": {
        "stack": ("stack", {}, "B"), "heap": ("heap", {}, "B"),
        "allocations": ("allocations", {}, ""), "allocated": ("allocated", {}, "B"),
        "kept": ("kept", {}, "B"),
    },
    "traffic": {
        "input": ("input", {}, ""), "attempts": ("count", {"of": "attempts"}, ""),
        "instructions": ("instructions", {}, ""), "read": ("read", {}, "B"),
        "written": ("written", {}, "B"), "accesses": ("accesses", {}, ""),
        "first_misses": ("misses", {"level": "first"}, ""),
        "last_misses": ("misses", {"level": "last"}, ""),
        "first_hits": ("hits", {"level": "first"}, ""),
        "last_hits": ("hits", {"level": "last"}, ""),
    },
}  # fmt: skip
"""By part of a record and metric: the name, further keys and unit of the figure."""


def memory_figures(record: Record) -> list[Figure]:
    """Return the figures of a record's memory, in the order of sets and operations.

    Figures are of a call: of ``batch_size`` operations on each of ``threads``; ``heap`` also of one
    operation of it. ``kept`` is of a key that is ready. LabError if the record has no memory.
    """
    rows: dict[tuple[str, str, str], dict[str, Definition | Samples]] = {}
    lines: list[tuple[str, Definition | Samples]]
    lines = [(str(s.shape["memory"]), s) for s in record.samples if "memory" in s.shape]
    lines += [(d.name, d) for d in record.definitions if d.kind == "memory" and d.variant]
    for part, line in lines:
        cell = (str(line.set), str(line.operation), str(line.variant))
        rows.setdefault(cell, {})[part] = line
    if not rows:
        raise LabError("the record has no memory rows: `mldsa-lab bench --kind memory` makes them")
    order = sorted(rows, key=lambda c: (ALL_SETS.index(c[0]), OPERATIONS.index(c[1])))
    figures = []
    for cell in order:
        set_name, operation, variant = cell
        v = record.variant(variant)
        keys: dict[str, Key] = {"set": set_name, "operation": operation, "variant": variant}
        for part, metrics in _FIGURES.items():
            if part not in rows[cell]:
                continue
            row = rows[cell][part]
            notes = (row.lacking,) if isinstance(row, Definition) and row.lacking else ()
            values: dict[str, float] = {}
            if isinstance(row, Samples):
                try:
                    values = _reduce_metrics(record, row)
                except LabError as error:
                    notes = (str(error),)
            for metric, (name, further, unit) in metrics.items():
                value = values.get(metric)
                if value is not None or notes:
                    figures.append(Figure({**keys, **further}, name, value, unit=unit, notes=notes))
            if v.mode != "single" and "heap" in values:
                each = values["heap"] / v.per_call
                figures.append(Figure({**keys, "per": "operation"}, "heap", each, unit="B"))
        for name in OBJECTS:
            if (size := raw_bytes(set_name, name)) is not None:
                figures.append(Figure({**keys, "object": name}, "bytes", size, unit="B"))
    return figures


def _reduce_metrics(record: Record, line: Samples) -> dict[str, float]:
    """Return the largest value of each metric, or its mean for the traffic of several signatures.

    Also the input where there is one, and the shares of accesses that hit the first or last cache.
    """
    values: dict[str, float] = {name: max(numbers) for name, numbers in line.metrics.items()}
    if "accesses" in values and line.operation == "sign" and len(line.inputs) > 1:
        values = _average_signatures(record, line)
    if accesses := values.get("accesses"):
        for level in ("first", "last"):
            values[f"{level}_hits"] = 1 - values[f"{level}_misses"] / accesses
    return values | ({"input": line.inputs[0]} if len(line.inputs) == 1 else {})


def _average_signatures(record: Record, line: Samples) -> dict[str, float]:
    """Return the mean traffic over all signatures, estimated from some.

    Least squares find the cost of the first iteration, of one that z rejects and of another
    rejected one. Their mean numbers are from the exact distribution. LabError for too few different
    signatures.
    """
    model = RejectionModel.for_set(line.set)
    texts = [record.input(line.set, number).trace or () for number in line.inputs]
    traces = [parse_trace(text, line.set) for text in texts]
    rejected = TraceTable.from_traces(line.set, traces).counts()
    matrix = np.column_stack([np.ones(len(traces)), rejected[:, 0], rejected[:, 1:].sum(axis=1)])
    if np.linalg.matrix_rank(matrix) < matrix.shape[1]:
        raise LabError(f"{len(traces)} signatures are too few, or too much alike, for their mean")
    expected = np.array([1, model.expected_counts[0], model.expected_counts[1:].sum()])
    values = {}
    for name, counted in line.metrics.items():
        costs = np.linalg.lstsq(matrix, np.array(counted, dtype=np.float64), rcond=None)[0]
        values[name] = max(0.0, float(expected @ costs))
    return values


# Workload.


COMPILED = ("Rust", "C", "C++", "Zig")
"""Languages of workers whose operations use the thread's stack and the C library's heap. Others
have a runtime, whose own stacks, heap and collector a meter would show."""
COLLECTED = ("Go",)
"""Compiled languages with a runtime: reads and writes can be counted, with the collector's."""
PASSES = 4
"""Operations that traffic is the mean of."""
SIGNATURES = 5
"""Signatures at most whose traffic is counted, from the fewest iterations to the most."""
VALGRIND = "valgrind"
CACHES = ("--I1=32768,8,64", "--D1=32768,8,64", "--LL=1048576,16,64")
"""The simulated caches (bytes, ways, bytes of a line), the same on every machine.

The first level, and a last level as large as a core's second level on present servers.
"""

# Bytes of each type of value that Lackey counts.
_WIDTHS = {"I8": 1, "I16": 2, "I32": 4, "I64": 8, "I128": 16, "F32": 4, "F64": 8, "F128": 16,
           "V128": 16, "V256": 32, "D32": 4, "D64": 8, "D128": 16}  # fmt: skip
_KEPT = "kept "
# Operations before which no key is made ready.
_KEYLESS = ("keygen", "hash", *TLS_OPERATIONS, "lookup")
STACK_HEAP, TRAFFIC = "stack and heap", "traffic"
"""The parts of a memory record."""
_SOURCE = Path("lab") / "workers" / "meter" / "meter.c"


def build_meter(dirs: BuildDirs) -> Path:
    """The meter as a library, compiled if its source is new. BuildError if it cannot be."""
    if sys.platform != "linux":
        raise BuildError("the meter needs Linux with glibc: no stack and heap here", [])
    source = dirs.root / _SOURCE
    digest = hashlib.sha256(source.read_bytes()).hexdigest()[:16]
    library = dirs.target / "meter" / f"meter-{digest}.so"
    if not library.exists():
        with writing(library):
            library.parent.mkdir(parents=True, exist_ok=True)
        command = ("cc", "-O2", "-Wall", "-shared", "-fPIC", "-o")
        new = library.with_suffix(".new")
        run_tool([*command, str(new), str(source)], dirs.root, {}, lambda line: None, "meter")
        new.replace(library)
    return library


class MeteredRegion(NamedTuple):
    """The meter's counts of one operation, in bytes except `allocations`."""

    stack: int
    painted: int
    heap: int
    allocations: int
    allocated: int


def read_regions(text: str) -> list[MeteredRegion]:
    """The meter's lines of timed regions."""
    lines = [line for line in text.splitlines() if not line.startswith(_KEPT)]
    return [MeteredRegion(*map(int, line.split())) for line in lines]


def read_kept(text: str) -> list[int]:
    """The meter's lines of prepared inputs: the bytes that each keeps."""
    return [int(line[len(_KEPT) :]) for line in text.splitlines() if line.startswith(_KEPT)]


def read_lackey(text: str) -> tuple[int, int]:
    """Bytes read and written, of Lackey's detailed counts. LabError if there are none."""
    lines = (line.replace(",", "").split() for line in text.splitlines())
    rows = [(_WIDTHS[line[1]], line) for line in lines if len(line) == 5 and line[1] in _WIDTHS]
    if not rows:
        raise LabError("Lackey gave no counts by type")
    return sum(w * int(line[2]) for w, line in rows), sum(w * int(line[3]) for w, line in rows)


def read_cachegrind(text: str) -> tuple[int, int, int, int]:
    """Instructions, accesses to data, their misses of the first and of the last level, of
    Cachegrind's file."""
    parts = {line.split(": ")[0]: line.split(": ")[1].split() for line in text.splitlines()
             if line.startswith(("events: ", "summary: "))}  # fmt: skip
    if len(parts) != 2:
        raise LabError("Cachegrind's file has no summary")
    counts = dict(zip(parts["events"], map(int, parts["summary"]), strict=True))
    data, first, last = (counts[f"D{part}r"] + counts[f"D{part}w"] for part in ("", "1m", "Lm"))
    return counts["Ir"], data, first, last


def _read_added(path: Path, size: int) -> str:
    """Return the text that was added to a file of so many bytes."""
    return path.read_bytes()[size:].decode("ascii")


def _strip_input(job: JobInput) -> JobInput:
    """The input without message and context, where it has them."""
    return replace(
        job,
        message=None if job.message is None else b"",
        context=None if job.context is None else b"",
    )


@dataclass(eq=False)
class Memory(Workload[Cell]):
    """Measures stack and heap of cells, and with ``has_traffic`` their traffic, in one visit each.

    ``iterations``: of each set and input. BuildError if there is no meter.
    """

    fleet: Fleet
    dirs: BuildDirs
    limits: Limits
    iterations: Mapping[tuple[str, int], int]
    cases: list[Cell]
    has_traffic: bool
    noun = "cells"
    visits = 1

    def __post_init__(self) -> None:
        self._temporary = TemporaryDirectory(prefix="mldsa-memory-")
        self._folder = Path(self._temporary.name)
        self._metered = Fleet()
        self._lines: dict[str, Path] = {}
        self._meter = build_meter(self.dirs)

    def close(self) -> None:
        self._metered.stop()
        self._temporary.cleanup()

    def definitions(self) -> Iterable[Row]:
        yield Definition("memory", STACK_HEAP)
        if self.has_traffic:
            content = {"operations": PASSES, "caches": list(CACHES)}
            yield Definition("memory", TRAFFIC, content)

    def sample(self, case: Cell, number: int, turn: int) -> Iterable[Row]:
        yield from self.meter(case)
        if self.has_traffic:
            yield from self.traffic(case)

    def _try_row(
        self, cell: Cell, part: str, why: str, measured: Callable[[], Samples]
    ) -> Iterable[Row]:
        """The samples, or the reason why there are none, and a fault if it is one."""
        about = (cell.variant.id, cell.set_name, cell.operation)
        try:
            if not why:
                yield measured()
                return
        except Excluded as error:
            yield Fault(*about, None, str(error))
            why = str(error)
        except LabError as error:
            why = str(error)
        yield Definition("memory", part, {}, *about, lacking=why)

    def _find_language(self, cell: Cell) -> str:
        return self.fleet.handle(cell.variant.id).announcement.language

    # --- stack and heap ---------------------------------------------------------------------------

    def meter(self, cell: Cell) -> Iterable[Row]:
        """The row of a cell's stack and heap, or of why it has none."""

        def measured() -> Samples:
            try:
                return self._meter_cell(cell)
            except WorkerFault as fault:
                raise Excluded(fault.rule) from None
            except WorkerRefusal as refusal:
                raise Excluded(f"the worker refused: {refusal.text}") from None

        language = self._find_language(cell)
        own = f"a {language} runtime keeps stacks and a heap of its own"
        return self._try_row(cell, STACK_HEAP, "" if language in COMPILED else own, measured)

    def _meter_cell(self, cell: Cell) -> Samples:
        handle = self.fleet.handle(cell.variant.id)
        name = handle.name
        if name not in self._lines:
            self._lines[name] = path = self._folder / f"{name.replace(':', '-')}.meter"
            path.touch()
            env = {"LD_PRELOAD": str(self._meter), "MLDSA_METER": str(path)}
            self._metered.add(WorkerHandle(handle.entry, self.dirs, self.limits, env=env))
        path = self._lines[name]
        # By the id of single calls: the fleet with the meter knows no shapes.
        own = replace(cell, variant=self._metered.variants[cell.variant.base])
        operations = Operations(self._metered)
        kept = self._measure_key(own, path) if cell.runs is None else None
        operations.send_job(own)
        before = path.stat().st_size
        worker = self._metered.handle(own.variant.id).worker()
        samples = worker.measure(own.job, 1, 1, 0, runs=cell.runs)
        operations.check(own, samples)
        worker.forget(own.job)
        threads = cell.runs.threads if cell.runs else 1
        regions = read_regions(_read_added(path, before))
        if len(regions) < threads * len(samples):  # there may be more, of the warm-up
            raise LabError("the meter does not see it read the clocks")
        regions = regions[-threads * len(samples) :]
        if any(r.stack >= r.painted for r in regions):
            raise LabError("it takes more stack than could be painted")
        # Of several threads one waits for another, and together they may take what each does.
        runs = [regions[at : at + threads] for at in range(0, len(regions), threads)]
        metrics = {"stack": tuple(max(r.stack for r in run) for run in runs)}
        for name in ("heap", "allocations", "allocated"):
            metrics[name] = tuple(sum(getattr(r, name) for r in run) for run in runs)
        metrics |= {} if kept is None else {"kept": (kept,)}
        inputs = (s.input for s in samples)
        return cell.samples(0, 0, inputs, metrics, shape={"memory": STACK_HEAP})

    def _measure_key(self, cell: Cell, path: Path) -> int | None:
        """Return the bytes that a prepared key keeps, with the little that is prepared with it.

        None if the operation has no key or the worker does not report its preparation.
        """
        if cell.operation in _KEYLESS:
            return None
        by_key = {(i.seed, i.sk, i.pk): i for i in cell.inputs}
        # Two keys: work that a process does once does not count for the second one.
        few = [_strip_input(i) for i in by_key.values()][:2]
        before = path.stat().st_size
        handle = self._metered.handle(cell.variant.id)
        job = handle.prepare(cell.variant, cell.set_name, cell.operation, few)
        handle.worker().forget(job)
        kept = read_kept(_read_added(path, before))
        return kept[1] if len(kept) == 2 else None

    # --- traffic ----------------------------------------------------------------------------------

    def traffic(self, cell: Cell) -> Iterable[Row]:
        """Return the row of a cell's traffic, or of the reason why it has none; only for single
        calls."""
        if cell.runs is not None:
            return ()
        why, language = "", self._find_language(cell)
        if language not in (*COMPILED, *COLLECTED):
            why = f"a {language} runtime compiles or interprets while it runs, beside the operation"
        elif cell.random:
            why = "it draws its own rnd, and no two of its signatures take as much"
        return self._try_row(cell, TRAFFIC, why, lambda: self._count_inputs(cell))

    def _count_inputs(self, cell: Cell) -> Samples:
        """Return the traffic of the typical input, and of signatures of few and many iterations."""
        inputs = [typical_input(cell, self.iterations)]
        if cell.operation == "sign" and (cell.set_name, inputs[0].id) in self.iterations:
            ordered = sorted(cell.inputs, key=lambda i: self.iterations[cell.set_name, i.id])
            steps = range(SIGNATURES - 1)
            inputs += [ordered[n * (len(ordered) - 1) // (SIGNATURES - 2)] for n in steps]
        inputs = list(dict.fromkeys(inputs))
        counted = [self._count_input(replace(cell, inputs=[one])) for one in inputs]
        values = {name: tuple(c[name] for c in counted) for name in counted[0]}
        numbers = tuple(one.id for one in inputs)
        return cell.samples(0, 0, numbers, values, shape={"memory": TRAFFIC})

    def _count_input(self, one: Cell) -> dict[str, int]:
        """Return the traffic of the cell's only input."""
        entry = self.fleet.handle(one.variant.id).entry
        log, counts = self._folder / "valgrind.log", self._folder / "valgrind.counts"
        lackey = ["--tool=lackey", "--detailed-counts=yes"]
        cachegrind = [
            "--tool=cachegrind", "--cache-sim=yes", f"--cachegrind-out-file={counts}", *CACHES,
        ]  # fmt: skip

        def run(tool: list[str], passes: int) -> None:
            prefix = [VALGRIND, *tool, f"--log-file={log}"]
            own = WorkerHandle(entry, self.dirs, self.limits, prefix=prefix)
            with Fleet() as fleet:
                fleet.add(own)
                if one.variant.id not in fleet.variants:
                    raise LabError(f"Valgrind's CPU does not have what {one.variant.backend} needs")
                operations = Operations(fleet)
                there = replace(one)
                operations.send_job(there)
                operations.check(there, own.worker().measure(there.job, passes, 1, 0))

        def counted(tool: list[str], read: Callable[[], tuple[int, ...]]) -> list[int]:
            run(tool, 1)
            first = read()
            run(tool, 1 + PASSES)
            # Misses of a process differ by chance, and so below 0 where an operation has none.
            return [max(0, round((b - a) / PASSES)) for a, b in zip(first, read(), strict=True)]

        read, written = counted(lackey, lambda: read_lackey(log.read_text()))
        instructions, accesses, first, last = counted(
            cachegrind, lambda: read_cachegrind(counts.read_text())
        )
        iterations = self.iterations.get((one.set_name, one.inputs[0].id))
        metrics = {
            "instructions": instructions,
            "read": read,
            "written": written,
            "accesses": accesses,
            "first_misses": first,
            "last_misses": last,
        }
        if one.operation == "sign" and iterations is not None:
            metrics["attempts"] = iterations
        return metrics


class MemoryPlan(WorkloadPlan):
    """Memory of the cells of a run."""

    name = "memory"
    in_memory = True

    def check_tools(self) -> None:
        build_meter(self.dirs)
        if self.options.traffic and shutil.which(VALGRIND) is None:
            raise LabError("bytes read and written are counted by Valgrind, which is not installed")

    def workload(self, context: RunContext) -> Memory:
        o = self.options
        limits, cells = time_limits(o.timeout), self.cells(context)
        iterations = context.iterations()
        return Memory(context.fleet, self.dirs, limits, iterations, cells, o.traffic)


# The kind.


def _memory_layouts(record: Record) -> tuple[TableLayout, ...]:
    columns = (
        SpreadColumns("stack", "stack", unit=KIB),
        SpreadColumns("heap", "heap", unit=KIB),
        SpreadColumns("heap", "heap of one", keys={"per": "operation"}, unit=KIB),
        SpreadColumns("allocations", "allocations", spare=2),
        SpreadColumns("kept", "key", unit=KIB),
        SpreadColumns("count", "attempts", keys={"of": "attempts"}, spare=1),
        SpreadColumns("read", "read", unit=KIB),
        SpreadColumns("written", "written", unit=KIB),
        SpreadColumns("misses", "misses of 32 KiB", keys={"level": "first"}, spare=3),
        SpreadColumns("misses", "of 1 MiB", keys={"level": "last"}, spare=3),
        SpreadColumns("hits", "hits in 32 KiB", keys={"level": "first"}, spare=4),
    )
    parts = ("stack", "heap", "kept"), ("stack", "heap", "key made ready")
    bars = (
        Bars("Stack, heap and key", *parts, KIB),
        Bars("Read and written", ("read", "written"), ("read", "written"), KIB),
    )
    rows = ("operation", *ROW_KEYS, "batch_size", "threads")
    return (TableLayout("Memory, {set}", ("set",), rows, columns, bars=bars, bar_key="operation"),)


def _memory_notes(record: Record) -> list[str]:
    notes = []
    for name in dict.fromkeys(row.set for row in record.samples):
        sizes = ", ".join(f"{o} {size:,}" for o in OBJECTS if (size := raw_bytes(name, o)))
        notes += [f"{name}, bytes: {sizes}."] if sizes else []
    return notes


_METHOD = (
    "Stack and heap are the maximum of each over the inputs, not necessarily at the same "
    "moment. A key made ready is kept while it is used. Reads and writes are all of a core's, "
    "those that its first cache serves too; caches are simulated, warm, and the same on every "
    "machine."
)
KIND = TableKind(
    "memory",
    MemoryPlan,
    _METHOD,
    lambda record, figures: "Memory of each operation",
    lambda record, confidence: memory_figures(record),
    _memory_layouts,
    notes=_memory_notes,
)
