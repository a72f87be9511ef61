"""The command `mldsa-lab`."""

from __future__ import annotations

import signal
import sys
from types import FrameType
from typing import Annotated, Any, NoReturn

import typer

from mldsa_lab import LabError, __version__, suggest
from mldsa_lab.checkout import BuildError
from mldsa_lab.cli import bench, check, estimate, report, select, study, trace, workers
from mldsa_lab.cli.help import LabCommand
from mldsa_lab.cli.shared import EXIT_INTERRUPTED, Commands, add_commands, check_name

EXIT_ERROR = 2

app = typer.Typer(
    cls=Commands,
    no_args_is_help=True,
    # Rich takes longer to load than the help to print.
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    help="Measures ML-DSA implementations on inputs whose rejection traces are known.",
)


def _version(is_asked: bool) -> None:
    if is_asked:
        print(f"mldsa-lab {__version__}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Measures ML-DSA implementations on inputs whose rejection traces are known."""


for command in (
    bench.bench, report.report, report.compare, trace.trace, select.select, estimate.estimate,
    check.check, workers.workers,
):  # fmt: skip
    app.command(cls=LabCommand)(command)
study.add_to(app)
add_commands(app)
rtl = typer.Typer(
    cls=Commands, no_args_is_help=True, rich_markup_mode=None, help="Measure hardware cores."
)
add_commands(rtl, "rtl")
app.add_typer(rtl, name="rtl")


def _interrupt(number: int, frame: FrameType | None) -> NoReturn:
    raise KeyboardInterrupt


def _run() -> int:
    """Run the command; return its exit status. LabError for the old spelling of an option."""
    try:
        return app(prog_name="mldsa-lab", standalone_mode=False) or 0
    except typer.TyperException as error:
        unknown: Any = error
        if option := getattr(unknown, "option_name", ""):
            check_name(f"{unknown.ctx.info_name} {option}")
            check_name(option)
            hint = suggest(option, getattr(error, "possibilities", None) or ())
            raise LabError(f"{unknown.message}{hint}") from None
        raise


def main() -> None:
    """Run the command line; errors are one line on standard error and exit status 2."""
    signal.signal(signal.SIGTERM, _interrupt)
    try:
        # typer turns a KeyboardInterrupt into this status.
        status = _run()
    except (LabError, typer.TyperException) as error:
        text = error.format_message() if isinstance(error, typer.TyperException) else str(error)
        if isinstance(error, BuildError):
            print("\n".join(error.lines), file=sys.stderr)
        if text:  # none where the help was printed for want of a command
            print(f"mldsa-lab: error: {text}", file=sys.stderr)
        status = EXIT_ERROR
    except (KeyboardInterrupt, typer.Abort):
        status = EXIT_INTERRUPTED
    if status == EXIT_INTERRUPTED:
        print("mldsa-lab: interrupted", file=sys.stderr)
    raise SystemExit(status)


if __name__ == "__main__":
    main()
