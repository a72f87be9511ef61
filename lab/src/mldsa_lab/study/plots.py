"""The plots that a study asks for, from its cells to drawings."""

from __future__ import annotations

import os.path
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from matplotlib.figure import Figure

from mldsa_lab import LabError, located
from mldsa_lab.estimate.interval import Interval
from mldsa_lab.sets import OPERATIONS, raw_bytes
from mldsa_lab.show import plots, svg
from mldsa_lab.show.grid import Unit, choose_unit, estimate
from mldsa_lab.show.plots import LOG_FROM, Mark
from mldsa_lab.show.report import PlotSpec
from mldsa_lab.show.svg import (
    LINE,
    draw_lines,
    make_axes,
    measure_axis,
    measure_text,
    name_vertical,
    set_log_axis,
    set_zero_axis,
)
from mldsa_lab.study.file import FigureAsked, Gathered, StudyCell
from mldsa_lab.theory.trace import Array

_WIDTH = 380.0
_QUANTITY = "median, least to largest"
_BYTES = Unit(1.0, "bytes")
Draw = Callable[[], Figure]
Labelled = tuple[str, StudyCell]
Colours = Mapping[str, int]
APART = 1.5
"""Lines of `dots` whose medians differ by more than this factor have no axis in common."""


def plot_specs(asked: FigureAsked, measured: Gathered) -> Iterator[PlotSpec]:
    """Yield a plot for each panel of a figure that has something to draw. LabError if no cell fits,
    or two are one point."""
    with located(f"figure {asked.name!r}"):
        fitting = measured.matching(asked.where)
        first = asked.by[0]
        colours = {t: n for n, t in enumerate(dict.fromkeys(c.fields[first] for c in fitting))}
        panels: dict[tuple[str, ...], list[Labelled]] = {}
        for cell in fitting:
            label = " ".join(cell.texts(asked.by))
            panels.setdefault(cell.texts(asked.panels), []).append((label, cell))
        for panel, cells in panels.items():
            title = f"{asked.name}: {' '.join(panel)}" if panel else asked.name
            cells.sort(key=lambda labelled: labelled[1].middle)
            if draw := _DRAWN[asked.kind](asked, cells, colours):
                yield PlotSpec(title, draw)


def _draw_bars(asked: FigureAsked, cells: Sequence[Labelled], colours: Colours) -> Draw:
    unit, marks = choose_unit([c.middle for _, c in cells], cells[0][1].unit), []
    for label, cell in cells:
        low, high = float(cell.means.min()), float(cell.means.max())
        whole = Interval(cell.middle, low, high).times(1 / unit.divisor)
        colour, hollow = colours[cell.fields[asked.by[0]]], cell.fields["key"] == "expanded"
        marks.append(
            Mark(label, colour, hollow, whole.value, whole.low, whole.high, estimate(whole).value)
        )
    return partial(plots.ranking, marks, unit.name, _QUANTITY, _WIDTH)


def _draw_distribution(asked: FigureAsked, cells: Sequence[Labelled], colours: Colours) -> Draw:
    unit = choose_unit([c.middle for _, c in cells], cells[0][1].unit)
    rows = [
        Dots(
            label, colours[cell.fields[asked.by[0]]], cell.means / unit.divisor,
            cell.rounds / unit.divisor, estimate(Interval(cell.middle / unit.divisor)).value,
        )
        for label, cell in cells
    ]  # fmt: skip
    return partial(draw_dots, rows, unit.name, _WIDTH)


def _draw_scatter(asked: FigureAsked, cells: Sequence[Labelled], colours: Colours) -> Draw | None:
    """Draw a point for each label and set that has both values, from cells that differ only in
    their operation."""
    axes = (str(asked.x), str(asked.y))
    points: dict[tuple[str, str], dict[str, StudyCell]] = {}
    for label, cell in cells:
        point = points.setdefault((label, cell.fields["set"]), {})
        operation = cell.fields["operation"]
        if operation in axes and operation in point:
            raise LabError(f"{label}: {operation} is several cells: name what to take in where")
        point[operation] = cell
    values = {
        place: (x, y)
        for place, point in points.items()
        if (x := _locate(axes[0], place[1], point)) and (y := _locate(axes[1], place[1], point))
    }
    if not values:
        return None
    units = []
    for axis in (0, 1):
        stored = next(iter(values.values()))[axis][1]
        known = [pair[axis][0] for pair in values.values()]
        units.append(_BYTES if stored == _BYTES.name else choose_unit(known, stored))
    drawn = [
        Point(
            place[0], colours[next(iter(points[place].values())).fields[asked.by[0]]],
            x[0] / units[0].divisor, y[0] / units[1].divisor,
        )
        for place, (x, y) in values.items()
    ]  # fmt: skip
    x_title, y_title = (f"{name}, {unit.name}" for name, unit in zip(axes, units, strict=True))
    return partial(draw_scatter, drawn, x_title, y_title)


def _locate(axis: str, set_name: str, cells: Mapping[str, StudyCell]) -> tuple[float, str] | None:
    """Return a point's value on an axis and its unit: a cost, or the bytes of an object."""
    if axis not in OPERATIONS:
        weight = raw_bytes(set_name, axis)
        return None if weight is None else (float(weight), _BYTES.name)
    return (cells[axis].middle, cells[axis].unit) if axis in cells else None


_DRAWN = {"bars": _draw_bars, "distribution": _draw_distribution, "scatter": _draw_scatter}


