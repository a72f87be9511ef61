"""Instruction counts of single signatures, with Valgrind's Callgrind.

A worker signs all inputs in one process under Callgrind. Counting is on only inside the function of
the worker that makes a single signature for the request `answer`. Whenever it returns, Callgrind
writes the count since the last time. So nothing in the worker knows of Valgrind, and nothing of it
is timed: `answer` never is. The count includes the copying of the signature into the reply.

Counts are for Valgrind's own CPU, which has AVX2 but no AVX-512.
"""

from __future__ import annotations

import hashlib
import re
import tempfile
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from fnmatch import fnmatchcase
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from mldsa_lab import LabError, machine
from mldsa_lab.inputs.input import Input
from mldsa_lab.worker.protocol import AnnouncedVariant, Announcement
from mldsa_lab.worker.registry import BuildDirs, Need, WorkerEntry, unmet_need
from mldsa_lab.worker.worker import Limits, Worker
from mldsa_studies.jobs import check_signatures, one_each, sign_jobs

FUNCTION = "*::job::Timed<*::answer"
"""The function of the worker `rust` that performs one signature: a name as Valgrind prints it,
with the wildcards * and ?."""
VALGRIND = Need(
    "valgrind", "install it (Debian, Ubuntu: apt-get install valgrind)", ("valgrind", "--version")
)
PART = 200
"""Inputs that are handed over at a time: each leaves a small file until it is read."""

_LIMITS = Limits(hello=300.0, prepare=1800.0, answer=7200.0, quit=120.0)
# A function without the recursion level or context that Callgrind appends to it.
_NAME = re.compile(r"^c?fn=\(\d+\) (.+?)(?:'\d+)?$", re.MULTILINE)


def command(out: Path, function: str | None) -> list[str]:
    """Return the words before a program's own that run it under Callgrind.

    With ``function``, an exact name, a file ``out.N`` is written after each of its calls, with its
    instructions and its callees'. Without, one file ``out`` covers the whole run.
    """
    words = ["valgrind", "--tool=callgrind", "--quiet", "--dump-line=no"]
    words.append(f"--callgrind-out-file={out}")
    if function is not None:
        # Both exact: of patterns, Callgrind heeds only one option.
        options = ("--collect-atstart=no", f"--toggle-collect={function}")
        words += [*options, f"--dump-after={function}"]
    return words


def names(out: Path) -> set[str]:
    """Return the functions that a file of Callgrind's names."""
    return set(_NAME.findall(out.read_text(encoding="utf-8", errors="replace")))


def take_counts(out: Path, function: str) -> list[int]:
    """Return the instructions of each call of ``function`` since the last time, in order, and
    remove the files. LabError if one of them is not what Callgrind writes after a call."""
    paths = [p for p in out.parent.glob(f"{out.name}.*") if p.suffix[1:].isdigit()]
    counts = []
    for path in sorted(paths, key=lambda p: int(p.suffix[1:])):
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
        totals = [line.removeprefix("totals: ") for line in lines if line.startswith("totals: ")]
        has_head = {f"desc: Trigger: --dump-after={function}", "events: Ir"} <= set(lines)
        if not (has_head and totals and totals[0].isdecimal()):
            raise LabError(f"Callgrind wrote no count after {function}: {path}")
        counts.append(int(totals[0]))
        path.unlink()
    return counts


class Counter(AbstractContextManager["Counter"]):
    """A worker under Callgrind."""

    def __init__(self, entry: WorkerEntry, place: BuildDirs, function: str = FUNCTION) -> None:
        """``function``: the worker's function to count, wildcards allowed. LabError if Valgrind is
        missing or does not work."""
        text = unmet_need(VALGRIND)
        if text is not None:
            raise LabError(text)
        version = machine.tool_version(VALGRIND.version) or "valgrind of unknown version"
        self.tool = f"Callgrind, {version}"
        """The tool that counts."""
        self._pattern = function
        self._name = entry.name
        self._argv = entry.fill(entry.run, place)
        self._root = place.root
        self._folder = tempfile.TemporaryDirectory(prefix="mldsa-count-")
        self._out = Path(self._folder.name) / "out"
        self._exact: str | None = None

    def __exit__(self, *error: object) -> None:
        self._folder.cleanup()

    @cached_property
    def announcement(self) -> Announcement:
        """The announcement of the worker on Valgrind's CPU."""
        with self._start(None) as worker:
            return worker.hello()

    def variant(self, name: str, set_name: str) -> AnnouncedVariant:
        """Return the worker's variant of this id or implementation. LabError if there is none that
        signs deterministically."""
        result = one_each(self.announcement.variants, (name,))[0]
        if set_name not in result.sets:
            raise LabError(f"variant {result.id} has no set {set_name}")
        return result

    def count(
        self,
        variant: AnnouncedVariant,
        set_name: str,
        inputs: Sequence[Input],
        show: Callable[[int], object] = lambda step: None,
    ) -> NDArray[np.uint64]:
        """Return the instructions (inputs,) of signing each input once; LabError if a signature is
        wrong.

        A call before the first one fills what is filled once in a process. ``show`` gets the number
        of inputs of each part that is done.
        """
        if self._exact is None:
            self._exact = self._find_function(variant, set_name, inputs[:1])
        counts: list[int] = []
        with self._start(self._exact) as worker:
            worker.hello()
            self._answer(worker, variant, set_name, inputs[:1])
            take_counts(self._out, self._exact)
            for start in range(0, len(inputs), PART):
                part = inputs[start : start + PART]
                self._answer(worker, variant, set_name, part)
                result = take_counts(self._out, self._exact)
                if len(result) != len(part):
                    raise LabError(
                        f"worker {self._name}: Callgrind saw {len(result)} calls of {self._exact} "
                        f"for {len(part)} signatures"
                    )
                counts += result
                show(len(part))
        return np.array(counts, dtype=np.uint64)

    def _answer(
        self, worker: Worker, variant: AnnouncedVariant, set_name: str, inputs: Sequence[Input]
    ) -> None:
        worker.prepare(1, variant.id, set_name, "sign", sign_jobs(inputs, variant))
        results = [
            (o.input, None if o.value is None else hashlib.sha256(o.value).digest(), o.failure)
            for o in worker.answer(1).values()
        ]
        check_signatures(variant, inputs, results)

    def _find_function(
        self, variant: AnnouncedVariant, set_name: str, inputs: Sequence[Input]
    ) -> str:
        """Return the exact name of the function, as this worker calls it."""
        with self._start(None) as worker:
            worker.hello()
            self._answer(worker, variant, set_name, inputs)
        called = sorted(n for n in names(self._out) if fnmatchcase(n, self._pattern))
        if len(called) != 1:
            result = "; ".join(called) or "none: is it built without symbols?"
            raise LabError(
                f"worker {self._name}: one function {self._pattern} must be called to sign, "
                f"found {result}"
            )
        return called[0]

    def _start(self, function: str | None) -> Worker:
        for old in self._out.parent.glob("out*"):
            old.unlink()
        argv = [*command(self._out, function), *self._argv]
        return Worker.start(f"{self._name} under Valgrind", argv, cwd=self._root, limits=_LIMITS)
