"""Which members of each class: those whose first failing indexes add up as expected.

Signers that stop at the first polynomial that fails a check cost more the later it stands. The
choice within the classes makes the sums of the indexes what they are on average, so that the
plain average is right for such signers too. The sums are whole numbers, so how near they can
come to their expectations is known; the search ends where it is that near.
"""

from __future__ import annotations

import math

import numpy as np

from mldsa_lab.choice.classes import Classes, first_of_kinds, kinds_of
from mldsa_lab.theory.arrays import Ints
from mldsa_lab.theory.rejection import RejectionModel

# Differences below this, in costs of an attempt over all inputs, are none.
_SAME = 1e-6
# Up to so many inputs all combinations are tried, if there are no more than so many.
_FEW, _ALL = 5, 1_000_000
_ROUNDS = 40
# Exchanges that are tried two at a time.
_PAIRED = 1200


def pick_members(classes: Classes, usable: Ints, wanted: Ints, model: RejectionModel) -> Ints:
    """Traces, ``wanted`` (classes,) of each class, all among ``usable``, in ascending order.

    Minimises the sum over the index terms of amplitude times distance from the expectation, in
    costs of an attempt.
    """
    search = _Search(classes, usable, wanted)
    if len(search.sizes) <= _FEW and math.prod(search.sizes.tolist()) <= _ALL:
        return search.traces(search.try_all())
    return search.traces(search.descend(_bound(classes, wanted, model)))


def _bound(classes: Classes, wanted: Ints, model: RejectionModel) -> float:
    """The least sum of amplitudes times distances that whole sums of indexes can have."""
    n_z, n_r, _ = (float(v) for v in wanted @ classes.counts)
    of_z, of_r, of_both, of_r_in_z = classes.index_amplitude
    mean_z = float(np.arange(model.l) @ model.first_failing_z())
    mean_r = float(np.arange(model.k) @ model.first_failing_r())
    middle = round(n_z * model.p_r_fails_given_z_fails)
    both = np.arange(max(0, middle - 50), min(int(n_z), middle + 50) + 1)
    together = of_both * np.abs(both - n_z * model.p_r_fails_given_z_fails)
    together += of_r_in_z * np.abs(both * mean_r - np.rint(both * mean_r))
    return float(
        of_z * abs(n_z * mean_z - round(n_z * mean_z))
        + of_r * abs(n_r * mean_r - round(n_r * mean_r))
        + together.min(initial=math.inf if len(both) else 0.0)
    )


