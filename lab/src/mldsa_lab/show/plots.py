"""The plots of a report, one function each; every one takes plain data and gives a figure.

Call them inside `svg.drawing()`. Sizes are CSS pixels. An implementation has one colour in all
plots; an expanded key is a hollow dot or a dashed line. Colour never carries a label alone.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator, NullLocator

from mldsa_lab.show import svg
from mldsa_lab.show.axes import (
    axis_from_zero,
    axis_length,
    end_labels,
    framed,
    log_axis,
    unit_title,
)
from mldsa_lab.show.format import tick
from mldsa_lab.show.scales import text_width

Floats = np.ndarray[tuple[int], np.dtype[np.float64]]

LOG_FROM = 6.0
"""A ranking whose largest value is this many times its smallest gets a logarithmic axis."""
PERCENTILES = (0.5, 0.95, 0.99, 0.999)
"""The percentiles that the distribution plot marks."""
GRID = np.linspace(0, 4, 161)
"""Where the distribution plot's curves have points: minus log10 of the share above."""
MIX_NAMES = ("all z", "mostly z", "even, or none", "mostly r0", "all r0")
"""What the five colours of `cost_against_attempts` stand for."""


@dataclass(frozen=True, slots=True)
class Mark:
    """One line of a ranking: a value with its interval in the plot's unit, and its text."""

    label: str
    colour: int
    hollow: bool
    value: float
    low: float | None
    high: float | None
    text: str


@dataclass(frozen=True, slots=True)
class Cloud:
    """Measured cost of the designed inputs of one signer, in the plot's unit.

    `attempts`, `share_r0` (of the rejected attempts; NaN where none) and `cost` run in parallel.
    The fit is base + n_z * cost_z + n_r0 * cost_r0; `expected_z` and `expected_r0` are the exact
    mean numbers of rejected attempts, whose proportion the drawn line follows.
    """

    attempts: Floats
    share_r0: Floats
    cost: Floats
    base: float
    cost_z: float
    cost_r0: float
    expected_z: float
    expected_r0: float


@dataclass(frozen=True, slots=True)
class Curve:
    """The law of one signer's cost: ascending `cost` in the plot's unit, `cumulative` in (0, 1]."""

    label: str
    colour: int
    dashed: bool
    cost: Floats
    cumulative: Floats

    def quantile(self, p: float) -> float:
        """The smallest cost that at least a share `p` of the signatures do not exceed; NaN where
        a fit to costs that do not follow the attempts puts it at or below 0."""
        index = int(np.searchsorted(self.cumulative, p, side="left"))
        cost = float(self.cost[min(index, len(self.cost) - 1)])
        return cost if cost > 0 else math.nan


@dataclass(frozen=True, slots=True)
class Bar:
    """Where the mean signing cost of one signer goes, in the plot's unit; negative parts are 0.

    `final` is the part of the successful attempt that an r0-rejected one also does, `setup` all
    that is done once: key parsing, mu, the hint.
    """

    label: str
    setup: float
    final: float
    z: float
    r0: float
    text: str


@dataclass(frozen=True, slots=True)
class DottedCurve:
    """One of `curves`, ``x`` ascending, in the plot's units; ``style`` as matplotlib has it."""

    label: str
    colour: int
    style: str
    x: Sequence[float]
    y: Sequence[float]


@dataclass(frozen=True, slots=True)
class PartedBar:
    """A line of `shares` or `amounts`: its parts, each with its colour, that of figures on it, and
    its cost."""

    label: str
    text: str
    parts: tuple[tuple[str, str, float], ...]


def ranking(marks: Sequence[Mark], unit: str, of: str, width: float = 380) -> Figure:
    """Cost with its interval, best first; ``of``: what they are. Linear from zero, or logarithmic
    from `LOG_FROM`."""
    values = [m.value for m in marks]
    logarithmic = 0 < LOG_FROM * min(values) < max(values)
    scale = "log scale" if logarithmic else "from zero"
    figure, axes = _rows(marks, width)
    if logarithmic:
        log_axis(axes, *_bounds(marks))
    else:
        axis_from_zero(axes, 1.06 * _bounds(marks)[1], tick)
    axes.set_xlabel(f"{unit}, {of}, {scale}")
    return figure


