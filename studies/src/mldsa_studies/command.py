"""The commands of `mldsa-lab study`."""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Literal

import typer

app = typer.Typer(no_args_is_help=True, rich_markup_mode="rich", pretty_exceptions_enable=False)

_DRAWS, _INPUTS, _ROUNDS, _POOL = 40, 1500, 9, 100_000
_QUICK_DRAWS, _QUICK_INPUTS, _QUICK_ROUNDS = 12, 400, 3


@app.command()
def estimators(
    data: Annotated[
        list[Path] | None,
        typer.Option(
            help="Evaluate these files of costs (or all in these folders), measuring nothing.",
            metavar="PATHS",
        ),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Few inputs, rounds and draws: a look, not a result.")
    ] = False,
    sets: Annotated[
        list[str] | None,
        typer.Option(help="44, 65, 87, ml-dsa (all three) or full names.", metavar="NAMES"),
    ] = None,
    implementations: Annotated[
        list[str] | None,
        typer.Option(help="Implementations or variant ids.", metavar="NAMES"),
    ] = None,
    inputs: Annotated[
        int | None, typer.Option(help="Random inputs to measure of each set.", min=40)
    ] = None,
    rounds: Annotated[
        int | None, typer.Option(help="Rounds to time the inputs in; 0: no times.", min=0)
    ] = None,
    counts: Annotated[
        bool, typer.Option(help="Count instructions too, which takes Valgrind.")
    ] = True,
    sizes: Annotated[
        list[str] | None, typer.Option(help="Numbers n of inputs to estimate from.", metavar="N")
    ] = None,
    methods: Annotated[
        list[str] | None,
        typer.Option(help="random, greedy, balanced, regression; all by default.", metavar="NAMES"),
    ] = None,
    draws: Annotated[
        int | None, typer.Option(help="Draws of each method; a quarter for n from 50 on.", min=2)
    ] = None,
    pool: Annotated[
        int, typer.Option(help="Candidates of the greedy method; 100,000 as published.", min=3)
    ] = _POOL,
    draw_seed: Annotated[int, typer.Option(help="Seed of the draws.", min=0)] = 1,
    seed: Annotated[
        str | None,
        typer.Option(help="Text the inputs are derived from; drawn anew if not given."),
    ] = None,
    processes: Annotated[
        int | None, typer.Option(help="Processes that evaluate; by default all cores.", min=1)
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder for costs, page, plots and table.")] = Path(
        "out/study"
    ),
    json_path: Annotated[
        Path | None,
        typer.Option("--json", help="Write the table's rows to this file.", metavar="PATH"),
    ] = None,
    no_page: Annotated[bool, typer.Option("--no-page", help="Write no page.")] = False,
) -> None:
    """Compare ways to estimate what signing costs from n inputs: random ones, greedy and balanced
    selections, designs with a regression."""
    from mldsa_lab.bench.options import parse_seed
    from mldsa_lab.cli.shared import console as make_console
    from mldsa_lab.cli.shared import show_path, words
    from mldsa_lab.errors import LabError
    from mldsa_lab.files import check_target, write_text
    from mldsa_lab.machine import cores_to_use
    from mldsa_lab.screen import Screen
    from mldsa_lab.sets import parse_set_names
    from mldsa_studies.costs import Costs, read_costs
    from mldsa_studies.evaluate import evaluate
    from mldsa_studies.page import render, write_plots
    from mldsa_studies.plan import SIZES, Plan
    from mldsa_studies.run import Wanted, collect_all
    from mldsa_studies.show import print_study, write_json

    console = make_console()
    screen = Screen(console)
    if json_path is not None:
        check_target(json_path)
    names = parse_set_names(sets or ("ml-dsa",), ml_dsa=True)
    plan = Plan(
        sizes=_sizes(words(sizes)) or SIZES,
        draws=draws or (_QUICK_DRAWS if quick else _DRAWS),
        pool=pool,
        seed=draw_seed,
        methods=words(methods),
    )
    chosen = words(implementations)
    if data:
        paths = _files(data)
    else:
        wanted = Wanted(
            names,
            chosen,
            inputs or (_QUICK_INPUTS if quick else _INPUTS),
            (_QUICK_ROUNDS if quick else _ROUNDS) if rounds is None else rounds,
            counts,
            secrets.token_bytes(32) if seed is None else parse_seed(seed),
        )
        plan.check(wanted.inputs)
        paths = collect_all(wanted, plan, out, screen)
        for path in paths:
            show_path(console, "costs", path)
    costs: list[Costs] = []
    for path in paths:
        read = read_costs(path).of(chosen)
        if read.set in names and read.series:
            costs.append(read)
    if not costs:
        raise LabError("no costs of these parameter sets and implementations")
    with screen.phase("evaluate", total=1.0) as phase:
        study = evaluate(
            costs,
            plan,
            processes=processes or cores_to_use(),
            show=lambda text, part: phase.reach(part, text),
        )
        phase.summary = f"{sum(len(c.errors) for c in study.cells()):,} estimates"
    print_study(study, console)
    table = json_path or out / "estimators.json"
    write_json(study, table)
    if not no_page:
        page = out / "estimators.html"
        write_text(page, render(study))
        show_path(console, "page", page)
        write_plots(study, out)
    show_path(console, "table", table)


