"""The conformance test of a worker: the rules of `workers/PROTOCOL.md` and the correctness suite,
as named checks. A new worker passes this first.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Literal

from mldsa_lab.errors import LabError
from mldsa_lab.worker.conformance_rules import rules
from mldsa_lab.worker.registry import Place, WorkerEntry
from mldsa_lab.worker.trials import ConformanceRule, Nonconformance, NotApplicable, Trials
from mldsa_lab.worker.worker import Limits, Worker, WorkerFault, WorkerRefusal

Status = Literal["passed", "failed", "skipped"]

CONFORMANCE_LIMITS = Limits(hello=20, prepare=60, answer=300, measure=60, forget=20, quit=10)
"""For ordinary programs; a simulator needs longer ones."""


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of one check. `said` is what the worker said, or why the check was skipped."""

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
        """For people: one line for each check, and what the worker said under each that failed."""
        text: list[str] = []
        for finding in self.findings:
            text.append(f"{finding.status:7}  {finding.check}: {finding.description}")
            if finding.status != "passed":
                text.extend(f"         {said}" for said in finding.said)
        states = [finding.status for finding in self.findings]
        total = ", ".join(f"{states.count(s)} {s}" for s in ("passed", "failed", "skipped"))
        return [*text, f"worker {self.worker}: {total}"]


def conform_entry(
    entry: WorkerEntry,
    place: Place,
    *,
    limits: Limits = CONFORMANCE_LIMITS,
    only: Collection[str] | None = None,
    known: bool = True,
    progress: Callable[[str], None] = lambda name: None,
) -> Conformance:
    """Make the checks on a worker of the registry that has been built; `progress` gets each check's
    name first.

    All are made, or those of `only` and the first one, `hello`. A worker that cannot announce
    itself is judged by that one alone. `known`: whether it is asked for NIST's known answers.
    LabError for a name in `only` that no check has.
    """
    argv = entry.fill(entry.run, place)
    listed = rules(known=known)
    names = [rule.name for rule in listed]
    for wanted in only or ():
        if wanted not in names:
            raise LabError(f"unknown conformance check `{wanted}`; known are {', '.join(names)}")
    findings: list[Finding] = []
    trials = Trials(
        entry.name,
        lambda: Worker.start(entry.name, argv, cwd=place.root, limits=limits),
        entry.implementations,
        known,
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
        wrong = check.run(trials)
    except NotApplicable as reason:
        return Finding(check.name, check.description, "skipped", (str(reason),))
    except (Nonconformance, WorkerFault, WorkerRefusal) as error:
        wrong = [str(error)]
    if wrong:
        return Finding(check.name, check.description, "failed", tuple(wrong))
    return Finding(check.name, check.description, "passed")
