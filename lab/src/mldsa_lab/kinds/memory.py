"""Records of stack, heap and memory traffic."""

from __future__ import annotations

from mldsa_lab.bench.workloads.memory import MemoryPlan
from mldsa_lab.estimate.memory import memory_figures
from mldsa_lab.kinds.kind import ROW_KEYS, Kind
from mldsa_lab.records import Record
from mldsa_lab.show.figure_tables import Bars, SpreadColumns, TableLayout
from mldsa_lab.sizes import OBJECTS, raw_bytes


def _memory_layouts(record: Record) -> tuple[TableLayout, ...]:
    columns = tuple(
        SpreadColumns(name, title, spare=spare)
        for name, title, spare in (
            ("stack", "stack", 0), ("heap", "heap", 0), ("heap_each", "heap of one", 0),
            ("allocations", "allocations", 2), ("kept", "key", 0), ("attempts", "attempts", 1),
            ("read", "read", 0), ("written", "written", 0),
            ("first_misses", "misses of 32 KiB", 3), ("last_misses", "of 1 MiB", 3),
            ("first_hits", "hits in 32 KiB", 4),
        )
    )  # fmt: skip
    bars = (
        Bars("Stack, heap and key", ("stack", "heap", "kept"), ("stack", "heap", "key made ready")),
        Bars("Read and written", ("read", "written"), ("read", "written")),
    )
    rows = ("operation", *ROW_KEYS, "batch_size", "threads")
    return (TableLayout("Memory, {set}", ("set",), rows, columns, bars=bars, of_bars="operation"),)


def _memory_notes(record: Record) -> list[str]:
    made = []
    for name in dict.fromkeys(row.set for row in record.samples):
        sizes = ", ".join(f"{o} {size:,}" for o in OBJECTS if (size := raw_bytes(name, o)))
        made += [f"{name}, bytes: {sizes}."] if sizes else []
    return made


_METHOD = (
    "Stack and heap are the maximum of each over the inputs, not necessarily at the same "
    "moment. A key made ready is kept while it is used. Reads and writes are all of a core's, "
    "those that its first cache serves too; caches are simulated, warm, and the same on every "
    "machine."
)
KIND = Kind(
    "memory",
    MemoryPlan,
    _METHOD,
    lambda record, figures: "Memory of each operation",
    lambda record, confidence: memory_figures(record),
    _memory_layouts,
    notes=_memory_notes,
)
