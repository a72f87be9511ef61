"""Published numbers with the errors of their rounding, and judgements of them."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from importlib import resources
from typing import Any, NamedTuple, Self

from mldsa_lab.sets import ALL_SETS, PARAMETER_SETS

# Values of a claims file besides texts


FIGURE_MAX = 1e18
"""The largest figure; its inverse is the smallest."""

POWER = re.compile(r"([0-9]{1,3})\^([0-9]{1,3})")
"""A whole number as 2^32."""

# A number and its exponent or unit. YAML 1.1 takes 2.5e9 for a text, as its sign is missing, and
# 1e+9, as its point is.
_TEXT = re.compile(r"([0-9]+(?:\.[0-9]+)?)(?:[eE][+-]?[0-9]{1,3}| ?([A-Za-z]+))")
BYTES = {
    "B": 1,
    "bytes": 1,
    **{f"{letter}B": 1000**n for n, letter in enumerate("kMGT", 1)},
    "KB": 1000,
    **{f"{letter}iB": 1024**n for n, letter in enumerate("KMGT", 1)},
}
_SET_NUMBERS = {"2": "44", "3": "65", "5": "87", "ii": "44", "iii": "65", "v": "87"}
_SET = re.compile(r"(?:mldsa)?(44|65|87)|(?:crystals)?dilithium(?:level)?([235]|ii|iii|v)")
_SHOWN = 40
STATISTIC = re.compile(r"min|max|mean|median|sd|p(\d+(?:\.\d+)?)")


def shown(value: object) -> str:
    """A value for an error, cut short."""
    text = repr(value)
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"


class StatedFigure:
    """A published number of at least 0, between its least value ``low`` and its largest ``high``.
    ``half``: half a unit of its last digit, which rounding may hide. ``more``: a further deviation,
    as a GB may be 1024^3 bytes. ``text``: as a file has it.

    Sums, products and quotients are again such figures, with the limits that those of their parts
    allow. A divisor is positive.
    """

    __slots__ = ("half", "high", "low", "text", "value")

    def __init__(self, value: float, half: float = 0.0, more: float = 0.0, text: str = "") -> None:
        self.value, self.half, self.text = value, half, text
        self.low, self.high = value - half, value + half + more

    @staticmethod
    def between(low: float, value: float, high: float) -> StatedFigure:
        """Return a number that was not written but follows, with its limits."""
        figure = StatedFigure(value, max(high - value, value - low))
        figure.low, figure.high = low, high
        return figure

    def __add__(self, other: Number) -> StatedFigure:
        return _combined(operator.add, self, other)

    __radd__ = __add__

    def __sub__(self, other: Number) -> StatedFigure:
        return _combined(operator.sub, self, other)

    def __rsub__(self, other: float) -> StatedFigure:
        return _combined(operator.sub, other, self)

    def __mul__(self, other: Number) -> StatedFigure:
        return _combined(operator.mul, self, other)

    __rmul__ = __mul__

    def __truediv__(self, other: Number) -> StatedFigure:
        return _combined(_over, self, other)

    def __rtruediv__(self, other: float) -> StatedFigure:
        return _combined(_over, other, self)

    def __str__(self) -> str:
        """As its source wrote it, where it was written."""
        return self.text or number(self.value)

    def exact(self, when: bool = True) -> StatedFigure:
        """Return it without the error of rounding."""
        more = self.high - self.value - self.half
        return StatedFigure(self.value, more=more) if when else self

    def rounded(self) -> StatedFigure:
        """Return it with the error of rounding if the zeros at its end are no digits."""
        half = self.half
        while self.value and half >= 0.5 and self.value % (20 * half) == 0:
            half *= 10
        return StatedFigure(self.value, half, text=self.text)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, StatedFigure) and (self.low, self.high) == (other.low, other.high)

    @classmethod
    def read(cls, value: object) -> Self:
        """ValueError for anything else than a number not below 0."""
        match = _TEXT.fullmatch(value) if isinstance(value, str) else None
        written = match is not None and match[2] is None
        if isinstance(value, bool) or not (written or isinstance(value, int | float)):
            raise ValueError(f"must be a number, not {shown(value)}")
        number = Decimal(str(value))
        if not number.is_finite() or (number and not 1 / FIGURE_MAX <= number <= FIGURE_MAX):
            known = f"{1 / FIGURE_MAX:g} and {FIGURE_MAX:g}, or be 0"
            raise ValueError(f"must be a finite number between {known}, not {shown(value)}")
        exponent = number.as_tuple().exponent
        assert isinstance(exponent, int)
        # The zeros at the end of a whole number may be digits; 2.5e3 has two.
        half = 0.5 * 10.0 ** (exponent if written else min(exponent, 0))
        return cls(float(number), half, text=str(number if written else value))


Number = StatedFigure | float


def _combined(operate: Callable[[float, float], float], a: Number, b: Number) -> StatedFigure:
    one, other = (x if isinstance(x, StatedFigure) else StatedFigure(x) for x in (a, b))
    ends = [operate(x, y) for x in (one.low, one.high) for y in (other.low, other.high)]
    return StatedFigure.between(min(ends), operate(one.value, other.value), max(ends))


def _over(one: float, other: float) -> float:
    return one / (other if other > 0 else 1 / FIGURE_MAX)


class Positive(StatedFigure):
    """A figure above 0."""

    @classmethod
    def read(cls, value: object) -> Self:
        """ValueError for 0 too."""
        figure = super().read(value)
        if figure.value <= 0:
            raise ValueError("must be greater than 0")
        return figure


class Amount(Positive):
    """Bytes: a number, or a size such as 47 MB."""

    @classmethod
    def read(cls, value: object) -> Self:
        """``more`` says that kB, MB, GB, TB may be powers of 1024, whichever the writer meant."""
        match = _TEXT.fullmatch(value) if isinstance(value, str) else None
        if not isinstance(value, str) or (match and match[2] is None):
            return super().read(value)
        if match is None or match[2] not in BYTES:
            raise ValueError(
                f"must be a number of bytes, or a size such as '4 GB', not {shown(value)}"
            )
        count, unit = float(match[1]), match[2]
        binary = BYTES.get(f"{unit[0].upper()}iB", 1) if len(unit) == 2 else 1
        half = 0.5 * 10.0 ** -len(match[1].partition(".")[2]) * BYTES[unit]
        low = count * BYTES[unit]
        return cls(low, half, max(count * binary - low, 0.0), value)


class Statistics(dict[str, StatedFigure]):
    """Figures by statistic: min, max, mean, median, sd, p95, ...; p50 is the median."""

    @staticmethod
    def read(value: object) -> Statistics:
        """ValueError for another name, and for a statistic that appears twice."""
        if not isinstance(value, dict):
            raise ValueError(f"must be a mapping of statistics, not {shown(value)}")
        figures = Statistics()
        for name, number in value.items():
            try:
                statistic = _statistic(str(name))
                if statistic in figures:
                    raise ValueError(f"the {statistic} appears twice")
                figures[statistic] = StatedFigure.read(number)
            except ValueError as error:
                raise ValueError(f"{name}: {error}") from None
        return figures


def _statistic(name: str) -> str:
    """Return a statistic by its usual name: median for p50. ValueError for an unknown one."""
    match = STATISTIC.fullmatch(name)
    if match is None or not 0 < float(match[1] or 50) < 100:
        raise ValueError("must be min, max, mean, median, sd or a percentile between p0 and p100")
    if match[1] is None:
        return name
    return "median" if float(match[1]) == 50 else f"p{float(match[1]):g}"


class Span:
    """A number, or the two limits between which a source says that it lies."""

    __slots__ = ("high", "low")

    def __init__(self, low: StatedFigure, high: StatedFigure) -> None:
        self.low, self.high = low, high

    @staticmethod
    def read(value: object) -> Span:
        """The lower limit comes first."""
        ends = value if isinstance(value, list) else [value, value]
        if len(ends) != 2:
            raise ValueError(f"must be a number, or its limits, not {shown(value)}")
        low, high = (StatedFigure.read(end) for end in ends)
        if low.value > high.value:
            raise ValueError(f"must have the lower limit first, not {shown(value)}")
        return Span(low, high)

    @property
    def one(self) -> bool:
        """True for a single number."""
        return self.low == self.high

    @property
    def text(self) -> str:
        """As the source has it."""
        return self.low.text if self.one else f"{self.low.text} to {self.high.text}"


class ClaimedSet(str):
    """A parameter set by FIPS 204's name; ``named`` as the source calls it."""

    named: str

    @staticmethod
    def read(value: object) -> ClaimedSet:
        """ML-DSA-65, 65, Dilithium3, CRYSTALS-Dilithium-3 and the like."""
        text = str(value) if type(value) is int else value
        if not isinstance(text, str):
            raise ValueError(f"must be text, not {shown(value)}")
        match = _SET.fullmatch(_plain(text))
        if match is None:
            known = "ML-DSA-44, ML-DSA-65, ML-DSA-87, Dilithium2, Dilithium3, Dilithium5"
            raise ValueError(f"{shown(value)} is no parameter set; known are {known}")
        claimed = ClaimedSet(f"ML-DSA-{match[1] or _SET_NUMBERS[match[2]]}")
        claimed.named = text
        return claimed


