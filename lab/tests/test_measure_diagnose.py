"""Every fault is found where it is, and none where there is none."""

from __future__ import annotations

from collections.abc import Callable

import measure_cases as cases
import numpy as np
import pytest
from numpy.typing import NDArray
from tiers import first_of

from mldsa_lab.estimate.diagnose import FEW_INPUTS
from mldsa_lab.estimate.external import Estimation, estimate
from mldsa_lab.estimate.fit import key_offsets
from mldsa_lab.estimate.reader import Measurements
from mldsa_lab.theory.rejection import RejectionModel
from mldsa_studies.coverage import made_up, targets
from mldsa_studies.signers import Signer, usual

Array = NDArray[np.float64]
Costs = Callable[[tuple, int, int], Array]
NAME = "ML-DSA-65"
MODEL = RejectionModel.for_set(NAME)


def noise(rounds: int, n: int, size: float, seed: int = 0) -> Array:
    return np.exp(size * np.random.default_rng([seed, n]).standard_normal((rounds, n)))


def measured(
    costs: Costs | Signer,
    n: int = 10,
    *,
    rounds: int = 1,
    size: float = 0.0,
    name: str = NAME,
    seed: int = 0,
) -> Estimation:
    traces = cases.designed(name, n, seed)
    chosen = cases.selection(name, traces)
    exact = costs.cost_of(traces) if isinstance(costs, Signer) else costs(traces, n, rounds)
    table = np.ones((rounds, 1)) * exact * cases.UNIT * noise(rounds, n, size, seed)
    return estimate(chosen, cases.measurements(chosen, table))


def codes(result: Estimation) -> list[str]:
    return [f.code for f in result.warnings]


def times(factor: Array, signer: Signer | None = None) -> Costs:
    """The costs of a signer, by default a usual one, times these."""
    return lambda traces, *_: (signer or usual()).cost_of(traces) * factor


def constant(traces: tuple, n: int, rounds: int) -> Array:
    return np.full((rounds, n), 7.0)


def mixed_up(traces: tuple, n: int, rounds: int) -> Array:
    return np.roll(usual().cost_of(traces), 1)


@pytest.mark.parametrize(("size", "rounds"), [(0.0, 1), (0.02, 1), (0.02, 6)])
@pytest.mark.parametrize(
    ("costs", "n", "code", "text"),
    [
        (constant, 3, "constant-trace", "one and the same signature"),
        (constant, 10, "constant-trace", "one and the same signature"),
        (mixed_up, 10, "wrong-inputs", "speaks for the ids"),
        (usual(group=2), 14, "steps", "in pairs"),
        (usual(group=4), 14, "steps", "in fours"),
        (usual(z=-0.3, setup=4), 14, "negative-attempt", "rejected at z"),
        (usual(z=0.3, r=1.6), 14, "unlike-classes", "rejected at r0 costs more than 2 times"),
        (usual(z=2.0, r=0.6), 14, "unlike-classes", "rejected at z costs more than 2 times"),
        (usual(bend=0.08), 14, "curvature", "costs more than the one before"),
        (usual(setup=20), 14, "first-large", "more than signing"),
        (usual(setup=0.2), 14, "first-small", "subtracted"),
    ],
)
def test_faults_are_named(
    costs: Costs | Signer, n: int, code: str, text: str, size: float, rounds: int
) -> None:
    result = measured(costs, n, size=size, rounds=rounds)
    alone = code in ("constant-trace", "wrong-inputs", "steps")
    assert codes(result) == [code] if alone else code in codes(result)
    assert text in next(f.text for f in result.warnings if f.code == code)
    if code == "constant-trace":  # the cost of that signature, and no tail
        assert result.mean.value == pytest.approx(7 * cases.UNIT, rel=0.05)
    if code == "steps" and isinstance(costs, Signer):
        truth = costs.mean(MODEL) * cases.UNIT
        assert result.mean.value == pytest.approx(truth, rel=0.02 if size else 0.001)


def test_hedged_signing() -> None:
    """It shows in repeats; without repeats it looks like other inputs."""
    for n in (3, 10):
        rng = np.random.default_rng(n)
        draw = lambda traces, n, rounds, rng=rng: usual().draw(MODEL, n * rounds, rng).reshape(rounds, n)  # noqa: E731, E501  # fmt: skip
        result = measured(draw, n, rounds=6, size=0.01)
        assert codes(result) == ["non-deterministic"]
        assert "rnd" in result.warnings[0].text
    rng = np.random.default_rng(1)
    for rounds in (1, 6):
        same = measured(lambda traces, n, _: usual().draw(MODEL, n, rng)[None], 10, rounds=rounds)
        assert codes(same) == ["wrong-inputs"]
        assert ("hedged" in same.warnings[0].text) == (rounds == 1)


