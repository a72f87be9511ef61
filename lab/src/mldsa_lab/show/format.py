"""Numbers as a reader wants them: one unit a table, digits that the interval justifies."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass

from mldsa_lab.estimate.interval import Interval

MISSING = "–"
"""Shown for a value that is unknown."""

# Sides of an interval whose lengths differ by no more than this factor are shown as one.
_EVEN = 1.5
_UNPRINTABLE = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}


@dataclass(frozen=True, slots=True)
class Unit:
    """A unit of display: shown value = stored value / `divisor`."""

    divisor: float
    name: str

    def shown(self, value: float) -> float:
        """`value`, stored in the record's unit, in this unit."""
        return value / self.divisor


_TIMES = (Unit(1e-9, "ns"), Unit(1e-6, "µs"), Unit(1e-3, "ms"), Unit(1.0, "s"))
_LONG = (Unit(86400.0, "d"), Unit(3600.0, "h"))
_PREFIXES = ((1.0, ""), (1e3, "k"), (1e6, "M"), (1e9, "G"), (1e12, "T"))
_PREFIXED = ("cycles", "instructions", "B", "B/s", "Hz", "WU", "gas", "CU")
_RATES = (Unit(1.0, "per second"), Unit(1e3, "thousand per second"))


def choose_unit(values: Iterable[float | None], stored: str) -> Unit:
    """The unit in which ``values`` are shown that are stored in the unit ``stored``.

    The smallest value decides, so that no number of the column is below 1 if that can be had;
    a column of 20 µs and 400 ms stays in µs and is comparable at a glance. Of seconds the middle
    value decides: a column of them may hold microseconds. What is counted or paid in whole units
    has no prefix.
    """
    known = sorted(abs(v) for v in values if v is not None and math.isfinite(v) and v != 0) or [1.0]
    least = known[0]
    if stored == "ns":
        unit = next((u for u in reversed(_TIMES) if least >= 1e9 * u.divisor), _TIMES[0])
        return Unit(unit.divisor * 1e9, unit.name)
    if stored == "s":
        long = (u for u in _LONG if least >= 2 * u.divisor)
        short = (u for u in reversed(_TIMES) if known[len(known) // 2] >= u.divisor)
        return next(long, None) or next(short, _TIMES[0])
    if stored == "1/s":
        return _RATES[least >= 100]
    if stored in _PREFIXED:
        # Counts below ten thousand are read as easily without a prefix.
        fitting = [p for p in _PREFIXES if least >= 10 * p[0] or p[0] == 1.0]
        divisor, prefix = fitting[-1]
        return Unit(divisor, prefix + stored)
    return Unit(1.0, stored)


def decimals_for(value: float, low: float | None, high: float | None) -> int:
    """Decimals of `value` that its interval justifies, 0 to 4.

    Without an interval: three significant digits, however small the value is.
    """
    if low is not None and high is not None and high > low:
        # An interval far below a per mille says more about the fit than about the machine.
        most = 3 - math.floor(math.log10(abs(value))) if value else 3
        return max(0, min(_justified((high - low) / 2), most, 4))
    if value == 0 or not math.isfinite(value):
        return 0
    return max(0, 2 - math.floor(math.log10(abs(value))))


def _justified(half: float) -> int:
    """The last digit shown is the first significant one of the interval's half-width, or the
    second where that is below 3.55, which one digit would round too coarsely."""
    exponent = math.floor(math.log10(half))
    return -exponent + (half / 10.0**exponent < 3.55)


def number(value: float | None, decimals: int) -> str:
    """`value` with `decimals` decimals and thousands separators; a dash where it is unknown."""
    if value is None or not math.isfinite(value):
        return MISSING
    return f"{value:,.{decimals}f}"


def plain(value: float | None, unit: Unit) -> str:
    """`value` in `unit` with three significant digits (more before the decimal point)."""
    if value is None or not math.isfinite(value):
        return MISSING
    return _three_digits(unit.shown(value))


def _three_digits(value: float) -> str:
    if _odd(abs(value)):
        return f"{value:.2e}"
    return number(value, decimals_for(value, None, None))


@dataclass(frozen=True, slots=True)
class Shown:
    """An estimate as text: `value`, and `low` and `high` (empty where there is no interval);
    `number` is the value itself, to sort by."""

    value: str
    low: str = ""
    high: str = ""
    number: float | None = None

    @property
    def interval(self) -> str:
        """`[low, high]`, or nothing where there is no interval."""
        return f"[{self.low}, {self.high}]" if self.low else ""

    @property
    def distance(self) -> str:
        """How far the bounds are: `±a`, or `−a/+b` where one side is clearly the longer."""
        if not self.low:
            return ""
        value, low, high = (float(t.replace(",", "")) for t in (self.value, self.low, self.high))
        decimals = len(self.value) - self.value.index(".") - 1 if "." in self.value else 0
        below, above = value - low, high - value
        # Both are rounded to the last digit shown.
        if max(below, above) <= _EVEN * min(below, above) + 1.01 * 10.0**-decimals:
            return f"±{number(max(below, above), decimals)}"
        return f"−{number(below, decimals)}/+{number(above, decimals)}"

    def __str__(self) -> str:
        return f"{self.value} {self.interval}".rstrip()


_SMALL, _LARGE = 1e-2, 1e9
"""Costs in units of others are of any size: beyond these they have up to six digits."""
UNKNOWN = Shown(MISSING)
"""What was not measured."""


def estimate(found: Interval | None, unit: Unit | None = None) -> Shown:
    """An estimate with its interval, all three with the same decimals."""
    if found is None or not math.isfinite(found.value):
        return UNKNOWN
    raw, scale = found.value, unit.divisor if unit else 1.0
    if None not in found and raw and not _SMALL <= abs(raw / scale) < _LARGE:
        return of_interval(found.times(1 / scale))
    value, low, high = (math.nan if x is None else x / scale for x in found)
    if not (math.isfinite(low) and math.isfinite(high)):
        return Shown(_three_digits(value), number=raw)
    if low == high == value:
        # The reference's ratio to itself: exact, nothing to bracket.
        return Shown(number(value, max(2, decimals_for(value, None, None))), number=raw)
    decimals = decimals_for(value, low, high)
    while decimals < 4 and low < high and number(low, decimals) == number(high, decimals):
        decimals += 1  # an interval that is none would say that the figure is exact
    return Shown(number(value, decimals), number(low, decimals), number(high, decimals), raw)


# --- costs in the units of others, which may be of any size ---------------------------------------

_LEAST, _MOST = 1e-5, 1e15
"""Beyond these sizes numbers are written with an exponent."""
_DIGITS = 6
"""The most significant digits that are shown, whatever the interval."""


def of_interval(interval: Interval) -> Shown:
    """A cost with the decimals that the interval justifies, up to six digits."""
    assert interval.low is not None and interval.high is not None
    values = (interval.value, interval.low, interval.high)
    half = (interval.high - interval.low) / 2
    size = max(abs(v) for v in values)
    decimals = _enough(size)
    if half > 0 and not _odd(size):
        decimals = min(decimals, max(0, _justified(half)))
    value, low, high = (_scientific(v) if _odd(size) else number(v, decimals) for v in values)
    return Shown(value, low, high, interval.value)


def of_cost(cost: float, least: float | None = None) -> str:
    """A measured cost to six digits; ``least``: the smallest of the column, which then has as many
    decimals."""
    if _odd(abs(cost)):
        return _scientific(cost)
    return number(cost, _enough(cost if least is None else least))


def tick(value: float, suffix: str = "") -> str:
    """A round number on an axis."""
    plain = abs(value) < 1e4 or _odd(abs(value))
    return (f"{value:,.4g}" if plain else f"{value:,.0f}") + suffix


def _odd(size: float) -> bool:
    return size != 0 and not _LEAST <= size < _MOST


def _scientific(value: float) -> str:
    return f"{value:.{_DIGITS - 1}e}" if value else "0"


def _enough(value: float) -> int:
    """Decimals that show six digits of ``value``, none of them beyond the point if it is large."""
    if value == 0:
        return 0
    return max(0, _DIGITS - 1 - math.floor(math.log10(abs(value))))


def aligned(texts: Iterable[str], digit: str = "\u2007", point: str = "\u2008") -> list[str]:
    """Numbers padded on the right with what is as wide as the digits they lack, so that decimal
    points stand under each other in a right-aligned column (figure and punctuation spaces; in a
    terminal plain ones)."""
    listed = list(texts)
    tails = [len(t) - t.index(".") if "." in t else 0 for t in listed]
    widest = max(tails, default=0)
    return [
        t + (digit * (widest - tail) if tail else (point + digit * (widest - 1)) * (widest > 0))
        for t, tail in zip(listed, tails, strict=True)
    ]


def clean(text: object) -> str:
    """`text` without control and direction characters, which a worker's answer could carry."""
    return "".join(
        "\N{REPLACEMENT CHARACTER}" if unicodedata.category(c) in _UNPRINTABLE and c != "\n" else c
        for c in str(text)
    )
