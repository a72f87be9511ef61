"""The samples of a record, gathered by variant, set and operation."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from mldsa_lab.records import METRICS, Record, Samples, Variant, WorkerRow
from mldsa_lab.records.clock import find_tick
from mldsa_lab.theory.arrays import Array, Ints

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
