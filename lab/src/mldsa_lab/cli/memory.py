"""`mldsa-lab memory`."""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import Annotated

import typer

from mldsa_lab.bench.options import (
    Options,
    Profile,
    parse_batch_sizes,
    parse_operations,
    parse_seed,
    parse_thread_counts,
)
from mldsa_lab.cli import shared
from mldsa_lab.cli.bench import no_precision, show_outcome
from mldsa_lab.cli.shared import words
from mldsa_lab.errors import LabError
from mldsa_lab.extras import need
from mldsa_lab.files import check_target
from mldsa_lab.machine import cores_to_use
from mldsa_lab.records import read_record
from mldsa_lab.records.reference import DEFAULT_REFERENCE
from mldsa_lab.screen import Screen
from mldsa_lab.sets import PARAMETER_SETS, USUAL_OPERATIONS, parse_set_names


def memory(
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
    from mldsa_lab.bench.material import input_sizes

    if record is not None:
        raise LabError(f"{record}: `mldsa-lab report {record}` shows a record")
    if json_path is not None:
        check_target(json_path)
    need("bench", "memory")
    if not no_page:
        need("page", "the page")
    options = Options(
        sets=parse_set_names(sets or PARAMETER_SETS),
        operations=parse_operations(operations or USUAL_OPERATIONS),
        implementations=words(implementations),
        workers=words(workers),
        profile=Profile("custom", 0.0, 1, 1),
        rounds=1,
        sizes=input_sizes(32),
        reference=DEFAULT_REFERENCE,
        clock="cpu",
        confidence=0.95,
        seed=secrets.token_bytes(32) if seed is None else parse_seed(seed),
        timeout=timeout,
        out=out,
        registry=registry,
        build=build,
        batch_sizes=parse_batch_sizes(batch or ()),
        thread_counts=parse_thread_counts(threads or (), cores_to_use()),
        workload="memory",
        traffic=traffic,
    )
    console = shared.console()
    outcome = run_bench(options, Screen(console), no_precision)
    show_outcome(outcome, options, console, no_page, json_path)
    # The gate's faults have no operation.
    if failed := [f for f in read_record(outcome.record).faults if f.operation is not None]:
        first = failed[0]
        raise LabError(
            f"{first.variant} {first.set} {first.operation}: {first.reason}; "
            f"{len(failed)} could not be measured, the rest is in the record"
        )
