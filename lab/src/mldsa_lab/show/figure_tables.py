"""From figures to tables, rows of JSON and CSV: the pivot that all kinds of record share."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from mldsa_lab import LabError, join_words
from mldsa_lab.estimate.figure import PLACES, VERDICTS, Figure, Figures, Key, Keys, parse_identity
from mldsa_lab.show.grid import (
    PAGE,
    TERMINAL,
    UNKNOWN,
    Column,
    Dot,
    Grid,
    Shown,
    Unit,
    choose_unit,
    clean,
    estimate,
    format_plain,
    number,
)

KIB = Unit(1024.0, "KiB")
ALL, FIRST, LAST = "all", "first", "last"
VERDICT, NOTES = "verdict", "notes"
TABLE, ROW, CELL = "table", "row", "cell"
PERCENT = Unit(0.01, "%")
FigureRow = dict[str, Key | float]
CELL_KEYS = ("set", "operation", "variant")
"""The keys of a cell, by which `wide_rows` has a row."""
_HEADS = ("implementation", "variant", "scheme", "label")
_OPTIONAL = ("build", "language", "key", "batch", "call", "calls", "mode", "threads")
"""Keys whose column appears only if their values differ."""
_TITLES = {"label": "implementation"}
_ABSENT = {"stage": "whole"}
"""Words for a key that a row does not have."""
_IN_PERCENT = (
    "share", "efficiency", "hits", "distance", "spread", "bias", "rmse", "sd",
    "standard_error",
)  # fmt: skip
"""Names whose figures are shown in percent where they have no unit."""


@dataclass(frozen=True, slots=True)
class SpreadColumns:
    """Columns of a table for one figure: one for each value of the key ``across`` (``which``:
    `ALL`), or for one value of it. ``title`` may name ``{value}``.

    ``keys``: further keys that the figure has; ``either``: others with one of these values.
    It has no other keys, except those of the rows and of the table. ``show``: its notes up to a
    colon (`NOTES`), or its verdict and its notes (`VERDICT`), in place of its value. ``below``: the
    figure below it, as a factor. ``has_limits``: with its interval; ``is_exact``: whole numbers
    without one have no decimals.

    ``over``: keys; each combination of their values has columns of its own. ``optional``: keys
    that figures may have. ``title`` then names keys, in the `words` of the table.

    ``unit``: the unit of display, where it is always the same. Else ``unit_scope``: these columns
    share one, or each `CELL` has its own, or all columns with `TABLE` share that of the first.
    ``unit_of`` returns the unit of a row by its keys, for a table with units as a column.
    ``spare``, ``spare_interval``, ``where``: as of `Column`.
    """

    name: str
    title: str
    across: str = ""
    which: Key = ALL
    spare: int = 0
    spare_interval: int = 1
    show: str = ""
    below: str = ""
    unit_scope: str = ""
    unit: Unit | None = None
    unit_of: Callable[[Keys], Unit] | None = None
    where: str = ""
    keys: Mapping[str, Key] = field(default_factory=dict)
    either: Mapping[str, tuple[Key, ...]] = field(default_factory=dict)
    has_limits: bool = True
    is_exact: bool = False
    over: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RowMark:
    """A letter behind the name of a row, and its meaning. ``holds`` takes a figure with its keys
    and attributes; the row has the letter if it is true for one of its figures."""

    letter: str
    text: str
    holds: Callable[[Figure, Keys], bool]


@dataclass(frozen=True, slots=True)
class Bars:
    """A plot with a bar for each row, made of these figures, in one ``unit``."""

    title: str
    names: tuple[str, ...]
    titles: tuple[str, ...]
    unit: Unit


@dataclass(frozen=True, slots=True)
class Ranking:
    """A plot with a dot and an interval for each row; relative to ``baseline`` if there is one."""

    title: str
    name: str
    baseline: str = ""


@dataclass(frozen=True, slots=True)
class Lines:
    """A plot of a figure over the key ``across``, of the rows that agree in the keys ``series`` the
    best one. ``level``: the value of the key that represents all, drawn for the best rows without
    others, and for the implementation ``baseline``.

    ``keys``: as of `SpreadColumns`. ``dashed``: the key and its value that dashed lines have;
    ``is_rate``: the highest is the best; ``is_ratio``: from zero, with the line of proportion.
    """

    name: str
    across: str
    series: tuple[str, ...]
    title: str = ""
    x_title: str = ""
    dashed: tuple[str, str] = ("key", "expanded")
    level: str = ""
    baseline: str = ""
    is_rate: bool = False
    is_ratio: bool = False
    keys: Mapping[str, Key] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class TableLayout:
    """How a kind of record is shown: a table for each combination of the keys ``split``, whose
    rows are told apart by the keys ``rows``.

    ``leading``: columns before those of the keys. ``below``: keys that the page writes below the
    row's name, and a terminal in columns. ``page_keys``: keys that only the page has. ``colours``
    of implementations give rows dots. ``tag``: the key of the page's filter. ``free``: further keys
    that figures may have. ``words``: the texts of keys in titles.

    ``bars``: plots of bars for each value of the key ``bar_key``. In these and in rankings the
    key ``label`` names a row, if there is one.
    """

    title: str
    split: tuple[str, ...]
    rows: tuple[str, ...]
    columns: tuple[SpreadColumns, ...]
    lines: tuple[Lines, ...] = ()
    bars: tuple[Bars, ...] = ()
    bar_key: str = ""
    rankings: tuple[Ranking, ...] = ()
    leading: tuple[SpreadColumns, ...] = ()
    below: tuple[str, ...] = ()
    page_keys: tuple[str, ...] = ()
    colours: Mapping[str, int] = field(default_factory=dict)
    marks: tuple[RowMark, ...] = ()
    tag: str = ""
    free: tuple[str, ...] = ()
    words: Callable[[Keys], Mapping[str, object]] = dict

    @property
    def shown(self) -> list[SpreadColumns]:
        """The figures of columns and plots."""
        columns = [*self.leading, *self.columns]
        columns += [replace(c, name=c.below, keys={}) for c in columns if c.below]
        columns += [SpreadColumns(x.name, "", x.across, keys=x.keys) for x in self.lines]
        names = [*(r.name for r in self.rankings), *(n for b in self.bars for n in b.names)]
        return columns + [SpreadColumns(name, "", self.bar_key) for name in names]


@dataclass(frozen=True, slots=True)
class FigureTable:
    """One table: the figures of each row, ``known`` the keys and attributes of its first, and
    ``marks`` its letters."""

    title: str
    layout: TableLayout
    source: Figures
    rows: dict[tuple[Key, ...], list[Figure]]
    known: list[Keys]
    marks: list[str]

    def values(self, key: str) -> list[Key]:
        """Return the values of a key in ascending order."""
        values = {self.source.attribute(f, key) for row in self.rows.values() for f in row}
        return sorted((v for v in values if v is not None), key=lambda v: (isinstance(v, str), v))

    def chosen(self, spread: SpreadColumns) -> list[Key]:
        """Return the values of the spread's key that have a column."""
        if not spread.across:
            return [None]
        values = self.values(spread.across)
        picked = {ALL: values, FIRST: values[:1], LAST: values[-1:]}
        return picked.get(str(spread.which), [spread.which])

    def at(self, name: str, across: str = "", value: Key = None) -> list[Figure | None]:
        """Return the figure of each row that has no further keys than those of the row; that of
        this value of the key ``across``."""
        return self.figures_in(SpreadColumns(name, "", across), value)

    def figures_in(self, spread: SpreadColumns, value: Key = None) -> list[Figure | None]:
        """Return the figure of each row that a column shows. LabError for several of a row."""
        takes = partial(_fits, self.source, self.layout, spread)
        shown: list[Figure | None] = []
        for row in self.rows.values():
            taken = [f for f in row if takes(f) and self._is_at(f, spread.across, value)]
            if len({frozenset(f.keys.items()) for f in taken}) > 1:
                differ = [k for k in taken[0].keys if len({f.keys.get(k) for f in taken}) > 1]
                raise LabError(
                    f"table {self.title!r}: {spread.name} is {len(taken)} figures of a row that "
                    f"differ in {', '.join(differ)}"
                )
            shown.append(taken[0] if taken else None)
        return shown

    def _is_at(self, figure: Figure, across: str, value: Key) -> bool:
        return not across or self.source.attribute(figure, across) == value

    def dots(self) -> list[Dot]:
        """Return the dot of each row; none where implementations have no colours."""
        colours = self.layout.colours
        return [
            Dot(colours.get(str(known["implementation"]), 0), known.get("key") == "expanded")
            for known in self.known if colours
        ]  # fmt: skip

    def labels(self) -> list[str]:
        """Return the name of each row in a plot."""
        sizes = [known.get("batch_size", 1) for known in self.known]
        return [
            f"{known['label']} ×{size}" if size != 1 else str(known["label"])
            for known, size in zip(self.known, sizes, strict=True)
        ]