@app.command()
def count(
    selection: Annotated[Path, typer.Argument(help="Selection whose inputs are signed.")],
    implementation: Annotated[
        str, typer.Option(help="Implementation or variant id.", metavar="NAME")
    ],
    out: Annotated[
        Path, typer.Option("--out", "-o", help="File of measurements to write (CSV).")
    ] = Path("measurements.csv"),
    worker: Annotated[str, typer.Option(help="Worker of the registry that has it.")] = "rust",
    function: Annotated[
        str | None,
        typer.Option(
            help="The worker's function that performs one signature, as Valgrind names it; "
            "wildcards allowed. Known for the workers of this tree."
        ),
    ] = None,
) -> None:
    """Count the instructions of signing each input of a selection, under Valgrind."""
    from mldsa_lab.bench.launch import having
    from mldsa_lab.checkout import find_root
    from mldsa_lab.choice.build import complete
    from mldsa_lab.cli.shared import console as make_console
    from mldsa_lab.cli.shared import show_path
    from mldsa_lab.files import check_target, write_text
    from mldsa_lab.inputs.library import load
    from mldsa_lab.inputs.selection import Selection
    from mldsa_lab.screen import Screen
    from mldsa_lab.worker.build import Place
    from mldsa_studies.jobs import SignedInputs
    from mldsa_studies.run import open_counter, worker_entry

    console = make_console()
    screen = Screen(console)
    check_target(out)
    chosen = Selection.read(selection)
    place = Place.of(find_root())
    entry = worker_entry(place, worker)
    having([entry], (implementation,))
    with screen.phase("library") as phase:
        chosen = complete(chosen, load(phase.show))
    with open_counter(entry, place, screen, function) as counter:
        variant = counter.variant(implementation, chosen.set)
        with screen.phase("counts", total=len(chosen.inputs)) as phase:
            counts = counter.count(
                variant,
                SignedInputs(chosen.set, chosen.inputs),
                lambda step: phase.show(f"{variant.id} {chosen.set}", step=step),
            )
            phase.summary = f"{len(counts)} signatures of {variant.id}"
    rows = (f"{i},{cost},instructions\n" for i, cost in zip(chosen.ids, counts, strict=True))
    write_text(out, "id,cost,unit\n" + "".join(rows))
    show_path(console, "counts", out)


_RecordArgument = Annotated[Path, typer.Argument(help="Record of a run of mldsa-lab bench.")]
_SetOption = Annotated[str, typer.Option("--set", help="Parameter set.", metavar="NAME")]


@app.command()
def simulate(
    set_name: _SetOption = "ML-DSA-65",
    replications: Annotated[int, typer.Option(help="Runs that are simulated.", min=1)] = 300,
    seed: Annotated[int, typer.Option(help="Seed of all randomness.", min=0)] = 1,
) -> None:
    """Judge the estimates of records on synthetic signers on synthetic machines."""
    from mldsa_lab.sets import parse_set_names
    from mldsa_studies.simulate import report

    for name in parse_set_names((set_name,), ml_dsa=True):
        _print(report(name, replications, seed))


