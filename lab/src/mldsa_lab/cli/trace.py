"""`mldsa-lab trace`."""

from __future__ import annotations

import secrets
import time
from pathlib import Path
from typing import Annotated, Literal

import typer


def trace(
    sets: Annotated[
        list[str] | None,
        typer.Argument(help="44, 65, 87, ml-dsa (all three) or full names.", metavar="SETS"),
    ] = None,
    count: Annotated[int, typer.Option("--count", "-n", help="Inputs of each set.", min=1)] = 10000,
    seed: Annotated[
        str | None,
        typer.Option(help="Text the inputs are derived from; drawn anew if not given."),
    ] = None,
    message_bytes: Annotated[int, typer.Option(help="Size of the messages.", min=0)] = 32,
    context_bytes: Annotated[int, typer.Option(help="Size of the contexts.", min=0, max=255)] = 0,
    per_key: Annotated[
        int,
        typer.Option(help="Inputs that share a key: 1 a key each, 0 one key for all.", min=0),
    ] = 1,
    rnd: Annotated[
        Literal["zero", "given"],
        typer.Option(help="rnd of each signature: zero, or 32 bytes of each input's own."),
    ] = "zero",
    inputs: Annotated[
        Path | None,
        typer.Option(
            help="Trace the inputs that this file lists (.csv or .jsonl with xi, message, and "
            "context, rnd, id where wanted) instead of generated ones.",
        ),
    ] = None,
    checks: Annotated[
        Literal["reached", "all"],
        typer.Option(help="reached: ct0 and hint where z and r0 pass; all: in every attempt."),
    ] = "reached",
    out: Annotated[Path, typer.Option(help="Folder for the pools, one file a set.")] = Path(
        "out/pools"
    ),
    processes: Annotated[
        int | None, typer.Option(help="Processes to trace with; by default all cores.", min=1)
    ] = None,
    dask: Annotated[
        str | None,
        typer.Option(
            help="Address of a Dask scheduler whose workers trace, tcp://host:8786.",
            metavar="ADDRESS",
        ),
    ] = None,
) -> None:
    """Trace signatures: which checks every attempt of every input fails, as Parquet."""
    from mldsa_lab.bench.options import parse_seed
    from mldsa_lab.cli.shared import console as make_console
    from mldsa_lab.cli.shared import show_path
    from mldsa_lab.errors import LabError
    from mldsa_lab.inputs.library import load
    from mldsa_lab.inputs.source import FromFile, Generated, Source
    from mldsa_lab.inputs.spec import Spec
    from mldsa_lab.inputs.tracing import make_pool
    from mldsa_lab.inputs.workforce import dask as dask_workforce
    from mldsa_lab.inputs.workforce import local
    from mldsa_lab.machine import cores_to_use
    from mldsa_lab.screen import Phase, Screen
    from mldsa_lab.sets import PARAMETER_SETS, parse_set_names
    from mldsa_lab.show.tallies import print_tallies

    names = parse_set_names(sets or ("ml-dsa",))
    for name in names:
        if name not in PARAMETER_SETS:
            raise LabError(f"set {name}: only ML-DSA signatures have traces")
    if inputs is not None and len(names) != 1:
        raise LabError("--inputs: name the one parameter set to sign with")
    chosen_seed = secrets.token_bytes(32) if seed is None else parse_seed(seed)
    console = make_console()
    screen = Screen(console)
    if dask is None:
        with screen.phase("library") as phase:
            load(phase.show)
    tallies = []
    paths = []
    with local(processes or cores_to_use()) if dask is None else dask_workforce(dask) as force:
        for name in names:
            source: Source
            if inputs is not None:
                source = FromFile(inputs, name)
            else:
                spec = Spec(name, chosen_seed, message_bytes, context_bytes, per_key, rnd)
                source = Generated(spec, count)
            path = out / f"{name.lower()}.parquet"
            began = time.monotonic()
            with screen.phase(name, total=source.count) as phase:

                def show(done: int, began: float = began, phase: Phase = phase) -> None:
                    rate = done / max(time.monotonic() - began, 1e-9)
                    phase.reach(done, f"{done:,} traces, {rate:,.0f} a second")

                tally = make_pool(source, path, force, checks, progress=show)
                phase.summary = f"{tally.signatures:,} traces"
            tallies.append(tally)
            paths.append(path)
    print_tallies(tallies, console)
    for path in paths:
        show_path(console, "pool", path)
