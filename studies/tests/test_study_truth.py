"""The truth from many inputs, on synthetic signers whose truth is known."""

from __future__ import annotations

import numpy as np
import pytest

from mldsa_lab.theory.rejection import RejectionModel
from mldsa_studies.signers import Signer, random_table
from mldsa_studies.truth import truth

PERCENTILES = (50.0, 95.0, 99.0)


@pytest.mark.parametrize("set_name", ["ML-DSA-44", "ML-DSA-65", "ML-DSA-87"])
def test_mean_and_percentiles_of_a_signer_that_stops_early(set_name: str) -> None:
    model, rng = RejectionModel.of(set_name), np.random.default_rng(4)
    signer = Signer(z=17_000.0, r=19_000.0, z_step=1_000.0, r_step=700.0)
    population = 600_000
    costs = signer.draw(model, population, rng)
    table = random_table(model, 1500, rng)
    cost = signer.cost_of(table.traces()) * (1 + 0.002 * rng.standard_normal(1500))
    found = truth(table, cost, model, PERCENTILES)
    assert abs(found.mean.value - signer.mean(model)) < 4 * found.mean.error
    assert found.mean.error < 3e-4 * found.mean.value
    assert found.unexplained == pytest.approx(0.0024, rel=0.3)
    assert found.plain == cost.mean()
    for percentile, known in found.quantiles.items():
        exact = float(np.quantile(costs, percentile / 100))
        # The population's own error at p99 is about 0.2 %.
        assert known.value == pytest.approx(exact, rel=6e-3)


def test_a_signer_that_is_not_linear_has_the_mean_of_all_signatures() -> None:
    """Attempts computed in pairs: the regression is wrong, its mean over the law is right."""
    model, rng = RejectionModel.of("ML-DSA-65"), np.random.default_rng(1)
    law = model.p_accept * (1 - model.p_accept) ** np.arange(400)
    pairs = 50.0 + 20.0 * np.ceil(np.arange(1, 401) / 2) + 0.3 * np.arange(1, 401) ** 1.5
    off = []
    for _ in range(12):
        table = random_table(model, 800, rng)
        found = truth(table, pairs[table.attempts() - 1], model, PERCENTILES)
        off.append((found.mean.value - float(law @ pairs)) / found.mean.error)
    assert abs(np.mean(off)) < 1.5 and np.max(np.abs(off)) < 5


def test_noise_is_no_part_of_percentiles() -> None:
    model, rng = RejectionModel.of("ML-DSA-65"), np.random.default_rng(2)
    table = random_table(model, 1500, rng)
    exact = Signer(z_step=300.0).cost_of(table.traces())
    noisy = exact * (1 + 0.03 * rng.standard_normal(1500))
    clean, left, taken = (
        truth(table, cost, model, PERCENTILES, noise)
        for cost, noise in ((exact, 0.0), (noisy, 0.0), (noisy, 0.03))
    )
    off = {
        name: np.array(
            [found.quantiles[p].value / clean.quantiles[p].value - 1 for p in PERCENTILES]
        )
        for name, found in (("left", left), ("taken", taken))
    }
    assert np.abs(off["taken"]).max() < 6e-3
    assert np.linalg.norm(off["taken"]) < 0.8 * np.linalg.norm(off["left"])
    assert left.mean.value == taken.mean.value
