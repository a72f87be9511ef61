"""The traces of a pool by what a choice can tell apart: classes and, within them, kinds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from mldsa_lab.theory.arrays import Array, Ints
from mldsa_lab.theory.covariates import Covariates, covariates
from mldsa_lab.theory.rejection import RejectionModel
from mldsa_lab.theory.table import TraceTable


class Chosen(NamedTuple):
    """The chosen traces, ascending, and what theory says of them, for the reader."""

    traces: Ints
    expected: dict[str, Any]


def short(value: float) -> float:
    """Six digits, nine of them behind the point at most: for people to read, and the same on every
    machine."""
    return float(f"{round(value, 9):.6g}")


def kinds_of(key: Array) -> tuple[Array, Ints, Ints]:
    """The different rows of ``key``, the first place of each, and which of them each row is."""
    rows, first, of = np.unique(key, axis=0, return_index=True, return_inverse=True)
    return rows, first, of.reshape(-1)


def first_of_kinds(kind_of: Ints, wanted: Ints) -> Ints:
    """Places of the first members of each kind, ``wanted`` (kinds,) of them, ascending."""
    order = np.argsort(kind_of, kind="stable")
    ordered = kind_of[order]
    rank = np.arange(len(ordered)) - np.searchsorted(ordered, ordered)
    return np.sort(order[rank < wanted[ordered]])


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
        counts, first, of = kinds_of(table.counts())
        extra = covariates(table, model)
        by_attempts = extra.values[first][:, extra.of_attempts]
        return Classes(counts, np.bincount(of), of, extra, by_attempts)

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
