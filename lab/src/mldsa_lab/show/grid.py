"""Tables as data: numbers with one unit for each table and justified digits; text renderers.

A table is declared once and rendered for the terminal, the page and Markdown.
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from rich import box
from rich.cells import cell_len
from rich.table import Table as RichTable
from rich.text import Text

from mldsa_lab.estimate.interval import Interval

# Numbers.


MISSING = "–"
"""Shown for a value that is unknown."""
SERIES_COUNT = 40
"""Colours for implementations; more than these repeat."""

# Sides of an interval whose lengths differ by no more than this factor are shown as one.
_EVEN = 1.5
_UNPRINTABLE = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}


@dataclass(frozen=True, slots=True)
class Unit:
    """A unit of display: shown value = stored value / `divisor`."""

    divisor: float
    name: str

    def shown(self, value: float) -> float:
        """`value`, stored in the record's unit, in this unit."""
        return value / self.divisor


_TIMES = (Unit(1e-9, "ns"), Unit(1e-6, "µs"), Unit(1e-3, "ms"), Unit(1.0, "s"))
_LONG_UNITS = (Unit(86400.0, "d"), Unit(3600.0, "h"))
_PREFIXES = ((1.0, ""), (1e3, "k"), (1e6, "M"), (1e9, "G"), (1e12, "T"))
_PREFIXED = ("cycles", "instructions", "B", "B/s", "Hz", "WU", "gas", "CU")
_RATES = (Unit(1.0, "per second"), Unit(1e3, "thousand per second"))


