"""Bounded sessions of the fuzzer of readers; and that they find faults which are planted."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest
from fuzz_readers import READERS, fuzz, seconds, seed, session

from mldsa_lab import LabError
from mldsa_lab.files import decode_hook
from mldsa_lab.inputs import pool, selection
from mldsa_lab.theory import law


@pytest.mark.simulation
@pytest.mark.parametrize("name", READERS)
def test_bent_documents_are_read_or_refused(name: str, tmp_path: Path) -> None:
    fuzz(name, READERS[name], tmp_path)


def converted(value: object, kind: type[object], *where: object) -> object:
    return msgspec.convert(value, kind, dec_hook=decode_hook)


def decoded(text: str, kind: type[object], *where: object) -> object:
    return converted(json.loads(text), kind)


# A guard gone for each way to read: what its library raises comes out as it is.
FAULTS: dict[str, tuple[object, str, object]] = {
    "selection": (selection, "decode_format", decoded),
    "costs": (law, "decode_format", decoded),
    "inputs": (pool, "parse_json", lambda text, where: json.loads(text)),
    "inputs-csv": (pool, "convert", converted),
    "pool": (pool, "first_line", lambda error: error.args[1]),
}  # fmt: skip


@pytest.mark.simulation
@pytest.mark.parametrize("name", FAULTS)
def test_a_planted_fault_is_found(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A session ends where it finds something."""
    monkeypatch.setattr(*FAULTS[name])
    _, finding = session(name, READERS[name], tmp_path, max(seconds(), 20.0), seed())
    assert finding is not None
    assert not isinstance(finding.error, LabError)
