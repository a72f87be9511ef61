"""Figures of cold starts: the cost of the n-th operation of a fresh process, and the spread of
its late calls, each timed by itself."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable

import numpy as np

from mldsa_lab.errors import LabError
from mldsa_lab.estimate.cells import SPREAD
from mldsa_lab.estimate.figure import Figure, keys_by_variant
from mldsa_lab.estimate.interval import over
from mldsa_lab.records import Record, Samples
from mldsa_lab.sets import ALL_SETS, OPERATIONS, SCHEMES
from mldsa_lab.theory.arrays import Array

CALLS = (1, 2, 3, 5, 10, 30, 100, 300, 1000)
"""The calls that have figures. From the fifth on, each is the median of calls within 10 %."""

LATE = 100
"""From this call on caches and predictors are warm, and most compilers done."""
_SPREAD: dict[str, Callable[[Array], float]] = {
    "p50": lambda calls: float(np.quantile(calls, 0.5)),
    "p95": lambda calls: float(np.quantile(calls, 0.95)),
    "p99": lambda calls: float(np.quantile(calls, 0.99)),
    **SPREAD,
}


def cold_figures(record: Record, confidence: float) -> list[Figure]:
    """Return ``cost`` at each of `CALLS`, in the worker's unit, and ``over_last``: its ratio to the
    last one in the same process; of operations whose cost does not depend on the input by design
    ``p50``, ``p95``, ``p99``, ``min``, ``max`` and ``sd`` of the calls from `LATE` on, and the
    ``resolution`` of the clock in them. Means over processes. LabError if there are none."""
    names = keys_by_variant(record)
    units = {v.id: w.unit for w in record.workers for v in w.variants}
    found: dict[tuple[str, str, str], list[Samples]] = defaultdict(list)
    for row in record.samples:
        if row.shape.get("process") == "fresh":
            found[row.set, row.operation, row.variant].append(row)
    if not found:
        raise LabError("the record has no cold starts: `mldsa-lab bench --cold` measures them")
    made = []
    order = sorted(found, key=lambda k: (ALL_SETS.index(k[0]), OPERATIONS.index(k[1])))
    for set_name, operation, variant in order:
        rows = found[set_name, operation, variant]
        calls = [n for n in CALLS if n <= min(len(row.wall) for row in rows)]
        costs = np.array([[_cost(row, n) for n in calls] for row in rows])
        for place, call in enumerate(calls):
            keys = {"set": set_name, "operation": operation, **names[variant], "call": call}
            column = costs[:, place]
            made.append(Figure.of(keys, "cost", over(column, confidence), units[variant]))
            if place + 1 < len(calls) and (costs[:, -1] > 0).all():
                ratio = over(column / costs[:, -1], confidence)
                made.append(Figure.of(keys, "over_last", ratio))
        if operation not in SCHEMES[set_name].kin.random and len(rows[0].wall) > 2 * LATE:
            keys = {"set": set_name, "operation": operation, **names[variant]}
            late = [np.array(row.wall[LATE - 1 :], dtype=np.float64) for row in rows]
            for name, of in _SPREAD.items():
                spread = over(np.array([of(calls) for calls in late]), confidence)
                made.append(Figure.of(keys, name, spread, units[variant]))
            steps = np.diff(np.unique(np.concatenate(late)))
            resolution = float(steps.min()) if len(steps) else None
            made.append(Figure(keys, "resolution", resolution, unit=units[variant]))
    return made


def _cost(row: Samples, call: int) -> float:
    """Return the wall time of a call; wall, since other threads may compile meanwhile."""
    reach = call // 10 if call >= 5 else 0
    return float(np.median(row.wall[call - 1 - reach : call + reach]))
