"""Rules that hold for the figures of any operation: order, mean and standard deviation."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from scipy.special import ndtri

from mldsa_lab.audit import rules
from mldsa_lab.audit.claims import Cost, Figure
from mldsa_lab.audit.law import ASSUMED_SAMPLES, share_of
from mldsa_lab.audit.reading import confidence
from mldsa_lab.audit.verdict import Finding, Range, Verdict, number, unit_text

_SLACK = 0.01  # relative, where figures of one table may stem from several runs
_NAMES = {"median": "median", "min": "minimum", "max": "maximum", "sd": "standard deviation"}


def label(statistic: str) -> str:
    """A statistic as the results call it."""
    return _NAMES.get(statistic, statistic)


def ordered(claim: Cost) -> list[tuple[float, str, Figure]]:
    """Minimum, percentiles and maximum with the shares below them, ascending by share."""
    found = []
    for name, figure in claim.figures.items():
        share = share_of(name)
        if share is not None:
            found.append((share, name, figure))
    return sorted(found, key=lambda entry: entry[0])


def judge_order(claim: Cost) -> Iterator[Finding]:
    """`figures.order`: one finding for the first pair out of order, or one for all."""
    points = ordered(claim)
    mean = claim.figures.get("mean")
    pairs = list(pairwise(points))
    if mean is not None:
        pairs += [(p, (p[0], "mean", mean)) for p in points if p[1] == "min"]
        pairs += [((p[0], "mean", mean), p) for p in points if p[1] == "max"]
    if not pairs:
        return
    for (_, low_name, low), (_, high_name, high) in pairs:
        if low.value > high.value and low.low >= high.high:
            yield Finding(
                claim.id,
                rules.ORDER,
                Verdict.CONTRADICTION,
                f"{label(low_name)} {number(low.value)}, {label(high_name)} {number(high.value)}",
                Range.between(low.value, None, unit_text(claim.unit)),
                f"The {label(high_name)} cannot be less than the {label(low_name)}.",
                high.value,
            )
            return
    names = " ≤ ".join(label(name) for _, name, _ in points)
    yield Finding(
        claim.id,
        rules.ORDER,
        Verdict.CONSISTENT,
        " ≤ ".join(number(f.value) for _, _, f in points),
        Range(None, None, "ascending"),
        f"{names}." if len(points) > 1 else "The mean lies on the right side.",
    )


def mean_limits(claim: Cost) -> tuple[float | None, float | None]:
    """Between which values the percentiles allow the mean to lie, None for no limit.

    Between two neighbouring percentiles all samples lie between their values; below the lowest
    they are positive, above the highest they are unbounded unless the maximum is known. The
    definitions of a percentile differ by one rank, which moves a limit by the range over the
    number of samples at most.
    """
    points = ordered(claim)
    if len(points) < 2:
        return None, None
    low = sum(
        (b[0] - a[0]) * a[2].low
        for a, b in zip(points, [*points[1:], (1.0, "", None)], strict=True)
    )
    high = None
    if points[-1][1] == "max":
        high = points[0][0] * points[0][2].high + sum(
            (b[0] - a[0]) * b[2].high for a, b in pairwise(points)
        )
    rank = (points[-1][2].high - points[0][2].low) / (claim.samples or ASSUMED_SAMPLES)
    slack = max(rank, 0.0) + _SLACK * low
    return max(low - slack, 0.0), None if high is None else high + slack


def judge_mean(claim: Cost) -> Iterator[Finding]:
    """`figures.mean-range`."""
    mean = claim.figures.get("mean")
    low, high = mean_limits(claim)
    if mean is None or low is None:
        return
    inside = mean.high >= low and (high is None or mean.low <= high)
    yield Finding(
        claim.id,
        rules.MEAN_RANGE,
        Verdict.CONSISTENT if inside else Verdict.CONTRADICTION,
        f"mean {number(mean.value)} {unit_text(claim.unit)}",
        Range.between(low, high, unit_text(claim.unit)),
        "The mean is one that the percentiles allow."
        if inside
        else "No samples with these percentiles have this mean.",
        mean.value,
    )


@dataclass(frozen=True, slots=True)
class Deviation:
    """A claim's standard deviation: as stated, or as its ± must be read."""

    figure: Figure
    note: str


def deviation(claim: Cost) -> Deviation | None:
    """The standard deviation of a claim's samples; None where none is given or can be told.

    A ± of unstated kind is one where a standard error so large would need a standard deviation
    that does not fit between minimum and maximum.
    """
    if (stated := claim.figures.get("sd")) is not None:
        return Deviation(stated, "")
    if claim.error is None:
        return None
    if claim.error_kind == "sd":
        return Deviation(claim.error, "")
    if claim.error_kind != "unstated":
        if claim.samples is None:
            return None
        deviates = 1.0
        if claim.error_kind != "se":
            deviates = float(ndtri(0.5 + confidence(claim.error_kind) / 2))
        factor = math.sqrt(claim.samples) / deviates
        error = claim.error
        return Deviation(
            Figure(error.value * factor, error.half * factor),
            f"The {claim.error_kind} of {claim.samples:,} samples, as a standard deviation.",
        )
    most = _most_samples_of_a_standard_error(claim)
    if most is None or (claim.samples or 10) <= most:
        return None
    return Deviation(
        claim.error,
        f"The ± is read as a standard deviation: as a standard error it would fit between "
        f"minimum and maximum with {max(1, math.floor(most))} samples at most.",
    )


def _most_samples_of_a_standard_error(claim: Cost) -> float | None:
    """With how many samples at most the ± can be a standard error: error * sqrt(n) must not
    exceed half the range by more than the sample's n / (n - 1) allows (Popoviciu's bound)."""
    low, high = claim.figures.get("min"), claim.figures.get("max")
    if claim.error is None or low is None or high is None or claim.error.low <= 0:
        return None
    return ((high.high - low.low) / 2 / claim.error.low) ** 2 + 1


def judge_deviation(claim: Cost) -> Iterator[Finding]:
    """`figures.sd-range`."""
    found = deviation(claim)
    if found is None:
        return
    limits = []
    centre = claim.figures.get("mean")
    low, high = claim.figures.get("min"), claim.figures.get("max")
    n = claim.samples or 2
    if centre and low and high:
        middle = (low.low + high.high) / 2
        at = min(max(middle, centre.low), centre.high)
        product = max((high.high - at) * (at - low.low), 0.0)
        limits.append(math.sqrt(product * n / (n - 1)))
    elif low and high:
        limits.append((high.high - low.low) / 2 * math.sqrt(n / (n - 1)))
    least = None
    median = claim.figures.get("median")
    if centre and median:
        least = max(0.0, abs(centre.value - median.value) - centre.half - median.half)
    if not limits and least is None:
        return
    most = min(limits, default=None)
    sd = found.figure
    inside = (most is None or sd.low <= most * (1 + _SLACK)) and (
        least is None or sd.high >= least * (1 - _SLACK)
    )
    reading = (
        "The standard deviation fits the other figures."
        if inside
        else ("No samples with these figures have this standard deviation.")
    )
    yield Finding(
        claim.id,
        rules.SD_RANGE,
        Verdict.CONSISTENT if inside else Verdict.CONTRADICTION,
        f"sd {number(sd.value)} {unit_text(claim.unit)}",
        Range.between(least, most, unit_text(claim.unit)),
        f"{reading} {found.note}".strip(),
        sd.value,
    )
