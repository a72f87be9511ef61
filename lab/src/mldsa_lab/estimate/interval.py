"""Estimates with their confidence limits."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from scipy.special import stdtrit

from mldsa_lab.estimate.location import Median
from mldsa_lab.theory.arrays import Array

FEWEST_ROUNDS = 4
"""Rounds, or processes, below which no figure has an interval: Student's factor is 12.7 for two and
4.3 for three, and nothing shows whether those are typical."""


@dataclass(frozen=True)
class Interval:
    """A value with its confidence limits, which are None where the data show no variation to
    estimate them from."""

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

    def inverse(self, of: float = 1.0) -> Interval:
        """The interval of ``of`` over the value, which is positive. It has no upper limit where
        this one reaches zero."""
        limits = (None if x is None or x <= 0 else of / x for x in (self.high, self.low))
        return Interval(of / self.value, *limits)


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
