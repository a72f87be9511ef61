"""Integer programs, built row by row and solved by HiGHS (SciPy).

Their limits are numbers of nodes, never
times, so that a result depends on the problem only.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp

from mldsa_lab.theory.trace import Array, Ints

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
        """Return the best values, rounded, to within the relative ``gap`` or so many nodes of the
        search. None if there are none, or the search reached none."""
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
