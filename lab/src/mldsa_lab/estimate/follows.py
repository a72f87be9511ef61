"""Whether the costs follow the traces at all."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from mldsa_lab.estimate.findings import Evidence, Remark, rank_correlation, warning
from mldsa_lab.theory.arrays import Array

# Relative scatter of costs that random traces make and timers hardly do; costs of which the
# number of attempts explains less than this share do not follow it.
_RANDOM = 0.15
_EXPLAINED = 0.5
_IN_ORDER = 0.995
# Rejected attempts make up at least this share of the mean cost, by counts of Keccak permutations.
# Where that would spread the inputs' costs by a telling amount, and they are spread by less than
# a fifth of it, they are constant.
_LEAST_SHARE = 0.28
_TELLING = 0.15
_CONSTANT = 0.2


def ignores_trace(data: Evidence) -> Iterator[Remark]:
    """Costs of one fixed message, of random signatures, or of other inputs."""
    scatter = data.fit.typical.seen
    explained, off = _agreement(data)
    if scatter is not None and scatter > _RANDOM and data.fit.typical.df >= 3:
        if explained <= _EXPLAINED:
            yield warning(
                "non-deterministic",
                f"repeats of one input differ by {100 * scatter:.0f} % and do not follow the "
                "traces: rnd was drawn at random (use the selection's), or noise hides all. The "
                "estimates do not hold",
            )
        return
    varies = float(np.std(data.fit.cost)) / float(data.fit.cost.mean())
    if len(data.ids) >= 5 and explained < _EXPLAINED and min(off, varies) > _RANDOM:
        yield _unrelated(data)
        return
    rejected = float(data.fit.model.expected_counts.sum())
    least = _LEAST_SHARE * float(np.std(data.attempts)) / rejected
    if least >= _TELLING and varies <= _CONSTANT * least:
        span = f"{data.attempts.min():.0f} to {data.attempts.max():.0f} attempts"
        yield warning(
            "constant-trace",
            f"the cost does not depend on the number of attempts: {span} cost the same within "
            f"{100 * varies:.2g} %, as one and the same signature would. The estimates do not hold",
        )


def _unrelated(data: Evidence) -> Remark:
    hedged = "rnd drawn at random (hedged signing), " if data.fit.typical.seen is None else ""
    ids = " (in order, costs and attempts agree, which speaks for the ids)"
    return warning(
        "wrong-inputs",
        f"the costs do not follow the traces: other keys or messages, {hedged}or mixed-up ids"
        f"{ids if _agree_in_order(data) else ''}. The estimates do not hold",
    )


def _agreement(data: Evidence) -> tuple[float, float]:
    """The share of the variance of all costs that the number of attempts explains, and the
    standard deviation that a line in it leaves, relative to their mean.

    Of costs and of ranks, the smaller share: a single long trace can make a line by chance.
    """
    x, y = _pairs(data)
    size = float(np.std(y)) / float(y.mean())
    if len(set(x)) < 2 or size == 0:
        return 0.0, size
    line = float(np.corrcoef(x, y)[0, 1]) ** 2
    ranks = max(rank_correlation(x, y), 0.0) ** 2
    return min(line, ranks), size * math.sqrt(max(1 - line, 0.0))


def _agree_in_order(data: Evidence) -> bool:
    """Whether costs are a line in the attempts once both are put in order."""
    x, y = _pairs(data)
    if len(set(x)) < 2 or len(set(y)) < 2:
        return False
    return float(np.corrcoef(np.sort(x), np.sort(y))[0, 1]) ** 2 > _IN_ORDER


def _pairs(data: Evidence) -> tuple[Array, Array]:
    """Attempts and cost of every measurement."""
    costs = data.measured.costs
    present = ~np.isnan(costs)
    return np.broadcast_to(data.attempts, costs.shape)[present], costs[present]
