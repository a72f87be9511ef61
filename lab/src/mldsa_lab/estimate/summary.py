"""From a record to its cells, each with its figures, ratios and precision."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from msgspec.structs import replace

from mldsa_lab import LabError
from mldsa_lab.estimate.cells import (
    SPREAD,
    CellEstimate,
    CellKey,
    CellSamples,
    Estimator,
    gather,
    ratio,
)
from mldsa_lab.estimate.figure import CUT_SHORT, EXCLUDED, NO_ESTIMATE, REJECTED, Figure, Key
from mldsa_lab.estimate.fit import Fit
from mldsa_lab.estimate.interval import Interval, is_above
from mldsa_lab.records import HARDENED, METRICS, InputRow, Record, Variant, WorkerRow
from mldsa_lab.sets import ALL_SETS, OPERATIONS, SCHEMES

# Cells.


@dataclass(frozen=True, eq=False)
class MeasuredCell:
    """A variant in one operation of a set, as it was measured. Cells are equal only to themselves.

    ``is_duplicate_build``: whether the variant's default build was measured too. ``estimate``: None
    where the cost allows none; ``notes``, what a reader must know, then say why. ``figures``: in
    the worker's unit and for one operation, see `mldsa_lab.estimate.figure`.
    """

    variant: Variant
    worker: WorkerRow
    set: str
    operation: str
    samples: CellSamples
    is_duplicate_build: bool
    estimate: CellEstimate | None
    notes: tuple[str, ...]
    figures: list[Figure] = field(default_factory=list)

    @property
    def id(self) -> CellKey:
        """Variant id, set and operation: a record has one cell of each."""
        return self.variant.id, self.set, self.operation

    @property
    def keys(self) -> dict[str, Key]:
        """The keys of its figures."""
        return {"set": self.set, "operation": self.operation, "variant": self.variant.id}

    @property
    def unit(self) -> str:
        """The unit of costs: that of the worker's ticks."""
        return self.worker.unit

    @property
    def mean(self) -> Interval | None:
        """The mean cost; None where it is not known."""
        return None if self.estimate is None else self.estimate.mean

    @property
    def cost(self) -> float:
        """The value of the mean; infinite where it is not known."""
        return math.inf if self.mean is None else self.mean.value

    @property
    def has_interval(self) -> bool:
        """True if the limits of the mean are known."""
        return self.mean is not None and self.mean.low is not None

    @property
    def fit(self) -> Fit | None:
        """The regression of single signatures on their traces; None for other cells."""
        fit = None if self.estimate is None else self.estimate.fit
        return fit if fit is not None and fit.traces else None

    @property
    def uncertainty(self) -> float:
        """How far the interval of the mean reaches, as a share of the mean; infinite without."""
        mean = self.mean
        if mean is None or not mean.value or mean.low is None or mean.high is None:
            return math.inf
        return max(mean.high - mean.value, mean.value - mean.low) / mean.value

    def add(self, name: str, interval: Interval, unit: str = "", **keys: Key) -> None:
        """Add a figure; ``keys``: further ones."""
        self.figures.append(Figure.of({**self.keys, **keys}, name, interval, unit))

    def interval(self, name: str, **keys: Key) -> Interval | None:
        """Return the figure of this name and exactly these further keys; None without."""
        asked = {**self.keys, **keys}
        of = (f.interval for f in self.figures if f.name == name and f.keys == asked)
        return next(of, None)

    def value(self, name: str, **keys: Key) -> float | None:
        """Return a figure without its limits; None where it is not known."""
        interval = self.interval(name, **keys)
        return None if interval is None else interval.value

    def over(self, other: MeasuredCell, confidence: float) -> Interval | None:
        """Return this mean over that of ``other``, paired by round where both have the same; None
        where one is not known or they are in different units."""
        if self.estimate is None or other.estimate is None or self.unit != other.unit:
            return None
        if other is self:
            return Interval(1.0, 1.0, 1.0)
        return ratio(self.estimate, other.estimate, confidence)


# Cells compared with others.


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


# The summary.


