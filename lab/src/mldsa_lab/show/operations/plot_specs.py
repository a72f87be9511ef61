"""Which plots of signing a report has; `signing_plots` draws them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from mldsa_lab.estimate.summary import Summary
from mldsa_lab.show.grid import Dot
from mldsa_lab.show.operations.best import fitted, unit_of
from mldsa_lab.show.operations.texts import texts
from mldsa_lab.show.report import Look, PlotSpec

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

    from mldsa_lab.show.operations.elsewhere import Elsewhere

WIDE, NARROW = 1150.0, 360.0
"""Widths in CSS pixels of a distribution plot on a wide page and on a phone."""
_MIXES = ("all z", "mostly z", "even, or none", "mostly r0", "all r0")
_PARTS = {"setup": "set-up", "final": "final iteration", "z": "z-rejected", "r": "r0-rejected"}


def _draw(name: str, *arguments: object) -> Drawing:
    # Imported only here: its libraries may be missing, and take long to load.
    from mldsa_lab.show.operations import signing_plots

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
    measured: Sequence[Elsewhere], runs: Sequence[Summary], colours: Mapping[str, int],
    set_name: str,
) -> PlotSpec:  # fmt: skip
    """The distributions of the signing cost over each one's mean."""
    draw = partial(_draw, "draw_relative", measured, runs, colours, set_name)
    return PlotSpec(
        "How signatures spread, each over its own mean",
        partial(draw, WIDE),
        text="Read upwards from a percentile; workers beside what was measured elsewhere.",
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
    for cell, fit in pairs if look.clouds else ():
        label, draw = summary.label(cell.variant), partial(_draw, "draw_cloud", fit, set_name, unit)
        alt = f"Cost over iterations of {label}, {set_name} sign"
        yield PlotSpec(label, draw, mixes, texts("clouds")[0], alt, small=True)
