"""The picture of an estimation: costs over attempts with the fit, and what it leaves."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator
from numpy.typing import NDArray

from mldsa_lab.errors import LabError
from mldsa_lab.estimate.interval import Interval
from mldsa_lab.estimate.measured import Estimation
from mldsa_lab.files import write_whole
from mldsa_lab.show import scales
from mldsa_lab.show.axes import LABEL_GAP, axis_length
from mldsa_lab.show.plots import MIX_NAMES
from mldsa_lab.show.scales import text_width
from mldsa_lab.show.svg import FONT_PX
from mldsa_lab.show.texts import of_interval, tick
from mldsa_lab.wording import join_words

Array = NDArray[np.float64]

ENDINGS = (".svg", ".png")
"""What a plot's file may end in."""

# The page's colours in daylight: a picture on its own has no theme.
_INK, _MUTED, _GRID, _SURFACE, _BAD = "#1b1f24", "#59616b", "#dfe3e8", "#ffffff", "#b3261e"
_MIX = ("#2f4b85", "#5f6d92", "#8c8c8c", "#b59a5c", "#dca722")
_MARK = "#0067a5"
_RC: Any = {
    "svg.fonttype": "none",
    "svg.hashsalt": "mldsa-lab estimate",
    "font.family": "DejaVu Sans",
    "font.size": FONT_PX,
    "axes.labelsize": FONT_PX,
    "xtick.labelsize": FONT_PX - 0.5,
    "ytick.labelsize": FONT_PX - 0.5,
    "figure.dpi": 72,
    "text.color": _INK,
    "axes.labelcolor": _MUTED,
    "axes.edgecolor": _GRID,
    "axes.facecolor": "none",
    "figure.facecolor": _SURFACE,
    "savefig.facecolor": _SURFACE,
    "xtick.color": _GRID,
    "ytick.color": _GRID,
    "xtick.labelcolor": _MUTED,
    "ytick.labelcolor": _MUTED,
    "grid.color": _GRID,
    "grid.linewidth": 0.8,
    "axes.linewidth": 0.8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "text.parse_math": False,
}
_WIDTH = 760.0
_EDGE, _STRIP, _GAP = 14.0, 10.0, 10.0
_LINE = 1.45 * FONT_PX
# Percentiles further above the costs measured than this are in the table alone.
_FARTHEST = 1.7
_PNG_DPI = 144


@dataclass(frozen=True)
class _Mark:
    """A figure that is marked beside the costs."""

    name: str
    interval: Interval


def write_plot(estimation: Estimation, path: Path) -> None:
    """Draw an estimation into a file, SVG or PNG by its ending; LabError for others."""
    kind = path.suffix.lower()
    if kind not in ENDINGS:
        raise LabError(f"plot {path}: must end in {' or '.join(ENDINGS)}")
    with matplotlib.rc_context(_RC):
        figure = draw(estimation)
        metadata = {"Date": None} if kind == ".svg" else {}
        write_whole(
            path,
            lambda target: figure.savefig(
                target, format=kind[1:], dpi=72 if kind == ".svg" else _PNG_DPI, metadata=metadata
            ),
        )


def draw(estimation: Estimation) -> Figure:
    """The figure; `write_plot` sets fonts and colours around it."""
    shown = estimation.without_outliers or estimation
    marks = [_Mark("mean", shown.mean)]
    marks += [_Mark(f"p{p:g}", interval) for p, interval in shown.percentiles.items()]
    labels = [f"{m.name}  {of_interval(m.interval).value}" for m in marks]
    head = _head(estimation)
    # Room for the tick of the largest value that may be shown.
    highest = max(max(r.cost for r in estimation.residuals), *(m.interval.value for m in marks))
    left = max(_EDGE + text_width(tick(highest)) + 8, 56.0)
    top = 14 + _LINE * len(head) + 20
    # Renderers round a little wider.
    longest = 1.04 * max(text_width(label) for label in labels)
    right = _STRIP * len(marks) + 2 * _GAP + longest + _EDGE
    height = top + 290 + 44 + 120 + 74
    figure = Figure(figsize=(_WIDTH / 72, height / 72))
    width = (_WIDTH - left - right) / _WIDTH
    main = figure.add_axes((left / _WIDTH, 1 - (top + 290) / height, width, 290 / height))
    below = figure.add_axes((left / _WIDTH, 74 / height, width, 120 / height))
    for line, (text, colour, weight) in enumerate(head):
        figure.text(
            _EDGE / _WIDTH, 1 - (14 + _LINE * (line + 0.5)) / height, text, color=colour,
            fontweight=weight, va="center", fontsize=FONT_PX + (1 if line == 0 else 0),
        )  # fmt: skip
    _costs(main, estimation, marks)
    _marks(main, marks, labels)
    _residuals(below, estimation)
    for axes, title in ((main, estimation.unit or "cost"), (below, "cost less the fit, %")):
        axes.set_title(
            title, loc="left", x=-(left - _EDGE) / (width * _WIDTH), fontsize=FONT_PX - 0.5,
            color=_MUTED, pad=7,
        )  # fmt: skip
    _legend(figure, left, height)
    return figure


