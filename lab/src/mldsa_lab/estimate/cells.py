"""The samples of a record by cell (variant, set, operation), and each cell's estimate."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from mldsa_lab import LabError, located
from mldsa_lab.estimate.diagnose import contradictions
from mldsa_lab.estimate.findings import Remark
from mldsa_lab.estimate.fit import Fit, fit_costs, quotient_of_inputs
from mldsa_lab.estimate.interval import (
    Interval,
    combine,
    correlation_factor,
    median_over_rounds,
    quotient,
    split_levels,
    student,
)
from mldsa_lab.inputs.input import positions
from mldsa_lab.records import METRICS, Record, Samples, Variant, WorkerRow
from mldsa_lab.records.rows import find_tick
from mldsa_lab.sets import PARAMETER_SETS, SCHEMES
from mldsa_lab.theory.law import MEAN
from mldsa_lab.theory.rejection import RejectionModel
from mldsa_lab.theory.trace import Array, Ints, Trace, parse_trace

# Samples.


CellKey = tuple[str, str, str]
"""Variant id, set, operation."""
LARGEST_TICK = 0.05
"""The largest tick of a clock, as a share of a mean sample, from whose samples costs are estimated;
and the largest share of samples that may read 0."""
NOTED_TICK = 0.01
"""The share from which on a tick is noted."""
_CLOCKS = {"cpu": "CPU clock", "wall": "wall clock"}


@dataclass(frozen=True)
class CellSamples:
    """All samples of one cell, in ticks of the worker's unit per operation.

    ``ticks``, ``round_of``, ``input_of``: (samples,), the latter two as positions in ``rounds``
    (ascending) and ``inputs`` (ascending ids; of runs the first ones). ``single_calls``: each
    sample timed one operation.
    ``clock``: "cpu" or "wall", the one the ticks are from. ``step``: the tick of that clock as a
    cost per operation, 0 where it is too small to be seen. ``notes``: what a reader must know of
    the clocks; ``flaw``: why no cost can be estimated from them, empty where one can.
    ``phases``: (samples,) each, the parts of the ticks by name. ``metrics``: by name
    (`METRICS`) a value for each sample of an operation of it, (samples,), or where a visit was
    counted as a whole the mean over all operations.
    """

    rounds: tuple[int, ...]
    inputs: tuple[int, ...]
    ticks: Array
    round_of: Ints
    input_of: Ints
    single_calls: bool
    clock: str
    step: float = 0.0
    notes: tuple[str, ...] = ()
    flaw: str = ""
    phases: dict[str, Array] = field(default_factory=dict)
    metrics: Mapping[str, Array | float] = field(default_factory=dict)

    def table(self) -> Array:
        """Median over the passes of each round and input, shape (rounds, inputs); NaN where
        there is none. The cost is positive: samples that read 0 have half of the least other."""
        positive = self.ticks > 0
        least = self.ticks[positive].min() if positive.any() else 1.0
        costs = np.where(positive, self.ticks, least / 2)
        size = len(self.inputs)
        groups = self.round_of * size + self.input_of
        order = np.lexsort((costs, groups))
        costs = costs[order]
        present, start, count = np.unique(groups[order], return_index=True, return_counts=True)
        table = np.full(len(self.rounds) * size, np.nan)
        table[present] = (costs[start + (count - 1) // 2] + costs[start + count // 2]) / 2
        return table.reshape(len(self.rounds), size)


def gather(record: Record, clock: str) -> dict[CellKey, CellSamples]:
    """All cells, in the order of the record.

    ``clock`` "cpu" takes thread CPU time where every sample of the cell has it and its tick is
    small enough (`LARGEST_TICK`), else wall time; of several threads always wall time, which is
    what they share.
    """
    variants = record.variants
    rows: dict[CellKey, list[Samples]] = defaultdict(list)
    for samples in record.samples:
        if samples.shape:
            continue  # not single calls of a process that is warm
        rows[samples.variant, samples.set, samples.operation].append(samples)
    ticks = _ticks(record, [row for of in rows.values() for row in of])
    cells = {
        key: _cell(of_cell, clock, *variants[key[0]], ticks[variants[key[0]][1].worker])
        for key, of_cell in rows.items()
    }
    return {key: cell for key, cell in cells.items() if len(cell.ticks)}


def _ticks(record: Record, rows: Sequence[Samples]) -> dict[str, dict[str, float]]:
    """Return the tick of each clock ("cpu", "wall") of each worker. Counts have none."""
    workers = {v: worker for v, (_, worker) in record.variants.items()}
    read: dict[str, dict[str, list[int]]] = {w.worker: defaultdict(list) for w in record.workers}
    for row in rows:
        worker = workers[row.variant]
        for name in _CLOCKS if worker.unit == "ns" else ():
            read[worker.worker][name] += row.metrics.get(name, ())
    return {
        worker: {name: find_tick(of) for name, of in clocks.items() if of}
        for worker, clocks in read.items()
    }


@dataclass(frozen=True)
class Readings:
    """Samples by the clock ``name``: ``read`` as recorded, and its ``tick`` in the same unit, None
    for counts."""

    name: str
    read: Array
    tick: float | None

    @classmethod
    def by_wall(cls, worker: WorkerRow, read: Array) -> Readings:
        """Return samples by the wall clock of a worker."""
        tick = find_tick(read.astype(np.int64)) if worker.unit == "ns" else None
        return cls(_title(worker, "wall"), read, tick)

    @property
    def share(self) -> float:
        """The tick as a share of a mean sample."""
        return (self.tick or 0.0) / max(float(self.read.mean()), 1e-300)

    @property
    def about_tick(self) -> str:
        """The tick in words."""
        mean, percent = _duration(float(self.read.mean())), 100 * self.share
        share = f"{percent:.2g}" if percent < 100 else f"{percent:,.0f}"
        tick = _duration(self.tick or 0.0)
        return f"{self.name} has a tick of {tick}, {share} % of a sample of {mean}"

    @property
    def flaw(self) -> str:
        """Why no cost can be estimated from the readings; empty where one can."""
        return next(self._flaws(), "")

    def _flaws(self) -> Iterator[str]:
        count, zeros = len(self.read), int((self.read == 0).sum())
        if zeros == count:
            yield f"{self.name} reads 0 in every sample"
        elif self.tick is not None and count > 1 and np.ptp(self.read) == 0:
            yield f"{self.name} reads {_duration(self.read[0])} in every sample"
        elif self.share > LARGEST_TICK:
            yield self.about_tick
        elif zeros > LARGEST_TICK * count:
            yield f"{self.name} reads 0 in {zeros} of {count} samples"

    def notes(self) -> Iterator[str]:
        """Yield what a reader must know of the readings."""
        if self.share >= NOTED_TICK:
            yield f"{self.about_tick}: the interval includes it"
        if zeros := int((self.read == 0).sum()):
            yield f"{self.name} reads 0 in {zeros} of {len(self.read)} samples"


def _title(worker: WorkerRow, clock: str) -> str:
    """A clock in words: `the wall clock (CLOCK_MONOTONIC)`."""
    return f"the {_CLOCKS[clock]} ({worker.cpu_clock if clock == 'cpu' else worker.clock})"


def _duration(ns: float) -> str:
    """`28 µs`, `15.6 ms`."""
    scales = ((1e9, "s"), (1e6, "ms"), (1e3, "µs"), (1.0, "ns"))
    scale, unit = next((s for s in scales if ns >= s[0]), scales[-1])
    return f"{ns / scale:.3g} {unit}"


def _cell(
    rows: Sequence[Samples],
    clock: str,
    variant: Variant,
    worker: WorkerRow,
    ticks: Mapping[str, float],
) -> CellSamples:
    use_cpu = clock == "cpu" and variant.threads == 1 and all(r.cpu is not None for r in rows)
    per_call = variant.per_call
    calls = np.repeat([row.calls * per_call for row in rows], [len(row.wall) for row in rows])
    every = []
    for name in ("cpu", "wall")[not use_cpu :]:
        read = np.concatenate([np.asarray(row.metrics[name], dtype=np.float64) for row in rows])
        every.append(Readings(_title(worker, name), read, ticks.get(name)))
    flaws = [readings.flaw for readings in every]
    place = next((n for n, flaw in enumerate(flaws) if not flaw), 0)
    chosen, flaw = every[place], "; ".join(flaws) if flaws[place] else ""
    switched = [f"{flaws[0]}: the cost is by the wall clock"] if place else []
    use_cpu = use_cpu and place == 0
    rounds = np.repeat([row.round for row in rows], [len(row.inputs) for row in rows])
    inputs = np.concatenate([np.asarray(row.inputs, dtype=np.int64) for row in rows])
    costs = chosen.read / calls
    round_ids, round_of = np.unique(rounds, return_inverse=True)
    input_ids, input_of = np.unique(inputs, return_inverse=True)
    return CellSamples(
        rounds=tuple(int(r) for r in round_ids),
        inputs=tuple(int(i) for i in input_ids),
        ticks=costs,
        round_of=round_of.astype(np.int64),
        input_of=input_of.astype(np.int64),
        single_calls=per_call == 1 and all(row.calls == 1 for row in rows),
        clock="cpu" if use_cpu else "wall",
        step=0.0 if flaw else chosen.share * float(costs.mean()),
        notes=() if flaw else (*switched, *chosen.notes()),
        flaw=f"no clock resolves a sample: {flaw}" if flaw else "",
        phases={
            name: np.concatenate([np.asarray(row.phases[name]) / row.calls for row in rows])
            for name in (rows[0].phases if not use_cpu else ())
        },
        metrics=_metrics(rows, per_call),
    )


def _metrics(rows: Sequence[Samples], per_call: int) -> dict[str, Array | float]:
    """Return each metric that every row has."""
    found: dict[str, Array | float] = {}
    for name, (_, of) in METRICS.items():
        if not all(name in row.metrics for row in rows):
            continue
        if all(len(row.metrics[name]) == len(row.inputs) for row in rows):
            values = [of * np.asarray(r.metrics[name]) / (r.calls * per_call) for r in rows]
            found[name] = np.concatenate(values)
        else:
            operations = sum(row.calls * per_call * len(row.inputs) for row in rows)
            found[name] = of * sum(sum(row.metrics[name]) for row in rows) / operations
    return found


# Estimates.


SPREAD: dict[str, Callable[[Array], float]] = {
    "min": lambda calls: float(calls.min()),
    "max": lambda calls: float(calls.max()),
    "sd": lambda calls: float(calls.std(ddof=1)),
}
"""The figures of how far single calls lie apart."""


QUANTILES = (0.50, 0.95, 0.99, 0.999)
"""The percentiles that are reported."""

# A sample quantile is given only with this many samples beyond it.
_SAMPLES_BEYOND = 5
# From this many runs of different mean traces on they are regressed on these.
_RUNS_FOR_REGRESSION = 8
# Mean attempts of runs that differ from the expected ones by more are remarked upon.
_RUNS_OFF = 0.005


@dataclass(frozen=True)
class CellEstimate:
    """Estimates of one cell, in ticks of the worker's unit per operation.

    ``mean``; ``inner``: the same with the error of the choice of inputs alone. ``quantiles`` holds
    only those that are honest. ``level``: (rounds,) logarithm of each round's speed, None where
    rounds cannot be compared. ``apart``: (inputs,) how far each input is from the mean, relative
    to it, where inputs are a plain sample. ``fit``: the regression on the traces of single
    signatures or of runs. ``step``: the tick of the clock, which the intervals include. ``notes``:
    what a reader must know; ``holds``: whether the costs can be those of the traces.
    """

    mean: Interval
    inner: Interval
    quantiles: dict[float, Interval]
    rounds: tuple[int, ...] = ()
    inputs: tuple[int, ...] = ()
    level: Array | None = None
    apart: Array | None = None
    fit: Fit | None = None
    step: float = 0.0
    notes: tuple[str, ...] = ()
    holds: bool = True

    def of_cell(self, cell: CellSamples) -> CellEstimate:
        """With rounds, inputs, notes and the tick of its samples; without limits where rounds are
        too few (`Interval.of_rounds`)."""
        rounds, step = len(cell.rounds), cell.step
        return replace(
            self,
            mean=with_tick(self.mean, step).of_rounds(rounds),
            quantiles={
                q: with_tick(found, step).of_rounds(rounds) for q, found in self.quantiles.items()
            },
            rounds=cell.rounds,
            inputs=cell.inputs,
            step=step,
            notes=(*cell.notes, *self.notes),
        )


def with_tick(interval: Interval, step: float, over: float = 0.0) -> Interval:
    """Return the interval of a cost with the tick ``step`` of its clock; or that of a ratio, where
    ``over`` is the tick of its denominator, both as parts of the ratio.

    A clock that truncates reads up to a tick less than the time that passed, the same in every
    sample; one that rounds, and a median of truncated readings, are off by half a tick at most. No
    number of samples shows that, so it is added and not taken in quadrature.
    """
    if interval.low is None or interval.high is None:
        return interval
    low = max(interval.low - step / 2 - over, min(interval.low, 0.0))
    return Interval(interval.value, low, interval.high + step + over / 2)


def estimate_signing(
    cell: CellSamples,
    traces: Sequence[Trace],
    model: RejectionModel,
    confidence: float = 0.95,
    *,
    shares: Array | None = None,
    overlap: float = 1.0,
    keys: Sequence[bytes] | None = None,
    hardened: bool = False,
) -> CellEstimate:
    """Deterministic signing on inputs of known ``traces``: those of ``cell.inputs``; or with
    ``shares`` in runs of several operations that begin with these, and take inputs in turn.

    The cost of each input in the typical round is regressed on its trace (`mldsa_lab.estimate.fit`
    explains ``shares``, ``overlap``, ``keys`` and ``hardened``) and the regression taken at the
    exact expectations; percentiles are those of the exact law. Where few runs differ, their mean
    stands, with a remark where their traces are not the expected ones on average. A run shows no
    single operation, so it has no percentiles.
    """
    if shares is not None:
        means = 1 + shares @ np.array([len(trace) - 1 for trace in traces])
        different = len(np.unique(np.round(means, 9)))
        if len(means) < _RUNS_FOR_REGRESSION or different < _RUNS_FOR_REGRESSION // 2:
            plain = estimate_plain(cell, confidence, overlap)
            off = float(means.mean()) / model.expected_attempts - 1
            text = f"its inputs take {100 * off:+.1f} % attempts compared with all signatures"
            notes = (*plain.notes, *((text,) if abs(off) > _RUNS_OFF else ()))
            return replace(plain, quantiles={}, notes=notes)
    fit = fit_costs(
        traces, cell.table(), model, shares=shares, overlap=overlap, resolution=cell.step,
        keys=keys, hardened=hardened,
    )  # fmt: skip
    mean = fit.mean(confidence)
    quantiles: dict[float, Interval] = {}
    remarks: list[Remark] = []
    if shares is None:
        found = fit.quantiles(QUANTILES, confidence)
        quantiles = {q: i for q, i in zip(QUANTILES, found, strict=True) if i.value > 0}
        remarks = contradictions(fit, cell.inputs)
    if mean.value <= 0:
        raise LabError("signing cost: the fitted cost is zero at the mean")
    inner = fit.inner(np.eye(len(fit.coefficients))[MEAN], confidence)
    notes, holds = tuple(r.text for r in remarks), all(r.severity != "error" for r in remarks)
    return CellEstimate(
        mean, inner, quantiles, level=fit.typical.level, fit=fit, notes=notes, holds=holds
    ).of_cell(cell)


def estimate_plain(
    cell: CellSamples, confidence: float = 0.95, overlap: float = 1.0
) -> CellEstimate:
    """Operations whose cost hardly depends on the input: key generation, verification, and
    classical signatures.

    The mean over inputs of each input's cost in the typical round; inputs and rounds are the two
    random factors of its interval. Percentiles are those of the samples, noise of the machine
    included (`sample_quantiles`). ``overlap`` as for `estimate_signing`.
    """
    levels = split_levels(cell.table())
    mean = float(levels.shape.mean())
    apart = math.sqrt(max(overlap, 1.0)) * (levels.shape / mean - 1)
    inner = around(mean, apart, confidence)
    found = combine(inner, median_over_rounds(levels.level), confidence)
    quantiles = sample_quantiles(cell)
    return CellEstimate(found, inner, quantiles, level=levels.level, apart=apart).of_cell(cell)


def around(value: float, apart: Array, confidence: float) -> Interval:
    """The interval of a value whose relative deviations over inputs are ``apart``; one input
    shows none."""
    size = len(apart)
    if size < 2:
        return Interval(value, value, value)
    return student(value, float(apart.std(ddof=1)) / math.sqrt(size), size - 1, confidence)


def estimate_random(cell: CellSamples, confidence: float = 0.95) -> CellEstimate:
    """Operations whose cost is random from call to call: signers that draw their own rnd, and RSA
    key generation.

    The plain mean: the long tail is part of the cost, so that trimming it, or taking medians,
    would bias the mean low. Rounds are a random factor over the calls within them. Percentiles as
    for `estimate_plain`.
    """
    ticks, count = cell.ticks, len(cell.ticks)
    sizes = np.bincount(cell.round_of)
    means = np.bincount(cell.round_of, weights=ticks) / sizes
    mean = float(ticks.mean())
    rounds = len(sizes)
    if count < 3 or rounds == count:
        error = float(ticks.std(ddof=1)) / math.sqrt(count) if count > 1 else 0.0
        df = float(count - 1)
    else:
        within = float(((ticks - means[cell.round_of]) ** 2).sum()) / (count - rounds)
        variance, df = within / count, float(count - rounds)
        if rounds > 1:
            # One-way analysis of variance with unequal round sizes.
            between = float((sizes * (means - mean) ** 2).sum()) / (rounds - 1)
            typical = (count - float((sizes**2).sum()) / count) / (rounds - 1)
            of_round = max((between - within) / typical, 0.0)
            widen = correlation_factor(means - mean, float(means.std(ddof=1)))
            added = of_round * float((sizes**2).sum()) / count**2 * widen**2
            if added:
                df = (variance + added) ** 2 / (
                    variance**2 / (count - rounds) + (added + variance) ** 2 / (rounds - 1)
                )
            variance += added
        error = math.sqrt(variance)
    interval = Interval(mean)
    if df > 0 and rounds > 1:
        interval = student(mean, error / mean, df, confidence)
    return CellEstimate(interval, interval, sample_quantiles(cell)).of_cell(cell)


def sample_quantiles(cell: CellSamples) -> dict[float, Interval]:
    """Quantiles of the samples, each only where at least five samples lie beyond it, and those
    above the median only where every sample is a single call: averages of calls have no tail."""
    count = len(cell.ticks)
    honest = [
        share
        for share in QUANTILES
        if count * (1 - share) >= _SAMPLES_BEYOND and (cell.single_calls or share <= 0.5)
    ]
    return {share: Interval(float(np.quantile(cell.ticks, share))) for share in honest}


@dataclass(frozen=True)
class Estimator:
    """Chooses the estimate that fits a cell of a record.

    By set and input: ``traces`` where they are known; ``keys``, the seeds; ``groups``, the inputs
    that runs take in turn with it.
    """

    traces: dict[tuple[str, int], Trace]
    keys: dict[tuple[str, int], bytes]
    groups: dict[tuple[str, int], tuple[int, ...]]
    confidence: float

    @classmethod
    def of(cls, record: Record, confidence: float) -> Estimator:
        """For the cells of this record; LabError if a trace in it is malformed."""
        traces: dict[tuple[str, int], Trace] = {}
        roles: dict[tuple[str, str], list[int]] = {}
        for row in record.inputs:
            roles.setdefault((row.set, row.role), []).append(row.id)
            if row.trace is not None:
                with located(f"input {row.id} of {row.set}"):
                    traces[row.set, row.id] = parse_trace(row.trace, row.set)
        groups = {(s, i): tuple(ids) for (s, _), ids in roles.items() for i in ids}
        keys = {(row.set, row.id): row.seed for row in record.inputs}
        return cls(traces, keys, groups, confidence)

    def estimate(self, variant: Variant, key: CellKey, cell: CellSamples) -> CellEstimate:
        """LabError if no clock resolves the samples, a trace that is needed is not known, or the
        costs allow no estimate."""
        if cell.flaw:
            raise LabError(cell.flaw)
        _, set_name, operation = key
        scheme = SCHEMES[set_name]
        if operation == "sign" and set_name in PARAMETER_SETS and variant.deterministic:
            return self._signing(variant, set_name, cell)
        random = operation in scheme.traits.random and not variant.deterministic
        random |= operation == "keygen" and not scheme.seeded  # RSA's search for primes
        found = (estimate_random if random else estimate_plain)(cell, self.confidence)
        # Averages of random costs have not their median.
        averaged = variant.runs or (random and not cell.single_calls)
        return replace(found, quantiles={}) if averaged else found

    def phases(self, variant: Variant, key: CellKey, cell: CellSamples) -> dict[str, Interval]:
        """Return the mean of each part of the cost, estimated as the whole is. LabError as for
        `estimate`."""
        return {name: self._of(variant, key, cell, part) for name, part in cell.phases.items()}

    def metrics(self, variant: Variant, key: CellKey, cell: CellSamples) -> dict[str, Interval]:
        """Return the mean of each metric, without limits, estimated as the cost is where each
        sample has its own value. LabError as for `estimate`."""
        cell = replace(cell, step=0.0)  # no clock counts them
        return {
            name: Interval(of if isinstance(of, float) else self._of(variant, key, cell, of).value)
            for name, of in cell.metrics.items()
        }

    def _of(self, variant: Variant, key: CellKey, cell: CellSamples, values: Array) -> Interval:
        """The mean of other values of the cell's samples than their ticks."""
        if values.all() and np.ptp(values):
            return self.estimate(variant, key, replace(cell, ticks=values)).mean
        return Interval(*3 * (float(values.mean()),))

    def _signing(self, variant: Variant, set_name: str, cell: CellSamples) -> CellEstimate:
        inputs, shares, overlap = cell.inputs, None, 1.0
        if variant.runs:
            inputs = self.groups[set_name, cell.inputs[0]]
            overlap = variant.batch_size * len(cell.inputs) / len(inputs)
            begins = map(inputs.index, cell.inputs)
            shares = np.array([_shares(variant, len(inputs), begin) for begin in begins])
        unknown = [i for i in inputs if (set_name, i) not in self.traces]
        if unknown:
            raise LabError(f"input {unknown[0]} of {set_name}: signing needs its trace")
        return estimate_signing(
            cell,
            [self.traces[set_name, i] for i in inputs],
            RejectionModel.of(set_name),
            self.confidence,
            shares=shares,
            overlap=overlap,
            keys=None if variant.runs else [self.keys[set_name, i] for i in inputs],
            hardened=variant.is_hardened,
        )


