"""Schemes as scenarios name them: those of the lab, Schnorr's, and hybrids by concatenation."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from mldsa_lab.sets import KEM_OPERATIONS, SCHEMES

SIGNERS = tuple(s for s in SCHEMES.values() if s.kin.operations != KEM_OPERATIONS)
"""The signature schemes of the lab."""
DER_SCHEMES = ("ECDSA-P256", "ECDSA-secp256k1")


@dataclass(frozen=True, slots=True)
class ImpactScheme:
    """A scheme: its public key; the mean of its signatures and their usual most and least, which
    differ where an encoding's length does; bytes. ``parts``: the names of what a hybrid is of."""

    name: str
    public_key_bytes: float
    signature_bytes: tuple[float, float, float]
    parts: tuple[str, ...]
    source: str

    @property
    def varies(self) -> bool:
        """Whether signatures differ in length."""
        return len(set(self.signature_bytes)) > 1


@cache
def scheme_of(name: str) -> ImpactScheme:
    """A scheme by name, a hybrid by its parts' with a plus. ValueError for an unknown one."""
    parts = tuple(part.strip() for part in name.split("+"))
    found = [_single(part) for part in parts]
    return ImpactScheme(
        name,
        sum(s.public_key_bytes for s in found),
        tuple(sum(s.signature_bytes[i] for s in found) for i in range(3)),  # type: ignore[arg-type]
        tuple(part for s in found for part in s.parts),
        "; ".join(dict.fromkeys(s.source for s in found)),
    )


def _single(name: str) -> ImpactScheme:
    base = name.removesuffix(" DER")
    if name != base and base not in DER_SCHEMES:
        raise ValueError(f"scheme {name!r}: only {' and '.join(DER_SCHEMES)} have a DER encoding")
    if base == "Schnorr-secp256k1":
        return ImpactScheme(name, 32, (64, 64, 64), (base,), "BIP 340")
    found = next((s for s in SIGNERS if s.name == base), None)
    if found is None:
        known = ", ".join((*(s.name for s in SIGNERS), "Schnorr-secp256k1"))
        raise ValueError(
            f"scheme {name!r} is unknown: known are {known}; ' DER' behind ECDSA's names for that "
            "encoding, a plus between the parts of a hybrid"
        )
    sizes = _low_s_der() if name != base else (float(found.output_bytes),) * 3
    return ImpactScheme(name, found.public_key_bytes, sizes, (base,), _source(found.family, name))


def _source(family: str, name: str) -> str:
    texts = {
        "ml-dsa": "FIPS 204, table 2", "slh-dsa": "FIPS 205, table 2",
        "fn-dsa": "FIPS 206 is a draft: the crate fn-dsa 0.4",
    }  # fmt: skip
    if name.endswith("DER"):
        return "SEC 1, a compressed point; DER of r and the lower s, BIP 146"
    return texts.get(family, "a compressed point or its like, and r and s; an RSA modulus")


def _low_s_der() -> tuple[float, float, float]:
    """SEQUENCE of two INTEGERs: 6 bytes around r, uniform below 2^256, and s below 2^255: an
    integer has one byte for each eight bits and one more bit for its sign."""
    lengths = []
    for bits in (256, 255):
        chance, left = {}, 1.0
        for size in range(bits // 8 + 1, 0, -1):
            # Longer ones are those with a bit at 8 * (size - 1) - 1 or above.
            below = 2.0 ** (8 * (size - 1) - 1 - bits) if size > 1 else 0.0
            chance[size] = left - min(below, left)
            left = min(below, left)
        lengths.append(chance)
    total: dict[int, float] = {}
    for r, p in lengths[0].items():
        for s, q in lengths[1].items():
            total[6 + r + s] = total.get(6 + r + s, 0.0) + p * q
    mean = sum(size * p for size, p in total.items())
    usual = [size for size, p in total.items() if p > 0.025]
    return mean, float(max(usual)), float(min(usual))
