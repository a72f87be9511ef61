"""The records of pipelines, and what their stages are handed.

A record decides what is signed, so it decides how often ML-DSA's signing rejects. Records are
chosen among many by the traces of signing them: so many as a pipeline takes have the law of all,
to within one over their number, and ML-DSA's exact means.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from msgspec.structs import replace

from mldsa_lab.bench.workloads.pipeline_file import Line
from mldsa_lab.inputs.candidates import candidates
from mldsa_lab.inputs.input import Input
from mldsa_lab.inputs.library import load
from mldsa_lab.records import PIPELINE
from mldsa_lab.sets import PARAMETER_SETS
from mldsa_lab.theory.arrays import Array
from mldsa_lab.theory.rejection import RejectionModel
from mldsa_lab.theory.table import TraceTable

_CANDIDATES = 128  # for each record that is chosen by its trace
_CANDIDATES_MAX = 20_000
_STREAM = "pipeline"


class Lot(NamedTuple):
    """Pipelines with the same of these share their records and keys."""

    records: int
    record_bytes: int
    keys: str
    designed: tuple[tuple[str, bool], ...]

    @classmethod
    def of(cls, line: Line) -> Lot:
        """That of a pipeline."""
        asked = line.asked
        return cls(asked.records, asked.record_bytes, asked.keys, tuple(sorted(line.designed)))


class Drawn:
    """The records of every lot, and the inputs made of them by set."""

    def __init__(self, lines: Sequence[Line], seed: bytes) -> None:
        self.lines = lines
        self.seed = seed
        self._lots = {lot: self._draw(lot) for lot in dict.fromkeys(map(Lot.of, lines))}
        self._ids: dict[tuple[Lot, str, bool], range] = {}

    def items(self, set_name: str, first: int) -> list[Input]:
        """The inputs of a set for every pipeline that has it, numbered from ``first``."""
        made: list[Input] = []
        for line in self.lines:
            for stage, (message, _) in zip(line.asked.stage, line.asked.sources(), strict=True):
                key = (Lot.of(line), set_name, bool(message))
                if stage.set == set_name and key not in self._ids:
                    items = self._items(*key, first + len(made))
                    self._ids[key] = range(first + len(made), first + len(made) + len(items))
                    made += items
        return made

    def ids(self, line: Line, number: int) -> range:
        """The inputs of a pipeline's stage, by number from 0."""
        hashed = line.asked.sources()[number][0] > 0
        return self._ids[Lot.of(line), line.asked.stage[number].set, hashed]

    def _items(self, lot: Lot, set_name: str, hashed: bool, first: int) -> list[Input]:
        """Key and message of each record."""
        chosen = self._signed(lot, set_name, hashed, self._lots[lot])
        chosen = [replace(item, id=i) for i, item in enumerate(chosen, first)]
        return list(load().make(set_name, chosen)) if set_name in PARAMETER_SETS else chosen

    def _records(self, lot: Lot) -> list[bytes]:
        """All candidates of a lot."""
        size = lot.records
        if lot.designed:
            size = max(size, min(_CANDIDATES * size, _CANDIDATES_MAX))
        return [
            c.message
            for c in candidates(
                self.seed, "SHA3-256", size, message_bytes=lot.record_bytes, stream=_STREAM
            )
        ]

    def _keys(self, lot: Lot, set_name: str) -> list[Input]:
        """An input for each candidate, with its key; a single one where all share a key."""
        size = 1 if lot.keys == "shared" else len(self._records(lot))
        stream = f"{_STREAM} keys"
        return list(candidates(self.seed, set_name, size, message_bytes=0, stream=stream))

    def _draw(self, lot: Lot) -> list[int]:
        """The candidates that are a lot's records, in an order that no drift resembles."""
        if not lot.designed:
            return list(range(lot.records))
        every = range(len(self._records(lot)))
        tables = [
            load().trace(set_name, self._signed(lot, set_name, hashed, every))
            for set_name, hashed in lot.designed
        ]
        rng = np.random.default_rng(list(self.seed))
        return [int(i) for i in rng.permutation(spread(tables, lot.records))]

    def _signed(self, lot: Lot, set_name: str, hashed: bool, chosen: Iterable[int]) -> list[Input]:
        """Inputs of the candidates with these numbers, which sign the record, or its hash."""
        records, keys = self._records(lot), self._keys(lot, set_name)
        signed = (
            (i, hashlib.sha3_256(records[i]).digest() if hashed else records[i]) for i in chosen
        )
        return [replace(keys[i % len(keys)], message=m, role=PIPELINE) for i, m in signed]


def spread(tables: Sequence[TraceTable], count: int) -> list[int]:
    """``count`` of the signatures that these tables are of, each table by another key or set, that
    stand for all: one of each of ``count`` equal parts in the order of their attempts, such that
    the sums of attempts that fail z, and of others that fail, are those expected of so many.
    """
    counts = np.hstack([_failed(table.counts()) for table in tables])
    exact = np.hstack([_failed(RejectionModel.of(t.set).expected_counts) for t in tables])
    attempts = np.sum([table.attempts() for table in tables], axis=0)
    # Of equally many attempts those with fewer of z: the others got further before they failed.
    order = np.lexsort((-counts[:, ::2].sum(axis=1), attempts))
    factor = exact / counts.mean(axis=0)
    chosen = []
    behind = np.zeros(len(exact))
    for part in np.array_split(order, count):
        behind += counts[part].mean(axis=0) * factor
        off = ((behind - counts[part]) / exact) ** 2
        best = part[int(np.argmin(off.sum(axis=1)))]
        behind -= counts[best]
        chosen.append(int(best))
    return chosen


def _failed(counts: Array) -> Array:
    """n_z and n_r + n_h, of counts (..., 3)."""
    return np.stack([counts[..., 0], counts[..., 1] + counts[..., 2]], axis=-1)
