"""Altered inputs that a verifier must refuse, made from one signature that it must accept.

A signature is c_tilde || z || hint (FIPS 204 Algorithm 26, sigEncode). The packed hint is omega
indices of which the first hint[omega + k - 1] are used, then k counters (Algorithm 20,
HintBitPack): the used indices of one polynomial stand in strictly rising order, the counters
never fall, and unused index bytes are zero (Algorithm 21, HintBitUnpack, refuses anything else).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from mldsa_lab.bench.material import verify_job
from mldsa_lab.errors import LabError
from mldsa_lab.inputs.input import Input
from mldsa_lab.sets import CONTEXT_BYTES_MAX, ParameterSet
from mldsa_lab.worker.protocol import JobInput


@dataclass(frozen=True, slots=True)
class Altered:
    """One input to be refused: the check it belongs to, and what was done to it."""

    check: str
    what: str
    job: JobInput


def suits(p: ParameterSet, signature: bytes) -> bool:
    """Whether every hint alteration can be made of this signature.

    It needs a polynomial with two hints that are not neighbours at the index limit, and an unused
    index byte.
    """
    hint = signature[p.hint_offset :]
    return hint[p.omega + p.k - 1] < p.omega and _pair(p, hint) is not None


def _pair(p: ParameterSet, hint: bytes) -> int | None:
    """The position of the first of two indices of the same polynomial."""
    start = 0
    for counter in hint[p.omega :]:
        if counter - start >= 2:
            return start
        start = counter
    return None


def alter(p: ParameterSet, base: Input, other_pk: bytes) -> list[Altered]:
    """Every alteration of a signature for which `suits` holds; `other_pk` is another valid key."""
    s = base.made.signature
    if len(s) != p.signature_bytes or not suits(p, s):
        raise LabError(f"alter: the {p.name} signature must be whole and have two hints in a row")
    return [
        *_c_tilde_and_z(p, base),
        *_hints(p, base),
        *_lengths(p, base),
        *_message_and_context(base),
        *_keys(base, other_pk),
    ]


def _changed(base: Input, check: str, what: str, signature: bytes) -> Altered:
    """The input with another signature."""
    return Altered(check, what, verify_job(base, signature))


def _flip(data: bytes, position: int, bit: int = 0) -> bytes:
    changed = bytearray(data)
    changed[position] ^= 1 << bit
    return bytes(changed)


def _put(data: bytes, values: dict[int, int]) -> bytes:
    changed = bytearray(data)
    for position, value in values.items():
        changed[position] = value
    return bytes(changed)


def _c_tilde_and_z(p: ParameterSet, base: Input) -> list[Altered]:
    s = base.made.signature
    c_tilde = {"first": 0, "middle": p.c_tilde_bytes // 2, "last": p.c_tilde_bytes - 1}
    z = {"first": p.c_tilde_bytes, "middle": p.c_tilde_bytes + p.z_bytes // 2}
    z["last"] = p.hint_offset - 1
    altered = [
        Altered(
            "refuses-c-tilde",
            f"a bit of the {name} byte of c_tilde",
            verify_job(base, _flip(s, at)),
        )
        for name, at in c_tilde.items()
    ]
    altered += [
        _changed(base, "refuses-z", f"a bit of the {name} byte of z", _flip(s, at))
        for name, at in z.items()
    ]
    # z is packed as gamma1 - z (BitPack): zero bits mean a coefficient of gamma1, outside the
    # bound gamma1 - beta. The first one lies within the first three bytes.
    first = dict.fromkeys(range(p.c_tilde_bytes, p.c_tilde_bytes + 3), 0)
    altered.append(_changed(base, "refuses-z", "a coefficient of z set to gamma1", _put(s, first)))
    altered.append(_changed(base, "refuses-c-tilde", "a signature of zeros", bytes(len(s))))
    return altered


def _hints(p: ParameterSet, base: Input) -> list[Altered]:
    s = base.made.signature
    hint = s[p.hint_offset :]
    at = _pair(p, hint)
    assert at is not None
    used = hint[p.omega + p.k - 1]
    low, high = hint[at], hint[at + 1]
    o = p.hint_offset
    last = o + p.omega + p.k - 1
    changes = {
        "an index repeated": {o + at + 1: low},
        "two indices exchanged": {o + at: high, o + at + 1: low},
        "the last counter above omega": {last: p.omega + 1},
        "the last counter at 255": {last: 255},
        "the first counter above the last": {o + p.omega: used + 1},
        "an unused index byte not zero": {o + p.omega - 1: 1},
        "the first unused index byte not zero": {o + used: 255},
        "an index left out": _without(p, hint, at),
    }
    return [
        _changed(base, "refuses-hint", what, _put(s, change)) for what, change in changes.items()
    ]


def _without(p: ParameterSet, hint: bytes, at: int) -> dict[int, int]:
    """A well-formed hint with one bit less: right encoding, wrong w1."""
    indices = [*hint[:at], *hint[at + 1 : p.omega], 0]
    counters = [c - 1 if c > at else c for c in hint[p.omega :]]
    return {p.hint_offset + i: value for i, value in enumerate([*indices, *counters])}


def _lengths(p: ParameterSet, base: Input) -> list[Altered]:
    s = base.made.signature
    lengths = {
        "the last byte cut off": s[:-1],
        "a zero byte appended": s + b"\0",
        "the hint cut off": s[: p.hint_offset],
        "empty": b"",
    }
    return [
        _changed(base, "refuses-length", f"signature: {what}", cut) for what, cut in lengths.items()
    ]


def _message_and_context(base: Input) -> list[Altered]:
    whole, m, c = verify_job(base), base.what.message, base.what.context
    messages = {
        "a bit of the message": _flip(m, len(m) - 1),
        "a zero byte appended to the message": m + b"\0",
        "the message's last byte cut off": m[:-1],
    }
    contexts = {
        "another context": c + b"\1",
        "a context of 256 bytes": bytes(CONTEXT_BYTES_MAX + 1),
    }
    return [
        *(Altered("refuses-message", w, replace(whole, message=v)) for w, v in messages.items()),
        *(Altered("refuses-context", w, replace(whole, context=v)) for w, v in contexts.items()),
    ]


def _keys(base: Input, other_pk: bytes) -> list[Altered]:
    whole, pk = verify_job(base), base.made.pk
    keys = {
        "another key": other_pk,
        "a bit of rho": _flip(pk, 0),
        "a bit of the last byte of t1": _flip(pk, len(pk) - 1),
        "the key's last byte cut off": pk[:-1],
        "a zero byte appended to the key": pk + b"\0",
    }
    return [Altered("refuses-key", what, replace(whole, pk=key)) for what, key in keys.items()]
