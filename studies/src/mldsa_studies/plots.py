"""The plots of a study; called inside `svg.drawing()`. Sizes are CSS pixels."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.gridspec import GridSpec
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from mldsa_lab.show import svg
from mldsa_lab.show.axes import end_labels, log_axis
from mldsa_lab.show.scales import text_width

COLOURS = {"random": 7, "greedy": 1, "balanced": 2, "regression": 0}
"""The colour of each method, of those for implementations."""
FLOOR = 1e-6
"""Relative errors below are drawn here: a millionth is as good as none."""

_TOP, _BOTTOM, _LEFT, _GAP = 28.0, 40.0, 50.0, 26.0
_BETWEEN = 50.0  # rows of panels: tick labels and a title


@dataclass(frozen=True)
class ErrorLine:
    """One method: ``points`` (n, value) and, thin, those of single implementations."""

    method: str
    points: tuple[tuple[int, float], ...]
    single: tuple[tuple[tuple[int, float], ...], ...] = ()


@dataclass(frozen=True)
class Panel:
    """A plot of one parameter set."""

    title: str
    lines: tuple[ErrorLine, ...]


def grid_of_lines(
    rows: Sequence[tuple[str, Sequence[Panel]]], width: float, height: float = 210.0
) -> Figure:
    """Relative errors over the number of inputs, both on log scales: a row of panels for each
    (title, panels), all panels of a row on one scale."""
    columns = max(len(panels) for _, panels in rows)
    names = [line.method for _, panels in rows for panel in panels for line in panel.lines]
    labels = max(text_width(name) for name in names) + 18
    figure, grid, plot = _grid(width, height, len(rows), columns, _LEFT, labels)
    for r, (title, panels) in enumerate(rows):
        values = [v for panel in panels for line in panel.lines for v in _values(line)]
        low, high = max(min(values), FLOOR), max(max(values), 2 * FLOOR)
        for c, panel in enumerate(panels):
            axes = figure.add_subplot(grid[r, c])
            _lines(axes, panel, low, high, first=c == 0)
            head = f"{panel.title}, {title}" if c == 0 else panel.title
            axes.set_title(
                head, loc="left", fontsize=svg.FONT_PX, color=svg.INK, pad=8,
                x=-_LEFT / plot + 0.005 if c == 0 else 0,
            )  # fmt: skip
            if r == len(rows) - 1:
                axes.set_xlabel("inputs n, log scale", labelpad=5)
            if c == len(panels) - 1:
                ends = [
                    (max(line.points[-1][1], low), line.method, svg.series(COLOURS[line.method]))
                    for line in panel.lines
                ]
                end_labels(axes, ends)
    return figure


def _grid(
    width: float, height: float, rows: int, columns: int, left: float, right: float
) -> tuple[Figure, GridSpec, float]:
    """A figure so wide, places for panels so high within these margins, and how wide a panel is."""
    total = _TOP + _BOTTOM + height * rows + (rows - 1) * _BETWEEN
    figure = svg.new_figure(width, total)
    plot = (width - left - right - _GAP * (columns - 1)) / columns
    grid = figure.add_gridspec(
        rows, columns, left=left / width, right=1 - right / width, bottom=_BOTTOM / total,
        top=1 - _TOP / total, wspace=_GAP / plot, hspace=_BETWEEN / height,
    )  # fmt: skip
    return figure, grid, plot


def _values(line: ErrorLine) -> list[float]:
    return [v for points in (line.points, *line.single) for _, v in points]


def _lines(axes: Axes, panel: Panel, low: float, high: float, *, first: bool) -> None:
    sizes = sorted({n for line in panel.lines for n, _ in line.points})
    log_axis(axes, low, high, vertical=True)
    axes.yaxis.set_major_formatter(FuncFormatter(lambda v, _: percent(v) if first else ""))
    air = (max(sizes) / min(sizes)) ** 0.05 if len(sizes) > 1 else 1.5
    axes.set_xscale("log")
    axes.set_xlim(min(sizes) / air, max(sizes) * air)
    axes.xaxis.set_major_locator(FixedLocator([float(n) for n in sizes]))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda v, _: f"{v:g}"))
    axes.tick_params(length=0)
    axes.grid(axis="both")
    axes.spines["left"].set_visible(False)
    for line in panel.lines:
        colour = svg.series(COLOURS[line.method])
        for points in line.single:
            axes.plot(*_shown(points), color=colour, linewidth=0.9, alpha=0.4)
        x, y = _shown(line.points)
        axes.plot(x, y, color=colour, linewidth=2.0)
        axes.plot(
            x, y, "o", markersize=5, color=colour, markeredgecolor=svg.SURFACE, markeredgewidth=0.7
        )


def _shown(points: Sequence[tuple[int, float]]) -> tuple[list[int], list[float]]:
    return [n for n, _ in points], [max(v, FLOOR) for _, v in points]


@dataclass(frozen=True)
class Spread:
    """The relative errors of one method's estimates for one implementation."""

    method: str
    label: str
    errors: tuple[float, ...]


