"""The checks of the correctness gate, from sources independent of the implementation under test."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from mldsa_lab.bench import vectors
from mldsa_lab.bench.alter import flip
from mldsa_lab.bench.examination import (
    Examination,
    GateFault,
    Probe,
    must_accept,
    must_be_keys,
    must_equal,
    must_fail,
    must_give,
    must_refuse,
)
from mldsa_lab.bench.gate_material import RND, Material
from mldsa_lab.bench.material import Reference, keygen_job, sign_job, verify_job
from mldsa_lab.bench.shapes import role_of
from mldsa_lab.errors import LabError
from mldsa_lab.inputs.input import ZERO_RND, Input
from mldsa_lab.records import Variant
from mldsa_lab.sets import CONTEXT_BYTES_MAX, SCHEMES, ParameterSet
from mldsa_lab.theory.trace import format_trace
from mldsa_lab.worker.protocol import JobInput, Output
from mldsa_lab.worker.worker import WorkerFault, WorkerRefusal

CROSS_CASES = 6
"""Signatures that go each way between a variant and another implementation."""


def acvp(exam: Examination) -> None:
    """NIST's known answers for a signature scheme."""
    v, name = exam.variant, exam.set_name
    plain_rnd = SCHEMES[name].kin.plain_rnd
    exam.run(
        "acvp-keygen",
        "keygen",
        (
            Probe(f"tcId {c.number}", JobInput(0, seed=c.seed), must_be_keys(c.pk, c.sk))
            for c in vectors.keygen_cases(name)
        ),
    )
    kinds = {"acvp-siggen": True, "acvp-siggen-hedged": False}
    for check, deterministic in kinds.items():
        if v.rnd == "none" or (v.rnd == "zero" and not deterministic):
            exam.skip(check, f"it announces rnd {v.rnd}")
            continue
        cases = vectors.siggen_cases(name, deterministic=deterministic)
        exam.run(
            check,
            "sign",
            (
                Probe(
                    f"tcId {c.number}",
                    JobInput(
                        0,
                        sk=c.sk,
                        message=c.message,
                        context=c.context,
                        rnd=plain_rnd if c.rnd is None else c.rnd,
                    ),
                    must_equal(c.signature, "the signature"),
                )
                for c in cases
                if v.context or not c.context
            ),
            may_refuse="it does not sign with an encoded private key alone",
        )
    exam.run(
        "acvp-sigver",
        "verify",
        (
            Probe(
                f"tcId {c.number}",
                JobInput(0, pk=c.pk, message=c.message, context=c.context, signature=c.signature),
                must_accept if c.valid else must_refuse,
            )
            for c in vectors.sigver_cases(name)
            if v.context or not c.context
        ),
    )


def ml_dsa(exam: Examination, m: Material, reference: Reference) -> None:
    """All checks that need no other implementation than the reference."""
    acvp(exam)
    _against_reference(exam, m, reference)
    _refusals(exam, m)
    if exam.variant.mode == "batch":
        _batches(exam, m)


