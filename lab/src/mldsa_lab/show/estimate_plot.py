"""The picture of an estimation: costs over attempts with the fit, and what it leaves."""

from __future__ import annotations

import textwrap
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator

from mldsa_lab.errors import LabError
from mldsa_lab.estimate.interval import Interval
from mldsa_lab.estimate.measured import Estimation
from mldsa_lab.files import write_whole
from mldsa_lab.show import scales, svg
from mldsa_lab.show.axes import LABEL_GAP, axis_from_zero, axis_length, unit_title
from mldsa_lab.show.format import of_interval, tick
from mldsa_lab.show.plots import MIX_NAMES, fan
from mldsa_lab.show.scales import text_width
from mldsa_lab.show.svg import FONT_PX
from mldsa_lab.theory.terms import LINEAR, to_costs
from mldsa_lab.wording import join_words

ENDINGS = (".svg", ".png")
"""What a plot's file may end in."""

# The page's colours in daylight: a picture on its own has no theme.
_INK, _MUTED, _GRID, _SURFACE, _BAD = "#1b1f24", "#59616b", "#dfe3e8", "#ffffff", "#b3261e"
_MIX = ("#2f4b85", "#5f6d92", "#8c8c8c", "#b59a5c", "#dca722")
_MARK = "#0067a5"
_RC = svg.style(_INK, _MUTED, _GRID, _SURFACE) | {"svg.hashsalt": "mldsa-lab estimate"}
_WIDTH = 760.0
_EDGE, _STRIP, _GAP = 14.0, 10.0, 10.0
_LINE = 1.45 * FONT_PX
_COSTS, _RESIDUALS, _BELOW = 290.0, 120.0, 92.0
# Percentiles further above the costs measured than this are in the table alone.
_FARTHEST = 1.7
# Labels of marks that would be wider stand without intervals, CSS pixels.
_WIDEST = 240.0
_PNG_DPI = 144
_DOT = 6.0


def write_plot(estimation: Estimation, path: Path) -> None:
    """Draw an estimation into a file, SVG or PNG by its ending; LabError for others."""
    kind = path.suffix.lower()
    if kind not in ENDINGS:
        raise LabError(f"plot {path}: must end in {' or '.join(ENDINGS)}")
    with matplotlib.rc_context(_RC):
        figure = draw(estimation)
        metadata = {"Date": None} if kind == ".svg" else {}
        write_whole(
            path,
            lambda target: figure.savefig(
                target, format=kind[1:], dpi=72 if kind == ".svg" else _PNG_DPI, metadata=metadata
            ),
        )


def draw(estimation: Estimation) -> Figure:
    """The figure; `write_plot` sets fonts and colours around it."""
    shown = estimation.without_outliers or estimation
    marks = [("mean", shown.mean)]
    marks += [(f"p{p:g}", interval) for p, interval in shown.percentiles.items()]
    texts = [(name, of_interval(interval)) for name, interval in marks]
    labels = [f"{name}  {text}" for name, text in texts]
    if max(map(text_width, labels)) > _WIDEST:
        labels = [f"{name}  {text.value}" for name, text in texts]
    values = [interval.value for _, interval in marks]
    head = _head(estimation)
    # Room for the tick of the largest value that may be shown.
    highest = max(max(r.cost for r in estimation.residuals), *values)
    left = max(_EDGE + text_width(tick(highest)) + 8, 56.0)
    top = 14 + _LINE * len(head) + 20
    # Renderers round a little wider.
    longest = 1.04 * max(text_width(label) for label in labels)
    right = _STRIP * len(marks) + 2 * _GAP + longest + _EDGE
    height = top + _COSTS + 44 + _RESIDUALS + _BELOW
    figure = Figure(figsize=(_WIDTH / 72, height / 72))
    width = (_WIDTH - left - right) / _WIDTH
    main = figure.add_axes((left / _WIDTH, 1 - (top + _COSTS) / height, width, _COSTS / height))
    below = figure.add_axes((left / _WIDTH, _BELOW / height, width, _RESIDUALS / height))
    for line, (text, colour, weight) in enumerate(head):
        figure.text(
            _EDGE / _WIDTH, 1 - (14 + _LINE * (line + 0.5)) / height, text, color=colour,
            fontweight=weight, va="center", fontsize=FONT_PX + (1 if line == 0 else 0),
        )  # fmt: skip
    residuals = [100 * (r.relative or 0.0) for r in estimation.residuals]
    _costs(main, estimation, values)
    _marks(main, [interval for _, interval in marks], labels)
    _residuals(below, residuals, main.get_xlim()[1])
    for axes, heights in ((main, [r.cost for r in estimation.residuals]), (below, residuals)):
        _dots(axes, estimation, heights)
    for axes, title in ((main, estimation.unit or "cost"), (below, "cost less the fit, %")):
        unit_title(axes, title, left - _EDGE, _MUTED)
    _legend(figure, left, height, estimation.confidence)
    return figure


