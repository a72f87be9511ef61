"""The five worked examples; the command; the document."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path

import pytest
import typer
from audit_tables import sign, text
from typer.testing import CliRunner

from mldsa_lab import LabError
from mldsa_lab.audit import audit, read_claims
from mldsa_lab.audit.claims import ABOUT
from mldsa_lab.audit.judgement import RULES
from mldsa_lab.audit.reading import Defaults, example_path, examples
from mldsa_lab.cli.check import check
from mldsa_lab.sets import PARAMETER_SETS
from mldsa_lab.theory.rejection import RejectionModel

ROOT = Path(__file__).parents[2]
DOCUMENT = "".join(
    (ROOT / folder / "audit.md").read_text(encoding="utf-8") for folder in ("docs", "lab/notes")
)


# The command ------------------------------------------------------------------------------------

app = typer.Typer(pretty_exceptions_enable=False)
app.command()(check)
run = CliRunner()


def test_the_command_prints_and_writes(tmp_path: Path) -> None:
    path = tmp_path / "found.json"
    names = ("vendor-page", "chain-project")
    result = run.invoke(app, ["claims", *names, "--to", str(path)], env={"COLUMNS": "100"})
    assert result.exit_code == 0
    for expected in ("H33", "Dilithion", "sign.one-input", "13 contradiction", "found.json"):
        assert expected in result.output
    lists = json.loads(path.read_text(encoding="utf-8"), parse_constant=pytest.fail)["lists"]
    groups = [group for one in lists for group in one["groups"]]
    claimed = [g for g in groups if "claimed" in g["figures"]]
    verdicts = Counter(group["figures"]["claimed"]["verdict"] for group in claimed)
    assert verdicts["contradiction"] == 13
    (about,) = (one["about"]["finding"] for one in lists)
    assert [str(group["keys"]["finding"]) for group in claimed] == list(about)
    assert {group["keys"]["statistic"] for group in groups if group not in claimed} == {
        "least", "largest",
    }  # fmt: skip
    for one in about.values():
        for name in one:
            assert f"`{name}`" in DOCUMENT


def test_problems_are_shown_and_the_rest_with_all() -> None:
    brief, full = (
        run.invoke(app, ["claims", "vendor-page", *more], env={"COLUMNS": "120"}).output
        for more in ([], ["--all"])
    )
    assert len(brief.splitlines()) <= 30 and "implausible" in brief and "consistent " not in brief
    assert brief.endswith("\nnext       mldsa-lab check claims vendor-page --all\n")
    assert "consistent " in full and "sign.tail: " in full


def test_strict_is_for_contradictions(tmp_path: Path) -> None:
    path = tmp_path / "t.yaml"
    path.write_text(text(sign(median=117)), encoding="utf-8")
    assert run.invoke(app, ["claims", "vendor-page"]).exit_code == 0
    assert run.invoke(app, ["claims", "vendor-page", "--strict"]).exit_code == 1
    assert run.invoke(app, ["claims", str(path), "--strict"]).exit_code == 0


@pytest.mark.parametrize(
    ("arguments", "rule"),
    [
        (["claims", "none"], "unknown example 'none'"),
        (["claims", "nowhere.yaml"], "cannot read it"),
        (["claims", "method-post", "--to", "/nowhere/found.json"], "/nowhere"),
        (["claims", "list", "--measure", "out"], "--measure: cannot be used with claims"),
        (["answers", "list", "--strict"], "--strict: cannot be used with answers"),
    ],
)
def test_errors_are_lab_errors(arguments: list[str], rule: str) -> None:
    result = run.invoke(app, arguments)
    assert isinstance(result.exception, LabError)
    assert rule in str(result.exception)


def test_nothing_is_written_when_a_file_is_bad(tmp_path: Path) -> None:
    bad, out = tmp_path / "bad.yaml", tmp_path / "out.json"
    bad.write_text(text(sign(median=-1)), encoding="utf-8")
    result = run.invoke(app, ["claims", str(example_path("jvm-study")), str(bad), "--to", str(out)])
    assert isinstance(result.exception, LabError)
    assert not out.exists()


def test_titles_are_no_markup(tmp_path: Path) -> None:
    path = tmp_path / "t.yaml"
    source = {"title": "[bold]a[/] [/b]", "kind": "other"}
    path.write_text(text(sign(median=117, id="[red]x[/]"), source=source), encoding="utf-8")
    output = run.invoke(app, ["claims", str(path), "--all"], env={"COLUMNS": "120"}).output
    assert "[bold]a[/] [/b]" in output
    assert "[red]x[/]" in output


@pytest.mark.parametrize(
    ("name", "claim", "rule", "verdict"),
    [
        ("vendor-page", "security", "strength.bits", "contradiction"),
        ("vendor-page", "simd", "machine.gain", "undecidable"),
        ("chain-project", "transactions per block, today", "statements.agree", "contradiction"),
        ("chain-project", "paranoid Verification, times", "statements.agree", "contradiction"),
        ("chain-project", "outliers", "trimmed.agree", "contradiction"),
        ("chain-project", "outliers", "trimmed.chauvenet", "undecidable"),
        ("chain-project", "confidence interval", "interval.width", "contradiction"),
    ],
)
def test_statements_of_the_pages_are_judged(name: str, claim: str, rule: str, verdict: str) -> None:
    found = audit(read_claims(example_path(name)))
    assert verdict in {f.verdict.value for f in found if (f.claim, f.rule) == (claim, rule)}


# The document -----------------------------------------------------------------------------------


def test_the_document_has_every_rule_and_no_other() -> None:
    rows = re.findall(r"^\| `([a-z0-9.-]+)` \| ([^|]+) \| ([^|]+) \|$", DOCUMENT, re.M)
    assert {row for row in rows if row[0] in RULES or "." in row[0]} == set(RULES.values())


def test_the_document_has_every_kind_of_claim_and_every_example() -> None:
    for about in ABOUT:
        assert f"### `{about}`" in DOCUMENT
    for name in (*examples(), *Defaults.__struct_fields__):
        assert f"`{name}`" in DOCUMENT
    exact = [RejectionModel.for_set(name).expected_iterations for name in PARAMETER_SETS]
    assert f"the exact {', '.join(f'{value:.2f}' for value in exact)}." in DOCUMENT
