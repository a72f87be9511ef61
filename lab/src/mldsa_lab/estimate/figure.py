"""A figure: the only type between estimation and display, and its vocabulary.

A name says the measured or computed quantity and nothing else: no number, no unit, no qualifier.
Keys tell two figures apart; name and keys together are unique. A name that is not listed here is
added here, with its meaning, if no listed name and key can say it. Decision 24 has the reasons.

Formulas over figures are texts such as ``100 * speedup / threads``. Their names mean numbers of any
type that has operators: plain numbers, published values with their rounding, estimates with their
confidence limits.
"""

from __future__ import annotations

import ast
import math
import operator
import shlex
from collections import ChainMap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any, Literal, get_args, overload

from simpleeval import FunctionNotDefined, InvalidExpression, NameNotDefined, SimpleEval

from mldsa_lab import LabError
from mldsa_lab.estimate.interval import Interval

Key = str | int | float | None
Keys = Mapping[str, Key]
FigureKind = Literal["measured", "assumed", "exact", "published"]


@dataclass(frozen=True, slots=True)
class Figure:
    """One number with its confidence limits, and the keys that identify it.

    ``unit``: the unit of value and limits, "" for counts, ratios and shares. ``value`` is None
    where the figure is not known; ``notes`` then say why. ``kind``: how certain it is by its
    origin; ``source``: the origin of an assumed, exact or published value. ``verdict``: one of
    `VERDICTS`; ``notes``: caveats.
    """

    keys: Keys
    name: str
    value: float | None
    low: float | None = None
    high: float | None = None
    unit: str = ""
    kind: FigureKind = "measured"
    source: str = ""
    verdict: str = ""
    notes: tuple[str, ...] = ()

    @classmethod
    def from_interval(
        cls,
        keys: Keys,
        name: str,
        interval: Interval,
        unit: str = "",
        verdict: str = "",
        notes: tuple[str, ...] = (),
    ) -> Figure:
        """Return the figure of an estimate."""
        value, low, high = interval.value, interval.low, interval.high
        return cls(keys, name, value, low, high, unit, verdict=verdict, notes=notes)

    @property
    def interval(self) -> Interval | None:
        """The value with its limits; None where it is not known."""
        return None if self.value is None else Interval(self.value, self.low, self.high)


@dataclass(frozen=True, slots=True)
class Figures(Sequence[Figure]):
    """Figures, and the things that their keys name.

    ``about``: by key and value, the attributes of the named thing: ``about["variant"][id]`` has its
    implementation, version and language. ``head``: facts about all figures, such as the machine,
    the clock and the confidence.
    """

    items: Sequence[Figure]
    about: Mapping[str, Mapping[Any, Keys]] = field(default_factory=dict)
    head: Keys = field(default_factory=dict)

    @overload
    def __getitem__(self, index: int) -> Figure: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Figure]: ...
    def __getitem__(self, index: int | slice) -> Figure | Sequence[Figure]:
        return self.items[index]

    def __len__(self) -> int:
        return len(self.items)

    def known(self, figure: Figure) -> Keys:
        """Return the keys of a figure and the attributes of what they name."""
        named = (known.get(figure.keys.get(key)) for key, known in self.about.items())
        return ChainMap(*(dict(k) for k in (figure.keys, *filter(None, named), self.head)))

    def attribute(self, figure: Figure, name: str) -> Key:
        """Return a key of a figure, or an attribute of what one of its keys names; None without."""
        return self.known(figure).get(name)

    def with_items(self, items: Sequence[Figure]) -> Figures:
        """Return other figures of the same things."""
        return replace(self, items=items)

    def only(self, takes: Callable[[Figure], bool]) -> Figures:
        """Return the figures for which ``takes`` is true."""
        return self.with_items([f for f in self.items if takes(f)])

    def select(self, name: str, **keys: Key) -> Iterator[Figure]:
        """Yield the figures of a name whose keys or attributes have these values."""
        for f in self.items:
            if f.name == name:
                known = self.known(f)
                if all(known.get(key) == value for key, value in keys.items()):
                    yield f


