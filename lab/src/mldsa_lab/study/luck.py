"""What random messages would have done to a comparison of signers measured on designed inputs.

A signature's cost depends on the luck of its rejections. A process that signs random messages has
that luck in its mean. The cost of each rejected iteration is measured and the law of rejections is
exact, so such studies can be drawn: every process keeps its measured mean, times the luck of
messages drawn for it, and the same test is made.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import combinations

import numpy as np

from mldsa_lab.estimate.figure import Figure, Key
from mldsa_lab.estimate.fit import Fit
from mldsa_lab.estimate.replicates import count_rejected, shift, u_law
from mldsa_lab.study.cells import StudyCell
from mldsa_lab.study.file import Contrast
from mldsa_lab.theory.arrays import Array

STUDIES = 1000
"""How many are drawn."""
_GRID = 1 << 16
_AT_ONCE = 1 << 22
# The largest share of signatures whose cost the law is asked for is within the grid's last point.
_SHARE = 1 - 1 / _GRID


def luck_figures(
    contrast: Contrast, keys: Mapping[str, Key], groups: Mapping[str, StudyCell]
) -> Iterator[Figure]:
    """Yield figures of each pair of signers that were measured on designed inputs in every process.

    A ``difference`` with so many ``messages`` for each process, by ``statistic``: ``slower`` and
    ``faster``, the share of studies in which the test finds the first group so; ``width``: the
    median over studies of the ratio's interval, its longer limit over its shorter less 1, and
    ``designed`` the same of the measured inputs; unknown where so few processes allow none.
    """
    rng = np.random.default_rng(0)
    laws = {
        label: [relative_costs(fit) for fit in cell.fitted]
        for label, cell in groups.items()
        if len(cell.fitted) == len(cell.means)
    }
    pairs = list(combinations(groups, 2))
    for pair in pairs:
        if not laws.keys() >= set(pair):
            continue
        one, other = (groups[label].means for label in pair)
        _, low, high = shift(one, other, contrast.alpha)
        n, m = len(one), len(other)
        k, below = count_rejected(n, m, contrast.alpha), np.cumsum(u_law(n, m))
        for messages in contrast.random_messages:
            x, y = (_draw(groups[label].means, laws[label], messages, rng) for label in pair)
            ratios = np.sort((x[:, :, None] / y[:, None, :]).reshape(STUDIES, n * m), axis=1)
            above = (ratios > 1).sum(1)
            p = np.minimum(1.0, 2 * below[np.minimum(above, n * m - above)] * len(pairs))
            found = p <= contrast.alpha
            width = float(np.median(ratios[:, -k] / ratios[:, k - 1])) - 1 if k else None
            designed = None if low is None or high is None else high / low - 1
            own = {**keys, "first": pair[0], "second": pair[1], "messages": messages}
            for statistic, value in (
                ("width", width),
                ("designed", designed),
                ("slower", float((found & (2 * above > n * m)).mean())),
                ("faster", float((found & (2 * above < n * m)).mean())),
            ):
                yield Figure({**own, "statistic": statistic}, "difference", value)


def _draw(means: Array, laws: list[Array], messages: int, rng: np.random.Generator) -> Array:
    """(studies, processes) the means of these processes, had they signed random messages."""
    found = np.empty((STUDIES, len(means)))
    for place, (mean, costs) in enumerate(zip(means, laws, strict=True)):
        rows = max(1, _AT_ONCE // messages)
        for start in range(0, STUDIES, rows):
            size = (min(rows, STUDIES - start), messages)
            drawn = costs[rng.integers(_GRID, size=size)]
            found[start : start + rows, place] = mean * drawn.mean(1)
    return found


def relative_costs(fit: Fit) -> Array:
    """Return the costs of equally likely signatures over their mean."""
    costs = fit.law(_SHARE).curve((np.arange(_GRID) + 0.5) / _GRID)
    return np.asarray(costs / costs.mean())
