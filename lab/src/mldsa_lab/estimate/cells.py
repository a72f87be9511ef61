"""The samples of a record by cell (variant, set, operation), estimates from them, and ratios."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from mldsa_lab import LabError
from mldsa_lab.estimate.diagnose import contradictions
from mldsa_lab.estimate.fit import Fit, fit_costs, quotient_of_inputs, split_levels
from mldsa_lab.estimate.interval import (
    Interval,
    combine,
    interval_from_deviations,
    mean_over_rounds,
    median_over_rounds,
    quotient,
)
from mldsa_lab.estimate.misfit import Remark
from mldsa_lab.machine import find_tick
from mldsa_lab.records import METRICS, Record, Samples, Variant, WorkerRow
from mldsa_lab.sets import PERCENTILES
from mldsa_lab.theory.law import MEAN
from mldsa_lab.theory.rejection import RejectionModel
from mldsa_lab.theory.trace import Array, Ints, Trace

# Samples.


CellKey = tuple[str, str, str]
"""Variant id, set, operation."""
LARGEST_TICK = 0.05
"""The largest tick of a clock, as a share of a mean sample, that allows an estimate. Also the
largest share of samples that may read 0."""
NOTED_TICK = 0.01
"""The share from which on a tick is noted."""
_CLOCKS = {"cpu": "CPU clock", "wall": "wall clock"}


@dataclass(frozen=True)
class CellSamples:
    """All samples of one cell, in ticks of the worker's unit per operation.

    ``ticks``, ``round_of``, ``input_of``: (samples,), the latter two as positions in ``rounds``
    (ascending) and ``inputs`` (ascending ids; of runs the first ones). ``single_calls``: each
    sample timed one operation. ``clock``: "cpu" or "wall", the one the ticks are from. ``step``:
    the tick of that clock as a cost per operation, 0 where it is too small to be seen. ``notes``:
    caveats about the clocks; ``flaw``: why no cost can be estimated from them, empty where one can.
    ``phases``: (samples,) each, the parts of the ticks by name. ``metrics``: by name (`METRICS`) a
    value per operation for each sample, (samples,). A visit that was counted as a whole has the
    mean over all operations.
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

    ``clock`` "cpu" takes thread CPU time if every sample of the cell has it and its tick is small
    enough (`LARGEST_TICK`), else wall time. Several threads always have wall time, which they
    share.
    """
    variants = record.variants
    rows: dict[CellKey, list[Samples]] = defaultdict(list)
    for samples in record.samples:
        if samples.shape:
            continue  # not single calls of a process that is warm
        rows[samples.variant, samples.set, samples.operation].append(samples)
    ticks = _ticks(record, [row for own in rows.values() for row in own])
    cells = {
        key: _cell(own, clock, *variants[key[0]], ticks[variants[key[0]][1].worker])
        for key, own in rows.items()
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
        worker: {name: find_tick(ticks) for name, ticks in clocks.items() if ticks}
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
        """Yield caveats about the readings."""
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
    metrics: dict[str, Array | float] = {}
    for name, (_, factor) in METRICS.items():
        if not all(name in row.metrics for row in rows):
            continue
        if all(len(row.metrics[name]) == len(row.inputs) for row in rows):
            values = [factor * np.asarray(r.metrics[name]) / (r.calls * per_call) for r in rows]
            metrics[name] = np.concatenate(values)
        else:
            operations = sum(row.calls * per_call * len(row.inputs) for row in rows)
            metrics[name] = factor * sum(sum(row.metrics[name]) for row in rows) / operations
    return metrics


# Estimates.


SPREAD: dict[str, Callable[[Array], float]] = {
    "min": lambda calls: float(calls.min()),
    "max": lambda calls: float(calls.max()),
    "sd": lambda calls: float(calls.std(ddof=1)),
}
"""The figures of the spread of single calls."""

# From this many runs of different mean traces on they are regressed on these.
_RUNS_FOR_REGRESSION = 8
# Mean iterations of runs that differ from the expected ones by more are remarked upon.
_RUNS_OFF = 0.005


@dataclass(frozen=True)
class CellEstimate:
    """Estimates of one cell, in ticks of the worker's unit per operation.

    ``inner``: the mean with the error of the choice of inputs only. ``quantiles``: those that the
    data support. ``level``: (rounds,) logarithm of each round's speed, None where rounds cannot be
    compared. ``deviations``: (inputs,) relative distance of each input from the mean, where inputs
    are a plain sample. ``fit``: the regression on the traces of single signatures or of runs.
    ``notes``: remarks for the reader; ``holds``: False where the costs contradict the traces.
    """

    samples: CellSamples
    mean: Interval
    inner: Interval
    quantiles: dict[float, Interval]
    level: Array | None = None
    deviations: Array | None = None
    fit: Fit | None = None
    notes: tuple[str, ...] = ()
    holds: bool = True

    @property
    def rounds(self) -> tuple[int, ...]:
        """The rounds of its samples, ascending."""
        return self.samples.rounds

    @property
    def inputs(self) -> tuple[int, ...]:
        """The inputs of its samples, ascending ids."""
        return self.samples.inputs


def _finish(estimate: CellEstimate) -> CellEstimate:
    """Add the tick of the clock and the notes of the samples; drop the limits where rounds are too
    few (`Interval.of_rounds`)."""

    def limited(interval: Interval) -> Interval:
        return with_tick(interval, estimate.samples.step).of_rounds(len(estimate.rounds))

    return replace(
        estimate,
        mean=limited(estimate.mean),
        quantiles={p: limited(quantile) for p, quantile in estimate.quantiles.items()},
        notes=(*estimate.samples.notes, *estimate.notes),
    )


def with_tick(interval: Interval, step: float, over: float = 0.0) -> Interval:
    """Return the interval of a cost with the tick ``step`` of its clock. For a ratio ``over`` is
    the tick of its denominator, and both ticks are parts of the ratio.

    A clock that truncates reads up to a tick less than the time that passed, the same in every
    sample. A clock that rounds, and a median of truncated readings, are off by at most half a tick.
    No number of samples shows that, so it is added and not taken in quadrature.
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
    """Estimate deterministic signing on inputs of known ``traces``, one for each of
    ``cell.inputs``. With ``shares`` they are the first inputs of runs of several operations, which
    take inputs in turn.

    The cost of each input in the typical round is regressed on its trace. The estimate is the
    regression at the exact expectations; percentiles are from the exact distribution.
    `mldsa_lab.estimate.fit` explains ``shares``, ``overlap``, ``keys`` and ``hardened``. Few
    different runs are averaged, with a remark where their traces are not the expected ones on
    average. A run shows no single operation, so it has no percentiles.
    """
    if shares is not None:
        means = 1 + shares @ np.array([len(trace) - 1 for trace in traces])
        different = len(np.unique(np.round(means, 9)))
        if len(means) < _RUNS_FOR_REGRESSION or different < _RUNS_FOR_REGRESSION // 2:
            plain = estimate_plain(cell, confidence, overlap)
            off = float(means.mean()) / model.expected_iterations - 1
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
        percentiles = PERCENTILES.values()
        costs = fit.quantiles([share_of(p) for p in percentiles], confidence)
        quantiles = {p: i for p, i in zip(percentiles, costs, strict=True) if i.value > 0}
        remarks = contradictions(fit, cell.inputs)
    if mean.value <= 0:
        raise LabError("signing cost: the fitted cost is zero at the mean")
    inner = fit.inner(np.eye(len(fit.coefficients))[MEAN], confidence)
    notes, holds = tuple(r.text for r in remarks), all(r.severity != "error" for r in remarks)
    level = fit.typical.level
    return _finish(
        CellEstimate(cell, mean, inner, quantiles, level, fit=fit, notes=notes, holds=holds)
    )


