"""`mldsa-lab report`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from mldsa_lab.cli import shared
from mldsa_lab.records.rows import DEFAULT_REFERENCE

_STANDARD_OUTPUT = "-"


def report(
    files: Annotated[
        list[str] | None,
        typer.Argument(
            help="Records of earlier runs; beside them your own measurements of a selection "
            "(CSV or JSON), as measurements.csv:selection.json or with --selection.",
            metavar="RECORD… [MEASUREMENTS.csv…]",
            show_default=False,
        ),
    ] = None,
    selection: Annotated[
        Path | None,
        typer.Option(help="The selection of measurements that name none.", metavar="PATH"),
    ] = None,
    page: Annotated[
        Path | None, typer.Option(help="The page; by default report.html beside the first record.")
    ] = None,
    json_path: shared.JsonOption = None,
    csv: shared.CsvOption = None,
    markdown: Annotated[
        str | None,
        typer.Option(
            help="Write all tables as Markdown to this file; - for standard output, with nothing "
            "else and no page.",
            metavar="PATH",
        ),
    ] = None,
    no_page: shared.NoPageOption = False,
    all_tables: shared.AllTablesOption = False,
    reference: shared.ReferenceOption = DEFAULT_REFERENCE,
    clock: shared.ClockOption = "cpu",
    confidence: shared.ConfidenceOption = 0.95,
) -> None:
    """Show records again: tables, page, figures and Markdown, from the records alone."""
    from mldsa_lab import LabError
    from mldsa_lab.kinds.reports import read_reports
    from mldsa_lab.show.operations import plot_specs
    from mldsa_lab.show.report import Look, as_markdown

    records, measured = plot_specs.split(files or [])
    quiet = markdown == _STANDARD_OUTPUT
    path = None if quiet or markdown is None else Path(markdown)
    outputs = shared.OutputOptions(no_page or quiet, json_path, csv, path, page)
    if not records:
        hint = "; for measurements alone there is `mldsa-lab estimate`" if measured else ""
        raise LabError(f"report: at least one record is needed{hint}")
    outputs = outputs._replace(page=page or records[0].parent / "report.html").check()
    found = plot_specs.read(measured, selection, confidence)
    reports = read_reports(records, Look(reference, clock, confidence), found)
    screen = shared.console(stderr=quiet)
    outputs.show(reports, screen, tables=not quiet, every=all_tables)
    if quiet:
        print(as_markdown(reports), end="")
