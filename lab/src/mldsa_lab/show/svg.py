"""Axes of plots, and small inline SVGs whose colours follow the page's theme.

A figure is drawn with placeholder colours. In the SVG each becomes a CSS variable that the page
defines once for light and once for dark. Sizes are CSS pixels: a figure unit of 1/72 inch.
"""

from __future__ import annotations

import io
import math
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.textpath import text_to_path
from matplotlib.ticker import FuncFormatter, Locator, LogLocator, MaxNLocator, NullLocator

from mldsa_lab.show.grid import SERIES_COUNT, tick

# SVG.

# A tenth of a pixel is enough for every coordinate.
_TENTHS = re.compile(r"(\d\.\d)\d+")

INK, MUTED, GRID, SURFACE = "#fe0101", "#fe0102", "#fe0103", "#fe0104"
"""Stand-ins for text, secondary text, grid lines and the page behind the figure."""
Z, R, SETUP, FINAL = "#fe0201", "#fe0202", "#fe0203", "#fe0204"
"""Stand-ins for the parts of a signature: z-rejected, r0-rejected, set-up, final iteration."""
ON_DARK, ON_LIGHT = "#fe0105", "#fe0106"
"""Stand-ins for text on the dark and on the light ones of those parts."""
MIX = ("#fe0301", "#fe0302", "#fe0303", "#fe0304", "#fe0305")
"""Stand-ins for the mix of rejected iterations, from all z to all r0."""
_MARKERS = ("o", "s", "D", "^")
"""Markers of each ten of these colours, the page's .dot too: nobody tells so many colours apart."""

_VARIABLES = {
    INK: "--ink", MUTED: "--muted", GRID: "--grid", SURFACE: "--surface",
    ON_DARK: "--on-dark", ON_LIGHT: "--on-light",
    Z: "--z", R: "--r", SETUP: "--setup", FINAL: "--final",
    **{stand_in: f"--mix{i}" for i, stand_in in enumerate(MIX)},
    **{f"#fe04{i:02x}": f"--s{i}" for i in range(SERIES_COUNT)},
}  # fmt: skip

FONT_PX = 11.5
"""Size of a figure's text in CSS pixels."""


def style(ink: str, muted: str, grid: str, surface: str) -> Any:
    """matplotlib's settings for every figure of the lab, in these colours."""
    small = {f"{axis}tick.labelsize": FONT_PX - 0.5 for axis in "xy"}
    ticks = {f"{axis}tick.color": grid for axis in "xy"}
    labels = {f"{axis}tick.labelcolor": muted for axis in "xy"}
    return {
        **small, **ticks, **labels,
        "svg.fonttype": "none", "font.family": "DejaVu Sans", "font.size": FONT_PX,
        "axes.labelsize": FONT_PX, "axes.titlesize": FONT_PX + 0.5,
        "figure.dpi": 72, "savefig.dpi": 72, "figure.facecolor": surface,
        "savefig.facecolor": surface, "axes.facecolor": "none",
        "text.color": ink, "axes.titlecolor": ink, "axes.labelcolor": muted,
        "axes.edgecolor": grid, "grid.color": grid, "grid.linewidth": 0.8, "axes.linewidth": 0.8,
        "axes.spines.top": False, "axes.spines.right": False, "axes.axisbelow": True,
        "path.simplify": True, "text.parse_math": False,
    }  # fmt: skip


_RC = style(INK, MUTED, GRID, "none")


def series(index: int) -> str:
    """Return the placeholder of the colour of the `index`th implementation."""
    return f"#fe04{index % SERIES_COUNT:02x}"


def marker_number(index: int) -> int:
    """Return the number of the marker of the `index`th implementation."""
    return index % SERIES_COUNT * len(_MARKERS) // SERIES_COUNT


def marker(index: int) -> str:
    """matplotlib's marker of the `index`th implementation."""
    return _MARKERS[marker_number(index)]


@contextmanager
def drawing() -> Iterator[None]:
    """Inside, new figures have the page's fonts, lines and placeholder colours."""
    with matplotlib.rc_context(_RC):
        yield


