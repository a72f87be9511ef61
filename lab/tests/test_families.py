"""Schemes beside ML-DSA: the table of them, known answers, inputs and the gate's checks."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import conforming_worker as toy
import pytest

from mldsa_lab.bench.material import Sizes, plain_inputs
from mldsa_lab.bench.workloads.operations import make_cell
from mldsa_lab.records import Variant
from mldsa_lab.sets import SCHEMES
from mldsa_lab.theory.trace import ACCEPTED
from mldsa_lab.worker.examination import Examination, Items
from mldsa_lab.worker.protocol import INPUT_FIELDS, JobInput, Output, ProtocolError, parse_hello
from mldsa_lab.worker.request import Item
from mldsa_lab.worker.subject import Subject, make_items, siblings_of
from mldsa_lab.worker.suite import SUITE
from mldsa_lab.worker.vectors import known_answers

SIZES = Sizes(design=0, random=3, pool=0, message_bytes=32)


def announced(**changed: str) -> list[str]:
    lines = {
        "implementation": "x", "version": "1", "backend": "portable", "key": "compact",
        "family": "ml-kem", "sets": "ML-KEM-512", "operations": "keygen encaps decaps",
        "rnd": "given", "context": "no",
    } | changed  # fmt: skip
    head = ["worker w", "protocol 1", "language C", "compiler cc", "unit ns", "clock c"]
    return [*head, "variant x:portable:compact", *(f"{k} {v}" for k, v in lines.items())]


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"sets": "ML-KEM-512 ML-DSA-44"}, "sets of family ml-kem are ML-KEM-512, ML-KEM-768"),
        ({"operations": "keygen sign"}, "operations of family ml-kem are keygen, encaps, decaps"),
        ({"rnd": "zero"}, "rnd of family ml-kem must be given or none, got zero"),
    ],
)
def test_what_a_family_has_not_cannot_be_announced(changed: dict[str, str], said: str) -> None:
    assert parse_hello(announced()).variants[0].sets == ("ML-KEM-512",)
    with pytest.raises(ProtocolError, match=said):
        parse_hello(announced(**changed))


# --- a toy of each family in place of a worker ----------------------------------------------------


def variant(name: str, **changed: Any) -> Variant:
    (found,) = (v for v in toy.VARIANTS if v.startswith(f"{name}:"))
    about, family = toy.VARIANTS[found], toy.family_of(found)
    implementation, backend, key = found.split(":")
    fields: dict[str, Any] = {
        "id": found, "implementation": implementation, "version": "1", "backend": backend,
        "key": key, "family": family, "sets": tuple(toy.SETS[family]),
        "operations": toy.operations_of(found), "rnd": about["rnd"],
        "context": about["context"] == "yes",
    } | changed  # fmt: skip
    return Variant(**fields)


class Toys:
    """Performs operations by the functions of the toy worker of this source."""

    def __init__(self, source: str = Path(toy.__file__).read_text(encoding="utf-8")) -> None:
        self._toy: dict[str, Any] = {"__name__": "toy"}
        exec(compile(source, "toy", "exec"), self._toy)

    def answer(
        self, name: str, set_name: str, operation: str, inputs: Sequence[JobInput]
    ) -> dict[int, Output]:
        found = {}
        for item in inputs:
            fields = {p: v for p in INPUT_FIELDS if (v := getattr(item, p)) is not None}
            try:
                value, sk = self._toy["perform"]((name, set_name, operation, []), fields)
                traced = (ACCEPTED,) if operation == "trace" else ()
                found[item.id] = Output(item.id, value, sk, trace=traced)
            except self._toy["Failed"] as error:
                found[item.id] = Output(item.id, failure=str(error))
        return found


def subject(v: Variant, toys: Toys | None = None) -> Subject:
    forms = toy.VARIANTS[v.id].get("private_keys", "seed sk").split()
    return Subject((toys or Toys()).answer, v, v.sets[0], tuple(forms))


def made_by(v: Variant, *siblings: Subject) -> list[Item]:
    """The inputs of a run, made by a sound toy."""
    drawn = plain_inputs(v.sets[0], bytes(32), SIZES)
    return make_items(drawn, [subject(v)], siblings)


def examined(name: str, source: str) -> Examination:
    """The gate's checks of a toy worker of this source, with a sound one beside it."""
    v = variant(name)
    items = Items(made=made_by(variant(MAKERS.get(name, name))), known=v.family == "fn-dsa")
    exam = Examination(subject(v, Toys(source)), items, SUITE)
    exam.run()
    if SCHEMES[v.sets[0]].kin.encoded:
        exam.items = replace(items, peer=subject(v))
        exam.run()
    return exam


