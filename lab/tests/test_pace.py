"""When a run stops: by time, by rounds, at a precision; and what it says at its end."""

from __future__ import annotations

import io
import math
import time
from dataclasses import replace
from pathlib import Path

import pytest
from lab_runs import here
from report_records import ML_DSA, SIGNERS, record_of
from rich.console import Console

from mldsa_lab.bench import UNTIL_LIMIT_S
from mldsa_lab.bench.bench import Pace, Precision
from mldsa_lab.bench.options import Options, Profile
from mldsa_lab.estimate.summary import summarise, widest
from mldsa_lab.records import SCHEMA, Fault, Record, Run
from mldsa_lab.screen import Screen

DEFAULT = Profile("default", 270.0, 10, 200)
OPTIONS = Options(
    sets=ML_DSA, operations=("sign",), implementations=(), workers=(), profile=DEFAULT, rounds=None,
    sizes=None, baseline="mldsa-native", clock="cpu", confidence=0.95,  # type: ignore[arg-type]
    seed=bytes(32), timeout=1.0, out=Path("out"),
)  # fmt: skip
RECORD = Record(Run(SCHEMA, "mldsa-lab", "2026-11-22T00:00:00Z", "default", "00", {}, {}))


def stops(
    options: Options, percent: float = math.inf, round_s: float = 5.0, falls: bool = True
) -> int:
    """The rounds that a run of rounds of `round_s` seconds measures, whose widest interval is
    `percent` after one round."""
    done = 0

    def judge(record: Record) -> Precision:
        return Precision(percent / math.sqrt(done) if falls else percent, "it", "every mean")

    pace = Pace(options, RECORD, judge)
    while not pace.enough(done, done * round_s):
        done += 1
        assert pace.part(done, done * round_s) >= 0
        assert done < 100_000
    return done


def test_profiles_stop_by_time_and_rounds() -> None:
    assert stops(OPTIONS) == 54  # 270 s
    assert stops(OPTIONS, round_s=0.01) == DEFAULT.rounds_max
    assert stops(OPTIONS, round_s=100) == DEFAULT.rounds_min
    assert stops(replace(OPTIONS, rounds=3), round_s=100) == 3


def test_until_stops_at_the_first_round_that_reaches_it() -> None:
    until = replace(OPTIONS, until=1.0)
    assert stops(until, percent=10) == 100
    assert stops(until, percent=0.1) == DEFAULT.rounds_min
    # More rounds than a profile has, up to the limit.
    assert stops(until, percent=17, round_s=0.1) == 289
    assert stops(until, percent=5, falls=False) == UNTIL_LIMIT_S / 5
    assert stops(replace(until, limit=50.0), percent=5, falls=False) == 10
    # A limit takes the place of a profile's time, and of its fewest rounds but two.
    assert stops(replace(OPTIONS, limit=500.0)) == 100
    assert stops(replace(OPTIONS, limit=1.0)) == 2


def test_judging_takes_a_small_part_of_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    now, looks = [0.0], [0]
    monkeypatch.setattr("mldsa_lab.bench.bench.time.monotonic", lambda: now[0])

    def judge(record: Record) -> Precision:
        looks[0] += 1
        now[0] += 2.0
        return Precision(5.0, "it", "every mean")

    pace = Pace(replace(OPTIONS, until=1.0, limit=1000.0), RECORD, judge)
    rounds = 0
    while not pace.enough(rounds, now[0]):
        rounds += 1
        now[0] += 1.0
    assert looks[0] >= 10 and 2.0 * looks[0] <= 0.11 * now[0]


def test_the_precision_is_that_of_the_table() -> None:
    record = record_of(sets=("ML-DSA-65",), rounds=4, signers=SIGNERS[2:5])
    found = widest(record, clock="cpu", confidence=0.95)
    assert found is not None and found[2] == "every signing mean"
    rows = [r for r in summarise(record).cells if r.operation == "sign"]
    halves = {
        f"{r.variant.id} {r.set} sign": max(mean.high - r.cost, r.cost - mean.low) / r.cost * 100
        for r in rows
        if (mean := r.mean) is not None and mean.low is not None and mean.high is not None
    }
    assert found[:2] == (max(halves.values()), max(halves, key=lambda name: halves[name]))
    # A variant that was left out can get no better, so it does not count.
    record.faults.append(Fault(found[1].split(" ")[0], None, "sign", 3, "it ended"))
    again = widest(record, clock="cpu", confidence=0.95)
    assert again is not None and again[0] < found[0]
    assert widest(Record(record.run), clock="cpu", confidence=0.95) is None


def test_contradictions_are_refused(tmp_path: Path) -> None:
    for words, said in (
        ("--rounds 3 --until 1", "--rounds: says how much to measure"),
        ("--rounds 3 --limit 9", "--rounds: says how much to measure"), ("--until 0", "--until"),
    ):  # fmt: skip
        done = here("bench", "--out", str(tmp_path), *words.split())
        assert done.status == 2 and said in done.err


def test_progress_is_lines_where_nothing_is_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    out = io.StringIO()
    with Screen(Console(file=out)).phase("measure", total=2.0, still=True) as phase:
        phase.reach(1.0, "not yet due")
        monkeypatch.setattr("mldsa_lab.screen._LINES_S", -1.0)
        phase.reach(1.5, "round 7 of 9")
        phase.reach(1.8, "round 8 of 9")
    lines = [line.split() for line in out.getvalue().splitlines()]
    assert lines == [["measure", "round", "7", "of", "9"]]


def test_a_phase_says_what_it_does_while_its_program_is_silent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("mldsa_lab.screen._LINES_S", 0.05)
    out = io.StringIO()
    with Screen(Console(file=out)).phase("library") as phase:
        phase.show("Compiling one")
        for _ in range(5000):
            if "Compiling one" in out.getvalue():
                break
            time.sleep(0.001)
    lines = [line for line in out.getvalue().splitlines() if "Compiling" in line]
    assert lines == ["library    Compiling one"]
