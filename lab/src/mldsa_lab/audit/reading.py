"""Claims files, YAML or JSON, to claims. LabError names file, claim, field and rule."""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, cast

import yaml

from mldsa_lab.audit.claims import (
    Batch,
    Claim,
    Cost,
    Counted,
    Difference,
    Figure,
    Inputs,
    Limit,
    Parts,
    Rate,
    Rejection,
    Scaling,
    Share,
    Size,
    Source,
    Standard,
    Statements,
    Table,
    Throughput,
)
from mldsa_lab.audit.encodings import ENCODINGS
from mldsa_lab.audit.fields import Fields, shown
from mldsa_lab.errors import LabError
from mldsa_lab.files import parse_json, read_text
from mldsa_lab.sets import OPERATIONS

FORMAT = "mldsa-lab claims"
VERSION = 1
KINDS = ("vendor", "project", "study", "comparison", "method", "other")
"""Kinds of sources."""
UNITS = ("ns", "us", "µs", "ms", "s", "cycles", "instructions")
OBJECTS = ("public-key", "private-key", "signature")
STANDARDS = ("fips204", "round3", "unstated")
RATES = ("pass_z", "pass_r0", "pass_hint", "accept", "reject")
DEFAULTS = (
    "set",
    "operation",
    "unit",
    "samples",
    "per_sample",
    "inputs",
    "message_bytes",
    "standard",
    "subject",
)
"""Fields that may stand under `defaults`, for all claims that have them."""

_BYTES_MAX = 1 << 20
_STATISTICS = ("min", "max", "mean", "median", "sd")
_PERCENTILE = re.compile(r"p(\d+(?:\.\d+)?)")
_INTERVAL = re.compile(r"ci(\d+(?:\.\d+)?)")
_SET_NUMBERS = {"2": "ML-DSA-44", "3": "ML-DSA-65", "5": "ML-DSA-87"}
_DILITHIUM = re.compile(r"(?:crystals)?dilithium(?:level)?([235]|ii|iii|v)")
_MLDSA = re.compile(r"(?:mldsa)?(44|65|87)")
_ROMAN = {"ii": "2", "iii": "3", "v": "5"}

_Raw = Mapping[str, Any]


def read_claims(path: Path) -> Table:
    """The claims of a file."""
    try:
        if path.stat().st_size > _BYTES_MAX:
            raise LabError(f"{path}: is larger than the {_BYTES_MAX:,} bytes of a table of claims")
    except OSError as error:
        raise LabError(f"{path}: cannot read it: {error.strerror}") from None
    text = read_text(path)
    name = str(path)
    return parse_claims(text, name, json=path.suffix.lower() == ".json")


def parse_claims(text: str, name: str, *, json: bool = False) -> Table:
    """The claims of a text; ``name`` stands for its file in errors."""
    raw = parse_json(text, name) if json else _parse_yaml(text, name)
    fields = Fields(raw, name)
    if (found := fields.need("format")) != FORMAT:
        raise fields.error("format", f"must be {FORMAT!r}, not {shown(found)}")
    if (found := fields.need("version")) != VERSION or isinstance(found, bool):
        raise fields.error("version", f"this version reads {VERSION}, not {shown(found)}")
    source = _source(Fields(fields.need("source"), f"{name}: source"))
    defaults = _defaults(fields.take("defaults"), name)
    listed = fields.need("claims")
    if not isinstance(listed, list) or not listed:
        raise fields.error("claims", "must be a list of at least one claim")
    fields.done()
    claims: list[Claim] = []
    for position, entry in enumerate(listed, 1):
        claim = _claim(entry, position, name, defaults)
        if any(claim.id == other.id for other in claims):
            raise LabError(f"{name}: claim {claim.id!r}: the id stands twice, and must be unique")
        claims.append(claim)
    table = Table(name, source, tuple(claims))
    _check_references(table)
    return table


