"""Inputs that are off by far more than the others explain."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from scipy.special import ndtr

from mldsa_lab.measure.findings import SMALL, Data, Finding
from mldsa_lab.measure.fit import Fit, fit_costs
from mldsa_lab.measure.terms import MEAN
from mldsa_lab.report.format import join_words

# The probability of a cost so far off, times the inputs, below which it is an outlier.
_OUTLIER = 1e-2
_MOST = 3
_FEWEST_INPUTS = 6


def outliers(data: Data) -> tuple[list[Finding], Fit | None]:
    """Inputs that are off by far more than the others explain, one by one; and the fit of the
    others."""
    left = list(range(len(data.ids)))
    found: list[tuple[int, float]] = []
    rest: Fit | None = None
    while len(left) >= _FEWEST_INPUTS and len(found) < _MOST:
        current = data.fit if rest is None else rest
        worst = None
        for place in _suspects(current):
            others = [i for at, i in enumerate(left) if at != place]
            if len({float(a) for a in data.attempts[others]}) < 2:
                continue
            fit = _refit(data, others)
            chance, off = _surprise(data.fit, left[place], fit)
            if (
                chance * len(data.ids) < _OUTLIER
                and abs(off) > SMALL
                and (worst is None or chance < worst[0])
            ):
                worst = chance, off, place, fit
        if worst is None:
            break
        _, off, place, rest = worst
        found.append((left.pop(place), off))
    if rest is None:
        return [], None
    ids = tuple(data.ids[i] for i, _ in found)
    named = join_words(f"{data.ids[i]} ({100 * off:+.1f} %)" for i, off in found)
    was, now = data.fit.coefficients[MEAN], rest.coefficients[MEAN]
    subject = f"input {named} is" if len(ids) == 1 else f"inputs {named} are"
    them = "it" if len(ids) == 1 else "them"
    text = (
        f"{subject} off what the others say, by more than they explain. Measure again; if it "
        f"stays so, the reason is none that a trace shows. Without {them} the mean changes by "
        f"{100 * (now / was - 1):+.2f} %; figures without {them} are given beside"
    )
    return [Finding("outlier", "warning", text, ids)], rest


def _suspects(fit: Fit) -> list[int]:
    """The inputs with the largest residuals for their size, the largest first."""
    size = np.abs(fit.cost - fit.fitted) / np.sqrt(np.maximum(fit.fitted, fit.cost))
    return [int(i) for i in np.argsort(-size)[:_MOST]]


def _surprise(measured: Fit, place: int, others: Fit) -> tuple[float, float]:
    """How unlikely the cost of an input is for the fit of the others, and how far it is off."""
    row = measured.values[place]
    centre, deviation = others.posterior.along(row)
    mean = max(others.coefficients[MEAN], 0.0)
    size = np.maximum(centre, 0.0)
    own = (others.posterior.noise * size) ** 2 / measured.typical.repeats[place]
    spread = np.sqrt(deviation**2 + own + others.posterior.misfit**2 * size * mean)
    away = (measured.cost[place] - centre) / np.maximum(spread, 1e-9 * max(mean, 1e-300))
    below = float(others.posterior.weight @ ndtr(away))
    above = float(others.posterior.weight @ ndtr(-away))
    fitted = float(row @ others.coefficients)
    return 2 * min(below, above), float(measured.cost[place] / max(fitted, 1e-300) - 1)


def _refit(data: Data, places: Sequence[int]) -> Fit:
    costs = data.costs[:, list(places)]
    return fit_costs(
        [data.fit.traces[i] for i in places],
        costs[~np.isnan(costs).all(axis=1)],
        data.fit.model,
        noise=data.given_noise,
        resolution=data.resolution,
    )


def without(data: Data, ids: tuple[int, ...], fit: Fit) -> Data:
    """The data without inputs of these ids, ``fit`` being that of the others."""
    kept = [i for i, number in enumerate(data.ids) if number not in ids]
    ids = tuple(data.ids[i] for i in kept)
    return replace(data, fit=fit, ids=ids, costs=data.costs[:, kept])
