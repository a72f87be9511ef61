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
from numpy.typing import NDArray

from mldsa_lab.inputs.trace import Trace
from mldsa_lab.models.rejection import RejectionModel

Array = NDArray[np.float64]

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
    of_attempts: NDArray[np.bool_]


def covariates(traces: Sequence[Trace], model: RejectionModel) -> Covariates:
    """All covariates of ``traces``."""
    index = _index_terms(traces, model)
    attempts = np.array([len(t) for t in traces])
    law = model.p_accept * (1 - model.p_accept) ** (_ATTEMPTS - 1)
    # Amplitudes: z and its norm check take about a quarter of an attempt, w - c s2 with its check
    # about 0.3, spread over l and k polynomials; mask sampling about 0.3. Attempts computed wholly
    # in pairs or fours would be 1; half of that is guarded against.
    of_index: list[tuple[str, float]] = [
        ("first failing z", 0.25 / model.l),
        ("first failing r0, z passed", 0.30 / model.k),
        ("r0 fails too", 0.30),
        ("first failing r0, z failed", 0.30 / model.k),
    ]
    of_attempts: list[tuple[str, float, Callable[[NDArray[np.int64]], Array]]] = [
        ("curvature", 0.003, _square),
        ("pairs", 0.5, lambda n: _waste(n, 2)),
        ("fours", 0.5, lambda n: _waste(n, 4)),
        ("masks by eight", 0.30 / model.l, lambda n: _waste(n * model.l, 8)),
    ]
    values = np.column_stack([index, *(f(attempts) for _, _, f in of_attempts)])
    expected = np.array(
        [0.0] * len(of_index) + [float(f(_ATTEMPTS) @ law) for _, _, f in of_attempts]
    )
    return Covariates(
        (*(name for name, _ in of_index), *(name for name, _, _ in of_attempts)),
        values,
        expected,
        np.array([*(size for _, size in of_index), *(size for _, size, _ in of_attempts)]),
        np.array([False] * len(of_index) + [True] * len(of_attempts)),
    )


def _square(attempts: NDArray[np.int64]) -> Array:
    return attempts.astype(np.float64) ** 2


def _waste(units: NDArray[np.int64], step: int) -> Array:
    """Units computed beyond ``units`` when they come ``step`` at a time."""
    return ((-units) % step).astype(np.float64)


def _index_terms(traces: Sequence[Trace], model: RejectionModel) -> Array:
    """Per trace, centred by their conditional expectations given n_z and n_r: sum of first
    failing z indexes; of first failing r0 indexes in class r; number of class z attempts whose
    r0 fails too; sum of their first failing r0 indexes."""
    mean_z = float(np.arange(model.l) @ model.first_failing_z())
    mean_r = float(np.arange(model.k) @ model.first_failing_r())
    terms = np.zeros((len(traces), 4))
    for row, trace in zip(terms, traces, strict=True):
        for attempt in trace:
            z, r, _, _ = attempt.first_failing
            if attempt.failed & 1:
                both = bool(attempt.failed & 2)
                row[0] += z - mean_z
                row[2] += both - model.p_r_fails_given_z_fails
                if both:
                    row[3] += r - mean_r
            elif attempt.failed & 2:
                row[1] += r - mean_r
    return terms
