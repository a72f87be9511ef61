"""Selections: the inputs that were chosen, with all that a target needs to sign them.

The JSON format, version 1, is described in docs/selections.md. The compact form has digests in
place of keys and signature, which follow from xi (or sk), message, context and rnd.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

import msgspec
import numpy as np
from numpy.typing import NDArray

from mldsa_lab.errors import LabError, located
from mldsa_lab.files import Hex, decode_format, plain, read_text
from mldsa_lab.inputs.input import Digests, Input, check_sizes, normalize_rnd
from mldsa_lab.sets import parameter_set
from mldsa_lab.theory.table import TraceTable
from mldsa_lab.theory.trace import Trace, parse_trace

FORMAT = "mldsa-lab selection"
VERSION = 1
"""Version of the selection format."""
Goal = Literal["regression", "mean", "percentile", "coverage", "greedy"]
GOALS: tuple[str, ...] = get_args(Goal)
"""The purposes of selections."""
_OUTPUTS = ("pk", "sk", "signature")


class SelectionRow(
    msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True, omit_defaults=True
):
    """An input as the file has it: outputs or, in the compact form, their digests; sk in any case
    where the seed xi is not known."""

    id: Annotated[int, msgspec.Meta(ge=0)]
    xi: Hex | None = None
    message: Hex
    context: Hex
    rnd: Hex
    trace: list[str]
    pk: Hex | None = None
    sk: Hex | None = None
    signature: Hex | None = None
    pk_sha256: Hex | None = None
    sk_sha256: Hex | None = None
    signature_sha256: Hex | None = None

    def __post_init__(self) -> None:
        check_sizes(self, "pk_sha256", "sk_sha256", "signature_sha256")
        compact = self.pk_sha256 is not None
        for name in ("pk_sha256", "sk_sha256", "signature_sha256") if compact else _OUTPUTS:
            if getattr(self, name) is None:
                raise LabError(f"{name} is missing")
        if compact and (self.pk is not None or self.signature is not None):
            raise LabError("has both outputs and their digests")
        if self.xi is None and self.sk is None:
            raise LabError("xi is missing, and so is sk")

    @classmethod
    def from_input(cls, item: Input, compact: bool) -> SelectionRow:
        """The row of an input; LabError if outputs are wanted and missing."""
        fields: dict[str, Any] = {"message": item.message, "context": item.context}
        if compact:
            digests = item.digests._asdict().items()
            fields |= {f"{name}_sha256": bytes.fromhex(text) for name, text in digests}
            fields["sk"] = item.sk if item.seed is None else None
        else:
            fields |= item.outputs._asdict()
        words = [str(attempt) for attempt in item.trace]
        return cls(id=item.id, xi=item.seed, rnd=item.signing_rnd, trace=words, **fields)

    def input(self, set_name: str) -> Input:
        """The input of this row; LabError if it does not fit the parameter set."""
        p = parameter_set(set_name)
        sizes = (p.public_key_bytes, p.private_key_bytes, p.signature_bytes)
        for name, size in zip(_OUTPUTS, sizes, strict=True):
            value = getattr(self, name)
            if value is not None and len(value) != size:
                raise LabError(f"{name} has {len(value)} bytes, must have {size}")
        digests = (self.pk_sha256, self.sk_sha256, self.signature_sha256)
        known = [digest.hex() for digest in digests if digest is not None]
        signed = self.xi, self.message, self.context, normalize_rnd(self.rnd)
        outputs = self.pk, self.sk, self.signature
        trace = parse_trace(self.trace, set_name)
        hashes = Digests(*known) if known else None
        return Input(set_name, self.id, *signed, *outputs, trace=trace, known_digests=hashes)


class File(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """The file, as docs/selections.md describes it."""

    format: Literal["mldsa-lab selection"]
    version: Literal[1]
    set: Literal["ML-DSA-44", "ML-DSA-65", "ML-DSA-87"]
    goal: Goal
    percentile: Annotated[float, msgspec.Meta(gt=0, lt=100)] | None
    cost_model: dict[str, Any] | None
    made: dict[str, Any]
    inputs: Annotated[list[SelectionRow], msgspec.Meta(min_length=1)]

    def __post_init__(self) -> None:
        if self.goal != "greedy" and (self.percentile is not None) != (self.goal == "percentile"):
            raise LabError("a percentile belongs to the goals 'percentile' and 'greedy'")
        for row_id, count in Counter(row.id for row in self.inputs).items():
            if count > 1:
                raise LabError(f"the id {row_id} appears twice")


@dataclass(frozen=True)
class Selection:
    """Inputs of one parameter set chosen for a goal (one of `GOALS`), in the order to measure.

    ``percentile``: of the goal of that name, in (0, 100), else None. ``cost_model``: the JSON of
    the cost model that the choice rests on, else None. ``provenance``: tool, pool and
    options, for the reader; `made` in the file.
    """

    set: str
    goal: str
    inputs: tuple[Input, ...]
    percentile: float | None = None
    cost_model: dict[str, Any] | None = None
    provenance: dict[str, Any] | None = None

    @property
    def ids(self) -> tuple[int, ...]:
        """The inputs' ids."""
        return tuple(i.id for i in self.inputs)

    @property
    def compact(self) -> bool:
        """True where outputs are missing."""
        return any(i.known_digests is not None for i in self.inputs)

    def traces(self) -> list[Trace]:
        """The inputs' traces."""
        return [i.trace for i in self.inputs]

    def counts(self) -> NDArray[np.float64]:
        """(inputs, 3) rejected attempts n_z, n_r, n_h."""
        return TraceTable.from_traces(self.set, self.traces()).counts()

    def to_json(self, *, compact: bool = False) -> str:
        """The text of the file. LabError if outputs are wanted and missing."""
        head: dict[str, Any] = {
            "format": FORMAT,
            "version": VERSION,
            "set": self.set,
            "goal": self.goal,
            "percentile": self.percentile,
            "cost_model": self.cost_model,
            "made": self.provenance or {},
        }
        lines = [f" {json.dumps(k)}: {json.dumps(v, allow_nan=False)}" for k, v in head.items()]
        rows = ",\n".join(
            f"  {json.dumps(plain(SelectionRow.from_input(i, compact)))}" for i in self.inputs
        )
        return "{\n" + ",\n".join([*lines, f' "inputs": [\n{rows}\n ]']) + "\n}\n"

    @classmethod
    def read(cls, path: Path) -> Selection:
        """The selection in a file; LabError that names the file and the broken rule."""
        return cls.parse(read_text(path), str(path))

    @classmethod
    def parse(cls, text: str, where: str) -> Selection:
        """The selection in a text; LabError, beginning with ``where``, if it is none."""
        file = decode_format(text, File, where, FORMAT, VERSION)
        inputs = []
        for number, row in enumerate(file.inputs):
            with located(f"{where}, inputs[{number}]"):
                inputs.append(row.input(file.set))
        return cls(file.set, file.goal, tuple(inputs), file.percentile, file.cost_model, file.made)
