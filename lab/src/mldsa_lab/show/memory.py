"""What operations take of memory, of a record: a table for each set, rows, Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from mldsa_lab.errors import LabError
from mldsa_lab.records import MemoryRow, Record, TrafficRow, Variant, WorkerRow
from mldsa_lab.sets import ALL_SETS, OPERATIONS
from mldsa_lab.show.format import MISSING, Unit, number, plain
from mldsa_lab.show.grid import Column, Grid, markdown
from mldsa_lab.sizes import OBJECTS, raw_bytes

KIB = Unit(1024.0, "KiB")
_STACK_HEAP = ("stack", "heap", "allocations", "allocated", "kept")
_TRAFFIC = ("attempts", "instructions", "read", "written", "first_misses", "last_misses")


@dataclass(frozen=True, slots=True)
class MemoryLine:
    """An operation of a variant: bytes, but `allocations`, `attempts`, `instructions` and misses
    are numbers. None where a figure is not known; `stack_lacking` and `traffic_lacking` say why.
    Figures are of a call: of ``batch_size`` operations on each of ``threads``. ``kept``: of a key
    that is ready; ``input``: the one that traffic is of."""

    implementation: str
    version: str
    language: str
    backend: str
    build: str | None
    key: str
    mode: str
    batch_size: int
    threads: int
    set: str
    operation: str
    stack: int | None
    heap: int | None
    allocations: int | None
    allocated: int | None
    kept: int | None
    stack_lacking: str | None
    input: int | None
    attempts: int | None
    instructions: int | None
    read: int | None
    written: int | None
    first_misses: int | None
    last_misses: int | None
    traffic_lacking: str | None
    public_key: int | None
    private_key: int | None
    signature: int | None
    ciphertext: int | None

    @property
    def single(self) -> bool:
        """Whether a call is one operation by the interface for one."""
        return self.mode == "single"

    @property
    def call(self) -> str:
        """What a call is."""
        if self.single:
            return "single"
        on = f", {self.threads} threads" if self.threads > 1 else ""
        return f"batch of {self.batch_size:,}{on}"

    @property
    def heap_each(self) -> float | None:
        """The call's heap over its operations."""
        return None if self.heap is None else self.heap / (self.batch_size * self.threads)

    @property
    def reasons(self) -> list[str]:
        """Why figures are lacking."""
        return [r for r in (self.stack_lacking, self.traffic_lacking) if r]


def lines(record: Record) -> list[MemoryLine]:
    """A line for each variant, set and operation, in that order of sets and operations. LabError
    if the record has no memory."""
    if not record.memories:
        raise LabError("the record has no memory rows: `mldsa-lab memory` makes them")
    traffic = {(row.variant, row.set, row.operation): row for row in record.traffic}
    of = {v.id: (w, v) for w in record.workers for v in w.variants}
    found = [
        _line(*of[row.variant], row, traffic.get((row.variant, row.set, row.operation)))
        for row in record.memories
    ]
    sets, operations = list(ALL_SETS), list(OPERATIONS)
    return sorted(found, key=lambda r: (sets.index(r.set), operations.index(r.operation)))


def _line(worker: WorkerRow, v: Variant, row: MemoryRow, moved: TrafficRow | None) -> MemoryLine:
    artefacts = {name.replace(" ", "_"): raw_bytes(row.set, name) for name in OBJECTS}
    return MemoryLine(
        v.implementation, v.version, worker.language_of(v), v.backend, worker.build, v.key,
        v.mode, v.batch_size, v.threads, row.set, row.operation,
        **{name: getattr(row, name) for name in _STACK_HEAP},
        stack_lacking=row.lacking,
        input=moved.input if moved else None,
        **{name: getattr(moved, name) if moved else None for name in _TRAFFIC},
        traffic_lacking=moved.lacking if moved else None,
        **artefacts,
    )  # fmt: skip


def as_rows(listed: Sequence[MemoryLine]) -> list[dict[str, Any]]:
    """The lines as rows of JSON."""
    return [asdict(line) for line in listed]


def grids(listed: Sequence[MemoryLine]) -> Iterator[Grid]:
    """A table for each set."""
    for name in dict.fromkeys(line.set for line in listed):
        yield _grid(name, [line for line in listed if line.set == name])


def _grid(set_name: str, listed: Sequence[MemoryLine]) -> Grid:
    artefacts = {name: raw_bytes(set_name, name) for name in OBJECTS}
    weights = ", ".join(f"{name} {size:,}" for name, size in artefacts.items() if size)
    columns = [
        Column("operation", [line.operation for line in listed]),
        Column("implementation", [line.implementation for line in listed], head=True),
        Column("backend", [line.backend for line in listed]),
        Column("key", [line.key for line in listed]),
    ]
    if len({line.build for line in listed if line.build}) > 1:
        columns.append(Column("build", [line.build or MISSING for line in listed]))

    batches = not all(line.single for line in listed)
    if batches:
        columns.append(Column("call", [line.call for line in listed]))

    def add(title: str, figure: str, unit: Unit | None = None, spare: int = 0) -> None:
        values = [getattr(line, figure) for line in listed]
        if any(value is not None for value in values):
            cells = [number(v, 0) if unit is None else plain(v, unit) for v in values]
            columns.append(Column(title, cells, number=True, spare=spare))

    add("stack, KiB", "stack", KIB)
    add("heap, KiB", "heap", KIB)
    if batches:
        add("heap of one, KiB", "heap_each", KIB)
    add("allocations", "allocations", spare=2)
    add("key, KiB", "kept", KIB)
    add("attempts", "attempts", spare=1)
    add("read, KiB", "read", KIB)
    add("written, KiB", "written", KIB)
    add("misses of 32 KiB", "first_misses", spare=3)
    add("of 1 MiB", "last_misses", spare=3)
    note = f"bytes of the {weights}" if weights else ""
    return Grid(f"Memory, {set_name}", note, tuple(columns))


def remarks(listed: Sequence[MemoryLine]) -> list[str]:
    """Why figures are lacking, each reason once with whom it is about."""
    found: dict[str, dict[str, None]] = {}
    for line in listed:
        for reason in line.reasons:
            found.setdefault(reason, {})[f"{line.implementation}:{line.backend}"] = None
    return [f"{', '.join(who)}: {reason}" for reason, who in found.items()]


def as_markdown(listed: Sequence[MemoryLine]) -> str:
    """The tables as Markdown."""
    parts = [f"### {g.title}\n\n{_sentence(g.note)}{markdown(g)}" for g in grids(listed)]
    listed_remarks = "".join(f"- {text}\n" for text in remarks(listed))
    return "\n".join([*parts, *([listed_remarks] if listed_remarks else [])])


def _sentence(note: str) -> str:
    return f"{note[:1].upper()}{note[1:]}.\n\n" if note else ""
