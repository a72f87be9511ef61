"""Probabilities of the rejection loop, and prior knowledge of a signer's costs.

FIPS 204, Algorithm 7, steps 11 to 32. An iteration is accepted or falls into one rejection class,
named in FIPS 204's order. Class ``z``: the norm of z is too large, whatever else fails. Class
``r``: else that of r0 is. Class ``h``: else ||c t0|| or the hint weight is. Iterations are
independent: the number of rejected ones is geometric, and their classes are multinomial given that
number.

Costs of signers are in units of a rejected iteration of class r unless a docstring says otherwise.
They rest on counts of Keccak permutations, which dominate signing and follow from the parameter
set. They also rest on fits of the committed records (`attempt_cost` in `mldsa-lab report RECORD
--to json`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache, cached_property
from typing import NamedTuple

import numpy as np
from scipy.special import gammaln

from mldsa_lab import LabError
from mldsa_lab.sets import N, ParameterSet, Q, parameter_set
from mldsa_lab.theory.trace import Array, Ints

_PROBABILITY_FLOOR = 1e-300

# Share of iterations with too large a hint weight (or, hardly ever, ||c t0||) given that z and r0
# pass, with its standard error. It depends on t0, hence on the key, and has no closed form.
# Measured over random keys, one for each signature: `mldsa-lab trace -n 1000000 --seed fail_h`.
# For ML-DSA-65 also `-n 2000000 --seed "p_r again"`.
_FAIL_H = {
    "ML-DSA-44": (0.01446, 0.00012),
    "ML-DSA-65": (0.00376, 0.00004),
    "ML-DSA-87": (0.00785, 0.00009),
}


class ClassTable(NamedTuple):
    """Joint law of the rejected iterations of one signature, one row per class vector.

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
        # z = y + c s1 with y uniform on (-gamma1, gamma1] and |c s1| <= beta. So exactly one y
        # leads to each value that passes the check, whatever c s1 is.
        p_z = ((2 * (c.gamma1 - c.beta) - 1) / (2 * c.gamma1)) ** (N * c.l)
        # w - c s2 is uniform mod q. Decompose splits q - 1 values into (q-1)/(2 gamma2) bands of
        # 2 gamma2. The band around 0 has one value more: q - 1 goes to it with r0 = -1.
        bands = (Q - 1) // (2 * c.gamma2)
        good = (bands - 1) * (2 * (c.gamma2 - c.beta) - 1) + 2 * (c.gamma2 - c.beta) - 1
        p_r = (good / Q) ** (N * c.k)
        return RejectionModel(name, c.k, c.l, p_z, p_r, *_FAIL_H[name])

    # One iteration -------------------------------------------------------------------------------

    @cached_property
    def iteration(self) -> tuple[float, float, float, float]:
        """Probabilities of one iteration: class z, class r, class h, accepted. They sum to 1."""
        both = self.p_z * self.p_r
        return (
            1 - self.p_z,
            self.p_z * (1 - self.p_r),
            both * self.fail_h,
            both * (1 - self.fail_h),
        )

    @property
    def p_accept(self) -> float:
        """Probability that an iteration yields a signature."""
        return self.iteration[3]

    @property
    def p_r_fails_given_z_fails(self) -> float:
        """Probability that r0 fails too in an iteration of class z."""
        return 1 - self.p_r

    def first_failing_z(self) -> Array:
        """Law of the index of the first polynomial of z (0..l-1) that fails, given one does."""
        return _truncated_geometric(self.p_z ** (1 / self.l), self.l)

    def first_failing_r(self) -> Array:
        """Law of the index of the first polynomial of r0 (0..k-1) that fails, given one does."""
        return _truncated_geometric(self.p_r ** (1 / self.k), self.k)

    # One signature -----------------------------------------------------------------------------

    @property
    def expected_iterations(self) -> float:
        """Mean number of iterations of a signature, the accepted one included."""
        return 1 / self.p_accept

    @property
    def expected_counts(self) -> Array:
        """Means of n_z, n_r, n_h."""
        return np.array(self.iteration[:3]) / self.p_accept

    def iterations_quantile(self, p: float) -> int:
        """Smallest number of iterations that at least a share ``p`` (0 < p < 1) of signatures need
        not exceed."""
        check_share(p)
        # The nudge keeps an exact hit (p = 1 - (1 - p_accept)^n) from rounding up to n + 1.
        return max(1, math.ceil(math.log1p(-p) / math.log1p(-self.p_accept) - 1e-12))

    def class_probability(self, counts: Ints) -> Array:
        """Probability of each row (n_z, n_r, n_h) of ``counts``, shape (rows, 3)."""
        logs = np.log(np.maximum(self.iteration, _PROBABILITY_FLOOR))
        ways = gammaln(counts.sum(axis=1) + 1) - gammaln(counts + 1).sum(axis=1)
        law: Array = np.exp(ways + counts @ logs[:3] + logs[3])
        return law

    def class_table(self, tail: float = 1e-12) -> ClassTable:
        """All class vectors but for a set of total probability below ``tail``."""
        if not 0 < tail < 1:
            raise LabError(f"tail {tail}: must lie strictly between 0 and 1")
        return _build_class_table(self, tail)