@pytest.mark.parametrize(("size", "rounds"), [(0.0, 1), (0.01, 6)])
def test_an_outlier_is_named_and_left_out(size: float, rounds: int) -> None:
    wrong = np.ones(10)
    wrong[3] = 1.15
    result = measured(times(wrong), size=size, rounds=rounds)
    assert codes(result) == ["outlier"]
    assert result.warnings[0].ids == (4,)
    assert "input 4 (+1" in result.warnings[0].text
    assert [r.id for r in result.residuals if r.outlier] == [4]
    clean = result.without_outliers
    assert clean is not None and len(clean.residuals) == 9
    truth = usual().mean(MODEL) * cases.UNIT
    assert abs(clean.mean.value - truth) < abs(result.mean.value - truth)
    assert clean.mean.low is not None and clean.mean.high is not None
    assert clean.mean.low <= truth <= clean.mean.high
    # The cost model is that of the others.
    assert result.cost_model().first == clean.costs["first"].value


def test_abort_indexes_are_remarked_upon() -> None:
    result = measured(targets(NAME)["stops at the first polynomial"], 12)
    assert codes(result) == []
    remark = next(f for f in result.findings if f.code == "abort-index")
    assert "+0.05" in remark.text  # 0.25 / 5 of an attempt's cost
    assert result.terms["first failing z"].value == pytest.approx(0.05 * cases.UNIT, rel=0.1)
    plain = measured(usual(), 12)
    assert "abort-index" not in [f.code for f in plain.findings]
    many = measured(targets(NAME)["stops at the first polynomial"], 24)
    assert "abort-index" in [f.code for f in many.findings]


@pytest.mark.parametrize(
    ("level", "code", "text"),
    [
        (np.linspace(1, 1.12, 12), "drift", "drifted"),
        (np.where(np.arange(12) == 0, 1.3, 1.0), "drift", "first round"),
        (np.array([1.2, 1.03, 1.0]), "rounds", "3 rounds differ by up to 2"),
    ],
)
def test_drift_over_rounds(level: Array, code: str, text: str) -> None:
    result = measured(times(level[:, None]), rounds=len(level), size=0.01)
    assert codes(result) == ["drift"] * (code == "drift")
    assert any(f.code == code and text in f.text for f in result.findings)
    assert code == "drift" or (result.mean.low or 0) < usual().mean(MODEL) * cases.UNIT


def test_few_inputs_of_which_one_is_off_are_unlike_any_signer() -> None:
    for n in (3, 5):
        wrong = np.ones(n)
        wrong[int(np.argsort([len(t) for t in cases.designed(NAME, n)])[-2])] = 1.6
        result = measured(times(wrong), n, rounds=3, size=0.005)
        assert set(codes(result)) & {"unusual", "lack-of-fit", "outlier"}, n
        assert codes(measured(usual(), n, rounds=3, size=0.005)) == [FEW_INPUTS][: n < 4]


def test_a_bad_fit_without_a_reason_is_still_said() -> None:
    wild = np.exp(0.12 * np.random.default_rng(12).standard_normal(9))
    result = measured(times(wild), 9)
    assert codes(result) == ["lack-of-fit"]


@pytest.mark.parametrize(
    ("name", "n", "size", "rounds"),
    [
        ("ML-DSA-44", 10, 0.0, 1),
        ("ML-DSA-65", 10, 0.02, 6),
        ("ML-DSA-65", 3, 0.02, 1),
        ("ML-DSA-87", 10, 0.02, 1),
    ],
)
def test_honest_signers_raise_no_alarm(name: str, n: int, size: float, rounds: int) -> None:
    allowed = {"attempts in pairs": {"steps"}, "large constant part": {"first-large"}}
    for kind, target in targets(name).items():
        result = measured(target, n, size=size, rounds=rounds, name=name, seed=2)
        unknown = {"noise-unknown", "order", FEW_INPUTS} if n < 4 else set()
        assert set(codes(result)) <= allowed.get(kind, set()) | unknown, kind


def test_remarks_say_what_the_figures_rest_on() -> None:
    few = measured(usual(), 3)
    assert "hint-assumed" in {f.code for f in few.findings}
    assert {"noise-unknown", FEW_INPUTS} <= set(codes(few))
    assert "--noise 0" in next(f.text for f in few.warnings if f.code == "noise-unknown")
    assert few.warnings[-1].text.startswith("3 inputs are too few")
    traces = cases.designed(NAME, 3)
    stated = once(usual().cost_of(traces), traces, options={"noise": 0.03})
    assert "noise-unknown" not in codes(stated)
    one = measured(usual(), 1, rounds=3)
    assert "one-length" in {f.code for f in one.findings}
    assert codes(one) == [FEW_INPUTS]
    assert one.warnings[0].text.startswith("1 input is too few")
    assert codes(measured(usual(), 4, rounds=3)) == []
    noisy = measured(usual(), 8, size=0.12, rounds=8)
    assert "noise" in {f.code for f in noisy.findings}
    assert codes(noisy) == []