def _batches(exam: Examination, m: Material) -> None:
    """Batches in which good and bad stand beside each other: each item has its own result."""
    v = exam.variant
    group = m.groups[role_of(v, exam.set_name)]
    exam.run("batch-keygen", "keygen", [_keys(s) for s in group])
    cases = []
    for i, s in enumerate(group):
        good = sign_job(s, v)
        if i % 7 == 3:
            cut = replace(good, sk=s.made.sk[:-1], seed=None)
            cases.append(Probe(f"{_what(s)}, a private key cut short", cut, must_fail))
        cases.append(
            _signature(s, v)
            if v.deterministic
            else Probe(_what(s), good, must_give(None, "the signature"))
        )
    exam.run("batch-sign", "sign", cases)
    cases = []
    for i, s in enumerate(group):
        if i % 3 == 1:
            spoiled = flip(s.made.signature, i * len(s.made.signature) // len(group))
            cases.append(Probe(f"{_what(s)}, a bit flipped", verify_job(s, spoiled), must_refuse))
        if i % 11 == 5:
            cut = verify_job(s, s.made.signature[:-1])
            cases.append(Probe(f"{_what(s)}, a signature cut short", cut, must_refuse))
        if i % 11 == 7:
            cut = replace(verify_job(s), pk=s.made.pk[:-1])
            cases.append(Probe(f"{_what(s)}, a public key cut short", cut, must_refuse))
        cases.append(_good(s))
    exam.run("batch-verify", "verify", cases)


def _usable(exam: Examination, signed: Iterable[Input]) -> list[Input]:
    return [s for s in signed if exam.variant.context or not s.what.context]


def _what(s: Input) -> str:
    return f"input {s.id} (message {len(s.what.message)} bytes, context {len(s.what.context)})"


def _keys(s: Input) -> Probe:
    """The input's key pair is made."""
    return Probe(_what(s), keygen_job(s), must_be_keys(s.made.pk, s.made.sk))


def _signature(s: Input, v: Variant) -> Probe:
    """The input's signature is made."""
    return Probe(_what(s), sign_job(s, v), must_equal(s.made.signature, "the signature"))


def _good(s: Input) -> Probe:
    """The input's signature is accepted."""
    return Probe(_what(s), verify_job(s), must_accept)


def _against_reference(exam: Examination, m: Material, reference: Reference) -> None:
    """Byte for byte what the reference makes of the same inputs, and verification both ways."""
    v = exam.variant
    own = [*_usable(exam, m.inputs), *_usable(exam, m.others)]
    exam.run("reference-keygen", "keygen", [_keys(s) for s in own])
    if v.deterministic:
        exam.run("reference-sign", "sign", [_signature(s, v) for s in own])
    if v.rnd == "given":
        exam.run("reference-sign-rnd", "sign", [_signature(s, v) for s in _usable(exam, m.hedged)])
    if "trace" in v.operations:
        _traces(exam, own)
    _signs_for(exam, reference, own if v.rnd == "none" else own[:CROSS_CASES], m.p)
    exam.run("verifies-reference", "verify", [_good(s) for s in own])


def _traces(exam: Examination, own: Sequence[Input]) -> None:
    """Its attempts must be the reference's."""
    inputs = [sign_job(s, exam.variant) for s in own]
    try:
        traces = exam.station.trace(exam.variant.id, exam.set_name, inputs)
    except WorkerFault as fault:
        exam.judge("reference-trace", [("all", f"fault: {fault.rule}")])
        raise GateFault("reference-trace", fault) from None
    except LabError as refusal:
        exam.judge("reference-trace", [("all", str(refusal))])
        return
    wrong = {
        s.id: f"trace {format_trace(traces[s.id])}, must be {format_trace(s.trace)}"
        for s in own
        if traces[s.id] != s.trace
    }
    exam.judge("reference-trace", [(_what(s), wrong.get(s.id)) for s in own])


def _signs_for(
    exam: Examination, reference: Reference, own: Sequence[Input], p: ParameterSet
) -> None:
    """Its signatures must be accepted by the reference."""
    v = exam.variant
    rnd = RND if v.rnd == "given" else ZERO_RND
    outputs = exam.run(
        "signs",
        "sign",
        (
            Probe(_what(s), sign_job(s, v, rnd), must_give(p.signature_bytes, "the signature"))
            for s in own
        ),
    )
    made = [(s, o.value) for s, o in zip(own, outputs.values(), strict=False) if o.value]
    jobs = [replace(verify_job(s, value), id=i) for i, (s, value) in enumerate(made)]
    if jobs:
        verdicts = reference.outputs(exam.set_name, "verify", jobs)
        exam.judge(
            "verified-by-reference",
            [(_what(s), must_accept(verdicts[i])) for i, (s, _) in enumerate(made)],
        )


def _refusals(exam: Examination, m: Material) -> None:
    """Altered inputs, one check for each kind."""
    with_context = exam.variant.context
    altered = m.altered if with_context else m.altered_plain
    for check in dict.fromkeys(a.check for a in altered):
        if check == "refuses-context" and not with_context:
            exam.skip(check, "it announces context no")
            continue
        exam.run(
            check,
            "verify",
            (Probe(a.what, a.job, must_refuse) for a in altered if a.check == check),
        )
    exam.run(
        "refuses-z-norm",
        "verify",
        (
            Probe("a signature whose only fault is the norm of z", job, must_refuse)
            for job in m.z_violations
        ),
    )
    if with_context and "sign" in exam.variant.operations:
        s = m.others[0]
        long = replace(s, what=replace(s.what, context=bytes(CONTEXT_BYTES_MAX + 1)))
        exam.run(
            "refuses-long-context",
            "sign",
            [Probe("signing with a context of 256 bytes", sign_job(long, exam.variant), must_fail)],
        )


def cross(exam: Examination, other: Examination, m: Material) -> None:
    """Signatures both ways with another implementation, whose own faults do not count."""
    both = exam.variant.context and other.variant.context
    common = [s for s in [*m.others, *m.inputs] if both or not s.what.context][:CROSS_CASES]
    for signer, verifier, check in (
        (exam, other, f"verified-by-{other.variant.implementation}"),
        (other, exam, f"verifies-{other.variant.implementation}"),
    ):
        v = signer.variant
        if "sign" not in v.operations or "verify" not in verifier.variant.operations:
            continue
        rnd = RND if v.rnd == "given" else ZERO_RND
        made = asked(exam, signer, check, "sign", [sign_job(s, v, rnd) for s in common])
        if made is None:
            continue
        jobs = [verify_job(s, made[s.id].value or b"") for s in common]
        found = asked(exam, verifier, check, "verify", jobs)
        if found is not None:
            exam.judge(check, [(_what(s), must_accept(found[s.id])) for s in common])


def asked(
    exam: Examination, side: Examination, check: str, operation: str, inputs: Sequence[JobInput]
) -> dict[int, Output] | None:
    """One side's outputs; None where there are none, which counts only if `exam` is that side."""
    try:
        return side.station.answer(side.variant.id, exam.set_name, operation, inputs)
    except (WorkerFault, WorkerRefusal) as problem:
        if side is not exam:
            exam.skip(check, f"{side.variant.id}: {problem}")
            return None
        exam.judge(check, [(operation, str(problem))])
        if isinstance(problem, WorkerFault):
            raise GateFault(check, problem) from None
        return None
