"""The commands of `mldsa-lab study`: tables, page, rows, and what they refuse."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from lab_runs import groups_in
from study_material import costs_of
from typer.testing import CliRunner, Result

from mldsa_lab import LabError
from mldsa_lab.choice.choice import read_ready
from mldsa_lab.cli.main import app
from mldsa_studies.costs import write_costs
from mldsa_studies.coverage import report, scenes

RECORD = Path(__file__).parents[3] / "records" / "2026-11-21-epyc-zen3" / "first.jsonl.xz"


def run(*words: object) -> Result:
    return CliRunner().invoke(app, ["study", *map(str, words)], env={"COLUMNS": "140"})


def refusal(*words: object) -> str:
    """Return the error of a refused command."""
    error = run(*words).exception
    assert isinstance(error, LabError), error
    return str(error)


@pytest.mark.e2e
def test_a_study_of_costs(tmp_path: Path) -> None:
    data = tmp_path / "costs"
    data.mkdir()
    write_costs(costs_of("ns", 0.02, 3, inputs=80, added=8), data / "a.parquet")
    write_costs(costs_of("instructions", inputs=80, added=8), data / "b.parquet")
    words = ("estimators", "--from", data, "--out", tmp_path / "out", "--quick", "--sizes", "3")
    done = run(*words)
    assert done.exit_code == 0, done.exception
    assert "Mean signing cost from 3 designed inputs" in re.sub(r"\s+", " ", done.stdout)
    rows = [row for row in groups_in(tmp_path / "out" / "estimators.json") if "rmse" in row]
    # Balanced selections at p99 find nothing near it among so few.
    assert 3 * 4 * 4 - 3 <= len(rows) <= 3 * 4 * 4
    assert {row["method"] for row in rows} == {"random", "greedy", "balanced", "regression"}
    assert all(row["rmse"] >= 0 and abs(row["bias"]) <= row["rmse"] + 1e-12 for row in rows)
    page = (tmp_path / "out" / "estimators.html").read_text(encoding="utf-8")
    assert page.count("<svg") >= 3 and "What counts as the truth" in page
    for more in (("--sets", "87"), ("--implementations", "other")):
        assert "no costs of these parameter sets and impl" in refusal(*words, *more)
    assert "need costs of 400 inputs" in refusal("estimators", "--from", data, "--out", tmp_path)


@pytest.mark.parametrize(
    ("words", "rule"),
    [
        (("estimators", "--from", "nowhere.parquet"), "nowhere.parquet: cannot read it"),
        (("estimators", "--from", "."), "has no files of costs"),
        (("estimators", "--from", "x", "--sizes", "2,two"), "size 'two': must be a whole number"),
        (("estimators", "--from", "x", "--sets", "Ed25519"), "unknown parameter set 'Ed25519'"),
        (("estimators", "--sizes", "1000"), "selections of 1000 inputs: need costs of 4000 inputs"),
        (("estimators", "--implementations", "nosuch"), "unknown implementation 'nosuch'"),
        (("count", "READY", "nosuch"), "unknown implementation 'nosuch'"),
        (("count", "none.json", "mldsa-lanes"), "none.json: cannot read"),
        (("coverage", "--from", RECORD, "--sizes", "3,30"), "has 12 designed inputs"),
    ],
)
def test_what_is_refused(
    words: tuple[str, ...], rule: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before anything is built or written."""

    def build(*arguments: object) -> None:
        raise AssertionError("built")

    monkeypatch.setattr("mldsa_lab.checkout.run_tool", build)
    monkeypatch.setattr("mldsa_lab.worker.build.run_tool", build)
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    ready = tmp_path / "ready.json"
    ready.write_text(read_ready("ML-DSA-44", "regression", 2).to_json(is_compact=True))
    assert rule in refusal(*(ready if word == "READY" else word for word in words))
    assert not list(work.iterdir())


@pytest.mark.simulation
def test_intervals_are_judged_on_the_inputs_that_a_record_has() -> None:
    done = run("coverage", "--from", RECORD, "--sets", "44", "--replications", 2, "--sizes", "3,6")
    assert "first.jsonl.xz, 14 cells, 2 choices each, seed 1" in done.stdout
    rows = [line.split() for line in done.stdout.splitlines() if re.match(r"[36] ", line)]
    for (n, median, _, held, _), most in zip(rows, (1.5, 0.5), strict=True):
        assert float(median) < most and float(held) >= 93, n


def test_the_study_of_coverage_has_a_row_for_each_scene() -> None:
    names = ("noise 2%", "noise 2%, declared", "noise 2%, 3 rounds")
    requested = [scene for scene in scenes() if scene.name in names]
    result = report(["ML-DSA-44"], 1, 1, (2, 3), requested=requested, truth=20_000)
    (section,) = result.sections
    assert list(section.grid.columns[0].cells) == [name for name in names for _ in range(2)]
    assert len(scenes()) == len({scene.name for scene in scenes()}) == 44
