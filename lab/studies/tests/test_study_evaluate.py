"""Errors of the methods on synthetic signers whose mean and percentiles are known."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace

import numpy as np
import pytest
from study_material import SIGNER, costs_of

from mldsa_lab import LabError
from mldsa_lab.estimate.figure import breaches
from mldsa_lab.theory.rejection import RejectionModel
from mldsa_studies.choices import BALANCED, GREEDY, MEAN, RANDOM, Plan, Task, choose
from mldsa_studies.costs import Costs
from mldsa_studies.evaluate import COUNT, MethodErrors, evaluate, judge
from mldsa_studies.signers import random_table

pytestmark = pytest.mark.simulation

MODEL = RejectionModel.for_set("ML-DSA-65")
PLAN = Plan(sizes=(2, 10), draws=4, pool=3000)


def judged(costs: Costs, plan: Plan, *wanted: Task) -> list[MethodErrors]:
    choices = [(task, choose(costs.table, costs.head.sample, plan, task)) for task in wanted]
    return judge(costs, choices, plan.seed)[1]


def pick(
    cells: Iterable[MethodErrors], kind: str, method: str, n: int, target: str = "mean"
) -> dict[str, float]:
    """The figures of a cell by name, a standard error by what it is of."""
    requested = (kind, method, n, target)
    names = ("measured", "method", "n", "target")
    (result,) = (c for c in cells if tuple(c.keys[name] for name in names) == requested)
    figures = result.figures()
    assert list(breaches(figures)) == []
    names = (f"{f.keys['of']}_error" if "of" in f.keys else f.name for f in figures)
    return {name: f.value for name, f in zip(names, figures, strict=True) if f.value is not None}


def test_random_inputs_scatter_as_they_must() -> None:
    costs = costs_of("instructions", inputs=2000)
    plan = replace(PLAN, draws=600)
    cells = judged(costs, plan, *(Task(RANDOM, n, MEAN) for n in (1, 2, 10)))
    single = _deviation() / SIGNER.mean(MODEL)
    for n in (1, 2, 10):
        cell = pick(cells, COUNT, RANDOM, n)
        assert cell["truth"] == pytest.approx(SIGNER.mean(MODEL), rel=1e-4)
        assert cell["draws"] == 600
        assert cell["sd"] == pytest.approx(single / math.sqrt(n), rel=0.15)
        # The sample that they are from is off by 2 %, beside the draws' own error.
        assert abs(cell["bias"]) < 4 * math.hypot(cell["bias_error"], single / math.sqrt(2000))
        assert cell["rmse"] ** 2 == pytest.approx(cell["bias"] ** 2 + cell["sd"] ** 2 * 599 / 600)
    # Of ten inputs the largest is far below p99.
    assert pick(cells, COUNT, RANDOM, 10, "p99")["bias"] < -0.2


def _deviation() -> float:
    """Standard deviation of the cost of one signature."""
    rng = np.random.default_rng(1)
    return float(np.std(SIGNER.cost_of(random_table(MODEL, 20_000, rng).traces())))


def test_draws_are_what_the_plan_says() -> None:
    costs = costs_of("instructions", inputs=440, added=60)
    plan = Plan(sizes=(1, 100), draws=8, pool=3000)
    for method, n, draws in (
        (RANDOM, 1, 8), (RANDOM, 100, 2), (GREEDY, 1, 8), (GREEDY, 100, 2), (BALANCED, 1, 8),
    ):  # fmt: skip
        chosen = choose(costs.table, costs.head.sample, plan, Task(method, n, MEAN))
        assert chosen.shape == (draws, n)
        repeated = choose(costs.table, costs.head.sample, plan, Task(method, n, MEAN))
        assert (chosen == repeated).all()
        if method is RANDOM:
            assert chosen.max() < 440
            assert all(len(set(row)) == n for row in chosen.tolist())
    # Balanced choices of four draws in a row share no input.
    two = choose(costs.table, costs.head.sample, plan, Task(BALANCED, 2, MEAN))
    assert len(set(two[:4].ravel().tolist())) == 8


def test_percentiles_that_no_input_is_near_are_left_out() -> None:
    costs = costs_of("instructions", inputs=60, added=0)
    few = costs.table.take(np.flatnonzero(costs.table.iterations() < 8))
    plan = replace(PLAN, sizes=(2,))
    assert choose(few, len(few), plan, Task(BALANCED, 2, 99.0)).shape == (0, 2)
    assert choose(few, len(few), plan, Task(BALANCED, 2, 50.0)).shape == (4, 2)


@pytest.mark.e2e
def test_the_same_with_processes() -> None:
    costs = costs_of("instructions", inputs=60, added=0)
    plan = Plan(sizes=(2,), draws=2, pool=100)
    one, two = (evaluate([costs], plan, processes=p).cells for p in (1, 2))
    assert len(one) == len(two) > 0
    for a, b in zip(one, two, strict=True):
        assert a.keys == b.keys
        assert a.errors == pytest.approx(b.errors, abs=1e-9)


def test_too_few_inputs_or_draws() -> None:
    costs = costs_of("ns", inputs=39, added=0)
    with pytest.raises(LabError, match=r"ML-DSA-65, ns: selections of 10 inputs: need costs of 40"):
        evaluate([costs], PLAN)
    for plan, rule in (
        (replace(PLAN, draws=1), "1 draws: must be at least 2"),
        (replace(PLAN, sizes=(0,)), "must be at least 1"),
        (replace(PLAN, sizes=()), "must be at least 1"),
        (replace(PLAN, pool=29), "needs a pool of 30"),
    ):
        with pytest.raises(LabError, match=rule):
            plan.check(1000)
