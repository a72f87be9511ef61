"""Mixed-integer linear programs, put together row by row and solved by HiGHS (SciPy).

Limits are numbers of nodes, never times, so that a result depends on the problem alone.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import csr_array

from mldsa_lab.theory.arrays import Array, Ints


@dataclass(frozen=True)
class Solution:
    """Values of all variables, the objective, and the bound that no solution can be below."""

    x: Array
    value: float
    bound: float

    def whole(self, variables: slice) -> Ints:
        """The values of integer variables."""
        return np.rint(self.x[variables]).astype(np.int64)


@contextmanager
def _quiet() -> Iterator[None]:
    """Without what HiGHS prints: now and then a line of its own, whatever it is told."""
    sys.stdout.flush()
    try:
        kept = os.dup(1)
    except OSError:  # there is no standard output
        yield
        return
    try:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 1)
        os.close(nowhere)
        yield
    finally:
        with suppress(OSError, TypeError, AttributeError):  # not on every system
            ctypes.CDLL(None).fflush(None)
        os.dup2(kept, 1)
        os.close(kept)


class Program:
    """Minimise cost @ x over variables from 0 to their upper limits, under linear rows."""

    def __init__(self) -> None:
        self._upper: list[Array] = []
        self._whole: list[Ints] = []
        self._cost: list[Array] = []
        self._size = 0
        self._rows: list[list[tuple[slice, Array]]] = []
        self._low: list[float] = []
        self._high: list[float] = []

    def variables(
        self,
        count: int,
        *,
        upper: Array | float = np.inf,
        cost: Array | float = 0.0,
        whole: bool = True,
    ) -> slice:
        """Add variables, integers unless said otherwise; their place among all."""
        self._upper.append(np.broadcast_to(np.asarray(upper, dtype=np.float64), count))
        self._cost.append(np.broadcast_to(np.asarray(cost, dtype=np.float64), count))
        self._whole.append(np.full(count, int(whole)))
        self._size += count
        return slice(self._size - count, self._size)

    def row(
        self,
        terms: Sequence[tuple[slice, Array | Sequence[float]]],
        low: float = -np.inf,
        high: float = np.inf,
    ) -> None:
        """Add ``low`` <= the sum over terms of coefficients @ variables <= ``high``."""
        self._rows.append([(place, np.asarray(c, dtype=np.float64)) for place, c in terms])
        self._low.append(low)
        self._high.append(high)

    def near(
        self, terms: Sequence[tuple[slice, Array | Sequence[float]]], goal: float, off: slice
    ) -> None:
        """Add rows that keep the variable ``off`` at least as large as the distance of the sum
        from ``goal``."""
        self.row([*terms, (off, [-1.0])], high=goal)
        self.row([*terms, (off, [1.0])], low=goal)

    def solve(self, *, gap: float = 0.0, nodes: int = 20_000) -> Solution | None:
        """The best solution to within the relative ``gap`` or so many nodes of the search; None
        if there is none, or none was found."""
        data, columns, ends = [], [], [0]
        for terms in self._rows:
            for place, coefficients in terms:
                used = np.flatnonzero(coefficients)
                data.append(coefficients[used])
                columns.append(place.start + used)
            ends.append(ends[-1] + sum(len(d) for d in data[len(data) - len(terms) :]))
        matrix = csr_array(
            (np.concatenate(data), np.concatenate(columns), ends),
            shape=(len(self._rows), self._size),
        )
        with _quiet():
            found = milp(
                np.concatenate(self._cost),
                integrality=np.concatenate(self._whole),
                bounds=Bounds(0, np.concatenate(self._upper)),
                constraints=LinearConstraint(matrix, self._low, self._high),
                options={"mip_rel_gap": gap, "node_limit": nodes},
            )
        if found.x is None:
            return None
        return Solution(found.x, float(found.fun), float(found.mip_dual_bound))
