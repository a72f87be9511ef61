"""The conformance test of a worker: the rules of `workers/PROTOCOL.md` and the correctness suite,
as named checks. A new worker passes this first.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Literal

from mldsa_lab.errors import LabError
from mldsa_lab.worker.conformance_rules import rules
from mldsa_lab.worker.examination import Items
from mldsa_lab.worker.registry import Place, WorkerEntry
from mldsa_lab.worker.trials import (
    ConformanceRule,
    Nonconformance,
    NotApplicable,
    NotTested,
    Trials,
)
from mldsa_lab.worker.worker import Limits, Worker, WorkerFault, WorkerRefusal

Status = Literal["failed", "untested", "passed", "skipped"]
_COUNTED = {"passed": "passed", "failed": "failed", "untested": "not tested", "skipped": "skipped"}

CONFORMANCE_LIMITS = Limits(hello=20, prepare=60, answer=300, measure=60, forget=20, quit=10)
"""For ordinary programs; a simulator needs longer ones."""


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of one check. ``said``: what the worker said, or why the check was skipped, or of
    which variants and sets it could not be made."""

    check: str
    description: str
    status: Status
    said: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Conformance:
    """The findings on one worker, in the order of the checks."""

    worker: str
    findings: tuple[Finding, ...]

    @property
    def passed(self) -> bool:
        """Whether no check failed and the worker could be judged at all."""
        states = {finding.status for finding in self.findings}
        return "failed" not in states and "passed" in states

    def lines(self) -> list[str]:
        """For people: what failed and what could not be tested, with the reasons; then what passed;
        what does not apply, by its reason; and the numbers of all."""
        text: list[str] = []
        alike: dict[tuple[Status, tuple[str, ...]], list[Finding]] = {}
        for finding in self.findings:
            alike.setdefault((finding.status, finding.said), []).append(finding)
        for status in ("failed", "untested", "passed"):
            shown = "NOT TESTED" if status == "untested" else f"{status:10}"
            for (of, said), findings in alike.items():
                if of == status:
                    text += [f"{shown}  {f.check}: {f.description}" for f in findings]
                    text += [f"            {reason}" for reason in said]
        for (of, said), findings in alike.items():
            if of == "skipped":
                text.append(f"skipped     {said[0]}: {', '.join(f.check for f in findings)}")
        states: list[str] = [finding.status for finding in self.findings]
        total = ", ".join(f"{states.count(s)} {word}" for s, word in _COUNTED.items())
        return [*text, f"worker {self.worker}: {total}"]


def conform_entry(
    entry: WorkerEntry,
    place: Place,
    *,
    limits: Limits = CONFORMANCE_LIMITS,
    only: Collection[str] | None = None,
    known: bool = True,
    reference_items: Callable[[str], Items] | None = None,
    progress: Callable[[str], None] = lambda name: None,
    on_note: Callable[[str], None] = lambda text: None,
) -> Conformance:
    """Make the checks on a worker of the registry that has been built; `progress` gets each check's
    name first, `on_note` each note of the worker.

    All are made, or those of `only` and the first one, `hello`. A worker that cannot announce
    itself is judged by that one alone. `known`: whether it is asked for NIST's known answers.
    `reference_items` makes the gate's items of a set of ML-DSA; without it, checks use only inputs
    that the worker can make. LabError for a name in `only` that no check has.
    """
    argv = entry.fill(entry.run, place)
    listed = rules(known=known, reference=reference_items is not None)
    names = [rule.name for rule in listed]
    for wanted in only or ():
        if wanted not in names:
            raise LabError(f"unknown conformance check `{wanted}`; known are {', '.join(names)}")
    findings: list[Finding] = []

    def start() -> Worker:
        worker = Worker.start(entry.name, argv, cwd=place.root, limits=limits)
        worker.channel.on_note = on_note
        return worker

    trials = Trials(
        entry.name,
        start,
        entry.implementations,
        known,
        reference_items,
        entry.is_listed,
    )
    try:
        for rule in listed:
            if not findings or only is None or rule.name in only:
                progress(rule.name)
                findings.append(_finding(trials, rule))
            if findings[0].status == "failed":
                break
    finally:
        trials.close()
    return Conformance(entry.name, tuple(findings))


def _finding(trials: Trials, check: ConformanceRule) -> Finding:
    try:
        wrong, untested = check.run(trials)
    except NotApplicable as reason:
        return Finding(check.name, check.description, "skipped", (str(reason),))
    except NotTested as reason:
        wrong, untested = [], [str(reason)]
    except (Nonconformance, WorkerFault, WorkerRefusal) as error:
        wrong, untested = [str(error)], []
    status: Status = "failed" if wrong else "untested" if untested else "passed"
    return Finding(check.name, check.description, status, (*wrong, *untested))
