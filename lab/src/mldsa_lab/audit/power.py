"""The rule about differences: what so few samples of a rejection loop can show."""

from __future__ import annotations

import math
from collections.abc import Iterator

from scipy.optimize import brentq
from scipy.stats import nct, t

from mldsa_lab.audit import rules
from mldsa_lab.audit.claims import Difference
from mldsa_lab.audit.law import laws, setup_max
from mldsa_lab.audit.verdict import Finding, Range, Verdict, percent


def detectable(variation: float, per_group: int, level: float, power: float) -> float:
    """The relative difference of two means that a two-sided t test finds with this power.

    ``variation`` is the standard deviation of a sample over the mean, the same in both groups.
    The power is the tail of a non-central t beyond the critical value, which is inverted here;
    the other tail is negligible wherever the power is worth having.
    """
    freedom = 2 * per_group - 2
    critical = float(t.ppf(1 - level / 2, freedom))

    def missing(shift: float) -> float:
        found = float(nct.sf(critical, freedom, shift))
        return (1.0 if math.isnan(found) else found) - power

    if missing(0.0) >= 0:
        return 0.0
    most = 1.0
    while missing(most) < 0:
        most *= 2
    return float(brentq(missing, 0.0, most)) * variation * math.sqrt(2 / per_group)


def significant_from(variation: float, per_group: int, level: float) -> float:
    """The least observed relative difference that a two-sided t test calls significant."""
    critical = float(t.ppf(1 - level / 2, 2 * per_group - 2))
    return critical * variation * math.sqrt(2 / per_group)


def variations(name: str, per_sample: int = 1) -> tuple[float, float]:
    """The least and the largest standard deviation over mean of varied signatures."""
    found = [
        law.spread / (setup + law.mean) for law in laws(name) for setup in (1.0, setup_max(name))
    ]
    return min(found) / math.sqrt(per_sample), max(found) / math.sqrt(per_sample)


def judge_difference(claim: Difference) -> Iterator[Finding]:
    """`difference.power`."""
    stated = "" if claim.relative is None else percent(claim.relative.value)
    words = {True: "significant", False: "not significant", None: "significance not stated"}
    text = ", ".join(
        part for part in (stated, words[claim.significant], f"n = {claim.per_group:,}") if part
    )

    def finding(verdict: Verdict, predicted: Range, reading: str) -> Finding:
        value = None if claim.relative is None else claim.relative.value
        return Finding(claim.id, rules.POWER, verdict, text, predicted, reading, value)

    if claim.operation != "sign":
        yield finding(
            Verdict.UNDECIDABLE,
            Range(None, None, "noise alone decides"),
            "Rejection has no part in this operation; its noise is not known.",
        )
        return
    if claim.paired:
        yield finding(
            Verdict.UNDECIDABLE,
            Range(None, None, "noise alone decides"),
            "Both groups signed the same inputs, so rejection is the same in both.",
        )
        return
    low, high = variations(claim.set, claim.per_sample)
    found = [detectable(v, claim.per_group, claim.level, claim.power) for v in (low, high)]
    least = significant_from(low, claim.per_group, claim.level)
    predicted = Range(found[0], found[1], f"{percent(found[0])} to {percent(found[1])} detectable")
    reading = (
        f"With inputs drawn for each group, {claim.per_group:,} samples find a difference of "
        f"{percent(found[0])} to {percent(found[1])} in {100 * claim.power:g} % of such studies."
    )
    if claim.significant and claim.relative is not None:
        # The sample's own spread may be less than the law's by chance.
        error = math.exp(-2 * math.sqrt((laws(claim.set)[0].kurtosis - 1) / (8 * claim.per_group)))
        if claim.relative.high < least * error:
            yield finding(
                Verdict.IMPLAUSIBLE,
                predicted,
                f"{reading} So small a difference is not significant unless the inputs did not "
                "vary or were the same in both groups.",
            )
        elif claim.relative.high < found[0]:
            yield finding(Verdict.UNDECIDABLE, predicted, f"{reading} A smaller one may be chance.")
        else:
            yield finding(Verdict.CONSISTENT, predicted, reading)
        return
    if claim.relative is not None and claim.relative.low > found[1] and not claim.significant:
        yield finding(Verdict.CONSISTENT, predicted, f"{reading} The difference is larger.")
        return
    yield finding(Verdict.UNDECIDABLE, predicted, f"{reading} A smaller one would not show.")
