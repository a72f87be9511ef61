"""Random signatures by the exact law of rejections: what a pool of any size holds, and what the
greedy method takes from it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mldsa_lab.theory.rejection import RejectionModel
from mldsa_studies import greedy
from mldsa_studies.plan import MEAN, TARGETS, Plan

_PILOTS = 6  # greedy selections of each kind that tell which classes will be wanted
_LAW_TAIL = 1e-7
Positions = NDArray[np.int64]


class Stock:
    """Inputs at hand by their class: which checks failed first, and how often.

    A method that looks at classes alone may take its inputs from a pool of any size: for one that
    was not measured, a measured one of the same class stands, drawn at random.
    """

    def __init__(self, classes: NDArray[np.int64]) -> None:
        """``classes``: (inputs, columns) the class of each input at hand."""
        self.classes, self._of, self._sizes = np.unique(
            classes, axis=0, return_inverse=True, return_counts=True
        )
        """(classes, columns) all classes at hand, in ascending order."""
        self._members = np.argsort(self._of.reshape(-1), kind="stable")
        self._starts = np.cumsum(self._sizes) - self._sizes

    def stand_in(self, classes: NDArray[np.int64], rng: np.random.Generator) -> Positions:
        """Inputs of these classes (numbers in `classes`), each drawn anew; none twice as long as
        the class has others."""
        found = np.empty(len(classes), dtype=np.int64)
        for wanted in np.unique(classes):
            places = np.flatnonzero(classes == wanted)
            start, size = self._starts[wanted], self._sizes[wanted]
            members = self._members[start : start + size]
            turns = -(-len(places) // size)
            order = np.concatenate([rng.permutation(members) for _ in range(turns)])
            found[places] = order[: len(places)]
        return found


def greedy_classes(
    stock: Stock,
    model: RejectionModel,
    n: int,
    target: float,
    draws: int,
    pool: int,
    rng: np.random.Generator,
) -> Positions:
    """(draws, n) greedy selections as numbers of classes of ``stock``, each from ``pool`` random
    candidates of its classes."""
    rates = (
        greedy.mean_rates(model.name)
        if target == MEAN
        else greedy.percentile_rates(model.name, target)
    )
    z, r, ct0, h = stock.classes.T
    chance = np.where(ct0 == 0, model.class_probability(np.column_stack([z, r, h])), 0.0)
    limits = np.cumsum(chance)
    chosen = np.empty((draws, n), dtype=np.int64)
    for row in chosen:
        members = np.searchsorted(limits, limits[-1] * rng.random(pool), side="right")
        row[:] = members[greedy.select_classes(stock.classes, members, n, rates)]
    return chosen


def wanted_classes(model: RejectionModel, plan: Plan) -> set[tuple[int, ...]]:
    """The classes (`greedy.first_failures`) that the greedy method takes from unlimited pools:
    a study needs inputs of each."""
    law = model.class_table(_LAW_TAIL).counts
    z, r, h = law.T
    stock = Stock(np.column_stack([z, r, np.zeros_like(z), h]))
    rng = np.random.default_rng(plan.seed)
    found: set[tuple[int, ...]] = set()
    for n in plan.sizes:
        for target in TARGETS:
            taken = greedy_classes(stock, model, n, target, _PILOTS, plan.pool, rng)
            found |= set(map(tuple, stock.classes[np.unique(taken)].tolist()))
    return found
