"""What random messages would have done to a comparison of signers measured on designed inputs.

A signature's cost depends on the luck of its rejections. Where every process had signed so many
random messages of its own, its mean would have had that luck in it. The cost of each rejected
attempt is measured and the law of rejections is exact, so such studies can be drawn: every process
keeps its measured mean, times the luck of messages drawn for it, and the same test is made.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

import numpy as np

from mldsa_lab.estimate.fit import Fit
from mldsa_lab.show.format import estimate
from mldsa_lab.show.grid import Column, Grid
from mldsa_lab.study.contrast import GroupTest, PairTest, refused, u_law
from mldsa_lab.study.file import Contrast
from mldsa_lab.study.tables import percent, place_columns
from mldsa_lab.theory.arrays import Array

_STUDIES = 1000
"""How many are drawn."""
_GRID = 1 << 16
_AT_ONCE = 1 << 22
# The largest share of signatures whose cost the law is asked for is within the grid's last point.
_SHARE = 1 - 1 / _GRID


@dataclass(frozen=True)
class LuckOfPair:
    """Of a pair, with ``messages`` random ones for each process: in which share of the studies the
    test finds the first group slower, and the second; ``width``: the median over studies of the
    ratio's interval, its longer limit over its shorter less 1, and ``designed`` the same of what
    was measured; None where so few processes allow none."""

    pair: PairTest
    messages: int
    slower: float
    faster: float
    width: float | None
    designed: float | None


def luck_of(contrast: Contrast, one: GroupTest) -> Iterator[LuckOfPair]:
    """For each pair of signers that were both measured on designed inputs in every process."""
    if not contrast.random_messages:
        return
    rng = np.random.default_rng(0)
    laws = {
        label: [_costs(fit) for fit in cell.fitted]
        for label, cell in one.groups.items()
        if len(cell.fitted) == len(cell.means)
    }
    for pair in one.pairs:
        if not all(label in laws for label in pair.groups):
            continue
        for messages in contrast.random_messages:
            x, y = (
                _drawn(one.groups[label].means, laws[label], messages, rng) for label in pair.groups
            )
            yield _judged(contrast, one, pair, messages, x, y)


def _drawn(means: Array, laws: list[Array], messages: int, rng: np.random.Generator) -> Array:
    """(studies, processes) the means of these processes, had they signed random messages."""
    found = np.empty((_STUDIES, len(means)))
    for place, (mean, costs) in enumerate(zip(means, laws, strict=True)):
        rows = max(1, _AT_ONCE // messages)
        for start in range(0, _STUDIES, rows):
            size = (min(rows, _STUDIES - start), messages)
            lucky = costs[rng.integers(_GRID, size=size)].mean(1)
            found[start : start + rows, place] = mean * lucky
    return found


def _costs(fit: Fit) -> Array:
    """The costs of equally likely signatures over their mean."""
    costs = fit.law(_SHARE).curve((np.arange(_GRID) + 0.5) / _GRID)
    return np.asarray(costs / costs.mean())


def _judged(
    contrast: Contrast, one: GroupTest, pair: PairTest, messages: int, x: Array, y: Array
) -> LuckOfPair:
    n, m = x.shape[1], y.shape[1]
    ratios = np.sort((x[:, :, None] / y[:, None, :]).reshape(len(x), n * m), axis=1)
    above = (ratios > 1).sum(1)
    reached = _reached(n, m)
    p = np.minimum(1.0, 2 * reached[np.minimum(above, n * m - above)] * len(one.pairs))
    found = p <= contrast.alpha
    k = sum(1 for _ in refused(n, m, contrast.alpha))
    width = float(np.median(ratios[:, -k] / ratios[:, k - 1])) - 1 if k else None
    _, low, high = pair.ratio
    return LuckOfPair(
        pair, messages, float((found & (2 * above > n * m)).mean()),
        float((found & (2 * above < n * m)).mean()), width,
        None if low is None or high is None else high / low - 1,
    )  # fmt: skip


@cache
def _reached(n: int, m: int) -> Array:
    """The probability that the Mann-Whitney statistic is at most so much, for each value."""
    return np.asarray(np.cumsum(u_law(n, m)))


def luck_grid(contrast: Contrast, rows: list[tuple[GroupTest, LuckOfPair]]) -> Grid:
    """As a table to be shown."""
    lucks = [luck for _, luck in rows]
    columns = [
        *place_columns(contrast, [one for one, _ in rows]),
        Column("groups", [" / ".join(k.pair.groups) for k in lucks], head=True),
        Column("ratio", [estimate(k.pair.ratio).value for k in lucks], number=True),
        Column("messages", [f"{k.messages:,}" for k in lucks], number=True),
        Column("interval, %", [percent(k.width) for k in lucks], number=True),
        Column("designed, %", [percent(k.designed) for k in lucks], number=True, spare=1),
        Column("first slower, %", [percent(k.slower) for k in lucks], number=True),
        Column("second slower, %", [percent(k.faster) for k in lucks], number=True),
    ]
    return Grid(
        f"{contrast.name}: had messages been random",
        f"{_STUDIES:,} studies drawn from the measured costs and the law of rejections: the median "
        "width of the interval of the ratio, and in how many the test finds a difference",
        tuple(columns),
    )
