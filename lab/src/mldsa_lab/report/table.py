"""The tables that end a bench in the terminal."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from rich import box
from rich.cells import cell_len
from rich.console import Console
from rich.padding import Padding
from rich.table import Table as RichTable
from rich.text import Text

from mldsa_lab.records import Record
from mldsa_lab.report.findings import find
from mldsa_lab.report.format import Estimate, aligned, clean
from mldsa_lab.report.view import (
    SHOWN_OPERATIONS,
    Line,
    Refusal,
    Table,
    View,
    build,
    classical_rows,
)
from mldsa_lab.stats.summary import Summary

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


@dataclass(slots=True)
class _Column:
    """A column before it is drawn; `spare` ones are given up first when the terminal is narrow."""

    title: str
    cells: list[str]
    right: bool = False
    spare: int = 0

    @property
    def width(self) -> int:
        return max(cell_len(text) for text in (self.title, *self.cells))


def _rich_table(table: Table, view: View, width: int) -> RichTable:
    title = Text.assemble(
        (f"{table.set}  {table.operation}", "bold"), (f"   {table.unit.name}, best first", "dim")
    )
    columns = _columns(table, view, wide=width >= WIDE)
    if width >= WIDE and _total(columns) > width:
        columns = _columns(table, view, wide=False)
    if _total(columns) > width:
        for column in columns:
            if column.title == "key":
                column.cells = [_SHORT.get(cell, cell) for cell in column.cells]
    for spare in range(1, 4):
        if _total(columns) > width:
            columns = [c for c in columns if c.spare != spare]
    return _draw(title, columns, width, bold=0)


def _columns(table: Table, view: View, *, wide: bool) -> list[_Column]:
    lines = table.lines
    columns = [
        _Column("", [str(n.rank) for n in lines], right=True, spare=1),
        _Column("implementation", [n.row.implementation for n in lines]),
        _Column("backend", [n.row.backend for n in lines]),
        _Column("key", [_key_form(n) for n in lines]),
        _Column("mean", _points(n.mean.value for n in lines), right=True),
        _Column(_interval_title(view, wide), [_interval(n.mean, wide) for n in lines]),
    ]
    if table.has_quantiles:
        for index, name in enumerate(("p50", "p95", "p99", "p99.9")):
            cells = _points(n.quantiles[index] for n in lines)
            columns.append(_Column(name, cells, right=True, spare=3 if index == 0 else 0))
    if table.has_ratios:
        columns += [
            _Column("ratio", _points(n.ratio.value for n in lines), right=True),
            _Column("", [_interval(n.ratio, wide) for n in lines], spare=2),
        ]
    if any(n.marks for n in lines):
        columns.append(_Column("", [n.marks for n in lines]))
    return columns


def _total(columns: list[_Column]) -> int:
    """Characters that the columns take with one space between them."""
    return sum(c.width for c in columns) + len(columns) - 1


def _draw(title: Text, columns: list[_Column], width: int, bold: int | None = None) -> RichTable:
    made = RichTable(
        title=title, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 0),
        show_edge=False, collapse_padding=True,
    )  # fmt: skip
    # The box puts one space between columns; a second one where there is room sets off columns
    # from each other, but not a number from its interval.
    loose = _total(columns) + len(columns) <= width
    for index, column in enumerate(columns):
        before = " " if loose and column.right and index else ""
        after = " " if loose and not column.right and index + 1 < len(columns) else ""
        made.add_column(
            Text(before + column.title + after), justify="right" if column.right else "left",
            no_wrap=True, overflow="ellipsis",
        )  # fmt: skip
        column.cells = [before + clean(cell) + after for cell in column.cells]
    for number, row in enumerate(zip(*(c.cells for c in columns), strict=True)):
        made.add_row(*(Text(cell) for cell in row), style="bold" if number == bold else "")
    return made


def _classical(view: View, width: int) -> RichTable:
    """All classical schemes in one table: they stand for comparison and have no attempts."""
    rows, wide = classical_rows(view), width >= WIDE
    columns = [
        _Column("scheme", [scheme for scheme, _, _ in rows]),
        _Column("implementation", [line.row.implementation for _, line, _ in rows]),
        _Column("backend", [line.row.backend for _, line, _ in rows]),
    ]
    for operation in SHOWN_OPERATIONS:
        cells = [c.get(operation) for _, _, c in rows]
        if any(cells):
            columns += [
                _Column(operation, _points(c[0].value if c else "" for c in cells), right=True),
                _Column("", [_interval(c[0], wide) if c else "" for c in cells]),
                _Column("", [c[1] if c else "" for c in cells]),
            ]
    title = Text.assemble(("Classical schemes", "bold"), ("   for comparison", "dim"))
    return _draw(title, columns, width)


def _points(texts: Iterable[str]) -> list[str]:
    return aligned(texts, " ", " ")


def _key_form(line: Line) -> str:
    form = line.row.key
    if line.row.mode == "batch":
        form += f" ×{line.row.batch_size}"
    if line.row.threads > 1:
        form += f" {line.row.threads}t"
    return form


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
