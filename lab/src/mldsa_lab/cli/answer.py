"""`mldsa-lab answer`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mldsa_lab.cli import shared

if TYPE_CHECKING:
    from rich.console import Console

    from mldsa_lab.answers.page import AnswerPage


_WRITTEN = ("*.jsonl*", "*.parquet", "*.json")
"""What commands write that sources of figures read, the first that there is."""


def answer(
    page: Annotated[
        str, typer.Argument(help="A published page, or `list`, which names them.", metavar="PAGE")
    ] = "list",
    record: Annotated[
        bool, typer.Option("--record", help="Take the published records; measure nothing.")
    ] = False,
    page_path: shared.PageOption = None,
    json_path: shared.JsonOption = None,
    csv: shared.CsvOption = None,
    markdown: Annotated[
        Path | None, typer.Option(help="Write all tables as Markdown to this file.", metavar="PATH")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="Folder of what is measured; by default out/answer-PAGE."),
    ] = None,
    confidence: shared.ConfidenceOption = 0.95,
) -> None:
    """Show a published page's tables beside our figures: measured here, or from our records."""
    from mldsa_lab.answers.join import answer_report
    from mldsa_lab.answers.page import pages, read_page
    from mldsa_lab.answers.states import page_counts

    screen = shared.console()
    if page == "list":
        for name in pages():
            known, values = page_counts(read_page(name))
            about = f"{read_page(name).title}; {known} of {values} values have a figure of ours"
            shared.show_named(screen, f"{name:<16} ", about)
        return
    found = read_page(page)
    outputs = shared.OutputOptions(page_path is None, json_path, csv, markdown, page_path).check()
    arguments = {} if record else _measure(found, out or Path("out") / f"answer-{page}", screen)
    outputs.show(answer_report(found, arguments, confidence), screen)


def _measure(page: AnswerPage, out: Path, screen: Console) -> dict[str, str]:
    """Run the commands that measure; by command, a pattern of the records that it wrote.

    LabError for a command that fails or writes no record.
    """
    import sys

    from mldsa_lab.answers.page import command_words
    from mldsa_lab.checkout import find_root, run_tool
    from mldsa_lab.errors import LabError
    from mldsa_lab.files import check_folder

    def show(line: str) -> None:
        screen.print(line, markup=False, highlight=False, style="dim")

    check_folder(out)
    asked = [o.command for table in page.tables for o in table.ours if o.is_measured and o.command]
    found = {}
    for number, command in enumerate(dict.fromkeys(asked), 1):
        folder = (out / str(number)).absolute()
        screen.print(f"{command} --out {folder}", markup=False, highlight=False, soft_wrap=True)
        words = [sys.executable, "-m", "mldsa_lab.cli.main", *command_words(command)]
        run_tool([*words, "--out", str(folder)], find_root(), {}, show, what="measuring")
        kinds = [kind for kind in _WRITTEN if any(folder.rglob(kind))]
        if not kinds:
            raise LabError(f"{command}: wrote no record to {folder}")
        found[command] = f"{folder}/**/{kinds[0]}"
    return found
