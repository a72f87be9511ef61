"""Selections: the inputs that were chosen, with all that a target needs to sign them.

The JSON format, version 1, is described in docs/selections.md. The compact form has digests in
place of keys and signature, which follow from xi, message, context and rnd.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mldsa_lab.errors import LabError
from mldsa_lab.files import parse_json, read_text
from mldsa_lab.inputs.spec import SigningInput
from mldsa_lab.sets import CONTEXT_BYTES_MAX, PARAMETER_SETS, SEED_BYTES, parameter_set
from mldsa_lab.theory.trace import Trace, count_matrix, parse_trace

FORMAT = "mldsa-lab selection"
VERSION = 1
"""Version of the selection format."""
GOALS = ("regression", "mean", "percentile", "coverage")
"""What a selection can be for."""

_OUTPUTS = ("pk", "sk", "signature")
_HEAD = ("format", "version", "set", "goal", "percentile", "cost_model", "made", "inputs")
_FIXED = ("id", "xi", "message", "context", "rnd", "trace")


@dataclass(frozen=True, slots=True)
class Outputs:
    """What FIPS 204 makes of an input: pk (pkEncode), sk (skEncode) and signature, all bytes."""

    pk: bytes
    sk: bytes
    signature: bytes

    def digests(self) -> tuple[str, str, str]:
        """SHA-256 of pk, sk and signature, in hexadecimal."""
        one, two, three = (
            hashlib.sha256(value).hexdigest() for value in (self.pk, self.sk, self.signature)
        )
        return one, two, three


@dataclass(frozen=True, slots=True)
class SelectedInput:
    """One input: what is signed, its trace, and the outputs or (compact form) their digests."""

    id: int
    input: SigningInput
    trace: Trace
    digests: tuple[str, str, str]
    outputs: Outputs | None = None


@dataclass(frozen=True)
class Selection:
    """Inputs of one parameter set chosen for a goal (one of `GOALS`).

    ``percentile``: of the goal of that name, in (0, 100), else None. ``cost_model``: the JSON of
    the cost model that the choice rests on, else None. ``made``: tool, pool and options, for the
    reader's eyes.
    """

    set: str
    goal: str
    inputs: tuple[SelectedInput, ...]
    percentile: float | None = None
    cost_model: dict[str, Any] | None = None
    made: dict[str, Any] | None = None

    @property
    def ids(self) -> tuple[int, ...]:
        """The inputs' ids."""
        return tuple(i.id for i in self.inputs)

    @property
    def compact(self) -> bool:
        """Whether outputs are missing."""
        return any(i.outputs is None for i in self.inputs)

    def traces(self) -> list[Trace]:
        """The inputs' traces."""
        return [i.trace for i in self.inputs]

    def counts(self) -> NDArray[np.float64]:
        """(inputs, 3) rejected attempts n_z, n_r, n_h."""
        return count_matrix(self.traces())

    def to_json(self, *, compact: bool = False) -> str:
        """The text of the file. LabError if outputs are wanted and missing."""
        head: dict[str, Any] = {
            "format": FORMAT,
            "version": VERSION,
            "set": self.set,
            "goal": self.goal,
            "percentile": self.percentile,
            "cost_model": self.cost_model,
            "made": self.made or {},
        }
        lines = [f" {json.dumps(k)}: {json.dumps(v, allow_nan=False)}" for k, v in head.items()]
        rows = ",\n".join(f"  {json.dumps(self._row(i, compact))}" for i in self.inputs)
        return "{\n" + ",\n".join([*lines, f' "inputs": [\n{rows}\n ]']) + "\n}\n"

    def _row(self, item: SelectedInput, compact: bool) -> dict[str, Any]:
        row: dict[str, Any] = {
            "id": item.id,
            "xi": item.input.xi.hex(),
            "message": item.input.message.hex(),
            "context": item.input.context.hex(),
            "rnd": item.input.rnd.hex(),
            "trace": [str(attempt) for attempt in item.trace],
        }
        if compact:
            return row | {
                f"{name}_sha256": text for name, text in zip(_OUTPUTS, item.digests, strict=True)
            }
        if item.outputs is None:
            raise LabError(f"input {item.id}: has no outputs; sign it first")
        return row | {name: getattr(item.outputs, name).hex() for name in _OUTPUTS}

    @classmethod
    def read(cls, path: Path) -> Selection:
        """The selection in a file; LabError that names the file and the broken rule."""
        return cls.parse(read_text(path), str(path))

    @classmethod
    def parse(cls, text: str, where: str) -> Selection:
        """The selection in a text; LabError, beginning with ``where``, if it is none."""
        value = parse_json(text, where)
        if not isinstance(value, Mapping) or value.get("format") != FORMAT:
            raise LabError(f"{where}: is no selection: it must be an object with format {FORMAT!r}")
        if value.get("version") != VERSION:
            raise LabError(
                f"{where}: has format version {value.get('version')!r}, this reader knows {VERSION}"
            )
        _keys(value, _HEAD, where)
        set_name, goal, percentile = value["set"], value["goal"], value["percentile"]
        if set_name not in PARAMETER_SETS:
            raise LabError(f"{where}: set {set_name!r} must be one of {', '.join(PARAMETER_SETS)}")
        if goal not in GOALS:
            raise LabError(f"{where}: goal {goal!r} must be one of {', '.join(GOALS)}")
        if (percentile is not None) != (goal == "percentile"):
            raise LabError(
                f"{where}: a percentile belongs to the goal 'percentile', and to no other"
            )
        if percentile is not None and not (_is_number(percentile) and 0 < percentile < 100):
            raise LabError(f"{where}: percentile {percentile!r} must lie in (0, 100)")
        for name in ("cost_model", "made"):
            if not isinstance(value[name], dict) and (name == "made" or value[name] is not None):
                raise LabError(f"{where}: {name} must be an object")
        rows = value["inputs"]
        if not isinstance(rows, list) or not rows:
            raise LabError(f"{where}: inputs must be a list of at least one")
        inputs = tuple(
            _input(row, set_name, f"{where}, input {n}") for n, row in enumerate(rows, 1)
        )
        seen: set[int] = set()
        for item in inputs:
            if item.id in seen:
                raise LabError(f"{where}: the id {item.id} stands twice")
            seen.add(item.id)
        return cls(
            set_name,
            goal,
            inputs,
            None if percentile is None else float(percentile),
            value["cost_model"],
            value["made"],
        )


