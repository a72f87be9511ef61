"""Inputs to average: their plain mean cost is the mean of all signatures, as nearly as n allow.

Three steps, each the best that is left by the one before:

1. how many attempts of each class (z, r, h) all inputs have together: those for which the
   average's errors, under the cost model taken and under the worst one of a range about it, have
   the least sum (integer program);
2. inputs of which classes: those most like a random sample of signatures whose sums of
   nonlinear functions of the number of attempts come near their expectations too: squares, and
   what signers waste that compute attempts in pairs or fours or mask polynomials by eight
   (integer program);
3. which members of each class, so that abort indexes are balanced (`members`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mldsa_lab.choice.classes import Chosen, Classes, short
from mldsa_lab.choice.costs import CostRange
from mldsa_lab.choice.members import pick_members
from mldsa_lab.choice.solver import Program
from mldsa_lab.errors import LabError
from mldsa_lab.theory.arrays import Array, Ints
from mldsa_lab.theory.rejection import RejectionModel

_FIRST_GAP = 1e-6
# The second program may be this far from its best, in attempts for each input, and ends after so
# many nodes.
_GAP = 2e-4
_NODES = 300
# A piece of unlikeness to the population counts as this many attempts.
_UNLIKE = 1e-3
# How far the number of inputs of a class may be from the expected one: the least that goes.
_REACH = (0.0, 2.0, np.inf)


def choose_mean(
    classes: Classes,
    usable: Ints,
    n: int,
    model: RejectionModel,
    costs: CostRange,
    budget: int | None = None,
) -> Chosen:
    """``n`` of the ``usable`` traces whose mean cost is the exact mean; ``budget``: attempts of
    all together. LabError if the budget is too small."""
    aim = Aim(model.expected_counts, costs.weights(model.expected_counts))
    wanted = class_numbers(classes, usable, n, model, aim, budget)
    traces, _, _ = pick_members(classes, usable, wanted, model)
    return Chosen(traces, _of_average(classes, traces, model, costs))


def _of_average(
    classes: Classes, traces: Ints, model: RejectionModel, costs: CostRange
) -> dict[str, Any]:
    """Errors of the plain average."""
    biases = 100 * costs.biases(classes.counts[classes.of[traces]], model)
    # Amplitudes are in attempts.
    attempt = max(costs.nominal.z, costs.nominal.r) / costs.nominal.mean(model)
    off = np.abs(classes.index_terms[traces].mean(axis=0) * classes.index_amplitude)
    return {
        "bias of the average, %": short(float(biases[0])),
        "least bias among the costs guarded against, %": short(float(biases.min())),
        "greatest bias among the costs guarded against, %": short(float(biases.max())),
        "more bias for a signer that stops at the first bad polynomial, at most, %": short(
            100 * attempt * float(off.sum())
        ),
    }


@dataclass(frozen=True)
class Aim:
    """What mean counts are to be near.

    ``goal``: (3,). ``weights``: (models, 3) the relative error that an error of each count makes
    under each cost model, the first being the one taken. ``own``: weight of the error under that
    one beside the worst of all. ``of_attempts``: whether sums of nonlinear functions of the number
    of attempts are to be as in the population too.
    """

    goal: Array
    weights: Array
    own: float = 1.0
    of_attempts: bool = True


def class_numbers(
    classes: Classes,
    usable: Ints,
    n: int,
    model: RejectionModel,
    aim: Aim,
    budget: int | None = None,
) -> Ints:
    """How many inputs of each class, (classes,): steps 1 and 2 of the module."""
    stock = np.bincount(classes.of[usable], minlength=len(classes.stock))
    kept = np.flatnonzero(stock)
    counts, attempts = classes.counts[kept], classes.attempts[kept]
    upper = np.minimum(stock[kept], n).astype(np.float64)
    first = _first(counts, attempts, upper, n, aim, budget)
    fits = (counts <= first @ counts).all(axis=1)
    kept, counts, upper, first = kept[fits], counts[fits], upper[fits], first[fits]
    numbers = _of_classes(classes, kept, upper, first, model, aim.of_attempts)
    wanted = np.zeros(len(stock), dtype=np.int64)
    wanted[kept] = numbers
    return wanted


def _first(
    counts: Array, attempts: Ints, upper: Array, n: int, aim: Aim, budget: int | None
) -> Ints:
    """Inputs of each class, (kept,), with the best sums of attempts."""
    program = Program()
    numbers = program.variables(len(counts), upper=upper)
    totals = program.variables(3)
    worst = program.variables(1, cost=1.0, whole=False)
    own = program.variables(1, cost=aim.own, whole=False)
    program.row([(numbers, np.ones(len(counts)))], n, n)
    for j in range(3):
        program.row([(numbers, counts[:, j]), (totals, -np.eye(3)[j])], 0, 0)
    if budget is not None:
        program.row([(numbers, attempts.astype(np.float64))], high=budget)
    # In units of the average's relative error times n, so that HiGHS sees numbers near 1.
    goals = n * aim.weights @ aim.goal
    for row, goal in zip(aim.weights, goals, strict=True):
        program.near([(totals, row)], goal, worst)
    program.near([(totals, aim.weights[0])], goals[0], own)
    found = program.solve(gap=_FIRST_GAP)
    if found is None:
        within = "" if budget is None else f" within {budget} attempts"
        raise LabError(f"choice of {n} inputs{within}: the traces to choose from allow none")
    return found[numbers]


def _of_classes(
    classes: Classes,
    kept: Ints,
    upper: Array,
    first: Ints,
    model: RejectionModel,
    of_attempts: bool,
) -> Ints:
    """Inputs of each class, (kept,), whose attempts add up to those of ``first``."""
    n = int(first.sum())
    counts = classes.counts[kept]
    totals = first @ counts
    terms = _Terms.of(classes, n, totals, model) if of_attempts else None
    likely = model.class_probability(counts.astype(np.int64))
    likely *= n / likely.sum()
    for reach in _REACH:
        program = Program()
        least, parts = _like_the_population(program, likely, upper, reach)
        rest = n - least.sum()
        program.row([(p, np.ones(len(kept))) for p in parts], rest, rest)
        for column, total in zip(counts.T, totals - least @ counts, strict=True):
            program.row([(p, column) for p in parts], total, total)
        bound = 0.0
        if terms is not None:
            terms.add_to(program, parts, classes.by_attempts[kept], least)
            bound = terms.bound
        found = program.solve(gap=min(_GAP * n / max(bound, 1e-9), 0.5), nodes=_NODES)
        if found is not None:
            return (least + sum(found[p] for p in parts)).astype(np.int64)
    return first


def _like_the_population(
    program: Program, likely: Array, upper: Array, reach: float
) -> tuple[Array, list[slice]]:
    """Numbers of inputs of each class, at most ``reach`` from the two whole numbers about
    ``likely``: the least, and variables for what is added to it.

    Their distance from ``likely``, summed over classes, costs `_UNLIKE` a piece; it is convex, so
    that the cheaper steps are taken first by themselves.
    """
    floor, ceil = np.minimum(np.floor(likely), upper), np.minimum(np.ceil(likely), upper)
    least = np.maximum(floor - reach, 0)
    share = likely - floor
    below = program.variables(len(likely), upper=floor - least, cost=-_UNLIKE)
    between = program.variables(len(likely), upper=ceil - floor, cost=_UNLIKE * (1 - 2 * share))
    above = program.variables(
        len(likely), upper=np.minimum(ceil + reach, upper) - ceil, cost=_UNLIKE
    )
    # A constant that keeps the objective above 0, on which the relative gap rests.
    one = program.variables(1, upper=1.0, cost=_UNLIKE * float(np.abs(likely - least).sum()))
    program.row([(one, [1.0])], low=1.0)
    return least, [below, between, above]


@dataclass(frozen=True)
class _Terms:
    """Sums over all inputs of nonlinear functions of the number of attempts: what they should be,
    how much an error costs, and, since the number of all attempts is known, their remainders
    ``residue`` on division by ``step``, which make the search short."""

    expected: Array
    amplitude: Array
    residue: Array
    step: Array

    @staticmethod
    def of(classes: Classes, n: int, totals: Array, model: RejectionModel) -> _Terms:
        """For ``n`` inputs with ``totals`` (3,) rejected attempts."""
        extra, attempts = classes.extra, n + int(totals.sum())
        known = {
            "curvature": (attempts % 2, 2),  # a square is as even as its root
            "pairs": (-attempts % 2, 2),
            "fours": (-attempts % 4, 4),
            "masks by eight": (-attempts * model.l % 8, 8),
        }
        rows = np.array([known[name] for name in extra.names if name in known], dtype=np.float64)
        which = extra.of_attempts
        return _Terms(n * extra.expected[which], extra.amplitude[which], rows[:, 0], rows[:, 1])

    @property
    def bound(self) -> float:
        """What errors no choice can be below."""
        reachable = np.rint((self.expected - self.residue) / self.step) * self.step + self.residue
        return float(self.amplitude @ np.abs(reachable - self.expected))

    def add_to(self, program: Program, parts: list[slice], values: Array, least: Array) -> None:
        """Have ``program`` minimise the errors: of the classes' ``values`` (classes, terms) times
        the numbers ``least`` plus ``parts``."""
        multiples = program.variables(len(self.step))
        for j, column in enumerate(values.T):
            unit = np.eye(len(self.step))[j] * self.step[j]
            constant = self.residue[j] - float(least @ column)
            program.row([*((p, column) for p in parts), (multiples, -unit)], constant, constant)
            off = program.variables(1, cost=self.amplitude[j], whole=False)
            program.near([(multiples, unit)], self.expected[j] - self.residue[j], off)
