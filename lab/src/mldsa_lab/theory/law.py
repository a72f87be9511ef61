"""The law of the signing cost over all signatures: percentiles, shares, the curve of a plot.

Signatures with the same rejected attempts (n_z, n_r, n_h) are a class, whose probability is exact
and counts the orderings of its attempts. Within a class the cost varies with abort indexes, where
it depends on them, and with what no term explains; the sum over attempts is taken as normal about
the class's cost, with the exact variance. Without either, each class is one atom.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cache
from typing import NamedTuple

import numpy as np
from scipy.optimize import brentq
from scipy.special import ndtr

from mldsa_lab.errors import LabError
from mldsa_lab.theory.arrays import Array, Ints
from mldsa_lab.theory.rejection import RejectionModel
from mldsa_lab.theory.terms import (
    LINEAR,
    attempt_terms,
    index_moments,
    linear_terms,
    prior,
    to_costs,
)

# Classes are left out of this total probability, and of this share of what lies beyond a quantile.
_TAIL = 1e-7
_TAIL_SHARE = 1e-3
# Classes within this relative distance of a quantile tell its derivative.
_NEAR = 0.02
# Relative standard deviation at the mean cost, within a class, below which it is none.
_NEGLIGIBLE = 3e-4
# Costs that differ by less than rounding are one cost.
_SAME = 1e-9
# Deviations beyond which a normal law is 0 or 1.
_FAR = 8.0
_CURVE_SHARES = np.concatenate([np.linspace(0.01, 0.99, 200), 1 - np.logspace(-2, -6, 100)])


class CostClass(NamedTuple):
    """Signatures with the same rejected attempts n_z, n_r, n_h: their cost, their probability,
    and the probabilities of all signatures that cost less (``below``) and no more (``upto``)."""

    counts: tuple[int, int, int]
    cost: float
    probability: float
    below: float
    upto: float


@dataclass(frozen=True)
class Law:
    """The cost of all signatures, by class in ascending order. Make it with `of` or `of_costs`.

    ``counts``: (classes, 3) of n_z, n_r, n_h; ``rows``: (classes, columns) of
    `mldsa_lab.theory.terms`, abort indexes at their expectation; ``probability``, ``cost``:
    (classes,); ``own``: (classes,) variance from abort indexes; ``misfit``: relative standard
    deviation, at the mean cost ``mean``, of what no term explains; its variance goes with the
    cost.
    """

    counts: Ints
    rows: Array
    probability: Array
    cost: Array
    own: Array
    mean: float
    misfit: float
    _deviation: Array = field(init=False, repr=False)
    _cumulated: Array = field(init=False, repr=False)

    def __post_init__(self) -> None:
        variance = self.own + self.misfit**2 * max(self.mean, 0.0) * np.maximum(self.cost, 0.0)
        typical = float(self.probability @ variance)
        if self.mean <= 0 or typical <= (_NEGLIGIBLE * self.mean) ** 2:
            deviation = np.zeros(0)  # atoms
        else:
            deviation = np.maximum(np.sqrt(variance), 1e-9 * self.mean)
        object.__setattr__(self, "_deviation", deviation)
        object.__setattr__(self, "_cumulated", np.cumsum(self.probability))

    @classmethod
    def of(
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
        counts, of_index = counts[order], coefficients[LINEAR : LINEAR + 4]
        of_z, of_r = (float(of_index @ m @ of_index) for m in index_moments(model))
        return cls(
            counts,
            rows[order],
            probability[order],
            cost[order],
            of_z * counts[:, 0] + of_r * counts[:, 1],
            float(coefficients[0]),
            misfit,
        )

    @classmethod
    def of_costs(
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
        law = cls.of(model, coefficients, share=share, tail=tail)
        # The same to the last bit as sums of these costs.
        return replace(law, cost=costs[0] + law.counts @ np.array(costs[1:]))

    def sharp(self) -> Law:
        """The same without misfit: as if what no term explains were all noise."""
        return replace(self, misfit=0.0)

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
        if not len(self._deviation):
            at = int(np.searchsorted(self.cost, cost * (1 + _SAME), side="right"))
            return float(self._cumulated[at - 1]) if at else 0.0
        first, last = self._doubtful(cost)
        sure = float(self._cumulated[first - 1]) if first else 0.0
        doubtful = slice(first, last)
        away = (cost - self.cost[doubtful]) / self._deviation[doubtful]
        return sure + float(self.probability[doubtful] @ ndtr(away))

    def curve(self, shares: Array) -> Array:
        """The costs that these ascending shares of signatures do not exceed, for a plot: exact
        where classes are atoms, else between points of the smooth law."""
        if not len(self._deviation):
            at = np.searchsorted(self._cumulated, shares)
            return np.asarray(self.cost[np.minimum(at, len(self.cost) - 1)])
        first = self.cost[0] + float(self._deviation[0]) * np.linspace(-4, 4, 30)
        body = np.interp(_CURVE_SHARES, self._cumulated, self.cost)
        even = np.linspace(first[0], body[_CURVE_SHARES <= 0.999].max(), 300)
        costs = np.unique(np.concatenate([first, even, body]))
        reached = [self.share_up_to(float(cost)) for cost in costs]
        return np.asarray(np.interp(shares, reached, costs))

    def classes_at(self, share: float, *, within: float = 0.0) -> list[CostClass]:
        """The classes whose cost is the quantile at ``share`` (0 < share < 1), or differs from it
        by at most the fraction ``within``; by cost, the likelier first among equals. At least one.
        Scatter within classes is left out of account."""
        check_share(share)
        if not 0 <= within < 1:
            raise LabError(f"relative distance {within}: must be from 0 to below 1")
        order = np.lexsort((-self.probability, self.cost))
        cost, probability = self.cost[order], self.probability[order]
        # Level: the classes of one cost.
        level = np.concatenate([[0], np.cumsum(np.diff(cost) > _SAME * cost[-1])])
        mass = np.bincount(level, weights=probability)
        upto = np.cumsum(mass)
        at = min(int(np.searchsorted(upto, share * (1 - 1e-15))), len(upto) - 1)
        value = cost[int(np.searchsorted(level, at))]
        near = (level == at) | (np.abs(cost - value) <= within * value)
        return [
            CostClass(
                tuple(self.counts[order[i]].tolist()),
                float(cost[i]),
                float(probability[i]),
                float(upto[level[i]] - mass[level[i]]),
                float(upto[level[i]]),
            )
            for i in np.flatnonzero(near)
        ]

    def _at(self, share: float) -> float:
        atom = float(self.cost[min(int(np.searchsorted(self._cumulated, share)), self._last)])
        if not len(self._deviation):
            return atom
        reach = 0.25 * _FAR * float(self._deviation.max())
        low, high = atom - reach, atom + reach
        while self.share_up_to(low) >= share:
            low -= reach
        while self.share_up_to(high) < min(share, self._cumulated[-1] * (1 - 1e-12)):
            high += reach
        goal = min(share, self.share_up_to(high))
        found = brentq(lambda x: self.share_up_to(x) - goal, low, high, xtol=1e-6 * self.mean)
        return float(found)

    @property
    def _last(self) -> int:
        return len(self.cost) - 1

    def _near(self, value: float) -> tuple[slice, Array]:
        """The classes near a cost, at least one, and their probabilities given one of them."""
        off = abs(_NEAR * value)
        low, high = (int(i) for i in np.searchsorted(self.cost, (value - off, value + off)))
        if high <= low:
            low = min(low, self._last)
            high = low + 1
        mass = self.probability[low:high]
        return slice(low, high), mass / mass.sum()

    def _doubtful(self, cost: float) -> tuple[int, int]:
        """Between which places classes may lie on both sides of ``cost``."""
        reach = _FAR * float(self._deviation.max())
        first, last = np.searchsorted(self.cost, (cost - reach, cost + reach))
        return int(first), int(last)


def check_share(share: float) -> None:
    """LabError if it is no share of signatures that has a quantile."""
    if not 0 < share < 1:
        raise LabError(f"quantile {share}: must lie strictly between 0 and 1")


@cache
def _classes(model: RejectionModel, tail: float) -> tuple[Ints, Array, Array]:
    """Counts (classes, 3), probabilities (classes,) and terms (classes, columns)."""
    table = model.class_table(tail)
    rejected = table.counts.sum(axis=1)
    rows = attempt_terms(model, int(rejected.max()))[rejected]
    rows = np.hstack([linear_terms(table.counts.astype(np.float64), model), rows])
    rows.setflags(write=False)
    return table.counts, table.probability, rows
