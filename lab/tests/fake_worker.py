"""Fake workers: Python programs given as text, tiny ones and one that hashes."""

import shlex
import sys
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from mldsa_lab.bench.engine import Engine, Workload
from mldsa_lab.bench.fleet import Fleet, WorkerHandle
from mldsa_lab.bench.workload import Cell
from mldsa_lab.records import Row, Variant
from mldsa_lab.worker.protocol import JobInput, Runs
from mldsa_lab.worker.registry import BuildDirs, WorkerEntry
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
body = []
def say(text):
    sys.stdout.write(text); sys.stdout.flush()
def request():
    line = sys.stdin.readline()
    if not line: sys.exit(0)
    if line.startswith("prepare"):
        body.clear()
        while (part := sys.stdin.readline()) not in ("end\\n", ""): body.append(part.split())
    return line.split()
"""

HASHES = HELLO.replace("cpu_clock none", "cpu_clock time.thread_time_ns").partition("variant")[0]
HASHES += """\
variant NAME:python:compact
implementation NAME
version 1
backend python
key compact
family hash
sets SHA3-256
operations hash
rnd none
context no
end
"""
SCRIPT = """
import hashlib
def hexa(data): return data.hex() or "-"
def outputs(job): return [(i, hashlib.sha3_256(data).digest()) for i, data in jobs[job]]
def timed(data, calls):
    cpu, wall = time.thread_time_ns(), time.monotonic_ns()
    for _ in range(int(calls)): value = hashlib.sha3_256(data).digest()
    wall, cpu = time.monotonic_ns() - wall, time.thread_time_ns() - cpu
    return wall, cpu, hashlib.sha256(value).hexdigest()
def sample(number, data, calls):
    wall, cpu, digest = timed(data, calls)
    return f"sample {number} {wall} {cpu} {calls} {digest}"
def reply(word, job="", *rest):
    if word == "hello": return HELLO.splitlines()
    if word == "prepare":
        jobs[job] = []
        for key, value in body:
            if key == "input": jobs[job].append((value, b""))
            if key == "message" and value != "-":
                jobs[job][-1] = (jobs[job][-1][0], bytes.fromhex(value))
        return [f"ready {job}"]
    if word == "answer":
        return [*(f"output {i} {hexa(out)}" for i, out in outputs(job)), f"done {job}"]
    if word == "measure":
        passes, calls, warmup = rest
        until = time.monotonic_ns() + int(warmup)
        while time.monotonic_ns() < until: outputs(job)
        pairs = jobs[job] * int(passes)
        return [*(sample(i, data, calls) for i, data in pairs), f"done {job}"]
    if word == "forget": return [f"done {job}"]
    if word == "quit": sys.exit(0)
    return ["error unknown request"]
jobs, measures = {}, 0
with open(STARTS, "a") as file: file.write("x")
starts = os.path.getsize(STARTS)
while True:
    asked = request()
    word = asked[0]
    measures += word == "measure"
    is_late = word == "measure" and starts > 2
    BEFORE
    lines = reply(*asked)
    AFTER
    say("".join(line + "\\n" for line in lines))
"""
"""A worker that hashes as the protocol asks; ``BEFORE`` and ``AFTER`` its reply something else may
happen. ``starts`` counts its processes, the first of which is the gate's and the second that of
calibration and round 0; ``is_late``: it measures in a later round."""


def fake_worker(folder: Path, body: str) -> list[str]:
    """The command line of a fake worker that runs the body after a few helpers and HELLO."""
    path = folder / "fake.py"
    path.write_text(_PROLOGUE + f"HELLO = {HELLO!r}\n" + textwrap.dedent(body), encoding="utf-8")
    return [sys.executable, "-S", str(path)]


def hashing_worker(folder: Path, name: str, before: str = "pass", after: str = "pass") -> Path:
    """The program of a worker that hashes, and does this before and after it has made a reply."""
    folder.mkdir()
    script = SCRIPT.replace("STARTS", repr(str(folder / "starts")))
    for word, what in (("BEFORE", before), ("AFTER", after)):
        script = script.replace(word, textwrap.indent(textwrap.dedent(what), "    ").strip())
    argv = fake_worker(folder, f"HELLO = {HASHES.replace('NAME', name)!r}\n{script}")
    path = folder / name
    path.write_text(f"#!/bin/sh\nexec {shlex.join(argv)}\n", encoding="utf-8")
    path.chmod(0o755)
    return path


@contextmanager
def fake_fleet(folder: Path, body: str) -> Iterator[Fleet]:
    """A fleet of this one fake worker."""
    entry = WorkerEntry("fake", "Python", ".", (), tuple(fake_worker(folder, body)))
    with Fleet() as fleet:
        fleet.add(WorkerHandle(entry, BuildDirs(folder, folder), Limits(hello=20)))
        yield fleet


def cell_of(variant: Variant, operation: str = "verify", runs: Runs | None = None) -> Cell:
    """A cell of one input."""
    return Cell(variant, "ML-DSA-44", operation, [JobInput(0)], {}, random=False, runs=runs)


def rows_of(fleet: Fleet, workload: Workload[Any], rounds: int) -> list[Row]:
    """Return the rows that a run writes."""
    rows: list[Row] = []
    engine = Engine(fleet, workload, rows.append)
    engine.calibrate(lambda case: None)
    for number in range(rounds if engine.cases else 0):
        engine.round(number, lambda case: None)
    return rows
