"""The plots of batches and threads; called inside `svg.drawing()`, as those of `plots`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from mldsa_lab.show import svg
from mldsa_lab.show.axes import LABEL_GAP, axis_from_zero, axis_length, end_labels, log_axis
from mldsa_lab.show.scales import text_width


@dataclass(frozen=True, slots=True)
class Path:
    """A series of a plot: x, y and the interval of y (None where there is none) in order.

    `level` is drawn as a thin line over the whole width: a cost that does not depend on x.
    """

    label: str
    colour: int
    dashed: bool
    points: tuple[tuple[float, float, float | None, float | None], ...]
    level: float | None = None

    @property
    def end(self) -> float:
        """Where its label stands."""
        return self.points[-1][1] if self.points else self.level or 0.0


def batch_costs(paths: Sequence[Path], sizes: Sequence[int], unit: str, width: float) -> Figure:
    """Cost of an operation over batch size, both on log scales, with intervals."""
    figure, axes, frame = _frame(paths, width, 330.0)
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
    _title(axes, f"{unit} for an operation, log scale", frame)
    _labels(axes, paths, frame)
    return figure


def throughput(paths: Sequence[Path], counts: Sequence[int], unit: str, width: float) -> Figure:
    """Operations per second over threads, both on log scales; dotted what the first point times
    the number of threads would be."""
    figure, axes, frame = _frame(paths, width, 330.0)
    low, high = _bounds(paths)
    ideal = [p.points[0][1] * max(counts) / p.points[0][0] for p in paths if p.points]
    log_axis(axes, low, max([high, *ideal]), vertical=True)
    _thread_axis(axes, counts)
    for path in paths:
        (x, y, _, _) = path.points[0]
        axes.plot(
            [x, max(counts)], [y, y * max(counts) / x], ":", color=svg.MUTED, linewidth=1.1,
            zorder=0.9,
        )  # fmt: skip
        _draw(axes, path)
    axes.set_xlabel("threads, log scale; dotted: in proportion", labelpad=6)
    _title(axes, f"{unit}, log scale", frame)
    _labels(axes, paths, frame)
    return figure


def scaling(paths: Sequence[Path], counts: Sequence[int], width: float) -> Figure:
    """Throughput relative to one thread, from zero, with the ideal line."""
    figure, axes, frame = _frame(paths, width, 330.0)
    most = max(counts)
    _, high = _bounds(paths)
    axes.plot([0, most], [0, most], ":", color=svg.MUTED, linewidth=1.1)
    axis_from_zero(axes, 1.06 * max(most, high), lambda v: f"{v:g}×", vertical=True)
    axes.set_xlim(0, most * 1.06)
    for path in paths:
        _draw(axes, path)
    _numbers(axes, counts)
    axes.set_xlabel("threads; dotted: in proportion", labelpad=6)
    _title(axes, "× one thread, from zero", frame)
    _labels(axes, paths, frame)
    return figure


@dataclass(frozen=True, slots=True)
class _Frame:
    """Margins and inner size in CSS pixels."""

    left: float
    width: float
    height: float


def _frame(paths: Sequence[Path], width: float, height: float) -> tuple[Figure, Axes, _Frame]:
    labels = max(text_width(p.label) for p in paths)
    left, right, bottom, top = 46.0, labels + 16, 44.0, 22.0
    needed = LABEL_GAP * len(paths) + bottom + top
    height = max(height, needed)
    figure = svg.new_figure(width, height)
    frame = _Frame(left, width - left - right, height - bottom - top)
    axes = figure.add_axes(
        (left / width, bottom / height, frame.width / width, frame.height / height)
    )
    axes.grid(axis="both")
    axes.tick_params(length=0)
    axes.spines["left"].set_visible(False)
    return figure, axes, frame


def _draw(axes: Axes, path: Path) -> None:
    if not path.points:
        return
    colour = svg.series(path.colour)
    x = [p[0] for p in path.points]
    axes.plot(
        x, [p[1] for p in path.points], color=colour, linewidth=1.6,
        linestyle="--" if path.dashed else "-",
    )  # fmt: skip
    for at, _, low, high in path.points:
        if low is not None and high is not None:
            axes.plot(
                [at, at], [low, high], color=colour, linewidth=5, alpha=0.35,
                solid_capstyle="butt",
            )  # fmt: skip
    axes.plot(
        x, [p[1] for p in path.points], "o", markersize=5,
        color=svg.SURFACE if path.dashed else colour, markeredgecolor=colour, markeredgewidth=1.3,
    )  # fmt: skip


def _bounds(paths: Sequence[Path]) -> tuple[float, float]:
    """Of values, and of interval ends within a factor of three of their value: one bad interval
    must not squeeze all lines."""
    values = [p.level for p in paths if p.level is not None]
    for path in paths:
        for _, y, low, high in path.points:
            values += [y, max(low or y, y / 3), min(high or y, 3 * y)]
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


def _title(axes: Axes, text: str, frame: _Frame) -> None:
    axes.set_title(
        text, loc="left", fontsize=svg.FONT_PX - 0.5, color=svg.MUTED, pad=7,
        x=-frame.left / frame.width + 0.005,
    )  # fmt: skip


def _labels(axes: Axes, paths: Sequence[Path], frame: _Frame) -> None:
    ends = [(p.end, p.label, svg.series(p.colour)) for p in paths]
    end_labels(axes, ends, frame.width, frame.height)