def _fits(source: Figures, layout: TableLayout, spread: SpreadColumns, figure: Figure) -> bool:
    """Return whether a figure has the name and exactly the keys of a column."""
    if figure.name != spread.name or not _has_keys(figure, spread):
        return False
    named = {*spread.keys, *spread.either, *layout.rows, *layout.split, *layout.free}
    return figure.keys.keys() <= named.union(PLACES, source.about, [spread.across])


def _has_keys(figure: Figure, spread: SpreadColumns) -> bool:
    """Return whether a figure has the keys of a column."""
    has_one = all(figure.keys.get(key) in values for key, values in spread.either.items())
    return has_one and spread.keys.items() <= figure.keys.items()


def tables(figures: Sequence[Figure], layout: TableLayout) -> list[FigureTable]:
    """Arrange figures: one table for each combination of the split keys, in order of appearance."""
    source = figures if isinstance(figures, Figures) else Figures(figures)
    columns = [column for spread in layout.columns for column in _expand(spread, layout, figures)]
    layout = replace(layout, columns=tuple(columns))
    by_split: dict[tuple[Key, ...], dict[tuple[Key, ...], list[Figure]]] = {}
    letters: dict[tuple[tuple[Key, ...], tuple[Key, ...]], set[str]] = {}
    shown = layout.shown
    for f in figures:
        known = source.known(f)
        if all(k in known for k in layout.split):
            split = tuple(known[k] for k in layout.split)
            row = tuple(known.get(k) for k in layout.rows)
            marks = {m.letter for m in layout.marks if m.holds(f, known)}
            letters.setdefault((split, row), set()).update(marks)
            if any(_fits(source, layout, spread, f) for spread in shown):
                by_split.setdefault(split, {}).setdefault(row, []).append(f)
    order = [m.letter for m in layout.marks]
    return [
        FigureTable(
            layout.title.format(**dict(zip(layout.split, split, strict=True))), layout, source,
            rows, [source.known(row[0]) for row in rows.values()],
            ["".join(m for m in order if m in letters[split, row]) for row in rows],
        )
        for split, rows in by_split.items()
    ]  # fmt: skip


