"""The tables that end a bench in the terminal."""

from __future__ import annotations

from collections.abc import Iterable

from rich.console import Console
from rich.padding import Padding
from rich.table import Table as RichTable
from rich.text import Text

from mldsa_lab.estimate.summary import Summary
from mldsa_lab.records import Record
from mldsa_lab.show.columns import Column, draw, points, total
from mldsa_lab.show.findings import find
from mldsa_lab.show.format import Estimate, clean
from mldsa_lab.show.run_tables import run_tables
from mldsa_lab.show.view import (
    SHOWN_OPERATIONS,
    Refusal,
    Table,
    View,
    build,
    classical_rows,
    scheme_name,
)

WIDE = 132
"""From this many columns on, intervals are written as [low, high]; below, as ± half-width."""
_SHORT = {"compact": "comp", "expanded": "exp"}


def print_table(summary: Summary, record: Record, console: Console) -> None:
    """Print a table per set and operation, then who is missing and why, and the finding."""
    view = build(record, summary)
    if not view.tables:
        console.print(Text("Nothing was measured.", style="bold"))
    for set_name in view.sets:
        for table in view.of(set_name):
            console.print(_rich_table(table, view, console.width))
            console.print()
    if view.classical_sets:
        console.print(_classical(view, console.width))
        console.print()
    for made in run_tables(view, console.width):
        console.print(made)
        console.print()
    if view.marks:
        for mark, text in view.marks.items():
            _paragraph(console, f" {mark}  ", text, "dim")
        console.print()
    _reasons(console, "Refused by the correctness gate, not timed", view.refused, "bold red")
    _reasons(console, "Left out after a fault", view.faults, "bold red")
    _reasons(console, "Notes on single figures", view.notes, "bold")
    skipped = [Refusal(s.worker, "", s.reason) for s in record.skipped]
    _reasons(console, "Workers that could not run here", skipped, "bold yellow")
    for warning in view.warnings:
        _paragraph(console, "note: ", warning, "yellow")
    findings = find(view)
    console.print(Text(clean(findings.headline) + ".", style="bold"))
    for sentence in findings.sentences:
        console.print(Text(clean(sentence)))


def _rich_table(table: Table, view: View, width: int) -> RichTable:
    title = Text.assemble(
        (f"{table.set}  {table.operation}", "bold"),
        (f"   {table.unit.name}, best first{_built(view)}", "dim"),
    )
    columns = _columns(table, view, wide=width >= WIDE)
    if width >= WIDE and total(columns) > width:
        columns = _columns(table, view, wide=False)
    if total(columns) > width:
        for column in columns:
            if column.title == "key":
                column.cells = [_SHORT.get(cell, cell) for cell in column.cells]
    for spare in range(1, 4):
        if total(columns) > width:
            columns = [c for c in columns if c.spare != spare]
    return draw(title, columns, width, bold=0)


def _columns(table: Table, view: View, *, wide: bool) -> list[Column]:
    lines = table.lines
    columns = [
        Column("", [str(n.rank) for n in lines], right=True, spare=1),
        Column("implementation", [n.row.implementation for n in lines]),
        Column("backend", [n.row.backend for n in lines]),
        Column("key", [n.row.key for n in lines]),
        *([Column("build", [n.row.build or "" for n in lines])] if len(view.builds) > 1 else []),
        Column("mean", points(n.mean.value for n in lines), right=True),
        Column(_interval_title(view, wide), [_interval(n.mean, wide) for n in lines]),
    ]
    if table.has_quantiles:
        for index, name in enumerate(("p50", "p95", "p99", "p99.9")):
            cells = points(n.quantiles[index] for n in lines)
            columns.append(Column(name, cells, right=True, spare=3 if index == 0 else 0))
    if table.has_ratios:
        columns += [
            Column("ratio", points(n.ratio.value for n in lines), right=True),
            Column("", [_interval(n.ratio, wide) for n in lines], spare=2),
        ]
    if any(n.marks for n in lines):
        columns.append(Column("", [n.marks for n in lines]))
    return columns


def _classical(view: View, width: int) -> RichTable:
    """All classical schemes in one table: they stand for comparison and have no attempts."""
    rows, wide = classical_rows(view), width >= WIDE
    columns = [
        Column("scheme", [scheme for scheme, _, _ in rows]),
        Column("implementation", [scheme_name(line) for _, line, _ in rows]),
        Column("backend", [line.row.backend for _, line, _ in rows]),
    ]
    for operation in SHOWN_OPERATIONS:
        cells = [c.get(operation) for _, _, c in rows]
        if any(cells):
            columns += [
                Column(operation, points(c[0].value if c else "" for c in cells), right=True),
                Column("", [_interval(c[0], wide) if c else "" for c in cells]),
                Column("", [c[1] if c else "" for c in cells]),
            ]
    title = Text.assemble(("Classical schemes", "bold"), ("   for comparison", "dim"))
    return draw(title, columns, width)


def _built(view: View) -> str:
    return f"; {view.builds[0]} build" if len(view.builds) == 1 else ""


def _interval_title(view: View, wide: bool) -> str:
    confidence = f"{view.summary.confidence:.0%}"
    return f"[{confidence} interval]" if wide else f"±{confidence}"


def _interval(value: Estimate, wide: bool) -> str:
    return value.interval if wide else value.half_width


def _reasons(console: Console, title: str, reasons: Iterable[Refusal], style: str) -> None:
    listed = list(reasons)
    if not listed:
        return
    console.print(Text(title, style=style))
    for refusal in listed:
        where = f" ({refusal.where})" if refusal.where else ""
        _paragraph(console, f"  {refusal.variant}{where}: ", refusal.reason, "")
    console.print()


def _paragraph(console: Console, start: str, text: str, style: str) -> None:
    indent = len(start) - len(start.lstrip())
    body = Text(clean(start).lstrip() + clean(text), style=style)
    console.print(Padding(body, (0, 0, 0, indent)))
