"""A study in the terminal and as JSON."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from mldsa_lab.files import write_text
from mldsa_studies.evaluate import Study
from mldsa_studies.summary import KINDS, ErrorTable, Group, StudyView, per_cent


def print_study(study: Study, console: Console) -> None:
    """Print a table for each kind of measurement: errors of the mean, then of percentiles."""
    shown = StudyView(study)
    for kind in shown.kinds:
        title, note = f"Error of the mean, {KINDS[kind]}", "standard deviation, bias"
        _print(console, title, f"root mean square; {note}", shown.of_mean(kind), _three)
    for kind in shown.kinds:
        title = f"Error of percentiles from n = {shown.shown_n}, {KINDS[kind]}"
        _print(console, title, "root mean square; bias", shown.of_percentiles(kind), _two)
    console.print(Text(shown.headline() + ".", style="bold"))


def _three(cell: Group) -> Text:
    return Text.assemble(
        (per_cent(cell.rmse), "bold"), (f"\n{per_cent(cell.deviation)}, {cell.bias_text}", "dim")
    )


def _two(cell: Group) -> Text:
    return Text(f"{per_cent(cell.rmse)}; {cell.bias_text}")


def _print(
    console: Console, title: str, note: str, errors: ErrorTable, text: Callable[[Group], Text]
) -> None:
    table = Table(
        title=Text.assemble((title, "bold"), (f"   {note}", "dim")), title_justify="left",
        box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False,
    )  # fmt: skip
    for head in ("set", "method"):
        table.add_column(head, no_wrap=True)
    for head in errors.columns:
        table.add_column(head, justify="right")
    before = None
    for set_name, method, cells in errors.rows:
        if before not in (None, set_name):
            table.add_section()
        first = "" if set_name == before else set_name
        table.add_row(first, method.name, *("–" if c is None else text(c) for c in cells))
        before = set_name
    console.print(table)
    console.print()


def write_json(study: Study, path: Path) -> None:
    """Write all lines of the table, whole or not at all: a list of objects, errors as fractions of
    the truth."""
    rows = [c.as_dict() for c in study.cells()]
    write_text(path, json.dumps(rows, indent=1, allow_nan=False) + "\n")