def _input(row: object, set_name: str, where: str) -> SelectedInput:
    if not isinstance(row, Mapping):
        raise LabError(f"{where}: must be an object")
    compact = "pk_sha256" in row
    names = tuple(f"{name}_sha256" for name in _OUTPUTS) if compact else _OUTPUTS
    _keys(row, (*_FIXED, *names), where)
    if type(row["id"]) is not int or row["id"] < 0:
        raise LabError(f"{where}: id must be a whole number, not negative")
    p = parameter_set(set_name)
    what = SigningInput(
        _bytes(row, "xi", where, SEED_BYTES),
        _bytes(row, "message", where),
        _bytes(row, "context", where),
        _bytes(row, "rnd", where, SEED_BYTES),
    )
    if len(what.context) > CONTEXT_BYTES_MAX:
        raise LabError(f"{where}: context must have at most {CONTEXT_BYTES_MAX} bytes")
    words = row["trace"]
    if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
        raise LabError(f"{where}: trace must be a list of texts")
    try:
        trace = parse_trace(words, set_name)
    except LabError as error:
        raise LabError(f"{where}: {error}") from None
    if compact:
        one, two, three = (_bytes(row, name, where, 32).hex() for name in names)
        return SelectedInput(row["id"], what, trace, (one, two, three))
    sizes = (p.public_key_bytes, p.private_key_bytes, p.signature_bytes)
    pk, sk, signature = (
        _bytes(row, name, where, size) for name, size in zip(names, sizes, strict=True)
    )
    outputs = Outputs(pk, sk, signature)
    return SelectedInput(row["id"], what, trace, outputs.digests(), outputs)


def _keys(value: Mapping[str, Any], names: tuple[str, ...], where: str) -> None:
    missing = [name for name in names if name not in value]
    extra = [name for name in value if name not in names]
    if missing:
        raise LabError(f"{where}: {missing[0]} is missing")
    if extra:
        raise LabError(f"{where}: the key {extra[0]!r} is unknown")


def _bytes(row: Mapping[str, Any], name: str, where: str, size: int | None = None) -> bytes:
    try:
        value = bytes.fromhex(row[name])
    except (TypeError, ValueError):
        raise LabError(f"{where}: {name} must be hexadecimal") from None
    if size is not None and len(value) != size:
        raise LabError(f"{where}: {name} must have {size} bytes, it has {len(value)}")
    return value


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
