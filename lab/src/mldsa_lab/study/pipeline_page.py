"""The report of a study of pipelines."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial

import numpy as np
from matplotlib.figure import Figure

from mldsa_lab.estimate.interval import Interval, over
from mldsa_lab.show import plots, run_plots, svg
from mldsa_lab.show.format import choose_unit, estimate
from mldsa_lab.show.grid import Dot
from mldsa_lab.show.report import PlotSpec, Report, Section
from mldsa_lab.study.pipeline import BETWEEN, pipeline_figures
from mldsa_lab.study.pipeline_show import PipelineFindings

_WIDTH = 380.0
_FEW = 20
"""Links of a pipeline below which a figure shows no law of its latency."""
_METHOD = (
    "Of each record the pass counts in whose round it took its median time, so that its stages "
    "and what lies between them add up to the whole; between stages outputs are handed on and the "
    "clock is read. Each process counts once, by its mean; intervals are Student's over "
    "processes, from four processes on. Records were chosen by the traces of signing them, so that "
    "ML-DSA's rejections have their law: a share of the records stands for that share of all, to "
    "within one record."
)


def pipeline_report(found: PipelineFindings, sources: Sequence[str] = ()) -> Report:
    """Return the report of a study of pipelines; ``sources``: the names of its records."""
    legend = tuple((name, Dot(i)) for name, i in _colours(found).items())
    plots = (
        PlotSpec("Stages of the mean record", partial(_shares, found), legend),
        PlotSpec("Time from the first stage to the last", partial(_law, found)),
        PlotSpec("Records in a second", partial(_scaling, found)),
    )
    first, *others = found.grids()
    return Report(
        kind=f"study, profile {found.profile}",
        headline=found.study.title,
        figures=list(pipeline_figures(found.pipelines, found.gains)),
        sections=[Section(first, plots=plots), *map(Section, others)],
        about=found.study.text.strip().removesuffix("."),
        method=_METHOD,
        source=", ".join(sources),
    )


def _colours(found: PipelineFindings) -> dict[str, int]:
    names = dict.fromkeys(s.name for p in found.pipelines for s in p.row.stages)
    return {name: i for i, name in enumerate([*names, BETWEEN])}


def _shares(found: PipelineFindings) -> Figure:
    colours = _colours(found)
    unit = choose_unit([float(p.whole().min()) for p in found.pipelines], found.pipelines[0].unit)
    bars = []
    for p in found.pipelines:
        parts = tuple(
            (svg.series(colours[name]), svg.ON_DARK,
             float(costs.mean()) / unit.divisor)
            for name, costs in p.parts().items()
        )  # fmt: skip
        whole = estimate(Interval(float(p.whole().mean())), unit).value
        bars.append(plots.PartedBar(p.name, f"{whole} {unit.name}", parts))
    return plots.shares(bars, unit.name, _WIDTH)


def _law(found: PipelineFindings) -> Figure:
    unit = choose_unit(
        [float(p.processes[0].whole.min()) for p in found.pipelines], found.pipelines[0].unit
    )
    curves = []
    enough = [p for p in found.pipelines if len(p.processes[0].whole) >= _FEW]
    for place, p in enumerate(found.pipelines):
        if enough and p not in enough:
            continue
        costs = np.sort(np.concatenate([one.whole for one in p.processes])) / unit.divisor
        share = np.arange(1, len(costs) + 1) / len(costs)
        curves.append(plots.Curve(p.name, place, p.together > 1, costs, share))
    tail = math.log10(max(2, min(len(c.cost) for c in curves)))
    return plots.distribution(curves, unit.name, _WIDTH, tail)


def _scaling(found: PipelineFindings) -> Figure:
    paths = [
        run_plots.Path(p.name, place, p.together > 1, tuple(
            (float(n), over(p.rate(n), found.confidence)) for n in p.row.threads
        ))
        for place, p in enumerate(found.pipelines)
    ]  # fmt: skip
    counts = sorted({n for p in found.pipelines for n in p.row.threads})
    return run_plots.throughput(paths, counts, "records/s", _WIDTH)
