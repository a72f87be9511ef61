"""The law behind the audit: sizes, bands, samples, implied costs, detectable differences."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import ttest_ind

from mldsa_lab.audit.law import (
    Bound,
    Term,
    attempt_over_first,
    band,
    firsts,
    laws,
    order_shares,
    share_of_key,
)
from mldsa_lab.audit.power import detectable, significant_from, variations
from mldsa_lab.audit.sizes import forms
from mldsa_lab.sets import PARAMETER_SETS
from mldsa_lab.theory.rejection import RejectionModel
from mldsa_lab.theory.signers import most_first
from mldsa_studies.signers import Signer

SETS = tuple(PARAMETER_SETS)
MANY = 10**8

# Sizes ------------------------------------------------------------------------------------------


def test_sizes_of_round_3_and_bare_keys() -> None:
    """The others are among the golden figures."""
    found = {(f.object, n): f.bytes for n in SETS for f in forms(n) if f.standard == "round3"}
    assert [found["private-key", name] for name in SETS] == [2528, 4000, 4864]
    assert [found["signature", name] for name in SETS] == [2420, 3293, 4595]
    bare = [f.bytes for name in SETS for f in forms(name) if f.encoding == "pkcs8-bare"]
    assert bare == [2584, 4056, 4920]


# Bands ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "highest", "spread", "minimum", "mean", "tail"),
    [
        ("ML-DSA-44", 3.96, 0.52, 0.66, 1.23, 3.5),
        ("ML-DSA-65", 5.64, 0.47, 0.65, 1.13, 3.1),
        ("ML-DSA-87", 7.29, 0.33, 0.79, 1.10, 2.4),
    ],
)
def test_the_bands_of_the_theory(
    name: str, highest: float, spread: float, minimum: float, mean: float, tail: float
) -> None:
    most = most_first(name)
    assert most == pytest.approx(highest, abs=0.005)

    def limits(over: str, under: str) -> tuple[float, float]:
        return band(name, over, under, MANY, most, z_costs=(1.0,))

    assert limits("sd", "mean")[0] == pytest.approx(spread, abs=0.006)
    assert limits("min", "median")[1] == pytest.approx(minimum, abs=0.006)
    assert limits("mean", "median")[0] == pytest.approx(mean, abs=0.006)
    assert limits("p99", "median")[0] == pytest.approx(tail, abs=0.06)


@pytest.mark.parametrize("name", SETS)
def test_the_law_is_that_of_the_rejection_model(name: str) -> None:
    model = RejectionModel.of(name)
    one = laws(name, (1.0,))[0]
    # All attempts cost the same: the rejected ones are geometric.
    reject = 1 - model.p_accept
    assert one.mean == pytest.approx(reject / model.p_accept)
    assert one.moments[0] == pytest.approx(math.sqrt(reject) / model.p_accept, rel=1e-5)
    for share in (0.05, 0.5, 0.95, 0.99, 0.999):
        assert one.rejected_at(share) == pytest.approx(model.attempts_quantile(share) - 1, abs=1e-9)
    cheap = laws(name, (0.7,))[0]
    n_z, n_r, n_h = model.expected_counts
    assert cheap.mean == pytest.approx(0.7 * n_z + n_r + n_h)


@pytest.mark.parametrize("samples", [10, 100, 2000])
def test_terms_hold_what_samples_show(samples: int) -> None:
    name = "ML-DSA-65"
    model = RejectionModel.of(name)
    rng = np.random.default_rng(7)
    signer = Signer(setup=2.5, z=0.85, r=1.0, h=1.0)
    runs = 150
    drawn = signer.draw(model, samples * runs, rng)
    cost = drawn.reshape(runs, samples)
    seen = {
        "min": cost.min(axis=1),
        "median": np.median(cost, axis=1),
        "mean": cost.mean(axis=1),
        "max": cost.max(axis=1),
        "sd": cost.std(axis=1, ddof=1),
        "p5": np.percentile(cost, 5, axis=1),
        "p95": np.percentile(cost, 95, axis=1, method="weibull"),
        "p99": np.percentile(cost, 99, axis=1, method="inverted_cdf"),
    }
    one = laws(name, (0.85,))[0]
    for statistic, values in seen.items():
        term = one.term(statistic, samples)
        low, high = (term.fixed * 2.5 + k for k in (term.low, term.high))
        assert low - 1e-9 <= values.min(), statistic
        assert values.max() <= high + 1e-9, statistic


@pytest.mark.parametrize(("share", "samples"), [(0.0, 1), (0.5, 7), (0.99, 10), (1.0, 1000)])
def test_order_statistics_cover_the_share(share: float, samples: int) -> None:
    low, high = order_shares(share, samples)
    assert 0 <= low < high <= 1
    assert low <= max(share, 1e-4) and high >= min(share, 1 - 1e-4)


def test_share_of_the_key() -> None:
    # 201, 320 and 455 permutations of a mean signature, of which A takes 80, 150 and 280.
    for name, share in zip(SETS, (80 / 201, 150 / 320, 280 / 455), strict=True):
        assert share_of_key(name, "sign") == pytest.approx(share, abs=0.012)
    assert share_of_key("ML-DSA-44", "verify") == pytest.approx(1 - 9 / 99)
    assert share_of_key("ML-DSA-44", "keygen") == 0


# Implied costs ----------------------------------------------------------------------------------


def exact(fixed: float, k: float, value: float) -> list[Bound]:
    term = Term(fixed, k, k)
    return [Bound(term, value, at_least=True), Bound(term, value, at_least=False)]


def test_two_exact_figures_imply_the_costs() -> None:
    # S + 3 c = 72 and S + 21 c = 108: c = 2, S = 66.
    bounds = exact(1, 3, 72) + exact(1, 21, 108)
    found = attempt_over_first(bounds)
    assert found == pytest.approx((2 / 66, 2 / 66))
    assert firsts(bounds, 2 / 66) == pytest.approx((66, 66))


def test_the_largest_and_the_smallest_ratio_are_attained() -> None:
    rng = np.random.default_rng(11)
    attained = 0
    for _ in range(50):
        ks = np.sort(rng.uniform(0, 20, 4))
        setup, attempt = rng.uniform(1, 5), rng.uniform(0.2, 2)
        bounds = []
        for k in ks:
            term = Term(1.0, k * 0.9, k * 1.1)
            value = setup + k * attempt
            bounds += [Bound(term, value, at_least=True), Bound(term, value, at_least=False)]
        found = attempt_over_first(bounds)
        assert found is not None
        assert found[0] <= attempt / setup <= found[1]
        assert bool(np.isfinite(found[0]))
        if not np.isfinite(found[1]):
            continue
        attained += 1
        for x, inside in ((found[0], True), (found[1], True), (found[1] * 1.01 + 1e-9, False)):
            low, high = firsts(bounds, x)
            assert bool(low <= high * (1 + 1e-9)) is inside
    assert attained > 25


# Differences ------------------------------------------------------------------------------------


def test_the_power_is_the_power() -> None:
    rng = np.random.default_rng(3)
    found = detectable(0.5, 10, 0.05, 0.8)
    runs = 4000
    a = rng.normal(1.0, 0.5, (runs, 10))
    b = rng.normal(1.0 + found, 0.5, (runs, 10))
    share = float(np.mean(ttest_ind(a, b, axis=1).pvalue < 0.05))
    assert share == pytest.approx(0.8, abs=0.02)
    assert found > significant_from(0.5, 10, 0.05) > 0


@pytest.mark.parametrize("name", SETS)
def test_variations_span_the_laws(name: str) -> None:
    low, high = variations(name)
    assert low <= band(name, "sd", "mean", MANY, most_first(name))[0] * 1.001
    assert 0.29 < low < high < 1
    assert variations(name, 100) == pytest.approx((low / 10, high / 10))


# Rates ------------------------------------------------------------------------------------------