class ClaimedScheme(ClaimedSet):
    """Any scheme that the lab knows, by its name there."""

    @staticmethod
    def read(value: object) -> ClaimedScheme:
        """As of `ClaimedSet`, and SLH-DSA-SHA2-128F, FALCON-512, ML-KEM-768, Ed25519 and the
        like."""
        name = _plain(value) if isinstance(value, str) else ""
        name = name.replace("falcon", "fndsa", 1)
        scheme = ClaimedScheme(_SCHEMES.get(name) or ClaimedSet.read(value))
        scheme.named = str(value)
        return scheme


def _plain(text: str) -> str:
    """Only letters and digits."""
    return "".join(filter(str.isalnum, text.lower()))


_SCHEMES = {_plain(name): name for name in ALL_SETS if name not in PARAMETER_SETS}
_SCHEMES |= {_plain(name.removesuffix("-PSS")): name for name in _SCHEMES.values()}

_NUMBER = {"type": ["number", "string"], "minimum": 0}
_SCHEMAS: dict[type, dict[str, Any]] = {
    StatedFigure: _NUMBER,
    Statistics: {
        "type": "object",
        "patternProperties": {f"^(?:{STATISTIC.pattern})$": _NUMBER},
        "additionalProperties": False,
    },
    ClaimedScheme: {"type": ["string", "integer"], "description": "any set or scheme"},
    Positive: {"type": ["number", "string"], "exclusiveMinimum": 0},
    Amount: {"type": ["number", "string"], "description": "bytes, or a size: 47 MB"},
    Span: {"type": ["number", "string", "array"], "minItems": 2, "maxItems": 2},
    ClaimedSet: {"type": ["string", "integer"], "description": "ML-DSA-44, 44, Dilithium2"},
}


