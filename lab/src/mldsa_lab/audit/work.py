"""Rules about machines: the least work of an operation, and the width of vectors."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from mldsa_lab.audit.claims import ClaimTable, Cost, ValueTable, Vectors
from mldsa_lab.audit.judgement import Judgement, Verdict, judgement, limits, number, unit_text
from mldsa_lab.audit.values import ClaimedScheme, seconds

STEP_SECONDS = 5e-9
"""The least time of a hash or of a Gaussian sample on one core: an eighth of what eight Keccak
states in AVX-512 take for each (docs/audit.md)."""

VECTOR_BITS = {
    ("cortex-a72", "NEON"): 128, ("cortex-a76", "NEON"): 128,
    ("neoverse n1", "NEON"): 128, ("neoverse n2", "SVE2"): 128, ("neoverse n3", "SVE2"): 128,
    ("neoverse v1", "SVE"): 256, ("neoverse v2", "SVE2"): 128, ("neoverse v3", "SVE2"): 128,
    ("a64fx", "SVE"): 512, ("zen 3", "AVX2"): 256, ("zen 4", "AVX-512"): 512,
    ("zen 5", "AVX-512"): 512,
}  # fmt: skip
"""Bits of a vector register by core and extension, from the makers' reference manuals."""


class _Tree(NamedTuple):
    """Parameters of SLH-DSA, FIPS 205 Table 2: n, h, d, h', a, k."""

    n: int
    h: int
    d: int
    height: int
    a: int
    k: int

    @property
    def subtree(self) -> int:
        """Return the hashes of one XMSS tree: WOTS+ keys of 2n + 3 chains of 15 steps with their
        secret and a compression each, and the nodes above."""
        leaves = 1 << self.height
        return leaves * ((2 * self.n + 3) * 16 + 1) + leaves - 1

    @property
    def sign(self) -> int:
        """Return the hashes of a signature: k FORS trees, and d XMSS trees."""
        leaves = 1 << self.a
        return self.k * (2 * leaves + leaves - 1) + self.d * self.subtree


_SLH_DSA = {
    "128s": _Tree(16, 63, 7, 9, 12, 14), "128f": _Tree(16, 66, 22, 3, 6, 33),
    "192s": _Tree(24, 63, 7, 9, 14, 17), "192f": _Tree(24, 66, 22, 3, 8, 33),
    "256s": _Tree(32, 64, 8, 8, 14, 22), "256f": _Tree(32, 68, 17, 4, 9, 35),
}  # fmt: skip


def least_steps(scheme: str, operation: str) -> tuple[int, str] | None:
    """Return how many steps an operation takes at least, and of what; None where none are
    counted."""
    if scheme.startswith("SLH-DSA"):
        tree = _SLH_DSA[scheme[-4:]]
        return {"keygen": (tree.subtree, "hashes"), "sign": (tree.sign, "hashes")}.get(operation)
    if scheme.startswith("FN-DSA") and operation == "sign":
        return 2 * int(scheme.rpartition("-")[2]), "Gaussian samples"
    return None


def judge_cost(claim: Cost, _: ClaimTable) -> Iterator[Judgement]:
    """`work.floor` of a cost in a unit of time."""
    centre = claim.centre
    if claim.set is not None and centre is not None:
        yield from _floor(claim.set, claim.operation, centre.high, claim.unit)


def judge_table(claim: ValueTable, _: ClaimTable) -> Iterator[Judgement]:
    """`work.floor` of the cell that is nearest to it."""
    found = []
    for name, values in claim.rows.items():
        most = min(value.high.high for value in values)
        match = re.search(r"(SLH-DSA|FN-DSA|FALCON)[\w-]*", name)
        scheme = ClaimedScheme.read(match[0]) if match else ""
        if steps := least_steps(scheme, claim.operation):
            found.append((most / steps[0], scheme, most))
    for _least, scheme, most in sorted(found)[:1]:
        yield from _floor(scheme, claim.operation, most, claim.unit)


def _floor(scheme: str, operation: str, most: float, unit: str) -> Iterator[Judgement]:
    steps, scale = least_steps(scheme, operation), seconds(unit)
    if steps is None or scale is None:
        return
    low = steps[0] * STEP_SECONDS / scale
    verdict, reading = Verdict.CONSISTENT, f"{steps[0]:,} {steps[1]}."
    if most < low:
        verdict = Verdict.IMPLAUSIBLE
        each = most * scale * 1e9 / steps[0]
        reading = f"{steps[0]:,} {steps[1]} in {number(each)} ns each: no core is so fast."
    name = unit_text(unit)
    yield judgement(
        "work.floor", verdict, f"{scheme} {operation}: {number(most)} {name}", reading,
        value=most, low=low, predicted=f"{limits(low, None)} {name} on one core",
    )  # fmt: skip


def judge_vectors(claim: Vectors, _: ClaimTable) -> Iterator[Judgement]:
    """`machine.vectors`."""
    bits = VECTOR_BITS.get((claim.core.lower(), claim.extension.upper()))
    text = f"{claim.extension} of {claim.bits} bits on {claim.core}"
    if bits is None:
        yield judgement(
            "machine.vectors", Verdict.UNDECIDABLE, text, "No known core.", predicted=""
        )
        return
    yield judgement(
        "machine.vectors", claim.bits == bits, text, value=float(claim.bits), low=float(bits),
        high=float(bits), unit="bits",
    )  # fmt: skip
