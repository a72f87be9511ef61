"""What the commands have in common: the screen, options, lists of words, where a file went."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import wraps
from inspect import Parameter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple

import typer
from rich.console import Console
from rich.text import Text

from mldsa_lab import LabError, plugins
from mldsa_lab.files import check_target
from mldsa_lab.plugins import need
from mldsa_lab.sets import FAMILIES, OPERATIONS

if TYPE_CHECKING:
    from mldsa_lab.inputs.input import Spec
    from mldsa_lab.show.report import Report

_PIPE_WIDTH = 120
EXIT_INTERRUPTED = 130
Command = Callable[..., None]

SeedText = Annotated[
    str | None, typer.Option(help="Text the inputs are derived from; drawn anew if not given.")
]
MessageBytes = Annotated[
    int | None, typer.Option(help="Size of the messages, 32 if not given.", min=0)
]
ContextBytes = Annotated[
    int | None, typer.Option(help="Size of the contexts, 0 if not given.", min=0, max=255)
]
PerKey = Annotated[
    int | None,
    typer.Option(help="Inputs that share a key: 1 (default) a key each, 0 one key.", min=0),
]
OwnRnd = Annotated[
    Literal["zero", "given"] | None,
    typer.Option(help="rnd of each signature: zero (default), or 32 bytes of its own."),
]

SetsOption = Annotated[
    list[str] | None,
    typer.Option(
        "--sets", help=f"44, 65, 87, {', '.join(FAMILIES)}, all, or full names.", metavar="NAMES"
    ),
]
OperationsOption = Annotated[
    list[str] | None,
    typer.Option("--operations", help=f"{', '.join(OPERATIONS)}.", metavar="NAMES"),
]
ImplementationsOption = Annotated[
    list[str] | None,
    typer.Option(
        "--implementations",
        help="Implementations or variant ids, wildcards allowed: mldsa-lanes, *:expanded.",
        metavar="NAMES",
    ),
]
WorkersOption = Annotated[
    list[str] | None,
    typer.Option(
        "--workers",
        help="Workers of the registry, all: every one; ./PROGRAM: one that speaks the protocol.",
        metavar="NAMES",
    ),
]
BuildOption = Annotated[
    Literal["default", "tuned", "both"],
    typer.Option(
        "--build",
        help="default: as a project that merely depends on the libraries gets them; tuned: "
        "link-time optimisation and flags for this CPU; both: side by side.",
    ),
]
BatchOption = Annotated[
    list[str] | None,
    typer.Option(
        "--batch",
        help="Also measure batches of these sizes; all: 1, 8, 32, 100, 1000 and 10000.",
        metavar="SIZES",
    ),
]
ThreadsOption = Annotated[
    list[str] | None,
    typer.Option(
        "--threads",
        help="Also measure these numbers of threads, and one; all: 1 to all cores.",
        metavar="NUMBERS",
    ),
]
OutOption = Annotated[
    Path, typer.Option("--out", help="Folder in which the run gets a folder of its own.")
]
TimeoutOption = Annotated[
    float, typer.Option("--timeout", help="Seconds a worker has for one request.", min=0.5)
]
RegistryOption = Annotated[
    Path | None,
    typer.Option(
        "--registry", help="Take the workers from this registry file, not the tree's own."
    ),
]
NoPageOption = Annotated[bool, typer.Option("--no-page", help="Write no page.")]
CsvOption = Annotated[
    Path | None,
    typer.Option("--csv", help="Write the table's rows to this CSV file.", metavar="PATH"),
]
PageOption = Annotated[
    Path | None,
    typer.Option("--page", help="Write a page with all tables to this file.", metavar="PATH"),
]
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
    typer.Option(
        "--json", help="Write the figures to this file (docs/schema/figures.json).", metavar="PATH"
    ),
]
AllTablesOption = Annotated[
    bool, typer.Option("--all-tables", help="Show every table, not one for each question.")
]
JdkOption = Annotated[
    list[str] | None,
    typer.Option(
        "--jdk",
        help="Also measure this JDK (17 or newer). Repeatable.",
        metavar="[NAME=]PATH",
    ),
]
CoreOption = Annotated[
    list[Path] | None,
    typer.Option(
        "--core",
        help="Also measure the hardware core of this manifest. Repeatable.",
        metavar="PATH",
    ),
]
ResetsOption = Annotated[
    bool,
    typer.Option(
        "--resets",
        help="Reset hardware cores (--core) in a random cycle before each answered operation.",
    ),
]


def with_flags(flags: Mapping[str, str]) -> Callable[[Command], Command]:
    """Give a command a flag for each of these names, by its help; it gets the names of those given
    as ``named_kinds``. LabError where several are given."""

    def decorate(command: Command) -> Command:
        signature = inspect.signature(command, eval_str=True)
        parameters = [p for p in signature.parameters.values() if p.name != "named_kinds"]
        for name, text in flags.items():
            kind = Annotated[bool, typer.Option(f"--{name}", help=text)]
            option = Parameter(name, Parameter.KEYWORD_ONLY, default=False, annotation=kind)
            parameters.append(option)

        @wraps(command)
        def flagged(**given: Any) -> None:
            named = [name for name in flags if given.pop(name)]
            if len(named) > 1:
                raise LabError(f"--{named[1]}: cannot be used with --{named[0]}")
            command(**given, named_kinds=named)

        flagged.__signature__ = signature.replace(  # type: ignore[attr-defined]
            parameters=parameters
        )
        return flagged

    return decorate


def changed_spec(spec: Spec, params: Mapping[str, Any]) -> Spec:
    """The spec with the sizes, keys and rnd that are given among a command's parameters."""
    from msgspec.structs import replace

    names = ("message_bytes", "context_bytes", "per_key", "rnd")
    return replace(spec, **{name: params[name] for name in names if params[name] is not None})


