"""The fit of measured costs: coefficients, mean, percentiles and costs of attempts."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from mldsa_lab.estimate.interval import Interval, combine
from mldsa_lab.estimate.noise import (
    FEW_TIMES,
    KeyOffsets,
    Typical,
    key_offsets,
    typical,
    undisturbed,
)
from mldsa_lab.estimate.posterior import Posterior, apart, fit
from mldsa_lab.theory.arrays import Array, Ints
from mldsa_lab.theory.law import Law
from mldsa_lab.theory.rejection import RejectionModel
from mldsa_lab.theory.terms import LINEAR, MEAN, Prior, as_table, prior, terms, to_costs
from mldsa_lab.theory.trace import Trace

COSTS = ("first", "z", "r", "h")
"""Cost of a signature accepted at the first attempt, and of a rejected attempt of each class."""


@dataclass(frozen=True)
class Fit:
    """Costs of some inputs fitted to their traces.

    ``traces``: of the inputs, none of runs; ``counts``: (inputs, 3) rejected attempts n_z, n_r,
    n_h; ``values``: (inputs, columns) of `mldsa_lab.theory.terms`; ``typical``: the costs;
    ``coefficients``: (columns,) expected ones. ``widen``: by how much the inputs' errors are wider
    than they seem, 1 where each input stands for itself. ``prior``: what was known of the signer.
    """

    model: RejectionModel
    traces: tuple[Trace, ...]
    counts: Array
    values: Array
    typical: Typical
    posterior: Posterior
    coefficients: Array
    keys: KeyOffsets
    prior: Prior
    widen: float = 1.0

    @property
    def cost(self) -> Array:
        """(inputs,) the cost of each input in the typical round."""
        return self.typical.cost

    @property
    def fitted(self) -> Array:
        """(inputs,) what the fit says that they cost."""
        return np.asarray(self.values @ self.coefficients)

    @property
    def residual(self) -> float:
        """Root mean square of what the fit leaves of the costs, relative to it."""
        relative = self.cost / np.maximum(self.fitted, 0.1 * self.cost) - 1
        return float(np.sqrt(np.mean(relative**2)))

    @property
    def attempt_costs(self) -> tuple[float, float, float, float]:
        """The values of `COSTS`."""
        first, z, r, h = to_costs(self.model) @ self.coefficients[:LINEAR]
        return float(first), float(z), float(r), float(h)

    def inner(self, row: Array, confidence: float, error: float = 0.0) -> Interval:
        """Of ``row`` (columns,) times the coefficients, in the typical round taken as it is;
        ``error``: one more standard error."""
        value = float(row @ self.coefficients)
        # The number of attempts rests on a measured probability.
        attempts = self.model.fail_h_error / (1 - self.model.fail_h)
        shared = math.hypot(attempts, self.keys.error)
        extra = math.hypot(value * shared, error)
        low, high = self.posterior.limits(row, confidence, extra)
        # The expectation of a lopsided mixture may lie beyond the middle of it.
        low, high = self.widen * min(low - value, 0.0), self.widen * max(high - value, 0.0)
        return Interval(value, value + low, value + high)

    def interval(self, row: Array, confidence: float) -> Interval:
        """Of ``row`` (columns,) times the coefficients."""
        return combine(self.inner(row, confidence), self.typical.rounds, confidence)

    def mean(self, confidence: float) -> Interval:
        """Mean over all signatures."""
        return _positive(self.interval(self._column(MEAN), confidence))

    def costs(self, confidence: float) -> dict[str, Interval]:
        """`COSTS`, as averages over abort indexes; ``final``: the attempt that is accepted, taken
        to cost as much as one that fails the hint's check, since both do all but the packing; and
        ``setup``: all else that is done once for a signature."""
        first, z, r, h = to_costs(self.model)
        rows = np.zeros((len(COSTS) + 2, len(self.coefficients)))
        rows[:, :LINEAR] = first, z, r, h, h, first - h
        names = (*COSTS, "final", "setup")
        return {name: self.interval(row, confidence) for name, row in zip(names, rows, strict=True)}

    def further(self, confidence: float) -> dict[str, Interval]:
        """The terms beside the counts, by the names of `mldsa_lab.theory.terms`."""
        names = self.prior.names[LINEAR:]
        return {
            name: self.interval(self._column(place), confidence)
            for place, name in enumerate(names, LINEAR)
        }

    def law(self, share: float = 0.999) -> Law:
        """The law of the cost over all signatures; ``share``: the largest to be asked for."""
        misfit = self.posterior.typical_misfit()
        return Law.from_terms(self.model, self.coefficients, misfit, share=share)

    def quantiles(self, shares: Sequence[float], confidence: float) -> list[Interval]:
        """The costs that these shares (in (0, 1)) of all signatures do not exceed."""
        law = self.law(max(shares))
        # What no term explains may be the inputs' own, and so spread the law, or noise.
        sharp = replace(law, misfit=0.0)
        found = []
        for share in shares:
            value, row = law.quantile(share)
            around = self.inner(row, confidence, abs(value - sharp.quantile(share)[0]))
            assert around.low is not None and around.high is not None
            # The linear function that touches the quantile here, moved to it.
            low, high = around.low - around.value, around.high - around.value
            inner = Interval(value, value + low, value + high)
            found.append(_positive(combine(inner, self.typical.rounds, confidence)))
        return found

    def _column(self, place: int) -> Array:
        row: Array = np.eye(len(self.coefficients))[place]
        return row


def fit_costs(
    traces: Sequence[Trace],
    costs: Array,
    model: RejectionModel,
    *,
    shares: Array | None = None,
    overlap: float = 1.0,
    noise: float | None = None,
    resolution: float = 0.0,
    keys: Sequence[Hashable] | None = None,
    hardened: bool = False,
) -> Fit:
    """Fit ``costs`` (rounds, inputs), positive, NaN where missing, of inputs of these traces; or
    with ``shares`` (runs, inputs) costs (rounds, runs), each for one operation of a run of several,
    of whose operations each input has that share.

    ``overlap``: in how many runs each input takes part; what they owe to an input that they share
    says nothing new. ``noise``: relative standard deviation of one measurement, where it is known
    (0: counts of a simulator); else repeats show it, or a usual one is assumed. ``resolution``: the
    step of the scale that the costs were read from. ``keys``: of the inputs, if some share one.
    ``hardened``: whether the signer checks its own signatures.
    """
    table = as_table(traces, model)
    counts, values = table.counts(), terms(table, model)
    if shares is not None:
        counts, values = shares @ counts, shares @ values
    known = prior(model, hardened)

    def predict(places: Ints) -> Array:
        of_these = typical(costs[:, places], resolution, noise)
        some = fit(values[places], of_these.cost, known, of_these.noise, of_these.repeats)
        return np.asarray(np.maximum(values @ some.mean, 1e-3 * of_these.cost.min()))

    calm = undisturbed(costs, predict)
    # Medians over more rounds do not feel what was disturbed.
    found = typical(calm if len(costs) <= FEW_TIMES else costs, resolution, noise)
    found = replace(found, costs=calm)
    posterior = fit(values, found.cost, known, found.noise, found.repeats)
    mean = posterior.mean
    left = found.cost / np.maximum(values @ mean, 0.1 * found.cost) - 1
    offsets = key_offsets(range(len(counts)) if keys is None else keys, left)
    single = tuple(traces) if shares is None else ()
    widen = math.sqrt(max(overlap, 1.0))
    return Fit(model, single, counts, values, found, posterior, mean, offsets, known, widen)


def quotient_of_inputs(one: Fit, other: Fit, confidence: float) -> Interval:
    """The mean of one signer over that of another on the same inputs, in the typical round of
    each; what the inputs do to both alike cancels."""
    means = one.coefficients[MEAN], other.coefficients[MEAN]
    first, second = (f.typical.noise.averaged(f.typical.repeats) for f in (one, other))
    of_both = math.hypot(math.sqrt(second.weight @ second.size**2), second.reading)
    noise = replace(first, size=np.hypot(first.size, of_both))
    found = apart(one.values, one.cost / means[0], other.cost / means[1], one.prior, noise)
    row = np.eye(len(one.coefficients))[MEAN]
    widen = max(one.widen, other.widen)
    low, high = (widen * (limit - found.mean[MEAN]) for limit in found.limits(row, confidence))
    return Interval(1.0, 1 + min(low, 0.0), 1 + max(high, 0.0)).times(means[0] / means[1])


def _positive(interval: Interval) -> Interval:
    """With all three at 0 where they are below, as they are for costs that follow no trace."""
    assert interval.low is not None and interval.high is not None
    value, low, high = (max(v, 0.0) for v in (interval.value, interval.low, interval.high))
    return Interval(value, low, high)