def set_name(text: str) -> str | None:
    """The parameter set that a name means: ML-DSA-65, 65, Dilithium3, CRYSTALS-Dilithium-3."""
    plain = re.sub(r"[^a-z0-9]", "", text.lower())
    if match := _MLDSA.fullmatch(plain):
        return f"ML-DSA-{match[1]}"
    if match := _DILITHIUM.fullmatch(plain):
        return _SET_NUMBERS[_ROMAN.get(match[1], match[1])]
    return None


# Parts of the file ------------------------------------------------------------------------------


class _Loader(yaml.SafeLoader):
    """YAML as PyYAML reads it safely, but a key that stands twice is an error."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen: set[str] = set()
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode):
                if key.value in seen:
                    raise yaml.constructor.ConstructorError(
                        None, None, f"the key {key.value!r} stands twice", key.start_mark
                    )
                seen.add(key.value)
        return cast("dict[Any, Any]", super().construct_mapping(node, deep))


def _parse_yaml(text: str, name: str) -> object:
    try:
        return yaml.load(text, _Loader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        line = f", line {mark.line + 1}" if mark is not None else ""
        broken = "" if isinstance(error, yaml.constructor.ConstructorError) else ", not YAML"
        raise LabError(f"{name}{line}: {error.problem}{broken}") from None
    except yaml.YAMLError as error:
        first = str(error).splitlines()[0]
        raise LabError(f"{name}: {first}, not YAML") from None
    except RecursionError:
        raise LabError(f"{name}: is nested too deeply") from None
    except ValueError as error:  # a date such as 2026-02-30, or an integer too long
        raise LabError(f"{name}: {error}") from None


def _source(fields: Fields) -> Source:
    date = fields.take("date")
    if isinstance(date, datetime.date):
        date = date.isoformat()
    if date is not None and not isinstance(date, str):
        raise fields.error("date", f"must be a date such as 2026-05-23, not {shown(date)}")
    title = fields.text("title")
    if not title:
        raise fields.error("title", "is missing")
    source = Source(
        title, fields.choice("kind", KINDS), fields.text("url"), date or "", fields.text("note")
    )
    fields.done()
    return source


def _defaults(raw: object, name: str) -> _Raw:
    if raw is None:
        return {}
    fields = Fields(raw, f"{name}: defaults")
    found = {key: fields.take(key) for key in DEFAULTS}
    fields.done()
    return {key: value for key, value in found.items() if value is not None}


def _claim(entry: object, position: int, name: str, defaults: _Raw) -> Claim:
    where = f"{name}: claim {position}"
    first = Fields(entry, where)
    identity = first.need("id")
    if not isinstance(identity, str) or not identity:
        raise first.error("id", f"must be a text, not {shown(identity)}")
    fields = Fields(entry, f"{name}: claim {identity!r}", defaults)
    fields.take("id")
    about = fields.choice("about", tuple(_READERS))
    claim = _READERS[about](fields, {"id": identity, "note": fields.text("note")})
    fields.done()
    return claim


def _check_references(table: Table) -> None:
    for claim in table.claims:
        for name in getattr(claim, "cost_of", ()):
            kinds = [c for c in table.claims if c.id == name]
            where = f"{table.path}: claim {claim.id!r}: field 'cost_of'"
            if not kinds:
                raise LabError(f"{where}: there is no claim {name!r}")
            target = kinds[0]
            batches = isinstance(claim, Throughput | Scaling)
            if not isinstance(target, Cost) and not (batches and isinstance(target, Batch)):
                wanted = "a cost or a batch" if batches else "a cost"
                raise LabError(f"{where}: the claim {name!r} is not about {wanted}")
            if target.unit not in _SECONDS:
                raise LabError(f"{where}: the claim {name!r} is in {target.unit}, not in a time")


_SECONDS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}


def seconds(unit: str) -> float:
    """Seconds in a unit of time."""
    return _SECONDS[unit]


def is_time(unit: str) -> bool:
    """Whether a unit is one of time."""
    return unit in _SECONDS


# Fields that several claims share ---------------------------------------------------------------


def _set(fields: Fields) -> str | None:
    raw = fields.text("set")
    return _known_set(fields, raw) if raw else None


def _need_set(fields: Fields) -> str:
    return _known_set(fields, fields.text("set"))


def _known_set(fields: Fields, raw: str) -> str:
    if not raw:
        raise fields.error("set", "is missing")
    found = set_name(raw)
    if found is None:
        known = "ML-DSA-44, ML-DSA-65, ML-DSA-87, Dilithium2, Dilithium3, Dilithium5"
        raise fields.error("set", f"{shown(raw)} is no parameter set; known are {known}")
    return found


def _unit(fields: Fields) -> str:
    unit = fields.choice("unit", UNITS)
    return "us" if unit == "µs" else unit


def _operation(fields: Fields) -> str:
    return fields.choice("operation", (*OPERATIONS, "other"))


def _statistic(fields: Fields, name: str) -> str | None:
    """The name if it is a statistic's; LabError for a percentile that cannot be."""
    if name in _STATISTICS:
        return name
    if match := _PERCENTILE.fullmatch(name):
        rank = float(match[1])
        if not 0 < rank < 100:
            raise fields.error(name, "a percentile lies strictly between 0 and 100")
        return "median" if rank == 50 else f"p{rank:g}"
    return None


