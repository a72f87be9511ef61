"""Plots that only studies have, one function each, as `mldsa_lab.show.plots` has the others: plain
data to a figure, inside `svg.drawing()`."""

from __future__ import annotations

import os.path
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.figure import Figure

from mldsa_lab.show import svg
from mldsa_lab.show.axes import axis_from_zero, axis_length, framed, log_axis, unit_title
from mldsa_lab.show.format import tick
from mldsa_lab.show.plots import LOG_FROM, lines
from mldsa_lab.show.scales import beside_points
from mldsa_lab.theory.arrays import Array

APART = 1.5
"""Lines of `dots` whose medians differ by more than this factor have no axis in common."""


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


def scatter(points: Sequence[Point], x: str, y: str, width: float = 380) -> Figure:
    """Points with their names beside them, less what all begin with; an axis is logarithmic where
    its values differ by more than `LOG_FROM`."""
    shared = common_start([p.label for p in points])
    figure, axes = framed(width, 330, left=44, right=22, bottom=40, top=26)
    for vertical, values in ((False, [p.x for p in points]), (True, [p.y for p in points])):
        if max(values) / min(values) > LOG_FROM:
            log_axis(axes, min(values), max(values), vertical=vertical)
        else:
            axis_from_zero(axes, 1.1 * max(values), tick, vertical=vertical)
    axes.grid(axis="both")
    for point in points:
        axes.plot(
            [point.x], [point.y], "o", markersize=7, color=svg.series(point.colour),
            markeredgecolor=svg.SURFACE, markeredgewidth=0.7,
        )  # fmt: skip
    shape = (axis_length(axes, False), axis_length(axes, True))
    to_pixels = axes.transData + axes.transAxes.inverted()
    spots = to_pixels.transform([(p.x, p.y) for p in points]) * shape
    labels = [p.label.removeprefix(shared) for p in points]
    places = beside_points([(float(a), float(b)) for a, b in spots], labels, shape)
    for label, (left, middle) in zip(labels, places, strict=True):
        axes.text(
            left / shape[0], middle / shape[1], label, transform=axes.transAxes, ha="left",
            va="center", color=svg.INK,
        )  # fmt: skip
    axes.set_xlabel(x, labelpad=4)
    unit_title(axes, f"{shared.rstrip(' -')}: {y}" if shared else y, 44)
    return figure


def common_start(labels: Sequence[str]) -> str:
    """What all labels begin with, up to a space or a hyphen that something follows."""
    start = os.path.commonprefix(list(labels))  # noqa: RUF071 - texts, not paths
    return start[: max(start.rfind(" "), start.rfind("-")) + 1] if len(labels) > 1 else ""


def dots(rows: Sequence[Dots], unit: str, width: float = 380) -> Figure:
    """Every process as a dot, its rounds as faint ones below, the median as a line. Where lines
    differ by more than `APART` none could be seen to spread: each is then shown over its median."""
    figure, axes, _ = lines([(r.label, r.text) for r in rows], width)
    middles = [float(np.median(r.processes)) for r in rows]
    apart = max(middles) / min(middles) > APART
    scales = middles if apart else [1.0] * len(rows)
    every = np.concatenate(
        [np.concatenate([r.processes, r.rounds]) / s for r, s in zip(rows, scales, strict=True)]
    )
    log_axis(axes, float(every.min()), float(every.max()), suffix="×" if apart else "")
    for line, (row, middle, scale) in enumerate(zip(rows, middles, scales, strict=True)):
        colour = svg.series(row.colour)
        axes.axhline(line, color=svg.GRID, linewidth=0.8, zorder=0)
        for values, place, how in (
            (row.rounds, line + 0.2, {"markersize": 3, "alpha": 0.3, "markeredgewidth": 0}),
            (row.processes, line - 0.15,
             {"markersize": 5.5, "markeredgecolor": svg.SURFACE, "markeredgewidth": 0.6}),
        ):  # fmt: skip
            axes.plot(values / scale, np.full(len(values), place), "o", color=colour, **how)
        axes.plot([middle / scale] * 2, [line - 0.38, line + 0.38], color=svg.INK, linewidth=1.2)
    axes.grid(axis="x")
    axes.set_xlabel(f"over its median, in {unit}" if apart else unit)
    return figure
