"""A report: tables with plots, and their figures, on screen and as files.

Everything that the lab and its companions show goes through `publish`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from mldsa_lab.errors import LabError
from mldsa_lab.estimate.figure import Figure, Figures
from mldsa_lab.files import write_text
from mldsa_lab.records.reference import DEFAULT_REFERENCE
from mldsa_lab.show import figure_tables, figures_file
from mldsa_lab.show.figure_tables import FigureTable, TableLayout
from mldsa_lab.show.format import clean
from mldsa_lab.show.grid import Dot, Grid, markdown, terminal

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

REJECTED_TITLE, EXCLUDED_TITLE = (
    "Rejected by the correctness gate, not timed",
    "Excluded after a fault",
)
"""Titles of remarks on what is missing, which the first screen of a page has."""
SERIES_COUNT = 40
"""Colours for implementations; more than these repeat."""
_NAMED = 3
"""Subjects that a group of remarks names."""


@dataclass(frozen=True, slots=True)
class Look:
    """How to look at records: the reference of ratios, the clock, the confidence of intervals;
    ``colours`` of implementations; ``clouds``: with plots of cost over iterations."""

    reference: str = DEFAULT_REFERENCE
    clock: str = "cpu"
    confidence: float = 0.95
    colours: Mapping[str, int] = field(default_factory=dict)
    clouds: bool = True


@dataclass(frozen=True, slots=True)
class PlotSpec:
    """A plot that the page draws: its title, the function that draws it (inside `svg.drawing()`),
    and the names of its colours.

    ``text``: what the page says before all plots that share it; ``alt``: what the plot shows, in
    words; ``narrow``: draws it for a phone, ``draw`` then for the whole width; ``small``: as one of
    many.
    """

    title: str
    draw: Callable[[], Drawing]
    legend: tuple[tuple[str, Dot], ...] = ()
    text: str = ""
    alt: str = ""
    narrow: Callable[[], Drawing] | None = None
    small: bool = False


@dataclass(frozen=True, slots=True)
class Section:
    """A table of a report. ``table``: its figures, which the page draws as its layout says;
    ``plots``: further plots; ``brief``: whether the terminal shows it without ``--all``.

    ``chapter``: the chapter of the page that it belongs to, if it has none of its own;
    ``is_first``: it stands on the page's first screen, and last in the terminal; ``only_page``: it
    stands nowhere else.
    """

    grid: Grid
    table: FigureTable | None = None
    plots: tuple[PlotSpec, ...] = ()
    brief: bool = True
    chapter: str = ""
    is_first: bool = False
    only_page: bool = False


@dataclass(frozen=True, slots=True)
class Reason:
    """What is to be said of a subject, such as a variant that the gate rejected; ``where`` it
    holds."""

    subject: str
    where: str
    reason: str

    def __str__(self) -> str:
        return f"{self.subject}{f' ({self.where})' if self.where else ''}: {self.reason}"


@dataclass(frozen=True, slots=True)
class Report:
    """Everything that is shown at once.

    ``kind``: words for the page's title; ``about``: what was measured, where and when, in a
    sentence without its full stop; ``sentences``: what supports the headline; ``warnings``: what
    makes its figures doubtful; ``remarks`` by their title; ``method``: how, for the end of the
    page; ``source``: the file that the figures are from.

    ``texts``: the paragraphs of a chapter of the page, by its title; one within backticks is a
    command. ``facts``: what it lists by name. ``fields``: those of a row of CSV, where these are
    documented: see `figure_tables.wide_rows`. ``name``: what tells it from others on the same page.
    ``lacking``: why it has no figures. ``has_brief_notes``: the terminal shows its notes without
    ``--all``. ``folded``: keys that are in the names of their columns of CSV: see
    `figure_tables.as_rows`.
    """

    kind: str
    headline: str
    figures: Sequence[Figure]
    sections: Sequence[Section]
    about: str = ""
    method: str = ""
    notes: Sequence[str] = field(default=())
    source: str = ""
    sentences: Sequence[str] = ()
    warnings: Sequence[str] = ()
    remarks: Mapping[str, Sequence[Reason]] = field(default_factory=dict)
    texts: Mapping[str, Sequence[str]] = field(default_factory=dict)
    facts: Mapping[str, Sequence[tuple[str, str]]] = field(default_factory=dict)
    fields: Mapping[str, str] = field(default_factory=dict)
    name: str = ""
    lacking: str = ""
    has_brief_notes: bool = True
    folded: Sequence[str] = ()

    @property
    def serious(self) -> dict[str, Sequence[Reason]]:
        """The remarks on what is missing."""
        return {t: self.remarks[t] for t in (REJECTED_TITLE, EXCLUDED_TITLE) if t in self.remarks}


def sections_of(
    figures: Sequence[Figure],
    layouts: Sequence[TableLayout],
    confidence: float,
    note: str = "",
    *,
    brief: bool = True,
    chapter: str = "",
) -> list[Section]:
    """Return a section for each table of the layouts."""
    return [
        Section(figure_tables.grid(table, confidence, note), table, brief=brief, chapter=chapter)
        for layout in layouts
        for table in figure_tables.tables(figures, layout)
    ]


def publish(
    reports: Report | Sequence[Report],
    console: Console,
    files: Sequence[Path],
    stdout: str = "",
    *,
    every: bool = False,
) -> None:
    """Print reports and write files; ``every``: with the tables that are not brief.

    ``files``: each written whole or not at all, as its ending says. ``stdout``: an ending, to print
    in place of tables. LabError, once all is written, if a report lacks figures.
    """
    listed = [reports] if isinstance(reports, Report) else reports
    for report in () if stdout else listed:
        if len(listed) > 1 and report.name:
            console.rule(clean(report.name))
        _print(report, console, every)
    writers = {".json": as_json, ".csv": as_csv, ".md": as_markdown, ".html": _page}
    for path in files:
        with console.status(f"writing {path.name}"):
            write_text(path, writers[path.suffix](listed))
    if stdout:
        print(writers[f".{stdout}"](listed), end="")
    for report in listed:
        if report.lacking:
            raise LabError(f"{report.source}: {report.lacking}")


def _page(reports: Sequence[Report]) -> str:
    # Imported only here: its libraries may be missing, and take long to load.
    from mldsa_lab.show.figure_page import render

    return render(reports)


def _print(report: Report, console: Console, every: bool) -> None:
    """Print tables, those of the first screen last; then remarks, warnings and the headline."""
    listed = [s for s in report.sections if not s.only_page]
    shown = [s for s in listed if every or s.brief]
    for section in sorted(shown, key=lambda s: s.is_first):
        console.print(terminal(section.grid, console.width))
        console.print()
    for note in report.notes if every or report.has_brief_notes else ():
        console.print(Text(clean(note)), soft_wrap=True)
    if more := len(listed) - len(shown):
        text = f"{more} more table{'s' * (more > 1)}: --all, or the page."
        console.print(Text(text, style="dim"))
    for title, remarks in report.remarks.items():
        console.print(Text(title, style="bold"))
        for line in _grouped(remarks):
            console.print(Padding(Text(clean(line)), (0, 0, 0, 2)))
    for warning in report.warnings:
        console.print(Text(clean(f"note: {warning}"), style="yellow"))
    console.print(Text(clean(report.headline) + ".", style="bold"))
    for sentence in report.sentences:
        console.print(Text(clean(sentence)))


def _grouped(remarks: Iterable[Reason]) -> list[str]:
    """Remarks, those of one kind in one line: a count, some subjects, the first of them."""
    kinds: dict[str, list[Reason]] = {}
    for remark in remarks:
        kind = re.sub(r"[\d.,]+|\b[0-9a-f]{8,}\b", "#", remark.reason)
        kinds.setdefault(kind, []).append(remark)
    lines = []
    for same in kinds.values():
        subjects = list(dict.fromkeys(remark.subject for remark in same))
        more = len(subjects) - _NAMED
        named = ", ".join(subjects[:_NAMED]) + (f" and {more} more" if more > 0 else "")
        lines.append(f"{len(same)} × {named}; {same[0]}" if len(same) > 1 else str(same[0]))
    return lines


def as_json(reports: Sequence[Report]) -> str:
    """Return the figures as the text of a file of JSON."""
    return figures_file.as_text(
        figures_file.figure_list(r.figures, r.headline, name=r.name, lacking=r.lacking)
        for r in reports
    )


def as_csv(reports: Sequence[Report]) -> str:
    """Return the figures as lines of CSV, under a header of all names; rows whose fields are
    documented stand first."""
    listed = sorted(reports, key=lambda r: not r.fields)
    return figure_tables.as_csv([row for r in listed for row in rows_of(r)])


def rows_of(report: Report) -> list[figure_tables.FigureRow]:
    """Return the figures as rows."""
    if isinstance(report.figures, Figures) and report.fields:
        return figure_tables.wide_rows(report.figures, report.fields)
    return figure_tables.as_rows(report.figures, report.folded)


def as_markdown(reports: Sequence[Report]) -> str:
    """Return headline, tables and notes as Markdown."""
    parts = []
    for r in reports:
        about = [f"{r.about}."] if r.about else []
        parts += [f"## {clean(r.headline)}\n"]
        parts += [f"{clean(text)}\n" for text in (*about, *r.sentences, *r.warnings)]
        parts += [
            f"### {clean(g.title)}\n\n{f'{clean(g.note)}.' if g.note else ''}\n\n{markdown(g)}"
            for g in (s.grid for s in r.sections if not s.only_page)
        ]
        remarks = (f"{title}: {r}" for title, of in r.remarks.items() for r in of)
        if listed := "".join(f"- {clean(text)}\n" for text in (*r.notes, *remarks)):
            parts.append(listed)
    return "\n".join(parts)
