"""The goal greedy: greedy balance of pass rates, the nearest published method, as a baseline.

zeroRISC, "Efficiently Measuring ML-DSA Signing Performance"
(https://www.zerorisc.com/blog/efficiently-measuring-ml-dsa-signing-performance), with scripts at
https://github.com/zerorisc/mldsa-sign-bench. This is our own implementation of these steps:

- Each check of Algorithm 7 (z, r0, ct0, hint weight) has an expected pass rate. It is the share of
  the iterations reaching the check that pass it. For the mean the rates of z and r0 follow from the
  parameters. The rates of ct0 and of the hint are assumed to be 0.9925.
- The candidates (100,000, shuffled) are cut into n runs of equal length. Each run in turn gives one
  candidate: the one that brings the pass rates of all taken so far nearest to the expected ones.
  The distance is the sum of the absolute differences over the checks. The first of several equals
  is taken.
- For a percentile the expected rates describe one typical signature. The combinations of rejections
  are enumerated from the cheapest until their probability passes the percentile. The order assumes
  that a signature of more iterations always costs more. Among signatures of equally many
  iterations, a later rejection costs more.
- The estimate is the plain mean of the measured costs.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from mldsa_lab import LabError
from mldsa_lab.choice import SelectionResult, round_digits
from mldsa_lab.sets import N, parameter_set
from mldsa_lab.theory.trace import ACCEPTED, Array, Ints, TraceTable

Counts = NDArray[np.int64]

POOL = 100_000
"""Candidates of the published selections."""
CHECKS = 4
"""z, r0, ct0, hint weight."""
_LAST_CHECKS = 0.9925
_LEAST_RUN = 3  # the published script refuses runs of two candidates or fewer


def first_failures(table: TraceTable) -> Counts:
    """(signatures, 4) rejected attempts by the first check that fails, in Algorithm 7's order."""
    nibbles = np.stack([(table.codes >> (4 * i)) & 15 for i in range(CHECKS)], axis=1)
    first = np.argmax(nibbles != 15, axis=1)
    rejected = table.codes != ACCEPTED
    cells = table.signature_numbers()[rejected] * CHECKS + first[rejected]
    return np.bincount(cells, minlength=CHECKS * len(table)).reshape(-1, CHECKS)


def mean_rates(set_name: str) -> Array:
    """(4,) the pass rates that a selection for the mean aims at."""
    p = parameter_set(set_name)
    z = (1 - p.beta / (p.gamma1 - 0.5)) ** (p.l * N)
    r0 = ((2 * (p.gamma2 - p.beta) - 1) / (2 * p.gamma2)) ** (p.k * N)
    return np.array([z, r0, _LAST_CHECKS, _LAST_CHECKS])


def percentile_rates(set_name: str, percentile: float) -> Array:
    """(4,) the pass rates that a selection for a percentile in (0, 100) aims at."""
    if not 0 < percentile < 100:
        raise LabError(f"percentile {percentile}: must lie in (0, 100)")
    counts = percentile_counts(set_name, percentile)
    rates: Array = _rates(counts[None, :])[0]
    return rates


def percentile_counts(set_name: str, percentile: float) -> Counts:
    """(4,) rejections of the typical signature of a percentile, by the check that fails first."""
    rates = mean_rates(set_name)
    reach = np.concatenate([[1.0], np.cumprod(rates)])
    stops = reach[:-1] * (1 - rates)
    accepted, rejected = float(reach[-1]), 1 - float(reach[-1])
    share = percentile / 100
    total = 0
    while 1 - rejected ** (total + 1) <= share:
        total += 1
    below = 1 - rejected**total
    counts = np.zeros(CHECKS, dtype=np.int64)
    for counts in _combinations(total, CHECKS):
        ways = math.factorial(total) // math.prod(map(math.factorial, counts.tolist()))
        below += ways * float(np.prod(stops**counts)) * accepted
        if below > share:
            return counts
    return counts  # only rounding leads here


def _combinations(total: int, parts: int) -> Iterator[Counts]:
    """Ways to spread `total` rejections over the checks, those that fail earlier first."""
    if parts == 1:
        yield np.array([total], dtype=np.int64)
        return
    for first in range(total, -1, -1):
        for rest in _combinations(total - first, parts - 1):
            yield np.concatenate([[first], rest])


def choose_greedy(
    table: TraceTable, usable: Ints, n: int, percentile: float | None
) -> SelectionResult:
    """Choose ``n`` of the ``usable`` traces, in their order, for the mean or a percentile.
    ``expected`` has the target pass rates and the choice's rates."""
    rates = mean_rates(table.set) if percentile is None else percentile_rates(table.set, percentile)
    counts = first_failures(table.take(usable))
    classes, members = np.unique(counts, axis=0, return_inverse=True)
    chosen = select(classes, members.reshape(-1), n, rates)
    chosen_rates = _rates(counts[chosen].sum(axis=0)[None, :], signatures=n)[0]
    expected = {
        f"pass rate of {check}, aimed at and chosen": [
            round_digits(float(a)),
            round_digits(float(b)),
        ]
        for check, a, b in zip(("z", "r0"), rates, chosen_rates, strict=False)
    }
    return SelectionResult(np.sort(usable[chosen]), expected)


def select(classes: Counts, members: NDArray[np.int64], n: int, rates: Array) -> NDArray[np.int64]:
    """Positions of the ``n`` candidates taken, in the order in which they are taken.

    ``classes``: (classes, 4) as `first_failures` gives them; ``members``: (candidates,) the class
    of each, in the order of the search (shuffle them for a fresh choice); ``rates``: (4,) the pass
    rates aimed at. Candidates of one class are equal, so only classes are judged. LabError if there
    are fewer than three candidates for each that is taken.
    """
    run = len(members) // n if n > 0 else 0
    if run < _LEAST_RUN:
        raise LabError(
            f"greedy selection of {n} inputs from {len(members)}: "
            f"needs at least {_LEAST_RUN} candidates for each input"
        )
    taken = np.zeros(CHECKS, dtype=np.int64)
    chosen = np.empty(n, dtype=np.int64)
    for turn in range(n):
        part = members[turn * run : (turn + 1) * run]
        present = np.flatnonzero(np.bincount(part, minlength=len(classes)))
        reached = _rates(taken + classes[present], signatures=turn + 1)
        distance = np.abs(reached - rates).sum(axis=1)
        best = np.zeros(len(classes), dtype=bool)
        best[present[distance == distance.min()]] = True
        at = int(np.argmax(best[part]))
        chosen[turn] = turn * run + at
        taken = taken + classes[part[at]]
    return chosen


def _rates(failures: Counts, signatures: int = 1) -> Array:
    """Return (rows, 4) pass rates of each check over ``signatures`` signatures that failed it first
    ``failures`` (rows, 4) times. An iteration reaches a check if it passed the checks before."""
    later = np.cumsum(failures[:, ::-1], axis=1)[:, ::-1]
    rates: Array = 1 - failures / (later + signatures)
    return rates
