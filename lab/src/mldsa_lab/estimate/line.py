"""The linear model of signing: cost = setup + n_z c_z + n_r c_r + n_h c_h."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import lsq_linear

from mldsa_lab.errors import LabError
from mldsa_lab.theory.linear import model_matrix

Array = NDArray[np.float64]

# An attempt of class h does all that one of class r does, then c t0 and the hint. Few designs
# hold enough of them to measure the difference, which enters the mean with weight E[n_h] < 0.02:
# it is held at this share of c_r, with this standard deviation, until the data know better.
_HINT_EXTRA = 0.25
_HINT_EXTRA_ERROR = 0.25


@dataclass(frozen=True)
class Line:
    """The fitted line in coordinates (setup, c_z, c_r, c_h - c_r), none negative.

    ``variance``: (inputs,) the variance of each input's cost up to the factor ``scatter``^2;
    ``spread``: (4, 4), so that spread * scatter^2 is the covariance of ``beta``; ``df``: degrees
    of freedom of the residuals, 0 where none are left. ``free``: the coefficients as least
    squares alone gives them, which may be negative.
    """

    beta: Array
    free: Array
    spread: Array
    variance: Array
    fitted: Array
    residual: Array
    scatter: float
    df: int
    equal_attempts: bool
    """Fitted with one cost for attempts of every class: the inputs cannot tell them apart."""

    @property
    def costs(self) -> Array:
        """setup, c_z, c_r, c_h."""
        setup, z, r, extra = self.beta
        return np.array([setup, z, r, r + extra])

    def at(self, point: Array) -> tuple[float, float]:
        """Cost at ``point`` (4,) in model coordinates, and its standard error from the scatter of
        the inputs about the line (0 when ``df`` is 0)."""
        return float(point @ self.beta), self.scatter * math.sqrt(point @ self.spread @ point)


def fit_line(counts: Array, cost: Array) -> Line:
    """Weighted least squares of ``cost`` (inputs,) on ``counts`` (inputs, 3).

    The variance is taken as proportional to the cost: what the model leaves out (abort indexes,
    caches) adds up over attempts. With three inputs or fewer, or when the counts do not tell
    classes apart, one cost for every attempt is fitted; LabError when they do not even tell
    numbers of attempts apart (two different numbers of attempts are the least).
    """
    matrix = model_matrix(counts)
    size = len(cost)
    if len(set(counts.sum(axis=1))) < 2:
        raise LabError(
            f"signing cost from {size} inputs: needs traces of at least two numbers of attempts"
        )
    equal = size < 3 or np.linalg.matrix_rank(matrix[:, :3]) < 3
    terms = 2 if equal else 3
    # Columns of the fit in terms of the four coordinates.
    basis = np.array([[1.0, 0, 0, 0], [0, 1, 1, _HINT_EXTRA]]).T if equal else np.eye(4)
    variance = cost.copy()
    extra_weight = 1e-6  # first pass: enough to define c_h - c_r where no input shows it
    for _ in range(3):
        scale = 1 / np.sqrt(variance)
        rows = (matrix @ basis) * scale[:, None]
        goal = cost * scale
        if not equal:
            # The prior of c_h - c_r as one more observation: of 0 = c_h - c_r - share * c_r.
            rows = np.vstack([rows, np.array([0, 0, -_HINT_EXTRA, 1.0]) * extra_weight])
            goal = np.append(goal, 0.0)
        free, *_ = np.linalg.lstsq(rows, goal, rcond=None)
        solved = free
        if (free < 0).any():
            solved = lsq_linear(rows, goal, bounds=(0, np.inf), method="bvls").x
        fitted = matrix @ basis @ solved
        df = max(size - terms, 0)
        squares = float(((cost - fitted) ** 2 / variance).sum())
        scatter = math.sqrt(squares / df) if df else 0.0
        attempt = max(float(solved[-1 if equal else 2]), 1e-9 * float(cost.mean()))
        extra_weight = max(scatter, 1e-7 * math.sqrt(cost.mean())) / (_HINT_EXTRA_ERROR * attempt)
        variance = np.maximum(fitted, 1e-3 * cost)
    held = (solved > 0) | (free >= 0)  # a coefficient held at its bound adds no variance
    inner = np.zeros((len(solved), len(solved)))
    inner[np.ix_(held, held)] = np.linalg.pinv(rows[:, held].T @ rows[:, held])
    return Line(
        beta=basis @ solved,
        free=basis @ free,
        spread=basis @ inner @ basis.T,
        variance=1 / scale**2,
        fitted=fitted,
        residual=cost - fitted,
        scatter=scatter,
        df=df,
        equal_attempts=bool(equal),
    )
