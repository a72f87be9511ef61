"""Published claims, as in files, and their values one by one.

lab/notes/audit.md describes each field.

`mldsa_lab.audit.reading` reads files into these types. An error of a type's own checks becomes one
that names file, claim and field.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Annotated, Any, Literal, NamedTuple

from msgspec import Meta, Struct, field
from msgspec.structs import force_setattr

from mldsa_lab.audit.judgement import (
    Amount,
    ClaimedScheme,
    ClaimedSet,
    Judgement,
    Names,
    Positive,
    Span,
    StatedFigure,
    Statistics,
    confidence,
    listed,
    seconds,
    shown,
)
from mldsa_lab.files import Text
from mldsa_lab.sets import PARAMETER_SETS

# Published claims, as in files; lab/notes/audit.md describes each field.


CostUnit = Literal["ns", "us", "µs", "ms", "s", "cycles", "instructions", "%"]
"""`mldsa_lab.audit.reading` makes us of µs. In %, figures are relative to the mean."""
Encoding = Literal[
    "raw", "seed", "spki", "pkcs8-seed", "pkcs8-expanded", "pkcs8-both", "pkcs8-bare", "unstated"
]
Inputs = Literal["varied", "fixed", "unstated"]
Operation = Literal["keygen", "sign", "verify", "other"]
Standard = Literal["fips204", "round3", "unstated"]

Count = Annotated[int, Meta(ge=1, le=10**12)]
Probability = Annotated[float, Meta(gt=0, lt=1)]
Length = Annotated[int, Meta(ge=0, le=10**12)]


class _Part(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A part of a claim."""


class Claim(_Part, frozen=True, kw_only=True, tag_field="about"):
    """Fields of all claims: an id, unique in its file, and a note on its place. ``same``: by the
    name of a value the label of the value that it repeats, so that both have the same verdict."""

    id: Text
    note: str = ""
    same: dict[str, Text] = {}


class Cost(Claim, frozen=True, tag="cost"):
    """Costs of an operation. A file has the ``figures`` next to the other fields.

    ``error`` is a figure behind ±, of kind sd, se, ciNN or unstated. ``samples`` is the number of
    samples, None if not stated; each is the average of ``per_sample`` operations. ``overhead`` is
    a constant part of every sample that is no work of the operation. ``clock_hz`` is the frequency
    of the cycles.
    """

    operation: Operation
    unit: CostUnit
    figures: Statistics
    set: ClaimedScheme | None = None
    error: StatedFigure | None = None
    error_kind: str = "unstated"
    samples: Count | None = None
    per_sample: Count = 1
    inputs: Inputs = "unstated"
    overhead: StatedFigure = field(default_factory=partial(StatedFigure, 0.0))
    message_bytes: Length | None = None
    clock_hz: Positive | None = None
    subject: str = ""

    def __post_init__(self) -> None:
        if self.operation == "sign" and self.set is None:
            raise ValueError("set is missing, and the law of signing depends on it")
        if self.error_kind not in ("sd", "se", "unstated") and confidence(self.error_kind) is None:
            known = "sd, se, unstated, ci95 (or another level)"
            raise ValueError(f"error_kind {shown(self.error_kind)} must be one of {known}")
        for name, figure in self.figures.items():
            if name != "sd" and 0 < self.overhead.value >= figure.value:
                raise ValueError(f"{name} must be greater than the overhead")

    @property
    def varied_set(self) -> str | None:
        """The parameter set where it signs with ML-DSA inputs that may vary."""
        varied = self.operation == "sign" and self.inputs != "fixed"
        return self.set if varied and self.set in PARAMETER_SETS else None

    @property
    def seconds(self) -> float | None:
        """Seconds in its unit; None for a unit that is no time, and for cycles of no clock."""
        if self.unit == "cycles" and self.clock_hz is not None:
            return 1 / self.clock_hz.value
        return seconds(self.unit)

    @property
    def centre(self) -> StatedFigure | None:
        """The median, or else the mean."""
        return self.figures.get("median") or self.figures.get("mean")


