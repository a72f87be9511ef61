"""The traces of a pool by what a choice can tell apart: classes and, within them, kinds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mldsa_lab.theory.covariates import Covariates, covariates
from mldsa_lab.theory.rejection import RejectionModel
from mldsa_lab.theory.table import TraceTable

Array = NDArray[np.float64]
Ints = NDArray[np.int64]


class Chosen(NamedTuple):
    """The chosen traces, ascending, and what theory says of them, for the reader."""

    traces: Ints
    expected: dict[str, Any]


def short(value: float) -> float:
    """Six digits, nine of them behind the point at most: for people to read, and the same on every
    machine."""
    return float(f"{round(value, 9):.6g}")


@dataclass(frozen=True)
class Classes:
    """Traces grouped by their rejected attempts n_z, n_r, n_h.

    ``counts``: (classes, 3); ``stock``: (classes,) traces of each; ``of``: (traces,) the class of
    each trace; ``extra``: the covariates of all traces; ``by_attempts``: (classes, columns) those
    covariates that the number of attempts alone decides.
    """

    counts: Array
    stock: Ints
    of: Ints
    extra: Covariates
    by_attempts: Array

    @staticmethod
    def in_table(table: TraceTable, model: RejectionModel) -> Classes:
        """The classes of these traces."""
        counts, first, of, stock = np.unique(
            table.counts(), axis=0, return_index=True, return_inverse=True, return_counts=True
        )
        extra = covariates(table, model)
        return Classes(
            counts, stock, of.reshape(-1), extra, extra.values[first][:, extra.of_attempts]
        )

    @property
    def attempts(self) -> Ints:
        """(classes,) attempts of a signature of each class."""
        attempts: Ints = self.counts.sum(axis=1).astype(np.int64) + 1
        return attempts

    @property
    def index_terms(self) -> Array:
        """(traces, 4) the covariates that differ within a class, see `covariates.index_terms`."""
        return self.extra.values[:, ~self.extra.of_attempts]

    @property
    def index_amplitude(self) -> Array:
        """(4,) their largest effects per unit, with the cost of one attempt as 1."""
        return self.extra.amplitude[~self.extra.of_attempts]
