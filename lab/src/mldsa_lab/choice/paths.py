"""The paths of Algorithm 7 that a trace takes: what a test of a signer's correctness has to meet.

Checks: z (norm of z), r (norm of r0), c (norm of c t0), h (hint weight), each with the index of
the first polynomial that fails it. An attempt in which only one check fails is what tells a
signer that lacks this check from a right one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mldsa_lab.inputs.pool import Checks
from mldsa_lab.sets import parameter_set
from mldsa_lab.theory.arrays import Flags
from mldsa_lab.theory.table import TraceTable
from mldsa_lab.theory.trace import PASSED

# ExpandMask (Algorithm 34) hashes kappa + r in two bytes; from these on it has further bits.
_COUNTERS = (64, 128, 256)
_CLASSES = ("z", "r", "h")


@dataclass(frozen=True)
class Paths:
    """``names``: what a path is, in words; ``taken``: (traces, paths)."""

    names: tuple[str, ...]
    taken: Flags


def paths_of(table: TraceTable, checks: Checks) -> Paths:
    """All paths that there are in this parameter set, and which trace takes which.

    ``checks``: which checks the traces were made with; where all were looked at in every attempt,
    their combinations are paths too, for signers that compute all before they decide.
    """
    p = parameter_set(table.set)
    index = {check: table.first_failing(check) for check in "zrch"}
    fails = {check: found != PASSED for check, found in index.items()}
    reached = ~fails["z"] & ~fails["r"]
    of_attempt: list[tuple[str, Flags]] = []

    # ||c t0|| is at most tau 2^12, which is below gamma2 but in ML-DSA-44.
    possible = "zrch" if p.tau << 12 >= p.gamma2 else "zrh"
    for pattern in range(1, 1 << len(possible)):
        failing = [check for bit, check in enumerate(possible) if pattern >> bit & 1]
        late = set(failing) & {"c", "h"}
        if late and len(failing) > len(late) and checks == "reached":
            continue
        exact = np.ones(len(table.codes), dtype=bool)
        for check in possible:
            exact &= fails[check] if check in failing else ~fails[check]
        of_attempt.append((f"fails {' and '.join(failing)}", exact))
    of_attempt += [(f"z alone, first at {i}", (index["z"] == i) & ~fails["r"]) for i in range(p.l)]
    of_attempt += [
        (f"r, z passed, first at {i}", (index["r"] == i) & ~fails["z"]) for i in range(p.k)
    ]
    of_attempt += [
        (f"h, z and r passed, first at {i}", (index["h"] == i) & reached) for i in range(p.k)
    ]
    rejection = table.rejections()
    last = np.zeros(len(table.codes), dtype=bool)
    last[table.ends - 1] = True
    follows = np.append(rejection[1:], -1)
    for one, first in enumerate(_CLASSES):
        for two, second in enumerate((*_CLASSES, "acceptance")):
            both = (rejection == one) & (follows == two) & ~last
            of_attempt.append((f"{first}, then {second}", both))

    owner = table.signature_of()
    columns = [np.bincount(owner[flags], minlength=len(table)) > 0 for _, flags in of_attempt]
    names = [name for name, _ in of_attempt]
    attempts = table.attempts()
    names += ["accepted at once", "the longest of the pool"]
    columns += [attempts == 1, attempts == attempts.max(initial=0)]
    for limit in _COUNTERS:
        names.append(f"kappa + r from {limit} on")
        columns.append(attempts * p.l > limit)
    return Paths(tuple(names), np.column_stack(columns))
