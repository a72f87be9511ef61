"""The picture of an estimation: costs over attempts with the fit, and what it leaves."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter, MaxNLocator

from mldsa_lab import LabError
from mldsa_lab.estimate.measured import Estimation
from mldsa_lab.files import write_whole
from mldsa_lab.show.grid import of_interval
from mldsa_lab.theory.law import LINEAR, to_costs

ENDINGS = (".svg", ".png")
"""What a plot's file may end in."""

_BAD, _FIT, _MIX = "#b3261e", "#0067a5", "cividis"
_RC: Any = {"svg.fonttype": "none", "svg.hashsalt": "mldsa-lab estimate", "text.parse_math": False}
# Percentiles further above the costs measured than this are in the legend alone.
_FARTHEST = 1.7
_LETTERS = 140


def write_plot(estimation: Estimation, path: Path) -> None:
    """Draw an estimation into a file, SVG or PNG by its ending; LabError for others."""
    kind = path.suffix.lower()
    if kind not in ENDINGS:
        raise LabError(f"plot {path}: must end in {' or '.join(ENDINGS)}")
    metadata = {"Date": None} if kind == ".svg" else {}
    with matplotlib.rc_context(_RC):
        figure = draw(estimation)
        write_whole(
            path,
            lambda target: figure.savefig(target, format=kind[1:], dpi=144, metadata=metadata),
        )


def draw(estimation: Estimation) -> Figure:
    """Return the drawing: costs with the fit, its marks and the residuals below; where no estimate
    holds, the costs."""
    figure = Figure(figsize=(11, 6.5), layout="constrained")
    heights = (5,) if estimation.refutation else (5, 2)
    each = figure.subplots(len(heights), 1, sharex=True, height_ratios=heights, squeeze=False)
    main, last = each[0, 0], each[-1, 0]
    if not estimation.refutation:
        _fit(main, estimation)
        last.axhline(0, color="grey", linewidth=1)
        last.set(ylabel="cost less the fit, %")
        _dots(last, estimation, [100 * (r.relative or 0.0) for r in estimation.residuals])
    dots = _dots(main, estimation, [r.cost for r in estimation.residuals])
    figure.colorbar(dots, ax=last, label="r0 of rejected", pad=0.01)
    main.set(ylim=(0, None), ylabel=estimation.unit or "cost")
    main.yaxis.set_major_formatter(EngFormatter())
    last.set(xlabel="attempts", xlim=(0.3, None))
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


def _fit(axes: Axes, estimation: Estimation) -> None:
    """The line at the expected mix with its interval, between that of z alone and of r0 alone;
    mean and percentiles with theirs."""
    shown = estimation.without_outliers or estimation
    marks = {"mean": shown.mean} | {f"p{p:g}": i for p, i in shown.percentiles.items()}
    highest = _FARTHEST * max(r.cost for r in estimation.residuals)
    first, z, r0 = (shown.costs[name].value for name in ("first", "z", "r"))
    counts = shown.fit.model.expected_counts
    share = float(counts[0] / counts.sum())
    slope = share * z + (1 - share) * r0
    last = float(max(r.attempts for r in estimation.residuals))
    near = [mark.value for mark in marks.values() if mark.value < highest]
    if slope > 0 and near:
        last = max(last, min((max(near) - first) / slope + 1, 3 * last + 10))
    attempts = np.linspace(1, last + 0.5, 40)
    axes.fill_between(
        attempts, first + (attempts - 1) * z, first + (attempts - 1) * r0, color="grey",
        alpha=0.2, linewidth=0, label="fit: z alone to r0 alone",
    )  # fmt: skip
    rows = np.zeros((len(attempts), len(shown.fit.coefficients)))
    parts = np.outer(attempts - 1, (0.0, share, 1 - share, 0.0)) + np.eye(4)[0]
    rows[:, :LINEAR] = parts @ to_costs(shown.fit.model)
    band = np.array([list(shown.fit.interval(row, shown.confidence)) for row in rows], float)
    axes.plot(attempts, band[:, 0], color="grey", label="fit: expected mix")
    axes.fill_between(
        attempts, band[:, 1], band[:, 2], color=_FIT, alpha=0.25, linewidth=0,
        label=f"its {100 * shown.confidence:g} % interval",
    )  # fmt: skip
    colours = matplotlib.colormaps["viridis"](np.linspace(0, 0.85, len(marks)))
    for (name, interval), colour in zip(marks.items(), colours, strict=True):
        label = f"{name}  {of_interval(interval)}"
        if interval.value < highest:
            axes.axhline(interval.value, color=colour, linestyle="--", linewidth=1, label=label)
            low, high = np.array(list(interval), float)[1:]
            axes.axhspan(low, high, color=colour, alpha=0.2, linewidth=0)
        else:
            axes.plot([], [], color=colour, linestyle="--", linewidth=1, label=label)


def _dots(axes: Axes, estimation: Estimation, heights: list[float]) -> matplotlib.cm.ScalarMappable:
    """A dot for each input, coloured by the share of r0 among its rejections; outliers named."""
    shares = [r.r / (r.z + r.r) if r.z + r.r else 0.5 for r in estimation.residuals]
    attempts = [r.attempts for r in estimation.residuals]
    edges = [_BAD if r.outlier else "white" for r in estimation.residuals]
    dots = axes.scatter(
        attempts, heights, c=shares, cmap=_MIX, vmin=0, vmax=1, edgecolors=edges, zorder=3,
        alpha=0.9,
    )  # fmt: skip
    for residual, height in zip(estimation.residuals, heights, strict=True):
        if residual.outlier:
            place = (residual.attempts, height)
            axes.annotate(
                f"id {residual.id}", place, (8, 0), textcoords="offset points", color=_BAD,
                va="center",
            )  # fmt: skip
    return dots
