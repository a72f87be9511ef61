"""What ends a bench in the terminal: tables, who is missing and why, and the finding."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from mldsa_lab.show import elsewhere
from mldsa_lab.show.elsewhere import Elsewhere
from mldsa_lab.show.findings import find
from mldsa_lab.show.format import clean
from mldsa_lab.show.grid import Grid, terminal
from mldsa_lab.show.tables import all_grids, brief_grids
from mldsa_lab.show.view import VariantRemark, View

_SHOWN_VARIANTS = 3
"""Variants that a group of remarks names."""


def print_view(view: View, console: Console, *, every: bool = False) -> None:
    """Print one table for each question, or with ``every`` a table for each set and operation; then
    excluded variants with their reasons, and the finding."""
    if not view.tables:
        console.print(Text("Nothing was measured.", style="bold"))
    grids, shown = all_grids(view), brief_grids(view)
    _grids(console, grids if every else shown)
    if not every and len(shown) < len(grids):
        more = len(grids) - len(shown)
        _paragraph(console, "", f"{more} more tables: --all-tables, or the page.", "dim")
    for mark, text in view.marks.items():
        _paragraph(console, f" {mark}  ", text, "dim")
    if view.marks:
        console.print()
    _remarks(console, "Refused by the correctness gate, not timed", view.refused, "bold red")
    _remarks(console, "Left out after a fault", view.faults, "bold red")
    _remarks(console, "Notes on single figures", view.notes, "bold")
    skipped = [VariantRemark(s.worker, "", s.reason) for s in view.record.skipped]
    _remarks(console, "Workers that could not run here", skipped, "bold yellow")
    findings = find(view)
    for warning in (*view.warnings, *findings.cautions):
        _paragraph(console, "note: ", warning, "yellow")
    console.print(Text(clean(findings.headline) + ".", style="bold"))
    for sentence in findings.sentences:
        console.print(Text(clean(sentence)))


def print_elsewhere(
    measured: Sequence[Elsewhere], views: Sequence[View], confidence: float, console: Console
) -> None:
    """Print what others measured, what they can be compared by, and what each fit found wrong."""
    _grids(console, [elsewhere.costs(measured, confidence)])
    _grids(console, elsewhere.shapes(measured, views, confidence))
    _paragraph(console, "note: ", elsewhere.NOTE, "yellow")
    for entry in measured:
        for finding in entry.found.findings:
            _paragraph(console, f"{entry.name}: {finding.code}: ", finding.text, "yellow")


def _grids(console: Console, grids: Iterable[Grid]) -> None:
    for grid in grids:
        console.print(terminal(grid, console.width))
        console.print()


def _remarks(console: Console, title: str, remarks: Sequence[VariantRemark], style: str) -> None:
    """Print remarks, those of one kind in one line: a count, some variants, the first reason."""
    if not remarks:
        return
    console.print(Text(title, style=style))
    kinds: dict[str, list[VariantRemark]] = defaultdict(list)
    for remark in remarks:
        kinds[re.sub(r"[\d.,]+|\b[0-9a-f]{8,}\b", "#", remark.reason)].append(remark)
    for of_kind in kinds.values():
        first = of_kind[0]
        where = f" ({first.where})" if first.where else ""
        if len(of_kind) == 1:
            start = f"  {first.variant}{where}: "
        else:
            variants = list(dict.fromkeys(r.variant for r in of_kind))
            more = len(variants) - _SHOWN_VARIANTS
            named = ", ".join(variants[:_SHOWN_VARIANTS]) + (
                f" and {more} more" if more > 0 else ""
            )
            start = f"  {len(of_kind)} × {named}; {first.variant}{where}: "
        _paragraph(console, start, first.reason, "")
    console.print()


def _paragraph(console: Console, start: str, text: str, style: str) -> None:
    indent = len(start) - len(start.lstrip())
    body = Text(clean(start).lstrip() + clean(text), style=style)
    console.print(Padding(body, (0, 0, 0, indent)))