class Size(Claim, frozen=True, tag="size"):
    """Bytes of an object."""

    set: ClaimedScheme
    object: Literal["public-key", "private-key", "signature"]
    bytes: Count
    encoding: Encoding = "unstated"
    standard: Standard = "unstated"


class ScalingPoint(_Part, frozen=True):
    """Operations in a second, or the speedup over one thread, with so many threads, and its
    ``efficiency``: the speedup over the threads, in percent."""

    threads: Count
    per_second: Positive | None = None
    speedup: Positive | None = None
    efficiency: Positive | None = None


class Scaling(Claim, frozen=True, tag="scaling"):
    """Throughput, or speedup over one thread, at one or several numbers of threads."""

    points: Annotated[tuple[ScalingPoint, ...], Meta(min_length=1)]
    cores: Count | None = None
    threads_per_core: Count = 2
    cost_of: Names = ()

    def __post_init__(self) -> None:
        _ascend(self, "threads")


class BatchPoint(_Part, frozen=True):
    """Cost for one operation in batches of one size, cost of the whole batch, and operations in a
    second."""

    size: Count
    cost: Positive
    total: Positive | None = None
    per_second: Positive | None = None


class Batch(Claim, frozen=True, tag="batch"):
    """Cost for one operation in batches of several sizes."""

    operation: Operation
    unit: CostUnit
    points: Annotated[tuple[BatchPoint, ...], Meta(min_length=2)]
    set: ClaimedSet | None = None
    cost_of: Names = ()

    @property
    def seconds(self) -> float | None:
        """Seconds in its unit; None for a unit that is no time."""
        return seconds(self.unit)

    def __post_init__(self) -> None:
        _ascend(self, "size")


class PartShare(_Part, frozen=True):
    """A share that the source gives to some parts together, in percent, and where it says so."""

    of: Names
    percent: StatedFigure
    where: str = ""


class Parts(Claim, frozen=True, tag="parts"):
    """Parts of a total, and shares of it. Those in the unit ``count`` are exact."""

    unit: Text
    parts: Annotated[dict[str, StatedFigure], Meta(min_length=1)]
    total: Positive | None = None
    shares: tuple[PartShare, ...] = ()

    def __post_init__(self) -> None:
        for name in (name for share in self.shares for name in listed(share.of)):
            if name not in self.parts:
                raise ValueError(f"shares: there is no part {name!r}")
        if sum(part.value for part in self.parts.values()) <= 0:
            raise ValueError("parts: the sum must be greater than 0")


class Rate(Claim, frozen=True, tag="rate"):
    """A rate of bytes, and the bytes and operations it is said to come from."""

    operations: Count
    bytes_read: Amount | None = None
    bytes_written: Amount | None = None
    bytes_per_second: Amount | None = None
    seconds: Positive | None = None
    workers: Count = 1
    cost_of: Names = ()


class Difference(Claim, frozen=True, tag="difference"):
    """A relative difference of two groups' means (0.1 is 10 %), and the source's conclusion.

    ``significant`` is None where the source says nothing; ``paired`` says that both groups
    measured the same inputs.
    """

    operation: Operation
    set: ClaimedSet
    samples_per_group: Annotated[int, Meta(ge=2, le=10**12)]
    relative: StatedFigure | None = None
    significant: bool | None = None
    per_sample: Count = 1
    paired: bool = False
    level: Probability = 0.05
    power: Probability = 0.8


class CountStatement(_Part, frozen=True):
    """A number of samples, its subject, and its place in the source."""

    count: Count
    of: Literal["all", "group", "unstated"] = "unstated"
    where: str = ""


class Counted(Claim, frozen=True, tag="counted"):
    """Numbers of samples stated in several places: of all, of each group, or unstated."""

    values: Annotated[tuple[CountStatement, ...], Meta(min_length=2)]
    groups: Count | None = None


class Statement(_Part, frozen=True):
    """A number, or limits of several, and its place in the source."""

    value: Span
    where: str = ""