def to_svg(figure: Figure, name: str, title: str) -> str:
    """Return the figure as an `<svg>` element for the page's text.

    `name` makes its ids unique in the page; `title` says in words what it shows, for those who
    cannot see it.
    """
    buffer = io.StringIO()
    with matplotlib.rc_context({**_RC, "svg.hashsalt": name}):
        figure.savefig(buffer, format="svg", metadata={"Date": None})
    root = ElementTree.fromstring(buffer.getvalue())
    _simplify(root, " ".join(value for part in root.iter() for value in part.attrib.values()))
    width, height = (f"{72 * float(inches):.0f}" for inches in figure.get_size_inches())
    root.attrib = {
        "role": "img", "aria-label": title, "viewBox": f"0 0 {width} {height}",
        "width": width, "height": height,
    }  # fmt: skip
    return ElementTree.tostring(root, encoding="unicode")


def _simplify(element: Element, references: str) -> None:
    """Make an element short and free of effects on the rest of the page.

    ``references``: all attributes of the figure; an id that none of them names goes.
    """
    element.tag = _local(element.tag)
    element.tail = (element.tail or "").strip()
    if not (element.text or "").strip():
        element.text = None
    attributes = {_local(name): value for name, value in element.attrib.items()}
    if f"#{attributes.get('id')}" not in references:
        attributes.pop("id", None)
    element.attrib = {name: _short(value) for name, value in attributes.items()}
    for child in list(element):
        _simplify(child, references)
        is_empty = child.tag in ("defs", "g") and not (len(child) or child.attrib)
        # matplotlib's own style rule is for all elements and would reach the whole page.
        if is_empty or child.tag in ("metadata", "style"):
            element.remove(child)


def _local(name: str) -> str:
    return name.rpartition("}")[2]


def _short(value: str) -> str:
    """Return an attribute with variables for colours and coordinates to a tenth of a pixel."""
    for stand_in, variable in _VARIABLES.items():
        value = value.replace(stand_in, f"var({variable})")
    return _TENTHS.sub(r"\1", " ".join(value.split()))


# Axes (call these inside `drawing()`).


LINE = 1.2 * FONT_PX
"""Height of a line of text."""
LABEL_GAP = FONT_PX + 3.5
"""Between the middles of two labels."""
_DIGITS = ((1, 2, 3, 5, 7), (1, 2, 5), (1, 3), (1,))


def make_axes(
    width: float, height: float, *, left: float, right: float, bottom: float, top: float
) -> tuple[Figure, Axes]:
    """A new figure of this size, and axes within these margins, open at the left."""
    figure = Figure(figsize=(width / 72, height / 72))
    inner, tall = width - left - right, height - bottom - top
    axes = figure.add_axes((left / width, bottom / height, inner / width, tall / height))
    axes.tick_params(length=0)
    axes.spines["left"].set_visible(False)
    return figure, axes


def draw_lines(texts: Sequence[tuple[str, str]], width: float) -> tuple[Figure, Axes, float]:
    """The frame of a plot with a line per signer: label left, text right; and the width between."""
    labels = max(measure_text(label) for label, _ in texts) + 12
    right = max(measure_text(text) for _, text in texts) + 10
    height = 21.0 * len(texts) + 44
    figure, axes = make_axes(width, height, left=labels, right=right, bottom=42, top=2)
    axes.set_ylim(len(texts) - 0.5, -0.5)
    axes.set_yticks(range(len(texts)), [label for label, _ in texts], color=INK)
    for line, (_, text) in enumerate(texts):
        axes.annotate(
            text, (1, line), (8, 0), xycoords=("axes fraction", "data"),
            textcoords="offset points", ha="left", va="center_baseline", color=INK,
            annotation_clip=False,
        )  # fmt: skip
    return figure, axes, width - labels - right


def name_vertical(axes: Axes, text: str, left: float) -> None:
    """Write the vertical axis' name above it, ``left`` pixels to its left."""
    axes.set_title(
        text, loc="left", x=-left / measure_axis(axes, False), fontsize=FONT_PX - 0.5,
        color=MUTED, pad=7,
    )  # fmt: skip


