"""Probabilities of FIPS 204's rejection loop (Algorithm 7, steps 11 to 32).

One attempt is accepted or falls into one rejection class, named in FIPS 204's order:
``z`` if the norm of z is too large (whatever else fails), else ``r`` if that of r0 is,
else ``h`` if ||c t0|| or the hint weight is. Attempts are independent, so the number of
rejected attempts is geometric and their classes are multinomial given that number.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache, cached_property
from typing import NamedTuple

import numpy as np
from scipy.special import gammaln

from mldsa_lab.errors import LabError
from mldsa_lab.sets import N, Q, parameter_set
from mldsa_lab.theory.arrays import Array, Ints

_PROBABILITY_FLOOR = 1e-300

# Share of attempts whose hint weight exceeds omega (or, hardly ever, whose ||c t0|| reaches
# gamma2) given that z and r0 pass, with its standard error. It depends on t0, hence on the key,
# and has no closed form: measured over random keys, one for each signature, by
# `mldsa-lab trace -n 1000000 --seed fail_h`, for ML-DSA-65 also `-n 2000000 --seed "p_r again"`.
_FAIL_H = {
    "ML-DSA-44": (0.01446, 0.00012),
    "ML-DSA-65": (0.00376, 0.00004),
    "ML-DSA-87": (0.00785, 0.00009),
}


class ClassTable(NamedTuple):
    """Joint law of the rejected attempts of one signature, one row per class vector.

    ``counts``: (rows, 3) integers n_z, n_r, n_h; ``probability``: (rows,), summing to at least
    1 - tail.
    """

    counts: Ints
    probability: Array


@dataclass(frozen=True)
class RejectionModel:
    """The rejection loop of one parameter set. Make it with `RejectionModel.for_set`."""

    name: str
    k: int
    l: int  # noqa: E741
    p_z: float
    """Probability that ||z|| < gamma1 - beta."""
    p_r: float
    """Probability that ||r0|| < gamma2 - beta, independent of z's check."""
    fail_h: float
    """Probability that ct0 or the hint weight fails, given that z and r0 pass (measured)."""
    fail_h_error: float
    """Standard error of `fail_h`."""

    @staticmethod
    @cache
    def for_set(name: str) -> RejectionModel:
        """The model of ``ML-DSA-44``, ``ML-DSA-65`` or ``ML-DSA-87``; LabError for other names."""
        c = parameter_set(name)
        # z = y + c s1 with y uniform on (-gamma1, gamma1] and |c s1| <= beta: every value that the
        # check lets through is hit by exactly one y, whatever c s1 is.
        p_z = ((2 * (c.gamma1 - c.beta) - 1) / (2 * c.gamma1)) ** (N * c.l)
        # w - c s2 is uniform mod q. Decompose splits q - 1 values into (q-1)/(2 gamma2) bands of
        # 2 gamma2; the band around 0 has one value more (q - 1 itself goes to it with r0 = -1).
        bands = (Q - 1) // (2 * c.gamma2)
        good = (bands - 1) * (2 * (c.gamma2 - c.beta) - 1) + 2 * (c.gamma2 - c.beta) - 1
        p_r = (good / Q) ** (N * c.k)
        return RejectionModel(name, c.k, c.l, p_z, p_r, *_FAIL_H[name])

    # One attempt -------------------------------------------------------------------------------

    @cached_property
    def attempt(self) -> tuple[float, float, float, float]:
        """Probabilities of one attempt: class z, class r, class h, accepted. They sum to 1."""
        both = self.p_z * self.p_r
        return (
            1 - self.p_z,
            self.p_z * (1 - self.p_r),
            both * self.fail_h,
            both * (1 - self.fail_h),
        )

    @property
    def p_accept(self) -> float:
        """Probability that an attempt yields a signature."""
        return self.attempt[3]

    @property
    def p_r_fails_given_z_fails(self) -> float:
        """Probability that r0 fails too in an attempt of class z."""
        return 1 - self.p_r

    def first_failing_z(self) -> Array:
        """Law of the index of the first polynomial of z (0..l-1) that fails, given one does."""
        return _truncated_geometric(self.p_z ** (1 / self.l), self.l)

    def first_failing_r(self) -> Array:
        """Law of the index of the first polynomial of r0 (0..k-1) that fails, given one does."""
        return _truncated_geometric(self.p_r ** (1 / self.k), self.k)

    # One signature -----------------------------------------------------------------------------

    @property
    def expected_attempts(self) -> float:
        """Mean number of attempts of a signature, the accepted one included."""
        return 1 / self.p_accept

    @property
    def expected_counts(self) -> Array:
        """Means of n_z, n_r, n_h."""
        return np.array(self.attempt[:3]) / self.p_accept

    def attempts_quantile(self, p: float) -> int:
        """Smallest number of attempts that at least a share ``p`` (0 < p < 1) of signatures need
        not exceed."""
        check_share(p)
        # The nudge keeps an exact hit (p = 1 - (1 - p_accept)^n) from rounding up to n + 1.
        return max(1, math.ceil(math.log1p(-p) / math.log1p(-self.p_accept) - 1e-12))

    def class_probability(self, counts: Ints) -> Array:
        """Probability of each row (n_z, n_r, n_h) of ``counts``, shape (rows, 3)."""
        logs = np.log(np.maximum(self.attempt, _PROBABILITY_FLOOR))
        ways = gammaln(counts.sum(axis=1) + 1) - gammaln(counts + 1).sum(axis=1)
        law: Array = np.exp(ways + counts @ logs[:3] + logs[3])
        return law

    def class_table(self, tail: float = 1e-12) -> ClassTable:
        """All class vectors but for a set of total probability below ``tail``."""
        if not 0 < tail < 1:
            raise LabError(f"tail {tail}: must lie strictly between 0 and 1")
        return _class_table(self, tail)


def check_share(share: float) -> None:
    """LabError if it is no share of signatures that has a quantile."""
    if not 0 < share < 1:
        raise LabError(f"quantile {share}: must lie strictly between 0 and 1")


def _truncated_geometric(survive: float, length: int) -> Array:
    weights = survive ** np.arange(length)
    law: Array = weights / weights.sum()
    return law


@cache
def _class_table(model: RejectionModel, tail: float) -> ClassTable:
    _, _, q_h, accept = model.attempt
    # Rejected attempts beyond `most`, and hint failures beyond `most_h`, have probability
    # below tail / 2 each: both numbers are geometric.
    most = math.ceil(math.log(tail / 2) / math.log1p(-accept))
    most_h = math.ceil(math.log(tail / 2) / math.log(q_h / (q_h + accept)))
    n_z, n_r, n_h = np.meshgrid(
        np.arange(most + 1), np.arange(most + 1), np.arange(most_h + 1), indexing="ij"
    )
    keep = n_z + n_r + n_h <= most
    counts = np.stack([n_z[keep], n_r[keep], n_h[keep]], axis=1)
    probability = model.class_probability(counts)
    counts.setflags(write=False)
    probability.setflags(write=False)
    return ClassTable(counts, probability)
