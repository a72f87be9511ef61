"""`mldsa-lab study`: studies as files, and those of other packages."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from mldsa_lab.cli import shared

_HELP = (
    "Studies: `study NAME` (or a path that ends in .toml) measures what a file says, `study list` "
    "names them; `study rtl` measures hardware cores; the others judge our own methods and count "
    "instructions."
)


class _ByName(TyperGroup):
    """A group whose unknown commands are names of studies."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """A name that is no command becomes the argument of `run`."""
        if args and not args[0].startswith("-") and self.get_command(ctx, args[0]) is None:
            args = ["run", *args]
        return super().resolve_command(ctx, args)


def add_to(app: typer.Typer) -> None:
    """Add the command with those of other packages."""
    studies = typer.Typer(
        cls=_ByName, no_args_is_help=True, rich_markup_mode="rich", pretty_exceptions_enable=False
    )
    studies.command("list")(list_studies)
    studies.command("run")(run)
    shared.add_commands(studies, "study")
    app.add_typer(studies, name="study", help=_HELP)


def list_studies() -> None:
    """Name the studies of the source tree, with their profiles."""
    from mldsa_lab.study.file import read_study, shipped

    screen = shared.console()
    for name, path in shipped().items():
        study = read_study(path)
        text = f"{study.title} ({', '.join(study.profiles)})"
        shared.show_named(screen, f"{name:<12} ", text)


def run(
    study: Annotated[str, typer.Argument(help="A study of the tree, or a path to a .toml file.")],
    profile: Annotated[str, typer.Option(help="How much to measure.")] = "default",
    out: Annotated[
        Path | None,
        typer.Option(help="Folder of the study. Resumes an interrupted study."),
    ] = None,
    record: Annotated[
        Path | None,
        typer.Option(
            help="Measure nothing: make the tables anew from the records in this folder, one for "
            "each process.",
            metavar="FOLDER",
        ),
    ] = None,
    jdk: shared.JdkOption = None,
    clock: shared.ClockOption = "cpu",
    confidence: shared.ConfidenceOption = 0.95,
    timeout: shared.TimeoutOption = 120.0,
    no_page: shared.NoPageOption = False,
    all_tables: shared.AllTablesOption = False,
) -> None:
    """Measure what a study file says, resume where it was interrupted, and compare."""
    from functools import partial

    from mldsa_lab.plugins import need
    from mldsa_lab.study.cells import gather_cells
    from mldsa_lab.study.file import find_study, read_study
    from mldsa_lab.study.run import begin, find_records, measure, steps

    path = find_study(study)
    read = read_study(path)
    read.amount(profile)  # LabError for an unknown one
    outputs = shared.OutputOptions(no_page).check()
    folder = out or Path("out") / f"study-{path.stem}-{profile if record is None else 'records'}"
    screen = shared.console()
    if record is None:
        from mldsa_lab.screen import Screen
        from mldsa_lab.study.run import run_step

        need("bench", "a study")
        jdks = tuple(jdk or ())
        listed = steps(read, profile, folder, begin(path, profile, folder, jdks))
        bench = partial(
            run_step, screen=Screen(screen), study=read, profile=profile, clock=clock,
            confidence=confidence, timeout=timeout, jdks=jdks,
        )  # fmt: skip
        paths = []
        for number, (step, measured) in enumerate(measure(listed, bench), 1):
            paths.append(measured)
            name = f"step {number} of {len(listed)} "
            shared.show_named(screen, name, f"{step}: {measured}")
    else:
        paths = find_records(record)
    names = [os.path.relpath(p, record or folder) for p in paths]
    if read.pipeline:
        from mldsa_lab.kinds.pipeline import pipeline_report
        from mldsa_lab.records import read_record

        report = pipeline_report([read_record(path) for path in paths], read.title, confidence)
    else:
        from mldsa_lab.study.report import study_report

        report = study_report(read, profile, gather_cells(paths, clock, confidence), names)
    folder.mkdir(parents=True, exist_ok=True)
    json, markdown, page = (folder / f"study.{end}" for end in ("json", "md", "html"))
    outputs = outputs._replace(json=json, markdown=markdown, page=page)
    outputs.show(report, screen, every=all_tables)
