"""A study as one self-contained HTML page, with the style of a run's report."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from markupsafe import Markup
from matplotlib.figure import Figure as Picture

from mldsa_lab.files import write_text
from mldsa_lab.show import svg
from mldsa_lab.show.format import choose_unit, clean, number
from mldsa_lab.show.page import asset, templates
from mldsa_studies import plots
from mldsa_studies.evaluate import COUNT, Study, target_name
from mldsa_studies.plan import MEAN, PARTS, PERCENTILES
from mldsa_studies.summary import (
    KINDS,
    ErrorTable,
    StudyView,
    group,
    inputs,
    per_cent,
    signed_per_cent,
)

WIDTH = 1150
"""Width of the plots in CSS pixels."""


@dataclass(frozen=True)
class StudyPlot:
    """A plot with its caption; ``name``: of its file."""

    name: str
    title: str
    text: str
    picture: Markup


@dataclass(frozen=True)
class KindChapter:
    """All that was found for one kind of measurement. ``single``: implementation, then for each
    set and method the error of the mean from `StudyView.shown_n` inputs."""

    kind: str
    title: str
    errors: ErrorTable
    single: list[tuple[str, list[str]]]
    figures: list[StudyPlot]


def render(study: Study) -> str:
    """The page as text."""
    shown = StudyView(study)
    chapters = [
        KindChapter(
            kind, KINDS[kind], shown.of_mean(kind), _single(shown, kind), _figures(shown, kind)
        )
        for kind in shown.kinds
    ]
    return templates("mldsa_studies").get_template("study.html.j2").render(
        css=Markup(asset("page.css")), shown=shown, study=study, chapters=chapters,
        truths=truths(study), sources=sources(study), parts=PARTS, per_cent=per_cent,
    )  # fmt: skip


def write_plots(study: Study, folder: Path) -> None:
    """The plots as SVG files of their own, each whole or not at all."""
    css = asset("page.css")
    light = css[css.index(":root") : css.index("}") + 1]
    shown = StudyView(study)
    for figure in (figure for kind in shown.kinds for figure in _figures(shown, kind)):
        opening, _, rest = str(figure.picture).partition(">")
        spaces = 'xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink"'
        style = f"<style>{light} svg {{ font-family: sans-serif }}</style>"
        back = '<rect width="100%" height="100%" fill="var(--surface)"/>'
        text = f"{opening.replace('<svg', f'<svg {spaces}', 1)}>{style}{back}{rest}\n"
        write_text(folder / f"{figure.name}.svg", text)


def _single(shown: StudyView, kind: str) -> list[tuple[str, list[str]]]:
    cells = shown.pick(kind=kind, n=shown.shown_n, target=MEAN)
    errors = {(c.implementation, c.set, c.method): per_cent(c.rmse) for c in cells}
    columns = [(s, m.name) for s in shown.sets for m in shown.methods]
    return [
        (name, [errors.get((name, *column), "–") for column in columns])
        for name in dict.fromkeys(c.implementation for c in cells)
    ]


def _figures(shown: StudyView, kind: str) -> list[StudyPlot]:
    n = shown.shown_n
    both = [
        ("relative standard deviation", _panels(shown, kind, MEAN, "deviation")),
        ("size of the relative bias", _panels(shown, kind, MEAN, "bias")),
    ]
    tails = [(f"error of {target_name(p)}", _panels(shown, kind, p, "rmse")) for p in PERCENTILES]
    linear = 1e-3 if kind == COUNT else 1e-2

    def figure(name: str, title: str, text: str, said: str, picture: Picture) -> StudyPlot:
        label = clean(f"{said}, {KINDS[kind]}")
        drawn = Markup(svg.to_svg(picture, f"study-{kind}-{name}", label))
        return StudyPlot(f"{kind}-{name}", title, text, drawn)

    with svg.drawing():
        return [
            figure(
                "mean",
                "The mean: scatter and bias over the number of inputs",
                "Thick: root mean square over the implementations; thin: each of them. A bias of "
                f"less than {1 / math.sqrt(shown.study.plan.draws):.2g} of the deviation cannot be "
                "told from none.",
                "Standard deviation and bias of the estimated mean",
                plots.grid_of_lines(both, WIDTH),
            ),
            figure(
                "spread",
                f"Estimates of the mean from {inputs(n)}",
                "Bar: the middle half of the draws; line: the middle 90 %; dot: the median. "
                f"The axis is linear up to {plots.percent(linear)}, logarithmic beyond.",
                "Distribution of the estimated mean",
                plots.spreads(_spreads(shown, kind, n), WIDTH, linear),
            ),
            figure(
                "percentiles",
                "Percentiles: root mean square error over the number of inputs",
                "Greedy and balanced selections measure inputs of their own for each percentile; "
                "random inputs and the regression have all from the same n.",
                "Error of the estimated percentiles",
                plots.grid_of_lines(tails, WIDTH, 170.0),
            ),
        ]


def _panels(shown: StudyView, kind: str, target: float, what: str) -> list[plots.Panel]:
    panels = []
    for set_name in shown.sets:
        lines = []
        for method in shown.methods:
            cells = shown.pick(set=set_name, kind=kind, method=method.name, target=target)
            points = [
                (n, float(getattr(group([c for c in cells if c.n == n]), what)))
                for n in sorted({c.n for c in cells})
            ]
            single = tuple(
                tuple((c.n, abs(float(getattr(c, what)))) for c in cells if c.variant == variant)
                for variant in dict.fromkeys(c.variant for c in cells)
            )
            if points:
                lines.append(plots.ErrorLine(method.name, tuple(points), single))
        if lines:
            panels.append(plots.Panel(set_name, tuple(lines)))
    return panels


def _spreads(shown: StudyView, kind: str, n: int) -> list[tuple[str, list[plots.Spread]]]:
    return [
        (
            set_name,
            [
                plots.Spread(method.name, cell.implementation, tuple(cell.errors))
                for method in shown.methods
                for cell in shown.pick(
                    set=set_name, kind=kind, method=method.name, n=n, target=MEAN
                )
            ],
        )
        for set_name in shown.sets
        if shown.pick(set=set_name, kind=kind, n=n, target=MEAN)
    ]


def truths(study: Study) -> list[dict[str, str]]:
    """The truths as a table: per implementation, set and unit."""
    rows = []
    for judged in study.judged:
        known = list(judged.truths.values())[-1]
        mean = known.mean
        unit = choose_unit([mean.value], judged.costs.unit)
        rows.append(
            {
                "set": judged.costs.set,
                "variant": judged.series.variant,
                "version": judged.series.about.version,
                "unit": unit.name,
                "inputs": f"{judged.costs.sample:,}",
                "mean": number(unit.shown(mean.value), 2),
                "error": per_cent(mean.error / mean.value),
                "plain": signed_per_cent(known.plain / mean.value - 1, 0.001),
                "unexplained": per_cent(known.unexplained),
                **{
                    target_name(p): number(unit.shown(q.value), 1)
                    for p, q in known.quantiles.items()
                },
            }
        )
    return rows


def sources(study: Study) -> list[dict[str, Any]]:
    """Where the costs come from, file by file."""
    found = []
    for costs in study.costs:
        loads = [r["load1"] for r in costs.rounds if isinstance(r.get("load1"), (int, float))]
        found.append(
            {
                "set": costs.set,
                "unit": "instructions" if costs.unit == "instructions" else "time",
                "inputs": f"{costs.sample:,} random inputs and "
                f"{len(costs) - costs.sample:,} of rare classes",
                "rounds": len(costs.rounds),
                "started": str(costs.rounds[0].get("started", "not known")),
                "load": f"{min(loads):.1f} to {max(loads):.1f}" if loads else "not known",
                "cpu": str(costs.machine.get("cpu") or "not known"),
                "cores": str(costs.machine.get("cores", "not known")),
                "os": str(costs.machine.get("os", "not known")),
                "seed": costs.spec.seed.hex(),
                "series": [
                    f"{s.variant} {s.about.version} ({s.about.language}, "
                    f"{s.about.compiler}, {s.about.flags or 'no flags'}; {s.about.clock})"
                    for s in costs.series
                ],
            }
        )
    return found
