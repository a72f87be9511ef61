"""Axes and labels that several plots share. Lengths are CSS pixels."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from mldsa_lab.show import scales, svg
from mldsa_lab.show.format import tick
from mldsa_lab.show.scales import text_width

LABEL_GAP = svg.FONT_PX + 3.5
"""Between the middles of two labels."""


def framed(
    width: float, height: float, *, left: float, right: float, bottom: float, top: float
) -> tuple[Figure, Axes]:
    """A new figure of this size, and axes within these margins, open at the left."""
    figure = svg.new_figure(width, height)
    inner, tall = width - left - right, height - bottom - top
    axes = figure.add_axes((left / width, bottom / height, inner / width, tall / height))
    axes.tick_params(length=0)
    axes.spines["left"].set_visible(False)
    return figure, axes


def unit_title(axes: Axes, text: str, left: float, colour: str = svg.MUTED) -> None:
    """What the vertical axis shows, above it and as far left of it as ``left``."""
    axes.set_title(
        text, loc="left", x=-left / axis_length(axes, False), fontsize=svg.FONT_PX - 0.5,
        color=colour, pad=7,
    )  # fmt: skip


def log_axis(
    axes: Axes, low: float, high: float, *, suffix: str = "", vertical: bool = False
) -> None:
    """A log axis over [low, high] with a little air and ticks at round numbers."""
    air = (high / low) ** 0.05 * 1.01
    low, high = low / air, high * air
    axis = axes.yaxis if vertical else axes.xaxis
    if vertical:
        axes.set_yscale("log")
        axes.set_ylim(low, high)
    else:
        axes.set_xscale("log")
        axes.set_xlim(low, high)
    ticks = scales.log_ticks(
        low, high, axis_length(axes, vertical),
        lambda v: scales.LINE if vertical else text_width(tick(v, suffix)),
    )  # fmt: skip
    axis.set_major_locator(FixedLocator(ticks))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(FuncFormatter(lambda v, _: tick(v, suffix)))


def axis_from_zero(
    axes: Axes, high: float, text: Callable[[float], str], *, vertical: bool = False
) -> None:
    """A linear axis over [0, high], its ticks written by ``text``."""
    axis = axes.yaxis if vertical else axes.xaxis
    (axes.set_ylim if vertical else axes.set_xlim)(0, high)
    ticks = scales.linear_ticks(
        high, axis_length(axes, vertical),
        lambda v: scales.LINE if vertical else text_width(text(v)),
    )  # fmt: skip
    axis.set_major_locator(FixedLocator(ticks))
    axis.set_major_formatter(FuncFormatter(lambda v, _: text(v)))


def axis_length(axes: Axes, vertical: bool) -> float:
    """The axis' length in CSS pixels."""
    figure = axes.get_figure()
    assert isinstance(figure, Figure)
    width, height = figure.get_size_inches()
    place = axes.get_position()
    return 72 * float(height * place.height if vertical else width * place.width)


def end_labels(axes: Axes, labels: Sequence[tuple[float, str, str]]) -> None:
    """Labels (value on the vertical axis, text, colour) right of the axes, moved apart where they
    would overlap."""
    width, height = axis_length(axes, False), axis_length(axes, True)
    low, high = axes.get_ylim()

    def place_of(value: float) -> float:
        if axes.get_yscale() == "log":
            return math.log(value / low) / math.log(high / low) * height
        return (value - low) / (high - low) * height

    wanted = sorted(((place_of(v), text, colour) for v, text, colour in labels))
    places = scales.spread([y for y, _, _ in wanted], LABEL_GAP, 0, height)
    for place, (y, text, colour) in zip(places, wanted, strict=True):
        if abs(place - y) > 2:
            axes.annotate(
                "", (1, y / height), (1 + 9 / width, place / height), xycoords="axes fraction",
                textcoords="axes fraction", annotation_clip=False,
                arrowprops={"arrowstyle": "-", "color": svg.GRID, "shrinkA": 0, "shrinkB": 0},
            )  # fmt: skip
        axes.text(
            1 + 11 / width, place / height, text, transform=axes.transAxes, ha="left",
            va="center_baseline", color=colour,
        )  # fmt: skip
