"""Findings against a fit: costs that are no sum of iterations, and outliers."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Literal

import numpy as np
from scipy import sparse
from scipy.optimize import linprog
from scipy.special import fdtrc, ndtr

from mldsa_lab import join_words
from mldsa_lab.estimate.fit import Fit, fit_costs
from mldsa_lab.estimate.posterior import BENT, NO_INDEX, NO_STEPS
from mldsa_lab.estimate.reader import Measurements
from mldsa_lab.inputs.selection import Selection
from mldsa_lab.theory.law import CONTRAST, LINEAR, MEAN, SLOPE, to_costs
from mldsa_lab.theory.rejection import RejectionModel
from mldsa_lab.theory.trace import Array, Flags

SURE = 0.99
"""Confidence with which a fault must show."""
CHANCE = 1e-3
"""The probability below which chance is no explanation."""
SMALL = 0.01
"""Relative size below which a fault does not matter."""
_LEFT_OVER = 2  # degrees of freedom that a column must leave to be judged by


@dataclass(frozen=True)
class Remark:
    """A remark on measured costs. ``error``: the model cannot have such costs, so no estimate is
    valid. ``warning``: a fault. ``note``: the basis of the figures. It has a stable ``code``, and a
    sentence on the data and the likely reason. ``ids``: the inputs it is about, if not all."""

    code: str
    severity: Literal["error", "warning", "note"]
    text: str
    ids: tuple[int, ...] = ()

    def __str__(self) -> str:
        return f"{self.severity}: {self.code}: {self.text}"


def refutation(code: str, text: str) -> Remark:
    """Return a remark that no estimate is valid."""
    return Remark(code, "error", f"{text}. The estimates are not valid")


def warning(code: str, text: str, ids: tuple[int, ...] = ()) -> Remark:
    """Return a remark that the estimates may be invalid."""
    return Remark(code, "warning", text, ids)


def note(code: str, text: str) -> Remark:
    """Return a remark on the basis of the estimates."""
    return Remark(code, "note", text)


@dataclass(frozen=True)
class Evidence:
    """The data of the checks: a fit and its measurements. ``noise``: as the user states it.
    ``selection``: where single inputs may be excluded. ``disturbed``: id and round of each other
    measurement, and its ratio to the cost in the fit."""

    fit: Fit
    measured: Measurements
    noise: float | None = None
    selection: Selection | None = None
    disturbed: tuple[tuple[int, int, float], ...] = ()

    @classmethod
    def from_measurements(
        cls, selection: Selection, measured: Measurements, noise: float | None
    ) -> Evidence:
        """Measurements with their fit."""
        by_id = {item.id: item for item in selection.inputs}
        inputs = [by_id[number] for number in measured.ids]
        fit = fit_costs(
            [item.trace for item in inputs],
            measured.costs,
            RejectionModel.for_set(selection.set),
            noise=noise,
            resolution=measured.resolution,
            keys=[item.key for item in inputs],
        )
        costs = fit.typical.costs
        usual = np.exp(fit.typical.level)[:, None] * fit.cost
        disturbed = tuple(
            (
                measured.ids[at],
                measured.rounds[turn],
                float(measured.costs[turn, at] / usual[turn, at]),
            )
            for turn, at in np.argwhere(~np.isnan(measured.costs) & np.isnan(costs)).tolist()
        )
        return cls(fit, replace(measured, costs=costs), noise, selection, disturbed)

    def only(self, places: Sequence[int]) -> Evidence:
        """That of the inputs at these places."""
        assert self.selection is not None
        return Evidence.from_measurements(self.selection, self.measured.only(places), self.noise)

    @property
    def ids(self) -> tuple[int, ...]:
        """Of the inputs."""
        return self.measured.ids

    @property
    def iterations(self) -> Array:
        """(inputs,) attempts, the accepted one included."""
        return np.asarray(self.fit.counts.sum(axis=1) + 1)

    @property
    def calm(self) -> Array:
        """(rounds, inputs) the costs without the rounds' effects on all inputs alike."""
        costs = self.measured.costs
        return np.asarray(costs / np.nanmedian(costs / self.fit.cost, axis=1)[:, None])

    @property
    def scatter(self) -> float | None:
        """Relative standard deviation of one measurement as repeats show it or as given."""
        return self.fit.typical.seen if self.noise is None else self.noise

    def sure(self, row: Array) -> tuple[float, float]:
        """Return limits that almost certainly include ``row`` times the coefficients."""
        return self.fit.posterior.limits(row, SURE)


