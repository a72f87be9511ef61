"""Answers to published pages: nothing left out, values as published, files that are wrong."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
import yaml
from msgspec.structs import replace
from test_documents import wrong_options
from typer.testing import CliRunner

from mldsa_lab import checkout, plugins
from mldsa_lab.answers import join, page, states
from mldsa_lab.answers.join import answer_figures, answer_report
from mldsa_lab.answers.page import AnswerPage, command_words, pages, read_page
from mldsa_lab.answers.states import computed_states, page_rows
from mldsa_lab.audit.published import published_values
from mldsa_lab.audit.reading import example_path
from mldsa_lab.cli.answer import answer
from mldsa_lab.errors import LabError
from mldsa_lab.estimate.figure import Figure
from mldsa_lab_rtl.study_show import published

NAMES = list(pages())


@pytest.mark.parametrize("name", NAMES)
def test_every_claim_is_in_a_table_or_left_out_with_its_reason(name: str) -> None:
    found = read_page(name)
    shown = {v.claim for table in found.tables for v in found.values(table)}
    claims = {c.id for c in found.claims().claims}
    assert shown | set(found.left_out) == claims
    assert not shown & set(found.left_out)


@pytest.mark.parametrize("name", NAMES)
def test_commands_exist(name: str) -> None:
    commands = [command for table in read_page(name).tables for command in table.commands]
    commands += [row.command for row in page_rows() if row.command.startswith("mldsa-lab")]
    assert commands
    assert [c for c in commands if wrong_options(command_words(c))] == []


@pytest.mark.parametrize("name", NAMES)
def test_every_number_of_a_claim_is_a_published_value(name: str) -> None:
    """By the text of the file, which another reader reads."""
    raw = {c["id"]: c for c in yaml.safe_load(example_path(name).read_text())["claims"]}
    known = {"set", "cores", "threads_per_core", "threads", "size", "per_sample", "message_bytes"}
    known |= {"factors", "over", "groups", "level", "power", "workers", "paired"}

    def numbers(part: Any, key: str = "") -> Iterator[float]:
        if key in known or isinstance(part, bool):
            return
        if isinstance(part, dict):
            for k, v in part.items():
                yield from numbers(v, str(k))
        elif isinstance(part, list):
            for v in part:
                yield from numbers(v, key)
        elif isinstance(part, int | float):
            yield float(part)

    for claim in read_page(name).claims().claims:
        ends = [v.value for v in published_values(claim)]
        ends_of = {e for s in ends for e in (s.low.value, s.high.value)}
        assert set(numbers(raw[claim.id])) <= ends_of, claim.id


def test_published_cycles_of_the_comparison_stand_in_one_way() -> None:
    """The table of cores has the figures of this source too."""
    claims = read_page("rtl-comparison").claims().claims
    cells = {v.label: v.value.low.value for c in claims for v in published_values(c)}
    names = {
        "keygen": "table 1, KEYGEN, level {}, LowRes",
        "verify": "table 3, VERIFY, level {}, LowRes",
        "sign_best": "table 2, SIGN, level {}, LowRes best",
        "sign_mean": "table 2, SIGN, level {}, LowRes mean",
    }  # fmt: skip
    levels = {"ML-DSA-44": 2, "ML-DSA-65": 3, "ML-DSA-87": 5}
    rows = [r for r in published()["cores"]["LowRes, round 3"] if r["source"] == "c"]
    assert len(rows) == 3
    for row in rows:
        for name, label in names.items():
            assert cells.get(label.format(levels[row["set"]])) == row.get(name)


def test_states_are_those_of_the_figures() -> None:
    found = computed_states()
    rows = page_rows()
    assert [r.number for r in rows] == list(range(1, 100))
    assert set(found) <= {r.number for r in rows}
    assert (found[1], found[42], found[93]) == ("works", "works", "works")
    assert all(r.why or found.get(r.number) for r in rows if r.state == "not")


def test_a_row_with_values_that_have_no_figure_is_partly(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = read_page("rtl-comparison")
    (table,) = (t for t in whole.tables if t.title.startswith("Table 5"))
    only = replace(whole, tables=(replace(table, rows=(1,)),))
    monkeypatch.setattr(states, "pages", lambda: {"rtl-comparison": None})
    monkeypatch.setattr(states, "read_page", lambda name: only)
    assert computed_states() == {1: "partly", 93: "works"}


# Files that are wrong --------------------------------------------------------------------------

TABLE = """
title = "t"
[[tables]]
title = "a table"
claims = ["sign"]
[[tables.ours]]
source = "theory"
of = "x"
cells = "sign, (?P<figure>median)"
"""


@pytest.mark.parametrize(
    ("old", "new", "rule"),
    [
        ('"sign"', '"sing"', "table 'a table', claims: the page has no claim 'sing'"),
        ("(?P<figure>median)", "median", "figure: name it here or by a group 'figure' of cells"),
        ("(?P<figure>median)", "(?P<figure>mean", "cells: no pattern"),
        ('"theory"', '"nowhere"', "source 'nowhere': installed packages have"),
        ("(?P<figure>median)", "(?P<figure>(?:mean|median))", "our figure is in no unit"),
        ("(?P<figure>median)", "(?P<figure>p95|median)", ""),
    ],
)
def test_errors_name_the_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, old: str, new: str, rule: str
) -> None:
    path = tmp_path / "000-vendor-page.toml"
    text = TABLE.replace(old, new)
    if "no unit" in rule:
        text += 'words = { median = "mean" }\nkeys = { set = "ML-DSA-65" }\n'
    path.write_text(text, encoding="utf-8")
    monkeypatch.setattr(page, "pages", lambda: {"vendor-page": path})
    if not rule:
        assert all(f.value is None for f in answer_figures(read_page("vendor-page"))[1::2])
        return
    with pytest.raises(LabError, match=re.escape(rule)):
        answer_figures(read_page("vendor-page"))


def test_a_selection_that_fits_several_figures_names_their_keys() -> None:
    figures = [Figure({"set": s, "a": 1}, "mean", 1.0) for s in ("x", "y")]
    with pytest.raises(LabError, match="mean is 2 figures that differ in set"):
        join._selected(figures, "mean", {"a": ["1"]})
    found = join._selected(figures, "mean", {"set": ["z", "y", "x"]})
    assert found is not None and found.keys["set"] == "y"


# The command -----------------------------------------------------------------------------------

app = typer.Typer(pretty_exceptions_enable=False)
app.command()(answer)
run = CliRunner()


def test_the_command_lists_shows_and_writes(tmp_path: Path) -> None:
    listed = run.invoke(app, []).output
    assert all(name in listed for name in NAMES)
    paths = {kind: tmp_path / f"answer.{kind}" for kind in ("json", "csv", "markdown")}
    options = [word for kind, path in paths.items() for word in (f"--{kind}", str(path))]
    result = run.invoke(app, ["method-post", "--record", *options], env={"COLUMNS": "160"})
    assert result.exit_code == 0 and "profile 2 of 87, r0" in result.output
    rows = json.loads(paths["json"].read_text(), parse_constant=pytest.fail)
    row = next(r for r in rows if r["value"] == "profile 2 of 87, r0")
    assert (row["published"], row["ours"]) == (30.0, pytest.approx(100 / 3))
    assert math.isclose(row["ratio"], 10 / 9)
    assert (
        "| 30 | % | 33.3 | 1.11 | contradiction (product.follows) |"
        in paths["markdown"].read_text()
    )
    assert isinstance(run.invoke(app, ["nothing"]).exception, LabError)


def test_without_records_the_commands_measure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a command writes stands in for the published record, and each runs once."""
    ran: list[list[str]] = []
    record = checkout.find_root() / "records" / "2026-11-23-epyc-zen5" / "goals.jsonl.xz"

    def run_tool(command: list[str], *rest: Any, **more: Any) -> None:
        ran.append(command[3:])
        target = Path(command[command.index("--out") + 1]) / "a-run"
        target.mkdir(parents=True)
        (target / "record.jsonl.xz").symlink_to(record)

    text = (pages()["vendor-page"]).read_text().partition('[[tables]]\ntitle = "4.2')[0]
    path = tmp_path / "000-vendor-page.toml"
    path.write_text(text.partition("[[tables.ours]]")[0] + "[[tables.ours]]" + text.split(
        "[[tables.ours]]")[1], encoding="utf-8")  # fmt: skip
    monkeypatch.setattr(page, "pages", lambda: {"vendor-page": path})
    monkeypatch.setattr(checkout, "run_tool", run_tool)
    out = tmp_path / "out"
    result = run.invoke(app, ["vendor-page", "--out", str(out)], env={"COLUMNS": "200"})
    assert result.exit_code == 0, result.exception
    assert len(ran) == 1 and ran[0][0] == "bench" and str(out) in ran[0][-1]
    assert re.search(r"sign, median +72 +µs +27", result.output)


def test_sources_are_found_by_entry_points() -> None:
    assert {"record", "theory"} <= set(plugins._loaded("figures"))
    report = answer_report(AnswerPage("t", read_page("method-post").tables[:1], name="method-post"))
    assert report.sections and "consistent" in report.headline
