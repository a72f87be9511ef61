"""Rules about numbers of samples: what so few of a rejection loop can show."""

from __future__ import annotations

import math
from collections.abc import Iterator

from scipy.optimize import brentq
from scipy.stats import nct, t

from mldsa_lab.audit.claims import ClaimTable, Cost, Difference
from mldsa_lab.audit.judgement import ANOTHER_RUN, Judgement, Verdict, judgement
from mldsa_lab.audit.law import laws
from mldsa_lab.audit.values import percent, unit_text
from mldsa_lab.theory.signers import LEAST_FIRST, max_setup_cost


def detectable(variation: float, per_group: int, level: float, power: float) -> float:
    """The relative difference of two means that a two-sided t test finds with this power.

    ``variation`` is the standard deviation of a sample over the mean, the same in both groups.
    The power is the tail of a non-central t beyond the critical value, which is inverted here;
    the other tail is negligible wherever the power is worth having.
    """
    freedom = 2 * per_group - 2
    critical = float(t.ppf(1 - level / 2, freedom))

    def missing(shift: float) -> float:
        reached = float(nct.sf(critical, freedom, shift))
        return (1.0 if math.isnan(reached) else reached) - power

    most = 1.0
    while missing(most) < 0:
        most *= 2
    shift = 0.0 if missing(0.0) >= 0 else float(brentq(missing, 0.0, most))
    return shift * variation * math.sqrt(2 / per_group)


def significant_from(variation: float, per_group: int, level: float) -> float:
    """The least observed relative difference that a two-sided t test calls significant."""
    critical = float(t.ppf(1 - level / 2, 2 * per_group - 2))
    return critical * variation * math.sqrt(2 / per_group)


def variations(name: str, per_sample: int = 1) -> tuple[float, float]:
    """The least and the largest standard deviation over mean of varied signatures."""
    ends = (LEAST_FIRST, max_setup_cost(name))
    each = [law.moments[0] / (first + law.mean) for law in laws(name) for first in ends]
    return min(each) / math.sqrt(per_sample), max(each) / math.sqrt(per_sample)


def judge_samples(claim: Cost, _: ClaimTable) -> Iterator[Judgement]:
    """`sign.error`: what the number of samples alone says of a mean of varied signatures."""
    name, mean = claim.varied_set, claim.figures.get("mean")
    if name is None or mean is None or claim.samples is None:
        return
    low, high = (v / math.sqrt(claim.samples) for v in variations(name, claim.per_sample))
    verdict = Verdict.CONSISTENT if high <= ANOTHER_RUN else Verdict.UNDECIDABLE
    text = f"mean {mean} {unit_text(claim.unit)} of {claim.samples:,} samples"
    yield judgement(
        "sign.error", text,
        f"Rejection alone gives it a standard error of {percent(low)} to {percent(high)}.",
        verdict, low=100 * low, high=100 * high, unit="%",
    )  # fmt: skip


def judge_difference(claim: Difference, _: ClaimTable) -> Iterator[Judgement]:
    """`difference.power`."""
    relative, n = claim.relative, claim.samples_per_group
    stated = math.nan if relative is None else relative.value
    words = {True: "significant", False: "not significant", None: "significance not stated"}
    change = "" if relative is None else f"{percent(stated)}, "
    text = f"{change}{words[claim.significant]}, n = {n:,}"
    if claim.operation != "sign" or claim.paired:
        reading = "Rejection is the same in both groups, or has no part in this operation."
        yield judgement(
            "difference.power", text, reading, Verdict.UNDECIDABLE, stated=stated,
            predicted="noise alone decides",
        )  # fmt: skip
        return
    spreads = variations(claim.set, claim.per_sample)
    low, high = (detectable(v, n, claim.level, claim.power) for v in spreads)
    span = f"{percent(low)} to {percent(high)}"
    averaged = "" if claim.per_sample == 1 else f" of {claim.per_sample:,} signatures each"
    reading = (
        f"With inputs drawn for each group, {n:,} samples{averaged} find a difference of {span} "
        f"in {100 * claim.power:g} % of such studies."
    )
    verdict, more = Verdict.UNDECIDABLE, " A smaller one would not show."
    if relative is not None and claim.significant:
        # The sample's own spread may be less than the law's by chance.
        chance = math.exp(-2 * math.sqrt((laws(claim.set)[0].moments[1] - 1) / (8 * n)))
        more = " A smaller one may be chance."
        if relative.high < significant_from(spreads[0], n, claim.level) * chance:
            verdict = Verdict.IMPLAUSIBLE
            more = (
                " So small a difference is not significant unless the inputs did not vary or "
                "were the same in both groups."
            )
        elif relative.high >= low:
            verdict, more = Verdict.CONSISTENT, ""
    elif relative is not None and relative.low > high:
        verdict, more = Verdict.CONSISTENT, " The difference is larger."
    yield judgement(
        "difference.power", text, reading + more, verdict, stated=stated, low=low, high=high,
        predicted=f"{span} detectable",
    )  # fmt: skip
