"""Figures of a validated block: times with intervals over rounds, scaling, and the cost of cold
caches. A block ends with its last thread, so times are of the wall clock."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from mldsa_lab.errors import LabError
from mldsa_lab.estimate.cells import with_tick
from mldsa_lab.estimate.figure import Figure, Key
from mldsa_lab.estimate.interval import Interval, over
from mldsa_lab.estimate.samples import Readings
from mldsa_lab.records import BlockContent, Definition, Record
from mldsa_lab.sets import ALL_SETS
from mldsa_lab.theory.arrays import Array

Rounds = dict[int, float]


def block_of(record: Record) -> BlockContent:
    """Return the block of a record. LabError if it has none."""
    definition = record.definition("block")
    if definition is None:
        raise LabError("the record has no block: `mldsa-lab bench --kind block` measures one")
    return definition.read(BlockContent)


def block_figures(record: Record, confidence: float) -> list[Figure]:
    """Return the figures of a record's block, set after set; without the key ``batch`` by single
    calls.

    ``time`` of the block and of a signature, its part for each verification, in ns; ``scaling``:
    the time of one thread over it; ``ratio`` of cold to warm caches; ``share`` of each slot.
    Ratios are of the same rounds. LabError if there is no block, or nothing was measured.
    """
    block = block_of(record)
    verifiers = [v for v in record.definitions if v.kind == "verifier" and v.set and v.variant]
    verifiers.sort(key=lambda v: ALL_SETS.index(str(v.set)))
    made = [f for v in verifiers for f in _figures(record, block, v, confidence)]
    if all(f.value is None for f in made):
        raise LabError("the run holds no measurements of its block")
    return made


def _figures(
    record: Record, block: BlockContent, verifier: Definition, confidence: float
) -> Iterator[Figure]:
    batch = verifier.content["batch"]
    keys: dict[str, Key] = {
        "set": verifier.set, "operation": "verify", "variant": verifier.variant,
    }  # fmt: skip
    keys |= {"batch": batch} if batch else {}
    of_block: dict[str, Key] = {"of": "block"}
    if verifier.lacking:
        yield Figure(keys | of_block, "time", None, unit="ns", notes=(verifier.lacking,))
        return
    levels: dict[tuple[int, str], Rounds] = {}
    for s in record.samples:
        if (s.variant, s.set, s.shape["batch"]) == (verifier.variant, verifier.set, batch):
            of_way = levels.setdefault((int(s.shape["threads"]), str(s.shape["caches"])), {})
            of_way[s.round] = float(np.mean(s.wall))
    _, worker = record.variants[str(verifier.variant)]
    every = np.array([time for of_way in levels.values() for time in of_way.values()])
    if not len(every):
        return
    readings = Readings.by_wall(worker, every)
    if readings.flaw:
        reason = f"no clock resolves a pass: {readings.flaw}"
        yield Figure(keys | of_block, "time", None, unit="ns", notes=(reason,))
        return
    tick = readings.tick or 0.0
    for (threads, caches), rounds in sorted(levels.items(), key=_warm_first):
        at = {**keys, "threads": threads, "caches": caches}
        time = with_tick(over(np.array(list(rounds.values())), confidence), tick)
        yield Figure(at, "rounds", len(rounds))
        yield Figure.of(at | of_block, "time", time, "ns")
        of_one = time.times(1 / block.verifications)
        yield Figure.of({**at, "of": "signature"}, "time", of_one, "ns")
        if threads > 1 and (ratio := _ratio(levels.get((1, caches)), rounds, confidence, tick)):
            yield Figure.of(at, "scaling", ratio)
        warm = levels.get((threads, "warm"))
        if caches == "cold" and (ratio := _ratio(rounds, warm, confidence, tick)):
            yield Figure.of({**at, "against": "warm"}, "ratio", ratio)
        for slot, seconds in block.slot_seconds.items():
            share = time.times(1 / (seconds * 1e9))
            yield Figure.of(at | of_block | {"slot": slot}, "share", share)


def _warm_first(level: tuple[tuple[int, str], Rounds]) -> tuple[int, bool]:
    (threads, caches), _ = level
    return threads, caches != "warm"


def _ratio(
    one: Rounds | None, other: Rounds | None, confidence: float, tick: float
) -> Interval | None:
    """Return the mean of one over the other in the rounds that have both."""
    common = [r for r in one if r in other] if one and other else []
    if not one or not other or not common:
        return None
    times: Array = np.array([(one[r], other[r]) for r in common]).T
    ratio = over(times[0] / times[1], confidence)
    return with_tick(ratio, *(ratio.value * tick / times.mean(axis=1)))
