"""Cold starts: the first operations of fresh processes, from the worker to the page."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import pytest
from fake_worker import fake_fleet
from lab_runs import bench, here

from mldsa_lab.bench.engine import Engine
from mldsa_lab.bench.workloads.operations import Cell
from mldsa_lab.kinds.cold import CALLS, ColdStarts, cold_figures
from mldsa_lab.records import InputRow, Record, Row, Run, Samples
from mldsa_lab.worker.protocol import JobInput

# The n-th call of a process takes 1,000,000 / n ticks, and at least 1,000.
BODY = """
calls = 0
while True:
    match request():
        case ["hello", _]: say(HELLO)
        case ["prepare", job]: say(f"ready {job}\\n")
        case ["measure", job, passes, once, warmup]:
            assert once == "1" and warmup == "0"
            for _ in range(int(passes)):
                calls += 1
                say(f"sample 0 {max(1000000 // calls, 1000)} - 1 {'00' * 32}\\n")
            say(f"done {job}\\n")
        case _: sys.exit(0)
"""


def test_each_case_has_a_process_of_its_own_in_each_round(tmp_path: Path) -> None:
    body = BODY
    run = Run(8, "t", "2026-11-24T00:00:00Z", "p", "00", {}, {}, None, None)
    record = Record(run)
    rows: list[Row] = []
    with fake_fleet(tmp_path, body) as fleet:
        (variant,) = fleet.variants.values()
        cells = [
            Cell(variant, "ML-DSA-44", operation, [JobInput(0)], {}, random=False)
            for operation in ("keygen", "verify")
        ]
        engine = Engine(fleet, ColdStarts(fleet, cells, {}), rows.append)
        engine.calibrate(lambda case: None)
        for number in range(4):
            engine.round(number, lambda case: None)
        record.add(fleet.stations[0].row())
    record.add(InputRow("ML-DSA-44", 0, "random", bytes(32), b"", b"", None))
    samples = [row for row in rows if isinstance(row, Samples)]
    assert len(samples) == 8 and all(row.shape == {"process": "fresh"} for row in samples)
    assert all(row.wall[:2] == (1_000_000, 500_000) and len(row.wall) == 1000 for row in samples)
    for row in samples:
        record.add(row)
    figures = cold_figures(record, 0.95)
    found = {(f.name, f.keys["operation"], f.keys.get("call")): f for f in figures}
    assert {call for _, _, call in found} == {*CALLS, None}
    late = sorted(max(1_000_000 // n, 1000) for n in range(100, 1001))
    # Nine hundred and one calls: the middle one, the 856th and the 892nd.
    for name, value in {"min": 1000, "p50": late[450], "p95": late[855], "p99": late[891]}.items():
        assert found[name, "verify", None].value == value
    mean = sum(late) / 901
    deviation = (sum((cost - mean) ** 2 for cost in late) / 900) ** 0.5
    assert found["sd", "keygen", None].value == pytest.approx(deviation, rel=1e-9)
    steps = {b - a for a, b in pairwise(sorted(set(late)))}
    assert found["resolution", "keygen", None].value == min(steps)
    assert found["cost", "keygen", 3].value == 333_333
    assert found["cost", "verify", 100].value == pytest.approx(10_000, rel=0.01)
    assert found["over_last", "verify", 1].value == pytest.approx(1_000, rel=0.05)
    assert ("over_last", "verify", 1000) not in found


@pytest.mark.e2e
def test_the_command_measures_and_shows(tmp_path: Path) -> None:
    ran = bench(
        tmp_path, "--cold", "--workers", "rust", "--sets", "44", "--operations", "verify",
        "--implementations", "mldsa-lanes:portable:*,aws-lc", "--rounds", "4",
    )  # fmt: skip
    assert ran.status == 0, ran.err
    assert ran.folder is not None and "first call of a process costs" in ran.out
    rows = json.loads((ran.folder / "table.json").read_text())
    assert len(rows) == 3 * len(CALLS) + 3
    assert all(r["min"] <= r["p50"] <= r["p99"] for r in rows if "min" in r)
    first = next(r for r in rows if r.get("call") == 1 and r["key"] == "expanded")
    assert first["cost"] > 0 and first["cost_low"] < first["cost"] < first["cost_high"]
    assert "<svg" in (ran.folder / "report.html").read_text()
    assert here("bench", "--cold", "--batch", "8").status == 2
