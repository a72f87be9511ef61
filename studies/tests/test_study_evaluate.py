"""Errors of the methods on synthetic signers whose mean and percentiles are known."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace

import numpy as np
import pytest
from study_material import SIGNER, costs_of

from mldsa_lab.choice import greedy
from mldsa_lab.errors import LabError
from mldsa_lab.theory.rejection import RejectionModel
from mldsa_studies.choices import (
    BALANCED,
    GREEDY,
    MEAN,
    RANDOM,
    REGRESSION,
    Plan,
    Stock,
    Task,
    choose,
    greedy_classes,
)
from mldsa_studies.costs import Costs
from mldsa_studies.evaluate import COUNT, MEDIAN, ONCE, MethodErrors, Study, evaluate, judge
from mldsa_studies.signers import random_table

pytestmark = pytest.mark.simulation

MODEL = RejectionModel.of("ML-DSA-65")
PLAN = Plan(sizes=(2, 10), draws=4, pool=3000)


def judged(costs: Costs, plan: Plan, *wanted: Task) -> list[MethodErrors]:
    choices = [(task, choose(costs.table, costs.head.sample, plan, task)) for task in wanted]
    return judge(costs, choices, plan.seed)[1]


def pick(
    cells: Iterable[MethodErrors], kind: str, method: str, n: int, target: str = "mean"
) -> dict[str, float]:
    """The figures of a cell by name."""
    wanted = (kind, method, n, target)
    names = ("measured", "method", "n", "target")
    (found,) = (c for c in cells if tuple(c.keys[name] for name in names) == wanted)
    return {f.name: f.value for f in found.figures() if f.value is not None}


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


@pytest.fixture(scope="module")
def counted() -> Study:
    return evaluate([costs_of("instructions")], PLAN)


def test_without_noise(counted: Study) -> None:
    cells = counted.cells
    assert pick(cells, COUNT, REGRESSION, 10)["rmse"] < 2e-3
    assert pick(cells, COUNT, BALANCED, 10)["rmse"] < 0.03
    assert 0.003 < pick(cells, COUNT, GREEDY, 10)["rmse"] < 0.08
    for target in ("p50", "p95"):
        assert pick(cells, COUNT, REGRESSION, 10, target)["rmse"] < 0.01
        assert pick(cells, COUNT, BALANCED, 10, target)["rmse"] < 0.12


@pytest.mark.simulation
def test_noise_counts_once_and_less_over_rounds() -> None:
    plan = replace(PLAN, draws=12)
    cells = judged(costs_of("ns", noise=0.05, rounds=9), plan, Task(REGRESSION, 10, MEAN))
    once, median = (pick(cells, kind, REGRESSION, 10) for kind in (ONCE, MEDIAN))
    # Noise of 5 % in ten inputs is 1.6 % and more, over nine rounds' medians about 0.6 %.
    assert 0.008 < once["sd"] < 0.035
    assert median["rmse"] < 0.8 * once["rmse"]
    for cell in (once, median):
        # The rounds' levels differ by 20 %: they are no error of a method's.
        assert abs(cell["bias"]) < 5 * cell["bias_error"] and cell["rmse"] < 0.035


def test_greedy_errors_are_those_of_its_classes() -> None:
    """The mean cost of the classes that it takes, with their average indexes."""
    costs = costs_of("instructions")
    cell = pick(judged(costs, replace(PLAN, draws=30), Task(GREEDY, 10, MEAN)), COUNT, GREEDY, 10)
    stock = Stock(greedy.first_failures(costs.table))
    chosen = greedy_classes(stock, MODEL, 10, MEAN, 6, 3000, np.random.default_rng(8))
    z, r, _, h = np.moveaxis(stock.classes[chosen], 2, 0)
    of_z = SIGNER.z + SIGNER.z_step * float(np.arange(MODEL.l) @ MODEL.first_failing_z())
    of_r = SIGNER.r + SIGNER.r_step * float(np.arange(MODEL.k) @ MODEL.first_failing_r())
    mean = (SIGNER.setup + z * of_z + r * of_r + h * SIGNER.h).mean(axis=1)
    expected = float(mean.mean()) / SIGNER.mean(MODEL) - 1
    assert cell["bias"] == pytest.approx(expected, abs=4 * cell["bias_error"] + 0.003)


def test_draws_are_what_the_plan_says() -> None:
    costs = costs_of("instructions", inputs=440, added=60)
    plan = Plan(sizes=(1, 100), draws=8, pool=3000)
    for method, n, draws in (
        (RANDOM, 1, 8), (RANDOM, 100, 2), (GREEDY, 1, 8), (GREEDY, 100, 2), (BALANCED, 1, 8),
    ):  # fmt: skip
        chosen = choose(costs.table, costs.head.sample, plan, Task(method, n, MEAN))
        assert chosen.shape == (draws, n)
        again = choose(costs.table, costs.head.sample, plan, Task(method, n, MEAN))
        assert (chosen == again).all()
        if method is RANDOM:
            assert chosen.max() < 440
            assert all(len(set(row)) == n for row in chosen.tolist())
    # Balanced choices of four draws in a row share no input.
    two = choose(costs.table, costs.head.sample, plan, Task(BALANCED, 2, MEAN))
    assert len(set(two[:4].ravel().tolist())) == 8


def test_percentiles_that_no_input_is_near_are_left_out() -> None:
    costs = costs_of("instructions", inputs=60, added=0)
    few = costs.table.take(np.flatnonzero(costs.table.attempts() < 8))
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
