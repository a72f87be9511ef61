"""Comparison of groups by their replicates: processes, or rounds.

Rounds of one process are not independent of each other; means of processes are.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import combinations

import numpy as np
from scipy.stats import chi2, kruskal, mannwhitneyu, norm, rankdata

from mldsa_lab.estimate.contract import FASTER, SLOWER, UNCHANGED, UNDECIDABLE
from mldsa_lab.estimate.figure import Figure, Key
from mldsa_lab.estimate.interval import Interval
from mldsa_lab.theory.arrays import Array

MANN_WHITNEY, KRUSKAL_WALLIS, DUNN = "mann-whitney", "kruskal-wallis", "dunn"
NO_TEST, NO_DIFFERENCE = "no test of pairs", "no difference seen"


def compare_groups(
    groups: Mapping[str, Array],
    keys: Mapping[str, Key],
    tests: Sequence[str],
    alpha: float,
    replicates: str = "processes",
) -> list[Figure]:
    """Return the figures of each pair of groups, whose keys are ``first`` and ``second``.

    ``ratio`` of the first's costs to the second's (Hodges and Lehmann's, with the interval that
    inverts the Mann-Whitney test); with its verdict. ``delta``: Cliff's, how much more
    often a replicate of the first is the slower one, from -1 to 1. ``p_value`` of each ``test``,
    of pairs after Bonferroni. ``least_p``: the largest of the smallest p-values that each test of
    a pair of so few replicates can have. Above ``alpha``, or where even groups without an overlap
    are not told apart, there are too few replicates.
    """
    pairs = list(combinations(groups, 2))
    if not pairs:
        return []
    over_all = {}
    if KRUSKAL_WALLIS in tests:
        over_all[KRUSKAL_WALLIS] = _kruskal(list(groups.values()))
    dunn = _dunn(groups) if DUNN in tests else {}
    least_of = partial(_least, [len(values) for values in groups.values()], len(pairs))
    figures = []
    for one, other in pairs:
        x, y = groups[one], groups[other]
        least = max(least_of(test, len(x), len(y)) for test in tests)
        distance = delta(x, y)
        p = dict(over_all)
        if MANN_WHITNEY in tests:
            found = float(mannwhitneyu(x, y, alternative="two-sided").pvalue)
            p[MANN_WHITNEY] = min(1.0, found * len(pairs))
        if DUNN in tests:
            p[DUNN] = dunn[one, other]
        ratio = shift(x, y, alpha)
        if not {MANN_WHITNEY, DUNN} & p.keys() and len(groups) > 2:
            verdict, note = UNDECIDABLE, NO_TEST
        elif least > alpha or (abs(distance) == 1 and max(p.values()) > alpha):
            verdict, note = UNDECIDABLE, f"too few {replicates} to tell"
        elif max(p.values()) > alpha:
            verdict, note = UNCHANGED, NO_DIFFERENCE
        elif ratio.value > 1:
            verdict, note = SLOWER, f"{one} is slower"
        else:
            verdict, note = FASTER, f"{other} is slower"
        own = {**keys, "first": one, "second": other}
        figures.append(Figure.of(own, "ratio", ratio, verdict=verdict, notes=(note,)))
        figures.append(Figure(own, "delta", distance))
        figures += [Figure({**own, "test": test}, "p_value", p[test]) for test in tests]
        figures.append(Figure(own, "least_p", least))
    return figures


def _least(sizes: Sequence[int], pairs: int, test: str, n: int, m: int) -> float:
    """Return the smallest p-value that a test can have for a pair of n and m replicates among
    groups of these sizes, after Bonferroni where the test is of pairs."""
    whole = sum(sizes)
    if test == MANN_WHITNEY:
        return min(1.0, pairs * 2 / math.comb(n + m, n))
    if whole == len(sizes) == 1 or whole < 3:
        return 1.0
    if test == KRUSKAL_WALLIS:
        # Of ranks without an overlap, the groups' order changes nothing.
        between = whole**3 - whole - sum(size**3 - size for size in sizes)
        return float(chi2.sf(between / (whole * (whole + 1)), len(sizes) - 1))
    # Dunn's: one group has the first ranks, the other the last.
    spread = math.sqrt(whole * (whole + 1) / 12 * (1 / n + 1 / m))
    return min(1.0, pairs * 2 * float(norm.sf((whole - (n + m) / 2) / spread)))


def _kruskal(groups: Sequence[Array]) -> float:
    if np.ptp(np.concatenate(groups)) == 0:
        return 1.0  # all alike, where SciPy has no value
    return float(kruskal(*groups).pvalue)


def _dunn(groups: Mapping[str, Array]) -> dict[tuple[str, str], float]:
    """Return the p-value of Dunn's test after Bonferroni by pair."""
    ranks = rankdata(np.concatenate(list(groups.values())))
    variance = np.var(ranks, ddof=1)  # of ranks with ties: Dunn's correction is in it
    ends = np.cumsum([len(values) for values in groups.values()])
    pairs = list(combinations(zip(groups, np.split(ranks, ends[:-1]), strict=True), 2))
    p = dict.fromkeys([(one, other) for (one, _), (other, _) in pairs], 1.0)
    if variance == 0:
        return p  # all alike
    for (one, x), (other, y) in pairs:
        z = abs(x.mean() - y.mean()) / np.sqrt(variance * (1 / len(x) + 1 / len(y)))
        p[one, other] = min(1.0, len(pairs) * 2 * float(norm.sf(z)))
    return p


def delta(x: Array, y: Array) -> float:
    """Return Cliff's delta."""
    return float(np.sign(x[:, None] - y[None, :]).mean())


def shift(x: Array, y: Array, alpha: float) -> Interval:
    """Return Hodges and Lehmann's ratio of ``x`` to ``y``, positive, with the interval at 1 -
    ``alpha`` that inverts the Mann-Whitney test; without limits where so few values have none.

    The k-th smallest and largest of all ratios are the limits, k - 1 being the largest value of
    the statistic that the test rejects.
    """
    ratios = np.sort((x[:, None] / y[None, :]).ravel())
    value = float(np.exp(np.median(np.log(ratios))))
    k = int((np.cumsum(_u_law(len(x), len(y))) <= alpha / 2).sum())
    return Interval(value, float(ratios[k - 1]), float(ratios[-k])) if k else Interval(value)


def _u_law(n: int, m: int) -> Array:
    """Return the law of the Mann-Whitney statistic of n and m values without ties: the
    coefficients of the Gaussian binomial, over their sum."""
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
