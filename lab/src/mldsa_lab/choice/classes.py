"""The traces of a pool by what a choice can tell apart: classes and, within them, kinds."""

from __future__ import annotations

import numpy as np

from mldsa_lab.theory.arrays import Array, Ints
from mldsa_lab.theory.rejection import RejectionModel
from mldsa_lab.theory.table import TraceTable
from mldsa_lab.theory.terms import covariates


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
    (traces,) the class of each trace. Covariates (`mldsa_lab.theory.terms`):
    ``index_terms`` (traces, 4) differ within a class, ``by_attempts`` (classes, 4) follow from the
    number of attempts. ``index_amplitude``, ``amplitude``: their largest effects per unit, with
    the cost of one attempt as 1; ``expected``: means of the latter over all signatures.
    """

    def __init__(self, table: TraceTable, model: RejectionModel) -> None:
        self.counts, first, self.class_of = group_rows(table.counts())
        self.attempts: Ints = self.counts.sum(axis=1).astype(np.int64) + 1
        extra = covariates(table, model)
        shared = extra.of_attempts
        self.index_terms, self.index_amplitude = extra.values[:, ~shared], extra.amplitude[~shared]
        self.by_attempts, self.amplitude = extra.values[first][:, shared], extra.amplitude[shared]
        self.expected = extra.expected[shared]
