"""Altered inputs that a verifier must refuse, made from one signature that it must accept.

A signature is c_tilde || z || hint (FIPS 204 Algorithm 26, sigEncode). The packed hint is omega
indices of which the first hint[omega + k - 1] are used, then k counters (Algorithm 20,
HintBitPack): the used indices of one polynomial stand in strictly rising order, the counters
never fall, and unused index bytes are zero (Algorithm 21, HintBitUnpack, refuses anything else).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

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
    m, c, pk = base.what.message, base.what.context, base.made.pk
    spoiled: dict[tuple[str, str], dict[str, Any]] = {
        ("refuses-c-tilde", "signature"): _c_tilde(p, s),
        ("refuses-z", "signature"): _z(p, s),
        ("refuses-hint", "signature"): _hints(p, s),
        ("refuses-length", "signature"): {
            "signature: the last byte cut off": s[:-1],
            "signature: a zero byte appended": s + b"\0",
            "signature: the hint cut off": s[: p.hint_offset],
            "signature: empty": b"",
        },
        ("refuses-message", "message"): {
            "a bit of the message": flip(m, len(m) - 1),
            "a zero byte appended to the message": m + b"\0",
            "the message's last byte cut off": m[:-1],
        },
        ("refuses-context", "context"): {
            "another context": c + b"\1",
            "a context of 256 bytes": bytes(CONTEXT_BYTES_MAX + 1),
        },
        ("refuses-key", "pk"): {
            "another key": other_pk,
            "a bit of rho": flip(pk, 0),
            "a bit of the last byte of t1": flip(pk, len(pk) - 1),
            "the key's last byte cut off": pk[:-1],
            "a zero byte appended to the key": pk + b"\0",
        },
    }
    whole = verify_job(base)
    return [
        Altered(check, what, replace(whole, **{field: value}))
        for (check, field), values in spoiled.items()
        for what, value in values.items()
    ]


def flip(data: bytes, position: int) -> bytes:
    """The bytes with the lowest bit of one inverted."""
    return _put(data, {position: data[position] ^ 1})


def _put(data: bytes, values: dict[int, int]) -> bytes:
    changed = bytearray(data)
    for position, value in values.items():
        changed[position] = value
    return bytes(changed)


def _c_tilde(p: ParameterSet, s: bytes) -> dict[str, bytes]:
    places = {"first": 0, "middle": p.c_tilde_bytes // 2, "last": p.c_tilde_bytes - 1}
    bits = {f"a bit of the {name} byte of c_tilde": flip(s, at) for name, at in places.items()}
    return bits | {"a signature of zeros": bytes(len(s))}


def _z(p: ParameterSet, s: bytes) -> dict[str, bytes]:
    start = p.c_tilde_bytes
    places = {"first": start, "middle": start + p.z_bytes // 2, "last": p.hint_offset - 1}
    bits = {f"a bit of the {name} byte of z": flip(s, at) for name, at in places.items()}
    # z is packed as gamma1 - z (BitPack): zero bits mean a coefficient of gamma1, outside the
    # bound gamma1 - beta. The first one lies within the first three bytes.
    first = dict.fromkeys(range(start, start + 3), 0)
    return bits | {"a coefficient of z set to gamma1": _put(s, first)}


def _hints(p: ParameterSet, s: bytes) -> dict[str, bytes]:
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
    return {what: _put(s, change) for what, change in changes.items()}


def _without(p: ParameterSet, hint: bytes, at: int) -> dict[int, int]:
    """A well-formed hint with one bit less: right encoding, wrong w1."""
    indices = [*hint[:at], *hint[at + 1 : p.omega], 0]
    counters = [c - 1 if c > at else c for c in hint[p.omega :]]
    return {p.hint_offset + i: value for i, value in enumerate([*indices, *counters])}