class Statements(Claim, frozen=True, tag="statements"):
    """One quantity stated in several places. In the unit ``count`` it is exact."""

    quantity: Text
    values: Annotated[tuple[Statement, ...], Meta(min_length=2)]
    unit: str = ""


class ValueTable(Claim, frozen=True, tag="table"):
    """A table of values in one unit, or of limits: ``rows`` by name, each with a value for each
    column. A cell is called ``ROW, COLUMN``. Costs have the ``operation``, and rows may name a
    scheme."""

    unit: Text
    columns: Annotated[tuple[Text, ...], Meta(min_length=1)]
    rows: Annotated[dict[str, tuple[Span, ...]], Meta(min_length=1)]
    operation: Operation = "other"

    def __post_init__(self) -> None:
        for name, values in self.rows.items():
            if len(values) != len(self.columns):
                raise ValueError(f"rows: {name!r} must have {len(self.columns)} values")

    def pairs(self, pattern: str, over: str) -> dict[str, tuple[StatedFigure, StatedFigure]]:
        """Return by the names of the cells that fit the pattern, each with the cell ``over``,
        where there is one."""
        cells = self.cells
        matches = filter(None, map(read_pattern(pattern).fullmatch, cells))
        spans = {m[0]: (cells[m[0]], cells.get(m.expand(over))) for m in matches}
        return {name: (a.low, b.low) for name, (a, b) in spans.items() if b and a.one and b.one}

    @property
    def cells(self) -> dict[str, Span]:
        """The values by the names of their cells."""
        return {
            f"{name}, {column}": value
            for name, values in self.rows.items()
            for column, value in zip(self.columns, values, strict=True)
        }


def read_pattern(text: str, name: str = "") -> re.Pattern[str]:
    """Return a pattern of labels or of the names of cells. ValueError for a wrong one, which
    ``name`` begins."""
    try:
        return re.compile(text)
    except re.error as error:
        raise ValueError(f"{name or repr(text)}: no pattern: {error}") from None


FORMS = {
    "ratio": "value / over",
    "percent more": "100 * (value / over - 1)",
    "percent less": "100 * (1 - value / over)",
}
"""Formulas of a quotient by its form."""


class Quotient(Claim, frozen=True, tag="quotient"):
    """A statement on a table or several: the quotient of two cells, or its limits over pairs.

    ``of``: a pattern of the names of cells. ``over``: the name of the other cell of the same table;
    it may refer to groups of the pattern (``\\1``). ``form``: the quotient itself, or the percent
    by which the first is more or less than the other. ``stated``: one such value, or the limits
    of all.
    """

    quantity: Text
    table: Names
    of: Text
    over: Text
    form: Literal["ratio", "percent more", "percent less"] = "ratio"
    stated: Span | None = None
    at_least: StatedFigure | None = None
    at_most: StatedFigure | None = None

    def __post_init__(self) -> None:
        read_pattern(self.of, "of")
        if self.stated is None and self.at_least is None and self.at_most is None:
            raise ValueError("stated is missing, or at_least or at_most")


class Product(Claim, frozen=True, tag="product"):
    """A value that follows from others: ``factors`` multiplied, divided by those in ``over``."""

    quantity: Text
    stated: StatedFigure
    factors: Annotated[dict[str, StatedFigure], Meta(min_length=1)]
    over: dict[str, StatedFigure] = {}
    unit: str = ""

    def __post_init__(self) -> None:
        if any(f.value <= 0 for f in (*self.factors.values(), *self.over.values())):
            raise ValueError("factors: must be greater than 0")


class Vectors(Claim, frozen=True, tag="vectors"):
    """The width of a core's vector registers, as a source has it. ``slower``: the percentage by
    which the same code is slower with only the extension ``over``."""

    core: Text
    extension: Text
    bits: Count
    over: Text | None = None
    slower: Positive | None = None

    def __post_init__(self) -> None:
        if (self.over is None) != (self.slower is None):
            raise ValueError("over and slower: give both, or neither")


