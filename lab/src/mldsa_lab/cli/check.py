"""`mldsa-lab check`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from mldsa_lab.cli import shared

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from mldsa_lab.answers.page import AnswerPage

_LIST = "list"
_WRITTEN = ("*.jsonl*", "*.parquet", "*.json")
"""Patterns of what commands write for sources of figures, in the order of preference."""


def check(
    ctx: typer.Context,
    subject: Annotated[
        Literal["claims", "answers"],
        typer.Argument(
            help="claims: judge published figures by theory, the standard and arithmetic; answers: "
            "show a published page's tables next to our figures.",
            metavar="claims|answers",
        ),
    ],
    names: Annotated[
        list[str] | None,
        typer.Argument(
            help="Tables of claims (.yaml or .json, docs/audit.md), worked examples, or a "
            "published page; list: names the examples or pages.",
            metavar="NAMES",
        ),
    ] = None,
    measure: Annotated[
        Path | None,
        typer.Option(
            help="answers: measure here, into this folder, instead of showing our records.",
            metavar="FOLDER",
        ),
    ] = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="claims: exit with 1 if one is contradicted.")
    ] = False,
    to: shared.ToOption = None,
    every: shared.AllOption = False,
) -> None:
    """Check a published page by theory, or against our figures."""
    from mldsa_lab import LabError

    if subject == "claims":
        shared.reject_options(ctx, "claims", "measure nothing", "measure")
        _check_claims(names or (), strict, to, is_full=every)
        return
    shared.reject_options(ctx, "answers", "have no verdicts", "strict")
    if len(names or ()) > 1:
        raise LabError("answers: name one published page")
    _check_answers((names or [_LIST])[0], measure, to, is_full=every)


def _check_claims(
    names: Sequence[str], is_strict: bool, to: Sequence[str] | None, *, is_full: bool
) -> None:
    from mldsa_lab.audit import audit as judge
    from mldsa_lab.audit import read_claims
    from mldsa_lab.audit.audit import audit_report
    from mldsa_lab.audit.judgement import Verdict
    from mldsa_lab.audit.reading import example_path, examples

    if list(names) in ([], [_LIST]):
        for name, path in examples().items():
            print(f"{name:16} {read_claims(path).source.title}\n{'':16} {path}")
        return
    outputs = shared.Targets.parse(to)
    paths = [Path(name) if Path(name).suffix else example_path(name) for name in names]
    tables = [read_claims(path) for path in paths]
    audits = [(table, judge(table)) for table in tables]
    more = [] if is_full else [f"mldsa-lab check claims {' '.join(names)} --all"]
    outputs.show(audit_report(audits), outputs.console(), more, is_full=is_full)
    if is_strict and any(
        f.verdict is Verdict.CONTRADICTION for _, findings in audits for f in findings
    ):
        raise typer.Exit(1)


def _check_answers(
    name: str, folder: Path | None, to: Sequence[str] | None, *, is_full: bool
) -> None:
    from mldsa_lab.answers.join import answer_report, page_counts
    from mldsa_lab.answers.page import pages, read_page

    if name == _LIST:
        for each in pages():
            known, values = page_counts(read_page(each))
            about = f"{read_page(each).title}; {known} of {values} values have a figure of ours"
            shared.show_named(shared.console(), f"{each:<16} ", about)
        return
    page = read_page(name)
    outputs = shared.Targets.parse(to)
    screen = outputs.console()
    arguments = {} if folder is None else _measure_page(page, folder, screen)
    measure = [] if folder else [f"mldsa-lab check answers {name} --measure out/{name}"]
    outputs.show(answer_report(page, arguments), screen, measure, is_full=is_full)


def _measure_page(page: AnswerPage, out: Path, screen: Console) -> dict[str, str]:
    """Run the commands that measure; by command, a pattern of the records that it wrote.

    LabError for a command that fails or writes no record.
    """
    import sys

    from mldsa_lab import LabError
    from mldsa_lab.answers.page import command_words
    from mldsa_lab.checkout import find_root, run_tool
    from mldsa_lab.files import check_folder

    def show(line: str) -> None:
        screen.print(line, markup=False, highlight=False, style="dim")

    check_folder(out)
    asked = [o.command for table in page.tables for o in table.ours if o.is_measured and o.command]
    records = {}
    for number, command in enumerate(dict.fromkeys(asked), 1):
        folder = (out / str(number)).absolute()
        screen.print(f"{command} --out {folder}", markup=False, highlight=False, soft_wrap=True)
        words = [sys.executable, "-m", "mldsa_lab.cli.main", *command_words(command)]
        run_tool([*words, "--out", str(folder)], find_root(), {}, show, what="measuring")
        kinds = [kind for kind in _WRITTEN if any(folder.rglob(kind))]
        if not kinds:
            raise LabError(f"{command}: wrote no record to {folder}")
        records[command] = f"{folder}/**/{kinds[0]}"
    return records
