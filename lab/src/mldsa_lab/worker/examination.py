"""How a row of the correctness suite is put to an implementation, and its result."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

from mldsa_lab.check import Check
from mldsa_lab.errors import LabError
from mldsa_lab.inputs.input import Input
from mldsa_lab.worker.judges import GroupJudge, Judge
from mldsa_lab.worker.protocol import JobInput, Output
from mldsa_lab.worker.subject import Subject
from mldsa_lab.worker.worker import WorkerFault, WorkerRefusal

Source = Literal["reference", "others", "worker"]


class Probe(NamedTuple):
    """One input of a check; `what` names it in a report, `item` is what it was made of."""

    what: str
    input: JobInput
    judge: Judge
    item: Input | None = None


@dataclass(frozen=True, slots=True)
class Items:
    """What the checks of a subject take their inputs from.

    ``made``: items with keys and, where somebody can make them, outputs, by ``source``, whose name
    checks have. ``hedged``: ML-DSA's with an rnd other than zero. ``bases``: signatures to alter;
    else they are the subject's own. ``other_pk``: a key that these are not of. ``z_violations``:
    signatures whose only fault is the norm of z. ``group``: for batches. ``known``: whether NIST's
    known answers are asked. ``sibling`` makes keys for a subject that does not. ``reference`` and
    ``peer`` verify what the subject signs. ``every``: whether checks are made that are not fast.
    """

    source: Source = "others"
    made: Sequence[Input] = ()
    hedged: Sequence[Input] = ()
    bases: Sequence[Input] = ()
    other_pk: bytes | None = None
    z_violations: Sequence[Input] = ()
    group: Sequence[Input] = ()
    known: bool = False
    sibling: Subject | None = None
    reference: Subject | None = None
    peer: Subject | None = None
    every: bool = False


@dataclass(frozen=True, eq=False)
class CheckCase:
    """One row of the suite.

    ``name`` may hold `{source}` or `{peer}`. ``cases`` gets the examination and ``operation``,
    which is asked with what it returns; no cases, no check. ``families``: None for all. ``needs``
    the parts of `Items` without which it is not made. ``together`` judges all outputs. ``skip`` is
    why it does not apply to a subject. ``may_refuse`` is the remark where a subject that fails on
    every case is taken as one that the check does not apply to. ``asks``: who performs the
    operation. ``is_quiet``: no line where the operation is not announced. ``is_fast``: part of the
    gate.
    """

    name: str
    operation: str
    description: str
    cases: Callable[[Examination, str], Iterable[Probe]]
    families: tuple[str, ...] | None = None
    needs: tuple[str, ...] = ("made",)
    sources: tuple[Source, ...] = ("reference", "others", "worker")
    together: Callable[[Examination], GroupJudge | None] = lambda exam: None
    skip: Callable[[Subject], str | None] = lambda subject: None
    may_refuse: str | None = None
    asks: Literal["subject", "reference", "peer"] = "subject"
    is_quiet: bool = False
    is_fast: bool = True

    def has(self, subject: Subject) -> bool:
        """Whether it is a check of the subject's family."""
        known = self.families is None or subject.scheme.family in self.families
        return known and self.operation in subject.kin.worker_operations

    def applies(self, exam: Examination) -> bool:
        """Whether the check can be made now."""
        items = exam.items
        return (
            items.source in self.sources
            and all(getattr(items, need) for need in self.needs)
            and (self.is_fast or items.every)
        )


class PeerTrouble(LabError):
    """Another implementation could not be asked, which does not count."""


