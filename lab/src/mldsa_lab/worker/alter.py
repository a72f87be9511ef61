"""Altered inputs that a verifier must refuse, made from one signature that it must accept.

An ML-DSA signature is c_tilde || z || hint (FIPS 204 Algorithm 26, sigEncode). The packed hint is
omega indices of which the first hint[omega + k - 1] are used, then k counters (Algorithm 20,
HintBitPack): the used indices of one polynomial stand in strictly rising order, the counters
never fall, and unused index bytes are zero (Algorithm 21, HintBitUnpack, refuses anything else).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from mldsa_lab.inputs.input import Input
from mldsa_lab.sets import CONTEXT_BYTES_MAX, PARAMETER_SETS, ParameterSet


class Altered(NamedTuple):
    """One input to be refused: the check it belongs to, what was done to it, and the field of the
    job with its new value."""

    check: str
    what: str
    field: str
    value: bytes


def suits(p: ParameterSet, signature: bytes) -> bool:
    """Return whether every alteration of the hint can be made of this signature.

    It needs counters that do not fall, a polynomial with two hints that are not neighbours at the
    index limit, and an unused index byte.
    """
    hint = signature[p.hint_offset :]
    counters = list(hint[p.omega :])
    whole = len(signature) == p.signature_bytes and counters[-1] < p.omega
    return whole and counters == sorted(counters) and _pair(p, hint) is not None


def _pair(p: ParameterSet, hint: bytes) -> int | None:
    """The position of the first of two indices of the same polynomial."""
    start = 0
    for counter in hint[p.omega :]:
        if counter - start >= 2:
            return start
        start = counter
    return None


def alter(base: Input, other_pk: bytes | None, *, context: bool) -> Iterator[Altered]:
    """Every alteration of a signed item; ``other_pk`` is another valid key. ``context``: whether
    there may be one."""
    s, m, c, pk = base.output or b"", base.message, base.context, base.pk
    p = PARAMETER_SETS.get(base.set)
    spoiled: dict[str, tuple[str, dict[str, bytes]]] = {}
    if p is not None and len(s) == p.signature_bytes:
        spoiled["refuses-c-tilde"] = "signature", _flips(s, "c_tilde", 0, p.c_tilde_bytes)
        spoiled["refuses-z"] = "signature", _z(p, s)
        hints = _hints(p, s) if suits(p, s) else _flips(s, "the hint", p.hint_offset, len(s))
        spoiled["refuses-hint"] = "signature", hints
        spoiled["refuses-length"] = "signature", {"the hint cut off": s[: p.hint_offset]}
    else:
        quarter = {"a bit of the second quarter's first byte": flip(s, len(s) // 4)}
        spoiled["refuses-signature"] = "signature", _flips(s, "the signature", 0, len(s)) | quarter
        spoiled["refuses-length"] = "signature", {}
    next(iter(spoiled.values()))[1].update(zeros=bytes(len(s)), ones=b"\xff" * len(s))
    spoiled["refuses-length"][1].update(_lengths(s))
    of_message = {"a zero byte appended": m + b"\0"}
    if m:
        of_message |= {"a bit of the last byte": flip(m, -1), "the last byte cut off": m[:-1]}
    spoiled["refuses-message"] = "message", of_message
    if context:
        contexts = {"another": c + b"\1", "of 256 bytes": bytes(CONTEXT_BYTES_MAX + 1)}
        spoiled["refuses-context"] = "context", contexts | ({"none": b""} if c else {})
    if pk is not None:
        keys = _lengths(pk) | _flips(pk, "the key", 0, len(pk))
        spoiled["refuses-key"] = "pk", keys | ({"another": other_pk} if other_pk else {})
    for check, (field, values) in spoiled.items():
        for what, value in values.items():
            yield Altered(check, f"{field}: {what}", field, value)


def flip(data: bytes, position: int) -> bytes:
    """The bytes with the lowest bit of one inverted."""
    return _put(data, {position: data[position] ^ 1})


def _put(data: bytes, values: dict[int, int]) -> bytes:
    changed = bytearray(data)
    for position, value in values.items():
        changed[position] = value
    return bytes(changed)


def _lengths(data: bytes) -> dict[str, bytes]:
    """Another length than the right one."""
    return {"the last byte cut off": data[:-1], "a zero byte appended": data + b"\0", "empty": b""}


def _flips(data: bytes, name: str, start: int, end: int) -> dict[str, bytes]:
    """One bit inverted at the start, in the middle and at the end of a part."""
    places = {"first": start, "middle": (start + end) // 2, "last": end - 1}
    return {f"a bit of the {where} byte of {name}": flip(data, at) for where, at in places.items()}


def _z(p: ParameterSet, s: bytes) -> dict[str, bytes]:
    start = p.c_tilde_bytes
    # z is packed as gamma1 - z (BitPack): zero bits mean a coefficient of gamma1, outside the
    # bound gamma1 - beta. The first one lies within the first three bytes.
    first = dict.fromkeys(range(start, start + 3), 0)
    bits = _flips(s, "z", start, p.hint_offset)
    return bits | {"a coefficient of z set to gamma1": _put(s, first)}


def _hints(p: ParameterSet, s: bytes) -> dict[str, bytes]:
    hint = s[p.hint_offset :]
    at = _pair(p, hint)
    assert at is not None
    used = hint[p.omega + p.k - 1]
    low, high = hint[at], hint[at + 1]
    o = p.hint_offset
    last = o + p.omega + p.k - 1
    counters = {o + p.omega + i: c + 1 for i, c in enumerate(hint[p.omega :]) if c > at}
    moved = {o + i + 1: hint[i] for i in range(at, used)}
    changes = {
        "an index repeated": {o + at + 1: low},
        # The same hint, since omega allows one index more.
        "an index twice": moved | counters,
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
