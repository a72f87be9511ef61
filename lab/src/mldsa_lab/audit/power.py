"""The rule about differences: what so few samples of a rejection loop can show."""

from __future__ import annotations

import math
from collections.abc import Iterator

from scipy.optimize import brentq
from scipy.stats import nct, t

from mldsa_lab.audit.claims import Difference
from mldsa_lab.audit.law import laws
from mldsa_lab.audit.verdict import Band, Judgement, Verdict, percent
from mldsa_lab.theory.signers import LEAST_FIRST, most_first


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
    ends = (LEAST_FIRST, most_first(name))
    found = [law.moments[0] / (first + law.mean) for law in laws(name) for first in ends]
    return min(found) / math.sqrt(per_sample), max(found) / math.sqrt(per_sample)


def judge_difference(claim: Difference) -> Iterator[Judgement]:
    """`difference.power`."""
    relative, n = claim.relative, claim.samples_per_group
    stated = "" if relative is None else percent(relative.value)
    words = {True: "significant", False: "not significant", None: "significance not stated"}
    text = ", ".join(part for part in (stated, words[claim.significant], f"n = {n:,}") if part)
    value = None if relative is None else relative.value
    if claim.operation != "sign" or claim.paired:
        predicted = Band.said("noise alone decides")
        reading = (
            "Both groups signed the same inputs, so rejection is the same in both."
            if claim.operation == "sign"
            else "Rejection has no part in this operation; its noise is not known."
        )
        yield Judgement("difference.power", Verdict.UNDECIDABLE, text, predicted, reading, value)
        return
    spreads = variations(claim.set, claim.per_sample)
    low, high = (detectable(v, n, claim.level, claim.power) for v in spreads)
    of = "" if claim.per_sample == 1 else f" of {claim.per_sample:,} signatures each"
    reading = (
        f"With inputs drawn for each group, {n:,} samples{of} find a difference of "
        f"{percent(low)} to {percent(high)} in {100 * claim.power:g} % of such studies."
    )
    verdict = Verdict.UNDECIDABLE
    if relative is None:
        reading += " A smaller one would not show."
    elif claim.significant:
        # The sample's own spread may be less than the law's by chance.
        chance = math.exp(-2 * math.sqrt((laws(claim.set)[0].moments[1] - 1) / (8 * n)))
        if relative.high < significant_from(spreads[0], n, claim.level) * chance:
            verdict = Verdict.IMPLAUSIBLE
            reading += (
                " So small a difference is not significant unless the inputs did not vary or "
                "were the same in both groups."
            )
        elif relative.high < low:
            reading += " A smaller one may be chance."
        else:
            verdict = Verdict.CONSISTENT
    elif relative.low > high:
        verdict = Verdict.CONSISTENT
        reading += " The difference is larger."
    else:
        reading += " A smaller one would not show."
    predicted = Band(low, high, f"{percent(low)} to {percent(high)} detectable")
    yield Judgement("difference.power", verdict, text, predicted, reading, value)
