"""The law of the signing cost over all signatures, for given coefficients of `terms`.

Two forms of one law. Where signatures with the same rejected attempts cost the same, it is a sum
over the classes of traces, whose probabilities are exact. Else the cost of one attempt has a law
of its own (class and abort indexes, exact), and the sum over attempts is a product of
characteristic functions.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from mldsa_lab.theory.rejection import RejectionModel
from mldsa_lab.theory.terms import LINEAR, attempt_terms, linear_terms, to_costs

Array = NDArray[np.float64]
Complex = NDArray[np.complex128]

# Quantiles leave out classes of this total probability, and of this share of what lies beyond.
_TAIL = 1e-7
_TAIL_SHARE = 1e-3
# Classes within this relative distance of a quantile tell its derivative.
_NEAR = 0.02
# Relative standard deviation at the mean cost, within a class, below which it is none.
_NEGLIGIBLE = 3e-4
_BINS = 1 << 15
# Exponents below this leave nothing; numbers far smaller still would only be slow.
_NOTHING = 60.0
# Bins beyond both ends: what is divided between two bins must not come in at the other end.
_MARGIN = 4


class Law:
    """The cost of all signatures.

    ``coefficients``: (columns,). What no term explains has variance ``misfit``^2 times the cost
    times the mean cost. ``share``: the largest whose quantile will be asked for. ``step``: how
    finely quantiles are known.
    """

    def __init__(
        self, model: RejectionModel, coefficients: Array, misfit: float, share: float = 0.999
    ) -> None:
        table = model.class_table(min(_TAIL, _TAIL_SHARE * (1 - share)))
        rejected = table.counts.sum(axis=1)
        self._by_attempts = attempt_terms(model, int(rejected.max()))
        steps = self._by_attempts @ coefficients[LINEAR:]
        linear = linear_terms(table.counts.astype(np.float64), model)
        cost = linear @ coefficients[:LINEAR] + steps[rejected]
        order = np.argsort(cost, kind="stable")
        self._rows, self._rejected = linear[order], rejected[order]
        self._cost, self._mass = cost[order], table.probability[order]
        attempts = _Attempts(model, coefficients)
        mean = float(coefficients[0])
        within = attempts.variance * float(model.expected_counts.sum()) + misfit**2 * mean**2
        if within <= (_NEGLIGIBLE * mean) ** 2 or mean <= 0:
            self._at, self._cumulated = self._cost, np.cumsum(self._mass)
            self.step = 0.0
        else:
            self._at, self._cumulated = _convolved(
                model, attempts, steps, max(misfit**2 * mean, 0.0)
            )
            self.step = float(self._at[1] - self._at[0])

    def quantile(self, share: float) -> tuple[float, Array]:
        """The smallest cost that a share of signatures do not exceed, and its derivative with
        respect to the coefficients: the mean row (columns,) of the classes near that cost."""
        at = min(int(np.searchsorted(self._cumulated, share)), len(self._at) - 1)
        value = float(self._at[at])
        near = abs(_NEAR * value)
        low, high = np.searchsorted(self._cost, (value - near, value + near))
        if high <= low:
            low = min(int(low), len(self._cost) - 1)
            high = low + 1
        mass = self._mass[low:high]
        further = self._by_attempts[self._rejected[low:high]]
        rows = np.hstack([self._rows[low:high], further])
        return value, np.asarray(mass @ rows / mass.sum())

    def share_up_to(self, cost: float) -> float:
        """The share of signatures that cost at most ``cost``."""
        at = int(np.searchsorted(self._at, cost * (1 + 1e-12), side="right"))
        return float(self._cumulated[at - 1]) if at else 0.0


class _Attempts:
    """The law of the cost of one rejected attempt: ``value`` and ``mass``, (kinds,); and that of
    a signature accepted at once without the terms of the number of attempts, ``first``."""

    def __init__(self, model: RejectionModel, coefficients: Array) -> None:
        self.first, z, r, h = (float(c) for c in to_costs(model) @ coefficients[:LINEAR])
        # The terms of abort indexes, in the order of `covariates`.
        of_z, of_r, both, of_r_too = coefficients[LINEAR : LINEAR + 4]
        law_z, law_r = model.first_failing_z(), model.first_failing_r()
        index_z = np.arange(model.l) - law_z @ np.arange(model.l)
        index_r = np.arange(model.k) - law_r @ np.arange(model.k)
        fails = model.p_r_fails_given_z_fails
        alone = z + of_z * index_z - both * fails
        too = (z + of_z * index_z + both * (1 - fails))[:, None] + of_r_too * index_r
        chance_z, chance_r, chance_h, accept = model.attempt
        self.value = np.concatenate([alone, too.ravel(), r + of_r * index_r, [h]])
        self._of_r = model.k
        self.mass = np.concatenate(
            [
                chance_z * (1 - fails) * law_z,
                chance_z * fails * np.outer(law_z, law_r).ravel(),
                chance_r * law_r,
                [chance_h],
            ]
        ) / (1 - accept)

        self.variance = float(self.mass @ (self.value - self._class_means(z, r, h)) ** 2)

    def _class_means(self, z: float, r: float, h: float) -> Array:
        """The mean cost of the class that each kind belongs to."""
        return np.repeat([z, r, h], [len(self.value) - self._of_r - 1, self._of_r, 1])


def _convolved(
    model: RejectionModel, attempts: _Attempts, steps: Array, misfit: float
) -> tuple[Array, Array]:
    """Costs (bins,) and the shares of signatures that cost at most as much.

    ``steps``: (rejected attempts + 1,) what is added at each number of them; ``misfit``: variance
    over cost of what is left.
    """
    most = len(steps) - 1
    accept = model.p_accept
    number = np.arange(most + 1)
    law = accept * (1 - accept) ** number
    law[-1] += 1 - law.sum()
    start = attempts.first + float(steps.min())
    low, high = float(attempts.value.min()), float(attempts.value.max())
    spread = math.sqrt(misfit * max(attempts.first + most * high, 0.0))
    origin = start + most * min(low, 0.0) - 8 * spread
    end = attempts.first + float(steps.max()) + most * max(high, 0.0) + 8 * spread
    step = (end - origin) / (_BINS - 2 * _MARGIN)
    origin -= _MARGIN * step
    turn: Complex = (-2j * math.pi * np.fft.rfftfreq(_BINS)).astype(np.complex128)
    blur = 0.5 * misfit / step**2 * (turn**2).real
    each = _transform(attempts.value / step, attempts.mass)
    each *= np.exp(np.maximum(blur * max(float(attempts.mass @ attempts.value), 0.0), -_NOTHING))
    shift = _Shift(turn)
    total = np.zeros(len(turn), dtype=np.complex128)
    for n in number[::-1]:
        total *= each
        total += law[n] * shift.to(float(steps[n]) / step)
    total *= shift.to((attempts.first - origin) / step)
    total *= np.exp(np.maximum(blur * max(attempts.first, 0.0), -_NOTHING))
    mass = np.asarray(np.fft.irfft(total, _BINS), dtype=np.float64)
    at = np.arange(_BINS, dtype=np.float64) * step + origin
    return np.asarray(at), np.maximum.accumulate(np.cumsum(mass))


def _transform(place: Array, mass: Array) -> Complex:
    """Of masses at places in units of bins, each divided between the bins beside it: nothing
    rings then, and means stay exact."""
    low = np.floor(place)
    part = place - low
    at = low.astype(np.int64)
    bins = np.bincount(at % _BINS, weights=mass * (1 - part), minlength=_BINS)
    bins += np.bincount((at + 1) % _BINS, weights=mass * part, minlength=_BINS)
    return np.asarray(np.fft.rfft(bins))


class _Shift:
    """Transforms of all mass at one place, divided likewise; many places share their bin."""

    def __init__(self, turn: Complex) -> None:
        self._turn = turn
        self._next = np.exp(turn) - 1
        self._known: dict[int, Complex] = {}

    def to(self, place: float) -> Complex:
        low = math.floor(place)
        if low not in self._known:
            self._known[low] = np.exp(self._turn * low)
        return np.asarray(self._known[low] * (1 + (place - low) * self._next))
