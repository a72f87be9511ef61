"""How far the estimates of each method are from the truth, draw by draw."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mldsa_lab.errors import LabError
from mldsa_lab.estimate.fit import fit_costs
from mldsa_lab.estimate.location import split_levels
from mldsa_lab.theory.arrays import Array
from mldsa_lab.theory.rejection import RejectionModel
from mldsa_lab.theory.table import TraceTable
from mldsa_lab.theory.terms import MEAN as MEAN_COLUMN
from mldsa_studies.choices import ChosenInputs, choose
from mldsa_studies.costs import Costs, CostSeries
from mldsa_studies.judge import in_processes, root_mean_square
from mldsa_studies.plan import MEAN, PERCENTILES, RANDOM, REGRESSION, TARGETS, Plan, tasks
from mldsa_studies.truth import Known, Truth, truth

ONCE, MEDIAN, COUNT = "once", "median", "count"
"""What a person who measures has of each input: one time, taken in a round drawn anew for each
draw; the times of all rounds; or its number of instructions."""


@dataclass(frozen=True)
class MethodErrors:
    """One method with n inputs on one implementation.

    ``errors``: (draws,) of the estimates, relative to the truth; ``kind``: `ONCE`, `MEDIAN` or
    `COUNT`; ``target``: `MEAN` or a percentile; ``truth`` and ``truth_error`` in ``unit``.
    """

    set: str
    variant: str
    implementation: str
    unit: str
    kind: str
    method: str
    n: int
    target: float
    truth: float
    truth_error: float
    errors: Array

    @property
    def bias(self) -> float:
        """Mean of the errors."""
        return float(self.errors.mean())

    @property
    def deviation(self) -> float:
        """Standard deviation of the estimates, relative to the truth."""
        return float(self.errors.std(ddof=1))

    @property
    def rmse(self) -> float:
        """Root of the mean square of the errors."""
        return root_mean_square(self.errors)

    @property
    def bias_error(self) -> float:
        """Standard error of the bias: of the draws, and of the truth."""
        draws = self.deviation / math.sqrt(len(self.errors))
        return math.hypot(draws, self.truth_error / self.truth)

    def as_dict(self) -> dict[str, Any]:
        """The values of a line of the table, relative ones as fractions."""
        return {
            "set": self.set,
            "variant": self.variant,
            "implementation": self.implementation,
            "unit": self.unit,
            "measured": self.kind,
            "method": self.method,
            "n": self.n,
            "target": target_name(self.target),
            "draws": len(self.errors),
            "truth": self.truth,
            "truth_error": self.truth_error / self.truth,
            "bias": self.bias,
            "bias_error": self.bias_error,
            "sd": self.deviation,
            "rmse": self.rmse,
        }


@dataclass(frozen=True)
class Judged:
    """The ``costs`` of one implementation in one parameter set, the truth by kind of measurement,
    and its cells."""

    costs: Costs
    truths: dict[str, Truth]
    cells: tuple[MethodErrors, ...]

    @property
    def series(self) -> CostSeries:
        """The costs themselves."""
        return self.costs.series[0]


@dataclass(frozen=True)
class Study:
    """What a study found. ``costs``: what it rests on, file by file."""

    plan: Plan
    costs: tuple[Costs, ...]
    judged: tuple[Judged, ...]

    def cells(self) -> Iterator[MethodErrors]:
        """All lines of the table."""
        return (cell for judged in self.judged for cell in judged.cells)


def target_name(target: float) -> str:
    """``mean``, ``p50``."""
    return "mean" if target == MEAN else f"p{target:g}"


def evaluate(
    costs: Sequence[Costs],
    plan: Plan,
    *,
    processes: int = 1,
    show: Callable[[str, float], object] = lambda text, part: None,
) -> Study:
    """Carry out a plan on these costs; ``show`` is told what was done last, and the part of all
    that is done. The same, to within rounding, for the same plan and costs and any processes."""
    for item in costs:
        try:
            plan.check(item.sample)
        except LabError as error:
            raise LabError(f"{item.set}, {item.unit}: {error}") from None
    tables: list[tuple[TraceTable, int]] = []
    of: list[int] = []
    for item in costs:
        # Files of one set may hold the same inputs: then one plan serves both.
        same = (
            number
            for number, (table, sample) in enumerate(tables)
            if (table.set, sample) == (item.set, item.sample)
            and np.array_equal(table.codes, item.table.codes)
        )
        of.append(next(same, len(tables)))
        if of[-1] == len(tables):
            tables.append((item.table, item.sample))
    wanted = tasks(plan)
    # The longest first, so that all processes end together.
    order = sorted(range(len(wanted)), key=lambda i: -wanted[i].n)
    chosen = [(t, s, plan, wanted[i]) for i in order for t, s in tables]
    with in_processes(processes) as run:
        made: list[list[ChosenInputs | None]] = [[None] * len(wanted) for _ in tables]
        for number, choice in enumerate(run(choose, *zip(*chosen, strict=True))):
            made[number % len(tables)][order[number // len(tables)]] = choice
            text = f"{chosen[number][0].set}: {choice.task.method.name}, n = {choice.task.n}"
            show(text, 0.5 * (number + 1) / len(chosen))
        work = [
            (replace(item, series=(series,)), tuple(made[of[i]]), plan.seed)
            for i, item in enumerate(costs)
            for series in item.series
        ]
        judged: list[Judged] = []
        for found in run(judge, *zip(*work, strict=True)):
            judged.append(found)
            text = f"{found.costs.set}: {found.series.variant}, {found.costs.unit}"
            show(text, 0.5 + 0.5 * len(judged) / len(work))
    return Study(plan, tuple(costs), tuple(judged))


def judge(costs: Costs, choices: Sequence[ChosenInputs | None], seed: int) -> Judged:
    """The truth of the ``costs`` of one implementation, and how far the estimates from each choice
    of its inputs are from it."""
    (series,) = costs.series
    table, sample = costs.table, costs.sample
    model = RejectionModel.of(costs.set)
    ticks = series.cost.astype(np.float64)
    random = table.take(np.arange(sample))
    truths: dict[str, Truth] = {}
    cells: list[MethodErrors] = []
    seen = _level(ticks)
    for kind in kinds(costs.unit, len(ticks)):
        truths[kind] = _truth(random, ticks[:, :sample], seen[:, :sample], model, kind)
        for choice in choices:
            if choice is None or not len(choice.inputs):
                continue
            task = choice.task
            rng = np.random.default_rng([seed, task.n, int(task.target), len(cells)])
            errors = _errors(choice, seen, kind, table, model, truths[kind], rng)
            for target, values in errors.items():
                known = _known(truths[kind], target)
                cells.append(
                    MethodErrors(
                        costs.set,
                        series.variant,
                        series.about.implementation,
                        costs.unit,
                        kind,
                        task.method.name,
                        task.n,
                        target,
                        known.value,
                        known.error,
                        values,
                    )
                )
    return Judged(costs, truths, tuple(cells))


def _known(found: Truth, target: float) -> Known:
    return found.mean if target == MEAN else found.quantiles[target]


def kinds(unit: str, rounds: int) -> tuple[str, ...]:
    """What a person may have of each input."""
    if unit == "instructions":
        return (COUNT,)
    return (ONCE,) if rounds == 1 else (ONCE, MEDIAN)


def _level(ticks: Array) -> Array:
    """The costs (rounds, inputs) with all rounds brought to one level: how rounds differ as a
    whole is the machine's doing, and would hide what the choice of inputs does."""
    if len(ticks) == 1:
        return ticks
    return ticks / np.exp(split_levels(ticks).level)[:, None]


