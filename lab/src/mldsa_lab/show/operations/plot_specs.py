"""Which plots of signing a report has; `signing_plots` draws them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

from mldsa_lab.show.grid import Dot
from mldsa_lab.show.operations.texts import texts
from mldsa_lab.show.operations.view import View, unit_of
from mldsa_lab.show.report import PlotSpec

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


def law_plots(view: View, set_name: str) -> Iterator[PlotSpec]:
    """The distribution of the signing cost of a set, if any signer has a fit."""
    if view.fitted(set_name):
        yield PlotSpec(
            f"What signatures of {set_name} cost, from the cheapest to the rare and expensive",
            partial(_draw, "draw_laws", view, set_name, WIDE),
            text=texts("distribution")[0],
            alt=f"Estimated distribution of the cost of {set_name} sign, over percentiles",
            narrow=partial(_draw, "draw_laws", view, set_name, NARROW),
        )


def relative_plot(measured: Sequence[Elsewhere], views: Sequence[View], set_name: str) -> PlotSpec:
    """The distributions of the signing cost over each one's mean."""
    draw = partial(_draw, "draw_relative", measured, views, set_name)
    return PlotSpec(
        "How signatures spread, each over its own mean",
        partial(draw, WIDE),
        text="Read upwards from a percentile; workers beside what was measured elsewhere.",
        alt=f"Estimated distributions of the cost of {set_name} sign, over each one's mean",
        narrow=partial(draw, NARROW),
    )


def cost_plots(view: View, set_name: str, clouds: bool) -> Iterator[PlotSpec]:
    """The parts of the mean, and costs over iterations of each signer."""
    if not (pairs := view.fitted(set_name)):
        return
    draw = partial(_draw, "draw_parts", view, set_name)
    legend = tuple((title, Dot(part)) for part, title in _PARTS.items())
    alt = f"Parts of the mean cost of {set_name} sign"
    yield PlotSpec("Where the mean goes", draw, legend, alt=alt)
    mixes = tuple((text, Dot(f"mix{n}")) for n, text in enumerate(_MIXES))
    unit = unit_of(view.table(set_name, "sign"))
    for row, fit in pairs if clouds else ():
        label, draw = view.label(row.variant.id), partial(_draw, "draw_cloud", fit, set_name, unit)
        alt = f"Cost over iterations of {label}, {set_name} sign"
        yield PlotSpec(label, draw, mixes, texts("clouds")[0], alt, small=True)
