"""`mldsa-lab estimate` as its users call it, and files of measurements."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import measure_cases as cases
import msgspec
import numpy as np
import pytest
from numpy.typing import NDArray
from typer.testing import CliRunner, Result

from mldsa_lab import LabError
from mldsa_lab.cli.main import app
from mldsa_lab.estimate.external import estimate
from mldsa_lab.estimate.figure import Figure, Figures, breaches
from mldsa_lab.estimate.interval import Interval
from mldsa_lab.estimate.reader import Measurements, read_measurements
from mldsa_lab.inputs.selection import Selection
from mldsa_lab.show import signing_plots as plot
from mldsa_lab.show.grid import estimate as of_figure
from mldsa_lab.show.grid import format_cost, show_interval, tick
from mldsa_lab.show.report import FiguresFile
from mldsa_lab.theory.law import CostModel
from mldsa_lab.theory.rejection import RejectionModel
from mldsa_studies.signers import Signer, usual

NAME = "ML-DSA-65"
TARGET = usual()
Array = NDArray[np.float64]


def write(folder: Path, n: int = 8, *, target: Signer = TARGET) -> tuple[Path, Path, Selection]:
    """A selection and its measurements in files."""
    chosen = cases.selection(NAME, cases.designed(NAME, n))
    return *cases.write(folder, chosen, target.cost_of(chosen.traces()) * cases.UNIT), chosen


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["estimate", *map(str, arguments)], env={"COLUMNS": "120"})


def shown(result: Result) -> str:
    assert result.exception is None, result.exception
    return result.output


def read_figures(path: Path) -> Figures:
    """Return the one list of a file of figures, which keep the contract."""
    (listed,) = msgspec.json.decode(path.read_bytes(), type=FiguresFile).lists
    figures = [
        Figure(
            group.keys, name, parts.value, parts.low, parts.high, parts.unit, parts.kind,
            verdict=parts.verdict, notes=parts.notes,
        )
        for group in listed.groups
        for name, parts in group.figures.items()
    ]  # fmt: skip
    assert list(breaches(figures)) == []
    return Figures(figures, head=listed.head)


def test_every_file(tmp_path: Path) -> None:
    selection, measurements, chosen = write(tmp_path)
    figures, plot, model = (tmp_path / name for name in ("f.json", "p.svg", "m.json"))
    text = shown(
        run(
            selection, measurements, "--percentiles", "5,50, 99.99", "--confidence", "0.9",
            "--to", figures, "--to", plot, "--cost-model", model,
        )
    )  # fmt: skip
    assert "±90%" in text
    assert str(plot) in text.replace("\n", "")
    written = read_figures(figures)
    assert written.head == {"goal": "regression", "percentile": None, "confidence": 0.9}
    truth = TARGET.mean(RejectionModel.for_set(NAME)) * cases.UNIT
    (mean,) = written.select("mean")
    assert mean.keys == {"set": NAME, "operation": "sign"} and mean.unit == "cycles"
    assert mean.value == pytest.approx(truth, rel=2e-3)
    assert mean.low is not None and mean.high is not None and mean.low <= truth <= mean.high
    assert [f.keys["percentile"] for f in written.select("quantile")] == [5, 50, 99.99]
    attempts = {f.keys["attempt"] for f in written.select("attempt_cost")}
    assert {"first", "z", "r", "h", "final", "setup", "curvature"} <= attempts
    seen, fitted = (list(written.select("cost", basis=b)) for b in ("seen", "expected"))
    assert [f.keys["input"] for f in seen] == [f.keys["input"] for f in fitted] == list(chosen.ids)
    rejected = [sum(f.value or 0 for f in written.select("count", input=i)) for i in chosen.ids]
    assert rejected == [2 * len(trace) - 1 for trace in chosen.traces()]
    assert {f.keys.get("inputs") for f in written} == {None}  # no outliers, no goal of an average
    assert plot.read_text().startswith("<?xml")
    fitted = CostModel.read(model)
    assert fitted.set == NAME
    assert fitted.z == pytest.approx(TARGET.z * cases.UNIT, rel=0.01)


@pytest.mark.parametrize(
    ("command", "told", "wrong"),
    [
        ("estimate", "all figures, residuals and findings", "rows"),
        ("workers", "make these checks only", "measure"),
    ],
)
def test_help_says_what_an_option_does(command: str, told: str, wrong: str) -> None:
    text = CliRunner().invoke(app, [command, "--help"], env={"COLUMNS": "200"}).output
    options = text[text.index("Options:") :]
    assert told in options and wrong not in options


def test_a_fit_that_gives_no_cost_model_says_so(tmp_path: Path) -> None:
    selection, measurements, _ = write(tmp_path, 12, target=usual(z=-0.3, setup=4))
    model, figures = tmp_path / "m.json", tmp_path / "f.json"
    result = run(selection, measurements, "--cost-model", model, "--to", figures)
    assert isinstance(result.exception, LabError)
    assert "the fitted cost 'z' is -" in str(result.exception)
    assert not model.exists() and not figures.exists()


@pytest.mark.parametrize(
    ("signer", "code"),
    [
        (lambda cost: 0 * cost + 7.0, "constant-trace"),
        (lambda cost: np.roll(cost, 1), "wrong-inputs"),
    ],
)
def test_costs_that_contradict_the_traces_give_no_figure(
    tmp_path: Path, signer: Callable[[Array], Array], code: str
) -> None:
    chosen = cases.selection(NAME, cases.designed(NAME, 10))
    paths = cases.write(tmp_path, chosen, signer(TARGET.cost_of(chosen.traces())) * cases.UNIT)
    figures, picture = tmp_path / "f.json", tmp_path / "p.svg"
    result = run(*paths, "--to", figures, "--to", picture)
    assert isinstance(result.exception, LabError)
    assert f"costs.csv: {code}: " in str(result.exception)
    lines = [line for line in result.output.splitlines() if f"error: {code}: " not in line]
    words = "mean|p50|p99|fit|residual|set-up|average"
    assert not re.search(words, "\n".join(lines)), result.output
    assert f"{NAME} signing: no estimate is valid." in lines
    written = read_figures(figures)
    names = [f.name for f in written if "input" not in f.keys and f.keys.get("of") != "noise"]
    assert names == ["rounds", "mean", "count"]
    (mean,) = written.select("mean")
    assert (mean.value, mean.verdict) == (None, "no estimate")
    assert any(note.startswith(f"error: {code}: ") for note in mean.notes)
    assert [f.keys["basis"] for f in written.select("cost")] == ["seen"] * 10
    texts = re.findall(r"<text[^>]*>([^<]*)</text>", picture.read_text())
    assert f"{NAME} signing, 10 inputs" in texts and "iterations" in texts
    assert not [text for text in texts if re.match(words, text)]
    with pytest.raises(LabError, match=f"cost model: {code}: .*no model is written"):
        estimate(chosen, read_measurements(paths[1], chosen)).cost_model()


def test_a_figure_without_outliers_says_so(tmp_path: Path) -> None:
    chosen = cases.selection(NAME, cases.designed(NAME, 10))
    costs = TARGET.cost_of(chosen.traces()) * cases.UNIT
    costs[[3, 6]] *= 1.3
    paths = cases.write(tmp_path, chosen, costs)
    figures = tmp_path / "f.json"
    lines = shown(run(*paths, "--to", figures)).splitlines()
    written = read_figures(figures)
    (mean,) = written.select("mean", inputs="without outliers")
    left_out = show_interval(mean.interval)
    seen = written.select("cost", basis="seen")
    assert [f.keys["input"] for f in seen if f.verdict == "excluded"] == [4, 7]
    place = lines.index(f"{NAME} signing: mean {left_out} cycles without inputs 4, 7.")
    listed = "".join(lines[place + 1 : -2])
    assert re.fullmatch(r"p50 .+, p95 .+, p99 .+, p99.9 .+ cycles\.", listed)
    assert lines[-2].startswith("next       mldsa-lab report RECORD ")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--percentiles", "100"), "must be numbers in (0, 100)"),
        (("--to", "plot.pdf"), "must end in .json, .svg, .png"),
        (("--to", "missing/f.json"), "is not a folder that can be written to"),
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
    estimation = estimate(chosen, cases.measurements(chosen, costs))
    for name, magic in (("a.png", b"\x89PNG"), ("b.SVG", b"<?xml")):
        plot.write_plot(estimation, tmp_path / name)
        assert (tmp_path / name).read_bytes().startswith(magic)
    words = re.findall(r"<text[^>]*>([^<]*)</text>", (tmp_path / "b.SVG").read_text())
    assert any(re.match(r"mean  \S+ \[\S+, \S+\]$", w) for w in words)


# --- files of measurements ------------------------------------------------------------------------


CHOSEN = cases.selection("ML-DSA-65", cases.pool("ML-DSA-65")[:3])


def read(tmp_path: Path, text: str, name: str = "costs.csv") -> Measurements:
    path = tmp_path / name
    path.write_bytes(text.encode())
    return read_measurements(path, CHOSEN)


def test_comments_blank_lines_bom_spaces_and_other_line_ends_are_let_pass(tmp_path: Path) -> None:
    text = '\ufeff# my board\r\n cost , id \r\n\r\n# first run\r\n12.25,1\r\n"13" , 2\r\n14,3\r\n'
    found = read(tmp_path, text)
    assert found.costs.tolist() == [[12.25, 13.0, 14.0]]
    assert found.unit == ""
    assert found.resolution == pytest.approx(0.01)


def test_rounds_make_a_table_with_gaps(tmp_path: Path) -> None:
    found = read(tmp_path, "id,cost,round\n1,10,7\n1,11,2\n2,20,2\n3,30,7\n")
    assert found.rounds == (2, 7)
    np.testing.assert_array_equal(found.costs, [[11, 20, np.nan], [10, np.nan, 30]])


def test_a_field_over_the_limit_of_csv_is_named(tmp_path: Path) -> None:
    # `inputs.source` raises the limit of the process for its own files.
    usual = csv.field_size_limit(131_072)
    try:
        with pytest.raises(LabError, match=r"costs\.csv, line 3: is not a line of CSV: field lar"):
            read(tmp_path, f"id,cost\n1,5\n2,{'2' * 131_073}\n")
    finally:
        csv.field_size_limit(usual)


@pytest.mark.parametrize(
    ("text", "order"),
    [
        ("id,cost\n2,20\n3,30\n1,10\n", [2, 0, 1]),  # the lines'
        ("id,cost,order\n1,10,7\n2,20,9\n3,30,2\n", [1, 2, 0]),
        ("id,cost,time\n1,10,12.5\n2,20,-3\n3,30,1e9\n", [1, 0, 2]),
    ],
)
def test_the_order_of_measuring(tmp_path: Path, text: str, order: list[int]) -> None:
    found = read(tmp_path, text)
    assert found.costs.tolist() == [[10, 20, 30]]
    assert found.order.tolist() == [order]


@pytest.mark.parametrize(
    "value",
    [
        [{"id": 1, "cost": 5, "unit": "ns"}, {"id": 2, "cost": 6.5, "unit": "ns"}],
        {"unit": "ns", "measurements": [{"id": 1, "cost": 5}, {"id": 2, "cost": 6.5}]},
    ],
)  # fmt: skip
def test_json_has_two_forms(tmp_path: Path, value: object) -> None:
    found = read(tmp_path, json.dumps(value), "costs.json")
    assert found.costs.tolist() == [[5.0, 6.5]]
    assert found.unit == "ns"
    assert found.ids == (1, 2)
    assert "1 of the selection's 3 inputs have no measurement (ids 3)" in found.warnings[0]


@pytest.mark.parametrize(
    ("costs", "message"),
    [
        ({7: 1.0}, "id 7 is not in the selection"),
        ({1: float("nan")}, "id 1, cost: Expected `float`"),
        ({1: [2.0, 0.0]}, "id 1, cost: Expected `float` >= 1e-100"),
        ({}, "has no measurements"),
    ],
)
def test_measurements_held_in_memory_keep_the_same_rules(costs: Any, message: str) -> None:
    assert Measurements.from_costs(CHOSEN, {3: 5, 1: [4, 5]}).rounds == (0, 1)
    with pytest.raises(LabError) as caught:
        Measurements.from_costs(CHOSEN, costs)
    assert message in str(caught.value)


def test_costs_are_written_with_the_digits_that_they_have() -> None:
    for interval, value, limits in (
        (Interval(1455720.4, 1455122.0, 1456313.0), "1,455,720", "[1,455,122, 1,456,313]"),
        (Interval(0.000123456, 0.000123, 0.000124), "0.0001235", "[0.0001230, 0.0001240]"),
        (Interval(12.0, 3.0, 55.0), "12", "[3, 55]"),
        (Interval(7.0, 7.0, 7.0), "7.00000", "[7.00000, 7.00000]"),
        (Interval(-0.5, -2.0, 1.0), "-0.5", "[-2.0, 1.0]"),
    ):
        shown = show_interval(interval)
        assert (shown.value, shown.interval) == (value, limits)
    shown = of_figure(Interval(93_214.7, 93_214.7 - 2e-4, 93_214.7 + 2e-4))
    assert shown.low != shown.high
    costs = ["1,234,567", "12.5000", "3.00000e-09"]
    assert [format_cost(v) for v in (1234567.0, 12.5, 3e-9)] == costs
    assert format_cost(12.5, least=0.01) == "12.5000000"
    assert [tick(v) for v in (0.0, 0.25, 1500.0, 1e-7)] == ["0", "0.25", "1,500", "1e-07"]
