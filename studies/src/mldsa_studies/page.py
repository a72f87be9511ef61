"""A study as one self-contained HTML page, with the style of a run's report."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from mldsa_lab.files import write_text
from mldsa_lab.show import svg
from mldsa_lab.show.format import choose_unit, clean, number
from mldsa_studies import plots
from mldsa_studies.evaluate import COUNT, Judged, Study, target_name
from mldsa_studies.plan import MEAN, PARTS, PERCENTILES
from mldsa_studies.summary import KINDS, Shown, group, per_cent, signed_per_cent

WIDTH = 1150
"""Width of the plots in CSS pixels."""
SHOWN_N = 10
"""The number of inputs that headline and distributions are about, if the study has it."""


@dataclass(frozen=True)
class Figure:
    """A plot with its caption; ``name``: of its file."""

    name: str
    title: str
    text: str
    picture: Markup


@dataclass(frozen=True)
class Chapter:
    """All that was found for one kind of measurement. ``rows``: set, method, then for each n the
    root mean square error, deviation and bias. ``single``: implementation, then for each set and
    method the error from `SHOWN_N` inputs."""

    kind: str
    title: str
    sizes: list[int]
    rows: list[tuple[str, str, list[tuple[str, str, str]]]]
    single: list[tuple[str, list[str]]]
    figures: list[Figure]


def write_page(study: Study, path: Path) -> None:
    """Write the page, whole or not at all."""
    write_text(path, render(study))


def render(study: Study) -> str:
    """The page as text."""
    shown = Shown.of(study)
    environment = Environment(
        loader=PackageLoader("mldsa_studies", "."), autoescape=True, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True,
        finalize=lambda value: value if isinstance(value, Markup) else clean(value),
    )  # fmt: skip
    css = resources.files("mldsa_lab.show").joinpath("page.css").read_text(encoding="utf-8")
    chapters = [_chapter(shown, kind) for kind in shown.kinds]
    return environment.get_template("study.html.j2").render(
        css=Markup(css), headline=headline(shown), sentences=sentences(shown), chapters=chapters,
        methods=shown.methods, truths=truths(study), sources=sources(study), study=study,
        parts=PARTS, sets=shown.sets,
        greedy_pool=f"{study.plan.pool:,}", shown_n=_shown_n(shown),
    )  # fmt: skip


def write_plots(study: Study, folder: Path) -> list[Path]:
    """The plots as SVG files of their own, each whole or not at all."""
    shown = Shown.of(study)
    css = resources.files("mldsa_lab.show").joinpath("page.css").read_text(encoding="utf-8")
    light = css[css.index(":root") : css.index("}") + 1]
    paths = []
    for kind in shown.kinds:
        for figure in _figures(shown, kind):
            text = str(figure.picture)
            end = text.index(">")
            opening = text[:end].replace("<svg", '<svg xmlns="http://www.w3.org/2000/svg"', 1)
            links = ' xmlns:xlink="http://www.w3.org/1999/xlink"'
            style = f"<style>{light} svg {{ font-family: sans-serif }}</style>"
            back = '<rect width="100%" height="100%" fill="var(--surface)"/>'
            path = folder / f"{figure.name}.svg"
            write_text(path, f"{opening}{links}>{style}{back}{text[end + 1 :]}\n")
            paths.append(path)
    return paths


def _shown_n(shown: Shown) -> int:
    return SHOWN_N if SHOWN_N in shown.sizes else max(shown.sizes)


def headline(shown: Shown) -> str:
    """What the study says in a line."""
    n, best = _shown_n(shown), shown.methods[-1]
    parts = []
    for kind in shown.kinds:
        cells = group(shown.pick(kind=kind, method=best.name, n=n, target=MEAN))
        if cells is not None:
            parts.append(f"{per_cent(cells.rmse)} ({KINDS[kind]})")
    return f"Mean signing cost from {n} {best.title}: off by {'; '.join(parts)}"


def sentences(shown: Shown) -> list[str]:
    """The comparison of the methods, kind by kind."""
    n = _shown_n(shown)
    found = []
    for kind in shown.kinds:
        parts = []
        for method in shown.methods:
            cells = group(shown.pick(kind=kind, method=method.name, n=n, target=MEAN))
            if cells is not None:
                parts.append(f"{method.title} {per_cent(cells.rmse)}")
        found.append(
            f"{KINDS[kind][0].upper()}{KINDS[kind][1:]}: root mean square error of the mean from "
            f"{_inputs(n)}: {', '.join(parts)}."
        )
    return found


def _inputs(n: int) -> str:
    return "one input" if n == 1 else f"{n} inputs"


def _chapter(shown: Shown, kind: str) -> Chapter:
    sizes = shown.sizes
    rows = []
    for set_name in shown.sets:
        for method in shown.methods:
            line = []
            for n in sizes:
                cell = group(
                    shown.pick(set_name=set_name, kind=kind, method=method.name, n=n, target=MEAN)
                )
                line.append(
                    ("–", "", "")
                    if cell is None
                    else (
                        per_cent(cell.rmse),
                        per_cent(cell.deviation),
                        signed_per_cent(cell.mean_bias, cell.bias_error),
                    )
                )
            rows.append((set_name, method.name, line))
    return Chapter(kind, KINDS[kind], sizes, rows, _single(shown, kind), _figures(shown, kind))


def _single(shown: Shown, kind: str) -> list[tuple[str, list[str]]]:
    n = _shown_n(shown)
    cells = shown.pick(kind=kind, n=n, target=MEAN)
    rows = []
    for name in dict.fromkeys(c.implementation for c in cells):
        line = []
        for set_name in shown.sets:
            for method in shown.methods:
                found = [
                    c
                    for c in cells
                    if (c.implementation, c.set, c.method) == (name, set_name, method.name)
                ]
                line.append(per_cent(found[0].rmse) if found else "–")
        rows.append((name, line))
    return rows


def _figures(shown: Shown, kind: str) -> list[Figure]:
    n = _shown_n(shown)
    both = [
        ("relative standard deviation", _panels(shown, kind, MEAN, "deviation")),
        ("size of the relative bias", _panels(shown, kind, MEAN, "bias")),
    ]
    tails = [(f"error of {target_name(p)}", _panels(shown, kind, p, "rmse")) for p in PERCENTILES]
    name = f"study-{kind}"
    linear = 1e-3 if kind == COUNT else 1e-2
    with svg.drawing():
        return [
            Figure(
                f"{kind}-mean",
                "The mean: scatter and bias over the number of inputs",
                "Thick: root mean square over the implementations; thin: each of them. A bias of "
                f"less than {1 / math.sqrt(shown.study.plan.draws):.2g} of the deviation cannot be "
                "told from none.",
                _picture(plots.grid_of_lines(both, WIDTH), f"{name}-mean",
                         f"Standard deviation and bias of the estimated mean, {KINDS[kind]}"),
            ),
            Figure(
                f"{kind}-spread",
                f"Estimates of the mean from {_inputs(n)}",
                "Bar: the middle half of the draws; line: the middle 90 %; dot: the median. "
                f"The axis is linear up to {plots.percent(linear)}, logarithmic beyond.",
                _picture(plots.spreads(_spreads(shown, kind, n), WIDTH, linear), f"{name}-spread",
                         f"Distribution of the estimated mean, {KINDS[kind]}"),
            ),
            Figure(
                f"{kind}-percentiles",
                "Percentiles: root mean square error over the number of inputs",
                "Greedy and balanced selections measure inputs of their own for each percentile; "
                "random inputs and the regression have all from the same n.",
                _picture(plots.grid_of_lines(tails, WIDTH, 170.0), f"{name}-tails",
                         f"Error of the estimated percentiles, {KINDS[kind]}"),
            ),
        ]  # fmt: skip


def _picture(figure: Any, name: str, title: str) -> Markup:
    return Markup(svg.to_svg(figure, name, clean(title)))


def _panels(shown: Shown, kind: str, target: float, what: str) -> list[plots.Panel]:
    panels = []
    for set_name in shown.sets:
        lines = []
        for method in shown.methods:
            cells = shown.pick(set_name=set_name, kind=kind, method=method.name, target=target)
            if not cells:
                continue
            sizes = sorted({c.n for c in cells})
            points = []
            for n in sizes:
                joined = group([c for c in cells if c.n == n])
                assert joined is not None
                points.append((n, float(getattr(joined, what))))
            single = tuple(
                tuple((c.n, abs(float(getattr(c, what)))) for c in cells if c.variant == variant)
                for variant in dict.fromkeys(c.variant for c in cells)
            )
            lines.append(plots.Line(method.name, tuple(points), single))
        if lines:
            panels.append(plots.Panel(set_name, tuple(lines)))
    return panels


def _spreads(shown: Shown, kind: str, n: int) -> list[tuple[str, Sequence[plots.Spread]]]:
    panels: list[tuple[str, Sequence[plots.Spread]]] = []
    for set_name in shown.sets:
        rows = [
            plots.Spread(method.name, cell.implementation, tuple(cell.errors))
            for method in shown.methods
            for cell in shown.pick(
                set_name=set_name, kind=kind, method=method.name, n=n, target=MEAN
            )
        ]
        if rows:
            panels.append((set_name, rows))
    return panels


def truths(study: Study) -> list[dict[str, str]]:
    """The truths as a table: per implementation, set and unit."""
    rows = []
    for judged in study.judged:
        kind = list(judged.truths)[-1]
        known = judged.truths[kind]
        unit = choose_unit([known.mean.value], judged.unit)
        mean = known.mean
        sample = sum(len(c.table) and c.sample for c in study.costs if _rests_on(c, judged))
        rows.append(
            {
                "set": judged.set,
                "variant": judged.series.variant,
                "version": judged.series.about["version"],
                "unit": unit.name,
                "inputs": f"{sample:,}",
                "mean": number(unit.shown(mean.value), 2),
                "error": per_cent(mean.error / mean.value),
                "plain": signed_per_cent(mean.sample / mean.value - 1, 0.001),
                "unexplained": per_cent(known.unexplained),
                **{
                    target_name(p): number(unit.shown(q.value), 1)
                    for p, q in known.quantiles.items()
                },
            }
        )
    return rows


def _rests_on(costs: Any, judged: Judged) -> bool:
    return any(series is judged.series for series in costs.series)


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
                    f"{s.variant} {s.about['version']} ({s.about['language']}, "
                    f"{s.about['compiler']}, {s.about['flags'] or 'no flags'}; {s.about['clock']})"
                    for s in costs.series
                ],
            }
        )
    return found
