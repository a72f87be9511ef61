"""A worker may divide the ticks of a call into phases, which stand in the record."""

from __future__ import annotations

from pathlib import Path

import pytest
from fake_worker import fake_worker

from mldsa_lab.bench.engine import Engine
from mldsa_lab.bench.fleet import Fleet, Station
from mldsa_lab.bench.workloads.operations import Cell, Operations
from mldsa_lab.records import Fault, Row, Samples
from mldsa_lab.worker.build import Place
from mldsa_lab.worker.protocol import JobInput
from mldsa_lab.worker.registry import WorkerEntry
from mldsa_lab.worker.worker import Limits

# The first run's sample is taken by the calibration; no warm-up is asked for in cycles.
BODY = """
while True:
    match request():
        case ["hello", _]:
            hello = HELLO.replace("unit ns", "unit cycles")
            say(hello.replace("variant ", "phases load compute store\\nvariant ", 1))
        case ["prepare", job]: say(f"ready {{job}}\\n")
        case ["measure", job, "1", "1", "0"]:
            say(f"sample 0 100 - 1 {{'00' * 32}}{ticks}\\ndone {{job}}\\n")
        case _: sys.exit(0)
"""


def measured(tmp_path: Path, ticks: str) -> list[Row]:
    argv = fake_worker(tmp_path, BODY.format(ticks=ticks))
    entry = WorkerEntry("fake", "Python", ".", (), tuple(argv))
    rows: list[Row] = []
    with Fleet() as fleet:
        fleet.add(Station(entry, Place(tmp_path, tmp_path), Limits(hello=20)))
        (variant,) = fleet.variants.values()
        cell = Cell(variant, "ML-DSA-44", "verify", [JobInput(0)], {}, random=False)
        bench = Engine(fleet, Operations(fleet, [cell]), rows.append)
        bench.calibrate(lambda cell: None)
        if bench.cases:
            bench.round(0, lambda cell, part: None)
    return rows


def test_phases_reach_the_record(tmp_path: Path) -> None:
    (row,) = (row for row in measured(tmp_path, " 11 80 9") if isinstance(row, Samples))
    assert row.wall == (100,) and row.calls == 1 and row.cpu is None
    assert row.phases == {"load": (11,), "compute": (80,), "store": (9,)}


@pytest.mark.parametrize(
    ("ticks", "rule"),
    [
        (" 11 80", "CALLS DIGEST TICKS TICKS TICKS"),
        (" 11 80 10", "must add up to its ticks"),
        (" 11 -80 169", "must be a decimal number"),
    ],
)
def test_wrong_phases_are_faults(tmp_path: Path, ticks: str, rule: str) -> None:
    (fault,) = measured(tmp_path, ticks)
    assert isinstance(fault, Fault) and rule in fault.reason
