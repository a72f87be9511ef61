"""Rules that hold for the figures of any operation: order, mean and standard deviation."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from scipy.special import ndtri

from mldsa_lab.audit.claims import Cost, confidence
from mldsa_lab.audit.law import ASSUMED_SAMPLES, share_of
from mldsa_lab.audit.values import StatedFigure
from mldsa_lab.audit.verdict import Band, Judgement, Verdict, agrees, number, unit_text

_SLACK = 0.01  # relative, where figures of one table may stem from several runs
_NAMES = {"min": "minimum", "max": "maximum", "sd": "standard deviation"}


def label(statistic: str) -> str:
    """A statistic as the results call it."""
    return _NAMES.get(statistic, statistic)


def judge_figures(claim: Cost) -> Iterator[Judgement]:
    """All rules of this module."""
    yield from judge_order(claim)
    yield from judge_mean(claim)
    yield from judge_deviation(claim)


def ordered(claim: Cost) -> list[tuple[float, str, StatedFigure]]:
    """Minimum, percentiles and maximum with the shares below them, ascending by share."""
    shares = [(share_of(name), name, figure) for name, figure in claim.figures.items()]
    return sorted((s for s in shares if s[0] is not None), key=lambda s: s[:2])  # type: ignore[misc]


def judge_order(claim: Cost) -> Iterator[Judgement]:
    """`figures.order`: one finding for the first pair out of order, or one for all."""
    points = [(name, figure) for _, name, figure in ordered(claim)]
    pairs = list(pairwise(points))
    if (mean := claim.figures.get("mean")) is not None:
        pairs += [(point, ("mean", mean)) for point in points if point[0] == "min"]
        pairs += [(("mean", mean), point) for point in points if point[0] == "max"]
    if not pairs:
        return
    for (low_name, low), (high_name, high) in pairs:
        if low.value > high.value and low.low >= high.high:
            yield Judgement(
                "figures.order",
                Verdict.CONTRADICTION,
                f"{label(low_name)} {number(low.value)}, {label(high_name)} {number(high.value)}",
                Band.between(low.value, None, unit_text(claim.unit)),
                f"The {label(high_name)} cannot be less than the {label(low_name)}.",
                high.value,
            )
            return
    names = " ≤ ".join(label(name) for name, _ in points)
    values = " ≤ ".join(number(figure.value) for _, figure in points)
    reading = f"{names}." if len(points) > 1 else "The mean lies on the right side."
    yield Judgement("figures.order", Verdict.CONSISTENT, values, Band.said("ascending"), reading)


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
    shares = [*(share for share, _, _ in points), 1.0]
    low = sum(
        (b - a) * point[2].low for (a, b), point in zip(pairwise(shares), points, strict=True)
    )
    high = None
    if points[-1][1] == "max":
        above = sum((b[0] - a[0]) * b[2].high for a, b in pairwise(points))
        high = points[0][0] * points[0][2].high + above
    rank = (points[-1][2].high - points[0][2].low) / (claim.samples or ASSUMED_SAMPLES)
    slack = max(rank, 0.0) + _SLACK * low
    return max(low - slack, 0.0), None if high is None else high + slack


def judge_mean(claim: Cost) -> Iterator[Judgement]:
    """`figures.mean-range`."""
    mean = claim.figures.get("mean")
    low, high = mean_limits(claim)
    if mean is None or low is None:
        return
    inside = mean.high >= low and (high is None or mean.low <= high)
    yield Judgement(
        "figures.mean-range",
        agrees(inside),
        f"mean {number(mean.value)} {unit_text(claim.unit)}",
        Band.between(low, high, unit_text(claim.unit)),
        "The mean is one that the percentiles allow."
        if inside
        else "No samples with these percentiles have this mean.",
        mean.value,
    )


@dataclass(frozen=True, slots=True)
class Deviation:
    """A claim's standard deviation: as stated, or as its ± must be read."""

    figure: StatedFigure
    note: str = ""


def deviation(claim: Cost) -> Deviation | None:
    """The standard deviation of a claim's samples; None where none is given or can be told.

    A ± of unstated kind is one where a standard error so large would need a standard deviation
    that does not fit between minimum and maximum.
    """
    error, samples = claim.error, claim.samples
    if (stated := claim.figures.get("sd")) is not None:
        return Deviation(stated)
    if error is None:
        return None
    if claim.error_kind == "sd":
        return Deviation(error)
    if claim.error_kind != "unstated":
        if samples is None:
            return None
        level = confidence(claim.error_kind)
        factor = math.sqrt(samples) / (1.0 if level is None else float(ndtri(0.5 + level / 2)))
        note = f"The {claim.error_kind} of {samples:,} samples, as a standard deviation."
        return Deviation(StatedFigure(error.value * factor, error.half * factor), note)
    most = _most_samples_of_a_standard_error(claim)
    if most is None or (samples or 10) <= most:
        return None
    return Deviation(
        error,
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


def judge_deviation(claim: Cost) -> Iterator[Judgement]:
    """`figures.sd-range`."""
    found = deviation(claim)
    if found is None:
        return
    mean, median = claim.figures.get("mean"), claim.figures.get("median")
    low, high = claim.figures.get("min"), claim.figures.get("max")
    least = most = None
    if low is not None and high is not None:
        middle = (low.low + high.high) / 2
        at = middle if mean is None else min(max(middle, mean.low), mean.high)
        n = claim.samples or 2
        most = math.sqrt(max((high.high - at) * (at - low.low), 0.0) * n / (n - 1))
    if mean is not None and median is not None:
        least = max(0.0, abs(mean.value - median.value) - mean.half - median.half)
    if most is None and least is None:
        return
    sd = found.figure
    inside = (most is None or sd.low <= most * (1 + _SLACK)) and (
        least is None or sd.high >= least * (1 - _SLACK)
    )
    reading = (
        "The standard deviation fits the other figures."
        if inside
        else "No samples with these figures have this standard deviation."
    )
    yield Judgement(
        "figures.sd-range",
        agrees(inside),
        f"sd {number(sd.value)} {unit_text(claim.unit)}",
        Band.between(least, most, unit_text(claim.unit)),
        f"{reading} {found.note}".strip(),
        sd.value,
    )
