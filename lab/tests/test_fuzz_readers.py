"""Bounded sessions of the fuzzer of readers; and that they find faults which are planted."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

import msgspec
import pytest
from fuzz_readers import READERS, seconds, seed, session

from mldsa_lab.audit import reading
from mldsa_lab.bench.workloads import block_file
from mldsa_lab.errors import LabError
from mldsa_lab.estimate import reader as measurements
from mldsa_lab.files import decode_hook
from mldsa_lab.inputs import poolfile, selection, source
from mldsa_lab.records import reader as records
from mldsa_lab.study import file as study
from mldsa_lab.theory import cost_model
from mldsa_lab.worker import protocol, registry
from mldsa_lab_rtl import manifest
from pqc_impact import file as scenario
from pqc_impact import network


@pytest.mark.simulation
@pytest.mark.parametrize("name", READERS)
def test_bent_documents_are_read_or_refused(name: str, tmp_path: Path) -> None:
    chosen = seed()
    count, found = session(name, tmp_path, seconds(), chosen)
    assert found is None, f"MLDSA_FUZZ_SEED={chosen}: {found}"
    assert count > 0


def toml(text: str, kind: type[object], name: str) -> object:
    return msgspec.convert(tomllib.loads(text), kind)


def yaml(text: str, name: str) -> object:
    return reading.yaml.load(text, reading._Loader)


def converted(value: object, kind: type[object], *where: object) -> object:
    return msgspec.convert(value, kind, dec_hook=decode_hook)


def json_format(text: str, kind: type[object], *where: object) -> object:
    return converted(json.loads(text), kind)


# Each reader with one guard gone: what its library raises comes out as it is.
FAULTS: dict[str, tuple[object, str, object]] = {
    "record": (records, "convert", converted),
    "selection": (selection, "decode_format", json_format),
    "claims": (reading, "_parse_yaml", yaml),
    "measurements": (measurements, "_NUMBER", re.compile(".*")),
    "scenario": (scenario, "decode_toml", toml),
    "network": (network, "decode_toml", toml),
    "study": (study, "decode_toml", toml),
    "registry": (registry, "parse_toml", lambda text, name: tomllib.loads(text)),
    "block": (block_file, "decode_toml", toml),
    "core": (manifest, "decode_toml", toml),
    "costs": (cost_model, "convert", converted),
    "inputs": (source, "decode_json", json_format),
    "inputs-csv": (source, "convert", converted),
    "pool": (poolfile, "first_line", lambda error: error.args[1]),
    "hello": (protocol, "_yes", lambda value, what: {"yes": True, "no": False}[value]),
    "reply": (protocol, "parse_number", lambda text, what: int(text)),
}


@pytest.mark.simulation
@pytest.mark.parametrize("name", READERS)
def test_a_planted_fault_is_found(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A session ends where it finds something."""
    monkeypatch.setattr(*FAULTS[name])
    _, found = session(name, tmp_path, max(seconds(), 20.0), seed())
    assert found is not None
    assert not isinstance(found.error, LabError)
