"""What a check of measurements says, and what it looks at."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from scipy.special import fdtrc

from mldsa_lab.estimate.fit import Fit, fit_costs
from mldsa_lab.estimate.reader import Measurements
from mldsa_lab.inputs.selection import Selection
from mldsa_lab.theory.arrays import Array
from mldsa_lab.theory.rejection import RejectionModel

SURE = 0.99
"""Confidence with which a fault must show."""
CHANCE = 1e-3
"""The probability below which chance is no explanation."""
SMALL = 0.01
"""Relative size below which a fault does not matter."""
_LEFT_OVER = 2  # degrees of freedom that a column must leave to be judged by


@dataclass(frozen=True)
class Remark:
    """Costs that the model cannot have (``error``: no estimate holds), a fault (``warning``), or
    what the figures rest on (``note``): a stable ``code``, and a sentence that says what the data
    show and what may be the reason. ``ids``: the inputs it is about, if not all."""

    code: str
    severity: Literal["error", "warning", "note"]
    text: str
    ids: tuple[int, ...] = ()

    def __str__(self) -> str:
        return f"{self.severity}: {self.code}: {self.text}"


def refutation(code: str, text: str) -> Remark:
    """A remark that no estimate holds."""
    return Remark(code, "error", f"{text}. The estimates do not hold")


def warning(code: str, text: str, ids: tuple[int, ...] = ()) -> Remark:
    """A remark that the estimates may not hold."""
    return Remark(code, "warning", text, ids)


def note(code: str, text: str) -> Remark:
    """A remark on what the estimates rest on."""
    return Remark(code, "note", text)


@dataclass(frozen=True)
class Evidence:
    """What the checks look at: a fit and the measurements that it rests on. ``noise``: as given;
    ``selection``: where single inputs may be left out; ``disturbed``: id and round of what else was
    measured, and its ratio to what the fit rests on."""

    fit: Fit
    measured: Measurements
    noise: float | None = None
    selection: Selection | None = None
    disturbed: tuple[tuple[int, int, float], ...] = ()

    @classmethod
    def of(cls, selection: Selection, measured: Measurements, noise: float | None) -> Evidence:
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
        return Evidence.of(self.selection, self.measured.only(places), self.noise)

    @property
    def ids(self) -> tuple[int, ...]:
        """Of the inputs."""
        return self.measured.ids

    @property
    def attempts(self) -> Array:
        """(inputs,) attempts, the accepted one included."""
        return np.asarray(self.fit.counts.sum(axis=1) + 1)

    @property
    def calm(self) -> Array:
        """(rounds, inputs) the costs without what rounds do to all inputs alike."""
        costs = self.measured.costs
        return np.asarray(costs / np.nanmedian(costs / self.fit.cost, axis=1)[:, None])

    @property
    def scatter(self) -> float | None:
        """Relative standard deviation of one measurement as repeats show it or as given."""
        return self.fit.typical.seen if self.noise is None else self.noise

    def sure(self, row: Array) -> tuple[float, float]:
        """Limits of ``row`` times the coefficients that hold almost certainly."""
        return self.fit.posterior.limits(row, SURE)


def off_text(ratio: float, digits: int = 1) -> str:
    """How far off a cost is that is so many times what it should be: percents, or times where
    these would not be read."""
    if 0.5 < ratio < 2 or ratio <= 0:
        return f"{100 * (ratio - 1):+.{digits}f} %"
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
    """What least squares leave of ``goal``: the sum of its squares, the rank, the coefficients."""
    size = np.sqrt((columns**2).sum(axis=0))
    size[size == 0] = 1.0
    solved, _, rank, _ = np.linalg.lstsq(columns / size, goal, rcond=1e-9)
    rest = goal - columns / size @ solved
    return float(rest @ rest), int(rank), solved / size


def added(columns: Array, column: Array, goal: Array) -> tuple[float, float] | None:
    """The chance that one more column explains so much of ``goal`` (F test), and its coefficient;
    None where it leaves too few degrees of freedom, or says nothing new."""
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