def parse_identity(text: str) -> tuple[str, dict[str, Key]]:
    """Return the name and the keys that a text gives, as `time of=block threads=8`: values with a
    space are in quotes. LabError for another text."""
    try:
        name, *pairs = shlex.split(text)
        keys = dict(pair.split("=", 1) for pair in pairs)
    except ValueError:
        raise LabError(f"{text!r}: must be a name and keys, as 'time of=block threads=8'") from None
    return name, {key: _number_or_text(value) for key, value in keys.items()}


def _number_or_text(text: str) -> Key:
    whole, point, rest = text.partition(".")
    if whole.isdecimal() and (rest.isdecimal() or not point):
        return as_key(float(text))
    return text


def as_key(number: float) -> int | float:
    """Return a number as the value of a key: a whole one has no point."""
    rounded = round(number, 9)
    return int(rounded) if rounded == int(rounded) else rounded


# The vocabulary.


SLOWER, FASTER, UNCHANGED = "slower", "faster", "unchanged"
OVERLAPPING, APART = "overlapping", "apart"
UNDECIDABLE, FORBIDDEN = "undecidable", "forbidden"
CUT_SHORT, NO_ESTIMATE = "cut short", "no estimate"
EXCLUDED, REJECTED = "excluded", "rejected"
VERDICTS = {
    SLOWER: "slower",
    FASTER: "faster",
    UNCHANGED: "no change seen",
    OVERLAPPING: "intervals overlap",
    APART: "intervals apart",
    "consistent": "consistent",
    "implausible": "implausible",
    "contradiction": "contradiction",
    UNDECIDABLE: "undecidable",
    FORBIDDEN: "forbidden",
    EXCLUDED: "excluded",
    REJECTED: "rejected by the correctness gate",
    CUT_SHORT: "left out part-way through the run",
    NO_ESTIMATE: "no estimate",
}
"""Verdicts, and the words in which tables show them."""

FIGURE_KINDS = get_args(FigureKind)
UNITS = frozenset((
    "", "1/s", "B", "B/s", "CU", "Hz", "USD", "per million", "WU",
    "cycles", "gas", "gwei", "instructions", "lamport", "ns", "s", "sat", "×",
))  # fmt: skip
"""Units in which figures are stored."""

NAMES = {
    # Every kind of measurement.
    "mean": "mean cost of an operation",
    "min": "least cost of a single call",
    "max": "largest cost of a single call",
    "sd": "standard deviation of single calls",
    "quantile": "cost that the share `percentile` of calls does not exceed",
    "samples": "samples of an operation",
    "rounds": "rounds that an estimate rests on",
    "ratio": "cost over that of `against`, paired by round; our figure over the published value",
    "rank": "place among all variants; variants that nothing tells apart share it",
    "per_second": "how many in a second",
    "scaling": "per second on `threads`, over that on one",
    "efficiency": "scaling over the number of threads",
    # Operations.
    "relative_sd": "standard deviation over the mean of one measurement (`of` noise), of what no "
    "term explains (`of` misfit)",
    "attempt_cost": "cost of a signature's attempt, by its end `attempt`, or of a term of the fit",
    "allocated": "bytes that an operation allocates",
    "collections": "garbage collections in a million operations",
    # Cold starts.
    "cost": "cost of the call `call` of a process; of the input `input` in the typical round",
    "resolution": "step of the clock in the measured calls",
    # Comparison of runs.
    "change": "quantity `of` in the last run over that in the first",
    "effect": "the change to judge by, widened by the changes of others",
    "attempt_change": "change of the cost of an attempt",
    "agreement": "how far runs agree in `quantity`, by `statistic`",
    "spread": "scatter of other implementations from run to run, as a logarithm; of processes the "
    "largest mean over the least, less one",
    # Memory.
    "stack": "stack of a call",
    "heap": "heap of a call; with `per`, of one operation of it",
    "allocations": "number of allocations",
    "kept": "bytes kept by a key that is ready",
    "read": "bytes read",
    "written": "bytes written",
    "instructions": "instructions executed",
    "accesses": "accesses to memory",
    "misses": "accesses that miss the cache `level`",
    "hits": "share of accesses that the cache `level` serves",
    "input": "id of the input that was counted",
    # Sizes, times and counts of blocks, pipelines and scenarios.
    "bytes": "size of `object`, of a transaction or message without it; of its `part`",
    "bytes_per_second": "traffic of `of`",
    "time": "time of `of`",
    "count": "number of `of`",
    "share": "share of `of`",
    "over_today": "quantity `of` over that of today's scheme and form",
    "used": "use of the limit `resource`",
    "needed": "the limit `resource` that a block of today's load needs",
    "capacity": "how many of `of` the store `object` holds",
    "fee": "fee for `resource`",
    "price": "price of a disk",
    "excess": "amount that the rule `rule` forbids today; None where it has no number",
    "speed_up": "gain by `by`",
    "clock": "clock rate; with `against` that at which it is as fast",
    "round_trips": "round trips that a sender waits for an acknowledgement",
    # Audits of published values.
    "claimed": "published value, or the end `statistic` of its range; None where it is no number",
    "predicted": "`statistic` value that the rule `rule` allows",
    # Answers to published pages, and what follows from FIPS 204.
    "ours": "our figure of a published value",
    "choice": "what to take; the notes name it",
    "distance": "sum of the differences from the expected shares",
    # Studies.
    "delta": "Cliff's delta of two groups",
    "p_value": "p-value of the test `test`",
    "least_p": "least p-value that so many replicates can reach",
    "bias": "bias of an estimator, as a share of the truth",
    "rmse": "root mean square error of an estimator, as a share of the truth",
    "truth": "mean or percentile of all measured signatures",
    "standard_error": "standard error of `of`",
    "draws": "draws of the inputs of an estimator",
}
"""Names of figures, with their meanings."""

