"""Inputs that take every path of signing, for tests of correctness: as few as possible.

Checks: z (norm of z), r (norm of r0), c (norm of c t0), h (hint weight). Each has the index of the
first polynomial that fails it. An iteration in which only one check fails tells a signer that lacks
this check from a correct one.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mldsa_lab import LabError
from mldsa_lab.choice import SelectionResult
from mldsa_lab.choice.solver import Program
from mldsa_lab.inputs.pool import Checks
from mldsa_lab.sets import parameter_set
from mldsa_lab.theory.trace import PASSED, Flags, Ints, TraceTable

# Paths of signing.


# ExpandMask (Algorithm 34) hashes kappa + r in two bytes; from these on it has further bits.
_COUNTERS = (64, 128, 256)
_CLASSES = ("z", "r", "h")


class Paths(NamedTuple):
    """``names``: each path in words; ``taken``: (traces, paths)."""

    names: tuple[str, ...]
    taken: Flags


def find_paths(table: TraceTable, checks: Checks) -> Paths:
    """All paths of this parameter set, and the traces that take each.

    ``checks``: the checks of the traces. If every iteration looked at all of them, their
    combinations are paths too, for signers that compute all before they decide.
    """
    p = parameter_set(table.set)
    index = {check: table.first_failing(check) for check in "zrch"}
    fails = {check: indexes != PASSED for check, indexes in index.items()}
    by_iteration: dict[str, Flags] = {}

    # ||c t0|| is at most tau 2^12, which is below gamma2 but in ML-DSA-44.
    possible = "zrch" if p.tau << 12 >= p.gamma2 else "zrh"
    for pattern in range(1, 1 << len(possible)):
        failing = {check for bit, check in enumerate(possible) if pattern >> bit & 1}
        if checks == "reached" and failing & {*"zr"} and failing & {*"ch"}:
            continue
        exact = [fails[check] == (check in failing) for check in possible]
        name = " and ".join(check for check in possible if check in failing)
        by_iteration[f"fails {name}"] = np.logical_and.reduce(exact)
    for check, size, passed, title in (
        ("z", p.l, ~fails["r"], "z alone"),
        ("r", p.k, ~fails["z"], "r, z passed"),
        ("h", p.k, ~fails["z"] & ~fails["r"], "h, z and r passed"),
    ):
        for i in range(size):
            by_iteration[f"{title}, first at {i}"] = (index[check] == i) & passed
    rejection = table.rejections()
    # No class follows the accepted attempt.
    follows = np.append(rejection[1:], -1)
    for one, first in enumerate(_CLASSES):
        for two, second in enumerate((*_CLASSES, "acceptance")):
            by_iteration[f"{first}, then {second}"] = (rejection == one) & (follows == two)

    owner, iterations = table.signature_numbers(), table.iterations()
    taken = {
        name: np.bincount(owner[flags], minlength=len(table)) > 0
        for name, flags in by_iteration.items()
    }
    taken["accepted at once"] = iterations == 1
    taken["the longest of the pool"] = iterations == iterations.max(initial=0)
    for limit in _COUNTERS:
        taken[f"kappa + r from {limit} on"] = iterations * p.l > limit
    return Paths(tuple(taken), np.column_stack(list(taken.values())))


# Covering selections.


_NODES = 2000
# A path is taken by one of so many traces.
_EACH = 40
# A new path counts more than all rare ones together.
_NEW = 1000


def choose_coverage(
    paths: Paths, iterations: Ints, usable: Ints, n: int | None = None, budget: int | None = None
) -> SelectionResult:
    """The fewest of the ``usable`` traces that take every path the pool shows, with the fewest
    attempts together; with ``n``, exactly so many.

    If ``n`` traces cannot take all paths, each next one takes the most new paths. If fewer would
    do, the others take rare paths again. ``budget``: attempts of all together. LabError if no
    choice fits it.
    """
    taken, cost = paths.taken[usable], iterations[usable]
    chosen = _cover(taken[:, taken.any(axis=0)], cost)
    if n is not None:
        spent = cost[chosen].sum() + _least(cost, chosen, n)
        fits = len(chosen) <= n and (budget is None or spent <= budget)
        chosen = _fill(taken, cost, chosen if fits else chosen[:0], n, budget)
    elif budget is not None and (least := int(cost[chosen].sum())) > budget:
        raise LabError(
            f"coverage within {budget} attempts: the smallest cover has {least}; "
            "name the number of inputs to cover what so many can"
        )
    met, shown = taken[chosen].any(axis=0), paths.taken.any(axis=0)
    lists = {"covered": met, "not covered": shown & ~met, "not shown by the pool": ~shown}
    names = np.array(paths.names)
    expected = {title: names[which].tolist() for title, which in lists.items()}
    return SelectionResult(np.sort(usable[chosen]), expected)


def _cover(taken: Flags, iterations: Ints) -> Ints:
    """The smallest cover, of the fewest attempts."""
    # The shortest of the traces that take the same paths.
    order = np.argsort(iterations, kind="stable")
    few = order[np.unique(taken[order], axis=0, return_index=True)[1]]
    # Of the traces that take a path, those that take the most paths, also for their length.
    many = -taken[few].sum(axis=1)
    ranks = [few[np.argsort(key, kind="stable")] for key in (many, many / iterations[few])]
    few = np.unique(
        np.concatenate([r[taken[r, j]][:_EACH] for r in ranks for j in range(taken.shape[1])])
    )
    cost = iterations[few].astype(np.float64)
    program = Program()
    # A trace costs more than the attempts of any choice, which needs one for each path at most.
    penalty = float(cost.max(initial=0) * min(len(few), taken.shape[1]) + 1)
    chosen = program.variables(len(few), upper=1.0, cost=cost + penalty)
    for column in taken[few].T:
        program.row([(chosen, column)], low=1)
    solution = program.solve(nodes=_NODES)
    assert solution is not None, "all traces are a cover"
    return few[solution[chosen] > 0]


def _fill(taken: Flags, iterations: Ints, first: Ints, n: int, budget: int | None) -> Ints:
    """``first`` and more traces, ``n`` together.

    Each next one has the most new paths, or else the rarest paths for its attempts. A ``budget``
    limits the attempts of all; short traces count more then.
    """
    chosen = first.tolist()
    scale = np.ones(len(iterations)) if budget is None else np.sqrt(iterations)
    while len(chosen) < n:
        times = taken[chosen].sum(axis=0)
        worth = taken @ np.where(times, 0.0, _NEW) / scale
        worth += taken @ 0.5 ** np.minimum(times, 60) / iterations
        if budget is not None:
            left = budget - iterations[chosen].sum() - _least(iterations, chosen, n - 1)
            worth[iterations > left] = -1.0
        worth[chosen] = -1.0
        chosen.append(int(np.argmax(worth)))
    return np.array(chosen, dtype=np.int64)


def _least(iterations: Ints, chosen: Ints | list[int], n: int) -> int:
    """The fewest attempts of the traces that ``chosen`` lacks to be ``n``."""
    return int(np.sort(np.delete(iterations, chosen))[: max(n - len(chosen), 0)].sum())
