"""The mean and the percentiles of an implementation's signing costs, from all inputs measured.

The inputs are a random sample of all signatures. Their cost is nearly a function of their traces,
whose distribution is known. So the cost of the sample is regressed on the trace, and the regression
is evaluated at the known distribution. For the mean, by least squares with a constant, this is
unbiased in large samples, also where the cost is not linear in the trace. Its error is the part
that the trace does not explain. The plain mean of all inputs, also given, has a far larger error.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from mldsa_lab.theory.law import covariates, model_matrix
from mldsa_lab.theory.rejection import RejectionModel
from mldsa_lab.theory.trace import ACCEPTED, PASSED, Array, TraceTable
from mldsa_studies.signers import iteration_codes

_TAIL = 1e-7  # total probability of the classes left out, far below 1 - 0.99
_DRAWN = 200_000


@dataclass(frozen=True)
class Known:
    """A figure from all inputs, and its standard error."""

    value: float
    error: float


@dataclass(frozen=True)
class Truth:
    """``mean`` and ``quantiles`` (by percentile) in the costs' unit; ``plain``: the plain mean of
    the sample; ``unexplained``: standard deviation of the residuals over the mean."""

    mean: Known
    plain: float
    quantiles: dict[float, Known]
    unexplained: float


def truth(
    table: TraceTable,
    cost: Array,
    model: RejectionModel,
    percentiles: Sequence[float],
    noise: float = 0.0,
) -> Truth:
    """From the ``cost`` (inputs,) of the inputs of these traces.

    ``noise``: relative standard deviation of these costs that is the measurement's doing. The
    percentiles are over inputs, so it is taken off what the trace does not explain.
    """
    extra = covariates(table, model)
    matrix = np.column_stack([model_matrix(table.counts()), extra.values])
    # Columns that do not vary here (no hint failure, say) get the coefficient 0. Those in
    # proportion to each other (masks by eight and pairs where l is 4) share theirs.
    scale = np.maximum(np.abs(matrix).max(axis=0), 1e-12)
    inverse = np.linalg.pinv(matrix / scale, rcond=1e-9)
    beta = (inverse @ cost) / scale
    fitted = matrix @ beta
    size = len(cost)
    residual = cost - fitted
    spread = math.sqrt(float(residual @ residual) / max(size - matrix.shape[1], 1))

    def error(point: Array) -> float:
        return spread * float(np.linalg.norm((point / scale) @ inverse))

    point = np.concatenate([model_matrix(model.expected_counts[None, :])[0], extra.expected])
    plain = float(cost.mean())
    mean = Known(float(point @ beta), error(point))
    everyone, weight = _population(model)
    centre = np.maximum(everyone @ beta, 0.1 * float(cost.min()))
    # What the trace leaves open varies with the root of the cost.
    left = residual / np.sqrt(np.maximum(fitted, 1e-3 * plain))
    squares = float(np.mean(residual**2))
    own = 1 - float(np.mean((noise * cost) ** 2)) / squares if squares else 0.0
    left = np.sort(left) * math.sqrt(max(own, 0.0))
    drawn = np.random.default_rng(0).integers(0, size, len(centre))
    costs = centre + left[drawn] * np.sqrt(centre)
    order = np.argsort(costs)
    cumulated = np.cumsum(weight[order])
    quantiles = {}
    for percentile in percentiles:
        share = percentile / 100
        at = min(int(np.searchsorted(cumulated, share * cumulated[-1])), len(order) - 1)
        value = float(costs[order[at]])
        low, high = np.searchsorted(costs[order], (0.98 * value, 1.02 * value))
        near = order[low : max(high, low + 1)]
        row = np.average(everyone[near], axis=0, weights=weight[near])
        quantiles[percentile] = Known(value, error(row))
    return Truth(mean, plain, quantiles, spread / mean.value)


@cache
def _population(model: RejectionModel) -> tuple[Array, Array]:
    """Return all signatures by classes: terms (signatures, terms) and weights (signatures,).

    Each class of traces is present as often as it is likely, at least once, with its exact
    probability as weight. Within a class the first failing indexes are random.
    """
    law = model.class_table(_TAIL)
    times = 1 + np.round(_DRAWN * law.probability).astype(np.int64)
    counts = np.repeat(law.counts, times, axis=0)
    weight = np.repeat(law.probability / times, times)
    rng = np.random.default_rng(0)
    sizes = counts.sum(axis=1) + 1
    # A signature's attempts one after another: those of class z, of r, of h, the accepted one.
    each = np.column_stack([counts, np.ones(len(counts), dtype=np.int64)])
    kind = np.repeat(np.tile(np.arange(4), len(counts)), each.ravel())
    z = rng.choice(model.l, len(kind), p=model.first_failing_z())
    r = rng.choice(model.k, len(kind), p=model.first_failing_r())
    fails = (kind == 1) | ((kind == 0) & (rng.random(len(kind)) < model.p_r_fails_given_z_fails))
    z, r = np.where(kind == 0, z, PASSED), np.where(fails, r, PASSED)
    codes = iteration_codes(z, r, np.where(kind == 2, 0, PASSED))
    codes[kind == 3] = ACCEPTED
    table = TraceTable(model.name, codes, np.cumsum(sizes))
    values = covariates(table, model).values
    return np.column_stack([model_matrix(counts.astype(np.float64)), values]), weight
