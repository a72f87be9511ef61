"""Programs of scripts: golden.py compares every figure with tests/golden, docs/trust.md names tests
that exist, ct_code finds every leak that is made on purpose and nothing beside them."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tomllib
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from lab_runs import load_script

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "scripts" / "golden.py"
KEYS = {"set": "ML-DSA-65", "threads": 2}


@pytest.fixture(scope="module")
def golden() -> Any:
    return load_script(SCRIPT)


@pytest.mark.e2e
def test_every_figure_is_as_it_was() -> None:
    done = subprocess.run([sys.executable, SCRIPT], capture_output=True, text=True, timeout=1800)
    assert done.returncode == 0, done.stdout + done.stderr


def test_setup_ends_with_what_is_ready_and_what_to_do_next() -> None:
    made = ("make", "--silent", "--old-file=setup-bench", "setup")
    text = subprocess.run(made, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert ".venv is ready" in text and "next: make bench" in text and "doctor" in text


def test_modules_that_make_runs_are_programs() -> None:
    text = (ROOT / "Makefile").read_text(encoding="utf-8")
    modules = sorted(set(re.findall(r"-m ((?:mldsa_lab|mldsa_studies|pqc_impact)[\w.]*)", text)))
    assert "mldsa_lab.worker.build" in modules
    for module in modules:
        source = Path(str(find_spec(module).origin))  # type: ignore[union-attr]
        assert '__name__ == "__main__"' in source.read_text(encoding="utf-8"), module


def test_a_changed_figure_is_reported(
    golden: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    def source(mean: float, *more: Any) -> Any:
        return lambda: {"small": lambda: iter([golden.figure(KEYS, "mean", mean, *more)])}

    def run(*options: str) -> tuple[int, str]:
        status = golden.main(["--processes", "1", *options])
        return status, capsys.readouterr().out

    monkeypatch.setattr(golden, "GOLDEN", tmp_path)
    monkeypatch.setattr(golden, "sources", source(100.0, 99.0, 101.0, "ns"))
    assert run("--write")[0] == 0
    assert run() == (0, "golden: 1 files compared, 0 differences\n")
    monkeypatch.setattr(golden, "sources", source(100.0 * (1 + 1e-10), 99.0, 101.0, "ns"))
    assert run()[0] == 0
    monkeypatch.setattr(golden, "sources", source(100.0 * (1 + 1e-8), 99.0, 102.0, "us"))
    status, out = run()
    place = "small.json: set=ML-DSA-65 threads=2: mean: "
    changes = ("value 100.0 -> 100.000001", "high 101.0 -> 102.0", "unit ns -> us")
    assert status == 1 and out.splitlines()[:-1] == [f"{place}{change}" for change in changes]


@pytest.mark.parametrize(
    ("old", "new", "endings"),
    [
        # A difference is relative to the limits.
        ({"z": 4.0e-6}, {"z": 4.001e-6}, []),
        ({"z": 4.0e-6}, {"z": 5.0e-6}, ["value 4e-06 -> 5e-06"]),
        ({"mean": 1.0}, {"ratio": 1.0}, ["missing, 1.0", "new, 1.0"]),
    ],
)
def test_differences(
    golden: Any, old: dict[str, float], new: dict[str, float], endings: list[str]
) -> None:
    one, other = (
        golden.by_identity([golden.figure(KEYS, name, v, -9.0, 9.0) for name, v in of.items()])
        for of in (old, new)
    )
    assert [line.split(": ")[-1] for line in golden.differences(one, other)] == endings


def test_figures_of_json(golden: Any) -> None:
    row = {"variant": "a", "threads": 2, "unit": "ns", "mean": 3.0, "mean_low": 2.0, "cpu": "x"}
    row |= {
        "ratio": [1.0, 0.5, 2.0],
        "parts": {"z": 4, "text": "words"},
        "codes": ["few"],
        "p95": None,
    }
    keys = {"variant": "a", "threads": 2, "codes": "few"}
    found = list(golden.flatten([row], {}))
    assert found == [
        {"keys": keys, "name": "mean", "value": 3.0, "low": 2.0, "unit": "ns"},
        {"keys": keys, "name": "ratio", "value": 1.0, "low": 0.5, "high": 2.0},
        {"keys": keys, "name": "parts.z", "value": 4},
    ]
    figures = golden.by_identity([*found, *found[:1]])
    assert len(figures) == 4 and golden.from_text(golden.as_text(figures)) == figures


# --- make trust -----------------------------------------------------------------------------------


PAGE = (ROOT / "docs" / "trust.md").read_text(encoding="utf-8")


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
    corpus = ROOT / "crates" / "mldsa-fuzz" / "corpus"
    assert planted == {folder.name for folder in corpus.iterdir()}


def test_a_failed_command_fails_its_rows_and_names_its_tests(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    trust = load_script(ROOT / "scripts" / "trust.py")
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


@pytest.mark.parametrize(
    ("store", "given"),
    [
        ("str\tq4, [x11], #16", "str\tq4, [x11]\n\tadd\tx11, x11, #16"),
        ("stp\tq4, q6, [sp, #-32]!", "sub\tsp, sp, #32\n\tstp\tq4, q6, [sp]"),
        ("st4\t{ v0.4s, v1.4s, v2.4s, v3.4s }, [x0], #64",
         "st4\t{ v0.4s, v1.4s, v2.4s, v3.4s }, [x0]\n\tadd\tx0, x0, #64"),
        ("str\tq4, [x11, #16]", "str\tq4, [x11, #16]"),
        ("st1\t{ v0.4s }, [x0], x2", "st1\t{ v0.4s }, [x0], x2"),
        ("ldr\tq4, [x11], #16", "ldr\tq4, [x11], #16"),
    ],
)  # fmt: skip
def test_stores_that_move_their_address_are_split(store: str, given: str) -> None:
    model = load_script(ROOT / "scripts" / "model_arm.py")
    assert model.split_stores(f"\tnop\n\t{store}\n") == f"\tnop\n\t{given}\n"
