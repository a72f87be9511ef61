"""Generated inputs: what they follow from, and what is refused."""

from __future__ import annotations

import pytest

from mldsa_lab.errors import LabError
from mldsa_lab.files import convert, plain
from mldsa_lab.inputs.spec import Spec

SEED = bytes(range(32))


@pytest.mark.parametrize("per_key", [0, 1, 3])
@pytest.mark.parametrize("rnd", ["zero", "given"])
def test_inputs_do_not_depend_on_how_many_are_taken(per_key: int, rnd: str) -> None:
    spec = Spec("ML-DSA-65", SEED, 40, 5, per_key, rnd)  # type: ignore[arg-type]
    many = spec.inputs(0, 10)
    assert [spec.input(i) for i in range(10)] == many
    assert spec.inputs(4, 3) == many[4:7]
    assert len({item.message for item in many}) == 10
    assert all(len(i.message) == 40 and len(i.context) == 5 and len(i.rnd) == 32 for i in many)
    keys = {0: 1, 1: 10, 3: 4}[per_key]
    assert len({item.xi for item in many}) == keys
    assert len({item.rnd for item in many}) == (1 if rnd == "zero" else 10)
    if rnd == "zero":
        assert many[0].rnd == bytes(32)


def test_sets_and_seeds_give_other_inputs() -> None:
    one = Spec("ML-DSA-44", SEED).input(0)
    assert Spec("ML-DSA-65", SEED).input(0) != one
    assert Spec("ML-DSA-44", bytes(32)).input(0) != one
    assert Spec("ML-DSA-44", SEED, rnd="given").input(0).rnd != bytes(32)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"set": "ML-DSA-66"}, "unknown parameter set"),
        ({"seed": "00"}, "seed of 1 bytes: must have 32"),
        ({"seed": "xy"}, "seed: must be bytes in hexadecimal"),
        ({"message_bytes": -1}, "message size -1"),
        ({"message_bytes": True}, "message_bytes: must be a whole number"),
        ({"context_bytes": 256}, "context size 256"),
        ({"per_key": -1}, "inputs per key -1"),
        ({"rnd": "random"}, "rnd: 'random' must be one of given, zero"),
    ],
)
def test_bad_values_are_named(change: dict[str, object], message: str) -> None:
    value = plain(Spec("ML-DSA-44", SEED)) | change
    with pytest.raises(LabError, match=f"^here.*{message}"):
        convert(value, Spec, "here")
