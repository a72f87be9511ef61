"""`mldsa-lab study`: studies as files, and those of other packages."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Any

import typer

from mldsa_lab.cli import shared
from mldsa_lab.cli.help import LabCommand

_HELP = (
    "Run a study from a file, or judge our own methods. `study NAME` measures what a file says (or "
    "a path that ends in .toml), and `study list` names the files."
)
_TIMEOUT_S = 120.0


class _ByName(shared.Commands):
    """A group whose unknown commands are names of studies."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """A name that is no command becomes the argument of `run`."""
        if not args[0].startswith("-") and f"study {args[0]}" not in shared.RENAMED:
            args = args if args[0] in self.commands else ["run", *args]
        return super().resolve_command(ctx, args)


def add_to(app: typer.Typer) -> None:
    """Add the command with those of other packages."""
    studies = typer.Typer(
        cls=_ByName, no_args_is_help=True, rich_markup_mode=None, pretty_exceptions_enable=False
    )
    studies.command("run", cls=LabCommand)(run)
    shared.add_commands(studies, "study")
    app.add_typer(studies, name="study", help=_HELP)


def run(
    ctx: typer.Context,
    study: Annotated[
        str,
        typer.Argument(
            help="A study of the tree, a path to a .toml file, or list, which names those of the "
            "tree."
        ),
    ],
    profile: Annotated[str, typer.Option(help="How much to measure.")] = "default",
    out: Annotated[
        Path | None,
        typer.Option(help="Folder of the study. Resumes an interrupted study."),
    ] = None,
    source: Annotated[
        Path | None,
        typer.Option(
            "--from",
            help="Measure nothing: make the tables anew from the records in this folder, one for "
            "each process.",
            metavar="FOLDER",
        ),
    ] = None,
    sets: shared.SetsOption = None,
    operations: shared.OperationsOption = None,
    implementations: shared.ImplementationsOption = None,
    worker: Annotated[
        list[str] | None,
        typer.Option(
            help="Also measure this JDK (17 or newer). Repeatable.", metavar="[NAME=]FOLDER"
        ),
    ] = None,
    clock: shared.ClockOption = "cpu",
    confidence: shared.ConfidenceOption = 0.95,
    to: shared.ToOption = None,
    every: shared.AllOption = False,
) -> None:
    """Measure what a study file says, and compare. Resumes an interrupted study."""
    from functools import partial

    from mldsa_lab import LabError
    from mldsa_lab.plugins import need
    from mldsa_lab.study.file import find_study, gather_cells, read_study, shipped
    from mldsa_lab.study.run import begin, find_records, measure, steps

    if study == "list":
        for name, file in shipped().items():
            about = read_study(file)
            text = f"{about.title} ({', '.join(about.profiles)})"
            shared.show_named(shared.console(), f"{name:<12} ", text)
        return
    path = find_study(study)
    read = read_study(path)
    read.amount(profile)  # LabError for an unknown one
    if source is None:
        for option in shared.find_options(ctx, "sets operations implementations"):
            raise LabError(f"{option}: needs --from, since the study says what is measured")
    filters = shared.parse_filters(sets, operations, implementations)
    outputs = shared.Targets.parse(to).check_page()
    folder = out or Path("out") / f"study-{path.stem}-{profile if source is None else 'records'}"
    screen = outputs.console()
    if source is None:
        from mldsa_lab.screen import Screen
        from mldsa_lab.study.run import run_step

        need("bench", "a study")
        added = tuple(worker or ())
        listed = steps(read, profile, folder, begin(path, profile, folder, added))
        bench = partial(
            run_step, screen=Screen(screen), study=read, profile=profile, clock=clock,
            confidence=confidence, timeout=_TIMEOUT_S, added=added,
        )  # fmt: skip
        paths = []
        for number, (step, measured) in enumerate(measure(listed, bench), 1):
            paths.append(measured)
            name = f"step {number} of {len(listed)} "
            shared.show_named(screen, name, f"{step}: {measured}")
    else:
        paths = find_records(source)
    names = [os.path.relpath(p, source or folder) for p in paths]
    if read.pipeline:
        from mldsa_lab.kinds.pipeline import pipeline_report
        from mldsa_lab.records import read_record

        records = [read_record(path).narrow(*filters) for path in paths]
        report = pipeline_report(records, read.title, confidence)
    else:
        from mldsa_lab.study.report import study_report

        report = study_report(read, profile, gather_cells(paths, clock, confidence, filters), names)
    folder.mkdir(parents=True, exist_ok=True)
    json, markdown, page = (folder / f"study.{end}" for end in ("json", "md", "html"))
    more = [f"mldsa-lab study {study} --from {folder} --all"] if source is None else []
    outputs.or_page(page).with_files([json, markdown]).show(report, screen, more, is_full=every)
