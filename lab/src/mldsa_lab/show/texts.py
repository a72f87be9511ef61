"""Costs as text: units are whatever was measured in, so sizes are too."""

from __future__ import annotations

import math
from typing import NamedTuple

from mldsa_lab.estimate.interval import Interval
from mldsa_lab.show.format import number

# Beyond these sizes numbers are written with an exponent.
_LEAST, _MOST = 1e-5, 1e15
_DIGITS = 6
"""The most significant digits that are shown, whatever the interval."""


class Texts(NamedTuple):
    """A value and `[low, high]`."""

    value: str
    limits: str


def of_interval(interval: Interval) -> Texts:
    """With the decimals that the interval justifies: to the first digit of its half-width, or the
    second where one would round too coarsely."""
    assert interval.low is not None and interval.high is not None
    values = (interval.value, interval.low, interval.high)
    half = (interval.high - interval.low) / 2
    if _odd(max(abs(v) for v in values)):
        value, low, high = (f"{v:.{_DIGITS - 1}e}" if v else "0" for v in values)
        return Texts(value, f"[{low}, {high}]")
    decimals = _enough(max(abs(v) for v in values))
    if half > 0:
        exponent = math.floor(math.log10(half))
        decimals = min(decimals, max(0, -exponent + (half / 10.0**exponent < 3.55)))
    value, low, high = (number(v, decimals) for v in values)
    return Texts(value, f"[{low}, {high}]")


def of_cost(cost: float, least: float | None = None) -> str:
    """A measured cost to six digits; ``least``: the smallest of the column, which then has as many
    decimals."""
    if _odd(abs(cost)):
        return f"{cost:.{_DIGITS - 1}e}" if cost else "0"
    return number(cost, _enough(cost if least is None else least))


def tick(value: float) -> str:
    """A round number on an axis."""
    if _odd(abs(value)) and value:
        return f"{value:.4g}"
    return f"{value:,.4g}" if abs(value) < 1e4 else f"{value:,.0f}"


def _odd(size: float) -> bool:
    return size != 0 and not _LEAST <= size < _MOST


def _enough(value: float) -> int:
    """Decimals that show six digits of ``value``, none of them beyond the point if it is large."""
    if value == 0:
        return 0
    return max(0, _DIGITS - 1 - math.floor(math.log10(abs(value))))
