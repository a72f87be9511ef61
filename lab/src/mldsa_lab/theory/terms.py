"""The terms of the cost model that measurements are fitted to, with what is known beforehand.

cost = mean + slope (attempts - E) + contrast (...) + hint (n_h - E) + further terms, every term
less its expectation over all signatures, so that the first coefficient is the mean itself.

The further terms are covariates of the trace. Real signers depart from the linear model in 1, n_z,
n_r, n_h in a few known ways: they stop at the first polynomial that fails a check, check r0 before
z, compute attempts in pairs or fours, or sample masks eight polynomials at a time. The expectation
of each covariate is known exactly; a design that gives it the weight it has in the population keeps
the estimates unbiased without spending a coefficient on it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import numpy as np

from mldsa_lab.errors import LabError
from mldsa_lab.theory.arrays import Array, Flags, Ints
from mldsa_lab.theory.rejection import RejectionModel
from mldsa_lab.theory.signers import CONTRAST as CONTRAST_COST
from mldsa_lab.theory.signers import (
    HINT_EXTRA,
    LEAST_FIRST,
    Range,
    hardened_setup_cost,
    max_setup_cost,
)
from mldsa_lab.theory.table import TraceTable
from mldsa_lab.theory.trace import ACCEPTED, PASSED, Trace, parse_attempt

MEAN, SLOPE, CONTRAST, HINT = range(4)
"""Columns of the linear part."""
LINEAR_NAMES = ("mean", "attempts", "r0 less z", "hint less r0")
LINEAR = len(LINEAR_NAMES)
"""How many they are; the terms of `covariates` follow."""

# Standard deviation of the share of rejected attempts in the mean cost, in units of half the range
# that the bounds of `signers` leave: a uniform law has 0.58, and some real signers are a little
# outside.
_SHARE_SPREAD = 0.75


# Terms of the number of attempts alone: expectations are sums over a geometric law; the tail
# beyond 400 attempts is below 1e-40.
_ATTEMPTS = np.arange(1, 401)


@dataclass(frozen=True, eq=False)
class Prior:
    """Knowledge of the coefficients before anything is measured, with the mean cost as 1.

    ``names``: of the columns; ``centre``, ``spread``: (columns,), the latter standard deviations;
    that of the mean is infinite. ``of_index``, ``of_attempts``: (columns,) which are terms of
    abort indexes, and of the number of attempts. ``first``: what a signature accepted
    at once may cost, in attempts.
    """

    names: tuple[str, ...]
    centre: Array
    spread: Array
    of_index: Flags
    of_attempts: Flags
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
    of_z, of_r = _weights(model)
    return np.column_stack([np.ones(len(counts)), z + r + h, of_z * (r + h) - of_r * z, h])


@cache
def to_costs(model: RejectionModel) -> Array:
    """(4, 4): rows setup, c_z, c_r, c_h in terms of the linear coefficients."""
    of_z, of_r = _weights(model)
    z = np.array([0.0, 1.0, -of_r, 0.0])
    r = np.array([0.0, 1.0, of_z, 0.0])
    h = r + np.array([0.0, 0.0, 0.0, 1.0])
    setup = np.array([1.0, 0, 0, 0]) - model.expected_counts @ np.array([z, r, h])
    return np.array([setup, z, r, h])


@cache
def attempt_terms(model: RejectionModel, most: int) -> Array:
    """(most + 1, columns) terms of the number of attempts, at 0..most rejected attempts, less
    their expectation; 0 for the terms of abort indexes."""
    # A trace of hint failures has no index of z or r0.
    failed = parse_attempt("h0")
    extra = covariates([(failed,) * n + (ACCEPTED,) for n in range(most + 1)], model)
    values: Array = (extra.values - extra.expected) * extra.of_attempts
    return values


@cache
def prior(model: RejectionModel, hardened: bool = False) -> Prior:
    """The prior of signers of this set, or of `hardened` ones."""
    first = (
        hardened_setup_cost(model.name)
        if hardened
        else Range(LEAST_FIRST, max_setup_cost(model.name))
    )
    rejected = float(model.expected_counts.sum())
    ends = [rejected / (rejected + cost) for cost in first]
    attempt = (ends[0] + ends[1]) / 2 / rejected
    slope = _SHARE_SPREAD * (ends[0] - ends[1]) / 2 / rejected
    extra = covariates([(ACCEPTED,)], model)
    centre = [1.0, attempt, CONTRAST_COST.value * attempt, HINT_EXTRA.value * attempt]
    spread = [np.inf, slope, CONTRAST_COST.error * attempt, HINT_EXTRA.error * attempt]
    none = np.zeros(LINEAR, dtype=bool)
    return Prior(
        (*LINEAR_NAMES, *extra.names),
        np.concatenate([centre, np.zeros(len(extra.names))]),
        np.concatenate([spread, extra.amplitude * attempt]),
        np.concatenate([none, ~extra.of_attempts]),
        np.concatenate([none, extra.of_attempts]),
        first,
    )


@cache
def index_moments(model: RejectionModel) -> tuple[Array, Array]:
    """Covariances of the terms of abort indexes in one attempt: (4, 4) of class z, and of class
    r, in the order of `covariates`."""
    law_z, law_r = model.first_failing_z(), model.first_failing_r()
    variance_z = _variance(law_z)
    variance_r = _variance(law_r)
    both = model.p_r_fails_given_z_fails
    of_z = np.diag([variance_z, 0.0, both * (1 - both), both * variance_r])
    of_r = np.diag([0.0, variance_r, 0.0, 0.0])
    return of_z, of_r


def _variance(law: Array) -> float:
    index = np.arange(len(law))
    return float(law @ index**2 - (law @ index) ** 2)


def _weights(model: RejectionModel) -> tuple[float, float]:
    """Shares of class z, and of r and h, among rejected attempts."""
    counts = model.expected_counts
    return float(counts[0] / counts.sum()), float(counts[1:].sum() / counts.sum())


class Covariates(NamedTuple):
    """Covariates outside the linear model, one column each.

    ``values``: (traces, columns), centred where the conditional expectation given the counts is
    known. ``expected``: (columns,), their means over all signatures. ``amplitude``: (columns,),
    the largest effect to guard against per unit, with the cost of one attempt as 1.
    ``of_attempts``: (columns,), true for functions of the number of attempts alone.
    """

    names: tuple[str, ...]
    values: Array
    expected: Array
    amplitude: Array
    of_attempts: Flags


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
    attempts = table.attempts()
    law = model.p_accept * (1 - model.p_accept) ** (_ATTEMPTS - 1)
    # Amplitudes: z and its norm check take about a quarter of an attempt, w - c s2 with its check
    # about 0.3, spread over l and k polynomials; mask sampling about 0.3. Attempts computed wholly
    # in pairs or fours would be 1; half of that is guarded against.
    terms: list[tuple[str, float, Callable[[Ints], Array] | None]] = [
        ("first failing z", 0.25 / model.l, None),
        ("first failing r0, z passed", 0.30 / model.k, None),
        ("r0 fails too", 0.30, None),
        ("first failing r0, z failed", 0.30 / model.k, None),
        ("curvature", 0.003, lambda n: n.astype(np.float64) ** 2),
        ("pairs", 0.5, lambda n: _waste(n, 2)),
        ("fours", 0.5, lambda n: _waste(n, 4)),
        ("masks by eight", 0.30 / model.l, lambda n: _waste(n * model.l, 8)),
    ]
    names, sizes, functions = zip(*terms, strict=True)
    return Covariates(
        names,
        np.column_stack([index, *(f(attempts) for f in functions if f)]),
        np.array([float(f(_ATTEMPTS) @ law) if f else 0.0 for f in functions]),
        np.array(sizes),
        np.array([f is not None for f in functions]),
    )


def _waste(units: Ints, step: int) -> Array:
    """Units computed beyond ``units`` when they come ``step`` at a time."""
    return ((-units) % step).astype(np.float64)


def index_terms(table: TraceTable, model: RejectionModel) -> Array:
    """(traces, 4), centred by their conditional expectations given n_z and n_r: sum of first
    failing z indexes; of first failing r0 indexes in class r; number of class z attempts whose
    r0 fails too; sum of their first failing r0 indexes."""
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
    owner, size = table.signature_of(), len(table)
    return np.column_stack([np.bincount(owner, weights=t, minlength=size) for t in terms])
