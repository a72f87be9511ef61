"""Estimates of one cell: mean, percentiles, intervals, and what a ratio needs of them."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from mldsa_lab.errors import LabError
from mldsa_lab.estimate.cells import Cell
from mldsa_lab.estimate.line import Line, fit_line
from mldsa_lab.estimate.location import (
    Levels,
    Median,
    correlation_factor,
    median_over_rounds,
    split_levels,
)
from mldsa_lab.theory.linear import class_quantiles, mean_point
from mldsa_lab.theory.rejection import RejectionModel

Array = NDArray[np.float64]

QUANTILES = (0.50, 0.95, 0.99, 0.999)
"""The percentiles that are reported."""

# A sample quantile is given only with this many samples beyond it.
_SAMPLES_BEYOND = 5
# Residuals about the line are remarked upon above this relative size.
_LACK_OF_FIT = 0.05
# From this many runs of different mean traces on they are regressed on these.
_RUNS_FOR_REGRESSION = 8
# Mean attempts of runs that differ from the expected ones by more are remarked upon.
_RUNS_OFF = 0.005
# Rejected attempts of an average signature that cost less than this share of the mean: the cost
# does not follow the trace. Real signers are above 0.3.
_FLAT = 0.05


@dataclass(frozen=True)
class Interval:
    """A value with its confidence limits, which are None where the data show no variation to
    estimate them from."""

    value: float
    low: float | None = None
    high: float | None = None

    def overlaps(self, other: Interval) -> bool:
        """Whether the two intervals have a point in common; False if either has no limits."""
        if self.low is None or self.high is None or other.low is None or other.high is None:
            return False
        return self.low <= other.high and other.low <= self.high


@dataclass(frozen=True)
class Shape:
    """How the mean depends on the choice of inputs, in relative terms.

    The relative variance of the mean is ``leverage`` * sum(residual^2 / variance) / df;
    ``residual`` and ``variance`` are (inputs,), relative to the mean.
    """

    inputs: tuple[int, ...]
    residual: Array
    variance: Array
    leverage: float
    df: int

    def error(self, residual: Array) -> float:
        """Relative standard error of the mean for these residuals (0 with no freedom left)."""
        if self.df < 1:
            return 0.0
        return math.sqrt(self.leverage * float((residual**2 / self.variance).sum()) / self.df)


@dataclass(frozen=True)
class Estimate:
    """Estimates of one cell, in ticks of the worker's unit per operation.

    ``quantiles`` holds only those that are honest. ``level``: (rounds,) logarithm of each round's
    speed, None where rounds cannot be compared. ``line`` and ``table_shape`` are those of the
    trace regression, else None. ``notes``: what a reader must know.
    """

    mean: Interval
    quantiles: dict[float, Interval]
    samples: int
    rounds: tuple[int, ...]
    level: Array | None
    shape: Shape | None
    relative_error: float
    df: float
    line: Line | None = None
    levels: Levels | None = None
    notes: tuple[str, ...] = ()


def combine(
    value: float, level: Median, shape_error: float, shape_df: int, confidence: float
) -> Interval:
    """Interval of ``value`` from the relative errors of the rounds' level and of the inputs,
    added in quadrature on the logarithmic scale, with Welch-Satterthwaite degrees of freedom.

    One round shows no variation in time: no limits then.
    """
    if level.df < 1:
        return Interval(value)
    sides = []
    for error in (level.below, level.above):
        total = error**2 + shape_error**2
        if total == 0:
            sides.append(0.0)
            continue
        parts = error**4 / level.df + (shape_error**4 / shape_df if shape_df else 0.0)
        deviate = float(stdtrit(total**2 / parts, (1 + confidence) / 2))
        sides.append(deviate * math.sqrt(total))
    return Interval(value, value * math.exp(-sides[0]), value * math.exp(sides[1]))


def estimate_signing(
    cell: Cell, counts: Array, model: RejectionModel, confidence: float = 0.95
) -> Estimate:
    """Deterministic signing on inputs of known traces.

    ``counts``: (inputs, 3) rejected attempts n_z, n_r, n_h of ``cell.inputs``. The cost of each
    input in the typical round is regressed on its counts; the mean is the line at the exact
    expectations, a percentile the exact one over all classes. LabError if the inputs do not
    have at least two numbers of attempts.
    """
    levels = split_levels(cell.table())
    line = fit_line(counts, levels.shape)
    level = median_over_rounds(levels.level)
    point = mean_point(model)
    mean, error = line.at(point)
    if mean <= 0:
        raise LabError("signing cost: the fitted line is zero at the mean")
    quantiles = {}
    within = class_quantiles(model, line.beta, QUANTILES, _misfit(line, levels))
    for share, (value, at) in zip(QUANTILES, within, strict=True):
        if value > 0:
            quantiles[share] = combine(value, level, line.at(at)[1] / value, line.df, confidence)
    shape = Shape(
        cell.inputs,
        line.residual / mean,
        line.variance / mean**2,
        float(point @ line.spread @ point) / mean**2,
        line.df,
    )
    interval = combine(mean, level, error / mean, line.df, confidence)
    notes = [*_rounds_notes(cell), *_line_notes(line, levels, point, mean)]
    if not line.df:
        interval, quantiles = _without_limits(interval, quantiles)
    return Estimate(
        interval,
        quantiles,
        len(cell.ticks),
        cell.rounds,
        levels.level,
        shape,
        *_relative_error(interval, level, error / mean, line.df),
        line=line,
        levels=levels,
        notes=tuple(notes),
    )


def estimate_runs(
    cell: Cell,
    counts: Array,
    model: RejectionModel,
    confidence: float = 0.95,
    overlap: float = 1.0,
) -> Estimate:
    """Deterministic signing in runs of several operations, whose mean traces are known.

    ``counts``: (inputs, 3) rejected attempts n_z, n_r, n_h of the runs that begin with
    ``cell.inputs``, as means over their operations. ``overlap``: in how many of these runs each
    input takes part. With enough different runs the cost of an
    operation is regressed on them, as that of single ones is; else the mean over the runs stands,
    with a remark where their traces are not the expected ones on average. A run shows no single
    operation, so there are no percentiles.
    """
    apart = len(np.unique(counts.sum(axis=1).round(9)))
    if len(counts) >= _RUNS_FOR_REGRESSION and apart >= _RUNS_FOR_REGRESSION // 2:
        fitted = estimate_signing(cell, counts, model, confidence)
        # Slopes from means that lie so near each other are no costs of attempts: not to be shown.
        notes = tuple(_rounds_notes(cell))
        fitted = replace(fitted, quantiles={}, line=None, levels=None, notes=notes)
        return _overlapping(fitted, overlap, confidence)
    plain = _overlapping(estimate_plain(cell, confidence), overlap, confidence)
    attempts = 1 + float(counts.sum(axis=1).mean())
    off = attempts / model.expected_attempts - 1
    notes = plain.notes
    if abs(off) > _RUNS_OFF:
        notes += (f"its inputs take {100 * off:+.1f} % attempts compared with all signatures",)
    return replace(plain, quantiles={}, notes=notes)


def _overlapping(estimate: Estimate, overlap: float, confidence: float) -> Estimate:
    """With the error of the inputs as of so many times fewer runs: what several runs owe to an
    input that they share says nothing new."""
    if estimate.level is None or estimate.shape is None or overlap <= 1:
        return estimate
    shape = replace(estimate.shape, leverage=estimate.shape.leverage * overlap)
    level, error = median_over_rounds(estimate.level), shape.error(shape.residual)
    mean = combine(estimate.mean.value, level, error, shape.df, confidence)
    relative, df = _relative_error(mean, level, error, shape.df)
    return replace(estimate, mean=mean, shape=shape, relative_error=relative, df=df)


def _misfit(line: Line, levels: Levels) -> float:
    """The scatter about the line that the noise of the rounds does not explain."""
    noise = float(np.mean((levels.noise * levels.shape) ** 2 / line.variance))
    return math.sqrt(max(line.scatter**2 - noise, 0.0))


def estimate_plain(cell: Cell, confidence: float = 0.95) -> Estimate:
    """Operations whose cost hardly depends on the input: key generation, verification, and
    classical signatures.

    The mean over inputs of each input's cost in the typical round; inputs and rounds are the two
    random factors of its interval. Percentiles are those of the samples, noise of the machine
    included (`sample_quantiles`).
    """
    levels = split_levels(cell.table())
    level = median_over_rounds(levels.level)
    size = len(cell.inputs)
    mean = float(levels.shape.mean())
    shape = Shape(cell.inputs, levels.shape / mean - 1, np.ones(size), 1 / size, size - 1)
    error = shape.error(shape.residual)
    interval = combine(mean, level, error, shape.df, confidence)
    return Estimate(
        interval,
        sample_quantiles(cell),
        len(cell.ticks),
        cell.rounds,
        levels.level,
        shape,
        *_relative_error(interval, level, error, shape.df),
        levels=levels,
        notes=tuple(_rounds_notes(cell)),
    )


def estimate_random(cell: Cell, confidence: float = 0.95) -> Estimate:
    """Operations whose cost is random from call to call: signers that draw their own rnd, and RSA
    key generation.

    The plain mean: the long tail is part of the cost, so that trimming it, or taking medians,
    would bias the mean low. Rounds are a random factor over the calls within them. Percentiles as
    for `estimate_plain`.
    """
    ticks, count = cell.ticks, len(cell.ticks)
    sizes = np.bincount(cell.round_of)
    means = np.bincount(cell.round_of, weights=ticks) / sizes
    mean = float(ticks.mean())
    notes = _rounds_notes(cell)
    rounds = len(sizes)
    if count < 3 or rounds == count:
        error = float(ticks.std(ddof=1)) / math.sqrt(count) if count > 1 else 0.0
        df = float(count - 1)
    else:
        within = float(((ticks - means[cell.round_of]) ** 2).sum()) / (count - rounds)
        variance, df = within / count, float(count - rounds)
        if rounds > 1:
            # One-way analysis of variance with unequal round sizes.
            between = float((sizes * (means - mean) ** 2).sum()) / (rounds - 1)
            typical = (count - float((sizes**2).sum()) / count) / (rounds - 1)
            of_round = max((between - within) / typical, 0.0)
            widen = correlation_factor(means - mean, float(means.std(ddof=1)))
            added = of_round * float((sizes**2).sum()) / count**2 * widen**2
            if added:
                df = (variance + added) ** 2 / (
                    variance**2 / (count - rounds) + (added + variance) ** 2 / (rounds - 1)
                )
            variance += added
        error = math.sqrt(variance)
    interval = Interval(mean)
    if df > 0 and rounds > 1:
        half = float(stdtrit(df, (1 + confidence) / 2)) * error / mean
        interval = Interval(mean, mean * math.exp(-half), mean * math.exp(half))
    return Estimate(
        interval,
        sample_quantiles(cell),
        count,
        cell.rounds,
        None,
        None,
        error / mean,
        df,
        notes=tuple(notes),
    )


def sample_quantiles(cell: Cell) -> dict[float, Interval]:
    """Quantiles of the samples, each only where at least five samples lie beyond it, and those
    above the median only where every sample is a single call: averages of calls have no tail."""
    count = len(cell.ticks)
    honest = [
        share
        for share in QUANTILES
        if count * (1 - share) >= _SAMPLES_BEYOND and (cell.single_calls or share <= 0.5)
    ]
    return {share: Interval(float(np.quantile(cell.ticks, share))) for share in honest}


def ratio(estimate: Estimate, reference: Estimate, confidence: float = 0.95) -> Interval:
    """Ratio of two means, paired by round and by input where both have them.

    Rounds in common give log ratios, whose median is free of what both felt alike; residuals of
    inputs in common are subtracted before they are squared.
    """
    value = estimate.mean.value / reference.mean.value
    common = sorted(set(estimate.rounds) & set(reference.rounds))
    if estimate.level is None or reference.level is None or len(common) < 2:
        return _unpaired_ratio(estimate, reference, value, confidence)
    difference = _level_at(estimate, common) - _level_at(reference, common)
    level = median_over_rounds(difference)
    error, df = _shape_difference(estimate.shape, reference.shape)
    if df == 0 and (_inputs(estimate) > 1 or _inputs(reference) > 1):
        return Interval(value * math.exp(level.value))
    return combine(value * math.exp(level.value), level, error, df, confidence)


def _inputs(estimate: Estimate) -> int:
    return len(estimate.shape.inputs) if estimate.shape else 0


def _level_at(estimate: Estimate, rounds: list[int]) -> Array:
    assert estimate.level is not None
    position = {number: i for i, number in enumerate(estimate.rounds)}
    return estimate.level[[position[number] for number in rounds]]


def _shape_difference(one: Shape | None, two: Shape | None) -> tuple[float, int]:
    """Relative standard error of a ratio from its inputs, and its degrees of freedom."""
    if one is None or two is None:
        return 0.0, 0
    if one.inputs == two.inputs and one.df == two.df:
        return one.error(one.residual - two.residual), one.df
    # A single run over a balanced group stands for all inputs: the other's error is left.
    if len(one.inputs) == 1 or len(two.inputs) == 1:
        other = two if len(one.inputs) == 1 else one
        return other.error(other.residual), other.df
    return math.hypot(one.error(one.residual), two.error(two.residual)), min(one.df, two.df)


def _unpaired_ratio(
    estimate: Estimate, reference: Estimate, value: float, confidence: float
) -> Interval:
    if estimate.mean.low is None or reference.mean.low is None:
        return Interval(value)
    squares = (estimate.relative_error**2, reference.relative_error**2)
    total = sum(squares)
    if total == 0:
        return Interval(value, value, value)
    df = total**2 / (squares[0] ** 2 / estimate.df + squares[1] ** 2 / reference.df)
    half = float(stdtrit(df, (1 + confidence) / 2)) * math.sqrt(total)
    return Interval(value, value * math.exp(-half), value * math.exp(half))


def _relative_error(
    interval: Interval, level: Median, shape_error: float, shape_df: int
) -> tuple[float, float]:
    """Relative standard error (the wider side) and degrees of freedom, for unpaired ratios."""
    if interval.low is None:
        return 0.0, 0.0
    error = max(level.below, level.above)
    total = error**2 + shape_error**2
    parts = error**4 / level.df + (shape_error**4 / shape_df if shape_df else 0.0)
    return math.sqrt(total), total**2 / parts if parts else float(level.df)


def _without_limits(
    mean: Interval, quantiles: dict[float, Interval]
) -> tuple[Interval, dict[float, Interval]]:
    return Interval(mean.value), {q: Interval(i.value) for q, i in quantiles.items()}


def _rounds_notes(cell: Cell) -> list[str]:
    notes = []
    if len(cell.rounds) == 1:
        notes.append("one round: no interval, since nothing shows how rounds differ")
    if cell.dropped:
        notes.append(f"{cell.dropped} samples of zero ticks left out: the clock is too coarse")
    return notes


def _line_notes(line: Line, levels: Levels, point: Array, mean: float) -> list[str]:
    notes = []
    if line.equal_attempts:
        notes.append(
            "one cost fitted for attempts of every class: too few inputs to tell them apart"
        )
    if not line.df:
        notes.append("no interval: as many coefficients as inputs")
    rejected = float(point[1:] @ line.beta[1:])
    if rejected < _FLAT * mean:
        notes.append("the cost does not follow the rejected attempts of the traces")
    names = ("setup", "z-rejected attempt", "r0-rejected attempt", "hint-rejected attempt")
    free = line.free + np.array([0, 0, 0, line.free[2]])
    for name, value, diagonal in zip(names[:3], free[:3], np.diag(line.spread)[:3], strict=True):
        if value < -2 * line.scatter * math.sqrt(diagonal) and value < -1e-6 * mean:
            notes.append(f"least squares gives a negative cost for {name}: held at 0")
    relative = line.residual / levels.shape
    size = float(np.sqrt(np.mean(relative**2)))
    if size > _LACK_OF_FIT and size > 3 * float(np.median(levels.noise)):
        notes.append(
            f"the linear model does not hold: residuals of {100 * size:.0f} % about the line"
        )
    return notes
