"""The command line as a whole: its size, its start, its help, and the old spellings."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
from lab_runs import here

from mldsa_lab.checkout import find_root
from mldsa_lab.cli.help import GROUPS, topics
from mldsa_lab.cli.main import app
from mldsa_lab.cli.shared import RENAMED

COMMANDS, OPTIONS = 12, 116
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
RECORD = find_root() / "records" / "2026-11-25-xeon-emr" / "bindings.jsonl.xz"
TOPICS = topics()
ROOT: Any = typer.main.get_command(app)


def commands_of(group: Any) -> Iterator[Any]:
    """The commands below a group, those of its groups in their place."""
    for command in group.commands.values():
        if hasattr(command, "commands"):
            yield from commands_of(command)
        else:
            yield command


def find_command(words: list[str], parent: Any = None) -> tuple[Any, Any]:
    """The command that parses these words, with its context. Raises the parser's errors."""
    name = words[0] if parent else "mldsa-lab"
    command = parent.command.commands.get(name) if parent else ROOT
    if parent and command is None:  # the name of a study
        name, command, words = "run", parent.command.commands["run"], ["run", *words]
    ctx = command.make_context(name, words[1:], parent=parent)
    rest = [*ctx._protected_args, *ctx.args]
    return find_command(rest, ctx) if hasattr(command, "commands") and rest else (command, ctx)


def options_of(command: Any) -> list[str]:
    return [p.opts[0] for p in command.params if p.param_type_name == "option"]


def test_commands_and_options_keep_to_their_budgets() -> None:
    assert len(ROOT.commands) <= COMMANDS, sorted(ROOT.commands)
    options = [option for command in commands_of(ROOT) for option in options_of(command)]
    assert len(options) <= OPTIONS, len(options)


def test_the_help_loads_no_heavy_package() -> None:
    words = [sys.executable, "-c", PROGRAM, "--help"]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    assert "Your own target:" in done.stdout and done.stderr.split() == []


def test_the_groups_have_every_command_and_the_topics_every_help() -> None:
    assert sorted(name for names in GROUPS.values() for name in names) == sorted(ROOT.commands)
    groups = {name: command for name, command in ROOT.commands.items() if name in ("study", "rtl")}
    below = {f"{name} {each}" for name, group in groups.items() for each in group.commands}
    assert set(TOPICS) == {"", *ROOT.commands, *below}


@pytest.mark.parametrize("path", TOPICS)
def test_a_help_has_three_examples_that_parse_and_a_document(path: str) -> None:
    document, examples = TOPICS[path]
    assert len(set(examples)) == 3
    for example in examples:
        assert example.startswith(f"mldsa-lab {path.removesuffix(' run')}")
        command, _ = find_command(example.split())
        assert command.callback
    assert (find_root() / document.partition("#")[0]).is_file()
    text = here(*path.split(), "--help").out
    assert text.endswith(f"\nDocument: {document}\n") and not re.search("<[a-z]", text)
    assert all(f"  {example}\n" in text for example in examples)
    assert all(len(line) <= 80 for line in text.splitlines())


@pytest.mark.parametrize(
    ("command", "hint"),
    [
        ("benh", "No such command 'benh'. Did you mean 'bench'?"),
        ("bench --quik", "No such option: --quik. Did you mean '--quick'?"),
        ("bench --nothing-like-it", "No such option: --nothing-like-it"),
        ("select ml-dsa65", "unknown parameter set 'ml-dsa65'. Did you mean 'ML-DSA-65'"),
        ("bench --implementations mldsa-lane", "'mldsa-lane'. Did you mean 'mldsa-lanes'"),
        (f"report {RECORD} --to none --implementations mldsa-lane", "Did you mean 'mldsa-lanes'"),
    ],
)
def test_a_mistyped_name_ends_with_the_nearest_one(command: str, hint: str) -> None:
    done = here(*command.split())
    assert done.status == 2 and hint in done.err and len(done.err.splitlines()) == 1


def test_a_shell_completes_commands() -> None:
    words = [sys.executable, "-c", PROGRAM]
    asked = {
        "_MLDSA_LAB_COMPLETE": "complete_bash",
        "COMP_WORDS": "mldsa-lab est",
        "COMP_CWORD": "1",
    }
    done = subprocess.run(words, capture_output=True, text=True, env={**os.environ, **asked})
    assert done.stdout.split() == ["estimate"]


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
