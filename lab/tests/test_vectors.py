"""The known answers are all there and have FIPS 204's sizes."""

from __future__ import annotations

import hashlib

import pytest

from mldsa_lab.bench.vectors import keygen_cases, siggen_cases, sigver_cases
from mldsa_lab.sets import PARAMETER_SETS, ParameterSet


@pytest.mark.parametrize("p", PARAMETER_SETS.values(), ids=lambda p: p.name)
def test_cases(p: ParameterSet) -> None:
    keys = keygen_cases(p.name)
    assert len(keys) == 25
    assert {(len(c.seed), len(c.pk), len(c.sk)) for c in keys} == {
        (32, p.public_key_bytes, p.private_key_bytes)
    }
    # skEncode: rho, K, tr = SHAKE256(pk, 64), ...
    assert all(c.sk[64:128] == hashlib.shake_256(c.pk).digest(64) for c in keys)
    for deterministic in (True, False):
        signed = siggen_cases(p.name, deterministic=deterministic)
        assert len(signed) == 15
        rnds = [bytes(32) if c.rnd is None else c.rnd for c in signed]
        assert {
            (len(c.sk), len(c.signature), len(r)) for c, r in zip(signed, rnds, strict=True)
        } == {(p.private_key_bytes, p.signature_bytes, 32)}
        assert all((c.rnd is None) == deterministic for c in signed)
    verified = sigver_cases(p.name)
    assert len(verified) == 15
    assert {c.valid for c in verified} == {True, False}
