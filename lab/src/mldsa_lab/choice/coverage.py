"""Inputs that take every path of signing, for tests of correctness: as few as possible.

Checks: z (norm of z), r (norm of r0), c (norm of c t0), h (hint weight), each with the index of the
first polynomial that fails it. An iteration in which only one check fails tells a signer that lacks
this check from a correct one.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mldsa_lab import LabError
from mldsa_lab.choice.solver import Choice, Program
from mldsa_lab.inputs.pool import Checks
from mldsa_lab.sets import parameter_set
from mldsa_lab.theory.trace import PASSED, Flags, Ints, TraceTable

# Paths of signing.


# ExpandMask (Algorithm 34) hashes kappa + r in two bytes; from these on it has further bits.
_COUNTERS = (64, 128, 256)
_CLASSES = ("z", "r", "h")


class Paths(NamedTuple):
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
    of_attempt: dict[str, Flags] = {}

    # ||c t0|| is at most tau 2^12, which is below gamma2 but in ML-DSA-44.
    possible = "zrch" if p.tau << 12 >= p.gamma2 else "zrh"
    for pattern in range(1, 1 << len(possible)):
        failing = {check for bit, check in enumerate(possible) if pattern >> bit & 1}
        if checks == "reached" and failing & {*"zr"} and failing & {*"ch"}:
            continue
        exact = [fails[check] == (check in failing) for check in possible]
        name = " and ".join(check for check in possible if check in failing)
        of_attempt[f"fails {name}"] = np.logical_and.reduce(exact)
    for check, size, passed, title in (
        ("z", p.l, ~fails["r"], "z alone"),
        ("r", p.k, ~fails["z"], "r, z passed"),
        ("h", p.k, ~fails["z"] & ~fails["r"], "h, z and r passed"),
    ):
        for i in range(size):
            of_attempt[f"{title}, first at {i}"] = (index[check] == i) & passed
    rejection = table.rejections()
    # No class follows the accepted attempt.
    follows = np.append(rejection[1:], -1)
    for one, first in enumerate(_CLASSES):
        for two, second in enumerate((*_CLASSES, "acceptance")):
            of_attempt[f"{first}, then {second}"] = (rejection == one) & (follows == two)

    owner, attempts = table.signature_of(), table.attempts()
    taken = {
        name: np.bincount(owner[flags], minlength=len(table)) > 0
        for name, flags in of_attempt.items()
    }
    taken["accepted at once"] = attempts == 1
    taken["the longest of the pool"] = attempts == attempts.max(initial=0)
    for limit in _COUNTERS:
        taken[f"kappa + r from {limit} on"] = attempts * p.l > limit
    return Paths(tuple(taken), np.column_stack(list(taken.values())))


# Covering selections.


_NODES = 2000
# A path is taken by one of so many traces.
_EACH = 40


def choose_coverage(
    paths: Paths, attempts: Ints, usable: Ints, n: int | None = None, budget: int | None = None
) -> Choice:
    """The fewest of the ``usable`` traces that take every path the pool shows; with ``n``, exactly
    so many, which take as many paths as so many can; those that are left over take rare paths
    again. Among equals, those with the fewest attempts together. ``budget``: attempts
    of all together. LabError if no choice fits it."""
    taken = paths.taken[usable]
    shown = taken.any(axis=0)
    chosen = _cover(taken[:, shown], attempts[usable], n, budget)
    if n is not None:
        chosen = _fill(taken, attempts[usable], chosen, n)
    elif budget is not None and (least := int(attempts[usable][chosen].sum())) > budget:
        raise LabError(
            f"coverage within {budget} attempts: the smallest cover has {least}; "
            "name the number of inputs to cover what so many can"
        )
    met, there = taken[chosen].any(axis=0), paths.taken.any(axis=0)
    which = {"covered": met, "not covered": there & ~met, "not shown by the pool": ~there}
    names = np.array(paths.names)
    expected = {how: names[paths].tolist() for how, paths in which.items()}
    return Choice(np.sort(usable[chosen]), expected)


def _cover(taken: Flags, attempts: Ints, n: int | None, budget: int | None) -> Ints:
    """The smallest cover or, at most ``n`` traces, those that take the most paths; of the fewest
    attempts. Exactly ``n`` where a ``budget`` limits their attempts."""
    # The shortest of the traces that take the same paths.
    order = np.argsort(attempts, kind="stable")
    few = order[np.unique(taken[order], axis=0, return_index=True)[1]]
    # Of the traces that take a path, those that take the most paths, also for their length.
    many = -taken[few].sum(axis=1)
    ranks = [few[np.argsort(key, kind="stable")] for key in (many, many / attempts[few])]
    few = np.unique(
        np.concatenate([r[taken[r, j]][:_EACH] for r in ranks for j in range(taken.shape[1])])
    )
    if n is not None and budget is not None:
        few = np.union1d(few, order[:n])
    cost = attempts[few].astype(np.float64)
    # More than the attempts of any choice, which needs no more traces than there are paths.
    penalty = float(cost.max(initial=0) * min(len(few), n or taken.shape[1]) + 1)
    program = Program()
    chosen = program.variables(len(few), upper=1.0, cost=cost + penalty if n is None else cost)
    if n is None:
        for column in taken[few].T:
            program.row([(chosen, column)], low=1)
    else:
        met = program.variables(taken.shape[1], upper=1.0, cost=-penalty)
        # A path counts as met where a chosen trace takes it.
        for column, path in zip(taken[few].T, np.eye(taken.shape[1]), strict=True):
            program.row([(chosen, -column.astype(np.float64)), (met, path)], high=0)
        program.row([(chosen, np.ones(len(few)))], 0 if budget is None else n, n)
        if budget is not None:
            program.row([(chosen, cost)], high=budget)
    found = program.solve(nodes=_NODES)
    assert found is not None, "all traces are a cover, and the shortest n are within the budget"
    return few[found[chosen] > 0]


def _fill(taken: Flags, attempts: Ints, first: Ints, n: int) -> Ints:
    """``first`` and more traces, ``n`` together: each time the one whose paths are the rarest so
    far, in proportion to its attempts."""
    chosen = first.tolist()
    times = taken[first].sum(axis=0)
    while len(chosen) < n:
        worth = taken @ 0.5 ** np.minimum(times, 60) / attempts
        worth[chosen] = -1.0
        chosen.append(int(np.argmax(worth)))
        times = times + taken[chosen[-1]]
    return np.array(chosen, dtype=np.int64)
