"""Shared parts of the commands: options, files to write, the screen, old spellings."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple

import typer
from typer.core import TyperGroup

from mldsa_lab import LabError, plugins, suggest
from mldsa_lab.cli.help import GROUPS, LabCommand, write_end
from mldsa_lab.files import check_target, write_text
from mldsa_lab.plugins import need
from mldsa_lab.sets import FAMILIES, OPERATIONS

if TYPE_CHECKING:
    from rich.console import Console

    from mldsa_lab.inputs.input import Spec
    from mldsa_lab.records import Filters, Record
    from mldsa_lab.show.report import Report

_PIPE_WIDTH = 120
EXIT_INTERRUPTED = 130
FORMATS = ("html", "json", "csv", "md")
NO_FILE = "none"
_TITLES = {".html": "page", ".json": "figures", ".csv": "table", ".md": "markdown"}

RENAMED = {
    "answer": "check answers PAGE",
    "audit": "check claims FILE",
    "conform": "workers conform WORKER",
    "doctor": "workers doctor",
    "fmax": "rtl synth CORE --seeds 3",
    "memory": "bench --kind memory",
    "setup": "workers setup NAMES",
    "study rtl": "rtl study",
    "study simulate": "study coverage --by records",
    "synth": "rtl synth CORE",
    "--all-tables": "--all",
    "--cold": "--kind cold",
    "--core": "--worker CORE.toml",
    "--csv": "--to FILE.csv",
    "--dask": "--processes tcp://HOST:PORT",
    "--data": "--from PATH",
    "--example": "check claims NAME",
    "--implementation": "study count SELECTION NAME",
    "--jdk": "--worker [NAME=]FOLDER",
    "--json": "--to FILE.json",
    "--markdown": "--to FILE.md",
    "--no-page": "--to none",
    "--page": "--to FILE.html",
    "--percentile": "--goal pNUMBER",
    "--plot": "--to FILE.svg",
    "--pool": "--from POOL.parquet",
    "--ready": "--from ready --goal NAME",
    "--record": "--from RECORD",
    "--resets": "--worker CORE.toml:resets",
    "--scenario": "--kind block, or --kind FILE.toml",
    "--selection": "MEASUREMENTS:SELECTION",
    "--traffic": "--kind traffic",
    "bench --confidence": "mldsa-lab report RECORD --confidence NUMBER",
    "impact --out": "--to FILE",
} | {
    f"select --{name}": "mldsa-lab trace --checks all, then select --from POOL.parquet"
    for name in ("context-bytes", "message-bytes", "per-key", "pool-size", "rnd", "seed")
}
"""Old spellings of commands and options, or of an option of one command, with their new ones."""

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
        "--worker",
        "--workers",
        help="Workers of the registry, default or all; ./PROGRAM: one that speaks the protocol; "
        "[NAME=]FOLDER: a JDK (17 or newer); CORE.toml: a hardware core, CORE.toml:resets: with a "
        "reset in a random cycle before each operation.",
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
RegistryOption = Annotated[
    Path | None,
    typer.Option(
        "--registry", help="Take the workers from this registry file, not the tree's own."
    ),
]
ToOption = Annotated[
    list[str] | None,
    typer.Option(
        "--to",
        help="Write this file (.html, .json, .csv or .md) instead of the page; json, csv or md: to "
        "standard output; none: no file. Repeatable.",
        metavar="FILE",
    ),
]
AllOption = Annotated[bool, typer.Option("--all", help="Show every table in the terminal.")]
ProcessesOption = Annotated[
    str | None,
    typer.Option(
        help="Processes to use, all cores if not given; tcp://HOST:PORT: the workers of this Dask "
        "scheduler.",
        metavar="NUMBER|ADDRESS",
    ),
]
BaselineOption = Annotated[
    str,
    typer.Option(
        "--baseline",
        "--reference",
        help="Implementation or variant id that ratios refer to.",
        metavar="NAME",
    ),
]
ClockOption = Annotated[
    Literal["cpu", "wall"],
    typer.Option(help="cpu: the thread's own time where a worker gives it; or wall."),
]
ConfidenceOption = Annotated[
    float, typer.Option(help="Confidence of the intervals.", min=0.5, max=0.9999)
]


def change_spec(spec: Spec, params: Mapping[str, Any]) -> Spec:
    """The spec with the sizes, keys and rnd that are given among a command's parameters."""
    from msgspec.structs import replace

    names = ("message_bytes", "context_bytes", "per_key", "rnd")
    return replace(spec, **{name: params[name] for name in names if params[name] is not None})


