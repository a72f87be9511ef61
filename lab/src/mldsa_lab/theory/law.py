"""The terms of the cost model, and the distribution of the signing cost.

cost = mean + slope (iterations - E) + contrast (...) + hint (n_h - E) + further terms.

Every term is less its expectation over all signatures, so the first coefficient is the mean itself.
Real signers depart from the linear model in 1, n_z, n_r, n_h in a few known ways. They stop at the
first polynomial that fails a check, or check r0 before z. They compute iterations in pairs or
fours, or sample eight polynomials of the mask at a time. The further terms are covariates of the
trace for these.
Their expectations are exact: a design that gives each its weight in the population keeps the
estimates unbiased without a coefficient for it.

The distribution has two forms. Signatures with the same rejected iterations (n_z, n_r, n_h) form a
class, whose probability is exact and counts the orderings. Where all of a class cost the same, each
class is one atom. Otherwise the cost of one rejected iteration has a distribution of its own
(class and abort indexes, exact). The sum over iterations is then a product of characteristic
functions, spread by the part that no term explains.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from pathlib import Path
from typing import Any, Literal, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from mldsa_lab import LabError
from mldsa_lab.files import decode_format, read_text, to_builtins
from mldsa_lab.sets import parameter_set
from mldsa_lab.theory.rejection import CONTRAST as CONTRAST_COST
from mldsa_lab.theory.rejection import (
    HINT_EXTRA,
    LEAST_FIRST,
    USUAL,
    USUAL_SOURCE,
    Range,
    RejectionModel,
    check_share,
    hardened_setup_cost,
    max_setup_cost,
)
from mldsa_lab.theory.trace import (
    ACCEPTED,
    PASSED,
    Array,
    Flags,
    Ints,
    Trace,
    TraceTable,
    parse_iteration,
)

# Terms of the cost model.


MEAN, SLOPE, CONTRAST, HINT = range(4)
"""Columns of the linear part."""
LINEAR_NAMES = ("mean", "attempts", "r0 less z", "hint less r0")
LINEAR = len(LINEAR_NAMES)
"""How many they are; the terms of `covariates` follow."""

# Standard deviation of the share of rejected iterations in the mean cost. Its unit is half the
# range that the bounds of `signers` leave. A uniform distribution has 0.58, and some real signers
# are a little outside.
_SHARE_SPREAD = 0.75


# Terms of only the number of iterations: expectations are sums over a geometric law; the tail
# beyond 400 iterations is below 1e-40.
_ITERATIONS = np.arange(1, 401)


@dataclass(frozen=True, eq=False)
class Prior:
    """Knowledge of the coefficients before anything is measured, with the mean cost as 1.

    ``names``: of the columns. ``centre``, ``spread``: (columns,), the latter standard deviations;
    that of the mean is infinite. ``is_index_term``, ``is_iteration_term``: (columns,) terms of
    abort indexes, and of the number of iterations. ``first``: the range of the cost of a signature
    accepted at once, in iterations.
    """

    names: tuple[str, ...]
    centre: Array
    spread: Array
    is_index_term: Flags
    is_iteration_term: Flags
    first: Range


def model_matrix(counts: Array) -> Array:
    """Rows 1, n_z, n_r + n_h, n_h, shape (rows, 4), for ``counts`` (rows, 3) of n_z, n_r, n_h."""
    n_z, n_r, n_h = counts.T
    return np.column_stack([np.ones(len(counts)), n_z, n_r + n_h, n_h])


def terms(traces: Traces, model: RejectionModel) -> Array:
    """The terms of these traces, shape (traces, columns)."""
    table = as_table(traces, model)
    extra = covariates(table, model)
    linear = linear_terms(table.counts(), model)
    return np.column_stack([linear, extra.values - extra.expected])


def linear_terms(counts: Array, model: RejectionModel) -> Array:
    """(rows, 4) terms of the linear part for ``counts`` (rows, 3) of n_z, n_r, n_h."""
    z, r, h = (counts - model.expected_counts).T
    weight_z, weight_r = _mean_weights(model)
    return np.column_stack([np.ones(len(counts)), z + r + h, weight_z * (r + h) - weight_r * z, h])


@cache
def to_costs(model: RejectionModel) -> Array:
    """(4, 4): rows setup, c_z, c_r, c_h in terms of the linear coefficients."""
    weight_z, weight_r = _mean_weights(model)
    z = np.array([0.0, 1.0, -weight_r, 0.0])
    r = np.array([0.0, 1.0, weight_z, 0.0])
    h = r + np.array([0.0, 0.0, 0.0, 1.0])
    setup = np.array([1.0, 0, 0, 0]) - model.expected_counts @ np.array([z, r, h])
    return np.array([setup, z, r, h])


@cache
def iteration_terms(model: RejectionModel, most: int) -> Array:
    """(most + 1, columns) terms of the number of iterations, at 0..most rejected iterations, less
    their expectation; 0 for the terms of abort indexes."""
    # A trace of hint failures has no index of z or r0.
    failed = parse_iteration("h0")
    extra = covariates([(failed,) * n + (ACCEPTED,) for n in range(most + 1)], model)
    values: Array = (extra.values - extra.expected) * extra.is_iteration_term
    return values


@cache
def prior(model: RejectionModel, is_hardened: bool = False) -> Prior:
    """The prior of signers of this set, or of `hardened` ones."""
    first = (
        hardened_setup_cost(model.name)
        if is_hardened
        else Range(LEAST_FIRST, max_setup_cost(model.name))
    )
    rejected = float(model.expected_counts.sum())
    ends = [rejected / (rejected + cost) for cost in first]
    typical = (ends[0] + ends[1]) / 2 / rejected
    slope = _SHARE_SPREAD * (ends[0] - ends[1]) / 2 / rejected
    extra = covariates([(ACCEPTED,)], model)
    centre = [1.0, typical, CONTRAST_COST.value * typical, HINT_EXTRA.value * typical]
    spread = [np.inf, slope, CONTRAST_COST.error * typical, HINT_EXTRA.error * typical]
    none = np.zeros(LINEAR, dtype=bool)
    return Prior(
        (*LINEAR_NAMES, *extra.names),
        np.concatenate([centre, np.zeros(len(extra.names))]),
        np.concatenate([spread, extra.amplitude * typical]),
        np.concatenate([none, ~extra.is_iteration_term]),
        np.concatenate([none, extra.is_iteration_term]),
        first,
    )


@cache
def index_moments(model: RejectionModel) -> tuple[Array, Array]:
    """Covariances of the terms of abort indexes in one iteration: (4, 4) of class z, and of class
    r, in the order of `covariates`."""
    law_z, law_r = model.first_failing_z(), model.first_failing_r()
    variance_z = _compute_variance(law_z)
    variance_r = _compute_variance(law_r)
    both = model.p_r_fails_given_z_fails
    in_z = np.diag([variance_z, 0.0, both * (1 - both), both * variance_r])
    in_r = np.diag([0.0, variance_r, 0.0, 0.0])
    return in_z, in_r


def _compute_variance(law: Array) -> float:
    index = np.arange(len(law))
    return float(law @ index**2 - (law @ index) ** 2)


def _mean_weights(model: RejectionModel) -> tuple[float, float]:
    """Shares of class z, and of r and h, among rejected iterations."""
    counts = model.expected_counts
    return float(counts[0] / counts.sum()), float(counts[1:].sum() / counts.sum())


class Covariates(NamedTuple):
    """Covariates outside the linear model, one column each.

    ``values``: (traces, columns), centred where the conditional expectation given the counts is
    known. ``expected``: (columns,), their means over all signatures. ``amplitude``: (columns,),
    the largest effect to guard against per unit, with the cost of one iteration as 1.
    ``is_iteration_term``: (columns,), true for functions of only the number of iterations.
    """

    names: tuple[str, ...]
    values: Array
    expected: Array
    amplitude: Array
    is_iteration_term: Flags


Traces = TraceTable | Sequence[Trace]
"""Traces of one parameter set in either form."""


def as_table(traces: Traces, model: RejectionModel) -> TraceTable:
    """The traces as a table; LabError if they are of another set than the model."""
    table = traces if isinstance(traces, TraceTable) else TraceTable.from_traces(model.name, traces)
    if table.set != model.name:
        raise LabError(f"traces of {table.set}: cannot be used with the model of {model.name}")
    return table


def covariates(traces: Traces, model: RejectionModel) -> Covariates:
    """All covariates of ``traces``."""
    table = as_table(traces, model)
    index = index_terms(table, model)
    iterations = table.iterations()
    law = model.p_accept * (1 - model.p_accept) ** (_ITERATIONS - 1)
    # Amplitudes. z and its norm check take about a quarter of an iteration, spread over l
    # polynomials. And w - c s2 with its check takes about 0.3, over k. Mask sampling takes about
    # 0.3. Iterations computed wholly in pairs or fours would be 1; the prior has half of that.
    terms: list[tuple[str, float, Callable[[Ints], Array] | None]] = [
        ("first failing z", 0.25 / model.l, None),
        ("first failing r0, z passed", 0.30 / model.k, None),
        ("r0 fails too", 0.30, None),
        ("first failing r0, z failed", 0.30 / model.k, None),
        ("curvature", 0.003, lambda n: n.astype(np.float64) ** 2),
        ("pairs", 0.5, lambda n: _count_waste(n, 2)),
        ("fours", 0.5, lambda n: _count_waste(n, 4)),
        ("masks by eight", 0.30 / model.l, lambda n: _count_waste(n * model.l, 8)),
    ]
    names, sizes, functions = zip(*terms, strict=True)
    return Covariates(
        names,
        np.column_stack([index, *(f(iterations) for f in functions if f)]),
        np.array([float(f(_ITERATIONS) @ law) if f else 0.0 for f in functions]),
        np.array(sizes),
        np.array([f is not None for f in functions]),
    )


def _count_waste(units: Ints, step: int) -> Array:
    """Units computed beyond ``units`` when they come ``step`` at a time."""
    return ((-units) % step).astype(np.float64)


def index_terms(table: TraceTable, model: RejectionModel) -> Array:
    """Return (traces, 4) terms, centred by their conditional expectations given n_z and n_r.

    They are the sum of first failing z indexes, and that of first failing r0 indexes in class r.
    Then the number of class z iterations whose r0 fails too, and the sum of their first failing r0
    indexes.
    """
    mean_z = float(np.arange(model.l) @ model.first_failing_z())
    mean_r = float(np.arange(model.k) @ model.first_failing_r())
    z, r = table.first_failing("z"), table.first_failing("r")
    in_z, fails_r = z != PASSED, r != PASSED
    both = in_z & fails_r
    terms = (
        np.where(in_z, z - mean_z, 0.0),
        np.where(fails_r & ~in_z, r - mean_r, 0.0),
        np.where(in_z, both - model.p_r_fails_given_z_fails, 0.0),
        np.where(both, r - mean_r, 0.0),
    )
    owner, size = table.signature_numbers(), len(table)
    return np.column_stack([np.bincount(owner, weights=t, minlength=size) for t in terms])


# Distribution of the signing cost.


Complex = NDArray[np.complex128]

# Classes are left out of this total probability, and of this share of what lies beyond a quantile.
_TAIL = 1e-7
_TAIL_SHARE = 1e-3
# Classes within this relative distance of a quantile tell its derivative.
_NEAR = 0.02
# Relative standard deviation at the mean cost, within a class, below which it is none.
_NEGLIGIBLE = 3e-4
# Costs that differ by less than rounding are one cost.
_SAME = 1e-9
# Where costs are spread: bins, a power of 2; deviations beyond which a distribution is 0 or 1;
# exponents below which nothing is left. Far smaller numbers would only be slow.
_BINS = 1 << 15
_FAR = 8.0
_NOTHING = 45.0


class CostLevel(NamedTuple):
    """The cost of some classes, and the shares of all signatures that cost less (``below``) and no
    more (``upto``)."""

    cost: float
    below: float
    upto: float


@dataclass(frozen=True)
class Law:
    """The cost of all signatures, by class in ascending order: see `from_terms`, `from_costs`.

    ``coefficients``: (columns,) of `mldsa_lab.theory.law`. ``counts``: (classes, 3) of n_z, n_r,
    n_h. ``rows``: (classes, columns) of terms, abort indexes at their expectation.
    ``probability``, ``cost``: (classes,). ``misfit``: relative standard deviation, at the mean
    cost, of the scatter that no term explains; its variance is proportional to the cost.
    """

    model: RejectionModel
    coefficients: Array
    counts: Ints
    rows: Array
    probability: Array
    cost: Array
    misfit: float

    @property
    def mean(self) -> float:
        """The mean cost."""
        return float(self.coefficients[0])

    @classmethod
    def from_terms(
        cls,
        model: RejectionModel,
        coefficients: Array,
        misfit: float = 0.0,
        *,
        share: float = 0.999,
        tail: float = _TAIL,
    ) -> Law:
        """Return the law for ``coefficients`` (columns,) of `mldsa_lab.theory.law`.

        ``share``: the largest whose quantile will be asked for; ``tail``: the total probability of
        the classes that may be left out.
        """
        counts, probability, rows = _list_classes(model, min(tail, _TAIL_SHARE * (1 - share)))
        cost = rows @ coefficients
        order = np.argsort(cost, kind="stable")
        columns = counts[order], rows[order], probability[order], cost[order]
        return cls(model, coefficients, *columns, misfit)

    @classmethod
    def from_costs(
        cls,
        model: RejectionModel,
        costs: tuple[float, float, float, float],
        *,
        share: float = 0.999,
        tail: float = _TAIL,
    ) -> Law:
        """Return the law for the costs of a signature accepted at once and of rejected iterations.

        ``costs``: the former, then those of class z, r and h; the cost depends on nothing else.
        """
        coefficients = np.zeros(len(prior(model).names))
        coefficients[:LINEAR] = np.linalg.solve(to_costs(model), costs)
        law = cls.from_terms(model, coefficients, share=share, tail=tail)
        # The same to the last bit as sums of these costs.
        return replace(law, cost=costs[0] + law.counts @ np.array(costs[1:]))

    def quantile(self, share: float) -> tuple[float, Array]:
        """Return the smallest cost that a share of signatures do not exceed, and its derivative.

        The derivative with respect to the coefficients is the mean row (columns,) of the classes
        near that cost.
        """
        value = self._find_cost(share)
        near, mass = self._find_near(value)
        return value, np.asarray(mass @ self.rows[near])

    def counts_near(self, share: float) -> Array:
        """(3,) mean n_z, n_r, n_h of the classes near a quantile."""
        near, mass = self._find_near(self._find_cost(share))
        return np.asarray(mass @ self.counts[near])

    def share_up_to(self, cost: float) -> float:
        """The share of signatures that cost at most ``cost``."""
        at, reached = self._reached
        if self._is_spread:
            return float(np.interp(cost, at, reached, left=0.0))
        place = int(np.searchsorted(at, cost * (1 + _SAME), side="right"))
        return float(reached[place - 1]) if place else 0.0

    def curve(self, shares: Array) -> Array:
        """The smallest costs that these shares of signatures do not exceed."""
        at, reached = self._reached
        if self._is_spread:
            return np.asarray(np.interp(shares, reached, at))
        places = np.searchsorted(reached, shares)
        return np.asarray(at[np.minimum(places, len(at) - 1)])

    def level(self, share: float) -> CostLevel:
        """Return the cost at the quantile ``share`` (0 < share < 1), with the shares of signatures
        below it and up to it. Scatter within classes is ignored. LabError for other shares."""
        check_share(share)
        reached = np.searchsorted(np.cumsum(self.probability), share * (1 - 1e-15))
        cost = self.cost[min(int(reached), len(self.cost) - 1)]
        same = np.abs(self.cost - cost) <= _SAME * self.cost.max()
        below = float(self.probability[(self.cost < cost) & ~same].sum())
        upto = below + float(self.probability[same].sum())
        return CostLevel(float(self.cost[same].min()), below, upto)

    @cached_property
    def _is_spread(self) -> bool:
        """True where signatures of one class differ noticeably in cost."""
        index_terms = self.coefficients[LINEAR : LINEAR + 4]
        in_z, in_r = (float(index_terms @ m @ index_terms) for m in index_moments(self.model))
        rejected = self.model.expected_counts
        variance = in_z * rejected[0] + in_r * rejected[1] + (self.misfit * self.mean) ** 2
        return self.mean > 0 and variance > (_NEGLIGIBLE * self.mean) ** 2

    @cached_property
    def _reached(self) -> tuple[Array, Array]:
        """Costs, ascending, and the shares of signatures that cost at most as much."""
        if not self._is_spread:
            return self.cost, np.cumsum(self.probability)
        return _convolve(
            self.model, self.coefficients, self.misfit**2 * self.mean, int(self.counts.sum(1).max())
        )

    def _find_cost(self, share: float) -> float:
        return float(self.curve(np.array([share]))[0])

    def _find_near(self, value: float) -> tuple[slice, Array]:
        """The classes near a cost, at least one, and their probabilities given one of them."""
        off = abs(_NEAR * value)
        low, high = (int(i) for i in np.searchsorted(self.cost, (value - off, value + off)))
        if high <= low:
            low = min(low, len(self.cost) - 1)
            high = low + 1
        mass = self.probability[low:high]
        return slice(low, high), mass / mass.sum()


@cache
def _list_classes(model: RejectionModel, tail: float) -> tuple[Ints, Array, Array]:
    """Counts (classes, 3), probabilities (classes,) and terms (classes, columns)."""
    table = model.class_table(tail)
    rejected = table.counts.sum(axis=1)
    rows = iteration_terms(model, int(rejected.max()))[rejected]
    rows = np.hstack([linear_terms(table.counts.astype(np.float64), model), rows])
    rows.setflags(write=False)
    return table.counts, table.probability, rows


def _convolve(
    model: RejectionModel, coefficients: Array, misfit: float, most: int
) -> tuple[Array, Array]:
    """`Law._reached` up to ``most`` rejected iterations, which represent more; ``misfit``: residual
    variance over cost."""
    number = np.arange(most + 1)
    law = model.p_accept * (1 - model.p_accept) ** number
    law[-1] += 1 - law.sum()
    value, mass = _tabulate_rejected(model, coefficients)
    mean = float(mass @ value)
    variance = float(mass @ (value - mean) ** 2)
    first = float(to_costs(model)[0] @ coefficients[:LINEAR])
    start = first + iteration_terms(model, most) @ coefficients[LINEAR:]
    centre = start + number * mean
    reach = _FAR * np.sqrt(number * variance + misfit * np.maximum(centre, 0.0))
    origin, end = float((centre - reach).min()), float((centre + reach).max())
    # Bins next to the ends: mass that is divided between two must not come in at the other end.
    step = (end - origin) / (_BINS - 8)
    origin -= 4 * step
    frequency, roots = _compute_roots()
    blur = 0.5 * misfit * (2 * math.pi / (_BINS * step) * frequency) ** 2
    # Beyond some frequency nothing is left.
    size = int(np.searchsorted(blur * max(first, 0.0), _NOTHING))
    frequency, blur = frequency[:size], blur[:size]
    once = np.exp(-blur * max(first, 0.0))
    each = np.exp(-np.minimum(blur * max(mean, 0.0), _NOTHING))
    # Mass between two bins is divided between them: nothing rings then, and means stay exact.
    low = np.floor(value / step).astype(np.int64)
    part = value / step - low
    bins = np.bincount(low % _BINS, weights=mass * (1 - part), minlength=_BINS)
    bins += np.bincount((low + 1) % _BINS, weights=mass * part, minlength=_BINS)
    iteration = np.fft.rfft(bins)[:size] * each
    by_one = roots[:size] - 1
    whole, part = np.divmod((start - origin) / step, 1)
    places = whole.astype(np.int64)

    def shift(bins: int) -> Complex:
        turned: Complex = roots[frequency * bins & (_BINS - 1)]
        return turned

    # Horner's rule in a rejected iteration, which moves by few different numbers of bins.
    moved: dict[int, Complex] = {}
    total = law[-1] * (1 + part[-1] * by_one)
    divided = np.empty_like(total)
    for n in number[-2::-1]:
        by = int(places[n + 1] - places[n])
        if by not in moved:
            moved[by] = iteration * shift(by)
        total *= moved[by]
        total += np.multiply(by_one, law[n] * part[n], out=divided)
        total += law[n]
    total *= shift(int(places[0])) * once
    reached = np.maximum.accumulate(np.cumsum(np.fft.irfft(total, _BINS)))
    # A bin has the mass that is nearer to it than to others.
    return origin + step * (np.arange(_BINS, dtype=np.float64) + 0.5), np.asarray(reached)


def _tabulate_rejected(model: RejectionModel, coefficients: Array) -> tuple[Array, Array]:
    """Return (kinds,) costs of a rejected iteration by class and abort indexes, and their
    probabilities."""
    _, z, r, h = (float(c) for c in to_costs(model) @ coefficients[:LINEAR])
    # The terms of abort indexes, in the order of `covariates`.
    per_z, per_r, both, per_r_too = coefficients[LINEAR : LINEAR + 4]
    law_z, law_r = model.first_failing_z(), model.first_failing_r()
    index_z = np.arange(model.l) - law_z @ np.arange(model.l)
    index_r = np.arange(model.k) - law_r @ np.arange(model.k)
    fails = model.p_r_fails_given_z_fails
    alone = z + per_z * index_z - both * fails
    too = np.add.outer(alone + both, per_r_too * index_r)
    value = np.concatenate([alone, too.ravel(), r + per_r * index_r, [h]])
    share_z, share_r, share_h, accept = model.iteration
    mass = np.concatenate(
        [
            share_z * (1 - fails) * law_z,
            share_z * fails * np.outer(law_z, law_r).ravel(),
            share_r * law_r,
            [share_h],
        ]
    )
    return value, mass / (1 - accept)


@cache
def _compute_roots() -> tuple[Ints, Complex]:
    """Frequencies (bins / 2 + 1,), and the turn (bins,) that a shift by one bin is at each."""
    frequency = np.arange(_BINS // 2 + 1)
    return frequency, np.exp(-2j * math.pi / _BINS * np.arange(_BINS))


# A cost model from a file or by default.


FORMAT = "mldsa-lab cost model"
VERSION = 2
"""Version of the file format."""

# Classes left out are together less likely than this.
_ITERATIONS_TAIL = 1e-12


class CostModel(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="format", tag=FORMAT
):
    """Cost of a signature accepted at the first iteration (``first``) and of a rejected iteration
    of each class, as a file has it.

    Classes: z (the norm of z fails, whatever else does), r (else r0), h (else ct0 or the hint
    weight). ``unit``: of all four; ``attempts`` where an iteration of class r is 1. ``source``: of
    the costs. ``set``: the parameter set, None where the model does not say.
    LabError if a cost is negative, infinite or not a number, or all are 0.
    """

    first: float
    z: float
    r: float
    h: float
    unit: str = "attempts"
    source: str = ""
    set: str | None = None
    version: Literal[2] = 2

    def __post_init__(self) -> None:
        costs = {"first": self.first, "z": self.z, "r": self.r, "h": self.h}
        for name, value in costs.items():
            if not (math.isfinite(value) and value >= 0):
                raise LabError(f"cost model: {name} is {value}, it must be a number, 0 or more")
        if not any(costs.values()):
            raise LabError("cost model: one of first, z, r, h must be above 0")
        if self.set is not None:
            parameter_set(self.set)

    @classmethod
    def default(cls, set_name: str) -> CostModel:
        """The model used if the user names none: a common implementation's, as measured here."""
        parameter_set(set_name)
        return cls(*USUAL[set_name], source=USUAL_SOURCE, set=set_name)

    @classmethod
    def read(cls, path: Path) -> CostModel:
        """The model in a JSON file; LabError that names the file and the broken rule."""
        return decode_format(read_text(path), cls, str(path), FORMAT, VERSION)

    def as_json(self) -> dict[str, Any]:
        """Return the object for a file."""
        return {"format": FORMAT, "version": VERSION, "set": self.set, **to_builtins(self)}

    def to_json(self) -> str:
        """The text of a file."""
        return json.dumps(self.as_json(), indent=1, allow_nan=False) + "\n"

    def costs(self, counts: Array) -> Array:
        """Cost of each row n_z, n_r, n_h of ``counts`` (rows, 3), shape (rows,)."""
        cost: Array = self.first + np.asarray(counts) @ np.array([self.z, self.r, self.h])
        return cost

    def mean(self, model: RejectionModel) -> float:
        """The exact mean over all signatures."""
        self.check_set(model.name)
        return float(self.costs(model.expected_counts))

    def law(self, model: RejectionModel, share: float = 0.999) -> Law:
        """The law of the cost over all signatures, abort indexes left out of account; ``share``:
        the largest whose quantile will be asked for. LabError if it is not in (0, 1), or the
        model is of another parameter set."""
        self.check_set(model.name)
        check_share(share)
        costs = (self.first, self.z, self.r, self.h)
        return Law.from_costs(model, costs, share=share, tail=_ITERATIONS_TAIL)

    def quantile(self, model: RejectionModel, share: float) -> float:
        """The least cost that at least ``share`` (0 < share < 1) of all signatures do not exceed:
        always that of a class."""
        return self.law(model, share).quantile(share)[0]

    def check_set(self, set_name: str) -> None:
        """LabError if the model is of another parameter set."""
        if self.set not in (None, set_name):
            raise LabError(f"cost model of {self.set}: cannot be used for {set_name}")