def once(
    costs: Array, traces: tuple, *, order: list[int] | None = None, options: dict | None = None
) -> Estimation:
    """Of inputs measured once each, in this order of their ids from 0."""
    chosen = cases.selection(NAME, traces)
    places = range(len(traces)) if order is None else order
    measured = Measurements.from_costs(chosen, {at + 1: float(costs[at]) for at in places})
    return estimate(chosen, measured, **(options or {}))


@pytest.mark.parametrize("size", [0.08, 0.3])
@pytest.mark.parametrize("n", [10, 30])
def test_a_warm_up_over_the_inputs_is_named(n: int, size: float) -> None:
    traces = cases.designed(NAME, n)
    order = np.random.default_rng(5).permutation(n)
    warm = np.empty(n)
    warm[order] = 1 + size * np.exp(-np.arange(n) * 6 / n)
    costs = usual().cost_of(traces) * noise(1, n, 0.005)[0]
    result = once(costs * warm, traces, order=order.tolist())
    assert "drift" in codes(result)
    text = next(f.text for f in result.warnings if f.code == "drift")
    assert "not warm" in text
    change = float(text.split(" % compared")[0].split()[-1]) / 100
    assert -1.5 * size < change < -0.5 * size
    # The same costs without it raise no such alarm.
    assert "drift" not in codes(once(costs, traces, order=order.tolist()))