def narrow(path: Path, record: Record, filters: Filters) -> Record:
    """Return a record's cells that the filters name. LabError if there are none."""
    from mldsa_lab.records import NO_CELL

    chosen = record.narrow(*filters)
    if record.samples and not chosen.samples:
        names = {v.implementation for v, _ in record.variants.values()}
        hints = (suggest(word, names) for word in filters[-1] if word not in names)
        raise LabError(f"{path}: {NO_CELL}{next(filter(None, hints), '')}")
    return chosen


def parse_filters(
    sets: list[str] | None, operations: list[str] | None, implementations: list[str] | None
) -> Filters:
    """Return the sets, operations and implementations that a command line names."""
    from mldsa_lab.bench.options import parse_operations
    from mldsa_lab.sets import parse_set_names

    parsed = parse_set_names(sets or ()), parse_operations(operations or ())
    return *parsed, words(implementations)


class Targets(NamedTuple):
    """The files that a command writes, and the format of its standard output, if not tables.

    ``is_chosen``: --to was given.
    """

    files: tuple[Path, ...] = ()
    stdout: str = ""
    is_chosen: bool = False

    @classmethod
    def parse(
        cls,
        to: Sequence[str] | None,
        default: Iterable[Path] = (),
        suffixes: Sequence[str] = tuple(_TITLES),
    ) -> Targets:
        """Return the outputs that --to names, or the default files. LabError, before any work is
        done, if one cannot be written."""
        known = [name for name in FORMATS[1:] if f".{name}" in suffixes]
        streams = [text for text in to or () if text in known]
        files = [Path(text) for text in to or () if text not in (*known, NO_FILE)]
        for path in files:
            if path.suffix not in suffixes:
                raise LabError(
                    f"--to {path}: must end in {', '.join(suffixes)}, or be "
                    f"{', '.join(known)} or {NO_FILE}"
                )
        if len(streams) > 1:
            raise LabError(f"--to {streams[1]}: standard output is {streams[0]} already")
        return cls((), "".join(streams), bool(to)).with_files(files if to else default)

    def with_files(self, files: Iterable[Path]) -> Targets:
        """Return itself with further files. LabError if one cannot be written."""
        added = tuple(files)
        for path in added:
            check_target(path)
        if any(path.suffix == ".html" for path in added):
            need("page", "the page")
        return self._replace(files=self.files + added)

    def check_page(self) -> Targets:
        """Return itself. LabError if `or_page` could not write the page."""
        if not self.is_chosen:
            need("page", "the page")
        return self

    def or_page(self, page: Path) -> Targets:
        """Return itself with this page, unless --to was given."""
        return self if self.is_chosen else self.with_files([page])

    def console(self) -> Console:
        """The screen: standard error where standard output has a format of its own."""
        return console(stderr=bool(self.stdout))

    def show(
        self,
        reports: Report | Sequence[Report],
        screen: Console,
        commands: Iterable[str] = (),
        *,
        is_full: bool = False,
    ) -> None:
        """Print reports (``is_full``: all tables), write the files, print the next commands and the
        files' paths.

        LabError, once all is written, if a report lacks figures.
        """
        from mldsa_lab.screen import print_end
        from mldsa_lab.show.grid import clean
        from mldsa_lab.show.report import Report, as_csv, as_json, as_markdown, print_report

        def page(listed: Sequence[Report]) -> str:
            # Imported only here: its libraries may be missing, and take long to load.
            from mldsa_lab.show.page import render

            return render(listed)

        listed = [reports] if isinstance(reports, Report) else reports
        for report in () if self.stdout else listed:
            if len(listed) > 1 and report.name:
                screen.rule(clean(report.name))
            print_report(report, screen, is_full=is_full)
        writers = {".json": as_json, ".csv": as_csv, ".md": as_markdown, ".html": page}
        for path in self.files:
            with screen.status(f"writing {path.name}"):
                write_text(path, writers[path.suffix](listed))
        if self.stdout:
            print(writers[f".{self.stdout}"](listed), end="")
        for report in listed:
            if report.lacking:
                raise LabError(f"{report.source}: {report.lacking}")
        files = [(_TITLES[path.suffix], path) for path in self.files]
        print_end(screen, commands=() if self.stdout else commands, files=files)


