"""How far the estimates of each method are from the truth, draw by draw."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from mldsa_lab import located
from mldsa_lab.estimate.figure import Figure, Key
from mldsa_lab.estimate.fit import fit_costs, split_levels
from mldsa_lab.parallel import WorkItem, in_order
from mldsa_lab.theory.law import MEAN as MEAN_COLUMN
from mldsa_lab.theory.rejection import RejectionModel
from mldsa_lab.theory.trace import Array, TraceTable
from mldsa_studies.choices import (
    FOR_ALL,
    MEAN,
    PERCENTILES,
    RANDOM,
    REGRESSION,
    TARGETS,
    Plan,
    Positions,
    Task,
    choose,
)
from mldsa_studies.costs import Costs
from mldsa_studies.judge import hire_workers, root_mean_square
from mldsa_studies.truth import Known, Truth, truth

ONCE, MEDIAN, COUNT = "once", "median", "count"
"""The measurements of each input: one time in a random round, the median time of all rounds, or its
number of instructions."""


@dataclass(frozen=True)
class MethodErrors:
    """One method with n inputs on one implementation. ``errors``: (draws,) of the estimates,
    relative to the ``truth``, which is in ``unit``."""

    implementation: str
    keys: dict[str, Key]
    truth: Known
    unit: str
    errors: Array

    def figures(self) -> list[Figure]:
        """Return its figures; errors are fractions of the truth."""
        relative = self.truth.error / self.truth.value
        deviation = float(self.errors.std(ddof=1))
        of_bias = math.hypot(deviation / math.sqrt(len(self.errors)), relative)
        return [
            Figure(self.keys, "draws", len(self.errors)),
            Figure(self.keys, "truth", self.truth.value, unit=self.unit),
            Figure({**self.keys, "of": "truth"}, "standard_error", relative),
            Figure(self.keys, "bias", float(self.errors.mean())),
            Figure({**self.keys, "of": "bias"}, "standard_error", of_bias),
            Figure(self.keys, "sd", deviation),
            Figure(self.keys, "rmse", root_mean_square(self.errors)),
        ]


@dataclass
class Study:
    """The result of a study. ``costs``: of one implementation each; ``truths``: by the number of
    the costs and the kind of measurement."""

    plan: Plan
    costs: Sequence[Costs]
    cells: list[MethodErrors] = field(default_factory=list)
    truths: dict[tuple[int, str], Truth] = field(default_factory=dict)


def target_name(target: float) -> str:
    """Return ``mean`` or ``p50``."""
    return "mean" if target == MEAN else f"p{target:g}"


def evaluate(
    costs: Sequence[Costs],
    plan: Plan,
    *,
    processes: int = 1,
    show: Callable[[float, str], object] = lambda part, text: None,
) -> Study:
    """Carry out a plan on these costs, of one implementation each.

    ``show`` gets the part of all that is done, and the last step. The result is the same, to within
    rounding, for any number of processes.
    """
    for item in costs:
        with located(f"{item.head.set}, {item.head.unit}"):
            plan.check(item.head.sample)
    # Files of one set may have the same inputs: one choice serves all of them.
    inputs = [(c.head.set, c.head.sample, c.table.codes.tobytes()) for c in costs]
    tables = dict(zip(inputs, costs, strict=True))
    tasks = plan.tasks()
    # The longest first, so that all processes end together.
    jobs = [(key, task) for task in sorted(tasks, key=lambda t: -t.n) for key in tables]
    choosing = []
    for key, task in jobs:
        name, head = f"{key[0]}: {task.method}, n = {task.n}", tables[key].head
        choosing.append(WorkItem(name, choose, (tables[key].table, head.sample, plan, task)))
    chosen: dict[object, Positions] = {}
    study = Study(plan, costs)
    with hire_workers(processes) as force:
        for job, work, positions in zip(jobs, choosing, in_order(choosing, force), strict=True):
            chosen[job] = positions
            show(0.5 * len(chosen) / len(jobs), work.name)
        judging = []
        for key, cost in zip(inputs, costs, strict=True):
            name = f"{cost.head.set}: {cost.head.series[0].variant}, {cost.head.unit}"
            choices = [(task, chosen[key, task]) for task in tasks]
            judging.append(WorkItem(name, judge, (cost, choices, plan.seed)))
        for number, (truths, cells) in enumerate(in_order(judging, force)):
            study.truths |= {(number, kind): result for kind, result in truths.items()}
            study.cells += cells
            show(0.5 + 0.5 * (number + 1) / len(costs), judging[number].name)
    return study


def judge(
    costs: Costs, choices: Sequence[tuple[Task, Positions]], seed: int
) -> tuple[dict[str, Truth], list[MethodErrors]]:
    """Return the truth of the ``costs`` of one implementation by kind of measurement.

    Also the errors of the estimates from each choice of its inputs.
    """
    head, table = costs.head, costs.table
    about = head.series[0]
    model = RejectionModel.for_set(head.set)
    ticks = costs.cost[0].astype(np.float64)
    random = table.take(np.arange(head.sample))
    truths: dict[str, Truth] = {}
    cells: list[MethodErrors] = []
    seen = _level(ticks)
    for kind in kinds(head.unit, len(ticks)):
        sampled = ticks[:, : head.sample], seen[:, : head.sample]
        known = truths[kind] = _truth(random, *sampled, model, kind)
        for task, positions in choices:
            if not len(positions):
                continue
            rng = np.random.default_rng([seed, task.n, int(task.target), len(cells)])
            estimates = [
                _estimates(task, taken, seen, kind, table, model, rng) for taken in positions
            ]
            for target in estimates[0]:
                right = known.mean if target == MEAN else known.quantiles[target]
                keys: dict[str, Key] = {
                    "set": head.set, "variant": about.variant, "measured": kind,
                    "method": task.method, "n": task.n, "target": target_name(target),
                }  # fmt: skip
                errors = np.array([one[target] for one in estimates]) / right.value - 1
                cells.append(MethodErrors(about.implementation, keys, right, head.unit, errors))
    return truths, cells


def kinds(unit: str, rounds: int) -> tuple[str, ...]:
    """Return the usable knowledge of each input."""
    if unit == "instructions":
        return (COUNT,)
    return (ONCE,) if rounds == 1 else (ONCE, MEDIAN)


def _level(ticks: Array) -> Array:
    """Return the costs (rounds, inputs) with all rounds brought to one level.

    The levels come from the machine, and would hide the effect of the choice of inputs.
    """
    if len(ticks) == 1:
        return ticks
    return ticks / np.exp(split_levels(ticks).level)[:, None]


def _truth(
    random: TraceTable, ticks: Array, seen: Array, model: RejectionModel, kind: str
) -> Truth:
    """The mean is over measured values: single times, spikes included, or the rounds' medians.
    Percentiles are over inputs, in the typical round."""
    noise = float(np.sqrt(np.mean(split_levels(ticks).noise ** 2))) if len(ticks) > 1 else 0.0
    result = truth(random, np.median(seen, axis=0), model, PERCENTILES, noise)
    if kind == ONCE and len(ticks) > 1:
        of_singles = truth(random, seen.mean(axis=0), model, PERCENTILES)
        return replace(result, mean=of_singles.mean)
    return result


def _estimates(
    task: Task,
    taken: Positions,
    seen: Array,
    kind: str,
    table: TraceTable,
    model: RejectionModel,
    rng: np.random.Generator,
) -> dict[float, float]:
    """The estimates from the inputs of one draw, by target."""
    measured = seen[:, taken]
    if kind == ONCE:
        measured = seen[rng.integers(len(seen)), taken][None, :]
    if task.method == REGRESSION:
        return regression(table.take(taken), measured, model, kind)
    single = np.median(measured, axis=0)
    targets = TARGETS if task.method in FOR_ALL else (task.target,)
    # Random inputs have sample percentiles; selections for a percentile are averaged.
    sampled = task.method == RANDOM
    return {
        t: float(np.quantile(single, t / 100) if sampled and t != MEAN else single.mean())
        for t in targets
    }


def regression(
    table: TraceTable, measured: Array, model: RejectionModel, kind: str
) -> dict[float, float]:
    """Return mean and percentiles by `mldsa_lab.estimate` from ``measured`` (rounds, inputs)."""
    fitted = fit_costs(table.traces(), measured, model, noise=0.0 if kind == COUNT else None)
    law = fitted.law()
    estimates = {MEAN: float(fitted.coefficients[MEAN_COLUMN])}
    return estimates | {p: float(law.quantile(p / 100)[0]) for p in PERCENTILES}
