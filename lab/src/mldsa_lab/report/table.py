"""The tables that end a bench in the terminal."""

from __future__ import annotations

from collections.abc import Iterable

from rich import box
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


def print_table(summary: Summary, record: Record, console: Console) -> None:
    """Print a table per set and operation, then who is missing and why, and the finding."""
    view = build(record, summary)
    if not view.tables:
        console.print(Text("Nothing was measured.", style="bold"))
    wide = console.width >= WIDE
    for set_name in view.sets:
        for table in view.of(set_name):
            console.print(_rich_table(table, view, wide=wide))
            console.print()
    if view.classical_sets:
        console.print(_classical(view, wide=wide))
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


def _rich_table(table: Table, view: View, *, wide: bool) -> RichTable:
    title = Text.assemble(
        (f"{table.set}  {table.operation}", "bold"), (f"   {table.unit.name}, best first", "dim")
    )
    made = _empty_table(title)
    columns: list[tuple[str, str, list[str]]] = [
        ("", "right", [str(n.rank) for n in table.lines]),
        ("implementation", "left", [n.row.implementation for n in table.lines]),
        ("backend", "left", [n.row.backend for n in table.lines]),
        ("key", "left", [_key_form(n) for n in table.lines]),
        ("mean", "right", _points(n.mean.value for n in table.lines)),
        (_interval_title(view, wide), "left", [_interval(n.mean, wide) for n in table.lines]),
    ]
    if table.has_quantiles:
        for index, name in enumerate(("p50", "p95", "p99", "p99.9")):
            columns.append((name, "right", _points(n.quantiles[index] for n in table.lines)))
    if table.has_ratios:
        columns += [
            ("ratio", "right", _points(n.ratio.value for n in table.lines)),
            ("", "left", [_interval(n.ratio, wide) for n in table.lines]),
        ]
    if any(n.marks for n in table.lines):
        columns.append(("", "left", [n.marks for n in table.lines]))
    _fill(made, columns, wide=wide, bold=(0,))
    return made


def _empty_table(title: Text) -> RichTable:
    return RichTable(
        title=title, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 0),
        show_edge=False, collapse_padding=True,
    )  # fmt: skip


def _fill(
    made: RichTable, columns: list[tuple[str, str, list[str]]], *, wide: bool, bold: tuple[int, ...]
) -> None:
    """Add (title, justification, cells) columns; a number stands close to its interval."""
    for index, (name, justify, cells) in enumerate(columns):
        followed = index + 1 < len(columns)
        gap = 0 if not followed else 2 if wide and justify == "left" else 1
        made.add_column(
            Text(name + " " * gap), justify="left" if justify == "left" else "right",
            no_wrap=True, overflow="ellipsis",
        )  # fmt: skip
        columns[index] = (name, justify, [clean(cell) + " " * gap for cell in cells])
    for number, row in enumerate(zip(*(c[2] for c in columns), strict=True)):
        made.add_row(*(Text(cell) for cell in row), style="bold" if number in bold else "")


def _classical(view: View, *, wide: bool) -> RichTable:
    """All classical schemes in one table: they stand for comparison and have no attempts."""
    rows = classical_rows(view)
    made = _empty_table(Text.assemble(("Classical schemes", "bold"), ("   for comparison", "dim")))
    operations = [o for o in SHOWN_OPERATIONS if any(o in cells for _, _, cells in rows)]
    columns: list[tuple[str, str, list[str]]] = [
        ("scheme", "left", [scheme for scheme, _, _ in rows]),
        ("implementation", "left", [line.row.implementation for _, line, _ in rows]),
        ("backend", "left", [line.row.backend for _, line, _ in rows]),
    ]
    for operation in operations:
        cells = [c.get(operation) for _, _, c in rows]
        columns += [
            (operation, "right", _points(c[0].value if c else "" for c in cells)),
            ("", "left", [_interval(c[0], wide) if c else "" for c in cells]),
            ("", "left", [c[1] if c else "" for c in cells]),
        ]
    _fill(made, columns, wide=wide, bold=())
    return made


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
