"""Selections in the forms that harnesses read: NIST-style responses, a C header, memory images.

docs/selections.md describes them. Every image is made from the whole selection, and holds all
that a target needs: key, message, context, rnd and the expected signature.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path

from mldsa_lab.errors import LabError
from mldsa_lab.files import write_text
from mldsa_lab.inputs.input import Input
from mldsa_lab.inputs.selection import Selection
from mldsa_lab.sets import parameter_set
from mldsa_lab.theory.trace import format_trace

FORMATS = ("json", "rsp", "c", "readmemh")
"""The forms a selection can be written in."""

_BYTES_A_LINE = 32
_DESCRIPTOR = 4 * (2 + 2 * 7)  # bytes: see `_layout`


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
    makers: dict[str, tuple[tuple[str, Callable[[Selection], str]], ...]] = {
        "rsp": (("selection.rsp", response),),
        "c": (("selection.h", c_header),),
        "readmemh": (("selection.hex", memory_image), ("selection.map", memory_map)),
        "json": (("selection.json", lambda s: s.to_json(compact=s.compact)),),
    }
    return {name: make(selection) for form in chosen for name, make in makers[form]}


def write_images(selection: Selection, folder: Path, formats: Iterable[str]) -> list[Path]:
    """Write the files of these formats to ``folder``: all texts are made before the first file is
    written, each file is whole or not written, and the JSON is the last."""
    texts = images(selection, formats)
    paths = [folder / name for name in sorted(texts, key=lambda name: name.endswith(".json"))]
    for path in paths:
        write_text(path, texts[path.name])
    return paths


def _about(selection: Selection) -> list[str]:
    """What every image says at its top."""
    goal = selection.goal
    if selection.percentile is not None:
        goal += f" {selection.percentile:g}"
    tool = (selection.made or {}).get("tool", "mldsa-lab")
    return [
        f"{selection.set} signing inputs for the goal {goal}, made by {tool}",
        "mldsa-lab selection, version 1",
    ]


# --- NIST-style responses -------------------------------------------------------------------------


# Names of fields and of their lengths, where they are not ours or have one.
_NIST: dict[str, tuple[str, str | None]] = {
    "message": ("msg", "mlen"),
    "context": ("ctx", "ctxlen"),
    "signature": ("sig", None),
    "sm": ("sm", "smlen"),
}


def response(selection: Selection) -> str:
    """A `.rsp` file: `name = value` lines, an empty line between inputs, comments after `#`.

    ``sm`` is the signature followed by the message, as in NIST's files; ``sig`` the signature.
    """
    lines = [f"# {line}" for line in _about(selection)]
    for item in selection.inputs:
        lines += ["", f"# trace: {format_trace(item.trace)}", f"count = {item.id}"]
        signed = ("sm", item.made.signature + item.what.message)
        for field, value in [*_fields(item), signed]:
            name, length = _NIST.get(field, (field, None))
            if length is not None:
                lines.append(f"{length} = {len(value)}")
            lines.append(f"{name} = {value.hex().upper()}")
    return "\n".join(line.rstrip() for line in lines) + "\n"


# --- C --------------------------------------------------------------------------------------------


def c_header(selection: Selection) -> str:
    """A C99 header with the inputs as one constant array of structures."""
    p = parameter_set(selection.set)
    guard = f"MLDSA_LAB_SELECTION_{p.name.rpartition('-')[2]}_H"
    lines = [f"/* {line}. */" for line in _about(selection)]
    lines += [
        f"#ifndef {guard}",
        f"#define {guard}",
        "",
        "#include <stddef.h>",
        "#include <stdint.h>",
        "",
        f"#define MLDSA_LAB_PK_BYTES {p.public_key_bytes}",
        f"#define MLDSA_LAB_SK_BYTES {p.private_key_bytes}",
        f"#define MLDSA_LAB_SIGNATURE_BYTES {p.signature_bytes}",
        f"#define MLDSA_LAB_INPUTS {len(selection.inputs)}",
        "",
        "struct mldsa_lab_input {",
        "    uint32_t id;",
        "    uint32_t attempts;",
        "    const char *trace;",
        "    const uint8_t *xi;  /* 32 bytes; NULL where the key has no known seed */",
        "    const uint8_t *rnd; /* 32 bytes */",
        "    const uint8_t *message;",
        "    size_t message_bytes;",
        "    const uint8_t *context;",
        "    size_t context_bytes;",
        "    const uint8_t *pk;        /* MLDSA_LAB_PK_BYTES */",
        "    const uint8_t *sk;        /* MLDSA_LAB_SK_BYTES */",
        "    const uint8_t *signature; /* MLDSA_LAB_SIGNATURE_BYTES: what signing must give */",
        "};",
        "",
    ]
    rows = ["", "static const struct mldsa_lab_input mldsa_lab_inputs[MLDSA_LAB_INPUTS] = {"]
    for item in selection.inputs:
        names = {}
        for name, value in _fields(item):
            given = name != "xi" or value
            names[name] = f"mldsa_lab_{name}_{item.id}" if given else "NULL"
            if given:
                lines += _c_array(names[name], value)
        rows += [
            f"    {{{item.id}u, {len(item.trace)}u, {json.dumps(format_trace(item.trace))},",
            f"     {names['xi']}, {names['rnd']},",
            f"     {names['message']}, {len(item.what.message)},",
            f"     {names['context']}, {len(item.what.context)},",
            f"     {names['pk']}, {names['sk']}, {names['signature']}}},",
        ]
    return "\n".join([*lines, *rows, "};", "", f"#endif /* {guard} */"]) + "\n"


def _fields(item: Input) -> list[tuple[str, bytes]]:
    what, out = item.what, item.made
    return [
        ("xi", what.xi or b""),
        ("rnd", what.rnd),
        ("message", what.message),
        ("context", what.context),
        ("pk", out.pk),
        ("sk", out.sk),
        ("signature", out.signature),
    ]


def _c_array(name: str, value: bytes) -> list[str]:
    """An array; of nothing, one that holds a zero, since C has no empty arrays."""
    held = value or b"\0"
    lines = [f"static const uint8_t {name}[{len(held)}] = {{"]
    step = _BYTES_A_LINE // 2
    for at in range(0, len(held), step):
        lines.append(f"    {', '.join(f'0x{b:02x}' for b in held[at : at + step])},")
    return [*lines, "};"]


# --- Verilog --------------------------------------------------------------------------------------


def _layout(selection: Selection) -> list[tuple[int, Input, list[tuple[str, int, bytes]]]]:
    """Each input with the address of its descriptor, and its fields with theirs.

    The image begins with a directory: the number of inputs, then one descriptor an input, all in
    32-bit words, most significant byte first. A descriptor has the id, the number of attempts, and
    address and length of each field in the order of `_fields`.
    """
    at = 4 + _DESCRIPTOR * len(selection.inputs)
    found = []
    for number, item in enumerate(selection.inputs):
        places = []
        for name, value in _fields(item):
            places.append((name, at, value))
            at += len(value)
        found.append((4 + _DESCRIPTOR * number, item, places))
    return found


def memory_image(selection: Selection) -> str:
    """A byte-wide image for Verilog's `$readmemh`: one byte a word, address 0 first."""
    layout = _layout(selection)
    data = bytearray(_word(len(layout)))
    for _, item, places in layout:
        data += _word(item.id) + _word(len(item.trace))
        for _, address, value in places:
            data += _word(address) + _word(len(value))
    lines = [f"// {line}" for line in _about(selection)]
    lines += ["// directory: see selection.map", "@0", *_hex_lines(bytes(data))]
    for _, item, places in layout:
        for name, address, value in places:
            if value:
                lines += [f"// input {item.id} {name}", f"@{address:x}", *_hex_lines(value)]
    return "\n".join(lines) + "\n"


def memory_map(selection: Selection) -> str:
    """Where in the image everything is, as text: id, field, address (hexadecimal), length."""
    lines = [f"# {line}" for line in _about(selection)]
    layout = _layout(selection)
    total = max(address + len(value) for _, _, places in layout for _, address, value in places)
    lines += [f"# {total} bytes in all", "# id field address length"]
    for descriptor, item, places in layout:
        lines.append(f"{item.id} descriptor {descriptor:x} {_DESCRIPTOR}")
        lines += [f"{item.id} {name} {address:x} {len(value)}" for name, address, value in places]
    return "\n".join(lines) + "\n"


def _word(value: int) -> bytes:
    return value.to_bytes(4, "big")


def _hex_lines(value: bytes) -> list[str]:
    step = _BYTES_A_LINE
    return [value[at : at + step].hex(" ") for at in range(0, len(value), step)]
