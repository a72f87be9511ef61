"""The plots of signing that a report has, and costs that were measured elsewhere.

A card, a board and a simulator have clocks and units of their own and were not measured in the same
rounds. Their costs are not divided by those of workers; unitless quantities are compared.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from mldsa_lab.estimate.external import ExternalMeasurement
from mldsa_lab.estimate.figure import Figure, Figures, Key
from mldsa_lab.estimate.interval import Interval
from mldsa_lab.estimate.summary import Summary
from mldsa_lab.sets import PARAMETER_SETS, PERCENTILES
from mldsa_lab.show.figure_tables import SpreadColumns, TableLayout
from mldsa_lab.show.grid import Dot
from mldsa_lab.show.remarks import best_cells, fitted, texts, unit_of
from mldsa_lab.show.report import Look, PlotSpec, Report, assign_colours, free_colours, sections_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing


# Plots.


WIDE, NARROW = 1150.0, 360.0
"""Widths in CSS pixels of a distribution plot on a wide page and on a phone."""
_MIXES = ("all z", "mostly z", "even, or none", "mostly r0", "all r0")
_PARTS = {"setup": "set-up", "final": "final iteration", "z": "z-rejected", "r": "r0-rejected"}


def _draw(name: str, *arguments: object) -> Drawing:
    # Imported only here: its libraries may be missing, and take long to load.
    from mldsa_lab.show import signing_plots

    drawn: Drawing = getattr(signing_plots, name)(*arguments)
    return drawn


def law_plots(summary: Summary, set_name: str, look: Look) -> Iterator[PlotSpec]:
    """The distribution of the signing cost of a set, if any signer has a fit."""
    if fitted(summary, set_name):
        yield PlotSpec(
            f"What signatures of {set_name} cost, from the cheapest to the rare and expensive",
            partial(_draw, "draw_laws", summary, look.colours, set_name, WIDE),
            text=texts("distribution")[0],
            alt=f"Estimated distribution of the cost of {set_name} sign, over percentiles",
            narrow=partial(_draw, "draw_laws", summary, look.colours, set_name, NARROW),
        )


def relative_plot(
    measured: Sequence[ExternalMeasurement], runs: Sequence[Summary], colours: Mapping[str, int],
    set_name: str,
) -> PlotSpec:  # fmt: skip
    """The distributions of the signing cost over each one's mean."""
    draw = partial(_draw, "draw_relative", measured, runs, colours, set_name)
    return PlotSpec(
        "How signatures spread, each over its own mean",
        partial(draw, WIDE),
        text="Read upwards from a percentile; workers with external measurements.",
        alt=f"Estimated distributions of the cost of {set_name} sign, over each one's mean",
        narrow=partial(draw, NARROW),
    )


def cost_plots(summary: Summary, set_name: str, look: Look) -> Iterator[PlotSpec]:
    """The parts of the mean, and costs over iterations of each signer."""
    if not (pairs := fitted(summary, set_name)):
        return
    draw = partial(_draw, "draw_parts", summary, set_name)
    legend = tuple((title, Dot(part)) for part, title in _PARTS.items())
    alt = f"Parts of the mean cost of {set_name} sign"
    yield PlotSpec("Where the mean goes", draw, legend, alt=alt)
    mixes = tuple((text, Dot(f"mix{n}")) for n, text in enumerate(_MIXES))
    unit = unit_of(summary.table(set_name, "sign"))
    for cell, fit in pairs if look.has_clouds else ():
        label, draw = summary.label(cell.variant), partial(_draw, "draw_cloud", fit, set_name, unit)
        alt = f"Cost over iterations of {label}, {set_name} sign"
        yield PlotSpec(label, draw, mixes, texts("clouds")[0], alt, is_small=True)


# Costs measured elsewhere.


TITLE = "Measured elsewhere"
"""The title of a report of files of measurements."""
_FIRST = "first: a signature accepted at once; z, r0: an attempt rejected there"
_SIGN: dict[str, Key] = {"operation": "sign"}
_COLUMNS = (
    SpreadColumns("mean", "mean", spare_interval=2, keys=_SIGN),
    *(
        SpreadColumns("quantile", f"p{p}", spare_interval=2, keys={**_SIGN, "percentile": p})
        for p in PERCENTILES.values()
    ),
    SpreadColumns("attempt_cost", "first", spare_interval=2, keys={"attempt": "first"}),
)
_QUOTIENTS = {
    "mean ÷ first": ("mean", "first"), "p99 ÷ p50": ("p99", "p50"),
    "p99.9 ÷ p50": ("p999", "p50"), "z ÷ first": ("z", "first"), "r0 ÷ first": ("r", "first"),
}  # fmt: skip
"""Costs over others: what has no unit."""


