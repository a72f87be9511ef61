"""Figures of a validated block: times with intervals over rounds, scaling, and the cost of cold
caches. A block ends with its last thread, so times are of the wall clock."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from mldsa_lab.errors import LabError
from mldsa_lab.estimate.figure import Figure, Key, keys_by_variant
from mldsa_lab.estimate.interval import Interval, over
from mldsa_lab.records import Record, Verifier
from mldsa_lab.sets import ALL_SETS
from mldsa_lab.theory.arrays import Array

CACHES = {False: "warm", True: "cold"}
Rounds = dict[int, float]


def block_figures(record: Record, confidence: float) -> list[Figure]:
    """Return the figures of a record's block, set after set. ``batch`` 0: single calls.

    ``block`` and ``signature``, its part for each verification, in ns; ``scaling``: the time of one
    thread over it; ``cold_ratio``: cold over warm caches; ``share``: of each slot, in percent.
    Ratios are of the same rounds. LabError if there is no block, or nothing was measured.
    """
    if not record.blocks:
        raise LabError("the record has no block: `mldsa-lab bench --scenario` measures one")
    names = keys_by_variant(record)
    verifiers = sorted(record.verifiers, key=lambda v: ALL_SETS.index(v.set))
    made = [f for v in verifiers for f in _figures(record, v, names[v.variant], confidence)]
    if all(f.value is None for f in made):
        raise LabError("the run holds no measurements of its block")
    return made


def _figures(
    record: Record, verifier: Verifier, names: Mapping[str, Key], confidence: float
) -> Iterator[Figure]:
    row = record.blocks[0]
    keys = {"set": verifier.set, "operation": "verify", **names, "batch": verifier.batch}
    if verifier.lacking:
        yield Figure(keys, "block", None, unit="ns", flags=(verifier.lacking,))
        return
    levels: dict[tuple[int, bool], Rounds] = {}
    for passes in record.validations:
        if (passes.variant, passes.set, passes.batch) == (
            verifier.variant, verifier.set, verifier.batch,
        ):  # fmt: skip
            of_way = levels.setdefault((passes.threads, passes.cold), {})
            of_way[passes.round] = float(np.mean(passes.wall))
    for (threads, cold), rounds in sorted(levels.items()):
        at = {**keys, "threads": threads, "caches": CACHES[cold], "rounds": len(rounds)}
        block = over(np.array(list(rounds.values())), confidence)
        yield Figure.of(at, "block", block, "ns")
        yield Figure.of(at, "signature", block.times(1 / row.verifications), "ns")
        if threads > 1 and (ratio := _ratio(levels.get((1, cold)), rounds, confidence)):
            yield Figure.of(at, "scaling", ratio)
        if cold and (ratio := _ratio(rounds, levels.get((threads, False)), confidence)):
            yield Figure.of(at, "cold_ratio", ratio)
        for slot, seconds in row.slot_seconds.items():
            yield Figure.of(at, f"share of {slot}", block.times(100 / (seconds * 1e9)), "%")


def _ratio(one: Rounds | None, other: Rounds | None, confidence: float) -> Interval | None:
    """Return the mean of one over the other in the rounds that have both."""
    common: Array = np.array(
        [one[r] / other[r] for r in one if r in other] if one and other else []
    )
    return over(common, confidence) if len(common) else None