def choose_unit(values: Iterable[float | None], stored: str) -> Unit:
    """The unit in which ``values`` are shown that are stored in the unit ``stored``.

    The smallest value decides, so that no number of the column is below 1 if possible. A column of
    20 µs and 400 ms stays in µs. For seconds the middle value decides, since a column of them may
    have microseconds. Counts and whole units have no prefix.
    """
    known = sorted(abs(v) for v in values if v is not None and math.isfinite(v) and v != 0) or [1.0]
    least = known[0]
    if stored == "ns":
        unit = next((u for u in reversed(_TIMES) if least >= 1e9 * u.divisor), _TIMES[0])
        return Unit(unit.divisor * 1e9, unit.name)
    if stored == "s":
        long = (u for u in _LONG_UNITS if least >= 2 * u.divisor)
        short = (u for u in reversed(_TIMES) if known[len(known) // 2] >= u.divisor)
        return next(long, None) or next(short, _TIMES[0])
    if stored == "1/s":
        return _RATES[least >= 100]
    if stored in _PREFIXED:
        # Counts below ten thousand are read as easily without a prefix.
        fitting = [p for p in _PREFIXES if least >= 10 * p[0] or p[0] == 1.0]
        divisor, prefix = fitting[-1]
        return Unit(divisor, prefix + stored)
    return Unit(1.0, stored)


def count_decimals(value: float, low: float | None, high: float | None) -> int:
    """Decimals of `value` that its interval justifies, 0 to 4.

    Without an interval: three significant digits, however small the value is.
    """
    if low is not None and high is not None and high > low:
        # An interval far below a per mille says more about the fit than about the machine.
        most = 3 - math.floor(math.log10(abs(value))) if value else 3
        return max(0, min(_justify((high - low) / 2), most, 4))
    if value == 0 or not math.isfinite(value):
        return 0
    return max(0, 2 - math.floor(math.log10(abs(value))))


def _justify(half: float) -> int:
    """Return the decimals up to the first significant digit of the interval's half-width.

    One more where that is below 3.55, which one digit would round too coarsely.
    """
    exponent = math.floor(math.log10(half))
    return -exponent + (half / 10.0**exponent < 3.55)


def number(value: float | None, decimals: int) -> str:
    """`value` with `decimals` decimals and thousands separators; a dash where it is unknown."""
    if value is None or not math.isfinite(value):
        return MISSING
    return f"{value:,.{decimals}f}"


def format_plain(value: float | None, unit: Unit) -> str:
    """`value` in `unit` with three significant digits (more before the decimal point)."""
    if value is None or not math.isfinite(value):
        return MISSING
    return _format_three_digits(unit.shown(value))


def _format_three_digits(value: float) -> str:
    if _is_odd(abs(value)):
        return f"{value:.2e}"
    return number(value, count_decimals(value, None, None))


@dataclass(frozen=True, slots=True)
class Shown:
    """An estimate as text: `value`, and `low` and `high` (empty where there is no interval);
    `number` is the value itself, to sort by."""

    value: str
    low: str = ""
    high: str = ""
    number: float | None = None

    @property
    def interval(self) -> str:
        """`[low, high]`, or nothing where there is no interval."""
        return f"[{self.low}, {self.high}]" if self.low else ""

    @property
    def distance(self) -> str:
        """How far the bounds are: `±a`, or `−a/+b` where one side is clearly the longer."""
        if not self.low:
            return ""
        value, low, high = (float(t.replace(",", "")) for t in (self.value, self.low, self.high))
        decimals = len(self.value) - self.value.index(".") - 1 if "." in self.value else 0
        below, above = value - low, high - value
        # Both are rounded to the last digit shown.
        if max(below, above) <= _EVEN * min(below, above) + 1.01 * 10.0**-decimals:
            return f"±{number(max(below, above), decimals)}"
        return f"−{number(below, decimals)}/+{number(above, decimals)}"

    def __str__(self) -> str:
        return f"{self.value} {self.interval}".rstrip()


_SMALL, _LARGE = 1e-2, 1e9
"""Costs in units of others are of any size: beyond these they have up to six digits."""
UNKNOWN = Shown(MISSING)
"""A value that was not measured."""


def estimate(interval: Interval | None, unit: Unit | None = None) -> Shown:
    """An estimate with its interval, all three with the same decimals."""
    if interval is None or not math.isfinite(interval.value):
        return UNKNOWN
    raw, scale = interval.value, unit.divisor if unit else 1.0
    if None not in interval and raw and not _SMALL <= abs(raw / scale) < _LARGE:
        return show_interval(interval.times(1 / scale))
    value, low, high = (math.nan if x is None else x / scale for x in interval)
    if not (math.isfinite(low) and math.isfinite(high)):
        return Shown(_format_three_digits(value), number=raw)
    if low == high == value:
        # The baseline's ratio to itself: exact, nothing to bracket.
        return Shown(number(value, max(2, count_decimals(value, None, None))), number=raw)
    decimals = count_decimals(value, low, high)
    while decimals < 4 and low < high and number(low, decimals) == number(high, decimals):
        decimals += 1  # an interval that is none would say that the figure is exact
    return Shown(number(value, decimals), number(low, decimals), number(high, decimals), raw)


# --- costs in the units of others, which may be of any size ---------------------------------------

_PLAIN_LEAST, _PLAIN_MOST = 1e-5, 1e15
"""Beyond these sizes numbers are written with an exponent."""
_DIGITS = 6
"""The most significant digits that are shown, whatever the interval."""


def show_interval(interval: Interval) -> Shown:
    """A cost with the decimals that the interval justifies, up to six digits."""
    assert interval.low is not None and interval.high is not None
    values = (interval.value, interval.low, interval.high)
    half = (interval.high - interval.low) / 2
    size = max(abs(v) for v in values)
    decimals = _count_decimals(size)
    if half > 0 and not _is_odd(size):
        decimals = min(decimals, max(0, _justify(half)))
    value, low, high = (_to_exponent(v) if _is_odd(size) else number(v, decimals) for v in values)
    return Shown(value, low, high, interval.value)


def format_cost(cost: float, least: float | None = None) -> str:
    """A measured cost to six digits; ``least``: the smallest of the column, which then has as many
    decimals."""
    if _is_odd(abs(cost)):
        return _to_exponent(cost)
    return number(cost, _count_decimals(cost if least is None else least))


def tick(value: float, suffix: str = "") -> str:
    """A round number on an axis."""
    format_plain = abs(value) < 1e4 or _is_odd(abs(value))
    return (f"{value:,.4g}" if format_plain else f"{value:,.0f}") + suffix


def _is_odd(size: float) -> bool:
    return size != 0 and not _PLAIN_LEAST <= size < _PLAIN_MOST


def _to_exponent(value: float) -> str:
    return f"{value:.{_DIGITS - 1}e}" if value else "0"


def _count_decimals(value: float) -> int:
    """Decimals that show six digits of ``value``, none of them beyond the point if it is large."""
    if value == 0:
        return 0
    return max(0, _DIGITS - 1 - math.floor(math.log10(abs(value))))


def align(texts: Iterable[str], digit: str = "\u2007", point: str = "\u2008") -> list[str]:
    """Pad numbers on the right so that decimal points line up in a right-aligned column.

    The padding is as wide as the lacking digits: figure and punctuation spaces, in a terminal plain
    ones.
    """
    listed = list(texts)
    tails = [len(t) - t.index(".") if "." in t else 0 for t in listed]
    widest = max(tails, default=0)
    return [
        t + (digit * (widest - tail) if tail else (point + digit * (widest - 1)) * (widest > 0))
        for t, tail in zip(listed, tails, strict=True)
    ]


def clean(text: object) -> str:
    """`text` without control and direction characters, which a worker's answer could carry."""
    return "".join(
        "\N{REPLACEMENT CHARACTER}" if unicodedata.category(c) in _UNPRINTABLE and c != "\n" else c
        for c in str(text)
    )


# Grids.


WIDE = 132
"""From this many columns on, the terminal has intervals as [low, high]; below, as ±."""
PAGE, TERMINAL = "page", "terminal"


@dataclass(frozen=True, slots=True)
class Dot:
    """The mark of an implementation on the page: its colour's number, or the name of a colour of
    the page's style; hollow for expanded keys."""

    colour: int | str
    is_hollow: bool = False


@dataclass(frozen=True, slots=True)
class Column:
    """A column of texts or of estimates; on the page intervals are below their values.

    A terminal that is too narrow drops columns, those of `spare` 1 first, and only their intervals
    by `spare_interval`; 0 stays. `where`: PAGE or TERMINAL if it is only there. `below`: a second,
    smaller line of each cell on the page. `is_head`: it names the rows. `hints`: texts of the page
    for a cell under the pointer.
    """

    title: str
    cells: Sequence[str | Shown]
    is_numeric: bool = False
    spare: int = 0
    spare_interval: int = 0
    where: str = ""
    below: Sequence[str] = ()
    is_head: bool = False
    hints: Sequence[str] = ()

    @property
    def values(self) -> list[Shown]:
        """The cells, texts as estimates without interval."""
        return [c if isinstance(c, Shown) else Shown(c) for c in self.cells]

    @property
    def has_intervals(self) -> bool:
        """Any cell has an interval."""
        return any(c.low for c in self.values)

    def texts(self, *spaces: str) -> list[str]:
        """The cells without intervals, decimal points of numbers under each other."""
        texts = [c.value for c in self.values]
        return align(texts, *spaces) if self.is_numeric else texts


@dataclass(frozen=True, slots=True)
class Grid:
    """A table. `dots` and `marks` belong to the rows' names.

    `bold`: the row that is bold in the terminal; `baseline`: the row of ratios of 1. `tags`: the
    value of the page's filter for each row; none where all have the same.
    """

    title: str
    note: str
    columns: tuple[Column, ...]
    confidence: float = 0.95
    dots: Sequence[Dot | None] = ()
    marks: Sequence[str] = ()
    legend: Mapping[str, str] = field(default_factory=dict)
    bold: int | None = None
    baseline: int | None = None
    tags: Sequence[str] = ()

    @property
    def rows(self) -> int:
        """Number of rows."""
        return len(self.columns[0].cells)

    def at(self, where: str) -> list[Column]:
        """Return the columns shown there."""
        return [c for c in self.columns if c.where in ("", where)]

    def on_page(self) -> list[tuple[Column, list[str], list[Shown]]]:
        """The page's columns with their cells' texts and values."""
        return [(c, c.texts(), c.values) for c in self.at(PAGE)]


def text_grid(title: str, note: str, titles: Sequence[str], rows: Iterable[Sequence[str]]) -> Grid:
    """A table of texts, whose first column names the rows."""
    columns = zip(titles, zip(*rows, strict=True), strict=True)
    return Grid(title, note, tuple(Column(t, c, is_head=t == titles[0]) for t, c in columns))


def heading(title: str) -> str:
    """A column's title with a capital, where it is a word and no symbol."""
    return title[:1].upper() + title[1:] if title[1:2].isalpha() else title


# --- the terminal ---------------------------------------------------------------------------------


@dataclass(slots=True)
class _Texts:
    """A column as the terminal has it."""

    title: str
    cells: list[str]
    is_right: bool
    spare: int
    can_fold: bool = False
    is_numeric: bool = False

    @property
    def width(self) -> int:
        return max(cell_len(text) for text in (self.title, *self.cells))

    @property
    def least(self) -> int:
        """Characters that it cannot do without."""
        return min(self.width, _LEAST) if self.can_fold else self.width


def terminal(grid: Grid, width: int) -> RichTable:
    """The table in as many characters, if it can be."""
    columns = _make_texts(grid, is_wide=width >= WIDE)
    if width >= WIDE and _measure_width(columns) > width:
        columns = _make_texts(grid, is_wide=False)
    for spare in range(1, 5):
        others = [c for c in columns if c.spare != spare]
        if _measure_width(columns) > width and any(c.is_numeric for c in others):
            columns = others
    tight = _measure_width(columns) > width  # names fold before anything is left out
    left_out = 0
    while sum(c.least for c in columns) + len(columns) - 1 > width:
        numbers = [c for c in columns if c.is_numeric]
        if len(numbers) < 2:
            break
        columns.remove(numbers[-1])
        left_out += numbers[-1].is_right
    note = grid.note
    if left_out:
        note = "; ".join(filter(None, (note, f"{left_out} columns more on the page")))
    title = Text.assemble((clean(grid.title), "bold"), (f"   {clean(note)}", "dim"))
    table = RichTable(
        title=title, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 0),
        show_edge=False, collapse_padding=True, min_width=min(width, cell_len(title.plain)),
    )  # fmt: skip
    # The box puts one space between columns. Where there is room a second one separates columns,
    # but not a number from its interval.
    loose = _measure_width(columns) + len(columns) <= width
    for index, column in enumerate(columns):
        before = " " if loose and column.is_right and index else ""
        after = " " if loose and not column.is_right and index + 1 < len(columns) else ""
        table.add_column(
            Text(before + column.title + after), justify="right" if column.is_right else "left",
            no_wrap=not (tight and column.can_fold), min_width=column.least,
            overflow="fold" if column.can_fold else "ellipsis",
        )  # fmt: skip
        column.cells = [before + clean(cell) + after for cell in column.cells]
    for number, row in enumerate(zip(*(c.cells for c in columns), strict=True)):
        table.add_row(*(Text(cell) for cell in row), style="bold" if number == grid.bold else "")
    return table


_LONG = 24
"""Texts longer than this fold in a terminal that is too narrow,"""
_LEAST = 18
"""and keep so many characters."""


def _make_texts(grid: Grid, *, is_wide: bool) -> list[_Texts]:
    columns = []
    titled = False
    for c in grid.at(TERMINAL):
        texts = c.texts(" ", " ")
        folds = c.is_head or (not c.is_numeric and max(map(len, texts), default=0) > _LONG)
        columns.append(
            _Texts(c.title, texts, c.is_numeric, c.spare, folds, is_numeric=c.is_numeric)
        )
        if c.has_intervals:
            limits = f"{grid.confidence:.0%}"
            title = "" if titled else f"[{limits} interval]" if is_wide else f"±{limits}"
            cells = [v.interval if is_wide else v.distance for v in c.values]
            spare = c.spare_interval or c.spare
            columns.append(_Texts(title, cells, False, spare, is_numeric=True))
            titled = True
    if any(grid.marks):
        columns.append(_Texts("", list(grid.marks), False, 0))
    return columns


def _measure_width(columns: Sequence[_Texts]) -> int:
    """Characters that the columns take with one space between them."""
    return sum(c.width for c in columns) + len(columns) - 1


# --- Markdown -------------------------------------------------------------------------------------


def markdown(grid: Grid) -> str:
    """The columns of the page as a Markdown table, intervals behind their values."""
    titles, rows, numbers = [], [], []
    for column in grid.at(PAGE):
        behind = column.below or ([f"{m}" for m in grid.marks] if column.is_head else [])
        behind = behind or [""] * grid.rows
        titles.append(column.title)
        numbers.append(column.is_numeric)
        cells = (clean(c) for c in column.cells)
        rows.append([f"{c} ({b})" if b else c for c, b in zip(cells, behind, strict=True)])
    return pipe_table(titles, zip(*rows, strict=True), numbers)


def pipe_table(
    titles: Sequence[str], rows: Iterable[Sequence[str]], numbers: Sequence[bool] = ()
) -> str:
    """A Markdown table; columns of numbers are set right."""
    rules = ["---:" if number else "---" for number in numbers] or ["---"] * len(titles)
    lines = [_format_line(titles), f"|{'|'.join(rules)}|", *map(_format_line, rows)]
    return "\n".join(lines) + "\n"


def _format_line(cells: Sequence[str]) -> str:
    texts = (" ".join(clean(c).split()).replace("|", "\\|") for c in cells)
    return "| " + " | ".join(texts) + " |"