class OutputOptions(NamedTuple):
    """Where a command writes what it shows; None for what is not asked for."""

    no_page: bool = False
    json: Path | None = None
    csv: Path | None = None
    markdown: Path | None = None
    page: Path | None = None

    def check(self) -> OutputOptions:
        """Return itself. LabError, before any work is done, if something cannot be written."""
        for path in (self.json, self.csv, self.markdown, self.page):
            if path is not None:
                check_target(path)
        if not self.no_page:
            need("page", "the page")
        return self

    def show(
        self,
        reports: Report | Sequence[Report],
        screen: Console,
        *,
        tables: bool = True,
        every: bool = False,
    ) -> None:
        """Print reports (``tables``; ``every``: all tables), write the files and say where."""
        from mldsa_lab.show.report import publish

        page = None if self.no_page else self.page
        asked = {"page": page, "json": self.json, "csv": self.csv, "markdown": self.markdown}
        files = {kind: path for kind, path in asked.items() if path is not None}
        publish(reports, screen, files, tables=tables, every=every)
        for kind, path in files.items():
            show_path(screen, {"json": "figures", "csv": "table"}.get(kind, kind), path)


def add_commands(app: typer.Typer, parent: str = "") -> None:
    """Add the commands that other packages have below ``parent``. Where a package is missing, its
    commands take any arguments and raise the error that names it."""
    for name, command in plugins.commands(parent).items():
        if isinstance(command, LabError):
            anything = {"allow_extra_args": True, "ignore_unknown_options": True}
            app.command(name, help=f"{command}.", context_settings=anything)(_raising(command))
        else:
            app.command(name)(command)


def _raising(error: LabError) -> Callable[[], None]:
    def command() -> None:
        raise error

    return command


def given_options(ctx: typer.Context, names: str) -> list[str]:
    """Return the options that the command line gives, of the parameters in ``names``, which are
    separated by spaces."""
    sources = {name: ctx.get_parameter_source(name) for name in names.split()}
    return [
        f"--{name.strip('_').replace('_', '-')}"
        for name, source in sources.items()
        if source is not None and source.name == "COMMANDLINE"
    ]


def refuse_given(ctx: typer.Context, option: str, reason: str, names: str) -> None:
    """LabError if one of these parameters, words of ``names``, is on the command line."""
    for other in given_options(ctx, names):
        raise LabError(f"{other}: cannot be used with {option}, which {reason}")


def check_resets(resets: bool, cores: Sequence[Path] | None) -> None:
    """LabError for --resets where there is no core."""
    if resets and not cores:
        raise LabError("--resets: has no hardware core; pass --core PATH")


def console(*, stderr: bool = False) -> Console:
    """The screen; where the output is no terminal, wide enough for whole tables. ``stderr``: print
    to standard error."""
    screen = Console(emoji=False, stderr=stderr)  # texts of workers are shown as they are
    if not screen.is_terminal and "COLUMNS" not in os.environ:
        screen.width = _PIPE_WIDTH
    return screen


def words(values: Iterable[str] | None) -> tuple[str, ...]:
    """Names given by repeated options or with commas."""
    return tuple(part.strip() for value in values or () for part in value.split(",") if part)


def show_path(screen: Console, title: str, path: Path) -> None:
    """Say where a file was written."""
    show_named(screen, f"{title:<10} ", str(path))


def show_named(screen: Console, name: str, text: str) -> None:
    """Print a text as it is behind its name in bold."""
    screen.print(Text.assemble((name, "bold"), text), soft_wrap=True)
