"""The fit of measured costs: coefficients, mean, percentiles and costs of attempts."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mldsa_lab.estimate.cell import Interval
from mldsa_lab.estimate.keys import KeyOffsets, key_offsets
from mldsa_lab.estimate.noise import Typical, typical
from mldsa_lab.estimate.posterior import Posterior, fit
from mldsa_lab.theory.law import Law
from mldsa_lab.theory.rejection import RejectionModel
from mldsa_lab.theory.terms import LINEAR, MEAN, prior, terms, to_costs
from mldsa_lab.theory.trace import Trace, count_matrix

Array = NDArray[np.float64]

COSTS = ("first", "z", "r", "h")
"""Cost of a signature accepted at once, and of a rejected attempt of each class."""


@dataclass(frozen=True)
class Fit:
    """Costs of some inputs fitted to their traces.

    ``counts``: (inputs, 3) rejected attempts n_z, n_r, n_h; ``values``: (inputs, columns) of
    `mldsa_lab.theory.terms`; ``typical``: the costs; ``coefficients``: (columns,) expected ones.
    """

    model: RejectionModel
    traces: tuple[Trace, ...]
    counts: Array
    values: Array
    typical: Typical
    posterior: Posterior
    coefficients: Array
    keys: KeyOffsets

    @property
    def cost(self) -> Array:
        """(inputs,) the cost of each input in the typical round."""
        return self.typical.cost

    @property
    def fitted(self) -> Array:
        """(inputs,) what the fit says that they cost."""
        return np.asarray(self.values @ self.coefficients)

    def interval(self, row: Array, confidence: float, error: float = 0.0) -> Interval:
        """Of ``row`` (columns,) times the coefficients; ``error``: one more standard error."""
        value = float(row @ self.coefficients)
        # The number of attempts rests on a measured probability.
        attempts = self.model.fail_h_error / (1 - self.model.fail_h)
        shared = math.hypot(self.typical.level_error, attempts, self.keys.error)
        extra = math.hypot(value * shared, error)
        low, high = self.posterior.limits(row, confidence, extra)
        # The expectation of a lopsided mixture may lie beyond the middle of it.
        return Interval(value, min(low, value), max(high, value))

    def mean(self, confidence: float) -> Interval:
        """Mean over all signatures."""
        row = np.zeros(len(self.coefficients))
        row[MEAN] = 1.0
        return _positive(self.interval(row, confidence))

    def costs(self, confidence: float) -> dict[str, Interval]:
        """`COSTS`, as averages over abort indexes."""
        rows = np.zeros((len(COSTS), len(self.coefficients)))
        rows[:, :LINEAR] = to_costs(self.model)
        return {name: self.interval(row, confidence) for name, row in zip(COSTS, rows, strict=True)}

    def before_final(self, confidence: float) -> Interval:
        """All that is done once for a signature, its final attempt left out, where that costs as
        much as an attempt that fails the hint's check: both do all but the packing."""
        row = np.zeros(len(self.coefficients))
        matrix = to_costs(self.model)
        row[:LINEAR] = matrix[0] - matrix[3]
        return self.interval(row, confidence)

    def further(self, confidence: float) -> dict[str, Interval]:
        """The terms beside the counts, by the names of `mldsa_lab.theory.covariates`."""
        found = {}
        for place, name in enumerate(prior(self.model).names[LINEAR:], LINEAR):
            row = np.zeros(len(self.coefficients))
            row[place] = 1.0
            found[name] = self.interval(row, confidence)
        return found

    def law(self, share: float = 0.999) -> Law:
        """The law of the cost over all signatures; ``share``: the largest to be asked for."""
        return Law(self.model, self.coefficients, self.posterior.typical_misfit(), share)

    def quantiles(self, shares: Sequence[float], confidence: float) -> list[Interval]:
        """The costs that these shares (in (0, 1)) of all signatures do not exceed."""
        law = self.law(max(shares))
        # What no term explains may be the inputs' own, and so spread the law, or noise.
        sharp = Law(self.model, self.coefficients, 0.0, max(shares))
        found = []
        for share in shares:
            value, row = law.quantile(share)
            apart = abs(value - sharp.quantile(share)[0])
            around = self.interval(row, confidence, math.hypot(apart, law.step))
            assert around.low is not None and around.high is not None
            # The linear function that touches the quantile here, moved to it.
            low, high = around.low - around.value, around.high - around.value
            found.append(_positive(Interval(value, value + low, value + high)))
        return found


def fit_costs(
    traces: Sequence[Trace],
    costs: Array,
    model: RejectionModel,
    *,
    noise: float | None = None,
    resolution: float = 0.0,
    keys: Sequence[Hashable] | None = None,
) -> Fit:
    """Fit ``costs`` (rounds, inputs), positive, NaN where missing, of inputs of these traces.

    ``noise``: relative standard deviation of one measurement, where it is known (0: counts of a
    simulator); else repeats show it, or a usual one is assumed. ``resolution``: the step of the
    scale that the costs were read from. ``keys``: of the inputs, if some share one.
    """
    values = terms(traces, model)
    found = typical(costs, resolution, noise)
    posterior = fit(values, found.cost, prior(model), found.noise, found.repeats)
    return Fit(
        model,
        tuple(traces),
        count_matrix(traces),
        values,
        found,
        posterior,
        posterior.mean,
        key_offsets(
            range(len(traces)) if keys is None else keys,
            found.cost / np.maximum(values @ posterior.mean, 0.1 * found.cost) - 1,
        ),
    )


def _positive(interval: Interval) -> Interval:
    """With all three at 0 where they are below, as they are for costs that follow no trace."""
    assert interval.low is not None and interval.high is not None
    value, low, high = (max(v, 0.0) for v in (interval.value, interval.low, interval.high))
    return Interval(value, low, high)
