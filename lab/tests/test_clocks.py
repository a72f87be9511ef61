"""Coarse clocks: samples are long enough, and intervals include the tick or there is no figure."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import measure_cases as cases
import numpy as np
import pytest
from fake_worker import fake_fleet, rows_of
from lab_runs import here, rows_in
from msgspec import structs
from report_records import SIGNERS, Shape, rows, write
from tiers import first_of

from mldsa_lab.bench.workload import CELL_NS, Cell, Operations
from mldsa_lab.checkout import find_root
from mldsa_lab.estimate.external import estimate
from mldsa_lab.estimate.reader import read_measurements
from mldsa_lab.estimate.summary import MeasuredCell, summarise, widest
from mldsa_lab.machine import find_tick
from mldsa_lab.records import SCHEMA, Record, Run, Samples, read_record
from mldsa_lab.theory.rejection import RejectionModel
from mldsa_lab.worker.protocol import JobInput
from mldsa_studies.signers import usual

SET = "ML-DSA-65"
CALL = 28_000
INPUTS = 12
ROUNDS = 8
# The clocks of this worker show the time that its calls would take, with 1 % of noise.
VIRTUAL = """
from random import Random
from pathlib import Path
log = Path({log!r})
chance, now, inputs = Random(log.read_text() if log.exists() else ""), 0, 0
while True:
    match sys.stdin.readline().split():
        case ["hello", _]: say(HELLO.replace("cpu_clock none", "cpu_clock thread time"))
        case ["prepare", job]:
            lines = iter(sys.stdin.readline, "end\\n")
            inputs = sum(line.startswith("input ") for line in lines)
            say(f"ready {{job}}\\n")
        case ["measure", job, _, calls, *_]:
            began = now
            for i in range(inputs):
                now += chance.randrange(400_000)
                begin, now = now, now + int(int(calls) * {call} * chance.gauss(1, 0.01))
                wall, cpu = (now // t * t - begin // t * t for t in ({wall}, {cpu}))
                say(f"sample {{i}} {{wall}} {{cpu}} {{calls}} {{'00' * 32}}\\n")
            with log.open("a") as file: file.write(f"{{calls}} {{now - began}}\\n")
            say(f"done {{job}}\\n")
        case _: sys.exit(0)
"""


@dataclass(frozen=True)
class Measured:
    """A cell, and of each request to measure the calls per sample and the time."""

    row: MeasuredCell
    requests: list[tuple[int, int]]


@pytest.fixture(autouse=True)
def clocks_may_run_ahead(monkeypatch: pytest.MonkeyPatch) -> None:
    """The virtual clocks do not wait for the time that they show."""
    monkeypatch.setattr("mldsa_lab.worker.worker._CLOCK_SLACK_NS", 10**12)


def measure(folder: Path, cpu: int, wall: int = 1, clock: str = "cpu") -> Measured:
    """Measure a verification by clocks of these ticks, in ns."""
    log = folder / "log"
    body = VIRTUAL.format(log=str(log), call=CALL, cpu=cpu, wall=wall)
    with fake_fleet(folder, body) as fleet:
        (variant,) = fleet.variants.values()
        cell = Cell(variant, "ML-DSA-44", "verify", list(map(JobInput, range(INPUTS))), {}, False)
        written = rows_of(fleet, Operations(fleet, [cell], clock), ROUNDS)
        record = Record(Run(SCHEMA, "", "", "", "", {}, {}), workers=[fleet.handles[0].row()])
    for row in written:
        record.add(row)
    (result,) = summarise(record, clock=clock).cells
    requests = [line.split() for line in log.read_text().splitlines()]
    return Measured(result, [(int(calls), int(ns)) for calls, ns in requests])


@pytest.mark.parametrize("tick", [1, 1_000, 100_000, 1_000_000, 15_625_000])
def test_a_coarse_cpu_clock_biases_no_mean(tmp_path: Path, tick: int) -> None:
    done = measure(tmp_path, tick)
    mean = done.row.mean
    assert mean is not None and mean.low is not None and mean.high is not None
    assert mean.value == pytest.approx(CALL, rel=0.01 + tick / done.requests[-1][1])
    assert mean.low <= CALL <= mean.high
    # Samples are long enough for the CPU clock while a round's time allows it.
    assert done.row.samples.clock == ("cpu" if tick <= 100_000 else "wall")
    assert max(ns for _, ns in done.requests) < 2 * CELL_NS
    # The tick is told, with what it does.
    stated = "" if tick < 100_000 else "includes it" if tick == 100_000 else "is by the wall clock"
    assert len(done.row.notes) == bool(stated)
    for note in done.row.notes:
        assert re.match(r"the CPU clock \(thread time\) (has a tick of|reads 0)", note)
        assert note.endswith(stated)


def test_two_coarse_clocks_get_long_samples_of_fewer_inputs(tmp_path: Path) -> None:
    done = measure(tmp_path, 1_000_000, 1_000_000)
    mean = done.row.mean
    assert mean is not None and mean.low is not None and mean.high is not None
    assert mean.low <= CALL <= mean.high
    assert (mean.high - mean.low) / CALL > 0.02
    assert max(ns for _, ns in done.requests) < 3 * CELL_NS


@pytest.mark.parametrize("clock", ["cpu", "wall"])
def test_two_clocks_that_resolve_nothing_end_in_time_and_without_a_figure(
    tmp_path: Path, clock: str
) -> None:
    done = measure(tmp_path, 100_000_000, 100_000_000, clock)
    assert done.row.mean is None
    assert {f.name for f in done.row.figures if f.value is not None} == {"samples", "rounds"}
    (note,) = done.row.notes
    assert note.startswith("no clock resolves a sample: ")
    assert ("the CPU clock (thread time)" in note) == (clock == "cpu")
    assert "the wall clock (time.monotonic_ns)" in note
    assert max(ns for _, ns in done.requests) < 8 * CELL_NS


# --- records of others ----------------------------------------------------------------------------


Alter = Callable[[Samples], dict[str, tuple[int, ...]]]


def record_with(folder: Path, alter: Alter) -> Path:
    """Write a record with other readings of the clocks."""
    shape = Shape(sets=(SET,), signers=SIGNERS[:3], rounds=6)
    altered = (
        structs.replace(row, metrics=alter(row)) if isinstance(row, Samples) else row
        for row in rows(shape)
    )  # fmt: skip
    return write(folder / "run.jsonl", altered)


def report(path: Path) -> tuple[str, str, list[dict[str, object]]]:
    """What the command prints, its page and its rows; no warning of a library is among them."""
    page, table = path.with_suffix(".html"), path.with_suffix(".json")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        done = here("report", str(path), "--to", str(page), "--to", str(table), "--all")
    assert done.status == 0, done.err
    assert "Warning" not in done.err
    return done.out, page.read_text(encoding="utf-8"), rows_in(table)


def whole(ticks: tuple[int, ...], tick: int) -> tuple[int, ...]:
    """Readings by a clock of this tick, each begun at another moment."""
    phase = np.random.default_rng(sum(ticks)).integers(tick, size=len(ticks))
    return tuple(((phase + ticks) // tick * tick).tolist())


@pytest.mark.parametrize("tick", first_of([1_000_000, 100_000, 15_600_000]))
def test_a_record_with_a_coarse_cpu_clock_has_the_means_of_its_wall_clock(
    tmp_path: Path, tick: int
) -> None:
    path = record_with(tmp_path, lambda s: {"wall": s.wall, "cpu": whole(s.wall, tick)})
    by_wall = record_with(tmp_path / "plain", lambda s: {"wall": s.wall})
    cells, others = (summarise(read_record(p)).cells for p in (path, by_wall))
    for cell, other in zip(cells, others, strict=True):
        assert cell.samples.clock == "wall" and cell.mean == other.mean
    notes = str([cell.notes for cell in cells])
    assert "the CPU clock (CLOCK_THREAD_CPUTIME_ID) has a tick of" in notes


@pytest.mark.parametrize("value", [0, 28_000])
def test_constant_samples_get_no_rank_and_no_headline(tmp_path: Path, value: int) -> None:
    path = record_with(tmp_path, lambda s: {"wall": (value,) * len(s.wall)})
    out, page, table = report(path)
    for text in (" ".join(out.split()), page):
        assert "No mean of this run can be estimated" in text
        assert "fastest" not in text and "best first" not in text
        assert "no clock resolves a sample: the wall clock (CLOCK_MONOTONIC) reads" in text
    assert table and all(row["mean"] is None and row.get("ratio") is None for row in table)
    # `--until` waits for no mean that will never be there.
    assert widest(read_record(path), clock="cpu", confidence=0.95) is None


def test_a_constant_row_is_in_no_ranking_of_the_others(tmp_path: Path) -> None:
    expanded = SIGNERS[1]
    path = record_with(
        tmp_path,
        lambda s: {"wall": (10,) * len(s.wall)} if s.variant == expanded.id else s.metrics,
    )
    out, _, table = report(path)
    means = {(row["backend"], row["key"]): row["mean"] for row in table if "mean" in row}
    assert means.pop((expanded.backend, expanded.key)) is None
    assert len(means) == 2 and all(means.values())
    assert re.search(r"^1 mldsa-lanes +avx2 .*\n2 mldsa-lanes +portable ", out, re.M)


@pytest.mark.parametrize("written_in", ["ms", "ns"])
@pytest.mark.parametrize("share", [0.03, 0.2])
def test_measurements_that_a_clock_truncates_are_covered_or_refused(
    tmp_path: Path, share: float, written_in: str
) -> None:
    """A clock of 1 ms that truncates every time, in whole ms and as ns."""
    chosen = cases.selection(SET, cases.designed(SET, 10))
    signer, model = usual(setup=4.1), RejectionModel.for_set(SET)
    truth = 1 / share
    exact = signer.cost_of(chosen.traces()) * truth / signer.mean(model)
    rng = np.random.default_rng(8)
    scale = 1 if written_in == "ms" else 10**6
    path = tmp_path / "costs.csv"
    lines = [
        f"{number},{round_},{int(cost) * scale},{written_in}\n"
        for round_ in range(4)
        for number, cost in zip(
            chosen.ids, exact * np.exp(0.01 * rng.standard_normal(10)), strict=True
        )
    ]
    path.write_text("id,round,cost,unit\n" + "".join(lines), encoding="utf-8")
    result = estimate(chosen, read_measurements(path, chosen))
    assert ("coarse: costs are multiples of" in result.refutation) == (share > 0.05)
    if not result.refutation:
        assert result.mean.low is not None and result.mean.high is not None
        assert result.mean.low <= truth * scale <= result.mean.high


BY_WALL = {
    "cold": ("2026-11-24-epyc-zen4/cold.jsonl.xz", "no clock resolves a call"),
    "block": ("2026-11-23-epyc-zen4/block.jsonl.xz", "has no measurements of its block"),
    "pipeline": ("2026-11-23-epyc-zen4-pipeline/process-1.jsonl.xz", "no clock resolves a sample"),
}
"""Published records of kinds that have a wall clock only, and what is said where it is coarse."""


@pytest.mark.parametrize("kind", BY_WALL)
def test_other_kinds_say_that_their_clock_is_too_coarse(tmp_path: Path, kind: str) -> None:
    name, reason = BY_WALL[kind]
    record, tick = read_record(find_root() / "records" / name), 10_000_000_000
    samples = []
    for s in record.samples[:400]:
        read = {n: tuple(v // tick * tick for v in part) for n, part in s.metrics.items()}
        zeros = {n: tuple(0 for _ in part) for n, part in s.phases.items()}
        samples.append(structs.replace(s, metrics=read, phases=zeros))
    parts = record.run, *record.workers, *record.inputs, *record.definitions, *samples
    path = write(tmp_path / "run.jsonl", parts)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        done = here("report", str(path), "--to", "none")
    assert reason in " ".join((done.out + done.err).split())


# --- ticks ----------------------------------------------------------------------------------------


def lengths(spread: float, count: int = 96) -> np.ndarray:
    rng = np.random.default_rng(3)
    return 150_000 * (1 + spread * np.abs(rng.standard_normal(count)))


@pytest.mark.parametrize("spread", [0.001, 0.02, 0.3])
def test_fine_readings_show_no_tick(spread: float) -> None:
    assert find_tick(lengths(spread).astype(int)) == 0
    assert find_tick(lengths(spread, 8).astype(int)) == 0


@pytest.mark.parametrize("tick", [100, 1_000, 30_000, 1e9 / 32_768, 100_000, 1e6, 1e9 / 60])
@pytest.mark.parametrize("mean", [5e4, 1e6, 1e8])
def test_ticks_are_found_where_readings_repeat(tick: float, mean: float) -> None:
    rng = np.random.default_rng(4)
    time = mean * (1 + 0.02 * np.abs(rng.standard_normal(400)))
    begin = tick * rng.random(400)
    read = np.rint(tick * (np.floor((begin + time) / tick) - np.floor(begin / tick)))
    repeated = tick > 1e-3 * mean
    if not read.any():
        assert find_tick(read) == np.inf
    elif repeated:
        assert find_tick(read) == pytest.approx(tick, rel=1e-4)
    else:
        assert find_tick(read) in (0, pytest.approx(tick, rel=1e-4))


def test_readings_that_are_all_the_same_are_one_tick() -> None:
    assert find_tick([28_000] * 5) == 28_000
    assert find_tick([0] * 5) == np.inf
    assert find_tick([28_000]) == 0
