"""Repeated measurements: the cost of each input in the typical round, how noisy one is, and what
the costs of one key have in common."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import chdtri, expit, fdtrc, ndtri

from mldsa_lab.estimate.interval import Median, median_over_rounds, split_levels, typical_round
from mldsa_lab.estimate.posterior import CONSTANT, RELATIVE, SHOW_NOISE, Noise
from mldsa_lab.theory.arrays import Array, Flags, Ints

# Noise of one measurement of which nothing is known, as weights of relative and of constant
# standard deviations: a timer's is some percents. The rest of the weight is for none: a simulator.
# Where inputs are enough to show it, any is as likely.
_USUAL_NOISE = (
    (0.003, 0.05), (0.01, 0.1), (0.02, 0.12), (0.04, 0.12), (0.07, 0.1), (0.1, 0.08), (0.15, 0.06),
    (0.25, 0.02),
)  # fmt: skip
_ANY_NOISE = (
    (0.003, 0.05), (0.01, 0.1), (0.02, 0.11), (0.04, 0.09), (0.07, 0.07), (0.1, 0.07), (0.15, 0.08),
    (0.25, 0.08), (0.4, 0.02),
)  # fmt: skip
_CONSTANT = ((0.01, 0.02), (0.03, 0.04), (0.06, 0.04), (0.1, 0.02))
# Shares at which the law of a noise that few repeats show is represented, with weights; and from
# that many degrees of freedom on.
_SHARES = (
    (1, (0.02, 0.1, 0.3, 0.5, 0.7, 0.9, 0.98), (0.06, 0.14, 0.2, 0.2, 0.2, 0.14, 0.06)),
    (12, (0.1, 0.3, 0.5, 0.7, 0.9), (0.2,) * 5),
    (40, (0.2, 0.5, 0.8), (0.3, 0.4, 0.3)),
)
# The median of three or more is pi / 2 times as scattered as their mean; noise is winsorised
# beyond this many deviations, since the median does not feel spikes.
_MEDIAN = math.pi / 2
_SPIKE = 4.0
_NEGLIGIBLE = 1e-3
# A single cost was disturbed if it is so many deviations of the noise off the others of its input,
_FAR = 5.0
_FAR_OF_TWO = 3.0  # or off the other one, if there are two,
_TELLING = 0.01  # and by this share. More than a part of all costs is no disturbance but noise:
_MOST_OFF = 0.2
FEW_TIMES = 5
"""Measurements of an input up to which one that is far off is left out of its cost."""
# Relative standard deviation between keys where the costs do not show it: a board's was of this
# size, and verifications under 24 keys each differ by 0.26 % beyond their noise in the median of
# the 45 cells of records/2026-11-21-epyc-zen3/first.jsonl.xz. As if so many degrees of freedom had
# shown it.
_USUAL = 0.003
_WORTH = 4
_SURE = 0.05


@dataclass(frozen=True)
class Typical:
    """Costs of the inputs in the typical round.

    ``costs``: (rounds, inputs) as measured, NaN where there is none or something else disturbed
    it; ``cost``: (inputs,); ``noise``: what the noise of one measurement may be; ``repeats``:
    (inputs,) by how much less its variance is in ``cost``; ``level``: (rounds,) logarithm of each
    round's speed; ``rounds``: their median, with its errors; ``seen``: the noise of one measurement
    that repeats show, None without repeats; ``df``: its degrees of freedom; ``own``: the standard
    error that this gives each level.
    """

    costs: Array
    cost: Array
    noise: Noise
    repeats: Array
    level: Array
    rounds: Median
    seen: float | None
    df: int
    own: float


def typical(costs: Array, resolution: float, given: float | None) -> Typical:
    """Of ``costs`` (rounds, inputs), positive, NaN where missing, no row or column without any.

    ``resolution``: the step of the scale they were read from; ``given``: relative standard
    deviation of one measurement where it is known.
    """
    rounds, inputs = costs.shape
    present = ~np.isnan(costs)
    times = present.sum(axis=0).astype(np.float64)
    parts = split_levels(costs)
    cost, level, rest = parts.shape, parts.level, np.where(present, parts.rest, 0.0)
    df = int(present.sum()) - rounds - inputs + 1
    seen = None
    if rounds > 1 and not rest.any() and not level.any():
        seen = 0.0  # exact repeats, of a single input too
    elif rounds > 1 and df > 0:
        seen = _scatter(rest[present], df)
    if given is not None:
        noise = Noise(np.array([given]), np.array([RELATIVE]), np.ones(1))
    elif rounds > 1 and (not seen or inputs == 1):
        # The levels of the rounds of a single input hold its noise.
        noise = Noise(np.zeros(1), np.array([RELATIVE]), np.ones(1))
    elif seen is not None:
        noise = _from_repeats(rest, present, cost, df)
    else:
        of_costs = _USUAL_NOISE if inputs < SHOW_NOISE else _ANY_NOISE
        size, weight = np.array(of_costs + _CONSTANT).T
        power = np.repeat([RELATIVE, CONSTANT], [len(of_costs), len(_CONSTANT)])
        noise = Noise(size, power, weight, known=False)
    # Of the median over the inputs.
    own = (seen or 0.0) * math.sqrt((math.pi / 2 if inputs > 2 else 1.0) / inputs)
    reading = resolution / math.sqrt(12) / float(cost.mean())
    return Typical(
        costs=costs,
        cost=cost,
        noise=replace(noise, reading=reading),
        repeats=np.where(times > 2, times / _MEDIAN, times),
        level=level,
        rounds=median_over_rounds(level) if inputs == 1 else typical_round(level, own, df),
        seen=seen,
        df=df,
        own=own,
    )


def _from_repeats(rest: Array, present: Flags, cost: Array, df: int) -> Noise:
    """What the noise may be by ``rest`` (rounds, inputs), logarithms of what is left of each
    measurement, of which ``present`` are there."""
    size, power, weight = [], [], []
    relative = np.broadcast_to(cost / cost.mean(), rest.shape)[present]
    _, shares, weights = max(row for row in _SHARES if row[0] <= df)
    # The likelihood of either kind, its size fitted.
    found = {}
    for kind in (RELATIVE, CONSTANT):
        shape = relative ** (kind / 2 - 1)
        found[kind] = _scatter(rest[present] / shape, df)
    best = {k: -df * math.log(max(v, 1e-300)) for k, v in found.items()}
    best[CONSTANT] += df * float(np.log(relative).mean())
    for kind, seen in found.items():
        other = sum(best.values()) - best[kind]
        chance = float(expit(best[kind] - other))
        if chance < _NEGLIGIBLE:
            continue
        # df seen^2 / sigma^2 has the chi-squared law.
        size.append(seen * np.sqrt(df / chdtri(df, shares)))
        power.append(np.full(len(shares), kind))
        weight.append(chance * np.array(weights))
    return Noise(np.concatenate(size), np.concatenate(power), np.concatenate(weight))


def _scatter(rest: Array, df: int) -> float:
    """Standard deviation of one measurement from what is left of it."""
    size = np.abs(rest)
    typical = 1.4826 * float(np.median(size[size > 0])) if (size > 0).any() else 0.0
    calm = np.minimum(size, _SPIKE * typical * math.sqrt(len(rest) / df))
    return math.sqrt(float((calm**2).sum()) / df)


def undisturbed(costs: Array, predict: Callable[[Ints], Array]) -> Array:
    """``costs`` (rounds, inputs) without single ones that something else disturbed: NaN in place
    of those far off the others of their input.

    Where the costs of an input are torn, as two are, no majority says which are right, and among
    a few it may be wrong. Then ``predict``, given the places of inputs that are not torn, says what
    each should cost (inputs,), and those count that agree with the nearest.
    """
    rounds, inputs = costs.shape
    present = ~np.isnan(costs)
    times = present.sum(axis=0)
    df = int(present.sum()) - rounds - inputs + 1
    if rounds < 2 or inputs < 3 or df < 1:
        return costs
    parts = split_levels(costs)
    size = np.abs(parts.rest)
    # A median over three or so leaves many a zero; of two, as many may be off as half of all.
    share = 0.5 if rounds == 2 else 0.75
    typical_size = float(np.quantile(size[present], share)) / float(ndtri((1 + share) / 2))
    noise = typical_size * math.sqrt(int(present.sum()) / df)
    # What is left of two costs is half of their difference, each.
    far = np.where(times == 2, _FAR_OF_TWO / math.sqrt(2), _FAR) * noise
    off = present & (size > np.maximum(far, _TELLING))
    torn = off.any(axis=0) & ((times <= FEW_TIMES) | (2 * off.sum(axis=0) >= times))
    whole = np.flatnonzero(~torn)
    if not off.any() or len(whole) < 3:
        return costs
    if torn.any():
        logs = np.log(costs) - parts.level[:, None]
        away = np.abs(logs - np.log(predict(whole)))
        near = np.nanmin(away, axis=0)
        nearest = np.nanargmin(np.where(present, away, np.inf), axis=0)
        apart = np.abs(logs - logs[nearest, np.arange(inputs)])
        # Nothing is said where even the nearest is far off: it is the input that is.
        clear = near < np.nanmax(away, axis=0) / 2
        off = np.where(torn, clear & (apart > np.maximum(far, _TELLING)), off)
    left = present & ~off
    few = (
        off.sum() <= _MOST_OFF * present.sum() and left.any(axis=0).all() and left.any(axis=1).all()
    )
    return np.where(off, np.nan, costs) if few else costs


@dataclass(frozen=True)
class KeyOffsets:
    """``keys``: how many the inputs have; ``size``: relative standard deviation of the costs of
    one key about those of others; ``seen``: whether the costs show it, else it is the usual one;
    ``error``: relative standard error that it leaves in every estimate beyond what the inputs'
    own deviations show, 0 where each input has a key of its own."""

    keys: int
    size: float
    seen: bool
    error: float


def key_offsets(keys: Sequence[Hashable], relative: Array) -> KeyOffsets:
    """For inputs of these ``keys``, ``relative`` (inputs,) being what a fit leaves of each cost."""
    total = len(keys)
    _, place, times = np.unique([hash(k) for k in keys], return_inverse=True, return_counts=True)
    groups, size, seen = len(times), _USUAL, False
    if 1 < groups < total:
        means = np.bincount(place, weights=relative) / times
        within = float(((relative - means[place]) ** 2).sum()) / (total - groups)
        between = float(times @ (means - relative.mean()) ** 2) / (groups - 1)
        seen = float(fdtrc(groups - 1, total - groups, between / max(within, 1e-300))) < _SURE
        if seen:
            usual = (total - float((times**2).sum()) / total) / (groups - 1)  # inputs a key
            found = (groups - 1) * (between - within) / usual
            size = float(np.sqrt((_WORTH * _USUAL**2 + found) / (_WORTH + groups - 1)))
    # The mean square of the keys' shares, less that of inputs with a key each.
    excess = float(((times / total) ** 2).sum()) - 1 / total
    return KeyOffsets(groups, size, seen, size * max(excess, 0.0) ** 0.5)