def _head(estimation: Estimation) -> list[tuple[str, str, str]]:
    """Lines of text above: what it is, then the warnings."""
    inputs = len(estimation.residuals)
    title = f"{estimation.set} signing, {inputs} input{'s' if inputs > 1 else ''}"
    if estimation.rounds > 1:
        title += f", {estimation.rounds} rounds"
    lines = [(title, _INK, "bold")]
    letters = int((_WIDTH - 28) / (text_width("n" * 50) / 50))
    for finding in estimation.warnings:
        text = f"{finding.code}: {finding.text}"
        lines += [(part, _BAD, "normal") for part in textwrap.wrap(text, letters)]
    outliers = [str(r.id) for r in estimation.residuals if r.outlier]
    if outliers:
        ids = f"id {outliers[0]}" if len(outliers) == 1 else f"ids {join_words(outliers)}"
        lines.append((f"Line, residuals, mean and percentiles: without {ids}.", _INK, "normal"))
    return lines


def _costs(axes: Axes, estimation: Estimation, marks: Sequence[float]) -> None:
    """The axes of the costs, and the fit: its line with its interval, in the fan of all mixes."""
    shown = estimation.without_outliers or estimation
    cost = max(r.cost for r in estimation.residuals)
    first, z, r0 = (shown.costs[name].value for name in ("first", "z", "r"))
    near = [value for value in marks if value < _FARTHEST * cost]
    counts = shown.fit.model.expected_counts
    share = float(counts[0] / counts.sum())
    slope = share * z + (1 - share) * r0
    last = float(max(r.attempts for r in estimation.residuals))
    if slope > 0 and near:
        last = max(last, min((max(near) - first) / slope + 1, 3 * last + 10))
    fan(axes, (first, z, r0), share, last + 0.5, _MUTED)
    attempts = np.linspace(1, last + 0.5, 40)
    band = [_at(shown, a, share) for a in attempts]
    axes.fill_between(
        attempts, [i.low or 0.0 for i in band], [i.high or i.value for i in band], color=_MARK,
        alpha=0.22, linewidth=0,
    )  # fmt: skip
    axes.set_xlim(0.4, last + 0.8)
    most = max([cost, *near, first + (last - 0.5) * max(z, r0, 0.0)])
    axis_from_zero(axes, 1.06 * most, tick, vertical=True)
    _whole_attempts(axes)


def _at(shown: Estimation, attempts: float, share_z: float) -> Interval:
    """The mean cost of signatures with so many attempts, of the expected mix."""
    rejected = attempts - 1
    row = np.zeros(len(shown.fit.coefficients))
    parts = np.array([1.0, rejected * share_z, rejected * (1 - share_z), 0.0])
    row[:LINEAR] = parts @ to_costs(shown.fit.model)
    return shown.fit.interval(row, shown.confidence)


def _marks(axes: Axes, marks: Sequence[Interval], labels: Sequence[str]) -> None:
    """Mean and percentiles with their intervals, right of the costs, on the same scale."""
    _, high = axes.get_ylim()
    width = _WIDTH * axes.get_position().width
    height = axis_length(axes, True)
    wanted = []
    for place, interval in enumerate(marks):
        if interval.value > high:
            continue
        x = 1 + (_GAP + _STRIP * (place + 0.5)) / width
        low = max(interval.value if interval.low is None else interval.low, 0.0) / high
        up = min((interval.value if interval.high is None else interval.high) / high, 1.0)
        colour = _INK if place == 0 else _MARK
        # Caps show an interval that is smaller than the dot.
        axes.plot(
            [x, x], [low, up], "_-", transform=axes.transAxes, color=colour, linewidth=2,
            markersize=9, markeredgewidth=1.4, clip_on=False,
        )  # fmt: skip
        axes.plot(
            [x], [interval.value / high], "o", transform=axes.transAxes, markersize=4,
            color=colour, clip_on=False,
        )  # fmt: skip
        wanted.append((interval.value / high * height, labels[place], colour, x))
    wanted.sort(key=lambda item: item[0])
    places = scales.spread([y for y, *_ in wanted], LABEL_GAP, 0, height)
    edge = 1 + (2 * _GAP + _STRIP * len(marks)) / width
    for at, (y, label, colour, x) in zip(places, wanted, strict=True):
        axes.plot(
            [x, edge - 3 / width], [y / height, at / height], transform=axes.transAxes,
            color=_GRID, linewidth=0.8, clip_on=False, zorder=0,
        )  # fmt: skip
        axes.text(
            edge, at / height, label, transform=axes.transAxes, va="center_baseline",
            color=colour,
        )  # fmt: skip


