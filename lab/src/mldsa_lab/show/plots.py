"""The plots of a report, one function each; all take plain data and give a figure.

Call them inside `svg.drawing()`. Sizes are CSS pixels. An implementation has one colour in all
plots; an expanded key is a hollow dot or a dashed line. Colour is never the only label.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, MaxNLocator

from mldsa_lab.estimate.interval import Interval
from mldsa_lab.sets import SHARES
from mldsa_lab.show import svg
from mldsa_lab.show.grid import tick
from mldsa_lab.show.svg import (
    LABEL_GAP,
    count_ticks,
    draw_lines,
    label_ends,
    make_axes,
    measure_axis,
    measure_text,
    name_vertical,
    set_log_axis,
    set_ticks,
    set_zero_axis,
    space_ticks,
)

Floats = np.ndarray[tuple[int], np.dtype[np.float64]]

LOG_FROM = 6.0
"""A ranking whose largest value is this many times its smallest gets a logarithmic axis."""
GRID = np.linspace(0, 4, 161)
"""Where the distribution plot's curves have points: minus log10 of the share above."""


@dataclass(frozen=True, slots=True)
class Mark:
    """One line of a ranking: a value with its interval in the plot's unit, and its text."""

    label: str
    colour: int
    is_hollow: bool
    value: float
    low: float | None
    high: float | None
    text: str


@dataclass(frozen=True, slots=True)
class Cloud:
    """Measured cost of the designed inputs of one signer, in the plot's unit.

    `iterations`, `share_r0` (of the rejected ones; NaN where none) and `cost` run in parallel.
    The fit is base + n_z * cost_z + n_r0 * cost_r0. `expected_z` and `expected_r0` are the exact
    mean numbers of rejected iterations; the drawn line follows their proportion.
    """

    iterations: Floats
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
    is_dashed: bool
    cost: Floats
    cumulative: Floats

    def quantile(self, p: float) -> float:
        """Return the smallest cost that a share `p` of the signatures do not exceed.

        NaN where a fit to costs that do not follow the iterations puts it at or below 0.
        """
        index = int(np.searchsorted(self.cumulative, p, side="left"))
        cost = float(self.cost[min(index, len(self.cost) - 1)])
        return cost if cost > 0 else math.nan


@dataclass(frozen=True, slots=True)
class Path:
    """A series of a plot: x and y with its interval, in order; ``style`` as Matplotlib has it.
    Without points it is a thin line over the whole width at `level`: a cost that does not depend
    on x."""

    label: str
    colour: int
    style: str
    points: tuple[tuple[float, Interval], ...]
    level: float = 0.0

    @property
    def end(self) -> float:
        """The place of its label."""
        return self.points[-1][1].value if self.points else self.level


@dataclass(frozen=True, slots=True)
class PartedBar:
    """A line of `shares` or `amounts`: its parts, each with its colour, that of figures on it, and
    its cost."""

    label: str
    text: str
    parts: tuple[tuple[str, str, float], ...]


def ranking(marks: Sequence[Mark], unit: str, quantity: str, width: float = 380) -> Figure:
    """Cost with its interval, best first; linear from zero, or logarithmic from `LOG_FROM`.

    ``quantity``: the name of the values on the axis.
    """
    values = [m.value for m in marks]
    logarithmic = 0 < LOG_FROM * min(values) < max(values)
    scale = "log scale" if logarithmic else "from zero"
    figure, axes = _draw_rows(marks, width)
    if logarithmic:
        set_log_axis(axes, *_find_bounds(marks))
    else:
        set_zero_axis(axes, 1.06 * _find_bounds(marks)[1])
    axes.set_xlabel(f"{unit}, {quantity}, {scale}")
    return figure


def ratios(marks: Sequence[Mark], baseline: str, width: float = 380) -> Figure:
    """Cost relative to the baseline with its interval, on a log axis: halves mirror doubles."""
    figure, axes = _draw_rows(marks, width)
    low, high = _find_bounds(marks)
    set_log_axis(axes, min(low, 1 / 1.1), max(high, 1.1), suffix="×")
    axes.axvline(1, color=svg.MUTED, linewidth=1, zorder=0.5)
    axes.set_xlabel(f"× {baseline}, log scale")
    return figure


