"""Cases of the correctness suite, with altered inputs that a verifier must reject.

A function of cases is named after the cases it makes; `suite.py` has the table that uses it. It
gets the examination and the operation.

Altered inputs are made from one valid signature: c_tilde || z || hint (FIPS 204, Algorithm 26,
sigEncode). The packed hint is omega indices of which the first hint[omega + k - 1] are used, then k
counters (Algorithm 20, HintBitPack). The used indices of one polynomial rise strictly, the counters
never fall, and unused index bytes are zero (Algorithm 21, HintBitUnpack, rejects anything else).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from mldsa_lab.inputs.input import Input
from mldsa_lab.sets import CONTEXT_BYTES_MAX, PARAMETER_SETS, SECRET_BYTES, ParameterSet
from mldsa_lab.worker import examination
from mldsa_lab.worker.examination import (
    Examination,
    OutputJudge,
    PeerFailure,
    Probe,
    Subject,
    must_accept,
    must_be_keys,
    must_equal,
    must_fail,
    must_give,
    must_refuse,
    must_trace,
)
from mldsa_lab.worker.protocol import JobInput, expected_output, make_job
from mldsa_lab.worker.worker import WorkerFault, WorkerRefusal


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


# Cases.


FEW = 6
"""Items of a check that takes few."""
RND = bytes(range(1, 33))
"""An rnd other than zeros."""
_LONG_MESSAGE = bytes(range(256)) * 4096
_TAKES_OUTPUT = ("verify", "decaps")


# --- known answers --------------------------------------------------------------------------------


def known(e: Examination, operation: str, kind: str) -> Iterator[Probe]:
    """NIST's cases of a kind."""
    for m in _usable(e, examination.known_answers(e.subject.set, kind)):
        if kind == "public-keys":
            m = replace(m, rnd=bytes(SECRET_BYTES))
        if kind == "private-keys":
            m = replace(m, output=bytes(e.subject.scheme.output_bytes))
        yield good_case(e, m, operation, f"tcId {m.id}")


def known_digests(e: Examination, operation: str) -> Iterator[Probe]:
    """Around the lengths of one and two blocks of SHA3-256, 136 bytes each, as Python has them."""
    for size in (0, 1, 135, 136, 137, 271, 272, 5000):
        item = Input(e.subject.set, 0, b"", bytes(i % 251 for i in range(size)))
        yield good_case(e, item, operation, f"{size} bytes")


def known_agreement(e: Examination, operation: str) -> Iterator[Probe]:
    """Several times, as each handshake has other random values."""
    for i in range(FEW):
        yield good_case(e, Input(e.subject.set, i, b"", b""), operation, f"connection {i}")


# --- keys -----------------------------------------------------------------------------------------


def _seeds(e: Examination) -> list[Input]:
    size = e.subject.scheme.seed_bytes
    return [Input(e.subject.set, i, bytes([i + 1]) * size, b"message") for i in range(FEW)]


def _sizes(e: Examination) -> tuple[int, int] | None:
    scheme = e.subject.scheme
    return (scheme.public_key_bytes, scheme.private_key_bytes) if scheme.traits.has_bytes else None


def new_keys(e: Examination, operation: str) -> Iterator[Probe]:
    return (good_case(e, m, operation, f"seed {m.id}") for m in _seeds(e))


def own_keys(e: Examination, operation: str) -> Iterator[Probe]:
    """Signatures by private keys of its own. FIPS 206 is a draft without vectors, and its encodings
    are not Falcon's."""
    keys = {p.item: o for p, o in e.results("own-keys-keygen") if p.item is not None}
    if e.items.sibling is not None:
        seeds = _seeds(e)
        outputs = e.items.sibling.outputs("keygen", seeds)
        keys = {m: outputs[m.id] for m in seeds if outputs}
    for m, o in keys.items():
        if o.value and o.private_key:
            yield good_case(e, replace(m, pk=o.value, sk=o.private_key), operation)


def each_key_form(e: Examination, operation: str) -> Iterator[Probe]:
    m = e.items.inputs[0]
    for form, other in (("seed", "sk"), ("sk", "seed")):
        if form in e.subject.private_keys and getattr(m, form) is not None:
            yield good_case(e, m, operation, f"a private key as {form}", **{other: None})


# --- outputs --------------------------------------------------------------------------------------


