"""What fields of a claims file may hold beside texts: numbers as people publish them."""

from __future__ import annotations

import math
import re
from decimal import Decimal
from typing import Any, ClassVar, Self

FIGURE_MAX = 1e18
"""The largest figure; its inverse is the smallest."""

_POWER = re.compile(r"([0-9]{1,3})\^([0-9]{1,3})")
_SIZE = re.compile(r"([0-9]+(?:\.[0-9]+)?) ?([KMGT]?i?B|kB|bytes)")
# YAML 1.1 takes 2.5e9 for a text, as its sign is missing, and 1e+9, as its point is.
_EXPONENT = re.compile(r"[0-9]+(?:\.[0-9]+)?[eE][+-]?[0-9]{1,3}")
_BYTES = {
    "B": 1,
    "bytes": 1,
    **{f"{letter}B": 1000**n for n, letter in enumerate("kMGT", 1)},
    "KB": 1000,
    **{f"{letter}iB": 1024**n for n, letter in enumerate("KMGT", 1)},
}
_SET_NUMBERS = {"2": "44", "3": "65", "5": "87", "ii": "44", "iii": "65", "v": "87"}
_SET = re.compile(r"(?:mldsa)?(44|65|87)|(?:crystals)?dilithium(?:level)?([235]|ii|iii|v)")
_SHOWN = 40


def shown(value: object) -> str:
    """A value for an error, cut short."""
    text = repr(value)
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"


class Figure:
    """A published number from 0 on; ``half`` is half a unit of its last digit, what rounding may
    hide, and ``more`` what it may be beyond that, as a GB may be one of 1024^3 bytes."""

    __slots__ = ("half", "more", "value")

    def __init__(self, value: float, half: float = 0.0, more: float = 0.0) -> None:
        self.value, self.half, self.more = value, half, more

    @property
    def low(self) -> float:
        """The smallest value that rounds to this figure."""
        return self.value - self.half

    @property
    def high(self) -> float:
        """The largest."""
        return self.value + self.half + self.more

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Figure) and (self.low, self.high) == (other.low, other.high)

    def __hash__(self) -> int:
        return hash((self.low, self.high))

    @classmethod
    def read(cls, value: object) -> Self:
        """ValueError for anything else than a number not below 0."""
        written = None
        if isinstance(value, str) and _EXPONENT.fullmatch(value):
            written, value = Decimal(value), float(value)
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise ValueError(f"must be a number, not {shown(value)}")
        try:
            number = float(value)
        except OverflowError:
            number = math.inf
        if not math.isfinite(number):
            raise ValueError(f"must be a finite number, not {shown(value)}")
        if number < 0:
            raise ValueError(f"must not be negative, and is {shown(value)}")
        if number and not 1 / FIGURE_MAX <= number <= FIGURE_MAX:
            raise ValueError(f"must lie between {1 / FIGURE_MAX:g} and {FIGURE_MAX:g}, or be 0")
        exponent = (written or Decimal(repr(value))).as_tuple().exponent
        assert isinstance(exponent, int)
        # The zeros at the end of a whole number may be digits; 2.5e3 has two.
        return cls(number, 0.5 * 10.0 ** (min(exponent, 0) if written is None else exponent))


class Positive(Figure):
    """A figure above 0."""

    @classmethod
    def read(cls, value: object) -> Self:
        """ValueError for 0 too."""
        found = super().read(value)
        if found.value <= 0:
            raise ValueError("must be greater than 0")
        return found


class Amount(Positive):
    """Bytes: a number, or a size such as 47 MB."""

    @classmethod
    def read(cls, value: object) -> Self:
        """``more`` holds that kB, MB, GB, TB may be powers of 1024, whichever the writer meant."""
        if not isinstance(value, str) or _EXPONENT.fullmatch(value):
            return super().read(value)
        match = _SIZE.fullmatch(value)
        if match is None:
            raise ValueError(f"must be a number of bytes, or a size, not {shown(value)}")
        count, unit = float(match[1]), match[2]
        binary = _BYTES.get(f"{unit[0].upper()}iB", 1) if len(unit) == 2 else 1
        digit = 10.0 ** -len(match[1].partition(".")[2])
        low = count * _BYTES[unit]
        return cls(low, 0.5 * digit * _BYTES[unit], max(count * binary - low, 0.0))


class SizeText(str):
    """A size in bytes with its unit, such as 4 GB or 512 MiB."""

    @staticmethod
    def read(value: object) -> SizeText:
        """ValueError for a number without a unit."""
        if not isinstance(value, str) or not _SIZE.fullmatch(value):
            raise ValueError(f"must be a size such as '4 GB' or '512 MiB', not {shown(value)}")
        return SizeText(value)

    @property
    def bytes(self) -> Figure:
        """How many they are."""
        return Amount.read(str(self))


