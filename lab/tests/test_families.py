"""Schemes beside ML-DSA: the table of them, known answers, inputs and the gate's checks."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from typing import Any

import conforming_worker as toy
import pytest

from mldsa_lab.bench import gate_plain, vectors
from mldsa_lab.bench.examination import Examination
from mldsa_lab.bench.material import PlainInput, Sizes, plain_inputs
from mldsa_lab.bench.workloads.operations import make_cell
from mldsa_lab.records import Variant
from mldsa_lab.sets import SCHEMES, sets_of
from mldsa_lab.worker.protocol import JobInput, Output, ProtocolError, parse_hello

SIZES = Sizes(design=0, random=3, pool=0, message_bytes=32)
PARTS = ("seed", "sk", "pk", "message", "context", "rnd", "signature", "ciphertext")


@pytest.mark.parametrize("name", [*sets_of("slh-dsa"), *sets_of("ml-kem")])
def test_sizes_are_those_of_the_known_answers(name: str) -> None:
    scheme = SCHEMES[name]
    sizes = (scheme.public_key_bytes, scheme.private_key_bytes)
    made = vectors.keygen_cases(name)
    assert {(len(c.seed), len(c.pk), len(c.sk)) for c in made} == {(scheme.seed_bytes, *sizes)}
    if scheme.family == "ml-kem":
        given = {(len(c.rnd), len(c.ciphertext)) for c in vectors.encaps_cases(name)}
        assert given == {(scheme.rnd_bytes, scheme.output_bytes)}
        assert len(vectors.encaps_cases(name)) == 25 and len(vectors.decaps_cases(name)) == 10
        for key in ("ek", "dk"):
            assert {c.valid for c in vectors.key_check_cases(name, key)} == {True, False}
        return
    signed = vectors.siggen_cases(name, deterministic=False)
    assert {(len(c.rnd or b""), len(c.signature)) for c in signed} == {
        (scheme.rnd_bytes, scheme.output_bytes)
    }
    assert len(signed) == (3 if scheme.slow else 7)
    assert all(c.rnd is None for c in vectors.siggen_cases(name, deterministic=True))


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
    about, family = toy.VARIANTS[name], toy.family_of(name)
    implementation, backend, key = name.split(":")
    fields: dict[str, Any] = {
        "id": name, "implementation": implementation, "version": "1", "backend": backend,
        "key": key, "family": family, "sets": tuple(toy.SETS[family]),
        "operations": toy.operations_of(name), "rnd": about["rnd"],
        "context": about["context"] == "yes",
    } | changed  # fmt: skip
    return Variant(**fields)


class Toys:
    """A fleet whose only station performs operations by the toy worker's functions."""

    def __init__(
        self,
        spoil: Callable[[str, bytes], bytes] = lambda operation, value: value,
        others: Sequence[Variant] = (),
    ):
        self.spoil, self.others = spoil, others

    def station(self, _: str) -> Toys:
        return self

    def private_keys(self, name: str) -> Sequence[str]:
        return ("sk",) if "fn" in name else ("seed", "sk")

    def variants(self) -> list[tuple[Variant, None]]:
        return [(v, None) for v in self.others]

    def answer(
        self, name: str, set_name: str, operation: str, inputs: Sequence[JobInput]
    ) -> dict[int, Output]:
        found = {}
        for item in inputs:
            fields = {p: v for p in PARTS if (v := getattr(item, p)) is not None}
            try:
                self._check(operation, item)
                value, sk = toy.perform((name, set_name, operation, []), fields)
            except toy.Failed as error:
                found[item.id] = Output(item.id, None, failure=str(error))
                continue
            if operation == "decaps" and value == toy.mix(32, item.seed, item.ciphertext):
                z_and_c = (item.seed or b"")[32:] + (item.ciphertext or b"")
                value = hashlib.shake_256(z_and_c).digest(32)
            found[item.id] = Output(item.id, self.spoil(operation, value), sk)
        return found

    @staticmethod
    def _check(operation: str, item: JobInput) -> None:
        """A toy key has no coefficients; this one may not begin with ones."""
        if operation == "encaps" and (item.pk or b"").startswith(b"\xff\xff"):
            raise toy.Failed("a coefficient is not reduced")


def examined(name: str, set_name: str, toys: Toys) -> Examination:
    """The checks of the run's inputs, which a sound toy made, and with it on the other side."""
    v = variant(name)
    made = gate_plain.make(Toys(), set_name, plain_inputs(set_name, bytes(32), SIZES), [v])  # type: ignore[arg-type]
    exam = Examination(toys, v, set_name)  # type: ignore[arg-type]
    gate_plain.examine(exam, made)
    gate_plain.cross(exam, Examination(Toys(), v, set_name), made)  # type: ignore[arg-type]
    return exam


CASES = [
    ("toyslh:python:compact", "SLH-DSA-SHA2-128f"),
    ("toyfn:python:compact", "FN-DSA-512"),
    ("toykem:python:compact", "ML-KEM-512"),
]