def good_case(e: Examination, m: Input, operation: str, what: str = "", **changed: None) -> Probe:
    """An item whose output is the known one, or of the right size where none is known."""
    v, scheme = e.subject.variant, e.subject.scheme
    answer = expected_output(m, operation, v)
    name = {"sign": "the signature", "encaps": "ciphertext and secret", "decaps": "the secret"}
    size = {"encaps": scheme.output_bytes + SECRET_BYTES, "decaps": SECRET_BYTES}
    judge: OutputJudge = must_give(size.get(operation, scheme.output_bytes), "the output")
    if operation == "verify":
        judge = must_accept if m.is_valid else must_refuse
    elif not m.is_valid:
        judge = must_fail
    elif operation == "keygen":
        judge = must_be_keys(m.pk, m.sk, _sizes(e))
    elif answer is not None:
        judge = must_equal(answer, name.get(operation, "the output"))
    elif not scheme.traits.has_bytes:
        judge = must_give(None, "the signature")
    return Probe(what or str(m), make_job(m, operation, v, **changed), judge, m)


def of_items(e: Examination, operation: str, name: str = "inputs") -> Iterator[Probe]:
    """The items of this name that the subject can take."""
    for m in _usable(e, getattr(e.items, name)):
        if m.output or operation not in _TAKES_OUTPUT:
            yield good_case(e, m, operation)


def _usable(e: Examination, items: Iterable[Input]) -> list[Input]:
    return [m for m in items if e.subject.variant.context or not m.context]


def own(e: Examination, operation: str, name: str) -> Iterator[Probe]:
    """The subject's own outputs in the check of this name."""
    return (good_case(e, m, operation) for m in e.own(name))


def signs(e: Examination, operation: str) -> Iterator[Probe]:
    """The inputs and another length of message, with a context if the subject takes any."""
    listed = _usable(e, e.items.inputs)
    v = e.subject.variant
    if e.items.source == "reference":
        rnd = RND if v.rnd == "given" else None
        listed = listed if not v.deterministic else listed[:FEW]
        listed = [replace(m, rnd=rnd, output=None) for m in listed]
    else:
        longer = [(bytes(200), b"context")]
        if e.items.every:
            longer += [(b"", b""), (_LONG_MESSAGE, b""), (b"m", b"c" * CONTEXT_BYTES_MAX)]
        for message, context in longer:
            context = context if v.context else b""
            listed.append(replace(listed[0], message=message, context=context, output=None))
    return (good_case(e, m, operation) for m in listed)


def repeated(e: Examination, operation: str) -> Iterator[Probe]:
    for m in [*(_seeds(e) if operation == "keygen" else e.items.inputs)][:3] * 2:
        yield good_case(e, replace(m, output=None), operation)


def other_rnd(e: Examination, operation: str) -> Iterator[Probe]:
    s, m = e.subject, replace(e.items.inputs[0], output=None)
    if s.traits.has_bytes and s.variant.deterministic:
        other = replace(m, rnd=bytes(range(1, s.scheme.rnd_bytes + 1)))
        job, takes_rnd = make_job(other, operation, s.variant), s.variant.rnd == "given"
        yield good_case(e, m, operation)
        judge = must_give(s.scheme.output_bytes, "the signature") if takes_rnd else must_fail
        yield Probe("an rnd other than that of deterministic signing", job, judge)


def traces(e: Examination, operation: str) -> Iterator[Probe]:
    known = e.items.source == "reference"
    listed = _usable(e, e.items.inputs)
    for m in listed if known else listed[:3] * 2:
        yield Probe(str(m), make_job(m, operation, e.subject.variant), must_trace(m.trace), m)


def z_violations(e: Examination, operation: str) -> Iterator[Probe]:
    for m in _usable(e, e.items.inputs[:1]):
        job = make_job(m, operation, e.subject.variant)
        yield Probe(str(m), job, must_give(e.subject.scheme.output_bytes, "the signature"), m)


# --- refusals -------------------------------------------------------------------------------------


def _bases(e: Examination) -> Sequence[Input]:
    """The signatures to alter."""
    if e.items.bases:
        return _usable(e, e.items.bases)[:1]
    own = e.own("signs")
    own = own[-1:] if e.subject.traits.has_bytes else own[:FEW]
    return own or [m for m in e.items.inputs[:1] if m.output]


def altered(
    e: Examination, operation: str, check: str, judge: OutputJudge = must_refuse
) -> Iterator[Probe]:
    """The alterations of one check, or of all."""
    v, items = e.subject.variant, e.items.inputs
    other = e.items.other_pk or (items[-1].pk if len({m.pk for m in items}) > 1 else None)
    for base in _bases(e):
        for a in alter(base, other if other != base.pk else None, context=v.context):
            if check in (a.check, "all"):
                yield Probe(a.what, make_job(base, operation, v, **{a.field: a.value}), judge)


