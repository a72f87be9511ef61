"""Programs of the evidence: docs/trust.md names tests that exist, ct_code finds every leak that is made on
purpose and nothing beside them."""

from __future__ import annotations

import importlib
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.append(str(ROOT / "scripts"))

# --- make trust -----------------------------------------------------------------------------------


PAGE = (ROOT.parent / "docs" / "trust.md").read_text(encoding="utf-8")


def test_every_past_bug_has_its_test_and_its_mutant() -> None:
    rows = re.findall(r"^\| (\d+) [^|]*\| `(\w+)` \| ([^|]+) \|$", PAGE, re.MULTILINE)
    assert [int(number) for number, *_ in rows] == list(range(1, 19))
    suite = ROOT / "crates" / "mldsa-inside" / "tests" / "suite"
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
    corpus = ROOT / "verify" / "mldsa-fuzz" / "corpus"
    assert planted == {folder.name for folder in corpus.iterdir()}


def test_a_failed_command_fails_its_rows_and_names_its_tests(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    trust = importlib.import_module("trust")
    said = "test acvp::a ... ok\ntest documents::b ... FAILED"
    monkeypatch.setattr(trust, "LOGS", tmp_path)
    monkeypatch.setitem(trust.COMMANDS, "tests", ("sh", "-c", f"echo '{said}'; exit 1"))
    outcomes = trust.run_all(["tests"])
    assert "trust: tests: failed, 0 s\ntrust: tests: documents::b failed" in capsys.readouterr().out
    row = next(row for row in trust.ROWS if row.evidence == "NIST ACVP")
    assert trust.line(row, outcomes["tests"], "portable")[2] == "FAILED"
    outcomes["tests"] = trust.Outcome(said)
    assert trust.line(row, outcomes["tests"], "portable")[2] == "1 tests"


# --- make ct-code ---------------------------------------------------------------------------------


TOOL = ROOT / "scripts" / "ct_code"
PLANTED = (TOOL / "planted.rs").read_text(encoding="utf-8")
BACKENDS = {
    "x86_64-unknown-linux-gnu": ["avx2", "avx512"],
    "aarch64-unknown-linux-gnu": ["neon", "neon_sha3"],
}
LEAKS = 13


def read(
    folder: Path, target: str, planted: str, cpu: str = "generic"
) -> subprocess.CompletedProcess[str]:
    """What the tool says of a program that has nothing but the leaks."""
    for tool in ("rustc", "c++filt", "addr2line"):
        if shutil.which(tool) is None:
            pytest.skip(f"{tool} is missing")
    (folder / "planted.rs").write_text(planted, encoding="utf-8")
    (folder / "main.rs").write_text("mod planted;\nfn main() {}\n", encoding="utf-8")
    command = ["rustc", "--edition=2024", "-O", "-g", f"-Ctarget-cpu={cpu}", "--target", target]
    command += ["-o", "program", "main.rs"]
    if target.startswith("aarch64"):
        command += ["-C", "linker=aarch64-linux-gnu-gcc"]
    made = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    if re.search(r"target may not be installed|linker .* not found", made.stderr):
        pytest.skip(f"nothing here compiles for {target}")
    assert made.returncode == 0, made.stderr
    command = [sys.executable, str(TOOL), "--read", str(folder / "program")]
    return subprocess.run(command, capture_output=True, text=True)


@pytest.mark.parametrize(
    ("target", "cpu"),
    [*((target, "generic") for target in BACKENDS), ("aarch64-unknown-linux-gnu", "neoverse-v1")],
)
def test_every_leak_is_found_and_nothing_else(tmp_path: Path, target: str, cpu: str) -> None:
    said = read(tmp_path, target, PLANTED, cpu)
    for backend in BACKENDS[target]:
        assert f"{backend}: {LEAKS} of {LEAKS} leaks made on purpose are found" in said.stdout
    # It has no kernels, and says so.
    faults = said.stderr.splitlines()
    assert all("no entry point of" in fault for fault in faults)
    assert len(faults) == len(BACKENDS[target])
    assert said.returncode == 1


@pytest.mark.parametrize("target", BACKENDS)
def test_a_leak_that_is_missed_is_told_and_so_is_a_false_one(tmp_path: Path, target: str) -> None:
    other = PLANTED.replace("clean_select", "leaks_select").replace("leaks_index", "clean_index")
    said = read(tmp_path, target, other)
    for backend in BACKENDS[target]:
        assert f"{backend}: leaks_select is not found" in said.stderr
        assert f"{backend}: clean_index is found" in said.stderr


def test_what_is_no_program_is_refused(tmp_path: Path) -> None:
    for content in (b"", b"\x7fELF\x02\x01", b"#!/bin/sh\n", bytes(200)):
        (tmp_path / "file").write_bytes(content)
        command = [sys.executable, str(TOOL), "--read", str(tmp_path / "file")]
        said = subprocess.run(command, capture_output=True, text=True)
        assert said.returncode == 2
        assert "Traceback" not in said.stderr


def test_excused_lines_exist_and_have_a_reason() -> None:
    rules = tomllib.loads((TOOL / "known.toml").read_text(encoding="utf-8"))
    assert all(rule["why"].endswith(".") for rule in rules["known"] + rules["public"])
    for rule in rules["known"]:
        source = ROOT / "crates" / "mldsa-lanes" / "src" / rule["file"]
        text = source.read_text(encoding="utf-8")
        assert [line for line in rule["lines"] if line not in text] == []
