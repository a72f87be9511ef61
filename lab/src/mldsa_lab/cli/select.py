"""`mldsa-lab select`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from mldsa_lab.cli import shared

if TYPE_CHECKING:
    from rich.console import Console

    from mldsa_lab.choice.choice import SelectionRequest
    from mldsa_lab.inputs.library import Library
    from mldsa_lab.inputs.pool import Pool
    from mldsa_lab.inputs.selection import Selection
    from mldsa_lab.screen import Screen

_COUNT = 10
_LARGEST = 1_000_000  # traces of a pool that are looked at: more make no better choice
_SHOWN = 30
_OTHER_COLUMNS = 40  # characters of a line that the table's other columns need, at most
_OF_POOL = "message_bytes context_bytes per_key rnd seed pool_size"
"""Parameters of a generated pool."""
_OF_CHOICE = "pool cost_model max_attempts budget"
"""Parameters of the choice, beside the goal and the percentile."""


def select(
    ctx: typer.Context,
    set_name: Annotated[str, typer.Argument(help="44, 65, 87 or the full name.", metavar="SET")],
    goal: Annotated[
        Literal["regression", "mean", "percentile", "coverage", "greedy"] | None,
        typer.Option(
            help="regression (default): to fit costs of attempts; mean: to average; percentile: "
            "at a percentile; coverage: every path of signing; greedy: balanced pass rates, the "
            "nearest published method, for the mean or with --percentile.",
        ),
    ] = None,
    count: Annotated[
        int | None,
        typer.Option(
            "--count", "-n", help="Inputs to choose: 10, or for coverage the fewest.", min=1
        ),
    ] = None,
    percentile: Annotated[
        float | None, typer.Option(help="The percentile, above 0 and below 100.")
    ] = None,
    ready: Annotated[
        str | None,
        typer.Option(
            help="Take a ready-made selection: regression, mean, p5, p50, p95, p99 (-n 1, 2, 3, "
            "10, 100) or coverage.",
            metavar="NAME",
        ),
    ] = None,
    record: Annotated[
        Path | None,
        typer.Option(help="Take the inputs that this run of mldsa-lab bench chose and measured."),
    ] = None,
    pool: Annotated[
        Path | None,
        typer.Option(help="Choose from this pool (of mldsa-lab trace), not from that which ships."),
    ] = None,
    cost_model: Annotated[
        Path | None,
        typer.Option(help="Cost model for the goals mean and percentile (of mldsa-lab estimate)."),
    ] = None,
    max_attempts: Annotated[
        int | None, typer.Option(help="Most attempts of an input.", min=1)
    ] = None,
    budget: Annotated[
        int | None, typer.Option(help="Most attempts of all inputs together.", min=1)
    ] = None,
    message_bytes: shared.MessageBytes = None,
    context_bytes: shared.ContextBytes = None,
    per_key: shared.PerKey = None,
    rnd: shared.OwnRnd = None,
    seed: Annotated[
        str | None, typer.Option(help="Trace a fresh pool, with inputs derived from this text.")
    ] = None,
    pool_size: Annotated[
        int | None, typer.Option(help="Trace a fresh pool of so many inputs.", min=1)
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="Folder for the files; by default one of its own in out/selections."),
    ] = None,
    formats: Annotated[
        list[str] | None,
        typer.Option(help="json, rsp, c, c-hashes, readmemh; all if not given.", metavar="NAMES"),
    ] = None,
) -> None:
    """Choose the inputs to measure, by their rejection traces, with all that a target needs."""
    from mldsa_lab.choice.build import complete
    from mldsa_lab.choice.choice import SelectionRequest
    from mldsa_lab.choice.ready import read_ready
    from mldsa_lab.errors import LabError
    from mldsa_lab.files import check_folder
    from mldsa_lab.inputs.images import COMPACT_FORMATS, FORMATS, check_formats, write_images
    from mldsa_lab.inputs.library import LibraryMissing
    from mldsa_lab.screen import Screen
    from mldsa_lab.sets import parse_set_names
    from mldsa_lab.theory.cost_model import CostModel

    names = parse_set_names([set_name], ml_dsa=True)
    if len(names) != 1:
        raise LabError(f"set {set_name!r}: must be one of 44, 65, 87")
    (name,) = names
    chosen_formats = check_formats(shared.words(formats) or FORMATS)
    of_all = f"{_OF_POOL} goal percentile {_OF_CHOICE}"
    console = shared.console()
    screen = Screen(console)
    check_folder(out or Path("out/selections"))
    folder: list[str | int | None]
    if ready is not None:
        shared.refuse_given(ctx, "--ready", "is made already", f"{of_all} record")
    elif not shared.given_options(ctx, f"{_OF_POOL} {_OF_CHOICE} record"):
        ready = _stand_in(goal, percentile, count, screen)
    if ready is not None:
        wanted = _count(ready, count)
        selection = read_ready(name, ready, wanted)
        try:
            selection = complete(selection, _library(screen))
        except LibraryMissing as error:
            if formats and not set(chosen_formats) <= set(COMPACT_FORMATS):
                known = " and ".join(COMPACT_FORMATS)
                raise LabError(
                    f"--formats: without the library there are {known} alone: {error}"
                ) from None
            chosen_formats = chosen_formats if formats else COMPACT_FORMATS
            from rich.markup import escape

            screen.line(
                "library",
                "missing: a ready-made selection with digests of keys and signatures is written, "
                f"as {' and '.join(chosen_formats)}; {escape(str(error))}",
            )
        folder = [ready, wanted]
    elif record is not None:
        shared.refuse_given(ctx, "--record", "has its inputs already", f"{of_all} count")
        selection = _of_record(record, name, screen)
        folder = [record.absolute().parent.name]
    else:
        if pool is not None:
            shared.refuse_given(ctx, "--pool", "has its inputs already", _OF_POOL)
        aim = goal or ("regression" if percentile is None else "percentile")
        model = None if cost_model is None else CostModel.read(cost_model)
        request = SelectionRequest(aim, _count(aim, count), percentile, model, max_attempts, budget)
        if model is not None:
            model.check_set(name)
        selection = _chosen(name, request, ctx.params, screen)
        folder = [aim if percentile is None else f"p{percentile:g}", request.count]
    parts = (name.lower(), *(str(part) for part in folder if part is not None))
    target = out or Path("out/selections") / "-".join(parts)
    paths = write_images(selection, target, chosen_formats)
    _show(selection, console)
    for path in paths:
        shared.show_path(console, path.suffix.removeprefix("."), path)


def _count(goal: str, count: int | None) -> int | None:
    """The number of inputs; None, for the fewest that cover all, with the goal coverage alone."""
    return _COUNT if count is None and goal != "coverage" else count


def _of_record(path: Path, set_name: str, screen: Screen) -> Selection:
    """The inputs that a run chose and measured."""
    from mldsa_lab.bench.material import selection_of
    from mldsa_lab.errors import located
    from mldsa_lab.records import read_record

    found = read_record(path)
    with located(path):
        return selection_of(found, set_name, _library(screen))


def _chosen(
    set_name: str, request: SelectionRequest, params: Mapping[str, Any], screen: Screen
) -> Selection:
    """What is wished for, of the pool that the command's parameters name."""
    from mldsa_lab.choice.build import build
    from mldsa_lab.choice.choice import choose

    library = _library(screen)
    pool = _pool(set_name, params, screen)
    with screen.phase("choice", still=True) as phase:
        choice = choose(pool.table, pool.checks, request)
        phase.summary = f"{len(choice.positions)} of {len(pool):,} inputs"
    return build(pool, request, choice, library)