def value_schema(kind: type) -> dict[str, Any]:
    """The JSON Schema of one of these types."""
    return _SCHEMAS[kind]


Names = str | tuple[str, ...]
"""One text, or a list of them."""
SECONDS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}


def seconds(unit: str) -> float | None:
    """Seconds in a unit of time; None for another unit."""
    return SECONDS.get(unit)


def listed(names: Names) -> tuple[str, ...]:
    """The texts as a list."""
    return (names,) if isinstance(names, str) else names


def confidence(kind: str) -> float | None:
    """The level of a kind of error such as ci95, between 0 and 1; None for another kind."""
    digits = kind.removeprefix("ci") if kind.startswith("ci") else ""
    level = float(digits) / 100 if digits.replace(".", "", 1).isdecimal() else 0.0
    return level if 0 < level < 1 else None


def number(value: float, digits: int = 3) -> str:
    """A number as people read it: whole numbers in full, others to so many digits, and to all
    before the decimal point."""
    if not math.isfinite(value):
        return "∞" if value > 0 else "-∞"
    if value == int(value) and abs(value) < 1e15:
        return f"{int(value):,}"
    if abs(value) < 1e-4:
        return f"{value:.{digits - 1}e}"
    return f"{value:,.{max(0, digits - 1 - math.floor(math.log10(abs(value))))}f}"


