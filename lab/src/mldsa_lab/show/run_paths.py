"""From the series of batches and threads to the lines of their plots."""

from __future__ import annotations

from collections.abc import Iterable

from mldsa_lab.estimate.summary import Row
from mldsa_lab.show.run_plots import Path
from mldsa_lab.show.runs import Batches, Series, Threads

MOST_LEVELS = 5
"""Implementations without a batch interface in a plot: the cheapest, and the reference."""
MOST_THREADED = 9
"""Lines of a plot over threads."""


def batch_paths(table: Batches, reference: str) -> list[Path]:
    """A line for each batch interface; of the others the cheapest variant of each implementation
    as a level, since a loop costs the same at any length."""
    divisor = table.unit.divisor
    made = [
        Path(
            f"{s.label}, {s.keys}", s.colour, s.key == "expanded",
            tuple(
                (float(size), *_scaled(r.mean, r.mean_low, r.mean_high, divisor))
                for size, r in sorted(s.rows.items())
            ),
        )
        for s in table.series
        if s.rows
    ]  # fmt: skip
    loops: dict[str, Series] = {}
    for s in table.series:
        if not s.rows and s.loop is not None:
            loops.setdefault(s.loop.implementation, s)
    few = list(loops.values())[:MOST_LEVELS]
    if reference in loops and loops[reference] not in few:
        few.append(loops[reference])
    for s in few:
        if s.loop is not None and s.loop.mean is not None:
            level = s.loop.mean / divisor
            made.append(Path(f"{s.label}, loop", s.colour, False, (), level))
    return made


def rate_paths(table: Threads) -> list[Path]:
    """Operations per second of each implementation's best variant, single and in batches."""
    return [
        Path(_named(s), s.colour, s.mode == "batch", _points(s, table.unit.divisor))
        for s in _best(table)
    ]


def scaling_paths(table: Threads) -> list[Path]:
    """The same over one thread."""
    return [
        Path(
            _named(s), s.colour, s.mode == "batch",
            tuple(
                (float(n), r.scaling, r.scaling_low, r.scaling_high)
                for n, r in sorted(s.rows.items())
                if r.scaling is not None
            ),
        )
        for s in _best(table)
        if any(r.scaling is not None for r in s.rows.values())
    ]  # fmt: skip


def _best(table: Threads) -> Iterable[Series]:
    found: dict[tuple[str, str], Series] = {}
    for s in table.series:  # best first
        implementation = next(iter(s.rows.values())).implementation
        found.setdefault((implementation, s.mode), s)
    return list(found.values())[:MOST_THREADED]


def _named(series: Series) -> str:
    return f"{series.label}, batch" if series.mode == "batch" else series.label


def _points(
    series: Series, divisor: float
) -> tuple[tuple[float, float, float | None, float | None], ...]:
    def point(n: int, r: Row) -> tuple[float, float, float | None, float | None]:
        return (float(n), *_scaled(r.per_second, r.per_second_low, r.per_second_high, divisor))

    return tuple(point(n, r) for n, r in sorted(series.rows.items()))


def _scaled(
    value: float | None, low: float | None, high: float | None, divisor: float
) -> tuple[float, float | None, float | None]:
    assert value is not None
    if low is None or high is None:
        return value / divisor, None, None
    return value / divisor, low / divisor, high / divisor
