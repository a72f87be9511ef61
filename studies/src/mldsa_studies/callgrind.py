"""Instruction counts of single signatures, with Valgrind's Callgrind.

A worker signs all inputs in one process under Callgrind. Counting is on only inside one function
of the worker, the one that performs a single signature for the request `answer`, and whenever that
function returns Callgrind writes the count since the last time. So nothing in the worker knows of
Valgrind, and nothing of it is timed: `answer` never is. What is counted beside the signature
itself is the copying of its bytes into the reply.

Counts are those of Valgrind's own CPU, which has AVX2 but no AVX-512.
"""

from __future__ import annotations

import hashlib
import re
import tempfile
from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from types import TracebackType
from typing import Self

import numpy as np
from numpy.typing import NDArray

from mldsa_lab import machine
from mldsa_lab.errors import LabError
from mldsa_lab.worker.build import Place
from mldsa_lab.worker.protocol import Announced, Announcement, JobInput
from mldsa_lab.worker.registry import Need, WorkerEntry, unmet_need
from mldsa_lab.worker.worker import Limits, Worker
from mldsa_studies.jobs import SignedInputs, one_each

FUNCTIONS = {"rust": "*::adapter::Timed<*::answer"}
"""The function that performs one signature, by worker: a name as Valgrind prints it, with the
wildcards * and ?."""
VALGRIND = Need(
    "valgrind", "install it (Debian, Ubuntu: apt-get install valgrind)", ("valgrind", "--version")
)
PART = 200
"""Inputs that are handed over at a time: each leaves a small file until it is read."""

_LIMITS = Limits(hello=300.0, prepare=1800.0, answer=7200.0, quit=120.0)
_NAME = re.compile(r"^c?fn=\(\d+\) (.+)$")
# Recursion levels and contexts, which Callgrind appends to names.
_SUFFIX = re.compile(r"'\d+$")


def need_valgrind() -> str:
    """What Valgrind says of its version; LabError that says what to install if it is not there or
    does not work."""
    text = unmet_need(VALGRIND)
    if text is not None:
        raise LabError(text)
    return machine.tool_version(VALGRIND.version) or "valgrind of unknown version"


def command(out: Path, function: str | None) -> list[str]:
    """The words before a program's own that run it under Callgrind.

    With ``function``, an exact name, one file ``out.N`` is written after each of its calls, that
    holds what it and all it called took; without, one file ``out`` of the whole run.
    """
    words = [
        "valgrind",
        "--tool=callgrind",
        "--quiet",
        "--dump-line=no",
        f"--callgrind-out-file={out}",
    ]
    if function is not None:
        # Both exact: of patterns, Callgrind heeds one option alone.
        words += [
            "--collect-atstart=no",
            f"--toggle-collect={function}",
            f"--dump-after={function}",
        ]
    return words


def names(out: Path) -> set[str]:
    """The functions that a file of Callgrind's names."""
    found = set()
    with out.open(encoding="utf-8", errors="replace") as lines:
        for line in lines:
            match = _NAME.match(line.rstrip("\n"))
            if match:
                found.add(_SUFFIX.sub("", match[1]))
    return found


def take_counts(out: Path, function: str) -> list[int]:
    """The instructions of each call of ``function`` since this was last asked, in order; the files
    are removed. LabError if one of them is not what Callgrind writes after a call."""
    numbered = sorted(
        (int(path.suffix[1:]), path)
        for path in out.parent.glob(f"{out.name}.*")
        if path.suffix[1:].isdigit()
    )
    counts = []
    for _, path in numbered:
        counts.append(_total(path.read_text(encoding="utf-8", errors="replace"), function))
        path.unlink()
    return counts


def _total(text: str, function: str) -> int:
    fields: dict[str, str] = {}
    for line in text.splitlines():
        key, _, value = line.removeprefix("desc: ").partition(":")
        fields.setdefault(key, value.strip())
    trigger = fields.get("Trigger", "")
    if not trigger.endswith(f"--dump-after={function}") or fields.get("events") != "Ir":
        raise LabError(f"Callgrind wrote no count after {function}: {trigger or 'no trigger'}")
    total = fields.get("totals", "")
    if not re.fullmatch(r"[0-9]+", total, re.ASCII):
        raise LabError(f"Callgrind wrote no total after {function}: {total!r}")
    return int(total)


