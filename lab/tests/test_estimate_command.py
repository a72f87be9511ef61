"""`mldsa-lab estimate` as its users call it."""

from __future__ import annotations

import json
import re
from pathlib import Path

import measure_cases as cases
import pytest
from typer.testing import CliRunner, Result

from mldsa_lab.cli.main import app
from mldsa_lab.errors import LabError
from mldsa_lab.estimate.measured import estimate
from mldsa_lab.inputs.selection import Selection
from mldsa_lab.show import estimate_plot as plot
from mldsa_lab.theory.cost_model import CostModel
from mldsa_lab.theory.rejection import RejectionModel
from mldsa_studies.signers import Signer, usual

NAME = "ML-DSA-65"
TARGET = usual()


def write(folder: Path, n: int = 8, *, target: Signer = TARGET) -> tuple[Path, Path, Selection]:
    """A selection and its measurements in files."""
    chosen = cases.selection(NAME, cases.designed(NAME, n))
    return *cases.write(folder, chosen, target.cost_of(chosen.traces()) * cases.UNIT), chosen


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


def test_plots_by_the_ending_of_their_files(tmp_path: Path) -> None:
    chosen = cases.selection(NAME, cases.designed(NAME, 10))
    costs = TARGET.cost_of(chosen.traces())[None, :] * cases.UNIT
    costs[0, 3] *= 1.3  # an outlier, which is drawn apart
    found = estimate(chosen, cases.measurements(chosen, costs))
    plot.write_plot(found, tmp_path / "a.png")
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
    plot.write_plot(found, tmp_path / "a.SVG")
    plot.write_plot(found, tmp_path / "b.svg")
    text = (tmp_path / "b.svg").read_text()
    assert text == (tmp_path / "a.SVG").read_text()
    words = re.findall(r"<text[^>]*>([^<]*)</text>", text)
    assert any(re.match(r"mean  \S+ \[\S+, \S+\]$", w) for w in words)
    with pytest.raises(LabError, match=r"must end in \.svg or \.png"):
        plot.write_plot(found, tmp_path / "a.pdf")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.SVG", "a.png", "b.svg"]