def _figures(fields: Fields, *, least: float = 0.0) -> dict[str, Figure]:
    found: dict[str, Figure] = {}
    for name in (*_STATISTICS, *fields.names()):
        statistic = _statistic(fields, name)
        if statistic is None:
            continue
        figure = fields.figure(name)
        if figure is None:
            continue
        if statistic in found:
            raise fields.error(name, "the median stands twice, as median and as p50")
        if statistic != "sd" and figure.value <= least:
            raise fields.error(name, f"must be greater than {least:g}")
        found[statistic] = figure
    return found


# A reader for each kind of claim ----------------------------------------------------------------


def _cost(fields: Fields, base: dict[str, str]) -> Cost:
    operation, unit, samples = _operation(fields), _unit(fields), fields.whole("samples")
    chosen, error, kind = _set(fields), fields.figure("error"), fields.text("error_kind")
    inputs = fields.choice("inputs", ("varied", "fixed", "unstated"), "unstated")
    overhead = fields.figure("overhead")
    claim = Cost(
        **base,
        operation=operation,
        set=chosen,
        unit=unit,
        error=error,
        error_kind=kind or "unstated",
        samples=samples,
        per_sample=fields.whole("per_sample") or 1,
        inputs=cast("Inputs", inputs),
        overhead=0.0 if overhead is None else overhead.value,
        message_bytes=fields.whole("message_bytes", 0),
        subject=fields.text("subject"),
        figures=_figures(fields),
    )
    if operation == "sign" and chosen is None:
        raise fields.error("set", "is missing, and the law of signing depends on it")
    if kind and error is None:
        raise fields.error("error_kind", "says of what kind an error is, but there is no error")
    if claim.error_kind not in ("sd", "se", "unstated") and _confidence(claim.error_kind) is None:
        raise fields.error(
            "error_kind", f"{shown(kind)} is none of sd, se, unstated, ci95 (or another level)"
        )
    if error is not None and "sd" in claim.figures:
        raise fields.error("error", "stands beside sd; give the one that the source gives")
    if samples == 1 and "sd" in claim.figures:
        raise fields.error("sd", "one sample has no standard deviation")
    locations = [f.value for name, f in claim.figures.items() if name != "sd"]
    if not locations:
        raise fields.error("median", "a cost needs a median, mean, min, max or percentile")
    if claim.overhead >= min(locations):
        raise fields.error("overhead", "must be less than every figure it is part of")
    return claim


def _confidence(kind: str) -> float | None:
    """The level of a kind such as ci95, between 0 and 1."""
    match = _INTERVAL.fullmatch(kind)
    level = float(match[1]) / 100 if match else math.nan
    return level if 0 < level < 1 else None


def confidence(kind: str) -> float:
    """The level of a checked kind such as ci95."""
    level = _confidence(kind)
    assert level is not None
    return level


