"""The choice of inputs: optimality, balance, limits, and what it buys."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations

import numpy as np
import pytest
from tiers import first_of

from mldsa_lab.choice.design import design, quality
from mldsa_lab.errors import LabError
from mldsa_lab.estimate.cells import estimate_signing
from mldsa_lab.theory.rejection import RejectionModel
from mldsa_lab.theory.trace import Trace
from mldsa_studies.signers import Signer, draw_traces
from mldsa_studies.simulate import QUIET

SETS = ("ML-DSA-44", "ML-DSA-65", "ML-DSA-87")
MODEL = RejectionModel.of("ML-DSA-65")


@pytest.fixture(scope="module")
def pool() -> list[Trace]:
    return draw_traces(MODEL, 4000, np.random.default_rng(65))


def criterion(pool: Sequence[Trace], chosen: Iterable[int]) -> float:
    return quality([pool[i] for i in chosen], MODEL).criterion


@pytest.mark.parametrize("n", [1, 2, 3])
def test_small_pools_give_the_best_of_all_choices(pool: list[Trace], n: int) -> None:
    few = pool[:14]
    best = min(criterion(few, choice) for choice in combinations(range(14), n))
    assert criterion(few, design(few, MODEL, n, restarts=20)) == pytest.approx(best, rel=1e-9)


def test_no_single_exchange_improves_a_design(pool: list[Trace]) -> None:
    few = pool[:300]
    chosen = design(few, MODEL, 8, restarts=1)
    reached = criterion(few, chosen)
    for place in range(8):
        for other in set(range(300)) - set(chosen):
            swapped = [*chosen[:place], other, *chosen[place + 1 :]]
            assert criterion(few, swapped) > reached * (1 - 2e-4)


def test_tiny_pools_and_impossible_wishes(pool: list[Trace]) -> None:
    assert design(pool[:5], MODEL, 5) == [0, 1, 2, 3, 4]
    assert design([pool[0]], MODEL, 1) == [0]
    same = [pool[0]] * 6
    assert len(design(same, MODEL, 4)) == 4
    for n, rule in ((0, "at least 1"), (-3, "at least 1"), (6, "the pool has 5 traces")):
        with pytest.raises(LabError, match=rule):
            design(pool[:5], MODEL, n)
    with pytest.raises(LabError, match="the pool has 0 traces"):
        design([], MODEL, 1)
    with pytest.raises(LabError, match="of at most 1 attempts"):
        design(pool[:20], MODEL, 15, max_attempts=1)
    with pytest.raises(LabError, match="within 11 attempts"):
        design(pool, MODEL, 12, budget=11)


@pytest.mark.parametrize("name", first_of(SETS))
def test_ten_inputs_give_the_mean_of_signers_that_are_not_linear(name: str) -> None:
    """Without noise, what is left is bias: abort indexes, and attempts computed in pairs. The
    same regression on random inputs shows what the design is for."""
    model, rng = RejectionModel.of(name), np.random.default_rng(10)
    traces = draw_traces(model, 1500, rng)
    stopping = Signer(z=17_000, r=19_000, z_step=1_000, r_step=700)
    paired = Signer(z=20_000, r=20_000, h=20_000)

    def pairs(chosen: list[Trace]) -> np.ndarray:
        attempts = np.array([len(t) for t in chosen])
        return paired.setup + 20_000.0 * (2 * np.ceil(attempts / 2) - 2)

    law = model.p_accept * (1 - model.p_accept) ** np.arange(600)
    pairs_mean = float(law @ (paired.setup + 20_000.0 * (2 * np.ceil(np.arange(1, 601) / 2) - 2)))

    def worst(choices: list[list[int]]) -> tuple[float, float]:
        errors = []
        for choice in choices:
            chosen = [traces[i] for i in choice]
            of_stopping = QUIET.measure(stopping.cost_of(chosen), 2, rng)
            of_pairs = QUIET.measure(pairs(chosen), 2, rng)
            errors.append(
                (
                    estimate_signing(of_stopping, chosen, model).mean.value / stopping.mean(model)
                    - 1,
                    estimate_signing(of_pairs, chosen, model).mean.value / pairs_mean - 1,
                )
            )
        first, second = np.sqrt(np.mean(np.square(errors), axis=0))
        return float(first), float(second)

    designed = worst([design(traces, model, 10, seed=s, restarts=1) for s in range(4)])
    random = worst([list(rng.choice(1500, 10, replace=False)) for _ in range(40)])
    assert designed[0] < 0.001 and designed[1] < 0.01
    assert random[0] > 5 * designed[0] and random[1] > 3 * designed[1]
