"""The paths of Algorithm 7 that a trace takes: what a test of a signer's correctness has to meet.

Checks: z (norm of z), r (norm of r0), c (norm of c t0), h (hint weight), each with the index of
the first polynomial that fails it. An attempt in which only one check fails is what tells a
signer that lacks this check from a right one.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mldsa_lab.inputs.pool import Checks
from mldsa_lab.sets import parameter_set
from mldsa_lab.theory.arrays import Flags
from mldsa_lab.theory.table import TraceTable
from mldsa_lab.theory.trace import PASSED

# ExpandMask (Algorithm 34) hashes kappa + r in two bytes; from these on it has further bits.
_COUNTERS = (64, 128, 256)
_CLASSES = ("z", "r", "h")


class Paths(NamedTuple):
    """``names``: each path in words; ``taken``: (traces, paths)."""

    names: tuple[str, ...]
    taken: Flags


def find_paths(table: TraceTable, checks: Checks) -> Paths:
    """All paths of this parameter set, and the traces that take each.

    ``checks``: the checks of the traces; where all were looked at in every attempt,
    their combinations are paths too, for signers that compute all before they decide.
    """
    p = parameter_set(table.set)
    index = {check: table.first_failing(check) for check in "zrch"}
    fails = {check: indexes != PASSED for check, indexes in index.items()}
    by_attempt: dict[str, Flags] = {}

    # ||c t0|| is at most tau 2^12, which is below gamma2 but in ML-DSA-44.
    possible = "zrch" if p.tau << 12 >= p.gamma2 else "zrh"
    for pattern in range(1, 1 << len(possible)):
        failing = {check for bit, check in enumerate(possible) if pattern >> bit & 1}
        if checks == "reached" and failing & {*"zr"} and failing & {*"ch"}:
            continue
        exact = [fails[check] == (check in failing) for check in possible]
        name = " and ".join(check for check in possible if check in failing)
        by_attempt[f"fails {name}"] = np.logical_and.reduce(exact)
    for check, size, passed, title in (
        ("z", p.l, ~fails["r"], "z alone"),
        ("r", p.k, ~fails["z"], "r, z passed"),
        ("h", p.k, ~fails["z"] & ~fails["r"], "h, z and r passed"),
    ):
        for i in range(size):
            by_attempt[f"{title}, first at {i}"] = (index[check] == i) & passed
    rejection = table.rejections()
    # No class follows the accepted attempt.
    follows = np.append(rejection[1:], -1)
    for one, first in enumerate(_CLASSES):
        for two, second in enumerate((*_CLASSES, "acceptance")):
            by_attempt[f"{first}, then {second}"] = (rejection == one) & (follows == two)

    owner, attempts = table.signature_of(), table.attempts()
    taken = {
        name: np.bincount(owner[flags], minlength=len(table)) > 0
        for name, flags in by_attempt.items()
    }
    taken["accepted at once"] = attempts == 1
    taken["the longest of the pool"] = attempts == attempts.max(initial=0)
    for limit in _COUNTERS:
        taken[f"kappa + r from {limit} on"] = attempts * p.l > limit
    return Paths(tuple(taken), np.column_stack(list(taken.values())))