def cost_against_iterations(cloud: Cloud, unit: str, width: float = 275) -> Figure:
    """Draw each designed input's cost over its iterations, with the fit.

    The shaded fan is the range of the fit, from all iterations rejected at z to all at r0; the line
    is their expected mix.
    """
    figure, axes = make_axes(width, 198, left=46, right=8, bottom=36, top=26)
    last = float(cloud.iterations.max())
    share = cloud.expected_z / (cloud.expected_z + cloud.expected_r0)
    ends, slopes = np.array([0.0, last - 0.5]), (cloud.cost_z, cloud.cost_r0)
    z, r0 = (cloud.base + ends * slope for slope in slopes)
    axes.fill_between(ends + 1, z, r0, color=svg.MUTED, alpha=0.17, linewidth=0)
    mixed = share * z + (1 - share) * r0
    axes.plot(ends + 1, mixed, color=svg.MUTED, linewidth=1.2)
    mix = np.where(np.isnan(cloud.share_r0), 2, np.round(cloud.share_r0 * 4)).astype(int)
    for index, colour in enumerate(svg.MIX):
        chosen = mix == index
        if chosen.any():
            axes.plot(
                cloud.iterations[chosen], cloud.cost[chosen], "o", markersize=5.5, color=colour,
                markeredgecolor=svg.SURFACE, markeredgewidth=0.6,
            )  # fmt: skip
    axes.set_xlim(0.5, last + 0.7)
    most = cloud.base + (last - 0.5) * max(cloud.cost_z, cloud.cost_r0)
    set_zero_axis(axes, 1.03 * max(float(cloud.cost.max()), most), is_vertical=True)
    axes.xaxis.set_major_locator(MaxNLocator(6, integer=True, steps=[1, 2, 5, 10]))
    axes.grid(axis="y")
    axes.set_xlabel("iterations", labelpad=2)
    name_vertical(axes, unit, 36)
    return figure


def distribution(
    curves: Sequence[Curve], unit: str, width: float = 560, tail: float = 4.0
) -> Figure:
    """The estimated law of the signing cost: cost over percentile, both axes stretched.

    The horizontal axis is the logarithm of the share of signatures that cost more: the tail has as
    much room as the body. It ends at ``tail``, minus log10 of that share.
    """
    grid = GRID * tail / float(GRID[-1])
    right = max(measure_text(c.label) for c in curves) + 14
    figure, axes = make_axes(width, 390, left=48, right=right, bottom=52, top=20)
    end = float(grid[-1])
    # A fit to costs that do not follow the iterations may reach below 0, where a log axis has no
    # room. A curve starts where it is above 0, if it ever is.
    curves = [c for c in curves if c.quantile(1 - 10**-end) > 0]
    ceiling = max((c.quantile(1 - 10**-end) for c in curves), default=1.0)
    floor = min((float(c.cost[c.cost > 0][0]) for c in curves), default=1.0)
    marked = [p for p in SHARES if _place_share(p) <= end]
    for curve in curves:
        values = [curve.quantile(max(1 - 10.0**-x, 1e-12)) for x in grid]
        colour = svg.series(curve.colour)
        axes.plot(
            grid, values, color=colour, linewidth=1.6, linestyle="--" if curve.is_dashed else "-"
        )
        axes.plot(
            [_place_share(p) for p in marked], [curve.quantile(p) for p in marked],
            svg.marker(curve.colour), linestyle="", markersize=4.5, color=colour,
            markeredgecolor=svg.SURFACE, markeredgewidth=0.7,
        )  # fmt: skip
    set_log_axis(axes, floor, ceiling, is_vertical=True)
    axes.set_xlim(-0.03, end)
    ticks = {0.0: "min", 0.5: "p50", 0.9: "p90", 0.95: "p95", 0.99: "p99", 0.999: "p99.9"}
    names = {_place_share(p) if p else 0.0: name for p, name in ticks.items()}
    names = {x: name for x, name in names.items() if x <= end}
    if end == GRID[-1]:
        names[end] = "p99.99"
    room = measure_axis(axes, False) / end
    shown = {x: n for x, n in names.items() if n not in ("p90", "min", "p99.99") or room > 110}
    axes.set_xticks(list(shown), list(shown.values()))
    axes.grid(axis="both")
    axes.set_xlabel("percentile, stretched towards the tail", labelpad=6)
    name_vertical(axes, f"{unit}, log scale", 47)
    label_ends(axes, [(c.quantile(1 - 10**-end), c.label, svg.series(c.colour)) for c in curves])
    return figure


