"""The conformance test of a worker: what `workers/PROTOCOL.md` asks, as named checks.

It tests the protocol, not the cryptography: known answers are the gate's. A new worker passes this
first.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from mldsa_lab.errors import LabError
from mldsa_lab.worker.conformance_bench import (
    ConformanceRule,
    Nonconformance,
    NotApplicable,
    Trials,
)
from mldsa_lab.worker.conformance_checks import RULES
from mldsa_lab.worker.registry import WorkerEntry
from mldsa_lab.worker.worker import Limits, Worker, WorkerFault, WorkerRefusal

Status = Literal["passed", "failed", "skipped"]

CONFORMANCE_LIMITS = Limits(hello=20, prepare=60, answer=60, measure=60, forget=20, quit=10)
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
        counts = {
            status: sum(finding.status == status for finding in self.findings)
            for status in ("passed", "failed", "skipped")
        }
        total = ", ".join(f"{number} {status}" for status, number in counts.items())
        return [*text, f"worker {self.worker}: {total}"]


def conform(
    name: str,
    start: Callable[[], Worker],
    *,
    implementations: Collection[str] = (),
    only: Collection[str] | None = None,
    progress: Callable[[str], None] | None = None,
) -> Conformance:
    """Makes the checks on the worker that `start` starts; `progress` gets each check's name first.

    All are made, or those of `only` and the first one, `hello`. A worker that cannot announce
    itself is judged by that one alone. `implementations` are those that the registry lists.
    LabError for a name in `only` that no check has.
    """
    names = [check.name for check in RULES.listed]
    for wanted in only or ():
        if wanted not in names:
            raise LabError(f"unknown conformance check `{wanted}`; known are {', '.join(names)}")
    findings: list[Finding] = []
    bench = Trials(name, start, implementations)
    try:
        for check in RULES.listed:
            if findings and only is not None and check.name not in only:
                continue
            if progress is not None:
                progress(check.name)
            findings.append(_finding(bench, check))
            if check is RULES.listed[0] and findings[0].status == "failed":
                break
    finally:
        bench.close()
    return Conformance(name, tuple(findings))


def conform_entry(
    entry: WorkerEntry,
    root: Path,
    target: Path,
    *,
    limits: Limits = CONFORMANCE_LIMITS,
    only: Collection[str] | None = None,
    progress: Callable[[str], None] | None = None,
) -> Conformance:
    """The same for a worker of the registry that has been built."""
    argv = entry.run_command(root, target)
    return conform(
        entry.name,
        lambda: Worker.start(entry.name, argv, cwd=root, limits=limits),
        implementations=entry.implementations,
        only=only,
        progress=progress,
    )


def _finding(bench: Trials, check: ConformanceRule) -> Finding:
    try:
        wrong = check.run(bench)
    except NotApplicable as reason:
        return Finding(check.name, check.description, "skipped", (str(reason),))
    except (Nonconformance, WorkerFault, WorkerRefusal) as error:
        wrong = [str(error)]
    if wrong:
        return Finding(check.name, check.description, "failed", tuple(wrong))
    return Finding(check.name, check.description, "passed")