def estimate_plain(
    cell: CellSamples, confidence: float = 0.95, overlap: float = 1.0
) -> CellEstimate:
    """Estimate operations whose cost hardly depends on the input: key generation, verification, and
    classical signatures.

    The mean over inputs of each input's cost in the typical round; inputs and rounds are the two
    random factors of its interval. Percentiles are from the samples, noise of the machine included
    (`sample_quantiles`). ``overlap`` as for `estimate_signing`.
    """
    levels = split_levels(cell.table())
    mean = float(levels.typical.mean())
    deviations = math.sqrt(max(overlap, 1.0)) * (levels.typical / mean - 1)
    inner = interval_from_deviations(mean, deviations, confidence)
    whole = combine(inner, median_over_rounds(levels.level), confidence)
    return _finish(
        CellEstimate(cell, whole, inner, sample_quantiles(cell), levels.level, deviations)
    )


def estimate_random(cell: CellSamples, confidence: float = 0.95) -> CellEstimate:
    """Estimate operations whose cost is random from call to call: signers that draw their own rnd,
    and RSA key generation.

    The plain mean: the long tail is part of the cost, so that trimming it, or taking medians,
    would bias the mean low. Percentiles as for `estimate_plain`.
    """
    mean = mean_over_rounds(cell.ticks, cell.round_of, confidence)
    return _finish(CellEstimate(cell, mean, mean, sample_quantiles(cell)))


