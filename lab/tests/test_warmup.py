"""What a worker announces shows in rounds: warm-ups of its own in each process, and phases."""

from __future__ import annotations

from pathlib import Path

import pytest
from fake_worker import fake_fleet

from mldsa_lab.bench.engine import Engine
from mldsa_lab.bench.shapes import Shape
from mldsa_lab.bench.workloads.operations import WARMUP_NS, Cell, Operations
from mldsa_lab.records import Fault, Row, Samples
from mldsa_lab.worker.protocol import JobInput, Runs

# Each sample takes as many ticks as were run in its process by then, warm-ups among them.
BODY = """
spent = 0
while True:
    match request():
        case ["hello", _]: say(HELLO.replace("end\\n", "warmup {warmup}\\nend\\n"))
        case ["prepare", job]: say(f"ready {{job}}\\n")
        case ["measure", job, _, calls, warmup]:
            spent += int(warmup)
            say(f"sample 0 {{spent}} - {{calls}} {{'00' * 32}}\\ndone {{job}}\\n")
        case _: sys.exit(0)
"""


@pytest.mark.parametrize("asked", [0, 70_000_000])
def test_every_cell_is_warmed_up_before_any_is_measured(tmp_path: Path, asked: int) -> None:
    body = BODY.format(warmup=asked)
    rows: list[Row] = []
    with fake_fleet(tmp_path, body) as fleet:
        (variant,) = fleet.variants.values()
        assert fleet.stations[0].row().warmups == ({variant.id: asked} if asked else {})
        cells = [
            Cell(variant, "ML-DSA-44", operation, [JobInput(0)], {}, random=False)
            for operation in ("keygen", "verify")
        ]
        bench = Engine(fleet, Operations(fleet, cells), rows.append)
        bench.calibrate(lambda cell: None)
        for number in range(3):
            bench.round(number, lambda cell: None)
    found = [row.wall[0] for row in rows if isinstance(row, Samples)]
    own, usual = asked, WARMUP_NS
    # The process of the calibration, which measures each cell twice, is that of the first round.
    assert found[:2] == [own + 5 * usual, own + 6 * usual]
    assert found[2:] == [own + usual, own + 2 * usual] * 2


ASKED = 20_000_000
# Three variants, in a worker that dies at one of its requests to measure, counted over processes.
DYING = """
spent, count = 0, {count!r}
head, variant = HELLO.removesuffix("end\\n").split("variant ")
while True:
    match request():
        case ["hello", _]:
            said = [variant.replace("fake", name) for name in "abc"]
            say(head + "".join(f"variant {{one}}warmup {asked}\\n" for one in said) + "end\\n")
        case ["prepare", job]: say(f"ready {{job}}\\n")
        case ["measure", job, _, calls, warmup]:
            with open(count, "ab", buffering=0) as file:
                file.write(b".")
                if file.tell() == {death}: os.kill(os.getpid(), signal.SIGKILL)
            spent += int(warmup)
            say(f"sample 0 {{spent}} - {{calls}} {{'00' * 32}}\\ndone {{job}}\\n")
        case _: sys.exit(0)
"""


@pytest.mark.parametrize(
    ("death", "lost", "expected"),
    [
        # While a is calibrated: b and c, warm by then, become so again.
        (5, "a", [("b", 2, 5), ("c", 2, 6), ("c", 2, 1), ("b", 2, 2)]),
        # While b of the second round is warmed up: so does c, which comes first there.
        (14, "b", [("a", 3, 7), ("b", 3, 8), ("c", 3, 9), ("c", 2, 1), ("a", 2, 2)]),
        # While b is measured: so does a, which is left of the round.
        (17, "b", [("a", 3, 7), ("b", 3, 8), ("c", 3, 9), ("c", 3, 1), ("a", 1, 1)]),
    ],
)
def test_a_process_begun_after_a_fault_is_warmed_up_too(
    tmp_path: Path, death: int, lost: str, expected: list[tuple[str, int, int]]
) -> None:
    body = DYING.format(count=str(tmp_path / "count"), asked=ASKED, death=death)
    rows: list[Row] = []
    with fake_fleet(tmp_path, body) as fleet:
        cells = [
            Cell(variant, "ML-DSA-44", "verify", [JobInput(0)], {}, random=False)
            for variant in fleet.variants.values()
        ]
        bench = Engine(fleet, Operations(fleet, cells), rows.append)
        bench.calibrate(lambda cell: None)
        for number in range(2):
            bench.round(number, lambda cell: None)
    (fault,) = [row for row in rows if isinstance(row, Fault)]
    assert fault.variant == f"{lost}:python:compact"
    found = [(row.variant[0], row.wall[0]) for row in rows if isinstance(row, Samples)]
    assert found == [(name, own * ASKED + usual * WARMUP_NS) for name, own, usual in expected]


# Dies at its third request to measure, and wherever it is asked for what it has not prepared.
FORGETFUL = """
count, prepared = {count!r}, set()
while True:
    match request():
        case ["hello", _]: say(HELLO)
        case ["prepare", job]: prepared.add(job); say(f"ready {{job}}\\n")
        case ["measure", job, _, calls, *_]:
            with open(count, "ab", buffering=0) as file:
                file.write(b".")
                if file.tell() == 3 or job not in prepared: os.kill(os.getpid(), signal.SIGKILL)
            say(f"sample 0 1 - {{calls}} {{'00' * 32}}\\ndone {{job}}\\n")
        case _: sys.exit(0)
"""


def test_runs_that_share_inputs_are_prepared_anew_after_a_fault(tmp_path: Path) -> None:
    body = FORGETFUL.format(count=str(tmp_path / "count"))
    rows: list[Row] = []
    with fake_fleet(tmp_path, body) as fleet:
        (variant,) = fleet.variants.values()
        made = [fleet.shape(variant, Shape("loop", size)) for size in (2, 4, 8)]
        runs = [Runs("loop", shaped.batch_size, 1, 1) for shaped in made]
        cells = [
            Cell(shaped, "ML-DSA-44", "verify", [JobInput(0)], {}, random=False, runs=run)
            for shaped, run in zip(made, runs, strict=True)
        ]
        bench = Engine(fleet, Operations(fleet, cells), rows.append)
        bench.calibrate(lambda cell: None)
        bench.round(0, lambda cell: None)
    (fault,) = [row for row in rows if isinstance(row, Fault)]
    assert fault.variant.endswith(":loop-4")
    assert {r.variant.split(":")[-1] for r in rows if isinstance(r, Samples)} == {
        "loop-2",
        "loop-8",
    }


# --- phases -----------------------------------------------------------------------------------

# The first run's sample is taken by the calibration; no warm-up is asked for in cycles.
IN_PHASES = """
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
    body = IN_PHASES.format(ticks=ticks)
    rows: list[Row] = []
    with fake_fleet(tmp_path, body) as fleet:
        (variant,) = fleet.variants.values()
        cell = Cell(variant, "ML-DSA-44", "verify", [JobInput(0)], {}, random=False)
        bench = Engine(fleet, Operations(fleet, [cell]), rows.append)
        bench.calibrate(lambda cell: None)
        if bench.cases:
            bench.round(0, lambda cell: None)
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