def _residuals(axes: Axes, values: Sequence[float], last: float) -> None:
    """The axes of what the fit leaves."""
    limit = 1.25 * max(*map(abs, values), 0.01)
    axes.axhline(0, color=_MUTED, linewidth=1, zorder=0.5)
    axes.set_ylim(-limit, limit)
    axes.set_xlim(0.4, last)
    axes.yaxis.set_major_locator(MaxNLocator(4, symmetric=True, steps=[1, 2, 5, 10]))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda v, _: f"{v:.4g}"))
    _whole_attempts(axes)
    axes.set_xlabel("attempts", labelpad=3)


def _dots(axes: Axes, estimation: Estimation, heights: Sequence[float]) -> None:
    """A dot for each input, beside each other where they would hide each other; outliers named,
    on that side where there is room."""
    _, last = axes.get_xlim()
    residuals = estimation.residuals
    for residual, height, x in zip(
        residuals, heights, _beside(axes, estimation, heights), strict=True
    ):
        axes.plot(
            [x], [height], "o", markersize=_DOT, color=_colour(residual.counts),
            markeredgecolor=_BAD if residual.outlier else _SURFACE,
            markeredgewidth=1.6 if residual.outlier else 0.6, clip_on=False, zorder=3,
        )  # fmt: skip
        if residual.outlier:
            left = residual.attempts > 0.85 * last
            axes.annotate(
                f"id {residual.id}", (x, height), (-8 if left else 8, 0),
                textcoords="offset points", ha="right" if left else "left",
                va="center_baseline", color=_BAD, zorder=4,
                bbox={"facecolor": _SURFACE, "alpha": 0.8, "linewidth": 0, "pad": 1},
            )  # fmt: skip


def _beside(axes: Axes, estimation: Estimation, heights: Sequence[float]) -> list[float]:
    """Where dots stand: at their attempts, those that coincide spread about it."""
    (left, right), (low, high) = axes.get_xlim(), axes.get_ylim()
    per_attempt = axis_length(axes, False) / (right - left)
    per_height = axis_length(axes, True) / (high - low)
    groups: dict[int, list[int]] = defaultdict(list)
    for i, residual in enumerate(estimation.residuals):
        groups[residual.attempts].append(i)
    places = [float(r.attempts) for r in estimation.residuals]
    for members in groups.values():
        rest = sorted(members, key=lambda i: heights[i])
        while rest:
            # Neighbours in height that touch form a row.
            row = [rest.pop(0)]
            while rest and per_height * (heights[rest[0]] - heights[row[-1]]) < 0.6 * _DOT:
                row.append(rest.pop(0))
            step = min(_DOT / per_attempt, 0.8 / len(row))
            for place, i in enumerate(sorted(row)):
                places[i] += step * (place - (len(row) - 1) / 2)
    return places


def _legend(figure: Figure, left: float, height: float, confidence: float) -> None:
    """What the colours stand for."""
    x, y = left, 36 / height
    lead = "rejected attempts:"
    figure.text(x / _WIDTH, y, lead, color=_MUTED, va="center_baseline")
    x += text_width(lead) + 16
    for colour, name in zip(_MIX, MIX_NAMES, strict=True):
        figure.text(x / _WIDTH, y, "●", color=colour, va="center_baseline", ha="center")
        figure.text((x + 9) / _WIDTH, y, name, color=_MUTED, va="center_baseline")
        x += 9 + text_width(name) + 22
    text = (
        f"line: the fit at the expected mix, blue its {100 * confidence:g} % interval; grey: from "
        "z alone to r0 alone"
    )
    figure.text(left / _WIDTH, 15 / height, text, color=_MUTED, va="center_baseline")


def _colour(counts: tuple[int, int, int]) -> str:
    """By the share of r0 among the rejected attempts of class z and r."""
    z, r, _ = counts
    return _MIX[2 if z + r == 0 else round(4 * r / (z + r))]


def _whole_attempts(axes: Axes) -> None:
    axes.xaxis.set_major_locator(MaxNLocator(8, integer=True, steps=[1, 2, 5, 10]))
    axes.tick_params(length=0)
    axes.grid(axis="y")
    axes.spines["left"].set_visible(False)
