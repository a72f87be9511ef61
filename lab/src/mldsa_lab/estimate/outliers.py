"""Inputs that are off by far more than the others explain."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
from scipy import sparse
from scipy.optimize import linprog
from scipy.special import ndtr

from mldsa_lab.estimate.findings import SMALL, Evidence, Remark, off_text, warning
from mldsa_lab.estimate.fit import Fit
from mldsa_lab.theory.terms import CONTRAST, MEAN, SLOPE
from mldsa_lab.wording import join_words

# An input is an outlier if the chance of a cost so far off, times the inputs, is below this.
_OUTLIER = 1e-2
_MOST = 3  # outliers of costs that follow their traces
_FEW = 2  # and of those that seem not to
_FEWEST_INPUTS = 4  # that must be left to judge one by
_CERTAIN = 1e-12  # smaller chances are as good as this
_UNITS = (-9, -6, -3, 3, 6, 9)  # powers of ten between units
_NEAR = 0.1  # relative distance from such a power that tells another unit
_COUNTERS = (24, 32)  # bits of counters that wrap
_KNOWN = 0.03  # relative error of what the fit says of a cost
_TOLD = 0.2  # a wrap is named if that error is below this share of a turn
_BELOW_ZERO = 1e-3  # relative distance from a whole turn of a difference that was negative
_ALL = 6  # of so few inputs each is a suspect
_GROSS = 5.0  # no signer costs so many times what a usual one does
_LEAST = 1e-3  # of the median cost, that a fit says at least
_SUSPICIOUS = 0.02  # relative residual from which on two inputs are tried together
_AGREE = 0.1  # and up to which inputs agree


def outliers(data: Evidence, *, few: bool = False) -> tuple[list[Remark], Evidence | None]:
    """Inputs that are off by far more than the others explain, one by one, or two that hide each
    other; and the others. ``few``: two at most."""
    most = _FEW if few else _MOST
    left = list(range(len(data.ids)))
    found: list[tuple[int, float]] = []
    rest: Evidence | None = None
    while len(found) < most:
        current = (rest or data).fit
        taken = _off(data, left, current, 1)
        if taken is None and len(found) + 2 <= most and current.residual > _SUSPICIOUS:
            taken = _off(data, left, current, 2)
        if taken is None:
            break
        members, rest = taken
        found += members
        left = [i for i in left if i not in dict(members)]
    if rest is None:
        return [], None
    ids = tuple(data.ids[i] for i, _ in found)
    named = join_words(
        f"{data.ids[i]} ({off_text(ratio)}{_cause(data, i, ratio)})" for i, ratio in found
    )
    subject = f"input {named} is" if len(ids) == 1 else f"inputs {named} are"
    change = rest.fit.coefficients[MEAN] / max(data.fit.coefficients[MEAN], 1e-300) - 1
    changed = (
        f". Without the outlier the mean changes by {100 * change:+.2f} %" if change < 1 else ""
    )
    text = f"{subject} off the fit of the others. Measure again{changed}"
    return [warning("outlier", text, ids)], rest


def _cause(data: Evidence, place: int, ratio: float) -> str:
    """Return the possible cause of a cost that is ``ratio`` times the prediction, or nothing."""
    cost = float(data.fit.cost[place])
    if any(abs(ratio / 10.0**power - 1) < _NEAR for power in _UNITS):
        return ", another unit?"
    for bits in _COUNTERS:
        turns = (cost / ratio - cost) / 2.0**bits
        known = _KNOWN * cost / ratio / 2.0**bits
        if round(turns) >= 1 and abs(turns - round(turns)) < known < _TOLD:
            return f", a counter of {bits} bits that wrapped?"
    if any(abs(cost / 2.0**bits - 1) < _BELOW_ZERO for bits in (*_COUNTERS, 64)):
        return ", a difference of counters below zero?"
    if len(data.measured.rounds) == 1 and ratio > 1:
        return ", an interruption?"
    return ""


def _off(
    data: Evidence, left: list[int], current: Fit, size: int
) -> tuple[list[tuple[int, float]], Evidence] | None:
    """The ``size`` inputs among ``left`` that are the most surprising for the fit of the others,
    each with its ratio to that, and the others; None if none are surprising enough."""
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
        left_over = rest.fit.residual
        gross = all(abs(math.log(r)) > math.log(_GROSS) for _, r in judged) and left_over < _AGREE
        enough = all(abs(r - 1) > SMALL for _, r in judged)
        enough &= gross or chance * len(data.ids) < _OUTLIER
        # Of what is certain, the one without which the others agree.
        order = max(chance, _CERTAIN), left_over
        if enough and (best is None or order < best[0]):
            ratios = [ratio for _, ratio in judged]
            best = order, list(zip(members, ratios, strict=True)), rest
    return None if best is None else best[1:]


def _suspects(fit: Fit) -> list[int]:
    """The inputs farthest from the line of least absolute deviations, which a few wrong ones do not
    draw to themselves, the farthest first; all of few."""
    usual = fit.values @ fit.prior.centre
    goal = fit.cost / usual
    goal /= np.median(goal)
    # Beside a cost that no signer has, no other can be judged.
    gross = np.flatnonzero(np.abs(np.log(goal)) > math.log(_GROSS))
    if 0 < len(gross) <= _FEW:
        return [int(i) for i in gross]
    size = len(goal)
    if size <= _ALL:
        return [*range(size)]
    rows = fit.values[:, [MEAN, SLOPE, CONTRAST]] / usual[:, None]
    columns = rows.shape[1]
    # minimise sum(over + under) with rows @ b + over - under = goal.
    weights = np.concatenate([np.zeros(columns), np.ones(2 * size)])
    equal = sparse.hstack([rows, sparse.eye(size), -sparse.eye(size)], format="csr")
    bounds = [(None, None)] * columns + [(0, None)] * (2 * size)
    solved = linprog(weights, A_eq=equal, b_eq=goal, bounds=bounds, method="highs")
    off = goal - rows @ solved.x[:columns] if solved.status == 0 else fit.cost - fit.fitted
    return [int(i) for i in np.argsort(-np.abs(off), kind="stable")[:_MOST]]


def _surprise(measured: Fit, place: int, others: Fit) -> tuple[float, float]:
    """How unlikely the cost of an input is for the fit of the others, and its ratio to that."""
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
    return 2 * min(below, above), float(
        measured.cost[place] / max(fitted, _LEAST * float(np.median(others.cost)))
    )