MAKERS = {"toyzero": "toy", "toyhedged": "toy", "toyslhzero": "toyslh"}
KINDS = {
    "toyslh": {"others", "signs", "verifies", "verified", "refuses"},
    "toyfn": {"own", "signs", "verifies", "verified", "refuses"},
    "toykem": {"others", "encaps", "decaps", "rejects", "refuses"},
    "toyhash": {"known"},
    "toytls": {"agreed"},
}


@pytest.mark.parametrize("name", KINDS)
def test_a_sound_implementation_passes(name: str) -> None:
    exam = examined(name, Path(toy.__file__).read_text(encoding="utf-8"))
    assert exam.passed, exam.reason
    assert all(c.cases for c in exam.checks)
    assert {c.check.split("-")[0] for c in exam.checks} == KINDS[name]


def test_what_only_verifies_has_no_line_of_what_it_does_not() -> None:
    v = variant("toyslh", operations=("verify",))
    exam = Examination(subject(v), Items(made=made_by(variant("toyslh"))), SUITE)
    names = {c.check for c in exam.run() if not c.cases}
    assert exam.passed and names == {"others-keygen", "signs"}
    assert any(c.check == "refuses-signature" and c.cases for c in exam.checks)
    only_signs = variant("toyslh", operations=("keygen", "sign"))
    exam = Examination(subject(only_signs), Items(made=made_by(only_signs)), SUITE)
    assert "refuses-signature" not in {c.check for c in exam.run()}


def test_keys_that_nobody_makes_are_published_ones() -> None:
    made = made_by(variant("toykem", operations=("encaps", "decaps")))
    known = known_answers("ML-KEM-512", "keygen")[: len(made)]
    assert [(m.seed, m.pk, m.sk) for m in made] == [(c.seed, c.pk, c.sk) for c in known]
    assert all(m.output and m.secret for m in made)


def test_keys_of_a_variant_that_makes_none_are_its_siblings() -> None:
    v = subject(variant("toyfn", operations=("sign", "verify")))
    (sibling,) = siblings_of(v, [subject(variant("toy")), subject(variant("toyfn"))])
    for maker in (sibling, None):
        exam = Examination(v, Items(known=True, sibling=maker), SUITE)
        exam.run()
        assert exam.passed is (maker is not None)
    made = made_by(variant("toyfn", operations=("sign", "verify")), sibling)
    assert all(m.pk and m.sk and m.output for m in made)
    assert not any(m.pk for m in made_by(variant("toyfn", operations=("sign", "verify"))))


def test_cells_hand_over_what_the_operation_takes() -> None:
    """And expect outputs only where they follow from that."""
    kem, fn = variant("toykem"), variant("toyfn")
    row = plain_inputs("ML-KEM-512", bytes(32), SIZES)[0]
    made = replace(row, pk=b"pk", sk=b"sk", output=b"c", secret=b"K")

    def digest(data: bytes) -> dict[int, bytes]:
        return {0: hashlib.sha256(data).digest()}

    cell = make_cell(kem, "ML-KEM-512", "encaps", [made])
    assert cell.inputs == [JobInput(0, pk=b"pk", rnd=row.rnd)]
    assert cell.expected == digest(b"cK")
    own = make_cell(variant("toykemseed"), "ML-KEM-512", "encaps", [made])
    assert own.inputs == [JobInput(0, pk=b"pk")] and own.expected == {} and not own.random
    cell = make_cell(kem, "ML-KEM-512", "decaps", [made])
    assert cell.inputs == [JobInput(0, seed=row.seed, sk=b"sk", pk=b"pk", ciphertext=b"c")]
    assert cell.expected == digest(b"K")
    row = plain_inputs("FN-DSA-512", bytes(32), SIZES)[0]
    made = replace(row, pk=b"pk", sk=b"sk", output=b"s")
    cell = make_cell(fn, "FN-DSA-512", "sign", [made])
    assert cell.inputs[0].seed is None and cell.inputs[0].rnd is None
    assert cell.random and cell.expected == {}
    assert make_cell(fn, "FN-DSA-512", "keygen", [made]).expected == {}
    assert make_cell(fn, "FN-DSA-512", "verify", [made]).expected == digest(b"\1")
