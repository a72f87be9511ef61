"""From a record to its table: one row per cell, with documented keys."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from mldsa_lab.errors import LabError
from mldsa_lab.estimate.cells import QUANTILES, SPREAD, CellEstimate, Estimator, ratio
from mldsa_lab.estimate.figure import Figure, Key
from mldsa_lab.estimate.fit import Fit
from mldsa_lab.estimate.interval import Interval
from mldsa_lab.estimate.ratio import Comparison, compare_classical, throughputs
from mldsa_lab.estimate.samples import CellKey, CellSamples, gather
from mldsa_lab.records import HARDENED, METRICS, Record, Variant, WorkerRow
from mldsa_lab.sets import ALL_SETS, OPERATIONS


@dataclass(frozen=True, slots=True)
class SummaryRow:
    """One cell of the table. Costs are in ``unit`` per operation; None where unknown.

    ``min``, ``max`` and ``sd``, the standard deviation, are of single calls: `_spread`.
    ``ratio`` is this mean over that of the reference in the same set and operation, on as many
    threads. ``clock`` is the clock the samples are from. Where threads were measured,
    ``per_second`` is the number of operations in a second of wall time, all threads together, and
    ``scaling`` that over the same with one thread. ``allocated`` is the memory that an operation
    of a virtual machine allocates, in bytes, estimated as ``mean`` is; ``collections`` the garbage
    collections in a million operations, a mean over the inputs that were measured. Not among the
    documented keys are ``variant``, the variant's id, ``again``, whether its default build was
    measured beside it, ``notes``, what a reader must know, and ``phases``, the parts of the mean
    by name.
    """

    implementation: str
    version: str
    language: str
    backend: str
    build: str | None
    key: str
    mode: str
    batch_size: int
    threads: int
    set: str
    operation: str
    deterministic: bool
    unit: str
    samples: int
    mean: float | None = None
    mean_low: float | None = None
    mean_high: float | None = None
    p50: float | None = None
    p95: float | None = None
    p99: float | None = None
    p999: float | None = None
    min: float | None = None
    min_low: float | None = None
    min_high: float | None = None
    max: float | None = None
    sd: float | None = None
    ratio: float | None = None
    ratio_low: float | None = None
    ratio_high: float | None = None
    clock: str = ""
    per_second: float | None = None
    per_second_low: float | None = None
    per_second_high: float | None = None
    scaling: float | None = None
    scaling_low: float | None = None
    scaling_high: float | None = None
    allocated: float | None = None
    collections: float | None = None
    variant: str = ""
    again: bool = False
    notes: tuple[str, ...] = ()
    phases: Mapping[str, Interval] = field(default_factory=dict)

    @property
    def cell(self) -> CellKey:
        """Return what tells it from the other rows of a record."""
        return self.variant, self.set, self.operation

    @property
    def uncertainty(self) -> float:
        """Return how far the interval of the mean reaches, as a share of the mean; infinite
        without."""
        if not self.mean or self.mean_low is None or self.mean_high is None:
            return math.inf
        return max(self.mean_high - self.mean, self.mean - self.mean_low) / self.mean

    def interval(self, figure: str) -> Interval | None:
        """Return a figure with its limits, where it has some; None if it is unknown."""
        value = getattr(self, figure)
        if value is None:
            return None
        return Interval(value, *(getattr(self, f"{figure}_{end}", None) for end in ("low", "high")))

    def as_dict(self) -> dict[str, Any]:
        """The row under exactly the documented keys (`KEYS`)."""
        return {key: getattr(self, key) for key in KEYS}


_APART = ("variant", "again", "notes", "phases")
KEYS = tuple(f.name for f in fields(SummaryRow) if f.name not in _APART)
"""The keys of a row, in order: the stable interface of `--json`."""

_OF_VARIANT = {f.name for f in fields(SummaryRow)} & set(dir(Variant))
_OF_WORKER = ("build", "unit")
_PERCENTILES = dict(zip(QUANTILES, ("p50", "p95", "p99", "p999"), strict=True))
TOGETHER = "sign and verify"
"""The operation of figures of a signature and its verification, one after the other."""


@dataclass(frozen=True)
class Summary:
    """Rows in the order of set, operation and mean; ``fits``: the regressions of single signatures
    on their traces, by variant id and set; ``classical``: the cheapest variants of each kind over
    each classical scheme; ``notes`` on the whole; ``estimates``: what `over` needs of the rows'
    cells."""

    rows: list[SummaryRow]
    fits: dict[tuple[str, str], Fit]
    reference: str
    clock: str
    confidence: float
    notes: list[str] = field(default_factory=list)
    classical: tuple[Comparison, ...] = ()
    estimates: dict[CellKey, CellEstimate] = field(default_factory=dict)

    def over(self, one: SummaryRow, other: SummaryRow) -> Interval | None:
        """The mean of ``one`` over that of ``other``, paired by round where both have the same;
        None where either is not known or they are in different units."""
        first, second = (self.estimates.get(row.cell) for row in (one, other))
        if first is None or second is None or one.unit != other.unit:
            return None
        return ratio(first, second, self.confidence)


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
    cells = {
        key: cell for key, cell in gather(record, clock).items() if (key[0], key[1]) not in refused
    }
    variants = {v.id: (v, worker) for worker in record.workers for v in worker.variants}
    estimator = Estimator.of(record, confidence)
    notes: list[str] = []
    estimates: dict[CellKey, CellEstimate] = {}
    failures: dict[CellKey, str] = {}
    for key, cell in cells.items():
        try:
            estimates[key] = estimator.estimate(variants[key[0]][0], key, cell)
        except LabError as error:
            failures[key] = str(error)
    references = _references(record, reference, estimates)
    if not references:
        notes.append(f"no measurements of the reference {reference!r}: ratios are left out")
    rates = throughputs(record, set(estimates), estimator)
    rows = []
    for key, cell in cells.items():
        variant, worker = variants[key[0]]
        estimate = estimates.get(key)
        against = references.get((*key[1:], variant.threads))
        figures: dict[str, Any] = {}
        figures |= _limits("ratio", _ratio(key, against, estimates, variants, confidence))
        if estimate:
            figures |= estimator.metrics(variant, key, cell)
            figures |= _limits("mean", estimate.mean)
            figures |= _spread(cell, estimate, confidence)
            figures |= {_PERCENTILES[q]: found.value for q, found in estimate.quantiles.items()}
        for name, interval in rates.get(key, {}).items():
            figures |= _limits(name, interval)
        rows.append(
            SummaryRow(
                **{name: getattr(variant, name) for name in _OF_VARIANT},
                **{name: getattr(worker, name) for name in _OF_WORKER},
                language=worker.language_of(variant),
                set=key[1],
                operation=key[2],
                samples=len(cell.ticks),
                clock=cell.clock,
                variant=variant.id,
                again=record.again(worker),
                notes=estimate.notes if estimate else (failures[key],),
                phases=estimator.phases(variant, key, cell) if estimate else {},
                **figures,
            )
        )
    rows.sort(key=_order)
    fits = {
        key[:2]: estimate.fit
        for key, estimate in estimates.items()
        if estimate.fit is not None and estimate.fit.traces
    }
    once = {v: found for v, found in variants.items() if not record.again(found[1])}
    compared = compare_classical(estimates, once, confidence)
    return Summary(rows, fits, reference, clock, confidence, notes, tuple(compared), estimates)


def summary_figures(record: Record, reference: str, confidence: float) -> list[Figure]:
    """Return the summary of a record as figures.

    Beside what rows have: ``single_per_second``, the inverse of the mean; ``total`` of a whole
    batch; ``efficiency`` of threads in percent; signing and verification one after the other as an
    operation of its own (`TOGETHER`); ``overhead`` of a hardened mode over the ordinary one in
    percent; the cheapest ML-DSA over classical schemes (``over``), and these over it (``under``).
    """
    summary = summarise(record, reference=reference, confidence=confidence)
    found = []
    for row in summary.rows:
        keys: dict[str, Key] = {name: getattr(row, name) for name in _FIGURE_KEYS}
        estimate = summary.estimates.get(row.cell)
        of_shares = estimate.quantiles.items() if estimate else ()
        quantiles = {_PERCENTILES[share]: interval for share, interval in of_shares}
        for name, unit in _FIGURES.items():
            if (interval := quantiles.get(name) or row.interval(name)) is not None:
                found.append(Figure.of(keys, name, interval, unit or row.unit))
        found += [Figure.of(keys, name, part, row.unit) for name, part in row.phases.items()]
        mean, scaling = row.interval("mean"), row.interval("scaling")
        if mean is not None and row.unit == "ns":
            found.append(Figure.of(keys, "single_per_second", mean.inverse(1e9), "1/s"))
        if mean is not None and row.mode == "batch":
            found.append(Figure.of(keys, "total", mean.times(row.batch_size), row.unit))
        if scaling is not None:
            share = scaling.times(100 / row.threads)
            found.append(Figure.of(keys, "efficiency", share, "%"))
        if row.operation == "sign":
            found += _together(summary, row, keys)
        found += _overhead(summary, row, keys)
    for c in summary.classical:
        keys = {"variant": c.variant, "set": c.set, "operation": c.operation, "scheme": c.scheme}
        keys["against"] = c.against
        found.append(Figure.of(keys, "over", c.ratio))
        found.append(Figure.of(keys, "under", c.ratio.inverse()))
    return found


def _spread(cell: CellSamples, estimate: CellEstimate, confidence: float) -> dict[str, Any]:
    """Return the least and largest single call and their standard deviation, as keys of a row.

    Of signatures that were regressed on their traces the exact law says them: the least is accepted
    at once, and there is no largest. Of other operations they are those of the samples, if each is
    one call.
    """
    if (fit := estimate.fit) is not None:
        best = _limits("min", fit.costs(confidence)["first"])
        return {**best, "sd": _deviation(fit)} if fit.traces else {}
    if not cell.single_calls or len(cell.ticks) < 2:
        return {}
    return {name: of(cell.ticks) for name, of in SPREAD.items()}


def _deviation(fit: Fit) -> float:
    """Return the standard deviation of a signature's cost by the exact law of its attempts."""
    table, (first, *further) = fit.model.class_table(), fit.attempt_costs
    costs = first + table.counts @ np.array(further)
    mean = float(table.probability @ costs)
    return float(np.sqrt(table.probability @ (costs - mean) ** 2))