def off_text(ratio: float, digits: int = 1) -> str:
    """How far off a cost is that is so many times what it should be: percents, or times where
    these would not be read."""
    if 0.5 < ratio < 2 or ratio <= 0:
        return f"{round(100 * (ratio - 1), digits) + 0.0:+.{digits}f} %"  # no -0.0
    return f"{_times(ratio)} times too {'large' if ratio > 1 else 'small'}"


def change_text(ratio: float) -> str:
    """How much more or less a cost is than another that it is so many times as large as: `12 %
    more`, `3.1 times as much`."""
    if 0.5 < ratio < 2:
        return f"{100 * abs(ratio - 1):.2g} % {'more' if ratio > 1 else 'less'}"
    return f"{_times(ratio)} times as {'much' if ratio > 1 else 'little'}"


def _times(ratio: float) -> str:
    """A factor, or the inverse of one below 1."""
    times = max(ratio, 1 / ratio)
    if times < 1e5:
        return f"{times:,.3g}" if times < 1e3 else f"{times:,.0f}"
    return f"10^{math.log10(times):.1f}".removesuffix(".0")


def least_squares(columns: Array, goal: Array) -> tuple[float, int, Array]:
    """Fit ``goal`` by least squares: the sum of squared residuals, the rank, the coefficients."""
    size = np.sqrt((columns**2).sum(axis=0))
    size[size == 0] = 1.0
    solved, _, rank, _ = np.linalg.lstsq(columns / size, goal, rcond=1e-9)
    rest = goal - columns / size @ solved
    return float(rest @ rest), int(rank), solved / size


def added(columns: Array, column: Array, goal: Array) -> tuple[float, float] | None:
    """Return the chance that one more column explains so much of ``goal`` (F test), and its
    coefficient. None if it leaves too few degrees of freedom, or adds nothing new."""
    before, rank, _ = least_squares(columns, goal)
    after, more, solved = least_squares(np.column_stack([columns, column]), goal)
    left = len(goal) - more
    if more <= rank or left < _LEFT_OVER:
        return None
    ratio = max(before - after, 0.0) / max(after / left, 1e-20 * before, 1e-300)
    return float(fdtrc(1, left, ratio)), float(solved[-1])


def rank_correlation(one: Array, other: Array) -> float:
    """Spearman's, equal values sharing their mean rank; neither may be all equal. (SciPy's takes
    longer to load than all else here.)"""
    return float(np.corrcoef(_ranks(one), _ranks(other))[0, 1])


def _ranks(values: Array) -> Array:
    _, place, times = np.unique(values, return_inverse=True, return_counts=True)
    ranks: Array = (np.cumsum(times) - (times - 1) / 2)[place]
    return ranks


# Costs as a sum of iterations.


# Probability that must speak for a kind of model against the others.
_HIGH_CHANCE = 0.95
# Of an attempt: what an attempt lacking to a group costs at least if attempts come in groups.
_IN_FULL = 0.5
# Share of the longest input's cost that a curvature must make up.
_BENT = 0.05
# c_r and c_z differ by at most 1.4 in the committed records.
_UNLIKE = 2.0
# How far outside its bounds a signature accepted at once may cost.
_UNDER_BOUND = 0.9
_OVER_BOUND = 1.15


def _index_effects(data: Evidence) -> Iterator[Remark]:
    posterior = data.fit.posterior
    without = float(posterior.weight[posterior.index <= NO_INDEX].sum())
    if len(data.ids) < 5 or without > 1 - _HIGH_CHANCE:
        return
    named = _named_terms(data, data.fit.prior.is_index_term)
    if named:
        text = f"the cost depends on which polynomial fails first: {join_words(named)}"
        yield note("abort-index", f"{text}, in attempts. The estimates include it")


