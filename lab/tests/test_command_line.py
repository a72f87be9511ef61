"""The command line as a whole: its size, its start, and the old spellings."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
from lab_runs import here

from mldsa_lab.cli.main import app
from mldsa_lab.cli.shared import RENAMED

COMMANDS, OPTIONS = 12, 115
"""Budgets: names in `mldsa-lab --help`, and options of all commands below them together."""
HEAVY = ("numpy", "scipy", "rich", "matplotlib", "pyarrow")
PROGRAM = f"""
import sys
from mldsa_lab.cli.main import main
try:
    main()
except SystemExit:
    print(*(name for name in {HEAVY} if name in sys.modules), file=sys.stderr)
"""
ROOT: Any = typer.main.get_command(app)


def commands_of(group: Any) -> Iterator[Any]:
    """The commands below a group, those of its groups in their place."""
    for command in group.commands.values():
        if hasattr(command, "commands"):
            yield from commands_of(command)
        else:
            yield command


def options_of(command: Any) -> list[str]:
    return [p.opts[0] for p in command.params if p.param_type_name == "option"]


def test_commands_and_options_keep_to_their_budgets() -> None:
    assert len(ROOT.commands) <= COMMANDS, sorted(ROOT.commands)
    options = [option for command in commands_of(ROOT) for option in options_of(command)]
    assert len(options) <= OPTIONS, len(options)


def test_the_help_loads_no_heavy_package() -> None:
    words = [sys.executable, "-c", PROGRAM, "--help"]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    assert "Commands:" in done.stdout and done.stderr.split() == []


@pytest.mark.parametrize("old", RENAMED)
def test_an_old_spelling_ends_with_one_line_that_names_the_new_one(old: str) -> None:
    words = old.split() if not old.startswith("-") else ["report", old]
    done = here(*words, "x")
    assert done.status == 2 and not done.out

    assert done.err == f"mldsa-lab: error: {old}: the new spelling is {RENAMED[old]}\n"


@pytest.mark.parametrize("old", RENAMED)
def test_a_new_spelling_exists(old: str) -> None:
    known = {option for command in commands_of(ROOT) for option in options_of(command)}
    words = RENAMED[old].replace(",", " ").split()
    assert {word for word in words if word.startswith("--")} <= known
    if not words[0].startswith("-") and old[0] != "-":
        assert words[0] in (*ROOT.commands, "mldsa-lab")


REFUSED = {
    "select ed25519": "unknown parameter set 'ed25519': known are 44, 65, 87, ml-dsa, ML-DSA-44,",
    "select ml-dsa": "set 'ml-dsa': must be one of",
    "select 66": "unknown parameter set '66': known are 44, 65, 87, ml-dsa, ",
    "select 44 --max-attempts 1": "all 10 inputs have 1 attempt, so that no cost of an",
    "select 44 --from none.jsonl": "none.jsonl: cannot read it",
    "select 44 --from none.jsonl -n 3": "--count: cannot be used with --from none",
    "select 44 --from none.jsonl --goal p5": "--goal: cannot be used with --from",
    "select 44 -n 10001": "choice of 10001 inputs: the pool has 10000 traces",
    "select 44 --goal p100": "percentile 100.0: must lie in",
    "select 44 --formats json,xml": "format 'xml': must be one of json, rsp, c, c-hashes, readmemh",
    "select 44 --goal p..": "--goal p..: '..' is no number",
    "select 44 --goal best": "--goal best: must be regression, mean",
    "select 44 --from ready --goal p7": "ready-made selection 'p7'",
    "select 44 --from ready --goal mean -n 7": "'mean' of 7 inputs",
    "select 44 --from ready --budget 70": "--budget: cannot be used with --from ready",
    "select 44 --from none.parquet": "pool none.parquet: cannot read it",
    "select 44 --cost-model none.json --goal mean": "none.json: cannot read it",
    "trace Ed25519": "unknown parameter set 'Ed25519': known are 44, 65, 87, ml-dsa, ML-DSA-44",
    "trace 44 --context-bytes 256": "--context-bytes",
    "trace 44 -n 0": "--count",
    "trace 44 65 --inputs x.csv": "name the one parameter set",
    "trace 44 --inputs none.csv": "none.csv: cannot read it",
    "trace 44 --processes 0": "--processes 0: must be a whole number from 1, or tcp://",
    "trace 44 --inputs none.csv -n 5": "--count: cannot be used with --inputs",
    "trace 44 --inputs none.csv --seed x": "--seed: cannot be used with --inputs",
}  # fmt: skip
"""Commands that are rejected before they write anything."""


@pytest.mark.parametrize("command", REFUSED)
def test_what_is_wrong_is_named_before_the_work(tmp_path: Path, command: str) -> None:
    done = here(*command.split(), "--out", str(tmp_path / "out"))
    assert done.status == 2 and REFUSED[command] in done.err and "Traceback" not in done.err
    assert not list(tmp_path.iterdir())
