"""Choice of the signing inputs to measure, by their traces.

A trace holds for every conformant deterministic signer, so inputs can be chosen before anything
is measured. The choice minimises, over all targets (the mean and four percentiles), the squared
relative error to be expected of the regression estimate of `mldsa_lab.stats`: its variance
(I-optimality with respect to the targets) plus the squares of its biases from the covariates of
`mldsa_lab.inputs.covariates`, each at a stated amplitude.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mldsa_lab.errors import LabError
from mldsa_lab.inputs.covariates import covariates
from mldsa_lab.inputs.trace import Trace, count_matrix
from mldsa_lab.models.cost import model_matrix
from mldsa_lab.models.rejection import RejectionModel

Array = NDArray[np.float64]

PERCENTILES = (0.50, 0.95, 0.99, 0.999)
"""The percentiles a design aims at, beside the mean."""

# The design's working assumptions, in units of the cost of one attempt. They decide which inputs
# are taken, never what is estimated from them.
_SETUP = 3.0  # cost of a signature accepted at once
_NOISE = 0.015  # relative standard deviation of one input's measured cost at the mean cost
_WEIGHTS = np.array([4.0, 1.0, 1.0, 1.0, 1.0])  # mean, then PERCENTILES
# Prior standard deviations of: setup, c_z, c_r - c_z, c_h - c_r. They keep tiny designs defined
# (one input: near the mean) and hint failures from being sought at any price.
_PRIOR = np.array([3.0, 0.5, 0.3, 0.25])
_COEFFICIENTS = np.array([_SETUP, 1.0, 1.0, 0.25])


@dataclass(frozen=True)
class Quality:
    """What to expect of a design under its working assumptions, relative to each target's cost.

    ``standard_error`` and ``bias`` (root of the summed squared biases): mean, then `PERCENTILES`.
    ``criterion``: what `design` minimises, the weighted mean of their squares.
    """

    standard_error: Array
    bias: Array
    criterion: float


def design(
    traces: Sequence[Trace],
    model: RejectionModel,
    n: int,
    *,
    budget: int | None = None,
    max_attempts: int | None = None,
    seed: int = 0,
    restarts: int | None = None,
) -> list[int]:
    """Positions in ``traces`` of the ``n`` inputs to measure, in ascending order.

    ``budget`` caps the attempts of all chosen inputs together, ``max_attempts`` those of each.
    ``restarts`` is the number of random starts of the exchange search (default: 6, fewer for
    large n). The result depends on the arguments alone. LabError if n is below 1 or larger than
    the number of usable traces, or if no choice fits the budget.
    """
    problem = _Problem(traces, model)
    usable = _usable(problem.attempts, n, budget, max_attempts)
    rng = np.random.default_rng(seed)
    starts = restarts if restarts is not None else max(1, min(6, 200 // n))
    if starts < 1:
        raise LabError(f"design with {starts} restarts: must be at least 1")
    best: tuple[float, NDArray[np.int64]] | None = None
    for _ in range(starts):
        chosen = _start(problem.attempts, usable, n, budget, rng)
        value = _exchange(problem, chosen, usable, budget)
        if best is None or value < best[0]:
            best = (value, chosen)
    assert best is not None
    return sorted(int(i) for i in best[1])


def quality(chosen: Sequence[Trace], model: RejectionModel) -> Quality:
    """Expected errors of the estimates from the inputs whose traces are ``chosen``."""
    problem = _Problem(chosen, model)
    rows = np.arange(len(chosen))
    inverse = np.linalg.inv(problem.prior + problem.x[rows].T @ problem.x[rows])
    variance = np.einsum("pt,pq,qt->t", problem.targets, inverse, problem.targets)
    moments = problem.x[rows].T @ problem.g[rows]
    bias = (problem.targets.T @ inverse @ moments - problem.expected) * problem.active
    squared = (bias**2).sum(axis=1)
    scale = np.sqrt(_WEIGHTS / _WEIGHTS.sum())
    return Quality(
        np.sqrt(variance) / scale, np.sqrt(squared) / scale, float((variance + squared).sum())
    )


def _usable(
    attempts: NDArray[np.int64], n: int, budget: int | None, max_attempts: int | None
) -> NDArray[np.bool_]:
    if n < 1:
        raise LabError(f"design of {n} inputs: must have at least 1")
    usable = attempts <= (max_attempts if max_attempts is not None else attempts.max(initial=0))
    if usable.sum() < n:
        limit = "" if max_attempts is None else f" of at most {max_attempts} attempts"
        raise LabError(f"design of {n} inputs: the pool has {usable.sum()} traces{limit}")
    if budget is not None:
        least = int(np.sort(attempts[usable])[:n].sum())
        if budget < least:
            raise LabError(
                f"design of {n} inputs within {budget} attempts: the pool's shortest need {least}"
            )
    return usable


class _Problem:
    """The pool in the design's terms, scaled so that noise and target costs are 1.

    ``x``: (pool, 4) rows of 1, n_z, n_r + n_h, n_h; ``g``: (pool, columns) covariates; both
    divided by the standard deviation of the input's measured cost, which grows with the square
    root of the cost. ``targets``: (4, targets), divided by the target's cost and scaled by its
    weight; ``expected``: (targets, columns) the covariates' population values likewise.
    """

    def __init__(self, traces: Sequence[Trace], model: RejectionModel) -> None:
        counts = count_matrix(traces)
        self.attempts = counts.sum(axis=1).astype(np.int64) + 1
        x = model_matrix(counts)
        mean = model_matrix(model.expected_counts[None, :])[0]
        shares = model.expected_counts / model.expected_counts.sum()
        rejected = np.array([model.attempts_quantile(p) - 1 for p in PERCENTILES])
        points = np.vstack([mean, model_matrix(rejected[:, None] * shares)])
        costs = points @ _COEFFICIENTS
        extra = covariates(traces, model)
        # At a percentile only the centred terms have a value to aim at (0); of the terms in the
        # number of attempts, curvature alone is kept, at that number.
        expected = np.tile(extra.expected, (len(points), 1))
        active = np.ones_like(expected)
        active[1:, extra.of_attempts] = 0.0
        curvature = extra.names.index("curvature")
        active[1:, curvature] = 1.0
        expected[1:, curvature] = (rejected + 1.0) ** 2
        self.active = active
        scale = np.sqrt(_WEIGHTS / _WEIGHTS.sum()) / costs
        noise = _NOISE * np.sqrt(costs[0] * (x @ _COEFFICIENTS))
        self.x = x / noise[:, None]
        self.g = extra.values * extra.amplitude / noise[:, None]
        self.targets = points.T * scale
        self.expected = expected * extra.amplitude * scale[:, None]
        contrast = np.eye(4)
        contrast[2, 1] = -1.0  # the prior of c_r is on its difference from c_z
        self.prior = contrast.T @ np.diag(_PRIOR**-2) @ contrast


def _start(
    attempts: NDArray[np.int64],
    usable: NDArray[np.bool_],
    n: int,
    budget: int | None,
    rng: np.random.Generator,
) -> NDArray[np.int64]:
    """A random choice that keeps the budget."""
    pool = np.flatnonzero(usable)
    chosen = rng.choice(pool, n, replace=False)
    if budget is None:
        return chosen
    rest = np.setdiff1d(pool, chosen)
    rest = rest[np.argsort(attempts[rest], kind="stable")]
    # Swap the longest chosen for the shortest others; _usable made sure that this ends in budget.
    order = np.argsort(-attempts[chosen], kind="stable")
    for position, shorter in zip(order, rest, strict=False):
        if attempts[chosen].sum() <= budget:
            break
        chosen[position] = shorter
    return chosen


def _exchange(
    problem: _Problem,
    chosen: NDArray[np.int64],
    usable: NDArray[np.bool_],
    budget: int | None,
) -> float:
    """Replace one input at a time by the best in the pool until none is better; in place.

    Returns the criterion. All candidates for a place are judged at once: with A the information
    of the other inputs, u = A^-1 x and s = 1 + x'u, adding x takes (t'u)^2 / s off the variance
    of target t and adds (t'u / s)(g - u'S) to its biases, S being the others' cross moments.
    """
    value = np.inf
    while True:
        before = value
        for place in range(len(chosen)):
            others = np.delete(chosen, place)
            x, g = problem.x[others], problem.g[others]
            inverse = np.linalg.inv(problem.prior + x.T @ x)
            moments = x.T @ g
            u = problem.x @ inverse
            s = 1 + np.einsum("cp,cp->c", problem.x, u)
            gain = u @ problem.targets
            variance = np.einsum("pt,pq,qt->", problem.targets, inverse, problem.targets)
            variance = variance - (gain**2).sum(axis=1) / s
            base = problem.targets.T @ inverse @ moments - problem.expected
            step = (gain / s[:, None])[:, :, None] * (problem.g - u @ moments)[:, None, :]
            bias = (base + step) * problem.active
            criterion = variance + np.einsum("ctj,ctj->c", bias, bias)
            allowed = usable.copy()
            allowed[others] = False
            if budget is not None:
                allowed &= problem.attempts <= budget - problem.attempts[others].sum()
            criterion[~allowed] = np.inf
            best = int(np.argmin(criterion))
            if criterion[best] < criterion[chosen[place]]:
                chosen[place] = best
            value = float(criterion[chosen[place]])
        if value >= before * (1 - 1e-4):
            return value