@dataclass(frozen=True, slots=True)
class Point:
    """A point of a scatter plot, in the units of its axes."""

    label: str
    colour: int
    x: float
    y: float


@dataclass(frozen=True, slots=True)
class Dots:
    """A line of a distribution, in the plot's unit: the mean of each process and of each round."""

    label: str
    colour: int
    processes: Array
    rounds: Array
    text: str


def draw_scatter(points: Sequence[Point], x: str, y: str, width: float = 380) -> Figure:
    """Draw points with their names, without the start that all have in common.

    An axis is logarithmic where its values differ by more than `LOG_FROM`.
    """
    shared = find_common_start([p.label for p in points])
    figure, axes = make_axes(width, 330, left=44, right=22, bottom=40, top=26)
    for vertical, values in ((False, [p.x for p in points]), (True, [p.y for p in points])):
        if max(values) / min(values) > LOG_FROM:
            set_log_axis(axes, min(values), max(values), is_vertical=vertical)
        else:
            set_zero_axis(axes, 1.1 * max(values), is_vertical=vertical)
    axes.grid(axis="both")
    for point in points:
        axes.plot(
            [point.x], [point.y], svg.marker(point.colour), markersize=7,
            color=svg.series(point.colour), markeredgecolor=svg.SURFACE, markeredgewidth=0.7,
        )  # fmt: skip
    axes_size = (measure_axis(axes, False), measure_axis(axes, True))
    to_pixels = axes.transData + axes.transAxes.inverted()
    spots = to_pixels.transform([(p.x, p.y) for p in points]) * axes_size
    labels = [p.label.removeprefix(shared) for p in points]
    places = place_labels([(float(a), float(b)) for a, b in spots], labels, axes_size)
    for label, (left, middle) in zip(labels, places, strict=True):
        axes.text(
            left / axes_size[0], middle / axes_size[1], label, transform=axes.transAxes, ha="left",
            va="center", color=svg.INK,
        )  # fmt: skip
    axes.set_xlabel(x, labelpad=4)
    name_vertical(axes, f"{shared.rstrip(' -')}: {y}" if shared else y, 44)
    return figure


def place_labels(
    points: Sequence[tuple[float, float]], labels: Sequence[str], size: tuple[float, float]
) -> list[tuple[float, float]]:
    """Return the left end and the middle height of a label for each point.

    It is right of its point, left, above or below, within an area of ``size``, where it covers the
    fewest points and earlier labels.
    """
    taken = [(x - 4, x + 4, y - 4, y + 4) for x, y in points]
    places = []
    for (x, y), label in zip(points, labels, strict=True):
        width, aside = measure_text(label), 7.0
        tries = [
            (left, y + step * LINE)
            for step in (0, 1, -1, 2, -2, 3, -3)
            for left in (x + aside, x - aside - width, x - width / 2)
            if step or left != x - width / 2
        ]

        def count_hits(place: tuple[float, float], width: float = width) -> float:
            left, middle = place
            right, low, high = left + width, middle - LINE / 2, middle + LINE / 2
            outside = left < 0 or right > size[0] or low < 0 or high > size[1]
            met = sum(left < b and a < right and low < d and c < high for a, b, c, d in taken)
            return met + 3 * outside

        left, middle = min(tries, key=count_hits)
        taken.append((left, left + width, middle - LINE / 2, middle + LINE / 2))
        places.append((left, middle))
    return places


def find_common_start(labels: Sequence[str]) -> str:
    """Return the common start of all labels, up to a space or a hyphen."""
    start = os.path.commonprefix(list(labels))  # noqa: RUF071 - texts, not paths
    return start[: max(start.rfind(" "), start.rfind("-")) + 1] if len(labels) > 1 else ""


def draw_dots(rows: Sequence[Dots], unit: str, width: float = 380) -> Figure:
    """Draw every process as a dot, its rounds as faint dots below, the median as a line.

    Where lines differ by more than `APART`, each is shown over its median.
    """
    figure, axes, _ = draw_lines([(r.label, r.text) for r in rows], width)
    middles = [float(np.median(r.processes)) for r in rows]
    apart = max(middles) / min(middles) > APART
    scales = middles if apart else [1.0] * len(rows)
    every = np.concatenate(
        [np.concatenate([r.processes, r.rounds]) / s for r, s in zip(rows, scales, strict=True)]
    )
    set_log_axis(axes, float(every.min()), float(every.max()), suffix="×" if apart else "")
    for line, (row, middle, scale) in enumerate(zip(rows, middles, scales, strict=True)):
        colour = svg.series(row.colour)
        axes.axhline(line, color=svg.GRID, linewidth=0.8, zorder=0)
        for values, place, how in (
            (row.rounds, line + 0.2, {"markersize": 3, "alpha": 0.3, "markeredgewidth": 0}),
            (row.processes, line - 0.15,
             {"markersize": 5.5, "markeredgecolor": svg.SURFACE, "markeredgewidth": 0.6}),
        ):  # fmt: skip
            heights, marker = np.full(len(values), place), svg.marker(row.colour)
            axes.plot(values / scale, heights, marker, linestyle="", color=colour, **how)
        axes.plot([middle / scale] * 2, [line - 0.38, line + 0.38], color=svg.INK, linewidth=1.2)
    axes.grid(axis="x")
    axes.set_xlabel(f"over its median, in {unit}" if apart else unit)
    return figure
