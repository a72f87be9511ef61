"""Cells beside others: throughput and scaling of threads, ML-DSA over classical schemes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from mldsa_lab.errors import LabError
from mldsa_lab.estimate.cells import CellEstimate, Estimator, ratio
from mldsa_lab.estimate.interval import Interval
from mldsa_lab.estimate.measured_cell import MeasuredCell
from mldsa_lab.estimate.samples import gather
from mldsa_lab.records import Record
from mldsa_lab.sets import SCHEMES


def add_throughputs(record: Record, cells: Sequence[MeasuredCell], estimator: Estimator) -> None:
    """Add ``per_second`` to the figures of cells whose unit is nanoseconds: the inverse of the mean
    of single calls and batches; of cells on several threads and their like on one thread, of the
    wall clock, with ``scaling`` where one thread was measured."""
    families: dict[tuple[str | int, ...], list[MeasuredCell]] = defaultdict(list)
    for cell in cells:
        if cell.estimate is not None and cell.unit == "ns":
            v = cell.variant
            families[v.base, v.mode, v.batch_size, cell.set, cell.operation].append(cell)
    is_threaded = {k: any(c.variant.threads > 1 for c in of) for k, of in families.items()}
    walls = gather(record, "wall") if any(is_threaded.values()) else {}
    for key, family in families.items():
        estimates: dict[MeasuredCell, CellEstimate] = {}
        for cell in family:
            if cell.estimate is None:
                continue
            if cell.samples.clock == "wall" or not is_threaded[key]:
                estimates[cell] = cell.estimate
            elif cell.id in walls:
                with suppress(LabError):  # without an estimate it has no throughput
                    estimates[cell] = estimator.estimate(cell.variant, cell.id, walls[cell.id])
        one = next((e for c, e in estimates.items() if c.variant.threads == 1), None)
        for cell, estimate in estimates.items():
            cell.add("per_second", estimate.mean.inverse(1e9), "1/s")
            if is_threaded[key] and estimate is one:
                cell.add("scaling", Interval(1.0, 1.0, 1.0))
            elif is_threaded[key] and one is not None:
                cell.add("scaling", ratio(estimate, one, estimator.confidence).inverse())


@dataclass(frozen=True, slots=True)
class Comparison:
    """The ``ratio`` of the cost of an ML-DSA cell to that of ``against``, a classical scheme in the
    same operation."""

    cell: MeasuredCell
    against: MeasuredCell
    ratio: Interval


def compare_classical(cells: Sequence[MeasuredCell], confidence: float) -> list[Comparison]:
    """Return the cheapest ML-DSA cell of each kind (compact or expanded key, single calls or
    batches), by set and operation, over every classical scheme's single calls. ``cells``: in
    ascending order of the mean. Skips cells of several threads, and tuned builds where the default
    build was measured."""
    cheapest: dict[tuple[str, str, str, str], MeasuredCell] = {}
    schemes: list[MeasuredCell] = []
    for cell in cells:
        v = cell.variant
        is_run = v.threads > 1 or (v.runs and v.mode == "single")
        if cell.estimate is None or cell.is_duplicate_build or is_run:
            continue
        family = SCHEMES[cell.set].family
        if family == "classical":
            schemes.append(cell)
        elif family == "ml-dsa":
            cheapest.setdefault((cell.set, cell.operation, v.key, v.mode), cell)
    return [
        Comparison(cell, scheme, ratio)
        for cell in cheapest.values()
        for scheme in schemes
        if scheme.operation == cell.operation and (ratio := cell.over(scheme, confidence))
    ]
