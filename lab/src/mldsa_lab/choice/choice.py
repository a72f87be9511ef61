"""The choice of inputs for a goal, from the traces of a pool."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mldsa_lab.choice.classes import Chosen, Classes, short
from mldsa_lab.choice.costs import CostRange
from mldsa_lab.choice.coverage import choose_coverage
from mldsa_lab.choice.design import PERCENTILES, check_limits, design, quality
from mldsa_lab.choice.mean import choose_mean
from mldsa_lab.choice.order import balanced_order
from mldsa_lab.choice.paths import paths_of
from mldsa_lab.choice.percentile import choose_percentile
from mldsa_lab.errors import LabError
from mldsa_lab.inputs.pool import Checks
from mldsa_lab.inputs.selection import GOALS
from mldsa_lab.theory.cost_model import CostModel
from mldsa_lab.theory.rejection import RejectionModel
from mldsa_lab.theory.table import TraceTable

# Random starts of the search for a design: many where a sweep is short.
_STARTS, _STARTS_MOST = 600, 60


@dataclass(frozen=True)
class Wish:
    """What to choose.

    ``goal``: one of `GOALS`. ``count``: how many inputs; None for the fewest that cover all, with
    the goal coverage alone. ``percentile``: in (0, 100), with the goal of that name alone.
    ``cost_model``: for the goals mean and percentile; None for the set's default.
    ``max_attempts`` of each input, ``budget`` of all together. LabError if these do not fit
    together.
    """

    goal: str = "regression"
    count: int | None = 10
    percentile: float | None = None
    cost_model: CostModel | None = None
    max_attempts: int | None = None
    budget: int | None = None

    def __post_init__(self) -> None:
        if self.goal not in GOALS:
            raise LabError(f"goal {self.goal!r}: must be one of {', '.join(GOALS)}")
        if (self.percentile is not None) != (self.goal == "percentile"):
            raise LabError(
                "goal percentile: needs a percentile"
                if self.percentile is None
                else f"percentile {self.percentile:g}: belongs to the goal 'percentile' alone"
            )
        if self.percentile is not None and not 0 < self.percentile < 100:
            raise LabError(f"percentile {self.percentile:g}: must lie in (0, 100)")
        if self.count is None and self.goal != "coverage":
            raise LabError(f"goal {self.goal}: needs the number of inputs")
        if self.cost_model is not None and self.goal not in ("mean", "percentile"):
            raise LabError(f"goal {self.goal}: takes no cost model")
        for name, value in (
            ("number of inputs", self.count),
            ("largest number of attempts", self.max_attempts),
            ("budget", self.budget),
        ):
            if value is not None and value < 1:
                raise LabError(f"{name} {value}: must be at least 1")


@dataclass(frozen=True)
class Choice:
    """``positions``: the chosen traces of the table, in the order to measure (`balanced_order`);
    ``cost_model``: the one that the choice rests on, if any; ``expected``: what theory says of it,
    for the reader."""

    positions: tuple[int, ...]
    cost_model: CostModel | None
    expected: dict[str, Any]


def choose(table: TraceTable, checks: Checks, wish: Wish) -> Choice:
    """The best traces of ``table`` for what is wished; the same for the same arguments.

    ``checks``: which checks the table was made with. LabError if the table has too few traces
    that keep the limits.
    """
    model = RejectionModel.of(table.set)
    attempts = table.attempts()
    usable = check_limits(attempts, wish.count or 1, wish.budget, wish.max_attempts)
    cost_model: CostModel | None = None
    if wish.goal == "regression":
        assert wish.count is not None
        traces = design(
            table,
            model,
            wish.count,
            budget=wish.budget,
            max_attempts=wish.max_attempts,
            restarts=max(1, min(_STARTS_MOST, _STARTS // wish.count)),
        )
        chosen = table.take(traces)
        found = Chosen(np.array(traces), _of_design(chosen, model))
        _check_contrast(chosen, wish, found.expected)
    elif wish.goal == "coverage":
        paths = paths_of(table, checks)
        found = choose_coverage(paths, attempts, usable, wish.count, wish.budget)
    else:
        assert wish.count is not None
        costs = CostRange.around(table.set, wish.cost_model)
        cost_model = costs.nominal
        of = (Classes.in_table(table, model), usable, wish.count, model, costs)
        if wish.percentile is None:
            found = choose_mean(*of, wish.budget)
        else:
            found = choose_percentile(*of, wish.percentile, wish.budget)
    order = balanced_order(table.take(found.traces))
    return Choice(tuple(found.traces[order].tolist()), cost_model, found.expected)


def _check_contrast(table: TraceTable, wish: Wish, expected: dict[str, Any]) -> None:
    """Say in ``expected`` what the inputs of a regression cannot tell. LabError if the limits that
    were asked for leave nothing to tell the cost of an attempt by."""
    counts, attempts = table.counts(), table.attempts()
    if len(table) < 2:
        return
    limited = wish.max_attempts is not None or wish.budget is not None
    if limited and (attempts == attempts[0]).all():
        raise LabError(
            f"goal regression: within these limits all {len(table)} inputs have {attempts[0]} "
            f"attempt{'s' if attempts[0] > 1 else ''}, so that no cost of an attempt can be "
            "estimated; allow more attempts, or choose another goal"
        )
    unknown = [name for name, n in zip("zr", counts.T, strict=False) if (n == n[0]).all()]
    if unknown:
        expected["not to be told from these inputs"] = [
            f"what a rejected attempt of class {name} costs" for name in unknown
        ]


def _of_design(table: TraceTable, model: RejectionModel) -> dict[str, Any]:
    """Errors of the regression estimate under the design's assumptions."""
    found = quality(table, model)
    names = ("mean", *(f"p{100 * p:g}" for p in PERCENTILES))

    def percent(errors: NDArray[np.float64]) -> dict[str, float]:
        return {name: short(100 * float(e)) for name, e in zip(names, errors, strict=True)}

    return {
        "standard error where costs have 1.5 % noise, %": percent(found.standard_error),
        "bias for a signer that is not linear, at most, %": percent(found.bias),
    }