def external_report(
    measured: Sequence[ExternalMeasurement],
    runs: Sequence[Summary],
    look: Look,
    fields: Mapping[str, str],
) -> Report:
    """Return the report of external measurements, with the workers of runs. ``fields``: the fields
    of their rows."""
    held = [e for e in measured if not e.result.refutation]
    attributes = {"variant": {e.name: e.attributes for e in held}}
    figures = Figures([f for e in held for f in e.emit()], attributes)
    rows = ("implementation", "set", "unit", "inputs", "rounds")
    costs = TableLayout(TITLE, (), rows, _COLUMNS)
    note = "signing, each in its own unit"
    sections = sections_of(figures, [costs], look.confidence, note, chapter=TITLE)
    colours = choose_colours(measured, runs, look)
    for set_name in dict.fromkeys(e.result.set for e in held):
        layout = TableLayout(
            f"{set_name}: what has no unit", (), ("signing",),
            tuple(SpreadColumns(title, title) for title in _QUOTIENTS),
            colours=colours,
        )  # fmt: skip
        plot = relative_plot(held, runs, colours, set_name)
        quotients = _compare_quotients(held, runs, set_name)
        for section in sections_of(quotients, [layout], look.confidence, _FIRST, chapter=TITLE):
            sections.append(replace(section, plots=(plot,)))
    doubts = [f"{e.name}: {f.code}: {f.text}" for e in measured for f in e.result.findings]
    doubts += [f"{e.name}: its costs are {e.result.without}" for e in held if e.result.without]
    refused = [e for e in measured if e.result.refutation]
    return Report(
        kind="measured elsewhere",
        headline=f"{TITLE}: {', '.join(e.name for e in held) or 'no valid estimate'}",
        figures=figures,
        sections=sections,
        warnings=[*texts(TITLE), *doubts],
        fields=fields,
        name=TITLE,
        source=", ".join(e.name for e in refused),
        lacking="; ".join(e.result.refutation for e in refused),
    )


def choose_colours(
    measured: Sequence[ExternalMeasurement], runs: Sequence[Summary], look: Look
) -> dict[str, int]:
    """Return the colour numbers of the implementations of runs and of what was measured elsewhere,
    none of which has that of another."""
    colours = look.colours or assign_colours([run.record for run in runs])
    shown = (c.variant for run in runs for c in run.cells if c.set in PARAMETER_SETS)
    taken = {colours[variant.implementation] for variant in shown}
    return {**free_colours([e.name for e in measured], taken), **colours}


def _compare_quotients(
    measured: Sequence[ExternalMeasurement], runs: Sequence[Summary], set_name: str
) -> Figures:
    """Return unitless figures of these and of each implementation's best variant in the set."""
    figures, about = list[Figure](), dict[Key, dict[str, Key]]()
    for entry in measured:
        if entry.result.set == set_name:
            about[entry.name] = {"implementation": entry.name}
            figures += _divide_costs(entry.name, entry.costs)
    for place, run in enumerate(runs):
        signing, name = run.table(set_name, "sign"), f", run {chr(65 + place)}" * (len(runs) > 1)
        for cell in best_cells(signing) or best_cells(signing, "expanded"):
            if cell.fit is not None:
                v, label = cell.variant, run.label(cell.variant) + name
                about[label] = {"implementation": v.implementation, "key": v.key}
                costs = cell.fit.costs(run.confidence)
                for text, percentile in PERCENTILES.items():
                    cost = cell.interval("quantile", percentile=percentile)
                    costs |= {text: cost} if cost else {}
                figures += _divide_costs(label, costs | ({"mean": cell.mean} if cell.mean else {}))
    return Figures(figures, {"signing": about})


def _divide_costs(label: str, costs: Mapping[str, Interval]) -> Iterator[Figure]:
    """Yield `_QUOTIENTS` of these costs, as far as they are known."""
    for title, names in _QUOTIENTS.items():
        one, other = (costs.get(name) for name in names)
        quotient = one.value / other.value if one and other and other.value else None
        yield Figure({"signing": label}, title, quotient)