def _stand_in(
    goal: str | None, percentile: float | None, count: int | None, screen: Screen
) -> str | None:
    """The name of the ready-made selection for this goal, if there is no library to choose with
    and one is for it."""
    from mldsa_lab.choice.ready import request_for
    from mldsa_lab.errors import LabError
    from mldsa_lab.inputs.library import LibraryMissing

    name = (goal or "regression") if percentile is None else f"p{percentile:g}"
    try:
        request_for(name, _count(name, count))
        _library(screen)
    except LibraryMissing:
        return name
    except LabError:
        return None
    return None


def _library(screen: Screen) -> Library:
    from mldsa_lab.inputs.library import load

    with screen.phase("library") as phase:
        return load(phase.show)


def _pool(set_name: str, params: Mapping[str, Any], screen: Screen) -> Pool:
    """The pool to choose from: the one given, the one that ships if its inputs are those wanted,
    or a fresh one."""
    from msgspec.structs import replace

    from mldsa_lab.bench.options import parse_seed
    from mldsa_lab.errors import LabError
    from mldsa_lab.extras import has
    from mldsa_lab.inputs.shipped import SIZE, shipped_pool, shipped_spec
    from mldsa_lab.inputs.tracing import trace_pool
    from mldsa_lab.machine import cores_to_use

    path = params["pool"]
    if path is not None:
        from mldsa_lab.inputs.poolfile import read_pool

        pool = read_pool(path, limit=_LARGEST)
        if pool.set != set_name:
            raise LabError(f"pool {path}: is of {pool.set}, not of {set_name}")
        return pool
    shipped = shipped_spec(set_name)
    size = params["pool_size"] or SIZE
    spec = shared.changed_spec(shipped, params)
    if params["seed"] is not None:
        spec = replace(spec, seed=parse_seed(params["seed"]))
    # Without the package for its file the same pool is made anew.
    if spec == shipped and size == SIZE and has("pools"):
        return shipped_pool(set_name)
    with screen.phase("pool", total=size) as phase:
        pool = trace_pool(
            spec,
            size,
            threads=cores_to_use(),
            progress=lambda done: phase.reach(done, f"{done:,} traces"),
        )
        phase.summary = f"{size:,} traces"
    return pool


