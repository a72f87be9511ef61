"""`mldsa-lab memory`."""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import Annotated, Literal

import typer

from mldsa_lab.bench.options import (
    Options,
    Profile,
    parse_batch_sizes,
    parse_operations,
    parse_seed,
    parse_thread_counts,
)
from mldsa_lab.cli.shared import EXIT_INTERRUPTED, SeedText, show_path, words
from mldsa_lab.cli.shared import console as make_console
from mldsa_lab.errors import LabError
from mldsa_lab.extras import need
from mldsa_lab.files import check_target
from mldsa_lab.machine import cores_to_use
from mldsa_lab.records import Record, read_record
from mldsa_lab.records.reference import DEFAULT_REFERENCE
from mldsa_lab.screen import Screen
from mldsa_lab.sets import PARAMETER_SETS, USUAL_OPERATIONS, parse_set_names

_STANDARD_OUTPUT = "-"


def memory(
    record: Annotated[
        Path | None,
        typer.Argument(help="Show what this record holds, and measure nothing.", metavar="RECORD"),
    ] = None,
    sets: Annotated[
        list[str] | None,
        typer.Option(help="As of bench; ML-DSA's three unless given.", metavar="NAMES"),
    ] = None,
    operations: Annotated[
        list[str] | None, typer.Option(help="As of bench.", metavar="NAMES")
    ] = None,
    implementations: Annotated[
        list[str] | None, typer.Option(help="As of bench.", metavar="NAMES")
    ] = None,
    workers: Annotated[
        list[str] | None,
        typer.Option(help="Workers of the registry; all: every one.", metavar="NAMES"),
    ] = None,
    build: Annotated[
        Literal["default", "tuned", "both"], typer.Option(help="As of bench.")
    ] = "default",
    traffic: Annotated[
        bool,
        typer.Option(
            "--traffic",
            help="Bytes read and written and misses of caches too, by Valgrind: four runs of the "
            "worker for each line.",
        ),
    ] = False,
    batch_sizes: Annotated[
        list[str] | None,
        typer.Option(help="Calls of batch interfaces too, of these sizes.", metavar="NUMBERS"),
    ] = None,
    thread_counts: Annotated[
        list[str] | None,
        typer.Option(
            help="Calls of batch interfaces on these numbers of threads too.", metavar="NUMBERS"
        ),
    ] = None,
    seed: SeedText = None,
    json_path: Annotated[
        str | None,
        typer.Option(
            "--json", help="Write the rows to this file; - for standard output alone.",
            metavar="PATH",
        ),
    ] = None,
    markdown: Annotated[
        str | None,
        typer.Option(
            help="Write the tables as Markdown to this file; - for standard output alone.",
            metavar="PATH",
        ),
    ] = None,
    page: Annotated[
        Path | None,
        typer.Option(help="The page with plots; by default memory.html beside the record."),
    ] = None,
    no_page: Annotated[bool, typer.Option("--no-page", help="Write no page.")] = False,
    out: Annotated[
        Path, typer.Option(help="Folder in which the run gets a folder of its own.")
    ] = Path("out"),
    timeout: Annotated[
        float, typer.Option(help="Seconds a worker has for one request.", min=0.5)
    ] = 300.0,
    registry: Annotated[
        Path | None, typer.Option(help="Take the workers from this registry file.")
    ] = None,
) -> None:  # fmt: skip
    """Measure what operations take of stack and heap, and what they read and write."""
    from rich.console import Console

    from mldsa_lab.cli.shared import refuse_beside
    from mldsa_lab.show.figure_report import show_figures
    from mldsa_lab.show.present import ReportFiles

    single = {"json": json_path, "markdown": markdown}
    for given in (*single.values(), page):
        if given not in (None, _STANDARD_OUTPUT):
            check_target(Path(given))
    quiet = _STANDARD_OUTPUT in single.values()
    if not no_page and not quiet:
        need("page", "the page")
    console = Console(stderr=True) if quiet else make_console()
    interrupted = False
    if record is not None:
        asked: dict[str, object] = {
            "--sets": sets, "--operations": operations, "--implementations": implementations,
            "--workers": workers, "--traffic": traffic or None, "--seed": seed,
            "--registry": registry, "--batch-sizes": batch_sizes, "--thread-counts": thread_counts,
        }  # fmt: skip
        refuse_beside("RECORD", "is shown as it is", asked)
        path = record
    else:
        from mldsa_lab.bench.bench import run_bench
        from mldsa_lab.bench.material import input_sizes

        need("bench", "memory")
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
            batch_sizes=parse_batch_sizes(batch_sizes or ()),
            thread_counts=parse_thread_counts(thread_counts, cores_to_use())
            if thread_counts
            else (),
            memory="traffic" if traffic else "stack-heap",
        )
        outcome = run_bench(options, Screen(console), _no_precision)
        path, interrupted = outcome.record, outcome.interrupted
    found = None if record is None and not outcome.samples else read_record(path)
    if found is not None:
        files = {n: Path(p) for n, p in single.items() if p not in (None, _STANDARD_OUTPUT)}
        shown = None if no_page or quiet else page or path.parent / "memory.html"
        outputs = ReportFiles(shown, files.get("json"), None, files.get("markdown"))
        texts = show_figures(path, 0.95, console, outputs, tables=not quiet)
        if quiet:
            print(texts[0 if markdown == _STANDARD_OUTPUT else 1], end="")
        for title, written in outputs.named():
            show_path(console, title, written)
    show_path(console, "record", path)
    if interrupted:
        raise typer.Exit(EXIT_INTERRUPTED)
    faults = [] if found is None or record is not None else found.faults
    if failed := [f for f in faults if f.operation is not None]:  # the gate's have none
        first = failed[0]
        raise LabError(
            f"{first.variant} {first.set} {first.operation}: {first.reason}; "
            f"{len(failed)} could not be measured, the rest is in the record"
        )


def _no_precision(record: Record) -> None:
    """Memory has no precision to stop at."""
