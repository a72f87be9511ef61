"""A study in the terminal and as JSON."""

from __future__ import annotations

import json
from pathlib import Path

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from mldsa_lab.files import write_text
from mldsa_studies.evaluate import Study, target_name
from mldsa_studies.page import headline
from mldsa_studies.plan import MEAN, PERCENTILES
from mldsa_studies.summary import KINDS, Shown, group, per_cent, signed_per_cent


def print_study(study: Study, console: Console) -> None:
    """Print a table for each kind of measurement: errors of the mean, then of percentiles."""
    shown = Shown.of(study)
    for kind in shown.kinds:
        console.print(_table(shown, kind, MEAN, console.width))
        console.print()
    for kind in shown.kinds:
        console.print(_percentiles(shown, kind))
        console.print()
    console.print(Text(headline(shown) + ".", style="bold"))


def _new(title: str, note: str) -> Table:
    return Table(
        title=Text.assemble((title, "bold"), (f"   {note}", "dim")), title_justify="left",
        box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False,
    )  # fmt: skip


def _table(shown: Shown, kind: str, target: float, width: int) -> Table:
    table = _new(
        f"Error of the {target_name(target)}, {KINDS[kind]}",
        "root mean square; standard deviation, bias",
    )
    table.add_column("set", no_wrap=True)
    table.add_column("method", no_wrap=True)
    for n in shown.sizes:
        table.add_column(f"n = {n}", justify="right")
    for set_name in shown.sets:
        for method in shown.methods:
            row = []
            for n in shown.sizes:
                cell = group(
                    shown.pick(set_name=set_name, kind=kind, method=method.name, n=n, target=target)
                )
                if cell is None:
                    row.append(Text("–"))
                    continue
                bias = signed_per_cent(cell.mean_bias, cell.bias_error)
                row.append(
                    Text.assemble(
                        (per_cent(cell.rmse), "bold"),
                        (f"\n{per_cent(cell.deviation)}, {bias}", "dim"),
                    )
                )
            first = method == shown.methods[0]
            table.add_row(set_name if first else "", method.name, *row)
        table.add_section()
    return table


def _percentiles(shown: Shown, kind: str) -> Table:
    n = 10 if 10 in shown.sizes else max(shown.sizes)
    table = _new(f"Error of percentiles from n = {n}, {KINDS[kind]}", "root mean square; bias")
    table.add_column("set", no_wrap=True)
    table.add_column("method", no_wrap=True)
    for percentile in PERCENTILES:
        table.add_column(target_name(percentile), justify="right")
    for set_name in shown.sets:
        for method in shown.methods:
            row = []
            for percentile in PERCENTILES:
                cell = group(
                    shown.pick(
                        set_name=set_name, kind=kind, method=method.name, n=n, target=percentile
                    )
                )
                text = "–"
                if cell is not None:
                    bias = signed_per_cent(cell.mean_bias, cell.bias_error)
                    text = f"{per_cent(cell.rmse)}; {bias}"
                row.append(text)
            table.add_row(set_name if method == shown.methods[0] else "", method.name, *row)
        table.add_section()
    return table


def as_json(study: Study) -> str:
    """All lines of the table: a list of objects, errors as fractions of the truth."""
    return json.dumps([c.as_dict() for c in study.cells()], indent=1, allow_nan=False) + "\n"


def write_json(study: Study, path: Path) -> None:
    """Write `as_json`, whole or not at all."""
    write_text(path, as_json(study))
