"""The rejection model against its published table, its closed forms, and simulation."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from mldsa_lab import LabError
from mldsa_lab.sets import N, Q, parameter_set
from mldsa_lab.theory.law import Law
from mldsa_lab.theory.rejection import RejectionModel
from mldsa_lab.theory.trace import PASSED
from mldsa_studies.signers import draw_traces, random_table

SETS = ("ML-DSA-44", "ML-DSA-65", "ML-DSA-87")
SHARES = (0.05, 0.50, 0.95, 0.99, 0.999)


@pytest.mark.parametrize("name", SETS)
def test_check_probabilities_by_enumeration(name: str) -> None:
    """One coefficient's chance to pass, counted over all values instead of by formula."""
    p, model = parameter_set(name), RejectionModel.for_set(name)
    y = np.arange(-p.gamma1 + 1, p.gamma1 + 1)
    for shift in (-p.beta, 0, 7, p.beta):  # every possible c s1 gives the same count
        passes = np.count_nonzero(np.abs(y + shift) < p.gamma1 - p.beta)
        assert (passes / y.size) ** (N * p.l) == pytest.approx(model.p_z, rel=1e-12)
    r = np.arange(Q)
    r0 = r % (2 * p.gamma2)
    r0 = np.where(r0 > p.gamma2, r0 - 2 * p.gamma2, r0)
    r0 = np.where(r - r0 == Q - 1, r0 - 1, r0)  # Decompose (Algorithm 36), step 4
    passes = np.count_nonzero(np.abs(r0) < p.gamma2 - p.beta)
    assert (passes / Q) ** (N * p.k) == pytest.approx(model.p_r, rel=1e-12)


@pytest.mark.parametrize("name", SETS)
def test_class_table_sums_to_one_and_has_the_closed_forms_as_moments(name: str) -> None:
    model = RejectionModel.for_set(name)
    assert 0 <= 1 - model.class_table(1e-3).probability.sum() < 1e-3
    counts, probability = model.class_table(1e-12)
    assert 1 - 1e-12 <= probability.sum() <= 1 + 1e-12
    assert len(np.unique(counts, axis=0)) == len(counts)
    np.testing.assert_allclose(probability @ counts, model.expected_counts, rtol=1e-8)
    # Rejected attempts are geometric; given their number the classes are multinomial.
    rejected = counts.sum(axis=1)
    law = np.bincount(rejected, weights=probability)
    geometric = stats.geom.pmf(np.arange(len(law)) + 1, model.p_accept)
    np.testing.assert_allclose(law[:60], geometric[:60], rtol=1e-9)
    share = np.array(model.iteration[:3]) / sum(model.iteration[:3])
    five = rejected == 5
    np.testing.assert_allclose(
        probability[five] / probability[five].sum(),
        stats.multinomial.pmf(counts[five], 5, share),
        rtol=1e-9,
    )


@pytest.mark.parametrize("name", SETS)
def test_simulated_attempts_agree(name: str) -> None:
    """Draw whole vectors of polynomials, not the model's shortcuts, and compare every law."""
    model, rng, size = RejectionModel.for_set(name), np.random.default_rng(44), 200_000
    z_fails = rng.random((size, model.l)) > model.p_z ** (1 / model.l)
    r_fails = rng.random((size, model.k)) > model.p_r ** (1 / model.k)
    z, r = z_fails.any(axis=1), r_fails.any(axis=1)
    h = rng.random(size) < model.fail_h
    classes = np.where(z, 0, np.where(r, 1, np.where(h, 2, 3)))
    seen = np.bincount(classes, minlength=4)
    assert stats.chisquare(seen, size * np.array(model.iteration)).pvalue > 1e-4
    for fails, any_fails, law in (
        (z_fails, z, model.first_failing_z()),
        (r_fails, r & ~z, model.first_failing_r()),
    ):
        first = np.bincount(fails[any_fails].argmax(axis=1), minlength=len(law))
        assert stats.chisquare(first, any_fails.sum() * law).pvalue > 1e-4
    both = stats.binomtest(int((z & r).sum()), int(z.sum()), model.p_r_fails_given_z_fails)
    assert both.pvalue > 1e-4
    attempts = np.diff(np.flatnonzero(classes == 3))
    for share in SHARES:
        quantile = model.iterations_quantile(share)
        assert np.mean(attempts <= quantile) > share - 0.01
        assert np.mean(attempts < quantile) < share + 0.01


@pytest.mark.parametrize("name", SETS)
def test_drawn_traces_follow_the_law(name: str) -> None:
    """The generator that the other tests rest on."""
    model, count = RejectionModel.for_set(name), 50_000
    drawn = random_table(model, count, np.random.default_rng(1))
    seen = np.bincount(drawn.rejections(), minlength=4)
    assert seen[3] == count == len(drawn)
    expected = np.array(model.iteration) * len(drawn.codes)
    # The number of accepted ones is fixed, so this statistic is only nearly chi-square.
    assert ((seen - expected) ** 2 / expected).sum() < stats.chi2.ppf(1 - 1e-5, 3)
    index = np.bincount(drawn.first_failing("r")[drawn.rejections() == 1], minlength=model.k)
    assert stats.chisquare(index, seen[1] * model.first_failing_r()).pvalue > 1e-4
    assert set(np.unique(drawn.first_failing("z"))) <= {*range(model.l), PASSED}
    assert all(t[-1].failed == 0 for t in draw_traces(model, 50, np.random.default_rng(2)))


def test_quantiles_of_the_law_are_those_of_simulated_costs() -> None:
    model, size = RejectionModel.for_set("ML-DSA-65"), 400_000
    counts = random_table(model, size, np.random.default_rng(3)).counts()
    cost = 60.0 + counts @ [17.3, 21.1, 26.3]
    law = Law.from_costs(model, (60.0, 17.3, 21.1, 26.3))
    assert cost.mean() == pytest.approx(law.mean, rel=0.005)
    for share in SHARES:
        value, _ = law.quantile(share)
        assert np.mean(cost <= value + 1e-9) >= share - 0.002
        assert np.mean(cost < value - 1e-9) <= share + 0.002
        assert 60.0 + law.counts_near(share) @ [17.3, 21.1, 26.3] == pytest.approx(value, rel=0.02)
    # A spread within classes: compare with the same costs, spread.
    scatter = 0.02
    wide = replace(law, misfit=scatter)
    noise = np.random.default_rng(4).standard_normal(size)
    spread = cost + scatter * np.sqrt(cost * law.mean) * noise
    for share in SHARES:
        assert np.mean(spread <= wide.quantile(share)[0]) == pytest.approx(share, abs=0.003)
    at = wide.curve(np.array(SHARES))
    np.testing.assert_allclose(at, [wide.quantile(share)[0] for share in SHARES], rtol=2e-3)


def test_arguments_out_of_range() -> None:
    model = RejectionModel.for_set("ML-DSA-44")
    for p in (0.0, 1.0, -1.0, float("nan")):
        with pytest.raises(LabError, match="strictly between 0 and 1"):
            model.iterations_quantile(p)
    with pytest.raises(LabError, match="tail"):
        model.class_table(0.0)
    with pytest.raises(LabError, match="ML-DSA-43"):
        RejectionModel.for_set("ML-DSA-43")
