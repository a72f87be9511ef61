"""`mldsa-lab report`."""

from __future__ import annotations

from typing import Annotated

import typer

from mldsa_lab.cli import shared


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
    baseline: shared.BaselineOption = shared.DEFAULT_BASELINE,
    clock: shared.ClockOption = "cpu",
    confidence: shared.ConfidenceOption = 0.95,
) -> None:
    """Show records again, from the records only; the page is report.html next to the first one."""
    from functools import partial

    from mldsa_lab import LabError
    from mldsa_lab.kinds.reports import read_reports
    from mldsa_lab.show import plot_specs
    from mldsa_lab.show.report import Look

    records, measured = plot_specs.split(files or [])
    if not records:
        hint = "; for measurements alone there is `mldsa-lab estimate`" if measured else ""
        raise LabError(f"report: at least one record is needed{hint}")
    outputs = shared.Targets.parse(to, [records[0].parent / "report.html"])
    external = plot_specs.read(measured, confidence)
    narrow = partial(
        shared.narrow, sets=sets, operations=operations, implementations=implementations
    )
    reports = read_reports(records, Look(baseline, clock, confidence), external, narrow)
    outputs.show(reports, outputs.console(), every=every)
