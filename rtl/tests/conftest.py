"""Models of cores for the tests: built once in target/rtl, skipped where Verilator is missing."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from mldsa_lab import LabError
from mldsa_lab.checkout import find_root
from mldsa_lab.worker.worker import Limits, Worker
from mldsa_lab_rtl.build import make
from mldsa_lab_rtl.manifest import Manifest
from mldsa_lab_rtl.verilator import Verilator

TARGET = find_root() / "target" / "rtl"
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
