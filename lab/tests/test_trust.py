"""docs/trust.md names tests and mutants that exist, one of each for every past bug; what failed
in make trust is named."""

from __future__ import annotations

import importlib.util
import re
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "trust.md").read_text(encoding="utf-8")


def test_every_past_bug_has_its_test_and_its_mutant() -> None:
    rows = re.findall(r"^\| (\d+) [^|]*\| `(\w+)` \| ([^|]+) \|$", PAGE, re.MULTILINE)
    assert [int(number) for number, *_ in rows] == list(range(1, 19))
    suite = ROOT / "crates" / "mldsa-lanes" / "tests" / "suite"
    tests = "".join(path.read_text(encoding="utf-8") for path in suite.glob("past_bugs_*.rs"))
    text = (ROOT / "scripts" / "mutants.toml").read_text(encoding="utf-8")
    mutants = {entry["name"] for entry in tomllib.loads(text)["mutant"]}
    for number, test, mutant in rows:
        assert test.startswith(f"bug_{int(number):02}_")
        assert f"fn {test}()" in tests
        # What no change of a token can make again says what shows it instead.
        assert mutant in mutants or mutant.startswith("none: ")
    assert sum(mutant.startswith("none: ") for *_, mutant in rows) == 2


def test_every_target_has_a_planted_fault() -> None:
    text = (ROOT / "scripts" / "mutants.toml").read_text(encoding="utf-8")
    planted = {entry.get("fuzz") for entry in tomllib.loads(text)["mutant"]} - {None}
    corpus = ROOT / "crates" / "mldsa-fuzz" / "corpus"
    assert planted == {folder.name for folder in corpus.iterdir()}


def test_a_failed_command_fails_its_rows_and_names_its_tests(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    spec = importlib.util.spec_from_file_location("trust", ROOT / "scripts" / "trust.py")
    assert spec is not None and spec.loader is not None
    trust = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "trust", trust)
    spec.loader.exec_module(trust)
    said = "test acvp::a ... ok\ntest documents::b ... FAILED"
    monkeypatch.setattr(trust, "LOGS", tmp_path)
    monkeypatch.setitem(trust.COMMANDS, "tests", ("sh", "-c", f"echo '{said}'; exit 1"))
    outcomes = trust.run_all(["tests"])
    assert "trust: tests: failed, 0 s\ntrust: tests: documents::b failed" in capsys.readouterr().out
    row = next(row for row in trust.ROWS if row.evidence == "NIST ACVP")
    assert trust.line(row, outcomes["tests"], "portable")[2] == "FAILED"
    outcomes["tests"] = trust.Outcome(said)
    assert trust.line(row, outcomes["tests"], "portable")[2] == "1 tests"
