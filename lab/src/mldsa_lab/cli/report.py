"""`mldsa-lab report` and `mldsa-lab agree`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from mldsa_lab.records.reference import DEFAULT_REFERENCE

ReferenceOption = Annotated[
    str, typer.Option(help="Implementation or variant id that ratios are to.", metavar="NAME")
]
ClockOption = Annotated[
    Literal["cpu", "wall"],
    typer.Option(help="cpu: the thread's own time where a worker gives it; or wall."),
]
ConfidenceOption = Annotated[
    float, typer.Option(help="Confidence of the intervals.", min=0.5, max=0.9999)
]
JsonOption = Annotated[
    Path | None,
    typer.Option("--json", help="Write the table's rows to this file.", metavar="PATH"),
]
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
    splice: Annotated[
        list[Path] | None,
        typer.Option(
            help="Rewrite the tables between <!-- mldsa-lab:table … --> and "
            "<!-- /mldsa-lab:table --> in this Markdown file; their markers may name the records.",
            metavar="PATH",
        ),
    ] = None,
    no_page: Annotated[bool, typer.Option("--no-page", help="Write no page.")] = False,
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
    from mldsa_lab.show import elsewhere, exports
    from mldsa_lab.show.present import Look, ReportFiles, load, present
    from mldsa_lab.show.splice import splice_file

    look = Look(reference, clock, confidence)
    records, measured = elsewhere.split(files or [])
    if splice:
        given = load(records, look)
        screen = make_console()
        for path in splice:
            changed = splice_file(path, given, lambda of: load([of], look)[0])
            show_path(screen, "spliced" if changed else "unchanged", path)
        if page is None and not (json_path or csv or markdown):
            return
    if not records:
        hint = "; for measurements alone there is `mldsa-lab estimate`" if measured else ""
        raise LabError(f"report: at least one record is needed{hint}")
    quiet = markdown == _STANDARD_OUTPUT
    target = None if no_page or quiet else page or records[0].parent / "report.html"
    if target is not None:
        need("page", "the page")
    found = elsewhere.read(measured, selection, confidence)
    outputs = ReportFiles(
        target, json_path, csv, None if quiet or markdown is None else Path(markdown)
    )
    screen = Console(file=sys.stderr) if quiet else make_console()
    views = present(records, look, screen, outputs, found, tables=not quiet)
    if quiet:
        print(exports.as_markdown(views, found), end="")
    for title, path in outputs.named():
        show_path(screen, title, path)


def agree(
    first: Annotated[Path, typer.Argument(help="Record of a run.")],
    second: Annotated[Path, typer.Argument(help="Record of another run on the same machine.")],
    reference: ReferenceOption = DEFAULT_REFERENCE,
    clock: ClockOption = "cpu",
    confidence: ConfidenceOption = 0.95,
) -> None:
    """Say where two runs agree: overlapping intervals, changes of means and of ratios."""
    from mldsa_lab.show.agree import agreement
    from mldsa_lab.show.present import Look, load

    (_, a), (_, b) = load([first, second], Look(reference, clock, confidence))
    print(agreement(a, b).text())
