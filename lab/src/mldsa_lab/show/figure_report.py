"""A record that is shown as figures: terminal, Markdown, JSON, CSV and page."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console
from rich.text import Text

from mldsa_lab.errors import LabError
from mldsa_lab.files import write_text
from mldsa_lab.records import read_record
from mldsa_lab.show import figure_tables
from mldsa_lab.show.format import clean
from mldsa_lab.show.grid import terminal
from mldsa_lab.show.kinds import kind_of
from mldsa_lab.show.present import ReportFiles


def show_figures(
    path: Path, confidence: float, console: Console, outputs: ReportFiles, *, tables: bool = True
) -> tuple[str, str]:
    """Print the tables of a record of figures and write the files asked for.

    Returns its Markdown and its JSON. LabError if the record has no figures.
    """
    record = read_record(path)
    kind = kind_of(record)
    if kind is None:
        raise LabError(f"{path}: holds operations: `mldsa-lab report` shows them")
    try:
        figures = kind.figures(record, confidence)
    except LabError as error:
        raise LabError(f"{path}: {error}") from None
    arranged = [
        (table, figure_tables.grid(table, confidence, kind.about(record)))
        for layout in kind.layouts(record)
        for table in figure_tables.tables(figures, layout)
    ]
    notes = [*kind.notes(record), *figure_tables.remarks(figures)]
    notes += [f"Excluded: {f.variant} {f.set or ''}: {f.reason}." for f in record.faults]
    grids = [grid for _, grid in arranged]
    text = figure_tables.as_markdown(grids, notes)
    rows = figure_tables.as_json(figures)
    if tables:
        for grid in grids:
            console.print(terminal(grid, console.width))
            console.print()
        for note in notes:
            console.print(Text(clean(note)), soft_wrap=True)
        console.print(Text(clean(kind.headline(record, figures)) + ".", style="bold"))
    if outputs.json is not None:
        write_text(outputs.json, rows)
    if outputs.csv is not None:
        write_text(outputs.csv, figure_tables.as_csv(figures))
    if outputs.markdown is not None:
        write_text(outputs.markdown, text)
    if outputs.page is not None:
        # Imported only here: its libraries may be missing, and take long to load.
        from mldsa_lab.show.figure_page import render

        page = render(kind, record, figures, arranged, notes, path.name)
        write_text(outputs.page, page)
    return text, rows
