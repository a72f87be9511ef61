"""The correctness gate: a variant that fails one check is not measured for that set.

The gate runs the fast checks of the correctness suite (`worker/suite.py`). Expected outputs come
from sources that are independent of the implementation under test: NIST's known answers, the
literal reference, and another implementation that has passed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace

from mldsa_lab import LabError
from mldsa_lab.bench.fleet import Fleet, Station, role_of
from mldsa_lab.bench.material import (
    GATE_SIZES,
    choose_inputs,
    find_reference,
    make_items_of_gate,
    make_plain,
    subject_of,
)
from mldsa_lab.bench.options import REFERENCE
from mldsa_lab.inputs.input import Input
from mldsa_lab.inputs.tracing import load
from mldsa_lab.records import Gate, Variant
from mldsa_lab.records.rows import DEFAULT_REFERENCE
from mldsa_lab.sets import SCHEMES
from mldsa_lab.worker.build import build
from mldsa_lab.worker.cases import FEW
from mldsa_lab.worker.examination import Examination, Items, Subject, siblings_of
from mldsa_lab.worker.registry import Place, read_registry
from mldsa_lab.worker.suite import SUITE
from mldsa_lab.worker.worker import Limits, WorkerFault

# The gate.


_PEERS = (DEFAULT_REFERENCE, "aws-lc", "mldsa-lanes", "filippo")
"""Implementations to prefer as the other one in cross-verification."""
_FEW_SLOW = 2  # items of a check where a signature takes seconds


@dataclass(slots=True)
class Verdicts:
    """What the gate found: a row per variant and set, and the workers that broke down."""

    gates: list[Gate] = field(default_factory=list)
    reasons: dict[tuple[str, str], str] = field(default_factory=dict)
    """Why a variant is left out of a set."""
    faults: dict[str, tuple[str, str]] = field(default_factory=dict)
    """Variants whose worker broke down, with the set it happened at and how."""
    made: dict[str, Sequence[Input]] = field(default_factory=dict)
    """By set, the inputs of schemes without traces, with what was made of them."""


def examine(
    fleet: Fleet,
    variants: Iterable[Variant],
    items: Mapping[str, Items],
    plain: Mapping[str, Sequence[Input]],
    on_step: Callable[[Variant, str], None],
) -> Verdicts:
    """Put every variant through the gate, for each set that has inputs.

    `items`: by set of ML-DSA; `plain`: the inputs of schemes without traces, by set. `on_step` is
    told what comes next. A worker that breaks down is started afresh for its other variants.
    """
    verdicts = Verdicts(made=dict(plain))
    exams: dict[tuple[str, str], Examination] = {}
    listed = list(variants)
    every = [subject_of(fleet, v, name) for v in fleet.variants.values() for name in v.sets]

    def run(variant: Variant, exam: Examination) -> None:
        """What can be made now."""
        if variant.id in verdicts.faults:
            return
        try:
            exam.run()
        except WorkerFault as fault:
            text = f"{exam.checks[-1].check}: {fault.rule}"
            verdicts.faults[variant.id] = (exam.subject.set, text)

    for variant in listed:
        for name in variant.sets:
            if variant.id in verdicts.faults:
                break
            if name in items or name in plain:
                on_step(variant, name)
                subject = subject_of(fleet, variant, name)
                given = items.get(name) or _first_items(subject, plain[name], every)
                group = [i for i in given.group if i.role == role_of(variant, name)]
                given = replace(given, group=group if variant.mode == "batch" else ())
                exams[variant.id, name] = Examination(subject, given, SUITE)
                run(variant, exams[variant.id, name])

    for name, drawn in plain.items():
        if not SCHEMES[name].traits.encoded:
            continue
        able = [v for v in listed if (v.id, name) in exams and not exams[v.id, name].failed]
        sound = [v for v in able if exams[v.id, name].passed and v.id not in verdicts.faults]
        made = verdicts.made[name] = make_plain(fleet, drawn, sound)
        lacking = next((what for what in ("pk", "output") if not getattr(made[0], what)), None)
        for v in able:
            exam = exams[v.id, name]
            if lacking:
                signs = "signatures" if "sign" in v.operations else "outputs"
                what = "keys" if lacking == "pk" else signs
                exam.add("inputs", f"all: no implementation that has passed makes {what}", 1)
                continue
            few = made[: _FEW_SLOW if SCHEMES[name].slow else FEW]
            group = made if v.mode == "batch" else []
            exam.items = replace(exam.items, made=few, group=group)
            run(v, exam)

    # Only now: a peer must have passed, so that a wrong one casts no doubt on the right ones.
    passed = {key for key, exam in exams.items() if exam.passed}
    for variant in listed:
        for name in variant.sets:
            if (variant.id, name) not in passed or not SCHEMES[name].traits.encoded:
                continue
            if variant.id in verdicts.faults:
                continue
            exam = exams[variant.id, name]
            peer = _peer(variant, name, listed, passed)
            if peer is None:
                exam.add("cross-verification", "no other implementation has passed")
                continue
            on_step(variant, name)
            exam.items = replace(exam.items, peer=subject_of(fleet, peer, name))
            run(variant, exam)

    for (variant_id, name), exam in exams.items():
        broke = verdicts.faults.get(variant_id)
        good = exam.passed and (broke is None or broke[0] != name)
        verdicts.gates.append(Gate(variant_id, name, good, tuple(exam.checks)))
        if not good:
            verdicts.reasons[variant_id, name] = exam.reason or (broke[1] if broke else "")
    return verdicts


def _first_items(subject: Subject, drawn: Sequence[Input], every: Sequence[Subject]) -> Items:
    """What needs no other implementation: known answers, and where keys never leave a worker all
    of its own."""
    if subject.traits.encoded or not subject.traits.keyed:
        return Items(known=True, sibling=next(siblings_of(subject, every), None))
    return Items(made=drawn[:FEW])


def _peer(
    variant: Variant, set_name: str, variants: Sequence[Variant], sound: set[tuple[str, str]]
) -> Variant | None:
    """Another implementation that has passed and both signs and verifies, or both encapsulates
    and decapsulates."""
    able = [
        v
        for v in variants
        if v.implementation != variant.implementation
        and (v.id, set_name) in sound
        and set(SCHEMES[set_name].traits.operations[1:]) <= set(v.operations)
    ]
    return min(
        able, key=lambda v: [*_PEERS, v.implementation].index(v.implementation), default=None
    )


# Gate inputs from the correctness reference.


_SEED = hashlib.sha256(b"mldsa-lab workers conform").digest()


class ReferenceItems(AbstractContextManager["ReferenceItems"]):
    """Makes `Items` of ML-DSA sets by the tree's worker that has the correctness reference.

    The worker is built and started when items are first asked for. ``show`` gets what its build
    says.
    """

    def __init__(self, place: Place, show: Callable[[str], None] = lambda line: None) -> None:
        self._place = place
        self._show = show
        self._fleet = Fleet()
        self._items: dict[str, Items] = {}
        self._broken: str | None = None

    def items(self, set_name: str) -> Items:
        """Return the gate's items of a set. LabError if the reference cannot make them."""
        if self._broken is not None:
            raise LabError(self._broken)
        try:
            if set_name not in self._items:
                self._items[set_name] = self._make(set_name)
        except LabError as error:
            self._broken = f"the correctness reference cannot be asked: {error}"
            raise LabError(self._broken) from None
        return self._items[set_name]

    def _make(self, set_name: str) -> Items:
        if not self._fleet.stations:
            entries = read_registry(self._place.root / "workers" / "registry.toml")
            entry = next(e for e in entries if REFERENCE in e.implementations)
            build(entry, self._place, self._show)
            self._fleet.add(Station(entry, self._place, Limits()))
        library = load(built=self._fleet.stations[0].library)
        judge = subject_of(self._fleet, find_reference(self._fleet), set_name)
        inputs = choose_inputs(library, set_name, _SEED, GATE_SIZES)
        return make_items_of_gate(library, judge, inputs, _SEED)

    def __exit__(self, *error: object) -> None:
        self._fleet.__exit__(None)