class Strength(Claim, frozen=True, tag="strength"):
    """The security of a parameter set: NIST's ``category``, or bits against computers without and
    with quantum gates."""

    set: ClaimedScheme
    category: Annotated[int, Meta(ge=1, le=5)] | None = None
    classical_bits: Count | None = None
    quantum_bits: Annotated[int, Meta(ge=0, le=10**12)] | None = None


class TrimmedShare(_Part, frozen=True):
    """A share of removed samples, in ``percent``: of all, or at each end. ``criterion``: the rule
    that chose them, with its place in the source."""

    percent: StatedFigure
    of: Literal["all", "each end"] = "all"
    criterion: Literal["chauvenet", "unstated"] = "unstated"
    where: str = ""


class Trimmed(Claim, frozen=True, tag="trimmed"):
    """Statements of a source, in one place or several, on samples removed from ``samples``."""

    values: Annotated[tuple[TrimmedShare, ...], Meta(min_length=1)]
    samples: Count | None = None


class ConfidenceInterval(Claim, frozen=True, tag="interval"):
    """Rule by which a source makes the interval of a mean: ``confidence`` in percent, and the
    ``width`` of each side as a multiple ``of`` a standard deviation (sd) or a standard error
    (se)."""

    confidence: StatedFigure
    width: Positive
    of: Literal["sd", "se"]
    samples: Count | None = None

    def __post_init__(self) -> None:
        if not 0 < self.confidence.value < 100:
            raise ValueError("confidence: must be between 0 and 100 percent")


class Limit(Claim, frozen=True, tag="limit"):
    """A limit in bits or bytes, and the size that the source calls it."""

    amount: Annotated[int, Meta(ge=1)]
    unit: Literal["bits", "bytes"]
    called: Amount


class Rejection(Claim, frozen=True, tag="rejection"):
    """Rates of the rejection loop's checks, and ``attempts``: mean, median, p95, ... of a
    signature."""

    set: ClaimedSet
    pass_z: Span | None = None
    pass_r0: Span | None = None
    pass_hint: Span | None = None
    accept: Span | None = None
    reject: Span | None = None
    attempts: Statistics = field(default_factory=Statistics)

    def __post_init__(self) -> None:
        if "sd" in self.attempts:
            raise ValueError("attempts: sd is unknown here; known are mean, median, percentiles")

    @property
    def rates(self) -> dict[str, Span]:
        """The rates that are given."""
        names = ("pass_z", "pass_r0", "pass_hint", "accept", "reject")
        return {name: rate for name in names if (rate := getattr(self, name)) is not None}


ABOUT: dict[str, type[Claim]] = {
    str(kind.__struct_config__.tag): kind for kind in Claim.__subclasses__()
}
"""Kinds of claims by their names in files."""


class ClaimSource(_Part, frozen=True):
    """Author, title, date and kind of a publication; "" where unknown."""

    title: Text
    kind: Literal["vendor", "project", "study", "comparison", "method", "other"]
    url: str = ""
    date: str = ""
    note: str = ""


class ClaimTable(Struct, frozen=True):
    """The claims of one source. ``path`` names the file in errors and results."""

    path: str
    source: ClaimSource
    claims: tuple[Claim, ...]

    def claim(self, name: str) -> Claim:
        """The claim of that id, which must exist."""
        return next(c for c in self.claims if c.id == name)

    def named(self, names: Names) -> list[Cost | Batch]:
        """Return the costs and batches of those ids."""
        known = listed(names)
        return [c for c in self.claims if isinstance(c, Cost | Batch) and c.id in known]


def _ascend(claim: Any, name: str) -> None:
    """Sorts a claim's points by a field; ValueError if one appears twice."""
    points = {int(getattr(point, name)): point for point in claim.points}
    if len(points) < len(claim.points):
        raise ValueError(f"points: a number of {name} appears twice")
    force_setattr(claim, "points", tuple(points[number] for number in sorted(points)))


# The values that a source published, claim by claim