def z_norm(e: Examination, operation: str) -> Iterator[Probe]:
    violations = [*_usable(e, e.items.z_violations), *e.own("z-violation")]
    for m in violations:
        what = "a signature whose only fault is the norm of z"
        yield Probe(what, make_job(m, operation, e.subject.variant), must_refuse)


def wrong(e: Examination, operation: str, field: str) -> Iterator[Probe]:
    """A good input with one field that cannot be used, which fails."""
    m = _seeds(e)[0] if operation == "keygen" else e.items.inputs[0]
    for what, job in _wrong(e, m, operation, field).items():
        yield Probe(what, job, must_fail)


def _wrong(e: Examination, m: Input, operation: str, field: str) -> dict[str, JobInput]:
    """Jobs of an item with such a field, by what is wrong with it; none without the field."""
    v = e.subject.variant
    form = {"seed": None} if field == "sk" else {}
    good: bytes | None = getattr(make_job(m, operation, v, **form), field)
    if good is None or (field == "sk" and "sk" not in e.subject.private_keys):
        return {}
    values = [good[:-1], good + b"\0", b""]
    if field == "context":
        values = [bytes(CONTEXT_BYTES_MAX + 1), *([] if v.context else [b"c"])]
    named = {f"a {field} of {len(value)} bytes": value for value in values}
    if operation == "encaps":
        named["a coefficient of pk above q"] = b"\xff\xff" + good[2:]
    return {
        what: make_job(m, operation, v, **form, **{field: value}) for what, value in named.items()
    }


def altered_ciphertexts(e: Examination, operation: str) -> Iterator[Probe]:
    """An altered ciphertext gives the secret of implicit rejection, J(z || c) of FIPS 203
    Algorithm 18, which needs no implementation to know."""
    for m in e.items.inputs:
        c = m.output or b""
        for name, at in {"first": 0, "middle": len(c) // 2, "last": -1}.items() if c else ():
            altered = flip(c, at)
            secret = hashlib.shake_256((m.seed or b"")[-SECRET_BYTES:] + altered)
            judge = must_equal(secret.digest(SECRET_BYTES), "the secret of implicit rejection")
            job = make_job(m, operation, e.subject.variant, ciphertext=altered)
            yield Probe(f"{m}, a bit of the {name} byte", job, judge)


# --- batches and other implementations ------------------------------------------------------------

SPOILED = {
    "keygen": ("seed",),
    "sign": ("sk", "context"),
    "verify": ("signature", "pk"),
    "encaps": ("pk",),
    "decaps": ("ciphertext",),
    "hash": (),
}
"""By operation the fields that make an item a bad one."""


def batch(e: Examination, operation: str) -> Iterator[Probe]:
    """Good and bad items in one batch: each has its own result."""
    judge = must_refuse if operation == "verify" else must_fail
    for i, m in enumerate(_usable(e, e.items.group)):
        if operation in _TAKES_OUTPUT and m.output is None:
            continue
        for at, field in enumerate(SPOILED[operation]):
            for what, job in [*_wrong(e, m, operation, field).items()][: i % 7 == 1 + at]:
                yield Probe(f"{m}, {what}", job, judge)
        if operation == "verify" and i % 3 == 1 and m.output:
            at = i * len(m.output) // len(e.items.group)
            job = make_job(m, operation, e.subject.variant, signature=flip(m.output, at))
            yield Probe(f"{m}, a bit flipped", job, must_refuse)
        yield good_case(e, m, operation)


def by_other(e: Examination, operation: str, who: str, name: str) -> Iterator[Probe]:
    """The subject's own outputs, for another implementation."""
    other: Subject = getattr(e.items, who)
    items = [m for m in e.own(name) if other.variant.context or not m.context]
    for m in items if who == "reference" else items[:FEW]:
        good = good_case(e, m, operation)
        yield good._replace(input=make_job(m, operation, other.variant))


def of_peer(e: Examination, operation: str, produce: str) -> Iterator[Probe]:
    """Another implementation's outputs of the items, for the subject."""
    peer = e.items.peer
    assert peer is not None
    if not peer.has(produce):
        return
    common = [m for m in _usable(e, e.items.inputs) if peer.variant.context or not m.context][:FEW]
    try:
        outputs = peer.ask(produce, [make_job(m, produce, peer.variant) for m in common])
    except (WorkerFault, WorkerRefusal) as problem:
        raise PeerFailure(f"{peer.variant.id}: {problem}") from None
    for m in common:
        yield good_case(e, m.with_output(outputs[m.id].value or bytes(SECRET_BYTES)), operation)