_TERM_TEXTS = {
    "first failing z": "{:+.3f} per polynomial of z before the one that fails",
    "first failing r0, z passed": "{:+.3f} per polynomial of r0 before the one that fails",
    "r0 fails too": "{:+.3f} where r0 fails beside z",
    "first failing r0, z failed": "{:+.3f} per polynomial of r0 before the one that fails beside z",
    "curvature": "{:+.4f} times the square of the number of attempts",
    "pairs": "{:+.2f} for an attempt that an odd number lacks to a pair",
    "fours": "{:+.2f} for each attempt that is lacking to a multiple of four",
    "masks by eight": "{:+.3f} for each mask polynomial that is lacking to a multiple of eight",
}


def _named_terms(data: Evidence, which: Flags) -> list[str]:
    """The terms among ``which`` that are certainly not zero, with their size in attempts."""
    known = data.fit.prior
    iteration_cost = max(float(data.fit.coefficients[SLOPE]), 1e-300)
    texts = []
    for place in np.flatnonzero(which):
        row = np.zeros(len(known.names))
        row[place] = 1.0
        low, high = data.sure(row)
        if low > 0 or high < 0:
            size = float(data.fit.coefficients[place]) / iteration_cost
            texts.append(_TERM_TEXTS[known.names[place]].format(size))
    return texts


def _steps(data: Evidence) -> Iterator[Remark]:
    posterior = data.fit.posterior
    chances = {
        kind: float(posterior.weight[posterior.steps == kind].sum())
        for kind in (NO_STEPS, BENT, "pairs", "fours")
    }
    # A bend is `curvature`'s to find.
    straight = chances.pop(NO_STEPS) + chances.pop(BENT)
    likely, chance = max(chances.items(), key=lambda item: item[1])
    known = data.fit.prior
    named = _named_terms(data, known.is_iteration_term & (np.array(known.names) != BENT))
    size = float(data.fit.coefficients[known.names.index(likely)])
    if chance > _HIGH_CHANCE and size > _IN_FULL * float(data.fit.coefficients[SLOPE]):
        reason = f"attempts computed in {likely}"
    elif straight < 1 - SURE and (named or chance > _HIGH_CHANCE):
        reason = "several attempts, or masks, computed at a time"
    else:
        return
    terms = f": {join_words(named)}, in attempts" if named else ""
    text = f"the cost goes up in steps ({reason}){terms}"
    yield warning("steps", f"{text}. Percentiles between steps are the least certain")


def curvature(data: Evidence) -> Iterator[Remark]:
    """Yield a warning if a square of the number of iterations explains the residuals of a line."""
    iterations = data.iterations
    if len(data.ids) < 8 or len(set(iterations)) < 5:
        return
    fit = data.fit
    scale = 1 / np.sqrt(fit.cost)
    # Abort indexes, as far as they are known, must not be taken for it.
    which = fit.prior.is_index_term
    cost = fit.cost - fit.values[:, which] @ fit.coefficients[which]
    columns = fit.values[:, [MEAN, SLOPE, CONTRAST]]
    if len(data.ids) >= 12:
        columns = np.hstack([columns, fit.values[:, which]])
    centred = (iterations - iterations.mean()) ** 2
    fitted = added(columns * scale[:, None], centred * scale, cost * scale)
    if fitted is None:
        return
    chance, coefficient = fitted
    bend = coefficient * float(centred.max())
    longest = float(fit.cost.max())
    if chance > CHANCE or abs(bend) < _BENT * longest:
        return
    how = "more" if bend > 0 else "less"
    text = f"each further attempt costs {how} than the one before"
    share = f"the square makes {100 * bend / longest:+.0f} % of the longest input"
    yield warning("curvature", f"{text} ({share}). Percentiles in the tail are uncertain")


