"""Whether costs change with the time of measuring: a cold start, a warm-up, a slow drift."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from mldsa_lab.estimate.findings import (
    CHANCE,
    SMALL,
    Evidence,
    Remark,
    added,
    note,
    rank_correlation,
    warning,
)
from mldsa_lab.theory.arrays import Array
from mldsa_lab.theory.terms import CONTRAST, LINEAR, MEAN, SLOPE

# Few rounds that differ by more than this are remarked upon.
_APART = 0.05
# A first round that is off by so many deviations of the others was not warm.
_COLD = 6.0
# A trend in single measurements: steady, or decaying so many times e-fold over the run.
_DECAYS = (0.0, 3.0, 6.0, 12.0)
_TREND = 0.02  # probability of a trend by chance, at most
# Order of measuring and attempts that go together so closely cannot be told apart, unless
# residuals leave no room for a trend.
_TOGETHER = 0.9
_EXACT = 0.005
_SLOW = "frequency, temperature, other load?"


def drift(data: Evidence) -> Iterator[Remark]:
    """A trend over the rounds, or over single measurements where there is one round."""
    if len(data.measured.rounds) > 1:
        yield from _over_rounds(data)
    else:
        yield from _over_inputs(data)


def _over_rounds(data: Evidence) -> Iterator[Remark]:
    """A first round that was not warm, or rounds that cost ever more or less."""
    level = data.fit.typical.level[np.argsort(np.nanmean(data.measured.order, axis=1))]
    rounds = len(level)
    if rounds < 5:
        if np.ptp(level) > _APART:
            text = f"{rounds} rounds differ by up to {100 * np.ptp(level):.0f} %"
            yield note("rounds", f"{text}: more rounds or a warm-up would narrow the intervals")
        return
    first = float(level[0] - np.median(level[1:]))
    calm = 1.4826 * float(np.median(np.abs(level[1:] - np.median(level[1:]))))
    calm = max(calm, (data.fit.typical.seen or 0.0) / math.sqrt(len(data.ids)))
    alone = level[0] > level[1:].max() or level[0] < level[1:].min()
    if alone and abs(first) > max(_COLD * calm, 3 * SMALL):
        reason = "cold caches or clocks" if first > 0 else "another state of the machine"
        text = f"the first round cost {100 * math.expm1(first):+.1f} % compared with the others"
        yield warning("drift", f"{text} ({reason}?): leave it out, or measure more rounds")
        return
    from scipy.stats import kendalltau  # slow to load, and not always needed

    ordered = kendalltau(np.arange(rounds), level)
    # The change over a third of the run, which single rounds do not make.
    third = max(rounds // 3, 1)
    change = float(np.median(level[-third:]) - np.median(level[:third]))
    if ordered.pvalue < CHANCE and abs(change) > 2 * SMALL:
        text = f"the last third of the rounds cost {100 * math.expm1(change):+.1f} %"
        yield warning("drift", f"the cost drifted: {text} compared with the first ({_SLOW})")


def _over_inputs(data: Evidence) -> Iterator[Remark]:
    order = data.measured.order[0]
    found = _trend(data, np.argsort(np.argsort(order)) / max(len(order) - 1, 1))
    if found is not None:
        change, warm_up = found
        how = "a start that was not warm?" if warm_up else _SLOW
        yield warning(
            "drift",
            f"in the order of measuring, the last input cost {100 * change:+.1f} % compared with "
            f"the first ({how}). Warm up first, then measure every input several times",
        )
        return
    if len(order) < 3 or data.noise == 0 or len(set(data.attempts)) < 2:
        return
    together = rank_correlation(order, data.attempts)
    if abs(together) > _TOGETHER and data.fit.posterior.error(0.95) > _EXACT:
        yield warning(
            "order",
            "inputs were measured in the order of their attempts, so a drift would look like their "
            "cost. Use another order, or repeat (column round); column order gives the real one",
        )


def _trend(data: Evidence, time: Array) -> tuple[float, bool] | None:
    """Relative change of the cost over ``time`` (inputs,), from 0 to 1, and whether most of it
    was early; None where the costs show none."""
    fit = data.fit
    scale = 1 / np.maximum(fit.fitted, 0.1 * fit.cost)
    rows = fit.values[:, [MEAN, SLOPE, CONTRAST]] * scale[:, None]
    # The further terms, as far as they are known, must not be taken for it.
    cost = (fit.cost - fit.values[:, LINEAR:] @ fit.coefficients[LINEAR:]) * scale
    best = None
    for decay in _DECAYS:
        shape = np.exp(-decay * time) if decay else time
        found = added(rows, shape, cost)
        if found is None:
            continue
        chance = found[0] * len(_DECAYS)
        change = found[1] * float(shape[np.argmax(time)] - shape[np.argmin(time)])
        if chance < _TREND and abs(change) > SMALL and (best is None or chance < best[0]):
            best = chance, change, decay > 0
    return None if best is None else best[1:]
