"""The fit of measured costs: noise of the measurements, coefficients, mean and percentiles."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import chdtri, expit, fdtrc, ndtri

from mldsa_lab.estimate.interval import (
    FEWEST_ROUNDS,
    Interval,
    Median,
    combine,
    correlation_factor,
    median_over_rounds,
)
from mldsa_lab.estimate.posterior import (
    CONSTANT,
    RELATIVE,
    SHOW_NOISE,
    Noise,
    Posterior,
    contrast,
    posterior_of,
)
from mldsa_lab.theory.law import LINEAR, MEAN, Law, Prior, as_table, prior, terms, to_costs
from mldsa_lab.theory.rejection import RejectionModel
from mldsa_lab.theory.trace import Array, Flags, Ints, Trace

# Costs in the typical round.


@dataclass(frozen=True)
class Levels:
    """A table (rounds, inputs) decomposed as cost = typical * exp(level).

    ``typical``: (inputs,) cost of each input in the typical round; ``level``: (rounds,) natural
    logarithm of each round's speed, median 0; ``rest``: (rounds, inputs) the remainder of the
    logarithm of each cost, NaN where one is missing.
    """

    typical: Array
    level: Array
    rest: Array

    @property
    def noise(self) -> Array:
        """(inputs,) standard error of log(typical) that the rounds show, 0 with one round."""
        # The standard error of a normal median is 1.2533 sd / sqrt(rounds); sd is 1.4826 MAD.
        return 1.2533 * 1.4826 * _median(np.abs(self.rest), 0) / math.sqrt(len(self.rest))


def split_levels(costs: Array) -> Levels:
    """Decompose ``costs`` (rounds, inputs), positive, NaN where missing; every round and every
    input must have at least one value.

    This is two sweeps of a median polish in logarithms. A round's level is the median over its
    inputs. An input's typical cost is the median over rounds after the levels are removed.
    """
    logs = np.log(costs)
    typical = _median(logs, 0)
    level = np.zeros(len(costs))
    for _ in range(2):
        level = _median(logs - typical, 1)
        typical = _median(logs - level[:, None], 0)
    centre = float(np.median(level))
    return Levels(np.exp(typical + centre), level - centre, logs - level[:, None] - typical)


def _median(values: Array, axis: int) -> Array:
    if np.isnan(values).any():
        return np.asarray(np.nanmedian(values, axis=axis), dtype=np.float64)
    return np.asarray(np.median(values, axis=axis), dtype=np.float64)


# The prior of the variance between rounds. lab/notes/measurements.md has the coverage of intervals.
_ROUND_SPREAD = 0.7  # its root, in units of the error that the noise within rounds gives a level
_ROUND_SPREAD_OF_FEW = 0.3  # and where rounds are too few to show that it is larger
_ROUND_DF = 4  # degrees of freedom
_ROUND_DF_WRONG = 1  # those where rounds differ for certain, so that it is wrong
_CHANCE_OF_NOISE = 0.4  # chance by noise below which four rounds and more speak for themselves
_CERTAIN = 0.01  # and below which rounds differ for certain


def rounds_differ(level: Array, own: float, df: int, chance: float = _CERTAIN) -> bool:
    """Return true if rounds of this ``level`` (rounds,) differ by more than noise makes them but
    with this ``chance``; ``own`` and ``df`` as for `typical_round`."""
    if len(level) < 2 or df < 1 or own <= 0:
        return bool(np.ptp(level) > 0)
    return float(fdtrc(len(level) - 1, df, float(level.var(ddof=1)) / own**2)) < chance


def typical_round(level: Array, own: float, df: int) -> Median:
    """Return `median_over_rounds` of ``level`` (rounds,) without the noise within rounds. That
    noise gives each level a standard error of ``own``, known with ``df`` degrees of freedom; the
    costs of the inputs include it already.

    Few rounds show little of the distance between rounds, so the distance has a prior. Two rounds
    that agree are no worse than one; two that differ add little more than their difference. From
    four rounds on it is valid only while noise may explain their differences.
    """
    rounds = len(level)
    is_enough = rounds >= FEWEST_ROUNDS and rounds_differ(level, own, df, _CHANCE_OF_NOISE)
    if rounds < 2 or is_enough:
        return median_over_rounds(level)
    centred = level - level.mean()
    shown = float((centred**2).sum())
    prior_df = _ROUND_DF_WRONG if rounds_differ(level, own, df) else _ROUND_DF
    df = prior_df + rounds - 1
    usual = own * (_ROUND_SPREAD if rounds >= FEWEST_ROUNDS else _ROUND_SPREAD_OF_FEW)
    between = prior_df * usual**2 + max(shown - (rounds - 1) * own**2, 0.0)
    # A median of three or more is pi / 2 times as scattered as their mean.
    size = math.sqrt(between / df * (1.0 if rounds < 3 else math.pi / 2) / rounds)
    size *= correlation_factor(centred, math.sqrt(shown / (rounds - 1)))
    return Median(float(np.median(level)), size, size, df)


# The noise of one measurement before anything is known of it: pairs of a standard deviation,
# relative or in `_CONSTANT` constant, and its weight. A timer's noise is some percent. The rest of
# the weight is for no noise, as of a simulator. With enough inputs, all sizes are equally likely.
_USUAL_NOISE = (
    (0.003, 0.05), (0.01, 0.1), (0.02, 0.12), (0.04, 0.12), (0.07, 0.1), (0.1, 0.08), (0.15, 0.06),
    (0.25, 0.02),
)  # fmt: skip
_ANY_NOISE = (
    (0.003, 0.05), (0.01, 0.1), (0.02, 0.11), (0.04, 0.09), (0.07, 0.07), (0.1, 0.07), (0.15, 0.08),
    (0.25, 0.08), (0.4, 0.02),
)  # fmt: skip
_CONSTANT = ((0.01, 0.02), (0.03, 0.04), (0.06, 0.04), (0.1, 0.02))
# Shares at which the law of a noise that few repeats show is represented, with weights; and from
# that many degrees of freedom on.
_SHARES = (
    (1, (0.02, 0.1, 0.3, 0.5, 0.7, 0.9, 0.98), (0.06, 0.14, 0.2, 0.2, 0.2, 0.14, 0.06)),
    (12, (0.1, 0.3, 0.5, 0.7, 0.9), (0.2,) * 5),
    (40, (0.2, 0.5, 0.8), (0.3, 0.4, 0.3)),
)
# The median of three or more is pi / 2 times as scattered as their mean; noise is winsorised
# beyond this many deviations, since the median does not feel spikes.
_MEDIAN = math.pi / 2
_SPIKE = 4.0
_NEGLIGIBLE = 1e-3
# A single cost was disturbed if it is so many deviations of the noise off the others of its input,
_FAR = 5.0
_FAR_OF_TWO = 3.0  # or off the other one, if there are two,
_TELLING = 0.01  # and by this share. More than a part of all costs is no disturbance but noise:
_MOST_OFF = 0.2
FEW_TIMES = 5
"""Measurements of an input up to which one that is far off is left out of its cost."""
# Relative standard deviation between keys where the costs do not show it: a board's was of this
# size, and verifications under 24 keys each differ by 0.26 % beyond their noise in the median of
# the 45 cells of records/2026-11-21-epyc-zen3/first.jsonl.xz. As if so many degrees of freedom had
# shown it.
_USUAL = 0.003
_WORTH = 4
_SURE = 0.05


@dataclass(frozen=True)
class Typical:
    """Costs of the inputs in the typical round.

    ``costs``: (rounds, inputs) as measured, NaN where there is none or something else disturbed it;
    ``cost``: (inputs,); ``noise``: the possible noise of one measurement; ``repeats``: (inputs,) by
    how much less its variance is in ``cost``; ``level``: (rounds,) logarithm of each round's speed.
    ``rounds``: their median, with its errors. ``seen``: the noise of one measurement by repeats,
    None without repeats. ``df``: its degrees of freedom. ``own``: the standard error that it gives
    each level.
    """

    costs: Array
    cost: Array
    noise: Noise
    repeats: Array
    level: Array
    rounds: Median
    seen: float | None
    df: int
    own: float


def typical(costs: Array, resolution: float, known: float | None) -> Typical:
    """Of ``costs`` (rounds, inputs), positive, NaN where missing, no row or column without any.

    ``resolution``: the step of the scale they were read from; ``known``: relative standard
    deviation of one measurement where it is known.
    """
    rounds, inputs = costs.shape
    present = ~np.isnan(costs)
    times = present.sum(axis=0).astype(np.float64)
    parts = split_levels(costs)
    cost, level, rest = parts.typical, parts.level, np.where(present, parts.rest, 0.0)
    df = int(present.sum()) - rounds - inputs + 1
    seen = None
    if rounds > 1 and not rest.any() and not level.any():
        seen = 0.0  # exact repeats, of a single input too
    elif rounds > 1 and df > 0:
        seen = _scatter(rest[present], df)
    if known is not None:
        noise = Noise(np.array([known]), np.array([RELATIVE]), np.ones(1))
    elif rounds > 1 and (not seen or inputs == 1):
        # The levels of the rounds of a single input include its noise.
        noise = Noise(np.zeros(1), np.array([RELATIVE]), np.ones(1))
    elif seen is not None:
        noise = _from_repeats(rest, present, cost, df)
    else:
        of_costs = _USUAL_NOISE if inputs < SHOW_NOISE else _ANY_NOISE
        size, weight = np.array(of_costs + _CONSTANT).T
        power = np.repeat([RELATIVE, CONSTANT], [len(of_costs), len(_CONSTANT)])
        noise = Noise(size, power, weight, known=False)
    # Of the median over the inputs.
    own = (seen or 0.0) * math.sqrt((math.pi / 2 if inputs > 2 else 1.0) / inputs)
    reading = resolution / math.sqrt(12) / float(cost.mean())
    return Typical(
        costs=costs,
        cost=cost,
        noise=replace(noise, reading=reading),
        repeats=np.where(times > 2, times / _MEDIAN, times),
        level=level,
        rounds=median_over_rounds(level) if inputs == 1 else typical_round(level, own, df),
        seen=seen,
        df=df,
        own=own,
    )


def _from_repeats(rest: Array, present: Flags, cost: Array, df: int) -> Noise:
    """Return the noise that ``rest`` shows: (rounds, inputs), logarithms of the residual of each
    measurement, of which ``present`` are there."""
    size, power, weight = [], [], []
    relative = np.broadcast_to(cost / cost.mean(), rest.shape)[present]
    _, shares, weights = max(row for row in _SHARES if row[0] <= df)
    # The likelihood of either kind, its size fitted.
    sizes = {}
    for kind in (RELATIVE, CONSTANT):
        growth = relative ** (kind / 2 - 1)
        sizes[kind] = _scatter(rest[present] / growth, df)
    best = {k: -df * math.log(max(v, 1e-300)) for k, v in sizes.items()}
    best[CONSTANT] += df * float(np.log(relative).mean())
    for kind, seen in sizes.items():
        other = sum(best.values()) - best[kind]
        chance = float(expit(best[kind] - other))
        if chance < _NEGLIGIBLE:
            continue
        # df seen^2 / sigma^2 has the chi-squared law.
        size.append(seen * np.sqrt(df / chdtri(df, shares)))
        power.append(np.full(len(shares), kind))
        weight.append(chance * np.array(weights))
    return Noise(np.concatenate(size), np.concatenate(power), np.concatenate(weight))


def _scatter(rest: Array, df: int) -> float:
    """Return the standard deviation of one measurement from residuals."""
    size = np.abs(rest)
    typical = 1.4826 * float(np.median(size[size > 0])) if (size > 0).any() else 0.0
    calm = np.minimum(size, _SPIKE * typical * math.sqrt(len(rest) / df))
    return math.sqrt(float((calm**2).sum()) / df)


def undisturbed(costs: Array, predict: Callable[[Ints], Array]) -> Array:
    """``costs`` (rounds, inputs) without single ones that something else disturbed: NaN in place
    of those far off the others of their input.

    Where the costs of an input are torn, as two are, no majority says which are right, and among
    a few it may be wrong. Then ``predict``, given the places of inputs that are not torn, says what
    each should cost (inputs,), and those count that agree with the nearest.
    """
    rounds, inputs = costs.shape
    present = ~np.isnan(costs)
    times = present.sum(axis=0)
    df = int(present.sum()) - rounds - inputs + 1
    if rounds < 2 or inputs < 3 or df < 1:
        return costs
    parts = split_levels(costs)
    size = np.abs(parts.rest)
    # A median over three or so leaves many a zero; of two, as many may be off as half of all.
    share = 0.5 if rounds == 2 else 0.75
    typical_size = float(np.quantile(size[present], share)) / float(ndtri((1 + share) / 2))
    noise = typical_size * math.sqrt(int(present.sum()) / df)
    # What is left of two costs is half of their difference, each.
    far = np.where(times == 2, _FAR_OF_TWO / math.sqrt(2), _FAR) * noise
    off = present & (size > np.maximum(far, _TELLING))
    torn = off.any(axis=0) & ((times <= FEW_TIMES) | (2 * off.sum(axis=0) >= times))
    whole = np.flatnonzero(~torn)
    if not off.any() or len(whole) < 3:
        return costs
    if torn.any():
        logs = np.log(costs) - parts.level[:, None]
        away = np.abs(logs - np.log(predict(whole)))
        near = np.nanmin(away, axis=0)
        nearest = np.nanargmin(np.where(present, away, np.inf), axis=0)
        apart = np.abs(logs - logs[nearest, np.arange(inputs)])
        # Nothing is said where even the nearest is far off: it is the input that is.
        clear = near < np.nanmax(away, axis=0) / 2
        off = np.where(torn, clear & (apart > np.maximum(far, _TELLING)), off)
    left = present & ~off
    few = (
        off.sum() <= _MOST_OFF * present.sum() and left.any(axis=0).all() and left.any(axis=1).all()
    )
    return np.where(off, np.nan, costs) if few else costs


@dataclass(frozen=True)
class KeyOffsets:
    """Offsets of the costs by key. ``keys``: the number of keys of the inputs. ``size``: relative
    standard deviation between the costs of keys. ``seen``: the costs show it, else it is the usual
    one. ``error``: the relative standard error from it in every estimate, beyond the inputs' own
    deviations; 0 if each input has its own key."""

    keys: int
    size: float
    seen: bool
    error: float


def key_offsets(keys: Sequence[Hashable], relative: Array) -> KeyOffsets:
    """For inputs of these ``keys``, ``relative`` (inputs,) being the residuals of a fit."""
    total = len(keys)
    _, place, times = np.unique([hash(k) for k in keys], return_inverse=True, return_counts=True)
    groups, size, seen = len(times), _USUAL, False
    if 1 < groups < total:
        means = np.bincount(place, weights=relative) / times
        within = float(((relative - means[place]) ** 2).sum()) / (total - groups)
        between = float(times @ (means - relative.mean()) ** 2) / (groups - 1)
        seen = float(fdtrc(groups - 1, total - groups, between / max(within, 1e-300))) < _SURE
        if seen:
            usual = (total - float((times**2).sum()) / total) / (groups - 1)  # inputs a key
            excess = (groups - 1) * (between - within) / usual
            size = float(np.sqrt((_WORTH * _USUAL**2 + excess) / (_WORTH + groups - 1)))
    # The mean square of the keys' shares, less that of inputs with a key each.
    excess = float(((times / total) ** 2).sum()) - 1 / total
    return KeyOffsets(groups, size, seen, size * max(excess, 0.0) ** 0.5)


# The fit.


COSTS = ("first", "z", "r", "h")
"""Cost of a signature accepted at the first attempt, and of a rejected attempt of each class."""


@dataclass(frozen=True)
class Fit:
    """Costs of some inputs fitted to their traces.

    ``traces``: of the inputs, none of runs; ``counts``: (inputs, 3) rejected attempts n_z, n_r,
    n_h; ``values``: (inputs, columns) of `mldsa_lab.theory.law`; ``typical``: the costs;
    ``coefficients``: (columns,) expected ones. ``widen``: by how much the inputs' errors are wider
    than they seem, 1 where no input represents others. ``prior``: prior knowledge of the signer.
    """

    model: RejectionModel
    traces: tuple[Trace, ...]
    counts: Array
    values: Array
    typical: Typical
    posterior: Posterior
    coefficients: Array
    keys: KeyOffsets
    prior: Prior
    widen: float = 1.0

    @property
    def cost(self) -> Array:
        """(inputs,) the cost of each input in the typical round."""
        return self.typical.cost

    @property
    def fitted(self) -> Array:
        """(inputs,) costs by the fit."""
        return np.asarray(self.values @ self.coefficients)

    @property
    def residual(self) -> float:
        """Root mean square of the residuals of the costs, relative to the fit."""
        relative = self.cost / np.maximum(self.fitted, 0.1 * self.cost) - 1
        return float(np.sqrt(np.mean(relative**2)))

    @property
    def iteration_costs(self) -> tuple[float, float, float, float]:
        """The values of `COSTS`."""
        first, z, r, h = to_costs(self.model) @ self.coefficients[:LINEAR]
        return float(first), float(z), float(r), float(h)

    def inner(self, row: Array, confidence: float, error: float = 0.0) -> Interval:
        """Of ``row`` (columns,) times the coefficients, in the typical round taken as it is;
        ``error``: one more standard error."""
        value = float(row @ self.coefficients)
        # The number of attempts rests on a measured probability.
        iterations = self.model.fail_h_error / (1 - self.model.fail_h)
        shared = math.hypot(iterations, self.keys.error)
        extra = math.hypot(value * shared, error)
        low, high = self.posterior.limits(row, confidence, extra)
        # The expectation of a lopsided mixture may lie beyond the middle of it.
        low, high = self.widen * min(low - value, 0.0), self.widen * max(high - value, 0.0)
        return Interval(value, value + low, value + high)

    def interval(self, row: Array, confidence: float) -> Interval:
        """Of ``row`` (columns,) times the coefficients."""
        return combine(self.inner(row, confidence), self.typical.rounds, confidence)

    def mean(self, confidence: float) -> Interval:
        """Mean over all signatures."""
        return _positive(self.interval(self._column(MEAN), confidence))

    def costs(self, confidence: float) -> dict[str, Interval]:
        """Return `COSTS`, as averages over abort indexes. ``final``: the accepted iteration. It is
        assumed to cost as much as one that fails the hint's check: both do everything but the
        packing. ``setup``: all other work that is done once for a signature."""
        first, z, r, h = to_costs(self.model)
        rows = np.zeros((len(COSTS) + 2, len(self.coefficients)))
        rows[:, :LINEAR] = first, z, r, h, h, first - h
        names = (*COSTS, "final", "setup")
        return {name: self.interval(row, confidence) for name, row in zip(names, rows, strict=True)}

    def further(self, confidence: float) -> dict[str, Interval]:
        """Return the terms other than the counts, by the names of `mldsa_lab.theory.law`."""
        names = self.prior.names[LINEAR:]
        return {
            name: self.interval(self._column(place), confidence)
            for place, name in enumerate(names, LINEAR)
        }

    def standard_deviation(self) -> float:
        """Return that of a signature's cost by the exact distribution of its rejected attempts."""
        table, (first, *further) = self.model.class_table(), self.iteration_costs
        costs = first + table.counts @ np.array(further)
        mean = float(table.probability @ costs)
        return float(np.sqrt(table.probability @ (costs - mean) ** 2))

    def law(self, share: float = 0.999) -> Law:
        """The law of the cost over all signatures; ``share``: the largest to be asked for."""
        misfit = self.posterior.typical_misfit()
        return Law.from_terms(self.model, self.coefficients, misfit, share=share)

    def quantiles(self, shares: Sequence[float], confidence: float) -> list[Interval]:
        """The costs that these shares (in (0, 1)) of all signatures do not exceed."""
        law = self.law(max(shares))
        # What no term explains may be the inputs' own, and so spread the law, or noise.
        sharp = replace(law, misfit=0.0)
        intervals = []
        for share in shares:
            value, row = law.quantile(share)
            around = self.inner(row, confidence, abs(value - sharp.quantile(share)[0]))
            assert around.low is not None and around.high is not None
            # The linear function that touches the quantile here, moved to it.
            low, high = around.low - around.value, around.high - around.value
            inner = Interval(value, value + low, value + high)
            intervals.append(_positive(combine(inner, self.typical.rounds, confidence)))
        return intervals

    def _column(self, place: int) -> Array:
        row: Array = np.eye(len(self.coefficients))[place]
        return row


