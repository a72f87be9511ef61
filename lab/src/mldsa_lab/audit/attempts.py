"""Rules about the rejection loop itself: rates of its checks and numbers of attempts."""

from __future__ import annotations

import math
from collections.abc import Iterator

from mldsa_lab.audit.claims import ClaimTable, Rejection
from mldsa_lab.audit.figures import label
from mldsa_lab.audit.judgement import Judgement, Verdict, judgement
from mldsa_lab.audit.law import share_of
from mldsa_lab.audit.values import Span
from mldsa_lab.sets import PARAMETER_SETS, N
from mldsa_lab.theory.rejection import RejectionModel

REPETITIONS = {"ML-DSA-44": 4.25, "ML-DSA-65": 5.1, "ML-DSA-87": 3.85}
"""FIPS 204 Table 1, from approximations without the hint check."""

MAXIMUM = 821
"""The attempt limit of FIPS 204's errata: kappa must not wrap its 16 bits."""

_MEASURED = 0.005
"""A rate that was measured may be so far off, it is then implausible and no contradiction; and the
limits of one, which are round numbers."""
_SAME = 5e-4  # relative; so far forms of the exact rate and of its approximation differ
_ERRORS = 4.0  # standard errors of the measured hint rate
_NEAR = 0.02  # relative; beyond, another hint rate does not explain a number of attempts


def approximate_rates(name: str) -> tuple[float, float]:
    """exp(-256 β l/γ1) and exp(-256 β k/γ2), the usual approximations of the rates of z and r0
    (Dilithium specification, round 3, section 3.4)."""
    c = PARAMETER_SETS[name]
    return math.exp(-N * c.beta * c.l / c.gamma1), math.exp(-N * c.beta * c.k / c.gamma2)


def judge_rejection(claim: Rejection, _: ClaimTable) -> Iterator[Judgement]:
    """All findings about rates and attempts."""
    model = RejectionModel.for_set(claim.set)
    z, r = approximate_rates(claim.set)
    hint, error = 1 - model.fail_h, _ERRORS * model.fail_h_error
    accept = (model.p_accept, z * r, 1 / REPETITIONS[claim.set])
    # Rule, what the rate may be, its usual approximation.
    known: dict[str, tuple[str, tuple[float, ...], float | None]] = {
        "pass_z": ("rejection.z", (model.p_z,), z),
        "pass_r0": ("rejection.r0", (model.p_r,), r),
        "pass_hint": ("rejection.hint", (hint - error, hint + error), None),
        "accept": ("rejection.accept", accept, None),
        "reject": ("rejection.accept", tuple(1 - rate for rate in accept), None),
    }
    for name, stated in claim.rates.items():
        rule, rates, rough = known[name]
        yield _judge_rate(rule, name, stated, min(rates), max(rates), rough)
    yield from _judge_attempts(claim, model)


def _judge_rate(
    rule: str, name: str, stated: Span, least: float, most: float, rough: float | None
) -> Judgement:
    """A rate against the lowest and highest that it may be; ``rough``: its approximation."""
    low, high = stated.low, stated.high
    slack = _MEASURED if not stated.one and name != "pass_hint" else 0.0
    # YAML drops the zero of 0.80: both limits have the digits of the finer one.
    half = min(low.half, high.half)
    outside = max(least - high.value, low.value - most, 0.0)
    off = max(outside - half - slack, 0.0)
    verdict, reading = Verdict.CONTRADICTION, "Not the rate of this parameter set."
    if off <= _SAME * least:
        verdict = Verdict.CONSISTENT
        reading = "Only within rounding." if outside > 0 and not stated.one else ""
    elif name == "pass_hint":
        verdict, more = Verdict.IMPLAUSIBLE, 100 * ((least + most) / 2 / max(low.value, 1e-9) - 1)
        reading = f"With the rate stated, the expected attempts come out {more:+.1f} % off."
    elif off <= _MEASURED:
        verdict, reading = Verdict.IMPLAUSIBLE, f"The exact rate is {least:.4f}."
        if rough is not None and abs(low.value - rough) <= _SAME * rough:
            reading += f" {rough:.4f} is the usual approximation."
    text = f"{least:.4f}" if least == most else f"{least:.4f} to {most:.4f}"
    return judgement(
        rule, f"{name} {stated.text}", reading, verdict, stated=low if stated.one else math.nan,
        low=least, high=most, predicted=None if stated.one else text, allowed=_SAME,
    )  # fmt: skip


def _judge_attempts(claim: Rejection, model: RejectionModel) -> Iterator[Judgement]:
    """`rejection.attempts`: near the mean another hint rate may have been assumed."""
    for name, figure in claim.attempts.items():
        share, near = share_of(name), 0.0
        if share is None:
            least, most = sorted((model.expected_attempts, REPETITIONS[claim.set]))
            near = _NEAR
        elif name in ("min", "max"):
            least, most = 1.0, 1.0 if name == "min" else float(MAXIMUM)
        else:
            least = most = float(model.attempts_quantile(min(share, 1 - 1e-9)))
        text = f"{label(name)} {figure} attempts"
        yield judgement(
            "rejection.attempts", text, stated=figure, low=least, high=most, near=near,
            unit="attempts",
        )  # fmt: skip
