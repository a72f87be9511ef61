"""Linear regression with a prior, averaged over what the scales of prior and noise may be.

For each point of a grid of scales the coefficients are normal (conjugate prior); the weight of a
point is its prior weight times the likelihood of the costs. What results is a mixture of normal
laws. With many inputs a few points have all the weight and it is least squares; with one, two or
three the interval holds what they cannot tell.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import logsumexp, ndtr

from mldsa_lab.theory.terms import LINEAR, MEAN, SLOPE, Prior

Array = NDArray[np.float64]

# Each scale with its prior weight. What they stand on, and how the intervals then do:
# docs/measurements.md. The linear part: a usual signer, an unusual one, anything.
_LINEAR_SCALES = ((1.0, 0.95), (3.0, 0.045), (30.0, 0.005))
NO_INDEX = 0.03
"""Scale of the terms of abort indexes that stands for none."""
_INDEX_SCALES = ((NO_INDEX, 0.4), (0.3, 0.3), (1.0, 0.3))
# Terms of the number of attempts: next to none; a little of each; or one alone in full.
NO_STEPS, SOME_STEPS = "none", "all"
_ATTEMPT_KINDS = ((NO_STEPS, 0.72), (SOME_STEPS, 0.1), ("pairs", 0.15), ("fours", 0.03))
_LITTLE = 0.3
_NEXT_TO_NONE = 0.01
_IN_STEPS = 2.0  # times the prior deviation of `covariates`, which guards against half of it
# What no term explains: relative standard deviation at the mean cost.
_MISFITS = (
    (1e-5, 0.1), (1e-4, 0.1), (3e-4, 0.1), (1e-3, 0.15), (3e-3, 0.2), (1e-2, 0.2), (3e-2, 0.14),
    (0.1, 0.01),
)  # fmt: skip
# Standard deviation of the mean's prior in units of the mean: none in effect.
_FLAT = 10.0
_PASSES = 3
_LIGHT = 1e-7


@dataclass(frozen=True)
class Noise:
    """Relative standard deviations that the noise of one measurement may have, with weights."""

    size: Array
    weight: Array


@dataclass(frozen=True)
class Posterior:
    """A mixture of normal laws of the coefficients, in the costs' unit.

    ``weight``: (points,), ``centre``: (points, columns), ``covariance``: (points, columns,
    columns); ``misfit``, ``noise``: (points,) the scales of the errors; ``index``: (points,) that
    of the terms of abort indexes; ``steps``: (points,) which terms of the number of attempts.
    """

    weight: Array
    centre: Array
    covariance: Array
    misfit: Array
    noise: Array
    index: Array
    steps: NDArray[np.str_]

    @property
    def mean(self) -> Array:
        """(columns,) expectation of the coefficients."""
        return np.asarray(self.weight @ self.centre)

    def along(self, row: Array) -> tuple[Array, Array]:
        """Means and standard deviations (points,) of ``row`` (columns,) times the coefficients."""
        variance = np.einsum("p,gpq,q->g", row, self.covariance, row, optimize=True)
        return self.centre @ row, np.sqrt(np.maximum(variance, 0.0))

    def limits(self, row: Array, confidence: float, extra: float = 0.0) -> tuple[float, float]:
        """Central interval of ``row`` times the coefficients; ``extra`` is one more standard
        error, independent of theirs."""
        centre, deviation = self.along(row)
        return mixture_limits(self.weight, centre, np.hypot(deviation, extra), confidence)

    def typical_misfit(self) -> float:
        """The median of ``misfit``."""
        order = np.argsort(self.misfit)
        at = int(np.searchsorted(np.cumsum(self.weight[order]), 0.5))
        return float(self.misfit[order][min(at, len(order) - 1)])


def mixture_limits(
    weight: Array, centre: Array, deviation: Array, confidence: float
) -> tuple[float, float]:
    """Central interval of a mixture of normal laws."""
    scale = max(float(np.abs(centre).max()), 1e-300)
    deviation = np.maximum(deviation, 1e-12 * scale)
    ends = float((centre - 40 * deviation).min()), float((centre + 40 * deviation).max())

    def beyond(value: float, share: float) -> float:
        return float(weight @ ndtr((value - centre) / deviation)) - share

    low, high = (
        float(brentq(beyond, *ends, args=(share,), xtol=1e-13 * scale, rtol=1e-12))
        for share in ((1 - confidence) / 2, (1 + confidence) / 2)
    )
    return low, high


def fit(values: Array, cost: Array, prior: Prior, noise: Noise, repeats: Array) -> Posterior:
    """The coefficients for terms ``values`` (inputs, columns) and ``cost`` (inputs,), positive.

    ``noise``: of one measurement; ``repeats``: (inputs,) by how much less its variance is in
    ``cost``.
    """
    usual = values @ prior.centre
    scale = float(np.median(cost / usual))
    fitted = cost
    for _ in range(_PASSES):
        # Deviations are in units of the mean, and variances follow the fitted costs.
        found = _fit_at(values, cost, prior, noise, repeats, scale, fitted, _spreads(prior)[:1])
        if found.mean[MEAN] > 0:
            scale = float(found.mean[MEAN])
        fitted = np.clip(values @ found.mean, 0.3 * cost, 3.0 * cost)
    return _fit_at(values, cost, prior, noise, repeats, scale, fitted, _spreads(prior))


class _Spread(NamedTuple):
    """Standard deviations (columns,) of the coefficients with the mean cost as 1, the weight of
    their being so, the scale of the terms of abort indexes, and which terms of attempts."""

    deviation: Array
    weight: float
    of_index: float
    steps: str


def _spreads(prior: Prior) -> list[_Spread]:
    found = []
    kinds = product(_LINEAR_SCALES, _INDEX_SCALES, _ATTEMPT_KINDS)
    for (linear, a), (index, b), (kind, c) in kinds:
        spread = prior.spread.copy()
        spread[MEAN] = _FLAT
        spread[SLOPE:LINEAR] *= linear
        spread[prior.of_index] *= index
        little = _LITTLE if kind == SOME_STEPS else _NEXT_TO_NONE
        of_attempts = np.where(prior.of_attempts, little, 1.0)
        if kind in prior.names:
            of_attempts[prior.names.index(kind)] = _IN_STEPS
        found.append(_Spread(spread * of_attempts, a * b * c, index, kind))
    return found


def _fit_at(
    values: Array,
    cost: Array,
    prior: Prior,
    noise: Noise,
    repeats: Array,
    scale: float,
    fitted: Array,
    spreads: list[_Spread],
) -> Posterior:
    """`fit` with costs relative to ``scale`` and variances from ``fitted`` (inputs,)."""
    relative = fitted / scale
    y = cost / scale
    # The mean's own column is the cost of a usual signer of mean 1; the others are deviations
    # from it.
    basis = np.eye(len(prior.centre))
    basis[:, MEAN] = prior.centre
    values = values @ basis
    kinds = list(product(range(len(noise.size)), range(len(_MISFITS))))
    sizes = np.array([[noise.size[i], _MISFITS[j][0]] for i, j in kinds])
    chance = np.log([noise.weight[i] * _MISFITS[j][1] for i, j in kinds])
    # (kinds, inputs)
    precision = 1 / (
        sizes[:, :1] ** 2 * (relative**2 / repeats)[None, :] + sizes[:, 1:] ** 2 * relative[None, :]
    )
    # Orthogonal factors throughout: costs may be exact to ten digits, and fewer than coefficients.
    size = len(prior.spread)
    root = np.sqrt(precision)
    data = _triangle(np.column_stack([values, y]) * root[:, :, None])
    # In units of their prior deviations the coefficients have unit prior precision.
    unit = np.array([spread.deviation for spread in spreads])
    stacked = np.zeros((len(kinds), len(spreads), data.shape[1] + size, size + 1))
    stacked[:, :, : data.shape[1]] = data[:, None]
    stacked[:, :, : data.shape[1], :size] *= unit[None, :, None, :]
    stacked[:, :, data.shape[1] :, :size] = np.eye(size)
    factor = _triangle(stacked)
    inner, right = factor[..., :size, :size], factor[..., :size, size]
    rest = factor[..., size, size] ** 2
    inverse = np.linalg.inv(inner)
    solved = (inverse @ right[..., None])[..., 0]
    determinant = np.log(np.abs(np.diagonal(inner, axis1=-2, axis2=-1))).sum(axis=-1)
    likelihood = np.log(root).sum(axis=1)[:, None] - determinant - 0.5 * rest
    before = np.log([spread.weight for spread in spreads])
    log_weight = (likelihood + chance[:, None] + before[None, :]).ravel()
    weight = np.exp(log_weight - logsumexp(log_weight))
    keep = weight > _LIGHT
    centre = (solved * unit).reshape(-1, size)[keep] @ basis.T
    spread_out = basis @ (inverse * unit[:, :, None]).reshape(-1, size, size)[keep]
    return Posterior(
        weight[keep] / weight[keep].sum(),
        centre * scale,
        spread_out @ spread_out.swapaxes(1, 2) * scale**2,
        np.repeat(sizes[:, 1], len(spreads))[keep],
        np.repeat(sizes[:, 0], len(spreads))[keep],
        np.tile([spread.of_index for spread in spreads], len(kinds))[keep],
        np.tile([spread.steps for spread in spreads], len(kinds))[keep],
    )


def _triangle(rows: Array) -> Array:
    """The triangular factors of stacked matrices."""
    return np.asarray(np.linalg.qr(rows, mode="r"))