KEYS = {
    "set": "parameter set",
    "operation": "operation",
    "variant": "variant of an implementation",
    "clock": "cpu or wall",
    "against": "what it is compared with",
    "scheme": "signature scheme, or that of `against`",
    "attempt": "how an attempt ends: first, z, r, h, final, setup; or a further term",
    "phase": "phase of an operation",
    "percentile": "percentile",
    "call": "number of the call in a process",
    "of": "what a general name is about",
    "object": "what has a size or holds something",
    "part": "part of a message or transaction",
    "operations": "number of operations",
    "per": "what it is divided by",
    "level": "first or last cache",
    "cache": "size of a cache",
    "caches": "warm or cold",
    "threads": "threads, or cores, at the same time",
    "mode": "batch: by a batch interface",
    "batch": "operations of a call of a batch interface",
    "slot": "slot of a chain",
    "stage": "stage of a pipeline",
    "pipeline": "name of a pipeline",
    "basis": "seen or expected",
    "before": "variant and version that it replaced",
    "quantity": "quantity of which runs agree",
    "statistic": "statistic",
    "scenario": "scenario",
    "template": "form of a transaction or message",
    "limit": "another limit of a block than today's",
    "load": "today: as many transactions as today",
    "utilisation": "load of a server in percent of what single calls can do",
    "within": "limit of a response time",
    "years": "years",
    "disk": "kind of disk",
    "resource": "limit of a block that a form uses, or part of a chip that a core takes",
    "rule": "rule of today, or of an audit",
    "finding": "number of a finding of an audit",
    "claim": "id of a published claim",
    "cell": "label of a published value",
    "check": "check of a signing attempt: z, r0, hint",
    "signatures": "number of signatures together",
    "rank": "place among the nearest",
    "link": "link",
    "window": "window of a sender",
    "device": "device that verifies",
    "nodes": "percentage of nodes",
    "block": "block on a network",
    "relay": "how a block is relayed",
    "interval": "time between blocks",
    "stored": "what of a key is stored",
    "by": "optimisation",
    "encoding": "encoding of an object",
    "core": "hardware core",
    "configuration": "configuration of a core",
    "key": "form of the key",
    "input": "id of an input",
    "inputs": "drawn: inputs that nobody chose; chosen: their plain average; without outliers",
    "process": "number of a process",
    "worker": "worker",
    "implementation": "implementation, of all its variants",
    "backend": "backend",
    "message_bytes": "bytes of the message",
    "contrast": "what two groups differ in",
    "first": "first group",
    "second": "second group",
    "test": "test of significance",
    "table": "table of a study or of an answered page",
    "method": "method of choosing inputs",
    "target": "quantity that is estimated",
    "measured": "how often an input is measured",
    "n": "number of inputs",
    "technology": "chip, and what placed a core on it",
    "seed": "seed of a placement",
    "start": "where a critical path begins",
    "end": "where it ends",
    "module": "module of a core",
    "instances": "instances of a module",
    "reference": "implementation whose change is divided out",
    "run": "number of a run, from 1 on",
}
"""Keys of figures, with the meanings of their values."""

