"""Tables as data: stated once, drawn in the terminal, on the page and in Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from rich import box
from rich.cells import cell_len
from rich.table import Table as RichTable
from rich.text import Text

from mldsa_lab.show.format import Shown, aligned, clean

WIDE = 132
"""From this many columns on, the terminal has intervals as [low, high]; below, as ±."""
PAGE, TERMINAL = "page", "terminal"


@dataclass(frozen=True, slots=True)
class Dot:
    """The mark of an implementation on the page: its colour's number, or the name of a colour of
    the page's style; hollow for expanded keys."""

    colour: int | str
    hollow: bool = False


@dataclass(frozen=True, slots=True)
class Column:
    """A column of texts or of estimates; on the page intervals stand below their values.

    A terminal that is too narrow gives up columns, those of `spare` 1 first, and intervals alone
    by `spare_interval`; 0 stays. `where`: PAGE or TERMINAL if it stands only there. `below`: a
    second, smaller line of each cell on the page. `head`: it names the rows. `hints`: what the
    page says of a cell under the pointer.
    """

    title: str
    cells: Sequence[str | Shown]
    number: bool = False
    spare: int = 0
    spare_interval: int = 0
    where: str = ""
    below: Sequence[str] = ()
    head: bool = False
    hints: Sequence[str] = ()

    @property
    def values(self) -> list[Shown]:
        """The cells, texts as estimates without interval."""
        return [c if isinstance(c, Shown) else Shown(c) for c in self.cells]

    @property
    def intervals(self) -> bool:
        """Whether any cell has an interval."""
        return any(c.low for c in self.values)

    def texts(self, *spaces: str) -> list[str]:
        """The cells without intervals, decimal points of numbers under each other."""
        texts = [c.value for c in self.values]
        return aligned(texts, *spaces) if self.number else texts


@dataclass(frozen=True, slots=True)
class Grid:
    """A table. `dots` and `marks` belong to the rows' names.

    `bold`: the row that stands out in the terminal; `reference`: the one that ratios are to.
    `tags`: of each row, what the page's filter knows it by; none where all have the same.
    """

    title: str
    note: str
    columns: tuple[Column, ...]
    confidence: float = 0.95
    dots: Sequence[Dot | None] = ()
    marks: Sequence[str] = ()
    legend: Mapping[str, str] = field(default_factory=dict)
    bold: int | None = None
    reference: int | None = None
    tags: Sequence[str] = ()

    @property
    def rows(self) -> int:
        """Number of rows."""
        return len(self.columns[0].cells)

    def at(self, where: str) -> list[Column]:
        """The columns that stand there."""
        return [c for c in self.columns if c.where in ("", where)]

    def on_page(self) -> list[tuple[Column, list[str], list[Shown]]]:
        """The page's columns with their cells' texts and values."""
        return [(c, c.texts(), c.values) for c in self.at(PAGE)]


def text_grid(title: str, note: str, titles: Sequence[str], rows: Iterable[Sequence[str]]) -> Grid:
    """A table of texts, whose first column names the rows."""
    columns = zip(titles, zip(*rows, strict=True), strict=True)
    return Grid(title, note, tuple(Column(t, of, head=t == titles[0]) for t, of in columns))


def heading(title: str) -> str:
    """A column's title with a capital, where it is a word and no symbol."""
    return title[:1].upper() + title[1:] if title[1:2].isalpha() else title


# --- the terminal ---------------------------------------------------------------------------------


@dataclass(slots=True)
class _Texts:
    """A column as the terminal has it."""

    title: str
    cells: list[str]
    right: bool
    spare: int
    folds: bool = False
    of_numbers: bool = False

    @property
    def width(self) -> int:
        return max(cell_len(text) for text in (self.title, *self.cells))

    @property
    def least(self) -> int:
        """Characters that it cannot do without."""
        return min(self.width, _LEAST) if self.folds else self.width


