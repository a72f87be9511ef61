"""`mldsa-lab report` as its users call it: files, Markdown, measurements."""

from __future__ import annotations

import csv
import re
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import measure_cases as cases
import pytest
from lab_runs import rows_in
from report_records import SIGNERS, Shape, build, record_of, report_of
from typer.testing import CliRunner, Result

from mldsa_lab import LabError
from mldsa_lab.cli.main import app
from mldsa_lab.estimate.figure import NO_ESTIMATE
from mldsa_lab.estimate.summary import summarise
from mldsa_lab.kinds.operations import FIELDS
from mldsa_lab.records import read_record
from mldsa_lab.show.findings import find

SET = "ML-DSA-65"


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["report", *map(str, arguments)], env={"COLUMNS": "120"})


def shown(result: Result) -> str:
    assert result.exception is None, result.exception
    return result.output


def refused(result: Result) -> str:
    assert isinstance(result.exception, LabError), result.output
    return str(result.exception)


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("command") / "run.jsonl"
    build(target, Shape(sets=(SET,), signers=SIGNERS[:5], rounds=5, batch_sizes=(8,)))
    return target


def card(folder: Path) -> tuple[Path, Path]:
    """A selection and its measurements by somebody's card, some eight times as slow for z."""
    chosen = cases.selection(SET, cases.designed(SET, 8))
    return cases.write(folder, chosen, 400 + chosen.counts() @ [150.0, 170.0, 170.0], "ms")


# --- rows ---------------------------------------------------------------------------------------


def test_rows_say_which_run_they_are_of(path: Path, tmp_path: Path) -> None:
    out, table = tmp_path / "rows.json", tmp_path / "rows.csv"
    text = shown(run(path, "--to", out, "--to", table))
    assert str(out) in text and str(table) in text
    rows = {(r["set"], r.get("operation"), r["variant"]): r for r in rows_in(out)}
    assert shown(run(path, "--to", "md")).startswith("## mldsa-lanes")
    lines = list(csv.DictReader(table.open(newline="")))
    assert {tuple(line) for line in lines} == {tuple(FIELDS)}
    assert {(line["started"], line["cpu"]) for line in lines} == {
        ("2026-11-21T21:40:00Z", "AMD EPYC 9B14")
    }
    cells = {(r["implementation"], r["backend"], r["key"], r["batch_size"], *keys[:2]): r
             for keys, r in rows.items() if "mean" in r}  # fmt: skip
    assert len(lines) == len(cells)
    for line in lines:
        told = (line[k] for k in ("implementation", "backend", "key"))
        row = cells[*told, int(line["batch_size"]), line["set"], line["operation"]]
        assert row["per_second"] == pytest.approx(1e9 / row["mean"])
        for key, said in line.items():
            assert said == ("" if row.get(key) is None else str(row[key])), key


def test_the_example_of_the_document_prints_every_p99(path: Path, tmp_path: Path) -> None:
    text = (Path(__file__).parents[1] / "notes" / "figures.md").read_text(encoding="utf-8")
    (script,) = re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    shown(run(path, "--to", tmp_path / "figures.json"))
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    cells = summarise(read_record(path)).cells
    p99 = [c.value("quantile", percentile=99) for c in cells if c.set == SET]
    printed = [float(line.rpartition(", ")[2]) for line in done.stdout.splitlines()]
    assert printed and printed == [cost for cost in p99 if cost is not None]


# --- measured elsewhere -------------------------------------------------------------------------


def test_measurements_that_contradict_the_traces_have_no_figure(path: Path, tmp_path: Path) -> None:
    selection, measured = card(tmp_path)
    fixed = tmp_path / "fixed.csv"
    fixed.write_text(re.sub(r"(?m)^(\d+),[\d.]+", r"\1,5.5", measured.read_text()))
    out = tmp_path / "rows.json"
    board = tmp_path / "board.csv"
    board.write_text(measured.read_text().replace(",ms,", ",cycles,"))
    chosen = (f"{file}:{selection}" for file in (fixed, measured, board))
    result = run(path, *chosen, "--to", out)
    assert "fixed: constant-trace: " in refused(result)
    assert "Measured elsewhere: costs, board." in result.output
    assert re.search(r"costs +ML-DSA-65 +ms", result.output)
    assert re.search(r"board +ML-DSA-65 +cycles", result.output)
    assert not re.search(r"fixed +ML-DSA-65", result.output)
    names = {row["implementation"] for row in rows_in(out)}
    assert "costs" in names and "fixed" not in names


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("RECORD COSTS", ":SELECTION.json"),
        ("COSTS:SELECTION", "at least one record"),
        ("RECORD:SELECTION", "a selection belongs to measurements"),
        ("", "at least one record"),
        ("RECORD --to FOLDER/x.txt", "must end in .html, .json, .csv, .md"),
        ("RECORD --to json --to md", "standard output is json already"),
        ("RECORD --baseline nosuch", "unknown baseline 'nosuch'"),
        *((f"RECORD --to FOLDER/nowhere/x.{ending}", "nowhere")
          for ending in ("md", "json", "csv", "html")),
    ],
)  # fmt: skip
def test_what_cannot_be_reported_is_refused_before_any_work(
    path: Path, tmp_path: Path, arguments: str, said: str
) -> None:
    selection, measured = card(tmp_path)
    paths = {"RECORD": path, "COSTS": measured, "SELECTION": selection, "FOLDER": tmp_path}
    words = re.sub("[A-Z]{5,}", lambda name: str(paths[name[0]]), arguments).split()
    assert said in refused(run(*words))
    assert not (tmp_path / "nowhere").exists() and not (path.parent / "report.html").exists()