@pytest.mark.parametrize("n", [3, 10])
def test_an_order_that_hides_a_drift_is_said(n: int) -> None:
    traces = tuple(sorted(cases.designed(NAME, n), key=len))
    costs = usual().cost_of(traces)
    noisy = costs * noise(1, n, 0.01)[0]
    assert "order" in codes(once(noisy, traces))
    other = [*range(n // 2, n), *range(n // 2)]
    assert "order" not in codes(once(noisy, traces, order=other))
    # A simulator does not warm up.
    assert "order" not in codes(once(costs, traces, options={"noise": 0.0}))


def test_few_keys_are_remarked_upon_and_widen_the_intervals() -> None:
    traces = cases.designed(NAME, 10)
    costs = usual().cost_of(traces)
    rng = np.random.default_rng(3)
    result = {}
    for per_key in (1, 2, 10):
        chosen = made_up(NAME, traces, per_key=per_key)
        own = np.exp(0.003 * rng.standard_normal(10)).repeat(per_key)[:10]
        measured = Measurements.from_costs(chosen, dict(zip(chosen.ids, costs * own, strict=True)))
        result[per_key] = estimate(chosen, measured)
    notes = {k: [f.text for f in v.findings if f.code == "few-keys"] for k, v in result.items()}
    assert notes[1] == []
    assert "10 inputs have 5 keys" in notes[2][0]
    assert "10 inputs have 1 key:" in notes[10][0] and "as is usual" in notes[10][0]
    mean = result[10].mean
    assert mean.low is not None and mean.high is not None
    assert 0.005 < (mean.high - mean.low) / 2 / mean.value < 0.02


def test_offsets_between_keys_are_learned_where_keys_have_several_inputs() -> None:
    rng = np.random.default_rng(1)
    keys = np.repeat(np.arange(6), 5)
    offset = 0.05 * rng.standard_normal(6)
    shown = key_offsets(keys.tolist(), offset[keys] + 0.005 * rng.standard_normal(30))
    assert shown.seen and shown.keys == 6
    assert 0.02 < shown.size < 0.08
    assert shown.error == pytest.approx(shown.size * np.sqrt(1 / 6 - 1 / 30))
    even = key_offsets(keys.tolist(), 0.005 * rng.standard_normal(30))
    assert not even.seen and even.size < 0.01
    assert key_offsets(range(30), offset[keys]).error == 0


@pytest.mark.parametrize("rounds", first_of([3, 2, 20]))
@pytest.mark.parametrize("size", [1.2, 40.0])
def test_a_disturbed_measurement_is_a_note(rounds: int, size: float) -> None:
    """The mean does not feel it, and no word says otherwise."""
    for seed in range(4):
        rng = np.random.default_rng([seed, rounds])
        spoilt = np.ones((rounds, 10))
        turn, at = int(rng.integers(rounds)), int(rng.integers(10))
        spoilt[turn, at] = size
        result = measured(times(spoilt), rounds=rounds, size=0.02, seed=seed)
        assert codes(result) == []
        (text,) = (f.text for f in result.findings if f.code == "disturbed")
        assert f"input {at + 1} in round {turn} " in text
        truth = usual().mean(MODEL) * cases.UNIT
        assert (result.mean.low or 0) < truth < (result.mean.high or 0)


@pytest.mark.simulation
@pytest.mark.parametrize("rounds", [2, 3, 20])
def test_clean_and_disturbed_measurements_raise_no_alarm(rounds: int) -> None:
    """Disturbances of any size, signers of all sets."""
    rng, alarms = np.random.default_rng(rounds), []
    for seed in range(60):
        name, spoilt = cases.SETS[seed % 3], np.ones((rounds, 10))
        signer = targets(name)[("expanded keys", "expensive r0 attempts")[seed % 2]]
        spoilt[rng.integers(rounds), rng.integers(10)] = rng.choice([1, 1.1, 1.3, 2, 10, 100, 1e4])
        result = measured(times(spoilt, signer), rounds=rounds, size=0.02, name=name, seed=seed)
        alarms += codes(result)
    assert len(alarms) <= 2, alarms  # one is expected of a hundred


@pytest.mark.parametrize("n", [5, 30])
@pytest.mark.parametrize(
    ("factor", "cause"),
    [(3.0, ""), (1e-3, "another unit"), (1e6, "another unit"), (1e13, ""), (1 / 40, "")],
)
def test_one_gross_input_is_named_however_gross(n: int, factor: float, cause: str) -> None:
    wrong = np.ones(n)
    wrong[2] = factor
    result = measured(times(wrong), n, rounds=3, size=0.01)
    assert codes(result) == ["outlier"]
    assert result.warnings[0].ids == (3,) and cause in result.warnings[0].text
    assert len(result.warnings[0].text) < 200 and result.without_outliers is not None
    truth = usual().mean(MODEL) * cases.UNIT
    assert result.without_outliers.mean.value == pytest.approx(truth, rel=0.1)


@pytest.mark.parametrize("bits", [24, 32])
def test_a_counter_that_wrapped_is_named(bits: int) -> None:
    chosen = cases.selection(NAME, cases.designed(NAME, 10))
    exact = usual().cost_of(cases.designed(NAME, 10))
    longest = int(np.argmax(exact))
    exact *= 1.2 * 2.0**bits / exact[longest]
    exact[longest] -= 2.0**bits
    result = estimate(chosen, cases.measurements(chosen, exact[None] * noise(3, 10, 0.002)))
    assert codes(result) == ["outlier"]
    assert f"a counter of {bits} bits that wrapped" in result.warnings[0].text


@pytest.mark.parametrize("size", first_of([0.05, 0.002]))
def test_more_rounds_do_not_widen_the_interval(size: float) -> None:
    widths = []
    for rounds in (1, 2, 3, 10):
        means = [measured(usual(), rounds=rounds, size=size, seed=s).mean for s in range(5)]
        widths.append(np.median([(m.high or 0) - (m.low or 0) for m in means]))
    assert widths == sorted(widths, reverse=True)


@pytest.mark.simulation
@pytest.mark.parametrize("size", [0.002, 0.05])
def test_a_second_round_narrows_the_interval(size: float) -> None:
    ratios = []
    for seed in range(24):
        means = (measured(usual(), rounds=n, size=size, seed=seed).mean for n in (1, 2))
        one, two = ((mean.high or 0) - (mean.low or 0) for mean in means)
        ratios.append(two / one)
    assert np.median(ratios) < 0.9


def test_levels_of_rounds_are_named() -> None:
    level = np.array([1.7, 1.0, 1.7, 1.7, 1.0, 1.7, 1.7, 1.7, 1.0, 1.7])
    result = measured(times(level[:, None]), rounds=10, size=0.01)
    assert codes(result) == ["levels"]
    assert "rounds 1, 4 and 8 cost 41 % less" in result.warnings[0].text
    jittery = np.exp(0.03 * np.random.default_rng(3).standard_normal(10))
    assert "levels" not in codes(measured(times(jittery[:, None]), rounds=10, size=0.01))


def test_throttling_inside_a_pass_is_named() -> None:
    traces = cases.designed(NAME, 14)
    order = np.random.default_rng(8).permutation(14)
    slow = np.ones(14)
    slow[order[8:]] = 1.3
    result = once(
        usual().cost_of(traces) * slow * noise(1, 14, 0.01)[0], traces, order=order.tolist()
    )
    assert "drift" in codes(result)
    text = next(f.text for f in result.warnings if f.code == "drift")
    assert f"from input {order[8] + 1} on" in text and "throttling" in text


def test_averages_over_random_signatures_have_their_reason() -> None:
    """Of each input the mean over many signatures with random rnd."""
    rng = np.random.default_rng(4)
    averages = usual().draw(MODEL, 10 * 2000, rng).reshape(10, 2000).mean(axis=1)
    result = measured(lambda traces, n, rounds: averages, 10)
    assert codes(result) == ["constant-trace"]
    assert "averages over many signatures" in result.warnings[0].text
