"""The known answers are all there and have FIPS 204's sizes."""

from __future__ import annotations

import hashlib

import pytest

from mldsa_lab.errors import LabError
from mldsa_lab.sets import PARAMETER_SETS, SCHEMES, ParameterSet, sets_of
from mldsa_lab.worker import vectors
from mldsa_lab.worker.vectors import known_answers


@pytest.mark.parametrize("p", PARAMETER_SETS.values(), ids=lambda p: p.name)
def test_cases(p: ParameterSet) -> None:
    keys = known_answers(p.name, "keygen")
    assert len(keys) == 25
    assert {(len(c.seed or b""), len(c.pk or b""), len(c.sk or b"")) for c in keys} == {
        (32, p.public_key_bytes, p.private_key_bytes)
    }
    # skEncode: rho, K, tr = SHAKE256(pk, 64), ...
    assert all((c.sk or b"")[64:128] == hashlib.shake_256(c.pk or b"").digest(64) for c in keys)
    for kind, rnd in (("siggen", {None}), ("siggen-hedged", {32})):
        signed = known_answers(p.name, kind)
        assert len(signed) == 15 and {c.rnd and len(c.rnd) for c in signed} == rnd
        assert {(len(c.sk or b""), len(c.output or b"")) for c in signed} == {
            (p.private_key_bytes, p.signature_bytes)
        }
    verified = known_answers(p.name, "sigver")
    assert len(verified) == 15
    assert {c.valid for c in verified} == {True, False}


@pytest.mark.parametrize("name", [*sets_of("slh-dsa"), *sets_of("ml-kem")])
def test_sizes_are_those_of_the_schemes(name: str) -> None:
    scheme = SCHEMES[name]
    sizes = (scheme.seed_bytes, scheme.public_key_bytes, scheme.private_key_bytes)
    made = known_answers(name, "keygen")
    assert {(len(c.seed or b""), len(c.pk or b""), len(c.sk or b"")) for c in made} == {sizes}
    is_kem = scheme.family == "ml-kem"
    given = known_answers(name, "encaps" if is_kem else "siggen-hedged")
    assert len(given) == (25 if is_kem else 3 if scheme.slow else 7)
    assert {(len(c.rnd or b""), len(c.output or b"")) for c in given} == {
        (scheme.rnd_bytes, scheme.output_bytes)
    }
    if is_kem:
        assert len(known_answers(name, "decaps")) == 10
        for kind in ("public-keys", "private-keys"):
            assert {c.valid for c in known_answers(name, kind)} == {True, False}
    else:
        assert all(c.rnd is None for c in known_answers(name, "siggen"))


def test_a_file_of_another_form_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    case = {"tgId": 1, "parameterSet": "ML-DSA-44", "tests": [{"tcId": 1, "seed": "00"}]}
    monkeypatch.setattr(vectors, "_acvp", lambda *_: ({"testGroups": [case]},) * 2)
    known_answers.cache_clear()
    with pytest.raises(LabError, match=r"keyGen of ML-DSA-44 is not of the known form: .*'pk'"):
        known_answers("ML-DSA-44", "keygen")