class Examination:
    """The checks of one subject, as they are made."""

    def __init__(self, subject: Subject, items: Items, table: Iterable[CheckCase]) -> None:
        self.subject = subject
        self.items = items
        self.checks: list[Check] = []
        self._table = [case for case in table if case.has(subject)]
        self._made: dict[CheckCase, Check | None] = {}
        self._results: dict[CheckCase, list[tuple[Probe, Output]]] = {}

    @property
    def passed(self) -> bool:
        """Whether no check failed so far, and at least one had cases."""
        return not self.failed and any(c.cases for c in self.checks)

    @property
    def failed(self) -> bool:
        """Whether a check failed so far."""
        return any(c.failed for c in self.checks)

    @property
    def reason(self) -> str | None:
        """The first failure as text."""
        for check in self.checks:
            if check.failed:
                return f"{check.check}: {check.first_failure} ({check.failed} of {check.cases})"
        return None if self.passed else "no check of the gate applies to it"

    def add(self, name: str, failure: str | None, cases: int = 0) -> None:
        """Note that all cases of a check failed for one reason, or without cases that it does not
        apply."""
        self.checks.append(Check(name, cases, cases, failure))

    def results(self, name: str) -> list[tuple[Probe, Output]]:
        """The cases of a check with their outputs; makes it first if it was not made yet."""
        case = next((case for case in self._table if case.name == name), None)
        if case is None:
            return []
        self.make(case)
        return self._results.get(case, [])

    def own(self, name: str) -> list[Input]:
        """The items of a check with the outputs that the subject made of them."""
        made = ((p.item, o.value) for p, o in self.results(name))
        return [item.with_output(value) for item, value in made if item is not None and value]

    def run(self) -> list[Check]:
        """Make all checks that apply now and were not made yet; all results so far."""
        for case in self._table:
            self.make(case)
        return self.checks

    def make(self, case: CheckCase) -> Check | None:
        """Make a check once, as soon as it applies; None where there is nothing to ask. WorkerFault
        if the subject breaks down, in the last check of `checks`."""
        if case not in self._made and case.applies(self):
            self._made[case] = None
            peer = self.items.peer.variant.implementation if self.items.peer is not None else ""
            name = case.name.format(source=self.items.source, peer=peer)
            try:
                result = self._result(case, name)
            except PeerTrouble as trouble:
                result = Check(name, 0, 0, str(trouble))
            if result is not None:
                self._made[case] = result
                self.checks.append(result)
        return self._made.get(case)

    def _result(self, case: CheckCase, name: str) -> Check | None:
        asked = {"reference": self.items.reference, "peer": self.items.peer}.get(case.asks)
        asked = asked or self.subject
        if not asked.has(case.operation):
            lacking = f"it does not announce {case.operation}"
            return None if case.is_quiet else Check(name, 0, 0, lacking)
        if (skipped := case.skip(self.subject)) is not None:
            return Check(name, 0, 0, skipped)
        listed = list(case.cases(self, case.operation))
        if not listed:
            return None
        try:
            outputs = self._answers(asked, case, listed)
        except WorkerRefusal as refusal:
            if case.may_refuse is not None:
                return Check(name, 0, 0, f"{case.may_refuse}: {refusal.text}")
            text = f"the worker refused {refusal.request}: {refusal.text}"
            return Check(name, len(listed), len(listed), text)
        except WorkerFault as fault:
            self.add(name, f"fault: {fault.rule}", len(listed))
            raise
        failures = [o.failure for o in outputs if o.failure is not None]
        if case.may_refuse is not None and len(failures) == len(listed):
            return Check(name, 0, 0, f"{case.may_refuse}: {failures[0]}")
        self._results[case] = list(zip(listed, outputs, strict=True))
        verdicts = [(p.what, p.judge(o)) for p, o in self._results[case]]
        wrong = [f"{what}: {text}" for what, text in verdicts if text is not None]
        judge = case.together(self)
        if judge is not None and not wrong:
            wrong = [text for text in [judge(outputs)] if text is not None]
        return Check.of(name, len(listed), wrong)

    @staticmethod
    def _answers(asked: Subject, case: CheckCase, listed: Sequence[Probe]) -> list[Output]:
        """The outputs of the cases, in order."""
        # Numbers of its own, in falling order, which a worker has to keep.
        jobs = [replace(p.input, id=len(listed) - i) for i, p in enumerate(listed)]
        try:
            found = asked.ask(case.operation, jobs)
        except LabError as problem:
            if case.asks == "reference":  # not the fault of the subject
                raise LabError(f"the correctness reference broke down: {problem}") from None
            if case.asks == "peer":
                raise PeerTrouble(f"{asked.variant.id}: {problem}") from None
            raise
        return [found[job.id] for job in jobs]
