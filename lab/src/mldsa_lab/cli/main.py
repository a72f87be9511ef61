"""The command `mldsa-lab`."""

from __future__ import annotations

import secrets
import signal
import sys
from pathlib import Path
from types import FrameType
from typing import Annotated, Literal, NoReturn

import typer

from mldsa_lab import __version__
from mldsa_lab.bench.bench import run_bench
from mldsa_lab.bench.material import Sizes
from mldsa_lab.bench.options import (
    DEFAULT,
    QUICK,
    Options,
    all_thread_counts,
    parse_batch_sizes,
    parse_operations,
    parse_seed,
    parse_thread_counts,
)
from mldsa_lab.bench.shapes import BATCH_SIZES
from mldsa_lab.checkout import BuildError, find_root
from mldsa_lab.cli import audit, estimate, report, select, study, trace
from mldsa_lab.cli.report import ClockOption, ConfidenceOption, JsonOption, ReferenceOption
from mldsa_lab.cli.shared import console as make_console
from mldsa_lab.cli.shared import show_path, words
from mldsa_lab.errors import LabError
from mldsa_lab.extras import need
from mldsa_lab.files import check_target
from mldsa_lab.machine import cores_to_use
from mldsa_lab.records.reference import DEFAULT_REFERENCE
from mldsa_lab.screen import Screen
from mldsa_lab.sets import parse_set_names
from mldsa_lab.worker.build import Place, build
from mldsa_lab.worker.conformance import conform_entry
from mldsa_lab.worker.doctor import doctor as run_doctor
from mldsa_lab.worker.registry import read_registry

EXIT_ERROR = 2
EXIT_INTERRUPTED = 130
_DEFAULT_SETS = ("ml-dsa", "classical")
_MESSAGE_BYTES_MAX = 1 << 16  # every worker holds the inputs of all its cells


def _listed(numbers: tuple[int, ...]) -> str:
    """`1, 8 and 32`."""
    return f"{', '.join(f'{n:,}' for n in numbers[:-1])} and {numbers[-1]:,}"


app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    help="Measures ML-DSA implementations on inputs whose rejection traces are known.",
)


