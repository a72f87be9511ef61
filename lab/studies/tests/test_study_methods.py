"""The greedy baseline against a reading of its description; the truth where it is known."""

from __future__ import annotations

import math

import numpy as np
import pytest

from mldsa_lab import LabError
from mldsa_lab.choice import greedy
from mldsa_lab.theory.rejection import RejectionModel
from mldsa_lab.theory.trace import TraceTable, parse_trace
from mldsa_studies.choices import Stock
from mldsa_studies.signers import Signer, random_table
from mldsa_studies.truth import truth

SETS = ("ML-DSA-44", "ML-DSA-65", "ML-DSA-87")


def rates_of(rejections: list[list[int]]) -> list[float]:
    """Pass rates of the four checks over signatures, each given by the checks that its rejected
    attempts failed first: attempt after attempt, check after check."""
    reached, passed = [0] * 4, [0] * 4
    for signature in rejections:
        for failing in [*signature, 4]:
            for check in range(4):
                if check > failing:
                    break
                reached[check] += 1
                passed[check] += check != failing
    return [p / r for p, r in zip(passed, reached, strict=True)]


def as_rejections(counts: np.ndarray) -> list[int]:
    return [check for check in range(4) for _ in range(int(counts[check]))]


def by_class(counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    classes, members = np.unique(counts, axis=0, return_inverse=True)
    return classes, members.reshape(-1)


def slowly(counts: np.ndarray, n: int, rates: np.ndarray) -> list[int]:
    taken: list[list[int]] = []
    chosen = []
    run = len(counts) // n
    for turn in range(n):
        best, at = math.inf, -1
        for place in range(turn * run, (turn + 1) * run):
            result = rates_of([*taken, as_rejections(counts[place])])
            distance = sum(abs(a - b) for a, b in zip(result, rates, strict=True))
            if distance < best - 1e-12:
                best, at = distance, place
        chosen.append(at)
        taken.append(as_rejections(counts[at]))
    return chosen


@pytest.mark.parametrize("set_name", SETS)
@pytest.mark.parametrize("target", [None, 50, 95])
def test_the_choice_is_that_of_the_description(set_name: str, target: int | None) -> None:
    model, rng = RejectionModel.for_set(set_name), np.random.default_rng(5)
    table = random_table(model, 90, rng)
    counts = greedy.first_failures(table)
    rates = (
        greedy.mean_rates(set_name) if target is None else greedy.percentile_rates(set_name, target)
    )
    for n in (1, 2, 3, 7, 30):
        assert greedy.select(*by_class(counts), n, rates).tolist() == slowly(counts, n, rates)


def test_failures_are_counted_at_the_first_check_that_fails() -> None:
    traces = [parse_trace(t.split()) for t in ("z0r2 r1 c0h2 h3 ok", "ok", "z1 z2r0c1h0 ok")]
    table = TraceTable.from_traces("ML-DSA-44", traces)
    assert greedy.first_failures(table).tolist() == [[1, 1, 1, 1], [0, 0, 0, 0], [2, 0, 0, 0]]


def test_too_few_candidates_and_percentiles_out_of_range() -> None:
    counts = greedy.first_failures(random_table(RejectionModel.for_set("ML-DSA-44"), 8, rng_of(1)))
    with pytest.raises(LabError, match="greedy selection of 3 inputs from 8: needs at least 3"):
        greedy.select(*by_class(counts), 3, greedy.mean_rates("ML-DSA-44"))
    with pytest.raises(LabError, match="must lie in"):
        greedy.percentile_rates("ML-DSA-44", 100)


def rng_of(seed: int) -> np.random.Generator:
    return np.random.default_rng(seed)


def test_stand_ins_are_of_the_class_and_differ_while_they_can() -> None:
    classes = np.array([[0, 0], [1, 2], [0, 0], [1, 2], [0, 0], [3, 0]])
    stock = Stock(classes)
    assert stock.classes.tolist() == [[0, 0], [1, 2], [3, 0]]
    result = stock.stand_in(np.array([0, 0, 0, 1, 2, 2, 0]), rng_of(1))
    assert classes[result].tolist() == [[0, 0]] * 3 + [[1, 2], [3, 0], [3, 0], [0, 0]]
    assert sorted(result[:3]) == [0, 2, 4]
    firsts = {int(Stock(classes).stand_in(np.array([0]), rng_of(s))[0]) for s in range(40)}
    assert firsts == {0, 2, 4}


# --- the truth from many inputs -------------------------------------------------------------------


PERCENTILES = (50.0, 95.0, 99.0)


@pytest.mark.parametrize("set_name", ["ML-DSA-44", "ML-DSA-65", "ML-DSA-87"])
def test_mean_and_percentiles_of_a_signer_that_stops_early(set_name: str) -> None:
    model, rng = RejectionModel.for_set(set_name), np.random.default_rng(4)
    signer = Signer(z=17_000.0, r=19_000.0, z_step=1_000.0, r_step=700.0)
    population = 600_000
    costs = signer.draw(model, population, rng)
    table = random_table(model, 1500, rng)
    cost = signer.cost_of(table.traces()) * (1 + 0.002 * rng.standard_normal(1500))
    result = truth(table, cost, model, PERCENTILES)
    assert abs(result.mean.value - signer.mean(model)) < 4 * result.mean.error
    assert result.mean.error < 3e-4 * result.mean.value
    assert result.unexplained == pytest.approx(0.0024, rel=0.3)
    assert result.plain == cost.mean()
    for percentile, known in result.quantiles.items():
        exact = float(np.quantile(costs, percentile / 100))
        # The population's own error at p99 is about 0.2 %.
        assert known.value == pytest.approx(exact, rel=6e-3)


def test_a_signer_that_is_not_linear_has_the_mean_of_all_signatures() -> None:
    """Attempts computed in pairs: the regression is wrong, its mean over the law is right."""
    model, rng = RejectionModel.for_set("ML-DSA-65"), np.random.default_rng(1)
    law = model.p_accept * (1 - model.p_accept) ** np.arange(400)
    pairs = 50.0 + 20.0 * np.ceil(np.arange(1, 401) / 2) + 0.3 * np.arange(1, 401) ** 1.5
    off = []
    for _ in range(12):
        table = random_table(model, 800, rng)
        result = truth(table, pairs[table.iterations() - 1], model, PERCENTILES)
        off.append((result.mean.value - float(law @ pairs)) / result.mean.error)
    assert abs(np.mean(off)) < 1.5 and np.max(np.abs(off)) < 5
