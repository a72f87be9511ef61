"""Quantities as a scenario writes them: a number or a range, and a unit."""

from __future__ import annotations

import re
from typing import Any

from mldsa_lab.estimate.interval import Interval

_NUMBER = r"-?[0-9][0-9,_]*(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?"
_TEXT = re.compile(rf"({_NUMBER})(?: +to +({_NUMBER}))? *(.*)")
_PREFIXES = {
    "": 1.0, "n": 1e-9, "µ": 1e-6, "u": 1e-6, "m": 1e-3, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12,
    "P": 1e15, "E": 1e18,
    "Ki": 2.0**10, "Mi": 2.0**20, "Gi": 2.0**30, "Ti": 2.0**40, "Pi": 2.0**50, "Ei": 2.0**60,
}  # fmt: skip
# Of each unit that figures are in, the others that may replace it.
_EQUAL: dict[str, dict[str, float]] = {
    "s": {"min": 60.0, "h": 3600.0, "d": 86400.0, "year": 31557600.0, "years": 31557600.0},
    "B": {"bit": 1 / 8},
    "WU": {"vB": 4.0},  # BIP 141: a virtual byte is four weight units
}
_WORDS = {"": 1.0, "thousand": 1e3, "million": 1e6, "billion": 1e9}
YEAR = _EQUAL["s"]["year"]
"""Seconds of a Julian year."""


def quantity(text: str, unit: str, field: str) -> Interval:
    """Return the quantity in ``unit`` ("" for a plain count), not negative. A range "A to B UNIT"
    gives the middle and both ends. "0" needs no unit. ValueError begins with ``field``."""
    result = _TEXT.fullmatch(text.strip())
    if result is None:
        raise ValueError(f"{field}: {text!r} is no number with a unit")
    factor = 0.0 if text == "0" else _factor(result[3], unit)
    if factor is None:
        requested = (
            f"a multiple of {unit}" if unit else "a number, or thousands, millions, billions"
        )
        missing = "has no unit" if not result[3] else f"is in {result[3]}"
        raise ValueError(f"{field}: {text!r} {missing}, must be {requested}")
    numbers = filter(None, result.group(1, 2))
    ends = [float(number.replace(",", "").replace("_", "")) * factor for number in numbers]
    if min(ends) < 0:
        raise ValueError(f"{field}: {text!r} must not be negative")
    if ends[0] > ends[-1]:
        raise ValueError(f"{field}: {text!r} must go from the less to the more")
    return Interval(ends[0]) if len(ends) == 1 else Interval(sum(ends) / 2, *ends)


def positive(text: str, unit: str, field: str) -> Interval:
    """Return a quantity above zero."""
    result = quantity(text, unit, field)
    if (result.value if result.low is None else result.low) <= 0:
        raise ValueError(f"{field}: {text!r} must be above zero")
    return result


def amount(field: str, unit: str) -> Any:
    """Return a property of a table: the text of this field as a quantity above zero, 0 where the
    text is empty."""

    def read(table: object) -> Interval:
        text = getattr(table, field)
        return positive(text, unit, field) if text else Interval(0.0)

    return property(read)


def price(text: str, unit: str, field: str) -> tuple[str, Interval]:
    """Return a price for each ``unit``, such as "10 sat/vB": the currency, and how much of it."""
    money, _, each = text.rpartition("/")
    result = _TEXT.fullmatch(money.strip())
    factor = _factor(each.strip(), unit)
    if result is None or not result[3] or factor is None:
        raise ValueError(f"{field}: {text!r} is no price such as '10 coins/{unit}'")
    return result[3], quantity(money, result[3], field).times(1 / factor)


def _factor(text: str, unit: str) -> float | None:
    """Return the factor from ``text`` to ``unit``; None if it is no multiple of it."""
    if not unit:
        return _WORDS.get(text)
    if "/" in unit:
        halves = zip(text.partition("/")[::2], unit.partition("/")[::2], strict=True)
        above, below = (_factor(part, whole) for part, whole in halves)
        return None if above is None or below is None else above / below
    names = {unit: 1.0} | _EQUAL.get(unit, {})
    word, _, rest = text.partition(" ")
    if rest and word in _WORDS:
        factor = _factor(rest, unit)
        return None if factor is None else _WORDS[word] * factor
    for prefix, size in _PREFIXES.items():
        name = text.removeprefix(prefix)
        if text.startswith(prefix) and name in names:
            return size * names[name]
    return None