def _head(estimation: Estimation) -> list[tuple[str, str, str]]:
    """Lines of text above: what it is, then the warnings."""
    inputs = len(estimation.residuals)
    title = f"{estimation.set} signing, {inputs} input{'s' if inputs > 1 else ''}"
    if estimation.rounds > 1:
        title += f", {estimation.rounds} rounds"
    lines = [(title, _INK, "bold")]
    letters = int((_WIDTH - 28) / (text_width("n" * 50) / 50))
    for finding in estimation.warnings:
        text = f"{finding.code}: {finding.text}"
        lines += [(part, _BAD, "normal") for part in textwrap.wrap(text, letters)]
    outliers = [str(r.id) for r in estimation.residuals if r.outlier]
    if outliers:
        ids = f"id {outliers[0]}" if len(outliers) == 1 else f"ids {join_words(outliers)}"
        lines.append((f"Line, residuals, mean and percentiles: without {ids}.", _INK, "normal"))
    return lines


def _costs(axes: Axes, estimation: Estimation, marks: Sequence[_Mark]) -> None:
    shown = estimation.without_outliers or estimation
    attempts = np.array([r.attempts for r in estimation.residuals], dtype=np.float64)
    cost = np.array([r.cost for r in estimation.residuals])
    first, z, r0 = (shown.costs[name].value for name in ("first", "z", "r"))
    near = [m.interval.value for m in marks if m.interval.value < _FARTHEST * cost.max()]
    high = max(float(cost.max()), *near)
    counts = shown.fit.model.expected_counts
    share = float(counts[0] / counts.sum())
    slope = share * z + (1 - share) * r0
    last = float(attempts.max())
    if slope > 0:
        last = max(last, min((max(near) - first) / slope + 1, 3 * last + 10))
    ends = np.array([1.0, last + 0.5])
    rejected = ends - 1
    axes.fill_between(
        ends, first + rejected * z, first + rejected * r0, color=_MUTED, alpha=0.16, linewidth=0
    )
    axes.plot(ends, first + rejected * slope, color=_MUTED, linewidth=1.2)
    for residual in estimation.residuals:
        axes.plot(
            [residual.attempts], [residual.cost], "o", markersize=6, color=_colour(residual.counts),
            markeredgecolor=_BAD if residual.outlier else _SURFACE,
            markeredgewidth=1.6 if residual.outlier else 0.6, clip_on=False, zorder=3,
        )  # fmt: skip
    axes.set_xlim(0.4, last + 0.8)
    _from_zero(axes, 1.06 * max(high, first + rejected[1] * max(z, r0, 0.0)))
    _whole_attempts(axes)
    axes.tick_params(length=0)
    axes.grid(axis="y")
    axes.spines["left"].set_visible(False)
    _name_outliers(axes, estimation, [r.cost for r in estimation.residuals])


