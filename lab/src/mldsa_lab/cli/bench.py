"""`mldsa-lab bench`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from mldsa_lab import LabError, kinds
from mldsa_lab.bench.bench import Precision
from mldsa_lab.bench.options import (
    BOTH_BUILDS,
    DEFAULT_SETS,
    UNTIL_LIMIT_S,
    Options,
    Profile,
    parse_batch_sizes,
    parse_operations,
    parse_seed,
    parse_thread_counts,
)
from mldsa_lab.cli import shared
from mldsa_lab.cli.shared import refuse_given, show_path, with_flags, words
from mldsa_lab.machine import cores_to_use
from mldsa_lab.plugins import need
from mldsa_lab.records import Record
from mldsa_lab.records.rows import DEFAULT_REFERENCE
from mldsa_lab.screen import Screen
from mldsa_lab.sets import USUAL_OPERATIONS, parse_set_names
from mldsa_lab.worker.registry import CORES, JDKS

if TYPE_CHECKING:
    from mldsa_lab.bench.bench import Outcome
    from mldsa_lab.bench.options import BlockFile

_MESSAGE_BYTES_MAX = 1 << 16  # every worker holds the inputs of all its cells
_OF_TIMES = "batch threads until reference clock"
_OF_OPERATIONS = (
    f"sets operations implementations workers jdk core resets selection message_bytes {_OF_TIMES} "
    + " ".join(kinds.FLAGS)
)
"""Parameters that a scenario sets."""


@with_flags(kinds.FLAGS)
def bench(
    ctx: typer.Context,
    quick: Annotated[
        bool, typer.Option("--quick", help="About a minute after the build, instead of five.")
    ] = False,
    sets: shared.SetsOption = None,
    operations: shared.OperationsOption = None,
    implementations: shared.ImplementationsOption = None,
    workers: shared.WorkersOption = None,
    jdk: shared.JdkOption = None,
    core: shared.CoreOption = None,
    resets: shared.ResetsOption = False,
    build: shared.BuildOption = "default",
    batch: shared.BatchOption = None,
    threads: shared.ThreadsOption = None,
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
    ] = 32,
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
    reference: shared.ReferenceOption = DEFAULT_REFERENCE,
    clock: shared.ClockOption = "cpu",
    confidence: shared.ConfidenceOption = 0.95,
    seed: shared.SeedText = None,
    out: shared.OutOption = Path("out"),
    json_path: shared.JsonOption = None,
    no_page: shared.NoPageOption = False,
    all_tables: shared.AllTablesOption = False,
    timeout: shared.TimeoutOption = 120.0,
    registry: shared.RegistryOption = None,
    *,
    named_kinds: Sequence[str],
) -> None:
    """Build the workers, check that they are correct, measure them, and show the result."""
    # Only here: with SciPy they take longer to load than other commands to run.
    from mldsa_lab.bench.bench import run_bench
    from mldsa_lab.bench.options import Sizes, read_block, read_selections
    from mldsa_lab.bench.workload import WorkloadPlan
    from mldsa_lab.kinds.block import BlockPlan
    from mldsa_lab.study.file import find_study, read_study

    if scenario is not None:
        refuse_given(ctx, "--scenario", "sets it", _OF_OPERATIONS)
        if build == BOTH_BUILDS:
            raise LabError("--build both: a scenario is measured in one build")
    for name in named_kinds:
        refuse_given(ctx, f"--{name}", "measures single operations", _OF_TIMES)
    shared.check_resets(resets, core)
    console = shared.console()
    named = "quick" if quick else "default"
    need("bench", "bench")
    outputs = shared.OutputOptions(no_page, json_path).check()
    if rounds is not None and (until is not None or limit is not None):
        raise LabError("--rounds: says how much to measure, and so do --until and --limit")
    selections = read_selections(selection or ())
    chosen_sets = parse_set_names(sets or selections or DEFAULT_SETS)
    for name, given in selections.items():
        if name not in chosen_sets:
            raise LabError(f"{given}: is of {name}, which is not among the sets to measure")
    beside = [word for word, several in ((JDKS, jdk), (CORES, core)) if several and workers]
    options = options_of(
        ctx.params,
        chosen_sets,
        workers=(*words(workers), *beside),
        jdks=tuple(jdk or ()),
        cores=tuple(core or ()),
        profile=read_study(find_study("bench")).amount(named).profile(named),
        sizes=Sizes(message_bytes=message_bytes),
        selections=selections,
    )
    judge: Callable[[Record], Precision | None] = partial(_judge, clock, confidence)
    kind = kinds.load(named_kinds[0]).plan if named_kinds else WorkloadPlan
    if scenario is not None:
        options, kind = _of_block(options, read_block(scenario, named), named), BlockPlan
    outcome = run_bench(
        options, Screen(console), judge if kind is WorkloadPlan else no_precision, kind
    )
    show_outcome(outcome, options, console, outputs, every=all_tables)


def options_of(params: Mapping[str, Any], sets: Sequence[str], **more: Any) -> Options:
    """The options of a run: the parameters of the command, those that are texts parsed, and
    ``more``."""
    given = {f.name: params[f.name] for f in fields(Options) if f.name in params}
    parsed = {
        "sets": tuple(sets),
        "operations": parse_operations(params["operations"] or USUAL_OPERATIONS),
        "implementations": words(params["implementations"]),
        "workers": words(params["workers"]),
        "seed": parse_seed(params["seed"]),
        "batch_sizes": parse_batch_sizes(params["batch"] or ()),
        "thread_counts": parse_thread_counts(params["threads"] or (), cores_to_use()),
    }
    return Options(**given | parsed | more)


def show_outcome(
    outcome: Outcome,
    options: Options,
    console: Console,
    outputs: shared.OutputOptions,
    *,
    every: bool = False,
) -> None:
    """Show what was measured, and where it lies; an interrupted run ends the program."""
    folder = outcome.record.parent
    try:
        if outcome.has_results:
            # Only here: the plots' libraries take longer to load than the other commands to run.
            from mldsa_lab.kinds.reports import read_reports
            from mldsa_lab.show.report import Look

            console.print()
            look = Look(options.reference, options.clock, options.confidence)
            json_path = outputs.json or folder / "figures.json"
            outputs = outputs._replace(page=folder / "report.html", json=json_path)
            outputs.show(read_reports([outcome.record], look), console, every=every)
    finally:
        show_path(console, "record", outcome.record)
    if outcome.is_interrupted:
        raise typer.Exit(shared.EXIT_INTERRUPTED)


def _of_block(options: Options, block: BlockFile, profile: str) -> Options:
    """The options of a block: its file says what is verified and by whom."""
    from mldsa_lab.bench.options import GATE_SIZES

    amount = block.profiles[profile]
    patterns = [pattern for asked in block.verify for pattern in asked.implementations]
    return replace(
        options,
        sets=parse_set_names(asked.set for asked in block.verify),
        operations=("verify",),
        implementations=tuple(dict.fromkeys(patterns)),
        workers=(block.worker,),
        profile=Profile(profile, amount.seconds, *amount.rounds),
        sizes=GATE_SIZES,
        clock="wall",
        block=block,
    )


def no_precision(record: Record) -> None:
    """Blocks, cold starts and memory have no precision to stop at."""


def _judge(clock: str, confidence: float, record: Record) -> Precision | None:
    """The precision of a record so far."""
    from mldsa_lab.estimate.summary import widest

    found = widest(record, clock=clock, confidence=confidence)
    return None if found is None else Precision(*found)
