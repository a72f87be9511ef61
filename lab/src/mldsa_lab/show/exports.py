"""A report's figures for programs and other documents: rows as JSON and CSV, tables as Markdown."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Sequence
from typing import Any

from mldsa_lab.estimate.summary import KEYS, SummaryRow
from mldsa_lab.records import Record
from mldsa_lab.show import elsewhere, tables
from mldsa_lab.show.elsewhere import Elsewhere
from mldsa_lab.show.findings import find
from mldsa_lab.show.format import clean
from mldsa_lab.show.grid import Grid, markdown
from mldsa_lab.show.view import View

RUN_KEYS = ("started", "tool", "cpu", "architecture", "os", "commit")
"""What each row says of its run beside `KEYS`; null where the record does not say."""


def of_run(record: Record, rows: Sequence[SummaryRow]) -> list[dict[str, Any]]:
    """The rows of one run under `KEYS` and `RUN_KEYS`."""
    machine = record.run.machine
    about = {
        "started": record.run.started,
        "tool": record.run.tool,
        **{key: machine.get(key) for key in ("cpu", "architecture", "os")},
        "commit": getattr(record.run, "commit", None) or machine.get("commit"),
    }
    return [row.as_dict() | about for row in rows]


def all_rows(views: Sequence[View], measured: Sequence[Elsewhere]) -> list[dict[str, Any]]:
    """Every row of every run, then a row for each file of measurements."""
    nothing = dict.fromkeys(RUN_KEYS)
    made = [row for view in views for row in of_run(view.record, view.summary.rows)]
    return made + [entry.row.as_dict() | nothing for entry in measured]


def as_json(rows: Sequence[dict[str, Any]]) -> str:
    """A list of objects; numbers are null where there is none."""
    return json.dumps(rows, indent=1, allow_nan=False) + "\n"


def as_csv(rows: Iterable[dict[str, Any]]) -> str:
    """A line for each row under a header of the keys; empty where there is no value."""
    text = io.StringIO()
    writer = csv.DictWriter(text, [*KEYS, *RUN_KEYS], lineterminator="\n")
    writer.writeheader()
    for row in rows:
        writer.writerow({k: clean(v) if isinstance(v, str) else v for k, v in row.items()})
    return text.getvalue()


def as_markdown(views: Sequence[View], measured: Sequence[Elsewhere]) -> str:
    """All tables of the runs, the implementations of each set first."""
    parts = []
    for view in views:
        run = view.record.run
        findings = find(view)
        parts += [f"## {clean(findings.headline)}\n"]
        cpu = run.machine.get("cpu") or "processor not known"
        parts.append(f"{clean(run.started)}, {clean(run.tool)}, {clean(cpu)}.\n")
        parts += [
            clean(s) + "\n" for s in (*findings.sentences, *findings.cautions, *view.warnings)
        ]
        grids = [g for name in view.sets for g in tables.overviews(view, name)]
        parts += [_titled(g) for g in grids + tables.all_grids(view, overview=False)]
        if view.marks:
            parts.append("; ".join(f"{m}: {text}" for m, text in view.marks.items()) + ".\n")
    if measured:
        confidence = views[0].summary.confidence
        parts += ["## Measured elsewhere\n", elsewhere.NOTE + "\n"]
        grids = [elsewhere.costs(measured, confidence)]
        parts += [_titled(g) for g in grids + elsewhere.shapes(measured, views, confidence)]
    return "\n".join(parts)


def _titled(grid: Grid) -> str:
    return f"### {clean(grid.title)}\n\n{clean(grid.note)}\n\n{markdown(grid)}"
