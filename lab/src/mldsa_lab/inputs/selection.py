"""Selections: chosen inputs as files, in the formats of targets."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, get_args

import msgspec
import numpy as np
from numpy.typing import NDArray

from mldsa_lab import LabError, located
from mldsa_lab.files import Hex, decode_format, read_text, to_builtins, write_text
from mldsa_lab.inputs.input import Digests, Input, check_sizes, normalize_rnd
from mldsa_lab.sets import parameter_set
from mldsa_lab.theory.trace import Trace, TraceTable, format_trace, parse_trace

# Selections


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
    """An input as the file has it: outputs or, in the compact form, their digests. sk is present
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
    def from_input(cls, item: Input, is_compact: bool) -> SelectionRow:
        """Return the row of an input. LabError if outputs are needed and missing."""
        fields: dict[str, Any] = {"message": item.message, "context": item.context}
        if is_compact:
            digests = item.digests._asdict().items()
            fields |= {f"{name}_sha256": bytes.fromhex(text) for name, text in digests}
            fields["sk"] = item.sk if item.seed is None else None
        else:
            fields |= item.outputs._asdict()
        words = [str(iteration) for iteration in item.trace]
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
    """The file, as docs/files.md describes it."""

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
    def is_compact(self) -> bool:
        """True where outputs are missing."""
        return any(i.known_digests is not None for i in self.inputs)

    def traces(self) -> list[Trace]:
        """The inputs' traces."""
        return [i.trace for i in self.inputs]

    def counts(self) -> NDArray[np.float64]:
        """(inputs, 3) rejected iterations n_z, n_r, n_h."""
        return TraceTable.from_traces(self.set, self.traces()).counts()

    def to_json(self, *, is_compact: bool = False) -> str:
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
        listed = (SelectionRow.from_input(i, is_compact) for i in self.inputs)
        rows = ",\n".join(f"  {json.dumps(to_builtins(row))}" for row in listed)
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


# Selections in the forms that harnesses read


_BYTES_A_LINE = 32


class _Field(NamedTuple):
    """A part of an input: name, bytes, comment in C, and name in a response.

    ``length``: the name of its size, where that varies.
    """

    name: str
    value: Callable[[Input], bytes]
    comment: str
    nist: str
    length: str = ""


_FIELDS = (
    _Field("xi", lambda i: i.seed or b"", "32 bytes; NULL where the seed is not known", "xi"),
    _Field("rnd", lambda i: i.signing_rnd, "32 bytes", "rnd"),
    _Field("message", lambda i: i.message, "", "msg", "mlen"),
    _Field("context", lambda i: i.context, "", "ctx", "ctxlen"),
    _Field("pk", lambda i: i.outputs.pk, "MLDSA_LAB_PK_BYTES", "pk"),
    _Field("sk", lambda i: i.outputs.sk, "MLDSA_LAB_SK_BYTES", "sk"),
    _Field("signature", lambda i: i.outputs.signature, "MLDSA_LAB_SIGNATURE_BYTES", "sig"),
)
# Of the header with digests: no output, and a private key where there is no seed.
_HASHED = (
    *_FIELDS[:4],
    _Field(
        "sk", lambda i: b"" if i.seed else i.key, "MLDSA_LAB_SK_BYTES; NULL where xi is known", "sk"
    ),
    _Field(
        "signature_sha256", lambda i: bytes.fromhex(i.digests.signature), "32 bytes", "sig_sha256"
    ),
)
_OPTIONAL = ("xi", "sk")
# Bytes of a descriptor in a memory image: id, iterations, and address and length of each field.
_DESCRIPTOR = 4 * (2 + 2 * len(_FIELDS))


def check_formats(names: Iterable[str]) -> tuple[str, ...]:
    """The names, each one of `FORMATS`; LabError for another."""
    chosen = tuple(names)
    for name in chosen:
        if name not in FORMATS:
            raise LabError(f"format {name!r}: must be one of {', '.join(FORMATS)}")
    return chosen


def images(selection: Selection, formats: Iterable[str]) -> dict[str, str]:
    """The texts of the files, by name. LabError for an unknown format, or, for others than json,
    if the selection has no outputs (it must be signed first)."""
    chosen = check_formats(formats)
    return {name: make(selection) for form in chosen for name, make in _MAKERS[form].items()}


def write_images(selection: Selection, folder: Path, formats: Iterable[str]) -> list[Path]:
    """Write the files of these formats to ``folder``, the JSON last.

    All texts exist before the first file is written; each file is whole or not written.
    """
    texts = images(selection, formats)
    paths = [folder / name for name in sorted(texts, key=lambda name: name.endswith(".json"))]
    for path in paths:
        write_text(path, texts[path.name])
    return paths


def _about(selection: Selection, mark: str) -> list[str]:
    """The lines at the top of every image, as comments that begin with ``mark``."""
    goal = selection.goal
    if selection.percentile is not None:
        goal += f" {selection.percentile:g}"
    tool = (selection.provenance or {}).get("tool", "mldsa-lab")
    return [
        f"{mark} {selection.set} signing inputs for the goal {goal}, made by {tool}",
        f"{mark} mldsa-lab selection, version 1",
    ]


