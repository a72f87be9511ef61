"""The order to measure in: costs do not follow a drift."""

from __future__ import annotations

import numpy as np
import pytest

from mldsa_lab.choice.choice import read_ready
from mldsa_lab.choice.design import balanced_order, design
from mldsa_lab.theory.rejection import DESIGN_FIRST, RejectionModel
from mldsa_lab.theory.trace import Array, TraceTable
from mldsa_studies.simulate import draw_traces

SETS = ("ML-DSA-44", "ML-DSA-65", "ML-DSA-87")


def drift_correlations(table: TraceTable) -> Array:
    """(4, 4) correlations of attempts and of 1, n_z and n_r over the cost, for traces in their
    order, with a line and with warm-ups that decay fast to slowly."""
    n, attempts = len(table), table.iterations()
    n_z, n_r, _ = table.counts().T
    cost = DESIGN_FIRST.value + attempts - 1
    decays = [np.exp(-np.arange(n) / (share * n)) for share in (0.05, 0.15, 0.4)]
    rows = np.vstack([attempts, 1 / cost, n_z / cost, n_r / cost, np.arange(n), *decays])
    correlations: Array = np.corrcoef(rows)[:4, 4:]
    return correlations


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize(("n", "most"), [(10, 0.2), (100, 0.02)])
def test_ready_made_selections_come_in_it(name: str, n: int, most: float) -> None:
    table = TraceTable.from_traces(name, read_ready(name, "regression", n).traces())
    by_iterations = table.take(np.argsort(table.iterations(), kind="stable"))
    assert np.abs(drift_correlations(by_iterations)).max() > 0.6
    assert np.abs(drift_correlations(table)).max() < most


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize(("n", "worse", "bias"), [(3, 0.01, 0.02), (10, 0.01, 0.003)])
def test_a_warm_up_that_decays_moves_the_regression_no_more_than_its_mean(
    name: str, n: int, worse: float, bias: float
) -> None:
    """Costs are 8 % too high at first; a straight line through costs over attempts, with relative
    errors, at the mean and at the 99th percentile."""
    model = RejectionModel.for_set(name)
    drawn = TraceTable.from_traces(name, draw_traces(model, 1000, np.random.default_rng(n)))
    table = drawn.take(design(drawn, model, n))

    targets = np.array([model.expected_iterations, model.iterations_quantile(0.99)])

    def off(order: list[int]) -> float:
        attempts = table.take(order).iterations()
        warm_up = 0.08 * np.exp(-np.arange(n) / (n / 4))
        true = 2.0 + attempts
        slope, start = np.polyfit(attempts, true * (1 + warm_up), 1, w=1 / true)
        found = (start + slope * targets) / (2.0 + targets) - 1 - warm_up.mean()
        return float(np.abs(found).max())

    by_iterations = [int(i) for i in np.argsort(table.iterations(), kind="stable")]
    assert off(by_iterations) > worse
    assert off(balanced_order(table)) < bias


@pytest.mark.parametrize("n", [1, 2, 3, 7, 400])
def test_any_number(n: int) -> None:
    model = RejectionModel.for_set("ML-DSA-65")
    table = TraceTable.from_traces("ML-DSA-65", draw_traces(model, n, np.random.default_rng(2)))
    order = balanced_order(table)
    assert sorted(order) == list(range(n)) and order == balanced_order(table)
