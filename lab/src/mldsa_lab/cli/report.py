"""`mldsa-lab report`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from mldsa_lab.cli.shared import (
    AllTablesOption,
    ClockOption,
    ConfidenceOption,
    JsonOption,
    ReferenceOption,
)
from mldsa_lab.records.reference import DEFAULT_REFERENCE

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
    json_path: JsonOption = None,
    csv: Annotated[
        Path | None, typer.Option(help="Write the table's rows to this CSV file.", metavar="PATH")
    ] = None,
    markdown: Annotated[
        str | None,
        typer.Option(
            help="Write all tables as Markdown to this file; - for standard output, with nothing "
            "else and no page.",
            metavar="PATH",
        ),
    ] = None,
    no_page: Annotated[bool, typer.Option("--no-page", help="Write no page.")] = False,
    all_tables: AllTablesOption = False,
    reference: ReferenceOption = DEFAULT_REFERENCE,
    clock: ClockOption = "cpu",
    confidence: ConfidenceOption = 0.95,
) -> None:
    """Show records again: tables, page, rows and Markdown, from the records alone."""
    import sys

    from rich.console import Console

    from mldsa_lab.cli.shared import console as make_console
    from mldsa_lab.cli.shared import show_path
    from mldsa_lab.errors import LabError
    from mldsa_lab.extras import need
    from mldsa_lab.files import check_target
    from mldsa_lab.records import read_record
    from mldsa_lab.show import elsewhere, exports
    from mldsa_lab.show.figure_report import show_figures
    from mldsa_lab.show.kinds import kind_of
    from mldsa_lab.show.present import Look, ReportFiles, present

    look = Look(reference, clock, confidence)
    records, measured = elsewhere.split(files or [])
    quiet = markdown == _STANDARD_OUTPUT
    markdown_path = None if quiet or markdown is None else Path(markdown)
    written = [path for path in (page, json_path, csv, markdown_path) if path is not None]
    for path in written:
        check_target(path)
    if not records:
        hint = "; for measurements alone there is `mldsa-lab estimate`" if measured else ""
        raise LabError(f"report: at least one record is needed{hint}")
    target = None if no_page or quiet else page or records[0].parent / "report.html"
    if target is not None:
        need("page", "the page")
        check_target(target)
    outputs = ReportFiles(target, json_path, csv, markdown_path)
    screen = Console(file=sys.stderr) if quiet else make_console()
    if any(kind_of(read_record(path)) for path in records):
        if len(records) > 1 or measured or selection:
            raise LabError(
                "report: a record of a block, of memory or of cold starts must be reported on its "
                "own"
            )
        text, _ = show_figures(records[0], confidence, screen, outputs, tables=not quiet)
        if quiet:
            print(text, end="")
        for title, path in outputs.named():
            show_path(screen, title, path)
        return
    found = elsewhere.read(measured, selection, confidence)
    views = present(records, look, screen, outputs, found, tables=not quiet, every=all_tables)
    if quiet:
        print(exports.as_markdown(views, found), end="")
    for title, path in outputs.named():
        show_path(screen, title, path)
