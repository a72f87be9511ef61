"""Operands and results of a core: the fields of a worker's inputs, or parts of them.

They are of FIPS 204 or of round 3 of the competition, whose keys and signatures have other lengths.
"""

from __future__ import annotations

from dataclasses import dataclass

from mldsa_lab.sets import PARAMETER_SETS, D, Q

_OF_KEY = ("sk.rho", "sk.key", "sk.tr", "sk.s1", "sk.s2", "sk.t0")
_OF_PUBLIC = ("pk.rho", "pk.t1")
_OF_SIGNATURE = ("signature.c", "signature.z", "signature.h")
_SLICES = (*_OF_KEY, *_OF_PUBLIC, *_OF_SIGNATURE)
_WHOLE = (
    "seed", "rnd", "sk", "pk", "signature", "message", "context", "m_prime", "mu",
    "message_bytes", "context_bytes", "m_prime_bytes",
)  # fmt: skip
RHO = "rho"
"""The seed of the matrix where key generation gives it once for both keys."""
PARTS = (*_WHOLE, *_SLICES)
"""The operands."""
STORED = ("pk", "sk", "signature", *_SLICES, RHO, "verdict")
"""The results."""
_ROUND_3_HASH = 32  # bytes of tr and of c~ in round 3


@dataclass(frozen=True, slots=True)
class Layout:
    """Bytes of the keys and signatures of a set, and the place of each of their parts."""

    tr: int
    slices: dict[str, tuple[int, int]]

    @classmethod
    def for_set(cls, set_name: str, round_3: bool) -> Layout:
        """Of a parameter set of FIPS 204, or of the Dilithium of round 3 that became it."""
        p = PARAMETER_SETS[set_name]
        eta = 32 * (2 * p.eta).bit_length()
        tr = _ROUND_3_HASH if round_3 else 64
        c = _ROUND_3_HASH if round_3 else p.c_tilde_bytes
        sizes = {
            "sk": (32, 32, tr, p.l * eta, p.k * eta, 32 * D * p.k),
            "pk": (32, 32 * p.k * (Q.bit_length() - D)),
            "signature": (c, p.z_bytes, p.omega + p.k),
        }
        slices: dict[str, tuple[int, int]] = {}
        names = {"sk": _OF_KEY, "pk": _OF_PUBLIC, "signature": _OF_SIGNATURE}
        for whole, parts in sizes.items():
            at = 0
            for name, size in zip(names[whole], parts, strict=True):
                slices[name] = (at, size)
                at += size
            slices[whole] = (0, at)
        slices[RHO] = slices["pk.rho"]
        return cls(tr, slices)

    def size(self, whole: str) -> int:
        """Bytes of `sk`, `pk` or `signature`."""
        return self.slices[whole][1]
