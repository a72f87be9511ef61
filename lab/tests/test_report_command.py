"""`mldsa-lab report` as its users call it: files, Markdown, measurements."""

from __future__ import annotations

import csv
import json
import re
import shutil
from dataclasses import replace
from pathlib import Path

import measure_cases as cases
import numpy as np
import pytest
from report_records import SIGNERS, Shape, build
from typer.testing import CliRunner, Result

from mldsa_lab.cli.main import app
from mldsa_lab.errors import LabError
from mldsa_lab.records import Record, read_record
from mldsa_lab.show.format import estimate
from mldsa_lab.show.operations.findings import find
from mldsa_lab.show.operations.report import FIELDS
from mldsa_lab.show.operations.view import cell, read_view, unit_of
from mldsa_lab.show.report import Look

SET = "ML-DSA-65"
NOTE = "a cost here over one of a worker means nothing unless both count the same"


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


def card(folder: Path, *, unit: str = "ms", rounds: int = 4) -> tuple[Path, Path]:
    """A selection and its measurements by somebody's card, some eight times as slow for z."""
    chosen = cases.selection(SET, cases.designed(SET, 8))
    selection, measured = folder / "selection.json", folder / "card.csv"
    selection.write_text(chosen.to_json(compact=True))
    rng = np.random.default_rng(3)
    with measured.open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(("id", "cost", "unit", "round"))
        for turn in range(rounds):
            for number, (z, r, h) in zip(chosen.ids, chosen.counts(), strict=True):
                cost = (400 + 150 * z + 170 * (r + h)) * np.exp(0.01 * rng.standard_normal())
                rows.writerow((number, f"{cost:.2f}", unit, turn))
    return selection, measured


# --- rows ---------------------------------------------------------------------------------------


def test_rows_say_which_run_they_are_of(path: Path, tmp_path: Path) -> None:
    out, table = tmp_path / "rows.json", tmp_path / "rows.csv"
    text = shown(run(path, "--no-page", "--json", out, "--csv", table))
    assert str(out) in text and str(table) in text
    rows = json.loads(out.read_text())
    assert {tuple(row) for row in rows} == {FIELDS}
    assert {(row["started"], row["cpu"]) for row in rows} == {
        ("2026-11-21T21:40:00Z", "AMD EPYC 9B14")
    }
    lines = list(csv.DictReader(table.open(newline="")))
    assert len(lines) == len(rows)
    for line, row in zip(lines, rows, strict=True):
        for key, value in row.items():
            said = "" if value is None else str(value)
            assert line[key] == said


def test_markdown_alone_is_on_standard_output(path: Path) -> None:
    text = shown(run(path, "--markdown", "-"))
    assert text.startswith("## mldsa-lanes") and not (path.parent / "report.html").exists()
    tables = re.findall(r"(?:^\|.*\n)+", text, flags=re.M)
    assert len(tables) >= 8
    for table in tables:
        widths = {len(re.findall(r"(?<!\\)\|", line)) for line in table.splitlines()}
        assert len(widths) == 1, "every line has as many cells as the header"
    rows = read_view(read_record(path), Look()).table(SET, "sign")
    for row in rows:
        assert f"| {estimate(row.interval('mean'), unit_of(rows))} |" in text


# --- measured elsewhere -------------------------------------------------------------------------


@pytest.mark.e2e
def test_a_card_stands_beside_the_workers_in_its_own_unit(path: Path, tmp_path: Path) -> None:
    selection, measured = card(tmp_path)
    page, out, tables = tmp_path / "p.html", tmp_path / "r.json", tmp_path / "r.md"
    text = shown(
        run(path, f"{measured}:{selection}", "--page", page, "--json", out, "--markdown", tables)
    )
    assert "Measured elsewhere" in text and "ML-DSA-65: what has no unit" in text
    row = json.loads(out.read_text())[-1]
    expected = 400 + np.array([150, 170, 170]) @ _expected(SET)
    assert row["implementation"] == "card" and row["unit"] == "ms" and row["ratio"] is None
    assert row["mean"] == pytest.approx(expected, rel=0.02)
    assert row["mean_low"] < row["mean"] < row["mean_high"] and row["p99"] > 2 * row["p50"]
    for written in (page.read_text(), tables.read_text(), " ".join(text.split())):
        assert NOTE in written
        for name in ("card", "mldsa-native", "ean ÷ first", "p99 ÷ p50"):
            assert name in written
    # mldsa-native's parts are some other share of its first attempt than the card's.
    lines = tables.read_text().splitlines()
    [line] = [t for t in lines if t.startswith("| card |") and "ms" not in t]
    figures = [float(cell) for cell in line.strip("|").split("|")[1:]]
    assert figures[0] == pytest.approx(expected / 400, rel=0.05)
    assert figures[3] == pytest.approx(150 / 400, rel=0.1)
    # The record's signers cost 1.6 + 1.1 at once, and 0.86 and 1 an attempt (report_records).
    [line] = [t for t in lines if t.startswith("| mldsa-native |") and t.count("|") == 7]
    figures = [float(cell) for cell in line.strip("|").split("|")[1:]]
    mean = 2.7 + np.array([0.86, 1, 1.05]) @ _expected(SET)
    assert figures[0] == pytest.approx(mean / 2.7, rel=0.05)
    assert figures[3:] == pytest.approx([0.86 / 2.7, 1 / 2.7], rel=0.1)


