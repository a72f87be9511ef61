"""Known answers of all schemes; those beside ML-DSA: inputs and the gate's checks."""

from __future__ import annotations

import dataclasses
import hashlib
import itertools
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import conforming_worker as toy
import pytest
from msgspec.structs import replace

from mldsa_lab import LabError
from mldsa_lab.bench.material import plain_inputs
from mldsa_lab.bench.options import Sizes
from mldsa_lab.bench.workload import make_cell
from mldsa_lab.inputs.input import Input
from mldsa_lab.records import Variant
from mldsa_lab.sets import PARAMETER_SETS, SCHEMES, Implementation, ParameterSet, list_sets
from mldsa_lab.theory.trace import ACCEPTED
from mldsa_lab.worker import examination
from mldsa_lab.worker.cases import Altered, alter, suits
from mldsa_lab.worker.examination import (
    Examination,
    Items,
    Subject,
    known_answers,
    make_items,
    siblings_of,
)
from mldsa_lab.worker.protocol import INPUT_FIELDS, JobInput, Output
from mldsa_lab.worker.suite import SUITE

SIZES = Sizes(design=0, random=3, pool=0, message_bytes=32)


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
        self, asked: Implementation, set_name: str, operation: str, inputs: Sequence[JobInput]
    ) -> dict[int, Output]:
        found = {}
        for item in inputs:
            fields = {p: v for p in INPUT_FIELDS if (v := getattr(item, p)) is not None}
            try:
                value, sk = self._toy["perform"]((asked.id, set_name, operation, []), fields)
                traced = (ACCEPTED,) if operation == "trace" else ()
                found[item.id] = Output(item.id, value, sk, trace=traced)
            except self._toy["Failed"] as error:
                found[item.id] = Output(item.id, failure=str(error))
        return found


def subject(v: Variant, toys: Toys | None = None) -> Subject:
    forms = toy.VARIANTS[v.id].get("private_keys", "seed sk").split()
    return Subject((toys or Toys()).answer, v, v.sets[0], tuple(forms))


def made_by(v: Variant, *siblings: Subject) -> list[Input]:
    """The inputs of a run, made by a sound toy."""
    drawn = plain_inputs(v.sets[0], bytes(32), SIZES)
    return make_items(drawn, [subject(v)], siblings)


def examined(name: str, source: str) -> Examination:
    """The gate's checks of a toy worker of this source, with a sound one beside it."""
    v = variant(name)
    items = Items(inputs=made_by(variant(MAKERS.get(name, name))), known=v.family == "fn-dsa")
    exam = Examination(subject(v, Toys(source)), items, SUITE)
    exam.run()
    if SCHEMES[v.sets[0]].traits.has_bytes:
        exam.items = dataclasses.replace(items, peer=subject(v))
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
    exam = Examination(subject(v), Items(inputs=made_by(variant("toyslh"))), SUITE)
    names = {c.check for c in exam.run() if not c.cases}
    assert exam.passed and names == {"others-keygen", "signs"}
    assert any(c.check == "refuses-signature" and c.cases for c in exam.checks)
    only_signs = variant("toyslh", operations=("keygen", "sign"))
    exam = Examination(subject(only_signs), Items(inputs=made_by(only_signs)), SUITE)
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


# --- known answers --------------------------------------------------------------------------------


@pytest.mark.parametrize("p", PARAMETER_SETS.values(), ids=lambda p: p.name)
def test_known_answers_of_ml_dsa(p: ParameterSet) -> None:
    keys = known_answers(p.name, "keygen")
    assert len(keys) == 25
    # skEncode: rho, K, tr = SHAKE256(pk, 64), ...
    assert all((c.sk or b"")[64:128] == hashlib.shake_256(c.pk or b"").digest(64) for c in keys)
    for kind, rnd in (("siggen", {None}), ("siggen-hedged", {32})):
        signed = known_answers(p.name, kind)
        assert len(signed) == 15 and {c.rnd and len(c.rnd) for c in signed} == rnd
        assert {len(c.output or b"") for c in signed} == {p.signature_bytes}
    assert {c.is_valid for c in known_answers(p.name, "sigver")} == {True, False}


@pytest.mark.parametrize(
    "name", [*list_sets("ml-dsa"), *list_sets("slh-dsa"), *list_sets("ml-kem")]
)
def test_sizes_are_those_of_the_schemes(name: str) -> None:
    scheme = SCHEMES[name]
    sizes = (scheme.seed_bytes, scheme.public_key_bytes, scheme.private_key_bytes)
    keys = known_answers(name, "keygen")
    assert {(len(c.seed or b""), len(c.pk or b""), len(c.sk or b"")) for c in keys} == {sizes}
    if scheme.family == "ml-dsa":
        return
    is_kem = scheme.family == "ml-kem"
    answers = known_answers(name, "encaps" if is_kem else "siggen-hedged")
    assert len(answers) == (25 if is_kem else 3 if scheme.is_slow else 7)
    assert {(len(c.rnd or b""), len(c.output or b"")) for c in answers} == {
        (scheme.rnd_bytes, scheme.output_bytes)
    }
    for kind in ("public-keys", "private-keys") if is_kem else ():
        assert {c.is_valid for c in known_answers(name, kind)} == {True, False}