def fit_costs(
    traces: Sequence[Trace],
    costs: Array,
    model: RejectionModel,
    *,
    shares: Array | None = None,
    overlap: float = 1.0,
    noise: float | None = None,
    resolution: float = 0.0,
    keys: Sequence[Hashable] | None = None,
    hardened: bool = False,
) -> Fit:
    """Fit ``costs`` (rounds, inputs), positive, NaN where missing, of inputs of these traces. With
    ``shares`` (runs, inputs), costs (rounds, runs) are per operation of runs of several. Each input
    has that share of a run's operations.

    ``overlap``: in how many runs each input takes part; the effect of a shared input says nothing
    new. ``noise``: relative standard deviation of one measurement, if known (0: counts of a
    simulator). Else repeats show it, or a usual value is assumed. ``resolution``: the step of the
    scale that the costs were read from. ``keys``: of the inputs, if some share one. ``hardened``:
    whether the signer checks its own signatures.
    """
    table = as_table(traces, model)
    counts, values = table.counts(), terms(table, model)
    if shares is not None:
        counts, values = shares @ counts, shares @ values
    known = prior(model, hardened)

    def predict(places: Ints) -> Array:
        some = typical(costs[:, places], resolution, noise)
        few = posterior_of(values[places], some.cost, known, some.noise, some.repeats)
        return np.asarray(np.maximum(values @ few.mean, 1e-3 * some.cost.min()))

    calm = undisturbed(costs, predict)
    # Medians over more rounds do not feel what was disturbed.
    measured = typical(calm if len(costs) <= FEW_TIMES else costs, resolution, noise)
    measured = replace(measured, costs=calm)
    posterior = posterior_of(values, measured.cost, known, measured.noise, measured.repeats)
    mean = posterior.mean
    left = measured.cost / np.maximum(values @ mean, 0.1 * measured.cost) - 1
    offsets = key_offsets(range(len(counts)) if keys is None else keys, left)
    single = tuple(traces) if shares is None else ()
    widen = math.sqrt(max(overlap, 1.0))
    return Fit(model, single, counts, values, measured, posterior, mean, offsets, known, widen)


def quotient_of_inputs(one: Fit, other: Fit, confidence: float) -> Interval:
    """Return the mean of one signer over that of another on the same inputs, in the typical round
    of each. Effects of the inputs on both alike cancel."""
    means = one.coefficients[MEAN], other.coefficients[MEAN]
    first, second = (f.typical.noise.averaged(f.typical.repeats) for f in (one, other))
    size = math.hypot(math.sqrt(second.weight @ second.size**2), second.reading)
    noise = replace(first, size=np.hypot(first.size, size))
    posterior = contrast(one.values, one.cost / means[0], other.cost / means[1], one.prior, noise)
    row = np.eye(len(one.coefficients))[MEAN]
    widen = max(one.widen, other.widen)
    low, high = (
        widen * (limit - posterior.mean[MEAN]) for limit in posterior.limits(row, confidence)
    )
    return Interval(1.0, 1 + min(low, 0.0), 1 + max(high, 0.0)).times(means[0] / means[1])


def _positive(interval: Interval) -> Interval:
    """With all three at 0 where they are below, as they are for costs that follow no trace."""
    assert interval.low is not None and interval.high is not None
    value, low, high = (max(v, 0.0) for v in (interval.value, interval.low, interval.high))
    return Interval(value, low, high)
