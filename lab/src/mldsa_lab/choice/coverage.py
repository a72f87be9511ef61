"""Inputs that take every path of signing, for tests of correctness: as few as can be."""

from __future__ import annotations

import heapq

import numpy as np
from numpy.typing import NDArray

from mldsa_lab.choice.classes import Chosen, kinds_of
from mldsa_lab.choice.paths import Paths
from mldsa_lab.choice.solver import Program
from mldsa_lab.errors import LabError
from mldsa_lab.theory.arrays import Array, Flags, Ints

# Traces are compared first with so many of those that take the most paths.
_STRONG = 400
# Where only attempts are at stake, a path is taken by one of so many traces.
_EACH = 40
_NODES = 2000


def choose_coverage(
    paths: Paths,
    attempts: Ints,
    usable: Ints,
    n: int | None = None,
    budget: int | None = None,
) -> Chosen:
    """The fewest of the ``usable`` traces that take every path the pool shows; with ``n``, exactly
    so many, which take as many paths as so many can; those that are left over take rare paths
    again. Among equals, those with the fewest attempts together. ``budget``: attempts
    of all together. LabError if no choice fits it."""
    taken = paths.taken[usable]
    shown = taken.any(axis=0)
    if n is None:
        chosen = _cover(taken[:, shown], attempts[usable], budget)
    else:
        chosen = _most(taken[:, shown], attempts[usable], n, budget)
    met, there = taken[chosen].any(axis=0), paths.taken.any(axis=0)
    which = {"covered": met, "not covered": there & ~met, "not shown by the pool": ~there}
    names = np.array(paths.names)
    expected = {how: names[paths].tolist() for how, paths in which.items()}
    return Chosen(np.sort(usable[chosen]), expected)


def _cover(taken: Flags, attempts: Ints, budget: int | None) -> Ints:
    """The smallest cover, of the fewest attempts."""
    smallest = _solved(taken, _undominated(taken, None), cost=1.0, goal=taken.shape[1])
    assert smallest is not None, "all traces together are a cover"
    best = _shortest(taken, attempts, smallest, len(smallest))
    if budget is not None and attempts[best].sum() > budget:
        raise LabError(
            f"coverage within {budget} attempts: the smallest cover has {attempts[best].sum()}; "
            "name the number of inputs to cover what so many can"
        )
    return best


def _most(taken: Flags, attempts: Ints, n: int, budget: int | None) -> Ints:
    """``n`` traces that take the most paths. If some are left over, they are of the rarest paths
    taken, or with a budget the shortest."""
    if budget is not None:
        return _most_within(taken, attempts, n, budget)
    some = _solved(taken, _undominated(taken, None), most=n, worth=1.0)
    assert some is not None, "choosing none is a solution"
    return _filled(taken, attempts, _shortest(taken, attempts, some, n), n)


def _shortest(taken: Flags, attempts: Ints, known: Ints, most: int) -> Ints:
    """At most ``most`` traces that take as many paths as the ``known`` ones, of the fewest
    attempts together."""
    goal = int(taken[known].any(axis=0).sum())
    few = np.union1d(_promising(taken, attempts), known)
    shorter = _solved(taken, few, cost=attempts[few].astype(np.float64), most=most, goal=goal)
    if shorter is None:
        return known
    return shorter if attempts[shorter].sum() < attempts[known].sum() else known


def _most_within(taken: Flags, attempts: Ints, n: int, budget: int) -> Ints:
    """``n`` traces of at most ``budget`` attempts that take the most paths."""
    few = np.union1d(_promising(taken, attempts), np.argsort(attempts, kind="stable")[:n])
    # One path more is worth any number of attempts.
    length, worth = attempts[few].astype(np.float64), budget + 1.0
    found = _solved(taken, few, cost=length, least=n, most=n, most_cost=budget, worth=worth)
    assert found is not None, "the shortest n are within the budget"
    return found


