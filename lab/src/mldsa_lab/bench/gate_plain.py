"""The gate's checks of schemes beside ML-DSA, behind which no reference of ours stands: known
answers where there are some, what an implementation that passed these made of the run's inputs,
and another implementation on the other side.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import cycle
from typing import Any

from msgspec import structs

from mldsa_lab.bench import vectors
from mldsa_lab.bench.alter import flip
from mldsa_lab.bench.examination import (
    Examination,
    Probe,
    must_accept,
    must_be_keys,
    must_equal,
    must_fail,
    must_give,
    must_refuse,
)
from mldsa_lab.bench.fleet import Fleet, Station
from mldsa_lab.bench.gate_checks import CROSS_CASES, acvp, asked
from mldsa_lab.bench.material import PlainInput
from mldsa_lab.errors import LabError
from mldsa_lab.records import Variant
from mldsa_lab.sets import CONTEXT_BYTES_MAX, SCHEMES, SECRET_BYTES
from mldsa_lab.worker.protocol import JobInput, Output

_FEW_SLOW = 2  # inputs of a check where a signature takes seconds
_NO_SK = "it does not start from an encoded private key alone"


# --- known answers --------------------------------------------------------------------------------


def known_answers(exam: Examination) -> None:
    """What needs no other implementation, by family."""
    _KNOWN[SCHEMES[exam.set_name].family](exam)


def _ml_kem(exam: Examination) -> None:
    """NIST's known answers, the checks of keys among them."""
    v, name = exam.variant, exam.set_name
    size = SCHEMES[name].output_bytes
    keygen = [
        Probe(f"tcId {c.number}", JobInput(0, seed=c.seed), must_be_keys(c.pk, c.sk))
        for c in vectors.keygen_cases(name)
    ]
    encaps = [
        Probe(
            f"tcId {c.number}",
            JobInput(0, pk=c.pk, rnd=c.rnd),
            must_equal(c.ciphertext + c.secret, "ciphertext and secret"),
        )
        for c in vectors.encaps_cases(name)
    ]
    decaps = [
        Probe(
            f"tcId {c.number}",
            JobInput(0, sk=c.sk, ciphertext=c.ciphertext),
            must_equal(c.secret, "the secret"),
        )
        for c in vectors.decaps_cases(name)
    ]
    rnd = bytes(32) if v.rnd == "given" else None
    public = [
        Probe(
            f"tcId {c.number}",
            JobInput(0, pk=c.key, rnd=rnd),
            must_give(size + SECRET_BYTES, "ciphertext and secret") if c.valid else must_fail,
        )
        for c in vectors.key_check_cases(name, "ek")
    ]
    private = [
        Probe(
            f"tcId {c.number}",
            JobInput(0, sk=c.key, ciphertext=bytes(size)),
            must_give(SECRET_BYTES, "the secret") if c.valid else must_fail,
        )
        for c in vectors.key_check_cases(name, "dk")
    ]
    exam.run("acvp-keygen", "keygen", keygen)
    if v.rnd == "given":
        exam.run("acvp-encaps", "encaps", encaps)
    else:
        exam.skip("acvp-encaps", f"it announces rnd {v.rnd}")
    exam.run("acvp-decaps", "decaps", decaps, may_refuse=_NO_SK)
    exam.run("acvp-public-keys", "encaps", public)
    exam.run("acvp-private-keys", "decaps", private, may_refuse=_NO_SK)