@dataclass(frozen=True)
class Summary:
    """Cells in the order of set, operation and mean; ``notes`` on the whole."""

    record: Record
    cells: list[MeasuredCell]
    reference: str
    clock: str
    confidence: float
    notes: list[str] = field(default_factory=list)

    @cached_property
    def by_id(self) -> dict[CellKey, MeasuredCell]:
        """The cells that have an estimate, by variant id, set and operation."""
        return {cell.id: cell for cell in self.cells if cell.estimate is not None}

    @cached_property
    def inputs(self) -> dict[tuple[str, int], InputRow]:
        """The record's inputs by set and id."""
        return {(row.set, row.id): row for row in self.record.inputs}

    @cached_property
    def fits(self) -> dict[tuple[str, str], Fit]:
        """The regressions of single signatures on their traces, by variant id and set."""
        return {cell.id[:2]: cell.fit for cell in self.cells if cell.fit is not None}

    @cached_property
    def classical(self) -> list[Comparison]:
        """The cheapest cells of each kind over each classical scheme."""
        return compare_classical(self.cells, self.confidence)

    @cached_property
    def tables(self) -> dict[tuple[str, str, str], list[MeasuredCell]]:
        """The single calls whose mean is known, by set, operation and unit, best first."""
        tables: dict[tuple[str, str, str], list[MeasuredCell]] = {}
        for cell in self.cells:
            if cell.mean is not None and not cell.variant.runs:
                tables.setdefault((cell.set, cell.operation, cell.unit), []).append(cell)
        return tables

    def table(self, set_name: str, operation: str) -> list[MeasuredCell]:
        """Return the single calls of a set and operation in the first of their units; none without
        any."""
        found = (of for key, of in self.tables.items() if key[:2] == (set_name, operation))
        return next(found, [])

    @property
    def rounds(self) -> int:
        """The number of rounds with samples."""
        return len({s.round for s in self.record.samples})

    @cached_property
    def labels(self) -> dict[str, str]:
        """The shortest labels of variants, by id."""
        return self.record.labels()

    def label(self, variant: Variant) -> str:
        """Return the label of a variant's single calls."""
        return self.labels.get(variant.base, variant.base)

    def is_slower(self, one: MeasuredCell, other: MeasuredCell) -> bool:
        """Return whether ``one`` clearly costs more than ``other``: the interval of their paired
        ratio is above 1. Where there is none, their means' intervals must be apart; without
        intervals nothing is clear."""
        if is_above(one.interval("ratio"), other.interval("ratio")):
            return True  # so is their own ratio, which is narrower: not worth its work
        paired = one.over(other, self.confidence)
        if paired is not None and paired.low is not None:
            return paired.low > 1
        return is_above(one.mean, other.mean)

    def ranks(self, cells: Sequence[MeasuredCell]) -> list[int | None]:
        """Return, for cells by ascending mean, the place of the first of each group: cells that are
        not clearly slower than this one share its rank, and the next rank is the next one's place.

        Cells without an interval have no rank and no place: nothing tells them from others."""
        places: list[int | None] = []
        placed: list[MeasuredCell] = []
        rank = 0
        for cell in cells:
            if not cell.has_interval:
                places.append(None)
                continue
            placed.append(cell)
            if not rank or self.is_slower(cell, placed[rank - 1]):
                rank = len(placed)
            places.append(rank)
        return places

    def figures(self) -> list[Figure]:
        """Return the figures of all cells, and those of several: ``rank`` among single calls; the
        ratio of the cheapest ML-DSA to each classical scheme, and of hardened modes to ordinary
        ones."""
        made = [f for cell in self.cells for f in cell.figures]
        for cells in self.tables.values():
            for cell, rank in zip(cells, self.ranks(cells), strict=True):
                if rank is not None:
                    made.append(Figure(cell.keys, "rank", rank))
        for c in self.classical:
            keys = {**c.cell.keys, "scheme": c.against.set, "against": c.against.variant.id}
            made.append(Figure.of(keys, "ratio", c.ratio))
        return [*made, *self._hardened(), *self._absent()]

    def _absent(self) -> Iterator[Figure]:
        """Yield ``mean`` without a value for what the gate rejected, and for what was excluded
        before it was measured, with the reason."""
        for gate in self.record.gates:
            if not gate.passed:
                keys: dict[str, Key] = {"set": gate.set, "variant": gate.variant}
                yield Figure(keys, "mean", None, verdict=REJECTED, notes=(gate.reason,))
        seen: set[tuple[str | None, ...]] = {cell.id for cell in self.cells}
        for fault in self.record.faults:
            place = fault.variant, fault.set, fault.operation
            if place not in seen and fault.set is not None:
                seen.add(place)
                keys = {"set": fault.set, "variant": fault.variant}
                keys |= {"operation": fault.operation} if fault.operation else {}
                yield Figure(keys, "mean", None, verdict=EXCLUDED, notes=(fault.reason,))

    def _hardened(self) -> Iterator[Figure]:
        """Yield the ratio of each hardened mode to the ordinary one of its implementation."""
        for cell in self.cells:
            name = cell.variant.implementation.removesuffix(HARDENED)
            ordinary = replace(cell.variant, implementation=name).id_in(cell.worker.build)
            other = self.by_id.get((ordinary, cell.set, cell.operation))
            if other is not None and other is not cell:
                ratio = cell.over(other, self.confidence)
                if ratio is not None:
                    yield Figure.of({**cell.keys, "against": ordinary}, "ratio", ratio)


