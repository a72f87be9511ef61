"""Inputs to average, for the goals mean and percentile.

A cost model orders the classes (n_z, n_r, n_h), whose probabilities are exact: the cost of a
percentile is the cost of a class. Inputs are chosen so that their mean cost is the exact mean of
all signatures, or the cost of the percentile. Their mean counts are the counts of all signatures,
or at a percentile of all signatures at that cost. So a somewhat wrong model does little harm. Each
of three steps makes the best of the result of the step before:

1. The number of iterations of each class (z, r, h) over all inputs (integer program). It has the
   least sum of the average's errors under the cost model and under the worst model of a range about
   it.
2. The classes of the inputs, the most similar to a random sample of signatures (integer program).
   For a mean, sums of nonlinear functions of the number of iterations also come near their
   expectations. These are squares, and the waste of signers that compute iterations in pairs or
   fours or mask polynomials by eight.
3. The members of each class. Their first failing indexes add up as expected: signers that stop at
   the first failing polynomial cost more the later it comes.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np

from mldsa_lab import LabError
from mldsa_lab.choice import SelectionResult, round_digits
from mldsa_lab.choice.design import group_rows
from mldsa_lab.choice.solver import Program
from mldsa_lab.theory.law import CostModel, covariates
from mldsa_lab.theory.rejection import CLASS_H, CLASS_Z, FIRST, RejectionModel
from mldsa_lab.theory.trace import Array, Ints, TraceTable

# Classes and their members.


class Classes:
    """Traces grouped by their rejected attempts n_z, n_r, n_h.

    ``counts``: (classes, 3); ``attempts``: (classes,) of a signature of each class; ``class_of``:
    (traces,) the class of each trace. Covariates (`mldsa_lab.theory.law`):
    ``index_terms`` (traces, 4) differ within a class, ``by_iterations`` (classes, 4) follow from
    the number of iterations. ``index_amplitude``, ``amplitude``: their largest effects per unit,
    with the cost of one attempt as 1; ``expected``: means of the latter over all signatures.
    """

    def __init__(self, table: TraceTable, model: RejectionModel) -> None:
        self.counts, first, self.class_of = group_rows(table.counts())
        self.iterations: Ints = self.counts.sum(axis=1).astype(np.int64) + 1
        extra = covariates(table, model)
        shared = extra.is_iteration_term
        self.index_terms, self.index_amplitude = extra.values[:, ~shared], extra.amplitude[~shared]
        self.by_iterations, self.amplitude = extra.values[first][:, shared], extra.amplitude[shared]
        self.expected = extra.expected[shared]


# Random starts of the search: many where one is short.
_STARTS, _STARTS_MOST = 1600, 60
# Smaller differences are rounding, in costs of an attempt over all inputs.
_SAME = 1e-6


def pick_members(classes: Classes, usable: Ints, numbers: Ints) -> Ints:
    """Traces, ``numbers`` (classes,) of each class, all among ``usable``, in ascending order.

    Minimises the sum over the index terms of amplitude times distance from the expectation, in
    costs of an attempt. Exchanges one trace at a time, from the first of each class and from some
    random starts, and takes the best end.
    """
    terms = classes.index_terms * classes.index_amplitude
    members = [usable[classes.class_of[usable] == c] for c in np.flatnonzero(numbers)]
    counts = numbers[numbers > 0].tolist()
    rng = np.random.default_rng(0)
    best, least = usable[:0], np.inf
    for start in range(max(1, min(_STARTS_MOST, _STARTS // sum(counts)))):
        chosen = [
            rng.choice(own, n, replace=False) if start else own[:n].copy()
            for own, n in zip(members, counts, strict=True)
        ]
        value = _exchange(terms, members, chosen)
        if value < least - _SAME:
            best, least = np.concatenate(chosen), value
    return np.sort(best)


def _exchange(terms: Array, members: list[Ints], chosen: list[Ints]) -> float:
    """Replace each of ``chosen`` by the best of its class until none is better, in place.
    Returns the value that is minimised."""
    is_free = np.ones(len(terms), dtype=bool)
    is_free[np.concatenate(chosen)] = False
    sums = terms[np.concatenate(chosen)].sum(axis=0)
    value, before = float(np.abs(sums).sum()), np.inf
    while value < before - _SAME:
        before = value
        for own, taken in zip(members, chosen, strict=True):
            for place, old in enumerate(taken):
                tried = sums - terms[old] + terms[own]
                values = np.where(is_free[own], np.abs(tried).sum(axis=1), np.inf)
                best = int(np.argmin(values))
                if values[best] < value - _SAME:
                    is_free[[old, own[best]]] = True, False
                    taken[place], sums, value = own[best], tried[best], float(values[best])
    return value


# Inputs to average.


# A cost model of the user is trusted to this fraction.
_TRUST = 0.1
_FIRST_GAP = 1e-6
# The second program may be this far from its best, in attempts for each input, and ends after so
# many nodes.
_GAP = 2e-4
_NODES = 300
# A piece of unlikeness to the population counts as this many attempts.
_UNLIKE = 1e-3
# How far the number of inputs of a class may be from the expected one: the least that goes.
_REACH = (0.0, 2.0, np.inf)
# Relative distances from the percentile within which inputs are looked for, the first that suffices
# enough of them being taken, and how many are enough.
_WINDOWS = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2)
_ENOUGH, _SPARE = 2, 20
# The error under the model in use counts as so many of that under the worst of its range.
_OWN = 3.0


@dataclass(frozen=True)
class Objective:
    """The mean counts to come near, and the traces to choose from.

    ``classes``: of all traces; ``usable``: the traces to choose from; ``n``: inputs; ``budget``:
    attempts of all together. ``goal``: (3,) the mean counts to be near. ``weights``: (models, 3)
    the relative error that an error of each count makes under each cost model, the first being the
    one in use. ``own``: weight of the error under that one, next to the worst of all.
    ``has_iteration_terms``: sums of nonlinear functions of the number of iterations are to equal
    the population's too.
    """

    classes: Classes
    usable: Ints
    model: RejectionModel
    n: int
    budget: int | None
    goal: Array
    weights: Array
    own: float = 1.0
    has_iteration_terms: bool = True

    def choose(self) -> Ints:
        """Return the chosen traces, ascending. LabError if the budget is too small."""
        return pick_members(self.classes, self.usable, class_numbers(self))


def cost_range(set_name: str, cost_model: CostModel | None) -> tuple[CostModel, Array]:
    """Return the cost model (None: the set's default) and costs first, z, r, h (models, 4). These
    are its own costs and those at the corners of the range that is guarded against. LabError if the
    model is of another set, or has attempts that cost nothing."""
    used = cost_model or CostModel.default(set_name)
    used.check_set(set_name)
    if not (used.z or used.r):
        raise LabError(
            "cost model: attempts of class z and r cost nothing, "
            "so that it cannot tell inputs apart"
        )
    if cost_model is None:
        first, z, h = (used.r * np.array(known) for known in (FIRST, CLASS_Z, CLASS_H))
    else:
        trusted = np.array([1 - _TRUST, 1 + _TRUST])
        first, z, h = used.first * trusted, used.z * trusted, used.h * trusted
    corners = product(first, z, [used.r], h)
    return used, np.array([(used.first, used.z, used.r, used.h), *corners])


def weights(costs: Array, goal: Array) -> Array:
    """Return (models, 3) relative errors of the mean cost of the counts ``goal`` (3,), for each row
    of `cost_range`. They are per unit of error in the means of n_z, n_r, n_h."""
    relative: Array = costs[:, 1:] / (costs[:, 0] + costs[:, 1:] @ goal)[:, None]
    return relative


def choose_mean(
    classes: Classes,
    usable: Ints,
    model: RejectionModel,
    n: int,
    budget: int | None,
    cost_model: CostModel | None,
) -> SelectionResult:
    """``n`` of the ``usable`` traces whose mean cost is the exact mean, under ``cost_model`` or the
    default one. LabError if the budget is too small."""
    used, costs = cost_range(model.name, cost_model)
    goal = model.expected_counts
    objective = Objective(classes, usable, model, n, budget, goal, weights(costs, goal))
    traces = objective.choose()
    counts = classes.counts[classes.class_of[traces]].mean(axis=0)
    biases = 100 * objective.weights @ (counts - goal)
    # Amplitudes are in attempts.
    iteration_cost = max(used.z, used.r) / used.mean(model)
    off = np.abs(classes.index_terms[traces].mean(axis=0) * classes.index_amplitude).sum()
    expected = {
        "bias of the average, %": biases[0],
        "least bias among the costs guarded against, %": biases.min(),
        "greatest bias among the costs guarded against, %": biases.max(),
        "more bias for a signer that stops at the first bad polynomial, at most, %": (
            100 * iteration_cost * off
        ),
    }
    return SelectionResult(traces, {k: round_digits(v) for k, v in expected.items()}, used)


def choose_percentile(
    classes: Classes,
    usable: Ints,
    model: RejectionModel,
    n: int,
    budget: int | None,
    cost_model: CostModel | None,
    percentile: float,
) -> SelectionResult:
    """``n`` of the ``usable`` traces at a ``percentile`` in (0, 100), as `choose_mean`. LabError
    if the pool has too few about it."""
    used, costs = cost_range(model.name, cost_model)
    share = percentile / 100
    law = used.law(model, share)
    level = law.level(share)
    cost = used.costs(classes.counts)[classes.class_of]
    near = _near(usable, np.abs(cost / level.cost - 1)[usable], n, percentile)
    # The mean of all signatures about the percentile, moved along the line from no rejections to
    # it until it costs exactly what the percentile does.
    counts = law.counts_near(share)
    rejected = float(used.costs(counts)) - used.first
    goal = counts * ((level.cost - used.first) / rejected if rejected > 0 else 0.0)
    objective = Objective(
        classes, near, model, n, budget, goal, weights(costs, goal), _OWN, has_iteration_terms=False
    )
    traces = objective.choose()
    expected = {
        "cost at the percentile": level.cost,
        "mean cost of the inputs": cost[traces].mean(),
        "largest distance of an input, %": 100 * np.abs(cost[traces] / level.cost - 1).max(),
        "signatures that cost less, %": 100 * level.below,
        "signatures that cost no more, %": 100 * level.upto,
    }
    return SelectionResult(traces, {k: round_digits(v) for k, v in expected.items()}, used)


def _near(usable: Ints, distance: Array, n: int, percentile: float) -> Ints:
    """The traces that are near enough to choose from."""
    for window in _WINDOWS:
        near: Ints = usable[distance <= window]
        if len(near) >= _ENOUGH * n + _SPARE:
            return near
    if len(near) < n:
        raise LabError(
            f"choice of {n} inputs at percentile {percentile:g}: the pool has {len(near)} within "
            f"{100 * _WINDOWS[-1]:g} % of its cost; trace a larger pool, or allow more attempts"
        )
    return near


def class_numbers(objective: Objective) -> Ints:
    """How many inputs of each class, (classes,): steps 1 and 2 of the module."""
    stock = np.bincount(
        objective.classes.class_of[objective.usable], minlength=len(objective.classes.counts)
    )
    upper = np.minimum(stock, objective.n).astype(np.float64)
    kept = np.flatnonzero(stock)
    first = _best_totals(objective, kept, upper[kept])
    counts = objective.classes.counts[kept]
    fits = (counts <= first @ counts).all(axis=1)
    kept, first = kept[fits], first[fits]
    numbers = np.zeros(len(stock), dtype=np.int64)
    numbers[kept] = _nearest_to_population(objective, kept, upper[kept], first)
    return numbers


def _best_totals(objective: Objective, kept: Ints, upper: Array) -> Ints:
    """Inputs of each class, (kept,), with the best sums of attempts."""
    counts = objective.classes.counts[kept]
    program = Program()
    numbers = program.variables(len(kept), upper=upper)
    totals = program.variables(3)
    worst = program.variables(1, cost=1.0, whole=False)
    own = program.variables(1, cost=objective.own, whole=False)
    program.row([(numbers, np.ones(len(kept)))], objective.n, objective.n)
    for column, total in zip(counts.T, np.eye(3), strict=True):
        program.row([(numbers, column), (totals, -total)], 0, 0)
    if objective.budget is not None:
        program.row([(numbers, objective.classes.iterations[kept])], high=objective.budget)
    # In units of the average's relative error times n, so that HiGHS sees numbers near 1.
    goals = objective.n * objective.weights @ objective.goal
    for row, goal in zip(objective.weights, goals, strict=True):
        program.near([(totals, row)], goal, worst)
    program.near([(totals, objective.weights[0])], goals[0], own)
    solution = program.solve(gap=_FIRST_GAP)
    if solution is None:
        within = "" if objective.budget is None else f" within {objective.budget} attempts"
        raise LabError(
            f"choice of {objective.n} inputs{within}: the traces to choose from allow none"
        )
    return solution[numbers]


def _nearest_to_population(objective: Objective, kept: Ints, upper: Array, first: Ints) -> Ints:
    """Inputs of each class, (kept,), with as many attempts together as ``first``.

    The distance from the likely numbers in the population, summed over classes, costs `_UNLIKE` a
    piece. It is convex, so the program takes cheaper steps first.
    """
    counts = objective.classes.counts[kept]
    totals = first @ counts
    likely = objective.model.class_probability(counts.astype(np.int64))
    likely *= objective.n / likely.sum()
    floor, ceil = np.minimum(np.floor(likely), upper), np.minimum(np.ceil(likely), upper)
    for reach in _REACH:
        least = np.maximum(floor - reach, 0)
        steps = (
            (floor - least, -1.0),
            (ceil - floor, 1 - 2 * (likely - floor)),
            (np.minimum(ceil + reach, upper) - ceil, 1.0),
        )
        program = Program()
        parts = [program.variables(len(kept), upper=u, cost=_UNLIKE * c) for u, c in steps]
        # A constant that keeps the objective above 0, on which the relative gap rests.
        one = program.variables(1, upper=1.0, cost=_UNLIKE * float(np.abs(likely - least).sum()))
        program.row([(one, [1.0])], low=1.0)
        sums = np.column_stack([np.ones(len(kept)), counts])
        goals = np.array([objective.n, *totals]) - least @ sums
        for column, goal in zip(sums.T, goals, strict=True):
            program.row([(p, column) for p in parts], goal, goal)
        bound = (
            _add_terms(program, objective, kept, parts, least, totals)
            if objective.has_iteration_terms
            else 0.0
        )
        solution = program.solve(gap=min(_GAP * objective.n / max(bound, 1e-9), 0.5), nodes=_NODES)
        if solution is not None:
            return least.astype(np.int64) + sum(solution[p] for p in parts)
    return first


def _add_terms(
    program: Program,
    objective: Objective,
    kept: Ints,
    parts: list[slice],
    least: Array,
    totals: Array,
) -> float:
    """Have ``program`` bring sums of the classes' nonlinear functions of the number of attempts,
    over ``least`` and ``parts`` inputs of each, near their expectations. Returns the error that
    no choice can be below. Since the number of all attempts is known, so are the remainders of
    the sums on division by a step, which make the search short."""
    total, classes = objective.n + int(totals.sum()), objective.classes
    # In the order of `covariates`: curvature (a square is as even as its root), pairs, fours,
    # masks by eight.
    residue = [total % 2, -total % 2, -total % 4, -total * objective.model.l % 8]
    step = np.array([2.0, 2.0, 4.0, 8.0])
    goals = objective.n * classes.expected - residue
    multiples = program.variables(len(step))
    for j, column in enumerate(classes.by_iterations[kept].T):
        unit = np.eye(len(step))[j] * step[j]
        constant = residue[j] - float(least @ column)
        program.row([*((p, column) for p in parts), (multiples, -unit)], constant, constant)
        off = program.variables(1, cost=classes.amplitude[j], whole=False)
        program.near([(multiples, unit)], goals[j], off)
    return float(classes.amplitude @ np.abs(np.rint(goals / step) * step - goals))
