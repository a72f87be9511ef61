"""What validating a block takes, of a record: times with intervals over rounds, scaling, and what
cold caches add. A block ends when its last thread does, so times are of the wall clock."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from mldsa_lab.errors import LabError
from mldsa_lab.estimate.interval import Interval, over
from mldsa_lab.records import BlockRow, Record, Variant
from mldsa_lab.sets import ALL_SETS
from mldsa_lab.theory.arrays import Array


@dataclass(frozen=True, slots=True)
class BlockTime:
    """A block by so many threads: ns for all of it; ``scaling``: the time of one thread over it;
    ``cold_ratio``: it over that of warm caches, where both were measured. Ratios are of the same
    rounds."""

    threads: int
    cold: bool
    block_ns: Interval
    scaling: Interval | None
    cold_ratio: Interval | None
    rounds: int


@dataclass(frozen=True, slots=True)
class VerifierTimes:
    """A variant that verifies a set in one way (``batch`` 0: single calls), or why it does not."""

    set: str
    variant: Variant
    language: str
    batch: int
    lacking: str | None
    times: tuple[BlockTime, ...]

    def at(self, threads: int, *, cold: bool) -> BlockTime | None:
        """The time on so many threads, if it was measured."""
        return next((t for t in self.times if (t.threads, t.cold) == (threads, cold)), None)


@dataclass(frozen=True, slots=True)
class BlockTimes:
    """All of a record's block."""

    record: Record
    row: BlockRow
    verifiers: tuple[VerifierTimes, ...]
    confidence: float

    @property
    def threads(self) -> list[int]:
        """The numbers of threads that were measured."""
        return sorted({t.threads for v in self.verifiers for t in v.times})

    @property
    def caches(self) -> list[bool]:
        """Whether caches were cold: the states that were measured, warm first."""
        return sorted({t.cold for v in self.verifiers for t in v.times})


def block_times(record: Record, confidence: float) -> BlockTimes:
    """The block of a record, set after set. LabError if it has none, or nothing was measured."""
    if not record.blocks:
        raise LabError("the record has no block: `mldsa-lab bench --scenario` measures one")
    of = {v.id: (w.language_of(v), v) for w in record.workers for v in w.variants}
    made = []
    for row in record.verifiers:
        language, variant = of[row.variant]
        key = (row.variant, row.set, row.batch)
        times = tuple(_times(record, key, confidence))
        if times or row.lacking:
            made.append(VerifierTimes(row.set, variant, language, row.batch, row.lacking, times))
    if not any(v.times for v in made):
        raise LabError("the run holds no measurements of its block")
    made.sort(key=lambda v: ALL_SETS.index(v.set))
    return BlockTimes(record, record.blocks[0], tuple(made), confidence)


def _times(record: Record, key: tuple[str, str, int], confidence: float) -> Iterator[BlockTime]:
    levels: dict[tuple[int, bool], dict[int, float]] = {}
    for row in record.validations:
        if (row.variant, row.set, row.batch) == key:
            of_way = levels.setdefault((row.threads, row.cold), {})
            of_way[row.round] = float(np.mean(row.wall))
    for (threads, cold), rounds in sorted(levels.items()):
        single = levels.get((1, cold))
        warm = levels.get((threads, False)) if cold else None
        yield BlockTime(
            threads,
            cold,
            over(np.array(list(rounds.values())), confidence),
            None if single is None or threads == 1 else _ratio(single, rounds, confidence),
            None if warm is None else _ratio(rounds, warm, confidence),
            len(rounds),
        )


def _ratio(one: dict[int, float], other: dict[int, float], confidence: float) -> Interval | None:
    """The mean of one over the other in the rounds that have both."""
    common: Array = np.array([one[r] / other[r] for r in one if r in other])
    return over(common, confidence) if len(common) else None
