"""The rule about security: NIST's category of a parameter set, and what it is in bits."""

from __future__ import annotations

from collections.abc import Iterator

from mldsa_lab.audit.claims import ClaimTable, Strength
from mldsa_lab.audit.judgement import Judgement, Verdict, judgement
from mldsa_lab.sets import ALL_SETS

_OF_BITS = {"128": 1, "192": 3, "256": 5}
CATEGORIES = {
    "ML-DSA-44": 2, "ML-DSA-65": 3, "ML-DSA-87": 5,
    "ML-KEM-512": 1, "ML-KEM-768": 3, "ML-KEM-1024": 5, "FN-DSA-512": 1, "FN-DSA-1024": 5,
    **{name: _OF_BITS[name[-4:-1]] for name in ALL_SETS if name.startswith("SLH-DSA-")},
}  # fmt: skip
"""NIST's category of each set: FIPS 203 section 8, FIPS 204 Table 1, FIPS 205 Table 2, and of
FN-DSA the Falcon specification."""
_BITS = {1: 128, 2: 128, 3: 192, 4: 192, 5: 256}
"""Bits by category: the key of the AES, or half the digest of the SHA-2, that breaking is compared
with."""
_CLASSICAL = {
    "RSA-2048-PSS": 112, "RSA-3072-PSS": 128, "Ed25519": 128, "ECDSA-P256": 128,
    "ECDSA-secp256k1": 128, "Schnorr-secp256k1": 128,
}  # fmt: skip
"""NIST SP 800-57 Part 1, Table 2."""


def judge_strength(claim: Strength, _: ClaimTable) -> Iterator[Judgement]:
    """`strength.category` and `strength.bits`."""
    name, category = claim.set, CATEGORIES.get(claim.set)
    bits = _CLASSICAL.get(name) if category is None else _BITS[category]
    stated = claim.category
    if stated is not None and (category or bits):
        reading = "" if category else "A quantum computer breaks it: it has no category."
        yield judgement(
            "strength.category", f"{name}: category {stated}", reading, stated == category,
            stated=stated, predicted=f"category {category}" if category else "no category",
        )  # fmt: skip
    if claim.classical_bits is not None and bits:
        reading = f"Category {category} is compared with {bits} bits." if category else ""
        yield judgement(
            "strength.bits", f"{name}: {claim.classical_bits} bits, classical", reading,
            stated=claim.classical_bits, low=float(bits), high=float(bits), unit="bits",
        )  # fmt: skip
    if claim.quantum_bits is not None and (category or bits):
        verdict, reading = Verdict.UNDECIDABLE, "NIST counts gates of circuits, and states no bits."
        if category is None:
            verdict = Verdict(("consistent", "contradiction")[claim.quantum_bits > 0])
            reading = "Shor's algorithm breaks it in polynomial time."
        text = f"{name}: {claim.quantum_bits} bits, quantum"
        yield judgement(
            "strength.bits", text, reading, verdict, stated=claim.quantum_bits, predicted=""
        )