def _marks(axes: Axes, marks: Sequence[_Mark], labels: Sequence[str]) -> None:
    """Mean and percentiles with their intervals, right of the costs, on the same scale."""
    _, high = axes.get_ylim()
    width = _WIDTH * axes.get_position().width
    height = axis_length(axes, True)
    wanted = []
    for place, mark in enumerate(marks):
        interval = mark.interval
        if interval.value > high:
            continue
        x = 1 + (_GAP + _STRIP * (place + 0.5)) / width
        low = max(interval.value if interval.low is None else interval.low, 0.0) / high
        up = min((interval.value if interval.high is None else interval.high) / high, 1.0)
        colour = _INK if place == 0 else _MARK
        axes.plot(
            [x, x], [low, up], transform=axes.transAxes, color=colour, linewidth=5, alpha=0.35,
            solid_capstyle="butt", clip_on=False,
        )  # fmt: skip
        axes.plot(
            [x], [interval.value / high], "o", transform=axes.transAxes, markersize=5,
            color=colour, clip_on=False,
        )  # fmt: skip
        wanted.append((interval.value / high * height, labels[place], colour, x))
    wanted.sort(key=lambda item: item[0])
    places = scales.spread([y for y, *_ in wanted], LABEL_GAP, 0, height)
    edge = 1 + (2 * _GAP + _STRIP * len(marks)) / width
    for at, (y, label, colour, x) in zip(places, wanted, strict=True):
        axes.plot(
            [x, edge - 3 / width], [y / height, at / height], transform=axes.transAxes,
            color=_GRID, linewidth=0.8, clip_on=False, zorder=0,
        )  # fmt: skip
        axes.text(
            edge, at / height, label, transform=axes.transAxes, va="center_baseline",
            color=colour,
        )  # fmt: skip


def _residuals(axes: Axes, estimation: Estimation) -> None:
    values = np.array([100 * (r.relative or 0.0) for r in estimation.residuals])
    limit = 1.25 * max(float(np.abs(values).max()), 0.01)
    axes.axhline(0, color=_MUTED, linewidth=1, zorder=0.5)
    for residual, value in zip(estimation.residuals, values, strict=True):
        axes.plot(
            [residual.attempts], [value], "o", markersize=6, color=_colour(residual.counts),
            markeredgecolor=_BAD if residual.outlier else _SURFACE,
            markeredgewidth=1.6 if residual.outlier else 0.6,
        )  # fmt: skip
    axes.set_ylim(-limit, limit)
    axes.set_xlim(0.4, axes.figure.axes[0].get_xlim()[1])
    axes.yaxis.set_major_locator(MaxNLocator(4, symmetric=True, steps=[1, 2, 5, 10]))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda v, _: f"{v:.4g}"))
    _whole_attempts(axes)
    axes.tick_params(length=0)
    axes.grid(axis="y")
    axes.spines["left"].set_visible(False)
    axes.set_xlabel("attempts", labelpad=3)
    _name_outliers(axes, estimation, list(values))


def _name_outliers(axes: Axes, estimation: Estimation, heights: Sequence[float]) -> None:
    """The ids of outliers, on that side of the point where there is room."""
    _, last = axes.get_xlim()
    for residual, height in zip(estimation.residuals, heights, strict=True):
        if residual.outlier:
            left = residual.attempts > 0.85 * last
            axes.annotate(
                f"id {residual.id}", (residual.attempts, height), (-8 if left else 8, 0),
                textcoords="offset points", ha="right" if left else "left",
                va="center_baseline", color=_BAD, zorder=4,
                bbox={"facecolor": _SURFACE, "alpha": 0.8, "linewidth": 0, "pad": 1},
            )  # fmt: skip


def _legend(figure: Figure, left: float, height: float) -> None:
    """What the colours stand for, in one line."""
    x = left
    lead = "rejected attempts:"
    figure.text(x / _WIDTH, 18 / height, lead, color=_MUTED, va="center_baseline")
    x += text_width(lead) + 16
    for colour, name in zip(_MIX, MIX_NAMES, strict=True):
        figure.text(x / _WIDTH, 18 / height, "●", color=colour, va="center_baseline", ha="center")
        figure.text((x + 9) / _WIDTH, 18 / height, name, color=_MUTED, va="center_baseline")
        x += 9 + text_width(name) + 22


def _colour(counts: tuple[int, int, int]) -> str:
    """By the share of r0 among the rejected attempts of class z and r."""
    z, r, _ = counts
    return _MIX[2 if z + r == 0 else round(4 * r / (z + r))]


def _whole_attempts(axes: Axes) -> None:
    axes.xaxis.set_major_locator(MaxNLocator(8, integer=True, steps=[1, 2, 5, 10]))


def _from_zero(axes: Axes, high: float) -> None:
    axes.set_ylim(0, high)
    ticks = scales.linear_ticks(high, axis_length(axes, True), lambda v: scales.LINE)
    axes.yaxis.set_major_locator(FixedLocator(ticks))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda v, _: tick(v)))
