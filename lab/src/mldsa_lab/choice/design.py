"""The choice of the signing inputs to measure by their traces, and the order to measure them.

A trace is the same for every conformant deterministic signer, so inputs can be chosen before
anything is measured. The targets are the mean and four percentiles. Over all of them, the choice
minimises the expected squared relative error of the regression estimate of `mldsa_lab.estimate`.
This is its variance (I-optimality for the targets) plus the squares of its biases. The biases come
from the covariates of `mldsa_lab.theory.law`, each at a stated amplitude.

A machine that warms up or slows down makes each input more expensive by a part that depends on its
place in the order. A regression sums these parts with weights. If errors are relative the weights
follow 1, n_z and n_r over the cost, else the iterations. In an order in which these do not
correlate with the drift, no estimate moves by more than the drift's own mean.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mldsa_lab import LabError
from mldsa_lab.sets import SHARES
from mldsa_lab.theory.law import Traces, as_table, covariates, index_terms, model_matrix
from mldsa_lab.theory.rejection import (
    DESIGN_CONTRAST,
    DESIGN_FIRST,
    DESIGN_ITERATION,
    HINT_EXTRA,
    RejectionModel,
)
from mldsa_lab.theory.trace import Array, Ints, TraceTable

# The design's working assumptions, in units of the cost of one attempt. They decide which inputs
# are taken, never what is estimated from them.
_NOISE = 0.015  # relative standard deviation of one input's measured cost at the mean cost
_WEIGHTS = np.array([4.0, 1.0, 1.0, 1.0, 1.0])  # mean, then SHARES
_SCALE = np.sqrt(_WEIGHTS / _WEIGHTS.sum())
# Of first, c_z, c_r - c_z, c_h - c_r: the costs, and prior standard deviations. These keep tiny
# designs defined (one input: near the mean) and hint failures from being sought at any price.
_ASSUMED = (DESIGN_FIRST, DESIGN_ITERATION, DESIGN_CONTRAST, HINT_EXTRA)
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
    """Expected errors of a design under its working assumptions, relative to each target's cost.

    ``standard_error`` and ``bias`` (root of the summed squared biases): mean, then `SHARES`.
    ``criterion``: the value that `design` minimises, the weighted mean of their squares.
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

    ``budget`` caps the attempts of all chosen inputs together, ``max_attempts`` the attempts of
    each. ``restarts`` is the number of random starts of the exchange search (default: 6, fewer for
    large n). The result depends only on the arguments. LabError if n is below 1 or larger than the
    number of usable traces, or if no choice fits the budget.
    """
    table = as_table(traces, model)
    usable = check_limits(table.iterations(), n, budget, max_attempts)
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
        chosen = kind_of[_start(table.iterations(), n, budget, rng)]
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


def check_limits(iterations: Ints, n: int, budget: int | None, max_attempts: int | None) -> Ints:
    """Places of the traces that a choice of ``n`` may take; LabError if none fits the limits."""
    if n < 1:
        raise LabError(f"choice of {n} inputs: must have at least 1")
    usable = np.flatnonzero(
        iterations <= (max_attempts if max_attempts is not None else iterations.max(initial=0))
    )
    if len(usable) < n:
        limit = "" if max_attempts is None else f" of at most {max_attempts} attempts"
        raise LabError(f"choice of {n} inputs: the pool has {len(usable)} traces{limit}")
    if budget is not None:
        least = int(np.sort(iterations[usable])[:n].sum())
        if budget < least:
            raise LabError(
                f"choice of {n} inputs within {budget} attempts: the pool's shortest need {least}"
            )
    return usable


def group_rows(key: Array) -> tuple[Array, Ints, Ints]:
    """The different rows of ``key``, the first place of each, and which of them each row is."""
    rows, first, row_of = np.unique(key, axis=0, return_index=True, return_inverse=True)
    return rows, first, row_of.reshape(-1)


def take_first(kind_of: Ints, numbers: Ints) -> Ints:
    """Places of the first members of each kind, ``numbers`` (kinds,) of each, ascending."""
    order = np.argsort(kind_of, kind="stable")
    ordered = kind_of[order]
    rank = np.arange(len(ordered)) - np.searchsorted(ordered, ordered)
    return np.sort(order[rank < numbers[ordered]])


class _Problem:
    """The candidates in the design's terms, scaled so that noise and target costs are 1.

    Candidates of one class (n_z, n_r, n_h) share a row of the linear model: ``row``: (pool,) the
    class of each; ``x``: (classes, 4) rows of 1, n_z, n_r + n_h, n_h. ``g``: (pool, columns)
    covariates: `_OWN` differ within a class, `_SHARED` do not. Both x and g are divided by the
    standard deviation of the input's measured cost, which grows with the square root of the cost.
    ``targets``: (4, targets), divided by the target's cost and scaled by its weight; ``expected``:
    (targets, columns) the covariates' population values likewise, of which ``active`` are aimed at.
    """

    def __init__(self, table: TraceTable, model: RejectionModel) -> None:
        self.iterations = table.iterations()
        counts, first, self.row = group_rows(table.counts())
        extra = covariates(table, model)
        x = model_matrix(counts)
        mean = model_matrix(model.expected_counts[None, :])[0]
        shares = model.expected_counts / model.expected_counts.sum()
        rejected = np.array([model.iterations_quantile(p) - 1 for p in SHARES])
        points = np.vstack([mean, model_matrix(rejected[:, None] * shares)])
        costs = points @ _COEFFICIENTS
        # At a percentile only the centred terms have a value to aim at (0); of the terms in the
        # number of attempts, only curvature is kept, at that number.
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

        Let A be the information, S the moments, u = A^-1 x and s = 1 + x'u. Adding x takes (t'u)^2
        / s off the variance of target t, and adds (t'u / s)(g - u'S) to its biases. The sum of
        squared biases is a quadratic in g, whose coefficients depend only on x.
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


def _start(iterations: Ints, n: int, budget: int | None, rng: np.random.Generator) -> Ints:
    """A random choice that keeps the budget."""
    chosen = rng.choice(len(iterations), n, replace=False)
    if budget is None:
        return chosen
    rest = np.setdiff1d(np.arange(len(iterations)), chosen)
    rest = rest[np.argsort(iterations[rest], kind="stable")]
    # Swap the longest chosen for the shortest others; check_limits made sure that this ends in
    # budget.
    order = np.argsort(-iterations[chosen], kind="stable")
    for position, shorter in zip(order, rest, strict=False):
        if iterations[chosen].sum() <= budget:
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
        spent = int(problem.iterations[chosen].sum())
        for place, old in enumerate(chosen):
            row = problem.x[problem.row[old]]
            information -= np.outer(row, row)
            moments -= np.outer(row, problem.g[old])
            criterion = problem.criterion(information, moments)
            here = float(criterion[old])
            criterion[left == 0] = np.inf
            if budget is not None:
                limit = budget - spent + problem.iterations[old]
                criterion[problem.iterations > limit] = np.inf
            new = int(np.argmin(criterion))
            if criterion[new] < here:
                chosen[place], here = new, float(criterion[new])
                left[old] += 1
                left[new] -= 1
                spent += int(problem.iterations[new] - problem.iterations[old])
                row = problem.x[problem.row[new]]
            information += np.outer(row, row)
            moments += np.outer(row, problem.g[chosen[place]])
            value = here
        work -= len(chosen) * (len(stock) + _STEP)
        if value >= before * (1 - 1e-4) or work <= 0:
            return value


# Order of measurement.


# A warm-up that has decayed to 1/e after such shares of the inputs; also a line.
_DECAYS = (0.05, 0.15, 0.4)
_STARTS = 30
# Exchanges of any two of at most so many places are looked at in one step.
_PLACES = 150
# Steps without gain after which a search ends where not all places are looked at.
_PATIENCE = 20


def balanced_order(table: TraceTable) -> list[int]:
    """The traces' positions in the order to measure them; the same for the same traces."""
    n = len(table)
    if n < 2:
        return list(range(n))
    values, drifts = _unit(_features(table)), _unit(_drifts(n))
    rng = np.random.default_rng(0)
    best, least = np.arange(n), np.inf
    for start in range(max(1, min(_STARTS, 500 // n))):
        order = rng.permutation(n) if start else np.arange(n)
        value = _swap_inputs(values, drifts, order, rng)
        if value < least * (1 - 1e-9):
            best, least = order, value
    return [int(at) for at in best]


def _features(table: TraceTable) -> Array:
    """Return (traces, 4) the terms that an input's weight in an estimate follows."""
    iterations = table.iterations().astype(np.float64)
    n_z, n_r, _ = table.counts().T
    cost = DESIGN_FIRST.value + iterations - 1
    return np.column_stack([iterations, 1 / cost, n_z / cost, n_r / cost])


def _drifts(n: int) -> Array:
    """(n, drifts) a drift at each place."""
    place = np.arange(n)
    return np.column_stack([place, *(np.exp(-place / (share * n)) for share in _DECAYS)])


def _unit(columns: Array) -> Array:
    """Columns centred and of length 1; zeros where there is no difference."""
    off = columns - columns.mean(axis=0)
    length = np.linalg.norm(off, axis=0)
    unit: Array = off / np.where(length > 0, length, 1.0)
    return unit


def _swap_inputs(values: Array, drifts: Array, order: Ints, rng: np.random.Generator) -> float:
    """Exchange two inputs at a time, the best two, until no exchange brings the sum of squared
    correlations down, in place. Returns that sum."""
    n = len(order)
    moments = values[order].T @ drifts
    value = float((moments**2).sum())
    idle = 0
    while idle < (1 if n <= _PLACES else _PATIENCE):
        places = np.arange(n) if n <= _PLACES else rng.choice(n, _PLACES, replace=False)
        v, d = values[order[places]], drifts[places]
        # Exchanging places i and j adds (v_j - v_i)(d_i - d_j)' to the moments.
        cross = v @ moments @ d.T
        own = np.diag(cross)
        gain = 2 * (cross + cross.T - own[:, None] - own[None, :])
        gain += _squared_distances(v) * _squared_distances(d)
        i, j = np.unravel_index(int(np.argmin(gain)), gain.shape)
        if gain[i, j] > -1e-9 * max(value, 1e-9):
            idle += 1
            continue
        idle = 0
        one, two = places[i], places[j]
        moments += np.outer(v[j] - v[i], d[i] - d[j])
        order[one], order[two] = order[two], order[one]
        value = float((moments**2).sum())
    return value


def _squared_distances(rows: Array) -> Array:
    """(rows, rows) squared distances."""
    square = (rows**2).sum(axis=1)
    distances: Array = square[:, None] + square[None, :] - 2 * rows @ rows.T
    return distances
