"""Published claims, as read from a file. docs/audit.md describes each field."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

Standard = Literal["fips204", "round3", "unstated"]
Inputs = Literal["varied", "fixed", "unstated"]


@dataclass(frozen=True, slots=True)
class Figure:
    """A published number; ``half`` is half a unit of its last digit, what rounding may hide."""

    value: float
    half: float = 0.0

    @property
    def low(self) -> float:
        """The smallest value that rounds to this figure."""
        return self.value - self.half

    @property
    def high(self) -> float:
        """The largest."""
        return self.value + self.half


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """What all claims have: an id, unique in its file, and a note where it stands."""

    id: str
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost(Claim):
    """Costs of an operation. ``figures`` by statistic: min, max, mean, median, sd, p95, ...

    ``error`` is a figure behind ±, of kind sd, se, ciNN or unstated. ``samples`` is the number of
    samples, None if not stated; each is the average of ``per_sample`` operations. ``overhead`` is
    a constant part of every sample that is no work of the operation.
    """

    operation: str
    set: str | None
    unit: str
    figures: dict[str, Figure]
    error: Figure | None = None
    error_kind: str = "unstated"
    samples: int | None = None
    per_sample: int = 1
    inputs: Inputs = "unstated"
    overhead: float = 0.0
    message_bytes: int | None = None
    subject: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Size(Claim):
    """Bytes of an object. ``named`` is the set as the source calls it."""

    set: str
    named: str
    object: str
    bytes: int
    encoding: str = "unstated"
    standard: Standard = "unstated"


@dataclass(frozen=True, slots=True, kw_only=True)
class Throughput(Claim):
    """Operations in a second by ``workers`` cores or threads."""

    operation: str
    set: str | None
    per_second: Figure
    workers: int
    cost_of: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Scaling(Claim):
    """Throughput, or speedup over one thread, at several numbers of threads."""

    points: tuple[tuple[int, Figure], ...]
    speedup: bool
    cores: int | None
    threads_per_core: int = 2
    cost_of: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch(Claim):
    """Cost for one operation in batches of several sizes."""

    operation: str
    set: str | None
    unit: str
    points: tuple[tuple[int, Figure], ...]
    cost_of: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Share:
    """A share that the source gives to some parts together, in percent, and where it says so."""

    of: tuple[str, ...]
    percent: Figure
    where: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts(Claim):
    """Parts of a total, and shares of it."""

    unit: str
    parts: dict[str, Figure]
    total: Figure | None
    shares: tuple[Share, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rate(Claim):
    """A rate of bytes, and the bytes and operations it is said to come from."""

    operation: str | None
    set: str | None
    read: Figure | None
    written: Figure | None
    operations: int
    seconds: Figure | None
    per_second: Figure | None
    workers: int
    cost_of: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference(Claim):
    """A relative difference of two groups' means (0.1 is 10 %), and what the source makes of it.

    ``significant`` is None where the source says nothing; ``paired`` says that both groups
    measured the same inputs.
    """

    operation: str
    set: str
    relative: Figure | None
    significant: bool | None
    per_group: int
    per_sample: int = 1
    paired: bool = False
    level: float = 0.05
    power: float = 0.8


@dataclass(frozen=True, slots=True, kw_only=True)
class Counted(Claim):
    """Numbers of samples stated in several places: of all, of each group, or unstated."""

    values: tuple[tuple[int, str, str], ...]
    groups: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Statements(Claim):
    """One quantity stated in several places."""

    quantity: str
    unit: str
    values: tuple[tuple[Figure, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit(Claim):
    """A limit in bits or bytes, and the size that the source calls it."""

    amount: int
    unit: Literal["bits", "bytes"]
    called: tuple[float, float]
    called_text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Rejection(Claim):
    """Rates and numbers of attempts of the rejection loop.

    ``rates``: pass_z, pass_r0, pass_hint, accept, reject, each low and high (equal where the
    source gives one number). ``attempts``: mean, median, p95, ...
    """

    set: str
    rates: dict[str, tuple[Figure, Figure]] = field(default_factory=dict)
    attempts: dict[str, Figure] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Source:
    """Who published what, when, in what kind of text; "" where unknown."""

    title: str
    kind: str
    url: str = ""
    date: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True)
class Table:
    """The claims of one source. ``path`` names the file in errors and results."""

    path: str
    source: Source
    claims: tuple[Claim, ...]

    def claim(self, name: str) -> Claim:
        """The claim of that id, which must exist."""
        return next(c for c in self.claims if c.id == name)

    def costs_of(self, names: tuple[str, ...]) -> tuple[Cost, ...]:
        """The cost claims of those ids."""
        return tuple(c for c in self.claims if isinstance(c, Cost) and c.id in names)
