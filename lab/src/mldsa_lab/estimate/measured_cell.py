"""One cell of a record: a variant in one operation of a set, with its samples, estimate and
figures."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from mldsa_lab.estimate.cells import CellEstimate, ratio
from mldsa_lab.estimate.figure import Figure, Key
from mldsa_lab.estimate.fit import Fit
from mldsa_lab.estimate.interval import Interval
from mldsa_lab.estimate.samples import CellKey, CellSamples
from mldsa_lab.records import Variant, WorkerRow


@dataclass(frozen=True, eq=False)
class MeasuredCell:
    """A variant in one operation of a set, as it was measured. Cells are equal only to themselves.

    ``is_duplicate_build``: whether the variant's default build was measured too. ``estimate``: None
    where the cost allows none; ``notes``, what a reader must know, then say why. ``figures``: in
    the worker's unit and for one operation, see `mldsa_lab.estimate.contract`.
    """

    variant: Variant
    worker: WorkerRow
    set: str
    operation: str
    samples: CellSamples
    is_duplicate_build: bool
    estimate: CellEstimate | None
    notes: tuple[str, ...]
    figures: list[Figure] = field(default_factory=list)

    @property
    def id(self) -> CellKey:
        """Variant id, set and operation: a record has one cell of each."""
        return self.variant.id, self.set, self.operation

    @property
    def keys(self) -> dict[str, Key]:
        """The keys of its figures."""
        return {"set": self.set, "operation": self.operation, "variant": self.variant.id}

    @property
    def unit(self) -> str:
        """The unit of costs: that of the worker's ticks."""
        return self.worker.unit

    @property
    def mean(self) -> Interval | None:
        """The mean cost; None where it is not known."""
        return None if self.estimate is None else self.estimate.mean

    @property
    def cost(self) -> float:
        """The value of the mean; infinite where it is not known."""
        return math.inf if self.mean is None else self.mean.value

    @property
    def has_interval(self) -> bool:
        """True if the limits of the mean are known."""
        return self.mean is not None and self.mean.low is not None

    @property
    def fit(self) -> Fit | None:
        """The regression of single signatures on their traces; None for other cells."""
        fit = None if self.estimate is None else self.estimate.fit
        return fit if fit is not None and fit.traces else None

    @property
    def uncertainty(self) -> float:
        """How far the interval of the mean reaches, as a share of the mean; infinite without."""
        mean = self.mean
        if mean is None or not mean.value or mean.low is None or mean.high is None:
            return math.inf
        return max(mean.high - mean.value, mean.value - mean.low) / mean.value

    def add(self, name: str, interval: Interval, unit: str = "", **keys: Key) -> None:
        """Add a figure; ``keys``: further ones."""
        self.figures.append(Figure.of({**self.keys, **keys}, name, interval, unit))

    def interval(self, name: str, **keys: Key) -> Interval | None:
        """Return the figure of this name and exactly these further keys; None without."""
        asked = {**self.keys, **keys}
        of = (f.interval for f in self.figures if f.name == name and f.keys == asked)
        return next(of, None)

    def value(self, name: str, **keys: Key) -> float | None:
        """Return a figure without its limits; None where it is not known."""
        interval = self.interval(name, **keys)
        return None if interval is None else interval.value

    def over(self, other: MeasuredCell, confidence: float) -> Interval | None:
        """Return this mean over that of ``other``, paired by round where both have the same; None
        where one is not known or they are in different units."""
        if self.estimate is None or other.estimate is None or self.unit != other.unit:
            return None
        if other is self:
            return Interval(1.0, 1.0, 1.0)
        return ratio(self.estimate, other.estimate, confidence)
