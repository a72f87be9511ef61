"""From figures to tables, rows of JSON and Markdown: the pivot that all kinds of record share."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from mldsa_lab.estimate.figure import Figure, Key
from mldsa_lab.show.format import UNKNOWN, Shown, Unit, choose_unit, clean, estimate, number, plain
from mldsa_lab.show.grid import Column, Grid, markdown

KIB = Unit(1024.0, "KiB")
ALL, FIRST, LAST = "all", "first", "last"
FLAGS = "flags"
_HEADS = ("implementation", "variant")
_OPTIONAL = ("build", "language", "key", "batch", "call", "mode", "threads")
"""Keys whose column appears only if their values differ."""


@dataclass(frozen=True, slots=True)
class SpreadColumns:
    """Columns of a table: one figure, for each value of the key ``across`` (`ALL`), or for the
    first or last of them; or its flags in words, without what follows a colon (`FLAGS`). ``title``
    may name ``{value}``. ``spare``, ``spare_interval``: as of `Column`."""

    name: str
    title: str
    across: str = ""
    which: str = ALL
    spare: int = 0
    spare_interval: int = 1


@dataclass(frozen=True, slots=True)
class Bars:
    """A plot with a bar for each row, made of these figures, which have one unit."""

    title: str
    names: tuple[str, ...]
    titles: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TableLayout:
    """How a kind of record is shown: a table for each combination of the keys ``split``, whose
    rows are told apart by the keys ``rows``.

    ``lines``: a figure to draw over the key that it is spread across, of the rows that agree in the
    keys ``series`` the one that ends lowest; ``bars``: plots of bars for each value of the key
    ``of_bars``.
    """

    title: str
    split: tuple[str, ...]
    rows: tuple[str, ...]
    columns: tuple[SpreadColumns, ...]
    lines: SpreadColumns | None = None
    series: tuple[str, ...] = ()
    bars: tuple[Bars, ...] = ()
    of_bars: str = ""


@dataclass(frozen=True, slots=True)
class FigureTable:
    """One table: its figures by row and by name and spread value."""

    title: str
    layout: TableLayout
    keys: dict[str, Key]
    rows: dict[tuple[Key, ...], list[Figure]]

    def values(self, key: str) -> list[Key]:
        """Return the values of a key in ascending order."""
        found = {f.keys.get(key) for of in self.rows.values() for f in of}
        return sorted((v for v in found if v is not None), key=lambda v: (isinstance(v, str), v))

    def chosen(self, spread: SpreadColumns) -> list[Key]:
        """Return the values of the spread's key that have a column."""
        if not spread.across:
            return [None]
        values = self.values(spread.across)
        return {ALL: values, FIRST: values[:1], LAST: values[-1:]}[spread.which]

    def at(self, spread: SpreadColumns, value: Key) -> list[Figure | None]:
        """Return the figure of each row."""
        return [
            next(
                (
                    f
                    for f in of
                    if f.name == spread.name
                    and (not spread.across or f.keys.get(spread.across) == value)
                ),
                None,
            )
            for of in self.rows.values()
        ]


def tables(figures: Sequence[Figure], layout: TableLayout) -> list[FigureTable]:
    """Arrange figures: one table for each combination of the split keys, in order of appearance."""
    found: dict[tuple[Key, ...], dict[tuple[Key, ...], list[Figure]]] = {}
    parts = layout.columns + ((layout.lines,) if layout.lines else ())
    names = {part.name for part in parts}.union(*(bars.names for bars in layout.bars))
    for f in figures:
        if f.name in names and all(k in f.keys for k in layout.split):
            split = tuple(f.keys[k] for k in layout.split)
            row = tuple(f.keys.get(k) for k in layout.rows)
            found.setdefault(split, {}).setdefault(row, []).append(f)
    return [
        FigureTable(
            layout.title.format(**dict(zip(layout.split, split, strict=True))),
            layout, dict(zip(layout.split, split, strict=True)), rows,
        )
        for split, rows in found.items()
    ]  # fmt: skip