def _fn_dsa(exam: Examination) -> None:
    """Keys of its own: FIPS 206 is a draft without vectors, and its encodings are not Falcon's."""
    scheme = SCHEMES[exam.set_name]
    seeds = [bytes([i]) * scheme.seed_bytes for i in range(CROSS_CASES)]

    def judge(output: Output) -> str | None:
        wrong = must_give(scheme.public_key_bytes, "the public key")(output)
        size = len(output.private_key or b"")
        if wrong is None and size != scheme.private_key_bytes:
            return f"the private key has {size} bytes, must have {scheme.private_key_bytes}"
        return wrong

    check, jobs = "own-keys-keygen", [JobInput(i, seed=s) for i, s in enumerate(seeds)]
    maker = _sibling(exam.station, exam.variant, exam.set_name)
    if maker is None:
        made = exam.run(check, "keygen", [Probe(f"seed {j.id}", j, judge) for j in jobs])
    else:
        side = Examination(exam.station, maker, exam.set_name)
        made = asked(exam, side, check, "keygen", jobs) or {}
    keys = [(o.value, o.private_key) for o in made.values()]
    _signs_with(exam, "own-keys", [(pk, sk) for pk, sk in keys if pk and sk])


def _sibling(station: Station, v: Variant, set_name: str) -> Variant | None:
    """The variant of the same implementation that makes keys for one that does not."""
    if "keygen" in v.operations:
        return None
    alike = (row for row, _ in station.variants() if row.implementation == v.implementation)
    able = (row for row in alike if "keygen" in row.operations and set_name in row.sets)
    return next(able, None)


def _hash(exam: Examination) -> None:
    """Digests of messages around the lengths of one and two blocks of SHA3-256, 136 bytes each, as
    Python makes them."""
    messages = [bytes(i % 251 for i in range(n)) for n in (0, 1, 135, 136, 137, 271, 272, 5000)]
    cases = [
        Probe(
            f"{len(m)} bytes",
            JobInput(0, message=m),
            must_equal(hashlib.sha3_256(m).digest(), "digest"),
        )
        for m in messages
    ]
    exam.run("known-digests", "hash", cases)


def _signs_with(exam: Examination, check: str, pairs: Sequence[tuple[bytes, bytes]]) -> None:
    """Signatures by these private keys, which the public ones must accept."""
    size = SCHEMES[exam.set_name].output_bytes
    keys = [JobInput(0, sk=sk, pk=pk, message=b"message", context=b"") for pk, sk in pairs]
    judge = must_give(size, "the signature")
    signed = exam.run(
        f"{check}-sign", "sign", [Probe(f"key {i}", k, judge) for i, k in enumerate(keys)]
    )
    exam.run(
        f"{check}-verify",
        "verify",
        [
            Probe(f"key {i}", replace(k, sk=None, signature=o.value), must_accept)
            for i, (k, o) in enumerate(zip(keys, signed.values(), strict=False))
            if o.value is not None
        ],
    )


_KNOWN: dict[str, Callable[[Examination], None]] = {
    "slh-dsa": acvp,
    "fn-dsa": _fn_dsa,
    "ml-kem": _ml_kem,
    "hash": _hash,
}


# --- the run's inputs -----------------------------------------------------------------------------


def make(
    fleet: Fleet, set_name: str, drawn: Sequence[PlainInput], sound: Sequence[Variant]
) -> list[PlainInput]:
    """The inputs with keys, and signatures or ciphertexts, by the first implementations that have
    passed known answers and can make them; of what nobody makes, without.

    Where nobody gives both keys of a pair, they and their seeds are NIST's."""
    _, produce, _ = SCHEMES[set_name].kin.operations
    made = list(drawn)
    # Who is given its randomness first: its output is everybody's.
    able = sorted(sound, key=lambda v: v.rnd == "none")
    siblings = (_sibling(fleet.station(v.id), v, set_name) for v in able)
    for v in [*able, *(v for v in siblings if v is not None)]:
        if all(m.pk and m.sk for m in made):
            break
        keys = _outputs(fleet, v, set_name, "keygen", made)
        # Keys that do not follow from the seed are taken from one implementation.
        if keys and not any(m.pk for m in made):
            made = [replace(m, pk=keys[m.id].value, sk=keys[m.id].private_key) for m in made]
        elif keys and all(keys[m.id].value == m.pk for m in made):
            made = [replace(m, sk=m.sk or keys[m.id].private_key) for m in made]
    if SCHEMES[set_name].family in _WITH_VECTORS and not all(m.pk and m.sk for m in made):
        # One pair for each seed, so that inputs that share a key go on sharing one.
        seeds = dict.fromkeys(m.row.seed for m in made)
        dealt = dict(zip(seeds, cycle(vectors.keygen_cases(set_name))))
        made = [_with_keys(m, dealt[m.row.seed]) for m in made]
    ready = all(m.pk for m in made)
    for v in able if ready else ():
        outputs = _outputs(fleet, v, set_name, produce, made)
        if outputs:
            return [_with_output(m, outputs[m.id].value or b"") for m in made]
    return made


