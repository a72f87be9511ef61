"""Operations per second of several threads, and how that grows with their number."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass

from mldsa_lab.errors import LabError
from mldsa_lab.estimate.cell import Estimate, Interval, ratio
from mldsa_lab.estimate.cells import Key, gather
from mldsa_lab.estimate.estimator import Estimator
from mldsa_lab.records import Record


@dataclass(frozen=True, slots=True)
class Throughput:
    """Operations in a second of wall time, all threads together, and that over the same with one
    thread (None where one was not measured)."""

    per_second: Interval
    scaling: Interval | None


def throughputs(record: Record, keys: set[Key], estimator: Estimator) -> dict[Key, Throughput]:
    """Of those cells among ``keys`` that were measured on several threads, and of their like on
    one; those whose worker counts other than nanoseconds left out."""
    timed = {v.id: v for w in record.workers for v in w.variants if w.unit == "ns"}

    def family(key: Key) -> tuple[str | int, ...]:
        v = timed[key[0]]
        return (v.base, v.mode, v.batch_size, *key[1:])

    of_clock = [key for key in keys if key[0] in timed]
    threaded = {family(key) for key in of_clock if timed[key[0]].threads > 1}
    if not threaded:
        return {}
    estimates: dict[Key, Estimate] = {}
    for key, cell in gather(record, "wall").items():
        if key in keys and key[0] in timed and family(key) in threaded:
            with suppress(LabError):  # said where the cell itself is estimated
                estimates[key] = estimator.estimate(timed[key[0]], key, cell)
    ones = {family(key): key for key in estimates if timed[key[0]].threads == 1}
    return {
        key: Throughput(
            _inverse(estimate.mean, 1e9),
            _scaling(key, ones.get(family(key)), estimates, estimator.confidence),
        )
        for key, estimate in estimates.items()
    }


def _scaling(
    key: Key, one: Key | None, estimates: dict[Key, Estimate], confidence: float
) -> Interval | None:
    if one is None:
        return None
    if one == key:
        return Interval(1.0, 1.0, 1.0)
    return _inverse(ratio(estimates[key], estimates[one], confidence))


def _inverse(interval: Interval, of: float = 1.0) -> Interval:
    low = None if interval.high is None else of / interval.high
    high = None if interval.low is None else of / interval.low
    return Interval(of / interval.value, low, high)
