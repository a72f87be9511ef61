"""Choice of the signing inputs to measure, by their traces.

A trace holds for every conformant deterministic signer, so inputs can be chosen before anything
is measured. The choice minimises, over all targets (the mean and four percentiles), the squared
relative error to be expected of the regression estimate of `mldsa_lab.estimate`: its variance
(I-optimality with respect to the targets) plus the squares of its biases from the covariates of
`mldsa_lab.theory.terms`, each at a stated amplitude.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mldsa_lab.choice.classes import group_rows, take_first
from mldsa_lab.errors import LabError
from mldsa_lab.theory.arrays import Array, Ints
from mldsa_lab.theory.rejection import RejectionModel
from mldsa_lab.theory.signers import (
    DESIGN_ATTEMPT,
    DESIGN_CONTRAST,
    DESIGN_FIRST,
    HINT_EXTRA,
)
from mldsa_lab.theory.table import TraceTable
from mldsa_lab.theory.terms import Traces, as_table, covariates, index_terms, model_matrix

PERCENTILES = (0.50, 0.95, 0.99, 0.999)
"""The percentiles a design aims at, next to the mean."""

# The design's working assumptions, in units of the cost of one attempt. They decide which inputs
# are taken, never what is estimated from them.
_NOISE = 0.015  # relative standard deviation of one input's measured cost at the mean cost
_WEIGHTS = np.array([4.0, 1.0, 1.0, 1.0, 1.0])  # mean, then PERCENTILES
_SCALE = np.sqrt(_WEIGHTS / _WEIGHTS.sum())
# Of first, c_z, c_r - c_z, c_h - c_r: the costs, and prior standard deviations. These keep tiny
# designs defined (one input: near the mean) and hint failures from being sought at any price.
_ASSUMED = (DESIGN_FIRST, DESIGN_ATTEMPT, DESIGN_CONTRAST, HINT_EXTRA)
_PRIOR = np.array([guess.error for guess in _ASSUMED])
_COEFFICIENTS = np.array([DESIGN_FIRST.value, 1.0, 1.0, HINT_EXTRA.value])

# Columns of the covariates: those that differ within a class, those that follow from the number of
# attempts, and the first of these.
_OWN, _SHARED, _CURVATURE = slice(4), slice(4, None), 4

# The search ends after a sweep over all inputs that gains less than 1e-4, or when it has judged
# so many candidates, each step counting as this many more: for thousands of inputs two or three
# sweeps, from where on a sweep gained 1 % at most.
_WORK = 10**8
_STEP = 5000


class Quality(NamedTuple):
    """What to expect of a design under its working assumptions, relative to each target's cost.

    ``standard_error`` and ``bias`` (root of the summed squared biases): mean, then `PERCENTILES`.
    ``criterion``: what `design` minimises, the weighted mean of their squares.
    """

    standard_error: Array
    bias: Array
    criterion: float


def design(
    traces: Traces,
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
    table = as_table(traces, model)
    usable = check_limits(table.attempts(), n, budget, max_attempts)
    table = table.take(usable)
    # Traces that the criterion cannot tell apart are of one kind.
    key = np.column_stack([table.counts(), index_terms(table, model).round(9) + 0.0])
    _, first, kind_of = group_rows(key)
    problem = _Problem(table.take(first), model)
    stock = np.bincount(kind_of)
    rng = np.random.default_rng(seed)
    starts = restarts if restarts is not None else max(1, min(6, 200 // n))
    results = []
    for _ in range(starts):
        chosen = kind_of[_start(table.attempts(), n, budget, rng)]
        results.append((_exchange(problem, chosen, stock, budget), chosen))
    _, best = min(results, key=lambda pair: pair[0])
    numbers = np.bincount(best, minlength=len(stock))
    return sorted(usable[take_first(kind_of, numbers)].tolist())


def quality(chosen: Traces, model: RejectionModel) -> Quality:
    """Expected errors of the estimates from the inputs whose traces are ``chosen``."""
    problem = _Problem(as_table(chosen, model), model)
    x = problem.x[problem.row]
    inverse = np.linalg.inv(problem.prior + x.T @ x)
    variance = np.einsum("pt,pq,qt->t", problem.targets, inverse, problem.targets)
    bias = (problem.targets.T @ inverse @ (x.T @ problem.g) - problem.expected) * problem.active
    squared = (bias**2).sum(axis=1)
    criterion = float((variance + squared).sum())
    return Quality(np.sqrt(variance) / _SCALE, np.sqrt(squared) / _SCALE, criterion)


def check_limits(attempts: Ints, n: int, budget: int | None, max_attempts: int | None) -> Ints:
    """Places of the traces that a choice of ``n`` may take; LabError if none fits the limits."""
    if n < 1:
        raise LabError(f"choice of {n} inputs: must have at least 1")
    usable = np.flatnonzero(
        attempts <= (max_attempts if max_attempts is not None else attempts.max(initial=0))
    )
    if len(usable) < n:
        limit = "" if max_attempts is None else f" of at most {max_attempts} attempts"
        raise LabError(f"choice of {n} inputs: the pool has {len(usable)} traces{limit}")
    if budget is not None:
        least = int(np.sort(attempts[usable])[:n].sum())
        if budget < least:
            raise LabError(
                f"choice of {n} inputs within {budget} attempts: the pool's shortest need {least}"
            )
    return usable


class _Problem:
    """The candidates in the design's terms, scaled so that noise and target costs are 1.

    Candidates of one class (n_z, n_r, n_h) share a row of the linear model: ``row``: (pool,) the
    class of each; ``x``: (classes, 4) rows of 1, n_z, n_r + n_h, n_h. ``g``: (pool, columns)
    covariates, of which `_OWN` differ within a class and `_SHARED` do not. x and g are divided by
    the standard deviation of the input's measured cost, which grows with the square root of the
    cost. ``targets``: (4, targets), divided by the target's cost and scaled by its weight;
    ``expected``: (targets, columns) the covariates' population values likewise, of which
    ``active`` are aimed at.
    """

    def __init__(self, table: TraceTable, model: RejectionModel) -> None:
        self.attempts = table.attempts()
        counts, first, self.row = group_rows(table.counts())
        extra = covariates(table, model)
        x = model_matrix(counts)
        mean = model_matrix(model.expected_counts[None, :])[0]
        shares = model.expected_counts / model.expected_counts.sum()
        rejected = np.array([model.attempts_quantile(p) - 1 for p in PERCENTILES])
        points = np.vstack([mean, model_matrix(rejected[:, None] * shares)])
        costs = points @ _COEFFICIENTS
        # At a percentile only the centred terms have a value to aim at (0); of the terms in the
        # number of attempts, curvature alone is kept, at that number.
        expected = np.tile(extra.expected, (len(points), 1))
        self.active = np.ones_like(expected)
        self.active[1:, _SHARED] = 0.0
        self.active[1:, _CURVATURE] = 1.0
        expected[1:, _CURVATURE] = (rejected + 1.0) ** 2
        scale = _SCALE / costs
        noise = _NOISE * np.sqrt(costs[0] * (x @ _COEFFICIENTS))
        self.x = x / noise[:, None]
        self.g = extra.values * extra.amplitude / noise[self.row, None]
        self.g_own = np.ascontiguousarray(self.g[:, _OWN].T)
        self.g_shared = self.g[first][:, _SHARED]
        self.targets = points.T * scale
        self.expected = expected * extra.amplitude * scale[:, None]
        contrast = np.eye(4)
        contrast[2, 1] = -1.0  # the prior of c_r is on its difference from c_z
        self.prior = contrast.T @ np.diag(_PRIOR**-2) @ contrast

    def criterion(self, information: Array, moments: Array) -> Array:
        """The criterion of every candidate, (pool,), added to inputs of this ``information``
        (4, 4; the prior included) and these cross ``moments`` (4, columns).

        With A the information, u = A^-1 x and s = 1 + x'u, adding x takes (t'u)^2 / s off the
        variance of target t and adds (t'u / s)(g - u'S) to its biases, S being the moments. The
        sum of squared biases is a quadratic in g whose coefficients depend on x alone.
        """
        inverse = np.linalg.inv(information)
        u = self.x @ inverse
        s = 1 + np.einsum("cp,cp->c", self.x, u)
        gain = u @ self.targets
        variance = np.einsum("pt,pq,qt->", self.targets, inverse, self.targets)
        step = gain / s[:, None]
        base = (self.targets.T @ inverse @ moments - self.expected) * self.active
        offset = u @ moments
        linear, square = 2 * step @ base, step**2 @ self.active  # in g - offset
        off = self.g_shared - offset[:, _SHARED]
        of_class = variance - (gain * step).sum(axis=1) + np.einsum("tj,tj->", base, base)
        of_class += (off * (linear[:, _SHARED] + off * square[:, _SHARED])).sum(axis=1)
        value: Array = of_class[self.row]
        for j, g in enumerate(self.g_own):
            d = g - offset[:, j][self.row]
            value += d * (linear[:, j][self.row] + d * square[:, j][self.row])
        return value


def _start(attempts: Ints, n: int, budget: int | None, rng: np.random.Generator) -> Ints:
    """A random choice that keeps the budget."""
    chosen = rng.choice(len(attempts), n, replace=False)
    if budget is None:
        return chosen
    rest = np.setdiff1d(np.arange(len(attempts)), chosen)
    rest = rest[np.argsort(attempts[rest], kind="stable")]
    # Swap the longest chosen for the shortest others; check_limits made sure that this ends in
    # budget.
    order = np.argsort(-attempts[chosen], kind="stable")
    for position, shorter in zip(order, rest, strict=False):
        if attempts[chosen].sum() <= budget:
            break
        chosen[position] = shorter
    return chosen


def _exchange(problem: _Problem, chosen: Ints, stock: Ints, budget: int | None) -> float:
    """Replace one input at a time by the best candidate until none is better; in place.

    ``chosen``: (n,) kinds, each at most as often as its ``stock``. Returns the criterion.
    """
    left = stock - np.bincount(chosen, minlength=len(stock))
    work = _WORK
    value = np.inf
    while True:
        before = value
        # Summed afresh in each sweep, so that rounding does not add up.
        x = problem.x[problem.row[chosen]]
        information = problem.prior + x.T @ x
        moments = x.T @ problem.g[chosen]
        spent = int(problem.attempts[chosen].sum())
        for place, old in enumerate(chosen):
            row = problem.x[problem.row[old]]
            information -= np.outer(row, row)
            moments -= np.outer(row, problem.g[old])
            criterion = problem.criterion(information, moments)
            here = float(criterion[old])
            criterion[left == 0] = np.inf
            if budget is not None:
                limit = budget - spent + problem.attempts[old]
                criterion[problem.attempts > limit] = np.inf
            new = int(np.argmin(criterion))
            if criterion[new] < here:
                chosen[place], here = new, float(criterion[new])
                left[old] += 1
                left[new] -= 1
                spent += int(problem.attempts[new] - problem.attempts[old])
                row = problem.x[problem.row[new]]
            information += np.outer(row, row)
            moments += np.outer(row, problem.g[chosen[place]])
            value = here
        work -= len(chosen) * (len(stock) + _STEP)
        if value >= before * (1 - 1e-4) or work <= 0:
            return value
