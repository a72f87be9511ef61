"""From a record to its table: a row for each cell that was measured."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from mldsa_lab.errors import LabError
from mldsa_lab.estimate.cells import QUANTILES, SPREAD, CellEstimate, Estimator
from mldsa_lab.estimate.figure import Figure
from mldsa_lab.estimate.fit import Fit
from mldsa_lab.estimate.interval import Interval
from mldsa_lab.estimate.ratio import Comparison, add_throughputs, compare_classical
from mldsa_lab.estimate.samples import CellKey, CellSamples, gather
from mldsa_lab.estimate.summary_row import SummaryRow
from mldsa_lab.records import HARDENED, METRICS, InputRow, Record, Variant, WorkerRow
from mldsa_lab.sets import ALL_SETS, OPERATIONS

TOGETHER = "sign and verify"
"""The operation of figures of a signature and its verification, one after the other."""
_PERCENTILES = dict(zip(QUANTILES, ("p50", "p95", "p99", "p999"), strict=True))
_UNITS = {"ratio": "1", "per_second": "1/s", "scaling": "1"}
_UNITS |= {name: unit for name, (unit, _) in METRICS.items()}
"""Units of figures that are no costs."""


@dataclass(frozen=True)
class Summary:
    """Rows in the order of set, operation and mean; ``notes`` on the whole."""

    record: Record
    rows: list[SummaryRow]
    reference: str
    clock: str
    confidence: float
    notes: list[str] = field(default_factory=list)

    @cached_property
    def by_cell(self) -> dict[CellKey, SummaryRow]:
        """The rows that have an estimate, by variant id, set and operation."""
        return {row.cell: row for row in self.rows if row.estimate is not None}

    @cached_property
    def inputs(self) -> dict[tuple[str, int], InputRow]:
        """The record's inputs by set and id."""
        return {(row.set, row.id): row for row in self.record.inputs}

    @cached_property
    def fits(self) -> dict[tuple[str, str], Fit]:
        """The regressions of single signatures on their traces, by variant id and set."""
        return {row.cell[:2]: row.fit for row in self.rows if row.fit is not None}

    @cached_property
    def classical(self) -> list[Comparison]:
        """The cheapest rows of each kind over each classical scheme."""
        return compare_classical(self.rows, self.confidence)


def summarise(
    record: Record,
    *,
    reference: str = "mldsa-native",
    clock: str = "cpu",
    confidence: float = 0.95,
) -> Summary:
    """The table of a record, interrupted ones included.

    ``reference``: an implementation's name (its compact key is taken) or a variant's id, either of
    the default build where both were measured and the id does not say `tuned`.
    ``clock``: "cpu" for the thread's own time where a worker gives it, or "wall". Variants that
    the gate refused for a set have no rows there. LabError for an unknown clock, a confidence
    outside (0, 1), or a trace in the record that is malformed.
    """
    if clock not in ("cpu", "wall"):
        raise LabError(f"clock {clock!r}: must be 'cpu' or 'wall'")
    if not 0 < confidence < 1:
        raise LabError(f"confidence {confidence}: must lie strictly between 0 and 1")
    refused = {(gate.variant, gate.set) for gate in record.gates if not gate.passed}
    variants = record.variants
    estimator = Estimator.of(record, confidence)
    rows = [
        _row(record, *variants[key[0]], key, cell, estimator)
        for key, cell in gather(record, clock).items()
        if key[:2] not in refused
    ]
    rows.sort(key=lambda r: (ALL_SETS.index(r.set), OPERATIONS.index(r.operation), r.cost))
    references = _references(rows, reference, list(variants))
    for row in rows:
        against = references.get((row.set, row.operation, row.variant.threads))
        if against is not None and (found := row.over(against, confidence)) is not None:
            row.figures["ratio"] = found
    add_throughputs(record, rows, estimator)
    lacking = f"no measurements of the reference {reference!r}: ratios are left out"
    notes = [] if references else [lacking]
    return Summary(record, rows, reference, clock, confidence, notes)


def _row(
    record: Record,
    variant: Variant,
    worker: WorkerRow,
    key: CellKey,
    cell: CellSamples,
    estimator: Estimator,
) -> SummaryRow:
    """Return the row of a cell by itself: without ratio and throughput."""
    estimate, figures, phases = None, dict[str, Interval](), dict[str, Interval]()
    try:
        estimate = estimator.estimate(variant, key, cell)
        notes = estimate.notes
    except LabError as error:
        notes = (str(error),)
    if estimate is not None and not estimate.holds:
        estimate = None
    if estimate is not None:
        figures["mean"] = estimate.mean
        figures |= {_PERCENTILES[share]: found for share, found in estimate.quantiles.items()}
        figures |= _spread(cell, estimate, estimator.confidence)
        figures |= estimator.metrics(variant, key, cell)
        phases = estimator.phases(variant, key, cell)
    return SummaryRow(
        variant, worker, key[1], key[2], len(cell.ticks), cell.clock, record.again(worker),
        estimate, notes, figures, phases,
    )  # fmt: skip


