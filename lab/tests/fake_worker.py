"""Tiny fake workers for the tests of the protocol client: a Python program given as text."""

import sys
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from mldsa_lab.bench.engine import Engine, Workload
from mldsa_lab.bench.fleet import Fleet, Station
from mldsa_lab.bench.workloads.operations import Cell
from mldsa_lab.records import Row, Variant
from mldsa_lab.worker.protocol import JobInput, Runs
from mldsa_lab.worker.registry import Place, WorkerEntry
from mldsa_lab.worker.worker import Limits

HELLO = """\
worker fake
protocol 1
language Python
compiler CPython
unit ns
clock time.monotonic_ns
cpu_clock none
variant fake:python:compact
implementation fake
version 1
backend python
key compact
family ml-dsa
sets ML-DSA-44
operations keygen sign verify trace
rnd given
context yes
end
"""

_PROLOGUE = """
import os, signal, subprocess, sys, time
def say(text):
    sys.stdout.write(text); sys.stdout.flush()
def request():
    line = sys.stdin.readline()
    if not line: sys.exit(0)
    if line.startswith("prepare"):
        while sys.stdin.readline() not in ("end\\n", ""): pass
    return line.split()
"""


def fake_worker(folder: Path, body: str) -> list[str]:
    """The command line of a fake worker that runs the body after a few helpers and HELLO."""
    path = folder / "fake.py"
    path.write_text(_PROLOGUE + f"HELLO = {HELLO!r}\n" + textwrap.dedent(body), encoding="utf-8")
    return [sys.executable, "-S", str(path)]


@contextmanager
def fake_fleet(folder: Path, body: str) -> Iterator[Fleet]:
    """A fleet of this one fake worker."""
    entry = WorkerEntry("fake", "Python", ".", (), tuple(fake_worker(folder, body)))
    with Fleet() as fleet:
        fleet.add(Station(entry, Place(folder, folder), Limits(hello=20)))
        yield fleet


def cell_of(variant: Variant, operation: str = "verify", runs: Runs | None = None) -> Cell:
    """A cell of one input."""
    return Cell(variant, "ML-DSA-44", operation, [JobInput(0)], {}, random=False, runs=runs)


def rows_of(fleet: Fleet, workload: Workload[Any], rounds: int) -> list[Row]:
    """What a run writes."""
    rows: list[Row] = []
    engine = Engine(fleet, workload, rows.append)
    engine.calibrate(lambda case: None)
    for number in range(rounds if engine.cases else 0):
        engine.round(number, lambda case: None)
    return rows
