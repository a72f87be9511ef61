"""The studies of one record: what they print, and what they refuse."""

from __future__ import annotations

import re
from itertools import islice
from pathlib import Path

import pytest
from typer.testing import CliRunner

from mldsa_lab.errors import LabError
from mldsa_lab.theory.cost_model import CostModel
from mldsa_studies import command
from mldsa_studies.worth import report

RECORD = Path(__file__).parents[2] / "records" / "2026-11-21-epyc-zen3" / "first.jsonl.xz"


def run(*words: object) -> str:
    result = CliRunner().invoke(command.app, [str(w) for w in words])
    assert result.exit_code == 0, result.exception
    return result.stdout


@pytest.mark.simulation
def test_the_fits_behind_the_default_costs() -> None:
    lines = run("fits", RECORD).splitlines()
    for name in ("ML-DSA-44", "ML-DSA-65", "ML-DSA-87"):
        (line,) = [x for x in lines if x.startswith(f"{name}  mldsa-native:avx2:compact ")]
        found = [float(word) for word in line.split()[2:]]
        model = CostModel.default(name)
        # Selections keep the costs that they were first made for.
        assert found == pytest.approx([model.first, model.z, 1, model.h], abs=0.16)


@pytest.mark.simulation
def test_what_selections_are_worth() -> None:
    (row,) = [line for line in islice(report(RECORD, False), 5) if line.startswith("| mean |")]
    of_hundred = re.findall(r"[-+]?\d+\.\d+", row.split("|")[-2])
    assert len(of_hundred) == 3 and abs(float(of_hundred[0])) < 0.05


@pytest.mark.simulation
def test_intervals_are_judged_on_the_inputs_that_a_record_has() -> None:
    words = ("coverage", "--record", RECORD, "--set", "65", "--replications", 2)
    rows = [line for line in run(*words).splitlines() if line.startswith("| ")]
    assert [row.split("|")[1].strip() for row in rows] == ["inputs", "1", "2", "3", "5", "10"]
    refused = CliRunner().invoke(command.app, [*map(str, words), "--sizes", "3,30"]).exception
    assert isinstance(refused, LabError) and "has 12 designed inputs" in str(refused)


@pytest.mark.parametrize("study", ["fits", "worth", "locations"])
def test_what_is_no_record_is_refused(study: str, tmp_path: Path) -> None:
    path = tmp_path / "none.jsonl"
    refused = CliRunner().invoke(command.app, [study, str(path)]).exception
    assert isinstance(refused, LabError) and str(path) in str(refused)