def _spread(cell: CellSamples, estimate: CellEstimate, confidence: float) -> dict[str, Interval]:
    """Return the least and largest single call and their standard deviation, by name.

    Of signatures that were regressed on their traces the exact law says them: the least is accepted
    at once, and there is no largest. Of other operations they are those of the samples, if each is
    one call.
    """
    if (fit := estimate.fit) is not None:
        if not fit.traces:
            return {}
        return {"min": fit.costs(confidence)["first"], "sd": Interval(_deviation(fit))}
    if not cell.single_calls or len(cell.ticks) < 2:
        return {}
    return {name: Interval(of(cell.ticks)) for name, of in SPREAD.items()}


def _deviation(fit: Fit) -> float:
    """Return the standard deviation of a signature's cost by the exact law of its attempts."""
    table, (first, *further) = fit.model.class_table(), fit.attempt_costs
    costs = first + table.counts @ np.array(further)
    mean = float(table.probability @ costs)
    return float(np.sqrt(table.probability @ (costs - mean) ** 2))


def _references(
    rows: list[SummaryRow], reference: str, announced: list[str]
) -> dict[tuple[str, str, int], SummaryRow]:
    """Return the row to compare with, by set, operation and threads: single calls before runs, and
    the default build before the tuned one; among equals the first of ``announced``, variant ids."""
    named = [r for r in rows if r.estimate is not None and reference in r.variant.names]
    named.sort(
        key=lambda r: (
            r.variant.id != reference,
            r.variant.base != reference,
            r.again,
            r.variant.key != "compact",
            r.variant.mode != "single",
            r.variant.batch_size,
            announced.index(r.variant.id),
        )
    )
    found: dict[tuple[str, str, int], SummaryRow] = {}
    for row in named:
        found.setdefault((row.set, row.operation, row.variant.threads), row)
    return found


def summary_figures(record: Record, reference: str, confidence: float) -> list[Figure]:
    """Return the summary of a record as figures.

    Beside what rows have: ``single_per_second``, the inverse of the mean; ``total`` of a whole
    batch; ``samples``; ``efficiency`` of threads in percent; signing and verification one after the
    other as an operation of its own (`TOGETHER`); ``overhead`` of a hardened mode over the ordinary
    one in percent; the cheapest ML-DSA over classical schemes (``over``), and these over it
    (``under``).
    """
    summary = summarise(record, reference=reference, confidence=confidence)
    found: list[Figure] = []
    for row in summary.rows:
        found += _figures(row)
        found += _together(summary, row)
        found += _overhead(summary, row)
    for c in summary.classical:
        (variant, set_name, operation), against = c.row.cell, c.against
        keys = {"variant": variant, "set": set_name, "operation": operation}
        keys |= {"scheme": against.set, "against": against.variant.id}
        found.append(Figure.of(keys, "over", c.ratio))
        found.append(Figure.of(keys, "under", c.ratio.inverse()))
    return found


def _figures(row: SummaryRow) -> Iterator[Figure]:
    """Yield the figures of a row, and those that follow from them."""
    keys, mean, scaling = row.keys, row.mean, row.figures.get("scaling")
    for name, interval in row.figures.items():
        yield Figure.of(keys, name, interval, _UNITS.get(name, row.unit))
    for name, part in row.phases.items():
        yield Figure.of(keys, name, part, row.unit)
    if row.rate is not None:
        yield Figure.of(keys, "single_per_second", row.rate, "1/s")
    yield Figure(keys, "samples", row.samples)
    if mean is not None and row.variant.mode == "batch":
        yield Figure.of(keys, "total", mean.times(row.variant.batch_size), row.unit)
    if scaling is not None:
        yield Figure.of(keys, "efficiency", scaling.times(100 / row.variant.threads), "%")


def _together(summary: Summary, row: SummaryRow) -> Iterator[Figure]:
    """Yield the figures of a signature and its verification by the same variant. Their costs are
    added: what varies is signing, since verification does the same work whatever it verifies."""
    verifying = summary.by_cell.get((row.variant.id, row.set, "verify"))
    if row.operation != "sign" or verifying is None or row.variant.batch_size > 1:
        return
    keys = {**row.keys, "operation": TOGETHER}
    for name in ("mean", "min", *_PERCENTILES.values()):
        if verifying.mean is not None and name in row.figures:
            yield Figure.of(keys, name, row.figures[name].plus(verifying.mean), row.unit)
    yield Figure(keys, "samples", min(row.samples, verifying.samples))
    if verifying.mean is not None and "sd" in row.figures:
        yield Figure.of(keys, "sd", row.figures["sd"], row.unit)


def _overhead(summary: Summary, row: SummaryRow) -> Iterator[Figure]:
    """Yield by how much the hardened mode of an implementation costs more, in percent."""
    ordinary = row.variant.id.replace(f"{HARDENED}:", ":")
    other = summary.by_cell.get((ordinary, row.set, row.operation))
    if other is not None and other is not row:
        ratio = row.over(other, summary.confidence)
        if ratio is not None:
            more = ratio.times(100).plus(Interval(-100, -100, -100))
            yield Figure.of(row.keys, "overhead", more, "%")