def ratios(marks: Sequence[Mark], reference: str, width: float = 380) -> Figure:
    """Cost relative to the reference with its interval, on a log axis: halves mirror doubles."""
    figure, axes = _rows(marks, width)
    low, high = _bounds(marks)
    log_axis(axes, min(low, 1 / 1.1), max(high, 1.1), suffix="×")
    axes.axvline(1, color=svg.MUTED, linewidth=1, zorder=0.5)
    axes.set_xlabel(f"× the cost of {reference}, log scale")
    return figure


def cost_against_attempts(cloud: Cloud, unit: str, width: float = 275) -> Figure:
    """Each designed input's cost over its attempts, with the fit.

    The shaded fan is what the fit allows, from all attempts rejected at z to all at r0; the line
    is their expected mix.
    """
    figure, axes = framed(width, 198, left=46, right=8, bottom=36, top=26)
    last = float(cloud.attempts.max())
    share = cloud.expected_z / (cloud.expected_z + cloud.expected_r0)
    fan(axes, (cloud.base, cloud.cost_z, cloud.cost_r0), share, last + 0.5, svg.MUTED)
    mix = np.where(np.isnan(cloud.share_r0), 2, np.round(cloud.share_r0 * 4)).astype(int)
    for index, colour in enumerate(svg.MIX):
        chosen = mix == index
        if chosen.any():
            axes.plot(
                cloud.attempts[chosen], cloud.cost[chosen], "o", markersize=5.5, color=colour,
                markeredgecolor=svg.SURFACE, markeredgewidth=0.6,
            )  # fmt: skip
    axes.set_xlim(0.5, last + 0.7)
    most = cloud.base + (last - 0.5) * max(cloud.cost_z, cloud.cost_r0)
    axis_from_zero(axes, 1.03 * max(float(cloud.cost.max()), most), tick, vertical=True)
    axes.xaxis.set_major_locator(MaxNLocator(6, integer=True, steps=[1, 2, 5, 10]))
    axes.grid(axis="y")
    axes.set_xlabel("attempts", labelpad=2)
    unit_title(axes, unit, 36)
    return figure


def fan(
    axes: Axes, costs: tuple[float, float, float], share_z: float, last: float, colour: str
) -> float:
    """What a fit of ``costs`` (accepted at once, rejected at z, at r0) allows up to ``last``
    attempts, and its line at the expected share of z, whose slope is returned."""
    first, z, r0 = costs
    ends = np.array([1.0, last])
    axes.fill_between(
        ends, first + (ends - 1) * z, first + (ends - 1) * r0, color=colour, alpha=0.17,
        linewidth=0,
    )  # fmt: skip
    slope = share_z * z + (1 - share_z) * r0
    axes.plot(ends, first + (ends - 1) * slope, color=colour, linewidth=1.2)
    return slope


