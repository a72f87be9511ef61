"""Rules about the rejection loop itself: rates of its checks and numbers of attempts."""

from __future__ import annotations

import math
from collections.abc import Iterator

from mldsa_lab.audit import rules
from mldsa_lab.audit.claims import Figure, Rejection
from mldsa_lab.audit.figures import label
from mldsa_lab.audit.law import share_of
from mldsa_lab.audit.verdict import Finding, Range, Rule, Verdict, number
from mldsa_lab.sets import PARAMETER_SETS, N
from mldsa_lab.theory.rejection import RejectionModel

REPETITIONS = {"ML-DSA-44": 4.25, "ML-DSA-65": 5.1, "ML-DSA-87": 3.85}
"""FIPS 204 Table 1, from approximations without the hint check."""

_ROUGH = 0.005
"""Rates are often given by approximations; so far they may differ from the exact ones."""
_ERRORS = 4.0  # standard errors of the measured hint rate
_NEAR = 0.02  # relative; beyond, another hint rate does not explain a number of attempts


def approximate_rates(name: str) -> tuple[float, float]:
    """exp(-256 β l/γ1) and exp(-256 β k/γ2), the usual approximations of the rates of z and r0
    (Dilithium specification, round 3, section 3.4)."""
    c = PARAMETER_SETS[name]
    return (
        math.exp(-N * c.beta * c.l / c.gamma1),
        math.exp(-N * c.beta * c.k / c.gamma2),
    )


def judge_rejection(claim: Rejection) -> Iterator[Finding]:
    """All findings about rates and attempts."""
    model = RejectionModel.of(claim.set)
    rough_z, rough_r = approximate_rates(claim.set)
    error = _ERRORS * model.fail_h_error
    accept = sorted((model.p_accept, rough_z * rough_r, 1 / REPETITIONS[claim.set]))
    predicted: dict[str, tuple[Rule, float, float]] = {
        "pass_z": (rules.PASS_Z, *_ends(model.p_z, rough_z)),
        "pass_r0": (rules.PASS_R0, *_ends(model.p_r, rough_r)),
        "pass_hint": (rules.PASS_HINT, 1 - model.fail_h - error, 1 - model.fail_h + error),
        "accept": (rules.ACCEPT, accept[0], accept[-1]),
        "reject": (rules.ACCEPT, 1 - accept[-1], 1 - accept[0]),
    }
    for name, (low, high) in claim.rates.items():
        rule, least, most = predicted[name]
        yield _judge_rate(claim.id, rule, name, (low, high), (least, most))
    for name, figure in claim.attempts.items():
        yield _judge_attempts(claim, model, name, figure)


def _ends(a: float, b: float) -> tuple[float, float]:
    return min(a, b), max(a, b)


def _judge_rate(
    claim: str,
    rule: Rule,
    name: str,
    stated: tuple[Figure, Figure],
    predicted: tuple[float, float],
) -> Finding:
    low, high = stated
    least, most = predicted
    slack = 0.0 if name == "pass_hint" else _ROUGH
    inside = high.high + slack >= least and low.low - slack <= most
    span = f"{low.value:g}" if low.value == high.value else f"{low.value:g} to {high.value:g}"
    if inside:
        verdict, reading = Verdict.CONSISTENT, "As the parameters have it."
    elif name == "pass_hint":
        verdict = Verdict.IMPLAUSIBLE
        measured = (least + most) / 2
        reading = f"Measured over random keys it is {measured:.4f}"
        if low.value > 0:
            off = 100 * (measured / low.value - 1)
            reading += (
                "; with the rate stated, the expected attempts come out "
                f"{abs(off):.1f} % too {'many' if off > 0 else 'few'}"
            )
        reading += "."
    else:
        verdict, reading = Verdict.CONTRADICTION, "Not the rate of this parameter set."
    return Finding(
        claim,
        rule,
        verdict,
        f"{name} {span}",
        Range(least, most, f"{least:.4f} to {most:.4f}"),
        reading,
        low.value if low.value == high.value else None,
    )


def _judge_attempts(claim: Rejection, model: RejectionModel, name: str, figure: Figure) -> Finding:
    share = share_of(name)
    if share is not None:
        exact = float(1 if name == "min" else model.attempts_quantile(min(share, 1 - 1e-9)))
        least = most = exact
        if name == "max":
            most = float(MAXIMUM)
            least = 1.0
    else:
        exact = model.expected_attempts
        least, most = _ends(exact, REPETITIONS[claim.set])
    inside = figure.high >= least and figure.low <= most
    if inside:
        verdict, reading = Verdict.CONSISTENT, "As the parameters have it."
    elif share is None and figure.high >= least * (1 - _NEAR) and figure.low <= most * (1 + _NEAR):
        verdict = Verdict.IMPLAUSIBLE
        reading = f"The exact mean is {exact:.2f}; another hint rate may have been assumed."
    else:
        verdict, reading = Verdict.CONTRADICTION, f"The law gives {number(exact)}."
    return Finding(
        claim.id,
        rules.ATTEMPTS,
        verdict,
        f"{label(name)} {number(figure.value)} attempts",
        Range.between(least, most, "attempts"),
        reading,
        figure.value,
    )


MAXIMUM = 821
"""The attempt limit of FIPS 204's errata: kappa must not wrap its 16 bits."""
