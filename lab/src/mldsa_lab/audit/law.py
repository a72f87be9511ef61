"""Limits of statistics of signing costs, for any implementation.

The law is that of `mldsa_lab.theory.law`, the bounds of costs those of `mldsa_lab.theory.signers`:
a signature accepted at once costs S, from 1 attempt to what counting Keccak permutations allows,
an attempt of class z between the ends of `CLASS_Z` in units of c_r. So every statistic of the
cost, in units of c_r, is

    fixed * S/c_r + k,   k between two limits,

where fixed is 1 (0 for a standard deviation) and the limits hold what n samples can show.
"""

from __future__ import annotations

import math
from functools import cache, cached_property
from typing import NamedTuple

from scipy.special import betaincinv
from scipy.stats import nbinom

from mldsa_lab.theory.law import Law
from mldsa_lab.theory.rejection import RejectionModel
from mldsa_lab.theory.signers import CLASS_Z, LEAST_FIRST, permutations

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

        ``per_sample`` > 1 averages that many signatures in a sample; mean and sd alone are then
        given. The mean's sum is negative binomial.
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


def attempt_over_first(bounds: list[Bound]) -> tuple[float, float] | None:
    """The x = c_r / S >= 0 for which some S meets all bounds; None if there is none.

    With S > 0 free, a bound from below, (e + k x) S >= a, and one from above, (f + l x) S <= b,
    can both be met if and only if a (f + l x) <= b (e + k x), which is linear in x.
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
        mean = counts.before() + counts.attempt * RejectionModel.for_set(name).expected_attempts
        return counts.matrix / mean
    # Verification keeps A, and tr, the hash of the public key.
    return 1 - counts.kept / counts.verify if operation == "verify" else 0.0