def _version(wanted: bool) -> None:
    if wanted:
        print(f"mldsa-lab {__version__}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Measures ML-DSA implementations on inputs whose rejection traces are known."""


@app.command()
def bench(
    quick: Annotated[
        bool, typer.Option("--quick", help="About a minute after the build, instead of five.")
    ] = False,
    sets: Annotated[
        list[str] | None,
        typer.Option(help="44, 65, 87, ml-dsa, classical, or full names.", metavar="NAMES"),
    ] = None,
    operations: Annotated[
        list[str] | None, typer.Option(help="keygen, sign, verify.", metavar="NAMES")
    ] = None,
    implementations: Annotated[
        list[str] | None,
        typer.Option(
            help="Implementations or variant ids, wildcards allowed: mldsa-lanes, *:expanded.",
            metavar="NAMES",
        ),
    ] = None,
    workers: Annotated[
        list[str] | None, typer.Option(help="Workers of the registry.", metavar="NAMES")
    ] = None,
    build_: Annotated[
        Literal["default", "tuned", "both"],
        typer.Option(
            "--build",
            help="default: as a project that merely depends on the libraries gets them; tuned: "
            "link-time optimisation and flags for this CPU; both: side by side.",
        ),
    ] = "default",
    batch: Annotated[
        bool,
        typer.Option("--batch", help=f"Measure batches too, of {_listed(BATCH_SIZES)} operations."),
    ] = False,
    batch_sizes: Annotated[
        list[str] | None,
        typer.Option(help="Measure batches of these sizes.", metavar="NUMBERS"),
    ] = None,
    threads: Annotated[
        bool, typer.Option("--threads", help="Measure threads too, from 1 to all cores.")
    ] = False,
    thread_counts: Annotated[
        list[str] | None,
        typer.Option(help="Measure these numbers of threads, and one.", metavar="NUMBERS"),
    ] = None,
    rounds: Annotated[
        int | None, typer.Option(help="Rounds to measure, instead of a time.", min=1)
    ] = None,
    message_bytes: Annotated[
        int, typer.Option(help="Size of the messages.", min=0, max=_MESSAGE_BYTES_MAX)
    ] = 32,
    reference: ReferenceOption = DEFAULT_REFERENCE,
    clock: ClockOption = "cpu",
    confidence: ConfidenceOption = 0.95,
    seed: Annotated[
        str | None,
        typer.Option(help="Text the inputs are derived from; drawn anew if not given."),
    ] = None,
    out: Annotated[
        Path, typer.Option(help="Folder in which the run gets a folder of its own.")
    ] = Path("out"),
    json_path: JsonOption = None,
    no_page: Annotated[bool, typer.Option("--no-page", help="Write no page.")] = False,
    timeout: Annotated[
        float, typer.Option(help="Seconds a worker has for one request.", min=0.5)
    ] = 120.0,
    registry: Annotated[
        Path | None,
        typer.Option(help="Measure the workers of this registry file instead of the tree's own."),
    ] = None,
) -> None:
    """Build the workers, check that they are correct, measure them, and show the result."""
    console = make_console()
    need("bench", "bench")
    if not no_page:
        need("page", "the page")
    if json_path is not None:
        check_target(json_path)
    options = Options(
        sets=parse_set_names(sets or _DEFAULT_SETS),
        operations=parse_operations(operations or ("keygen", "sign", "verify")),
        implementations=words(implementations),
        workers=words(workers),
        profile=QUICK if quick else DEFAULT,
        rounds=rounds,
        sizes=Sizes(design=12, random=24, pool=1000, message_bytes=message_bytes),
        reference=reference,
        clock=clock,
        confidence=confidence,
        seed=secrets.token_bytes(32) if seed is None else parse_seed(seed),
        timeout=timeout,
        out=out,
        registry=registry,
        batch_sizes=_batch_sizes(batch, batch_sizes),
        thread_counts=_thread_counts(threads, thread_counts),
        build=build_,
    )
    outcome = run_bench(options, Screen(console))
    folder = outcome.record.parent
    page = None if no_page else folder / "report.html"
    if outcome.samples:
        # Only here: the plots' libraries take longer to load than the other commands to run.
        from mldsa_lab.show.present import Look, Outputs, present

        console.print()
        table = json_path or folder / "table.json"
        outputs = Outputs(page, table)
        present([outcome.record], Look(reference, clock, confidence), console, outputs)
        for title, path in outputs.named():
            show_path(console, title, path)
    show_path(console, "record", outcome.record)
    if outcome.interrupted:
        raise typer.Exit(EXIT_INTERRUPTED)


@app.command()
def doctor(
    registry: Annotated[
        Path | None, typer.Option(help="Look at this registry file instead of the tree's own.")
    ] = None,
) -> None:
    """Say which workers can run here, and what each missing one needs."""
    if not run_doctor(make_console(), registry):
        raise typer.Exit(1)


@app.command()
def conform(
    worker: Annotated[str, typer.Argument(help="A worker of the registry.")],
    only: Annotated[
        list[str] | None, typer.Option(help="Make these checks alone.", metavar="CHECKS")
    ] = None,
    registry: Annotated[Path | None, typer.Option(help="Take it from this registry file.")] = None,
) -> None:
    """Build a worker and check that it keeps to the worker protocol."""
    console = make_console()
    place = Place.of(find_root())
    entries = read_registry(registry or place.root / "workers" / "registry.toml")
    found = [e for e in entries if e.name == worker]
    if not found:
        known = ", ".join(e.name for e in entries)
        raise LabError(f"unknown worker {worker!r}: the registry has {known}")
    screen = Screen(console)
    with screen.phase("build") as phase:
        build(found[0], place, phase.show)
        phase.summary = f"worker [cyan]{worker}[/] ({found[0].language})"
    with screen.phase("conform") as phase:
        result = conform_entry(
            found[0], place.root, place.target, only=words(only) or None, progress=phase.show
        )
    for line in result.lines():
        console.print(line, highlight=False, markup=False, soft_wrap=True)
    if not result.passed:
        raise typer.Exit(1)


app.command()(report.report)
app.command()(report.agree)
app.command()(trace.trace)
app.command()(select.select)
app.command()(estimate.estimate)
study.add_to(app)
app.command()(audit.audit)


def _batch_sizes(wanted: bool, given: list[str] | None) -> tuple[int, ...]:
    if given:
        return parse_batch_sizes(given)
    return BATCH_SIZES if wanted else ()


def _thread_counts(wanted: bool, given: list[str] | None) -> tuple[int, ...]:
    cores = cores_to_use()
    if given:
        return parse_thread_counts(given, cores)
    return all_thread_counts(cores) if wanted else ()


def _interrupt(number: int, frame: FrameType | None) -> NoReturn:
    raise KeyboardInterrupt


def main() -> None:
    """Run the command line; errors are one line on standard error and exit status 2."""
    signal.signal(signal.SIGTERM, _interrupt)
    try:
        status = app(standalone_mode=False)
    except (LabError, typer.TyperException) as error:
        text = error.format_message() if isinstance(error, typer.TyperException) else str(error)
        if isinstance(error, BuildError):
            print("\n".join(error.lines), file=sys.stderr)
        if text:  # none where the help was printed for want of a command
            print(f"mldsa-lab: error: {text}", file=sys.stderr)
        status = EXIT_ERROR
    except (KeyboardInterrupt, typer.Abort):
        print("mldsa-lab: interrupted", file=sys.stderr)
        status = EXIT_INTERRUPTED
    raise SystemExit(status)


if __name__ == "__main__":
    main()
