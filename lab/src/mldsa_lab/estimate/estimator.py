"""The estimate that fits each cell of a record."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from mldsa_lab.errors import LabError
from mldsa_lab.estimate.cell import (
    Estimate,
    estimate_plain,
    estimate_random,
    estimate_runs,
    estimate_signing,
)
from mldsa_lab.estimate.cells import Cell, Key
from mldsa_lab.inputs.turns import positions
from mldsa_lab.records import Record, Variant
from mldsa_lab.sets import PARAMETER_SETS
from mldsa_lab.theory.rejection import RejectionModel
from mldsa_lab.theory.trace import class_counts, parse_trace

Array = NDArray[np.float64]


def _groups(record: Record) -> dict[tuple[str, int], tuple[int, ...]]:
    """The inputs that runs take in turn, by set and each of them."""
    roles: dict[tuple[str, str], list[int]] = {}
    for row in record.inputs:
        roles.setdefault((row.set, row.role), []).append(row.id)
    return {(s, i): tuple(ids) for (s, _), ids in roles.items() for i in ids}


@dataclass(frozen=True)
class Estimator:
    """Chooses the estimate that fits a cell."""

    counts: dict[str, dict[int, tuple[int, int, int]]]
    """Rejected attempts of each input whose trace is known, by set and input."""
    groups: dict[tuple[str, int], tuple[int, ...]]
    confidence: float

    @classmethod
    def of(cls, record: Record, confidence: float) -> Estimator:
        """For the cells of this record; LabError if a trace in it is malformed."""
        return cls(_counts(record), _groups(record), confidence)

    def estimate(self, variant: Variant, key: Key, cell: Cell) -> Estimate:
        _, set_name, operation = key
        if set_name == "RSA-2048-PSS" and operation == "keygen":
            return self._random(variant, cell)  # the search for primes
        if operation != "sign" or set_name not in PARAMETER_SETS:
            plain = estimate_plain(cell, self.confidence)
            return replace(plain, quantiles={}) if variant.runs else plain
        if not variant.deterministic:
            return self._random(variant, cell)
        model = RejectionModel.of(set_name)
        if variant.runs:
            rows = [self._mean_counts(variant, set_name, i) for i in cell.inputs]
            group = self.groups[set_name, cell.inputs[0]]
            overlap = variant.batch_size * len(cell.inputs) / len(group)
            return estimate_runs(cell, np.array(rows), model, self.confidence, overlap)
        return estimate_signing(cell, self._counts(set_name, cell.inputs), model, self.confidence)

    def _random(self, variant: Variant, cell: Cell) -> Estimate:
        random = estimate_random(cell, self.confidence)
        return replace(random, quantiles={}) if variant.runs else random

    def _counts(self, set_name: str, inputs: Sequence[int]) -> Array:
        known = self.counts.get(set_name, {})
        unknown = [i for i in inputs if i not in known]
        if unknown:
            raise LabError(f"input {unknown[0]} of {set_name}: signing needs its trace")
        return np.array([known[i] for i in inputs], dtype=np.float64)

    def _mean_counts(self, variant: Variant, set_name: str, first: int) -> Array:
        """Mean rejected attempts (3,) of the operations of a run, by its first input."""
        group = self.groups[set_name, first]
        begin = group.index(first)
        places = [
            (begin + place) % len(group)
            for thread in range(variant.threads)
            for place in positions(
                len(group), variant.batch_size, thread=thread, threads=variant.threads
            )
        ]
        weights = np.bincount(places, minlength=len(group)) / len(places)
        mean: Array = weights @ self._counts(set_name, group)
        return mean


def _counts(record: Record) -> dict[str, dict[int, tuple[int, int, int]]]:
    """Rejected attempts of each input whose trace is known, by set and input id."""
    counts: dict[str, dict[int, tuple[int, int, int]]] = {}
    for row in record.inputs:
        if row.trace is not None:
            try:
                trace = parse_trace(row.trace, row.set)
            except LabError as error:
                raise LabError(f"input {row.id} of {row.set}: {error}") from None
            counts.setdefault(row.set, {})[row.id] = class_counts(trace)
    return counts