@app.command()
def coverage(
    sets: Annotated[
        list[str] | None, typer.Option("--set", help="Parameter sets; all three if not given.")
    ] = None,
    replications: Annotated[
        int, typer.Option(help="Runs that are simulated, of each kind and size.", min=1)
    ] = 42,
    seed: Annotated[int, typer.Option(help="Seed of all randomness.", min=0)] = 1,
    sizes: Annotated[list[str] | None, typer.Option(help="Numbers of inputs.", metavar="N")] = None,
    only: Annotated[str, typer.Option(help="Scenes whose name has this.")] = "",
    processes: Annotated[int, typer.Option(help="Processes that simulate.", min=1)] = 1,
    record: Annotated[
        Path | None, typer.Option(help="Judge on this record's designed inputs instead.")
    ] = None,
    truth: Annotated[
        int | None, typer.Option(help="Signatures behind the truth.", min=1000)
    ] = None,
) -> None:
    """Judge the intervals of estimates from few inputs on synthetic signers."""
    from mldsa_lab.cli.shared import words
    from mldsa_lab.sets import parse_set_names
    from mldsa_studies.coverage import TRUTH, report, report_record

    names = parse_set_names(sets or ("ml-dsa",), ml_dsa=True)
    wanted = _sizes(words(sizes)) or (1, 2, 3, 5, 10)
    if record is not None:
        _print(report_record(record, replications, seed, wanted, names))
        return
    if not sizes:
        wanted = (*wanted, 30)  # more than a record has
    _print(report(names, replications, seed, wanted, truth or TRUTH, only, processes))


@app.command()
def locations(
    record: _RecordArgument,
    clock: Annotated[
        Literal["cpu", "wall"], typer.Option(help="The thread's own time, or wall.")
    ] = "cpu",
    block: Annotated[int, typer.Option(help="Rounds in a block.", min=2)] = 8,
) -> None:
    """Say which location over rounds repeats best on the machine of a record."""
    from mldsa_lab.records import read_record
    from mldsa_studies.locations import report

    _print(report(read_record(record), clock, block))


@app.command()
def worth(
    record: _RecordArgument,
    own: Annotated[
        bool, typer.Option("--own", help="Choose inputs by each implementation's own costs.")
    ] = False,
) -> None:
    """Say what selections are worth to plain averages, by the costs fitted to a record."""
    from mldsa_studies.worth import report

    _print(report(record, own))


@app.command()
def fits(record: _RecordArgument) -> None:
    """Print the costs fitted to a record's implementations, an attempt of class r as 1."""
    from mldsa_lab.estimate.summary import summarise
    from mldsa_lab.records import read_record

    fitted = summarise(read_record(record)).fits
    for (variant, set_name), fit in sorted(fitted.items(), key=lambda item: item[0][::-1]):
        first, z, r, h = fit.attempt_costs
        print(f"{set_name}  {variant:32} {first / r:6.3f} {z / r:6.3f} 1 {h / r:6.3f}")


def _print(lines: Iterable[str]) -> None:
    for line in lines:
        print(line, flush=True)


def _sizes(texts: tuple[str, ...]) -> tuple[int, ...]:
    from mldsa_lab.errors import LabError

    for text in texts:
        if not (text.isascii() and text.isdigit() and len(text) < 7 and int(text) > 0):
            raise LabError(f"size {text!r}: must be a whole number from 1 on")
    return tuple(sorted({int(text) for text in texts}))


def _files(given: list[Path]) -> list[Path]:
    """The files, and those in the folders."""
    from mldsa_lab.errors import LabError

    found: list[Path] = []
    for path in given:
        inside = sorted(path.glob("*.parquet")) if path.is_dir() else [path]
        if not inside:
            raise LabError(f"{path}: holds no files of costs (*.parquet)")
        found += inside
    return found
