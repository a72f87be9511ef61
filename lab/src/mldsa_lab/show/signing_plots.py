"""The plots that follow from fits of signing to traces: distributions, parts of the mean, costs
over iterations. Matplotlib may be missing and takes long to load: import this to draw only."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure as MplFigure
from matplotlib.ticker import EngFormatter, MaxNLocator

from mldsa_lab import LabError
from mldsa_lab.estimate.external import Estimation, ExternalMeasurement
from mldsa_lab.estimate.fit import Fit
from mldsa_lab.estimate.summary import MeasuredCell, Summary
from mldsa_lab.files import write_whole
from mldsa_lab.sets import SHARES
from mldsa_lab.show import plots, svg
from mldsa_lab.show.grid import Unit, format_plain, show_interval
from mldsa_lab.show.remarks import fitted, unit_of
from mldsa_lab.theory.law import LINEAR, Law, to_costs
from mldsa_lab.theory.rejection import RejectionModel

SAVES = 0.9
"""An expanded key has a curve of its own where it costs less than this share of the compact one."""
_CURVE_SHARES = np.unique(np.append(1 - 10.0**-plots.GRID, SHARES).clip(1e-12))
"""The shares of signatures that a distribution plot asks for, ascending."""


def draw_laws(
    summary: Summary, colours: Mapping[str, int], set_name: str, width: float
) -> MplFigure:
    """Draw the distribution of the signing cost of each implementation."""
    unit = unit_of(summary.table(set_name, "sign"))
    curves = [
        _make_cell_curve(summary, colours, pair, 1 / unit.divisor)
        for pair in choose_pairs(fitted(summary, set_name))
    ]
    return plots.distribution(curves, unit.name, width)


def draw_relative(
    measured: Sequence[ExternalMeasurement], runs: Sequence[Summary], colours: Mapping[str, int],
    set_name: str, width: float,
) -> MplFigure:  # fmt: skip
    """Draw distributions over each one's mean: of what was measured elsewhere, and of each
    implementation's best variant."""
    curves = []
    for entry in measured:
        if entry.result.set == set_name:
            law = entry.figures.fit.law()
            curves.append(
                to_curve(entry.name, colours[entry.name], False, law, 1 / entry.figures.mean.value)
            )
    for place, summary in enumerate(runs):
        run = f", run {chr(65 + place)}" if len(runs) > 1 else ""
        for pair in choose_pairs(fitted(summary, set_name)):
            curves.append(_make_cell_curve(summary, colours, pair, 1 / pair[0].cost, run))
    return plots.distribution(curves, "× the mean", width)


def choose_pairs(pairs: Sequence[tuple[MeasuredCell, Fit]]) -> list[tuple[MeasuredCell, Fit]]:
    """Return the signers that a distribution shows: a curve for every variant would be too many.

    These are each implementation's fastest variant with a compact key, and with an expanded one if
    there is no other or if it saves enough. Default builds where both were measured.
    """
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


def _make_cell_curve(
    summary: Summary, colours: Mapping[str, int], pair: tuple[MeasuredCell, Fit], scale: float,
    run: str = "",
) -> plots.Curve:  # fmt: skip
    """The law of a signer's cost, with the scatter that its percentiles include."""
    v, law = pair[0].variant, pair[1].law()
    colour = colours.get(v.implementation, 0)
    return to_curve(summary.label(v) + run, colour, v.key == "expanded", law, scale)


def to_curve(label: str, colour: int, is_dashed: bool, law: Law, scale: float) -> plots.Curve:
    return plots.Curve(label, colour, is_dashed, law.curve(_CURVE_SHARES) * scale, _CURVE_SHARES)