def check_share(share: float) -> None:
    """LabError if it is no share of signatures that has a quantile."""
    if not 0 < share < 1:
        raise LabError(f"quantile {share}: must lie strictly between 0 and 1")


def _truncated_geometric(survive: float, length: int) -> Array:
    weights = survive ** np.arange(length)
    law: Array = weights / weights.sum()
    return law


@cache
def _build_class_table(model: RejectionModel, tail: float) -> ClassTable:
    _, _, q_h, accept = model.iteration
    # Rejected iterations beyond `most`, and hint failures beyond `most_h`, have probability
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


# Prior costs of signers.


# Bytes that a permutation of SHAKE128 and of SHAKE256 takes up or gives.
_RATE_128, _RATE_256 = 168, 136
_SEED_BYTES = 32
_HASH_BYTES = 64  # of mu, tr and rho''
# Sampling a polynomial of A takes 256 of the three-byte numbers below q, all but 0.1 % of them.
_SAMPLED_BYTES = 3 * N


class Guess(NamedTuple):
    """An assumed cost and its standard deviation."""

    value: float
    error: float


class Range(NamedTuple):
    """The lowest and the highest cost that is known."""

    low: float
    high: float


# Of all implementations in records/2026-11-21-epyc-zen3. Few of these fits know the cost of class
# h, so its range is wider than they are apart.
FIRST = Range(1.3, 4.8)
"""Cost of a signature accepted at the first iteration."""
CLASS_Z = Range(0.70, 1.25)
"""Cost of an iteration of class z."""
CLASS_H = Range(1.0, 2.0)
"""Cost of an iteration of class h."""
LEAST_FIRST = 1.0
"""The accepted iteration does all that a rejected one does."""

CONTRAST = Guess(0.05, 0.2)
"""c_r - c_z in units of the mean iteration. The records have 0.90 to 1.40 for c_r / c_z."""
HINT_EXTRA = Guess(0.25, 0.25)
"""c_h - c_r in that unit: an iteration of class h does all that one of class r does, then c t0 and
the hint. The records have 0.1 to 0.6."""

# A design of inputs has to serve unusual signers too. These decide which inputs are taken, never
# the estimates from them. Changing one changes the shipped selections.
DESIGN_FIRST = Guess(3.0, 3.0)
DESIGN_ITERATION = Guess(1.0, 0.5)
DESIGN_CONTRAST = Guess(0.0, 0.3)

