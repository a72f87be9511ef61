"""Inputs of pipelines: records whose signing costs represent all records, and their keys."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from msgspec.structs import replace

from mldsa_lab.bench.options import Pipeline
from mldsa_lab.inputs.input import Input, candidates
from mldsa_lab.inputs.tracing import load
from mldsa_lab.records import PIPELINE, Variant
from mldsa_lab.sets import PARAMETER_SETS
from mldsa_lab.theory.rejection import RejectionModel
from mldsa_lab.theory.trace import Array, TraceTable

_CANDIDATES = 128  # for each record that is chosen by its trace
_CANDIDATES_MAX = 20_000
_STREAM = "pipeline"


class InputGroup(NamedTuple):
    """Pipelines with the same of these share their records and keys.

    ``designed``: the ML-DSA sets that are signed with deterministically, each with whether it is a
    digest that is signed: these costs are known by their traces before anything is measured.
    """

    records: int
    record_bytes: int
    keys: str
    designed: tuple[tuple[str, bool], ...]


class PipelineInputs:
    """The records of every group, and the inputs made of them by set."""

    def __init__(
        self, pipelines: Sequence[Pipeline], variants: Mapping[str, Variant], seed: bytes
    ) -> None:
        """``pipelines``: as `resolve` returns them; ``variants``: by id."""
        self.pipelines = pipelines
        self.seed = seed
        self._group = {p.name: _group(p, variants) for p in pipelines}
        self._records_of = {g: self._draw(g) for g in dict.fromkeys(self._group.values())}
        self._ids: dict[tuple[InputGroup, str, bool], range] = {}

    def items(self, set_name: str, first: int) -> list[Input]:
        """The inputs of a set for every pipeline that has it, numbered from ``first``."""
        listed: list[Input] = []
        for p in self.pipelines:
            for stage, (message, _) in zip(p.stage, p.sources(), strict=True):
                key = (self._group[p.name], set_name, bool(message))
                if stage.set == set_name and key not in self._ids:
                    start = first + len(listed)
                    items = self._items(*key, start)
                    self._ids[key] = range(start, start + len(items))
                    listed += items
        return listed

    def ids(self, pipeline: Pipeline, number: int) -> range:
        """The inputs of a pipeline's stage, by number from 0."""
        hashed = pipeline.sources()[number][0] > 0
        return self._ids[self._group[pipeline.name], pipeline.stage[number].set, hashed]

    def _items(self, group: InputGroup, set_name: str, hashed: bool, first: int) -> list[Input]:
        """Key and message of each record."""
        chosen = self._signed(group, set_name, hashed, self._records_of[group])
        chosen = [replace(item, id=i) for i, item in enumerate(chosen, first)]
        return list(load().make(set_name, chosen)) if set_name in PARAMETER_SETS else chosen

    def _records(self, group: InputGroup) -> list[bytes]:
        """All candidates of a group."""
        size = group.records
        if group.designed:
            size = max(size, min(_CANDIDATES * size, _CANDIDATES_MAX))
        return [
            c.message
            for c in candidates(
                self.seed, "SHA3-256", size, message_bytes=group.record_bytes, stream=_STREAM
            )
        ]

    def _keys(self, group: InputGroup, set_name: str) -> list[Input]:
        """An input for each candidate, with its key; a single one where all share a key."""
        size = 1 if group.keys == "shared" else len(self._records(group))
        stream = f"{_STREAM} keys"
        return list(candidates(self.seed, set_name, size, message_bytes=0, stream=stream))

    def _draw(self, group: InputGroup) -> list[int]:
        """The candidates that are a group's records, in an order that no drift resembles."""
        if not group.designed:
            return list(range(group.records))
        every = range(len(self._records(group)))
        tables = [
            load().trace(set_name, self._signed(group, set_name, hashed, every))
            for set_name, hashed in group.designed
        ]
        rng = np.random.default_rng(list(self.seed))
        return [int(i) for i in rng.permutation(spread(tables, group.records))]

    def _signed(
        self, group: InputGroup, set_name: str, hashed: bool, chosen: Iterable[int]
    ) -> list[Input]:
        """Inputs of the candidates with these numbers, which sign the record, or its hash."""
        records, keys = self._records(group), self._keys(group, set_name)
        signed = (
            (i, hashlib.sha3_256(records[i]).digest() if hashed else records[i]) for i in chosen
        )
        return [replace(keys[i % len(keys)], message=m, role=PIPELINE) for i, m in signed]


def _group(p: Pipeline, variants: Mapping[str, Variant]) -> InputGroup:
    designed = {
        (s.set, bool(message))
        for s, (message, _) in zip(p.stage, p.sources(), strict=True)
        if s.operation == "sign" and s.set in PARAMETER_SETS
        if variants[s.implementation].deterministic
    }
    return InputGroup(p.records, p.record_bytes, p.keys, tuple(sorted(designed)))


def spread(tables: Sequence[TraceTable], count: int) -> list[int]:
    """Return the numbers of ``count`` signatures that represent all.

    Each table has the same signatures by another key or set. In the order of their iterations they
    are divided into ``count`` equal parts, and each part gives one. The sums of the iterations that
    fail z, and of the others that fail, are near those expected of so many signatures.
    """
    counts = np.hstack([_failed(table.counts()) for table in tables])
    exact = np.hstack([_failed(RejectionModel.of(t.set).expected_counts) for t in tables])
    iterations = np.sum([table.attempts() for table in tables], axis=0)
    # Of equally many iterations those with fewer of z: the others got further before they failed.
    order = np.lexsort((-counts[:, ::2].sum(axis=1), iterations))
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