def summarise(
    record: Record,
    *,
    reference: str = "mldsa-native",
    clock: str = "cpu",
    confidence: float = 0.95,
) -> Summary:
    """The cells of a record, interrupted ones included.

    ``reference``: an implementation's name (its compact key is taken) or a variant's id, either of
    the default build where both were measured and the id does not say `tuned`.
    ``clock``: "cpu" for the thread's own time where a worker gives it, or "wall". Variants that
    the gate refused for a set have no cells there. LabError for an unknown clock, a confidence
    outside (0, 1), or a trace in the record that is malformed.
    """
    if clock not in ("cpu", "wall"):
        raise LabError(f"clock {clock!r}: must be 'cpu' or 'wall'")
    if not 0 < confidence < 1:
        raise LabError(f"confidence {confidence}: must lie strictly between 0 and 1")
    refused = {(gate.variant, gate.set) for gate in record.gates if not gate.passed}
    variants = record.variants
    estimator = Estimator.of(record, confidence)
    cells = [
        _cell(record, *variants[key[0]], key, samples, estimator)
        for key, samples in gather(record, clock).items()
        if key[:2] not in refused
    ]
    cells.sort(key=lambda c: (ALL_SETS.index(c.set), OPERATIONS.index(c.operation), c.cost))
    references = _references(cells, reference, list(variants))
    for cell in cells:
        against = references.get((cell.set, cell.operation, cell.variant.threads))
        if against is not None and (ratio := cell.over(against, confidence)) is not None:
            cell.add("ratio", ratio)
    add_throughputs(record, cells, estimator)
    lacking = f"no measurements of the reference {reference!r}: ratios are left out"
    notes = [] if references else [lacking]
    return Summary(record, cells, reference, clock, confidence, notes)