PLACES = frozenset(("scenario", "template", "scheme"))
"""Keys for a figure's place: a selection by other keys need not name them."""


def breaches(figures: Iterable[Figure]) -> Iterator[str]:
    """Yield a line for each rule that a figure breaks."""
    seen: set[tuple[str, frozenset[tuple[str, object]]]] = set()
    for f in figures:
        named = f"{f.name} of {', '.join(f'{k} {v}' for k, v in f.keys.items())}"
        for word, known, what in (
            (f.name, NAMES, "name"),
            (f.unit, UNITS, "unit"),
            (f.kind, FIGURE_KINDS, "kind"),
            *([(f.verdict, VERDICTS, "verdict")] if f.verdict else []),
            *((key, KEYS, "key") for key in f.keys),
        ):
            if word not in known:
                yield f"{named}: unknown {what} {word!r}"
        numbers = [x for x in (f.value, f.low, f.high) if x is not None]
        if not all(map(math.isfinite, numbers)):
            yield f"{named}: value or limit is not finite"
        if f.value is None and (f.low is not None or f.high is not None):
            yield f"{named}: limits without a value"
        below, above = (f.value if x is None else x for x in (f.low, f.high))
        if f.value is not None and not below <= f.value <= above:  # type: ignore[operator]
            yield f"{named}: the value lies outside its limits"
        identity = (f.name, frozenset(f.keys.items()))
        if identity in seen:
            yield f"{named}: occurs twice"
        seen.add(identity)


# Formulas over figures.


_OPERATORS = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
}  # fmt: skip
Functions = Mapping[str, Callable[..., Any]]
FUNCTIONS: Functions = {"sum": sum, "product": math.prod}
"""Functions of a formula that has no others, both of several numbers under one name."""
_NODES = (ast.BinOp, ast.Name, ast.Load, ast.Call, *_OPERATORS)
"""Parts that a formula may have besides numbers."""


def evaluate(
    text: str, names: Mapping[str, Any], functions: Functions = FUNCTIONS, place: str = ""
) -> Any:
    """Return the value of a formula. ValueError begins with its ``place`` in the file and names the
    error."""
    where = f"{place}: {text[:80]!r}" if place else repr(text[:80])
    try:
        return SimpleEval(_OPERATORS, functions, names).eval(text, _parsed(text))
    except (NameNotDefined, FunctionNotDefined) as error:
        known = names if isinstance(error, NameNotDefined) else functions
        name = getattr(error, "name", None) or getattr(error, "func_name", "")
        raise ValueError(f"{where}: {name!r} is unknown: known are {', '.join(known)}") from None
    except (
        InvalidExpression, ValueError, TypeError, SyntaxError, ArithmeticError, MemoryError,
        RecursionError,
    ) as error:  # fmt: skip
        raise ValueError(f"{where} is no formula: {error}") from None


def mentions(text: str, name: str) -> bool:
    """Return whether a formula has the name in it."""
    return any(isinstance(n, ast.Name) and n.id == name for n in ast.walk(_parsed(text)))


@cache
def _parsed(text: str) -> ast.expr:
    """The tree of a formula: numbers and `_NODES` only."""
    tree = ast.parse(text.strip(), mode="eval").body
    for node in ast.walk(tree):
        is_number = isinstance(node, ast.Constant) and type(node.value) in (int, float)
        if not (is_number or isinstance(node, _NODES)):
            raise ValueError(f"{type(node).__name__} is not allowed")
    return tree
