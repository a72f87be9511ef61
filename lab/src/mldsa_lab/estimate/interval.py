"""Estimates with their confidence limits, and medians over rounds.

The level of a shared machine jumps between modes (an idle or a busy sibling core) and has
outliers on both sides, so neither means nor minima of rounds repeat; medians do, as long as one
mode has the majority (docs/methodology.md has the comparison). Their interval assumes no shape of
the noise.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.special import bdtr, fdtrc, ndtri, stdtrit

from mldsa_lab.theory.trace import Array

FEWEST_ROUNDS = 4
"""Rounds, or processes, below which no figure has an interval: Student's factor is 12.7 for two and
4.3 for three, and nothing shows whether those are typical."""
# Below this many rounds their correlation in time cannot be told from chance; a usual one is
# taken for granted.
_ROUNDS_FOR_CORRELATION = 8
_USUAL_CORRELATION = 0.3
_CORRELATION_CAP = 0.8
# From this many rounds on, stretches of the run are compared too.
_ROUNDS_FOR_STRETCHES = 16
# The prior of the variance between rounds. docs/measurements.md has how intervals then hold.
_USUAL = 0.7  # its root, in units of the error that the noise within rounds gives a level
_USUAL_OF_FEW = 0.3  # and where rounds are too few to show that it is larger
_WORTH = 4  # degrees of freedom
_WORTH_WRONG = 1  # those where rounds differ for certain, so that it is wrong
_PERHAPS = 0.4  # chance by noise below which four rounds and more speak for themselves
_CERTAIN = 0.01  # and below which rounds differ for certain


@dataclass(frozen=True)
class Interval:
    """A value with its confidence limits, which are None where the data show no variation to
    estimate them from. Differences and quotients are those of independent errors."""

    value: float
    low: float | None = None
    high: float | None = None

    def __iter__(self) -> Iterator[float | None]:
        """Value, lower and upper limit."""
        return iter((self.value, self.low, self.high))

    def of_rounds(self, rounds: int) -> Interval:
        """This interval, without limits where it rests on fewer than `FEWEST_ROUNDS` rounds."""
        return self if rounds >= FEWEST_ROUNDS else Interval(self.value)

    def times(self, factor: float) -> Interval:
        """The interval of so many times the value, for a positive factor."""
        limits = (None if x is None else x * factor for x in (self.low, self.high))
        return Interval(self.value * factor, *limits)

    def plus(self, other: Interval) -> Interval:
        """The interval of the sum with another value, whose errors are independent of these."""
        value = self.value + other.value
        if self.low is None or self.high is None or other.low is None or other.high is None:
            return Interval(value)
        below = math.hypot(self.value - self.low, other.value - other.low)
        above = math.hypot(self.high - self.value, other.high - other.value)
        return Interval(value, value - below, value + above)

    def __neg__(self) -> Interval:
        low, high = self.low, self.high
        return Interval(-self.value, None if high is None else -high, None if low is None else -low)

    def __sub__(self, other: Interval | float) -> Interval:
        return self.plus(-_exact(other))

    def __rsub__(self, other: float) -> Interval:
        return _exact(other).plus(-self)

    def __rmul__(self, factor: float) -> Interval:
        return self.times(factor)

    def __truediv__(self, other: Interval | float) -> Interval:
        if isinstance(other, Interval):
            return quotient(self, other)
        limits = (None if x is None else x / other for x in (self.low, self.high))
        return Interval(self.value / other, *limits)

    def inverse(self, of: float = 1.0) -> Interval:
        """The interval of ``of`` over the value, which is positive. It has no upper limit where
        this one reaches zero."""
        limits = (None if x is None or x <= 0 else of / x for x in (self.high, self.low))
        return Interval(of / self.value, *limits)


def _exact(value: Interval | float) -> Interval:
    return value if isinstance(value, Interval) else Interval(value, value, value)


def is_above(one: Interval | None, other: Interval | None) -> bool:
    """Return whether all of an interval is above another; not so where a limit is unknown."""
    if one is None or one.low is None or other is None or other.high is None:
        return False
    return one.low > other.high


def student(value: float, error: float, df: float, confidence: float) -> Interval:
    """The interval of a positive value by Student's law; ``error``: its relative standard error,
    taken as that of the logarithm."""
    factor = math.exp(float(stdtrit(df, (1 + confidence) / 2)) * error)
    return Interval(value, value / factor, value * factor)


def over(values: Array, confidence: float) -> Interval:
    """The mean of independent values, one for each process or round; fewer than `FEWEST_ROUNDS`
    give no limits."""
    mean = float(values.mean())
    if len(values) < FEWEST_ROUNDS or mean <= 0:
        return Interval(mean)
    error = float(values.std(ddof=1)) / len(values) ** 0.5
    return student(mean, error / mean, len(values) - 1, confidence)


def combine(inner: Interval, rounds: Median, confidence: float) -> Interval:
    """``inner`` with the error of the typical round added in quadrature, at each side its own.

    ``inner``: limits as of inputs alone, None counting as no error of theirs; ``rounds``: the
    logarithm of the rounds' level. One round shows no error, so none is added. Errors of what is
    certainly positive are added as logarithms, so that no limit is below 0.
    """
    value = inner.value
    low = value if inner.low is None else inner.low
    high = value if inner.high is None else inner.high
    if rounds.df > 0:
        deviate = float(stdtrit(rounds.df, (1 + confidence) / 2))
        below, above = deviate * rounds.below, deviate * rounds.above
        if low > 0:
            low = value * math.exp(-math.hypot(math.log(value / low), below))
            high = value * math.exp(math.hypot(math.log(high / value), above))
        else:
            low = value - math.hypot(value - low, value * -math.expm1(-below))
            high = value + math.hypot(high - value, value * math.expm1(above))
    return Interval(value, low, high)


def quotient(one: Interval, other: Interval) -> Interval:
    """One value over another whose errors are independent; both positive."""
    value = one.value / other.value
    if one.low is None or one.high is None or other.low is None or other.high is None:
        return Interval(value)
    low = math.hypot(_log(one.value, one.low), _log(other.high, other.value))
    high = math.hypot(_log(one.high, one.value), _log(other.value, other.low))
    return Interval(value, value * math.exp(-low), value * math.exp(high))


def _log(one: float, other: float) -> float:
    """Of a limit at 0 no more than that the value may be any number of times as large is known."""
    return math.log(one / other) if other > 0 else math.log(1e6)


# --- medians over rounds ---


@dataclass(frozen=True)
class Median:
    """A median over rounds with standard errors to each side, and their degrees of freedom.

    ``df`` is 0, and the errors are 0, where one value leaves no variation to see.
    """

    value: float
    below: float
    above: float
    df: int


def median_over_rounds(values: Array) -> Median:
    """Median of ``values`` (rounds,), in the order of time.

    The standard errors come from the order statistics about sqrt(rounds) ranks from the middle,
    divided by the normal deviate of their exact binomial coverage; each side has its own, so
    that a second mode on one side does not widen the other. Correlation between neighbouring
    rounds widens both, and so do stretches of the run that differ by more than that.
    """
    count = len(values)
    middle = float(np.median(values))
    if count < 2:
        return Median(middle, 0.0, 0.0, 0)
    rank = max(1, round((count + 1) / 2 - math.sqrt(count)))
    deviate = -float(ndtri(bdtr(rank - 1, count, 0.5)))
    ordered = np.partition(values, (rank - 1, count - rank))
    below = (middle - float(ordered[rank - 1])) / deviate
    above = (float(ordered[count - rank]) - middle) / deviate
    typical = (below + above) / 2
    slow = _error_from_stretches(values, middle)
    if typical == 0:
        return Median(middle, slow, slow, count - 1)
    widen = correlation_factor(values - middle, typical * math.sqrt(count))
    widen = max(widen, slow / typical)
    return Median(middle, below * widen, above * widen, count - 1)


def rounds_differ(level: Array, own: float, df: int, chance: float = _CERTAIN) -> bool:
    """Return true if rounds of this ``level`` (rounds,) differ by more than noise makes them but
    with this ``chance``; ``own`` and ``df`` as for `typical_round`."""
    if len(level) < 2 or df < 1 or own <= 0:
        return bool(np.ptp(level) > 0)
    return float(fdtrc(len(level) - 1, df, float(level.var(ddof=1)) / own**2)) < chance


def typical_round(level: Array, own: float, df: int) -> Median:
    """`median_over_rounds` of ``level`` (rounds,) where the noise within rounds gives each level a
    standard error of ``own``, which the costs of the inputs have already and ``df`` degrees of
    freedom show.

    Few rounds show little of how far rounds lie apart, so that has a prior: two rounds that agree
    are no worse than one, and two that differ add little more than what they show. From four rounds
    on it holds only while noise may explain how they differ.
    """
    rounds = len(level)
    enough = rounds >= FEWEST_ROUNDS and rounds_differ(level, own, df, _PERHAPS)
    if rounds < 2 or enough:
        return median_over_rounds(level)
    centred = level - level.mean()
    shown = float((centred**2).sum())
    worth = _WORTH_WRONG if rounds_differ(level, own, df) else _WORTH
    df = worth + rounds - 1
    usual = own * (_USUAL if rounds >= FEWEST_ROUNDS else _USUAL_OF_FEW)
    between = worth * usual**2 + max(shown - (rounds - 1) * own**2, 0.0)
    # A median of three or more is pi / 2 times as scattered as their mean.
    size = math.sqrt(between / df * (1.0 if rounds < 3 else math.pi / 2) / rounds)
    size *= correlation_factor(centred, math.sqrt(shown / (rounds - 1)))
    return Median(float(np.median(level)), size, size, df)


def _error_from_stretches(values: Array, middle: float) -> float:
    """Standard error of the median from the medians of about sqrt(rounds) stretches of the run;
    0 with too few rounds."""
    count = len(values)
    if count < _ROUNDS_FOR_STRETCHES:
        return 0.0
    parts = np.array_split(values, round(math.sqrt(count)))
    off = np.mean([abs(float(np.median(part)) - middle) for part in parts])
    # 1.2533 mean |x| estimates the standard deviation of a normal x.
    return 1.2533 * float(off) / math.sqrt(len(parts) - 1)


def correlation_factor(centred: Array, scale: float) -> float:
    """How much a first-order correlation in time widens a standard error: at least 1.

    ``centred``: (rounds,) deviations from their centre, in the order of time; those beyond three
    times ``scale`` count as that much.
    """
    count = len(centred)
    if scale <= 0:
        return 1.0
    rho = _USUAL_CORRELATION
    if count >= _ROUNDS_FOR_CORRELATION:
        calm = np.clip(centred, -3 * scale, 3 * scale)
        seen = float(calm[1:] @ calm[:-1]) / float(calm @ calm)
        # With the centre estimated, the coefficient is low by (1 + 4 rho) / count.
        rho = min(max((seen + 1 / count) / (1 - 4 / count), 0.0), _CORRELATION_CAP)
    return math.sqrt((1 + rho) / (1 - rho))


@dataclass(frozen=True)
class Levels:
    """A rounds x inputs table taken apart as cost = shape * exp(level).

    ``shape``: (inputs,) cost of each input in the typical round; ``level``: (rounds,) natural
    logarithm of each round's speed, median 0; ``rest``: (rounds, inputs) what is left of the
    logarithm of each cost, NaN where one is missing.
    """

    shape: Array
    level: Array
    rest: Array

    @property
    def noise(self) -> Array:
        """(inputs,) standard error of log(shape) that the rounds show, 0 with one round."""
        # The standard error of a normal median is 1.2533 sd / sqrt(rounds); sd is 1.4826 MAD.
        return 1.2533 * 1.4826 * _median(np.abs(self.rest), 0) / math.sqrt(len(self.rest))


def split_levels(costs: Array) -> Levels:
    """Take apart ``costs`` (rounds, inputs), positive, NaN where missing; every round and every
    input must have at least one value.

    Two sweeps of a median polish in logarithms: a round's level is the median over its inputs,
    an input's shape the median over rounds once levels are gone.
    """
    logs = np.log(costs)
    shape = _median(logs, 0)
    level = np.zeros(len(costs))
    for _ in range(2):
        level = _median(logs - shape, 1)
        shape = _median(logs - level[:, None], 0)
    centre = float(np.median(level))
    return Levels(np.exp(shape + centre), level - centre, logs - level[:, None] - shape)


def _median(values: Array, axis: int) -> Array:
    if np.isnan(values).any():
        return np.asarray(np.nanmedian(values, axis=axis), dtype=np.float64)
    return np.asarray(np.median(values, axis=axis), dtype=np.float64)