def _cell(
    record: Record,
    variant: Variant,
    worker: WorkerRow,
    key: CellKey,
    samples: CellSamples,
    estimator: Estimator,
) -> MeasuredCell:
    """Return a cell with the figures that it has by itself: without ratio and throughput."""
    estimate, costs = None, dict[str, Interval]()
    try:
        estimate = estimator.estimate(variant, key, samples)
        notes = estimate.notes
    except LabError as error:
        notes = (str(error),)
    if estimate is not None and not estimate.holds:
        estimate = None
    cell = MeasuredCell(
        variant, worker, key[1], key[2], samples, record.is_duplicate_build(worker), estimate, notes
    )
    unit, confidence = worker.unit, estimator.confidence
    is_cut = any(f.variant == key[0] and f.concerns(key[1], key[2]) for f in record.faults)
    mean = Figure(cell.keys, "mean", None, unit=unit, verdict=NO_ESTIMATE, notes=notes)
    if estimate is not None:
        verdict = CUT_SHORT if is_cut else ""
        mean = Figure.of(cell.keys, "mean", estimate.mean, unit, verdict, notes)
    cell.figures.append(mean)
    cell.add("samples", Interval(len(samples.ticks)), clock=samples.clock)
    cell.add("rounds", Interval(len(samples.rounds)))
    if estimate is None:
        return cell
    for percentile, cost in estimate.quantiles.items():
        cell.add("quantile", cost, unit, percentile=percentile)
    if (fit := cell.fit) is not None:
        keys = {"set": cell.set, "variant": variant.id}
        costs = fit.costs(confidence)
        for attempt, cost in (costs | fit.further(confidence)).items():
            figure = Figure.of({**keys, "attempt": attempt}, "attempt_cost", cost, unit)
            cell.figures.append(figure)
    for name, cost in _spread(samples, estimate, costs).items():
        cell.add(name, cost, unit)
    for name, count in estimator.metrics(variant, key, samples).items():
        cell.add(name, count, METRICS[name][0])
    for phase, cost in estimator.phases(variant, key, samples).items():
        cell.add("mean", cost, unit, phase=phase)
    return cell


def _spread(
    samples: CellSamples, estimate: CellEstimate, costs: dict[str, Interval]
) -> dict[str, Interval]:
    """Return the least and largest single call and their standard deviation, by name; ``costs``: of
    a signature's attempts.

    Of signatures that were regressed on their traces the exact law says them: the least is accepted
    at once, and there is no largest. Of other operations they are those of the samples, if each is
    one call.
    """
    if (fit := estimate.fit) is not None:
        if not fit.traces:
            return {}
        return {"min": costs["first"], "sd": Interval(_deviation(fit))}
    if not samples.single_calls or len(samples.ticks) < 2:
        return {}
    return {name: Interval(of(samples.ticks)) for name, of in SPREAD.items()}


def _deviation(fit: Fit) -> float:
    """Return the standard deviation of a signature's cost by the exact law of its attempts."""
    table, (first, *further) = fit.model.class_table(), fit.attempt_costs
    costs = first + table.counts @ np.array(further)
    mean = float(table.probability @ costs)
    return float(np.sqrt(table.probability @ (costs - mean) ** 2))


def _references(
    cells: list[MeasuredCell], reference: str, announced: list[str]
) -> dict[tuple[str, str, int], MeasuredCell]:
    """Return the cell to compare with, by set, operation and threads: single calls before runs, and
    the default build before the tuned one; among equals the first of ``announced``, variant ids."""
    named = [c for c in cells if c.estimate is not None and reference in c.variant.names]
    named.sort(
        key=lambda c: (
            c.variant.id != reference,
            c.variant.base != reference,
            c.is_duplicate_build,
            c.variant.key != "compact",
            c.variant.mode != "single",
            c.variant.batch_size,
            announced.index(c.variant.id),
        )
    )
    found: dict[tuple[str, str, int], MeasuredCell] = {}
    for cell in named:
        found.setdefault((cell.set, cell.operation, cell.variant.threads), cell)
    return found


# Precision.


def widest(record: Record, *, clock: str, confidence: float) -> tuple[float, str, str] | None:
    """The widest interval: its longer half in percent of the mean, what it is of, and the means
    that count: every signing mean, or every mean where signing was not measured.

    None before there are means; infinite where one has no interval yet.
    """
    left_out = {(fault.variant, fault.set) for fault in record.faults}
    cells = [
        cell
        for cell in summarise(record, clock=clock, confidence=confidence).cells
        if cell.mean is not None
        and not {(cell.variant.id, None), (cell.variant.id, cell.set)} & left_out
    ]
    signing = [cell for cell in cells if cell.operation == "sign"]
    counted = signing or cells
    if not counted:
        return None
    cell = max(counted, key=lambda cell: cell.uncertainty)
    goal = "every signing mean" if signing else "every mean"
    return 100 * cell.uncertainty, " ".join(cell.id), goal
