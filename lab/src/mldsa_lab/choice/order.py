"""The order to measure inputs in: one in which costs do not follow a drift of the machine.

A machine that warms up or slows down makes each input more expensive by a part that depends on its
place in the order. A regression sums these parts with weights that follow 1, n_z and n_r over the
cost where its errors are relative, and attempts where they are not. If these are uncorrelated with
the drift, every estimate is moved by no more than the drift's own mean.
"""

from __future__ import annotations

import numpy as np

from mldsa_lab.theory.arrays import Array, Ints
from mldsa_lab.theory.signers import DESIGN_FIRST
from mldsa_lab.theory.table import TraceTable

# A warm-up that has decayed to 1/e after such shares of the inputs; also a line.
_DECAYS = (0.05, 0.15, 0.4)
_STARTS = 30
# Exchanges of any two of at most so many places are looked at in one step.
_PLACES = 150
# Steps without gain after which a search ends where not all places are looked at.
_PATIENCE = 20


def balanced_order(table: TraceTable) -> list[int]:
    """The traces' positions in the order to measure them; the same for the same traces."""
    n = len(table)
    if n < 2:
        return list(range(n))
    values, drifts = _unit(_features(table)), _unit(_drifts(n))
    rng = np.random.default_rng(0)
    best, least = np.arange(n), np.inf
    for start in range(max(1, min(_STARTS, 500 // n))):
        order = rng.permutation(n) if start else np.arange(n)
        value = _exchange(values, drifts, order, rng)
        if value < least * (1 - 1e-9):
            best, least = order, value
    return [int(at) for at in best]


def _features(table: TraceTable) -> Array:
    """(traces, 4) what an input's weight in an estimate follows."""
    attempts = table.attempts().astype(np.float64)
    n_z, n_r, _ = table.counts().T
    cost = DESIGN_FIRST.value + attempts - 1
    return np.column_stack([attempts, 1 / cost, n_z / cost, n_r / cost])


def _drifts(n: int) -> Array:
    """(n, drifts) a drift at each place."""
    place = np.arange(n)
    return np.column_stack([place, *(np.exp(-place / (share * n)) for share in _DECAYS)])


def _unit(columns: Array) -> Array:
    """Columns centred and of length 1; zeros where there is no difference."""
    off = columns - columns.mean(axis=0)
    length = np.linalg.norm(off, axis=0)
    unit: Array = off / np.where(length > 0, length, 1.0)
    return unit


def _exchange(values: Array, drifts: Array, order: Ints, rng: np.random.Generator) -> float:
    """Exchange two inputs at a time, the best two, until no exchange brings the sum of squared
    correlations down, in place. Returns that sum."""
    n = len(order)
    moments = values[order].T @ drifts
    value = float((moments**2).sum())
    idle = 0
    while idle < (1 if n <= _PLACES else _PATIENCE):
        places = np.arange(n) if n <= _PLACES else rng.choice(n, _PLACES, replace=False)
        v, d = values[order[places]], drifts[places]
        # Exchanging places i and j adds (v_j - v_i)(d_i - d_j)' to the moments.
        cross = v @ moments @ d.T
        own = np.diag(cross)
        gain = 2 * (cross + cross.T - own[:, None] - own[None, :])
        gain += _squared_distances(v) * _squared_distances(d)
        i, j = np.unravel_index(int(np.argmin(gain)), gain.shape)
        if gain[i, j] > -1e-9 * max(value, 1e-9):
            idle += 1
            continue
        idle = 0
        one, two = places[i], places[j]
        moments += np.outer(v[j] - v[i], d[i] - d[j])
        order[one], order[two] = order[two], order[one]
        value = float((moments**2).sum())
    return value


def _squared_distances(rows: Array) -> Array:
    """(rows, rows) squared distances."""
    square = (rows**2).sum(axis=1)
    distances: Array = square[:, None] + square[None, :] - 2 * rows @ rows.T
    return distances
