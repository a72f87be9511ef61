"""The means of a study's cells, one for each process."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from mldsa_lab.errors import LabError
from mldsa_lab.estimate.summary import Summary, SummaryRow, summarise
from mldsa_lab.records import read_record
from mldsa_lab.study.file import FIELDS
from mldsa_lab.study.run import Step
from mldsa_lab.theory.arrays import Array

Where = Mapping[str, Sequence[str]]


@dataclass(frozen=True)
class StudyCell:
    """One cell over all processes: its ``fields`` as texts, the ``unit`` of its costs, and
    ``means``: (processes,) for one operation."""

    fields: Mapping[str, str]
    unit: str
    means: Array

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


def gather_cells(measured: Iterable[tuple[Step, Path]], clock: str, confidence: float) -> Gathered:
    """The cells of a study's records, and the summary of each record."""
    found: dict[tuple[str, ...], tuple[dict[str, str], str, list[float]]] = {}
    summaries = []
    for step, path in measured:
        record = read_record(path)
        summary = summarise(record, clock=clock, confidence=confidence)
        summaries.append((step, path, summary))
        worker_of = {v.id: w.worker for w in record.workers for v in w.variants}
        for row in summary.rows:
            if row.mean is None:
                continue
            fields = _fields(row, worker_of[row.variant], step)
            key = tuple(fields.values())
            found.setdefault(key, (fields, row.unit, []))[2].append(row.mean)
    cells = [StudyCell(f, unit, np.array(means)) for f, unit, means in found.values()]
    return Gathered(cells, summaries)


@dataclass(frozen=True)
class Gathered:
    """What a study measured."""

    cells: list[StudyCell]
    summaries: list[tuple[Step, Path, Summary]]

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

    def as_json(self) -> list[dict[str, Any]]:
        """All cells with the mean of each process."""
        return [
            {**cell.fields, "unit": cell.unit, "means": cell.means.tolist()} for cell in self.cells
        ]


def _fields(row: SummaryRow, worker: str, step: Step) -> dict[str, str]:
    """The texts of `FIELDS`."""
    beside = {"worker": worker, "message_bytes": str(step.message_bytes), "build": row.build or ""}
    return {name: beside[name] if name in beside else str(getattr(row, name)) for name in FIELDS}
