"""`mldsa-lab select`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mldsa_lab.cli import shared

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from mldsa_lab.choice.choice import SelectionRequest
    from mldsa_lab.inputs.pool import Pool
    from mldsa_lab.inputs.selection import Selection
    from mldsa_lab.inputs.tracing import Library
    from mldsa_lab.screen import Screen

_COUNT = 10
_LARGEST = 1_000_000  # traces of a pool that are looked at: more make no better choice
_SHOWN = 30
_OTHER_COLUMNS = 40  # characters of a line that the table's other columns need, at most
_READY, _POOL_ENDING = "ready", ".parquet"
_GOALS = ("regression", "mean", "coverage", "greedy")
_CHOICE_OPTIONS = "cost_model max_attempts budget"
"""Parameters of the choice, besides goal and count."""


def select(
    ctx: typer.Context,
    set_name: Annotated[str, typer.Argument(help="44, 65, 87 or the full name.", metavar="SET")],
    goal: Annotated[
        str,
        typer.Option(
            help="regression: to fit costs of attempts; mean: to average; pNUMBER: at a "
            "percentile, as p99; coverage: every path of signing; greedy: balanced pass rates, the "
            "nearest published method, for the mean, or greedy-pNUMBER for a percentile.",
            metavar="GOAL",
        ),
    ] = "regression",
    count: Annotated[
        int | None,
        typer.Option(
            "--count", "-n", help="Inputs to choose: 10, or for coverage the fewest.", min=1
        ),
    ] = None,
    source: Annotated[
        str | None,
        typer.Option(
            "--from",
            help="ready: a ready-made selection, for regression, mean, p5, p50, p95, p99 (-n 1, 2, "
            "3, 10, 100) or coverage; POOL.parquet: a pool of mldsa-lab trace, not the one that "
            "ships; RECORD.jsonl: the inputs that this run of mldsa-lab bench measured.",
            metavar="SOURCE",
        ),
    ] = None,
    cost_model: Annotated[
        Path | None,
        typer.Option(help="Cost model for mean and percentiles (of mldsa-lab estimate)."),
    ] = None,
    max_attempts: Annotated[
        int | None, typer.Option(help="Most attempts of an input.", min=1)
    ] = None,
    budget: Annotated[
        int | None, typer.Option(help="Most attempts of all inputs together.", min=1)
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
    """Choose the inputs to measure, by their rejection traces. Writes all that a target needs."""
    from mldsa_lab import LabError
    from mldsa_lab.files import check_folder
    from mldsa_lab.inputs.selection import FORMATS, check_formats, write_images
    from mldsa_lab.screen import Screen
    from mldsa_lab.sets import parse_set_names

    names = parse_set_names([set_name], is_ml_dsa_only=True)
    if len(names) != 1:
        raise LabError(f"set {set_name!r}: must be one of 44, 65, 87")
    (name,) = names
    chosen_formats = check_formats(shared.words(formats) or FORMATS)
    console = shared.console()
    screen = Screen(console)
    check_folder(out or Path("out/selections"))
    number = _COUNT if count is None and goal != "coverage" else count
    folder = [goal, *([] if number is None else [str(number)])]
    is_plain = not (source or shared.find_options(ctx, _CHOICE_OPTIONS))
    if source == _READY or (is_plain and _should_stand_in(goal, number, screen)):
        shared.reject_options(ctx, "--from ready", "is made already", _CHOICE_OPTIONS)
        selection, chosen_formats = _read_ready(
            name, goal, number, chosen_formats, screen, is_strict=bool(formats)
        )
    elif source is not None and not source.endswith(_POOL_ENDING):
        refused = f"goal count {_CHOICE_OPTIONS}"
        shared.reject_options(ctx, f"--from {source}", "has its inputs already", refused)
        selection = _read_record_inputs(Path(source), name, screen)
        folder = [Path(source).absolute().parent.name]
    else:
        request = _make_request(name, goal, number, cost_model, max_attempts, budget)
        selection = _choose(name, request, source, screen)
    target = out or Path("out/selections") / "-".join([name.lower(), *folder])
    paths = write_images(selection, target, chosen_formats)
    _show(selection, paths, console)


def _make_request(
    set_name: str,
    goal: str,
    count: int | None,
    cost_model: Path | None,
    max_attempts: int | None,
    budget: int | None,
) -> SelectionRequest:
    """Return the request that the options make.

    LabError for an unknown goal, or another set's cost model.
    """
    from mldsa_lab import LabError
    from mldsa_lab.choice.choice import SelectionRequest
    from mldsa_lab.theory.law import CostModel

    percentile = None
    name, mark, number = goal.rpartition("p")
    if mark and name in ("", "greedy-"):
        try:
            percentile = float(number)
        except ValueError:
            raise LabError(f"--goal {goal}: {number!r} is no number") from None
        goal = name.removesuffix("-") or "percentile"
    elif goal not in _GOALS:
        raise LabError(f"--goal {goal}: must be {', '.join(_GOALS)}, p99 or greedy-p99")
    model = None if cost_model is None else CostModel.read(cost_model)
    request = SelectionRequest(goal, count, percentile, model, max_attempts, budget)
    if model is not None:
        model.check_set(set_name)
    return request


def _read_ready(
    set_name: str,
    goal: str,
    count: int | None,
    formats: tuple[str, ...],
    screen: Screen,
    *,
    is_strict: bool,
) -> tuple[Selection, tuple[str, ...]]:
    """A ready-made selection, and the formats that it can be written in.

    LabError if there is no library for formats that were asked for (``is_strict``).
    """
    from rich.markup import escape

    from mldsa_lab import LabError
    from mldsa_lab.choice.choice import complete, read_ready
    from mldsa_lab.inputs.selection import COMPACT_FORMATS
    from mldsa_lab.inputs.tracing import LibraryMissing

    selection = read_ready(set_name, goal, count)
    try:
        return complete(selection, _load_library(screen)), formats
    except LibraryMissing as error:
        known = " and ".join(COMPACT_FORMATS)
        if is_strict and not set(formats) <= set(COMPACT_FORMATS):
            raise LabError(
                f"--formats: without the library there are {known} only: {error}"
            ) from None
        formats = formats if is_strict else COMPACT_FORMATS
        screen.line(
            "library",
            "missing: a ready-made selection with digests of keys and signatures is written, "
            f"as {' and '.join(formats)}; {escape(str(error))}",
        )
        return selection, formats


def _read_record_inputs(path: Path, set_name: str, screen: Screen) -> Selection:
    """The inputs that a run chose and measured."""
    from mldsa_lab import located
    from mldsa_lab.bench.material import selection_of
    from mldsa_lab.records import read_record

    record = read_record(path)
    with located(path):
        return selection_of(record, set_name, _load_library(screen))


def _choose(
    set_name: str, request: SelectionRequest, source: str | None, screen: Screen
) -> Selection:
    """Choose and sign the inputs, from a pool file or the pool that ships."""
    from mldsa_lab.choice.choice import build, choose

    library = _load_library(screen)
    pool = _read_shipped(set_name, screen) if source is None else _read_pool(set_name, Path(source))
    with screen.phase("choice", still=True) as phase:
        choice = choose(pool.table, pool.checks, request)
        phase.summary = f"{len(choice.positions)} of {len(pool):,} inputs"
    return build(pool, request, choice, library)


def _should_stand_in(goal: str, count: int | None, screen: Screen) -> bool:
    """Return whether a ready-made selection is for this goal, and no library to choose with."""
    from mldsa_lab import LabError
    from mldsa_lab.choice.choice import request_for
    from mldsa_lab.inputs.tracing import LibraryMissing

    try:
        request_for(goal, count)
        _load_library(screen)
    except LibraryMissing:
        return True
    except LabError:
        pass
    return False


def _load_library(screen: Screen) -> Library:
    from mldsa_lab.inputs.tracing import load

    with screen.phase("library") as phase:
        return load(phase.show)


def _read_pool(set_name: str, path: Path) -> Pool:
    from mldsa_lab import LabError
    from mldsa_lab.inputs.pool import read_pool

    pool = read_pool(path, limit=_LARGEST)
    if pool.set != set_name:
        raise LabError(f"pool {path}: is of {pool.set}, not of {set_name}")
    return pool


def _read_shipped(set_name: str, screen: Screen) -> Pool:
    """The pool that ships; without the package for its file, the same is traced anew."""
    from mldsa_lab.inputs.tracing import SIZE, shipped_pool, shipped_spec, trace_pool
    from mldsa_lab.machine import cores_to_use
    from mldsa_lab.plugins import has

    if has("pools"):
        return shipped_pool(set_name)
    with screen.phase("pool", total=SIZE) as phase:
        pool = trace_pool(
            shipped_spec(set_name),
            SIZE,
            threads=cores_to_use(),
            progress=lambda done: phase.reach(done, f"{done:,} traces"),
        )
        phase.summary = f"{SIZE:,} traces"
    return pool


def _show(selection: Selection, paths: Sequence[Path], console: Console) -> None:
    """Print the inputs, the expected properties of estimates, the next command and the files."""
    from rich.table import Table

    from mldsa_lab.files import convert
    from mldsa_lab.screen import print_end
    from mldsa_lab.theory.law import CostModel
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
    iterations = sum(len(item.trace) for item in selection.inputs)
    expected = (selection.provenance or {}).get("expected") or {}
    print_end(
        console,
        f"{len(selection.inputs)} inputs, {iterations} attempts.",
        [
            f"Costs in {model.unit} of {model.source or 'the cost model'}.",
            *(f"{name}: {_format_value(value)}" for name, value in expected.items()),
            "Sign each input, and write id,cost,unit to measurements.csv.",
        ],
        commands=[f"mldsa-lab estimate {p} measurements.csv" for p in paths if p.suffix == ".json"],
        files=[(path.suffix.removeprefix("."), path) for path in paths],
    )


def _format_value(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {_format_value(part)}" for name, part in value.items())
    if isinstance(value, list):
        return "; ".join(str(part) for part in value) or "none"
    if isinstance(value, float):
        return f"{value:.4g}"
    return str(value)