class Limits:
    """A number, or the two limits between which a source says that it lies."""

    __slots__ = ("high", "low")

    def __init__(self, low: Figure, high: Figure) -> None:
        self.low, self.high = low, high

    @staticmethod
    def read(value: object) -> Limits:
        """The lower limit comes first."""
        ends = value if isinstance(value, list) else [value, value]
        if len(ends) != 2:
            raise ValueError(f"must be a number, or its limits, not {shown(value)}")
        low, high = (Figure.read(end) for end in ends)
        if low.value > high.value:
            raise ValueError(f"must have the lower limit first, not {shown(value)}")
        return Limits(low, high)

    @property
    def one(self) -> bool:
        """Whether it is a single number."""
        return self.low == self.high

    @property
    def text(self) -> str:
        """As people write it."""
        low, high = (f"{f.value:,g}" if f.value < 1e6 else f"{f.value:,.0f}" for f in self.ends)
        return low if self.one else f"{low} to {high}"

    @property
    def ends(self) -> tuple[Figure, Figure]:
        """Both limits."""
        return self.low, self.high


class Count(int):
    """A whole number, or a power such as 2^32."""

    least: ClassVar = 1
    most: ClassVar = 10**12

    @classmethod
    def read(cls, value: object) -> Self:
        """ValueError if it is not whole, or outside ``least`` and ``most``."""
        if isinstance(value, str) and (match := _POWER.fullmatch(value)):
            value = int(match[1]) ** int(match[2])
        if isinstance(value, bool) or not isinstance(value, int):
            raise ValueError(f"must be a whole number, not {shown(value)}")
        if value < cls.least:
            raise ValueError(f"must be at least {cls.least}, not {shown(value)}")
        if value > cls.most:
            raise ValueError(f"must be at most {cls.most:,}")
        return cls(value)


class Length(Count):
    """A count that may be 0."""

    least = 0


class Several(Count):
    """A count from 2 on."""

    least = 2


class LargeCount(Count):
    """A count that may be a limit of a format."""

    most = 1 << 128


class SetName(str):
    """A parameter set by FIPS 204's name; ``named`` as the source calls it."""

    named: str

    @staticmethod
    def read(value: object) -> SetName:
        """ML-DSA-65, 65, Dilithium3, CRYSTALS-Dilithium-3 and the like."""
        text = str(value) if type(value) is int else value
        if not isinstance(text, str):
            raise ValueError(f"must be text, not {shown(value)}")
        match = _SET.fullmatch(re.sub(r"[^a-z0-9]", "", text.lower()))
        if match is None:
            known = "ML-DSA-44, ML-DSA-65, ML-DSA-87, Dilithium2, Dilithium3, Dilithium5"
            raise ValueError(f"{shown(value)} is no parameter set; known are {known}")
        found = SetName(f"ML-DSA-{match[1] or _SET_NUMBERS[match[2]]}")
        found.named = text
        return found


class Names(tuple[str, ...]):
    """One text, or a list of them, each once."""

    __slots__ = ()

    @staticmethod
    def read(value: object) -> Names:
        """ValueError for an empty list or a text that stands twice."""
        found = [value] if isinstance(value, str) else value
        if not isinstance(found, list) or not found or not all(isinstance(n, str) for n in found):
            raise ValueError(f"must be a text or a list of texts, not {shown(value)}")
        for name in found:
            if found.count(name) > 1:
                raise ValueError(f"{name!r} stands twice")
        return Names(found)


class Groups(int):
    """How many groups there are: a number, a list of them, or what tells them apart, each with
    how many there are or their list."""

    @staticmethod
    def read(value: object) -> Groups:
        """The product over what tells them apart."""
        if isinstance(value, dict):
            if not value:
                raise ValueError("must not be empty")
            return Groups(math.prod(Groups.read(part) for part in value.values()))
        if isinstance(value, list):
            if not value or any(value.count(part) > 1 for part in value):
                raise ValueError(f"must be a list, each group once, not {shown(value)}")
            return Groups(len(value))
        return Groups(Count.read(value))


_SCHEMAS: dict[type, dict[str, Any]] = {
    Figure: {"type": ["number", "string"], "description": "a number from 0 on", "minimum": 0},
    Positive: {"type": ["number", "string"], "exclusiveMinimum": 0},
    Amount: {"type": ["number", "string"], "description": "bytes, or a size: 47 MB"},
    SizeText: {"type": "string", "pattern": f"^{_SIZE.pattern}$"},
    Limits: {"type": ["number", "string", "array"], "minItems": 2, "maxItems": 2},
    SetName: {"type": ["string", "integer"], "description": "ML-DSA-44, 44, Dilithium2"},
    Names: {"type": ["string", "array"], "items": {"type": "string"}, "minItems": 1},
    Groups: {"type": ["integer", "array", "object"]},
}


def value_schema(kind: type) -> dict[str, Any]:
    """The JSON Schema of one of these types."""
    if issubclass(kind, Count):
        return {"type": ["integer", "string"], "minimum": kind.least}
    return _SCHEMAS[kind]


def read_value(kind: type, value: object) -> object:
    """msgspec's hook for these types."""
    if isinstance(value, kind):
        return value
    read = getattr(kind, "read", None)
    if read is None:
        raise NotImplementedError(f"no claims file holds a {kind}")
    if value is None:
        raise ValueError("is empty")
    return read(value)