def _size(fields: Fields, base: dict[str, str]) -> Size:
    named = fields.text("set")
    return Size(
        **base,
        set=_known_set(fields, named),
        named=named,
        object=fields.choice("object", OBJECTS),
        bytes=fields.need_whole("bytes"),
        encoding=fields.choice("encoding", (*ENCODINGS, "unstated"), "unstated"),
        standard=cast("Standard", fields.choice("standard", STANDARDS, "unstated")),
    )


def _throughput(fields: Fields, base: dict[str, str]) -> Throughput:
    claim = Throughput(
        **base,
        operation=_operation(fields),
        set=_set(fields),
        per_second=fields.need_figure("per_second"),
        workers=fields.whole("workers") or 1,
        cost_of=fields.ids("cost_of"),
    )
    if claim.per_second.value <= 0:
        raise fields.error("per_second", "must be greater than 0")
    return claim


def _scaling(fields: Fields, base: dict[str, str]) -> Scaling:
    points: list[tuple[int, Figure]] = []
    kinds = set()
    for item in fields.items("points"):
        threads = item.need_whole("threads")
        rate, speedup = item.figure("per_second"), item.figure("speedup")
        if (rate is None) == (speedup is None):
            raise item.error("per_second", "a point has either per_second or speedup")
        figure = rate or speedup
        assert figure is not None
        if figure.value <= 0:
            raise item.error("per_second" if rate else "speedup", "must be greater than 0")
        if any(threads == other for other, _ in points):
            raise item.error("threads", f"{threads} stands twice")
        kinds.add(speedup is not None)
        points.append((threads, figure))
        item.done()
    if len(kinds) != 1:
        raise fields.error("points", "all points have per_second, or all have speedup")
    return Scaling(
        **base,
        points=tuple(sorted(points, key=lambda p: p[0])),
        speedup=kinds.pop(),
        cores=fields.whole("cores"),
        threads_per_core=fields.whole("threads_per_core") or 2,
        cost_of=fields.ids("cost_of"),
    )


def _batch(fields: Fields, base: dict[str, str]) -> Batch:
    points: list[tuple[int, Figure]] = []
    for item in fields.items("points", 2):
        size, cost = item.need_whole("size"), item.need_figure("cost")
        if cost.value <= 0:
            raise item.error("cost", "must be greater than 0")
        if any(size == other for other, _ in points):
            raise item.error("size", f"{size} stands twice")
        points.append((size, cost))
        item.done()
    return Batch(
        **base,
        operation=_operation(fields),
        set=_set(fields),
        unit=_unit(fields),
        points=tuple(sorted(points, key=lambda p: p[0])),
        cost_of=fields.ids("cost_of"),
    )


def _parts(fields: Fields, base: dict[str, str]) -> Parts:
    raw = fields.mapping("parts")
    parts = {name: fields.to_figure(f"parts: {name}", value) for name, value in raw.items()}
    shares = []
    for item in fields.items("shares", 0):
        of = item.ids("of")
        for name in of:
            if name not in parts:
                raise item.error("of", f"there is no part {name!r}")
        if not of:
            raise item.error("of", "is missing")
        shares.append(Share(of, item.need_figure("percent"), item.text("where")))
        item.done()
    claim = Parts(
        **base, unit=_unit(fields), parts=parts, total=fields.figure("total"), shares=tuple(shares)
    )
    if claim.total is None and not shares:
        raise fields.error("total", "parts need a total, or shares, to be judged by")
    if (claim.total or Figure(1)).value <= 0 or sum(p.value for p in parts.values()) <= 0:
        raise fields.error("total", "must be greater than 0, and so must the sum of the parts")
    return claim


def _rate(fields: Fields, base: dict[str, str]) -> Rate:
    operation = fields.choice("operation", (*OPERATIONS, "other", "unstated"), "unstated")
    claim = Rate(
        **base,
        operation=None if operation == "unstated" else operation,
        set=_set(fields),
        read=fields.amount("bytes_read"),
        written=fields.amount("bytes_written"),
        operations=fields.need_whole("operations"),
        seconds=fields.figure("seconds"),
        per_second=fields.amount("bytes_per_second"),
        workers=fields.whole("workers") or 1,
        cost_of=fields.ids("cost_of"),
    )
    if claim.read is None and claim.written is None:
        raise fields.error("bytes_read", "a rate needs bytes_read, bytes_written, or both")
    for name, figure in (("seconds", claim.seconds), ("bytes_per_second", claim.per_second)):
        if figure is not None and figure.value <= 0:
            raise fields.error(name, "must be greater than 0")
    return claim


