"""The figures of hardware cores: cycles by operation and phase, from the record of a run.

A model's cycles have no noise, so one round is enough, and what an interval holds is what the costs
of the inputs leave open.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np

from mldsa_lab.errors import LabError
from mldsa_lab.estimate.estimators import around
from mldsa_lab.estimate.fit import Fit, fit_costs
from mldsa_lab.estimate.interval import Interval
from mldsa_lab.records import Record, Samples, Variant
from mldsa_lab.sets import PARAMETER_SETS
from mldsa_lab.theory.arrays import Array
from mldsa_lab.theory.rejection import RejectionModel
from mldsa_lab.theory.trace import Trace, parse_trace

PHASES = ("load", "compute", "store")
TOTAL = "total"
_SHARES = {"p50": 0.50, "p95": 0.95, "p99": 0.99}
_SLOPES = {"per_z": "z", "per_r0": "r", "per_hint": "h"}
RANDOM_MEAN = "sign_random"
"""The plain mean of random signatures."""
LOADED = "_loaded"
"""What stands in the name of a figure of signing whose key was loaded before."""


@dataclass(frozen=True, slots=True)
class CoreRow:
    """A figure in cycles; None where it is not known."""

    core: str
    configuration: str
    set: str
    figure: str
    phase: str
    cycles: float
    cycles_low: float | None
    cycles_high: float | None

    def as_dict(self) -> dict[str, object]:
        """The row under its keys."""
        return {f.name: getattr(self, f.name) for f in fields(self)}


@dataclass(frozen=True)
class CoreCell:
    """An operation of a core (its name and configuration) in a set: (inputs,) cycles of each
    input, in total and by phase. ``loaded``: with a key that was loaded before."""

    core: tuple[str, str]
    loaded: bool
    set: str
    operation: str
    inputs: tuple[int, ...]
    total: Array
    phases: dict[str, Array]

    @classmethod
    def of(cls, row: Samples, variant: Variant) -> CoreCell:
        """Of the samples of a round."""
        calls = float(row.calls)
        phases = {name: np.array(ticks) / calls for name, ticks in row.phases.items()}
        about = (variant.implementation, variant.backend), variant.key == "expanded"
        return cls(*about, row.set, row.operation, row.inputs, np.array(row.wall) / calls, phases)


def core_rows(record: Record, confidence: float = 0.95) -> list[CoreRow]:
    """Every figure of every worker that counts cycles in phases. LabError if there is none, or a
    trace in the record is malformed."""
    variants = {
        v.id: v for w in record.workers if w.unit == "cycles" for v in w.variants if not v.runs
    }
    cells = {
        (row.variant, row.set, row.operation): CoreCell.of(row, variants[row.variant])
        for row in record.samples
        if row.variant in variants and row.phases
    }
    if not cells:
        raise LabError("the record has no core: no worker's cycles are divided into phases")
    traces = {
        (row.set, row.id): parse_trace(row.trace, row.set)
        for row in record.inputs
        if row.trace is not None
    }
    found: list[CoreRow] = []
    for cell in sorted(cells.values(), key=_order):
        signed = cell.inputs if cell.operation == "sign" else ()
        found += cell_rows(cell, [traces[cell.set, i] for i in signed], confidence)
    return found


def cell_rows(cell: CoreCell, traces: Sequence[Trace], confidence: float) -> list[CoreRow]:
    """Its figures. ``traces``: of the inputs, where they are signed."""
    if cell.operation != "sign":
        return _plain(cell, confidence)
    fit = fit_costs(traces, cell.total[None, :], RejectionModel.of(cell.set), noise=0.0)
    return _signing(cell, fit, confidence)


def _order(cell: CoreCell) -> tuple[tuple[str, str], int, str, bool]:
    place = tuple(PARAMETER_SETS).index(cell.set)
    return (cell.core, place, cell.operation, cell.loaded)


def _row(cell: CoreCell, figure: str, phase: str, found: Interval) -> CoreRow:
    return CoreRow(*cell.core, cell.set, figure, phase, *found)


def _plain(cell: CoreCell, confidence: float) -> list[CoreRow]:
    """Means over inputs."""
    listed = {TOTAL: cell.total, **cell.phases}
    return [
        _row(cell, cell.operation, phase, _mean(cycles, confidence))
        for phase, cycles in listed.items()
    ]


def _mean(cycles: Array, confidence: float) -> Interval:
    mean = float(cycles.mean())
    return around(mean, cycles / mean - 1, confidence) if mean > 0 else Interval(0.0, 0.0, 0.0)


def _signing(cell: CoreCell, fit: Fit, confidence: float) -> list[CoreRow]:
    """Exact expectations of the fit. Loading and storing take what they take in every signature;
    what the rest of the whole is, is computing."""
    loaded = LOADED if cell.loaded else ""
    costs = fit.costs(confidence)
    whole = {"best": costs["first"], "mean": fit.mean(confidence)}
    whole |= dict(zip(_SHARES, fit.quantiles(tuple(_SHARES.values()), confidence), strict=True))
    ends = {name: _mean(cell.phases[name], confidence) for name in ("load", "store")}
    rows = []
    for name, total in whole.items():
        figure = f"sign{loaded}_{name}"
        rows.append(_row(cell, figure, TOTAL, total))
        rows.append(_row(cell, figure, "load", ends["load"]))
        rows.append(_row(cell, figure, "compute", _less(total, *ends.values())))
        rows.append(_row(cell, figure, "store", ends["store"]))
    for name, of in _SLOPES.items():
        for phase in (TOTAL, "compute"):
            rows.append(_row(cell, f"sign{loaded}_{name}", phase, costs[of]))
    return rows


def _less(total: Interval, *parts: Interval) -> Interval:
    """The total without parts that are the same in every signature."""
    less = sum(part.value for part in parts)
    low, high = (None if x is None else x - less for x in (total.low, total.high))
    return Interval(total.value - less, low, high)


def at(
    rows: Sequence[CoreRow], core: tuple[str, str], set_name: str, figure: str, phase: str = TOTAL
) -> CoreRow | None:
    """The row of a core (its name and configuration), if there is one."""
    wanted = (*core, set_name, figure, phase)
    return next(
        (r for r in rows if (r.core, r.configuration, r.set, r.figure, r.phase) == wanted), None
    )
