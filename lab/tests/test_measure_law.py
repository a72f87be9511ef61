"""Terms of the cost model and the law of the cost, against simulation and the exact classes."""

from __future__ import annotations

import math

import measure_cases as cases
import numpy as np
import pytest

from mldsa_lab.theory.cost_model import CostModel
from mldsa_lab.theory.law import Law
from mldsa_lab.theory.rejection import RejectionModel
from mldsa_lab.theory.table import TraceTable
from mldsa_lab.theory.terms import (
    LINEAR,
    attempt_terms,
    index_moments,
    prior,
    terms,
    to_costs,
)
from mldsa_studies.coverage import targets

SHARES = (0.05, 0.5, 0.95, 0.99, 0.999)


def coefficients_of(set_name: str, setup: float, z: float, r: float, h: float) -> np.ndarray:
    model = RejectionModel.of(set_name)
    found = np.zeros(len(prior(model).names))
    found[:LINEAR] = np.linalg.solve(to_costs(model), [setup, z, r, h])
    return found


@pytest.mark.parametrize("name", cases.SETS)
def test_every_term_is_zero_on_average(name: str) -> None:
    values = terms(cases.pool(name, 1, 20_000), RejectionModel.of(name))
    error = values.std(axis=0) / math.sqrt(len(values))
    assert (values[:, 0] == 1).all()
    assert (np.abs(values.mean(axis=0))[1:] < 4.5 * error[1:]).all()


@pytest.mark.parametrize("name", cases.SETS)
def test_coefficients_are_costs_of_attempts(name: str) -> None:
    model, known = RejectionModel.of(name), prior(RejectionModel.of(name))
    beta = coefficients_of(name, 50.0, 9.0, 11.0, 14.0)
    traces = cases.pool(name)[:100]
    values = terms(traces, model)
    expected = CostModel(50, 9, 11, 14).of(TraceTable.of(name, traces).counts())
    np.testing.assert_allclose(values @ beta, expected, rtol=1e-12)
    assert beta[0] == pytest.approx(CostModel(50, 9, 11, 14).mean(model))
    # The prior's centre is a signer within the bounds from Keccak counts.
    first, z, r, h = to_costs(model) @ known.centre[:LINEAR]
    assert 1 < first / r < known.first.high
    assert 0 < z < r < h
    # Terms of the number of attempts are those of the traces.
    rejected = np.array([len(t) - 1 for t in traces])
    table, which = attempt_terms(model, int(rejected.max())), known.of_attempts[LINEAR:]
    np.testing.assert_allclose(table[rejected][:, which], values[:, LINEAR:][:, which])
    assert not table[:, ~which].any()


@pytest.mark.parametrize("name", cases.SETS)
def test_variances_of_the_index_terms_are_those_of_single_attempts(name: str) -> None:
    model = RejectionModel.of(name)
    # Signatures with one rejected attempt show the law of an attempt.
    short = [t for t in cases.pool(name, 1, 20_000) if len(t) == 2]
    values = terms(short, model)[:, LINEAR : LINEAR + 4]
    kinds = np.array([t[0].rejection for t in short])
    for kind, moment in zip("zr", index_moments(model), strict=True):
        seen = np.cov(values[kinds == kind].T)
        assert np.abs(seen - moment).max() < 0.15 * max(moment.max(), 0.1)


@pytest.mark.parametrize("name", cases.SETS)
def test_the_law_of_a_linear_signer_is_that_of_the_classes(name: str) -> None:
    model = RejectionModel.of(name)
    law = Law.of(model, coefficients_of(name, 50.0, 9.0, 11.3, 14.0))
    exact = CostModel(50, 9, 11.3, 14)
    for share in SHARES:
        value, row = law.quantile(share)
        assert value == pytest.approx(exact.quantile(model, share), rel=1e-9)
        assert row[0] == pytest.approx(1)
        # The derivative belongs to a class near that cost.
        assert row[:LINEAR] @ coefficients_of(name, 50, 9, 11.3, 14)[:LINEAR] == pytest.approx(
            value, rel=0.03
        )
    assert law.share_up_to(49) == 0
    assert law.share_up_to(50) == pytest.approx(model.p_accept)
    assert law.share_up_to(1e9) == pytest.approx(1, abs=1e-6)


@pytest.mark.parametrize("kind", ["stops at the first polynomial", "attempts in pairs"])
def test_the_law_holds_indexes_and_steps(kind: str) -> None:
    name = "ML-DSA-65"
    model = RejectionModel.of(name)
    target = targets(name)[kind]
    traces = cases.pool(name)[:400]
    solved, *_ = np.linalg.lstsq(terms(traces, model), target.cost_of(traces), rcond=None)
    assert solved[0] == pytest.approx(target.mean(model), rel=1e-9)
    costs = target.draw(model, 200_000, np.random.default_rng(3))
    # Some misfit forces the convolution where the classes alone would do.
    law = Law.of(model, solved, 0.001)
    for share in SHARES:
        band = 3 * math.sqrt(share * (1 - share) / len(costs))
        low, high = np.quantile(costs, [max(share - band, 0), min(share + band, 1)])
        value, _ = law.quantile(share)
        assert low * 0.998 <= value <= high * 1.002
        if share > 0.05:  # which lies within the signatures accepted at once
            assert law.share_up_to(value) == pytest.approx(share, abs=0.02)


def test_misfit_spreads_the_law() -> None:
    model = RejectionModel.of("ML-DSA-44")
    beta = coefficients_of("ML-DSA-44", 3.0, 1.0, 1.0, 1.3)
    # The least cost of a signer without misfit is that of a signature accepted at once.
    assert Law.of(model, beta, 0.0).share_up_to(2.99) == 0
    assert 0.05 < Law.of(model, beta, 0.01).share_up_to(2.99) < model.p_accept
    sharp, wide = (Law.of(model, beta, m).quantile(0.99)[0] for m in (0.0, 0.05))
    assert wide == pytest.approx(sharp, rel=0.03)


def test_the_law_of_a_faulty_fit_is_finite() -> None:
    model = RejectionModel.of("ML-DSA-65")
    for costs in ((3, -0.5, 1, 1), (-2, 1, 1, 1), (5, 0, 0, 0)):
        beta = coefficients_of("ML-DSA-65", *costs)
        for misfit in (0.0, 0.02):
            found = [Law.of(model, beta, misfit).quantile(share)[0] for share in SHARES]
            assert np.isfinite(found).all()
            assert (np.diff(found) >= 0).all()