_CONTAINERS = ("figures", "points", "parts", "shares", "attempts", "values", "cells", "stated")
"""Fields whose name adds nothing to their content."""
_UNITS = {
    "bytes": "B", "bytes_read": "B", "bytes_written": "B", "bytes_per_second": "B/s",
    "seconds": "s", "per_second": "1/s", "percent": "%", "efficiency": "%", "called": "B",
    "confidence": "%", "slower": "%", "classical_bits": "bits", "quantum_bits": "bits",
    "category": "", "width": "", "speedup": "", "samples": "", "count": "",
    "samples_per_group": "", "operations": "",
}  # fmt: skip
"""Units of fields that have one of their own; others have their claim's unit."""
_OTHER = (*_UNITS, "value", "cost", "total", "error", "relative", "bits", "amount")
_OTHER += ("pass_z", "pass_r0", "pass_hint", "accept", "reject", "at_least", "at_most")
_NAMES = ("threads", "size", "where", "of")
"""Fields that tell the parts of a list apart."""
_NAMELESS = ("value", "percent", "bytes", "count")


def value_label(claim: str, name: str) -> str:
    """Return the label of a claim's value of that name."""
    return f"{claim}, {name}" if name else claim


class PublishedValue(NamedTuple):
    """One value: its claim, its ``name`` within it ("" if it is the only one), and its unit."""

    claim: str
    name: str
    value: Span
    unit: str

    @property
    def label(self) -> str:
        """The claim and the name."""
        return value_label(self.claim, self.name)


def published_values(claim: Claim) -> list[PublishedValue]:
    """Return the values of a claim, in the order of its fields."""
    own = getattr(claim, "unit", "")
    if getattr(claim, "form", "").startswith("percent"):
        own = "%"
    values = []
    fields = {"cells": claim.cells} if isinstance(claim, ValueTable) else _fields(claim)
    for path, value in _walk(fields):
        field = next((part for part in reversed(path) if part in _UNITS), "")
        names = [part for part in path if part not in (*_CONTAINERS, *_NAMELESS)]
        span = value if isinstance(value, Span) else Span(value, value)
        unit = _UNITS[field] if field else own
        values.append(PublishedValue(claim.id, " ".join(names), span, unit))
    return values


def judged_labels(claim: Claim, finding: Judgement) -> list[str]:
    """Return the labels of a claim's values that a finding judges. They are the ones that its rule
    names, else the ones that it quotes, else all but the number of samples."""
    values = published_values(claim)
    if finding.values:
        return [v.label for v in values if v.name in finding.values]
    quoted = [v.label for v in values if _is_quoted(v.value, finding)]
    return quoted or [v.label for v in values if v.name != "samples"]


def repeated(claims: Sequence[Claim]) -> dict[str, tuple[str, ...]]:
    """Return by the label of a value the labels of all values that are the same by the file."""
    groups: dict[str, list[str]] = {}
    for claim in claims:
        for name, first in claim.same.items():
            groups.setdefault(first, [first]).append(value_label(claim.id, name))
    return {label: tuple(group) for group in groups.values() for label in group}


def _is_quoted(value: Span, finding: Judgement) -> bool:
    if finding.value == value.low.value:
        return True
    return not value.one and finding.value is None and value.text in finding.claimed


def _fields(part: Struct) -> dict[str, Any]:
    known = (*_CONTAINERS, *_OTHER)
    return {name: getattr(part, name) for name in part.__struct_fields__ if name in known}


def _walk(part: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    if isinstance(part, StatedFigure | Span):
        yield path, part
    elif isinstance(part, int) and not isinstance(part, bool):
        yield path, StatedFigure(float(part), text=str(part))
    elif isinstance(part, dict):
        for name, value in part.items():
            yield from _walk(value, (*path, name))
    elif isinstance(part, tuple):
        for place, value in enumerate(part, 1):
            names = [getattr(value, name, "") for name in _NAMES]
            texts = [" + ".join(v) if isinstance(v, tuple) else str(v) for v in names if v]
            yield from _walk(_fields(value), (*path, ", ".join(texts) or str(place)))
