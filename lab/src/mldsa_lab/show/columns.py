"""Columns of text in the terminal."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from rich import box
from rich.cells import cell_len
from rich.table import Table as RichTable
from rich.text import Text

from mldsa_lab.show.format import aligned, clean


@dataclass(slots=True)
class Column:
    """A column before it is drawn; `spare` ones are given up first when the terminal is narrow."""

    title: str
    cells: list[str]
    right: bool = False
    spare: int = 0

    @property
    def width(self) -> int:
        return max(cell_len(text) for text in (self.title, *self.cells))


def total(columns: list[Column]) -> int:
    """Characters that the columns take with one space between them."""
    return sum(c.width for c in columns) + len(columns) - 1


def draw(title: Text, columns: list[Column], width: int, bold: int | None = None) -> RichTable:
    made = RichTable(
        title=title, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 0),
        show_edge=False, collapse_padding=True, min_width=min(width, cell_len(title.plain)),
    )  # fmt: skip
    # The box puts one space between columns; a second one where there is room sets off columns
    # from each other, but not a number from its interval.
    loose = total(columns) + len(columns) <= width
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


def points(texts: Iterable[str]) -> list[str]:
    """Numbers with their decimal points under each other."""
    return aligned(texts, " ", " ")
