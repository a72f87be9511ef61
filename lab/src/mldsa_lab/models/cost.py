"""The linear cost model of signing: setup + n_z c_z + n_r c_r + n_h c_h.

Setup is the cost of a signature accepted at once. Rows and coefficients use the coordinates
(setup, c_z, c_r, c_h - c_r): hint failures are so rare that only their difference from r0
failures is worth a coordinate.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mldsa_lab.models.rejection import RejectionModel

Array = NDArray[np.float64]

# Quantiles leave out classes of this total probability, far below 1 - 0.999.
_TAIL = 1e-7


def model_matrix(counts: Array) -> Array:
    """Rows 1, n_z, n_r + n_h, n_h, shape (rows, 4), for ``counts`` (rows, 3) of n_z, n_r, n_h."""
    n_z, n_r, n_h = counts.T
    return np.column_stack([np.ones(len(counts)), n_z, n_r + n_h, n_h])


def mean_point(model: RejectionModel) -> Array:
    """The exact expectation of a model row over all signatures, shape (4,)."""
    point: Array = model_matrix(model.expected_counts[None, :])[0]
    return point


def class_quantiles(
    model: RejectionModel, beta: Array, shares: tuple[float, ...]
) -> list[tuple[float, Array]]:
    """Exact quantiles of the cost over all classes of traces, for coefficients ``beta`` (4,).

    For each share: the cost, and the model row at which it is attained (the mean of the classes
    within 2 % of that cost), which is the quantile's derivative with respect to ``beta``.
    """
    table = model.class_table(_TAIL)
    rows = model_matrix(table.counts.astype(np.float64))
    cost = rows @ beta
    order = np.argsort(cost, kind="stable")
    cumulated = np.cumsum(table.probability[order])
    found = []
    for share in shares:
        at = min(int(np.searchsorted(cumulated, share)), len(order) - 1)
        value = float(cost[order[at]])
        near = np.abs(cost - value) <= 0.02 * abs(value)
        point: Array = np.average(rows[near], axis=0, weights=table.probability[near])
        found.append((value, point))
    return found
