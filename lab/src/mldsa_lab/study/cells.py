"""The means of a study's cells, one for each process."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from mldsa_lab.errors import LabError
from mldsa_lab.estimate.cells import CellEstimate
from mldsa_lab.estimate.contract import PERCENTILES
from mldsa_lab.estimate.figure import Key
from mldsa_lab.estimate.measured_cell import MeasuredCell
from mldsa_lab.estimate.samples import CellSamples
from mldsa_lab.estimate.summary import summarise
from mldsa_lab.records import METRICS, Record, read_record
from mldsa_lab.study.file import FIELDS, SPREAD
from mldsa_lab.theory.arrays import Array

Where = Mapping[str, Sequence[str]]
_NUMBERS = ("batch_size", "threads", "message_bytes")
_USUAL = {"mode": "single", "batch_size": "1", "threads": "1"}
_DISTINCT = tuple(name for name in FIELDS if name not in ("version", "language", "build"))
"""Fields of a cell that do not follow from others."""
_DEFAULT_MESSAGE = 32


def key_of(field: str) -> str:
    """Return the key that has the text of a field."""
    return "batch" if field == "batch_size" else field


def identity(asked: str) -> tuple[str, dict[str, Key]]:
    """Return the name and the keys of a figure that a study file names."""
    if asked in PERCENTILES:
        return "quantile", {"percentile": PERCENTILES[asked]}
    return asked, {}


@dataclass(frozen=True)
class StudyCell:
    """One cell over all processes: its ``fields`` as texts, the ``unit`` of its costs, and
    ``means``: (processes,) for one operation.

    ``further``: (processes,) by name, the percentiles and metrics that every process could tell.
    ``rounds``: the mean of each round, process after process.
    """

    fields: Mapping[str, str]
    unit: str
    means: Array
    further: Mapping[str, Array] = field(default_factory=dict)
    rounds: Array = field(default_factory=lambda: np.empty(0))

    def texts(self, names: Iterable[str]) -> tuple[str, ...]:
        """Return the texts of these fields."""
        return tuple(self.fields[name] for name in names)

    def keys(self, names: Iterable[str] | None = None) -> dict[str, Key]:
        """Return these fields as keys of a figure; None: those that tell the cell."""
        if names is None:
            names = [n for n in _DISTINCT if self.fields[n] != _USUAL.get(n)]
        texts = {key_of(name): (name, self.fields[name]) for name in names}
        return {
            key: int(t) if name in _NUMBERS and t.isdecimal() else t
            for key, (name, t) in texts.items()
        }

    @property
    def middle(self) -> float:
        """The median over the processes."""
        return float(np.median(self.means))

    def all_figures(self) -> Iterator[tuple[str, dict[str, Key], Array, str]]:
        """Yield the name, the keys, the value in each process and the unit of every figure."""
        for asked, values in {"mean": self.means, **self.further}.items():
            name, more = identity(asked)
            yield name, self.keys() | more, values, self.unit_of(asked)

    def unit_of(self, name: str) -> str:
        """Return the unit of a figure that a study file names."""
        if name == SPREAD:
            return ""
        return METRICS[name][0] if name in METRICS else self.unit

    def figure(self, name: str) -> float | None:
        """Return the median over the processes of a figure that a study file names, or the share
        by which the largest mean is above the least (`SPREAD`); None where it is not known."""
        if name == SPREAD:
            return float(self.means.max() / self.means.min() - 1)
        values = {"mean": self.means, **self.further}.get(name)
        return None if values is None else float(np.median(values))


@dataclass(frozen=True)
class Gathered:
    """The cells of a study; ``excluded``: with the number of runs, what was not measured and why;
    ``runs``: the number of all runs; ``named``: texts that the study may have asked for, which
    need not have been measured; ``loads``: of each run, as of `Record.busy`."""

    cells: list[StudyCell]
    excluded: Counter[str] = field(default_factory=Counter)
    runs: int = 1
    named: frozenset[str] = frozenset()
    loads: Sequence[str] = ()

    def matching(self, where: Where) -> list[StudyCell]:
        """Return the cells whose fields have one of the texts asked for. LabError for a text that
        no cell has and the study does not name, and where none fits for another reason."""
        for name, texts in where.items():
            known = list(dict.fromkeys(c.fields[name] for c in self.cells))
            for text in texts:
                if text not in known and text not in self.named:
                    raise LabError(f"{name} {text!r}: measured are {', '.join(known)}")
        cells = [c for c in self.cells if all(c.fields[n] in ts for n, ts in where.items())]
        if not cells and not {t for texts in where.values() for t in texts} <= self.named:
            raise LabError("no cell was measured that fits all of `where`")
        return cells

    def arranged(
        self, where: Where, outer: Sequence[str], inner: Sequence[str]
    ) -> dict[tuple[str, ...], dict[str, StudyCell]]:
        """Return the cells that fit, by their texts of the fields ``outer`` and, joined, ``inner``.
        LabError where two have the same."""
        places: dict[tuple[str, ...], dict[str, StudyCell]] = {}
        for cell in self.matching(where):
            place = places.setdefault(cell.texts(outer), {})
            label = " ".join(cell.texts(inner))
            if label in place:
                other = place[label].fields
                differ = [n for n, text in cell.fields.items() if other[n] != text]
                named = " ".join(filter(None, (*cell.texts(outer), label)))
                raise LabError(
                    f"{named} is several cells that differ in {', '.join(differ)}: name what to "
                    "take in where, or add it to the fields"
                )
            place[label] = cell
        return places


def gather_cells(paths: Sequence[Path], clock: str, confidence: float) -> Gathered:
    """Return the cells of a study's records, one for each process."""
    processes: dict[tuple[str, ...], list[tuple[MeasuredCell, Array]]] = {}
    excluded = Counter[str]()
    loads = []
    for path in paths:
        record = read_record(path)
        loads.append(record.busy)
        summary = summarise(record, clock=clock, confidence=confidence)
        excluded.update(set(_excluded(record)))
        message_bytes = record.run.options.get("message_bytes", _DEFAULT_MESSAGE)
        for cell in summary.cells:
            if cell.estimate is None:
                excluded.update(f"{' '.join(cell.id)}: {note}" for note in cell.notes)
                continue
            keys = {**cell.keys, **cell.worker.about(cell.variant)}
            keys |= {"worker": cell.worker.worker, "message_bytes": message_bytes}
            keys["build"] = cell.worker.build or ""
            texts = tuple(str(keys[name]) for name in FIELDS)
            rounds = _round_means(cell.estimate, cell.samples)
            processes.setdefault(texts, []).append((cell, rounds))
    cells = [
        _join(dict(zip(FIELDS, texts, strict=True)), listed) for texts, listed in processes.items()
    ]
    return Gathered(cells, excluded, len(paths), loads=loads)


