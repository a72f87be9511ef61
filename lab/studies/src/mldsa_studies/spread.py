"""How far averages of few inputs are apart: a source of figures for answers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from scipy.stats import chi2

from mldsa_lab.checkout import files_of
from mldsa_lab.estimate.figure import Figure, Key
from mldsa_studies.choices import GREEDY, MEAN, RANDOM, Plan, Task, choose
from mldsa_studies.costs import Costs, read_costs
from mldsa_studies.evaluate import kinds

_TASKS = ((RANDOM, 10), (RANDOM, 100), (GREEDY, 1), (GREEDY, 2), (GREEDY, 10))
_DRAWS, _POOL = 20, 20_000
_ENDS = (0.975, 0.025)
"""Shares of the chi-square law that limit a standard deviation at 95 % confidence."""


def spread_figures(argument: str) -> list[Figure]:
    """Return the relative standard deviation of the averages of n inputs, chosen in one way again
    and again.

    ``argument``: patterns of files of costs below the checkout, or absolute ones.
    """
    files = files_of(argument, "file of costs")
    result = [f for file in files for costs in read_costs(file).take(()) for f in _spread(costs)]
    return [*result, *_of_all_sets(result)]


def _of_all_sets(result: Sequence[Figure]) -> Iterator[Figure]:
    """Yield the deviations of all sets together, the root of their mean square."""
    kinds: dict[tuple[tuple[str, Key], ...], list[Figure]] = {}
    for figure in result:
        if figure.name == "sd":
            same = {k: v for k, v in figure.keys.items() if k != "set"}
            kinds.setdefault(tuple(same.items()), []).append(figure)
    for kind, of_sets in kinds.items():
        if len(of_sets) > 1:
            value = float(np.sqrt(np.mean([(f.value or 0.0) ** 2 for f in of_sets])))
            low, high = _limits(value, len(of_sets) * (_DRAWS - 1))
            yield Figure({"set": "all", **dict(kind)}, "sd", value, low, high)


def _limits(value: float, df: int) -> list[float]:
    """Limits of a standard deviation at 95 % confidence."""
    return [value * float(np.sqrt(df / chi2.ppf(q, df))) for q in _ENDS]


def _spread(costs: Costs) -> Iterator[Figure]:
    (series,) = costs.head.series
    measured = kinds(costs.head.unit, len(costs.cost[0]))[-1]
    of_input = np.median(costs.cost[0], axis=0)
    for method, n in _TASKS:
        plan = Plan(sizes=(n,), draws=_DRAWS, pool=_POOL)
        means = of_input[choose(costs.table, costs.head.sample, plan, Task(method, n, MEAN))]
        averages = means.mean(axis=1)
        keys: dict[str, Key] = {
            "set": costs.head.set, "measured": measured, "method": method, "n": n,
            "implementation": series.implementation, "variant": series.variant,
        }  # fmt: skip
        value = float(averages.std(ddof=1) / averages.mean())
        low, high = _limits(value, _DRAWS - 1)
        yield Figure(keys, "sd", value, low, high)
        yield Figure(keys, "draws", _DRAWS)
