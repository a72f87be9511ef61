"""The members of each class: traces whose first failing indexes add up as expected.

Signers that stop at the first polynomial that fails a check cost more the later that polynomial
comes. The choice within the classes brings the sums of the indexes near their expectations, so the
plain average is right for such signers too.
"""

from __future__ import annotations

import numpy as np

from mldsa_lab.choice.classes import Classes
from mldsa_lab.theory.arrays import Array, Ints

# Random starts of the search: many where one is short.
_STARTS, _STARTS_MOST = 1600, 60
# Smaller differences are rounding, in costs of an attempt over all inputs.
_SAME = 1e-6


def pick_members(classes: Classes, usable: Ints, numbers: Ints) -> Ints:
    """Traces, ``numbers`` (classes,) of each class, all among ``usable``, in ascending order.

    Minimises the sum over the index terms of amplitude times distance from the expectation, in
    costs of an attempt. Exchanges one trace at a time, from the first of each class and from some
    random starts, and takes the best end.
    """
    terms = classes.index_terms * classes.index_amplitude
    members = [usable[classes.class_of[usable] == c] for c in np.flatnonzero(numbers)]
    counts = numbers[numbers > 0].tolist()
    rng = np.random.default_rng(0)
    best, least = usable[:0], np.inf
    for start in range(max(1, min(_STARTS_MOST, _STARTS // sum(counts)))):
        chosen = [
            rng.choice(own, n, replace=False) if start else own[:n].copy()
            for own, n in zip(members, counts, strict=True)
        ]
        value = _exchange(terms, members, chosen)
        if value < least - _SAME:
            best, least = np.concatenate(chosen), value
    return np.sort(best)


def _exchange(terms: Array, members: list[Ints], chosen: list[Ints]) -> float:
    """Replace each of ``chosen`` by the best of its class until none is better, in place.
    Returns the value that is minimised."""
    is_free = np.ones(len(terms), dtype=bool)
    is_free[np.concatenate(chosen)] = False
    sums = terms[np.concatenate(chosen)].sum(axis=0)
    value, before = float(np.abs(sums).sum()), np.inf
    while value < before - _SAME:
        before = value
        for own, taken in zip(members, chosen, strict=True):
            for place, old in enumerate(taken):
                tried = sums - terms[old] + terms[own]
                values = np.where(is_free[own], np.abs(tried).sum(axis=1), np.inf)
                best = int(np.argmin(values))
                if values[best] < value - _SAME:
                    is_free[[old, own[best]]] = True, False
                    taken[place], sums, value = own[best], tried[best], float(values[best])
    return value
