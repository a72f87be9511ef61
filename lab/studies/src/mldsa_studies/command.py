"""The commands of `mldsa-lab study` that judge the lab's own methods."""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from mldsa_lab import LabError
from mldsa_lab.cli.shared import (
    ImplementationsOption,
    SetsOption,
    Targets,
    console,
    show_path,
    words,
)
from mldsa_lab.files import check_target, write_text
from mldsa_lab.sets import parse_set_names

if TYPE_CHECKING:
    from mldsa_lab.show.report import Report

_SizesOption = Annotated[
    list[str] | None, typer.Option(help="Numbers n of inputs to estimate from.", metavar="N")
]


def estimators(
    data: Annotated[
        list[Path] | None,
        typer.Option(
            "--from",
            help="Evaluate these files of costs (or all in these folders), measuring nothing.",
            metavar="PATHS",
        ),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Few inputs, rounds and draws: a look, not a result.")
    ] = False,
    sets: SetsOption = None,
    implementations: ImplementationsOption = None,
    sizes: _SizesOption = None,
    out: Annotated[Path, typer.Option(help="Folder for costs, page and table.")] = Path(
        "out/study"
    ),
) -> None:
    """Compare ways to estimate the cost of signing from n inputs. These are random ones, greedy and
    balanced selections, and designs with a regression."""
    from mldsa_lab.machine import cores_to_use
    from mldsa_lab.screen import Screen
    from mldsa_studies.choices import SIZES, Plan
    from mldsa_studies.collect import collect_all
    from mldsa_studies.costs import read_costs
    from mldsa_studies.evaluate import evaluate
    from mldsa_studies.report import report

    screen = Screen(console())
    names = parse_set_names(sets or ("ml-dsa",), is_ml_dsa_only=True)
    plan = Plan(_sizes(sizes, SIZES), draws=12 if quick else 40)
    chosen = words(implementations)
    if data:
        inside = [sorted(p.glob("*.parquet")) if p.is_dir() else [p] for p in data]
        paths = [path for result in inside for path in result]
        if not all(inside):
            raise LabError(f"{data[inside.index([])]}: has no files of costs (*.parquet)")
    else:
        inputs, rounds = (400, 3) if quick else (1500, 9)
        plan.check(inputs)
        seed = secrets.token_bytes(32)
        paths = collect_all(names, chosen, inputs, rounds, seed, plan, out, screen)
        for path in paths:
            show_path(screen.console, "costs", path)
    read = [costs for costs in map(read_costs, paths) if costs.head.set in names]
    costs = [one for item in read for one in item.take(chosen)]
    if not costs:
        raise LabError("no costs of these parameter sets and implementations")
    with screen.phase("evaluate", total=1.0) as phase:
        study = evaluate(costs, plan, processes=cores_to_use(), show=phase.reach)
        phase.summary = f"{sum(len(c.errors) for c in study.cells):,} estimates"
    outputs = Targets((out / "estimators.json", out / "estimators.html"))
    then = [] if data else [f"mldsa-lab study estimators --from {out}"]
    outputs.show(report(study), screen.console, then)


def count(
    selection: Annotated[Path, typer.Argument(help="Selection whose inputs are signed.")],
    implementation: Annotated[
        str, typer.Argument(help="Implementation or variant id of the Rust worker.", metavar="NAME")
    ],
    out: Annotated[
        Path, typer.Option("--out", "-o", help="File of measurements to write (CSV).")
    ] = Path("measurements.csv"),
) -> None:
    """Count the instructions of signing a selection, under Valgrind."""
    from mldsa_lab.bench.launch import having, make
    from mldsa_lab.checkout import find_root
    from mldsa_lab.choice.choice import complete
    from mldsa_lab.inputs.selection import Selection
    from mldsa_lab.inputs.tracing import load
    from mldsa_lab.screen import Screen, print_end
    from mldsa_lab.worker.registry import BuildDirs
    from mldsa_studies.callgrind import Counter
    from mldsa_studies.collect import counting_worker

    screen = Screen(console())
    check_target(out)
    chosen = Selection.read(selection)
    place = BuildDirs.for_tree(find_root())
    entry = counting_worker(place)
    having([entry], (implementation,))
    with screen.phase("library") as phase:
        chosen = complete(chosen, load(phase.show))
    with Counter(entry, place) as counter:
        make(entry, place, screen)
        variant = counter.variant(implementation, chosen.set)
        with screen.phase("counts", total=len(chosen.inputs)) as phase:
            counts = counter.count(
                variant, chosen.set, chosen.inputs, lambda step: phase.show(variant.id, step=step)
            )
            phase.summary = f"{len(counts)} signatures of {variant.id}"
    rows = (f"{i},{cost},instructions\n" for i, cost in zip(chosen.ids, counts, strict=True))
    write_text(out, "id,cost,unit\n" + "".join(rows))
    then = [f"mldsa-lab estimate {selection} {out} --noise 0"]
    print_end(screen.console, commands=then, files=[("counts", out)])


def coverage(
    sets: SetsOption = None,
    by: Annotated[
        Literal["inputs", "records", "ticks"],
        typer.Option(
            help="inputs: estimates from a few inputs; records: from the records of synthetic "
            "machines; ticks: the same with coarse clocks."
        ),
    ] = "inputs",
    replications: Annotated[
        int | None,
        typer.Option(
            help="Runs that are simulated: 300, of inputs 42 of each kind and size.", min=1
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of all randomness.", min=0)] = 1,
    sizes: _SizesOption = None,
    source: Annotated[
        Path | None,
        typer.Option("--from", help="Judge on this record's designed inputs.", metavar="RECORD"),
    ] = None,
) -> None:
    """Judge the intervals of estimates on synthetic signers."""
    from mldsa_lab.machine import cores_to_use
    from mldsa_lab.screen import Screen
    from mldsa_studies import simulate
    from mldsa_studies.coverage import report, report_record

    if by != "inputs":
        make = simulate.report_ticks if by == "ticks" else simulate.report
        for name in parse_set_names(sets or ("ML-DSA-65",), is_ml_dsa_only=True):
            _publish(make(name, replications or 300, seed))
        return
    names, number = parse_set_names(sets or ("ml-dsa",), is_ml_dsa_only=True), replications or 42
    if source is not None:
        few = _sizes(sizes, (1, 2, 3, 5, 10))
        _publish(report_record(source, number, seed, few, names))
        return
    asked = _sizes(sizes, (1, 2, 3, 5, 10, 30))
    with Screen(console()).phase("coverage", total=1.0) as phase:
        judged = report(names, number, seed, asked, processes=cores_to_use(), show=phase.reach)
    _publish(judged)


def _publish(report: Report) -> None:
    Targets().show(report, console())
    if report.about:
        print(report.about)


def _sizes(options: list[str] | None, default: tuple[int, ...]) -> tuple[int, ...]:
    from mldsa_lab.bench.options import parse_count

    sizes = {parse_count(text, "size", 999_999) for text in words(options)}
    return tuple(sorted(sizes)) or default
