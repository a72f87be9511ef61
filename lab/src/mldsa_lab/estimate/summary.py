"""From a record to its cells, each with its estimate and figures, and to ratios between them."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property

import msgspec
import numpy as np

from mldsa_lab import LabError, located
from mldsa_lab.estimate.cells import (
    SPREAD,
    CellEstimate,
    CellKey,
    CellSamples,
    estimate_plain,
    estimate_random,
    estimate_signing,
    gather,
    ratio,
)
from mldsa_lab.estimate.figure import CUT_SHORT, EXCLUDED, NO_ESTIMATE, REJECTED, Figure, Key
from mldsa_lab.estimate.fit import Fit
from mldsa_lab.estimate.interval import Interval, is_above
from mldsa_lab.inputs.input import positions
from mldsa_lab.records import HARDENED, METRICS, InputRow, Record, Variant, WorkerRow
from mldsa_lab.sets import ALL_SETS, DEFAULT_BASELINE, OPERATIONS, PARAMETER_SETS, SCHEMES
from mldsa_lab.theory.rejection import RejectionModel
from mldsa_lab.theory.trace import Array, Trace, parse_trace


@dataclass(eq=False)
class MeasuredCell:
    """A variant in one operation of a set, as it was measured. Cells are equal only to themselves.

    ``is_duplicate_build``: True if the variant's default build was measured too. ``estimate``: None
    where the costs allow none. ``notes``: remarks for the reader, which then say why. ``figures``:
    in the worker's unit and for one operation, see `mldsa_lab.estimate.figure`.
    """

    variant: Variant
    worker: WorkerRow
    set: str
    operation: str
    samples: CellSamples
    is_duplicate_build: bool
    estimate: CellEstimate | None = None
    notes: tuple[str, ...] = ()
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
        """The unit of costs: the worker's unit of ticks."""
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
        """The longer half of the interval, as a share of the mean; infinite without limits."""
        mean = self.mean
        if mean is None or not mean.value or mean.low is None or mean.high is None:
            return math.inf
        return max(mean.high - mean.value, mean.value - mean.low) / mean.value

    def add(self, name: str, interval: Interval, unit: str = "", **keys: Key) -> None:
        """Add a figure; ``keys``: further ones."""
        self.figures.append(Figure.from_interval({**self.keys, **keys}, name, interval, unit))

    def interval(self, name: str, **keys: Key) -> Interval | None:
        """Return the figure of this name and exactly these further keys; None without."""
        keys = {**self.keys, **keys}
        return next((f.interval for f in self.figures if f.name == name and f.keys == keys), None)

    def value(self, name: str, **keys: Key) -> float | None:
        """Return a figure without its limits; None where it is not known."""
        interval = self.interval(name, **keys)
        return None if interval is None else interval.value

    def ratio_to(self, other: MeasuredCell, confidence: float) -> Interval | None:
        """Return this mean over that of ``other``, paired by round if both have the same rounds.
        None if one is not known or the units differ."""
        if self.estimate is None or other.estimate is None or self.unit != other.unit:
            return None
        if other is self:
            return Interval(1.0, 1.0, 1.0)
        return ratio(self.estimate, other.estimate, confidence)


@dataclass(frozen=True, slots=True)
class Comparison:
    """The ``ratio`` of the cost of an ML-DSA cell to the cost of ``against``, a classical scheme in
    the same operation."""

    cell: MeasuredCell
    against: MeasuredCell
    ratio: Interval


