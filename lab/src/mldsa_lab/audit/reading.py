"""Claims files, YAML or JSON, to claims. LabError names file, claim, field and rule."""

from __future__ import annotations

import json
from importlib import resources
from pathlib import Path
from typing import Any, TypeVar, Union, cast

import msgspec
import yaml

from mldsa_lab.audit.claims import (
    ABOUT,
    PERCENTILE,
    STATISTICS,
    Batch,
    Claim,
    ClaimTable,
    Cost,
    Defaults,
    Head,
    Parts,
    Rejection,
    Scaling,
    listed,
    seconds,
)
from mldsa_lab.audit.values import POWER, StatedFigure, read_value, shown, value_schema
from mldsa_lab.errors import LabError
from mldsa_lab.files import checked, parse_json, read_text, reading

_BYTES_MAX = 1 << 20
_IN_COST_UNITS = (Cost, Batch, Parts)
_EXAMPLES = resources.files("mldsa_lab.audit") / "examples"

T = TypeVar("T")


def read_claims(path: Path) -> ClaimTable:
    """The claims of a file."""
    with reading(path):
        size = path.stat().st_size
    if size > _BYTES_MAX:
        raise LabError(f"{path}: is larger than the {_BYTES_MAX:,} bytes of a table of claims")
    return parse_claims(read_text(path), str(path), as_json=path.suffix.lower() == ".json")


def parse_claims(text: str, name: str, *, as_json: bool = False) -> ClaimTable:
    """The claims of a text; ``name`` stands for its file in errors."""
    raw = _mapping(parse_json(text, name) if as_json else _parse_yaml(text, name), name)
    entries = raw.pop("claims", None)
    head = _convert(raw, Head, name)
    if not isinstance(entries, list) or not entries:
        raise LabError(f"{name}, claims: must be a list of at least one claim")
    claims: list[Claim] = []
    for position, entry in enumerate(entries, 1):
        claim = _claim(entry, f"{name}: claim {position}", name, raw.get("defaults", {}))
        if any(claim.id == other.id for other in claims):
            raise LabError(f"{name}: claim {claim.id!r}: the id appears twice, and must be unique")
        claims.append(claim)
    table = ClaimTable(name, head.source, tuple(claims))
    _check_references(table)
    return table


def example_names() -> tuple[str, ...]:
    """The worked examples that come with the lab, in order."""
    found = (Path(file.name) for file in _EXAMPLES.iterdir())
    return tuple(sorted(file.stem for file in found if file.suffix == ".yaml"))


def example_text(name: str) -> str:
    """The file of an example; LabError if there is none."""
    if name not in example_names():
        raise LabError(f"unknown example {name!r}: known are {', '.join(example_names())}")
    return (_EXAMPLES / f"{name}.yaml").read_text(encoding="utf-8")


def example(name: str) -> ClaimTable:
    """The claims of an example."""
    return parse_claims(example_text(name), f"example {name}")


def claims_schema() -> dict[str, Any]:
    """The JSON Schema of a claims file: its statistics stand beside a cost's other fields."""
    (head, claim), parts = msgspec.json.schema_components(
        (Head, Union[tuple(ABOUT.values())]),  # noqa: UP007 - a union of what is in a list
        schema_hook=value_schema,
        ref_template="#/$defs/{name}",
    )
    statistics = parts["Cost"]["properties"].pop("figures")["additionalProperties"]
    parts["Cost"]["required"].remove("figures")
    names = f"^(?:{'|'.join(STATISTICS)}|{PERCENTILE.pattern})$"
    parts["Cost"]["patternProperties"] = {names: statistics}
    for kind in ABOUT.values():  # what may stand under `defaults`
        needed = parts[kind.__name__]["required"]
        needed[:] = [name for name in needed if name not in Defaults.__struct_fields__]
    whole = parts.pop(head["$ref"].rpartition("/")[2])
    whole["properties"]["claims"] = {"type": "array", "minItems": 1, "items": claim}
    whole |= {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A table of published claims about ML-DSA (mldsa-lab audit)",
        "required": [*whole["required"], "claims"],
        "$defs": parts,
    }
    power = json.dumps({"type": ["integer", "string"], "pattern": f"^{POWER.pattern}$"})
    text = json.dumps(whole).replace('"type": "integer"', power.strip("{}"))
    return cast("dict[str, Any]", json.loads(text))


# Parts of the file ------------------------------------------------------------------------------


