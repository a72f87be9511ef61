"""The terminal's tables of batches, threads and classical schemes."""

from __future__ import annotations

from rich.table import Table as RichTable
from rich.text import Text

from mldsa_lab.estimate.summary import Row
from mldsa_lab.show.columns import Column, draw, points, total
from mldsa_lab.show.format import MISSING, Estimate, estimate
from mldsa_lab.show.runs import Batches, Threads, batches, threads, versus
from mldsa_lab.show.view import View


def run_tables(view: View, width: int) -> list[RichTable]:
    """The tables that this record has, in the order of the page."""
    made = [_batches(table, width) for table in batches(view)]
    made += [_threads(table, width) for table in threads(view)]
    if made and view.summary.classical:
        made.append(_versus(view, width))
    return made


def _batches(table: Batches, width: int) -> RichTable:
    title = Text.assemble(
        (f"{table.set}  {table.operation} in batches", "bold"),
        (f"   {table.unit.name} for one, best first", "dim"),
    )
    series = table.series
    columns = [
        Column("implementation", [s.label for s in series]),
        Column("keys", [s.keys.removesuffix(" keys").removesuffix(" key") for s in series]),
        Column("loop", points(table.cost(s.loop).value for s in series), right=True, spare=2),
    ]
    for size in table.sizes:
        cells = points(table.cost(s.rows.get(size)).value for s in series)
        near = size == table.ratio_size
        columns.append(Column(f"{size:,}", cells, right=True, spare=0 if near else 3))
    ratios = [_ratio(table.told(s)) for s in series]
    if any(r.value != MISSING for r in ratios):
        columns += [
            Column(f"ratio at {table.ratio_size:,}", points(r.value for r in ratios), right=True),
            Column("", [r.half_width for r in ratios], spare=1),
        ]
    return draw(title, _fitting(columns, width), width, bold=0)


def _threads(table: Threads, width: int) -> RichTable:
    title = Text.assemble(
        (f"{table.set}  {table.operation} on threads", "bold"),
        (f"   {table.unit.name}, best first", "dim"),
    )
    series = table.series
    columns = [
        Column("implementation", [s.label for s in series]),
        Column("calls", [s.calls for s in series]),
    ]
    for count in table.counts:
        cells = points(table.rate(s.rows.get(count)).value for s in series)
        name = f"{count} thread" if count == 1 else f"{count} threads"
        spare = 0 if count in (1, max(table.counts)) else 2
        columns.append(Column(name, cells, right=True, spare=spare))
    scaled = [s.rows.get(max(table.counts)) for s in series]
    scalings = [
        estimate(r.scaling, r.scaling_low, r.scaling_high) if r else Estimate(MISSING, "", "")
        for r in scaled
    ]
    columns += [
        Column("scaling", points(e.value for e in scalings), right=True),
        Column("", [e.half_width for e in scalings], spare=1),
    ]
    return draw(title, _fitting(columns, width), width, bold=0)


def _versus(view: View, width: int) -> RichTable:
    """Beside each scheme its fastest implementation stands: the largest ratio."""
    beside = versus(view)
    rows = beside.rows
    columns = [
        Column("set", [r.set for r in rows]),
        Column("operation", [r.operation for r in rows]),
        Column("implementation", [r.label for r in rows], spare=1),
        Column("how", [r.how for r in rows]),
        Column("cost", [r.cost for r in rows], right=True),
    ]
    for scheme in dict.fromkeys(beside.schemes):
        places = [i for i, s in enumerate(beside.schemes) if s == scheme]
        texts = []
        for row in rows:
            known = [e.value for i in places if (e := row.ratios[i]) is not None]
            texts.append(max(known, key=lambda t: float(t.replace(",", "")), default=MISSING))
        columns.append(Column(scheme.removeprefix("ECDSA-"), points(texts), right=True))
    title = Text.assemble(
        ("Beside classical schemes", "bold"),
        ("   cost over that of the fastest implementation of each", "dim"),
    )
    return draw(title, _fitting(columns, width), width)


def _ratio(row: Row | None) -> Estimate:
    if row is None:
        return Estimate(MISSING, "", "")
    return estimate(row.ratio, row.ratio_low, row.ratio_high)


def _fitting(columns: list[Column], width: int) -> list[Column]:
    """The columns that there is room for: intervals are given up first."""
    for spare in range(1, 4):
        if total(columns) > width:
            columns = [c for c in columns if c.spare != spare]
    return columns
