"""`mldsa-lab bench`."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from rich.console import Console

from mldsa_lab.bench.options import (
    BOTH_BUILDS,
    DEFAULT_SETS,
    UNTIL_LIMIT_S,
    Options,
    Profile,
    all_thread_counts,
    parse_batch_sizes,
    parse_operations,
    parse_seed,
    parse_thread_counts,
)
from mldsa_lab.bench.pace import Precision
from mldsa_lab.bench.shapes import BATCH_SIZES
from mldsa_lab.cli.shared import (
    EXIT_INTERRUPTED,
    AllTablesOption,
    ClockOption,
    ConfidenceOption,
    CoreOption,
    JdkOption,
    JsonOption,
    ReferenceOption,
    SeedText,
    refuse_beside,
    show_path,
    words,
)
from mldsa_lab.cli.shared import console as make_console
from mldsa_lab.errors import LabError
from mldsa_lab.extras import need
from mldsa_lab.files import check_target
from mldsa_lab.machine import cores_to_use
from mldsa_lab.records import Record
from mldsa_lab.records.reference import DEFAULT_REFERENCE
from mldsa_lab.screen import Screen
from mldsa_lab.sets import FAMILIES, OPERATIONS, USUAL_OPERATIONS, parse_set_names
from mldsa_lab.worker.registry import CORES, JDKS

if TYPE_CHECKING:
    from mldsa_lab.bench.bench import Outcome
    from mldsa_lab.bench.blocks import GivenBlock

MESSAGE_BYTES = 32
_MESSAGE_BYTES_MAX = 1 << 16  # every worker holds the inputs of all its cells


def _listed(numbers: tuple[int, ...]) -> str:
    """`1, 8 and 32`."""
    return f"{', '.join(f'{n:,}' for n in numbers[:-1])} and {numbers[-1]:,}"


def bench(
    quick: Annotated[
        bool, typer.Option("--quick", help="About a minute after the build, instead of five.")
    ] = False,
    sets: Annotated[
        list[str] | None,
        typer.Option(
            help=f"44, 65, 87, {', '.join(FAMILIES)}, all, or full names.", metavar="NAMES"
        ),
    ] = None,
    operations: Annotated[
        list[str] | None, typer.Option(help=f"{', '.join(OPERATIONS)}.", metavar="NAMES")
    ] = None,
    implementations: Annotated[
        list[str] | None,
        typer.Option(
            help="Implementations or variant ids, wildcards allowed: mldsa-lanes, *:expanded.",
            metavar="NAMES",
        ),
    ] = None,
    workers: Annotated[
        list[str] | None,
        typer.Option(help="Workers of the registry; all: every one.", metavar="NAMES"),
    ] = None,
    jdk: JdkOption = None,
    core: CoreOption = None,
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
    until: Annotated[
        float | None,
        typer.Option(
            help="Measure until the interval of every signing mean is within ± this (of "
            "every mean, where signing is not measured).",
            metavar="PERCENT",
            min=0.01,
            max=100,
        ),
    ] = None,
    limit: Annotated[
        float | None,
        typer.Option(
            help=f"Seconds to measure at most; with --until alone {UNTIL_LIMIT_S:g}.", min=1
        ),
    ] = None,
    message_bytes: Annotated[
        int, typer.Option(help="Size of the messages.", min=0, max=_MESSAGE_BYTES_MAX)
    ] = MESSAGE_BYTES,
    cold: Annotated[
        bool,
        typer.Option(
            "--cold", help="Measure the 1st to 1,000th operation of fresh processes instead."
        ),
    ] = False,
    scenario: Annotated[
        str | None,
        typer.Option(
            help="Validate a block of signatures: a scenario of the tree (block), or a path.",
            metavar="NAME",
        ),
    ] = None,
    selection: Annotated[
        list[Path] | None,
        typer.Option(
            help="Sign the inputs of this selection (of mldsa-lab select); once for each set.",
            metavar="FILE",
        ),
    ] = None,
    reference: ReferenceOption = DEFAULT_REFERENCE,
    clock: ClockOption = "cpu",
    confidence: ConfidenceOption = 0.95,
    seed: SeedText = None,
    out: Annotated[
        Path, typer.Option(help="Folder in which the run gets a folder of its own.")
    ] = Path("out"),
    json_path: JsonOption = None,
    no_page: Annotated[bool, typer.Option("--no-page", help="Write no page.")] = False,
    all_tables: AllTablesOption = False,
    timeout: Annotated[
        float, typer.Option(help="Seconds a worker has for one request.", min=0.5)
    ] = 120.0,
    registry: Annotated[
        Path | None,
        typer.Option(help="Measure the workers of this registry file instead of the tree's own."),
    ] = None,
) -> None:
    """Build the workers, check that they are correct, measure them, and show the result."""
    # Only here: with SciPy they take longer to load than other commands to run.
    from mldsa_lab.bench.bench import run_bench
    from mldsa_lab.bench.blocks import read_block
    from mldsa_lab.bench.material import input_sizes, read_selections
    from mldsa_lab.study.file import find_study, read_study

    if scenario is not None:
        refuse_beside("--scenario", "says this itself", {
            "--sets": sets, "--operations": operations, "--implementations": implementations,
            "--workers": workers, "--jdk": jdk, "--core": core, "--batch": batch or None,
            "--batch-sizes": batch_sizes, "--threads": threads or None,
            "--thread-counts": thread_counts, "--until": until, "--selection": selection,
            "--message-bytes": None if message_bytes == MESSAGE_BYTES else message_bytes,
            "--reference": None if reference == DEFAULT_REFERENCE else reference,
            "--clock": None if clock == "cpu" else clock, "--cold": cold or None,
        })  # fmt: skip
        if build_ == BOTH_BUILDS:
            raise LabError("--build both: a scenario is measured in one build")
    if cold:
        refuse_beside("--cold", "measures single operations", {
            "--batch": batch or None, "--batch-sizes": batch_sizes, "--threads": threads or None,
            "--thread-counts": thread_counts, "--until": until,
            "--reference": None if reference == DEFAULT_REFERENCE else reference,
            "--clock": None if clock == "cpu" else clock,
        })  # fmt: skip
    console = make_console()
    named = "quick" if quick else "default"
    need("bench", "bench")
    if not no_page:
        need("page", "the page")
    if json_path is not None:
        check_target(json_path)
    if rounds is not None and (until is not None or limit is not None):
        raise LabError("--rounds: says how much to measure, and so do --until and --limit")
    selections = read_selections(selection or ())
    chosen_sets = parse_set_names(sets or selections or DEFAULT_SETS)
    for name, given in selections.items():
        if name not in chosen_sets:
            raise LabError(f"{given}: is of {name}, which is not among the sets to measure")
    options = Options(
        sets=chosen_sets,
        operations=parse_operations(operations or USUAL_OPERATIONS),
        implementations=words(implementations),
        workers=_workers(words(workers), {JDKS: jdk, CORES: core}),
        jdks=tuple(jdk or ()),
        cores=tuple(core or ()),
        profile=read_study(find_study("bench")).amount(named).profile(named),
        rounds=rounds,
        sizes=input_sizes(message_bytes),
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
        selections=selections,
        until=until,
        limit=limit,
        cold=cold,
    )
    judge: Callable[[Record], Precision | None] = partial(_judge, clock, confidence)
    if scenario is not None:
        options = _of_block(options, read_block(scenario, named))
    if scenario is not None or cold:
        judge = _no_precision
    outcome = run_bench(options, Screen(console), judge)
    _finish(outcome, options, console, no_page, json_path, all_tables)


def _finish(
    outcome: Outcome,
    options: Options,
    console: Console,
    no_page: bool,
    json_path: Path | None,
    all_tables: bool,
) -> None:
    """Show what was measured, and where it lies."""
    folder = outcome.record.parent
    page = None if no_page else folder / "report.html"
    if outcome.samples:
        # Only here: the plots' libraries take longer to load than the other commands to run.
        from mldsa_lab.show.figure_report import show_figures
        from mldsa_lab.show.present import Look, ReportFiles, present

        console.print()
        outputs = ReportFiles(page, json_path or folder / "table.json")
        if options.block is not None or options.cold:
            show_figures(outcome.record, options.confidence, console, outputs)
        else:
            look = Look(options.reference, options.clock, options.confidence)
            present([outcome.record], look, console, outputs, every=all_tables)
        for title, path in outputs.named():
            show_path(console, title, path)
    show_path(console, "record", outcome.record)
    if outcome.interrupted:
        raise typer.Exit(EXIT_INTERRUPTED)


def _of_block(options: Options, given: GivenBlock) -> Options:
    """The options of a block: its file says what is verified and by whom."""
    from mldsa_lab.bench.material import GATE_SIZES

    file, amount = given.file, given.amount
    patterns = [pattern for asked in file.verify for pattern in asked.implementations]
    return replace(
        options,
        sets=parse_set_names(asked.set for asked in file.verify),
        operations=("verify",),
        implementations=tuple(dict.fromkeys(patterns)),
        workers=(file.worker,),
        profile=Profile(given.profile, amount.seconds, *amount.rounds),
        sizes=GATE_SIZES,
        clock="wall",
        block=given,
    )


def _no_precision(record: Record) -> None:
    """A block and cold starts have no precision to stop at."""


def _workers(
    named: tuple[str, ...], given: Mapping[str, Sequence[object] | None]
) -> tuple[str, ...]:
    """Those that are named, and beside them those that other options give."""
    return (*named, *(word for word, several in given.items() if several)) if named else ()


def _judge(clock: str, confidence: float, record: Record) -> Precision | None:
    """The precision of a record so far."""
    from mldsa_lab.estimate.precision import widest  # takes longer to load than a run to begin

    found = widest(record, clock=clock, confidence=confidence)
    return None if found is None else Precision(*found)


def _batch_sizes(wanted: bool, given: list[str] | None) -> tuple[int, ...]:
    if given:
        return parse_batch_sizes(given)
    return BATCH_SIZES if wanted else ()


def _thread_counts(wanted: bool, given: list[str] | None) -> tuple[int, ...]:
    cores = cores_to_use()
    if given:
        return parse_thread_counts(given, cores)
    return all_thread_counts(cores) if wanted else ()
