"""The choice of inputs for a goal, from the traces of a pool."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mldsa_lab.choice.averages import choose_mean, choose_percentile
from mldsa_lab.choice.chosen import SelectionResult
from mldsa_lab.choice.classes import Classes, round_digits
from mldsa_lab.choice.coverage import choose_coverage
from mldsa_lab.choice.design import PERCENTILES, check_limits, design, quality
from mldsa_lab.choice.greedy import choose_greedy
from mldsa_lab.choice.order import balanced_order
from mldsa_lab.choice.paths import find_paths
from mldsa_lab.errors import LabError
from mldsa_lab.inputs.pool import Checks
from mldsa_lab.inputs.selection import GOALS
from mldsa_lab.theory.cost_model import CostModel
from mldsa_lab.theory.rejection import RejectionModel
from mldsa_lab.theory.table import TraceTable

# Random starts of the search for a design: many where a sweep is short.
_STARTS, _STARTS_MOST = 600, 60


@dataclass(frozen=True)
class SelectionRequest:
    """The purpose, number and limits of a selection. LabError if these do not fit together.

    ``goal``: one of `GOALS`. ``count``: how many inputs; None for the fewest that cover all, only
    with the goal coverage. ``percentile``: in (0, 100), with the goals percentile and greedy.
    ``cost_model``: for the goals mean and percentile; None for the set's default.
    ``max_attempts`` of each input, ``budget`` of all together.
    """

    goal: str = "regression"
    count: int | None = 10
    percentile: float | None = None
    cost_model: CostModel | None = None
    max_attempts: int | None = None
    budget: int | None = None

    def __post_init__(self) -> None:
        goal, share = self.goal, self.percentile
        if goal not in GOALS:
            raise LabError(f"goal {goal!r}: must be one of {', '.join(GOALS)}")
        if goal != "greedy" and (share is None) == (goal == "percentile"):
            raise LabError(
                f"goal {goal}, percentile {share}: the goal 'percentile' needs one, 'greedy' may "
                "have one, others take none"
            )
        if share is not None and not 0 < share < 100:
            raise LabError(f"percentile {share}: must lie in (0, 100)")
        if self.count is None and goal != "coverage":
            raise LabError(f"goal {goal}: needs the number of inputs")
        if self.cost_model is not None and goal not in ("mean", "percentile"):
            raise LabError(f"goal {goal}: takes no cost model")
        if self.budget is not None and goal == "greedy":
            raise LabError("goal greedy: takes no budget, since its method knows none")
        limits = (self.count, self.max_attempts, self.budget)
        names = ("number of inputs", "largest number of attempts", "budget")
        for name, limit in zip(names, limits, strict=True):
            if limit is not None and limit < 1:
                raise LabError(f"{name} {limit}: must be at least 1")


def choose(table: TraceTable, checks: Checks, request: SelectionRequest) -> SelectionResult:
    """The best traces of ``table`` for a request, in the order to measure them
    (`balanced_order`); the same for the same arguments.

    ``checks``: the checks that the table was traced with. LabError if the table has too few
    traces that keep the limits.
    """
    model, attempts = RejectionModel.for_set(table.set), table.attempts()
    n, budget = request.count or 1, request.budget
    usable = check_limits(attempts, n, budget, request.max_attempts)
    common = (Classes(table, model), usable, model, n, budget, request.cost_model)
    goals: dict[str, Callable[[], SelectionResult]] = {
        "regression": lambda: _regression(table, model, n, request),
        "mean": lambda: choose_mean(*common),
        "percentile": lambda: choose_percentile(*common, request.percentile or 0.0),
        "coverage": lambda: choose_coverage(
            find_paths(table, checks), attempts, usable, request.count, budget
        ),
        "greedy": lambda: choose_greedy(table, usable, n, request.percentile),
    }
    result = goals[request.goal]()
    order = balanced_order(table.take(result.positions))
    return replace(result, positions=result.positions[order])


def _regression(
    table: TraceTable, model: RejectionModel, n: int, request: SelectionRequest
) -> SelectionResult:
    """The best design, the errors of the estimate under its assumptions, and what its inputs
    cannot tell. LabError if the limits leave nothing to tell the cost of an attempt by."""
    starts = max(1, min(_STARTS_MOST, _STARTS // n))
    budget, most = request.budget, request.max_attempts
    traces = design(table, model, n, budget=budget, max_attempts=most, restarts=starts)
    chosen = table.take(traces)
    counts, attempts = chosen.counts(), chosen.attempts()
    if n > 1 and (budget or most) and (attempts == attempts[0]).all():
        raise LabError(
            f"goal regression: within these limits all {n} inputs have {attempts[0]} "
            f"attempt{'s' if attempts[0] > 1 else ''}, so that no cost of an attempt can be "
            "estimated; allow more attempts, or choose another goal"
        )
    errors = quality(chosen, model)
    names = ("mean", *(f"p{100 * p:g}" for p in PERCENTILES))
    expected: dict[str, Any] = {
        what: {name: round_digits(100 * e) for name, e in zip(names, values, strict=True)}
        for what, values in (
            ("standard error where costs have 1.5 % noise, %", errors.standard_error),
            ("bias for a signer that is not linear, at most, %", errors.bias),
        )
    }
    unknown = [
        f"what a rejected attempt of class {name} costs"
        for name, n_class in zip("zr", counts.T, strict=False)
        if (n_class == n_class[0]).all()
    ]
    if n > 1 and unknown:
        expected["not to be told from these inputs"] = unknown
    return SelectionResult(np.array(traces), expected)