def sample_quantiles(cell: CellSamples) -> dict[float, Interval]:
    """Return quantiles of the samples that at least five samples lie beyond. Quantiles above the
    median need single calls in every sample: averages have no tail."""
    return {
        p: Interval(float(np.quantile(cell.ticks, share_of(p))))
        for p in percentiles_of(len(cell.ticks), beyond=5)
        if cell.single_calls or p <= 50
    }


def percentiles_of(calls: int, beyond: int = 1) -> list[float]:
    """Return the percentiles that at least ``beyond`` of so many calls lie above."""
    return [p for p in PERCENTILES.values() if calls * (1 - share_of(p)) >= beyond]


def share_of(percentile: float) -> float:
    """Return a percentile as a share: 0.999 for 99.9, whose hundredth is the next number."""
    return round(percentile / 100, 9)


# Ratios.


def ratio(estimate: CellEstimate, baseline: CellEstimate, confidence: float = 0.95) -> Interval:
    """Return the ratio of two means, paired by round and by input where both have them.

    Rounds in common give log ratios, whose median is free of common drifts. A common choice of
    inputs is no error of the ratio.
    """
    common = sorted(set(estimate.rounds) & set(baseline.rounds))
    if estimate.level is None or baseline.level is None or len(common) < 2:
        return quotient(estimate.mean, baseline.mean)  # means have the ticks
    one = estimate.level[np.searchsorted(estimate.rounds, common)]
    other = baseline.level[np.searchsorted(baseline.rounds, common)]
    level = median_over_rounds(one - other)
    inner = ratio_over_inputs(estimate, baseline, confidence)
    paired = combine(inner.times(float(np.exp(level.value))), level, confidence)
    return with_ticks(paired, estimate, baseline).of_rounds(len(common))


def with_ticks(ratio: Interval, one: CellEstimate, other: CellEstimate) -> Interval:
    """Return the interval of the ratio of two costs with the ticks of their clocks."""
    step, over = (ratio.value * e.samples.step / e.mean.value for e in (one, other))
    return with_tick(ratio, step, over)


def ratio_over_inputs(one: CellEstimate, other: CellEstimate, confidence: float) -> Interval:
    """Return the ratio of the means in the typical rounds, with the error of the inputs only."""
    if one.inputs == other.inputs:
        if one.fit is not None and other.fit is not None:
            return quotient_of_inputs(one.fit, other.fit, confidence)
        if one.deviations is not None and other.deviations is not None:
            value = one.mean.value / other.mean.value
            return interval_from_deviations(value, one.deviations - other.deviations, confidence)
    # A single run over a balanced group represents all inputs: the other's error is left.
    return quotient(one.inner, other.inner)
