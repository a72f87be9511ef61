"""Figures of memory: stack, heap and key of each operation, and its traffic."""

from __future__ import annotations

import numpy as np

from mldsa_lab.errors import LabError
from mldsa_lab.estimate.figure import Figure, Key
from mldsa_lab.records import Definition, Record, Samples
from mldsa_lab.sets import ALL_SETS, OPERATIONS
from mldsa_lab.sizes import OBJECTS, raw_bytes
from mldsa_lab.theory.rejection import RejectionModel
from mldsa_lab.theory.table import TraceTable
from mldsa_lab.theory.trace import parse_trace

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
    made = []
    for cell in order:
        set_name, operation, variant = cell
        v = record.variant(variant)
        keys: dict[str, Key] = {"set": set_name, "operation": operation, "variant": variant}
        for part, figures in _FIGURES.items():
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
            for metric, (name, further, unit) in figures.items():
                value = values.get(metric)
                if value is not None or notes:
                    made.append(Figure({**keys, **further}, name, value, unit=unit, notes=notes))
            if v.mode != "single" and "heap" in values:
                each = values["heap"] / v.per_call
                made.append(Figure({**keys, "per": "operation"}, "heap", each, unit="B"))
        for name in OBJECTS:
            if (size := raw_bytes(set_name, name)) is not None:
                made.append(Figure({**keys, "object": name}, "bytes", size, unit="B"))
    return made


def _values(record: Record, line: Samples) -> dict[str, float]:
    """Return the largest value of each metric, of the traffic of several signatures the mean over
    all; the input where there is one, and the shares of accesses that miss no first or no last
    cache."""
    values: dict[str, float] = {name: max(of) for name, of in line.metrics.items()}
    if "accesses" in values and line.operation == "sign" and len(line.inputs) > 1:
        values = _by_law(record, line)
    if accesses := values.get("accesses"):
        for level in ("first", "last"):
            values[f"{level}_hits"] = 1 - values[f"{level}_misses"] / accesses
    return values | ({"input": line.inputs[0]} if len(line.inputs) == 1 else {})


def _by_law(record: Record, line: Samples) -> dict[str, float]:
    """Return the mean over all signatures of what some move: the first iteration, one that z
    rejects and another rejected one cost what least squares find, and of each there are as many as
    the exact law has on average. LabError for too few different signatures."""
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
