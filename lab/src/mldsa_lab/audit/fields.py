"""Taking a mapping of a claims file apart, field by field, with errors that name the place."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

from mldsa_lab.audit.claims import Figure
from mldsa_lab.errors import LabError

_POWER = re.compile(r"([0-9]{1,3})\^([0-9]{1,3})")
_SIZE = re.compile(r"([0-9]+(?:\.[0-9]+)?) ?([KMGT]?i?B|kB|bytes)")
# YAML 1.1 takes 2.5e9 for a text, as its sign is missing, and 1e+9, as its point is.
_EXPONENT = re.compile(r"[0-9]+(?:\.[0-9]+)?[eE][+-]?[0-9]{1,3}")
_UNITS = {
    "B": 1,
    "bytes": 1,
    **{f"{letter}B": 1000**n for n, letter in enumerate("kMGT", 1)},
    "KB": 1000,
    **{f"{letter}iB": 1024**n for n, letter in enumerate("KMGT", 1)},
}
_SHOWN = 40

WHOLE_MAX = 10**12
"""The largest number of samples, operations, bytes of an object and the like."""
FIGURE_MAX = 1e18
"""The largest figure; its inverse is the smallest."""


def shown(value: object) -> str:
    """A value for an error, cut short."""
    text = repr(value)
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"


class Fields:
    """A mapping whose fields are taken one by one; what is left at the end is an error.

    ``defaults`` stand in for fields that the mapping has not.
    """

    def __init__(self, raw: object, where: str, defaults: Mapping[str, Any] | None = None) -> None:
        if not isinstance(raw, dict):
            raise LabError(f"{where}: must be a mapping of fields, not {shown(raw)}")
        for name in raw:
            if not isinstance(name, str):
                raise LabError(f"{where}: the field name {shown(name)} must be a text")
        self.where = where
        self._left: dict[str, Any] = dict(raw)
        self._defaults = defaults or {}
        self._known: list[str] = []

    def error(self, name: str, rule: str) -> LabError:
        """The error of a field."""
        return LabError(f"{self.where}: field {name!r}: {rule}")

    def names(self) -> tuple[str, ...]:
        """Fields not taken yet."""
        return tuple(self._left)

    def take(self, name: str) -> Any:
        """A field as it is; None where it is missing."""
        self._known.append(name)
        if name in self._left:
            value = self._left.pop(name)
            if value is None:
                raise self.error(name, "is empty")
            return value
        return self._defaults.get(name)

    def need(self, name: str) -> Any:
        """A field that must be there."""
        value = self.take(name)
        if value is None:
            raise self.error(name, "is missing")
        return value

    def done(self) -> None:
        """LabError if a field was not taken."""
        for name in self._left:
            known = ", ".join(sorted(set(self._known)))
            raise self.error(name, f"is unknown here; known are {known}")

    def text(self, name: str, default: str = "") -> str:
        """A text."""
        value = self.take(name)
        if value is None:
            return default
        if not isinstance(value, str):
            raise self.error(name, f"must be a text, not {shown(value)}")
        return value

    def choice(self, name: str, options: Sequence[str], default: str | None = None) -> str:
        """One of some words; needed where there is no default."""
        value = self.need(name) if default is None else self.take(name)
        if value is None:
            assert default is not None
            return default
        if value not in options:
            raise self.error(name, f"{shown(value)} is none of {', '.join(options)}")
        return str(value)

    def flag(self, name: str) -> bool | None:
        """True, false, or None where missing."""
        value = self.take(name)
        if value is not None and not isinstance(value, bool):
            raise self.error(name, f"must be true or false, not {shown(value)}")
        return value

    def whole(self, name: str, least: int = 1, most: int = WHOLE_MAX) -> int | None:
        """A whole number, or a power like 2^32; None where missing."""
        value = self.take(name)
        if value is None:
            return None
        if isinstance(value, str) and (match := _POWER.fullmatch(value)):
            value = int(match[1]) ** int(match[2])
        if isinstance(value, bool) or not isinstance(value, int):
            raise self.error(name, f"must be a whole number, not {shown(value)}")
        if value < least:
            raise self.error(name, f"must be at least {least}, not {shown(value)}")
        if value > most:
            raise self.error(name, f"must be at most {most:,}")
        return value

    def need_whole(self, name: str, least: int = 1, most: int = WHOLE_MAX) -> int:
        """A whole number that must be there."""
        value = self.whole(name, least, most)
        if value is None:
            raise self.error(name, "is missing")
        return value

    def figure(self, name: str) -> Figure | None:
        """A number, with its rounding; None where missing."""
        value = self.take(name)
        return None if value is None else self.to_figure(name, value)

    def need_figure(self, name: str) -> Figure:
        """A number that must be there."""
        return self.to_figure(name, self.need(name))

    def to_figure(self, name: str, value: object) -> Figure:
        """A number not below 0, with half a unit of its last digit."""
        written = None
        if isinstance(value, str) and _EXPONENT.fullmatch(value):
            written, value = Decimal(value), float(value)
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise self.error(name, f"must be a number, not {shown(value)}")
        try:
            number = float(value)
        except OverflowError:
            number = math.inf
        if not math.isfinite(number):
            raise self.error(name, f"must be a finite number, not {shown(value)}")
        if number < 0:
            raise self.error(name, f"must not be negative, and is {shown(value)}")
        if number and not 1 / FIGURE_MAX <= number <= FIGURE_MAX:
            raise self.error(
                name, f"must lie between {1 / FIGURE_MAX:g} and {FIGURE_MAX:g}, or be 0"
            )
        exponent = (written or Decimal(repr(value))).as_tuple().exponent
        assert isinstance(exponent, int)
        # The zeros at the end of a whole number may be digits; 2.5e3 has two.
        return Figure(number, 0.5 * 10.0 ** (min(exponent, 0) if written is None else exponent))

    def size(self, name: str) -> tuple[float, float, str]:
        """A size in bytes such as 4 GB: what it may mean at least and at most, and its text.

        kB, MB, GB, TB are powers of 1000 or of 1024, as the writer may have meant either.
        """
        value = self.need(name)
        match = _SIZE.fullmatch(value) if isinstance(value, str) else None
        if match is None:
            raise self.error(
                name, f"must be a size such as '4 GB' or '512 MiB', not {shown(value)}"
            )
        return (*_meanings(match), str(value))

    def amount(self, name: str) -> Figure | None:
        """Bytes, as a number or a size such as 2.3 GB; None where missing.

        ``half`` holds rounding, and that a GB may be one of 1024^3 bytes.
        """
        value = self.take(name)
        if not isinstance(value, str):
            return None if value is None else self.to_figure(name, value)
        match = _SIZE.fullmatch(value)
        if match is None:
            raise self.error(name, f"must be a number of bytes or a size, not {shown(value)}")
        low, high = _meanings(match)
        digit = 10.0 ** -len(match[1].partition(".")[2])
        return Figure(low, 0.5 * digit * _UNITS[match[2]] + high - low)

    def ids(self, name: str) -> tuple[str, ...]:
        """Ids: one text, or a list of them."""
        value = self.take(name)
        if value is None:
            return ()
        found = [value] if isinstance(value, str) else value
        if not isinstance(found, list) or not all(isinstance(i, str) for i in found) or not found:
            raise self.error(name, f"must be an id or a list of ids, not {shown(value)}")
        return tuple(found)

    def mapping(self, name: str) -> dict[str, Any]:
        """A mapping with texts as names, not empty."""
        value = self.need(name)
        if not isinstance(value, dict) or not value:
            raise self.error(name, f"must be a mapping, not {shown(value)}")
        for key in value:
            if not isinstance(key, str):
                raise self.error(name, f"the name {shown(key)} must be a text")
        return value

    def items(self, name: str, least: int = 1) -> list[Fields]:
        """A list of mappings; empty where missing and ``least`` is 0."""
        value = self.take(name)
        if value is None and least == 0:
            return []
        if not isinstance(value, list) or len(value) < least:
            raise self.error(name, f"must be a list of at least {least}, not {shown(value)}")
        return [Fields(v, f"{self.where}: {name}, item {n}") for n, v in enumerate(value, 1)]


def _meanings(match: re.Match[str]) -> tuple[float, float]:
    """The bytes of a size, its unit a power of 1000, and of 1024 if it may be one."""
    count, unit = float(match[1]), match[2]
    low = count * _UNITS[unit]
    return low, max(low, count * _UNITS.get(f"{unit[0].upper()}iB", 1)) if len(unit) == 2 else low
