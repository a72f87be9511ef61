"""`mldsa-lab select`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, NamedTuple

import typer

if TYPE_CHECKING:
    from rich.console import Console

    from mldsa_lab.inputs.library import Library
    from mldsa_lab.inputs.pool import Pool
    from mldsa_lab.inputs.selection import Selection
    from mldsa_lab.screen import Screen

_COUNT = 10
_LARGEST = 1_000_000  # traces of a pool that are looked at: more make no better choice
_SHOWN = 30
_OTHER_COLUMNS = 40  # characters of a line that the table's other columns need, at most
_OF_SPEC = ("message_bytes", "context_bytes", "per_key", "rnd")


class _Inputs(NamedTuple):
    """Options that say which inputs a pool is to have."""

    message_bytes: int | None
    context_bytes: int | None
    per_key: int | None
    rnd: Literal["zero", "given"] | None
    seed: str | None
    pool_size: int | None

    def given(self) -> dict[str, object]:
        """By the names of the options."""
        return {f"--{name.replace('_', '-')}": value for name, value in self._asdict().items()}


def select(
    set_name: Annotated[str, typer.Argument(help="44, 65, 87 or the full name.", metavar="SET")],
    goal: Annotated[
        Literal["regression", "mean", "percentile", "coverage"] | None,
        typer.Option(
            help="regression (default): to fit costs of attempts; mean: to average; percentile: "
            "at a percentile; coverage: every path of signing.",
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
    message_bytes: Annotated[
        int | None, typer.Option(help="Size of the messages, 32 if not given.", min=0)
    ] = None,
    context_bytes: Annotated[
        int | None, typer.Option(help="Size of the contexts, 0 if not given.", min=0, max=255)
    ] = None,
    per_key: Annotated[
        int | None,
        typer.Option(help="Inputs that share a key: 1 (default) a key each, 0 one key.", min=0),
    ] = None,
    rnd: Annotated[
        Literal["zero", "given"] | None,
        typer.Option(help="rnd of each signature: zero (default), or 32 bytes of its own."),
    ] = None,
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
        typer.Option(help="json, rsp, c, readmemh; all if not given.", metavar="NAMES"),
    ] = None,
) -> None:
    """Choose the inputs to measure, by their rejection traces, with all that a target needs."""
    from mldsa_lab.choice.build import build, complete
    from mldsa_lab.choice.choice import Wish, choose
    from mldsa_lab.choice.ready import read_ready
    from mldsa_lab.cli.shared import console as make_console
    from mldsa_lab.cli.shared import show_path, words
    from mldsa_lab.errors import LabError
    from mldsa_lab.inputs.images import FORMATS, write_images
    from mldsa_lab.screen import Screen
    from mldsa_lab.sets import PARAMETER_SETS, parse_set_names
    from mldsa_lab.theory.cost_model import CostModel

    names = parse_set_names([set_name])
    if len(names) != 1 or names[0] not in PARAMETER_SETS:
        raise LabError(f"set {set_name!r}: must be one of 44, 65, 87")
    (name,) = names
    chosen_formats = words(formats) or FORMATS
    for form in chosen_formats:
        if form not in FORMATS:
            raise LabError(f"format {form!r}: must be one of {', '.join(FORMATS)}")
    of_inputs = _Inputs(message_bytes, context_bytes, per_key, rnd, seed, pool_size)
    console = make_console()
    screen = Screen(console)
    if ready is not None:
        _only(
            "--ready",
            "is made already",
            of_inputs.given()
            | {
                "--goal": goal,
                "--percentile": percentile,
                "--pool": pool,
                "--cost-model": cost_model,
                "--max-attempts": max_attempts,
                "--budget": budget,
            },
        )
        wanted = _COUNT if count is None and ready != "coverage" else count
        found = read_ready(name, ready, wanted)
        library = _library(screen)
        selection = complete(found, library)
        folder = f"{name.lower()}-{ready}" + ("" if wanted is None else f"-{wanted}")
    else:
        if pool is not None:
            _only("--pool", "has its inputs already", of_inputs.given())
        aim = goal or ("regression" if percentile is None else "percentile")
        wish = Wish(
            aim,
            _COUNT if count is None and aim != "coverage" else count,
            percentile,
            None if cost_model is None else CostModel.read(cost_model),
            max_attempts,
            budget,
        )
        if wish.cost_model is not None:
            wish.cost_model.check_set(name)
        library = _library(screen)
        candidates = _pool(name, pool, of_inputs, library, screen)
        with screen.phase("choice", still=True) as phase:
            choice = choose(candidates.table, candidates.checks, wish)
            phase.summary = f"{len(choice.positions)} of {len(candidates):,} inputs"
        selection = build(candidates, wish, choice, library)
        folder = "-".join(
            [
                name.lower(),
                aim if percentile is None else f"p{percentile:g}",
                *([] if wish.count is None else [str(wish.count)]),
            ]
        )
    paths = write_images(selection, out or Path("out/selections") / folder, chosen_formats)
    _show(selection, console)
    for path in paths:
        show_path(console, path.suffix.removeprefix("."), path)


def _only(option: str, reason: str, others: dict[str, object]) -> None:
    """LabError if one of the ``others`` is given beside ``option``."""
    from mldsa_lab.errors import LabError

    for other, value in others.items():
        if value is not None:
            raise LabError(f"{other}: cannot be used with {option}, which {reason}")


def _library(screen: Screen) -> Library:
    from mldsa_lab.inputs.library import load

    with screen.phase("library") as phase:
        return load(phase.show)


def _pool(
    set_name: str, path: Path | None, wanted: _Inputs, library: Library, screen: Screen
) -> Pool:
    """The pool to choose from: the one given, the one that ships if its inputs are those wanted,
    or a fresh one."""
    from mldsa_lab.bench.options import parse_seed
    from mldsa_lab.errors import LabError
    from mldsa_lab.inputs.pool import read_pool
    from mldsa_lab.inputs.shipped import SIZE, shipped_pool, shipped_spec, trace_pool
    from mldsa_lab.machine import cores_to_use

    if path is not None:
        pool = read_pool(path, limit=_LARGEST)
        if pool.set != set_name:
            raise LabError(f"pool {path}: is of {pool.set}, not of {set_name}")
        return pool
    shipped = shipped_spec(set_name)

    fields = wanted._asdict()
    size = SIZE if wanted.pool_size is None else wanted.pool_size
    spec = replace(
        shipped,
        seed=shipped.seed if wanted.seed is None else parse_seed(wanted.seed),
        **{name: fields[name] for name in _OF_SPEC if fields[name] is not None},
    )
    if spec == shipped and size == SIZE:
        return shipped_pool(set_name)
    with screen.phase("pool", total=size) as phase:
        pool = trace_pool(
            spec,
            size,
            library,
            threads=cores_to_use(),
            progress=lambda done: phase.reach(done, f"{done:,} traces"),
        )
        phase.summary = f"{size:,} traces"
    return pool


def _show(selection: Selection, console: Console) -> None:
    """What was chosen, and what to expect of it."""
    from rich.table import Table

    from mldsa_lab.theory.cost_model import CostModel
    from mldsa_lab.theory.trace import format_trace

    model = (
        CostModel.default(selection.set)
        if selection.cost_model is None
        else CostModel.from_json(selection.cost_model, "cost model")
    )
    table = Table(box=None, pad_edge=False, header_style="bold")
    for title in ("id", "attempts", "expected cost"):
        table.add_column(title, justify="right")
    table.add_column("trace", no_wrap=True)
    room = max(console.width - _OTHER_COLUMNS, 10)
    costs = model.of(selection.counts())
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
        soft_wrap=True,
    )
    for what, value in ((selection.made or {}).get("expected") or {}).items():
        console.print(f"[bold]{what}[/]: {_text(value)}", highlight=False, soft_wrap=True)


def _text(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {_text(part)}" for name, part in value.items())
    if isinstance(value, list):
        return "; ".join(str(part) for part in value) or "none"
    if isinstance(value, float):
        return f"{value:.4g}"
    return str(value)