def test_a_file_of_another_form_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    case = {"tgId": 1, "parameterSet": "ML-DSA-44", "tests": [{"tcId": 1, "seed": "00"}]}
    monkeypatch.setattr(examination, "_acvp", lambda *_: ({"testGroups": [case]},) * 2)
    known_answers.cache_clear()
    with pytest.raises(LabError, match=r"keyGen of ML-DSA-44 is not of the known form: .*'pk'"):
        known_answers("ML-DSA-44", "keygen")


# --- alterations ----------------------------------------------------------------------------------


SETS = list(PARAMETER_SETS.values())


def hint_bytes(p: ParameterSet, polynomials: list[list[int]]) -> bytes:
    """HintBitPack of the given indices of ones."""
    assert len(polynomials) == p.k
    indices = [i for poly in polynomials for i in poly]
    counters = [sum(map(len, polynomials[: i + 1])) for i in range(p.k)]
    return bytes([*indices, *[0] * (p.omega - len(indices)), *counters])


def unpack(p: ParameterSet, hint: bytes) -> list[list[int]] | None:
    """HintBitUnpack, written down from FIPS 204 Algorithm 21; None where it gives no hint."""
    index, polynomials = 0, []
    for i in range(p.k):
        counter = hint[p.omega + i]
        if counter < index or counter > p.omega:
            return None
        ones = list(hint[index:counter])
        if any(a >= b for a, b in itertools.pairwise(ones)):
            return None
        polynomials.append(ones)
        index = counter
    return None if any(hint[index : p.omega]) else polynomials


def signed(p: ParameterSet, seed: int = 1) -> Input:
    """Random bytes in the form of a signature with a well-formed hint."""
    rng = random.Random(seed)
    polynomials = [sorted(rng.sample(range(256), rng.randrange(5))) for _ in range(p.k - 1)]
    polynomials.insert(1, [3, 9, 200])
    signature = rng.randbytes(p.hint_offset) + hint_bytes(p, polynomials)
    pk = rng.randbytes(p.public_key_bytes)
    return Input(p.name, 1, bytes(32), b"m" * 20, b"c" * 4, pk=pk, output=signature)


def made(p: ParameterSet) -> tuple[bytes, list[Altered]]:
    """A signature and its alterations."""
    base = signed(p)
    return base.output or b"", list(alter(base, bytes(p.public_key_bytes), context=True))


@pytest.mark.parametrize("p", SETS, ids=lambda p: p.name)
def test_malformed_hints_are_malformed_and_the_shorter_one_is_not(p: ParameterSet) -> None:
    base, altered = made(p)
    original = unpack(p, base[p.hint_offset :])
    assert original is not None
    hints = {a.what: a.value for a in altered if a.check == "refuses-hint"}
    shorter = unpack(p, hints.pop("signature: an index left out")[p.hint_offset :])
    assert shorter is not None
    assert sum(map(len, shorter)) == sum(map(len, original)) - 1
    assert len(hints) >= 7
    for what, signature in hints.items():
        assert signature[: p.hint_offset] == base[: p.hint_offset], what
        assert unpack(p, signature[p.hint_offset :]) is None, what


@pytest.mark.parametrize("p", SETS, ids=lambda p: p.name)
def test_bits_are_flipped_where_they_should_be(p: ParameterSet) -> None:
    base, altered = made(p)
    changed = {
        a.what.removeprefix("signature: "): [i for i, x in enumerate(base) if a.value[i] != x]
        for a in altered
        if a.field == "signature" and len(a.value) == len(base)
    }
    assert changed["a bit of the first byte of c_tilde"] == [0]
    assert changed["a bit of the last byte of c_tilde"] == [p.c_tilde_bytes - 1]
    assert changed["a bit of the first byte of z"] == [p.c_tilde_bytes]
    assert changed["a bit of the last byte of z"] == [p.hint_offset - 1]
    assert p.hint_offset + p.omega + p.k == p.signature_bytes


def test_a_signature_without_two_hints_or_with_malformed_ones_is_altered_as_any() -> None:
    p = SETS[0]
    base = signed(p)
    sparse = (base.output or b"")[: p.hint_offset] + hint_bytes(p, [[5]] + [[]] * (p.k - 1))
    falling = sparse[: p.hint_offset + p.omega] + bytes([255] + [1] * (p.k - 1))
    assert suits(p, base.output or b"")
    for output in (sparse, falling):
        assert not suits(p, output)
        checks = {a.check for a in alter(replace(base, output=output), None, context=False)}
        assert {"refuses-c-tilde", "refuses-z", "refuses-hint"} <= checks
        assert "refuses-context" not in checks
