"""Groups of cells compared by their replicates: processes, or rounds if the study says so.

Rounds of one process are not independent of each other; means of processes are.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from scipy.stats import kruskal, mannwhitneyu

from mldsa_lab.errors import LabError
from mldsa_lab.estimate.interval import Interval
from mldsa_lab.extras import need
from mldsa_lab.study.cells import Gathered, StudyCell
from mldsa_lab.study.file import Contrast
from mldsa_lab.theory.arrays import Array


@dataclass(frozen=True)
class PairTest:
    """Two groups: ``ratio`` of the first's costs to the second's (Hodges and Lehmann's, with the
    interval that inverts the Mann-Whitney test), ``delta`` (Cliff's: how much more often a
    replicate of the first is the slower one, from -1 to 1), and p-values: of the Mann-Whitney test
    after Bonferroni over the pairs, and of Dunn's after Bonferroni, where each was asked for."""

    groups: tuple[str, str]
    ratio: Interval
    delta: float
    p: float | None
    dunn: float | None


@dataclass(frozen=True)
class GroupTest:
    """The groups within one combination of the fields ``within``; ``kruskal``: the p-value over
    all groups. ``least``: the smallest p-value that so few replicates can reach for a pair; above
    ``alpha`` no pair can be told apart."""

    within: tuple[str, ...]
    groups: dict[str, StudyCell]
    pairs: tuple[PairTest, ...]
    kruskal: float | None
    least: float
    alpha: float


def compare_groups(contrast: Contrast, found: Gathered) -> list[GroupTest]:
    """LabError where two cells belong to one group, or there is nothing to compare."""
    where = f"contrast {contrast.name!r}"
    try:
        sorted_in = found.sorted_in(contrast.where, contrast.within, contrast.between)
    except LabError as error:
        raise LabError(f"{where}: {error}") from None
    for groups in sorted_in.values():
        unit = next(iter(groups.values())).unit
        for label, cell in groups.items():
            if cell.unit != unit:
                raise LabError(f"{where}: {label} costs {cell.unit}, the groups beside it {unit}")
    # The same pairs everywhere, whatever the order of the records.
    made = [_compared(w, dict(sorted(groups.items())), contrast) for w, groups in sorted_in.items()]
    made = [one for one in made if len(one.groups) > 1]
    if not made:
        raise LabError(f"{where}: nothing to compare: there is one group alone")
    return made


def _compared(
    within: tuple[str, ...], groups: dict[str, StudyCell], contrast: Contrast
) -> GroupTest:
    kind = contrast.replicates
    replicates = {label: cell.replicates(kind) for label, cell in groups.items()}
    pairs = list(combinations(replicates, 2))
    several = len(replicates) > 1
    over_all = None
    if "kruskal-wallis" in contrast.tests and several:
        over_all = _kruskal(list(replicates.values()))
    dunn = _dunn(replicates) if "dunn" in contrast.tests and several else {}
    tested = []
    for one, other in pairs:
        x, y = replicates[one], replicates[other]
        p = None
        if "mann-whitney" in contrast.tests:
            p = min(1.0, _mann_whitney(x, y) * len(pairs))
        ratio = shift(x, y, contrast.alpha)
        tested.append(PairTest((one, other), ratio, delta(x, y), p, dunn.get((one, other))))
    least = max((2 / math.comb(len(replicates[a]) + len(replicates[b]), len(replicates[a]))
                 for a, b in pairs), default=1.0)  # fmt: skip
    return GroupTest(
        within, groups, tuple(tested), over_all, min(1.0, least * len(pairs)), contrast.alpha
    )


def _mann_whitney(x: Array, y: Array) -> float:
    return float(mannwhitneyu(x, y, alternative="two-sided").pvalue)


def _kruskal(groups: Sequence[Array]) -> float:
    if np.ptp(np.concatenate(groups)) == 0:
        return 1.0  # all alike, where SciPy has no value
    return float(kruskal(*groups).pvalue)


def _dunn(groups: dict[str, Array]) -> dict[tuple[str, str], float]:
    """P-values of Dunn's test after Bonferroni, by pair."""
    need("study", "Dunn's test")
    from scikit_posthocs import posthoc_dunn

    table = posthoc_dunn([values.tolist() for values in groups.values()], p_adjust="bonferroni")
    numbered = list(enumerate(groups, 1))
    return {
        (one, other): float(table.loc[i, j]) for (i, one), (j, other) in combinations(numbered, 2)
    }


def delta(x: Array, y: Array) -> float:
    """Cliff's delta."""
    return float(np.sign(x[:, None] - y[None, :]).mean())


def shift(x: Array, y: Array, alpha: float) -> Interval:
    """Hodges and Lehmann's ratio of ``x`` to ``y``, positive, with the interval at 1 - ``alpha``
    that inverts the Mann-Whitney test; without limits where so few values cannot have any.

    The k-th smallest and largest of all ratios are the limits, k - 1 being the largest value of
    the statistic that the test refuses.
    """
    ratios = np.sort((x[:, None] / y[None, :]).ravel())
    value = float(np.exp(np.median(np.log(ratios))))
    k = sum(1 for _ in refused(len(x), len(y), alpha))
    if k == 0:
        return Interval(value)
    return Interval(value, float(ratios[k - 1]), float(ratios[-k]))


def refused(n: int, m: int, alpha: float) -> Iterator[int]:
    """The values of the Mann-Whitney statistic, from 0 on, that are refused at level ``alpha``."""
    law = u_law(n, m)
    below = 0.0
    for value, chance in enumerate(law):
        below += chance
        if below > alpha / 2:
            return
        yield value


def u_law(n: int, m: int) -> Array:
    """The law of the Mann-Whitney statistic of n and m values without ties: the coefficients of
    the Gaussian binomial, over their sum."""
    counts = np.ones(1)
    for i in range(1, n + 1):
        # Times (1 - q^(m + i)) over (1 - q^i).
        grown = np.zeros(len(counts) + m + i)
        grown[: len(counts)] += counts
        grown[m + i :] -= counts
        for place in range(i, len(grown)):
            grown[place] += grown[place - i]
        counts = grown[: i * m + 1]
    return np.asarray(counts / counts.sum())
