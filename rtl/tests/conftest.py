"""Models of cores for the tests: built once in rtl/target, skipped where Verilator is missing."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from mldsa_lab import LabError
from mldsa_lab.checkout import find_root
from mldsa_lab.inputs.input import Input
from mldsa_lab.worker.examination import known_answers
from mldsa_lab.worker.protocol import JobInput, Output
from mldsa_lab.worker.worker import Limits, Worker
from mldsa_lab_rtl.build import make
from mldsa_lab_rtl.manifest import Manifest
from mldsa_lab_rtl.verilator import Verilator

TARGET = find_root() / "rtl" / "target"
TOYS = find_root() / "rtl" / "tests" / "toy"
TOY, WORDS = TOYS / "toy.toml", TOYS / "toy_words.toml"
LIMITS = Limits(hello=20, prepare=60, answer=300, measure=300)


def pytest_configure(config: pytest.Config) -> None:
    try:
        Verilator.find()
    except LabError as error:
        if os.environ.get("CI") == "true":
            raise pytest.UsageError(str(error)) from None
        pytest.exit(f"test-rtl: skipped: {error}", 0)


@contextmanager
def started(path: Path, *options: str, name: str = "") -> Iterator[Worker]:
    """The core of a manifest as a running worker, made where it is not there; ``name``: of its
    folder, that of the worker if it has none."""
    manifest = Manifest.read(path)
    program = make(manifest, TARGET / (name or manifest.worker), lambda line: None)
    with Worker.start(manifest.worker, [str(program), *options], limits=LIMITS) as worker:
        worker.hello()
        yield worker


def altered_toy(folder: Path, *changes: tuple[str, str]) -> Path:
    """Write the toy with another manifest, and return the manifest's path."""
    text = TOY.read_text(encoding="utf-8")
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    for source in TOYS.glob("*.*"):
        (folder / source.name).write_bytes(source.read_bytes())
    path = folder / "core.toml"
    path.write_text(text, encoding="utf-8")
    return path


@dataclass(frozen=True)
class Running:
    """The core of rtl/core at work, in the configuration of this name."""

    worker: Worker
    name: str

    def answer(
        self, set_name: str, operation: str, inputs: list[JobInput], key: str = "compact"
    ) -> list[Output]:
        """Return its answers, in order."""
        self.worker.prepare(1, f"mldsa-core:{self.name}:{key}", set_name, operation, inputs)
        return list(self.worker.answer(1).values())


def nist_job(number: int, case: Input, operation: str) -> JobInput:
    """Return one of NIST's cases as an input."""
    if operation == "keygen":
        return JobInput(number, seed=case.seed)
    texts = {"message": case.message, "context": case.context}
    if operation == "sign":
        return JobInput(number, sk=case.sk, rnd=case.rnd or bytes(32), **texts)
    return JobInput(number, pk=case.pk, signature=case.output, **texts)


def wrong_answers(core: Running, set_name: str, kind: str) -> list[object]:
    """Return the ids of NIST's cases that the core answers otherwise."""
    cases = known_answers(set_name, kind)
    operation = {"keygen": "keygen", "sigver": "verify"}.get(kind, "sign")
    jobs = [nist_job(number, case, operation) for number, case in enumerate(cases)]
    expected = {
        "keygen": [(c.pk, c.sk) for c in cases],
        "sign": [(c.output, None) for c in cases],
        "verify": [(bytes([c.is_valid]), None) for c in cases],
    }[operation]
    answers = [(o.value, o.private_key) for o in core.answer(set_name, operation, jobs)]
    return [c.id for c, a, e in zip(cases, answers, expected, strict=True) if a != e]
