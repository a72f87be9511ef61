"""From a record to its table: one row per cell, with documented keys."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mldsa_lab.errors import LabError
from mldsa_lab.inputs.trace import class_counts, parse_trace
from mldsa_lab.models.rejection import RejectionModel
from mldsa_lab.records import Record, Variant
from mldsa_lab.sets import ALL_SETS, OPERATIONS, PARAMETER_SETS
from mldsa_lab.stats.cells import Cell, Key, gather
from mldsa_lab.stats.estimate import (
    Estimate,
    Interval,
    estimate_plain,
    estimate_random,
    estimate_signing,
    ratio,
)

Array = NDArray[np.float64]

KEYS = (
    "implementation",
    "version",
    "language",
    "backend",
    "key",
    "mode",
    "batch_size",
    "threads",
    "set",
    "operation",
    "deterministic",
    "unit",
    "samples",
    "mean",
    "mean_low",
    "mean_high",
    "p50",
    "p95",
    "p99",
    "p999",
    "ratio",
    "ratio_low",
    "ratio_high",
)
"""The keys of a row, in order: the stable interface of `--json`."""


@dataclass(frozen=True, slots=True)
class Row:
    """One cell of the table. Costs are in ``unit`` per operation; None where unknown.

    ``ratio`` is this mean over that of the reference in the same set and operation. ``variant``
    is the variant's id, ``clock`` the clock the samples are from, and ``notes`` say what a reader
    must know; these three are not among the documented keys.
    """

    implementation: str
    version: str
    language: str
    backend: str
    key: str
    mode: str
    batch_size: int
    threads: int
    set: str
    operation: str
    deterministic: bool
    unit: str
    samples: int
    mean: float | None
    mean_low: float | None
    mean_high: float | None
    p50: float | None
    p95: float | None
    p99: float | None
    p999: float | None
    ratio: float | None
    ratio_low: float | None
    ratio_high: float | None
    variant: str = ""
    clock: str = ""
    notes: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """The row under exactly the documented keys (`KEYS`)."""
        return {key: getattr(self, key) for key in KEYS}


@dataclass(frozen=True)
class Fit:
    """The trace regression of one variant and set, for plots.

    ``coefficients``: cost of a signature accepted at once, then of each attempt rejected by z, by
    r0, by the hint. ``counts``: (inputs, 3) rejected attempts of each input; ``costs``: (inputs,)
    its cost in the typical round; ``fitted`` and ``residuals`` likewise, residuals absolute.
    ``quantiles``: share to interval, with limits where there are any.
    """

    inputs: tuple[int, ...]
    counts: Array
    costs: Array
    coefficients: tuple[float, float, float, float]
    fitted: Array
    residuals: Array
    quantiles: dict[float, Interval]
    notes: tuple[str, ...]


@dataclass(frozen=True)
class Summary:
    """Rows in the order of set, operation and mean; ``fits`` by variant id and set; ``notes`` on
    the whole."""

    rows: list[Row]
    fits: dict[tuple[str, str], Fit]
    reference: str
    clock: str
    confidence: float
    notes: list[str] = field(default_factory=list)


def summarise(
    record: Record,
    *,
    reference: str = "mldsa-native",
    clock: str = "cpu",
    confidence: float = 0.95,
) -> Summary:
    """The table of a record, interrupted ones included.

    ``reference``: an implementation's name (its compact key is taken) or a variant's id.
    ``clock``: "cpu" for the thread's own time where a worker gives it, or "wall". Variants that
    the gate refused for a set have no rows there. LabError for an unknown clock, a confidence
    outside (0, 1), or a trace in the record that is malformed.
    """
    if clock not in ("cpu", "wall"):
        raise LabError(f"clock {clock!r}: must be 'cpu' or 'wall'")
    if not 0 < confidence < 1:
        raise LabError(f"confidence {confidence}: must lie strictly between 0 and 1")
    refused = {(gate.variant, gate.set) for gate in record.gates if not gate.passed}
    cells = {
        key: cell for key, cell in gather(record, clock).items() if (key[0], key[1]) not in refused
    }
    variants = {v.id: (v, worker) for worker in record.workers for v in worker.variants}
    counts = _counts(record)
    notes: list[str] = []
    estimates: dict[Key, Estimate] = {}
    failures: dict[Key, str] = {}
    for key, cell in cells.items():
        try:
            estimates[key] = _estimate(variants[key[0]][0], key, cell, counts, confidence)
        except LabError as error:
            failures[key] = str(error)
    references = _references(record, reference, estimates)
    if not references:
        notes.append(f"no measurements of the reference {reference!r}: ratios are left out")
    rows = []
    for key, cell in cells.items():
        variant, worker = variants[key[0]]
        against = references.get(key[1:])
        rows.append(
            _row(
                variant,
                worker.language,
                worker.unit,
                key,
                cell,
                estimates.get(key),
                _ratio(key, against, estimates, variants, confidence),
                failures.get(key),
            )
        )
    rows.sort(key=_order)
    fits = {
        key[:2]: _fit(cells[key], estimate, counts[key[1]])
        for key, estimate in estimates.items()
        if estimate.line is not None
    }
    return Summary(rows, fits, reference, clock, confidence, notes)


def _counts(record: Record) -> dict[str, dict[int, tuple[int, int, int]]]:
    """Rejected attempts of each input whose trace is known, by set and input id."""
    counts: dict[str, dict[int, tuple[int, int, int]]] = {}
    for row in record.inputs:
        if row.trace is not None:
            try:
                trace = parse_trace(row.trace, row.set)
            except LabError as error:
                raise LabError(f"input {row.id} of {row.set}: {error}") from None
            counts.setdefault(row.set, {})[row.id] = class_counts(trace)
    return counts


def _estimate(
    variant: Variant,
    key: Key,
    cell: Cell,
    counts: dict[str, dict[int, tuple[int, int, int]]],
    confidence: float,
) -> Estimate:
    _, set_name, operation = key
    if set_name == "RSA-2048-PSS" and operation == "keygen":
        return estimate_random(cell, confidence)  # the search for primes
    if operation != "sign" or set_name not in PARAMETER_SETS:
        return estimate_plain(cell, confidence)
    if not variant.deterministic:
        return estimate_random(cell, confidence)
    known = counts.get(set_name, {})
    unknown = [i for i in cell.inputs if i not in known]
    if unknown:
        raise LabError(f"input {unknown[0]} of {set_name}: signing needs its trace")
    of_inputs = np.array([known[i] for i in cell.inputs], dtype=np.float64)
    return estimate_signing(cell, of_inputs, RejectionModel.of(set_name), confidence)


def _references(
    record: Record, reference: str, estimates: dict[Key, Estimate]
) -> dict[tuple[str, str], str]:
    """The variant to compare with, by set and operation."""
    named = [
        variant
        for worker in record.workers
        for variant in worker.variants
        if reference in (variant.id, variant.implementation)
    ]
    # Stable: among equals the first announced.
    named.sort(key=lambda v: (v.id != reference, v.key != "compact", v.mode != "single"))
    found: dict[tuple[str, str], str] = {}
    for variant in named:
        for identifier, set_name, operation in estimates:
            if identifier == variant.id:
                found.setdefault((set_name, operation), identifier)
    return found


def _ratio(
    key: Key,
    against: str | None,
    estimates: dict[Key, Estimate],
    variants: dict[str, Any],
    confidence: float,
) -> Interval | None:
    if against is None or key not in estimates:
        return None
    if against == key[0]:
        return Interval(1.0, 1.0, 1.0)
    if variants[against][1].unit != variants[key[0]][1].unit:
        return None
    return ratio(estimates[key], estimates[against, key[1], key[2]], confidence)


def _row(
    variant: Variant,
    language: str,
    unit: str,
    key: Key,
    cell: Cell,
    estimate: Estimate | None,
    against: Interval | None,
    failure: str | None,
) -> Row:
    mean = estimate.mean if estimate else None
    quantiles = {q: i.value for q, i in estimate.quantiles.items()} if estimate else {}
    return Row(
        implementation=variant.implementation,
        version=variant.version,
        language=language,
        backend=variant.backend,
        key=variant.key,
        mode=variant.mode,
        batch_size=variant.batch_size,
        threads=variant.threads,
        set=key[1],
        operation=key[2],
        deterministic=variant.deterministic,
        unit=unit,
        samples=len(cell.ticks),
        mean=mean.value if mean else None,
        mean_low=mean.low if mean else None,
        mean_high=mean.high if mean else None,
        p50=quantiles.get(0.50),
        p95=quantiles.get(0.95),
        p99=quantiles.get(0.99),
        p999=quantiles.get(0.999),
        ratio=against.value if against else None,
        ratio_low=against.low if against else None,
        ratio_high=against.high if against else None,
        variant=variant.id,
        clock=cell.clock,
        notes=estimate.notes if estimate else (failure or "no estimate",),
    )


def _fit(cell: Cell, estimate: Estimate, known: dict[int, tuple[int, int, int]]) -> Fit:
    assert estimate.line is not None and estimate.levels is not None
    setup, z, r, h = (float(c) for c in estimate.line.costs)
    return Fit(
        inputs=cell.inputs,
        counts=np.array([known[i] for i in cell.inputs], dtype=np.float64),
        costs=estimate.levels.shape,
        coefficients=(setup, z, r, h),
        fitted=estimate.line.fitted,
        residuals=estimate.line.residual,
        quantiles=estimate.quantiles,
        notes=estimate.notes,
    )


def _order(row: Row) -> tuple[int, int, bool, float]:
    return (
        ALL_SETS.index(row.set),
        OPERATIONS.index(row.operation),
        row.mean is None,
        row.mean or 0.0,
    )
