"""Choice of the inputs of runs: random ones, whose mean trace is the expected one.

A run of many operations shows their mean alone. If its inputs have on average the attempts of all
signatures, and spread about that as signatures do, its cost for one is the expected cost.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mldsa_lab.errors import LabError
from mldsa_lab.theory.covariates import Traces, as_table
from mldsa_lab.theory.rejection import RejectionModel

Array = NDArray[np.float64]

_WEIGHTS = (1.0, 0.3, 0.1, 0.03, 0.01)
_TRIALS = 5000  # with each of them


def balanced(traces: Traces, model: RejectionModel, n: int, *, seed: int = 0) -> list[int]:
    """Positions in ``traces`` of ``n`` inputs, in ascending order.

    A random choice, in which inputs are exchanged at random as long as that brings the mean
    numbers of rejected attempts of each class, and the mean square of all attempts (what lets
    long signatures wait for each other in a batch), nearer to their expectations. The result
    depends on the arguments alone. LabError if there are fewer than n traces, or n is below 1.
    """
    if not 1 <= n <= len(traces):
        raise LabError(f"choice of {n} inputs: must be from 1 to the {len(traces)} candidates")
    counts = as_table(traces, model).counts()
    attempts = counts.sum(axis=1) + 1
    expected = model.expected_attempts
    squares = attempts**2 / expected
    goals = model.expected_counts, (2 - model.p_accept) / model.p_accept**2 / expected
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(traces))
    chosen, others = order[:n].copy(), order[n:].copy()
    # The squares weigh less and less: first they come near, then the counts are made exact, which
    # takes a few exchanges and hardly moves them.
    for weight in _WEIGHTS if len(others) else ():
        columns = np.column_stack([counts, weight * squares])
        goal = np.append(goals[0], weight * goals[1])
        off = columns[chosen].mean(axis=0) - goal
        best = float(off @ off)
        for _ in range(_TRIALS):
            i, j = int(rng.integers(n)), int(rng.integers(len(others)))
            moved = off + (columns[others[j]] - columns[chosen[i]]) / n
            value = float(moved @ moved)
            if value < best:
                best, off = value, moved
                chosen[i], others[j] = others[j], chosen[i]
    return sorted(int(i) for i in chosen)
