"""The law of signing costs over varied inputs, with the implementation's costs left open.

A signature costs S + n_z c_z + n_r c_r + n_h c_h (docs/methodology.md): S, the cost of a signature
accepted at once, and the costs of rejected attempts. Whatever the implementation, two ratios are
bounded: S / c_r lies between 1 (an accepted attempt does all that a rejected one does) and what
counting Keccak permutations allows (nothing is kept from call to call: A is expanded anew), and
c_z / c_r between `Z_COSTS`. So every statistic of the cost, in units of c_r, is

    fixed * S/c_r + k,   k between two limits,

where fixed is 1 (0 for a standard deviation) and the limits hold what n samples can show.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv
from scipy.stats import nbinom

from mldsa_lab.theory.rejection import RejectionModel

Array = NDArray[np.float64]

Z_COSTS = (0.7, 0.85, 1.0, 1.15)
"""Cost of an attempt of class z over one of class r. The commitment is computed and hashed in
both; one that stops at z skips the products with s2, one that checks r0 first may cost more."""

ASSUMED_SAMPLES = 100
"""The number of samples where a source states none."""

_LEVEL = 1e-4  # how often a limit may fail by chance, on each side
_DEVIATES = 3.72  # the normal deviate of that level
_TAIL = 1e-9
_MOST = 10**9  # signatures; the mean of more is as good as exact
_FEW = 10  # so many signatures hardly ever need the same attempts, fewer may
_RATE = 136  # bytes that SHAKE256 takes up in a permutation

# Keccak-f[1600] permutations with the hashes one after another, counted with an instrumented
# reference: A; the mask, w1's hash and SampleInBall of one attempt; verification, and verification
# with A and the public key's hash kept.
_KECCAK = {
    "ML-DSA-44": (80, 28, 99, 9),
    "ML-DSA-65": (150, 33, 174, 9),
    "ML-DSA-87": (280, 45, 311, 11),
}


@dataclass(frozen=True, slots=True)
class Term:
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


@dataclass(frozen=True)
class SigningLaw:
    """The law for one parameter set and z cost. Make it with `laws`."""

    name: str
    z_cost: float
    quantiles: tuple[Array, Array]
    """Costs of the rejected attempts of a signature in ascending order, and the cumulated
    probabilities."""
    per_rejection: float
    """Mean cost of a rejected attempt."""
    spread: float
    """Standard deviation of a signature's cost."""
    kurtosis: float
    """Fourth standardised moment of it."""
    accept: float

    @property
    def mean(self) -> float:
        """Mean cost of the rejected attempts of a signature."""
        return self.per_rejection * (1 - self.accept) / self.accept

    def rejected_at(self, share: float) -> float:
        """Quantile of the cost of a signature's rejected attempts."""
        costs, cumulated = self.quantiles
        return float(costs[min(int(np.searchsorted(cumulated, share)), len(costs) - 1)])

    def term(self, statistic: str, samples: int, per_sample: int = 1) -> Term:
        """What ``samples`` samples of varied inputs show of a statistic.

        ``per_sample`` > 1 averages that many signatures in a sample; mean and sd alone are then
        given.
        """
        if statistic == "sd":
            error = _DEVIATES * math.sqrt((self.kurtosis - 1) / (4 * samples))
            spread = self.spread / math.sqrt(per_sample)
            low = spread * math.exp(-error) if samples >= _FEW else 0.0
            return Term(0.0, low, spread * math.exp(error))
        if statistic == "mean":
            low, high = _mean_rejections(self.accept, min(samples * per_sample, _MOST))
            return Term(1.0, low * self.per_rejection, high * self.per_rejection)
        share = share_of(statistic)
        assert share is not None and per_sample == 1
        low, high = order_shares(share, samples)
        return Term(1.0, self.rejected_at(low), self.rejected_at(high))


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
def _mean_rejections(accept: float, signatures: int) -> tuple[float, float]:
    """Between which values the mean number of rejected attempts of so many signatures lies: their
    sum is negative binomial."""
    low, high = nbinom.ppf((_LEVEL, 1 - _LEVEL), signatures, accept) / signatures
    return float(low), float(high)


def most_first(name: str, message_bytes: int | None = None) -> float:
    """The largest S / c_r that counting Keccak permutations allows.

    Before the first attempt: A, rho'' and the hash of the message, two permutations unless the
    message is known to be longer. Arithmetic brings the ratio nearer to 1.
    """
    matrix, attempt, _, _ = _KECCAK[name]
    # mu is the hash of tr (64 bytes), two bytes, and the message; SHAKE pads by one byte at least.
    blocks = 2 if message_bytes is None else max(2, (64 + 2 + message_bytes) // _RATE + 1)
    return 1 + (matrix + 1 + blocks) / attempt


@cache
def laws(name: str) -> tuple[SigningLaw, ...]:
    """The laws of a parameter set, one for each of `Z_COSTS`."""
    return tuple(law(name, z_cost) for z_cost in Z_COSTS)


@cache
def law(name: str, z_cost: float) -> SigningLaw:
    """The law for one cost of an attempt of class z. Hint failures, rarer than one in sixty
    signatures, count as class r."""
    model = RejectionModel.of(name)
    table = model.class_table(_TAIL)
    weight = table.probability / table.probability.sum()
    cost = table.counts @ np.array([z_cost, 1.0, 1.0])
    order = np.argsort(cost, kind="stable")
    mean = float(cost @ weight)
    moments = [float((cost - mean) ** n @ weight) for n in (2, 4)]
    z, r, h, accept = model.attempt
    return SigningLaw(
        name,
        z_cost,
        (cost[order], np.cumsum(weight[order])),
        (z * z_cost + r + h) / (1 - accept),
        math.sqrt(moments[0]),
        moments[1] / moments[0] ** 2,
        accept,
    )


def band(
    name: str,
    over: str,
    under: str,
    samples: int,
    *,
    highest: float,
    per_sample: int = 1,
    z_costs: tuple[float, ...] = Z_COSTS,
) -> tuple[float, float]:
    """Between which values a ratio of two statistics lies for S / c_r from 1 to ``highest``.

    Each term is monotone in S / c_r, so the ends suffice.
    """
    ratios = []
    for z_cost in z_costs:
        one = law(name, z_cost)
        a, b = (one.term(s, samples, per_sample) for s in (over, under))
        for setup in (1.0, highest):
            ratios.append((a.fixed * setup + a.low) / (b.fixed * setup + b.high))
            ratios.append((a.fixed * setup + a.high) / (b.fixed * setup + b.low))
    return min(ratios), max(ratios)


@dataclass(frozen=True, slots=True)
class Bound:
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
    for b in bounds:
        k = b.term.high if b.at_least else b.term.low
        factor = b.term.fixed + k * x
        if factor <= 0:
            continue
        if b.at_least:
            low = max(low, b.value / factor)
        else:
            high = min(high, b.value / factor)
    return low, high


def keccak_share_of_key(name: str, operation: str) -> float:
    """The share of an operation's permutations that keeping the expanded key saves."""
    matrix, attempt, verify, kept = _KECCAK[name]
    if operation == "sign":
        mean = matrix + 1 + 2 + attempt * RejectionModel.of(name).expected_attempts
        return matrix / mean
    # Verification keeps A, and tr, the hash of the public key.
    return 1 - kept / verify if operation == "verify" else 0.0
