"""`mldsa-lab estimate`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from mldsa_lab.cli import shared
from mldsa_lab.sets import PERCENTILES

_PLOTS = (".svg", ".png")


def estimate(
    selection: Annotated[
        Path, typer.Argument(help="The selection that was measured (select writes it).")
    ],
    measurements: Annotated[
        Path,
        typer.Argument(
            help="Costs of its inputs: CSV with the header id,cost[,unit][,round], or JSON."
        ),
    ],
    percentiles: Annotated[
        str, typer.Option(help="Percentiles to estimate, with commas.", metavar="NUMBERS")
    ] = ",".join(map(str, PERCENTILES.values())),
    confidence: shared.ConfidenceOption = 0.95,
    noise: Annotated[
        float | None,
        typer.Option(
            help="Relative standard deviation of one measurement in percent, where it is known: "
            "0 for the counts of a simulator. Else repeats show it, or it is taken as unknown.",
            metavar="PERCENT",
            min=0,
            max=99,
        ),
    ] = None,
    to: Annotated[
        list[str] | None,
        typer.Option(
            help="Write all figures, residuals and findings to a .json file, or draw costs, fit "
            "and residuals as .svg or .png. Repeatable.",
            metavar="FILE",
        ),
    ] = None,
    cost_model: Annotated[
        Path | None,
        typer.Option(help="Write the fitted costs as a cost model, for select and others."),
    ] = None,
) -> None:
    """Estimate mean and percentiles of signing from measured inputs.

    Exit status 2 where the costs contradict the selection's traces, so that no estimate is valid.
    """
    from mldsa_lab import LabError
    from mldsa_lab.estimate.external import estimate as estimate_selection
    from mldsa_lab.estimate.external import parse_percentiles
    from mldsa_lab.estimate.reader import read_measurements
    from mldsa_lab.files import check_target, write_text
    from mldsa_lab.inputs.selection import Selection
    from mldsa_lab.plugins import need
    from mldsa_lab.screen import print_end
    from mldsa_lab.show.estimation import estimation_report
    from mldsa_lab.show.report import as_json

    asked = parse_percentiles(shared.words([percentiles]))
    outputs = shared.Targets.parse(to, suffixes=(".json", *_PLOTS))
    plots = [path for path in outputs.files if path.suffix in _PLOTS]
    if cost_model is not None:
        check_target(cost_model)
    if plots:
        need("page", "the plot")
    chosen = Selection.read(selection)
    estimation = estimate_selection(
        chosen,
        read_measurements(measurements, chosen),
        percentiles=asked,
        confidence=confidence,
        noise=None if noise is None else noise / 100,
    )
    screen = outputs.console()
    report = estimation_report(estimation)
    shared.Targets(stdout=outputs.stdout).show(report, screen)
    # Nothing is written where the costs make no model.
    model = None if cost_model is None else estimation.cost_model().to_json()
    files: list[tuple[str, Path]] = []
    for path in outputs.files:
        if path in plots:
            from mldsa_lab.show.signing_plots import write_plot

            write_plot(estimation, path)
        else:
            write_text(path, as_json([report]))
        files.append(("plot" if path in plots else "figures", path))
    then = f"mldsa-lab report RECORD {measurements}:{selection}"
    if cost_model is not None and model is not None:
        write_text(cost_model, model)
        files.append(("cost model", cost_model))
        then = f"mldsa-lab select {chosen.set} --goal mean --cost-model {cost_model}"
    print_end(screen, commands=[] if estimation.refutation else [then], files=files)
    if estimation.refutation:
        raise LabError(f"{measurements}: {estimation.refutation}")