@dataclass(frozen=True)
class Summary:
    """Cells in the order of set, operation and mean; ``notes`` on the whole."""

    record: Record
    cells: list[MeasuredCell]
    baseline: str
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
        tables = (t for key, t in self.tables.items() if key[:2] == (set_name, operation))
        return next(tables, [])

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
        paired = one.ratio_to(other, self.confidence)
        if paired is not None and paired.low is not None:
            return paired.low > 1
        return is_above(one.mean, other.mean)

    def ranks(self, cells: Sequence[MeasuredCell]) -> list[int | None]:
        """Return the rank of each cell, for cells by ascending mean. A rank is the place of the
        first cell of a group: cells that are not clearly slower than this one share it.

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
        """Return the figures of all cells, and of groups of cells: ``rank`` among single calls; the
        ratio of the cheapest ML-DSA to each classical scheme, and of hardened modes to ordinary
        ones."""
        figures = [f for cell in self.cells for f in cell.figures]
        for cells in self.tables.values():
            for cell, rank in zip(cells, self.ranks(cells), strict=True):
                if rank is not None:
                    figures.append(Figure(cell.keys, "rank", rank))
        for c in self.classical:
            keys = {**c.cell.keys, "scheme": c.against.set, "against": c.against.variant.id}
            figures.append(Figure.from_interval(keys, "ratio", c.ratio))
        return [*figures, *self._hardened(), *self._absent()]

    def _absent(self) -> Iterator[Figure]:
        """Yield ``mean`` without a value, with the reason, for cells that the gate rejected or that
        were excluded before they were measured."""
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
            variant = msgspec.structs.replace(cell.variant, implementation=name)
            ordinary = variant.id_in(cell.worker.build)
            other = self.by_id.get((ordinary, cell.set, cell.operation))
            if other is not None and other is not cell:
                ratio = cell.ratio_to(other, self.confidence)
                if ratio is not None:
                    yield Figure.from_interval({**cell.keys, "against": ordinary}, "ratio", ratio)


def summarise(
    record: Record,
    *,
    baseline: str = DEFAULT_BASELINE,
    clock: str = "cpu",
    confidence: float = 0.95,
) -> Summary:
    """Return the cells of a record, interrupted ones included.

    ``baseline``: an implementation's name (meaning its compact key) or a variant's id. If both
    builds were measured, it is the default build unless the id says `tuned`. ``clock``: "cpu" for
    the thread's own time where a worker gives it, or "wall". Variants that the gate rejected for a
    set have no cells there. LabError for an unknown clock, a confidence outside (0, 1), or a trace
    in the record that is malformed.
    """
    if clock not in ("cpu", "wall"):
        raise LabError(f"clock {clock!r}: must be 'cpu' or 'wall'")
    if not 0 < confidence < 1:
        raise LabError(f"confidence {confidence}: must lie strictly between 0 and 1")
    rejected = {(gate.variant, gate.set) for gate in record.gates if not gate.passed}
    variants = record.variants
    estimator = Estimator.for_record(record, confidence)
    cells = []
    for (variant_id, set_name, operation), samples in gather(record, clock).items():
        if (variant_id, set_name) not in rejected:
            variant, worker = variants[variant_id]
            is_duplicate = record.is_duplicate_build(worker)
            cell = MeasuredCell(variant, worker, set_name, operation, samples, is_duplicate)
            faults = (f for f in record.faults if f.variant == variant_id)
            is_cut = any(f.concerns(set_name, operation) for f in faults)
            estimator.fill(cell, CUT_SHORT if is_cut else "")
            cells.append(cell)
    cells.sort(key=lambda c: (ALL_SETS.index(c.set), OPERATIONS.index(c.operation), c.cost))
    baselines = _baselines(cells, baseline, list(variants))
    for cell in cells:
        against = baselines.get((cell.set, cell.operation, cell.variant.threads))
        if against is not None and (ratio := cell.ratio_to(against, confidence)) is not None:
            cell.add("ratio", ratio)
    add_throughputs(record, cells, estimator)
    lacking = f"no measurements of the baseline {baseline!r}: ratios are left out"
    notes = [] if baselines else [lacking]
    return Summary(record, cells, baseline, clock, confidence, notes)


# The steps of a summary.


@dataclass(frozen=True)
class Estimator:
    """Chooses the estimate that suits a cell, by the knowledge of its inputs.

    ``inputs``: all of the record, by set and id; ``traces``: those that are known.
    """

    inputs: dict[tuple[str, int], InputRow]
    traces: dict[tuple[str, int], Trace]
    confidence: float

    @classmethod
    def for_record(cls, record: Record, confidence: float) -> Estimator:
        """Return that of a record; LabError if a trace in it is malformed."""
        traces: dict[tuple[str, int], Trace] = {}
        for row in record.inputs:
            if row.trace is not None:
                with located(f"input {row.id} of {row.set}"):
                    traces[row.set, row.id] = parse_trace(row.trace, row.set)
        return cls({(row.set, row.id): row for row in record.inputs}, traces, confidence)

    def fill(self, cell: MeasuredCell, verdict: str) -> None:
        """Add the estimate and the figures that a cell has by itself: without ratio and throughput.
        ``verdict``: of its mean."""
        samples, unit = cell.samples, cell.unit
        try:
            estimate = self.estimate(cell, samples)
            cell.notes = estimate.notes
            cell.estimate = estimate if estimate.holds else None
        except LabError as error:
            cell.notes = (str(error),)
        mean = Figure(cell.keys, "mean", None, unit=unit, verdict=NO_ESTIMATE, notes=cell.notes)
        if cell.mean is not None:
            mean = Figure.from_interval(cell.keys, "mean", cell.mean, unit, verdict, cell.notes)
        cell.figures.append(mean)
        cell.add("samples", Interval(len(samples.ticks)), clock=samples.clock)
        cell.add("rounds", Interval(len(samples.rounds)))
        if cell.estimate is None:
            return
        for percentile, cost in cell.estimate.quantiles.items():
            cell.add("quantile", cost, unit, percentile=percentile)
        if (fit := cell.fit) is not None:
            keys = {"set": cell.set, "variant": cell.variant.id}
            costs = fit.costs(self.confidence)
            for end, cost in (costs | fit.further(self.confidence)).items():
                figure = Figure.from_interval({**keys, "attempt": end}, "attempt_cost", cost, unit)
                cell.figures.append(figure)
            # By the exact distribution: the least is accepted at once, and there is no largest.
            cell.add("min", costs["first"], unit)
            cell.add("sd", Interval(fit.standard_deviation()), unit)
        elif cell.estimate.fit is None and samples.single_calls and len(samples.ticks) > 1:
            for name, statistic in SPREAD.items():
                cell.add(name, Interval(statistic(samples.ticks)), unit)
        uncounted = replace(samples, step=0.0)  # metrics come from no clock
        for name, values in samples.metrics.items():
            cell.add(name, Interval(self._mean(cell, uncounted, values).value), METRICS[name][0])
        for phase, values in samples.phases.items():
            cell.add("mean", self._mean(cell, samples, values), unit, phase=phase)

    def estimate(self, cell: MeasuredCell, samples: CellSamples) -> CellEstimate:
        """Return the estimate of a cell from its own or other samples. LabError if no clock
        resolves them, a trace that is needed is not known, or the costs allow no estimate."""
        if samples.flaw:
            raise LabError(samples.flaw)
        scheme, variant = SCHEMES[cell.set], cell.variant
        if cell.operation == "sign" and cell.set in PARAMETER_SETS and variant.deterministic:
            return self._signing(cell, samples)
        is_random = cell.operation in scheme.traits.random and not variant.deterministic
        is_random |= cell.operation == "keygen" and not scheme.has_seed  # RSA's search for primes
        estimate = (estimate_random if is_random else estimate_plain)(samples, self.confidence)
        # Averages of random costs have another median than the costs.
        is_averaged = variant.runs or (is_random and not samples.single_calls)
        return replace(estimate, quantiles={}) if is_averaged else estimate

    def _signing(self, cell: MeasuredCell, samples: CellSamples) -> CellEstimate:
        variant, inputs, shares, overlap = cell.variant, samples.inputs, None, 1.0
        if variant.runs:
            role = self.inputs[cell.set, inputs[0]].role
            group = [r.id for r in self.inputs.values() if (r.set, r.role) == (cell.set, role)]
            overlap = variant.batch_size * len(inputs) / len(group)
            shares = np.array([_shares(variant, len(group), group.index(i)) for i in inputs])
            inputs = tuple(group)
        unknown = [i for i in inputs if (cell.set, i) not in self.traces]
        if unknown:
            raise LabError(f"input {unknown[0]} of {cell.set}: signing needs its trace")
        return estimate_signing(
            samples,
            [self.traces[cell.set, i] for i in inputs],
            RejectionModel.for_set(cell.set),
            self.confidence,
            shares=shares,
            overlap=overlap,
            keys=None if variant.runs else [self.inputs[cell.set, i].seed for i in inputs],
            hardened=variant.is_hardened,
        )

    def _mean(self, cell: MeasuredCell, samples: CellSamples, values: Array | float) -> Interval:
        """Return the mean of other values of the samples, estimated as the cost is where each
        sample has its own."""
        if isinstance(values, float):
            return Interval(values)
        if values.all() and np.ptp(values):
            return self.estimate(cell, replace(samples, ticks=values)).mean
        return Interval(*3 * (float(values.mean()),))


def _shares(variant: Variant, size: int, begin: int) -> Array:
    """Return the share (size,) of a run's operations that each of so many inputs has, in turn from
    one."""
    threads = variant.threads
    places = [
        (begin + place) % size
        for thread in range(threads)
        for place in positions(size, variant.batch_size, thread=thread, threads=threads)
    ]
    return np.bincount(places, minlength=size) / len(places)


def _baselines(
    cells: list[MeasuredCell], baseline: str, announced: list[str]
) -> dict[tuple[str, str, int], MeasuredCell]:
    """Return the cell to compare with, by set, operation and threads. Single calls come before
    runs, and the default build before the tuned one. Among equals the first of ``announced``
    (variant ids) is taken."""
    named = [c for c in cells if c.estimate is not None and baseline in c.variant.names]
    named.sort(
        key=lambda c: (
            c.variant.id != baseline,
            c.variant.base != baseline,
            c.is_duplicate_build,
            c.variant.key != "compact",
            c.variant.mode != "single",
            c.variant.batch_size,
            announced.index(c.variant.id),
        )
    )
    baselines: dict[tuple[str, str, int], MeasuredCell] = {}
    for cell in named:
        baselines.setdefault((cell.set, cell.operation, cell.variant.threads), cell)
    return baselines


def add_throughputs(record: Record, cells: Sequence[MeasuredCell], estimator: Estimator) -> None:
    """Add ``per_second`` to the figures of cells whose unit is nanoseconds. It is the inverse of
    the mean of single calls and batches. On several threads it is by the wall clock, as for the
    same cell on one thread. ``scaling`` is the gain over one thread, if one thread was measured."""
    families: dict[tuple[str | int, ...], list[MeasuredCell]] = defaultdict(list)
    for cell in cells:
        if cell.estimate is not None and cell.unit == "ns":
            v = cell.variant
            families[v.base, v.mode, v.batch_size, cell.set, cell.operation].append(cell)
    is_threaded = {k: any(c.variant.threads > 1 for c in f) for k, f in families.items()}
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
                    estimates[cell] = estimator.estimate(cell, walls[cell.id])
        one = next((e for c, e in estimates.items() if c.variant.threads == 1), None)
        for cell, estimate in estimates.items():
            cell.add("per_second", estimate.mean.inverse(1e9), "1/s")
            if is_threaded[key] and estimate is one:
                cell.add("scaling", Interval(1.0, 1.0, 1.0))
            elif is_threaded[key] and one is not None:
                cell.add("scaling", ratio(estimate, one, estimator.confidence).inverse())


def compare_classical(cells: Sequence[MeasuredCell], confidence: float) -> list[Comparison]:
    """Return the cheapest ML-DSA cell of each kind over every classical scheme's single calls, by
    set and operation. Kinds are compact or expanded key, single calls or batches. ``cells``: in
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
        if scheme.operation == cell.operation and (ratio := cell.ratio_to(scheme, confidence))
    ]


def widest(
    record: Record, *, clock: str, confidence: float = 0.95
) -> tuple[float, str, str] | None:
    """Return the widest interval: its longer half in percent of the mean, its cell in words, and
    the means that count. These are all signing means, or all means if signing was not measured.

    None before there are means; infinite where one has no interval yet.
    """
    excluded = {(fault.variant, fault.set) for fault in record.faults}
    cells = [
        cell
        for cell in summarise(record, clock=clock, confidence=confidence).cells
        if cell.mean is not None
        and not {(cell.variant.id, None), (cell.variant.id, cell.set)} & excluded
    ]
    signing = [cell for cell in cells if cell.operation == "sign"]
    counted = signing or cells
    if not counted:
        return None
    cell = max(counted, key=lambda cell: cell.uncertainty)
    goal = "every signing mean" if signing else "every mean"
    return 100 * cell.uncertainty, " ".join(cell.id), goal
