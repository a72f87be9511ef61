"""The linear cost model of signing: setup + n_z c_z + n_r c_r + n_h c_h.

Setup is the cost of a signature accepted at once. Rows and coefficients use the coordinates
(setup, c_z, c_r, c_h - c_r): hint failures are so rare that only their difference from r0
failures is worth a coordinate.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import ndtr

from mldsa_lab.theory.rejection import RejectionModel

Array = NDArray[np.float64]

# Quantiles leave out classes of this total probability, far below 1 - 0.999.
_TAIL = 1e-7
# Classes within this relative distance of a quantile tell its derivative.
_NEAR = 0.02
# Relative spread within a class below which classes are atoms.
_NEGLIGIBLE = 1e-4


def model_matrix(counts: Array) -> Array:
    """Rows 1, n_z, n_r + n_h, n_h, shape (rows, 4), for ``counts`` (rows, 3) of n_z, n_r, n_h."""
    n_z, n_r, n_h = counts.T
    return np.column_stack([np.ones(len(counts)), n_z, n_r + n_h, n_h])


def mean_point(model: RejectionModel) -> Array:
    """The exact expectation of a model row over all signatures, shape (4,)."""
    point: Array = model_matrix(model.expected_counts[None, :])[0]
    return point


def class_quantiles(
    model: RejectionModel, beta: Array, shares: tuple[float, ...], scatter: float = 0.0
) -> list[tuple[float, Array]]:
    """Quantiles of the cost over all classes of traces, for coefficients ``beta`` (4,).

    Class probabilities are exact. Signatures of one class differ in what the model leaves out
    (abort indexes): their costs are taken as normal about the class's, with variance
    ``scatter``^2 times the cost; with 0 each class is one atom.

    For each share: the cost, and the model row at which it is attained (the mean of the classes
    within 2 % of that cost), which is the quantile's derivative with respect to ``beta``.
    """
    table = model.class_table(_TAIL)
    rows = model_matrix(table.counts.astype(np.float64))
    cost = rows @ beta
    order = np.argsort(cost)
    ordered = cost[order]
    cumulated = np.cumsum(table.probability[order])
    smooth = None
    if scatter * math.sqrt(abs(ordered[0])) > _NEGLIGIBLE * ordered[0] >= 0:
        smooth = _Mixture(ordered, table.probability[order], scatter)
    found = []
    for share in shares:
        value = float(ordered[min(int(np.searchsorted(cumulated, share)), len(order) - 1)])
        if smooth is not None:
            value = smooth.quantile(share, value)
        low, high = np.searchsorted(ordered, (value - _NEAR * value, value + _NEAR * value))
        near = order[low:high] if high > low else order[[min(low, len(order) - 1)]]
        point: Array = np.average(rows[near], axis=0, weights=table.probability[near])
        found.append((value, point))
    return found


class _Mixture:
    """Normal components about the classes' costs, put together in bins far narrower than they
    are wide."""

    def __init__(self, ordered: Array, probability: Array, scatter: float) -> None:
        self.scatter = scatter
        width = 0.1 * scatter * math.sqrt(max(float(ordered[0]), 0.05 * float(ordered[-1])))
        bins = ((ordered - ordered[0]) / width).astype(np.int64)
        mass = np.bincount(bins, weights=probability)
        centre = np.bincount(bins, weights=probability * ordered)
        filled = mass > 0
        self.mass = mass[filled]
        self.centre = centre[filled] / self.mass

    def quantile(self, share: float, atom: float) -> float:
        """The quantile, which is near that of the atoms."""
        reach = 8 * self.scatter * math.sqrt(atom)
        low, high = max(atom - reach, 0.0), atom + reach
        # Components further off are 0 or 1 at every value tried.
        first, last = np.searchsorted(self.centre, (low - reach, high + 2 * reach))
        below = float(self.mass[:first].sum()) - share
        mass, centre = self.mass[first:last], self.centre[first:last]
        deviation = self.scatter * np.sqrt(centre)

        def excess(value: float) -> float:
            return below + float(mass @ ndtr((value - centre) / deviation))

        if excess(low) >= 0 or excess(high) <= 0:
            return atom
        return float(brentq(excess, low, high, xtol=1e-6 * atom))