def _expand(
    spread: SpreadColumns, layout: TableLayout, figures: Sequence[Figure]
) -> Iterator[SpreadColumns]:
    """Yield the columns of each combination of the keys `over` and `optional`. They share a unit,
    where they are stored in one."""
    if not (spread.over or spread.optional):
        yield spread
        return
    needed, free = {*spread.keys, *spread.over}, {*layout.rows, *layout.split, *PLACES}
    stored: dict[str, list[Figure]] = {}
    by_keys: dict[frozenset[tuple[str, Key]], Figure] = {}
    for f in figures:
        keys = {key: value for key, value in f.keys.items() if key not in free}
        if (
            f.name == spread.name
            and _has_keys(f, spread)
            and needed <= keys.keys() <= needed.union(spread.optional)
        ):
            stored.setdefault(f.unit, []).append(f)
            by_keys.setdefault(frozenset(keys.items()), f)
    for identity, f in by_keys.items():
        keys = {key: f.keys[key] for key, _ in identity}
        title = spread.title.format(**layout.words(keys)).replace("{", "{{").replace("}", "}}")
        unit = spread.unit or display_unit(stored[f.unit])
        yield replace(spread, title=title, keys=keys, unit=unit, over=(), optional=())


def grid(table: FigureTable, confidence: float, note: str = "") -> Grid:
    """Return the table for every renderer."""
    layout, rows, first = table.layout, table.rows.values(), table.known
    shared_unit = _choose_table_unit(table)
    columns = [c for spread in layout.leading for c in _spread(table, spread, shared_unit)]
    texts = {
        name: [
            join_words(dict.fromkeys(_describe_key(name, table.source.known(f)) for f in row))
            for row in rows
        ]
        for name in layout.below
    }
    telling = [name for name in (*layout.rows, *layout.below) if _has_column(name, first)]
    head = next((name for name in layout.rows if name in _HEADS), next(iter(layout.rows), ""))
    for name in telling:
        values = texts.get(name) or [_describe_key(name, keys) for keys in first]
        if name in layout.below and name in layout.page_keys:
            continue
        where = TERMINAL if name in layout.below else PAGE if name in layout.page_keys else ""
        small: list[str] = []
        if name == head and layout.below:
            parts = zip(*(texts[n] for n in telling if n in texts), strict=True)
            small = [", ".join(filter(None, row)) for row in parts]
        columns.append(
            Column(
                _TITLES.get(name, name), values,
                spare=3 if where == TERMINAL else 2 * (name == "language"), where=where,
                below=small, is_head=name == head,
            )
        )  # fmt: skip
    for spread in layout.columns:
        columns += _spread(table, spread, shared_unit)
    note = ", ".join(filter(None, (shared_unit.name if shared_unit else "", note)))
    tags = [str(keys[layout.tag]) for keys in first] if layout.tag else []
    ratios = [any(f.name == "ratio" and f.low == f.high == 1 for f in row) for row in rows]
    return Grid(
        table.title, note, tuple(columns), confidence, table.dots(),
        table.marks if any(table.marks) else (), {m.letter: m.text for m in layout.marks},
        0 if layout.colours else None, ratios.index(True) if any(ratios) else None,
        tags if len(set(tags)) > 1 else (),
    )  # fmt: skip


