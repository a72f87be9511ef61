"""Claims files, YAML or JSON, to claims. LabError names file, claim, field and rule."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, Union, cast

import msgspec
import yaml
from msgspec import Struct

from mldsa_lab import LabError, first_line, located
from mldsa_lab.audit import claims
from mldsa_lab.audit.claims import PublishedValue, published_values, value_label
from mldsa_lab.audit.judgement import (
    POWER,
    STATISTIC,
    ClaimedSet,
    Positive,
    listed,
    shown,
    value_schema,
)
from mldsa_lab.files import convert, read_text, reading

_BYTES_MAX = 1 << 20
_IN_COST_UNITS = (claims.Cost, claims.Batch, claims.Parts, claims.ValueTable)
_DOCUMENT = "docs/audit.md, 'The file', describes the format"
_EXAMPLES = Path(__file__).parent / "examples"


class Defaults(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Fields for all claims of a file that have them; the unit is that of costs."""

    set: ClaimedSet | None = None
    operation: claims.Operation | None = None
    unit: claims.CostUnit | None = None
    samples: claims.Count | None = None
    per_sample: claims.Count | None = None
    inputs: claims.Inputs | None = None
    message_bytes: claims.Length | None = None
    clock_hz: Positive | None = None
    standard: claims.Standard | None = None
    subject: str | None = None


