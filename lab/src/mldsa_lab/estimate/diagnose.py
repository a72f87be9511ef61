"""Checks of measurements against the model of a deterministic signer, with possible causes.

Each check looks for one fault and says nothing unless the data show it clearly. Few inputs often
cannot show it; the intervals are wide instead.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from mldsa_lab import join_words
from mldsa_lab.estimate.fit import Fit, rounds_differ
from mldsa_lab.estimate.misfit import (
    CHANCE,
    CHECKS,
    SMALL,
    Evidence,
    Remark,
    added,
    change_text,
    curvature,
    note,
    off_text,
    outliers,
    rank_correlation,
    refutation,
    warning,
)
from mldsa_lab.estimate.posterior import SHOW_NOISE
from mldsa_lab.estimate.reader import Measurements
from mldsa_lab.theory.law import CONTRAST, LINEAR, MEAN, SLOPE
from mldsa_lab.theory.trace import Array, Ints

# Residuals, and noise of a measurement, are remarked upon from this relative size on.
_LACK_OF_FIT = 0.05
_NOISY = 0.1
# With few inputs no single one can be told to be off, and, each measured once, residuals do not
# show the noise; unless they leave no room for more of it than this.
_EXACT = 0.005
# With fewer inputs the fit goes through every cost.
_JUDGED = 4
FEW_INPUTS = "few-inputs"
"""The warning that all measurements of one to three inputs have."""
# Probability of a usual signer below which so few inputs are remarked upon.
_UNUSUAL = 0.1
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
# From so many rounds on drifts and levels show.
_MANY_ROUNDS = 5
# A first round that is off by so many deviations of the others was not warm.
_COLD = 6.0
# A trend in single measurements: steady, or decaying so many times e-fold over the run.
_DECAYS = (0.0, 3.0, 6.0, 12.0)
_TREND = 0.02  # probability of a trend by chance, at most
_SHORTEST = 3  # measurements before and after a step
# Order of measuring and attempts that go together so closely cannot be told apart, unless
# residuals leave no room for a trend.
_TOGETHER = 0.9
_LISTED = 5  # measurements, or rounds, that a text names
_SLOW = "frequency, temperature, other load?"


def diagnose(data: Evidence) -> tuple[list[Remark], Evidence | None]:
    """All remarks, the gravest first, and the inputs without outliers if there are any."""
    broken = list(ignores_trace(data))
    off, rest = outliers(data, few=bool(broken))
    if broken and (rest is None or not _agrees(rest)):
        return [*broken, *(r for r in drift(data) if r.code == "drift"), *_disturbed(data)], None
    clean = rest or data
    if rest is not None and (any(curvature(clean)) or (off[0].ids[1:] and any(curvature(data)))):
        # It is not single inputs that are off.
        off, rest, clean = [], None, data
    remarks = [*drift(clean), *off, *_of_model(clean)]
    if not any(remark.severity == "warning" for remark in remarks):
        remarks += [*_lack_of_fit(clean)] or _unusual(clean)
    remarks += [*_noise_unknown(data), *_few_inputs(data), *_disturbed(data), *_notes(clean)]
    return remarks, rest


def contradictions(fit: Fit, ids: tuple[int, ...]) -> list[Remark]:
    """Return the errors and warnings for the fit of a record's cell, by the costs in the typical
    round. Its intervals already include the effects of rounds and single inputs."""
    costs = fit.cost[None, :]
    data = Evidence(fit, Measurements(ids, (0,), costs, np.zeros_like(costs)))
    remarks = list(ignores_trace(data)) or _of_model(data)
    warnings = [remark for remark in remarks if remark.severity != "note"]
    return warnings or list(_lack_of_fit(data))


def _of_model(data: Evidence) -> list[Remark]:
    return [remark for check in CHECKS for remark in check(data)]


def _agrees(data: Evidence) -> bool:
    """Return true if the costs agree with their traces, but for noise."""
    noise = (data.scatter or 0.0) / math.sqrt(float(data.fit.typical.repeats.mean()))
    return data.fit.residual < max(_LACK_OF_FIT, 3 * noise) and not any(ignores_trace(data))


def _disturbed(data: Evidence) -> Iterator[Remark]:
    each = [f"input {i} in round {r} ({off_text(x)})" for i, r, x in data.disturbed]
    if each:
        text = f"left out {len(each)} measurement{'s' * (len(each) > 1)} that "
        text += f"differ{'s' * (len(each) == 1)} from the others of the same input"
        yield note("disturbed", f"{text}, for example after an interruption: {_first_of(each)}")


def _first_of(texts: Sequence[str]) -> str:
    """The first of these, and how many more there are."""
    more = len(texts) - _LISTED
    return join_words([*texts[:_LISTED], *([f"{more} more"] if more > 0 else [])])


def _lack_of_fit(data: Evidence) -> Iterator[Remark]:
    size = data.fit.residual
    noise = (data.scatter or 0.0) / math.sqrt(float(data.fit.typical.repeats.mean()))
    if size > _LACK_OF_FIT and size > 3 * noise:
        advice = ": measure each input several times" if data.scatter is None else ""
        text = f"the linear model leaves residuals of {100 * size:.0f} % for no known reason"
        yield warning("lack-of-fit", text + advice)


def _unusual(data: Evidence) -> Iterator[Remark]:
    if len(data.ids) < SHOW_NOISE and data.fit.posterior.usual() < _UNUSUAL:
        text = (
            f"no known signer has these costs, and {len(data.ids)} inputs are too few to tell why"
        )
        yield warning("unusual", f"{text}. Measure again, and more inputs")


def _noise_unknown(data: Evidence) -> Iterator[Remark]:
    if data.fit.typical.noise.known or len(data.ids) >= SHOW_NOISE:
        return
    if data.fit.posterior.error(0.95) > _EXACT:
        yield warning(
            "noise-unknown",
            "the noise of one measurement is unknown; the intervals assume usual noise. Measure "
            "again (column round), or give it: --noise 2 for 2 %, --noise 0 for exact counts",
        )


def _few_inputs(data: Evidence) -> Iterator[Remark]:
    inputs = len(data.ids)
    if inputs < _JUDGED:
        count = f"{inputs} input{'s are' if inputs > 1 else ' is'}"
        text = f"{count} too few to check the fit: curvature, steps or an outlier would not show"
        yield warning(FEW_INPUTS, f"{text}. Measure ten")


def _notes(data: Evidence) -> Iterator[Remark]:
    seen, keys, inputs = data.fit.typical.seen, data.fit.keys, len(data.ids)
    lengths = len(set(data.iterations))
    if seen is not None and seen > _NOISY:
        yield note("noise", f"repeats of one input differ by {100 * seen:.0f} %")
    if lengths < 2:
        yield note("one-length", "all inputs have equally many attempts: their cost is assumed")
    if not data.fit.counts[:, 2].any():
        text = "no input fails at the hint: the cost of such an attempt and of the final one is"
        yield note("hint-assumed", f"{text} assumed from known signers")
    if keys.keys < inputs:
        count = f"{keys.keys} key{'s' if keys.keys > 1 else ''}"
        known = f"{100 * keys.size:.2g} %, as {'seen here' if keys.seen else 'is usual'}"
        text = f"{inputs} inputs have {count}: costs of keys are taken to differ by {known}"
        yield note("few-keys", f"{text}. More keys would narrow the intervals")


def ignores_trace(data: Evidence) -> Iterator[Remark]:
    """Costs of one fixed message, of random signatures, or of other inputs."""
    scatter = data.fit.typical.seen
    explained, off = _agreement(data)
    if scatter is not None and scatter > _RANDOM and data.fit.typical.df >= 3:
        if explained <= _EXPLAINED:
            yield refutation(
                "non-deterministic",
                f"repeats of one input differ by {100 * scatter:.0f} % and do not follow the "
                "traces: rnd was drawn at random (use the selection's), or noise hides all",
            )
        return
    varies = float(np.std(data.fit.cost)) / float(data.fit.cost.mean())
    if len(data.ids) >= 5 and explained < _EXPLAINED and min(off, varies) > _RANDOM:
        yield _unrelated(data)
        return
    rejected = float(data.fit.model.expected_counts.sum())
    least = _LEAST_SHARE * float(np.std(data.iterations)) / rejected
    if least >= _TELLING and varies <= _CONSTANT * least:
        span = f"{data.iterations.min():.0f} to {data.iterations.max():.0f} attempts"
        yield refutation(
            "constant-trace",
            f"the cost does not depend on the number of attempts: {span} cost the same within "
            f"{100 * varies:.2g} %, as one and the same signature would, or averages over many "
            "signatures whose rnd was drawn at random",
        )


def _unrelated(data: Evidence) -> Remark:
    hedged = "rnd drawn at random (hedged signing), " if data.fit.typical.seen is None else ""
    ids = " (in order, costs and attempts agree, which speaks for the ids)"
    return refutation(
        "wrong-inputs",
        f"the costs do not follow the traces: other keys or messages, {hedged}or mixed-up ids"
        f"{ids if _agree_in_order(data) else ''}",
    )


def _agreement(data: Evidence) -> tuple[float, float]:
    """Return two numbers. The first is the share of the variance of all costs that the number of
    iterations explains. The second is the standard deviation that a line in it leaves, relative to
    their mean.

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
    """Return true if sorted costs are a line in the sorted numbers of iterations."""
    x, y = _pairs(data)
    if len(set(x)) < 2 or len(set(y)) < 2:
        return False
    return float(np.corrcoef(np.sort(x), np.sort(y))[0, 1]) ** 2 > _IN_ORDER


