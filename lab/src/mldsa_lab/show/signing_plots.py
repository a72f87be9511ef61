"""The plots that follow from fits of signing to traces: distributions, parts of the mean, costs
over iterations. Matplotlib may be missing and takes long to load: import this to draw only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.figure import Figure as MplFigure

from mldsa_lab.estimate.fit import Fit
from mldsa_lab.estimate.summary import MeasuredCell, Summary
from mldsa_lab.show import plots, svg
from mldsa_lab.show.grid import Unit, format_plain
from mldsa_lab.show.plot_specs import Elsewhere
from mldsa_lab.show.remarks import fitted, unit_of
from mldsa_lab.theory.law import Law
from mldsa_lab.theory.rejection import RejectionModel

SAVES = 0.9
"""An expanded key has a curve of its own where it costs less than this share of the compact one."""
SHARES = np.unique(np.append(1 - 10.0**-plots.GRID, plots.PERCENTILES).clip(1e-12))
"""The shares of signatures that a distribution plot asks for, ascending."""


def draw_laws(
    summary: Summary, colours: Mapping[str, int], set_name: str, width: float
) -> MplFigure:
    """Draw the distribution of the signing cost of each implementation."""
    unit = unit_of(summary.table(set_name, "sign"))
    found = [
        _curve(summary, colours, pair, 1 / unit.divisor)
        for pair in chosen(fitted(summary, set_name))
    ]
    return plots.distribution(found, unit.name, width)


def draw_relative(
    measured: Sequence[Elsewhere], runs: Sequence[Summary], colours: Mapping[str, int],
    set_name: str, width: float,
) -> MplFigure:  # fmt: skip
    """Draw distributions over each one's mean: of what was measured elsewhere, and of each
    implementation's best variant."""
    found = []
    for entry in measured:
        if entry.found.set == set_name:
            law = entry.figures.fit.law()
            found.append(
                curve_of(entry.name, colours[entry.name], False, law, 1 / entry.figures.mean.value)
            )
    for place, summary in enumerate(runs):
        run = f", run {chr(65 + place)}" if len(runs) > 1 else ""
        for pair in chosen(fitted(summary, set_name)):
            found.append(_curve(summary, colours, pair, 1 / pair[0].cost, run))
    return plots.distribution(found, "× the mean", width)


def chosen(pairs: Sequence[tuple[MeasuredCell, Fit]]) -> list[tuple[MeasuredCell, Fit]]:
    """Return what a distribution shows, where a curve for every variant would be a thicket: of each
    implementation the fastest variant with a compact key, and that with an expanded one if there
    is no other or if it saves enough; of the default build where both were measured."""
    kept: list[tuple[MeasuredCell, Fit]] = []
    for name in dict.fromkeys(cell.variant.implementation for cell, _ in pairs):
        every = [p for p in pairs if p[0].variant.implementation == name]
        mine = [p for p in every if not p[0].is_duplicate_build] or every
        compact = next((p for p in mine if p[0].variant.key == "compact"), None)
        expanded = next((p for p in mine if p[0].variant.key != "compact"), None)
        if compact is not None:
            kept.append(compact)
            if expanded is not None and expanded[0].cost >= SAVES * compact[0].cost:
                expanded = None
        if expanded is not None:
            kept.append(expanded)
    return kept


def _curve(
    summary: Summary, colours: Mapping[str, int], pair: tuple[MeasuredCell, Fit], scale: float,
    run: str = "",
) -> plots.Curve:  # fmt: skip
    """The law of a signer's cost, with the scatter that its percentiles include."""
    v, law = pair[0].variant, pair[1].law()
    colour = colours.get(v.implementation, 0)
    return curve_of(summary.label(v) + run, colour, v.key == "expanded", law, scale)


def curve_of(label: str, colour: int, dashed: bool, law: Law, scale: float) -> plots.Curve:
    return plots.Curve(label, colour, dashed, law.curve(SHARES) * scale, SHARES)


def draw_cloud(fit: Fit, set_name: str, unit: Unit) -> MplFigure:
    """Draw the measured cost of the designed inputs and the fit through them."""
    counts = np.asarray(fit.counts, dtype=np.float64)
    rejected = counts.sum(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        # What fails the hint has passed r0 and cost as much: it counts with r0.
        share = np.where(rejected > 0, (rejected - counts[:, 0]) / rejected, np.nan)
    base, cost_z, cost_r, _ = (float(c) / unit.divisor for c in fit.iteration_costs)
    expected = RejectionModel.for_set(set_name).expected_counts
    cloud = plots.Cloud(
        attempts=rejected + 1, share_r0=share,
        cost=fit.cost / unit.divisor,
        base=base, cost_z=cost_z, cost_r0=cost_r,
        expected_z=float(expected[0]), expected_r0=float(expected[1] + expected[2]),
    )  # fmt: skip
    return plots.cost_against_attempts(cloud, unit.name)


def draw_parts(summary: Summary, set_name: str) -> MplFigure:
    """Draw the parts of each signer's mean. The fit cannot separate set-up from the one successful
    iteration that every signature has; that does at least what an r0-rejected one does, and counts
    as it."""
    n_z, n_r, n_h = (float(n) for n in RejectionModel.for_set(set_name).expected_counts)
    unit, bars = unit_of(summary.table(set_name, "sign")), []
    for cell, fit in fitted(summary, set_name):
        base, cost_z, cost_r, cost_h = (float(c) / unit.divisor for c in fit.iteration_costs)
        final = min(cost_r, base)
        parts = (
            (svg.SETUP, svg.ON_DARK, base - final),
            (svg.FINAL, svg.ON_LIGHT, final),
            (svg.Z, svg.ON_DARK, n_z * cost_z),
            (svg.R, svg.ON_LIGHT, n_r * cost_r + n_h * cost_h),
        )
        text = f"{format_plain(cell.cost, unit)} {unit.name}"
        bars.append(plots.PartedBar(summary.label(cell.variant), text, parts))
    return plots.shares(bars, unit.name, 380.0)
