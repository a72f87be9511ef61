"""Inputs that are off by far more than the others explain."""

from __future__ import annotations

from itertools import combinations

import numpy as np
from scipy import sparse
from scipy.optimize import linprog
from scipy.special import ndtr

from mldsa_lab.estimate.findings import SMALL, Evidence, Remark, warning
from mldsa_lab.estimate.fit import Fit
from mldsa_lab.theory.terms import CONTRAST, MEAN, SLOPE
from mldsa_lab.wording import join_words

# The probability of a cost so far off, times the inputs, below which it is an outlier.
_OUTLIER = 1e-2
_MOST = 3
# That are left over to judge one by.
_FEWEST_INPUTS = 5
# Relative residuals from which on two inputs are tried together.
_SUSPICIOUS = 0.02


def outliers(data: Evidence) -> tuple[list[Remark], Evidence | None]:
    """Inputs that are off by far more than the others explain, one by one, or two that hide each
    other; and the others."""
    left = list(range(len(data.ids)))
    found: list[tuple[int, float]] = []
    rest: Evidence | None = None
    while len(found) < _MOST:
        current = (rest or data).fit
        taken = _off(data, left, current, 1)
        if taken is None and len(found) + 2 <= _MOST and _residual(current) > _SUSPICIOUS:
            taken = _off(data, left, current, 2)
        if taken is None:
            break
        members, rest = taken
        found += members
        left = [i for i in left if i not in dict(members)]
    if rest is None:
        return [], None
    ids = tuple(data.ids[i] for i, _ in found)
    named = join_words(f"{data.ids[i]} ({100 * off:+.1f} %)" for i, off in found)
    was, now = data.fit.coefficients[MEAN], rest.fit.coefficients[MEAN]
    subject = f"input {named} is" if len(ids) == 1 else f"inputs {named} are"
    changed = f"the mean changes by {100 * (now / was - 1):+.2f} %"
    text = f"{subject} off the fit of the others. Measure again. Without the outlier {changed}"
    return [warning("outlier", text, ids)], rest


def _off(
    data: Evidence, left: list[int], current: Fit, size: int
) -> tuple[list[tuple[int, float]], Evidence] | None:
    """The ``size`` inputs among ``left`` that are the most surprising for the fit of the others,
    each with how far it is off, and the others; None if none are surprising enough."""
    best = None
    if len(left) < _FEWEST_INPUTS + size:
        return None
    for places in combinations(_suspects(current), size):
        others = [i for at, i in enumerate(left) if at not in places]
        if len(set(data.attempts[others])) < 2:
            continue
        rest = data.only(others)
        members = [left[at] for at in places]
        judged = [_surprise(data.fit, i, rest.fit) for i in members]
        chance = max(chance for chance, _ in judged)
        enough = chance * len(data.ids) < _OUTLIER and all(abs(off) > SMALL for _, off in judged)
        if enough and (best is None or chance < best[0]):
            offs = [off for _, off in judged]
            best = chance, list(zip(members, offs, strict=True)), rest
    return None if best is None else best[1:]


def _residual(fit: Fit) -> float:
    """Root mean square of the relative residuals."""
    return float(np.sqrt(np.mean((fit.cost / np.maximum(fit.fitted, 0.1 * fit.cost) - 1) ** 2)))


def _suspects(fit: Fit) -> list[int]:
    """The inputs farthest from the line of least absolute relative deviations, which a few wrong
    ones do not draw to themselves; the farthest first."""
    rows = fit.values[:, [MEAN, SLOPE, CONTRAST]] * (np.median(fit.cost) / fit.cost)[:, None]
    size, columns = rows.shape
    # minimise sum(over + under) with rows @ b + over - under = 1.
    goal = np.concatenate([np.zeros(columns), np.ones(2 * size)])
    equal = sparse.hstack([rows, sparse.eye(size), -sparse.eye(size)], format="csr")
    bounds = [(None, None)] * columns + [(0, None)] * (2 * size)
    solved = linprog(goal, A_eq=equal, b_eq=np.ones(size), bounds=bounds, method="highs")
    off = fit.cost - fit.fitted
    if solved.status == 0:
        off = 1 - rows @ solved.x[:columns]
    return [int(i) for i in np.argsort(-np.abs(off), kind="stable")[:_MOST]]


def _surprise(measured: Fit, place: int, others: Fit) -> tuple[float, float]:
    """How unlikely the cost of an input is for the fit of the others, and how far it is off."""
    row = measured.values[place]
    centre, deviation = others.posterior.along(row)
    mean = max(others.coefficients[MEAN], 0.0)
    size = np.maximum(centre, 0.0)
    own = others.posterior.variance(size, mean, float(measured.typical.repeats[place]))
    spread = np.sqrt(deviation**2 + own)
    away = (measured.cost[place] - centre) / np.maximum(spread, 1e-9 * max(mean, 1e-300))
    below = float(others.posterior.weight @ ndtr(away))
    above = float(others.posterior.weight @ ndtr(-away))
    fitted = float(row @ others.coefficients)
    return 2 * min(below, above), float(measured.cost[place] / max(fitted, 1e-300) - 1)