def unit_text(unit: str) -> str:
    """A unit as people write it."""
    return "µs" if unit == "us" else unit


def percent(share: float) -> str:
    """A share as a percentage to a tenth."""
    return f"{100 * share:.1f} %"


# Verdicts and findings of an audit, and the rule behind each.


class Verdict(StrEnum):
    """The scale, in the order of gravity."""

    CONSISTENT = "consistent"
    """The figure lies where the rule says it must."""
    UNDECIDABLE = "undecidable"
    """The figures given do not suffice for the rule to decide."""
    IMPLAUSIBLE = "implausible"
    """Outside what theory allows, unless there is a circumstance that the source does not state."""
    CONTRADICTION = "contradiction"
    """Against arithmetic, the standard, or the source's own words: no circumstance explains it."""


class Rule(NamedTuple):
    """A rule by its stable id, its content in one sentence, and its source."""

    id: str
    sentence: str
    source: str


def _rules() -> dict[str, Rule]:
    text = (resources.files("mldsa_lab.audit") / "rules.md").read_text(encoding="utf-8")
    lines = (line.strip("| ").split(" | ") for line in text.splitlines() if line[:3] == "| `")
    return {name.strip("`"): Rule(name.strip("`"), *rest) for name, *rest in lines}


RULES = _rules()
"""All rules by id: the table of docs/audit.md."""

NONE = "none"
"""The id of the rule that there is none."""

MEASURED = 0.02
"""Two measurements of one quantity agree so far."""
ANOTHER_RUN = 0.10
"""Measurements of one quantity in different runs agree so far; beyond, no machine explains it."""

CLOSE = 1e-12
"""Relative error of sums and products of positive numbers: n operations have at most n * 2**-53,
which is 1e-12 for 9,000. Figures that differ in their 12th digit remain different."""
_MOST_DIGITS = 15


@dataclass(frozen=True, slots=True)
class Judgement:
    """One verdict by one rule, of that id.

    ``claimed``: the claimed value as text; ``value``: its number, if it is one. ``predicted``: the
    rule's prediction; ``low`` and ``high``: its limits or None. ``reading``: the conclusion.
    ``claim``: the claim's id, which `mldsa_lab.audit.audit` fills in. ``values``: the labels of the
    published values that it judges; a rule gives their names within the claim.
    """

    rule: str
    verdict: Verdict
    claimed: str
    predicted: str
    reading: str
    value: float | None = None
    low: float | None = None
    high: float | None = None
    claim: str = ""
    values: tuple[str, ...] = ()


def judgement(
    rule: str,
    claimed: str,
    reading: str = "",
    verdict: Verdict | bool | None = None,
    *,
    stated: StatedFigure | float = math.nan,
    low: float | None = None,
    high: float | None = None,
    allowed: float = 0.0,
    near: float = 0.0,
    otherwise: Verdict = Verdict.CONTRADICTION,
    may_be_cut: bool = False,
    fault: str | None = None,
    unit: str = "",
    predicted: str | None = None,
    values: tuple[str, ...] = (),
) -> Judgement:
    """Return a finding on the ``stated`` figure; a plain number is exact.

    ``verdict``: the verdict of a rule of its own, or the truth of a statement. If not given, the
    figure is consistent within its rounding and the relative error ``allowed``, implausible up to
    the error ``near``, and ``otherwise`` a contradiction. A figure that ``may_be_cut`` may have
    been cut off behind its last digit: 888 whole transactions fit, of 888.9. It is consistent if
    cut by up to `MEASURED`, and implausible if cut by more. ``fault``: the reading of a figure that
    is not consistent, if it is another. ``predicted``: the limits with their unit, by default from
    ``low`` and ``high``. ``values``: names of the values that it judges, by default those equal to
    ``stated``, or all of the claim.
    """
    figure = stated if isinstance(stated, StatedFigure) else StatedFigure(float(stated))
    cut = StatedFigure(figure.value, 2 * figure.half)
    is_cut = may_be_cut and not meets(figure, low, None) and meets(cut, low, high)
    if isinstance(verdict, bool):
        verdict = Verdict.CONSISTENT if verdict else Verdict.CONTRADICTION
    elif verdict is None and is_cut:
        is_near = meets(StatedFigure(figure.value), low, None, MEASURED)
        verdict = Verdict.CONSISTENT if is_near else Verdict.IMPLAUSIBLE
    elif verdict is None and meets(figure, low, high, allowed):
        verdict = Verdict.CONSISTENT
    elif verdict is None:
        verdict = Verdict.IMPLAUSIBLE if meets(figure, low, high, near) else otherwise
    if is_cut:
        reading = f"{reading} Its last digits were cut off, not rounded.".lstrip()
    if verdict is not Verdict.CONSISTENT and fault is not None:
        reading = fault
    text = limits(low, high, unit, figure) if predicted is None else predicted
    if verdict is Verdict.CONSISTENT and not math.isnan(figure.value):
        text += _allowance(figure, low, high, allowed)
    value, low, high = (
        v if v is not None and math.isfinite(v) else None for v in (figure.value, low, high)
    )
    return Judgement(rule, verdict, claimed, text, reading, value, low, high, values=values)