class Head(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A claims file without its claims."""

    format: Literal["mldsa-lab claims"]
    version: Literal[1]
    source: claims.ClaimSource
    defaults: Defaults | None = None


def read_claims(path: Path) -> claims.ClaimTable:
    """The claims of a file."""
    with reading(path):
        size = path.stat().st_size
    if size > _BYTES_MAX:
        raise LabError(f"{path}: is larger than the {_BYTES_MAX:,} bytes of a table of claims")
    return parse_claims(read_text(path), str(path))


def parse_claims(text: str, name: str) -> claims.ClaimTable:
    """The claims of a text, YAML or its subset JSON; ``name``: its file, for errors."""
    raw = _mapping(_parse_yaml(text, name), name)
    if "format" not in raw:
        raise LabError(
            f"{name}: is no table of claims: expected YAML or JSON with "
            f"'format: mldsa-lab claims' and a list of claims, "
            f"found {shown(', '.join(raw))}; {_DOCUMENT}"
        )
    entries = raw.pop("claims", None)
    head = convert(_read(raw, name), Head, name)
    if not isinstance(entries, list) or not entries:
        raise LabError(f"{name}, claims: must be a list of at least one claim")
    table: dict[str, claims.Claim] = {}
    for position, entry in enumerate(entries, 1):
        claim = _claim(entry, name, position, raw.get("defaults", {}))
        if claim.id in table:
            raise LabError(f"{name}: claim {claim.id!r}: the id appears twice, and must be unique")
        table[claim.id] = claim
    for claim in table.values():
        with located(f"{name}: claim {claim.id!r}"):
            for target in listed(getattr(claim, "cost_of", ())):
                _check_reference(claim, target, table.get(target))
            if isinstance(claim, claims.Quotient):
                for target in listed(claim.table):
                    _check_pairs(claim, target, table.get(target))
    _check_same(tuple(table.values()), name)
    return claims.ClaimTable(name, head.source, tuple(table.values()))


def examples() -> dict[str, Path]:
    """The files of the worked examples that come with the lab, by name."""
    return {path.stem: path for path in sorted(_EXAMPLES.glob("*.yaml"))}


def example_path(name: str) -> Path:
    """The file of an example; LabError if there is none."""
    if name not in examples():
        raise LabError(f"unknown example {name!r}: known are {', '.join(examples())}")
    return examples()[name]


def claims_schema() -> dict[str, Any]:
    """The JSON Schema of a claims file: its statistics are next to a cost's other fields."""
    (head, claim), parts = msgspec.json.schema_components(
        (Head, Union[tuple(claims.ABOUT.values())]),  # noqa: UP007 - of a list
        schema_hook=value_schema,
        ref_template="#/$defs/{name}",
    )
    cost = parts["Cost"]
    cost["patternProperties"] = cost["properties"].pop("figures")["patternProperties"]
    optional = {"figures", *Defaults.__struct_fields__}  # keys under `defaults`
    for kind in claims.ABOUT.values():
        needed = parts[kind.__name__]["required"]
        needed[:] = [name for name in needed if name not in optional]
    whole = parts.pop(head["$ref"].rpartition("/")[2])
    whole["properties"]["claims"] = {"type": "array", "minItems": 1, "items": claim}
    whole |= {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A table of published claims about ML-DSA (mldsa-lab check claims)",
        "required": [*whole["required"], "claims"],
        "$defs": parts,
    }
    power = {"type": ["integer", "string"], "pattern": f"^{POWER.pattern}$"}

    def with_powers(part: dict[str, Any]) -> dict[str, Any]:
        return part | power if part.get("type") == "integer" else part

    return cast("dict[str, Any]", json.loads(json.dumps(whole), object_hook=with_powers))


class _Loader(yaml.SafeLoader):
    """YAML as PyYAML reads it safely, but a date is a text and a repeated key an error."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen: set[str] = set()
        for key in (key for key, _ in node.value if isinstance(key, yaml.ScalarNode)):
            if key.value in seen:
                problem = f"the key {key.value!r} appears twice"
                raise yaml.MarkedYAMLError(problem=problem, problem_mark=key.start_mark)
            seen.add(key.value)
        return cast("dict[Any, Any]", super().construct_mapping(node, deep))


_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if not tag.endswith(":timestamp")]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def _parse_yaml(text: str, name: str) -> object:
    try:
        return yaml.load(text, _Loader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        line = f", line {mark.line + 1}" if mark is not None else ""
        raise LabError(f"{name}{line}: {error.problem}: not YAML that can be read") from None
    except RecursionError:
        raise LabError(f"{name}: is nested too deeply") from None
    except (yaml.YAMLError, ValueError) as error:  # an integer too long
        raise LabError(f"{name}: {first_line(error)}: not YAML that can be read") from None


def _mapping(raw: object, where: str) -> dict[str, Any]:
    if not isinstance(raw, dict):
        wrong = "is empty" if raw is None else f"must be a mapping of fields, not {shown(raw)}"
        raise LabError(f"{where}: {wrong}; {_DOCUMENT}")
    if not all(isinstance(name, str) for name in raw):
        raise LabError(f"{where}: names of fields must be texts")
    return raw


def _read(raw: Any, where: str, place: str = "") -> Any:
    """Values with µs as us and powers such as 2^32 as numbers; LabError for a field without a
    value."""
    if raw is None:
        raise LabError(f"{where}, {place.removeprefix('.')}: is empty")
    if isinstance(raw, dict):
        return {name: _read(value, where, f"{place}.{name}") for name, value in raw.items()}
    if isinstance(raw, list):
        return [_read(value, where, f"{place}[{n}]") for n, value in enumerate(raw)]
    if isinstance(raw, str) and (match := POWER.fullmatch(raw)):
        return int(match[1]) ** int(match[2])
    return "us" if raw == "µs" else raw


def _claim(entry: object, name: str, position: int, defaults: dict[str, Any]) -> claims.Claim:
    where = f"{name}: claim {position}"
    raw = _mapping(entry, where)
    if isinstance(identity := raw.get("id"), str) and identity:
        where = f"{name}: claim {identity!r}"
    about = raw.get("about", "")
    kind = claims.ABOUT.get(about) if isinstance(about, str) else None
    if kind is None:
        raise LabError(f"{where}, about: {shown(about)} must be one of {', '.join(claims.ABOUT)}")
    inherited = {
        field: value
        for field, value in defaults.items()
        if field in kind.__struct_fields__ and (field != "unit" or kind in _IN_COST_UNITS)
    }
    raw = {**inherited, **raw}
    if "figures" in raw:
        raise LabError(f"{where}: the key 'figures' is unknown")
    raw = _read(raw, where)
    if kind is claims.Cost:
        raw["figures"] = {name: raw.pop(name) for name in list(raw) if STATISTIC.fullmatch(name)}
    try:
        return convert(raw, kind, where)
    except LabError as error:  # the file has no such key
        raise LabError(str(error).replace(f"{where}, figures: ", f"{where}, ", 1)) from None


def _check_reference(claim: claims.Claim, name: str, target: claims.Claim | None) -> None:
    """LabError where a claim's cost_of names no cost in a unit of time."""
    kinds = claims.Cost | claims.Batch if isinstance(claim, claims.Scaling) else claims.Cost
    if not isinstance(target, kinds) or target.seconds is None:
        kind = "a cost or a batch" if isinstance(claim, claims.Scaling) else "a cost"
        raise LabError(
            f"cost_of: {name!r} is not the id of {kind} in a unit of time, "
            "or in cycles with clock_hz"
        )


def _check_pairs(claim: claims.Quotient, name: str, table: claims.Claim | None) -> None:
    """LabError where a table has none of a quotient's pairs."""
    if not isinstance(table, claims.ValueTable):
        raise LabError(f"table: {name!r} is not the id of a table")
    try:
        pairs = table.pairs(claim.of, claim.over)
    except (re.error, IndexError) as error:
        raise LabError(f"over: no pattern: {error}") from None
    if not pairs or not all(over.low > 0 for _, over in pairs.values()):
        raise LabError(f"of: no pair of cells of {name!r}, as {next(iter(table.cells))!r} is one")


def _check_same(table: Sequence[claims.Claim], path: str) -> None:
    """LabError for a value that is said to repeat another and does not."""
    values = {v.label: v for claim in table for v in published_values(claim)}
    repeats = [
        (c.id, value_label(c.id, name), first) for c in table for name, first in c.same.items()
    ]
    for claim, label, first in repeats:
        with located(f"{path}: claim {claim!r}, same"):
            for name in (label, first):
                if name not in values:
                    raise LabError(f"there is no value {name!r}")
            if any(first == other for _, other, _ in repeats):
                raise LabError(f"{first!r} repeats another value; name that one")
            both = values[label], values[first]
            if both[0].value.text != both[1].value.text or len({_unit(v) for v in both}) > 1:
                texts = [f"{f'{v.value.text} {v.unit}'.strip()} ({v.label})" for v in both]
                raise LabError(f"{' and '.join(texts)} are different values")


def _unit(value: PublishedValue) -> str:
    """The unit; bytes and numbers of things are alike, as `same` compares them."""
    return "" if value.unit in ("count", "B") else value.unit