def distribution(
    curves: Sequence[Curve], unit: str, width: float = 560, tail: float = 4.0
) -> Figure:
    """The estimated law of the signing cost: cost over percentile, both axes stretched.

    The horizontal axis is the logarithm of the share of signatures that cost more, so that the
    tail, where implementations are felt, has as much room as the body. It ends at ``tail``, minus
    log10 of that share.
    """
    grid = GRID * tail / float(GRID[-1])
    right = max(text_width(c.label) for c in curves) + 14
    figure, axes = framed(width, 390, left=48, right=right, bottom=52, top=20)
    end = float(grid[-1])
    # A fit to costs that do not follow the attempts may reach below 0, where a log axis has no
    # room: a curve starts where it is above, if it ever is.
    curves = [c for c in curves if c.quantile(1 - 10**-end) > 0]
    ceiling = max((c.quantile(1 - 10**-end) for c in curves), default=1.0)
    floor = min((float(c.cost[c.cost > 0][0]) for c in curves), default=1.0)
    marked = [p for p in PERCENTILES if _tail(p) <= end]
    for curve in curves:
        values = [curve.quantile(max(1 - 10.0**-x, 1e-12)) for x in grid]
        colour = svg.series(curve.colour)
        axes.plot(
            grid, values, color=colour, linewidth=1.6, linestyle="--" if curve.dashed else "-"
        )
        axes.plot(
            [_tail(p) for p in marked], [curve.quantile(p) for p in marked], "o",
            markersize=4.5, color=colour, markeredgecolor=svg.SURFACE, markeredgewidth=0.7,
        )  # fmt: skip
    log_axis(axes, floor, ceiling, vertical=True)
    axes.set_xlim(-0.03, end)
    ticks = {0.0: "min", 0.5: "p50", 0.9: "p90", 0.95: "p95", 0.99: "p99", 0.999: "p99.9"}
    names = {_tail(p) if p else 0.0: name for p, name in ticks.items()}
    names = {x: name for x, name in names.items() if x <= end}
    if end == GRID[-1]:
        names[end] = "p99.99"
    room = axis_length(axes, False) / end
    shown = {x: n for x, n in names.items() if n not in ("p90", "min", "p99.99") or room > 110}
    axes.xaxis.set_major_locator(FixedLocator(list(shown)))
    axes.xaxis.set_major_formatter(_lookup(shown))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.grid(axis="both")
    axes.set_xlabel("percentile, stretched towards the tail", labelpad=6)
    unit_title(axes, f"{unit}, log scale", 47)
    end_labels(axes, [(c.quantile(1 - 10**-end), c.label, svg.series(c.colour)) for c in curves])
    return figure


