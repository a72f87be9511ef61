"""The axes of plots: scales with round ticks, lines of labels, and names that keep apart.

Call them inside `svg.drawing()`. Sizes are CSS pixels.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.textpath import text_to_path
from matplotlib.ticker import FuncFormatter, Locator, LogLocator, MaxNLocator, NullLocator

from mldsa_lab.show import svg
from mldsa_lab.show.format import tick

LINE = 1.2 * svg.FONT_PX
"""Height of a line of text."""
LABEL_GAP = svg.FONT_PX + 3.5
"""Between the middles of two labels."""
_DIGITS = ((1, 2, 3, 5, 7), (1, 2, 5), (1, 3), (1,))


def new_axes(
    width: float, height: float, *, left: float, right: float, bottom: float, top: float
) -> tuple[Figure, Axes]:
    """A new figure of this size, and axes within these margins, open at the left."""
    figure = Figure(figsize=(width / 72, height / 72))
    inner, tall = width - left - right, height - bottom - top
    axes = figure.add_axes((left / width, bottom / height, inner / width, tall / height))
    axes.tick_params(length=0)
    axes.spines["left"].set_visible(False)
    return figure, axes


def lines(texts: Sequence[tuple[str, str]], width: float) -> tuple[Figure, Axes, float]:
    """The frame of a plot with a line per signer: label left, text right; and the width between."""
    labels = max(text_width(label) for label, _ in texts) + 12
    right = max(text_width(text) for _, text in texts) + 10
    height = 21.0 * len(texts) + 44
    figure, axes = new_axes(width, height, left=labels, right=right, bottom=42, top=2)
    axes.set_ylim(len(texts) - 0.5, -0.5)
    axes.set_yticks(range(len(texts)), [label for label, _ in texts], color=svg.INK)
    for line, (_, text) in enumerate(texts):
        axes.annotate(
            text, (1, line), (8, 0), xycoords=("axes fraction", "data"),
            textcoords="offset points", ha="left", va="center_baseline", color=svg.INK,
            annotation_clip=False,
        )  # fmt: skip
    return figure, axes, width - labels - right


def name_vertical(axes: Axes, text: str, left: float) -> None:
    """What the vertical axis shows, above it and as far left of it as ``left``."""
    axes.set_title(
        text, loc="left", x=-left / axis_length(axes, False), fontsize=svg.FONT_PX - 0.5,
        color=svg.MUTED, pad=7,
    )  # fmt: skip


def log_axis(
    axes: Axes, low: float, high: float, *, suffix: str = "", vertical: bool = False
) -> None:
    """A log axis over [low, high] with a little air and ticks at round numbers."""
    air = (high / low) ** 0.05 * 1.01
    low, high = low / air, high * air
    (axes.set_yscale if vertical else axes.set_xscale)("log")
    (axes.set_ylim if vertical else axes.set_xlim)(low, high)
    count, decades = tick_count(axes, high, suffix, vertical), math.log10(high / low)
    if decades < 0.6:  # nearly linear
        set_ticks(axes, even_locator(count), suffix, vertical)
    else:
        subs = next((s for s in _DIGITS if len(s) * decades <= count), _DIGITS[-1])
        set_ticks(axes, LogLocator(subs=subs, numticks=count + 1), suffix, vertical)


def zero_axis(axes: Axes, high: float, *, suffix: str = "", vertical: bool = False) -> None:
    """A linear axis over [0, high]."""
    (axes.set_ylim if vertical else axes.set_xlim)(0, high)
    set_ticks(axes, even_locator(tick_count(axes, high, suffix, vertical)), suffix, vertical)


def even_locator(count: int) -> MaxNLocator:
    """At most four even ticks, or `count`."""
    return MaxNLocator(min(count, 4), steps=[1, 2, 2.5, 5, 10])


def tick_count(axes: Axes, high: float, suffix: str, vertical: bool) -> int:
    """The number of ticks whose labels keep apart."""
    size = 2 * LINE if vertical else text_width(tick(high, suffix)) + 12
    return max(1, int(axis_length(axes, vertical) / size))


def set_ticks(axes: Axes, locator: Locator, suffix: str = "", vertical: bool = False) -> None:
    """Ticks of an axis, with ``suffix`` after each number."""
    axis = axes.yaxis if vertical else axes.xaxis
    axis.set_major_locator(locator)
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(FuncFormatter(lambda v, _: tick(v, suffix)))


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
    to_axes = axes.transData + axes.transAxes.inverted()
    wanted = sorted(
        (float(to_axes.transform((axes.get_xlim()[1], v))[1]) * height, text, colour)
        for v, text, colour in labels
    )
    places: list[float] = []
    for y, _, _ in wanted:
        places.append(max(y, places[-1] + LABEL_GAP if places else 0.0))
    highest = height
    for n in reversed(range(len(places))):
        places[n] = min(places[n], highest)
        highest = places[n] - LABEL_GAP
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


@cache
def text_width(text: str) -> float:
    """Width in CSS pixels, in the font that the page most likely has or a wider one."""
    width, _, _ = text_to_path.get_text_width_height_descent(
        text, FontProperties(family="DejaVu Sans", size=svg.FONT_PX), ismath=False
    )
    return float(width)
