"""Comparison of groups by their replicates: processes, or rounds.

Rounds of one process are not independent of each other; means of processes are.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np
from scipy.stats import kruskal, mannwhitneyu

from mldsa_lab.estimate.figure import Figure, Key
from mldsa_lab.estimate.interval import Interval
from mldsa_lab.extras import need
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
    inverts the Mann-Whitney test); its flag is the verdict. ``delta``: Cliff's, how much more
    often a replicate of the first is the slower one, from -1 to 1. P-values of the tests, those of
    pairs after Bonferroni. ``least``: the smallest p-value of a pair that so few replicates can
    reach; above ``alpha`` no pair can be told apart.
    """
    pairs = list(combinations(groups, 2))
    if not pairs:
        return []
    over_all = {}
    if KRUSKAL_WALLIS in tests:
        over_all[KRUSKAL_WALLIS] = _kruskal(list(groups.values()))
    dunn = _dunn(groups) if DUNN in tests else {}
    sizes = [(len(groups[a]), len(groups[b])) for a, b in pairs]
    least = min(1.0, len(pairs) * max((2 / math.comb(n + m, n) for n, m in sizes), default=1.0))
    figures = []
    for one, other in pairs:
        x, y = groups[one], groups[other]
        p = dict(over_all)
        if MANN_WHITNEY in tests:
            found = float(mannwhitneyu(x, y, alternative="two-sided").pvalue)
            p[MANN_WHITNEY] = min(1.0, found * len(pairs))
        if DUNN in tests:
            p[DUNN] = dunn[one, other]
        ratio = shift(x, y, alpha)
        if not {MANN_WHITNEY, DUNN} & p.keys() and len(groups) > 2:
            verdict = NO_TEST
        elif MANN_WHITNEY in p and least > alpha:
            verdict = f"too few {replicates} to tell"
        elif max(p.values()) > alpha:
            verdict = NO_DIFFERENCE
        else:
            verdict = f"{one if ratio.value > 1 else other} is slower"
        own = {**keys, "first": one, "second": other}
        figures.append(Figure.of(own, "ratio", ratio, flags=(verdict,)))
        figures.append(Figure(own, "delta", delta(x, y)))
        figures += [Figure(own, name, p[name]) for name in tests]
        figures.append(Figure(own, "least", least))
    return figures


def _kruskal(groups: Sequence[Array]) -> float:
    if np.ptp(np.concatenate(groups)) == 0:
        return 1.0  # all alike, where SciPy has no value
    return float(kruskal(*groups).pvalue)


def _dunn(groups: Mapping[str, Array]) -> dict[tuple[str, str], float]:
    """P-values of Dunn's test after Bonferroni, by pair."""
    need("study", "Dunn's test")
    from scikit_posthocs import posthoc_dunn

    table = posthoc_dunn([values.tolist() for values in groups.values()], p_adjust="bonferroni")
    numbered = list(enumerate(groups, 1))
    return {
        (one, other): float(table.loc[i, j]) for (i, one), (j, other) in combinations(numbered, 2)
    }


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
    k = count_rejected(len(x), len(y), alpha)
    return Interval(value, float(ratios[k - 1]), float(ratios[-k])) if k else Interval(value)


def count_rejected(n: int, m: int, alpha: float) -> int:
    """Return the number of values of the Mann-Whitney statistic, from 0 on, that the test rejects
    at level ``alpha``."""
    return int((np.cumsum(u_law(n, m)) <= alpha / 2).sum())


def u_law(n: int, m: int) -> Array:
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