class _Search:
    """Members grouped by kind: traces of a class whose index terms are all the same.

    ``terms``: (kinds, 4) times the amplitudes; ``stock``: (kinds,); for each input to choose
    ``place_class``: its class, ``first`` and ``sizes``: (n,) its range of kinds.
    """

    def __init__(self, classes: Classes, usable: Ints, wanted: Ints) -> None:
        self._among = usable[wanted[classes.of[usable]] > 0]
        terms = classes.index_terms[self._among].round(9) + 0.0
        rows, _, self._kind_of = kinds_of(np.column_stack([classes.of[self._among], terms]))
        self.stock = np.bincount(self._kind_of)
        self.terms = rows[:, 1:] * classes.index_amplitude
        self.place_class = np.repeat(np.arange(len(wanted)), wanted)
        self.first = np.searchsorted(rows[:, 0], self.place_class)
        self.sizes = np.searchsorted(rows[:, 0], self.place_class, side="right") - self.first

    def value(self, kinds: Ints) -> float:
        """What is minimised."""
        return float(np.abs(self.terms[kinds].sum(axis=0)).sum())

    def left(self, kinds: Ints) -> Ints:
        """(kinds,) traces that are not chosen."""
        return self.stock - np.bincount(kinds, minlength=len(self.stock))

    def try_all(self) -> Ints:
        """The best of all combinations, the first among equals."""
        sums = np.zeros((1, self.terms.shape[1]))
        for first, size in zip(self.first, self.sizes, strict=True):
            own = self.terms[first : first + size]
            sums = (sums[:, None, :] + own[None, :, :]).reshape(-1, sums.shape[1])
        value = np.abs(sums).sum(axis=1)
        for at in np.argsort(value.round(9), kind="stable"):
            kinds: Ints = np.array(np.unravel_index(at, self.sizes)) + self.first
            if (self.left(kinds) >= 0).all():
                return kinds
        raise AssertionError("every class has as many traces as are wanted")

    def descend(self, bound: float) -> Ints:
        """Exchanges of one member, then of two, from random starts, until the bound is reached or
        rounds are used up."""
        rng = np.random.default_rng(0)
        best, reached = self._start(rng), math.inf
        for _ in range(_ROUNDS):
            kinds = self._start(rng)
            while self._single(kinds) or self._double(kinds, rng):
                if self.value(kinds) <= bound + _SAME:
                    break
            value = self.value(kinds)
            if value < reached - _SAME:
                best, reached = kinds, value
            if reached <= bound + _SAME:
                break
        return best

    def _start(self, rng: np.random.Generator) -> Ints:
        """Random members of each class."""
        parts = []
        for _, at, count in zip(
            *np.unique(self.place_class, return_index=True, return_counts=True), strict=True
        ):
            own = np.arange(self.first[at], self.first[at] + self.sizes[at])
            parts.append(rng.choice(np.repeat(own, self.stock[own]), int(count), replace=False))
        return np.concatenate(parts)

    def _single(self, kinds: Ints) -> bool:
        """Exchange each member for the best of its class; whether that gained anything."""
        total = self.terms[kinds].sum(axis=0)
        left = self.left(kinds)
        before = value = float(np.abs(total).sum())
        for place, (first, size) in enumerate(zip(self.first, self.sizes, strict=True)):
            own, old = slice(first, first + size), kinds[place]
            tried = np.abs(total - self.terms[old] + self.terms[own]).sum(axis=1)
            tried[left[own] == 0] = np.inf
            new = int(np.argmin(tried))
            if tried[new] < value - _SAME:
                value = float(tried[new])
                new += int(first)
                total += self.terms[new] - self.terms[old]
                left[old] += 1
                left[new] -= 1
                kinds[place] = new
        return value < before - _SAME

    def _double(self, kinds: Ints, rng: np.random.Generator) -> bool:
        """The best of two exchanges at once, of a random part of all exchanges."""
        left = self.left(kinds)
        some = np.arange(self.sizes.sum())
        if len(some) > _PAIRED:
            some = np.sort(rng.choice(len(some), _PAIRED, replace=False))
        ends = np.cumsum(self.sizes)
        place = np.searchsorted(ends, some, side="right")
        new = some - (ends - self.sizes - self.first)[place]
        free = left[new] > 0
        place, new = place[free], new[free]
        step = self.terms[new] - self.terms[kinds[place]]
        total = self.terms[kinds].sum(axis=0)
        value = np.zeros((len(step), len(step)))
        for column, sum_ in zip(step.T, total, strict=True):
            value += np.abs(sum_ + column[:, None] + column[None, :])
        # Not two at one place, nor the last trace of a kind twice.
        value[place[:, None] == place[None, :]] = np.inf
        value[(new[:, None] == new[None, :]) & (left[new] < 2)[:, None]] = np.inf
        if not value.size or value.min() >= self.value(kinds) - _SAME:
            return False
        one, two = np.unravel_index(int(np.argmin(value)), value.shape)
        kinds[place[one]], kinds[place[two]] = new[one], new[two]
        return True

    def traces(self, kinds: Ints) -> Ints:
        """The first traces of each kind, as many as chosen."""
        wanted = np.bincount(kinds, minlength=len(self.stock))
        return np.sort(self._among[first_of_kinds(self._kind_of, wanted)])
