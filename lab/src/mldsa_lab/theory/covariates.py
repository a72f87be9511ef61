"""What a signer's cost may depend on beside the counts of the linear model.

The lab's model of signing is linear in 1, n_z, n_r, n_h. Real signers depart from it in a few
known ways: they stop at the first polynomial that fails a check, check r0 before z, compute
attempts in pairs or fours, or sample masks eight polynomials at a time. Each departure is a
covariate of the trace whose expectation is known exactly; a design that gives it the weight it
has in the population keeps the estimates unbiased without spending a coefficient on it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from mldsa_lab.errors import LabError
from mldsa_lab.theory.arrays import Array, Flags, Ints
from mldsa_lab.theory.rejection import RejectionModel
from mldsa_lab.theory.table import TraceTable
from mldsa_lab.theory.trace import PASSED, Trace

# Terms of the number of attempts alone: expectations are sums over a geometric law; the tail
# beyond 400 attempts is below 1e-40.
_ATTEMPTS = np.arange(1, 401)


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
    table = traces if isinstance(traces, TraceTable) else TraceTable.of(model.name, traces)
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
