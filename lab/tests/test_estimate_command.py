"""`mldsa-lab estimate` as its users call it."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import measure_cases as cases
import numpy as np
import pytest
from typer.testing import CliRunner, Result

from mldsa_lab.cli.main import app
from mldsa_lab.errors import LabError
from mldsa_lab.inputs.selection import Selection
from mldsa_lab.theory.cost_model import CostModel
from mldsa_lab.theory.rejection import RejectionModel
from mldsa_studies.signers import Signer, usual

NAME = "ML-DSA-65"
TARGET = usual()


def write(
    folder: Path, n: int = 8, *, target: Signer = TARGET, rounds: int = 1
) -> tuple[Path, Path, Selection]:
    """A selection and its measurements in files."""
    chosen = cases.selection(NAME, cases.designed(NAME, n))
    selection = folder / "selection.json"
    selection.write_text(chosen.to_json(compact=True))
    costs = target.cost_of(chosen.traces()) * cases.UNIT
    measurements = folder / "costs.csv"
    with measurements.open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(("id", "cost", "unit", "round"))
        rng = np.random.default_rng(1)
        for turn in range(rounds):
            for number, cost in zip(chosen.ids, costs, strict=True):
                noise = np.exp(0.01 * rng.standard_normal()) if rounds > 1 else 1.0
                rows.writerow((number, round(cost * noise), "cycles", turn))
    return selection, measurements, chosen


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["estimate", *map(str, arguments)], env={"COLUMNS": "120"})


def shown(result: Result) -> str:
    assert result.exception is None, result.exception
    return result.output


def test_every_file(tmp_path: Path) -> None:
    selection, measurements, chosen = write(tmp_path)
    figures, plot, model = (tmp_path / name for name in ("f.json", "p.svg", "m.json"))
    text = shown(
        run(
            selection, measurements, "--percentiles", "5,50, 99.99", "--confidence", "0.9",
            "--json", figures, "--plot", plot, "--cost-model", model,
        )
    )  # fmt: skip
    assert "±90%" in text
    assert str(plot) in text.replace("\n", "")
    value = json.loads(figures.read_text())
    assert set(value) == {
        "format", "version", "set", "goal", "goal_percentile", "unit", "confidence", "inputs",
        "rounds", "mean", "percentiles", "costs", "terms", "noise", "misfit", "average",
        "residuals", "findings", "without_outliers",
    }  # fmt: skip
    assert (value["format"], value["version"]) == ("mldsa-lab estimate", 1)
    truth = TARGET.mean(RejectionModel.of(NAME)) * cases.UNIT
    assert value["mean"]["value"] == pytest.approx(truth, rel=2e-3)
    assert value["mean"]["low"] <= truth <= value["mean"]["high"]
    assert [p["percentile"] for p in value["percentiles"]] == [5, 50, 99.99]
    assert set(value["costs"]) == {"first", "z", "r", "h", "final", "setup"}
    assert [r["id"] for r in value["residuals"]] == list(chosen.ids)
    assert set(value["residuals"][0]) == {
        "id", "attempts", "z", "r", "h", "cost", "fitted", "relative", "outlier",
    }  # fmt: skip
    assert value["noise"] is None and value["without_outliers"] is None
    assert plot.read_text().startswith("<?xml")
    fitted = CostModel.read(model)
    assert fitted.set == NAME
    assert fitted.z == pytest.approx(TARGET.z * cases.UNIT, rel=0.01)


def test_faults_are_printed_and_kept(tmp_path: Path) -> None:
    selection, measurements, _ = write(tmp_path, target=usual(z=0, r=0, h=0))
    figures = tmp_path / "f.json"
    assert "warning: constant-trace" in shown(run(selection, measurements, "--json", figures))
    finding = json.loads(figures.read_text())["findings"][0]
    assert (finding["code"], finding["severity"]) == ("constant-trace", "warning")


def test_a_fit_that_gives_no_cost_model_says_so(tmp_path: Path) -> None:
    selection, measurements, _ = write(tmp_path, 12, target=usual(z=-0.3, setup=4))
    model, figures = tmp_path / "m.json", tmp_path / "f.json"
    result = run(selection, measurements, "--cost-model", model, "--json", figures)
    assert isinstance(result.exception, LabError)
    assert "the fitted cost 'z' is -" in str(result.exception)
    assert not model.exists() and not figures.exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--percentiles", "100"), "must be numbers in (0, 100)"),
        (("--plot", "plot.pdf"), "must end in .svg or .png"),
        (("--json", "missing/f.json"), "is not a folder that can be written to"),
    ],
)
def test_bad_options(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: tuple[str, ...], message: str
) -> None:
    selection, measurements, _ = write(tmp_path)
    monkeypatch.chdir(tmp_path)
    result = run(selection, measurements, *options)
    assert isinstance(result.exception, LabError)
    assert message in str(result.exception)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["costs.csv", "selection.json"]
