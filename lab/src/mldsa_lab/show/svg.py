"""From a matplotlib figure to a small inline SVG whose colours follow the page's theme.

A figure is drawn with stand-in colours; in the SVG each becomes a CSS variable that the page
defines once for light and once for dark. Sizes are CSS pixels: a figure unit of 1/72 inch.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from contextlib import contextmanager
from html import escape
from typing import Any

import matplotlib
from matplotlib.figure import Figure

from mldsa_lab.show.report import SERIES_COUNT

INK, MUTED, GRID, SURFACE = "#fe0101", "#fe0102", "#fe0103", "#fe0104"
"""Stand-ins for text, secondary text, grid lines and the page behind the figure."""
Z, R, SETUP, FINAL = "#fe0201", "#fe0202", "#fe0203", "#fe0204"
"""Stand-ins for the parts of a signature: z-rejected, r0-rejected, set-up, final attempt."""
ON_DARK, ON_LIGHT = "#fe0105", "#fe0106"
"""Stand-ins for text on the dark and on the light ones of those parts."""
MIX = ("#fe0301", "#fe0302", "#fe0303", "#fe0304", "#fe0305")
"""Stand-ins for a rejected attempts' mix, from all z to all r0."""
_SHAPES = ("o", "s", "D", "^")
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
    """The stand-in for the colour of the `index`th implementation."""
    return f"#fe04{index % SERIES_COUNT:02x}"


def shape(index: int) -> int:
    """Which shape the `index`th implementation's marker has."""
    return index % SERIES_COUNT * len(_SHAPES) // SERIES_COUNT


def marker(index: int) -> str:
    """matplotlib's marker of the `index`th implementation."""
    return _SHAPES[shape(index)]


@contextmanager
def drawing() -> Iterator[None]:
    """Inside, new figures have the page's fonts, lines and stand-in colours."""
    with matplotlib.rc_context(_RC):
        yield


def to_svg(figure: Figure, name: str, title: str) -> str:
    """The figure as an `<svg>` element to stand in the page's text.

    `name` makes its ids unique in the page; `title` says in words what it shows, for those who
    cannot see it.
    """
    buffer = io.StringIO()
    with matplotlib.rc_context({**_RC, "svg.hashsalt": name}):
        figure.savefig(buffer, format="svg", metadata={"Date": None})
    text = buffer.getvalue()
    start = text.index("<svg")
    opening_end = text.index(">", start)
    body = text[opening_end + 1 : text.rindex("</svg>")]
    body = re.sub(r"<metadata>.*?</metadata>", "", body, flags=re.S)
    # matplotlib's own style rule is for all elements and would reach the whole page.
    body = re.sub(r"<style[^>]*>.*?</style>", "", body, flags=re.S)
    body = re.sub(r"<!--.*?-->", "", body, flags=re.S)
    used = set(re.findall(r"(?:url\(#|href=\"#)([^)\"]+)", body))
    body = re.sub(
        r' id="([^"]+)"',
        lambda m: f' id="{name}-{m[1]}"' if m[1] in used else "",
        body,
    )
    body = re.sub(r"url\(#([^)]+)\)", rf"url(#{name}-\1)", body)
    body = re.sub(r'(?:xlink:)?href="#([^"]+)"', rf'href="#{name}-\1"', body)
    body = re.sub(r"font: (?:\w+ )*?([\d.]+)px [^;\"]+", r"font-size: \1px", body)
    # A tenth of a pixel is enough for every coordinate; text between tags stays as it is.
    body = re.sub(r"<[^>]+>", lambda tag: re.sub(r"(\d\.\d)\d+", r"\1", tag[0]), body)
    for stand_in, variable in _VARIABLES.items():
        body = body.replace(stand_in, f"var({variable})")
    body = re.sub(r"<defs>\s*</defs>", "", body)
    body = re.sub(r"\s*\n\s*", " ", body)
    body = re.sub(r"> <", "><", body)
    for _ in range(4):
        body = re.sub(r"<g></g>", "", body)
    width, height = (72 * float(inches) for inches in figure.get_size_inches())
    return (
        f'<svg role="img" aria-label="{escape(title)}" viewBox="0 0 {width:.0f} {height:.0f}" '
        f'width="{width:.0f}" height="{height:.0f}">{body.strip()}</svg>'
    )