def response(selection: Selection) -> str:
    """A `.rsp` file: `name = value` lines, an empty line between inputs, comments after `#`.

    ``sm`` is the signature followed by the message, as in NIST's files; ``sig`` the signature.
    """
    signed = _Field("sm", lambda i: i.outputs.signature + i.message, "", "sm", "smlen")
    lines = _about(selection, "#")
    for item in selection.inputs:
        lines += ["", f"# trace: {format_trace(item.trace)}", f"count = {item.id}"]
        for field in (*_FIELDS, signed):
            value = field.value(item)
            if field.length:
                lines.append(f"{field.length} = {len(value)}")
            lines.append(f"{field.nist} = {value.hex().upper()}".rstrip())
    return "\n".join(lines) + "\n"


def c_header(selection: Selection, fields: tuple[_Field, ...] = _FIELDS) -> str:
    """A C99 header with these fields of the inputs as one constant array of structures."""
    p = parameter_set(selection.set)
    guard = f"MLDSA_LAB_SELECTION_{p.name.rpartition('-')[2]}_H"
    lines = [f"{line}. */" for line in _about(selection, "/*")]
    lines += [f"#ifndef {guard}", f"#define {guard}", ""]
    lines += ["#include <stddef.h>", "#include <stdint.h>", ""]
    for name, size in (
        ("PK_BYTES", p.public_key_bytes),
        ("SK_BYTES", p.private_key_bytes),
        ("SIGNATURE_BYTES", p.signature_bytes),
        ("INPUTS", len(selection.inputs)),
    ):
        lines.append(f"#define MLDSA_LAB_{name} {size}")
    members = ["uint32_t id;", "uint32_t attempts;", "const char *trace;"]
    rows = ["", "static const struct mldsa_lab_input mldsa_lab_inputs[MLDSA_LAB_INPUTS] = {"]
    for field in fields:
        comment = f" /* {field.comment} */" if field.comment else ""
        members.append(f"const uint8_t *{field.name};{comment}")
        if field.length:
            members.append(f"size_t {field.name}_bytes;")
    lines += ["", "struct mldsa_lab_input {", *(f"    {member}" for member in members), "};", ""]
    for item in selection.inputs:
        parts = [f"{item.id}u, {len(item.trace)}u, {json.dumps(format_trace(item.trace))}"]
        for field in fields:
            value, name = field.value(item), f"mldsa_lab_{field.name}_{item.id}"
            if field.name in _OPTIONAL and not value:
                name = "NULL"
            else:
                lines += _c_array(name, value)
            parts.append(f"{name}, {len(value)}" if field.length else name)
        rows.append("    {" + ",\n     ".join(parts) + "},")
    return "\n".join([*lines, *rows, "};", "", f"#endif /* {guard} */"]) + "\n"


def _c_array(name: str, value: bytes) -> list[str]:
    """An array; if it is empty, with a zero, since C has no empty arrays."""
    held = value or b"\0"
    lines = [f"static const uint8_t {name}[{len(held)}] = {{"]
    step = _BYTES_A_LINE // 2
    for at in range(0, len(held), step):
        lines.append(f"    {', '.join(f'0x{b:02x}' for b in held[at : at + step])},")
    return [*lines, "};"]


def _places(selection: Selection) -> Iterable[tuple[Input, list[tuple[str, int, bytes]]]]:
    """Each input with its fields and their addresses.

    The image begins with a directory: the number of inputs, then one descriptor for each, all in
    32-bit words, most significant byte first. A descriptor has the id, the number of iterations,
    and address and length of each field in the order of `_FIELDS`.
    """
    at = 4 + _DESCRIPTOR * len(selection.inputs)
    for item in selection.inputs:
        places = []
        for field in _FIELDS:
            places.append((field.name, at, field.value(item)))
            at += len(places[-1][2])
        yield item, places


def memory_image(selection: Selection) -> str:
    """A byte-wide image for Verilog's `$readmemh`: one byte a word, address 0 first."""
    words = [len(selection.inputs)]
    lines: list[str] = []
    for item, places in _places(selection):
        words += [item.id, len(item.trace)]
        for name, address, value in places:
            words += [address, len(value)]
            if value:
                lines += [f"// input {item.id} {name}", f"@{address:x}", *_hex_lines(value)]
    directory = b"".join(word.to_bytes(4, "big") for word in words)
    head = [*_about(selection, "//"), "// directory: see selection.map", "@0"]
    return "\n".join([*head, *_hex_lines(directory), *lines]) + "\n"


def memory_map(selection: Selection) -> str:
    """Where in the image everything is, as text: id, field, address (hexadecimal), length."""
    lines, end = ["# id field address length"], 0
    for number, (item, places) in enumerate(_places(selection)):
        lines.append(f"{item.id} descriptor {4 + _DESCRIPTOR * number:x} {_DESCRIPTOR}")
        lines += [f"{item.id} {name} {address:x} {len(value)}" for name, address, value in places]
        end = max(end, *(address + len(value) for _, address, value in places))
    return "\n".join([*_about(selection, "#"), f"# {end} bytes in all", *lines]) + "\n"


def _hex_lines(value: bytes) -> list[str]:
    step = _BYTES_A_LINE
    return [value[at : at + step].hex(" ") for at in range(0, len(value), step)]


_MAKERS: dict[str, dict[str, Callable[[Selection], str]]] = {
    "json": {"selection.json": lambda s: s.to_json(is_compact=s.is_compact)},
    "rsp": {"selection.rsp": response},
    "c": {"selection.h": c_header},
    "c-hashes": {"selection_hashes.h": lambda selection: c_header(selection, _HASHED)},
    "readmemh": {"selection.hex": memory_image, "selection.map": memory_map},
}
FORMATS = tuple(_MAKERS)
"""The forms a selection can be written in."""
COMPACT_FORMATS = ("c-hashes", "json")
"""The formats that need only digests, in place of keys and signatures."""
