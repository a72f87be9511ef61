"""`mldsa-lab trace`."""

from __future__ import annotations

import secrets
import time
from pathlib import Path
from typing import Annotated, Literal

import typer

from mldsa_lab.cli import shared

_COUNT = 10_000
_GENERATED = "count seed message_bytes context_bytes per_key rnd"
"""Parameters of generated inputs."""


def trace(
    ctx: typer.Context,
    sets: Annotated[
        list[str] | None,
        typer.Argument(help="44, 65, 87, ml-dsa (all three) or full names.", metavar="SETS"),
    ] = None,
    count: Annotated[
        int | None,
        typer.Option("--count", "-n", help="Inputs of each set, 10000 if not given.", min=1),
    ] = None,
    seed: shared.SeedText = None,
    message_bytes: shared.MessageBytes = None,
    context_bytes: shared.ContextBytes = None,
    per_key: shared.PerKey = None,
    rnd: shared.OwnRnd = None,
    inputs: Annotated[
        Path | None,
        typer.Option(
            help="Trace the inputs that this file lists (.csv or .jsonl with xi or sk, message, "
            "and context, rnd, id where wanted) instead of generated ones.",
        ),
    ] = None,
    checks: Annotated[
        Literal["reached", "all"],
        typer.Option(help="reached: ct0 and hint where z and r0 pass; all: in every attempt."),
    ] = "reached",
    out: Annotated[Path, typer.Option(help="Folder for the pools, one file a set.")] = Path(
        "out/pools"
    ),
    processes: shared.ProcessesOption = None,
) -> None:
    """Trace signatures: the failed checks of every iteration. Writes Parquet files."""
    from mldsa_lab import LabError
    from mldsa_lab.bench.options import parse_seed
    from mldsa_lab.files import check_folder, check_target
    from mldsa_lab.inputs.input import Spec
    from mldsa_lab.inputs.pool import FromFile, Generated, Source
    from mldsa_lab.inputs.tracing import load, make_pool
    from mldsa_lab.parallel import is_scheduler, process_pool
    from mldsa_lab.plugins import need
    from mldsa_lab.screen import Phase, Screen, print_end
    from mldsa_lab.sets import parse_set_names
    from mldsa_lab.show.estimation import print_tallies

    names = parse_set_names(sets or ("ml-dsa",), is_ml_dsa_only=True)
    if inputs is not None:
        if len(names) != 1:
            raise LabError("--inputs: name the one parameter set to sign with")
        shared.reject_options(ctx, "--inputs", "lists the inputs", _GENERATED)
    check_folder(out)
    targets = {name: out / f"{name.lower()}.parquet" for name in names}
    if out.exists():
        for path in targets.values():
            check_target(path)
    chosen_seed = secrets.token_bytes(32) if seed is None else parse_seed(seed)
    console = shared.console()
    screen = Screen(console)
    need("dask" if is_scheduler(processes) else "pools", "trace")
    if not is_scheduler(processes):
        with screen.phase("library") as phase:
            load(phase.show)
    tallies = []
    with process_pool(processes) as force:
        for name in names:
            source: Source
            if inputs is not None:
                source = FromFile(inputs, name)
            else:
                spec = shared.change_spec(Spec(name, chosen_seed), ctx.params)
                source = Generated(spec, count or _COUNT)
            began = time.monotonic()
            with screen.phase(name, total=source.count) as phase:

                def show(done: int, began: float = began, phase: Phase = phase) -> None:
                    rate = done / max(time.monotonic() - began, 1e-9)
                    phase.reach(done, f"{done:,} traces, {rate:,.0f} a second")

                tally = make_pool(source, targets[name], force, checks, progress=show)
                phase.summary = f"{tally.signatures:,} traces"
            tallies.append(tally)
    print_tallies(tallies, console)
    print_end(
        console,
        f"{sum(tally.signatures for tally in tallies):,} signatures are traced.",
        commands=[f"mldsa-lab select {name} --from {path}" for name, path in targets.items()],
        files=[("pool", path) for path in targets.values()],
    )
