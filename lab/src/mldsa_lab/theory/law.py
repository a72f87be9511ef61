"""The law of the signing cost over all signatures: percentiles, shares, the curve of a plot.

Two forms of one law. Signatures with the same rejected attempts (n_z, n_r, n_h) are a class, whose
probability is exact and counts the orderings of its attempts: where they cost the same, each class
is one atom. Else the cost of one rejected attempt has a law of its own (class and abort indexes,
exact), and the sum over attempts is a product of characteristic functions, spread by what no term
explains.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mldsa_lab.theory.arrays import Array, Ints
from mldsa_lab.theory.rejection import RejectionModel, check_share
from mldsa_lab.theory.terms import (
    LINEAR,
    attempt_terms,
    index_moments,
    linear_terms,
    prior,
    to_costs,
)

Complex = NDArray[np.complex128]

# Classes are left out of this total probability, and of this share of what lies beyond a quantile.
_TAIL = 1e-7
_TAIL_SHARE = 1e-3
# Classes within this relative distance of a quantile tell its derivative.
_NEAR = 0.02
# Relative standard deviation at the mean cost, within a class, below which it is none.
_NEGLIGIBLE = 3e-4
# Costs that differ by less than rounding are one cost.
_SAME = 1e-9
# Where costs are spread: bins, a power of 2; deviations beyond which a law is 0 or 1; exponents
# below which nothing is left (numbers far smaller still would only be slow).
_BINS = 1 << 15
_FAR = 8.0
_NOTHING = 45.0


class CostLevel(NamedTuple):
    """The cost of some classes, and the shares of all signatures that cost less (``below``) and no
    more (``upto``)."""

    cost: float
    below: float
    upto: float


@dataclass(frozen=True)
class Law:
    """The cost of all signatures, by class in ascending order: see `from_terms`, `from_costs`.

    ``coefficients``: (columns,) of `mldsa_lab.theory.terms`; ``counts``: (classes, 3) of n_z, n_r,
    n_h; ``rows``: (classes, columns) of terms, abort indexes at their expectation;
    ``probability``, ``cost``: (classes,); ``misfit``: relative standard deviation, at the mean
    cost, of what no term explains; its variance goes with the cost.
    """

    model: RejectionModel
    coefficients: Array
    counts: Ints
    rows: Array
    probability: Array
    cost: Array
    misfit: float

    @property
    def mean(self) -> float:
        """The mean cost."""
        return float(self.coefficients[0])

    @classmethod
    def from_terms(
        cls,
        model: RejectionModel,
        coefficients: Array,
        misfit: float = 0.0,
        *,
        share: float = 0.999,
        tail: float = _TAIL,
    ) -> Law:
        """For ``coefficients`` (columns,) of `mldsa_lab.theory.terms`; ``share``: the largest
        whose quantile will be asked for; ``tail``: the total probability of the classes that may
        be left out."""
        counts, probability, rows = _classes(model, min(tail, _TAIL_SHARE * (1 - share)))
        cost = rows @ coefficients
        order = np.argsort(cost, kind="stable")
        columns = counts[order], rows[order], probability[order], cost[order]
        return cls(model, coefficients, *columns, misfit)

    @classmethod
    def from_costs(
        cls,
        model: RejectionModel,
        costs: tuple[float, float, float, float],
        *,
        share: float = 0.999,
        tail: float = _TAIL,
    ) -> Law:
        """For the ``costs`` of a signature accepted at the first attempt and of a rejected attempt
        of class z, r and h, and nothing else that it depends on."""
        coefficients = np.zeros(len(prior(model).names))
        coefficients[:LINEAR] = np.linalg.solve(to_costs(model), costs)
        law = cls.from_terms(model, coefficients, share=share, tail=tail)
        # The same to the last bit as sums of these costs.
        return replace(law, cost=costs[0] + law.counts @ np.array(costs[1:]))

    def quantile(self, share: float) -> tuple[float, Array]:
        """The smallest cost that a share of signatures do not exceed, and its derivative with
        respect to the coefficients: the mean row (columns,) of the classes near that cost."""
        value = self._at(share)
        near, mass = self._near(value)
        return value, np.asarray(mass @ self.rows[near])

    def counts_near(self, share: float) -> Array:
        """(3,) mean n_z, n_r, n_h of the classes near a quantile."""
        near, mass = self._near(self._at(share))
        return np.asarray(mass @ self.counts[near])

    def share_up_to(self, cost: float) -> float:
        """The share of signatures that cost at most ``cost``."""
        at, reached = self._reached
        if self._is_spread:
            return float(np.interp(cost, at, reached, left=0.0))
        place = int(np.searchsorted(at, cost * (1 + _SAME), side="right"))
        return float(reached[place - 1]) if place else 0.0

    def curve(self, shares: Array) -> Array:
        """The smallest costs that these shares of signatures do not exceed."""
        at, reached = self._reached
        if self._is_spread:
            return np.asarray(np.interp(shares, reached, at))
        places = np.searchsorted(reached, shares)
        return np.asarray(at[np.minimum(places, len(at) - 1)])

    def level(self, share: float) -> CostLevel:
        """Return the cost at the quantile ``share`` (0 < share < 1), with the shares of signatures
        below it and up to it. Scatter within classes is ignored. LabError for other shares."""
        check_share(share)
        reached = np.searchsorted(np.cumsum(self.probability), share * (1 - 1e-15))
        cost = self.cost[min(int(reached), len(self.cost) - 1)]
        same = np.abs(self.cost - cost) <= _SAME * self.cost.max()
        below = float(self.probability[(self.cost < cost) & ~same].sum())
        upto = below + float(self.probability[same].sum())
        return CostLevel(float(self.cost[same].min()), below, upto)

    @cached_property
    def _is_spread(self) -> bool:
        """True where signatures of one class differ noticeably in cost."""
        of_index = self.coefficients[LINEAR : LINEAR + 4]
        of_z, of_r = (float(of_index @ m @ of_index) for m in index_moments(self.model))
        rejected = self.model.expected_counts
        variance = of_z * rejected[0] + of_r * rejected[1] + (self.misfit * self.mean) ** 2
        return self.mean > 0 and variance > (_NEGLIGIBLE * self.mean) ** 2

    @cached_property
    def _reached(self) -> tuple[Array, Array]:
        """Costs, ascending, and the shares of signatures that cost at most as much."""
        if not self._is_spread:
            return self.cost, np.cumsum(self.probability)
        return _convolved(
            self.model, self.coefficients, self.misfit**2 * self.mean, int(self.counts.sum(1).max())
        )

    def _at(self, share: float) -> float:
        return float(self.curve(np.array([share]))[0])

    def _near(self, value: float) -> tuple[slice, Array]:
        """The classes near a cost, at least one, and their probabilities given one of them."""
        off = abs(_NEAR * value)
        low, high = (int(i) for i in np.searchsorted(self.cost, (value - off, value + off)))
        if high <= low:
            low = min(low, len(self.cost) - 1)
            high = low + 1
        mass = self.probability[low:high]
        return slice(low, high), mass / mass.sum()


@cache
def _classes(model: RejectionModel, tail: float) -> tuple[Ints, Array, Array]:
    """Counts (classes, 3), probabilities (classes,) and terms (classes, columns)."""
    table = model.class_table(tail)
    rejected = table.counts.sum(axis=1)
    rows = attempt_terms(model, int(rejected.max()))[rejected]
    rows = np.hstack([linear_terms(table.counts.astype(np.float64), model), rows])
    rows.setflags(write=False)
    return table.counts, table.probability, rows


def _convolved(
    model: RejectionModel, coefficients: Array, misfit: float, most: int
) -> tuple[Array, Array]:
    """`Law._reached` up to ``most`` rejected attempts, which stand for more; ``misfit``: variance
    over cost of what is left."""
    number = np.arange(most + 1)
    law = model.p_accept * (1 - model.p_accept) ** number
    law[-1] += 1 - law.sum()
    value, mass = _rejected_attempt(model, coefficients)
    mean = float(mass @ value)
    variance = float(mass @ (value - mean) ** 2)
    first = float(to_costs(model)[0] @ coefficients[:LINEAR])
    start = first + attempt_terms(model, most) @ coefficients[LINEAR:]
    centre = start + number * mean
    reach = _FAR * np.sqrt(number * variance + misfit * np.maximum(centre, 0.0))
    origin, end = float((centre - reach).min()), float((centre + reach).max())
    # Bins beside the ends: what is divided between two must not come in at the other end.
    step = (end - origin) / (_BINS - 8)
    origin -= 4 * step
    frequency, roots = _roots()
    blur = 0.5 * misfit * (2 * math.pi / (_BINS * step) * frequency) ** 2
    # Beyond some frequency nothing is left.
    size = int(np.searchsorted(blur * max(first, 0.0), _NOTHING))
    frequency, blur = frequency[:size], blur[:size]
    once = np.exp(-blur * max(first, 0.0))
    each = np.exp(-np.minimum(blur * max(mean, 0.0), _NOTHING))
    # Mass between two bins is divided between them: nothing rings then, and means stay exact.
    low = np.floor(value / step).astype(np.int64)
    part = value / step - low
    bins = np.bincount(low % _BINS, weights=mass * (1 - part), minlength=_BINS)
    bins += np.bincount((low + 1) % _BINS, weights=mass * part, minlength=_BINS)
    attempt = np.fft.rfft(bins)[:size] * each
    by_one = roots[:size] - 1
    whole, part = np.divmod((start - origin) / step, 1)
    places = whole.astype(np.int64)

    def shift(bins: int) -> Complex:
        turned: Complex = roots[frequency * bins & (_BINS - 1)]
        return turned

    # Horner's rule in a rejected attempt, which moves by few different numbers of bins.
    moved: dict[int, Complex] = {}
    total = law[-1] * (1 + part[-1] * by_one)
    divided = np.empty_like(total)
    for n in number[-2::-1]:
        by = int(places[n + 1] - places[n])
        if by not in moved:
            moved[by] = attempt * shift(by)
        total *= moved[by]
        total += np.multiply(by_one, law[n] * part[n], out=divided)
        total += law[n]
    total *= shift(int(places[0])) * once
    reached = np.maximum.accumulate(np.cumsum(np.fft.irfft(total, _BINS)))
    # A bin holds what is nearer to it than to others.
    return origin + step * (np.arange(_BINS, dtype=np.float64) + 0.5), np.asarray(reached)


def _rejected_attempt(model: RejectionModel, coefficients: Array) -> tuple[Array, Array]:
    """Costs (kinds,) of a rejected attempt by class and abort indexes, and their probabilities."""
    _, z, r, h = (float(c) for c in to_costs(model) @ coefficients[:LINEAR])
    # The terms of abort indexes, in the order of `covariates`.
    of_z, of_r, both, of_r_too = coefficients[LINEAR : LINEAR + 4]
    law_z, law_r = model.first_failing_z(), model.first_failing_r()
    index_z = np.arange(model.l) - law_z @ np.arange(model.l)
    index_r = np.arange(model.k) - law_r @ np.arange(model.k)
    fails = model.p_r_fails_given_z_fails
    alone = z + of_z * index_z - both * fails
    too = np.add.outer(alone + both, of_r_too * index_r)
    value = np.concatenate([alone, too.ravel(), r + of_r * index_r, [h]])
    of_class_z, of_class_r, of_class_h, accept = model.attempt
    mass = np.concatenate(
        [
            of_class_z * (1 - fails) * law_z,
            of_class_z * fails * np.outer(law_z, law_r).ravel(),
            of_class_r * law_r,
            [of_class_h],
        ]
    )
    return value, mass / (1 - accept)


@cache
def _roots() -> tuple[Ints, Complex]:
    """Frequencies (bins / 2 + 1,), and the turn (bins,) that a shift by one bin is at each."""
    frequency = np.arange(_BINS // 2 + 1)
    return frequency, np.exp(-2j * math.pi / _BINS * np.arange(_BINS))
