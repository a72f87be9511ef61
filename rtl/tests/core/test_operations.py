"""The core with one operation alone: it does this one as the whole core does, and refuses the
others."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

import pytest
from core import (
    BAD_COMMAND,
    BAD_KEY,
    KEYGEN,
    LOAD_SK,
    OK,
    OPERATIONS,
    REFUSED,
    SETS,
    SIGN,
    VERIFY,
    ZEROIZE,
    Core,
    build,
    inputs,
    lint,
    m_prime,
    rejections,
)

PARTS = [chosen for count in (1, 2) for chosen in combinations(OPERATIONS, count)]


@pytest.mark.parametrize("operations", PARTS, ids="-".join)
@pytest.mark.parametrize("fast", [True, False], ids=["fast", "small"])
def test_every_configuration_passes_lint(fast: bool, operations: tuple[str, ...]) -> None:
    lint(fast, operations)


@pytest.fixture(scope="module", params=[True, False], ids=["fast", "small"])
def verifier(request: pytest.FixtureRequest) -> Iterator[Core]:
    core = Core(build(bool(request.param), ("VERIFY",)), stalls=1)
    yield core
    core.close()


@pytest.mark.parametrize("set_name", SETS)
def test_a_verifier_accepts_and_rejects(verifier: Core, set_name: str) -> None:
    number = SETS.index(set_name)
    for one in inputs(set_name, 2):
        pk, signature, message = one.pk, one.output, m_prime(one)
        for op in (KEYGEN, LOAD_SK, SIGN, 5):
            assert verifier.run(op, number).status == BAD_COMMAND
        assert verifier.run(VERIFY, set_name, pk, message, signature).status == OK
        assert verifier.run(VERIFY, set_name, pk, message + b"x", signature).status == REFUSED
        assert verifier.run(VERIFY, set_name, pk[:-1], message, signature).status == BAD_KEY
        for at in (0, 40, len(signature) // 2, len(signature) - 1):
            bad = bytearray(signature)
            bad[at] ^= 1
            assert verifier.run(VERIFY, set_name, pk, message, bytes(bad)).status != OK
        assert verifier.run(ZEROIZE, number).status == OK


def test_a_signer_signs() -> None:
    core = Core(build(False, ("SIGN",)), stalls=1)
    for set_name in SETS:
        (one,) = inputs(set_name, 1)
        for op in (KEYGEN, VERIFY):
            assert core.run(op, set_name).status == BAD_COMMAND
        assert core.run(LOAD_SK, set_name, one.sk).status == OK
        signed = core.run(SIGN, set_name, one.signing_rnd, m_prime(one))
        assert (signed.status, signed.packets) == (OK, [one.output])
        assert signed.rejected == rejections(one)
    core.close()


def test_a_generator_of_keys_makes_them() -> None:
    core = Core(build(False, ("KEYGEN",)), stalls=1)
    for set_name in SETS:
        for one in inputs(set_name, 2):
            for op in (LOAD_SK, SIGN, VERIFY):
                assert core.run(op, set_name).status == BAD_COMMAND
            keys = core.run(KEYGEN, set_name, one.seed)
            assert (keys.status, keys.packets) == (OK, [one.pk, one.sk])
    core.close()