def _together(summary: Summary, sign: SummaryRow, keys: dict[str, Key]) -> Iterator[Figure]:
    """Yield the figures of a signature and its verification by the same variant. Their costs are
    added: what varies is signing, since verification does the same work whatever it verifies."""
    signing = summary.estimates.get(sign.cell)
    verifying = summary.estimates.get((sign.variant, sign.set, "verify"))
    if signing is None or verifying is None or sign.batch_size > 1:
        return
    costs = {"mean": signing.mean, "min": sign.interval("min")}
    costs |= {_PERCENTILES[share]: cost for share, cost in signing.quantiles.items()}
    at = {**keys, "operation": TOGETHER}
    for name, cost in costs.items():
        if cost is not None:
            yield Figure.of(at, name, cost.plus(verifying.mean), sign.unit)
    if sign.sd is not None:
        yield Figure(at, "sd", sign.sd, unit=sign.unit)


def _overhead(summary: Summary, row: SummaryRow, keys: dict[str, Key]) -> Iterator[Figure]:
    """Yield by how much the hardened mode of an implementation costs more, in percent."""
    ordinary = row.variant.replace(f"{HARDENED}:", ":")
    for other in summary.rows if ordinary != row.variant else ():
        if other.cell == (ordinary, row.set, row.operation):
            ratio = summary.over(row, other)
            if ratio is not None:
                more = ratio.times(100).plus(Interval(-100, -100, -100))
                yield Figure.of(keys, "overhead", more, "%")


