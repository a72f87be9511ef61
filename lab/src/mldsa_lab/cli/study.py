"""`mldsa-lab study`: studies as files, and those of other packages."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from mldsa_lab.cli.shared import ClockOption, ConfidenceOption, JdkOption, add_commands

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
    add_commands(studies, "study")
    app.add_typer(studies, name="study", help=_HELP)


def list_studies() -> None:
    """Name the studies of the source tree, with their profiles."""
    from mldsa_lab.cli.shared import console as make_console
    from mldsa_lab.study.file import read_study, shipped

    screen = make_console()
    for name, path in shipped().items():
        study = read_study(path)
        screen.print(f"[bold]{name:<12}[/] {study.title} ({', '.join(study.profiles)})")


def run(
    study: Annotated[str, typer.Argument(help="A study of the tree, or a path to a .toml file.")],
    profile: Annotated[str, typer.Option(help="How much to measure.")] = "default",
    out: Annotated[
        Path | None,
        typer.Option(help="Folder of the study; one that was interrupted is gone on with."),
    ] = None,
    jdk: JdkOption = None,
    clock: ClockOption = "cpu",
    confidence: ConfidenceOption = 0.95,
    timeout: Annotated[
        float, typer.Option(help="Seconds a worker has for one request.", min=0.5)
    ] = 120.0,
    no_page: Annotated[bool, typer.Option("--no-page", help="Write no page.")] = False,
) -> None:
    """Measure what a study file says, go on where it was interrupted, and compare."""
    import json

    from rich.text import Text

    from mldsa_lab.cli.shared import console as make_console
    from mldsa_lab.cli.shared import show_path
    from mldsa_lab.extras import need
    from mldsa_lab.files import write_text
    from mldsa_lab.show.format import clean
    from mldsa_lab.show.grid import terminal
    from mldsa_lab.study.bench import StudyBench
    from mldsa_lab.study.cells import gather_cells
    from mldsa_lab.study.file import find_study, read_study
    from mldsa_lab.study.run import begin, measure, steps
    from mldsa_lab.study.show import StudyFindings

    path = find_study(study)
    read = read_study(path)
    amount = read.amount(profile)
    need("bench", "a study")
    if any("dunn" in contrast.tests for contrast in read.contrasts):
        need("study", "Dunn's test")
    if not no_page:
        need("page", "the page")
    folder = out or Path("out") / f"study-{path.stem}-{profile}"
    jdks = tuple(jdk or ())
    seed = begin(path, profile, folder, jdks)
    screen = make_console()
    bench = StudyBench(profile, amount, clock, confidence, timeout, screen, jdks, read.pipeline)
    listed = steps(read, profile, folder, seed)
    measured = []
    for number, done in enumerate(measure(listed, bench.run), 1):
        measured.append(done)
        screen.print(f"[bold]step {number} of {len(listed)}[/] {done[0]}: {done[1]}")
    if read.pipeline:
        _show_pipelines(read.title, [where for _, where in measured], confidence, folder, no_page)
        return
    found = StudyFindings.of(read, profile, gather_cells(measured, clock, confidence))
    for grid in found.grids():
        screen.print(terminal(grid, screen.width))
        screen.print()
    for text in found.left_out:
        screen.print(Text(clean(text), style="yellow"))
    files = {
        "table": ("study.json", json.dumps(found.as_json(), indent=1) + "\n"),
        "markdown": ("study.md", found.as_markdown()),
    }
    if not no_page:
        from mldsa_lab.study.page import render

        names = [str(where.relative_to(folder)) for _, where in measured]
        files["page"] = ("study.html", render(found, names))
    for title, (name, text) in files.items():
        write_text(folder / name, text)
        show_path(screen, title, folder / name)


def _show_pipelines(
    title: str, paths: Sequence[Path], confidence: float, folder: Path, no_page: bool
) -> None:
    """Show the pipelines of a study's records, and write its files."""
    from mldsa_lab.cli.shared import console as make_console
    from mldsa_lab.cli.shared import show_path
    from mldsa_lab.records import read_record
    from mldsa_lab.show.kinds.pipeline import pipeline_report
    from mldsa_lab.show.present import ReportFiles
    from mldsa_lab.show.report import publish

    found = pipeline_report([read_record(path) for path in paths], title, confidence)
    page = None if no_page else folder / "study.html"
    outputs = ReportFiles(page, folder / "study.json", None, folder / "study.md")
    screen = make_console()
    publish(found, screen, outputs)
    for name, path in outputs.named():
        show_path(screen, name, path)