class Commands(TyperGroup):
    """Commands, in groups where they have some. An old name ends with the new one."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Find a command. LabError for an old name."""
        check_name(" ".join([ctx.info_name, args[0]] if ctx.parent else args[:1]))
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the commands below the title of their group."""
        width = formatter.width - 6 - max(map(len, self.commands))
        for title, names in ({"Commands": tuple(self.commands)} if ctx.parent else GROUPS).items():
            with formatter.section(title):
                texts = [self.commands[name].get_short_help_str(width) for name in names]
                formatter.write_dl(list(zip(names, texts, strict=True)))

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        """Write examples and document."""
        write_end(ctx, formatter)


def check_name(name: str) -> None:
    """LabError for the old spelling of a command or an option."""
    if name in RENAMED:
        raise LabError(f"{name}: the new spelling is {RENAMED[name]}")


def add_commands(app: typer.Typer, parent: str = "") -> None:
    """Add the commands that other packages have below ``parent``. Where a package is missing, its
    commands take any arguments and raise the error that names it."""
    for name, command in plugins.commands(parent).items():
        if isinstance(command, LabError):
            anything = {"allow_extra_args": True, "ignore_unknown_options": True}
            app.command(name, cls=LabCommand, help=f"{command}.", context_settings=anything)(
                _raising(command)
            )
        else:
            app.command(name, cls=LabCommand)(command)


def _raising(error: LabError) -> Callable[[], None]:
    def command() -> None:
        raise error

    return command


def find_options(ctx: typer.Context, names: str) -> list[str]:
    """Return the options that the command line gives, of the parameters in ``names``, which are
    separated by spaces."""
    sources = {name: ctx.get_parameter_source(name) for name in names.split()}
    return [
        f"--{name.strip('_').replace('_', '-')}"
        for name, source in sources.items()
        if source is not None and source.name == "COMMANDLINE"
    ]


def reject_options(ctx: typer.Context, option: str, reason: str, names: str) -> None:
    """LabError if one of these parameters, words of ``names``, is on the command line."""
    for other in find_options(ctx, names):
        raise LabError(f"{other}: cannot be used with {option}, which {reason}")


def console(*, stderr: bool = False) -> Console:
    """The screen; where the output is no terminal, wide enough for whole tables. ``stderr``: print
    to standard error."""
    from rich.console import Console

    screen = Console(emoji=False, stderr=stderr)  # texts of workers are shown as they are
    if not screen.is_terminal and "COLUMNS" not in os.environ:
        screen.width = _PIPE_WIDTH
    return screen


def words(values: Iterable[str] | None) -> tuple[str, ...]:
    """Names given by repeated options or with commas."""
    return tuple(part.strip() for value in values or () for part in value.split(",") if part)


def show_path(screen: Console, title: str, path: Path) -> None:
    """Say where a file was written."""
    from mldsa_lab.screen import print_end

    print_end(screen, files=[(title, path)])


def show_named(screen: Console, name: str, text: str) -> None:
    """Print a text as it is behind its name in bold."""
    from rich.text import Text

    screen.print(Text.assemble((name, "bold"), text), soft_wrap=True)