def _iteration_costs(data: Evidence) -> Iterator[Remark]:
    """Costs of attempts that no signer has."""
    matrix = np.zeros((4, len(data.fit.coefficients)))
    matrix[:, :LINEAR] = to_costs(data.fit.model)
    _, z, r, _ = matrix
    negative = [name for name, row in (("z", z), ("r0", r)) if data.sure(row)[1] < 0]
    for name in negative:
        text = f"an attempt rejected at {name} seems to cost less than nothing"
        yield warning("negative-attempt", f"{text}: costs and traces do not belong together")
    if negative:
        return
    for costly, cheap, names in ((r, z, ("r0", "z")), (z, r, ("z", "r0"))):
        if data.sure(costly - _UNLIKE * cheap)[0] > 0:
            text = f"an attempt rejected at {names[0]} costs more than {_UNLIKE:.0f} times one"
            known = "up to 1.4 is known. Check that the ids belong to their costs"
            yield warning("unlike-classes", f"{text} rejected at {names[1]}; {known}")


def _setup(data: Evidence) -> Iterator[Remark]:
    known = data.fit.prior
    first = np.zeros(len(data.fit.coefficients))
    first[:LINEAR] = to_costs(data.fit.model)[0]
    slope = np.eye(len(first))[SLOPE]
    iteration_cost = float(data.fit.coefficients[SLOPE])
    if iteration_cost <= 0:
        return  # said of the attempts
    ratio = float(first @ data.fit.coefficients) / iteration_cost
    text = f"a signature accepted at once costs {ratio:.2f} attempts"
    if data.sure(first - _OVER_BOUND * known.first.high * slope)[0] > 0:
        most = f"hashing explains {known.first.high:.2f}"
        yield warning("first-large", f"{text}; {most}. Was more than signing measured?")
    elif data.sure(first - _UNDER_BOUND * known.first.low * slope)[1] < 0:
        least = f"it contains {known.first.low:.0f}"
        yield warning("first-small", f"{text}; {least}. Was something subtracted from the costs?")


CHECKS: tuple[Callable[[Evidence], Iterator[Remark]], ...] = (
    _iteration_costs,
    curvature,
    _steps,
    _setup,
    _index_effects,
)
"""All checks of this kind, the gravest first."""


# Outliers.


# An input is an outlier if the chance of a cost so far off, times the inputs, is below this.
_OUTLIER = 1e-2
_MOST = 3  # outliers of costs that follow their traces
_FEW = 2  # and of those that seem not to
_FEWEST_INPUTS = 4  # that must be left to judge one by
_LOWEST_CHANCE = 1e-12  # smaller chances are as good as this
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
    outlying: list[tuple[int, float]] = []
    rest: Evidence | None = None
    while len(outlying) < most:
        current = (rest or data).fit
        taken = _off(data, left, current, 1)
        if taken is None and len(outlying) + 2 <= most and current.residual > _SUSPICIOUS:
            taken = _off(data, left, current, 2)
        if taken is None:
            break
        members, rest = taken
        outlying += members
        left = [i for i in left if i not in dict(members)]
    if rest is None:
        return [], None
    ids = tuple(data.ids[i] for i, _ in outlying)
    named = join_words(
        f"{data.ids[i]} ({off_text(ratio)}{_cause(data, i, ratio)})" for i, ratio in outlying
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
    """Return the ``size`` inputs among ``left`` that surprise the fit of the others most, each with
    its ratio to that fit, and the others. None if none are surprising enough."""
    best = None
    if len(left) < _FEWEST_INPUTS + size:
        return None
    for places in combinations(_suspects(current), size):
        others = [i for at, i in enumerate(left) if at not in places]
        if len(set(data.iterations[others])) < 2:
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
        order = max(chance, _LOWEST_CHANCE), left_over
        if enough and (best is None or order < best[0]):
            ratios = [ratio for _, ratio in judged]
            best = order, list(zip(members, ratios, strict=True)), rest
    return None if best is None else best[1:]


def _suspects(fit: Fit) -> list[int]:
    """Return the inputs farthest from the line of least absolute deviations, the farthest first;
    all if they are few. A few wrong inputs do not attract this line."""
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
