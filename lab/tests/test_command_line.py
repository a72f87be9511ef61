"""The command line as a whole: its size, its start, and the old spellings."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
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