def _has_column(name: str, rows: Sequence[Keys]) -> bool:
    """Return whether a key has a column."""
    return name not in _OPTIONAL or len({_describe_key(name, keys) for keys in rows} - {""}) > 1


def _choose_table_unit(table: FigureTable) -> Unit | None:
    """The unit of the columns that share the table's; the first known of them decides, with those
    of the same figure."""
    shared = [c for c in table.layout.columns if c.unit_scope == TABLE and _find_known(table, c)]
    alike = [c for c in shared if (c.name, c.keys) == (shared[0].name, shared[0].keys)]
    return display_unit([f for c in alike for f in _find_known(table, c)]) if alike else None


def _find_known(table: FigureTable, spread: SpreadColumns) -> list[Figure]:
    """The figures of a column's declaration whose values are known."""
    every = (f for value in table.chosen(spread) for f in table.figures_in(spread, value))
    return [f for f in every if f is not None and f.value is not None]


def _spread(table: FigureTable, spread: SpreadColumns, shared: Unit | None) -> Iterator[Column]:
    """Yield the columns of a figure. ``shared``: the unit that those of the table share."""
    across, values = spread.across, table.chosen(spread)
    column = partial(Column, spare=spread.spare, where=spread.where)
    known = _find_known(table, spread)
    # What is stored in several units is shown in one for each cell.
    scope = CELL if len({f.unit for f in known}) > 1 else spread.unit_scope
    scope = ROW if spread.unit_of else scope
    row_units = [spread.unit_of(keys) for keys in table.known] if spread.unit_of else []
    rows = [table.figures_in(spread, value) for value in values]
    if not known and not (spread.show and any(f for row in rows for f in row)):
        return
    for value, figures in zip(values, rows, strict=True):
        title = spread.title.format(value=f"{value:,}" if isinstance(value, int) else value)
        title = title.replace("1 threads", "1 thread") if value == 1 else title
        if spread.show:
            yield column(title, [describe(f, spread.show) for f in figures])
            continue
        unit = spread.unit or (shared if scope == TABLE else None) or display_unit(known)
        each = row_units or [
            display_unit([f]) if scope == CELL and f is not None else unit for f in figures
        ]
        below = [
            f"× {f.value:.3f}" if f is not None and f.value else ""
            for f in (table.at(spread.below, across, value) if spread.below else ())
        ]
        if unit.name and scope not in (TABLE, ROW, CELL):
            title += f", {unit.name}"
        cells = [_show_cell(f, u, spread) for f, u in zip(figures, each, strict=True)]
        limits = spread.spare_interval
        yield column(title, cells, is_numeric=True, spare_interval=limits, below=below)
        if scope == CELL:
            names = (u.name if f is not None else "" for f, u in zip(figures, each, strict=True))
            yield column("", list(names))


def _describe_key(name: str, keys: Keys) -> str:
    value = keys.get(name)
    if name in ("batch", "batch_size") and "variant" in keys:
        return f"{value:,}" if value not in (None, 1) else "single"
    if value is None:
        return _ABSENT.get(name, "")
    if name == "language" and keys.get("called_from"):
        return f"{value} via {keys['called_from']}"
    return str(value)


def display_unit(figures: Sequence[Figure]) -> Unit:
    """Return the unit that these figures, which are stored in one, are shown in."""
    if not figures[0].unit and figures[0].name in _IN_PERCENT:
        return PERCENT
    return choose_unit([f.value for f in figures], figures[0].unit)


