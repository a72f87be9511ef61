"""Cells beside others: throughput and scaling of threads, ML-DSA over classical schemes."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass

from mldsa_lab.errors import LabError
from mldsa_lab.estimate.cells import CellEstimate, Estimator, ratio
from mldsa_lab.estimate.interval import Interval
from mldsa_lab.estimate.samples import CellKey, gather
from mldsa_lab.records import Record, Variant, WorkerRow
from mldsa_lab.sets import SCHEMES


def throughputs(
    record: Record, keys: set[CellKey], estimator: Estimator
) -> dict[CellKey, dict[str, Interval | None]]:
    """Return ``per_second``, operations in a second of wall time, all threads together, and
    ``scaling``, that over the same with one thread (None where one was not measured).

    Of those cells among ``keys`` that were measured on several threads, and of their like on
    one; those whose worker counts other than nanoseconds left out.
    """
    timed = {v.id: v for w in record.workers for v in w.variants if w.unit == "ns"}

    def family(key: CellKey) -> tuple[str | int, ...]:
        v = timed[key[0]]
        return (v.base, v.mode, v.batch_size, *key[1:])

    of_clock = [key for key in keys if key[0] in timed]
    threaded = {family(key) for key in of_clock if timed[key[0]].threads > 1}
    if not threaded:
        return {}
    estimates: dict[CellKey, CellEstimate] = {}
    for key, cell in gather(record, "wall").items():
        if key in keys and key[0] in timed and family(key) in threaded:
            with suppress(LabError):  # said where the cell itself is estimated
                estimates[key] = estimator.estimate(timed[key[0]], key, cell)
    ones = {family(key): key for key in estimates if timed[key[0]].threads == 1}
    found: dict[CellKey, dict[str, Interval | None]] = {}
    for key, estimate in estimates.items():
        one = ones.get(family(key))
        scaling = None if one is None else Interval(1.0, 1.0, 1.0)
        if one is not None and one != key:
            scaling = ratio(estimate, estimates[one], estimator.confidence).inverse()
        found[key] = {"per_second": estimate.mean.inverse(1e9), "scaling": scaling}
    return found


@dataclass(frozen=True, slots=True)
class Comparison:
    """The cost of one ML-DSA variant over that of a classical scheme for the same operation.

    ``variant`` and ``against`` are ids, ``scheme`` is the classical one's set.
    """

    set: str
    operation: str
    variant: str
    scheme: str
    against: str
    ratio: Interval


def compare_classical(
    estimates: dict[CellKey, CellEstimate],
    variants: dict[str, tuple[Variant, WorkerRow]],
    confidence: float,
) -> list[Comparison]:
    """The cheapest ML-DSA variant of each kind (compact or expanded key, single calls or batches),
    by set and operation, over every classical scheme's single calls; of ``variants`` alone."""
    cheapest: dict[tuple[str, str, str, str], CellKey] = {}
    schemes: list[CellKey] = []
    for key, estimate in estimates.items():
        if key[0] not in variants:
            continue
        v, set_name, operation = variants[key[0]][0], key[1], key[2]
        if v.threads > 1 or (v.runs and v.mode == "single"):
            continue
        family = SCHEMES[set_name].family
        if family == "classical":
            schemes.append(key)
        if family != "ml-dsa":
            continue
        kind = (set_name, operation, v.key, v.mode)
        if kind not in cheapest or estimate.mean.value < estimates[cheapest[kind]].mean.value:
            cheapest[kind] = key
    return [
        Comparison(
            key[1], key[2], key[0], scheme[1], scheme[0],
            ratio(estimates[key], estimates[scheme], confidence),
        )
        for key in cheapest.values()
        for scheme in schemes
        if scheme[2] == key[2] and variants[scheme[0]][1].unit == variants[key[0]][1].unit
    ]  # fmt: skip
