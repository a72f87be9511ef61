"""Selection files: both forms there and back, and what is refused."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from mldsa_lab.errors import LabError
from mldsa_lab.inputs.input import Input, Outputs, SigningInput
from mldsa_lab.inputs.selection import Selection
from mldsa_lab.sets import ML_DSA_44
from mldsa_lab.theory.trace import parse_trace

TRACES = ("ok", "z0r2 r3 ok", "h3 ok")


def _selection() -> Selection:
    inputs = []
    for number, text in enumerate(TRACES, 1):
        outputs = Outputs(
            bytes([number]) * ML_DSA_44.public_key_bytes,
            bytes([number]) * ML_DSA_44.private_key_bytes,
            bytes([number]) * ML_DSA_44.signature_bytes,
        )
        what = SigningInput(bytes([number] * 32), b"message", b"", bytes(32))
        trace = parse_trace(text.split(), "ML-DSA-44")
        inputs.append(Input(number, what, trace, outputs))
    made = {"tool": "test", "pool": None, "options": {}}
    return Selection("ML-DSA-44", "percentile", tuple(inputs), 99.0, {"z": 1}, made)


def test_there_and_back(tmp_path: Path) -> None:
    selection = _selection()
    path = tmp_path / "selection.json"
    path.write_text(selection.to_json())
    found = Selection.read(path)
    assert found == selection and not found.compact
    assert found.counts().tolist() == [[0, 0, 0], [1, 1, 0], [0, 0, 1]]
    assert found.ids == (1, 2, 3)
    small = Selection.parse(selection.to_json(compact=True), "here")
    assert small.compact and [i.digests for i in small.inputs] == [
        i.digests for i in selection.inputs
    ]
    assert small.to_json(compact=True) == selection.to_json(compact=True)
    assert len(small.to_json(compact=True)) < len(selection.to_json()) // 10
    with pytest.raises(LabError, match="input 1: has no outputs"):
        small.to_json()


def _set(path: str, value: object) -> Any:
    """A change of one value in the file's object."""

    def change(whole: dict[str, Any]) -> None:
        at: Any = whole
        *way, last = [int(p) if p.isdigit() else p for p in path.split("/")]
        for step in way:
            at = at[step]
        if value is None and last in at and last not in ("percentile", "made"):
            del at[last]
        else:
            at[last] = value

    return change


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (_set("format", "other"), "is no selection"),
        (_set("version", 2), "has format version 2, this reader knows 1"),
        (_set("set", "ML-DSA-66"), "set: 'ML-DSA-66' must be one of"),
        (_set("goal", "mean"), "a percentile belongs to the goal"),
        (_set("inputs", []), "inputs: must be a list of length >= 1"),
        (_set("more", 1), "the key 'more' is unknown"),
        (_set("inputs/1/id", 1), "the id 1 appears twice"),
        (_set("inputs/1/id", -2), r"inputs\[1\].id: must be a whole number >= 0"),
        (_set("inputs/0/xi", "00"), r"inputs\[0\]: xi has 1 bytes, must have 32"),
        (_set("inputs/0/message", "0"), r"inputs\[0\].message: must be bytes in hexadecimal"),
        (
            _set("inputs/0/context", "00" * 256),
            r"inputs\[0\]: context has 256 bytes, must have at most 255",
        ),
        (_set("inputs/2/trace", ["h9", "ok"]), r"inputs\[2\]: attempt 'h9'"),
        (_set("inputs/2/trace", ["ok", "ok"]), r"inputs\[2\]: trace"),
        (_set("inputs/0/pk", "00"), r"inputs\[0\]: pk has 1 bytes, must have 1312"),
        (_set("inputs/0/pk", None), r"inputs\[0\]: pk is missing"),
        (_set("inputs/0/pk_sha256", "00" * 32), r"inputs\[0\]: sk_sha256 is missing"),
    ],
)
def test_what_breaks_a_rule_is_named(change: Any, message: str) -> None:
    whole = copy.deepcopy(json.loads(_selection().to_json()))
    change(whole)
    with pytest.raises(LabError, match=f"^here.*{message}"):
        Selection.parse(json.dumps(whole), "here")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "here, column 2"),
        ('{"a": 1,\n}', "here, line "),
        ('{"a": 1, "a": 2}', "the key 'a' appears twice"),
        ("[]", "is no selection"),
        ('{"format": NaN}', "NaN is no number"),
        ("[" * 100_000, "nested too deeply"),
    ],
)
def test_what_is_no_json_is_named(text: str, message: str) -> None:
    with pytest.raises(LabError, match=message):
        Selection.parse(text, "here")