def describe(figure: Figure | None, show: str) -> str:
    """Return the notes of a figure without their details, after its verdict if that is shown."""
    if figure is None:
        return ""
    verdict = [VERDICTS[figure.verdict]] if show == VERDICT and figure.verdict else []
    return "; ".join([*verdict, *(note.partition(":")[0] for note in figure.notes)])


def _show_cell(figure: Figure | None, unit: Unit, spread: SpreadColumns) -> Shown:
    if figure is None or figure.value is None:
        return UNKNOWN
    if figure.low is None or not spread.has_limits:
        value = unit.shown(figure.value)
        is_plain = figure.unit == "" or (spread.unit_of is not None and unit.divisor == 1)
        is_count = is_plain and isinstance(figure.value, int)
        is_exact = is_count or (spread.is_exact and value == round(value))
        text = number(value, 0) if is_exact else format_plain(figure.value, unit)
        return Shown(text, number=figure.value)
    return estimate(figure.interval, unit)


def remarks(figures: Figures) -> list[str]:
    """Return the reasons of lacking figures, each once with its variants."""
    variants: dict[str, dict[str, None]] = {}
    for f in figures:
        known = figures.known(f)
        names = [known.get(key) for key in ("implementation", "backend")]
        about = ":".join(map(str, names if names[0] else f.keys.values()))
        for note in f.notes if f.value is None else ():
            variants.setdefault(note, {})[about] = None
    return [f"{', '.join(subjects)}: {reason}" for reason, subjects in variants.items()]


_TABLES_ONLY = ("label", "calls", "keys", "size", "unit")
"""Attributes that only tables use. A figure in a row of CSV need not have the variant's unit."""


def as_rows(figures: Sequence[Figure], folded: Sequence[str] = ()) -> list[FigureRow]:
    """Return a row for each combination of keys that are not ``folded``, with their attributes.

    A figure has a field by its name and folded keys, as `time of=block`. Where the figure has
    them, there are also fields that end in ``_low``, ``_high``, ``_verdict`` and ``_notes``.
    ``_lacking``: the reason of its absence.
    """
    source = figures if isinstance(figures, Figures) else Figures(figures)
    source = Figures(source.items, {k: v for k, v in source.about.items() if k not in folded})
    rows: dict[frozenset[tuple[str, Key]], FigureRow] = {}
    for f in figures:
        own = {key: value for key, value in f.keys.items() if key not in folded}
        known = {k: v for k, v in source.known(f).items() if k not in (*_TABLES_ONLY, *folded)}
        row = rows.setdefault(frozenset(own.items()), known)
        name = " ".join([f.name, *(f"{k}={f.keys[k]}" for k in folded if k in f.keys)])
        row[name] = f.value
        if f.low is not None or f.high is not None:
            row |= {f"{name}_low": f.low, f"{name}_high": f.high}
        if f.verdict:
            row[f"{name}_verdict"] = f.verdict
        if f.notes:
            row[f"{name}_{'lacking' if f.value is None else 'notes'}"] = "; ".join(f.notes)
    return list(rows.values())


def wide_rows(figures: Figures, fields: Mapping[str, str]) -> list[FigureRow]:
    """Return a row for each cell (set, operation, variant). ``fields``: the figure's name and
    further keys of each field, or "" for an attribute; `NAME_low` and `NAME_high` are the limits of
    NAME."""
    places = {}
    for field_name, text in fields.items():
        if text:
            name, keys = parse_identity(text)
            places[name, frozenset(keys.items())] = field_name
    cells: dict[tuple[Key, ...], FigureRow] = {}
    for f in figures:
        further = {k: v for k, v in f.keys.items() if k not in (*CELL_KEYS, "clock")}
        place = places.get((f.name, frozenset(further.items())))
        if place is not None and f.keys.keys() >= {*CELL_KEYS}:
            cell = tuple(f.keys[k] for k in CELL_KEYS)
            row = cells.setdefault(cell, dict(figures.known(f)))
            row |= {place: f.value, f"{place}_low": f.low, f"{place}_high": f.high}
            row |= {k: v for k, v in f.keys.items() if k == "clock"}
    return [{name: row.get(name) for name in fields} for row in cells.values()]


def as_csv(rows: Sequence[FigureRow]) -> str:
    """Return rows as CSV, under a header of all names."""
    text = io.StringIO()
    names = list(dict.fromkeys(name for row in rows for name in row))
    writer = csv.DictWriter(text, names, lineterminator="\n")
    writer.writeheader()
    for row in rows:
        writer.writerow({k: clean(v) if isinstance(v, str) else v for k, v in row.items()})
    return text.getvalue()
