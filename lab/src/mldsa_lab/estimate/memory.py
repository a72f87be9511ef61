"""Figures of memory: stack, heap and key of each operation, and its traffic."""

from __future__ import annotations

import numpy as np

from mldsa_lab.errors import LabError
from mldsa_lab.estimate.figure import Figure, Key, keys_by_variant
from mldsa_lab.records import Definition, Record, Samples
from mldsa_lab.sets import ALL_SETS, OPERATIONS
from mldsa_lab.sizes import OBJECTS, raw_bytes
from mldsa_lab.theory.rejection import RejectionModel
from mldsa_lab.theory.table import TraceTable
from mldsa_lab.theory.trace import parse_trace

_UNITS = {
    "stack and heap": {"stack": "bytes", "heap": "bytes", "allocations": "", "allocated": "bytes",
                       "kept": "bytes"},
    "traffic": {"input": "", "attempts": "", "instructions": "", "read": "bytes",
                "written": "bytes", "accesses": "", "first_misses": "", "last_misses": "",
                "first_hits": "%", "last_hits": "%"},
}  # fmt: skip


def memory_figures(record: Record) -> list[Figure]:
    """Return the figures of a record's memory, in the order of sets and operations.

    Figures are of a call: of ``batch_size`` operations on each of ``threads``; ``heap_each`` is for
    one operation. ``kept`` is of a key that is ready. LabError if the record has no memory.
    """
    rows: dict[tuple[str, str, str], dict[str, Definition | Samples]] = {}
    lines: list[tuple[str, Definition | Samples]]
    lines = [(str(s.shape["memory"]), s) for s in record.samples if "memory" in s.shape]
    lines += [(d.name, d) for d in record.definitions if d.kind == "memory" and d.variant]
    for part, line in lines:
        cell = (str(line.set), str(line.operation), str(line.variant))
        rows.setdefault(cell, {})[part] = line
    if not rows:
        raise LabError("the record has no memory rows: `mldsa-lab memory` makes them")
    names = keys_by_variant(record)
    order = sorted(rows, key=lambda c: (ALL_SETS.index(c[0]), OPERATIONS.index(c[1])))
    made = []
    for cell in order:
        set_name, operation, variant = cell
        v = record.variant(variant)
        keys: dict[str, Key] = {
            "set": set_name, "operation": operation, **names[variant],
            "mode": v.mode, "batch_size": v.batch_size, "threads": v.threads,
        }  # fmt: skip
        for part, units in _UNITS.items():
            if part not in rows[cell]:
                continue
            row = rows[cell][part]
            notes = (row.lacking,) if isinstance(row, Definition) and row.lacking else ()
            values: dict[str, float] = {}
            if isinstance(row, Samples):
                try:
                    values = _values(record, row)
                except LabError as error:
                    notes = (str(error),)
            for name, unit in units.items():
                made.append(Figure(keys, name, values.get(name), unit=unit, notes=notes))
            if v.mode != "single" and "heap" in values:
                made.append(Figure(keys, "heap_each", values["heap"] / v.per_call, unit="bytes"))
        for name in OBJECTS:
            size = raw_bytes(set_name, name)
            made.append(Figure(keys, name.replace(" ", "_"), size, unit="bytes"))
    return made


def _values(record: Record, line: Samples) -> dict[str, float]:
    """Return the largest value of each metric, of the traffic of several signatures the mean over
    all; the input where there is one, and the shares of accesses, in percent, that miss no first or
    no last cache."""
    values: dict[str, float] = {name: max(of) for name, of in line.metrics.items()}
    if "accesses" in values and line.operation == "sign" and len(line.inputs) > 1:
        values = _by_law(record, line)
    if accesses := values.get("accesses"):
        for level in ("first", "last"):
            values[f"{level}_hits"] = 100 * (1 - values[f"{level}_misses"] / accesses)
    return values | ({"input": line.inputs[0]} if len(line.inputs) == 1 else {})


def _by_law(record: Record, line: Samples) -> dict[str, float]:
    """Return the mean over all signatures of what some move: the first iteration, one that z
    rejects and another rejected one cost what least squares find, and of each there are as many as
    the exact law has on average. LabError for too few different signatures."""
    model = RejectionModel.of(line.set)
    texts = [record.input(line.set, number).trace or () for number in line.inputs]
    traces = [parse_trace(text, line.set) for text in texts]
    rejected = TraceTable.of(line.set, traces).counts()
    matrix = np.column_stack([np.ones(len(traces)), rejected[:, 0], rejected[:, 1:].sum(axis=1)])
    if np.linalg.matrix_rank(matrix) < matrix.shape[1]:
        raise LabError(f"{len(traces)} signatures are too few, or too much alike, for their mean")
    expected = np.array([1, model.expected_counts[0], model.expected_counts[1:].sum()])
    values = {}
    for name, counted in line.metrics.items():
        costs = np.linalg.lstsq(matrix, np.array(counted, dtype=np.float64), rcond=None)[0]
        values[name] = max(0.0, float(expected @ costs))
    return values
