"""The correctness gate: a variant that fails one check is not measured for that set.

What must come out is taken from sources that are independent of the implementation under test:
NIST's known answers, the literal reference, and another implementation that has passed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from mldsa_lab.bench import gate_checks, gate_plain
from mldsa_lab.bench.examination import Examination, GateFault
from mldsa_lab.bench.fleet import Fleet
from mldsa_lab.bench.gate_material import Material
from mldsa_lab.bench.material import PlainInput, Reference
from mldsa_lab.errors import LabError
from mldsa_lab.records import Gate, Variant
from mldsa_lab.sets import SCHEMES
from mldsa_lab.worker.worker import WorkerFault


@dataclass(slots=True)
class Verdicts:
    """What the gate found: a row per variant and set, and the workers that broke down."""

    gates: list[Gate] = field(default_factory=list)
    reasons: dict[tuple[str, str], str] = field(default_factory=dict)
    """Why a variant is left out of a set."""
    faults: dict[str, tuple[str, str]] = field(default_factory=dict)
    """Variants whose worker broke down, with the set it happened at and how."""
    made: dict[str, Sequence[PlainInput]] = field(default_factory=dict)
    """By set, the inputs of schemes without traces, with what was made of them."""


def examine_reference(reference: Reference, fleet: Fleet, set_name: str) -> None:
    """The reference must itself pass NIST's known answers; LabError if it does not."""
    station = fleet.station(reference.variant.id)
    exam = Examination(station, reference.variant, set_name)
    try:
        gate_checks.acvp(exam)
    except GateFault as fault:
        raise LabError(f"the correctness reference broke down: {fault}") from None
    skipped = [c for c in exam.checks if not c.cases]
    if not exam.passed or skipped:
        reason = exam.reason or f"{skipped[0].check}: {skipped[0].first_failure}"
        raise LabError(f"the correctness reference {reference.variant.id} fails the gate: {reason}")


def examine(
    fleet: Fleet,
    reference: Reference | None,
    variants: Iterable[Variant],
    materials: Mapping[str, Material],
    plain: Mapping[str, Sequence[PlainInput]],
    peers: Sequence[str],
    on_step: Callable[[Variant, str], None],
) -> Verdicts:
    """Put every variant through the gate, for each set that has material.

    `plain`: the inputs of schemes without traces, by set.
    `peers` are implementations to prefer as the other one in cross-verification. `on_step` is
    told what comes next. A worker that breaks down is started afresh for its other variants.
    """
    verdicts = Verdicts(made=dict(plain))
    exams: dict[tuple[str, str], Examination] = {}
    listed = list(variants)

    def guarded(exam: Examination, checks: Callable[[], None]) -> None:
        if exam.variant.id in verdicts.faults:
            return
        try:
            checks()
        except GateFault as fault:
            text = f"{fault.check}: {fault.fault.rule}"
            verdicts.faults[exam.variant.id] = (exam.set_name, text)
        except WorkerFault as fault:  # it could not be started afresh
            verdicts.faults[exam.variant.id] = (exam.set_name, fault.rule)

    for variant in listed:
        for set_name in variant.sets:
            if variant.id in verdicts.faults:
                break
            if set_name in materials or set_name in plain:
                on_step(variant, set_name)
                exam = Examination(fleet.station(variant.id), variant, set_name)
                exams[variant.id, set_name] = exam
                if reference is not None and set_name in materials:
                    material = materials[set_name]
                    guarded(exam, partial(gate_checks.ml_dsa, exam, material, reference))
                elif SCHEMES[set_name].kin.encoded or not SCHEMES[set_name].kin.keyed:
                    guarded(exam, partial(gate_plain.known_answers, exam))
                else:
                    guarded(exam, partial(gate_plain.classical, exam, plain[set_name]))

    for set_name in plain:
        if SCHEMES[set_name].kin.encoded:
            able = [e for (_, name), e in exams.items() if name == set_name and not e.failed]
            sound = [e.variant for e in able if e.passed and e.variant.id not in verdicts.faults]
            made = gate_plain.make(fleet, set_name, plain[set_name], sound)
            verdicts.made[set_name] = made
            for exam in able:
                guarded(exam, partial(gate_plain.examine, exam, made))

    # Only now: a peer must have passed, so that a wrong one casts no doubt on the right ones.
    passed = {key for key, exam in exams.items() if exam.passed}
    for (variant_id, set_name), exam in exams.items():
        if not SCHEMES[set_name].kin.encoded:
            continue
        if exam.passed and variant_id not in verdicts.faults:
            peer = _peer(exam.variant, set_name, listed, passed, peers)
            if peer is None:
                exam.skip("cross-verification", "no other implementation has passed")
                continue
            on_step(exam.variant, set_name)
            other = Examination(fleet.station(peer.id), peer, set_name)
            if set_name in materials:
                guarded(exam, partial(gate_checks.cross, exam, other, materials[set_name]))
            else:
                guarded(exam, partial(gate_plain.cross, exam, other, verdicts.made[set_name]))

    for (variant_id, set_name), exam in exams.items():
        broke = verdicts.faults.get(variant_id)
        good = exam.passed and (broke is None or broke[0] != set_name)
        verdicts.gates.append(Gate(variant_id, set_name, good, tuple(exam.checks)))
        if not good:
            reason = exam.reason or (broke[1] if broke else "")
            verdicts.reasons[variant_id, set_name] = reason
    return verdicts


def _peer(
    variant: Variant,
    set_name: str,
    variants: Sequence[Variant],
    sound: set[tuple[str, str]],
    preferred: Sequence[str],
) -> Variant | None:
    """Another implementation that has passed and both signs and verifies, or both encapsulates
    and decapsulates."""
    able = [
        v
        for v in variants
        if v.implementation != variant.implementation
        and (v.id, set_name) in sound
        and set(SCHEMES[set_name].kin.operations[1:]) <= set(v.operations)
    ]
    return min(
        able,
        key=lambda v: (
            preferred.index(v.implementation) if v.implementation in preferred else len(preferred)
        ),
        default=None,
    )
