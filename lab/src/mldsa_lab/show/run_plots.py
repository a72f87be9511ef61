"""The plots of batches and threads, and what they take of their tables.

Call them inside `svg.drawing()`, as those of `plots`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from mldsa_lab.estimate.interval import Interval
from mldsa_lab.show import svg
from mldsa_lab.show.axes import (
    LABEL_GAP,
    axis_from_zero,
    axis_length,
    end_labels,
    framed,
    log_axis,
    unit_title,
)
from mldsa_lab.show.runs import RunTable, Series
from mldsa_lab.show.scales import text_width

_LEFT = 46.0
MOST_LEVELS = 5
"""Implementations without a batch interface in a plot: the cheapest, and the reference."""
MOST_THREADED = 9
"""Lines of a plot over threads."""


@dataclass(frozen=True, slots=True)
class Path:
    """A series of a plot: x and y with its interval, in order.

    `level` is drawn as a thin line over the whole width: a cost that does not depend on x.
    """

    label: str
    colour: int
    dashed: bool
    points: tuple[tuple[float, Interval], ...]
    level: float | None = None

    @property
    def end(self) -> float:
        """Where its label stands."""
        return self.points[-1][1].value if self.points else self.level or 0.0


def batch_paths(table: RunTable, reference: str) -> list[Path]:
    """A line for each batch interface; of the others the cheapest variant of each implementation
    as a level, since a loop costs the same at any length."""
    divisor = table.unit.divisor
    made = [
        _path(f"{s.label}, {s.keys}", s, s.key == "expanded", divisor, "mean")
        for s in table.series
        if s.rows
    ]
    loops: dict[str, Series] = {}
    for s in table.series:
        if not s.rows and s.loop is not None:
            loops.setdefault(s.loop.implementation, s)
    few = list(loops.values())[:MOST_LEVELS]
    if reference in loops and loops[reference] not in few:
        few.append(loops[reference])
    for s in few:
        if s.loop is not None and s.loop.mean is not None:
            made.append(Path(f"{s.label}, loop", s.colour, False, (), s.loop.mean / divisor))
    return made


def rate_paths(table: RunTable) -> list[Path]:
    """Operations per second of each implementation's best variant, single and in batches."""
    return _threaded(table, table.unit.divisor, "per_second")


def scaling_paths(table: RunTable) -> list[Path]:
    """The same over one thread."""
    return _threaded(table, 1.0, "scaling")


def _threaded(table: RunTable, divisor: float, figure: str) -> list[Path]:
    best: dict[tuple[str, str], Series] = {}
    for s in table.series:  # best first
        best.setdefault((next(iter(s.rows.values())).implementation, s.mode), s)
    paths = (
        _path(f"{s.label}, batch" if batch else s.label, s, batch, divisor, figure)
        for s in list(best.values())[:MOST_THREADED]
        for batch in (s.mode == "batch",)
    )
    return [path for path in paths if path.points]


def _path(label: str, series: Series, dashed: bool, divisor: float, figure: str) -> Path:
    found = ((float(n), row.interval(figure)) for n, row in sorted(series.rows.items()))
    points = tuple((n, y.times(1 / divisor)) for n, y in found if y is not None)
    return Path(label, series.colour, dashed, points)


def batch_costs(paths: Sequence[Path], sizes: Sequence[int], unit: str, width: float) -> Figure:
    """Cost of an operation over batch size, both on log scales, with intervals."""
    figure, axes = _frame(paths, width)
    low, high = _bounds(paths)
    log_axis(axes, low, high, vertical=True)
    air = (max(sizes) / min(sizes)) ** 0.04 if len(set(sizes)) > 1 else 1.5
    axes.set_xscale("log")
    axes.set_xlim(min(sizes) / air, max(sizes) * air)
    for path in paths:
        if path.level is not None:
            axes.axhline(path.level, color=svg.series(path.colour), linewidth=1, alpha=0.75)
        _draw(axes, path)
    _numbers(axes, sizes)
    axes.set_xlabel("operations in a batch, log scale", labelpad=6)
    unit_title(axes, f"{unit} for an operation, log scale", _LEFT)
    _labels(axes, paths)
    return figure


