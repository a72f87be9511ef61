"""`mldsa-lab report` and `mldsa-lab compare`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from mldsa_lab.cli import shared
from mldsa_lab.sets import DEFAULT_BASELINE

_FALSE_ALARMS = 0.05


def report(
    files: Annotated[
        list[str] | None,
        typer.Argument(
            help="Records of earlier runs, and your own measurements of a selection (CSV or JSON), "
            "as measurements.csv:selection.json.",
            metavar="RECORD… [MEASUREMENTS:SELECTION…]",
            show_default=False,
        ),
    ] = None,
    sets: shared.SetsOption = None,
    operations: shared.OperationsOption = None,
    implementations: shared.ImplementationsOption = None,
    to: shared.ToOption = None,
    every: shared.AllOption = False,
    baseline: shared.BaselineOption = DEFAULT_BASELINE,
    clock: shared.ClockOption = "cpu",
    confidence: shared.ConfidenceOption = 0.95,
) -> None:
    """Show records again, as tables, page or file. The page is next to the first record."""
    from functools import partial

    from mldsa_lab import LabError
    from mldsa_lab.estimate.external import read_external, split_arguments
    from mldsa_lab.kinds.reports import read_reports
    from mldsa_lab.show.report import Look

    records, measured = split_arguments(files or [])
    if not records:
        hint = "; for only measurements there is `mldsa-lab estimate`" if measured else ""
        raise LabError(f"report: at least one record is needed{hint}")
    outputs = shared.Targets.parse(to, [records[0].parent / "report.html"])
    external = read_external(measured, confidence)
    narrow = partial(shared.narrow, filters=shared.parse_filters(sets, operations, implementations))
    reports = read_reports(records, Look(baseline, clock, confidence), external, narrow)
    more = [] if every else [f"mldsa-lab report {' '.join(files or [])} --all"]
    outputs.show(reports, outputs.console(), more, is_full=every)


def compare(
    first: Annotated[Path, typer.Argument(help="Record of the run before.")],
    second: Annotated[Path, typer.Argument(help="Record of the run after.")],
    pair: Annotated[
        list[str] | None,
        typer.Option(
            help="Compare this variant or implementation of the first run with that one of the "
            "second; for one run, give its record twice.",
            metavar="BEFORE=AFTER",
        ),
    ] = None,
    fail_above: Annotated[
        float | None,
        typer.Option(
            help="Exit with 1 if a cell is slower by more than this. False-alarm rate for the "
            "whole comparison: at most 5 %.",
            metavar="PERCENT",
            min=0,
        ),
    ] = None,
    sets: shared.SetsOption = None,
    operations: shared.OperationsOption = None,
    implementations: shared.ImplementationsOption = None,
    to: shared.ToOption = None,
    every: shared.AllOption = False,
    baseline: shared.BaselineOption = DEFAULT_BASELINE,
    clock: shared.ClockOption = "cpu",
    confidence: shared.ConfidenceOption = 0.95,
) -> None:
    """Show what became slower or faster between two runs. Also shows how far they agree, and what
    else differs."""
    from mldsa_lab import LabError
    from mldsa_lab.estimate.compare import compare as compare_runs
    from mldsa_lab.estimate.figure import Figures
    from mldsa_lab.kinds.operations import MeasuredOperations
    from mldsa_lab.kinds.reports import compare_figures, find_effects, find_slower_cells, read_runs
    from mldsa_lab.records import read_record
    from mldsa_lab.show.report import Look

    pairs = []
    for text in pair or ():
        before, _, after = text.partition("=")
        if not (before and after):
            raise LabError(f"--pair: must be BEFORE=AFTER, is {text!r}")
        pairs.append((before, after))
    outputs = shared.Targets.parse(to)
    filters = shared.parse_filters(sets, operations, implementations)
    runs = [(path, shared.narrow(path, read_record(path), filters)) for path in (first, second)]

    def compared(confidence: float) -> Figures:
        read = read_runs(runs, Look(baseline, clock, confidence))
        summaries = [run.summary for run in read if isinstance(run, MeasuredOperations)]
        if len(summaries) < len(runs):
            raise LabError("compare: both records must be of operations")
        return compare_runs(summaries, pairs)

    figures = compared(confidence)
    if not find_effects(figures):
        raise LabError("compare: the runs have no cell (variant, set, operation) in common")
    screen = outputs.console()
    judge = [f"mldsa-lab compare {first} {second} --fail-above 5"] if fail_above is None else []
    outputs.show(compare_figures(figures, confidence), screen, judge, is_full=every)
    if fail_above is None:
        return
    judged, _ = find_slower_cells(figures, fail_above)
    if not judged:
        raise LabError(
            "--fail-above: nothing can be judged, since more than the code differs in every cell"
        )
    # Each side of an interval misses by chance half as often as both.
    _, slower = find_slower_cells(compared(1 - 2 * _FALSE_ALARMS / judged), fail_above)
    screen.print(
        f"{len(slower)} of {judged} cells are slower by more than {fail_above:g} % (false-alarm "
        f"rate for the whole comparison: at most {_FALSE_ALARMS:.0%})",
        highlight=False,
    )
    for line in slower:
        screen.print(f"  {line}", highlight=False, markup=False, style="bold red")
    if slower:
        raise typer.Exit(1)
