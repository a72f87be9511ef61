"""The judge of estimates: how often intervals include a known truth, their widths, and the errors
of the estimates."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mldsa_lab import LabError
from mldsa_lab.estimate.interval import Interval
from mldsa_lab.parallel import WorkerPool, local, threads
from mldsa_lab.theory.rejection import RejectionModel
from mldsa_lab.theory.trace import Array
from mldsa_studies.choices import PERCENTILES
from mldsa_studies.signers import Signer

SHARES = tuple(percentile / 100 for percentile in PERCENTILES)
"""`PERCENTILES` as shares."""
# Half-width, in standard errors, of the band in which the sampled truth of a percentile lies.
_BAND = 2.5


def root_mean_square(values: Iterable[float]) -> float:
    """Root of the mean square."""
    return math.sqrt(float(np.mean(np.square(list(values)))))


class TrueCosts(NamedTuple):
    """(figures,) what is true, and the band in which it lies where it is itself a sample's."""

    value: Array
    low: Array
    high: Array

    @classmethod
    def exactly(cls, *values: float) -> TrueCosts:
        """Figures that are known."""
        return cls(*(np.array(values),) * 3)

    @classmethod
    @cache
    def draw(cls, target: Signer, model: RejectionModel, signatures: int) -> TrueCosts:
        """Mean of a signer, and its percentiles `SHARES` from so many drawn ``signatures``."""
        costs = target.draw(model, signatures, np.random.default_rng(0))
        mean = target.mean(model)
        shares = np.array(SHARES)
        off = _BAND * np.sqrt(shares * (1 - shares) / signatures)
        sides = (
            np.quantile(costs, np.clip(at, 0, 1), method="inverted_cdf")
            for at in (shares, shares - off, shares + off)
        )
        return cls(*(np.concatenate([[mean], side]) for side in sides))


@dataclass(frozen=True)
class Replications:
    """The outcome of replications.

    ``holds``: (replications, figures) whether the interval includes the truth; ``half_width``,
    ``error``: (replications, figures), relative to the truth. ``warned``: (replications,) whether a
    warning was given; ``codes``: how often each warning was given.
    """

    holds: NDArray[np.bool_]
    half_width: Array
    error: Array
    warned: NDArray[np.bool_]
    codes: Counter[str]

    @classmethod
    def judge(
        cls,
        result: Sequence[Sequence[Interval]],
        truth: TrueCosts,
        warnings: Sequence[Collection[str]] = (),
    ) -> Replications:
        """Judge the intervals of each replication, with the warnings that were given in each.
        LabError for an interval without limits."""
        rows = np.array([[tuple(interval) for interval in row] for row in result], dtype=float)
        value, low, high = np.moveaxis(rows, -1, 0)
        if np.isnan(rows).any():
            raise LabError("simulation: an interval without limits cannot be judged")
        return cls(
            (low <= truth.high) & (high >= truth.low),
            (high - low) / 2 / truth.value,
            value / truth.value - 1,
            np.array([bool(codes) for codes in warnings or [()] * len(result)]),
            Counter(code for codes in warnings for code in codes),
        )

    @classmethod
    def together(cls, parts: Sequence[Replications]) -> Replications:
        """All replications of several."""
        holds, width, error, warned = (
            np.concatenate([getattr(p, name) for p in parts])
            for name in ("holds", "half_width", "error", "warned")
        )
        return cls(holds, width, error, warned, sum((p.codes for p in parts), Counter()))

    def missed(self) -> float:
        """The share of all replications in which an interval misses the truth and no warning is
        given, for the figure with most of them."""
        return float((~self.holds & ~self.warned[:, None]).mean(axis=0).max())

    def calm(self) -> Replications:
        """Those without a warning."""
        kept = ~self.warned
        columns = self.holds[kept], self.half_width[kept], self.error[kept], self.warned[kept]
        return Replications(*columns, Counter())


def hire_workers(count: int) -> AbstractContextManager[WorkerPool]:
    """Return ``count`` processes, or for 1 a thread of this process, which starts at once."""
    return local(count) if count > 1 else threads(1)
