"""`mldsa-lab bench`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mldsa_lab import LabError, kinds
from mldsa_lab.bench import UNTIL_LIMIT_S
from mldsa_lab.cli import shared
from mldsa_lab.cli.shared import reject_options, show_path, words
from mldsa_lab.plugins import need
from mldsa_lab.sets import DEFAULT_BASELINE

if TYPE_CHECKING:
    from rich.console import Console

    from mldsa_lab.bench.bench import Outcome, Precision
    from mldsa_lab.bench.options import BlockFile, Options
    from mldsa_lab.records import Record

_MESSAGE_BYTES_MAX = 1 << 16  # every worker has the inputs of all its cells in memory
_TIMEOUT_S = {"memory": 300.0}
_PRECISION_OPTIONS = "until baseline clock"
_REFUSED = {
    "cold": f"batch threads {_PRECISION_OPTIONS}",
    "memory": f"quick rounds limit selection message_bytes {_PRECISION_OPTIONS}",
    "block": "sets operations implementations workers selection message_bytes batch threads "
    + _PRECISION_OPTIONS,
}
"""By kind, the parameters that mean nothing to it."""


def bench(
    ctx: typer.Context,
    kind: Annotated[
        str,
        typer.Option(
            help="; ".join(f"{name}: {text}" for name, text in kinds.MEASURED.items())
            + "; FILE.toml: such a block of your own.",
            metavar="|".join(kinds.MEASURED),
        ),
    ] = kinds.DEFAULT_KIND,
    quick: Annotated[
        bool, typer.Option("--quick", help="About a minute after the build, instead of five.")
    ] = False,
    sets: shared.SetsOption = None,
    operations: shared.OperationsOption = None,
    implementations: shared.ImplementationsOption = None,
    workers: shared.WorkersOption = None,
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
            help=f"Seconds to measure at most; with only --until {UNTIL_LIMIT_S:g}.", min=1
        ),
    ] = None,
    message_bytes: Annotated[
        int, typer.Option(help="Size of the messages.", min=0, max=_MESSAGE_BYTES_MAX)
    ] = 32,
    selection: Annotated[
        list[Path] | None,
        typer.Option(
            help="Sign the inputs of this selection (of mldsa-lab select); once for each set.",
            metavar="FILE",
        ),
    ] = None,
    baseline: shared.BaselineOption = DEFAULT_BASELINE,
    clock: shared.ClockOption = "cpu",
    seed: shared.SeedText = None,
    out: shared.OutOption = Path("out"),
    to: shared.ToOption = None,
    every: shared.AllOption = False,
    timeout: Annotated[
        float | None,
        typer.Option(
            help="Seconds a worker has for one request: 120 if not given, for memory 300.", min=0.5
        ),
    ] = None,
    registry: shared.RegistryOption = None,
) -> None:
    """Check implementations for correctness, then measure them. Builds the workers first."""
    # Only here: with SciPy they take longer to load than other commands to run.
    from functools import partial

    from mldsa_lab.bench.bench import run_bench
    from mldsa_lab.bench.options import BOTH_BUILDS, read_block
    from mldsa_lab.screen import Screen

    workload = kinds.parse_kind(kind)
    reject_options(ctx, f"--kind {kind}", "has no use for it", _REFUSED.get(workload, ""))
    if workload == "block" and build == BOTH_BUILDS:
        raise LabError("--build both: a block is measured in one build")
    need("bench", "bench")
    outputs = shared.Targets.parse(to).check_page()
    if rounds is not None and (until is not None or limit is not None):
        raise LabError("--rounds: says how much to measure, and so do --until and --limit")
    options = _read_options(ctx.params, workload)
    if workload == "block":
        options = _set_block(options, read_block(kind, options.profile.name))
    precision_of: Callable[[Record], Precision | None] = (
        partial(_precision, clock) if workload == kinds.DEFAULT_KIND else _skip_judging
    )
    console = outputs.console()
    outcome = run_bench(options, Screen(console), precision_of, kinds.load(workload).plan)
    show_outcome(outcome, options, console, outputs, is_full=every)
    if workload == "memory":
        _check_faults(outcome)


def _read_options(params: Mapping[str, Any], workload: str) -> Options:
    """The options of a run from the parameters of the command."""
    from dataclasses import fields

    from mldsa_lab.bench.options import (
        DEFAULT_SETS,
        Options,
        Profile,
        Sizes,
        parse_batch_sizes,
        parse_operations,
        parse_seed,
        parse_thread_counts,
        read_selections,
    )
    from mldsa_lab.machine import cores_to_use
    from mldsa_lab.sets import PARAMETER_SETS, USUAL_OPERATIONS, parse_set_names
    from mldsa_lab.study.file import find_study, read_study

    is_memory = workload == "memory"
    selections = read_selections(params["selection"] or ())
    usual = PARAMETER_SETS if is_memory else DEFAULT_SETS
    sets = parse_set_names(params["sets"] or selections or usual)
    for name, selection in selections.items():
        if name not in sets:
            raise LabError(f"{selection}: is of {name}, which is not among the sets to measure")
    named = "quick" if params["quick"] else "default"
    if is_memory:
        profile, more = Profile("custom", 0.0, 1, 1), {"rounds": 1, "sizes": Sizes()}
    else:
        profile = read_study(find_study("bench")).amount(named).profile(named)
        more = {"sizes": Sizes(message_bytes=params["message_bytes"])}
    parsed = {
        "sets": sets,
        "operations": parse_operations(params["operations"] or USUAL_OPERATIONS),
        "implementations": words(params["implementations"]),
        "workers": words(params["workers"]),
        "profile": profile,
        "seed": parse_seed(params["seed"]),
        "batch_sizes": parse_batch_sizes(params["batch"] or ()),
        "thread_counts": parse_thread_counts(params["threads"] or (), cores_to_use()),
        "selections": selections,
        "timeout": params["timeout"] or _TIMEOUT_S.get(workload, 120.0),
        "traffic": params["kind"] == kinds.TRAFFIC,
    }
    own = {f.name: params[f.name] for f in fields(Options) if f.name in params}
    return Options(**own | parsed | more)


def show_outcome(
    outcome: Outcome, options: Options, console: Console, outputs: shared.Targets, *, is_full: bool
) -> None:
    """Show the results and their place; an interrupted run ends the program."""
    folder = outcome.record.parent
    try:
        if outcome.has_results:
            # Only here: the plots' libraries take longer to load than the other commands to run.
            from mldsa_lab.kinds.reports import read_reports
            from mldsa_lab.show.report import Look

            console.print()
            look = Look(options.baseline, options.clock, options.confidence)
            outputs = outputs.or_page(folder / "report.html").with_files([folder / "figures.json"])
            more = [] if is_full else [f"mldsa-lab report {outcome.record} --all"]
            outputs.show(read_reports([outcome.record], look), console, more, is_full=is_full)
    finally:
        show_path(console, "record", outcome.record)
    if outcome.is_interrupted:
        raise typer.Exit(shared.EXIT_INTERRUPTED)


def _check_faults(outcome: Outcome) -> None:
    """LabError for operations whose memory could not be measured."""
    from mldsa_lab.records import read_record

    # The gate's faults have no operation.
    if failed := [f for f in read_record(outcome.record).faults if f.operation is not None]:
        first = failed[0]
        raise LabError(
            f"{first.variant} {first.set} {first.operation}: {first.reason}; "
            f"{len(failed)} could not be measured, the rest is in the record"
        )


def _set_block(options: Options, block: BlockFile) -> Options:
    """Return the options of a block: its file names sets and implementations."""
    from dataclasses import replace

    from mldsa_lab.bench.options import GATE_SIZES, Profile
    from mldsa_lab.sets import parse_set_names

    profile = options.profile.name
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


def _skip_judging(record: Record) -> None:
    """Blocks, cold starts and memory have no precision to stop at."""


def _precision(clock: str, record: Record) -> Precision | None:
    """The precision of a record so far."""
    from mldsa_lab.bench.bench import Precision
    from mldsa_lab.estimate.summary import widest

    precision = widest(record, clock=clock)
    return None if precision is None else Precision(*precision)
