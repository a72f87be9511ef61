"""Alterations change what they say, and only that."""

from __future__ import annotations

import itertools
import random
from dataclasses import replace

import pytest

from mldsa_lab.sets import PARAMETER_SETS, ParameterSet
from mldsa_lab.worker.alter import Altered, alter, suits
from mldsa_lab.worker.request import Item

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


def signed(p: ParameterSet, seed: int = 1) -> Item:
    """Random bytes in the form of a signature with a well-formed hint."""
    rng = random.Random(seed)
    polynomials = [sorted(rng.sample(range(256), rng.randrange(5))) for _ in range(p.k - 1)]
    polynomials.insert(1, [3, 9, 200])
    signature = rng.randbytes(p.hint_offset) + hint_bytes(p, polynomials)
    pk = rng.randbytes(p.public_key_bytes)
    return Item(p.name, 1, bytes(32), b"m" * 20, b"c" * 4, pk=pk, output=signature)


def made(p: ParameterSet) -> tuple[bytes, list[Altered]]:
    """A signature and its alterations."""
    base = signed(p)
    return base.output or b"", list(alter(base, bytes(p.public_key_bytes), context=True))


@pytest.mark.parametrize("p", SETS, ids=lambda p: p.name)
def test_each_alteration_is_different_from_the_base(p: ParameterSet) -> None:
    base, altered = signed(p), made(p)[1]
    assert len({a.what for a in altered}) == len(altered)
    good = {
        "signature": base.output,
        "message": base.message,
        "context": base.context,
        "pk": base.pk,
    }
    assert {a.field for a in altered} == set(good)
    assert all(a.value != good[a.field] for a in altered)


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


def test_a_signature_without_two_hints_in_a_polynomial_is_altered_as_any() -> None:
    p = SETS[0]
    base = signed(p)
    sparse = (base.output or b"")[: p.hint_offset] + hint_bytes(p, [[5]] + [[]] * (p.k - 1))
    assert suits(p, base.output or b"") and not suits(p, sparse)
    checks = {a.check for a in alter(replace(base, output=sparse), None, context=False)}
    assert "refuses-signature" in checks and not {"refuses-hint", "refuses-context"} & checks