def _shares(variant: Variant, size: int, begin: int) -> Array:
    """(size,) share of a run's operations that each of so many inputs has, in turn from one."""
    threads = variant.threads
    places = [
        (begin + place) % size
        for thread in range(threads)
        for place in positions(size, variant.batch_size, thread=thread, threads=threads)
    ]
    return np.bincount(places, minlength=size) / len(places)


# --- ratios ---


def ratio(estimate: CellEstimate, reference: CellEstimate, confidence: float = 0.95) -> Interval:
    """Ratio of two means, paired by round and by input where both have them.

    Rounds in common give log ratios, whose median is free of what both felt alike; what inputs in
    common do to both is no error of the ratio.
    """
    common = sorted(set(estimate.rounds) & set(reference.rounds))
    if estimate.level is None or reference.level is None or len(common) < 2:
        return quotient(estimate.mean, reference.mean)  # means have the ticks
    one = estimate.level[np.searchsorted(estimate.rounds, common)]
    other = reference.level[np.searchsorted(reference.rounds, common)]
    level = median_over_rounds(one - other)
    inner = of_inputs(estimate, reference, confidence)
    found = combine(inner.times(float(np.exp(level.value))), level, confidence)
    return with_ticks(found, estimate, reference).of_rounds(len(common))


def with_ticks(ratio: Interval, one: CellEstimate, other: CellEstimate) -> Interval:
    """Return the interval of the ratio of two costs with the ticks of their clocks."""
    step, over = (ratio.value * e.step / e.mean.value for e in (one, other))
    return with_tick(ratio, step, over)


def of_inputs(one: CellEstimate, other: CellEstimate, confidence: float) -> Interval:
    """The ratio of the means in the typical rounds, with the error of the inputs alone."""
    if one.inputs == other.inputs:
        if one.fit is not None and other.fit is not None:
            return quotient_of_inputs(one.fit, other.fit, confidence)
        if one.apart is not None and other.apart is not None:
            value = one.mean.value / other.mean.value
            return around(value, one.apart - other.apart, confidence)
    # A single run over a balanced group stands for all inputs: the other's error is left.
    return quotient(one.inner, other.inner)