def over_key(
    paths: Sequence[Path],
    values: Sequence[float],
    x_title: str,
    y_title: str,
    width: float,
    *,
    is_rate: bool = False,
    is_ratio: bool = False,
) -> Figure:
    """Draw a figure over the values of a key with intervals, both on log scales.

    Without ``values`` the horizontal axis has round numbers. ``is_rate``: a dotted line of
    proportion from the first point; ``is_ratio``: both from zero, with the line of proportion. Of
    several series with one label the middle one has it at its end.
    """
    right = max(measure_text(p.label) for p in paths) + 16
    height = max(330.0, LABEL_GAP * len(paths) + 66)
    figure, axes = make_axes(width, height, left=46, right=right, bottom=44, top=22)
    across = list(values) or [x for path in paths for x, _ in path.points]
    most, low, high = max(across), *_find_range(paths)
    if is_ratio:
        axes.plot([0, most], [0, most], ":", color=svg.MUTED, linewidth=1.1)
        set_zero_axis(axes, 1.06 * max(most, high), suffix="×", is_vertical=True)
        axes.set_xlim(0, most * 1.06)
    else:
        firsts = [p.points[0] for p in paths if p.points and is_rate]
        for x, y in firsts:
            line = [y.value, y.value * most / x]
            axes.plot([x, most], line, ":", color=svg.MUTED, linewidth=1.1, zorder=0.9)
            high = max(high, *line)
        set_log_axis(axes, low, high, is_vertical=True)
        set_log_axis(axes, min(across), most if most > min(across) else 1.5 * most)
    for path in paths:
        _draw_path(axes, path)
    kept: list[float] = []
    for value in sorted(values, reverse=True):  # the last one always
        place, *last = (float(axes.transData.transform((v, 1.0))[0]) for v in (value, *kept[-1:]))
        if not last or last[0] - place >= measure_text(f"{most:,}") + 6:
            kept.append(value)
    if values:
        set_ticks(axes, FixedLocator(kept))
    axes.grid(axis="both")
    dotted = "; dotted: in proportion" if is_rate or is_ratio else ""
    axes.set_xlabel(x_title + ("" if is_ratio else ", log scale") + dotted, labelpad=6)
    name_vertical(axes, y_title + (", from zero" if is_ratio else ", log scale"), 46)
    ends: dict[str, list[tuple[float, str, str]]] = {}
    for p in paths:
        ends.setdefault(p.label, []).append((p.end, p.label, svg.series(p.colour)))
    label_ends(axes, [sorted(labels)[len(labels) // 2] for labels in ends.values()])
    return figure


def _draw_path(axes: Axes, path: Path) -> None:
    colour = svg.series(path.colour)
    if not path.points:
        axes.axhline(path.level, color=colour, linewidth=1, alpha=0.75)
        return
    x = [p[0] for p in path.points]
    y = [p[1].value for p in path.points]
    axes.plot(x, y, color=colour, linewidth=1.6, linestyle=path.style)
    for at, (_, low, high) in path.points:
        if low is not None and high is not None:
            axes.plot(
                [at, at], [low, high], color=colour, linewidth=5, alpha=0.35,
                solid_capstyle="butt",
            )  # fmt: skip
    axes.plot(
        x, y, svg.marker(path.colour), linestyle="", markersize=5,
        color=colour if path.style == "-" else svg.SURFACE, markeredgecolor=colour,
        markeredgewidth=1.3,
    )  # fmt: skip


def _find_range(paths: Sequence[Path]) -> tuple[float, float]:
    """Of values, and of interval ends within a factor of three of their value: one bad interval
    must not squeeze all lines."""
    values = [p.level for p in paths if not p.points]
    for path in paths:
        for _, interval in path.points:
            y = interval.value
            values += [y, max(interval.low or y, y / 3), min(interval.high or y, 3 * y)]
    return min(values), max(values)


def shares(bars: Sequence[PartedBar], unit: str, width: float) -> Figure:
    """Shares of a mean, one bar a line, the parts' cost written where it fits; negative parts
    are 0."""
    figure, axes = _draw_parted(bars, width, [_sum_parts(bar) or 1.0 for bar in bars])
    axes.set_xlim(0, 1)
    step = 25 if measure_axis(axes, False) > 150 else 50
    percents = range(0, 101, step)
    axes.set_xticks(
        [p / 100 for p in percents], [f"{p} %" if p == 100 else str(p) for p in percents]
    )
    axes.spines["bottom"].set_visible(False)
    axes.set_xlabel(f"share of the mean; figures in {unit}", labelpad=4)
    return figure


def amounts(bars: Sequence[PartedBar], unit: str, width: float) -> Figure:
    """Amounts made of parts, one bar a line, all from zero on one scale."""
    most = max(_sum_parts(bar) for bar in bars) or 1.0
    figure, axes = _draw_parted(bars, width, [most] * len(bars))
    count = count_ticks(axes, most, "", is_vertical=False)
    ticks = [v for v in space_ticks(count).tick_values(0, most) if v <= most]
    axes.set_xlim(0, 1)
    axes.set_xticks([v / most for v in ticks], [tick(v) for v in ticks])
    axes.set_xlabel(f"{unit}, from zero", labelpad=4)
    return figure


def _sum_parts(bar: PartedBar) -> float:
    return sum(max(cost, 0.0) for _, _, cost in bar.parts)


def _draw_parted(
    bars: Sequence[PartedBar], width: float, wholes: Sequence[float]
) -> tuple[Figure, Axes]:
    """The common body of bars of parts; each reaches to 1 where it has all of its whole."""
    figure, axes, plot = draw_lines([(b.label, b.text) for b in bars], width)
    for line, (bar, whole) in enumerate(zip(bars, wholes, strict=True)):
        start = 0.0
        for colour, ink, signed in bar.parts:
            cost = max(signed, 0.0)
            share = cost / whole
            axes.barh(
                line, share, left=start, height=0.72, color=colour, edgecolor=svg.SURFACE,
                linewidth=1,
            )  # fmt: skip
            text = f"{cost:,.3g}" if cost < 1000 else f"{cost:,.0f}"
            if share * plot > measure_text(text) + 5:
                axes.text(
                    start + share / 2, line, text, ha="center", va="center_baseline", color=ink,
                    fontsize=svg.FONT_PX - 1.5,
                )  # fmt: skip
            start += share
    return figure, axes


def _draw_rows(marks: Sequence[Mark], width: float) -> tuple[Figure, Axes]:
    """The common body of rankings: a dot with its interval on each line."""
    figure, axes, _ = draw_lines([(m.label, m.text) for m in marks], width)
    for line, mark in enumerate(marks):
        colour = svg.series(mark.colour)
        axes.axhline(line, color=svg.GRID, linewidth=0.8, zorder=0)
        if mark.low is not None and mark.high is not None:
            axes.plot(
                [mark.low, mark.high], [line, line], color=colour, linewidth=7, alpha=0.4,
                solid_capstyle="butt",
            )  # fmt: skip
        axes.plot(
            [mark.value], [line], svg.marker(mark.colour), markersize=6,
            color=svg.SURFACE if mark.is_hollow else colour, markeredgecolor=colour,
            markeredgewidth=1.6 if mark.is_hollow else 0.5,
        )  # fmt: skip
    axes.grid(axis="x")
    return figure, axes


def _find_bounds(marks: Sequence[Mark]) -> tuple[float, float]:
    lows = [m.value if m.low is None else min(m.low, m.value) for m in marks]
    highs = [m.value if m.high is None else max(m.high, m.value) for m in marks]
    positive = [v for v in lows if v > 0] or [m.value for m in marks]
    return min(positive), max(highs)


def _place_share(p: float) -> float:
    """Return the place of percentile `p` on the distribution's axis: minus log10 of the share
    above."""
    return -math.log10(1 - p)