def _truth(
    random: TraceTable, ticks: Array, seen: Array, model: RejectionModel, kind: str
) -> Truth:
    """The mean is that of what is measured: of single times, spikes included, or of the rounds'
    medians. Percentiles are over inputs, in the typical round."""
    noise = float(np.sqrt(np.mean(split_levels(ticks).noise ** 2))) if len(ticks) > 1 else 0.0
    found = truth(random, np.median(seen, axis=0), model, PERCENTILES, noise)
    if kind == ONCE and len(ticks) > 1:
        of_singles = truth(random, seen.mean(axis=0), model, PERCENTILES)
        return replace(found, mean=of_singles.mean)
    return found


def _errors(
    choice: ChosenInputs,
    seen: Array,
    kind: str,
    table: TraceTable,
    model: RejectionModel,
    known: Truth,
    rng: np.random.Generator,
) -> dict[float, Array]:
    """The relative errors (draws,) of the estimates from a choice, for each of its targets."""
    method = choice.task.method
    targets = TARGETS if method.for_all else (choice.task.target,)
    found: dict[float, list[float]] = {target: [] for target in targets}
    medians = np.median(seen, axis=0)
    for chosen in choice.inputs:
        if kind == ONCE:
            measured = seen[rng.integers(len(seen)), chosen][None, :]
        else:
            measured = seen[:, chosen]
        single = medians[chosen] if kind == MEDIAN else measured[0]
        if method == REGRESSION:
            estimates = regression(table.take(chosen), measured, model, kind)
        elif method == RANDOM:
            estimates = {t: _sampled(single, t) for t in targets}
        else:
            estimates = {choice.task.target: float(single.mean())}
        for target in targets:
            found[target].append(estimates[target])
    return {t: np.array(values) / _known(known, t).value - 1 for t, values in found.items()}


def _sampled(costs: Array, target: float) -> float:
    """Mean or percentile of the costs as they are."""
    return float(costs.mean() if target == MEAN else np.quantile(costs, target / 100))


def regression(
    table: TraceTable, measured: Array, model: RejectionModel, kind: str
) -> dict[float, float]:
    """Mean and percentiles by `mldsa_lab.estimate` from ``measured`` (rounds, inputs)."""
    fitted = fit_costs(table.traces(), measured, model, noise=0.0 if kind == COUNT else None)
    law = fitted.law()
    estimates = {MEAN: float(fitted.coefficients[MEAN_COLUMN])}
    for percentile in PERCENTILES:
        estimates[percentile] = float(law.quantile(percentile / 100)[0])
    return estimates