def draw_cloud(fit: Fit, set_name: str, unit: Unit) -> MplFigure:
    """Draw the measured cost of the designed inputs and the fit through them."""
    counts = np.asarray(fit.counts, dtype=np.float64)
    rejected = counts.sum(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        # An iteration that fails the hint has passed r0 and cost as much: it counts with r0.
        share = np.where(rejected > 0, (rejected - counts[:, 0]) / rejected, np.nan)
    base, cost_z, cost_r, _ = (float(c) / unit.divisor for c in fit.iteration_costs)
    expected = RejectionModel.for_set(set_name).expected_counts
    cloud = plots.Cloud(
        iterations=rejected + 1, share_r0=share,
        cost=fit.cost / unit.divisor,
        base=base, cost_z=cost_z, cost_r0=cost_r,
        expected_z=float(expected[0]), expected_r0=float(expected[1] + expected[2]),
    )  # fmt: skip
    return plots.cost_against_iterations(cloud, unit.name)


def draw_parts(summary: Summary, set_name: str) -> MplFigure:
    """Draw the parts of each signer's mean.

    The fit cannot separate set-up from the final iteration, which every signature has. That costs
    at least as much as an r0-rejected one, and counts as one.
    """
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


# The picture of an estimation: costs over iterations with the fit, and what it leaves.


PLOT_ENDINGS = (".svg", ".png")
"""The endings of a plot's file."""

_BAD, _FIT, _MIX = "#b3261e", "#0067a5", "cividis"
_RC: Any = {"svg.fonttype": "none", "svg.hashsalt": "mldsa-lab estimate", "text.parse_math": False}
# Percentiles further above the costs measured than this are only in the legend.
_FARTHEST = 1.7
_LETTERS = 140


def write_plot(estimation: Estimation, path: Path) -> None:
    """Draw an estimation into a file, SVG or PNG by its ending; LabError for others."""
    kind = path.suffix.lower()
    if kind not in PLOT_ENDINGS:
        raise LabError(f"plot {path}: must end in {' or '.join(PLOT_ENDINGS)}")
    metadata = {"Date": None} if kind == ".svg" else {}
    with matplotlib.rc_context(_RC):
        figure = draw_estimation(estimation)
        write_whole(
            path,
            lambda target: figure.savefig(target, format=kind[1:], dpi=144, metadata=metadata),
        )


def draw_estimation(estimation: Estimation) -> MplFigure:
    """Return the drawing: costs with the fit, its marks and the residuals below; without a valid
    estimate, the costs."""
    figure = MplFigure(figsize=(11, 6.5), layout="constrained")
    heights = (5,) if estimation.refutation else (5, 2)
    each = figure.subplots(len(heights), 1, sharex=True, height_ratios=heights, squeeze=False)
    main, last = each[0, 0], each[-1, 0]
    if not estimation.refutation:
        _draw_fit(main, estimation)
        last.axhline(0, color="grey", linewidth=1)
        last.set(ylabel="cost less the fit, %")
        _draw_dots(last, estimation, [100 * (r.relative or 0.0) for r in estimation.residuals])
    dots = _draw_dots(main, estimation, [r.cost for r in estimation.residuals])
    figure.colorbar(dots, ax=last, label="r0 of rejected", pad=0.01)
    main.set(ylim=(0, None), ylabel=estimation.unit or "cost")
    main.yaxis.set_major_formatter(EngFormatter())
    last.set(xlabel="iterations", xlim=(0.3, None))
    last.xaxis.set_major_locator(MaxNLocator(10, integer=True))
    for axes in each[:, 0]:
        axes.grid(axis="y", alpha=0.3)
        axes.spines[["top", "right"]].set_visible(False)
    inputs = len(estimation.residuals)
    title = f"{estimation.set} signing, {inputs} input{'s' if inputs > 1 else ''}"
    rounds = f", {estimation.rounds} rounds" if estimation.rounds > 1 else ""
    main.set_title(title + rounds, loc="left", fontweight="bold")
    if not estimation.refutation:
        # Beside the axes: within them it would hide costs.
        title = f"fit {estimation.without}".rstrip()
        main.legend(loc="upper left", bbox_to_anchor=(1.01, 1), fontsize="small", title=title)
    warnings = [textwrap.fill(f"{w.code}: {w.text}", _LETTERS) for w in estimation.warnings]
    if warnings:
        figure.suptitle("\n".join(warnings), x=0.01, ha="left", fontsize="small", color=_BAD)
    return figure


def _draw_fit(axes: Axes, estimation: Estimation) -> None:
    """The line at the expected mix with its interval, between that of only z and of only r0; mean
    and percentiles with theirs."""
    shown = estimation.without_outliers or estimation
    marks = {"mean": shown.mean} | {f"p{p:g}": i for p, i in shown.percentiles.items()}
    highest = _FARTHEST * max(r.cost for r in estimation.residuals)
    first, z, r0 = (shown.costs[name].value for name in ("first", "z", "r"))
    counts = shown.fit.model.expected_counts
    share = float(counts[0] / counts.sum())
    slope = share * z + (1 - share) * r0
    last = float(max(r.iterations for r in estimation.residuals))
    near = [mark.value for mark in marks.values() if mark.value < highest]
    if slope > 0 and near:
        last = max(last, min((max(near) - first) / slope + 1, 3 * last + 10))
    iterations = np.linspace(1, last + 0.5, 40)
    axes.fill_between(
        iterations, first + (iterations - 1) * z, first + (iterations - 1) * r0, color="grey",
        alpha=0.2, linewidth=0, label="fit: z alone to r0 alone",
    )  # fmt: skip
    rows = np.zeros((len(iterations), len(shown.fit.coefficients)))
    parts = np.outer(iterations - 1, (0.0, share, 1 - share, 0.0)) + np.eye(4)[0]
    rows[:, :LINEAR] = parts @ to_costs(shown.fit.model)
    band = np.array([list(shown.fit.interval(row, shown.confidence)) for row in rows], float)
    axes.plot(iterations, band[:, 0], color="grey", label="fit: expected mix")
    axes.fill_between(
        iterations, band[:, 1], band[:, 2], color=_FIT, alpha=0.25, linewidth=0,
        label=f"its {100 * shown.confidence:g} % interval",
    )  # fmt: skip
    colours = matplotlib.colormaps["viridis"](np.linspace(0, 0.85, len(marks)))
    for (name, interval), colour in zip(marks.items(), colours, strict=True):
        label = f"{name}  {show_interval(interval)}"
        if interval.value < highest:
            axes.axhline(interval.value, color=colour, linestyle="--", linewidth=1, label=label)
            low, high = np.array(list(interval), float)[1:]
            axes.axhspan(low, high, color=colour, alpha=0.2, linewidth=0)
        else:
            axes.plot([], [], color=colour, linestyle="--", linewidth=1, label=label)


def _draw_dots(
    axes: Axes, estimation: Estimation, heights: list[float]
) -> matplotlib.cm.ScalarMappable:
    """A dot for each input, coloured by the share of r0 among its rejections; outliers named."""
    shares = [r.r / (r.z + r.r) if r.z + r.r else 0.5 for r in estimation.residuals]
    iterations = [r.iterations for r in estimation.residuals]
    edges = [_BAD if r.outlier else "white" for r in estimation.residuals]
    dots = axes.scatter(
        iterations, heights, c=shares, cmap=_MIX, vmin=0, vmax=1, edgecolors=edges, zorder=3,
        alpha=0.9,
    )  # fmt: skip
    for residual, height in zip(estimation.residuals, heights, strict=True):
        if residual.outlier:
            place = (residual.iterations, height)
            axes.annotate(
                f"id {residual.id}", place, (8, 0), textcoords="offset points", color=_BAD,
                va="center",
            )  # fmt: skip
    return dots