def _excluded(record: Record) -> Iterator[str]:
    for row in record.skipped:
        yield f"worker {row.worker}: {row.reason}"
    for gate in record.gates:
        if not gate.passed:
            yield f"{gate.variant} {gate.set}: rejected by the correctness gate"
    for fault in record.faults:
        yield " ".join(filter(None, (fault.variant, fault.set))) + f": {fault.reason}"


def _round_means(estimate: CellEstimate, samples: CellSamples) -> Array:
    """The mean of each round: of inputs that all rounds have, by the level of the round."""
    if estimate.level is not None:
        return np.asarray(estimate.mean.value * np.exp(estimate.level))
    sums = np.bincount(samples.round_of, weights=samples.ticks)
    return np.asarray(sums / np.bincount(samples.round_of))


def _join(fields: dict[str, str], processes: Sequence[tuple[MeasuredCell, Array]]) -> StudyCell:
    """The cell of which each process has a row and the mean of each round."""
    cells, rounds = zip(*processes, strict=True)
    known = {name: [cell.value(name) for cell in cells] for name in METRICS}
    for name, percentile in PERCENTILES.items():
        known[name] = [cell.value("quantile", percentile=percentile) for cell in cells]
    return StudyCell(
        fields,
        cells[0].unit,
        np.array([cell.cost for cell in cells]),
        {name: np.array(values) for name, values in known.items() if None not in values},
        np.concatenate(rounds),
    )
