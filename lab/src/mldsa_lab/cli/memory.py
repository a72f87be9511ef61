"""`mldsa-lab memory`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from mldsa_lab import LabError
from mldsa_lab.bench.options import Profile
from mldsa_lab.cli import shared
from mldsa_lab.cli.bench import no_precision, options_of, show_outcome
from mldsa_lab.plugins import need
from mldsa_lab.records import read_record
from mldsa_lab.screen import Screen
from mldsa_lab.sets import PARAMETER_SETS, parse_set_names


def memory(
    ctx: typer.Context,
    record: Annotated[str | None, typer.Argument(hidden=True)] = None,
    sets: shared.SetsOption = None,
    operations: shared.OperationsOption = None,
    implementations: shared.ImplementationsOption = None,
    workers: shared.WorkersOption = None,
    build: shared.BuildOption = "default",
    traffic: Annotated[
        bool,
        typer.Option(
            "--traffic",
            help="Bytes read and written and misses of caches too, by Valgrind: four runs of the "
            "worker for each line.",
        ),
    ] = False,
    batch: shared.BatchOption = None,
    threads: shared.ThreadsOption = None,
    seed: shared.SeedText = None,
    json_path: shared.JsonOption = None,
    no_page: shared.NoPageOption = False,
    out: shared.OutOption = Path("out"),
    timeout: shared.TimeoutOption = 300.0,
    registry: shared.RegistryOption = None,
) -> None:
    """Measure what operations take of stack and heap, and what they read and write."""
    from mldsa_lab.bench.bench import run_bench
    from mldsa_lab.bench.options import Sizes
    from mldsa_lab.kinds.memory import MemoryPlan

    if record is not None:
        raise LabError(f"{record}: `mldsa-lab report {record}` shows a record")
    outputs = shared.OutputOptions(no_page, json_path).check()
    need("bench", "memory")
    options = options_of(
        ctx.params,
        parse_set_names(sets or PARAMETER_SETS),
        profile=Profile("custom", 0.0, 1, 1),
        rounds=1,
        sizes=Sizes(),
    )
    console = shared.console()
    outcome = run_bench(options, Screen(console), no_precision, MemoryPlan)
    show_outcome(outcome, options, console, outputs)
    # The gate's faults have no operation.
    if failed := [f for f in read_record(outcome.record).faults if f.operation is not None]:
        first = failed[0]
        raise LabError(
            f"{first.variant} {first.set} {first.operation}: {first.reason}; "
            f"{len(failed)} could not be measured, the rest is in the record"
        )