# mldsa-native (AVX2, keys as bytes) on an AMD EPYC (Zen 3): first, z, r, h. The record's inputs
# have too few iterations of class h to tell their cost in two of the sets: HINT_EXTRA is used.
# They are from the first version's fit and are kept, so that the shipped selections stay the same.
# The fit of today differs: first 3.05 and z 0.80 for ML-DSA-65.
USUAL = {
    "ML-DSA-44": (2.47, 0.78, 1.0, 1.28),
    "ML-DSA-65": (2.90, 0.71, 1.0, 1.25),
    "ML-DSA-87": (3.60, 0.83, 1.0, 1.25),
}
"""Costs where no model is given: first, z, r, h by parameter set."""
USUAL_SOURCE = (
    "mldsa-native 0.0.1-alpha.6, AVX2, keys as bytes, fitted from "
    "records/2026-11-21-epyc-zen3/first.jsonl.xz; cost of an attempt of class r = 1"
)


class Permutations(NamedTuple):
    """Keccak-f[1600] permutations, the hashes computed one after another.

    ``matrix``: A. ``attempt``: the mask, the hash of w1 and the challenge of one iteration.
    ``verify``: verification; ``kept``: verification with A and the public key's hash kept.
    ``keygen``: key generation, with one permutation for each secret polynomial, the least.
    """

    matrix: int
    iteration: int
    verify: int
    kept: int
    keygen: int

    def before(self, message_bytes: int | None = None) -> int:
        """Before the first iteration of a signature: A, rho'' and mu, two permutations unless the
        message is known to be longer."""
        # mu is the hash of tr, two bytes, and the message.
        longer = 2 if message_bytes is None else _count_absorbed(_HASH_BYTES + 2 + message_bytes)
        return self.matrix + 1 + max(2, longer)


@cache
def permutations(set_name: str) -> Permutations:
    """The counts of a parameter set (FIPS 204, Algorithms 7, 8 and 29 to 34); for short messages,
    and where no sampling is unusually unlucky."""
    p = parameter_set(set_name)
    matrix = p.k * p.l * _count_blocks(_SAMPLED_BYTES, _RATE_128)
    challenge = _count_absorbed(_HASH_BYTES + p.k * _size_w1(p)) + 1
    iteration = p.l * _count_blocks(p.z_poly_bytes, _RATE_256) + challenge
    kept = 1 + challenge
    tr = _count_absorbed(p.public_key_bytes)
    keygen = 1 + matrix + p.k + p.l + tr
    return Permutations(matrix, iteration, matrix + tr + kept, kept, keygen)


@cache
def max_setup_cost(set_name: str, message_bytes: int | None = None) -> float:
    """Return the largest cost of a signature accepted at the first iteration, in iterations.

    It follows from counts of permutations, with nothing kept from call to call. Arithmetic, which
    setup and iteration have more alike, brings it nearer to 1.
    """
    counts = permutations(set_name)
    return 1 + counts.before(message_bytes) / counts.iteration


@cache
def hardened_setup_cost(set_name: str) -> Range:
    """The cost of a hardened signature accepted at the first iteration, in iterations.

    A hardened signer (docs/decisions/0018-hardened-mode.md) hashes the private key, signs, makes
    the accepted iteration again, recomputes the public key and verifies. The high end counts the
    permutations of all of these, the low end only the two iterations.
    """
    counts, p = permutations(set_name), parameter_set(set_name)
    digest = _count_absorbed(p.private_key_bytes + _SEED_BYTES)
    public_key = counts.matrix + _count_absorbed(p.public_key_bytes)
    checks = digest + public_key + counts.verify
    return Range(2 * LEAST_FIRST, 2 * max_setup_cost(set_name) + checks / counts.iteration)


def _count_blocks(size: int, rate: int) -> int:
    return -(-size // rate)


def _count_absorbed(size: int) -> int:
    """Permutations of SHAKE256 for so many bytes and one of padding, up to the first output."""
    return size // _RATE_256 + 1


def _size_w1(p: ParameterSet) -> int:
    """Bytes of one packed polynomial of w1."""
    bands = (Q - 1) // (2 * p.gamma2)
    return N * (bands - 1).bit_length() // 8