def _difference(fields: Fields, base: dict[str, str]) -> Difference:
    level, power = fields.figure("level"), fields.figure("power")
    claim = Difference(
        **base,
        operation=_operation(fields),
        set=_need_set(fields),
        relative=fields.figure("relative"),
        significant=fields.flag("significant"),
        per_group=fields.need_whole("samples_per_group", 2),
        per_sample=fields.whole("per_sample") or 1,
        paired=bool(fields.flag("paired")),
        level=0.05 if level is None else level.value,
        power=0.8 if power is None else power.value,
    )
    for name, value in (("level", claim.level), ("power", claim.power)):
        if not 0 < value < 1:
            raise fields.error(name, "must lie strictly between 0 and 1")
    return claim


def _counted(fields: Fields, base: dict[str, str]) -> Counted:
    values = []
    for item in fields.items("values", 2):
        of = item.choice("of", ("all", "group", "unstated"), "unstated")
        values.append((item.need_whole("count"), of, item.text("where")))
        item.done()
    return Counted(**base, values=tuple(values), groups=fields.whole("groups"))


def _statements(fields: Fields, base: dict[str, str]) -> Statements:
    values = []
    for item in fields.items("values", 2):
        values.append((item.need_figure("value"), item.text("where")))
        item.done()
    quantity = fields.text("quantity")
    if not quantity:
        raise fields.error("quantity", "is missing")
    unit = fields.text("unit")
    return Statements(**base, quantity=quantity, unit=unit, values=tuple(values))


def _limit(fields: Fields, base: dict[str, str]) -> Limit:
    low, high, text = fields.size("called")
    unit = fields.choice("unit", ("bits", "bytes"))
    return Limit(
        **base,
        amount=fields.need_whole("amount", most=1 << 128),
        unit="bits" if unit == "bits" else "bytes",
        called=(low, high),
        called_text=text,
    )


def _rejection(fields: Fields, base: dict[str, str]) -> Rejection:
    rates: dict[str, tuple[Figure, Figure]] = {}
    for name in RATES:
        raw = fields.take(name)
        if raw is None:
            continue
        ends = raw if isinstance(raw, list) else [raw, raw]
        if len(ends) != 2:
            raise fields.error(name, f"must be a share, or its limits, not {shown(raw)}")
        low, high = (fields.to_figure(name, end) for end in ends)
        if not 0 <= low.value <= high.value <= 1:
            raise fields.error(name, "a share lies between 0 and 1, the lower limit first")
        rates[name] = (low, high)
    attempts = {}
    if (raw := fields.take("attempts")) is not None:
        inner = Fields(raw, f"{fields.where}: attempts")
        attempts = _figures(inner)
        if "sd" in attempts:
            raise inner.error("sd", "is unknown here; known are mean, median, percentiles")
        inner.done()
    if not rates and not attempts:
        raise fields.error("attempts", f"give {', '.join(RATES)} or attempts")
    return Rejection(**base, set=_need_set(fields), rates=rates, attempts=attempts)


_READERS: dict[str, Callable[[Fields, dict[str, str]], Claim]] = {
    "cost": _cost,
    "size": _size,
    "throughput": _throughput,
    "scaling": _scaling,
    "batch": _batch,
    "parts": _parts,
    "rate": _rate,
    "difference": _difference,
    "counted": _counted,
    "statements": _statements,
    "limit": _limit,
    "rejection": _rejection,
}

ABOUT: dict[type[Claim], str] = {
    Cost: "cost",
    Size: "size",
    Throughput: "throughput",
    Scaling: "scaling",
    Batch: "batch",
    Parts: "parts",
    Rate: "rate",
    Difference: "difference",
    Counted: "counted",
    Statements: "statements",
    Limit: "limit",
    Rejection: "rejection",
}
"""What a claim is about, as files say it."""