_FIGURE_KEYS = (
    "implementation", "version", "language", "backend", "build", "key", "mode", "batch_size",
    "threads", "set", "operation", "variant",
)  # fmt: skip
_FIGURES = {
    "mean": "", "p50": "", "p95": "", "p99": "", "p999": "", "min": "", "max": "", "sd": "",
    "ratio": "1", "per_second": "1/s", "scaling": "1",
    **{name: unit for name, (unit, _) in METRICS.items()},
}  # fmt: skip


def _references(
    record: Record, reference: str, estimates: dict[CellKey, CellEstimate]
) -> dict[tuple[str, str, int], str]:
    """The variant to compare with, by set, operation and threads: single calls before runs, and
    the default build before the tuned one."""
    named = [
        (variant, record.again(worker))
        for worker in record.workers
        for variant in worker.variants
        if reference in variant.names
    ]
    # Stable: among equals the first announced.
    named.sort(
        key=lambda found: (
            found[0].id != reference,
            found[0].base != reference,
            found[1],
            found[0].key != "compact",
            found[0].mode != "single",
            found[0].batch_size,
        )
    )
    found: dict[tuple[str, str, int], str] = {}
    for variant, _ in named:
        for identifier, set_name, operation in estimates:
            if identifier == variant.id:
                found.setdefault((set_name, operation, variant.threads), identifier)
    return found


def _ratio(
    key: CellKey,
    against: str | None,
    estimates: dict[CellKey, CellEstimate],
    variants: dict[str, tuple[Variant, WorkerRow]],
    confidence: float,
) -> Interval | None:
    if against is None or key not in estimates:
        return None
    if against == key[0]:
        return Interval(1.0, 1.0, 1.0)
    if variants[against][1].unit != variants[key[0]][1].unit:
        return None
    return ratio(estimates[key], estimates[against, key[1], key[2]], confidence)


def _limits(name: str, interval: Interval | None) -> dict[str, Any]:
    """The three keys of an interval in a row; none where it is not known."""
    keys = (name, f"{name}_low", f"{name}_high")
    return {} if interval is None else dict(zip(keys, interval, strict=True))


def _order(row: SummaryRow) -> tuple[int, int, bool, float]:
    return (
        ALL_SETS.index(row.set),
        OPERATIONS.index(row.operation),
        row.mean is None,
        row.mean or 0.0,
    )
