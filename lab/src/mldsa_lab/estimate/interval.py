"""Intervals: values with confidence limits; means and medians over rounds.

The level of a shared machine jumps between modes (an idle or a busy sibling core) and has outliers
on both sides. So neither means nor minima of rounds repeat. Medians do, as long as one mode has the
majority; lab/notes/methodology.md has the comparison. The interval of a median assumes no
distribution of the noise.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.special import bdtr, ndtri, stdtrit

from mldsa_lab.theory.trace import Array, Ints

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


@dataclass(frozen=True)
class Interval:
    """A value with its confidence limits, which are None where the data show no variation to
    estimate them from. Differences and quotients assume independent errors."""

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

    def inverse(self, numerator: float = 1.0) -> Interval:
        """The interval of ``numerator`` over the value, which is positive; without an upper limit
        where this one reaches zero."""
        limits = (None if x is None or x <= 0 else numerator / x for x in (self.high, self.low))
        return Interval(numerator / self.value, *limits)


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


def interval_from_deviations(value: float, deviations: Array, confidence: float) -> Interval:
    """Return the interval of a value whose relative deviations over inputs are these; one input
    shows none."""
    size = len(deviations)
    if size < 2:
        return Interval(value, value, value)
    return student(value, float(deviations.std(ddof=1)) / math.sqrt(size), size - 1, confidence)


def mean_interval(values: Array, confidence: float) -> Interval:
    """Return the mean of independent values, one for each process or round; fewer than
    `FEWEST_ROUNDS` give no limits."""
    mean = float(values.mean())
    if len(values) < FEWEST_ROUNDS or mean <= 0:
        return Interval(mean)
    error = float(values.std(ddof=1)) / len(values) ** 0.5
    return student(mean, error / mean, len(values) - 1, confidence)


def combine(inner: Interval, rounds: Median, confidence: float) -> Interval:
    """``inner`` with the error of the typical round added in quadrature, at each side its own.

    ``inner``: limits by the inputs only, None counting as no error of theirs; ``rounds``: the
    logarithm of the rounds' level. One round shows no error, so none is added. Errors of positive
    quantities are added as logarithms, so that no limit is below 0.
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


# Means and medians over rounds.


def mean_over_rounds(values: Array, round_of: Ints, confidence: float) -> Interval:
    """Return the plain mean of ``values``; ``round_of``: the round of each, from 0. Rounds are a
    random factor over the values within them; a single one gives no limits."""
    count = len(values)
    sizes = np.bincount(round_of)
    means = np.bincount(round_of, weights=values) / sizes
    mean, rounds = float(values.mean()), len(sizes)
    if count < 3 or rounds == count:
        error = float(values.std(ddof=1)) / math.sqrt(count) if count > 1 else 0.0
        df = float(count - 1)
    else:
        within = float(((values - means[round_of]) ** 2).sum()) / (count - rounds)
        variance, df = within / count, float(count - rounds)
        if rounds > 1:
            # One-way analysis of variance with unequal round sizes.
            between = float((sizes * (means - mean) ** 2).sum()) / (rounds - 1)
            typical = (count - float((sizes**2).sum()) / count) / (rounds - 1)
            of_round = max((between - within) / typical, 0.0)
            widen = correlation_factor(means - mean, float(means.std(ddof=1)))
            added = of_round * float((sizes**2).sum()) / count**2 * widen**2
            if added:
                df = (variance + added) ** 2 / (
                    variance**2 / (count - rounds) + (added + variance) ** 2 / (rounds - 1)
                )
            variance += added
        error = math.sqrt(variance)
    return student(mean, error / mean, df, confidence) if df > 0 and rounds > 1 else Interval(mean)


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
    divided by the normal deviate of their exact binomial coverage. Each side has its own, so a
    second mode on one side does not widen the other. Correlation between neighbouring rounds widens
    both, and so do stretches of the run that differ by more than that.
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