def _show(selection: Selection, console: Console) -> None:
    """What was chosen, and what to expect of it."""
    from rich.table import Table

    from mldsa_lab.files import convert
    from mldsa_lab.theory.cost_model import CostModel
    from mldsa_lab.theory.trace import format_trace

    model = (
        CostModel.default(selection.set)
        if selection.cost_model is None
        else convert(selection.cost_model, CostModel, "cost model")
    )
    table = Table(box=None, pad_edge=False, header_style="bold")
    for title in ("id", "attempts", "expected cost"):
        table.add_column(title, justify="right")
    table.add_column("trace", no_wrap=True)
    room = max(console.width - _OTHER_COLUMNS, 10)
    costs = model.costs(selection.counts())
    for item, cost in list(zip(selection.inputs, costs, strict=True))[:_SHOWN]:
        trace = format_trace(item.trace)
        shown = trace if len(trace) <= room else f"{trace[: room - 1]}…"
        table.add_row(str(item.id), str(len(item.trace)), f"{cost:.2f}", shown)
    console.print(table)
    if len(selection.inputs) > _SHOWN:
        console.print(f"and {len(selection.inputs) - _SHOWN} more", highlight=False)
    attempts = sum(len(item.trace) for item in selection.inputs)
    console.print(
        f"{len(selection.inputs)} inputs, {attempts} attempts; costs in {model.unit} "
        f"of {model.source or 'the cost model'}",
        highlight=False,
        markup=False,
        soft_wrap=True,
    )
    for what, value in ((selection.provenance or {}).get("expected") or {}).items():
        shared.show_named(console, what, f": {_text(value)}")


def _text(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {_text(part)}" for name, part in value.items())
    if isinstance(value, list):
        return "; ".join(str(part) for part in value) or "none"
    if isinstance(value, float):
        return f"{value:.4g}"
    return str(value)