def _pairs(data: Evidence) -> tuple[Array, Array]:
    """Attempts and cost of every measurement."""
    costs = data.calm
    present = ~np.isnan(costs)
    return np.broadcast_to(data.iterations, costs.shape)[present], costs[present]


def drift(data: Evidence) -> Iterator[Remark]:
    """A trend over the rounds, or over single measurements where there is one round."""
    if len(data.measured.rounds) > 1:
        yield from _over_rounds(data)
    else:
        yield from _over_inputs(data)


def _over_rounds(data: Evidence) -> Iterator[Remark]:
    """A first round that was not warm, rounds that cost ever more or less, or levels in turn."""
    typical = data.fit.typical
    in_time = np.argsort(np.nanmean(data.measured.order, axis=1))
    level = typical.level[in_time]
    rounds = len(level)
    if rounds < _MANY_ROUNDS:
        if np.ptp(level) > SMALL and rounds_differ(level, typical.own, typical.df):
            most = float(np.ptp(level))
            size = f"{100 * math.expm1(most):.0f} %" if most < 1 else f"{math.exp(most):.3g} times"
            text = f"{rounds} rounds differ by up to {size}, more than noise explains ({_SLOW})"
            more = f"measure at least {_MANY_ROUNDS}, the interval covers only what these show"
            yield note("rounds", f"{text}: {more}")
        return
    first = float(level[0] - np.median(level[1:]))
    calm = 1.4826 * float(np.median(np.abs(level[1:] - np.median(level[1:]))))
    calm = max(calm, (typical.seen or 0.0) / math.sqrt(len(data.ids)))
    alone = level[0] > level[1:].max() or level[0] < level[1:].min()
    if alone and abs(first) > max(_COLD * calm, 3 * SMALL):
        reason = "cold caches or clocks" if first > 0 else "another state of the machine"
        text = f"compared with the others, the first round cost {change_text(math.exp(first))}"
        yield warning("drift", f"{text} ({reason}?): leave it out, or measure more rounds")
        return
    from scipy.stats import kendalltau  # slow to load, and not always needed

    ordered = kendalltau(np.arange(rounds), level)
    # The change over a third of the run, which single rounds do not make.
    third = max(rounds // 3, 1)
    change = float(np.median(level[-third:]) - np.median(level[:third]))
    if ordered.pvalue < CHANCE and abs(change) > 2 * SMALL:
        text = f"the last third of the rounds cost {change_text(math.exp(change))}"
        yield warning("drift", f"the cost drifted: compared with the first, {text} ({_SLOW})")
        return
    yield from _levels(level, np.array(data.measured.rounds)[in_time], typical.own)


def _levels(level: Array, numbers: Ints, own: float) -> Iterator[Remark]:
    """Two or more levels that rounds are at in any order. ``level``: (rounds,) logarithms,
    ``numbers``: of the rounds, ``own``: standard error of a level by the noise within its round."""
    order = np.argsort(level)
    gaps = np.diff(level[order])
    apart = max(_COLD * own, 3 * SMALL)
    groups = np.split(order, np.flatnonzero(gaps > apart) + 1)
    # One round is a disturbance. Rounds that differ as much within a level as between are none.
    groups = [g for g in groups if len(g) > 1]
    within = max((float(np.ptp(level[g])) for g in groups), default=0.0)
    if len(groups) < 2 or sum(map(len, groups)) < 3 * len(groups):
        return
    if gaps[gaps > apart].min() < 2 * within:
        return
    usual = max(groups, key=len)
    centre = float(np.median(level[usual]))
    texts = []
    for group in groups:
        if group is not usual:
            change = change_text(math.exp(float(np.median(level[group])) - centre))
            texts.append(f"rounds {_first_of([*map(str, sorted(numbers[group]))])} cost {change}")
    text = f"the rounds are at {len(groups)} levels: compared with the most common one"
    reason = "another machine, core or frequency?"
    more = "The estimate is that of the most common level. Measure one state at a time"
    yield warning("levels", f"{text}, {join_words(texts)} ({reason}). {more}")


def _over_inputs(data: Evidence) -> Iterator[Remark]:
    order = data.measured.order[0]
    time = np.argsort(np.argsort(order)) / max(len(order) - 1, 1)
    trend = _trend(data, time)
    step = _step(data, np.argsort(order))
    if step is not None and (trend is None or step[0] < trend[0]):
        _, place, change = step
        text = f"from input {data.ids[place]} on, in the order of measuring, inputs cost"
        how = "throttling, or another state of the machine?"
        yield warning(
            "drift", f"{text} {change_text(1 + change)} ({how}). Measure again, in rounds"
        )
        return
    if trend is not None:
        _, change, warm_up = trend
        how = "a start that was not warm?" if warm_up else _SLOW
        yield warning(
            "drift",
            f"in the order of measuring, the last input cost {100 * change:+.1f} % compared with "
            f"the first ({how}). Warm up first, then measure every input several times",
        )
        return
    if len(order) < 3 or data.noise == 0 or len(set(data.iterations)) < 2:
        return
    together = rank_correlation(order, data.iterations)
    if abs(together) > _TOGETHER and data.fit.posterior.error(0.95) > _EXACT:
        yield warning(
            "order",
            "inputs were measured in the order of their attempts, so a drift would look like their "
            "cost. Use another order, or repeat (column round); column order gives the real one",
        )


def _linear(fit: Fit) -> tuple[Array, Array]:
    """(inputs, 3) rows of the linear part and (inputs,) costs, all relative to the fitted cost."""
    scale = 1 / np.maximum(fit.fitted, 0.1 * fit.cost)
    rows = fit.values[:, [MEAN, SLOPE, CONTRAST]] * scale[:, None]
    # The further terms, as far as they are known, must not be taken for a trend.
    cost = (fit.cost - fit.values[:, LINEAR:] @ fit.coefficients[LINEAR:]) * scale
    return rows, cost


def _step(data: Evidence, in_time: Ints) -> tuple[float, int, float] | None:
    """Return the chance of a step by noise, the first input with higher or lower costs, and the
    share of the change. None if the costs show no step. ``in_time``: (inputs,) places in the order
    of time."""
    rows, cost = _linear(data.fit)
    size, best = len(in_time), None
    for at in range(_SHORTEST, size - _SHORTEST + 1):
        after = np.zeros(size)
        after[in_time[at:]] = 1.0
        fitted = added(rows, after, cost)
        if fitted is not None and (best is None or fitted[0] < best[0]):
            best = fitted[0], int(in_time[at]), fitted[1]
    if best is None or best[0] * size > CHANCE or abs(best[2]) < 2 * SMALL:
        return None
    return best[0] * size, best[1], best[2]


def _trend(data: Evidence, time: Array) -> tuple[float, float, bool] | None:
    """Return the chance of a trend by noise, the relative change of the cost, and whether most of
    it was early. None if the costs show none. ``time`` (inputs,) is from 0 to 1."""
    rows, cost = _linear(data.fit)
    best = None
    for decay in _DECAYS:
        course = np.exp(-decay * time) if decay else time
        fitted = added(rows, course, cost)
        if fitted is None:
            continue
        chance = fitted[0] * len(_DECAYS)
        change = fitted[1] * float(course[np.argmax(time)] - course[np.argmin(time)])
        if chance < _TREND and abs(change) > SMALL and (best is None or chance < best[0]):
            best = chance, change, decay > 0
    return best
