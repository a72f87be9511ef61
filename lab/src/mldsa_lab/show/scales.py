"""Where ticks and labels go, so that none lies on another. Lengths are CSS pixels."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from itertools import pairwise

from matplotlib.font_manager import FontProperties
from matplotlib.textpath import text_to_path
from matplotlib.ticker import MaxNLocator

from mldsa_lab.show.svg import FONT_PX

LINE = 1.2 * FONT_PX
"""Height of a line of text."""
_GAP = 9.0
_MOST = 6
_DIGITS = ((1, 1.5, 2, 3, 4, 5, 6, 7, 8, 9), (1, 2, 3, 5, 7), (1, 2, 5), (1, 3), (1,))


def log_ticks(
    low: float, high: float, length: float, size: Callable[[float], float]
) -> list[float]:
    """Round numbers in [low, high] for a log axis of `length`: the densest choice of at most six
    whose labels, of `size`, keep apart. At least one."""
    scale = length / math.log(high / low)
    choices = list(_log_choices(low, high))
    return _first_fitting(choices, lambda v: math.log(v / low) * scale, size)


def _log_choices(low: float, high: float) -> Iterator[list[float]]:
    decades = range(math.floor(math.log10(low)) - 1, math.ceil(math.log10(high)) + 1)
    if high / low > 2.5:
        for digits in _DIGITS:
            yield [d * 10.0**e for e in decades for d in digits if low <= d * 10.0**e <= high]
        powers = [10.0**e for e in decades if low <= 10.0**e <= high]
        for step in range(2, len(powers)):
            yield powers[::step]
    # A range so narrow that it is nearly linear, or one between two powers of ten.
    for count in (4, 3, 2, 1):
        ticks = MaxNLocator(count, steps=[1, 2, 2.5, 5, 10]).tick_values(low, high)
        yield [float(t) for t in ticks if low <= t <= high]


def linear_ticks(high: float, length: float, size: Callable[[float], float]) -> list[float]:
    """Round numbers in [0, high], zero among them, whose labels keep apart."""
    choices = []
    for count in (4, 3, 2, 1):
        ticks = MaxNLocator(count, steps=[1, 2, 2.5, 5, 10]).tick_values(0, high)
        choices.append([float(t) for t in ticks if 0 <= t <= high])
    return _first_fitting(choices, lambda v: v * length / high, size)


def _first_fitting(
    choices: Sequence[list[float]], place: Callable[[float], float], size: Callable[[float], float]
) -> list[float]:
    def fits(ticks: list[float]) -> bool:
        return all(
            place(b) - place(a) >= (size(a) + size(b)) / 2 + _GAP for a, b in pairwise(ticks)
        )

    fitting = (t for t in choices if 2 <= len(t) <= _MOST and fits(t))
    # One label at least, where no two keep apart.
    return next(fitting, None) or next(t[:1] for t in choices if t)


def spread(wanted: Sequence[float], gap: float, low: float, high: float) -> list[float]:
    """Ascending places as near `wanted` (ascending) as `gap` between neighbours allows.

    Kept within [low, high] where there is room; else centred and equally spaced.
    """
    if (len(wanted) - 1) * gap >= high - low:
        middle = (low + high) / 2
        return [middle + (i - (len(wanted) - 1) / 2) * gap for i in range(len(wanted))]
    # Pool neighbours that collide, each pool centred on the mean of what its members wanted.
    pools: list[list[float]] = []
    for place in wanted:
        pools.append([place])
        while len(pools) > 1 and _first(pools[-1], gap, low, high) < (
            _first(pools[-2], gap, low, high) + gap * len(pools[-2])
        ):
            pools[-2:] = [pools[-2] + pools[-1]]
    return [_first(pool, gap, low, high) + i * gap for pool in pools for i in range(len(pool))]


def _first(pool: Sequence[float], gap: float, low: float, high: float) -> float:
    extent = (len(pool) - 1) * gap
    start = sum(pool) / len(pool) - extent / 2
    return min(max(start, low), high - extent)


def beside_points(
    points: Sequence[tuple[float, float]], labels: Sequence[str], size: tuple[float, float]
) -> list[tuple[float, float]]:
    """Left end and middle height of a label for each point, within an area of ``size`` and where
    it lies on the fewest points and labels before it: right of its point, left, above or below."""
    taken = [(x - 4, x + 4, y - 4, y + 4) for x, y in points]
    found = []
    for (x, y), label in zip(points, labels, strict=True):
        width, aside = text_width(label), 7.0
        tries = [
            (left, y + step * LINE)
            for step in (0, 1, -1, 2, -2, 3, -3)
            for left in (x + aside, x - aside - width, x - width / 2)
            if step or left != x - width / 2
        ]

        def lies_on(place: tuple[float, float], width: float = width) -> float:
            left, middle = place
            right, low, high = left + width, middle - LINE / 2, middle + LINE / 2
            outside = left < 0 or right > size[0] or low < 0 or high > size[1]
            met = sum(left < b and a < right and low < d and c < high for a, b, c, d in taken)
            return met + 3 * outside

        left, middle = min(tries, key=lies_on)
        taken.append((left, left + width, middle - LINE / 2, middle + LINE / 2))
        found.append((left, middle))
    return found


@cache
def text_width(text: str) -> float:
    """Width in CSS pixels, in the font that the page most likely has or a wider one."""
    width, _, _ = text_to_path.get_text_width_height_descent(
        text, FontProperties(family="DejaVu Sans", size=FONT_PX), ismath=False
    )
    return float(width)