_WITH_VECTORS = ("slh-dsa", "ml-kem")
"""Families for which NIST publishes key pairs."""


def _with_keys(m: PlainInput, case: vectors.KeyGenCase) -> PlainInput:
    """The input under a key pair of NIST's."""
    return replace(m, row=structs.replace(m.row, seed=case.seed), pk=case.pk, sk=case.sk)


def _outputs(
    fleet: Fleet, v: Variant, set_name: str, operation: str, inputs: Sequence[PlainInput]
) -> dict[int, Output]:
    """A variant's outputs; none if it fails on an input or cannot be asked."""
    if operation not in v.operations:
        return {}
    jobs = [m.job(operation, v) for m in inputs]
    try:
        found = fleet.station(v.id).answer(v.id, set_name, operation, jobs)
    except LabError:  # its own examination will find out why
        return {}
    return found if all(o.value is not None for o in found.values()) else {}


def _with_output(item: PlainInput, value: bytes) -> PlainInput:
    """The input with a signature, or with a ciphertext and its secret."""
    scheme = SCHEMES[item.row.set]
    if "encaps" not in scheme.kin.operations:
        return replace(item, output=value)
    return replace(item, output=value[:-SECRET_BYTES], secret=value[-SECRET_BYTES:])


def examine(exam: Examination, made: Sequence[PlainInput]) -> None:
    """Its outputs are those that were made of the inputs, and what was altered is refused."""
    scheme, v = SCHEMES[exam.set_name], exam.variant
    few = made[: _FEW_SLOW if scheme.slow else CROSS_CASES]
    lacking = next((what for what in ("pk", "output") if not getattr(few[0], what)), None)
    if lacking:
        what = "keys" if lacking == "pk" else "signatures" if "sign" in v.operations else "outputs"
        exam.judge("inputs", [("all", f"no implementation that has passed makes {what}")])
        return
    if "seed" in scheme.kin.private_keys:
        cases = [Probe(_what(m), m.job("keygen", v), must_be_keys(m.pk or b"", m.sk)) for m in few]
        exam.run("others-keygen", "keygen", cases)
    if "encaps" in scheme.kin.operations:
        _kem(exam, few)
    else:
        _signatures(exam, few)


def _what(m: PlainInput) -> str:
    return f"input {m.id}"


def _signatures(exam: Examination, few: Sequence[PlainInput]) -> None:
    """Signatures are the others' where they are deterministic, and verify; altered ones do not."""
    v = exam.variant
    size = SCHEMES[exam.set_name].output_bytes
    own = []
    # Then one of another length, with a context where there are any.
    longer = {"message": bytes(200), "context": b"context" if v.context else b""}
    other = replace(few[0], row=structs.replace(few[0].row, **longer), output=None)
    listed = [*few, other]
    cases = []
    for m in listed:
        known = m.expected("sign", v)
        judge = must_equal(known, "the signature") if known else must_give(size, "the signature")
        cases.append(Probe(_what(m), m.job("sign", v), judge))
    outputs = exam.run("signs", "sign", cases)
    for m, output in zip(listed, outputs.values(), strict=False):
        if output.value:
            own.append(replace(m, output=output.value))
    for check, given in (("verifies-own", own), ("verifies-others", few)):
        cases = [Probe(_what(m), m.job("verify", v), must_accept) for m in given]
        exam.run(check, "verify", cases)
    for check, jobs in _altered(own[-1] if own else few[0], few[-1].pk or b"", v).items():
        cases = [Probe(what, job, must_refuse) for what, job in jobs.items()]
        exam.run(check, "verify", cases)
    good = few[0].job("sign", v)
    cases = [
        Probe(
            "a context of 256 bytes", replace(good, context=bytes(CONTEXT_BYTES_MAX + 1)), must_fail
        )
    ]
    exam.run("refuses-long-context", "sign", [*cases, *_short_keys(exam, good)])


