"""What a worker announces shows in rounds: warm-ups of its own in each process, phases; and the
first operations of fresh processes."""

from __future__ import annotations

from pathlib import Path

import pytest
from fake_worker import cell_of, fake_fleet, rows_of
from lab_runs import bench, here

from mldsa_lab.bench.fleet import in_runs
from mldsa_lab.bench.workload import WARMUP_NS, Operations
from mldsa_lab.kinds.cold import CALLS, ColdStarts
from mldsa_lab.records import Fault, Row, Samples
from mldsa_lab.worker.protocol import Runs

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


@pytest.mark.parametrize("asked", [0, 7_000_000])
def test_every_cell_is_warmed_up_before_any_is_measured(tmp_path: Path, asked: int) -> None:
    with fake_fleet(tmp_path, BODY.format(warmup=asked)) as fleet:
        (variant,) = fleet.variants.values()
        assert fleet.handles[0].row().warmups == ({variant.id: asked} if asked else {})
        cells = [cell_of(variant, operation) for operation in ("keygen", "verify")]
        rows = rows_of(fleet, Operations(fleet, cells), 3)
    found = [row.wall[0] for row in rows if isinstance(row, Samples)]
    own, usual = asked, WARMUP_NS
    # The process of the calibration, which measures each cell twice, is that of the first round.
    assert found[:2] == [own + 5 * usual, own + 6 * usual]
    assert found[2:] == [own + usual, own + 2 * usual] * 2


ASKED = 3_000_000
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
    with fake_fleet(tmp_path, body) as fleet:
        cells = list(map(cell_of, fleet.variants.values()))
        rows = rows_of(fleet, Operations(fleet, cells), 2)
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
    with fake_fleet(tmp_path, FORGETFUL.format(count=str(tmp_path / "count"))) as fleet:
        (variant,) = fleet.variants.values()
        made = [fleet.add_in_runs(in_runs(variant, "loop", size)) for size in (2, 4, 8)]
        cells = [cell_of(v, runs=Runs("loop", v.batch_size, 1, 1)) for v in made]
        rows = rows_of(fleet, Operations(fleet, cells), 1)
    (fault,) = [row for row in rows if isinstance(row, Fault)]
    assert fault.variant.endswith(":loop-4")
    measured = {r.variant.split(":")[-1] for r in rows if isinstance(r, Samples)}
    assert measured == {"loop-2", "loop-8"}


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
    with fake_fleet(tmp_path, IN_PHASES.format(ticks=ticks)) as fleet:
        (variant,) = fleet.variants.values()
        return rows_of(fleet, Operations(fleet, [cell_of(variant)]), 1)


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


# --- cold starts ----------------------------------------------------------------------------------


# The n-th call of a process takes 1,000,000 / n ticks, and at least 1,000.
COLD = """
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
    with fake_fleet(tmp_path, COLD) as fleet:
        (variant,) = fleet.variants.values()
        cells = [cell_of(variant, operation) for operation in ("keygen", "verify")]
        rows = rows_of(fleet, ColdStarts(fleet, cells, {}), 4)
    samples = [row for row in rows if isinstance(row, Samples)]
    assert len(samples) == 8 and all(row.shape == {"process": "fresh"} for row in samples)
    assert all(row.wall[:2] == (1_000_000, 500_000) and len(row.wall) == 1000 for row in samples)


@pytest.mark.e2e
def test_the_command_measures_and_shows(tmp_path: Path) -> None:
    ran = bench(
        tmp_path, "--kind", "cold", "--workers", "rust", "--sets", "44", "--operations", "verify",
        "--implementations", "mldsa-lanes:portable:*,aws-lc", "--rounds", "4",
    )  # fmt: skip
    assert ran.status == 0, ran.err
    assert ran.folder is not None and "first call of a process costs" in ran.out
    rows = ran.rows
    assert len(rows) == 3 * len(CALLS) + 3
    assert all(r["min"] <= r["p50"] <= r["p99"] for r in rows if "min" in r)
    first = next(r for r in rows if r.get("call") == 1 and r["key"] == "expanded")
    assert first["cost"] > 0 and first["cost_low"] < first["cost"] < first["cost_high"]
    assert "<svg" in (ran.folder / "report.html").read_text()
    assert here("bench", "--kind", "cold", "--batch", "8").status == 2