class _Loader(yaml.SafeLoader):
    """YAML as PyYAML reads it safely, but a date is a text and a repeated key an error."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen: set[str] = set()
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode):
                if key.value in seen:
                    raise yaml.constructor.ConstructorError(
                        None, None, f"the key {key.value!r} appears twice", key.start_mark
                    )
                seen.add(key.value)
        return cast("dict[Any, Any]", super().construct_mapping(node, deep))


_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in found if not tag.endswith(":timestamp")]
    for first, found in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def _parse_yaml(text: str, name: str) -> object:
    try:
        return yaml.load(text, _Loader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        line = f", line {mark.line + 1}" if mark is not None else ""
        broken = "" if isinstance(error, yaml.constructor.ConstructorError) else ", not YAML"
        raise LabError(f"{name}{line}: {error.problem}{broken}") from None
    except yaml.YAMLError as error:
        raise LabError(f"{name}: {str(error).splitlines()[0]}, not YAML") from None
    except RecursionError:
        raise LabError(f"{name}: is nested too deeply") from None
    except ValueError as error:  # an integer too long
        raise LabError(f"{name}: {error}") from None


def _mapping(raw: object, where: str) -> dict[str, Any]:
    if raw is None:
        raise LabError(f"{where}: is empty")
    if not isinstance(raw, dict):
        raise LabError(f"{where}: must be a mapping of fields, not {shown(raw)}")
    for name in raw:
        if not isinstance(name, str):
            raise LabError(f"{where}: the field name {shown(name)} must be a text")
    return raw


def _convert(raw: object, kind: type[T], where: str) -> T:
    """A part of the file as a type."""
    with checked(kind, where):
        return msgspec.convert(_read(raw, where), kind, dec_hook=read_value)


def _read(raw: Any, where: str, place: str = "") -> Any:
    """Values with µs as us and powers such as 2^32 as numbers; LabError where nothing stands
    behind a field's name."""
    if raw is None:
        raise LabError(f"{where}, {place.removeprefix('.')}: is empty")
    if isinstance(raw, dict):
        return {name: _read(value, where, f"{place}.{name}") for name, value in raw.items()}
    if isinstance(raw, list):
        return [_read(value, where, f"{place}[{n}]") for n, value in enumerate(raw)]
    if isinstance(raw, str) and (match := POWER.fullmatch(raw)):
        return int(match[1]) ** int(match[2])
    return "us" if raw == "µs" else raw


def _claim(entry: object, where: str, name: str, defaults: dict[str, Any]) -> Claim:
    raw = _mapping(entry, where)
    if isinstance(identity := raw.get("id"), str) and identity:
        where = f"{name}: claim {identity!r}"
    about = raw.get("about", "")
    kind = ABOUT.get(about) if isinstance(about, str) else None
    if kind is None:
        raise LabError(f"{where}, about: {shown(about)} must be one of {', '.join(ABOUT)}")
    inherited = {
        field: value
        for field, value in defaults.items()
        if field in kind.__struct_fields__ and (field != "unit" or kind in _IN_COST_UNITS)
    }
    raw = {**inherited, **raw}
    if kind is Cost:
        if "figures" in raw:
            raise LabError(f"{where}: the key 'figures' is unknown")
        raw["figures"] = _statistics(raw, where)
    if kind is Rejection and isinstance(raw.get("attempts"), dict):
        attempts = dict(raw["attempts"])
        raw["attempts"] = _statistics(attempts, f"{where}, attempts")
        for field in attempts:
            raise LabError(f"{where}, attempts: the key {field!r} is unknown")
    return _convert(raw, kind, where)


def _statistics(raw: dict[str, Any], where: str) -> dict[str, StatedFigure]:
    """The statistics among the fields, which are taken out: p50 is the median."""
    found: dict[str, StatedFigure] = {}
    for name in [name for name in raw if name in STATISTICS or PERCENTILE.fullmatch(str(name))]:
        statistic = name
        if match := PERCENTILE.fullmatch(name):
            rank = float(match[1])
            if not 0 < rank < 100:
                raise LabError(f"{where}, {name}: a percentile lies strictly between 0 and 100")
            statistic = "median" if rank == 50 else f"p{rank:g}"
        if statistic in found:
            raise LabError(f"{where}, {name}: the {statistic} appears twice")
        if raw[name] is None:
            raise LabError(f"{where}, {name}: is empty")
        try:
            found[statistic] = StatedFigure.read(raw.pop(name))
        except ValueError as error:
            raise LabError(f"{where}, {name}: {error}") from None
    return found


def _check_references(table: ClaimTable) -> None:
    known = {claim.id: claim for claim in table.claims}
    for claim in table.claims:
        for name in listed(getattr(claim, "cost_of", ())):
            where = f"{table.path}: claim {claim.id!r}, cost_of"
            if (target := known.get(name)) is None:
                raise LabError(f"{where}: there is no claim {name!r}")
            batches = isinstance(claim, Scaling)
            if not isinstance(target, Cost | Batch if batches else Cost):
                wanted = "a cost or a batch" if batches else "a cost"
                raise LabError(f"{where}: the claim {name!r} is not about {wanted}")
            if seconds(target.unit) is None:
                raise LabError(f"{where}: the claim {name!r} is in {target.unit}, not in a time")