def curves(drawn: Sequence[DottedCurve], across: str, up: str, width: float = 380) -> Figure:
    """Positive curves with a dot at each point, both axes logarithmic; of several with one label
    the middle one has it at its end."""
    right = max(text_width(c.label) for c in drawn) + 14
    figure, axes = framed(width, 240, left=40, right=right, bottom=38, top=24)
    for curve in drawn:
        colour = svg.series(curve.colour)
        axes.plot(
            curve.x, curve.y, "o", linestyle=curve.style, linewidth=1.3, markersize=3.2,
            color=colour, markeredgewidth=0,
        )  # fmt: skip
    xs, ys = [x for c in drawn for x in c.x], [y for c in drawn for y in c.y]
    log_axis(axes, min(xs), max(xs))
    log_axis(axes, min(ys), max(ys), vertical=True)
    axes.grid(axis="both")
    axes.set_xlabel(f"{across}, log scale", labelpad=2)
    unit_title(axes, f"{up}, log scale", 36)
    ends: dict[str, list[tuple[float, str, str]]] = {}
    for curve in drawn:
        end = (curve.y[-1], curve.label, svg.series(curve.colour))
        ends.setdefault(curve.label, []).append(end)
    end_labels(axes, [sorted(of)[len(of) // 2] for of in ends.values()])
    return figure


def decomposition(bars: Sequence[Bar], unit: str, width: float = 380) -> Figure:
    """Shares of the mean signing cost, one bar a signer, the parts' cost written where it fits."""
    of_signing = [
        PartedBar(
            bar.label,
            bar.text,
            (
                (svg.SETUP, svg.ON_DARK, bar.setup),
                (svg.FINAL, svg.ON_LIGHT, bar.final),
                (svg.Z, svg.ON_DARK, bar.z),
                (svg.R, svg.ON_LIGHT, bar.r0),
            ),
        )
        for bar in bars
    ]
    return shares(of_signing, unit, width)


def shares(bars: Sequence[PartedBar], unit: str, width: float) -> Figure:
    """Shares of a mean, one bar a line, the parts' cost written where it fits; negative parts
    are 0."""
    figure, axes = _parted(bars, width, [_whole(bar) or 1.0 for bar in bars])
    axes.set_xlim(0, 1)
    axes.set_xticks([0, 0.25, 0.5, 0.75, 1], ["0", "25", "50", "75", "100 %"])
    axes.spines["bottom"].set_visible(False)
    axes.set_xlabel(f"share of the mean; figures in {unit}", labelpad=4)
    return figure


def amounts(bars: Sequence[PartedBar], unit: str, width: float) -> Figure:
    """Amounts made of parts, one bar a line, all from zero on one scale."""
    most = max(_whole(bar) for bar in bars) or 1.0
    figure, axes = _parted(bars, width, [most] * len(bars))
    ticks = [v for v in MaxNLocator(4).tick_values(0, most) if v <= most]
    axes.set_xlim(0, 1)
    axes.set_xticks([v / most for v in ticks], [tick(v) for v in ticks])
    axes.set_xlabel(f"{unit}, from zero", labelpad=4)
    return figure


def _whole(bar: PartedBar) -> float:
    return sum(max(cost, 0.0) for _, _, cost in bar.parts)


def _parted(
    bars: Sequence[PartedBar], width: float, wholes: Sequence[float]
) -> tuple[Figure, Axes]:
    """The common body of bars of parts; each reaches to 1 where it has all of its whole."""
    figure, axes, plot = lines([(b.label, b.text) for b in bars], width)
    for line, (bar, whole) in enumerate(zip(bars, wholes, strict=True)):
        start = 0.0
        for colour, ink, given in bar.parts:
            cost = max(given, 0.0)
            share = cost / whole
            axes.barh(
                line, share, left=start, height=0.72, color=colour, edgecolor=svg.SURFACE,
                linewidth=1,
            )  # fmt: skip
            text = f"{cost:,.3g}" if cost < 1000 else f"{cost:,.0f}"
            if share * plot > text_width(text) + 5:
                axes.text(
                    start + share / 2, line, text, ha="center", va="center_baseline", color=ink,
                    fontsize=svg.FONT_PX - 1.5,
                )  # fmt: skip
            start += share
    return figure, axes


def lines(texts: Sequence[tuple[str, str]], width: float) -> tuple[Figure, Axes, float]:
    """The frame of a plot with a line per signer: label left, text right; and the width between."""
    labels = max(text_width(label) for label, _ in texts) + 12
    right = max(text_width(text) for _, text in texts) + 10
    height = 21.0 * len(texts) + 44
    figure, axes = framed(width, height, left=labels, right=right, bottom=42, top=2)
    axes.set_ylim(len(texts) - 0.5, -0.5)
    axes.set_yticks(range(len(texts)), [label for label, _ in texts], color=svg.INK)
    for line, (_, text) in enumerate(texts):
        axes.annotate(
            text, (1, line), (8, 0), xycoords=("axes fraction", "data"),
            textcoords="offset points", ha="left", va="center_baseline", color=svg.INK,
            annotation_clip=False,
        )  # fmt: skip
    return figure, axes, width - labels - right


def _rows(marks: Sequence[Mark], width: float) -> tuple[Figure, Axes]:
    """The common body of rankings: a dot with its interval on each line."""
    figure, axes, _ = lines([(m.label, m.text) for m in marks], width)
    for line, mark in enumerate(marks):
        colour = svg.series(mark.colour)
        axes.axhline(line, color=svg.GRID, linewidth=0.8, zorder=0)
        if mark.low is not None and mark.high is not None:
            axes.plot(
                [mark.low, mark.high], [line, line], color=colour, linewidth=7, alpha=0.4,
                solid_capstyle="butt",
            )  # fmt: skip
        axes.plot(
            [mark.value], [line], "o", markersize=6, color=svg.SURFACE if mark.hollow else colour,
            markeredgecolor=colour, markeredgewidth=1.6 if mark.hollow else 0.5,
        )  # fmt: skip
    axes.grid(axis="x")
    return figure, axes


def _bounds(marks: Sequence[Mark]) -> tuple[float, float]:
    lows = [m.value if m.low is None else min(m.low, m.value) for m in marks]
    highs = [m.value if m.high is None else max(m.high, m.value) for m in marks]
    positive = [v for v in lows if v > 0] or [m.value for m in marks]
    return min(positive), max(highs)


def _tail(p: float) -> float:
    """Where percentile `p` stands on the distribution's axis: minus log10 of the share above."""
    return -math.log10(1 - p)


def _lookup(names: dict[float, str]) -> FuncFormatter:
    return FuncFormatter(lambda v, _: min(names.items(), key=lambda item: abs(item[0] - v))[1])