def throughput(paths: Sequence[Path], counts: Sequence[int], unit: str, width: float) -> Figure:
    """Operations per second over threads, both on log scales; dotted what the first point times
    the number of threads would be."""
    figure, axes = _frame(paths, width)
    low, high = _bounds(paths)
    ideal = [p.points[0][1].value * max(counts) / p.points[0][0] for p in paths if p.points]
    log_axis(axes, low, max([high, *ideal]), vertical=True)
    _thread_axis(axes, counts)
    for path in paths:
        x, y = path.points[0][0], path.points[0][1].value
        axes.plot(
            [x, max(counts)], [y, y * max(counts) / x], ":", color=svg.MUTED, linewidth=1.1,
            zorder=0.9,
        )  # fmt: skip
        _draw(axes, path)
    axes.set_xlabel("threads, log scale; dotted: in proportion", labelpad=6)
    unit_title(axes, f"{unit}, log scale", _LEFT)
    _labels(axes, paths)
    return figure


def over_key(
    paths: Sequence[Path], values: Sequence[int], across: str, unit: str, width: float
) -> Figure:
    """A figure over the values of a key, both on log scales, with intervals."""
    figure, axes = _frame(paths, width)
    log_axis(axes, *_bounds(paths), vertical=True)
    _thread_axis(axes, values)
    for path in paths:
        _draw(axes, path)
    axes.set_xlabel(f"{across}, log scale", labelpad=6)
    unit_title(axes, f"{unit}, log scale", _LEFT)
    _labels(axes, paths)
    return figure


def scaling(paths: Sequence[Path], counts: Sequence[int], width: float) -> Figure:
    """Throughput relative to one thread, from zero, with the ideal line."""
    figure, axes = _frame(paths, width)
    most = max(counts)
    _, high = _bounds(paths)
    axes.plot([0, most], [0, most], ":", color=svg.MUTED, linewidth=1.1)
    axis_from_zero(axes, 1.06 * max(most, high), lambda v: f"{v:g}×", vertical=True)
    axes.set_xlim(0, most * 1.06)
    for path in paths:
        _draw(axes, path)
    _numbers(axes, counts)
    axes.set_xlabel("threads; dotted: in proportion", labelpad=6)
    unit_title(axes, "× one thread, from zero", _LEFT)
    _labels(axes, paths)
    return figure


def _frame(paths: Sequence[Path], width: float) -> tuple[Figure, Axes]:
    right = max(text_width(p.label) for p in paths) + 16
    height = max(330.0, LABEL_GAP * len(paths) + 66)
    figure, axes = framed(width, height, left=_LEFT, right=right, bottom=44, top=22)
    axes.grid(axis="both")
    return figure, axes


def _draw(axes: Axes, path: Path) -> None:
    if not path.points:
        return
    colour = svg.series(path.colour)
    x = [p[0] for p in path.points]
    y = [p[1].value for p in path.points]
    axes.plot(
        x, y, color=colour, linewidth=1.6,
        linestyle="--" if path.dashed else "-",
    )  # fmt: skip
    for at, (_, low, high) in path.points:
        if low is not None and high is not None:
            axes.plot(
                [at, at], [low, high], color=colour, linewidth=5, alpha=0.35,
                solid_capstyle="butt",
            )  # fmt: skip
    axes.plot(
        x, y, "o", markersize=5,
        color=svg.SURFACE if path.dashed else colour, markeredgecolor=colour, markeredgewidth=1.3,
    )  # fmt: skip


def _bounds(paths: Sequence[Path]) -> tuple[float, float]:
    """Of values, and of interval ends within a factor of three of their value: one bad interval
    must not squeeze all lines."""
    values = [p.level for p in paths if p.level is not None]
    for path in paths:
        for _, found in path.points:
            y = found.value
            values += [y, max(found.low or y, y / 3), min(found.high or y, 3 * y)]
    return min(values), max(values)


def _thread_axis(axes: Axes, counts: Sequence[int]) -> None:
    axes.set_xscale("log")
    axes.set_xlim(min(counts) / 1.08, max(counts) * 1.08)
    _numbers(axes, counts)


def _numbers(axes: Axes, values: Sequence[int]) -> None:
    """Ticks at these numbers, as far as their labels keep apart; the last one always."""
    kept: list[int] = []
    for value in sorted(values, reverse=True):
        if not kept or _apart(axes, value, kept[-1]):
            kept.append(value)
    axes.xaxis.set_major_locator(FixedLocator([float(v) for v in kept]))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda v, _: f"{v:,.0f}"))


def _apart(axes: Axes, low: int, high: int) -> bool:
    left, right = axes.get_xlim()
    if axes.get_xscale() == "log":
        share = math.log(high / low) / math.log(right / left)
    else:
        share = (high - low) / (right - left)
    needed = (text_width(f"{low:,}") + text_width(f"{high:,}")) / 2 + 6
    return share * axis_length(axes, False) >= needed


def _labels(axes: Axes, paths: Sequence[Path]) -> None:
    end_labels(axes, [(p.end, p.label, svg.series(p.colour)) for p in paths])
