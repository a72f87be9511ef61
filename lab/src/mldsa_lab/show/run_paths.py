"""From the series of batches and threads to the lines of their plots."""

from __future__ import annotations

from collections.abc import Callable

from mldsa_lab.estimate.summary import SummaryRow
from mldsa_lab.show.run_plots import Path
from mldsa_lab.show.runs import Batches, Series, Threads

MOST_LEVELS = 5
"""Implementations without a batch interface in a plot: the cheapest, and the reference."""
MOST_THREADED = 9
"""Lines of a plot over threads."""

Figures = tuple[float | None, float | None, float | None]
"""A value and its interval."""


def batch_paths(table: Batches, reference: str) -> list[Path]:
    """A line for each batch interface; of the others the cheapest variant of each implementation
    as a level, since a loop costs the same at any length."""
    divisor = table.unit.divisor
    made = [
        _path(f"{s.label}, {s.keys}", s, s.key == "expanded", divisor, _mean)
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


def rate_paths(table: Threads) -> list[Path]:
    """Operations per second of each implementation's best variant, single and in batches."""
    return _threaded(table, table.unit.divisor, _rate)


def scaling_paths(table: Threads) -> list[Path]:
    """The same over one thread."""
    return _threaded(table, 1.0, _scaling)


def _mean(row: SummaryRow) -> Figures:
    return row.mean, row.mean_low, row.mean_high


def _rate(row: SummaryRow) -> Figures:
    return row.per_second, row.per_second_low, row.per_second_high


def _scaling(row: SummaryRow) -> Figures:
    return row.scaling, row.scaling_low, row.scaling_high


def _threaded(
    table: Threads, divisor: float, figures: Callable[[SummaryRow], Figures]
) -> list[Path]:
    best: dict[tuple[str, str], Series] = {}
    for s in table.series:  # best first
        best.setdefault((next(iter(s.rows.values())).implementation, s.mode), s)
    paths = (
        _path(f"{s.label}, batch" if batch else s.label, s, batch, divisor, figures)
        for s in list(best.values())[:MOST_THREADED]
        for batch in (s.mode == "batch",)
    )
    return [path for path in paths if path.points]


def _path(
    label: str,
    series: Series,
    dashed: bool,
    divisor: float,
    figures: Callable[[SummaryRow], Figures],
) -> Path:
    points = []
    for number, row in sorted(series.rows.items()):
        value, *limits = figures(row)
        if value is not None:
            low, high = (None if x is None else x / divisor for x in limits)
            points.append((float(number), value / divisor, low, high))
    return Path(label, series.colour, dashed, tuple(points))