@pytest.mark.parametrize("form", ["json", "csv", "md"])
def test_standard_output_has_what_a_file_has(path: Path, tmp_path: Path, form: str) -> None:
    """And nothing else; what the screen says goes to standard error."""
    file = tmp_path / f"rows.{form}"
    result = run(path, "--to", form, "--to", file)
    assert result.stdout == file.read_text() and str(file) in result.stderr.replace("\n", "")


def test_filters_leave_their_cells(path: Path, tmp_path: Path) -> None:
    out = tmp_path / "rows.json"
    chosen = ("--operations", "verify", "--implementations", "mldsa-lanes*", "--sets", "65")
    shown(run(path, *chosen, "--to", out))
    cells = {(r["operation"], r["implementation"]) for r in rows_in(out) if "mean" in r}
    assert cells == {("verify", "mldsa-lanes")}
    for wrong in (("--sets", "44"), ("--implementations", "nosuch")):
        text = refused(run(path, *wrong, "--to", out))
        assert text.startswith(f"{path}: no cell is of these --sets")
    assert "unknown operation 'fly'" in refused(run(path, "--operations", "fly"))


# --- runs that say little -----------------------------------------------------------------------


@pytest.mark.e2e
def test_the_same_run_twice_is_shown_once(path: Path, tmp_path: Path) -> None:
    copy, out = tmp_path / "copy.jsonl", tmp_path / "rows.json"
    shutil.copy(path, copy)
    once = shown(run(path, "--to", out))
    rows = rows_in(out)
    text = shown(run(path, copy, path, "--to", out))
    assert rows_in(out) == rows
    assert " ".join(text.split()).count("has the same run as") == 2
    assert once.splitlines()[0] in text


def test_a_run_without_measurements_is_an_error_that_says_why(tmp_path: Path) -> None:
    record = tmp_path / "r.jsonl"
    build(record, Shape(sets=(SET,), signers=SIGNERS[:2], refused=tuple(s.id for s in SIGNERS[:2])))
    result = run(record)
    text = refused(result)
    assert str(record) in text and "no variant passed the correctness gate" in text
    assert "acvp-sigver" in result.output and (tmp_path / "report.html").exists()


def test_a_cell_whose_estimates_do_not_hold_has_no_figure_and_no_rank() -> None:
    fixed = replace(SIGNERS[0], extra=1e5, cost={SET: (1.0, 1e6, 1.0)})
    record = record_of(sets=(SET,), signers=(fixed, SIGNERS[3]), operations=("sign",))
    (cell,) = summarise(record).table(SET, "sign")
    assert cell.variant.implementation == "mldsa-native"
    report = report_of(record)
    assert [f.keys["variant"] for f in report.figures if f.name == "rank"] == [SIGNERS[3].id]
    assert "mldsa-lanes" not in " ".join((report.headline, *report.sentences))
    means = {f.keys["variant"]: f for f in report.figures if f.name == "mean"}
    assert means[fixed.id].value is None and means[SIGNERS[3].id].value is not None
    assert means[fixed.id].verdict == NO_ESTIMATE
    (why,) = (str(reason) for reason in report.remarks["Notes on single figures"])
    assert fixed.id in why and "The estimates are not valid" in why


@pytest.mark.parametrize(
    ("rounds", "noise", "ranks"), [(1, 0.8, [None] * 3), (12, 0.002, [1, 2, 3])]
)
def test_a_short_run_ranks_nobody_and_a_long_one_warns_of_nothing(
    rounds: int, noise: float, ranks: list[int | None]
) -> None:
    signers = tuple(replace(s, noise=noise) for s in SIGNERS[3:6])
    summary = summarise(record_of(sets=(SET,), signers=signers, rounds=rounds))
    found = find(summary)
    assert len(found.cautions) == (2 if rounds == 1 else 0)
    assert found.headline.startswith("Too few rounds to rank: ") == (rounds == 1)
    assert "tell" not in found.headline
    assert summary.ranks(summary.table(SET, "verify")) == ranks
