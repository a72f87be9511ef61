"""Inputs at a percentile: signatures whose cost, under a cost model, is the exact percentile's.

A cost model orders the classes (n_z, n_r, n_h), whose probabilities are exact, so the percentile
is the cost of a class. Inputs of that class, or of those about it, are chosen so that their mean
cost is as near to it as can be and, for the case that the model is somewhat wrong, their mean
counts near those of all signatures at that cost: if every signature at a percentile costs more
than the model says, so do these inputs.
"""

from __future__ import annotations

import numpy as np

from mldsa_lab.choice.classes import Chosen, Classes, short
from mldsa_lab.choice.costs import CostRange
from mldsa_lab.choice.mean import Aim, class_numbers
from mldsa_lab.choice.members import pick_members
from mldsa_lab.errors import LabError
from mldsa_lab.theory.arrays import Array, Flags, Ints
from mldsa_lab.theory.rejection import RejectionModel

# Relative distances from the percentile within which inputs are looked for, the first that holds
# enough of them being taken, and how many are enough.
_WINDOWS = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2)
_ENOUGH, _SPARE = 2, 20
# The error under the model taken counts as so many of that under the worst of its range.
_OWN = 3.0


def choose_percentile(
    classes: Classes,
    usable: Ints,
    n: int,
    model: RejectionModel,
    costs: CostRange,
    percentile: float,
    budget: int | None = None,
) -> Chosen:
    """``n`` of the ``usable`` traces at a ``percentile`` in (0, 100). LabError if the pool has
    too few about it, or if the budget is too small."""
    if not 0 < percentile < 100:
        raise LabError(f"percentile {percentile:g}: must lie in (0, 100)")
    share = percentile / 100
    cost_model = costs.nominal
    law = cost_model.law(model, share)
    level = law.classes_at(share)[0]
    cost = cost_model.of(classes.counts)
    near = _near(np.abs(cost / level.cost - 1)[classes.of[usable]], n, percentile)
    some = usable[near]
    # The mean of all signatures about the percentile, moved along the line from no rejections to
    # it until it costs exactly what the percentile does.
    counts = law.counts_near(share)
    rejected = float(cost_model.of(counts)) - cost_model.first
    goal = counts * ((level.cost - cost_model.first) / rejected if rejected > 0 else 0.0)
    aim = Aim(goal, costs.weights(goal), own=_OWN, of_attempts=False)
    wanted = class_numbers(classes, some, n, model, aim, budget)
    traces, _, _ = pick_members(classes, some, wanted, model)
    chosen = cost[classes.of[traces]]
    found = {
        "cost at the percentile": level.cost,
        "mean cost of the inputs": chosen.mean(),
        "largest distance of an input, %": 100 * np.abs(chosen / level.cost - 1).max(),
        "signatures that cost less, %": 100 * level.below,
        "signatures that cost no more, %": 100 * level.upto,
    }
    return Chosen(traces, {name: short(float(value)) for name, value in found.items()})


def _near(distance: Array, n: int, percentile: float) -> Flags:
    """Which of the traces are near enough to choose from."""
    for window in _WINDOWS:
        near: Flags = distance <= window
        if near.sum() >= _ENOUGH * n + _SPARE:
            return near
    if near.sum() < n:
        raise LabError(
            f"choice of {n} inputs at percentile {percentile:g}: the pool has {near.sum()} within "
            f"{100 * _WINDOWS[-1]:g} % of its cost; trace a larger pool, or allow more attempts"
        )
    return near