def _altered(m: PlainInput, other_pk: bytes, v: Variant) -> dict[str, dict[str, JobInput]]:
    """Inputs of verification to be refused, by check and by what was done to a good one."""
    good = m.job("verify", v)
    s, pk, message, context = (x or b"" for x in (m.output, m.pk, good.message, good.context))
    places = {"first": 0, "second quarter's": len(s) // 4, "middle": len(s) // 2, "last": -1}
    signatures = {f"a bit of the {name} byte": flip(s, at % len(s)) for name, at in places.items()}
    made: dict[str, tuple[str, dict[str, bytes]]] = {
        "refuses-signature": ("signature", signatures | {"zeros": bytes(len(s))}),
        "refuses-length": (
            "signature",
            {"the last byte cut off": s[:-1], "a zero byte appended": s + b"\0", "empty": b""},
        ),
        "refuses-message": (
            "message",
            {"a bit of the message": flip(message, len(message) - 1), "a byte": message + b"\0"},
        ),
        "refuses-key": (
            "pk",
            {
                "another key": other_pk,
                "a bit of the first byte": flip(pk, 0),
                "a bit of the last byte": flip(pk, len(pk) - 1),
                "the last byte cut off": pk[:-1],
                "a zero byte appended": pk + b"\0",
            },
        ),
    }
    if v.context:
        contexts = {"another": context + b"\1", "of 256 bytes": bytes(256)}
        if context:
            contexts["none"] = b""
        made["refuses-context"] = ("context", contexts)
    return {
        check: {what: _with(good, field, value) for what, value in values.items()}
        for check, (field, values) in made.items()
    }


def _with(job: JobInput, field: str, value: bytes) -> JobInput:
    changed: dict[str, Any] = {field: value}
    return replace(job, **changed)


def _short_keys(exam: Examination, good: JobInput) -> list[Probe]:
    """Encoded private keys of a wrong length, with nothing else to start from."""
    sk = good.sk
    if sk is None or "sk" not in exam.station.private_keys(exam.variant.id):
        return []
    wrong = {"cut short": sk[:-1], "with a byte appended": sk + b"\0"}
    return [
        Probe(f"a private key {what}", replace(good, sk=value, seed=None), must_fail)
        for what, value in wrong.items()
    ]


def _kem(exam: Examination, few: Sequence[PlainInput]) -> None:
    """Secrets are shared; an altered ciphertext gives the one of implicit rejection, J(z || c) of
    FIPS 203 Algorithm 18, which needs no implementation to know."""
    v = exam.variant
    size = SCHEMES[exam.set_name].output_bytes + SECRET_BYTES
    cases = []
    for m in few:
        known = m.expected("encaps", v)
        what = "ciphertext and secret"
        judge = must_equal(known, what) if known else must_give(size, what)
        cases.append(Probe(_what(m), m.job("encaps", v), judge))
    outputs = exam.run("encaps", "encaps", cases)
    own = [
        _with_output(m, o.value)
        for m, o in zip(few, outputs.values(), strict=False)
        if o.value is not None
    ]
    for check, given in (("decaps-own", own), ("decaps-others", few)):
        cases = [
            Probe(_what(m), m.job("decaps", v), must_equal(m.secret or b"", "the secret"))
            for m in given
        ]
        exam.run(check, "decaps", cases)
    rejected = []
    for m in few:
        job, c = m.job("decaps", v), m.output or b""
        for name, at in {"first": 0, "middle": len(c) // 2, "last": len(c) - 1}.items():
            altered = flip(c, at)
            implicit = hashlib.shake_256(m.row.seed[-SECRET_BYTES:] + altered)
            judge = must_equal(implicit.digest(SECRET_BYTES), "the secret of implicit rejection")
            what = f"{_what(m)}, a bit of the {name} byte"
            rejected.append(Probe(what, replace(job, ciphertext=altered), judge))
    exam.run("rejects-ciphertext", "decaps", rejected)
    job, c = few[0].job("decaps", v), few[0].output or b""
    wrong = {"the last byte cut off": c[:-1], "a zero byte appended": c + b"\0", "empty": b""}
    lengths = [Probe(what, replace(job, ciphertext=x), must_fail) for what, x in wrong.items()]
    exam.run("refuses-length", "decaps", [*lengths, *_short_keys(exam, job)])
    job, pk = few[0].job("encaps", v), few[0].pk or b""
    keys = {"the last byte cut off": pk[:-1], "a zero byte appended": pk + b"\0",
            "a coefficient above q": b"\xff\xff" + pk[2:]}  # fmt: skip
    cases = [Probe(what, replace(job, pk=value), must_fail) for what, value in keys.items()]
    exam.run("refuses-key", "encaps", cases)


def cross(exam: Examination, other: Examination, made: Sequence[PlainInput]) -> None:
    """Signatures, or secrets, both ways with another implementation, whose faults do not count."""
    scheme = SCHEMES[exam.set_name]
    _, produce, consume = scheme.kin.operations
    common = made[: _FEW_SLOW if scheme.slow else CROSS_CASES]
    ways = {"sign": ("verified-by", "verifies"), "encaps": ("decaps-by", "decaps-of")}[produce]
    name = other.variant.implementation
    for maker, taker, check in ((exam, other, ways[0]), (other, exam, ways[1])):
        if produce not in maker.variant.operations or consume not in taker.variant.operations:
            continue
        check = f"{check}-{name}"
        jobs = [m.job(produce, maker.variant) for m in common]
        outputs = asked(exam, maker, check, produce, jobs)
        if outputs is None:
            continue
        given = [_with_output(m, outputs[m.id].value or b"") for m in common]
        jobs = [m.job(consume, taker.variant) for m in given]
        found = asked(exam, taker, check, consume, jobs)
        if found is not None:
            judges = [
                must_accept if m.secret is None else must_equal(m.secret, "the secret")
                for m in given
            ]
            verdicts = zip(given, judges, strict=True)
            exam.judge(check, [(_what(m), judge(found[m.id])) for m, judge in verdicts])


# --- classical references -------------------------------------------------------------------------


def classical(exam: Examination, inputs: Sequence[PlainInput]) -> None:
    """A classical reference must verify its own signatures and refuse altered ones. Its keys never
    leave the worker, so nobody else can."""
    v = exam.variant
    few = inputs[:CROSS_CASES]
    outputs = exam.run(
        "signs",
        "sign",
        [Probe(_what(m), m.job("sign", v), must_give(None, "the signature")) for m in few],
    )
    made = [
        replace(m, output=o.value) for m, o in zip(few, outputs.values(), strict=False) if o.value
    ]
    jobs = [(m, m.job("verify", v)) for m in made]
    exam.run("verifies-own", "verify", [Probe(_what(m), job, must_accept) for m, job in jobs])
    cases = [
        Probe(
            f"{_what(m)}: a byte appended",
            replace(job, message=m.row.message + b"\0"),
            must_refuse,
        )
        for m, job in jobs
    ]
    exam.run("refuses-message", "verify", cases)
    cases = [
        Probe(f"{_what(m)}: a bit of byte {at}", replace(job, signature=flip(s, at)), must_refuse)
        for m, job in jobs
        if (s := m.output)
        for at in (len(s) // 4, len(s) // 2, len(s) - 1)
    ]
    exam.run("refuses-signature", "verify", cases)