def _expected(name: str) -> np.ndarray:  # type: ignore[type-arg]
    from mldsa_lab.theory.rejection import RejectionModel

    return np.asarray(RejectionModel.of(name).expected_counts, dtype=np.float64)


def test_one_selection_for_all_and_several_files(path: Path, tmp_path: Path) -> None:
    selection, measured = card(tmp_path)
    other = tmp_path / "board.csv"
    other.write_text(measured.read_text().replace(",ms,", ",cycles,"))
    text = shown(run(path, measured, other, "--selection", selection, "--no-page"))
    assert re.search(r"card +ML-DSA-65 +ms", text) and re.search(r"board +ML-DSA-65 +cycles", text)


def test_measurements_need_a_selection_and_a_record(path: Path, tmp_path: Path) -> None:
    selection, measured = card(tmp_path)
    text = refused(run(path, measured, "--no-page"))
    assert str(measured) in text and "--selection" in text
    text = refused(run(measured, "--selection", selection))
    assert "at least one record" in text and "mldsa-lab estimate" in text
    assert "a selection belongs to measurements" in refused(run(f"{path}x:{selection}"))
    assert "at least one record" in refused(run())


@pytest.mark.parametrize("option", ["--json", "--csv", "--markdown", "--page"])
def test_a_folder_that_is_not_there_is_refused_before_any_work(path: Path, option: str) -> None:
    target = path.parent / "nowhere" / "x.md"
    assert str(target) in refused(run(path, option, target))
    assert not target.parent.exists() and not (path.parent / "report.html").exists()


# --- runs that say little -----------------------------------------------------------------------


@pytest.mark.e2e
def test_the_same_run_twice_is_shown_once(path: Path, tmp_path: Path) -> None:
    copy, out = tmp_path / "copy.jsonl", tmp_path / "rows.json"
    shutil.copy(path, copy)
    once = shown(run(path, "--no-page", "--json", out))
    rows = json.loads(out.read_text())
    text = shown(run(path, copy, path, "--no-page", "--json", out))
    assert json.loads(out.read_text()) == rows
    assert " ".join(text.split()).count("holds the same run as") == 2
    assert once.splitlines()[0] in text


def test_a_run_without_measurements_is_an_error_that_says_why(tmp_path: Path) -> None:
    record = tmp_path / "r.jsonl"
    build(record, Shape(sets=(SET,), signers=SIGNERS[:2], refused=tuple(s.id for s in SIGNERS[:2])))
    result = run(record)
    text = refused(result)
    assert str(record) in text and "no variant passed the correctness gate" in text
    assert "acvp-sigver" in result.output and (tmp_path / "report.html").exists()


def short(folder: Path, rounds: int, noise: float) -> Record:
    signers = tuple(replace(s, noise=noise) for s in (SIGNERS[3], SIGNERS[4], SIGNERS[5]))
    return build(folder / "r.jsonl", Shape(sets=(SET,), signers=signers, rounds=rounds))


@pytest.mark.e2e
@pytest.mark.parametrize("rounds", [1, 2])
def test_a_short_run_ranks_nobody_and_says_how_long_to_run(tmp_path: Path, rounds: int) -> None:
    record = short(tmp_path, rounds, 0.8)
    view = read_view(record, Look())
    found = find(view)
    assert "this run cannot tell them apart" in found.headline
    assert found.cautions[0].startswith(f"Too uncertain to rank after {rounds} round")
    assert "ML-DSA-65 sign (" in found.cautions[0] and "--until 5" in found.cautions[1]
    assert {view.ranks[cell(row)] for row in view.table(SET, "sign")} == {1}
    text = " ".join(shown(run(tmp_path / "r.jsonl")).split())
    assert "Too uncertain to rank" in text
    page = (tmp_path / "report.html").read_text()
    assert "Too uncertain to rank" in page and "<code>mldsa-lab bench --until 5</code>" in page


def test_a_long_run_ranks_and_warns_of_nothing(tmp_path: Path) -> None:
    record = short(tmp_path, 12, 0.002)
    view = read_view(record, Look())
    assert find(view).cautions == ()
    assert [view.ranks[cell(row)] for row in view.table(SET, "verify")] == [1, 2, 3]
