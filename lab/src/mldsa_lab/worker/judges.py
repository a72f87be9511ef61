"""Judges of replies: pure functions that say what is wrong, or None."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence

from mldsa_lab.theory.trace import Trace, format_trace
from mldsa_lab.worker.protocol import Output, Sample
from mldsa_lab.worker.request import ACCEPTED, REFUSED

Judge = Callable[[Output], str | None]
"""What is wrong with an output, or None."""
GroupJudge = Callable[[Sequence[Output]], str | None]
"""What is wrong with the outputs of a check together, or None."""


def must_equal(expected: bytes, name: str) -> Judge:
    """The output must be these bytes."""
    return lambda output: _failure(output) or difference(output.value or b"", expected, name)


def must_be_keys(pk: bytes | None, sk: bytes | None, sizes: tuple[int, int] | None = None) -> Judge:
    """The keys must be these and of these sizes; what is not known or not given is not judged."""

    def judge(output: Output) -> str | None:
        wrong = _failure(output)
        made = ("public", pk, output.value), ("private", sk, output.private_key)
        for place, (kind, expected, key) in enumerate(made):
            if wrong is None and sizes is not None and key is not None:
                wrong = _size(f"the {kind} key", key, sizes[place])
            if wrong is None and expected is not None and key is not None:
                wrong = difference(key, expected, f"the {kind} key")
        return wrong

    return judge


def must_give(size: int | None, name: str) -> Judge:
    """There must be an output, of this many bytes where that is known."""

    def judge(output: Output) -> str | None:
        value = output.value or b""
        wrong = _failure(output) or (None if size is None else _size(name, value, size))
        return wrong or (None if value else f"{name} is empty")

    return judge


def must_trace(expected: Trace) -> Judge:
    """The attempts must be these, where they are known."""

    def judge(output: Output) -> str | None:
        wrong = _failure(output)
        if wrong is None and expected and output.trace != expected:
            return f"trace {format_trace(output.trace)}, must be {format_trace(expected)}"
        return wrong

    return judge


def must_accept(output: Output) -> str | None:
    """The verdict must be that the signature is valid."""
    return _failure(output) or (None if output.value == ACCEPTED else "refused, must be accepted")


def must_refuse(output: Output) -> str | None:
    """The verdict must not be that the signature is valid; an error is a refusal too."""
    return "accepted, must be refused" if output.value == ACCEPTED else None


def must_answer_refused(output: Output) -> str | None:
    """The verdict must be 00, and no failure."""
    said = "01" if output.failure is None else f"`failed` {output.failure}"
    return None if output.value == REFUSED else f"it said {said}, not 00"


def must_fail(output: Output) -> str | None:
    """There must be no output."""
    if output.failure is not None:
        return None
    return f"gave an output of {len(output.value or b'')} bytes, must be refused"


def must_repeat(outputs: Sequence[Output], *, distinct: bool = True) -> str | None:
    """The second half of the outputs must be the first again, and those of one half different
    where different inputs must have ``distinct`` outputs."""
    half = len(outputs) // 2
    made = [(o.value, o.private_key, o.trace) for o in outputs]
    if made[:half] != made[half:]:
        return "the same input gave another output the second time"
    values = [o.value for o in outputs[:half] if o.value]
    if distinct and len(set(values)) < len(values):
        return "different inputs gave the same output"
    return None


def must_differ(outputs: Sequence[Output]) -> str | None:
    """No two outputs may be the same."""
    values = [o.value for o in outputs]
    return None if len(set(values)) == len(values) else "it gave the same output twice"


def difference(got: bytes, expected: bytes, name: str) -> str | None:
    """How bytes differ, or None."""
    if got == expected:
        return None
    first = next((i for i, (a, b) in enumerate(zip(got, expected, strict=False)) if a != b), 0)
    return _size(name, got, len(expected)) or f"{name} differs from byte {first} on"


def judge_sample(sample: Sample, output: bytes | None) -> str | None:
    """A sample of good inputs must have taken time and have the digest of their output, where that
    is known."""
    if sample.failure is not None:
        return f"`failed` {sample.failure}, where `answer` was good"
    if sample.wall == 0:
        return "a sample of no wall ticks at all"
    if output is None or sample.digest == hashlib.sha256(output).digest():
        return None
    return (
        f"digest {sample.digest.hex()} from input {sample.input} on is not the SHA-256 of its "
        "output"
    )


def _size(name: str, data: bytes, size: int) -> str | None:
    return None if len(data) == size else f"{name} has {len(data)} bytes, must have {size}"


def _failure(output: Output) -> str | None:
    return None if output.failure is None else f"failed: {output.failure}"
