"""Records of pipelines, one for each process of a study."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from mldsa_lab.bench.workloads.pipeline import PipelinePlan
from mldsa_lab.estimate.figure import Figure, Key
from mldsa_lab.estimate.pipeline import pipeline_figures, pipelines_of
from mldsa_lab.kinds.kind import TableKind
from mldsa_lab.records import Record, busy_notes
from mldsa_lab.show import report
from mldsa_lab.show.figure_tables import Lines, SpreadColumns, TableLayout, display_unit
from mldsa_lab.show.format import plain
from mldsa_lab.show.grid import Dot
from mldsa_lab.show.report import PlotSpec, Report

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

_WIDTH = 380.0
_OF: Mapping[str, Key] = {"of": "pipeline"}
_LATENCY: Mapping[str, Key] = {"of": "latency"}
_FEW = 20
"""Links of a pipeline below which a plot shows no distribution of its latency."""


def _layouts(record: Record) -> tuple[TableLayout, ...]:
    cost = SpreadColumns("time", "a record", keys=_OF)
    share = SpreadColumns("share", "share", keys=_OF)
    rate = SpreadColumns("per_second", "{value} threads", "threads")
    percentiles = SpreadColumns("quantile", "p{value}", "percentile", keys=_LATENCY)
    least, most, deviation = (SpreadColumns(n, n, keys=_LATENCY) for n in ("min", "max", "sd"))
    scaling = SpreadColumns("scaling", "{value} threads over one", "threads", "last")
    together = SpreadColumns("count", "together", keys={"of": "records"})
    has_batches = any(p.together > 1 for p in pipelines_of([record]).values())
    return (
        TableLayout(
            "{pipeline}", ("pipeline",), ("stage", "variant", "batch"), (cost, share),
        ),
        TableLayout(
            "Latency of single calls, and from the first stage to the last", (),
            ("pipeline", "stage"), (least, percentiles, most, deviation),
        ),
        TableLayout(
            "Records per second, all threads together", (), ("pipeline",),
            (*([together] if has_batches else []), rate, scaling),
            (Lines("per_second", "threads", ("pipeline",)),),
        ),
        TableLayout(
            "Cost of a record over that of another pipeline", (), ("pipeline", "against"),
            (SpreadColumns("ratio", "ratio"),),
        ),
    )  # fmt: skip


def _notes(record: Record) -> list[str]:
    made = []
    for p in pipelines_of([record]).values():
        checks = "; ".join(f"{c.check}: {c.cases} cases" for c in p.definition.checks)
        keys = "one key of each scheme" if p.content.keys == "shared" else "keys of each record"
        go = f"; {p.together} records go through together" if p.together > 1 else ""
        made.append(f"{p.name}: {keys}{go}; checked before: {checks}.")
    return made


def _headline(record: Record, figures: Sequence[Figure]) -> str:
    """The largest share of the first pipeline."""
    shares = [f for f in figures if f.name == "share" and "stage" in f.keys]
    shares = [f for f in shares if f.keys["pipeline"] == shares[0].keys["pipeline"]]
    most = max(shares, key=lambda f: f.value or 0.0)
    percent = 100 * (most.value or 0.0)
    return f"{most.keys['pipeline']}: {most.keys['stage']} takes {percent:.0f} % of a record"


_METHOD = (
    "Of each record the pass counts in whose round it took its median time, so that its stages "
    "and what lies between them add up to the whole; between stages outputs are handed on and "
    "the clock is read. Each process counts once, by its mean; intervals are Student's over "
    "processes, from four processes on. Records were chosen by the traces of signing them, so "
    "that ML-DSA's rejections have their law: a share of the records stands for that share of "
    "all, to within one record. Records that go together wait for each other. A ratio to "
    "another pipeline is the median over rounds, all passes counted, so it differs from the "
    "quotient of the wholes."
)
KIND = TableKind(
    "pipeline",
    PipelinePlan,
    _METHOD,
    _headline,
    lambda record, confidence: pipeline_figures([record], confidence),
    _layouts,
    notes=_notes,
)


def pipeline_report(records: Sequence[Record], title: str, confidence: float) -> Report:
    """Return the report of a study of pipelines. LabError for a pipeline that was excluded."""
    figures = pipeline_figures(records, confidence)
    sections = report.sections_of(figures, _layouts(records[0]), confidence)
    stages = list(dict.fromkeys(str(f.keys["stage"]) for f in figures if "stage" in f.keys))
    legend = tuple((name, Dot(i)) for i, name in enumerate(stages))
    latency = next(i for i, s in enumerate(sections) if "Latency" in s.grid.title)
    plots = (
        PlotSpec("Stages of the mean record", lambda: _shares(figures, stages), legend),
        PlotSpec("Latency of records", lambda: _distribution(records)),
    )
    sections[latency] = replace(sections[latency], plots=plots)
    where = ", ".join(part for part in (records[0].machine, records[0].date) if part)
    about = f"{title}; processes: {len(records)}. {where}"
    headline = _headline(records[0], figures)
    notes = _notes(records[0])
    warnings = busy_notes([record.busy for record in records])
    return Report(
        KIND.name, headline, figures, sections, about, KIND.method, notes, warnings=warnings
    )  # fmt: skip


def _shares(figures: Sequence[Figure], stages: Sequence[str]) -> Drawing:
    from mldsa_lab.show import plots, svg

    costs = [f for f in figures if f.name == "time"]
    wholes = [f for f in costs if "stage" not in f.keys]
    unit = display_unit(wholes)
    bars = []
    for whole in wholes:
        parts = tuple(
            (svg.series(stages.index(str(f.keys["stage"]))), svg.ON_DARK, unit.shown(f.value or 0))
            for f in costs
            if f.keys["pipeline"] == whole.keys["pipeline"] and "stage" in f.keys
        )
        text = f"{plain(whole.value, unit)} {unit.name}"
        bars.append(plots.PartedBar(str(whole.keys["pipeline"]), text, parts))
    return plots.shares(bars, unit.name, _WIDTH)


def _distribution(records: Sequence[Record]) -> Drawing:
    from mldsa_lab.show import plots
    from mldsa_lab.show.format import choose_unit

    found = list(pipelines_of(records).values())
    found = [p for p in found if len(p.processes[0].whole) >= _FEW] or found
    unit = choose_unit([float(p.processes[0].whole.min()) for p in found], found[0].unit)
    curves = []
    for place, p in enumerate(found):
        costs = np.sort(np.concatenate([one.whole for one in p.processes])) / unit.divisor
        share = np.arange(1, len(costs) + 1) / len(costs)
        curves.append(plots.Curve(p.name, place, p.together > 1, costs, share))
    tail = math.log10(max(2, min(len(c.cost) for c in curves)))
    return plots.distribution(curves, unit.name, _WIDTH, tail)