class Counter:
    """A worker under Callgrind. Use as a context manager."""

    def __init__(self, entry: WorkerEntry, place: Place, function: str | None = None) -> None:
        """``function``: the worker's function to count, wildcards allowed; by default that of
        `FUNCTIONS`. LabError if Valgrind is missing or no function is known."""
        self.tool = f"Callgrind, {need_valgrind()}"
        """What counts."""
        pattern = function or FUNCTIONS.get(entry.name)
        if pattern is None:
            raise LabError(
                f"worker {entry.name}: which of its functions performs one signature is not "
                "known; name it"
            )
        self._pattern = pattern
        self._name = entry.name
        self._argv = entry.run_command(place.root, place.target)
        self._root = place.root
        self._folder = tempfile.TemporaryDirectory(prefix="mldsa-count-")
        self._out = Path(self._folder.name) / "out"
        self._exact: str | None = None
        self._announced: Announcement | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._folder.cleanup()

    @property
    def announcement(self) -> Announcement:
        """What the worker announces on Valgrind's CPU."""
        if self._announced is None:
            with self._start(None) as worker:
                self._announced = worker.hello()
        return self._announced

    def variant(self, name: str, set_name: str) -> Announced:
        """The worker's variant of this id, or the one that `one_each` takes of this
        implementation; LabError if there is none that signs deterministically."""
        found = one_each(self.announcement.variants, (name,))[0]
        if set_name not in found.sets:
            raise LabError(f"variant {found.id} has no set {set_name}")
        return found

    def count(
        self,
        variant: Announced,
        signed: SignedInputs,
        on_part: Callable[[int], object] = lambda step: None,
    ) -> NDArray[np.uint64]:
        """Instructions (inputs,) of signing each input once; LabError if a signature is wrong.

        A call before the first one fills what is filled once in a process. ``on_part`` is told
        after each part how many inputs it had.
        """
        jobs = signed.jobs(variant)
        if not jobs:
            return np.zeros(0, dtype=np.uint64)
        function = self._function(variant, signed)
        counts: list[int] = []
        with self._start(function) as worker:
            worker.hello()
            self._answer(worker, variant, signed, jobs[:1], function)
            for start in range(0, len(jobs), PART):
                part = jobs[start : start + PART]
                counts += self._answer(worker, variant, signed, part, function)
                on_part(len(part))
        return np.array(counts, dtype=np.uint64)

    def _answer(
        self,
        worker: Worker,
        variant: Announced,
        signed: SignedInputs,
        jobs: Sequence[JobInput],
        function: str,
    ) -> list[int]:
        worker.prepare(1, variant.id, signed.set, "sign", jobs)
        outputs = worker.answer(1).values()
        digests = [None if o.value is None else hashlib.sha256(o.value).digest() for o in outputs]
        signed.check(
            variant, ((o.input, d, o.failure) for o, d in zip(outputs, digests, strict=True))
        )
        counts = take_counts(self._out, function)
        if len(counts) != len(jobs):
            raise LabError(
                f"worker {self._name}: Callgrind saw {len(counts)} calls of {function} for "
                f"{len(jobs)} signatures"
            )
        return counts

    def _function(self, variant: Announced, signed: SignedInputs) -> str:
        """The exact name of the function, as it is called by this worker."""
        if self._exact is None:
            with self._start(None) as worker:
                worker.hello()
                jobs = signed.part(0, 1).jobs(variant)
                worker.prepare(1, variant.id, signed.set, "sign", jobs)
                worker.answer(1)
            called = sorted(n for n in names(self._out) if fnmatchcase(n, self._pattern))
            if len(called) != 1:
                found = "; ".join(called) or "none: is it built without symbols?"
                raise LabError(
                    f"worker {self._name}: one function {self._pattern} must be called to sign, "
                    f"found {found}"
                )
            self._exact = called[0]
        return self._exact

    def _start(self, function: str | None) -> Worker:
        for old in self._out.parent.glob("out*"):
            old.unlink()
        argv = [*command(self._out, function), *self._argv]
        return Worker.start(f"{self._name} under Valgrind", argv, cwd=self._root, limits=_LIMITS)
