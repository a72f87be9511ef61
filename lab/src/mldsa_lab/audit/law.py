"""Limits of statistics of signing costs, whatever an implementation's costs are.

They rest on the distribution of `mldsa_lab.theory.law` and the bounds of costs of
`mldsa_lab.theory.rejection`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cache, cached_property
from itertools import pairwise
from typing import NamedTuple

from msgspec.structs import replace
from scipy.special import betaincinv, ndtri
from scipy.stats import nbinom

from mldsa_lab.audit.claims import ClaimTable, Cost
from mldsa_lab.audit.judgement import (
    Judgement,
    StatedFigure,
    Verdict,
    confidence,
    judgement,
    unit_text,
)
from mldsa_lab.theory.law import Law
from mldsa_lab.theory.rejection import CLASS_Z, LEAST_FIRST, RejectionModel, permutations

# Limits of statistics of signing costs, for any implementation.


Z_COSTS = (CLASS_Z.low, (CLASS_Z.low + 1) / 2, 1.0, CLASS_Z.high)
"""Costs of an attempt of class z for which the law is taken."""

ASSUMED_SAMPLES = 100
"""The number of samples where a source states none."""

_LEVEL = 1e-4  # how often a limit may fail by chance, on each side
_DEVIATES = 3.72  # the normal deviate of that level
_SHARE = 1 - 1e-6  # the largest whose quantile is exact
_MOST = 10**9  # signatures; the mean of more is as good as exact
_FEW = 10  # so many signatures hardly ever need the same attempts, fewer may


class Term(NamedTuple):
    """A statistic in units of c_r: ``fixed`` * S/c_r + k with k from ``low`` to ``high``."""

    fixed: float
    low: float
    high: float


def share_of(statistic: str) -> float | None:
    """The share of samples below a statistic; None for mean and sd."""
    named = {"min": 0.0, "median": 0.5, "max": 1.0}
    if statistic in named:
        return named[statistic]
    return float(statistic[1:]) / 100 if statistic.startswith("p") else None


class RejectedLaw:
    """The cost of a signature's rejected attempts, for one cost of class z. Make it with `laws`.

    Hint failures, rarer than one in sixty signatures, count as class r.
    """

    def __init__(self, model: RejectionModel, z_cost: float) -> None:
        self.model = model
        self.law = Law.from_costs(model, (1.0, z_cost, 1.0, 1.0), share=_SHARE)
        """The law of a signature's cost with S = 1."""
        self.mean = float(model.expected_counts @ (z_cost, 1.0, 1.0))

    @cached_property
    def moments(self) -> tuple[float, float]:
        """Standard deviation of a signature's cost, and its fourth standardised moment."""
        weight = self.law.probability / self.law.probability.sum()
        off = self.law.cost - float(self.law.cost @ weight)
        variance = float(off**2 @ weight)
        return math.sqrt(variance), float(off**4 @ weight) / variance**2

    def rejected_at(self, share: float) -> float:
        """Quantile of the cost of a signature's rejected attempts."""
        return self.law.quantile(share)[0] - 1.0

    def term(self, statistic: str, samples: int, per_sample: int = 1) -> Term:
        """Return the limits of a statistic of ``samples`` samples of varied inputs.

        ``per_sample`` > 1 averages that many signatures in a sample; then only mean and sd are
        known. The mean's sum is negative binomial.
        """
        if statistic == "sd":
            spread, kurtosis = self.moments
            error = math.exp(_DEVIATES * math.sqrt((kurtosis - 1) / (4 * samples)))
            spread /= math.sqrt(per_sample)
            return Term(0.0, spread / error if samples >= _FEW else 0.0, spread * error)
        if statistic == "mean":
            accept, signatures = self.model.p_accept, min(samples * per_sample, _MOST)
            low, high = _summed_rejections(accept, signatures)
            each = self.mean * accept / (1 - accept) / signatures
            return Term(1.0, low * each, high * each)
        share = share_of(statistic)
        assert share is not None and per_sample == 1
        low, high = order_shares(share, samples)
        return Term(1.0, self.rejected_at(low), self.rejected_at(high))


@cache
def _summed_rejections(accept: float, signatures: int) -> tuple[float, float]:
    low, high = nbinom.ppf((_LEVEL, 1 - _LEVEL), signatures, accept)
    return float(low), float(high)


