"""Response times under load: against the formula of Pollaczek and Khinchine, and simulations."""

from __future__ import annotations

import numpy as np
import pytest
from tiers import first_of

from mldsa_lab.theory.rejection import RejectionModel
from mldsa_lab.theory.trace import Array
from pqc_impact.queue import ServiceLaw, responses

CONSTANT = ServiceLaw(np.array([2.0]), np.array([1.0]))
SKEWED = ServiceLaw(np.array([1.0, 2.0, 9.0]), np.array([0.6, 0.3, 0.1]))


def geometric() -> ServiceLaw:
    """The law of signing where all iterations cost the same."""
    accept = RejectionModel.for_set("ML-DSA-44").p_accept
    number = np.arange(1, 200)
    mass = accept * (1 - accept) ** (number - 1)
    return ServiceLaw(number.astype(np.float64), mass / mass.sum())


def simulate(service: ServiceLaw, rate: float, size: int, requests: int, seed: int) -> Array:
    """Response times of requests at one server that serves full batches in turn."""
    random = np.random.default_rng(seed)
    arrivals = np.cumsum(random.exponential(1 / rate, requests)).reshape(-1, size)
    durations = random.choice(service.time, len(arrivals), p=service.mass)
    ends, end = [], 0.0
    for full, duration in zip(arrivals[:, -1], durations, strict=True):
        end = max(end, full) + duration
        ends.append(end)
    return (np.array(ends)[:, None] - arrivals).ravel()


@pytest.mark.parametrize("load", [0.1, 0.5, 0.9])
@pytest.mark.parametrize("law", [CONSTANT, SKEWED, geometric()], ids=["one", "three", "geometric"])
def test_the_mean_is_that_of_pollaczek_and_khinchine(law: ServiceLaw, load: float) -> None:
    rate = load / law.mean
    second = float(law.time**2 @ law.mass)
    expected = law.mean + rate * second / (2 * (1 - load))
    assert responses(law, rate).mean == pytest.approx(expected, rel=2e-3)


def test_exponential_service_has_an_exponential_response() -> None:
    """M/M/1: the response is exponential with the rate that is left over."""
    shares = (np.arange(20_000) + 0.5) / 20_000
    law = ServiceLaw(-np.log1p(-shares), np.full(20_000, 1 / 20_000))
    result = responses(law, 0.7)
    for percent in (50, 90, 99):
        exact = -np.log1p(-percent / 100) / 0.3
        assert result.percentile(percent) == pytest.approx(exact, rel=5e-3)


@pytest.mark.parametrize("size_and_load", first_of([(4, 0.3), (1, 0.5), (1, 0.65), (8, 0.8)]))
def test_simulated_responses_have_the_same_law(size_and_load: tuple[int, float]) -> None:
    size, load = size_and_load
    law = geometric()
    batch = law if size == 1 else law.of_batch(size)
    rate = load * size / batch.mean
    result = responses(batch, rate, size)
    drawn = simulate(batch, rate, size, 60_000 if size > 1 else 40_000, seed=size)
    assert result.mean == pytest.approx(drawn.mean(), rel=0.05)
    for percent, tolerance in ((50, 0.05), (90, 0.05), (99, 0.08)):
        expected = np.percentile(drawn, percent)
        assert result.percentile(percent) == pytest.approx(expected, rel=tolerance)


def test_a_batch_is_the_sum_of_its_services() -> None:
    law, batch = geometric(), geometric().of_batch(8)
    assert batch.mean == pytest.approx(8 * law.mean)
    variance = [float(one.time**2 @ one.mass) - one.mean**2 for one in (law, batch)]
    assert variance[1] == pytest.approx(8 * variance[0], rel=0.01)


@pytest.mark.parametrize("load", [0.0, 1.0, 1.2])
def test_a_server_that_cannot_keep_up_has_no_law(load: float) -> None:
    with pytest.raises(ValueError, match="must be above 0 and below 1"):
        responses(CONSTANT, load / CONSTANT.mean)
