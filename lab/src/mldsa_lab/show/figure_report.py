"""From a record of figures to its report."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console

from mldsa_lab.errors import LabError
from mldsa_lab.records import Record, read_record
from mldsa_lab.show import figure_tables, report
from mldsa_lab.show.kinds import kind_of
from mldsa_lab.show.present import ReportFiles
from mldsa_lab.show.report import Report


def report_of(record: Record, source: str, confidence: float) -> Report:
    """Return the report of a record. LabError if it has no figures."""
    kind = kind_of(record)
    if kind is None:
        raise LabError("holds operations: `mldsa-lab report` shows them")
    figures = kind.figures(record, confidence)
    about = kind.about(record)
    notes = [*kind.notes(record), *figure_tables.remarks(figures)]
    notes += [f"Excluded: {f.variant} {f.set or ''}: {f.reason}." for f in record.faults]
    where = ", ".join(part for part in (record.machine, record.date) if part)
    return Report(
        kind=kind.name,
        headline=kind.headline(record, figures),
        figures=figures,
        sections=report.sections_of(figures, kind.layouts(record), confidence, about),
        about=f"{about}. {where}" if about else where,
        method=kind.method,
        notes=notes,
        source=source,
    )


def show_figures(
    path: Path, confidence: float, console: Console, outputs: ReportFiles, *, tables: bool = True
) -> tuple[str, str]:
    """Print the tables of a record of figures and write the files asked for.

    Returns its Markdown and its JSON. LabError if the record has no figures.
    """
    try:
        found = report_of(read_record(path), path.name, confidence)
    except LabError as error:
        raise LabError(f"{path}: {error}") from None
    report.publish(found, console, outputs, tables=tables)
    return report.as_markdown(found), report.as_json(found)