def meets(stated: StatedFigure, low: float | None, high: float | None, error: float = 0.0) -> bool:
    """Return whether a figure can lie between limits that may be off by a relative error."""
    error = max(error, CLOSE)
    is_above = low is None or stated.high >= low - error * abs(low)
    return is_above and (high is None or stated.low <= high + error * abs(high))


def verdict_on(label: str, findings: Sequence[Judgement]) -> tuple[str, str]:
    """Return the gravest verdict on a published value, and its words with the rules; "" and "–" if
    no rule judges it."""
    about = [f for f in findings if label in f.values and f.rule != NONE]
    if not about:
        return "", "–"
    worst = max((f.verdict for f in about), key=list(Verdict).index)
    rules = dict.fromkeys(f.rule for f in about if f.verdict is worst)
    named = "" if worst is Verdict.CONSISTENT else f" ({', '.join(rules)})"
    return str(worst), f"{worst}{named}"


def _allowance(figure: StatedFigure, low: float | None, high: float | None, allowed: float) -> str:
    """Why a figure outside its limits agrees with them: its last digit is rounded or cut off, or
    the rule allows an error."""
    value, half = figure.value, figure.half
    outside = max((low or value) - value, value - (value if high is None else high), 0.0)
    if outside <= CLOSE * abs(value):
        return ""
    if outside <= (1 + CLOSE) * half:
        return ", within rounding"
    if low is not None and value < low and outside <= (1 + CLOSE) * 2 * half:
        return ", cut off"
    return f", {100 * allowed:g} % allowed" if allowed else ""


def limits(
    low: float | None, high: float | None, unit: str = "", stated: StatedFigure | None = None
) -> str:
    """Limits as people write them, with as many digits as show that they differ and on which side
    of the ``stated`` figure they lie."""
    tail = f" {unit}" if unit else ""
    if low is None and high is None:
        return "anything"
    is_one = low is not None and high is not None and math.isclose(low, high, rel_tol=CLOSE)
    ends = [end for end in (low, None if is_one else high) if end is not None]
    texts: list[str] = []
    for digits in range(3, _MOST_DIGITS + 1):
        texts = [number(end, digits) for end in ends]
        each = zip(ends, texts, strict=True)
        if len(set(texts)) == len(texts) and all(_is_clear(e, t, stated) for e, t in each):
            break
    bound = "at most " if low is None else "at least " if high is None else ""
    return f"{bound}{' to '.join(texts)}{tail}"


def _is_clear(limit: float, text: str, stated: StatedFigure | None) -> bool:
    """Return whether a limit as text is finer than the last digit of a figure of the source. The
    limit must also be on the same side of the figure and of all values that round to it."""
    if stated is None or not stated.text or not stated.half or not math.isfinite(limit):
        return True
    shown = float(text.replace(",", ""))
    marks = (stated.low, stated.value, stated.high, stated.high + stated.half)
    sides = ((_side(shown - mark, mark), _side(limit - mark, mark)) for mark in marks)
    return abs(shown - limit) <= stated.half / 5 and all(one == other for one, other in sides)


def _side(distance: float, size: float) -> int:
    return 0 if abs(distance) <= CLOSE * abs(size) else 1 if distance > 0 else -1
