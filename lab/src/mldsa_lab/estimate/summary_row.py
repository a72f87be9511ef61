"""One cell of a record's table: what was measured, and its figures."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from mldsa_lab.estimate.cells import CellEstimate, ratio
from mldsa_lab.estimate.figure import Key, variant_keys
from mldsa_lab.estimate.fit import Fit
from mldsa_lab.estimate.interval import Interval
from mldsa_lab.estimate.samples import CellKey
from mldsa_lab.records import Variant, WorkerRow


@dataclass(frozen=True, eq=False)
class SummaryRow:
    """One variant in one operation of a set. Rows are equal only to themselves.

    ``clock``: "cpu" or "wall", the one that samples are from. ``again``: whether the variant's
    default build was measured too. ``estimate``: None where the cost allows none; ``notes``, what
    a reader must know, then say why. ``phases``: the parts of the mean by name.

    ``figures``, those that are known, by name; costs are in ``unit`` for one operation:
    ``mean``, ``p50``, ``p95``, ``p99``, ``p999``; ``min``, ``max`` and the standard deviation
    ``sd`` of single calls; ``ratio``, the mean over that of the reference in the same set and
    operation on as many threads; where threads were measured ``per_second``, operations in a
    second of wall time on all threads, and ``scaling``, that over the same on one thread;
    ``allocated``, bytes that an operation of a virtual machine allocates, and ``collections`` of
    its garbage in a million operations.
    """

    variant: Variant
    worker: WorkerRow
    set: str
    operation: str
    samples: int
    clock: str
    again: bool
    estimate: CellEstimate | None
    notes: tuple[str, ...]
    figures: dict[str, Interval]
    phases: Mapping[str, Interval]

    @property
    def cell(self) -> CellKey:
        """Variant id, set and operation: a record has one row of each."""
        return self.variant.id, self.set, self.operation

    @property
    def unit(self) -> str:
        """The unit of costs: that of the worker's ticks."""
        return self.worker.unit

    @property
    def keys(self) -> dict[str, Key]:
        """The keys of its figures."""
        variant = self.variant
        return {
            **variant_keys(self.worker, variant),
            "mode": variant.mode, "batch_size": variant.batch_size, "threads": variant.threads,
            "set": self.set, "operation": self.operation,
        }  # fmt: skip

    @property
    def mean(self) -> Interval | None:
        """The mean cost; None where it is not known."""
        return self.figures.get("mean")

    @property
    def cost(self) -> float:
        """The value of the mean; infinite where it is not known."""
        return math.inf if self.mean is None else self.mean.value

    @property
    def rate(self) -> Interval | None:
        """Operations in a second, the inverse of the mean; None where its unit is no time."""
        return self.mean.inverse(1e9) if self.mean is not None and self.unit == "ns" else None

    @property
    def fit(self) -> Fit | None:
        """The regression of single signatures on their traces; None for other rows."""
        found = None if self.estimate is None else self.estimate.fit
        return found if found is not None and found.traces else None

    @property
    def uncertainty(self) -> float:
        """How far the interval of the mean reaches, as a share of the mean; infinite without."""
        mean = self.mean
        if mean is None or not mean.value or mean.low is None or mean.high is None:
            return math.inf
        return max(mean.high - mean.value, mean.value - mean.low) / mean.value

    def value(self, figure: str) -> float | None:
        """Return a figure without its limits; None where it is not known."""
        found = self.figures.get(figure)
        return None if found is None else found.value

    def over(self, other: SummaryRow, confidence: float) -> Interval | None:
        """Return this mean over that of ``other``, paired by round where both have the same; None
        where one is not known or they are in different units."""
        if self.estimate is None or other.estimate is None or self.unit != other.unit:
            return None
        if other is self:
            return Interval(1.0, 1.0, 1.0)
        return ratio(self.estimate, other.estimate, confidence)
