"""Rules about the rejection loop itself: rates of its checks and numbers of attempts."""

from __future__ import annotations

import math
from collections.abc import Iterator

from mldsa_lab.audit.claims import Rejection
from mldsa_lab.audit.figures import label
from mldsa_lab.audit.law import share_of
from mldsa_lab.audit.values import Span, StatedFigure
from mldsa_lab.audit.verdict import Band, Judgement, Verdict, number, percent
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
_ERRORS = 4.0  # standard errors of the measured hint rate, or of a rate over some attempts
_NEAR = 0.02  # relative; beyond, another hint rate does not explain a number of attempts
_FITS = "As the parameters have it."


def approximate_rates(name: str) -> tuple[float, float]:
    """exp(-256 β l/γ1) and exp(-256 β k/γ2), the usual approximations of the rates of z and r0
    (Dilithium specification, round 3, section 3.4)."""
    c = PARAMETER_SETS[name]
    return (
        math.exp(-N * c.beta * c.l / c.gamma1),
        math.exp(-N * c.beta * c.k / c.gamma2),
    )


def judge_rejection(claim: Rejection) -> Iterator[Judgement]:
    """All findings about rates and attempts."""
    model = RejectionModel.of(claim.set)
    rough_z, rough_r = approximate_rates(claim.set)
    error = _ERRORS * model.fail_h_error
    accept = (model.p_accept, rough_z * rough_r, 1 / REPETITIONS[claim.set])
    predicted = {
        "pass_z": ("rejection.z", (model.p_z, model.p_z)),
        "pass_r0": ("rejection.r0", (model.p_r, model.p_r)),
        "pass_hint": ("rejection.hint", (1 - model.fail_h - error, 1 - model.fail_h + error)),
        "accept": ("rejection.accept", accept),
        "reject": ("rejection.accept", tuple(1 - rate for rate in accept)),
    }
    rough = {"pass_z": rough_z, "pass_r0": rough_r}
    for name, stated in claim.rates.items():
        rule, rates = predicted[name]
        yield _judge_rate(rule, name, stated, (min(rates), max(rates)), rough.get(name))
    for name, figure in claim.attempts.items():
        yield _judge_attempts(claim, model, name, figure)


def _judge_rate(
    rule: str, name: str, stated: Span, rates: tuple[float, float], rough: float | None
) -> Judgement:
    """A rate against the lowest and highest that it may be; ``rough``: its approximation."""
    (least, most), low, high = rates, stated.low, stated.high
    slack = _MEASURED if not stated.one and name != "pass_hint" else 0.0
    # YAML drops the zero of 0.80: both limits have the digits of the finer one.
    half = min(low.half, high.half)
    outside = max(least - high.value, low.value - most, 0.0)
    off = max(outside - half - slack, 0.0)
    if off <= _SAME * least:
        verdict, reading = Verdict.CONSISTENT, _FITS
        if not stated.one and outside > 0:
            allowed = f"{half:g} for its digits"
            if slack:
                allowed += f" and {slack:g} for round limits"
            reading = (
                f"Only within rounding: {outside:.4f} outside the range; allowed are {allowed}."
            )
    elif name == "pass_hint":
        verdict = Verdict.IMPLAUSIBLE
        measured = (least + most) / 2
        reading = f"Measured over random keys it is {measured:.4f}"
        if low.value > 0:
            more = 100 * (measured / low.value - 1)
            reading += (
                "; with the rate stated, the expected attempts come out "
                f"{abs(more):.1f} % too {'many' if more > 0 else 'few'}"
            )
        reading += "."
    elif off <= _MEASURED:
        verdict = Verdict.IMPLAUSIBLE
        reading = f"Off by {percent(abs((low.value + high.value) / 2 / least - 1))}: "
        if rough is not None and abs(low.value - rough) <= _SAME * rough:
            reading += f"the usual approximation, {rough:.4f}, and not the exact rate."
        else:
            attempts = round(least * (1 - least) * (_ERRORS / off) ** 2, -3)
            reading += (
                f"a rate measured over fewer than {number(attempts)} attempts, or a wrong one."
            )
    else:
        verdict, reading = Verdict.CONTRADICTION, "Not the rate of this parameter set."
    text = f"{least:.4f}" if least == most else f"{least:.4f} to {most:.4f}"
    predicted = Band(least, most, text)
    value = low.value if stated.one else None
    return Judgement(rule, verdict, f"{name} {stated.text}", predicted, reading, value)


def _judge_attempts(
    claim: Rejection, model: RejectionModel, name: str, figure: StatedFigure
) -> Judgement:
    share = share_of(name)
    if share is None:
        exact = model.expected_attempts
        least, most = sorted((exact, REPETITIONS[claim.set]))
    else:
        exact = float(1 if name == "min" else model.attempts_quantile(min(share, 1 - 1e-9)))
        least, most = (1.0, float(MAXIMUM)) if name == "max" else (exact, exact)
    if figure.high >= least and figure.low <= most:
        verdict, reading = Verdict.CONSISTENT, _FITS
    elif share is None and figure.high >= least * (1 - _NEAR) and figure.low <= most * (1 + _NEAR):
        verdict = Verdict.IMPLAUSIBLE
        reading = f"The exact mean is {exact:.2f}; another hint rate may have been assumed."
    else:
        verdict, reading = Verdict.CONTRADICTION, f"The law gives {number(exact)}."
    text = f"{label(name)} {number(figure.value)} attempts"
    predicted = Band.between(least, most, "attempts")
    return Judgement("rejection.attempts", verdict, text, predicted, reading, figure.value)
