"""Linear regression with a prior, averaged over the possible scales of prior and noise.

For each point of a grid of scales the coefficients are normal (conjugate prior). The weight of a
point is its prior weight times the likelihood of the costs. The result is a mixture of normal
distributions. With many inputs a few points have all the weight and it is least squares. With one,
two or three inputs the interval includes the possible values that they cannot exclude.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import logsumexp, ndtr, ndtri

from mldsa_lab.theory.law import LINEAR, MEAN, SLOPE, Prior
from mldsa_lab.theory.trace import Array

# Each scale with its prior weight. What they stand on, and how the intervals then do:
# lab/notes/measurements.md. The linear part: a usual signer, an unusual one, anything.
_LINEAR_SCALES = ((1.0, 0.95), (3.0, 0.045), (30.0, 0.005))
NO_INDEX = 0.03
"""Scale of the terms of abort indexes that means none."""
_INDEX_SCALES = ((NO_INDEX, 0.4), (0.3, 0.3), (1.0, 0.3))
# Terms of the number of attempts: next to none; a little of each; or only one, in full.
NO_STEPS, SOME_STEPS = "none", "all"
BENT = "curvature"
_ITERATION_KINDS = (
    (NO_STEPS, 0.68), (SOME_STEPS, 0.1), ("pairs", 0.15), ("fours", 0.03), (BENT, 0.04)
)  # fmt: skip
_LITTLE = 0.3
_NEXT_TO_NONE = 0.01
# Times the prior deviation of `covariates`, which guards against half of it; a bent cost may be
# bent far more than that.
_IN_STEPS = 2.0
_IN_A_BEND = 10.0
# What no term explains: relative standard deviation at the mean cost.
_MISFITS = (
    (1e-5, 0.1), (1e-4, 0.1), (3e-4, 0.1), (1e-3, 0.15), (3e-3, 0.2), (1e-2, 0.2), (3e-2, 0.14),
    (0.1, 0.01),
)  # fmt: skip
# Standard deviation of the mean's prior in units of the mean: none in effect.
_FLAT = 10.0
_UNUSUAL_MISFIT = 0.03
_PASSES = 3
# Residuals show too small a noise about as often as too large a one, and the former is worse:
# variances are larger by this share; by more where inputs are too few to show noise at all.
SHOW_NOISE = 8
"""Inputs, each measured once, from which on residuals show their noise."""
_WIDER, _WIDER_IF_FEW = 0.05, 0.4
_LIGHT = 1e-7


RELATIVE, CONSTANT = 2.0, 0.0
"""Power of the cost that the variance of noise grows with."""


@dataclass(frozen=True)
class Noise:
    """The possible noise of one measurement, (kinds,) each. ``size``: its standard deviations at
    the mean cost, relative to that. ``power``: the power of the cost that its variance grows with.
    ``weight``: weights.

    ``known``: it was seen or given; else it cannot be told from what no term explains, and is one
    of these or that, not both. ``reading``: further, constant noise from the scale's step.
    """

    size: Array
    power: Array
    weight: Array
    known: bool = True
    reading: float = 0.0

    def averaged(self, repeats: Array) -> Noise:
        """That of averages, ``repeats`` (inputs,) being by how much less its variance is."""
        return replace(self, size=self.size / np.sqrt(np.median(repeats)))

    def with_misfit(self) -> tuple[Array, Array, Array, Array]:
        """Size, power, misfit and weight of each kind of error there may be."""
        misfit, chance = np.array(_MISFITS).T
        if not self.known:
            none = np.full(len(misfit), self.reading)
            return (
                np.concatenate([none, np.hypot(self.size, self.reading)]),
                np.concatenate([none * CONSTANT, self.power]),
                np.concatenate([misfit, np.full(len(self.size), misfit[0])]),
                np.concatenate([chance * (1 - self.weight.sum()), self.weight]),
            )
        # A misfit far below the noise is none.
        noise = np.hypot(self.size, self.reading)
        small = misfit < 0.03 * float(noise.min())
        if small.any():
            misfit = np.append(misfit[small][-1], misfit[~small])
            chance = np.append(chance[small].sum(), chance[~small])
        size, power, weight = (np.repeat(v, len(misfit)) for v in (noise, self.power, self.weight))
        times = len(self.size)
        return size, power, np.tile(misfit, times), weight * np.tile(chance, times)


@dataclass(frozen=True)
class Posterior:
    """A mixture of normal laws of the coefficients, in the costs' unit.

    ``weight``: (points,), ``centre``: (points, columns), ``covariance``: (points, columns,
    columns); ``misfit``, ``noise``, ``power``: (points,) the scales of the errors and the power of
    the noise; ``index``: (points,) that of the terms of abort indexes; ``steps``: (points,) which
    terms of the number of attempts;
    ``linear``: how much more than usual the linear part's coefficients may be off.
    """

    weight: Array
    centre: Array
    covariance: Array
    misfit: Array
    noise: Array
    power: Array
    index: Array
    steps: NDArray[np.str_]
    linear: Array

    @property
    def mean(self) -> Array:
        """(columns,) expectation of the coefficients."""
        return np.asarray(self.weight @ self.centre)

    def along(self, row: Array) -> tuple[Array, Array]:
        """Means and standard deviations (points,) of ``row`` (columns,) times the coefficients."""
        variance = self.covariance @ row @ row
        return self.centre @ row, np.sqrt(np.maximum(variance, 0.0))

    def limits(self, row: Array, confidence: float, extra: float = 0.0) -> tuple[float, float]:
        """Central interval of ``row`` times the coefficients; ``extra`` is one more standard
        error, independent of theirs."""
        centre, deviation = self.along(row)
        return mixture_limits(self.weight, centre, np.hypot(deviation, extra), confidence)

    def variance(self, cost: Array, mean: float, repeats: float) -> Array:
        """(points,) that of the measured cost of an input that costs ``cost`` (points,), where
        the mean is ``mean``."""
        own = self.noise**2 * cost**self.power * mean ** (2 - self.power)
        return np.asarray(own / repeats + self.misfit**2 * cost * mean)

    def typical_misfit(self) -> float:
        """The median of ``misfit``."""
        return self._at_share(self.misfit, 0.5)

    def usual(self) -> float:
        """Return the probability that the costs are a usual signer's. The linear part is then as
        expected, without steps or a bend, and almost nothing is unexplained."""
        usual = (self.linear == 1) & (self.steps == NO_STEPS) & (self.misfit < _UNUSUAL_MISFIT)
        return float(self.weight[usual].sum())

    def error(self, share: float) -> float:
        """The relative error of one measurement at the mean cost, noise and misfit, that it does
        not exceed with this probability."""
        return self._at_share(np.hypot(self.misfit, self.noise), share)

    def _at_share(self, values: Array, share: float) -> float:
        order = np.argsort(values)
        at = int(np.searchsorted(np.cumsum(self.weight[order]), share))
        return float(values[order][min(at, len(order) - 1)])


def mixture_limits(
    weight: Array, centre: Array, deviation: Array, confidence: float
) -> tuple[float, float]:
    """Central interval of a mixture of normal laws."""
    scale = max(float(np.abs(centre).max()), 1e-300)
    deviation = np.maximum(deviation, 1e-12 * scale)

    def beyond(value: float, share: float) -> float:
        return float(weight @ ndtr((value - centre) / deviation)) - share

    limits = []
    for share in ((1 - confidence) / 2, (1 + confidence) / 2):
        # Between the least and the largest of the normal laws' own quantiles.
        quantiles = centre + ndtri(share) * deviation
        low, high = float(quantiles.min()), float(quantiles.max())
        off = 1e-9 * max(high - low, scale)
        limits.append(brentq(beyond, low - off, high + off, args=(share,), xtol=1e-9 * scale))
    return float(limits[0]), float(limits[1])


def posterior_of(
    values: Array, cost: Array, prior: Prior, noise: Noise, repeats: Array
) -> Posterior:
    """The coefficients for terms ``values`` (inputs, columns) and ``cost`` (inputs,), positive.

    ``noise``: of one measurement; ``repeats``: (inputs,) by how much less its variance is in
    ``cost``.
    """
    usual = values @ prior.centre
    scale = float(np.median(cost / usual))
    fitted = cost
    for _ in range(_PASSES):
        # Deviations are in units of the mean, and variances follow the fitted costs.
        posterior = _fit_at(values, cost, prior, noise, repeats, scale, fitted, _spreads(prior)[:1])
        if posterior.mean[MEAN] > 0:
            scale = float(posterior.mean[MEAN])
        fitted = np.clip(values @ posterior.mean, 0.3 * cost, 3.0 * cost)
    posterior = _fit_at(values, cost, prior, noise, repeats, scale, fitted, _spreads(prior))
    if noise.known:
        return posterior
    widen = 1 + (_WIDER_IF_FEW if len(cost) < SHOW_NOISE else _WIDER)
    return replace(posterior, covariance=posterior.covariance * widen)


def contrast(values: Array, one: Array, other: Array, prior: Prior, repeats: Noise) -> Posterior:
    """Fit the difference of two signers' costs on the same inputs, each with its mean as 1.

    ``values``: (inputs, columns) terms; ``one``, ``other``: (inputs,) the costs; ``repeats``: of
    their difference, as it is in these. The first coefficient of what results is 1 plus the
    difference of the means; what inputs do to both signers alike is not in it.
    """
    alike = replace(prior, centre=np.eye(len(prior.centre))[MEAN])
    times = np.ones(len(one))
    middle = (one + other) / 2
    return _fit_at(values, 1 + one - other, alike, repeats, times, 1.0, middle, _spreads(prior))


class _Spread(NamedTuple):
    """Standard deviations (columns,) of the coefficients with the mean cost as 1. Also the weight
    of this case, the scale of the terms of abort indexes, and the terms of iterations in use."""

    deviation: Array
    weight: float
    index_scale: float
    steps: str
    linear: float


@cache
def _spreads(prior: Prior) -> list[_Spread]:
    spreads = []
    kinds = product(_LINEAR_SCALES, _INDEX_SCALES, _ITERATION_KINDS)
    for (linear, a), (index, b), (kind, c) in kinds:
        spread = prior.spread.copy()
        spread[MEAN] = _FLAT
        spread[SLOPE:LINEAR] *= linear
        spread[prior.is_index_term] *= index
        little = _LITTLE if kind == SOME_STEPS else _NEXT_TO_NONE
        scale = np.where(prior.is_iteration_term, little, 1.0)
        if kind in prior.names:
            scale[prior.names.index(kind)] = _IN_A_BEND if kind == BENT else _IN_STEPS
        spreads.append(_Spread(spread * scale, a * b * c, index, kind, linear))
    return spreads


def _fit_at(
    values: Array,
    cost: Array,
    prior: Prior,
    noise: Noise,
    repeats: Array,
    scale: float,
    fitted: Array,
    spreads: Sequence[_Spread],
) -> Posterior:
    """`fit` with costs relative to ``scale`` and variances from ``fitted`` (inputs,)."""
    relative = fitted / scale
    y = cost / scale
    # The mean's own column is the cost of a usual signer of mean 1; the others are deviations
    # from it.
    basis = np.eye(len(prior.centre))
    basis[:, MEAN] = prior.centre
    values = values @ basis
    own, power, misfit, chance = noise.with_misfit()
    # (kinds, inputs)
    precision = 1 / (
        own[:, None] ** 2 * relative ** power[:, None] / repeats + misfit[:, None] ** 2 * relative
    )
    # Orthogonal factors throughout: costs may be exact to ten digits, and fewer than coefficients.
    size = len(prior.spread)
    root = np.sqrt(precision)
    data = _triangle(np.column_stack([values, y]) * root[:, :, None])
    # In units of their prior deviations the coefficients have unit prior precision.
    unit = np.array([spread.deviation for spread in spreads])
    stacked = np.zeros((len(own), len(spreads), data.shape[1] + size, size + 1))
    stacked[:, :, : data.shape[1]] = data[:, None]
    stacked[:, :, : data.shape[1], :size] *= unit[None, :, None, :]
    stacked[:, :, data.shape[1] :, :size] = np.eye(size)
    factor = _triangle(stacked)
    inner, right = factor[..., :size, :size], factor[..., :size, size]
    rest = factor[..., size, size] ** 2
    determinant = np.log(np.abs(np.diagonal(inner, axis1=-2, axis2=-1))).sum(axis=-1)
    likelihood = np.log(root).sum(axis=1)[:, None] - determinant - 0.5 * rest
    before = np.log([spread.weight for spread in spreads])
    log_weight = (likelihood + np.log(chance)[:, None] + before[None, :]).ravel()
    weight = np.exp(log_weight - logsumexp(log_weight))
    keep = weight > _LIGHT
    inverse = np.linalg.inv(inner.reshape(-1, size, size)[keep])
    unit = np.tile(unit, (len(own), 1))[keep]
    solved = (inverse @ right.reshape(-1, size, 1)[keep])[..., 0]
    centre = (solved * unit) @ basis.T
    spread_out = basis @ (inverse * unit[:, :, None])
    return Posterior(
        weight[keep] / weight[keep].sum(),
        centre * scale,
        spread_out @ spread_out.swapaxes(1, 2) * scale**2,
        np.repeat(misfit, len(spreads))[keep],
        np.repeat(own, len(spreads))[keep],
        np.repeat(power, len(spreads))[keep],
        np.tile([spread.index_scale for spread in spreads], len(own))[keep],
        np.tile([spread.steps for spread in spreads], len(own))[keep],
        np.tile([spread.linear for spread in spreads], len(own))[keep],
    )


def _triangle(rows: Array) -> Array:
    """The triangular factors of stacked matrices."""
    return np.asarray(np.linalg.qr(rows, mode="r"))
