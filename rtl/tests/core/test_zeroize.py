"""Zeroization: by command, by the input `zeroize` in any cycle, and where signing gives up. The
tests search all state of the model for secrets, which must be there before and not after."""

from __future__ import annotations

import hashlib
import random
from pathlib import Path

import pytest
from core import (
    KEYGEN,
    LIMIT,
    LOAD_SK,
    NO_KEY,
    OK,
    SETS,
    SIGN,
    VERIFY,
    ZEROIZE,
    Core,
    build,
    inputs,
    m_prime,
    mu,
)

from mldsa_lab.inputs import tracing
from mldsa_lab.inputs.input import Input
from mldsa_lab.sets import ParameterSet, parameter_set

CYCLES = {"fast": 2080, "small": 544}
"""From the command, or the input, to the response, or to the next command: less two."""
ATTEMPTS = {"ML-DSA-44": 16384, "ML-DSA-65": 13107, "ML-DSA-87": 9362}
"""For which kappa has room."""


@pytest.fixture(scope="module", params=["fast", "small"])
def program(request: pytest.FixtureRequest) -> Path:
    return build(request.param == "fast")


def configuration(program: Path) -> str:
    return program.parent.name.removeprefix("driver-")


def split(data: bytes, size: int) -> list[bytes]:
    return [data[at : at + size] for at in range(0, len(data), size)]


def secrets_of(one: Input, p: ParameterSet) -> dict[str, list[bytes]]:
    """Return secrets by name, as words of packed bytes: the model holds them so at some time."""
    sk, seed = one.sk, one.seed
    assert seed is not None
    expanded = hashlib.shake_256(seed + bytes([p.k, p.l])).digest(128)
    assert expanded[96:] == sk[32:64]
    rho2 = hashlib.shake_256(sk[32:64] + one.signing_rnd + mu(one.pk, one)).digest(64)
    end = 128 + 32 * (2 * p.eta).bit_length() * (p.l + p.k)
    secrets = {
        "xi": seed, "K": sk[32:64], "rho'": expanded[32:96], "rho''": rho2,
        "s1 and s2": sk[128:end],
    }  # fmt: skip
    return {name: split(value, 8) for name, value in secrets.items()}


def find_secrets(state: dict[str, bytes], secrets: dict[str, list[bytes]]) -> set[str]:
    """Names of secrets of which a word is anywhere in the state."""
    whole = b"\xff".join(state.values())
    return {name for name, values in secrets.items() if any(v in whole for v in values)}


def differing(state: dict[str, bytes], other: dict[str, bytes], *but: str) -> list[str]:
    return [
        name
        for name, value in state.items()
        if value != other[name] and name.removeprefix("mldsa_core.") not in but
    ]


def rejected_input(set_name: str, rejections: int) -> Input:
    """A random input whose signing rejects so many attempts, or a few more."""
    draw = random.Random(f"{set_name} {rejections}")
    while True:
        seed, message, rnd = draw.randbytes(32), draw.randbytes(20), draw.randbytes(32)
        (built,) = tracing.load().make(set_name, [Input(set_name, 0, seed, message, rnd=rnd)])
        if rejections < len(built.trace) <= rejections + 2:
            return built


