"""Rows beside others: throughput and scaling of threads, ML-DSA over classical schemes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from mldsa_lab.errors import LabError
from mldsa_lab.estimate.cells import CellEstimate, Estimator, ratio
from mldsa_lab.estimate.interval import Interval
from mldsa_lab.estimate.samples import gather
from mldsa_lab.estimate.summary_row import SummaryRow
from mldsa_lab.records import Record
from mldsa_lab.sets import SCHEMES


def add_throughputs(record: Record, rows: Sequence[SummaryRow], estimator: Estimator) -> None:
    """Add ``per_second`` and ``scaling`` to the figures of rows on several threads, and of their
    like on one thread; without ``scaling`` where the latter was not measured.

    Rows whose unit is not nanoseconds have neither.
    """
    families: dict[tuple[str | int, ...], list[SummaryRow]] = defaultdict(list)
    for row in rows:
        if row.estimate is not None and row.unit == "ns":
            v = row.variant
            families[v.base, v.mode, v.batch_size, row.set, row.operation].append(row)
    threaded = [of for of in families.values() if any(r.variant.threads > 1 for r in of)]
    walls = gather(record, "wall") if threaded else {}
    for family in threaded:
        estimates: dict[SummaryRow, CellEstimate] = {}
        for row in family:
            if row.estimate is not None and row.clock == "wall":
                estimates[row] = row.estimate
            elif row.cell in walls:
                with suppress(LabError):  # without an estimate it has no throughput
                    estimates[row] = estimator.estimate(row.variant, row.cell, walls[row.cell])
        one = next((e for row, e in estimates.items() if row.variant.threads == 1), None)
        for row, found in estimates.items():
            row.figures["per_second"] = found.mean.inverse(1e9)
            if found is one:
                row.figures["scaling"] = Interval(1.0, 1.0, 1.0)
            elif one is not None:
                row.figures["scaling"] = ratio(found, one, estimator.confidence).inverse()


@dataclass(frozen=True, slots=True)
class Comparison:
    """The ``ratio`` of the cost of an ML-DSA row to that of ``against``, a classical scheme in the
    same operation."""

    row: SummaryRow
    against: SummaryRow
    ratio: Interval


def compare_classical(rows: Sequence[SummaryRow], confidence: float) -> list[Comparison]:
    """Return the cheapest ML-DSA row of each kind (compact or expanded key, single calls or
    batches), by set and operation, over every classical scheme's single calls. ``rows``: in
    ascending order of the mean. Skips rows of several threads, and tuned builds where the default
    build was measured."""
    cheapest: dict[tuple[str, str, str, str], SummaryRow] = {}
    schemes: list[SummaryRow] = []
    for row in rows:
        v = row.variant
        if row.estimate is None or row.again or v.threads > 1 or (v.runs and v.mode == "single"):
            continue
        family = SCHEMES[row.set].family
        if family == "classical":
            schemes.append(row)
        elif family == "ml-dsa":
            cheapest.setdefault((row.set, row.operation, v.key, v.mode), row)
    return [
        Comparison(row, scheme, found)
        for row in cheapest.values()
        for scheme in schemes
        if scheme.operation == row.operation and (found := row.over(scheme, confidence))
    ]
