"""The greedy baseline against a reading of its description, candidate by candidate."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from mldsa_lab.choice import greedy
from mldsa_lab.errors import LabError
from mldsa_lab.theory.rejection import RejectionModel
from mldsa_lab.theory.table import TraceTable
from mldsa_lab.theory.trace import PASSED, parse_trace
from mldsa_studies.choices import Stock
from mldsa_studies.signers import random_table

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


def slowly(counts: np.ndarray, n: int, rates: np.ndarray) -> list[int]:
    taken: list[list[int]] = []
    chosen = []
    run = len(counts) // n
    for turn in range(n):
        best, at = math.inf, -1
        for place in range(turn * run, (turn + 1) * run):
            found = rates_of([*taken, as_rejections(counts[place])])
            distance = sum(abs(a - b) for a, b in zip(found, rates, strict=True))
            if distance < best - 1e-12:
                best, at = distance, place
        chosen.append(at)
        taken.append(as_rejections(counts[at]))
    return chosen


@pytest.mark.parametrize("set_name", SETS)
@pytest.mark.parametrize("target", [None, 50, 95])
def test_the_choice_is_that_of_the_description(set_name: str, target: int | None) -> None:
    model, rng = RejectionModel.of(set_name), np.random.default_rng(5)
    table = random_table(model, 90, rng)
    counts = greedy.first_failures(table)
    rates = (
        greedy.mean_rates(set_name) if target is None else greedy.percentile_rates(set_name, target)
    )
    for n in (1, 2, 3, 7, 30):
        assert greedy.select(counts, n, rates).tolist() == slowly(counts, n, rates)


def test_failures_are_counted_at_the_first_check_that_fails() -> None:
    traces = [parse_trace(t.split()) for t in ("z0r2 r1 c0h2 h3 ok", "ok", "z1 z2r0c1h0 ok")]
    table = TraceTable.of("ML-DSA-44", traces)
    assert greedy.first_failures(table).tolist() == [[1, 1, 1, 1], [0, 0, 0, 0], [2, 0, 0, 0]]


@pytest.mark.parametrize("set_name", SETS)
def test_the_typical_signature_of_a_percentile(set_name: str) -> None:
    """All orders of rejections of up to five attempts, from the cheapest on."""
    rates = greedy.mean_rates(set_name)
    accepted = math.prod(rates)
    stop = [math.prod(rates[:i]) * (1 - rates[i]) for i in range(4)]
    below, found = 0.0, {}
    for total in range(5):
        for kinds in itertools.combinations_with_replacement(range(4), total):
            ways = set(itertools.permutations(kinds))
            below += len(ways) * math.prod(stop[k] for k in kinds) * accepted
            for percentile in (5, 20, 50):
                if below > percentile / 100:
                    found.setdefault(percentile, [kinds.count(k) for k in range(4)])
    for percentile, counts in found.items():
        assert greedy.percentile_counts(set_name, percentile).tolist() == counts
        by_hand = rates_of([as_rejections(np.array(counts))])
        assert greedy.percentile_rates(set_name, percentile) == pytest.approx(by_hand)
    assert len(found) == 3


def test_too_few_candidates_and_percentiles_out_of_range() -> None:
    counts = greedy.first_failures(random_table(RejectionModel.of("ML-DSA-44"), 8, rng_of(1)))
    with pytest.raises(LabError, match="greedy selection of 3 inputs from 8: needs at least 3"):
        greedy.select(counts, 3, greedy.mean_rates("ML-DSA-44"))
    with pytest.raises(LabError, match="must lie in"):
        greedy.percentile_rates("ML-DSA-44", 100)


def rng_of(seed: int) -> np.random.Generator:
    return np.random.default_rng(seed)


def test_random_tables_follow_the_law() -> None:
    for set_name in SETS:
        model = RejectionModel.of(set_name)
        table = random_table(model, 20_000, rng_of(2))
        assert len(table) == 20_000
        counts = table.counts()
        error = counts.std(axis=0) / math.sqrt(len(table))
        assert (np.abs(counts.mean(axis=0) - model.expected_counts) < 4 * error).all()
        z = table.first_failing("z")
        law = np.bincount(z[z != PASSED], minlength=model.l) / (z != PASSED).sum()
        assert law == pytest.approx(model.first_failing_z(), abs=0.02)


def test_stand_ins_are_of_the_class_and_differ_while_they_can() -> None:
    classes = np.array([[0, 0], [1, 2], [0, 0], [1, 2], [0, 0], [3, 0]])
    stock = Stock(classes)
    assert stock.classes.tolist() == [[0, 0], [1, 2], [3, 0]]
    found = stock.stand_in(np.array([0, 0, 0, 1, 2, 2, 0]), rng_of(1))
    assert classes[found].tolist() == [[0, 0]] * 3 + [[1, 2], [3, 0], [3, 0], [0, 0]]
    assert sorted(found[:3]) == [0, 2, 4]
    firsts = {int(Stock(classes).stand_in(np.array([0]), rng_of(s))[0]) for s in range(40)}
    assert firsts == {0, 2, 4}
