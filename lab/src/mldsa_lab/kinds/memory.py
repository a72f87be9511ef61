"""Records of stack, heap and memory traffic."""

from __future__ import annotations

from mldsa_lab.bench.workloads.memory import MemoryPlan
from mldsa_lab.estimate.memory import memory_figures
from mldsa_lab.kinds.kind import ROW_KEYS, TableKind
from mldsa_lab.records import Record
from mldsa_lab.show.figure_tables import KIB, Bars, SpreadColumns, TableLayout
from mldsa_lab.sizes import OBJECTS, raw_bytes


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
KIND = TableKind(
    "memory",
    MemoryPlan,
    _METHOD,
    lambda record, figures: "Memory of each operation",
    lambda record, confidence: memory_figures(record),
    _memory_layouts,
    notes=_memory_notes,
)
