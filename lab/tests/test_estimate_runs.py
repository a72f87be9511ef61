"""Estimates of runs: the expected cost of one operation, of signers and batches of known law."""

from __future__ import annotations

import heapq
import re

import numpy as np
import pytest
from lab_runs import variant
from tiers import first_of

from mldsa_lab.bench.fleet import GROUP, in_runs, runs_of
from mldsa_lab.choice.choice import SelectionRequest, choose
from mldsa_lab.estimate.cells import estimate_signing
from mldsa_lab.estimate.interval import Interval
from mldsa_lab.theory.rejection import RejectionModel
from mldsa_lab.theory.trace import Trace, TraceTable
from mldsa_studies.signers import Signer, draw_traces
from mldsa_studies.simulate import QUIET, NoisyMachine

SETS = ("ML-DSA-44", "ML-DSA-65", "ML-DSA-87")
SIZES = (1, 8, 32, 100, 1000)
LINEAR = Signer(setup=90_000, z=17_000, r=22_000, h=27_500)


def group(model: RejectionModel, seed: int) -> list[Trace]:
    pool = draw_traces(model, 4 * GROUP, np.random.default_rng(seed))
    chosen = choose(
        TraceTable.from_traces(model.name, pool), "all", SelectionRequest("mean", GROUP)
    )
    return [pool[i] for i in chosen.positions]


def shares(size: int) -> np.ndarray:
    """Of the operations of each run of a pass that each input has."""
    runs = runs_of(in_runs(variant("x:y:compact"), "batch", size), GROUP)
    places = [runs.positions(n, GROUP) for n in range(runs.count)]
    return np.array([np.bincount(p, minlength=GROUP) / len(p) for p in places])


def lanes_cost(attempts: np.ndarray, lanes: int) -> float:
    """A batch on lanes that are refilled as signatures finish: each step, in which every lane does
    an attempt, costs the same whether lanes are idle or not; and a set-up for each."""
    free = [0] * lanes
    for n in attempts:
        heapq.heappush(free, heapq.heappop(free) + int(n))
    return 20_000.0 * len(attempts) + 60_000.0 * max(free)


@pytest.mark.parametrize("name", first_of(SETS))
@pytest.mark.parametrize("size", SIZES)
def test_a_linear_signer_is_recovered_at_every_size(name: str, size: int) -> None:
    model = RejectionModel.for_set(name)
    traces = group(model, 3)
    cost = shares(size) @ LINEAR.cost_of(traces)
    cell = QUIET.measure(cost, 4, np.random.default_rng())
    found = estimate_signing(cell, traces, model, shares=shares(size))
    assert found.mean.value == pytest.approx(LINEAR.mean(model), rel=2e-3)
    assert found.quantiles == {} and found.notes == ()
    assert found.mean.low is not None and found.mean.high is not None


@pytest.mark.simulation
@pytest.mark.parametrize(("size", "bias"), [(8, 0.04), (1, 0.01), (100, 0.02), (1000, 0.01)])
def test_batches_that_wait_for_their_longest_signature_are_estimated(
    size: int, bias: float
) -> None:
    """Against batches of fresh signatures by the thousand: the cost is not linear in the trace, and
    eight lanes wait for the longest of eight."""
    model, lanes = RejectionModel.for_set("ML-DSA-65"), 8
    rng = np.random.default_rng(7)
    attempts = rng.geometric(model.p_accept, size=(max(50, 100_000 // size), size))
    truth = np.mean([lanes_cost(batch, lanes) for batch in attempts]) / size
    runs = runs_of(in_runs(variant("x:y:compact"), "batch", size), GROUP)
    machine = NoisyMachine(drift=0.01, jitter=0.005, fast=0, spikes=0, habit=0)
    errors, inside = [], 0
    for seed in range(10):
        traces = group(model, seed)
        own = np.array([len(trace) for trace in traces], dtype=np.float64)
        every = [runs.positions(n, GROUP) for n in range(runs.count)]
        cost = np.array([lanes_cost(own[places], lanes) / size for places in every])
        cell = machine.measure(cost, 8, rng)
        overlap = size * runs.count / GROUP
        found = estimate_signing(cell, traces, model, shares=shares(size), overlap=overlap).mean
        assert found.low is not None and found.high is not None
        errors.append(found.value / truth - 1)
        inside += found.low <= truth <= found.high
    assert abs(np.mean(errors)) < bias
    assert inside >= 8


@pytest.mark.simulation
@pytest.mark.parametrize("size", [32, 1000])
def test_intervals_hold_the_truth(size: int) -> None:
    """Eight rounds of batches on a machine that drifts by 3 %: at least 52 of 60 intervals."""
    model, machine = RejectionModel.for_set("ML-DSA-65"), NoisyMachine(drift=0.03, fast=0)
    traces, truth = group(model, 3), LINEAR.mean(model)
    cost, inside = shares(size) @ LINEAR.cost_of(traces), 0
    for seed in range(60):
        cell = machine.measure(cost, 8, np.random.default_rng(seed))
        mean = estimate_signing(cell, traces, model, shares=shares(size)).mean
        assert mean.low is not None and mean.high is not None
        inside += mean.low <= truth <= mean.high
    assert inside >= 52


def test_inputs_that_are_not_balanced_are_remarked_upon() -> None:
    model = RejectionModel.for_set("ML-DSA-65")
    traces = group(model, 3)
    cell = QUIET.measure(np.array([5e4]), 4, np.random.default_rng())
    assert estimate_signing(cell, traces, model, shares=shares(1000)).notes == ()
    by_length = sorted(traces, key=len)
    by_length[0] = by_length[-1]
    (note,) = estimate_signing(cell, by_length, model, shares=shares(1000)).notes
    assert re.fullmatch(r"its inputs take \+[1-9.]+ % attempts compared with all signatures", note)


def test_an_interval_that_reaches_zero_has_no_highest_rate() -> None:
    assert Interval(2.0, 1.0, 4.0).inverse(8.0) == Interval(4.0, 2.0, 8.0)
    assert Interval(2.0, -1.0, 4.0).inverse(8.0) == Interval(4.0, 2.0, None)