def grid(table: FigureTable, confidence: float, note: str = "") -> Grid:
    """Return the table for every renderer."""
    columns = []
    keys = list(table.rows)
    for place, name in enumerate(table.layout.rows):
        values = [row[place] for row in keys]
        if name in _OPTIONAL and len({v for v in values if v is not None}) < 2:
            continue
        texts = ["" if v is None else _words(name, v) for v in values]
        columns.append(Column(name, texts, head=name in _HEADS, spare=_SPARE.get(name, 0)))
    units: dict[str, Unit] = {}
    for spread in table.layout.columns:
        if spread.which == FLAGS:
            columns.append(Column(spread.title, [flag_words(f) for f in table.at(spread, None)]))
            continue
        of_name = [
            f
            for v in table.chosen(spread)
            for f in table.at(spread, v)
            if f and f.value is not None
        ]
        if not of_name:
            continue
        unit = units.setdefault(spread.name, display_unit(of_name))
        for value in table.chosen(spread):
            cells = [_cell(f, unit) for f in table.at(spread, value)]
            title = spread.title.format(value=f"{value:,}" if isinstance(value, int) else value)
            title = re.sub(r"\b1 threads\b", "1 thread", title)
            if unit.name:
                title += f", {unit.name}"
            columns.append(
                Column(
                    title, cells, number=True, spare=spread.spare,
                    spare_interval=spread.spare_interval,
                )
            )  # fmt: skip
    return Grid(table.title, note, tuple(columns), confidence, stacked=True)


_SPARE = {"language": 2}


def _words(name: str, value: Key) -> str:
    if name in ("batch", "batch_size"):
        return f"{value:,}" if value not in (0, 1) else "single"
    return str(value)


def display_unit(figures: Sequence[Figure]) -> Unit:
    """Return the unit that these figures are shown in."""
    unit = figures[0].unit
    if unit == "bytes":
        return KIB
    if unit in ("ns", "cycles", "instructions"):
        return choose_unit([f.value for f in figures], unit)
    return Unit(1.0, unit)


def flag_words(figure: Figure | None) -> str:
    """Return the flags of a figure without their details."""
    return "; ".join(flag.partition(":")[0] for flag in figure.flags) if figure else ""


def _cell(figure: Figure | None, unit: Unit) -> Shown:
    if figure is None or figure.value is None:
        return UNKNOWN
    if figure.low is None:
        exact = figure.unit == "" and isinstance(figure.value, int)
        text = number(figure.value, 0) if exact else plain(figure.value, unit)
        return Shown(text, number=unit.shown(figure.value))
    return estimate(figure.interval, unit)


def remarks(figures: Iterable[Figure]) -> list[str]:
    """Return the reasons of lacking figures, each once with its variants."""
    found: dict[str, dict[str, None]] = {}
    for f in figures:
        for flag in f.flags if f.value is None else ():
            found.setdefault(flag, {})[f"{f.keys['implementation']}:{f.keys['backend']}"] = None
    return [f"{', '.join(variants)}: {reason}" for reason, variants in found.items()]


def as_rows(figures: Sequence[Figure]) -> list[dict[str, Key | float]]:
    """Return a row for each set of keys: the keys, and each figure by its name with ``_low`` and
    ``_high`` where it has limits, ``_flags`` where it has some, and ``_lacking`` where the reason
    of its absence is known."""
    rows: dict[tuple[tuple[str, Key], ...], dict[str, Key | float]] = {}
    for f in figures:
        row = rows.setdefault(tuple(f.keys.items()), dict(f.keys))
        row[f.name] = f.value
        if f.low is not None or f.high is not None:
            row |= {f"{f.name}_low": f.low, f"{f.name}_high": f.high}
        if f.flags:
            what = "lacking" if f.value is None else "flags"
            row[f"{f.name}_{what}"] = "; ".join(f.flags)
    return list(rows.values())


def as_json(figures: Sequence[Figure]) -> str:
    """Return `as_rows` as JSON."""
    return json.dumps(as_rows(figures), indent=1, allow_nan=False) + "\n"


def as_csv(figures: Sequence[Figure]) -> str:
    """Return `as_rows` as CSV, under a header of all names."""
    rows = as_rows(figures)
    text = io.StringIO()
    names = list(dict.fromkeys(name for row in rows for name in row))
    writer = csv.DictWriter(text, names, lineterminator="\n")
    writer.writeheader()
    for row in rows:
        writer.writerow({k: clean(v) if isinstance(v, str) else v for k, v in row.items()})
    return text.getvalue()


def as_markdown(grids: Sequence[Grid], notes: Sequence[str]) -> str:
    """Return tables and notes as Markdown."""
    parts = [f"### {g.title}\n\n{f'{g.note}.' if g.note else ''}\n\n{markdown(g)}" for g in grids]
    return "\n".join([*parts, "".join(f"- {text}\n" for text in notes)])
