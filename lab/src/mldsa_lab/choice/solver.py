"""Classes of traces that a choice can tell apart, its result, and the integer programs.

Programs are built row by row and solved by HiGHS (SciPy). Their limits are numbers of nodes, never
times, so that a result depends on the problem only.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp

from mldsa_lab.theory.law import CostModel, covariates
from mldsa_lab.theory.rejection import RejectionModel
from mldsa_lab.theory.trace import Array, Ints, TraceTable

# Classes of traces.


def round_digits(value: float) -> float:
    """Six digits, nine of them behind the point at most: for people to read, and the same on every
    machine."""
    return float(f"{round(float(value), 9):.6g}")


def group_rows(key: Array) -> tuple[Array, Ints, Ints]:
    """The different rows of ``key``, the first place of each, and which of them each row is."""
    rows, first, row_of = np.unique(key, axis=0, return_index=True, return_inverse=True)
    return rows, first, row_of.reshape(-1)


def take_first(kind_of: Ints, numbers: Ints) -> Ints:
    """Places of the first members of each kind, ``numbers`` (kinds,) of each, ascending."""
    order = np.argsort(kind_of, kind="stable")
    ordered = kind_of[order]
    rank = np.arange(len(ordered)) - np.searchsorted(ordered, ordered)
    return np.sort(order[rank < numbers[ordered]])


class Classes:
    """Traces grouped by their rejected attempts n_z, n_r, n_h.

    ``counts``: (classes, 3); ``attempts``: (classes,) of a signature of each class; ``class_of``:
    (traces,) the class of each trace. Covariates (`mldsa_lab.theory.law`):
    ``index_terms`` (traces, 4) differ within a class, ``by_iterations`` (classes, 4) follow from
    the number of iterations. ``index_amplitude``, ``amplitude``: their largest effects per unit,
    with the cost of one attempt as 1; ``expected``: means of the latter over all signatures.
    """

    def __init__(self, table: TraceTable, model: RejectionModel) -> None:
        self.counts, first, self.class_of = group_rows(table.counts())
        self.iterations: Ints = self.counts.sum(axis=1).astype(np.int64) + 1
        extra = covariates(table, model)
        shared = extra.is_iteration_term
        self.index_terms, self.index_amplitude = extra.values[:, ~shared], extra.amplitude[~shared]
        self.by_iterations, self.amplitude = extra.values[first][:, shared], extra.amplitude[shared]
        self.expected = extra.expected[shared]


@dataclass(frozen=True, eq=False, slots=True)
class SelectionResult:
    """``positions``: the chosen traces of a table; ``expected``: the errors to expect of
    them, for the reader; ``cost_model``: the one that the choice rests on, if any."""

    positions: Ints
    expected: dict[str, Any]
    cost_model: CostModel | None = None


# Integer programs.


Terms = Sequence[tuple[slice, Any]]
"""Places of variables, with the coefficients of these."""


@contextmanager
def _quiet() -> Iterator[None]:
    """Drop the lines that HiGHS prints whatever its options say."""
    sys.stdout.flush()
    kept, nowhere = os.dup(1), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    try:
        yield
    finally:
        with suppress(OSError, TypeError, AttributeError):  # not on every system
            ctypes.CDLL(None).fflush(None)
        os.dup2(kept, 1)
        os.close(kept)
        os.close(nowhere)


class Program:
    """Minimise cost @ x over variables from 0 to their upper limits, under linear rows."""

    def __init__(self) -> None:
        self._columns = np.zeros((3, 0))  # upper limit, cost, whether it is an integer
        self._rows: list[tuple[Terms, float, float]] = []

    def variables(
        self,
        count: int,
        *,
        upper: Array | float = np.inf,
        cost: Array | float = 0.0,
        whole: bool = True,
    ) -> slice:
        """Add variables, integers unless said otherwise; their place among all."""
        start = self._columns.shape[1]
        added = [np.broadcast_to(part, count) for part in (upper, cost, float(whole))]
        self._columns = np.hstack([self._columns, added])
        return slice(start, start + count)

    def row(self, terms: Terms, low: float = -np.inf, high: float = np.inf) -> None:
        """Add ``low`` <= the sum over terms of coefficients @ variables <= ``high``."""
        self._rows.append((terms, low, high))

    def near(self, terms: Terms, goal: float, off: slice) -> None:
        """Add rows that keep the variable ``off`` at least as large as the distance of the sum
        from ``goal``."""
        self.row([*terms, (off, [-1.0])], high=goal)
        self.row([*terms, (off, [1.0])], low=goal)

    def solve(self, *, gap: float = 0.0, nodes: int = 20_000) -> Ints | None:
        """The best values, rounded, to within the relative ``gap`` or so many nodes of the search;
        None if there are none, or the search reached none."""
        upper, cost, whole = self._columns
        matrix = np.zeros((len(self._rows), len(cost)))
        for row, (terms, _, _) in zip(matrix, self._rows, strict=True):
            for place, coefficients in terms:
                row[place] = coefficients
        limits = [[low, high] for _, low, high in self._rows]
        with _quiet():
            result = milp(
                cost,
                integrality=whole,
                bounds=Bounds(0, upper),
                constraints=LinearConstraint(matrix, *np.transpose(limits)),
                options={"mip_rel_gap": gap, "node_limit": nodes},
            )
        return None if result.x is None else np.rint(result.x).astype(np.int64)