def _solved(
    taken: Flags,
    few: Ints,
    *,
    cost: Array | float = 0.0,
    least: float = -np.inf,
    most: float = np.inf,
    most_cost: float = np.inf,
    goal: int | None = None,
    worth: float = 0.0,
) -> Ints | None:
    """Those of the traces ``few`` that cost the least together, where each path that they take
    takes ``worth`` off; None if none were found.

    ``least`` and ``most``: how many traces; ``most_cost``: of all; ``goal``: the paths they take.
    """
    program = Program()
    chosen = program.variables(len(few), upper=1.0, cost=cost)
    if most < np.inf:
        program.row([(chosen, np.ones(len(few)))], least, most)
    if most_cost < np.inf:
        program.row([(chosen, np.broadcast_to(cost, len(few)))], high=most_cost)
    if goal == taken.shape[1]:
        for column in taken[few].T:
            program.row([(chosen, column)], low=1)
    else:
        met = program.variables(taken.shape[1], upper=1.0, cost=-worth)
        if goal is not None:
            program.row([(met, np.ones(taken.shape[1]))], low=goal)
        # A path counts as met where a chosen trace takes it.
        for column, path in zip(taken[few].T, np.eye(taken.shape[1]), strict=True):
            program.row([(chosen, -column.astype(np.float64)), (met, path)], high=0)
    found = program.solve(nodes=_NODES)
    return None if found is None else few[found.whole(chosen) > 0]


def _promising(taken: Flags, attempts: Ints) -> Ints:
    """Traces among which the fewest attempts are looked for: all that are not dominated or, if
    there are many, for each path those that take the most paths for their length."""
    few = _undominated(taken, attempts)
    if len(few) <= _EACH * taken.shape[1]:
        return few
    rank = np.argsort(-taken[few].sum(axis=1) / attempts[few], kind="stable")
    ordered = few[rank]
    return np.unique(
        np.concatenate([ordered[taken[ordered, j]][:_EACH] for j in range(taken.shape[1])])
    )


def _filled(taken: Flags, attempts: Ints, first: Ints, n: int) -> Ints:
    """``first`` and more traces, ``n`` together: each time the one whose paths are the rarest so
    far, in proportion to its attempts."""
    free = np.ones(len(taken), dtype=bool)
    free[first] = False
    chosen = first.tolist()
    times = taken[first].sum(axis=0)
    # Traces that take the same paths in as many attempts, as one.
    left = np.flatnonzero(free)
    key = np.column_stack([_bits(taken[left]), attempts[left].astype(np.uint64)])
    _, at, alike = kinds_of(key)
    ends = np.cumsum(np.bincount(alike))
    members = np.split(left[np.argsort(alike, kind="stable")], ends[:-1])
    paths = taken[left[at]] / attempts[left[at]][:, None]
    used = np.zeros(len(members), dtype=np.int64)
    rarity = 0.5 ** np.minimum(times, 60)
    # A path becomes less rare each time it is taken, never more so: a worth that was right once
    # can only have fallen, so that only the first of the queue need be looked at again.
    queue = [(-float(worth), kind) for kind, worth in enumerate(paths @ rarity)]
    heapq.heapify(queue)
    while len(chosen) < n:
        _, kind = heapq.heappop(queue)
        worth = float(paths[kind] @ rarity)
        if queue and (-worth, kind) > queue[0]:
            heapq.heappush(queue, (-worth, kind))
            continue
        chosen.append(int(members[kind][used[kind]]))
        used[kind] += 1
        times = times + taken[chosen[-1]]
        rarity = 0.5 ** np.minimum(times, 60)
        if used[kind] < len(members[kind]):
            heapq.heappush(queue, (-worth, kind))
    return np.array(chosen, dtype=np.int64)


def _bits(taken: Flags) -> NDArray[np.uint64]:
    """The paths of each trace as the bits of a number, (traces,)."""
    assert taken.shape[1] <= 64
    weights = np.uint64(1) << np.arange(taken.shape[1], dtype=np.uint64)
    bits: NDArray[np.uint64] = np.where(taken, weights, np.uint64(0)).sum(axis=1, dtype=np.uint64)
    return bits


def _undominated(taken: Flags, attempts: Ints | None) -> Ints:
    """Traces that no other takes all the paths of (in no more attempts); one of equals."""
    bits = _bits(taken)
    length = np.zeros(len(taken), dtype=np.int64) if attempts is None else attempts
    # Whoever takes the paths of another takes no fewer: those with many paths come first, and
    # among equals the shortest.
    order = np.lexsort((np.arange(len(bits)), length, bits, -taken.sum(axis=1)))
    order = order[np.append(True, bits[order][1:] != bits[order][:-1])]
    kept = np.empty(len(order), dtype=np.int64)
    kept_bits, kept_length = np.empty(len(order), dtype=np.uint64), np.empty(len(order))
    size = 0
    for trace in order:
        own, long = bits[trace], length[trace]
        for some in (slice(min(size, _STRONG)), slice(min(size, _STRONG), size)):
            covers = (kept_bits[some] & own) == own
            if (covers & (kept_length[some] <= long)).any():
                break
        else:
            kept[size], kept_bits[size], kept_length[size] = trace, own, long
            size += 1
    return np.sort(kept[:size])
