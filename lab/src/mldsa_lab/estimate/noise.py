"""Repeated measurements: the cost of each input in the typical round, and how noisy one is."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtri, stdtrit

from mldsa_lab.estimate.location import median_over_rounds, split_levels
from mldsa_lab.estimate.posterior import Noise

Array = NDArray[np.float64]

# Noise of one measurement of which nothing is known: a simulator's is 0, a timer's some percents.
_UNKNOWN = (
    (0.0, 0.2), (0.003, 0.13), (0.01, 0.2), (0.02, 0.26), (0.04, 0.17), (0.1, 0.035),
    (0.5, 0.005),
)  # fmt: skip
# Shares at which the law of a noise that few repeats show is represented.
_SHARES = (0.1, 0.3, 0.5, 0.7, 0.9)
# The median of three or more is pi / 2 times as scattered as their mean; noise is winsorised
# beyond this many deviations, since the median does not feel spikes.
_MEDIAN = math.pi / 2
_SPIKE = 4.0
# Rounds' levels: as if so many more degrees of freedom had shown the same.
_MORE_ROUNDS = 2


@dataclass(frozen=True)
class Typical:
    """Costs of the inputs in the typical round.

    ``cost``: (inputs,); ``noise``: what the noise of one measurement may be; ``repeats``:
    (inputs,) by how much less its variance is in ``cost``; ``level``: (rounds,) logarithm of each
    round's speed; ``level_error``: relative standard error of the typical round; ``seen``: the
    noise of one measurement that repeats show, None without repeats; ``df``: its degrees of
    freedom.
    """

    cost: Array
    noise: Noise
    repeats: Array
    level: Array
    level_error: float
    seen: float | None
    df: int


def typical(costs: Array, resolution: float, given: float | None) -> Typical:
    """Of ``costs`` (rounds, inputs), positive, NaN where missing, no row or column without any.

    ``resolution``: the step of the scale they were read from; ``given``: relative standard
    deviation of one measurement where it is known.
    """
    rounds, inputs = costs.shape
    present = ~np.isnan(costs)
    times = present.sum(axis=0).astype(np.float64)
    if rounds == 1:
        cost, level, rest = costs[0].copy(), np.zeros(1), np.zeros_like(costs)
    else:
        parts = split_levels(costs)
        cost, level = parts.shape, parts.level
        rest = np.where(present, np.log(costs) - level[:, None] - np.log(cost), 0.0)
    df = int(present.sum()) - rounds - inputs + 1
    seen = _scatter(rest[present], df) if rounds > 1 and df > 0 else None
    if rounds > 1 and not rest.any() and not level.any():
        seen = 0.0  # exact repeats, of a single input too
    reading = resolution / math.sqrt(12) / float(cost.mean())
    size, weight = _law(seen, df, given)
    return Typical(
        cost=cost,
        noise=Noise(np.hypot(size, reading), weight),
        repeats=np.where(times > 2, times / _MEDIAN, times),
        level=level,
        level_error=_level_error(level),
        seen=seen,
        df=df,
    )


def _law(seen: float | None, df: int, given: float | None) -> tuple[Array, Array]:
    if given is not None:
        return np.array([given]), np.ones(1)
    if seen is None:
        size, weight = np.array(_UNKNOWN).T
        return size, weight
    if seen == 0:
        return np.zeros(1), np.ones(1)
    # df seen^2 / sigma^2 has the chi-squared law.
    return seen * np.sqrt(df / chdtri(df, _SHARES)), np.full(len(_SHARES), 1 / len(_SHARES))


def _scatter(rest: Array, df: int) -> float:
    """Standard deviation of one measurement from what is left of it."""
    size = np.abs(rest)
    typical = 1.4826 * float(np.median(size[size > 0])) if (size > 0).any() else 0.0
    calm = np.minimum(size, _SPIKE * typical * math.sqrt(len(rest) / df))
    return math.sqrt(float((calm**2).sum()) / df)


def _level_error(level: Array) -> float:
    """Relative standard error of the typical round, wide enough for the few rounds that show it
    (at a confidence of 95 %)."""
    rounds = len(level)
    if rounds < 2:
        return 0.0
    found = median_over_rounds(level)
    few = float(stdtrit(rounds - 1 + _MORE_ROUNDS, 0.975) / stdtrit(np.inf, 0.975))
    return max(found.below, found.above) * few
