"""Jitter: how far single calls of a process lie apart, once it is warm."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

import numpy as np

from mldsa_lab.bench.workloads.plan import Ready, WorkloadPlan
from mldsa_lab.estimate.figure import Figure, Figures, Key
from mldsa_lab.estimate.interval import over
from mldsa_lab.kinds.cold import LATE, ColdStarts
from mldsa_lab.kinds.kind import ROW_KEYS, Kind
from mldsa_lab.records import Definition, Record, Row
from mldsa_lab.show.figure_tables import SpreadColumns, TableLayout


class WarmCalls(ColdStarts):
    """Measures one call after another of a process for each case."""

    def definitions(self) -> Iterable[Row]:
        yield Definition("jitter", "single calls of a process")


class JitterPlan(WorkloadPlan):
    """Single calls of the cells of a run."""

    name = "jitter"

    def workload(self, ready: Ready) -> WarmCalls:
        return WarmCalls(ready.fleet, self.cells(ready), ready.iterations())


def jitter_figures(record: Record, confidence: float) -> list[Figure]:
    """Return ``sd`` of the late calls of each cell in the worker's unit, over processes."""
    spreads = defaultdict(list)
    for s in record.samples:
        spreads[s.set, s.operation, s.variant].append(float(np.std(s.wall[LATE - 1 :])))
    made = []
    for (name, operation, variant), values in spreads.items():
        keys: dict[str, Key] = {"set": name, "operation": operation, "variant": variant}
        unit = record.variants[variant][1].unit
        made.append(Figure.of(keys, "sd", over(np.array(values), confidence), unit))
    return made


def _layouts(record: Record) -> tuple[TableLayout, ...]:
    columns = (SpreadColumns("sd", "standard deviation"),)
    return (TableLayout("{set} {operation}: jitter", ("set", "operation"), ROW_KEYS, columns),)


def _headline(record: Record, figures: Figures) -> str:
    return "How far single calls lie apart"


KIND = Kind(
    "jitter", JitterPlan, "Each round starts a process.", _headline, jitter_figures, _layouts
)
