"""Cold starts: the cost of the 1st, 2nd … 1,000th operation of a fresh process.

Every call is timed by itself. The late calls of a process also have figures of their spread.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from mldsa_lab import LabError
from mldsa_lab.bench.engine import Workload
from mldsa_lab.bench.fleet import Fleet
from mldsa_lab.bench.workload import (
    Cell,
    Operations,
    RunContext,
    WorkloadPlan,
    times_of,
    typical_input,
)
from mldsa_lab.estimate.cells import SPREAD, Readings, percentiles_of, share_of, with_tick
from mldsa_lab.estimate.figure import Figure, Figures, Key
from mldsa_lab.estimate.interval import mean_interval
from mldsa_lab.kinds.kind import ROW_KEYS, TableKind
from mldsa_lab.records import Definition, Record, Row, Samples
from mldsa_lab.sets import ALL_SETS, OPERATIONS, SCHEMES
from mldsa_lab.show.figure_tables import Lines, SpreadColumns, TableLayout

_MOST = 1000
"""Operations of a process, on one input."""
_SLOW_NS = 20_000_000_000
_FEW = 30


class ColdStarts(Workload[Cell]):
    """Measures the first operations of a process for each case, without any warm-up.

    Every case uses one input, so that all calls of a process do the same work.
    """

    noun = "cells, each in a process of its own"

    def __init__(
        self, fleet: Fleet, cells: Sequence[Cell], iterations: Mapping[tuple[str, int], int]
    ) -> None:
        """``iterations``: by set and input, of its signature."""
        self._fleet = fleet
        self._operations = Operations(fleet)
        self.cases = [replace(c, inputs=[typical_input(c, iterations)]) for c in cells]

    def definitions(self) -> Iterable[Row]:
        yield Definition("cold", "first operations of a process")

    def prepare(self, case: Cell) -> Iterable[Row]:
        """Choose fewer calls of a slow operation."""
        self._operations.send_job(case)
        handle = self._fleet.handle(case.variant.id)
        (sample,) = handle.worker().measure(case.job, 1, 1, 0)
        self._operations.check(case, [sample])
        slow = handle.announcement.unit == "ns" and sample.wall * _MOST > _SLOW_NS
        case.calls = _FEW if slow else _MOST
        return ()

    def sample(self, case: Cell, number: int, turn: int) -> Iterable[Row]:
        handle = self._fleet.handle(case.variant.id)
        handle.stop()  # the process of another case is warm
        self._operations.send_job(case)
        samples = handle.worker().measure(case.job, case.calls, 1, 0)
        self._operations.check(case, samples)
        inputs = (s.input for s in samples)
        yield case.samples(number, turn, inputs, times_of(samples), shape={"process": "fresh"})


class ColdPlan(WorkloadPlan):
    """Cold starts of the cells of a run."""

    name = "cold"

    def workload(self, context: RunContext) -> ColdStarts:
        return ColdStarts(context.fleet, self.cells(context), context.iterations())


# --- figures ---

CALLS = (1, 2, 3, 5, 10, 30, 100, 300, 1000)
"""The calls that have figures. From the fifth on, each is the median of calls within 10 %."""

LATE = 100
"""From this call on caches and predictors are warm, and most compilers done."""


def cold_figures(record: Record, confidence: float) -> list[Figure]:
    """Return the figures of cold starts, means over processes. LabError if there are none.

    ``cost`` at each of `CALLS` is in the worker's unit; ``ratio`` is to the last one of a process.
    ``quantile``, ``min``, ``max`` and ``sd`` are of the calls from `LATE` on, and ``resolution`` of
    the clock in them. Only operations whose cost does not depend on the input have these. Where the
    clock does not resolve the calls, the first cost is lacking, with the reason.
    """
    workers = {v.id: w for v, w in record.variants.values()}
    units = {name: worker.unit for name, worker in workers.items()}
    samples: dict[tuple[str, str, str], list[Samples]] = defaultdict(list)
    for row in record.samples:
        if row.shape.get("process") == "fresh":
            samples[row.set, row.operation, row.variant].append(row)
    if not samples:
        raise LabError("the record has no cold starts: `mldsa-lab bench --kind cold` measures them")
    figures = []
    order = sorted(samples, key=lambda k: (ALL_SETS.index(k[0]), OPERATIONS.index(k[1])))
    for set_name, operation, variant in order:
        rows = samples[set_name, operation, variant]
        cell: dict[str, Key] = {"set": set_name, "operation": operation, "variant": variant}
        every = np.concatenate([np.array(row.wall, dtype=np.float64) for row in rows])
        readings = Readings.by_wall(workers[variant], every)
        if readings.flaw:
            reason = f"no clock resolves a call: {readings.flaw}"
            keys = {**cell, "call": 1}
            figures.append(Figure(keys, "cost", None, unit=units[variant], notes=(reason,)))
            continue
        calls = [n for n in CALLS if n <= min(len(row.wall) for row in rows)]
        costs = np.array([[_read_cost(row, n) for n in calls] for row in rows])
        for place, call in enumerate(calls):
            keys = {**cell, "call": call}
            column = costs[:, place]
            cost = with_tick(mean_interval(column, confidence), readings.tick or 0.0)
            figures.append(Figure.from_interval(keys, "cost", cost, units[variant]))
            if place + 1 < len(calls) and (costs[:, -1] > 0).all():
                ratio = mean_interval(column / costs[:, -1], confidence)
                figures.append(Figure.from_interval({**keys, "against": "last"}, "ratio", ratio))
        if operation not in SCHEMES[set_name].traits.random and len(rows[0].wall) > 2 * LATE:
            late = [np.array(row.wall[LATE - 1 :], dtype=np.float64) for row in rows]
            for percentile in percentiles_of(min(map(len, late))):
                costs = np.array([np.quantile(calls, share_of(percentile)) for calls in late])
                keys = {**cell, "percentile": percentile}
                quantile = mean_interval(costs, confidence)
                figures.append(Figure.from_interval(keys, "quantile", quantile, units[variant]))
            for name, reduce in SPREAD.items():
                spread = mean_interval(np.array([reduce(calls) for calls in late]), confidence)
                figures.append(Figure.from_interval(cell, name, spread, units[variant]))
            steps = np.diff(np.unique(np.concatenate(late)))
            if len(steps):
                resolution = float(steps.min())
                figures.append(Figure(cell, "resolution", resolution, unit=units[variant]))
    return figures


def _read_cost(row: Samples, call: int) -> float:
    """Return the wall time of a call; wall, since other threads may compile meanwhile."""
    reach = call // 10 if call >= 5 else 0
    return float(np.median(row.wall[call - 1 - reach : call + reach]))


# --- words ---


def _cold_layouts(record: Record) -> tuple[TableLayout, ...]:
    over = SpreadColumns("cost", "{value}", "call")
    rows = ("language", *ROW_KEYS)
    title = "{set} {operation}: cost of the n-th call of a process"
    spread = (
        SpreadColumns("min", "min"),
        SpreadColumns("quantile", "p{value}", "percentile"),
        *(SpreadColumns(name, name) for name in ("max", "sd", "resolution")),
    )
    late = f"{{set}} {{operation}}: single calls from the {LATE}th of a process on"
    return (
        TableLayout(
            title,
            ("set", "operation", "unit"),
            rows,
            (over,),
            (Lines("cost", "call", ("implementation",)),),
        ),
        TableLayout(late, ("set", "operation", "unit"), rows, spread),
    )


def _cold_headline(record: Record, figures: Figures) -> str:
    """The range over implementations of what the first call costs, in multiples of the last."""
    first = list(figures.select("ratio", against="last", call=1))
    named = [f for f in first if f.keys["operation"] == first[0].keys["operation"]]
    named = [f for f in named if f.keys["set"] == first[0].keys["set"]]
    values = sorted(f.value for f in named if f.value is not None)
    if not values:
        return "Cost of the first operations of a process"
    cell = f"{named[0].keys['set']} {named[0].keys['operation']}"
    span = f"{values[0]:.3g}" + (f" to {values[-1]:.3g}" if len(values) > 1 else "")
    return f"{cell}: the first call of a process costs {span} times as much as a late one"


_METHOD = (
    "Each round starts a process for each row, prepares one input, and times 1,000 operations "
    "on it one by one, by the wall clock, without a warm-up. From the fifth on a column is the "
    "median of the calls within 10 %. Minimum, percentiles and standard deviation are of the "
    "late calls of each process, with one reading of the clock in each. Intervals are Student's "
    "over processes."
)
KIND = TableKind(
    "cold start",
    ColdPlan,
    _METHOD,
    _cold_headline,
    cold_figures,
    _cold_layouts,
)
