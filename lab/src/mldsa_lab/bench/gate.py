"""The correctness gate: a variant that fails one check is not measured for that set.

The gate runs the fast checks of the correctness suite (`worker/suite.py`). Expected outputs come
from sources that are independent of the implementation under test: NIST's known answers, the
literal reference, and another implementation that has passed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any

from mldsa_lab import LabError
from mldsa_lab.bench.fleet import Fleet, WorkerHandle, role_of
from mldsa_lab.bench.material import (
    choose_inputs,
    find_oracle,
    make_items_of_gate,
    make_plain,
    subject_of,
    subjects_of,
)
from mldsa_lab.bench.options import GATE_SIZES, ORACLE
from mldsa_lab.inputs.input import Input
from mldsa_lab.inputs.tracing import load
from mldsa_lab.records import Gate, Variant
from mldsa_lab.sets import DEFAULT_BASELINE, SCHEMES
from mldsa_lab.worker.build import build
from mldsa_lab.worker.cases import FEW
from mldsa_lab.worker.examination import Examination, Items, siblings_of
from mldsa_lab.worker.registry import BuildDirs, read_registry
from mldsa_lab.worker.suite import SUITE
from mldsa_lab.worker.worker import Limits, WorkerFault

_PEERS = (DEFAULT_BASELINE, "aws-lc", "mldsa-lanes", "filippo")
"""Preferred implementations for cross-verification."""
_FEW_SLOW = 2  # items of a check where a signature takes seconds


class CorrectnessGate:
    """The examinations of a run's variants, for each set that has inputs.

    ``items``: by set of ML-DSA; ``plain``: by set, inputs of schemes without traces. After a fault
    the worker is started afresh for its other variants.
    """

    def __init__(
        self,
        fleet: Fleet,
        variants: Sequence[Variant],
        items: Mapping[str, Items],
        plain: Mapping[str, Sequence[Input]],
    ) -> None:
        self.inputs = dict(plain)
        """By set, the inputs of schemes without traces; after `examine` with keys and outputs."""
        self.faults: dict[str, tuple[str, str]] = {}
        """By variant whose worker broke down: the set at which it did, and how."""
        self._fleet = fleet
        self._variants = variants
        self._items = items
        self._exams: dict[tuple[str, str], Examination] = {}

    def examine(self, on_step: Callable[[Variant, str], None]) -> list[Gate]:
        """Make all checks; return the verdict on each variant and set.

        ``on_step`` gets both before their checks.
        """
        for variant, name in self._pairs():
            if name in self._items or name in self.inputs:
                on_step(variant, name)
                self._begin(variant, name)
        for name in self.inputs:
            if SCHEMES[name].traits.has_bytes:
                self._check_outputs(name)
        self._cross_verify(on_step)
        broken = {(v, name) for v, (name, _) in self.faults.items()}
        return [
            Gate(v, name, exam.passed and (v, name) not in broken, tuple(exam.checks))
            for (v, name), exam in self._exams.items()
        ]

    def reason(self, verdict: Gate) -> str:
        """Return the first failure of a rejected variant and set."""
        return self._exams[verdict.variant, verdict.set].reason or ""

    def _pairs(self) -> Iterator[tuple[Variant, str]]:
        """Yield variants with their sets; none of a variant from the fault of its worker on."""
        for variant in self._variants:
            for name in variant.sets:
                if variant.id not in self.faults:
                    yield variant, name

    def _begin(self, variant: Variant, name: str) -> None:
        """Make the checks that need no other implementation."""
        subject = subject_of(self._fleet, variant, name)
        if name in self._items:
            items = self._items[name]
        elif subject.traits.has_bytes or not subject.traits.has_keys:
            siblings = siblings_of(subject, subjects_of(self._fleet, name))
            items = Items(known=True, sibling=next(siblings, None))
        else:  # keys never leave the worker
            items = Items(inputs=self.inputs[name][:FEW])
        group = [i for i in items.group if i.role == role_of(variant, name)]
        exam = self._exams[variant.id, name] = Examination(subject, items, SUITE)
        self._run(exam, group=group if variant.mode == "batch" else ())

    def _check_outputs(self, name: str) -> None:
        """Make the checks of a set without traces on keys and outputs of the sound variants."""
        exams = [e for (_, set_name), e in self._exams.items() if set_name == name and not e.failed]
        sound = [e.subject for e in exams if e.passed and e.subject.variant.id not in self.faults]
        inputs = self.inputs[name] = make_plain(self._fleet, self.inputs[name], sound)
        lacking = next((field for field in ("pk", "output") if not getattr(inputs[0], field)), None)
        for exam in exams:
            v = exam.subject.variant
            if lacking:
                outputs = "signatures" if "sign" in v.operations else "outputs"
                what = "keys" if lacking == "pk" else outputs
                exam.add("inputs", f"all: no implementation that has passed makes {what}", 1)
            else:
                few = inputs[: _FEW_SLOW if SCHEMES[name].is_slow else FEW]
                self._run(exam, inputs=few, group=inputs if v.mode == "batch" else [])

    def _cross_verify(self, on_step: Callable[[Variant, str], None]) -> None:
        """Verify across implementations. A peer has passed everything else: a wrong one would cast
        doubt on the right ones."""
        passed = {key for key, exam in self._exams.items() if exam.passed}
        for variant, name in self._pairs():
            if (variant.id, name) not in passed or not SCHEMES[name].traits.has_bytes:
                continue
            exam = self._exams[variant.id, name]
            peer = self._find_peer(variant, name, passed)
            if peer is None:
                exam.add("cross-verification", "no other implementation has passed")
            else:
                on_step(variant, name)
                self._run(exam, peer=subject_of(self._fleet, peer, name))

    def _find_peer(
        self, variant: Variant, name: str, passed: set[tuple[str, str]]
    ) -> Variant | None:
        """Return another implementation with all operations on keys of others."""
        able = [
            v
            for v in self._variants
            if v.implementation != variant.implementation
            and (v.id, name) in passed
            and set(SCHEMES[name].traits.operations[1:]) <= set(v.operations)
        ]
        return min(
            able, key=lambda v: [*_PEERS, v.implementation].index(v.implementation), default=None
        )

    def _run(self, exam: Examination, **items: Any) -> None:
        """Make the checks that further ``items`` allow, unless the worker broke down."""
        exam.items = replace(exam.items, **items)
        variant = exam.subject.variant.id
        if variant not in self.faults:
            try:
                exam.run()
            except WorkerFault as fault:
                text = f"{exam.checks[-1].check}: {fault.rule}"
                self.faults[variant] = exam.subject.set, text


_SEED = hashlib.sha256(b"mldsa-lab workers conform").digest()


class ReferenceItems(AbstractContextManager["ReferenceItems"]):
    """Items for the gate of `conform`, from the tree's worker with the correctness reference.

    The first request builds and starts the worker; ``show`` gets the lines of the build.
    """

    def __init__(self, dirs: BuildDirs, show: Callable[[str], None] = lambda line: None) -> None:
        self._dirs = dirs
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
        if not self._fleet.handles:
            entries = read_registry(self._dirs.root / "lab" / "workers" / "registry.toml")
            entry = next(e for e in entries if ORACLE in e.implementations)
            build(entry, self._dirs, self._show)
            self._fleet.add(WorkerHandle(entry, self._dirs, Limits()))
        library = load(built=self._fleet.handles[0].library)
        oracle = subject_of(self._fleet, find_oracle(self._fleet), set_name)
        inputs = choose_inputs(library, set_name, _SEED, GATE_SIZES)
        return make_items_of_gate(library, oracle, inputs, _SEED)

    def __exit__(self, *error: object) -> None:
        self._fleet.__exit__(None)