def set_log_axis(
    axes: Axes, low: float, high: float, *, suffix: str = "", is_vertical: bool = False
) -> None:
    """A log axis over [low, high] with a little air and ticks at round numbers."""
    air = (high / low) ** 0.05 * 1.01
    low, high = low / air, high * air
    (axes.set_yscale if is_vertical else axes.set_xscale)("log")
    (axes.set_ylim if is_vertical else axes.set_xlim)(low, high)
    count, decades = count_ticks(axes, high, suffix, is_vertical), math.log10(high / low)
    if decades < 0.6:  # nearly linear
        set_ticks(axes, space_ticks(count), suffix, is_vertical)
    else:
        subs = next((s for s in _DIGITS if len(s) * decades <= count), _DIGITS[-1])
        set_ticks(axes, LogLocator(subs=subs, numticks=count + 1), suffix, is_vertical)


def set_zero_axis(axes: Axes, high: float, *, suffix: str = "", is_vertical: bool = False) -> None:
    """A linear axis over [0, high]."""
    (axes.set_ylim if is_vertical else axes.set_xlim)(0, high)
    set_ticks(axes, space_ticks(count_ticks(axes, high, suffix, is_vertical)), suffix, is_vertical)


def space_ticks(count: int) -> MaxNLocator:
    """At most four even ticks, or `count`."""
    return MaxNLocator(min(count, 4), steps=[1, 2, 2.5, 5, 10])


def count_ticks(axes: Axes, high: float, suffix: str, is_vertical: bool) -> int:
    """The number of ticks whose labels keep apart."""
    size = 2 * LINE if is_vertical else measure_text(tick(high, suffix)) + 12
    return max(1, int(measure_axis(axes, is_vertical) / size))


def set_ticks(axes: Axes, locator: Locator, suffix: str = "", is_vertical: bool = False) -> None:
    """Ticks of an axis, with ``suffix`` after each number."""
    axis = axes.yaxis if is_vertical else axes.xaxis
    axis.set_major_locator(locator)
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(FuncFormatter(lambda v, _: tick(v, suffix)))


def measure_axis(axes: Axes, is_vertical: bool) -> float:
    """The axis' length in CSS pixels."""
    figure = axes.get_figure()
    assert isinstance(figure, Figure)
    width, height = figure.get_size_inches()
    place = axes.get_position()
    return 72 * float(height * place.height if is_vertical else width * place.width)


def label_ends(axes: Axes, labels: Sequence[tuple[float, str, str]]) -> None:
    """Labels (value on the vertical axis, text, colour) right of the axes, moved apart where they
    would overlap."""
    width, height = measure_axis(axes, False), measure_axis(axes, True)
    to_axes = axes.transData + axes.transAxes.inverted()
    natural = sorted(
        (float(to_axes.transform((axes.get_xlim()[1], v))[1]) * height, text, colour)
        for v, text, colour in labels
    )
    places: list[float] = []
    for y, _, _ in natural:
        places.append(max(y, places[-1] + LABEL_GAP if places else 0.0))
    highest = height
    for n in reversed(range(len(places))):
        places[n] = min(places[n], highest)
        highest = places[n] - LABEL_GAP
    for place, (y, text, colour) in zip(places, natural, strict=True):
        if abs(place - y) > 2:
            axes.annotate(
                "", (1, y / height), (1 + 9 / width, place / height), xycoords="axes fraction",
                textcoords="axes fraction", annotation_clip=False,
                arrowprops={"arrowstyle": "-", "color": GRID, "shrinkA": 0, "shrinkB": 0},
            )  # fmt: skip
        axes.text(
            1 + 11 / width, place / height, text, transform=axes.transAxes, ha="left",
            va="center_baseline", color=colour,
        )  # fmt: skip


@cache
def measure_text(text: str) -> float:
    """Width in CSS pixels, in the font that the page most likely has or a wider one."""
    width, _, _ = text_to_path.get_text_width_height_descent(
        text, FontProperties(family="DejaVu Sans", size=FONT_PX), ismath=False
    )
    return float(width)