def terminal(grid: Grid, width: int) -> RichTable:
    """The table in as many characters, if it can be."""
    columns = _texts(grid, wide=width >= WIDE)
    if width >= WIDE and _total(columns) > width:
        columns = _texts(grid, wide=False)
    for spare in range(1, 5):
        others = [c for c in columns if c.spare != spare]
        if _total(columns) > width and any(c.of_numbers for c in others):
            columns = others
    tight = _total(columns) > width  # names fold before anything is left out
    left_out = 0
    while sum(c.least for c in columns) + len(columns) - 1 > width:
        numbers = [c for c in columns if c.of_numbers]
        if len(numbers) < 2:
            break
        columns.remove(numbers[-1])
        left_out += numbers[-1].right
    note = grid.note
    if left_out:
        note = "; ".join(filter(None, (note, f"{left_out} columns more on the page")))
    title = Text.assemble((clean(grid.title), "bold"), (f"   {clean(note)}", "dim"))
    made = RichTable(
        title=title, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 0),
        show_edge=False, collapse_padding=True, min_width=min(width, cell_len(title.plain)),
    )  # fmt: skip
    # The box puts one space between columns; a second one where there is room sets off columns
    # from each other, but not a number from its interval.
    loose = _total(columns) + len(columns) <= width
    for index, column in enumerate(columns):
        before = " " if loose and column.right and index else ""
        after = " " if loose and not column.right and index + 1 < len(columns) else ""
        made.add_column(
            Text(before + column.title + after), justify="right" if column.right else "left",
            no_wrap=not (tight and column.folds), overflow="fold" if column.folds else "ellipsis",
            min_width=column.least,
        )  # fmt: skip
        column.cells = [before + clean(cell) + after for cell in column.cells]
    for number, row in enumerate(zip(*(c.cells for c in columns), strict=True)):
        made.add_row(*(Text(cell) for cell in row), style="bold" if number == grid.bold else "")
    return made


_LONG = 24
"""Texts longer than this fold in a terminal that is too narrow,"""
_LEAST = 18
"""and keep so many characters."""


def _texts(grid: Grid, *, wide: bool) -> list[_Texts]:
    made = []
    titled = False
    for column in grid.at(TERMINAL):
        texts = column.texts(" ", " ")
        folds = column.head or (not column.number and max(map(len, texts), default=0) > _LONG)
        made.append(
            _Texts(
                column.title, texts, column.number, column.spare, folds, of_numbers=column.number
            )
        )
        if column.intervals:
            limits = f"{grid.confidence:.0%}"
            title = "" if titled else f"[{limits} interval]" if wide else f"±{limits}"
            cells = [c.interval if wide else c.distance for c in column.values]
            spare = column.spare_interval or column.spare
            made.append(_Texts(title, cells, False, spare, of_numbers=True))
            titled = True
    if any(grid.marks):
        made.append(_Texts("", list(grid.marks), False, 0))
    return made


def _total(columns: Sequence[_Texts]) -> int:
    """Characters that the columns take with one space between them."""
    return sum(c.width for c in columns) + len(columns) - 1


# --- Markdown -------------------------------------------------------------------------------------


def markdown(grid: Grid) -> str:
    """The columns of the page as a Markdown table, intervals behind their values."""
    titles, rows, numbers = [], [], []
    for column in grid.at(PAGE):
        behind = column.below or ([f"{m}" for m in grid.marks] if column.head else [])
        behind = behind or [""] * grid.rows
        titles.append(column.title)
        numbers.append(column.number)
        cells = (clean(c) for c in column.cells)
        rows.append([f"{c} ({b})" if b else c for c, b in zip(cells, behind, strict=True)])
    return pipe_table(titles, zip(*rows, strict=True), numbers)


def pipe_table(
    titles: Sequence[str], rows: Iterable[Sequence[str]], numbers: Sequence[bool] = ()
) -> str:
    """A Markdown table; columns of numbers are set right."""
    rules = ["---:" if number else "---" for number in numbers] or ["---"] * len(titles)
    lines = [_line(titles), f"|{'|'.join(rules)}|", *map(_line, rows)]
    return "\n".join(lines) + "\n"


def _line(cells: Sequence[str]) -> str:
    texts = (" ".join(clean(c).split()).replace("|", "\\|") for c in cells)
    return "| " + " | ".join(texts) + " |"
