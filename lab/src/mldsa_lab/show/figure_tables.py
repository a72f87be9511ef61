"""From figures to tables, rows of JSON and CSV: the pivot that all kinds of record share."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from mldsa_lab.estimate.contract import PLACES, VERDICTS
from mldsa_lab.estimate.figure import Figure, Key
from mldsa_lab.show.format import (
    UNKNOWN,
    Shown,
    Unit,
    choose_unit,
    clean,
    estimate,
    number,
    plain,
)
from mldsa_lab.show.grid import PAGE, TERMINAL, Column, Dot, Grid
from mldsa_lab.wording import join_words

KIB = Unit(1024.0, "KiB")
ALL, FIRST, LAST = "all", "first", "last"
VERDICT, NOTES = "verdict", "notes"
COLUMN, CELL, NOTE = "column", "cell", "note"
FigureRow = dict[str, Key | float]
_HEADS = ("implementation", "variant", "scheme", "label")
_OPTIONAL = ("build", "language", "key", "batch", "call", "calls", "mode", "threads")
"""Keys whose column appears only if their values differ."""
_TITLES = {"label": "implementation"}
_ABSENT = {"stage": "whole"}
"""Words for a key that a row does not have."""
_IN_PERCENT = ("share", "difference", "spread", "bias", "rmse", "sd", "standard_error")
"""Names whose figures are shown in percent where they have no unit."""


@dataclass(frozen=True, slots=True)
class SpreadColumns:
    """Columns of a table: one figure, for each value of the key ``across`` (`ALL`), for the
    first or last of them, or for the value ``which``. ``title`` may name ``{value}``.

    ``show``: instead of its value its notes, without what follows a colon (`NOTES`), or its verdict
    and its notes (`VERDICT`).
    ``below``: the figure whose value stands below, as a factor.
    ``own_unit``: each column or each cell has a unit of its own; else all columns of a name have
    one, which their titles name, or the table's note (`NOTE`). ``keys``: further keys that the
    figure must have; no others besides those of rows are allowed. ``spare``, ``spare_interval``,
    ``where``: as of `Column`.
    """

    name: str
    title: str
    across: str = ""
    which: Key = ALL
    spare: int = 0
    spare_interval: int = 1
    show: str = ""
    below: str = ""
    own_unit: str = ""
    where: str = ""
    keys: Mapping[str, Key] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Bars:
    """A plot with a bar for each row, made of these figures, which have one unit."""

    title: str
    names: tuple[str, ...]
    titles: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Ranking:
    """A plot with a dot and an interval for each row; relative to ``reference`` if there is one."""

    title: str
    name: str
    reference: str = ""


@dataclass(frozen=True, slots=True)
class Lines:
    """A plot of a figure over the key ``across``, of the rows that agree in the keys ``series`` the
    best one. ``level``: the value of the key that stands for all, drawn for the best rows without
    others, and for the implementation ``reference``.

    ``dashed``: the key and its value that dashed lines have; ``is_rate``: the highest is
    the best; ``is_ratio``: from zero, beside the line of proportion.
    """

    name: str
    across: str
    series: tuple[str, ...]
    title: str = ""
    x_title: str = ""
    dashed: tuple[str, str] = ("key", "expanded")
    level: str = ""
    reference: str = ""
    is_rate: bool = False
    is_ratio: bool = False


@dataclass(frozen=True, slots=True)
class TableLayout:
    """How a kind of record is shown: a table for each combination of the keys ``split``, whose
    rows are told apart by the keys ``rows``.

    ``leading``: columns before those of the keys; ``below``: keys that the page writes below the
    row's name, and a terminal in columns; ``page_keys``: keys that only the page has. ``colours``
    of implementations give rows dots; ``legend``: notes of one letter that mark rows, and what
    they say; ``tag``: the key of the page's filter.

    ``bars``: plots of bars for each value of the key ``of_bars``; in these and in rankings the key
    ``label`` names a row, if there is one.
    """

    title: str
    split: tuple[str, ...]
    rows: tuple[str, ...]
    columns: tuple[SpreadColumns, ...]
    lines: tuple[Lines, ...] = ()
    bars: tuple[Bars, ...] = ()
    of_bars: str = ""
    rankings: tuple[Ranking, ...] = ()
    leading: tuple[SpreadColumns, ...] = ()
    below: tuple[str, ...] = ()
    page_keys: tuple[str, ...] = ()
    colours: Mapping[str, int] = field(default_factory=dict)
    legend: Mapping[str, str] = field(default_factory=dict)
    tag: str = ""

    def shows(self, figure: Figure) -> bool:
        """Return whether a column or a plot may show a figure."""
        exact = any(self.is_of(figure, c) for c in (*self.leading, *self.columns) if c.keys)
        return exact or figure.name in self._names()

    def is_of(self, figure: Figure, spread: SpreadColumns) -> bool:
        """Return whether a figure has the name and exactly the keys of a column."""
        told = {*spread.keys, *self.rows, *self.split, *PLACES, spread.across}
        is_named = figure.name == spread.name and spread.keys.items() <= figure.keys.items()
        return is_named and figure.keys.keys() <= told

    def _names(self) -> set[str]:
        """The names of all figures of plots, and of columns that their names tell apart."""
        columns = [c for c in (*self.leading, *self.columns) if not c.keys]
        found = {name for c in columns for name in (c.name, c.below)}
        found |= {lines.name for lines in self.lines}
        return found.union(*(b.names for b in self.bars), (r.name for r in self.rankings))


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
        picked = {ALL: values, FIRST: values[:1], LAST: values[-1:]}
        return picked.get(str(spread.which), [spread.which])

    def at(self, name: str, across: str = "", value: Key = None) -> list[Figure | None]:
        """Return the figure of each row; that of this value of the key ``across``."""
        return [
            next(
                (f for f in of if f.name == name and (not across or f.keys.get(across) == value)),
                None,
            )
            for of in self.rows.values()
        ]

    def of_spread(self, spread: SpreadColumns, value: Key = None) -> list[Figure | None]:
        """Return the figure of each row that a column shows."""
        if not spread.keys:
            return self.at(spread.name, spread.across, value)
        key = spread.across
        return [
            next((f for f in of if self.layout.is_of(f, spread) and f.keys.get(key) == value), None)
            for of in self.rows.values()
        ]

    def dots(self) -> list[Dot]:
        """Return the dot of each row; none where implementations have no colours."""
        colours, first = self.layout.colours, (of[0].keys for of in self.rows.values())
        return [
            Dot(colours.get(str(keys["implementation"]), 0), keys.get("key") == "expanded")
            for keys in first if colours
        ]  # fmt: skip

    def labels(self) -> list[str]:
        """Return what names each row in a plot."""
        made = []
        for of in self.rows.values():
            keys = of[0].keys
            words = [keys["implementation"], keys["backend"]]
            words += [keys[k] for k in ("build", "key") if keys[k] not in (None, *_USUAL)]
            words += [f"×{keys['batch_size']}"] if keys.get("batch_size", 1) != 1 else []
            made.append(str(keys.get("label", " ".join(map(str, words)))))
        return made


_USUAL = ("default", "compact")


def tables(figures: Sequence[Figure], layout: TableLayout) -> list[FigureTable]:
    """Arrange figures: one table for each combination of the split keys, in order of appearance."""
    found: dict[tuple[Key, ...], dict[tuple[Key, ...], list[Figure]]] = {}
    for f in figures:
        if layout.shows(f) and all(k in f.keys for k in layout.split):
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
    layout, rows = table.layout, table.rows.values()
    first = [of[0].keys for of in rows]
    units: dict[object, Unit] = {}
    columns = [c for spread in layout.leading for c in _spread(table, spread, units)]
    texts = {
        name: [join_words(dict.fromkeys(_words(name, f.keys) for f in of)) for of in rows]
        for name in layout.below
    }
    telling = [name for name in (*layout.rows, *layout.below) if _tells(name, first)]
    head = next((name for name in layout.rows if name in _HEADS), next(iter(layout.rows), ""))
    for name in telling:
        values = texts.get(name) or [_words(name, keys) for keys in first]
        if name in layout.below and name in layout.page_keys:
            continue
        where = TERMINAL if name in layout.below else PAGE if name in layout.page_keys else ""
        small: list[str] = []
        if name == head and layout.below:
            of_rows = zip(*(texts[n] for n in telling if n in texts), strict=True)
            small = [", ".join(filter(None, of)) for of in of_rows]
        columns.append(
            Column(
                _TITLES.get(name, name), values,
                spare=3 if where == TERMINAL else 2 * (name == "language"), where=where,
                below=small, head=name == head,
            )
        )  # fmt: skip
    for spread in layout.columns:
        columns += _spread(table, spread, units)
    noted = {units[c.name].name for c in layout.columns if c.own_unit == NOTE and c.name in units}
    note = ", ".join(filter(None, (*sorted(noted), note)))
    tags = [str(keys[layout.tag]) for keys in first] if layout.tag else []
    notes = [{note for f in of for note in f.notes} for of in rows]
    marks = ["".join(mark for mark in layout.legend if mark in of) for of in notes]
    ratios = [f is not None and f.low == f.high == 1 for f in table.at("ratio")]
    return Grid(
        table.title, note, tuple(columns), confidence, table.dots(), marks if any(marks) else (),
        layout.legend, 0 if layout.colours else None, ratios.index(True) if any(ratios) else None,
        tags if len(set(tags)) > 1 else (),
    )  # fmt: skip


def _tells(name: str, rows: Sequence[Mapping[str, Key]]) -> bool:
    """Whether a key has a column."""
    return name not in _OPTIONAL or len({_words(name, keys) for keys in rows} - {""}) > 1


def _spread(
    table: FigureTable, spread: SpreadColumns, units: dict[object, Unit]
) -> Iterator[Column]:
    """The columns of a figure; ``units``: those of the table so far."""
    across, values = spread.across, table.chosen(spread)
    column = partial(Column, spare=spread.spare, where=spread.where)
    every = [f for v in values for f in table.of_spread(spread, v) if f is not None]
    known = [f for f in every if f.value is not None]
    if not known and not (spread.show and every):
        return
    for value in values:
        found = table.of_spread(spread, value)
        title = spread.title.format(value=f"{value:,}" if isinstance(value, int) else value)
        title = re.sub(r"\b1 threads\b", "1 thread", title)
        if spread.show:
            yield column(title, [words_of(f, spread.show) for f in found])
            continue
        same: object = spread.title
        alike = every
        if not spread.keys:
            same = (spread.name, value) if spread.own_unit == COLUMN else spread.name
            alike = [f for of in table.rows.values() for f in of if f.name == spread.name]
        is_shared = spread.own_unit in ("", NOTE)
        alike = [f for f in alike if f.value is not None] if is_shared else known
        unit = units.setdefault(same, display_unit(alike))
        each = [
            display_unit([f]) if spread.own_unit == CELL and f is not None else unit for f in found
        ]
        below = [
            f"× {f.value:.3f}" if f is not None and f.value else ""
            for f in (table.at(spread.below, across, value) if spread.below else ())
        ]
        if unit.name and spread.own_unit not in (CELL, NOTE):
            title += f", {unit.name}"
        cells = [_cell(f, u) for f, u in zip(found, each, strict=True)]
        limits = spread.spare_interval
        yield column(title, cells, number=True, spare_interval=limits, below=below)
        if spread.own_unit == CELL:
            names = (u.name if f is not None else "" for f, u in zip(found, each, strict=True))
            yield column("", list(names))


def _words(name: str, keys: Mapping[str, Key]) -> str:
    value = keys.get(name)
    if value is None:
        return _ABSENT.get(name, "")
    if name == "language" and keys.get("called_from"):
        return f"{value} via {keys['called_from']}"
    if name in ("batch", "batch_size"):
        return f"{value:,}" if value not in (0, 1) else "single"
    return str(value)


def display_unit(figures: Sequence[Figure]) -> Unit:
    """Return the unit that these figures are shown in."""
    unit = figures[0].unit
    if not unit and figures[0].name in _IN_PERCENT:
        return Unit(0.01, "%")
    if unit == "bytes":
        return KIB
    if unit in ("ns", "cycles", "instructions", "B", "B/s", "Hz"):
        return choose_unit([f.value for f in figures], unit)
    least = min(abs(f.value or 1.0) for f in figures)
    if unit == "per second" and least >= 100:
        return Unit(1e3, "thousand per second")
    if unit == "s" and least >= 7200:
        return Unit(3600.0, "h")
    return Unit(1.0, unit)


def words_of(figure: Figure | None, show: str) -> str:
    """Return the notes of a figure without their details, after its verdict if that is shown."""
    if figure is None:
        return ""
    verdict = [VERDICTS[figure.verdict]] if show == VERDICT and figure.verdict else []
    return "; ".join([*verdict, *(note.partition(":")[0] for note in figure.notes)])


def _cell(figure: Figure | None, unit: Unit) -> Shown:
    if figure is None or figure.value is None:
        return UNKNOWN
    if figure.low is None:
        exact = figure.unit == "" and isinstance(figure.value, int)
        text = number(figure.value, 0) if exact else plain(figure.value, unit)
        return Shown(text, number=figure.value)
    return estimate(figure.interval, unit)


def remarks(figures: Iterable[Figure]) -> list[str]:
    """Return the reasons of lacking figures, each once with its variants."""
    found: dict[str, dict[str, None]] = {}
    for f in figures:
        for note in f.notes if f.value is None else ():
            found.setdefault(note, {})[f"{f.keys['implementation']}:{f.keys['backend']}"] = None
    return [f"{', '.join(variants)}: {reason}" for reason, variants in found.items()]


def as_rows(figures: Iterable[Figure], names: Sequence[str] = ()) -> list[FigureRow]:
    """Return a row for each set of keys: the keys, and each figure by its name with ``_low`` and
    ``_high`` where it has limits, ``_verdict`` and ``_notes`` where it has some, and ``_lacking``
    where the reason of its absence is known. ``names``: the fields that every row has, and no
    others."""
    rows: dict[tuple[tuple[str, Key], ...], FigureRow] = {}
    for f in figures:
        row = rows.setdefault(tuple(f.keys.items()), dict(f.keys))
        row[f.name] = f.value
        if f.low is not None or f.high is not None:
            row |= {f"{f.name}_low": f.low, f"{f.name}_high": f.high}
        if f.verdict:
            row[f"{f.name}_verdict"] = f.verdict
        if f.notes:
            what = "lacking" if f.value is None else "notes"
            row[f"{f.name}_{what}"] = "; ".join(f.notes)
    if names:
        return [{name: row.get(name) for name in names} for row in rows.values()]
    return list(rows.values())


def as_json(rows: Iterable[FigureRow]) -> str:
    """Return rows as JSON."""
    return json.dumps(list(rows), indent=1, allow_nan=False) + "\n"


def as_csv(rows: Sequence[FigureRow]) -> str:
    """Return rows as CSV, under a header of all names."""
    text = io.StringIO()
    names = list(dict.fromkeys(name for row in rows for name in row))
    writer = csv.DictWriter(text, names, lineterminator="\n")
    writer.writeheader()
    for row in rows:
        writer.writerow({k: clean(v) if isinstance(v, str) else v for k, v in row.items()})
    return text.getvalue()
