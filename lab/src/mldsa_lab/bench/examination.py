"""One check of the correctness gate: inputs put to a variant, and what each answer must be."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from mldsa_lab.bench.fleet import Station
from mldsa_lab.records import Check, Variant
from mldsa_lab.worker.protocol import JobInput, Output
from mldsa_lab.worker.worker import WorkerFault, WorkerRefusal

ACCEPTED = b"\x01"

Judge = Callable[[Output], str | None]
"""What is wrong with an output, or None."""


@dataclass(frozen=True, slots=True)
class Probe:
    """One input of a check; `what` names it in a report."""

    what: str
    input: JobInput
    judge: Judge


class GateFault(Exception):
    """The worker broke down in a check; `fault` says how."""

    def __init__(self, check: str, fault: WorkerFault) -> None:
        super().__init__(str(fault))
        self.check = check
        self.fault = fault


class Examination:
    """The checks of one variant and set, as they are made."""

    def __init__(self, station: Station, variant: Variant, set_name: str) -> None:
        self.station = station
        self.variant = variant
        self.set_name = set_name
        self.checks: list[Check] = []

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

    def run(
        self, name: str, operation: str, cases: Iterable[Probe], *, may_refuse: str | None = None
    ) -> dict[int, Output]:
        """Make a check and keep its result; returns the outputs by position of the case.

        `may_refuse` is the remark where a variant that fails on every case is taken as one that
        the check does not apply to. GateFault if the worker breaks down.
        """
        listed = list(cases)
        if operation not in self.variant.operations:
            self.skip(name, f"it does not announce {operation}")
            return {}
        if not listed:
            return {}
        # Job numbers of its own, so that cases of any origin can stand in one job.
        inputs = [replace(case.input, id=i) for i, case in enumerate(listed)]
        try:
            outputs = self.station.answer(self.variant.id, self.set_name, operation, inputs)
        except WorkerRefusal as refusal:
            if may_refuse is not None:
                self.skip(name, f"{may_refuse}: {refusal.text}")
            else:
                text = f"the worker refused the request: {refusal.text}"
                self.checks.append(Check(name, len(listed), len(listed), text))
            return {}
        except WorkerFault as fault:
            self.checks.append(Check(name, len(listed), len(listed), f"fault: {fault.rule}"))
            raise GateFault(name, fault) from None
        failures = [o.failure for o in outputs.values() if o.failure is not None]
        if may_refuse is not None and len(failures) == len(listed):
            self.skip(name, f"{may_refuse}: {failures[0]}")
            return {}
        self.judge(name, [(case.what, case.judge(outputs[i])) for i, case in enumerate(listed)])
        return outputs

    def judge(self, name: str, verdicts: Sequence[tuple[str, str | None]]) -> None:
        """Keep the result of a check from the cases' names and what is wrong with each."""
        wrong = [f"{what}: {text}" for what, text in verdicts if text is not None]
        self.checks.append(Check(name, len(verdicts), len(wrong), wrong[0] if wrong else None))

    def skip(self, name: str, why: str) -> None:
        """Note that a check does not apply."""
        self.checks.append(Check(name, 0, 0, why))


def must_equal(expected: bytes, of: str) -> Judge:
    """The output must be these bytes."""

    def judge(output: Output) -> str | None:
        return _failure(output) or difference(output.value or b"", expected, of)

    return judge


def must_be_keys(pk: bytes, sk: bytes | None) -> Judge:
    """The keys must be these; a private key that is not known or not given is not judged."""

    def judge(output: Output) -> str | None:
        wrong = _failure(output) or difference(output.value or b"", pk, "the public key")
        if wrong is None and sk is not None and output.private_key is not None:
            wrong = difference(output.private_key, sk, "the private key")
        return wrong

    return judge


def must_give(size: int | None, what: str) -> Judge:
    """There must be an output, of this many bytes where that is known."""

    def judge(output: Output) -> str | None:
        if output.failure is not None:
            return _failure(output)
        length = len(output.value or b"")
        if size is not None and length != size:
            return f"{what} has {length} bytes, must have {size}"
        return None if length else f"{what} is empty"

    return judge


def must_accept(output: Output) -> str | None:
    """The verdict must be that the signature is valid."""
    if output.failure is not None:
        return _failure(output)
    return None if output.value == ACCEPTED else "refused, must be accepted"


def must_refuse(output: Output) -> str | None:
    """The verdict must not be that the signature is valid; an error is a refusal too."""
    return "accepted, must be refused" if output.value == ACCEPTED else None


def must_fail(output: Output) -> str | None:
    """There must be no output."""
    return None if output.failure is not None else "accepted, must be refused"


def difference(got: bytes, expected: bytes, of: str) -> str | None:
    """How bytes differ, or None."""
    if got == expected:
        return None
    if len(got) != len(expected):
        return f"{of} has {len(got)} bytes, must have {len(expected)}"
    first = next(i for i, (a, b) in enumerate(zip(got, expected, strict=True)) if a != b)
    return f"{of} differs from byte {first} on"


def _failure(output: Output) -> str | None:
    return None if output.failure is None else f"failed: {output.failure}"
