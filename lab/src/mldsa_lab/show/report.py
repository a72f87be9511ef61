"""A report: tables with plots, and their figures, on screen and as files.

Everything that the lab and its companions show goes through `publish`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

from mldsa_lab.estimate.figure import Figure
from mldsa_lab.files import write_text
from mldsa_lab.show import figure_tables
from mldsa_lab.show.figure_tables import FigureTable, TableLayout
from mldsa_lab.show.format import clean
from mldsa_lab.show.grid import Dot, Grid, terminal
from mldsa_lab.show.present import ReportFiles

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing


@dataclass(frozen=True, slots=True)
class PlotSpec:
    """A plot that the page draws: its title, the function that draws it (inside `svg.drawing()`),
    and the names of its colours."""

    title: str
    draw: Callable[[], Drawing]
    legend: tuple[tuple[str, Dot], ...] = ()


@dataclass(frozen=True, slots=True)
class Section:
    """A table of a report. ``table``: its figures, which the page draws as its layout says;
    ``plots``: further plots; ``brief``: whether the terminal shows it without ``--all-tables``."""

    grid: Grid
    table: FigureTable | None = None
    plots: tuple[PlotSpec, ...] = ()
    brief: bool = True


@dataclass(frozen=True, slots=True)
class Report:
    """Everything that is shown at once.

    ``kind``: a word for the page's title; ``about``: what was measured, where and when, in a
    sentence without its full stop; ``method``: how, for the end of the page; ``source``: the file
    that the figures are from.
    """

    kind: str
    headline: str
    figures: Sequence[Figure]
    sections: Sequence[Section]
    about: str = ""
    method: str = ""
    notes: Sequence[str] = field(default=())
    source: str = ""


def sections_of(
    figures: Sequence[Figure],
    layouts: Sequence[TableLayout],
    confidence: float,
    note: str = "",
    *,
    brief: bool = True,
) -> list[Section]:
    """Return a section for each table of the layouts."""
    return [
        Section(figure_tables.grid(table, confidence, note), table, brief=brief)
        for layout in layouts
        for table in figure_tables.tables(figures, layout)
    ]


def publish(
    report: Report,
    console: Console,
    outputs: ReportFiles,
    *,
    tables: bool = True,
    every: bool = False,
) -> None:
    """Print a report and write the files asked for; ``every``: with the tables that are not
    brief."""
    if tables:
        shown = [s for s in report.sections if every or s.brief]
        for section in shown:
            console.print(terminal(section.grid, console.width))
            console.print()
        for note in report.notes:
            console.print(Text(clean(note)), soft_wrap=True)
        if more := len(report.sections) - len(shown):
            text = f"{more} more table{'s' * (more > 1)}: --all-tables, or the page."
            console.print(Text(text, style="dim"))
        console.print(Text(clean(report.headline) + ".", style="bold"))
    if outputs.json is not None:
        write_text(outputs.json, as_json(report))
    if outputs.csv is not None:
        write_text(outputs.csv, figure_tables.as_csv(report.figures))
    if outputs.markdown is not None:
        write_text(outputs.markdown, as_markdown(report))
    if outputs.page is not None:
        # Imported only here: its libraries may be missing, and take long to load.
        from mldsa_lab.show.figure_page import render

        write_text(outputs.page, render(report))


def as_json(report: Report) -> str:
    """Return the figures as rows of JSON."""
    return figure_tables.as_json(report.figures)


def as_markdown(report: Report) -> str:
    """Return tables and notes as Markdown."""
    return figure_tables.as_markdown([s.grid for s in report.sections], report.notes)
