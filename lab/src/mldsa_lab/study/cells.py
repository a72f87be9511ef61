"""The means of a study's cells, one for each process."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from mldsa_lab.errors import LabError
from mldsa_lab.estimate.cells import CellSamples, gather
from mldsa_lab.estimate.estimators import CellEstimate
from mldsa_lab.estimate.fit import Fit
from mldsa_lab.estimate.summary import Summary, SummaryRow, summarise
from mldsa_lab.records import Record, read_record
from mldsa_lab.study.file import FIELDS, PERCENTILES, SPREAD
from mldsa_lab.study.run import Step
from mldsa_lab.theory.arrays import Array

Where = Mapping[str, Sequence[str]]


@dataclass(frozen=True)
class StudyCell:
    """One cell over all processes: its ``fields`` as texts, the ``unit`` of its costs, and
    ``means``: (processes,) for one operation.

    ``percentiles``: (processes,) by name, those that every process could tell. ``rounds``: the
    mean of each round, process after process. ``fitted``: of each process, where the inputs were
    designed.
    """

    fields: Mapping[str, str]
    unit: str
    means: Array
    percentiles: Mapping[str, Array] = field(default_factory=dict)
    rounds: Array = field(default_factory=lambda: np.empty(0))
    fitted: tuple[Fit, ...] = ()

    def told(self, names: Iterable[str]) -> tuple[str, ...]:
        """The texts of these fields."""
        return tuple(self.fields[name] for name in names)

    def fits(self, where: Where) -> bool:
        """Whether each field has one of the texts asked for."""
        return all(self.fields[name] in texts for name, texts in where.items())

    @property
    def middle(self) -> float:
        """The median over the processes."""
        return float(np.median(self.means))

    def replicates(self, kind: str) -> Array:
        """The means of its processes, or those of its rounds."""
        return self.rounds if kind == "rounds" else self.means

    def figure(self, name: str) -> float | None:
        """A figure of a table: the median over the processes of their means or of a percentile, or
        how far the largest mean lies above the least; None where it is not known."""
        if name == SPREAD:
            return float(self.means.max() / self.means.min() - 1)
        values = {"mean": self.means, **self.percentiles}.get(name)
        return None if values is None else float(np.median(values))


def gather_cells(measured: Iterable[tuple[Step, Path]], clock: str, confidence: float) -> Gathered:
    """The cells of a study's records, and the summary of each record."""
    found: dict[tuple[str, ...], tuple[dict[str, str], str, list[_OfProcess]]] = {}
    summaries, left_out = [], Counter[str]()
    for step, path in measured:
        record = read_record(path)
        summary = summarise(record, clock=clock, confidence=confidence)
        summaries.append((step, path, summary))
        left_out.update(set(_left_out(record)))
        samples = gather(record, clock)
        worker_of = {v.id: w.worker for w in record.workers for v in w.variants}
        for row in summary.rows:
            if row.mean is None:
                continue
            fields = _fields(row, worker_of[row.variant], step)
            key = tuple(fields.values())
            place = (row.variant, row.set, row.operation)
            one = _OfProcess(row, summary.estimates[place], samples[place])
            found.setdefault(key, (fields, row.unit, []))[2].append(one)
    return Gathered([_joined(*parts) for parts in found.values()], summaries, left_out)


def _left_out(record: Record) -> Iterator[str]:
    for row in record.skipped:
        yield f"worker {row.worker}: {row.reason}"
    for gate in record.gates:
        if not gate.passed:
            yield f"{gate.variant} {gate.set}: refused by the correctness gate"
    for fault in record.faults:
        yield " ".join(filter(None, (fault.variant, fault.set))) + f": {fault.reason}"


@dataclass(frozen=True)
class _OfProcess:
    """A cell in one process."""

    row: SummaryRow
    estimate: CellEstimate
    samples: CellSamples

    def rounds(self) -> Array:
        """The mean of each round: of inputs that all rounds have, by the level of the round."""
        if self.estimate.level is not None:
            return np.asarray(self.estimate.mean.value * np.exp(self.estimate.level))
        samples = self.samples
        sums = np.bincount(samples.round_of, weights=samples.ticks)
        return np.asarray(sums / np.bincount(samples.round_of))


def _joined(fields: dict[str, str], unit: str, of: Sequence[_OfProcess]) -> StudyCell:
    known = {name: [getattr(one.row, name) for one in of] for name in PERCENTILES}
    fits = [one.estimate.fit for one in of]
    return StudyCell(
        fields,
        unit,
        np.array([one.estimate.mean.value for one in of]),
        {name: np.array(values) for name, values in known.items() if None not in values},
        np.concatenate([one.rounds() for one in of]),
        tuple(fit for fit in fits if fit is not None and fit.traces),
    )


@dataclass(frozen=True)
class Gathered:
    """What a study measured."""

    cells: list[StudyCell]
    summaries: list[tuple[Step, Path, Summary]]
    left_out: Counter[str] = field(default_factory=Counter)
    """Who was left out and why, with the number of runs."""

    def those(self, where: Where) -> list[StudyCell]:
        """The cells that fit; LabError for a text that no cell has, and where none fits."""
        for name, texts in where.items():
            known = list(dict.fromkeys(c.fields[name] for c in self.cells))
            for text in texts:
                if text not in known:
                    raise LabError(f"{name} {text!r}: measured are {', '.join(known)}")
        found = [c for c in self.cells if c.fits(where)]
        if not found:
            raise LabError("no cell was measured that fits all of `where`")
        return found

    def sorted_in(
        self, where: Where, outer: Sequence[str], inner: Sequence[str]
    ) -> dict[tuple[str, ...], dict[str, StudyCell]]:
        """The cells that fit, by their texts of the fields ``outer`` and, joined, ``inner``.
        LabError where two have the same."""
        found: dict[tuple[str, ...], dict[str, StudyCell]] = {}
        for cell in self.those(where):
            place = found.setdefault(cell.told(outer), {})
            label = " ".join(cell.told(inner))
            if label in place:
                other = place[label].fields
                differ = [n for n, text in cell.fields.items() if other[n] != text]
                told = " ".join(filter(None, (*cell.told(outer), label)))
                raise LabError(
                    f"{told} is several cells that differ in {', '.join(differ)}: name what to "
                    "take in where, or add it to the fields"
                )
            place[label] = cell
        return found

    def as_json(self) -> list[dict[str, Any]]:
        """All cells with the mean, and each percentile that is known, of each process."""
        return [
            {
                **cell.fields,
                "unit": cell.unit,
                "means": cell.means.tolist(),
                "percentiles": {name: v.tolist() for name, v in cell.percentiles.items()},
            }
            for cell in self.cells
        ]


def _fields(row: SummaryRow, worker: str, step: Step) -> dict[str, str]:
    """The texts of `FIELDS`."""
    beside = {"worker": worker, "message_bytes": str(step.message_bytes), "build": row.build or ""}
    return {name: beside[name] if name in beside else str(getattr(row, name)) for name in FIELDS}