@cache
def order_shares(share: float, samples: int) -> tuple[float, float]:
    """Between which shares of all signatures the sample quantile of ``samples`` lies.

    The k-th smallest of n samples lies at a Beta(k, n + 1 - k) share. Definitions of a sample
    quantile differ in k by one at most; both ends are covered.
    """
    n = min(samples, _MOST)
    first = max(1, min(math.floor(share * (n - 1)) + 1, math.ceil(share * n)))
    last = min(n, max(math.ceil(share * (n - 1)) + 1, math.floor(share * n) + 1))
    low = float(betaincinv(first, n + 1 - first, _LEVEL))
    high = float(betaincinv(last, n + 1 - last, 1 - _LEVEL))
    return low, high


@cache
def laws(name: str, z_costs: tuple[float, ...] = Z_COSTS) -> tuple[RejectedLaw, ...]:
    """The laws of a parameter set, one for each cost of an attempt of class z."""
    return tuple(RejectedLaw(RejectionModel.for_set(name), z_cost) for z_cost in z_costs)


def band(
    name: str,
    over: str,
    under: str,
    samples: int,
    highest: float,
    per_sample: int = 1,
    z_costs: tuple[float, ...] = Z_COSTS,
) -> tuple[float, float]:
    """Between which values a ratio of two statistics lies for S / c_r from 1 to ``highest``.

    Each term is monotone in S / c_r, so the ends suffice.
    """
    ratios = []
    for law in laws(name, z_costs):
        a, b = (law.term(s, samples, per_sample) for s in (over, under))
        for first in (LEAST_FIRST, highest):
            ratios.append((a.fixed * first + a.low) / (b.fixed * first + b.high))
            ratios.append((a.fixed * first + a.high) / (b.fixed * first + b.low))
    return min(ratios), max(ratios)


class Bound(NamedTuple):
    """``at_least`` (or at most): a published figure says that fixed * S + k c is so large."""

    term: Term
    value: float
    at_least: bool


def iteration_over_first(bounds: list[Bound]) -> tuple[float, float] | None:
    """The x = c_r / S >= 0 for which some S meets all bounds; None if there is none.

    Let S > 0 be free. A lower bound (e + k x) S >= a and an upper bound (f + l x) S <= b must both
    be met. This is possible if and only if a (f + l x) <= b (e + k x), which is linear in x.
    """
    low, high = 0.0, math.inf
    for below in (b for b in bounds if b.at_least):
        for above in (b for b in bounds if not b.at_least):
            slope = below.value * above.term.low - above.value * below.term.high
            room = above.value * below.term.fixed - below.value * above.term.fixed
            if slope > 0:
                high = min(high, room / slope)
            elif slope < 0:
                low = max(low, room / slope)
            elif room < 0:
                return None
    return (low, high) if low <= high else None


def firsts(bounds: list[Bound], x: float) -> tuple[float, float]:
    """The smallest and the largest S that meet the bounds at c_r / S = x."""
    low, high = 0.0, math.inf
    for term, value, at_least in bounds:
        factor = term.fixed + x * (term.high if at_least else term.low)
        if factor > 0:
            low = max(low, value / factor) if at_least else low
            high = high if at_least else min(high, value / factor)
    return low, high


def share_of_key(name: str, operation: str) -> float:
    """The share of an operation's permutations that keeping the expanded key saves."""
    counts = permutations(name)
    if operation == "sign":
        mean = counts.before() + counts.iteration * RejectionModel.for_set(name).expected_iterations
        return counts.matrix / mean
    # Verification keeps A, and tr, the hash of the public key.
    return 1 - counts.kept / counts.verify if operation == "verify" else 0.0


# Rules for the figures of any operation


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
    """Return the limits of the mean that the percentiles allow, None for no limit.

    All samples between two neighbouring percentiles are between their values. Below the lowest
    percentile they are positive; above the highest they are unbounded unless the maximum is known.
    The definitions of a percentile differ by one rank, which moves a limit by the range over the
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

    A ± of unstated kind is a standard deviation if it is too large for a standard error. The
    standard deviation of so large an error would not fit between minimum and maximum. By
    Popoviciu's bound, error * sqrt(n) is at most half the range times the sample's n / (n - 1).
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
