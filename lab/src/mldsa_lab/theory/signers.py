"""The costs of signers that are known before one is measured, in one table.

Costs are in units of a rejected attempt of class r unless said otherwise. They rest on two things:
counts of Keccak permutations, which dominate signing and follow from the parameter set, and fits
of the committed records (`attempt_cost` in `mldsa-lab report RECORD --to FILE.json`).
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

from mldsa_lab.sets import N, ParameterSet, Q, parameter_set

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
"""Cost of a signature accepted at the first attempt."""
CLASS_Z = Range(0.70, 1.25)
"""Cost of an attempt of class z."""
CLASS_H = Range(1.0, 2.0)
"""Cost of an attempt of class h."""
LEAST_FIRST = 1.0
"""The accepted attempt does all that a rejected one does."""

CONTRAST = Guess(0.05, 0.2)
"""c_r - c_z in units of the mean attempt: the committed records have 0.90 to 1.40 for c_r / c_z."""
HINT_EXTRA = Guess(0.25, 0.25)
"""c_h - c_r in that unit: an attempt of class h does all that one of class r does, then c t0 and
the hint. The records have 0.1 to 0.6."""

# A design of inputs has to serve unusual signers too. These decide which inputs are taken, never
# what is estimated from them; changing one changes the shipped selections.
DESIGN_FIRST = Guess(3.0, 3.0)
DESIGN_ATTEMPT = Guess(1.0, 0.5)
DESIGN_CONTRAST = Guess(0.0, 0.3)

# mldsa-native (AVX2, keys as bytes) on an AMD EPYC (Zen 3): first, z, r, h. The record's inputs
# hold too few attempts of class h to tell their cost in two of the sets; HINT_EXTRA stands there.
# They are those of the first version's fit and are kept, so that the shipped selections stay the
# same; the fit of today differs: first 3.05 and z 0.80 for ML-DSA-65.
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

    ``matrix``: A. ``attempt``: the mask, the hash of w1 and the challenge of one attempt.
    ``verify``: verification; ``kept``: verification with A and the public key's hash kept.
    ``keygen``: key generation, with one permutation for each secret polynomial, the least.
    """

    matrix: int
    attempt: int
    verify: int
    kept: int
    keygen: int

    def before(self, message_bytes: int | None = None) -> int:
        """Before the first attempt of a signature: A, rho'' and mu, two permutations unless the
        message is known to be longer."""
        # mu is the hash of tr, two bytes, and the message.
        longer = 2 if message_bytes is None else _absorb(_HASH_BYTES + 2 + message_bytes)
        return self.matrix + 1 + max(2, longer)


@cache
def permutations(set_name: str) -> Permutations:
    """The counts of a parameter set (FIPS 204, Algorithms 7, 8 and 29 to 34); for short messages,
    and where no sampling is unusually unlucky."""
    p = parameter_set(set_name)
    matrix = p.k * p.l * _blocks(_SAMPLED_BYTES, _RATE_128)
    challenge = _absorb(_HASH_BYTES + p.k * _w1_bytes(p)) + 1
    attempt = p.l * _blocks(p.z_poly_bytes, _RATE_256) + challenge
    kept = 1 + challenge
    tr = _absorb(p.public_key_bytes)
    keygen = 1 + matrix + p.k + p.l + tr
    return Permutations(matrix, attempt, matrix + tr + kept, kept, keygen)


@cache
def max_setup_cost(set_name: str, message_bytes: int | None = None) -> float:
    """The most that a signature accepted at the first attempt costs, in attempts: what counts of
    permutations allow, with nothing kept from call to call. Arithmetic, which setup and attempt
    have more alike, brings it nearer to 1."""
    counts = permutations(set_name)
    return 1 + counts.before(message_bytes) / counts.attempt


@cache
def hardened_setup_cost(set_name: str) -> Range:
    """The cost of a hardened signature accepted at the first attempt, in attempts.

    A hardened signer (docs/decisions/0018-hardened-mode.md) hashes the private key, signs, makes
    the accepted attempt again, recomputes the public key and verifies. The high end counts the
    permutations of all of these, the low end the two attempts alone.
    """
    counts, p = permutations(set_name), parameter_set(set_name)
    digest = _absorb(p.private_key_bytes + _SEED_BYTES)
    public_key = counts.matrix + _absorb(p.public_key_bytes)
    checks = digest + public_key + counts.verify
    return Range(2 * LEAST_FIRST, 2 * max_setup_cost(set_name) + checks / counts.attempt)


def _blocks(size: int, rate: int) -> int:
    return -(-size // rate)


def _absorb(size: int) -> int:
    """Permutations of SHAKE256 for so many bytes and one of padding, up to the first output."""
    return size // _RATE_256 + 1


def _w1_bytes(p: ParameterSet) -> int:
    """Bytes of one packed polynomial of w1."""
    bands = (Q - 1) // (2 * p.gamma2)
    return N * (bands - 1).bit_length() // 8