def spreads(panels: Sequence[tuple[str, Sequence[Spread]]], width: float, linear: float) -> Figure:
    """Where the estimates lie: for each (title, spreads) a panel; of each spread the middle half
    as a bar, the middle 90 % as a line, the median as a dot. The axis is linear up to errors of
    ``linear``, and logarithmic beyond."""
    most = max(len(rows) for _, rows in panels)
    labels = max(text_width(s.label) for _, rows in panels for s in rows) + 12
    row, gap = 15.0, 9.0
    groups = len({s.method for s in panels[0][1]})
    height = row * most + gap * (groups - 1) + 8
    right = max(text_width(s.method) for _, rows in panels for s in rows) + 12
    figure, grid, plot = _grid(width, height, 1, len(panels), labels, right)
    reach = max(abs(e) for _, rows in panels for s in rows for e in s.errors)
    end = 1.1 * max(reach, 2 * linear)
    for c, (title, rows) in enumerate(panels):
        axes = figure.add_subplot(grid[0, c])
        axes.set_ylim(height, 0)
        axes.axvline(0, color=svg.MUTED, linewidth=1, zorder=0.5)
        places, ends = [], []
        y, before = 4 + row / 2, None
        for spread in rows:
            if before is not None and spread.method != before:
                y += gap
            before = spread.method
            _spread(axes, spread, y)
            places.append((y, spread.label))
            ends.append((y, spread.method))
            y += row
        axes.set_yticks([p for p, _ in places], [t if c == 0 else "" for _, t in places])
        axes.tick_params(length=0)
        for tick in axes.get_yticklabels():
            tick.set_color(svg.INK)
        _both_ways_log(axes, end, plot, linear)
        axes.spines["left"].set_visible(False)
        axes.grid(axis="x")
        axes.set_xlabel("estimate less truth, relative", labelpad=5)
        axes.set_title(title, loc="left", fontsize=svg.FONT_PX, color=svg.INK, pad=8)
        if c == len(panels) - 1:
            for method in dict.fromkeys(m for _, m in ends):
                middle = float(np.mean([p for p, m in ends if m == method]))
                axes.text(
                    1 + 8 / plot, middle, method, transform=axes.get_yaxis_transform(),
                    ha="left", va="center_baseline", color=svg.series(COLOURS[method]),
                )  # fmt: skip
    return figure


def _spread(axes: Axes, spread: Spread, y: float) -> None:
    colour = svg.series(COLOURS[spread.method])
    low, first, middle, last, high = np.quantile(spread.errors, (0.05, 0.25, 0.5, 0.75, 0.95))
    axes.plot([low, high], [y, y], color=colour, linewidth=1.2)
    axes.plot([first, last], [y, y], color=colour, linewidth=6, alpha=0.45, solid_capstyle="butt")
    axes.plot(
        [middle], [y], "o", markersize=6.5, color=colour, markeredgecolor=svg.SURFACE,
        markeredgewidth=0.8,
    )  # fmt: skip


def _both_ways_log(axes: Axes, end: float, length: float, linear: float) -> None:
    """An axis from ``-end`` to ``end``, ``length`` CSS pixels long, with ticks at powers of ten
    times ``linear``, as many as have room for their labels."""
    axes.set_xscale("symlog", linthresh=linear, linscale=1)
    axes.set_xlim(-end, end)
    sizes = [linear * 10**k for k in range(math.floor(math.log10(end / linear)) + 1)]
    decade = length / 2 / (1 + math.log10(end / linear))
    step = math.ceil((max(text_width(signed(-s)) for s in sizes) + 6) / decade)
    # The largest errors are labelled first.
    kept = sizes[::-1][::step]
    axes.xaxis.set_major_locator(FixedLocator([*(-s for s in kept), 0, *reversed(kept)]))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda v, _: signed(v)))


def percent(value: float) -> str:
    """A relative size as a tick's label."""
    return f"{100 * value:.4g} %"


def signed(value: float) -> str:
    """A relative error as a tick's label."""
    return "0" if abs(value) < 1e-12 else f"{100 * value:+.4g} %".replace("-", "−")
