"""Figures of memory: stack, heap and key of each operation, and its traffic."""

from __future__ import annotations

from mldsa_lab.errors import LabError
from mldsa_lab.estimate.figure import Figure, Key, keys_by_variant
from mldsa_lab.records import Record
from mldsa_lab.sets import ALL_SETS, OPERATIONS
from mldsa_lab.sizes import OBJECTS, raw_bytes

_STACK_HEAP = {"stack": "bytes", "heap": "bytes", "allocations": "", "allocated": "bytes",
               "kept": "bytes"}  # fmt: skip
_TRAFFIC = {"input": "", "attempts": "", "instructions": "", "read": "bytes", "written": "bytes",
            "first_misses": "", "last_misses": ""}  # fmt: skip


def memory_figures(record: Record) -> list[Figure]:
    """Return the figures of a record's memory, in the order of sets and operations.

    Figures are of a call: of ``batch_size`` operations on each of ``threads``; ``heap_each`` is for
    one operation. ``kept`` is of a key that is ready. LabError if the record has no memory.
    """
    if not record.memories:
        raise LabError("the record has no memory rows: `mldsa-lab memory` makes them")
    names = keys_by_variant(record)
    variants = {v.id: v for w in record.workers for v in w.variants}
    traffic = {(row.variant, row.set, row.operation): row for row in record.traffic}
    sets, operations = list(ALL_SETS), list(OPERATIONS)
    rows = sorted(record.memories, key=lambda r: (sets.index(r.set), operations.index(r.operation)))
    made = []
    for row in rows:
        v = variants[row.variant]
        keys: dict[str, Key] = {
            "set": row.set, "operation": row.operation, **names[row.variant],
            "mode": v.mode, "batch_size": v.batch_size, "threads": v.threads,
        }  # fmt: skip
        flags = (row.lacking,) if row.lacking else ()
        for name, unit in _STACK_HEAP.items():
            made.append(Figure(keys, name, getattr(row, name), unit=unit, flags=flags))
        if v.mode != "single" and row.heap is not None:
            made.append(Figure(keys, "heap_each", row.heap / v.per_call, unit="bytes"))
        moved = traffic.get((row.variant, row.set, row.operation))
        flags = (moved.lacking,) if moved and moved.lacking else ()
        for name, unit in _TRAFFIC.items() if moved else ():
            made.append(Figure(keys, name, getattr(moved, name), unit=unit, flags=flags))
        for name in OBJECTS:
            size = raw_bytes(row.set, name)
            made.append(Figure(keys, name.replace(" ", "_"), size, unit="bytes"))
    return made