@pytest.mark.parametrize(("name", "set_name"), CASES)
def test_a_sound_implementation_passes(name: str, set_name: str) -> None:
    exam = examined(name, set_name, Toys())
    assert exam.passed, exam.reason
    assert all(c.cases for c in exam.checks)
    kinds = {c.check.split("-")[0] for c in exam.checks}
    kem = {"others", "encaps", "decaps", "rejects", "refuses"}
    signs = {"signs", "verifies", "verified", "refuses"}
    assert kinds - {"others"} == (kem - {"others"} if "KEM" in set_name else signs)


@pytest.mark.parametrize(
    ("name", "set_name", "operation", "spoil", "check"),
    [
        (*CASES[0], "keygen", lambda v: v[:-1] + b"x", "others-keygen"),
        (*CASES[0], "sign", lambda v: v[:-1], "signs"),
        (*CASES[1], "sign", lambda v: v[:-1] + b"x", "verifies-own"),
        (*CASES[0], "verify", lambda v: b"\0", "verifies-own"),
        (*CASES[1], "verify", lambda v: b"\1", "refuses-signature"),
        (*CASES[2], "encaps", lambda v: v[:-1] + b"x", "encaps"),
        (*CASES[2], "decaps", lambda v: v[:-1] + b"x", "decaps-own"),
    ],
)
def test_a_wrong_implementation_is_named(
    name: str, set_name: str, operation: str, spoil: Callable[[bytes], bytes], check: str
) -> None:
    exam = examined(name, set_name, Toys(lambda o, v: spoil(v) if o == operation else v))
    assert not exam.passed
    assert check in [c.check for c in exam.checks if c.failed]


def test_no_implicit_rejection_is_named() -> None:
    class Explicit(Toys):
        @staticmethod
        def _check(operation: str, item: JobInput) -> None:
            Toys._check(operation, item)
            sent = (item.ciphertext or b"")[:32]
            if operation == "decaps" and item.ciphertext != sent + toy.mix(736, item.pk, sent):
                raise toy.Failed("altered")

    exam = examined(*CASES[2], Explicit())
    assert [c.check for c in exam.checks if c.failed] == ["rejects-ciphertext"]


def test_keys_that_nobody_makes_are_published_ones() -> None:
    drawn = plain_inputs("ML-KEM-512", bytes(32), SIZES)
    v = variant(CASES[2][0], operations=("encaps", "decaps"))
    made = gate_plain.make(Toys(), "ML-KEM-512", drawn, [v])  # type: ignore[arg-type]
    known = vectors.keygen_cases("ML-KEM-512")[: len(drawn)]
    assert [(m.row.seed, m.pk, m.sk) for m in made] == [(c.seed, c.pk, c.sk) for c in known]
    assert all(m.output and m.secret for m in made)


def test_keys_of_a_variant_that_makes_none_are_its_siblings() -> None:
    name, set_name = CASES[1]
    v = variant(name, operations=("sign", "verify"))
    for others, passes in (((variant(name),), True), ((), False)):
        toys = Toys(others=others)
        exam = Examination(toys, v, set_name)  # type: ignore[arg-type]
        gate_plain.known_answers(exam)
        assert exam.passed is passes
        drawn = plain_inputs(set_name, bytes(32), SIZES)
        made = gate_plain.make(toys, set_name, drawn, [v])  # type: ignore[arg-type]
        gate_plain.examine(exam, made)
        assert exam.passed is passes
    assert exam.reason == "inputs: all: no implementation that has passed makes keys (1 of 1)"


def test_cells_hand_over_what_the_operation_takes() -> None:
    """And expect outputs only where they follow from that."""
    kem, fn = variant(CASES[2][0]), variant(CASES[1][0])
    row = plain_inputs("ML-KEM-512", bytes(32), SIZES)[0].row
    made = PlainInput(row, pk=b"pk", sk=b"sk", output=b"c", secret=b"K")

    def digest(data: bytes) -> dict[int, bytes]:
        return {0: hashlib.sha256(data).digest()}

    cell = make_cell(kem, "ML-KEM-512", "encaps", [made])
    assert cell.inputs == [JobInput(0, pk=b"pk", rnd=row.rnd)]
    assert cell.expected == digest(b"cK")
    own = make_cell(variant("toykemseed:python:expanded"), "ML-KEM-512", "encaps", [made])
    assert own.inputs == [JobInput(0, pk=b"pk")] and own.expected == {} and not own.random
    cell = make_cell(kem, "ML-KEM-512", "decaps", [made])
    assert cell.inputs == [JobInput(0, seed=row.seed, sk=b"sk", pk=b"pk", ciphertext=b"c")]
    assert cell.expected == digest(b"K")
    made = PlainInput(plain_inputs("FN-DSA-512", bytes(32), SIZES)[0].row, b"pk", b"sk", b"s")
    cell = make_cell(fn, "FN-DSA-512", "sign", [made])
    assert cell.inputs[0].seed is None and cell.inputs[0].rnd is None
    assert cell.random and cell.expected == {}
    assert make_cell(fn, "FN-DSA-512", "keygen", [made]).expected == {}
    assert make_cell(fn, "FN-DSA-512", "verify", [made]).expected == digest(b"\1")
