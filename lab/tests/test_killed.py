"""Workers, and the lab itself, killed in the middle: what was measured by then is kept."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from unittest import mock

import pytest
from lab_runs import build_rust, command, groups_in, here, lab

from mldsa_lab.records import Record, read_record

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")

STUDY = """
format = "mldsa-lab study"
version = 1
title = "Killed in the middle"

[[measure]]
workers = ["rust"]
implementations = ["mldsa-lanes:portable:compact", "mldsa-native"]
sets = ["44"]
operations = ["verify"]

[profiles.default]
seconds = 1
rounds = [30, 30]
processes = 2
"""


@pytest.mark.parametrize(
    ("arguments", "called"),
    [
        (["select", "65"], "mldsa_lab.inputs.tracing.load"),
        (["workers"], "mldsa_lab.machine.describe"),
    ],
)
def test_an_interrupted_command_says_so(arguments: list[str], called: str) -> None:
    with mock.patch(called, side_effect=KeyboardInterrupt):
        found = here(*arguments)
    assert (found.status, found.err) == (130, "mldsa-lab: interrupted\n")


def children(parent: int) -> dict[int, str]:
    """The command lines of a process's children by their ids."""
    found = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            if int(stat.read_text().rpartition(")")[2].split()[1]) == parent:
                found[int(stat.parent.name)] = (stat.parent / "cmdline").read_text()
        except OSError:
            continue  # it has ended meanwhile
    return found


@contextmanager
def running(*arguments: str) -> Iterator[subprocess.Popen[str]]:
    """The command, at work."""
    process = subprocess.Popen(
        command(*arguments), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def rows(path: Path, kind: str) -> int:
    return path.read_text().count(f'{{"type":"{kind}"')


def wait(process: subprocess.Popen[str], reached: Callable[[], bool]) -> None:
    """Until this is so; an AssertionError with the output where the process ends before."""
    deadline = time.monotonic() + 400
    while not reached():
        assert process.poll() is None and time.monotonic() < deadline, process.communicate()[0]
        time.sleep(0.02)


def record_of(process: subprocess.Popen[str], pattern: Path, loads: int) -> Path:
    """The record at this pattern, once it has so many rounds."""
    folder, _, name = str(pattern).partition("*")
    found: list[Path] = []

    def reached() -> bool:
        found[:] = Path(folder).glob("*" + name)
        return bool(found) and rows(found[0], "load") >= loads

    wait(process, reached)
    return found[0]


def kill_worker(process: subprocess.Popen[str], part: str, record: Path) -> None:
    """Kill the child whose command has this part; again where it had ended its work already."""
    while not rows(record, "fault"):
        killed = {pid for pid, line in children(process.pid).items() if part in line}
        for pid in killed:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

        def next_begun(killed: set[int] = killed) -> bool:
            return any(
                part in line for pid, line in children(process.pid).items() if pid not in killed
            )

        wait(process, next_begun)


def lost(record: Record) -> str:
    """The one variant that was left out, which was measured before it was."""
    (fault,) = record.faults
    assert "SIGKILL" in fault.reason and fault.round is not None
    measured = [s.round for s in record.samples if s.variant == fault.variant]
    assert measured and max(measured) <= fault.round
    return fault.variant


@pytest.mark.e2e
def test_a_study_whose_worker_and_then_itself_is_killed(tmp_path: Path) -> None:
    build_rust()
    path, out = tmp_path / "killed.toml", tmp_path / "out"
    path.write_text(STUDY)
    with running("study", str(path), "--out", str(out)) as process:
        first = record_of(process, out / "01-01" / "*" / "record.jsonl", 3)
        kill_worker(process, "mldsa-worker-rust", first)
        second = record_of(process, out / "01-02" / "*" / "record.jsonl", 3)
        process.kill()
        process.wait()
    record = read_record(first)
    assert record.end is not None and (record.end.status, record.end.rounds) == ("complete", 30)
    variant = lost(record)
    other = {s.variant for s in record.samples} - {variant}
    assert {s.round for s in record.samples if s.variant in other} == set(range(30))
    left = read_record(second)
    assert left.is_interrupted and len(left.samples) >= 4
    kept = first.read_bytes()
    done = lab("study", str(path), "--out", str(out), "--to", "none")
    assert done.status == 0, done.err
    assert first.read_bytes() == kept and len(list(out.glob("01-01/*"))) == 1
    again = [read_record(p) for p in out.glob("01-02/*/record.jsonl") if p != second]
    assert [(r.is_interrupted, r.faults, r.run.seed) for r in again] == [(False, [], left.run.seed)]
    found = groups_in(out / "study.json")
    assert any(variant in row.get("of", "") and row["count"] == 1 for row in found)
