"""Rules that hold for the figures of any operation: order, mean and standard deviation."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import pairwise

from msgspec.structs import replace
from scipy.special import ndtri

from mldsa_lab.audit.claims import ClaimTable, Cost
from mldsa_lab.audit.judgement import Judgement, Verdict, judgement
from mldsa_lab.audit.law import ASSUMED_SAMPLES, share_of
from mldsa_lab.audit.values import StatedFigure, confidence, unit_text

_SLACK = 0.01  # relative, where figures of one table may stem from several runs
_NAMES = {"min": "minimum", "max": "maximum"}


def label(statistic: str) -> str:
    """A statistic as the results call it."""
    return _NAMES.get(statistic, statistic)


def ordered(claim: Cost) -> list[tuple[float, str, StatedFigure]]:
    """Minimum, percentiles and maximum with the shares below them, ascending by share."""
    shares = ((share_of(name), name, figure) for name, figure in claim.figures.items())
    return sorted((s, name, figure) for s, name, figure in shares if s is not None)


def judge_zeros(claim: Cost, _: ClaimTable) -> Iterator[Judgement]:
    """`figures.zero`: one finding for all figures that are 0."""
    zeros = [label(n) for n, figure in claim.figures.items() if n != "sd" and not figure.value]
    if zeros:
        yield judgement(
            "figures.zero", f"{', '.join(zeros)} 0 {unit_text(claim.unit)}",
            "The clock or the last digit is too coarse, or the value is missing.",
            Verdict.IMPLAUSIBLE, stated=0.0, predicted="more than 0",
        )  # fmt: skip


def without_zeros(claim: Cost) -> Cost | None:
    """The claim as other rules take it; None where all figures are 0."""
    figures = {n: f for n, f in claim.figures.items() if n == "sd" or f.value}
    if not set(figures) - {"sd"} and set(claim.figures) - {"sd"}:
        return None
    return replace(claim, figures=figures) if len(figures) < len(claim.figures) else claim


def judge_order(claim: Cost, _: ClaimTable) -> Iterator[Judgement]:
    """`figures.order`: one finding for the first pair out of order, or one for all."""
    points = [(name, figure) for _, name, figure in ordered(claim)]
    pairs = list(pairwise(points))
    if (mean := claim.figures.get("mean")) is not None:
        pairs += [(point, ("mean", mean)) for point in points if point[0] == "min"]
        pairs += [(("mean", mean), point) for point in points if point[0] == "max"]
    for (low_name, low), (high_name, high) in pairs:
        if low.value > high.value and low.low >= high.high:
            text = f"{label(low_name)} {low}, {label(high_name)} {high}"
            reading = f"The {label(high_name)} cannot be less than the {label(low_name)}."
            yield judgement(
                "figures.order", text, reading, False,
                stated=high, low=low.value, unit=unit_text(claim.unit),
            )  # fmt: skip
            return
    if pairs:
        values = " ≤ ".join(f"{label(name)} {figure}" for name, figure in points)
        yield judgement("figures.order", values, verdict=True, predicted="ascending")


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
    steps = zip(pairwise(shares), points, strict=True)
    low = sum((b - a) * figure.low for (a, b), (_, _, figure) in steps)
    high = None
    if points[-1][1] == "max":
        above = sum((b[0] - a[0]) * b[2].high for a, b in pairwise(points))
        high = points[0][0] * points[0][2].high + above
    rank = (points[-1][2].high - points[0][2].low) / (claim.samples or ASSUMED_SAMPLES)
    slack = max(rank, 0.0) + _SLACK * low
    return max(low - slack, 0.0), None if high is None else high + slack


def judge_mean(claim: Cost, _: ClaimTable) -> Iterator[Judgement]:
    """`figures.mean-range`."""
    mean = claim.figures.get("mean")
    low, high = mean_limits(claim)
    if mean is None or low is None:
        return
    unit = unit_text(claim.unit)
    yield judgement(
        "figures.mean-range", f"mean {mean} {unit}", stated=mean, low=low, high=high,
        fault="No samples with these percentiles have this mean.", unit=unit,
    )  # fmt: skip


def deviation(claim: Cost) -> tuple[StatedFigure, str] | None:
    """The standard deviation of a claim's samples and how it is known; None where it is not.

    A ± of unstated kind is one where a standard error so large would need a standard deviation
    that does not fit between minimum and maximum: error * sqrt(n) must not exceed half the range
    by more than the sample's n / (n - 1) allows (Popoviciu's bound).
    """
    error, samples = claim.error, claim.samples
    if (stated := claim.figures.get("sd")) is not None:
        return stated, ""
    if error is None or claim.error_kind == "sd":
        return None if error is None else (error, "")
    if claim.error_kind != "unstated":
        if samples is None:
            return None
        level = confidence(claim.error_kind)
        factor = math.sqrt(samples) / (1.0 if level is None else float(ndtri(0.5 + level / 2)))
        note = f"The {claim.error_kind} of {samples:,} samples, as a standard deviation."
        return error * factor, note
    low, high = claim.figures.get("min"), claim.figures.get("max")
    if low is None or high is None or error.low <= 0:
        return None
    most = ((high.high - low.low) / 2 / error.low) ** 2 + 1
    if (samples or 10) <= most:
        return None
    return error, (
        "The ± is read as a standard deviation: as a standard error it would fit between "
        f"minimum and maximum with {max(1, math.floor(most))} samples at most."
    )


def judge_deviation(claim: Cost, _: ClaimTable) -> Iterator[Judgement]:
    """`figures.sd-range`."""
    known = deviation(claim)
    mean, median, low, high = map(claim.figures.get, ("mean", "median", "min", "max"))
    least = most = None
    if low is not None and high is not None:
        middle = (low.low + high.high) / 2
        at = middle if mean is None else min(max(middle, mean.low), mean.high)
        n = max(claim.samples or 2, 2)
        most = math.sqrt(max((high.high - at) * (at - low.low), 0.0) * n / (n - 1))
    if mean is not None and median is not None:
        least = max(0.0, abs(mean.value - median.value) - mean.half - median.half)
    if known is None or (most is None and least is None):
        return
    (sd, note), unit = known, unit_text(claim.unit)
    fault = f"No samples with these figures have this deviation. {note}".strip()
    yield judgement(
        "figures.sd-range", f"sd {sd} {unit}", note, fault=fault, stated=sd,
        low=least, high=most, unit=unit, allowed=_SLACK,
    )  # fmt: skip
