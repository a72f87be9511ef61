"""The core by itself, in both configurations, against the software library: what the gate of
`bench` does not reach. Keys, signatures and verdicts of many inputs are compared there."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterator
from itertools import accumulate, pairwise
from pathlib import Path

import pytest
from core import (
    BAD_COMMAND,
    BAD_HINT,
    BAD_KEY,
    BAD_OPERAND,
    BAD_SIGNATURE,
    KEYGEN,
    LOAD_SK,
    NO_KEY,
    OK,
    REFUSED,
    SETS,
    SIGN,
    VERIFY,
    Core,
    Packet,
    build,
    inputs,
    m_prime,
    mu,
    rejections,
)

from mldsa_lab.inputs import tracing
from mldsa_lab.inputs.input import Input
from mldsa_lab.sets import parameter_set


@pytest.fixture(scope="module", params=[True, False], ids=["fast", "small"])
def program(request: pytest.FixtureRequest) -> Path:
    return build(bool(request.param))


@pytest.fixture(params=[0, 1], ids=["", "stalls"])
def core(program: Path, request: pytest.FixtureRequest) -> Iterator[Core]:
    result = Core(program, stalls=int(request.param))
    yield result
    result.close()


@pytest.mark.parametrize("set_name", SETS)
def test_keys_signatures_and_counters(core: Core, set_name: str) -> None:
    built = inputs(set_name, 3)
    keys = core.run(KEYGEN, set_name, built[0].seed)
    out = built[0].outputs
    assert (keys.status, keys.packets) == (OK, [out.pk, out.sk])
    assert core.run(LOAD_SK, set_name, out.sk).status == OK
    for one in built:
        message = m_prime(one)
        for chosen, is_mu in ((message, False), (mu(out.pk, one), True)):
            signed = core.run(SIGN, set_name, one.signing_rnd, chosen, mu=is_mu)
            assert (signed.status, signed.packets) == (OK, [one.output])
            assert signed.attempts == len(one.trace)
            assert signed.rejected == rejections(one)
    for one in built:
        signature = one.output
        args = (out.pk, m_prime(one), signature)
        assert core.run(VERIFY, set_name, *args).status == OK
        args = (out.pk, mu(out.pk, one), signature)
        assert core.run(VERIFY, set_name, *args, mu=True).status == OK
        assert core.run(VERIFY, set_name, args[0], args[1] + b"x", signature).status == REFUSED


@pytest.mark.parametrize("set_name", SETS)
def test_malformed_operands(core: Core, set_name: str) -> None:
    """All operands are taken, the status says what is wrong, and the next operation is right."""
    (one,) = inputs(set_name, 1)
    p = parameter_set(set_name)
    pk, sk, signature = one.pk, one.sk, one.output
    rnd, message = one.signing_rnd, m_prime(one)

    def lengths(good: bytes) -> list[bytes]:
        return [b"", good[:-1], good[:-8], good[: len(good) // 2], good + b"x", good + bytes(8)]

    def signs() -> bool:
        return core.run(SIGN, set_name, rnd, message).packets == [signature]

    for bad in lengths(one.seed):
        assert core.run(KEYGEN, set_name, bad).status == BAD_OPERAND
    for bad in lengths(pk):
        assert core.run(VERIFY, set_name, bad, message, signature).status == BAD_KEY
    for bad in lengths(signature):
        assert core.run(VERIFY, set_name, pk, message, bad).status == BAD_SIGNATURE
    assert core.run(VERIFY, set_name, pk, bytes(63), signature, mu=True).status == BAD_OPERAND
    assert core.run(VERIFY, set_name, pk[:-1], message, b"").status == BAD_KEY
    for bad in lengths(sk):
        assert core.run(LOAD_SK, set_name, bad).status == BAD_KEY
    assert core.run(SIGN, set_name, rnd, message).status == NO_KEY
    short = 32 * (2 * p.eta).bit_length()
    draw = random.Random(set_name)
    for poly in (0, p.l - 1, p.l, p.l + p.k - 1):
        bad = bytearray(sk)
        bad[128 + short * poly + draw.randrange(short)] = 0xFF
        assert core.run(LOAD_SK, set_name, bytes(bad)).status == BAD_KEY
    assert core.run(SIGN, set_name, rnd, message).status == NO_KEY

    assert core.run(LOAD_SK, set_name, sk).status == OK
    assert core.run(SIGN, set_name, rnd[:31], message).status == BAD_OPERAND  # just after loading
    assert signs()
    other = next(name for name in SETS if name != set_name)
    assert core.run(LOAD_SK, set_name, sk).status == OK
    for _ in range(80):  # while what follows from the key is made
        assert core.run(SIGN, other, rnd, message).status == NO_KEY
    assert signs()
    assert core.run(SIGN, set_name, rnd, bytes(65), mu=True).status == BAD_OPERAND
    assert core.run(5, set_name).status == BAD_COMMAND
    assert core.run(SIGN, 3).status == BAD_COMMAND
    assert signs()
    assert core.run(VERIFY, set_name, pk, message, signature).status == OK
    assert core.run(SIGN, set_name, rnd, message).status == NO_KEY


@pytest.mark.parametrize("set_name", SETS)
def test_a_refused_command_leaves_the_loaded_key(program: Path, set_name: str) -> None:
    """Or drops it: whatever command comes in whatever cycle after loading, while t0 is transformed
    or later, signing gives the right signature or says that no key is loaded."""
    built = min(inputs(set_name, 8), key=lambda one: len(one.trace))
    sk, rnd, message = built.sk, built.signing_rnd, m_prime(built)
    other = SETS.index(next(name for name in SETS if name != set_name))
    number = SETS.index(set_name)
    keeping = [(op, 3, BAD_COMMAND, ()) for op in (KEYGEN, LOAD_SK, SIGN, VERIFY, 5, 6, 7)]
    keeping += [(op, number, BAD_COMMAND, ()) for op in (5, 6, 7)]
    keeping += [
        (SIGN, other, NO_KEY, (rnd, message)),
        (SIGN, number, BAD_OPERAND, (rnd[:31], message)),
        (SIGN, number, BAD_OPERAND, (rnd + b"x", message)),
    ]
    dropping = [
        (KEYGEN, number, BAD_OPERAND, (b"",)),
        (LOAD_SK, number, BAD_KEY, (sk[:8],)),
        (VERIFY, number, BAD_KEY, (b"", message, built.output)),
    ]
    draw = random.Random(set_name)
    core = Core(program)
    transform = 330 * parameter_set(set_name).k  # cycles after loading, at most
    for mu_flag in (False, True):
        for op, set_number, status, packets in (*keeping, *dropping):
            for wait in (draw.randrange(60), draw.randrange(transform)):
                assert core.run(LOAD_SK, set_name, sk).status == OK
                answer = core.run(op, set_number, *packets, wait=wait, mu=mu_flag)
                assert (answer.status, answer.packets) == (status, [])
                signed = core.run(SIGN, set_name, rnd, message, wait=draw.randrange(400))
                if status in (BAD_COMMAND, NO_KEY) or op == SIGN:
                    assert (signed.status, signed.packets) == (OK, [built.output]), op
                else:
                    assert (signed.status, signed.packets) == (NO_KEY, []), op
    core.close()


@pytest.mark.parametrize("set_name", SETS)
def test_a_message_word_of_more_than_eight_bytes(core: Core, set_name: str) -> None:
    """It is refused, whatever the length of the message before it."""
    (one,) = inputs(set_name, 1)
    out, rnd, message = one.outputs, one.signing_rnd, m_prime(one)
    assert core.run(LOAD_SK, set_name, out.sk).status == OK
    for count in range(9, 16):
        for data in (b"", message, bytes(8), bytes(136 - 64), bytes(136)):
            bad = Packet(data, count)
            assert core.run(SIGN, set_name, rnd, bad).status == BAD_OPERAND
        bad = Packet(message, count)
        assert core.run(VERIFY, set_name, out.pk, bad, out.signature).status == BAD_OPERAND
        assert core.run(LOAD_SK, set_name, out.sk).status == OK
        assert core.run(SIGN, set_name, rnd, Packet(rnd, count), mu=True).status == BAD_OPERAND
        assert core.run(SIGN, set_name, Packet(rnd, count), message).status == BAD_OPERAND
    assert core.run(SIGN, set_name, rnd, message).packets == [out.signature]
    assert core.run(VERIFY, set_name, out.pk, message, out.signature).status == OK


@pytest.mark.parametrize("set_name", SETS)
def test_no_word_of_a_key_shows_after_a_reset(program: Path, set_name: str) -> None:
    """Key generation is reset while K leaves it, then another key is loaded: the driver finds any
    word that shows before it is offered."""
    old, new = (inputs(set_name, 1, seed)[0] for seed in (1, 2))
    core = Core(program)
    whole = core.run(KEYGEN, set_name, old.seed)
    first_of_k = len(old.pk) // 8 + 4
    for words in range(first_of_k - 1, first_of_k + 6):
        low, high = 1, whole.cycles  # the first cycle by which so many words have left
        while low < high:
            middle = (low + high) // 2
            chosen = core.words_before(middle, KEYGEN, set_name, old.seed)
            low, high = (low, middle) if chosen is None or chosen >= words else (middle + 1, high)
        assert core.words_before(low, KEYGEN, set_name, old.seed) == words
        assert core.run(LOAD_SK, set_name, new.sk).status == OK
        signed = core.run(SIGN, set_name, new.signing_rnd, m_prime(new))
        assert signed.packets == [new.output]
    core.close()


def malformed_hints(signature: bytes, omega: int, k: int) -> Iterator[tuple[str, bytes]]:
    """Every way in which HintBitUnpack gives up."""
    start = len(signature) - omega - k
    counts = signature[-k:]
    ends = (0, *counts)

    def changed(at: int, *values: int) -> bytes:
        return signature[:at] + bytes(values) + signature[at + len(values) :]

    yield "a count over omega", changed(len(signature) - 1, omega + 1)
    yield "a count over omega, all bits", changed(start + omega, 0xFF)
    full = next(i for i in range(k) if counts[i] > 0)
    if full < k - 1:
        yield "counts that fall", changed(start + omega + k - 1, counts[full] - 1)
    for first, end in pairwise(ends):
        if end - first >= 2:
            a, b = signature[start + first : start + first + 2]
            yield "positions that fall", changed(start + first, b, a)
            yield "a position twice", changed(start + first, a, a)
            break
    if counts[-1] < omega:
        yield "something behind the last position", changed(start + omega - 1, 1)
        yield "something right behind it", changed(start + counts[-1], 0x80)


@pytest.mark.parametrize("set_name", SETS)
def test_malformed_hints_and_forgeries(core: Core, set_name: str) -> None:
    (one,) = inputs(set_name, 1)
    p = parameter_set(set_name)
    pk, signature, message = one.pk, one.output, m_prime(one)

    def verdict(forged: bytes) -> int:
        return core.run(VERIFY, set_name, pk, message, forged).status

    hints = list(malformed_hints(signature, p.omega, p.k))
    assert len(hints) >= 6
    for why, forged in hints:
        assert verdict(forged) == BAD_HINT, why
    c_tilde = p.lam // 4
    bits = 1 + (p.gamma1 - 1).bit_length()
    for at in (c_tilde, c_tilde + 32 * bits * p.l - 3):  # the first and the last coefficient of z
        number = int.from_bytes(signature, "little")
        shift = 8 * at if at == c_tilde else 8 * (c_tilde + 32 * bits * p.l) - bits
        for value in (0, 2 * p.gamma1 - 1):  # gamma1, -gamma1 + 1: beyond the norm
            mask = (1 << bits) - 1
            forged = number & ~(mask << shift) | (value << shift)
            assert verdict(forged.to_bytes(len(signature), "little")) == REFUSED
    assert verdict(bytes([signature[0] ^ 1]) + signature[1:]) == REFUSED
    assert verdict(signature) == OK


def test_reset_at_any_time(program: Path) -> None:
    """An operation cut off by a reset leaves nothing behind but the need to load the key again."""
    draw = random.Random(7)
    core = Core(program)
    for set_name in SETS:
        (one,) = inputs(set_name, 1)
        out, message = one.outputs, m_prime(one)
        operations: list[tuple[int, tuple[bytes, ...], list[bytes]]] = [
            (KEYGEN, (one.seed,), [out.pk, out.sk]),
            (SIGN, (one.signing_rnd, message), [out.signature]),
            (VERIFY, (out.pk, message, out.signature), []),
        ]
        for op, packets, results in operations:
            for _ in range(4):
                assert core.run(LOAD_SK, set_name, out.sk).status == OK
                broken = draw.choice(operations)
                core.reset_in(draw.randrange(1, 6000), broken[0], set_name, *broken[1])
                assert core.reset_in(draw.randrange(1, 700), LOAD_SK, set_name, out.sk)
                assert core.run(SIGN, set_name, one.signing_rnd, message).status == NO_KEY
                if op == SIGN:
                    assert core.run(LOAD_SK, set_name, out.sk).status == OK
                answer = core.run(op, set_name, *packets)
                assert (answer.status, answer.packets) == (OK, results)
    core.close()


def ball_steps(c_tilde: bytes, tau: int) -> int:
    """Cycles of SampleInBall, which depend on c_tilde alone: a byte each, and one more where an
    entry moves."""
    stream, steps, used = hashlib.shake_256(c_tilde).digest(136)[8:], 0, set[int]()
    at = 0
    for i in range(256 - tau, 256):
        while (j := stream[at]) > i:
            at += 1
        at += 1
        steps += j in used
        used |= {i} if j in used else set()
        used.add(j)
    return at + steps


@pytest.mark.parametrize("set_name", SETS)
def test_time_depends_on_nothing_secret(program: Path, set_name: str) -> None:
    """Signatures with other secrets whose first attempt is accepted take equally long where
    SampleInBall takes as many steps, which follow from c_tilde, and in SMALL ExpandA, which follows
    from rho: there K alone differs, and with it y."""
    p = parameter_set(set_name)
    draw = random.Random(set_name)
    library_ = tracing.load()
    times: dict[int, set[int]] = {}
    count = 0
    core = Core(program)
    for _ in range(4 if "fast" in program.parts[-2] else 1):
        (key,) = library_.sign(set_name, [Input(set_name, 0, draw.randbytes(32))])
        keys = [key.sk[:32] + draw.randbytes(32) + key.sk[64:] for _ in range(60)]
        drawn = [Input(set_name, 0, None, draw.randbytes(20), sk=sk) for sk in keys]
        built = [one for one in library_.make(set_name, drawn) if len(one.trace) == 1][:10]
        count += len(built)
        for one in built:
            assert core.run(LOAD_SK, set_name, one.sk).status == OK
            for _ in range(2):  # the second time nothing of loading is left to do
                answer = core.run(SIGN, set_name, one.signing_rnd, m_prime(one))
            assert answer.packets == [one.output]
            steps = ball_steps(one.output[: p.lam // 4], p.tau)
            total = answer.load + answer.compute + answer.store
            times.setdefault(steps, set()).add(total)
    core.close()
    assert len(times) < count, "no two that can be compared"
    assert all(len(result) == 1 for result in times.values()), times


@pytest.mark.parametrize("set_name", SETS)
def test_any_operand_may_be_late(program: Path, set_name: str) -> None:
    """A word may come when all else is long done: the first and last of each part of an operand."""
    (one,) = inputs(set_name, 1)
    p = parameter_set(set_name)
    out, message = one.outputs, m_prime(one)

    def pauses(*parts: int) -> set[int]:
        """Around the ends of parts of so many bytes, in words."""
        ends = accumulate(-(-part // 8) for part in parts)
        return {at for end in ends for at in (end - 1, end)}

    z = 32 * p.l * (1 + (p.gamma1 - 1).bit_length())
    short = 32 * (2 * p.eta).bit_length()
    core = Core(program)
    for at in pauses(32, 32, 64, short * p.l, short * p.k, 416 * p.k):
        assert core.run(LOAD_SK, set_name, out.sk, pause=at).status == OK
    for at in pauses(32, len(message)):
        args = (one.signing_rnd, message)
        assert core.run(SIGN, set_name, *args, pause=at).packets == [out.signature]
    for at in pauses(32, 320 * p.k, len(message), p.lam // 4, z, p.omega + p.k):
        args = (out.pk, message, out.signature)
        assert core.run(VERIFY, set_name, *args, pause=at).status == OK, at
    core.close()
