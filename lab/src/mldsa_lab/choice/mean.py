"""Which members of each class: those whose first failing indexes add up as expected.

Signers that stop at the first polynomial that fails a check cost more the later it stands. The
choice within the classes makes the sums of the indexes what they are on average, so that the
plain average is right for such signers too. The sums are whole numbers, so how near they can
come to their expectations is known; the search ends where it is that near.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import product

import numpy as np

from mldsa_lab import LabError
from mldsa_lab.choice.solver import Choice, Classes, Program, first_of_kinds, kinds_of, short
from mldsa_lab.theory.law import CostModel
from mldsa_lab.theory.rejection import CLASS_H, CLASS_Z, FIRST, RejectionModel
from mldsa_lab.theory.trace import Array, Ints

# Members of each class.


# Differences below this, in costs of an attempt over all inputs, are none.
_SAME = 1e-6
# Up to so many inputs all combinations are tried, if there are no more than so many.
_FEW, _ALL = 5, 1_000_000
_ROUNDS = 40
# Exchanges that are tried two at a time.
_PAIRED = 1200


def pick_members(classes: Classes, usable: Ints, wanted: Ints, model: RejectionModel) -> Ints:
    """Traces, ``wanted`` (classes,) of each class, all among ``usable``, in ascending order.

    Minimises the sum over the index terms of amplitude times distance from the expectation, in
    costs of an attempt.
    """
    search = _Search(classes, usable, wanted)
    if len(search.sizes) <= _FEW and math.prod(search.sizes.tolist()) <= _ALL:
        return search.traces(search.try_all())
    return search.traces(search.descend(_bound(classes, wanted, model)))


def _bound(classes: Classes, wanted: Ints, model: RejectionModel) -> float:
    """The least sum of amplitudes times distances that whole sums of indexes can have."""
    n_z, n_r, _ = (float(v) for v in wanted @ classes.counts)
    of_z, of_r, of_both, of_r_in_z = classes.index_amplitude
    mean_z = float(np.arange(model.l) @ model.first_failing_z())
    mean_r = float(np.arange(model.k) @ model.first_failing_r())
    middle = round(n_z * model.p_r_fails_given_z_fails)
    both = np.arange(max(0, middle - 50), min(int(n_z), middle + 50) + 1)
    together = of_both * np.abs(both - n_z * model.p_r_fails_given_z_fails)
    together += of_r_in_z * np.abs(both * mean_r - np.rint(both * mean_r))
    return float(
        of_z * abs(n_z * mean_z - round(n_z * mean_z))
        + of_r * abs(n_r * mean_r - round(n_r * mean_r))
        + together.min(initial=math.inf if len(both) else 0.0)
    )


class _Search:
    """Members grouped by kind: traces of a class whose index terms are all the same.

    ``terms``: (kinds, 4) times the amplitudes; ``stock``: (kinds,); for each input to choose
    ``place_class``: its class, ``first`` and ``sizes``: (n,) its range of kinds.
    """

    def __init__(self, classes: Classes, usable: Ints, wanted: Ints) -> None:
        self._among = usable[wanted[classes.of[usable]] > 0]
        terms = classes.index_terms[self._among].round(9) + 0.0
        rows, _, self._kind_of = kinds_of(np.column_stack([classes.of[self._among], terms]))
        self.stock = np.bincount(self._kind_of)
        self.terms = rows[:, 1:] * classes.index_amplitude
        self.place_class = np.repeat(np.arange(len(wanted)), wanted)
        self.first = np.searchsorted(rows[:, 0], self.place_class)
        self.sizes = np.searchsorted(rows[:, 0], self.place_class, side="right") - self.first

    def value(self, kinds: Ints) -> float:
        """What is minimised."""
        return float(np.abs(self.terms[kinds].sum(axis=0)).sum())

    def left(self, kinds: Ints) -> Ints:
        """(kinds,) traces that are not chosen."""
        return self.stock - np.bincount(kinds, minlength=len(self.stock))

    def try_all(self) -> Ints:
        """The best of all combinations, the first among equals."""
        sums = np.zeros((1, self.terms.shape[1]))
        for first, size in zip(self.first, self.sizes, strict=True):
            own = self.terms[first : first + size]
            sums = (sums[:, None, :] + own[None, :, :]).reshape(-1, sums.shape[1])
        value = np.abs(sums).sum(axis=1)
        for at in np.argsort(value.round(9), kind="stable"):
            kinds: Ints = np.array(np.unravel_index(at, self.sizes)) + self.first
            if (self.left(kinds) >= 0).all():
                return kinds
        raise AssertionError("every class has as many traces as are wanted")

    def descend(self, bound: float) -> Ints:
        """Exchanges of one member, then of two, from random starts, until the bound is reached or
        rounds are used up."""
        rng = np.random.default_rng(0)
        best, reached = self._start(rng), math.inf
        for _ in range(_ROUNDS):
            kinds = self._start(rng)
            while self._single(kinds) or self._double(kinds, rng):
                if self.value(kinds) <= bound + _SAME:
                    break
            value = self.value(kinds)
            if value < reached - _SAME:
                best, reached = kinds, value
            if reached <= bound + _SAME:
                break
        return best

    def _start(self, rng: np.random.Generator) -> Ints:
        """Random members of each class."""
        parts = []
        for _, at, count in zip(
            *np.unique(self.place_class, return_index=True, return_counts=True), strict=True
        ):
            own = np.arange(self.first[at], self.first[at] + self.sizes[at])
            parts.append(rng.choice(np.repeat(own, self.stock[own]), int(count), replace=False))
        return np.concatenate(parts)

    def _single(self, kinds: Ints) -> bool:
        """Exchange each member for the best of its class; whether that gained anything."""
        total = self.terms[kinds].sum(axis=0)
        left = self.left(kinds)
        before = value = float(np.abs(total).sum())
        for place, (first, size) in enumerate(zip(self.first, self.sizes, strict=True)):
            own, old = slice(first, first + size), kinds[place]
            tried = np.abs(total - self.terms[old] + self.terms[own]).sum(axis=1)
            tried[left[own] == 0] = np.inf
            new = int(np.argmin(tried))
            if tried[new] < value - _SAME:
                value = float(tried[new])
                new += int(first)
                total += self.terms[new] - self.terms[old]
                left[old] += 1
                left[new] -= 1
                kinds[place] = new
        return value < before - _SAME

    def _double(self, kinds: Ints, rng: np.random.Generator) -> bool:
        """The best of two exchanges at once, of a random part of all exchanges."""
        left = self.left(kinds)
        some = np.arange(self.sizes.sum())
        if len(some) > _PAIRED:
            some = np.sort(rng.choice(len(some), _PAIRED, replace=False))
        ends = np.cumsum(self.sizes)
        place = np.searchsorted(ends, some, side="right")
        new = some - (ends - self.sizes - self.first)[place]
        free = left[new] > 0
        place, new = place[free], new[free]
        step = self.terms[new] - self.terms[kinds[place]]
        total = self.terms[kinds].sum(axis=0)
        value = np.zeros((len(step), len(step)))
        for column, sum_ in zip(step.T, total, strict=True):
            value += np.abs(sum_ + column[:, None] + column[None, :])
        # Not two at one place, nor the last trace of a kind twice.
        value[place[:, None] == place[None, :]] = np.inf
        value[(new[:, None] == new[None, :]) & (left[new] < 2)[:, None]] = np.inf
        if not value.size or value.min() >= self.value(kinds) - _SAME:
            return False
        one, two = np.unravel_index(int(np.argmin(value)), value.shape)
        kinds[place[one]], kinds[place[two]] = new[one], new[two]
        return True

    def traces(self, kinds: Ints) -> Ints:
        """The first traces of each kind, as many as chosen."""
        wanted = np.bincount(kinds, minlength=len(self.stock))
        return np.sort(self._among[first_of_kinds(self._kind_of, wanted)])


# Inputs to average.


# A cost model that is given is trusted to this fraction.
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
# Relative distances from the percentile within which inputs are looked for, the first that holds
# enough of them being taken, and how many are enough.
_WINDOWS = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2)
_ENOUGH, _SPARE = 2, 20
# The error under the model taken counts as so many of that under the worst of its range.
_OWN = 3.0


@dataclass(frozen=True)
class Aim:
    """What to choose.

    ``classes``: of all traces; ``usable``: the traces to choose from; ``n``: inputs; ``budget``:
    attempts of all together. ``goal``: (3,) the mean counts to be near. ``weights``: (models, 3)
    the relative error that an error of each count makes under each cost model, the first being the
    one taken. ``own``: weight of the error under that one beside the worst of all.
    ``of_attempts``: whether sums of nonlinear functions of the number of attempts are to be as in
    the population too.
    """

    classes: Classes
    usable: Ints
    model: RejectionModel
    n: int
    budget: int | None
    goal: Array
    weights: Array
    own: float = 1.0
    of_attempts: bool = True

    def choose(self) -> Ints:
        """The chosen traces, ascending. LabError if the budget is too small."""
        return pick_members(self.classes, self.usable, class_numbers(self), self.model)


def cost_range(set_name: str, given: CostModel | None) -> tuple[CostModel, Array]:
    """The cost model taken: ``given``, or the set's default where that is None; and the costs
    first, z, r, h (models, 4) of it and of the corners of the range that is guarded against.
    LabError if the model is of another set, or has attempts that cost nothing."""
    taken = given or CostModel.default(set_name)
    taken.check_set(set_name)
    if not (taken.z or taken.r):
        raise LabError(
            "cost model: attempts of class z and r cost nothing, "
            "so that it cannot tell inputs apart"
        )
    if given is None:
        first, z, h = (taken.r * np.array(known) for known in (FIRST, CLASS_Z, CLASS_H))
    else:
        trusted = np.array([1 - _TRUST, 1 + _TRUST])
        first, z, h = taken.first * trusted, taken.z * trusted, taken.h * trusted
    corners = product(first, z, [taken.r], h)
    return taken, np.array([(taken.first, taken.z, taken.r, taken.h), *corners])


def weights(costs: Array, goal: Array) -> Array:
    """(models, 3) relative error, per unit of error in the means of n_z, n_r, n_h, of a mean cost
    that is to be that of the counts ``goal`` (3,), for each row of `cost_range`."""
    found: Array = costs[:, 1:] / (costs[:, 0] + costs[:, 1:] @ goal)[:, None]
    return found


def choose_mean(
    classes: Classes,
    usable: Ints,
    model: RejectionModel,
    n: int,
    budget: int | None,
    given: CostModel | None,
) -> Choice:
    """``n`` of the ``usable`` traces whose mean cost is the exact mean, under the cost model
    ``given`` or the default one. LabError if the budget is too small."""
    taken, costs = cost_range(model.name, given)
    goal = model.expected_counts
    aim = Aim(classes, usable, model, n, budget, goal, weights(costs, goal))
    traces = aim.choose()
    biases = 100 * aim.weights @ (classes.counts[classes.of[traces]].mean(axis=0) - goal)
    # Amplitudes are in attempts.
    attempt = max(taken.z, taken.r) / taken.mean(model)
    off = np.abs(classes.index_terms[traces].mean(axis=0) * classes.index_amplitude).sum()
    found = {
        "bias of the average, %": biases[0],
        "least bias among the costs guarded against, %": biases.min(),
        "greatest bias among the costs guarded against, %": biases.max(),
        "more bias for a signer that stops at the first bad polynomial, at most, %": (
            100 * attempt * off
        ),
    }
    return Choice(traces, {name: short(value) for name, value in found.items()}, taken)


def choose_percentile(
    classes: Classes,
    usable: Ints,
    model: RejectionModel,
    n: int,
    budget: int | None,
    given: CostModel | None,
    percentile: float,
) -> Choice:
    """``n`` of the ``usable`` traces at a ``percentile`` in (0, 100), as `choose_mean`. LabError
    if the pool has too few about it."""
    taken, costs = cost_range(model.name, given)
    share = percentile / 100
    law = taken.law(model, share)
    level = law.level(share)
    cost = taken.of(classes.counts)[classes.of]
    some = _near(usable, np.abs(cost / level.cost - 1)[usable], n, percentile)
    # The mean of all signatures about the percentile, moved along the line from no rejections to
    # it until it costs exactly what the percentile does.
    counts = law.counts_near(share)
    rejected = float(taken.of(counts)) - taken.first
    goal = counts * ((level.cost - taken.first) / rejected if rejected > 0 else 0.0)
    aim = Aim(classes, some, model, n, budget, goal, weights(costs, goal), _OWN, False)
    traces = aim.choose()
    found = {
        "cost at the percentile": level.cost,
        "mean cost of the inputs": cost[traces].mean(),
        "largest distance of an input, %": 100 * np.abs(cost[traces] / level.cost - 1).max(),
        "signatures that cost less, %": 100 * level.below,
        "signatures that cost no more, %": 100 * level.upto,
    }
    return Choice(traces, {name: short(value) for name, value in found.items()}, taken)


def _near(usable: Ints, distance: Array, n: int, percentile: float) -> Ints:
    """Those of the traces that are near enough to choose from."""
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


def class_numbers(aim: Aim) -> Ints:
    """How many inputs of each class, (classes,): steps 1 and 2 of the module."""
    stock = np.bincount(aim.classes.of[aim.usable], minlength=len(aim.classes.counts))
    upper = np.minimum(stock, aim.n).astype(np.float64)
    kept = np.flatnonzero(stock)
    first = _first(aim, kept, upper[kept])
    counts = aim.classes.counts[kept]
    fits = (counts <= first @ counts).all(axis=1)
    kept, first = kept[fits], first[fits]
    wanted = np.zeros(len(stock), dtype=np.int64)
    wanted[kept] = _of_classes(aim, kept, upper[kept], first)
    return wanted


def _first(aim: Aim, kept: Ints, upper: Array) -> Ints:
    """Inputs of each class, (kept,), with the best sums of attempts."""
    counts = aim.classes.counts[kept]
    program = Program()
    numbers = program.variables(len(kept), upper=upper)
    totals = program.variables(3)
    worst = program.variables(1, cost=1.0, whole=False)
    own = program.variables(1, cost=aim.own, whole=False)
    program.row([(numbers, np.ones(len(kept)))], aim.n, aim.n)
    for column, total in zip(counts.T, np.eye(3), strict=True):
        program.row([(numbers, column), (totals, -total)], 0, 0)
    if aim.budget is not None:
        program.row([(numbers, aim.classes.attempts[kept])], high=aim.budget)
    # In units of the average's relative error times n, so that HiGHS sees numbers near 1.
    goals = aim.n * aim.weights @ aim.goal
    for row, goal in zip(aim.weights, goals, strict=True):
        program.near([(totals, row)], goal, worst)
    program.near([(totals, aim.weights[0])], goals[0], own)
    found = program.solve(gap=_FIRST_GAP)
    if found is None:
        within = "" if aim.budget is None else f" within {aim.budget} attempts"
        raise LabError(f"choice of {aim.n} inputs{within}: the traces to choose from allow none")
    return found[numbers]


def _of_classes(aim: Aim, kept: Ints, upper: Array, first: Ints) -> Ints:
    """Inputs of each class, (kept,), whose attempts add up to those of ``first``.

    The distance from the numbers that are likely in the population, summed over classes, costs
    `_UNLIKE` a piece; it is convex, so that the cheaper steps are taken first by themselves.
    """
    counts = aim.classes.counts[kept]
    totals = first @ counts
    likely = aim.model.class_probability(counts.astype(np.int64))
    likely *= aim.n / likely.sum()
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
        goals = np.array([aim.n, *totals]) - least @ sums
        for column, goal in zip(sums.T, goals, strict=True):
            program.row([(p, column) for p in parts], goal, goal)
        bound = _add_terms(program, aim, kept, parts, least, totals) if aim.of_attempts else 0.0
        found = program.solve(gap=min(_GAP * aim.n / max(bound, 1e-9), 0.5), nodes=_NODES)
        if found is not None:
            return least.astype(np.int64) + sum(found[p] for p in parts)
    return first


def _add_terms(
    program: Program, aim: Aim, kept: Ints, parts: list[slice], least: Array, totals: Array
) -> float:
    """Have ``program`` bring sums of the classes' nonlinear functions of the number of attempts,
    over ``least`` and ``parts`` inputs of each, near their expectations. Returns the error that
    no choice can be below. Since the number of all attempts is known, so are the remainders of
    the sums on division by a step, which make the search short."""
    attempts, classes = aim.n + int(totals.sum()), aim.classes
    # In the order of `covariates`: curvature (a square is as even as its root), pairs, fours,
    # masks by eight.
    residue = [attempts % 2, -attempts % 2, -attempts % 4, -attempts * aim.model.l % 8]
    step = np.array([2.0, 2.0, 4.0, 8.0])
    goals = aim.n * classes.expected - residue
    multiples = program.variables(len(step))
    for j, column in enumerate(classes.by_attempts[kept].T):
        unit = np.eye(len(step))[j] * step[j]
        constant = residue[j] - float(least @ column)
        program.row([*((p, column) for p in parts), (multiples, -unit)], constant, constant)
        off = program.variables(1, cost=classes.amplitude[j], whole=False)
        program.near([(multiples, unit)], goals[j], off)
    return float(classes.amplitude @ np.abs(np.rint(goals / step) * step - goals))
