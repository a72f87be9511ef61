"""Estimators on synthetic costs whose answers are known."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from typer.testing import CliRunner

from mldsa_lab import LabError
from mldsa_lab.choice.design import design
from mldsa_lab.cli.main import app
from mldsa_lab.estimate.cells import estimate_plain, estimate_random, estimate_signing, ratio
from mldsa_lab.estimate.interval import Interval, mean_interval, median_over_rounds
from mldsa_lab.theory.rejection import RejectionModel
from mldsa_lab.theory.trace import Trace
from mldsa_studies.judge import root_mean_square
from mldsa_studies.signers import Signer, draw_traces
from mldsa_studies.simulate import (
    CALM,
    QUIET,
    Clocks,
    NoisyMachine,
    cell_of,
    mean_errors,
    random_coverage,
    report,
    report_ticks,
    signing_coverage,
    tick_coverage,
)

MODEL = RejectionModel.for_set("ML-DSA-65")
STOPPING = Signer(z=17_000, r=19_000, z_step=1_000, r_step=700)


@pytest.fixture(scope="module")
def chosen() -> list[Trace]:
    pool = draw_traces(MODEL, 2000, np.random.default_rng(6))
    return [pool[i] for i in design(pool, MODEL, 12, restarts=2)]


def test_hint_failures_are_measured_where_the_inputs_have_them() -> None:
    pool = draw_traces(MODEL, 4000, np.random.default_rng(8))
    with_hint = [t for t in pool if any(a.rejection == "h" for a in t)][:4]
    signer = Signer(h=60_000)

    def cost_of_hint(inputs: list[Trace]) -> Interval:
        cell = QUIET.measure(signer.cost_of(inputs), 3, np.random.default_rng())
        fit = estimate_signing(cell, inputs, MODEL).fit
        assert fit is not None
        return fit.costs(0.95)["h"]

    assert cost_of_hint([*pool[:10], *with_hint]).value == pytest.approx(60_000, rel=5e-3)
    # Without any, it is held a quarter of an attempt above c_r, uncertain by as much.
    without = [t for t in pool if not any(a.rejection == "h" for a in t)][:10]
    blind = cost_of_hint(without)
    assert blind.value == pytest.approx(21_000 + 0.25 * 20_500, rel=0.02)
    assert blind.low is not None and blind.low < 18_000


@pytest.mark.simulation
def test_errors_of_the_mean_at_ten_inputs() -> None:
    rng = np.random.default_rng(22)
    noise = NoisyMachine(drift=0, fast=0)  # level apart, which no choice of inputs can help
    of_random = mean_errors(MODEL, 10, Signer(), QUIET, 300, rng, designed=False)
    of_design = mean_errors(MODEL, 10, Signer(), noise, 60, rng, designed=True)
    stopping = mean_errors(MODEL, 10, STOPPING, QUIET, 40, rng, designed=True)
    assert 0.17 < root_mean_square(of_random) < 0.25
    assert root_mean_square(of_design) < 0.01
    assert root_mean_square(stopping) < 0.001
    bias = float(np.mean(of_design))
    assert abs(bias) < 4 * float(np.std(of_design)) / math.sqrt(len(of_design)) + 0.001


@pytest.mark.simulation
@pytest.mark.parametrize("rounds", [5, 12, 30])
def test_intervals_of_signing_cover(rounds: int) -> None:
    """Abort indexes, spikes, own habits of inputs, correlated drift and a second mode: nominally
    95 %, of 100 replications; the bounds leave three deviations of 2.2 % for chance."""
    rng = np.random.default_rng(rounds)
    covered = signing_coverage(
        MODEL, 12, (STOPPING, Signer()), NoisyMachine(), 100, rng, rounds=rounds, population=100_000
    )
    least = 0.84 if rounds == 5 else 0.88  # five rounds cannot show their own correlation
    shares = covered.holds.mean(axis=0)
    assert len(shares) == 6 and min(shares) > least and max(shares) <= 1.0
    assert shares[-1] > 0.91
    # Pairing by round is worth something: the ratio is known better than either mean.
    widths = np.median(covered.half_width, axis=0)
    assert widths[-1] < 0.75 * widths[0]


def test_interval_of_hedged_signing_covers() -> None:
    for machine in (NoisyMachine(drift=0.02, fast=0), NoisyMachine(memory=0.0)):
        covered = random_coverage(MODEL, Signer(), machine, 400, np.random.default_rng(9))
        assert 0.91 < covered.holds.mean() < 0.99


@pytest.mark.parametrize("lengths", [False, True])
@pytest.mark.parametrize("both", [False, True])
@pytest.mark.parametrize("tick", [0.01, 0.03, 0.2])
def test_coarse_clocks_bias_no_mean(tick: float, both: bool, lengths: bool) -> None:
    """Nominally 95 %, of 100 replications; the bound leaves three deviations for chance."""
    rng = np.random.default_rng(31)
    means = tick_coverage(MODEL, "verify", Clocks(tick, both, lengths), 100, rng)
    told = [mean for mean in means if mean is not None]
    assert len(told) == (0 if both and tick > 0.05 else 100)
    holds = [mean.low <= 1 <= mean.high for mean in told if mean.low and mean.high]
    assert sum(holds) >= 0.88 * len(told)
    assert not told or abs(np.mean([mean.value for mean in told]) - 1) < tick / 2 + 0.005


@pytest.mark.simulation
@pytest.mark.parametrize("tick", [0.01, 0.03])
def test_coarse_clocks_bias_no_mean_of_signing(tick: float) -> None:
    means = tick_coverage(MODEL, "sign", Clocks(tick, both=True), 100, np.random.default_rng(32))
    holds = [mean.low <= 1 <= mean.high for mean in means if mean and mean.low and mean.high]
    assert len(holds) == 100 and sum(holds) >= 92


def test_the_mean_of_hedged_signing_is_not_trimmed() -> None:
    """A heavy tail is part of the cost: every robust location would be far below."""
    rng = np.random.default_rng(11)
    cost = np.concatenate([Signer().cost_of(draw_traces(MODEL, 4000, rng))])
    found = estimate_random(cell_of(cost.reshape(40, 1, 100)))
    assert found.mean.value == pytest.approx(cost.mean(), rel=1e-12)
    assert found.mean.value == pytest.approx(Signer().mean(MODEL), rel=0.03)
    assert np.median(cost) < 0.9 * found.mean.value
    assert found.quantiles[99].value == pytest.approx(np.quantile(cost, 0.99))
    assert 99.9 not in found.quantiles  # four samples beyond


@pytest.mark.parametrize("rounds", [1, 2, 3, 4])
def test_fewer_than_four_rounds_have_no_interval(chosen: list[Trace], rounds: int) -> None:
    rng = np.random.default_rng(5)
    cell = NoisyMachine().measure(Signer().cost_of(chosen), rounds, rng)
    signing, plain = estimate_signing(cell, chosen, MODEL), estimate_plain(cell)
    found = [signing.mean, plain.mean, estimate_random(cell).mean]
    found += [ratio(plain, plain), ratio(signing, signing), *signing.quantiles.values()]
    for interval in found:
        assert (interval.low is None, interval.high is None) == (rounds < 4, rounds < 4)
    assert (mean_interval(np.arange(1.0, rounds + 1), 0.95).low is None) == (rounds < 4)


@pytest.mark.parametrize("machine", [NoisyMachine(habit=0), NoisyMachine(0.002, fast=0, habit=0)])
def test_plain_mean_covers_inputs_and_rounds(machine: NoisyMachine) -> None:
    """Inputs are a sample of their population, here of standard deviation 3 %."""
    rng, holds = np.random.default_rng(13), []
    for _ in range(300):
        cost = np.exp(0.03 * rng.standard_normal(12) - 0.03**2 / 2)
        mean = estimate_plain(machine.measure(4e4 * cost, 12, rng)).mean
        holds.append((mean.low or math.inf) < 4e4 < (mean.high or 0))
    assert np.mean(holds) > 0.90


def test_outliers_hardly_move_the_plain_mean() -> None:
    rng = np.random.default_rng(14)
    clean = 4e4 * np.exp(0.01 * rng.standard_normal((20, 3, 12)))
    spoilt = clean.copy()
    spoilt[rng.random(spoilt.shape) < 0.1] *= 30
    spoilt[3:8] *= 2.5  # a quarter of the run on a busy machine
    value = estimate_plain(cell_of(spoilt)).mean.value
    assert value == pytest.approx(estimate_plain(cell_of(clean)).mean.value, rel=0.01)
    assert spoilt.mean() > 2 * value


def test_median_interval_sides_and_correlation() -> None:
    rng = np.random.default_rng(17)
    skewed = median_over_rounds(np.concatenate([rng.normal(0, 0.01, 16), rng.normal(1, 0.01, 12)]))
    assert skewed.above > 5 * skewed.below
    walk = np.cumsum(rng.normal(size=40))
    shuffled = rng.permutation(walk)
    assert median_over_rounds(walk).below > 1.5 * median_over_rounds(shuffled).below
    flat = median_over_rounds(np.full(9, 2.0))
    assert (flat.value, flat.below, flat.above) == (2.0, 0.0, 0.0)


def test_ratio_of_signers_that_share_all_noise_is_exact(chosen: list[Trace]) -> None:
    """Every round disturbs both alike, by up to a factor of two."""
    rng = np.random.default_rng(18)
    level = rng.uniform(0, math.log(2), 10)[:, None, None]
    estimates = [
        estimate_signing(cell_of(np.exp(level) * s.cost_of(chosen)[None, None, :]), chosen, MODEL)
        for s in (Signer(setup=3e4, z=1e4, r=1.1e4, h=1.375e4), Signer())
    ]
    found = ratio(*estimates)
    exact = Signer(setup=3e4, z=1e4, r=1.1e4, h=1.375e4).mean(MODEL) / Signer().mean(MODEL)
    assert found.low is not None and found.high is not None
    assert found.low <= exact <= found.high < 1.01 * found.low
    mean = estimates[0].mean
    assert mean.low is not None and mean.high is not None and mean.high / mean.low > 1.1


def test_ratio_uses_the_rounds_in_common() -> None:
    """A reference that died half-way, while the machine later slowed down."""
    level = np.concatenate([np.zeros(6), np.full(10, 0.7)])[:, None, None]
    table = np.exp(level) * np.array([1.0, 2.0, 3.0])
    whole, half = cell_of(2 * table), cell_of(table[:6])
    found = ratio(estimate_plain(whole), estimate_plain(half))
    assert found.value == pytest.approx(2.0)


def test_intervals_and_ratios_include_the_tick() -> None:
    fine = CALM.measure(np.full(12, 28_000.0), 12, np.random.default_rng(33))
    for estimate in (estimate_plain, estimate_random):
        one, other = estimate(fine), estimate(replace(fine, step=560.0))
        assert one.mean.low is not None and one.mean.high is not None
        expected = one.mean.value, one.mean.low - 280, one.mean.high + 560
        assert tuple(other.mean) == pytest.approx(expected)
    one, other = estimate_plain(fine), estimate_plain(replace(fine, step=560.0))
    part = 560 / one.mean.value
    # Of the same samples the ratio is exact but for the ticks.
    assert tuple(ratio(one, one)) == pytest.approx((1, 1, 1))
    assert tuple(ratio(other, one)) == pytest.approx((1, 1 - part / 2, 1 + part))
    assert tuple(ratio(one, other)) == pytest.approx((1, 1 - part, 1 + part / 2))
    assert tuple(ratio(other, other)) == pytest.approx((1, 1 - 1.5 * part, 1 + 1.5 * part))


@pytest.mark.simulation
def test_the_study_prints() -> None:
    refused = CliRunner().invoke(app, "study coverage --by records --sets ML-DSA-66").exception
    assert isinstance(refused, LabError) and "ML-DSA-66" in str(refused)
    for made, rows in ((report, [12, 8]), (report_ticks, [12, 12])):
        assert [section.grid.rows for section in made("ML-DSA-44", 2, 1).sections] == rows