@pytest.mark.parametrize("set_name", SETS)
def test_a_search_of_all_state_finds_no_secret_any_more(program: Path, set_name: str) -> None:
    """The search finds each secret before. After, every register and memory is as in a core that
    has never held a key, whatever its first values were."""
    kind, p = configuration(program), parameter_set(set_name)
    clean = Core(program, seed=11)
    answer = clean.run(ZEROIZE, set_name)
    assert (answer.status, answer.cycles) == (OK, CYCLES[kind] + 2)
    untouched = clean.state()
    clean.close()

    (one,) = inputs(set_name, 1)
    secrets = secrets_of(one, p)
    core = Core(program, seed=12)
    assert find_secrets(core.state(), secrets) == set()
    there = set()
    assert core.run(KEYGEN, set_name, one.seed).packets == [one.pk, one.sk]
    there |= find_secrets(core.state(), secrets)
    assert core.run(LOAD_SK, set_name, one.sk).status == OK
    there |= find_secrets(core.state(), secrets)
    for _ in range(2):
        signed = core.run(SIGN, set_name, one.signing_rnd, m_prime(one))
        assert signed.packets == [one.output]
    there |= find_secrets(core.state(), secrets)
    assert there == set(secrets)
    assert differing(core.state(), untouched)
    answer = core.run(ZEROIZE, 3, mu=True)  # the set does not matter
    assert (answer.status, answer.cycles, answer.packets) == (OK, CYCLES[kind] + 2, [])
    assert find_secrets(core.state(), secrets) == set()
    assert differing(core.state(), untouched) == []
    assert core.run(SIGN, set_name, one.signing_rnd, m_prime(one)).status == NO_KEY
    assert core.run(KEYGEN, set_name, one.seed).packets == [one.pk, one.sk]
    core.close()


@pytest.mark.parametrize("set_name", SETS)
def test_the_input_clears_all_state_in_any_cycle(program: Path, set_name: str) -> None:
    kind, draw = configuration(program), random.Random(set_name)
    clean = Core(program, seed=21)
    assert clean.zeroize_in(1, SIGN, set_name) == CYCLES[kind] + 1
    untouched = clean.state()
    clean.close()
    (one,) = inputs(set_name, 1)
    out, message = one.outputs, m_prime(one)
    operations = {
        KEYGEN: (one.seed,),
        LOAD_SK: (out.sk,),
        SIGN: (one.signing_rnd, message),
        VERIFY: (out.pk, message, out.signature),
    }
    core = Core(program, seed=22)
    for op, packets in operations.items():
        assert op != SIGN or core.run(LOAD_SK, set_name, out.sk).status == OK
        whole = core.run(op, set_name, *packets)
        assert whole.status == OK
        for _ in range(4):
            assert core.run(LOAD_SK, set_name, out.sk).status == OK
            cycles = core.zeroize_in(draw.randrange(1, whole.cycles), op, set_name, *packets)
            assert cycles == CYCLES[kind] + 1
            assert differing(core.state(), untouched) == []
            assert core.run(SIGN, set_name, one.signing_rnd, message).status == NO_KEY
    core.close()


@pytest.mark.parametrize("set_name", SETS)
def test_the_last_attempt_and_the_end_behind_it(program: Path, set_name: str) -> None:
    """The attempt with the last kappa may be accepted. Once it is rejected the core clears itself
    and says LIMIT. The counter is set instead of signing for minutes."""
    kind = configuration(program)
    one = rejected_input(set_name, 2)
    rejections, most = len(one.trace) - 1, ATTEMPTS[set_name]
    message = m_prime(one)
    core = Core(program, seed=31)
    assert core.run(LOAD_SK, set_name, one.sk).status == OK
    full = core.run(SIGN, set_name, one.signing_rnd, message)
    last = core.run(SIGN, set_name, one.signing_rnd, message, attempts=most - 1 - rejections)
    assert (last.status, last.packets) == (OK, [one.output])
    assert (last.attempts, last.rejected) == (most, full.rejected)

    over = core.run(SIGN, set_name, one.signing_rnd, message, attempts=most - rejections)
    assert (over.status, over.packets, over.attempts) == (LIMIT, [], most)
    assert CYCLES[kind] < over.cycles < full.cycles + CYCLES[kind]
    clean = Core(program, seed=32)
    assert clean.run(ZEROIZE, set_name).status == OK
    state = core.state()
    counters = [name for name in state if name.startswith("cnt_")]
    assert differing(state, clean.state(), "status", "rsp_status", "storing", *counters) == []
    clean.close()
    assert core.run(SIGN, set_name, one.signing_rnd, message).status == NO_KEY
    assert core.run(LOAD_SK, set_name, one.sk).status == OK
    assert core.run(SIGN, set_name, one.signing_rnd, message).packets == [one.output]
    core.close()
