"""The samples of a record, gathered by variant, set and operation."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from mldsa_lab.records import METRICS, Record, Samples, Variant
from mldsa_lab.theory.arrays import Array, Flags, Ints

CellKey = tuple[str, str, str]
"""Variant id, set, operation."""


@dataclass(frozen=True)
class CellSamples:
    """All samples of one cell, in ticks of the worker's unit per operation.

    ``ticks``, ``round_of``, ``input_of``: (samples,), the latter two as positions in ``rounds``
    (ascending) and ``inputs`` (ascending ids; of runs the first ones). ``single_calls``: each
    sample timed one operation.
    ``clock``: "cpu" or "wall", the one the ticks are from. ``dropped``: samples of zero ticks,
    left out. ``phases``: (samples,) each, the parts of the ticks by name. ``metrics``: by name
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
    dropped: int
    phases: dict[str, Array] = field(default_factory=dict)
    metrics: Mapping[str, Array | float] = field(default_factory=dict)

    def table(self) -> Array:
        """Median over the passes of each round and input, shape (rounds, inputs); NaN where
        there is none."""
        size = len(self.inputs)
        groups = self.round_of * size + self.input_of
        order = np.lexsort((self.ticks, groups))
        ticks = self.ticks[order]
        present, start, count = np.unique(groups[order], return_index=True, return_counts=True)
        table = np.full(len(self.rounds) * size, np.nan)
        table[present] = (ticks[start + (count - 1) // 2] + ticks[start + count // 2]) / 2
        return table.reshape(len(self.rounds), size)


def gather(record: Record, clock: str) -> dict[CellKey, CellSamples]:
    """All cells with at least one usable sample, in the order of the record.

    ``clock`` "cpu" takes thread CPU time where every sample of the cell has it, else wall time;
    of several threads always wall time, which is what they share.
    """
    variants = record.variants
    rows: dict[CellKey, list[Samples]] = defaultdict(list)
    for samples in record.samples:
        if samples.shape:
            continue  # not single calls of a process that is warm
        rows[samples.variant, samples.set, samples.operation].append(samples)
    cells = {key: _cell(of_cell, clock, variants[key[0]][0]) for key, of_cell in rows.items()}
    return {key: cell for key, cell in cells.items() if len(cell.ticks)}


def _cell(rows: Sequence[Samples], clock: str, variant: Variant) -> CellSamples:
    use_cpu = clock == "cpu" and variant.threads == 1 and all(r.cpu is not None for r in rows)
    per_call = variant.per_call
    ticks = np.concatenate(
        [
            np.asarray(row.cpu if use_cpu else row.wall, dtype=np.float64) / (row.calls * per_call)
            for row in rows
        ]
    )
    rounds = np.repeat([row.round for row in rows], [len(row.inputs) for row in rows])
    inputs = np.concatenate([np.asarray(row.inputs, dtype=np.int64) for row in rows])
    # A clock too coarse to see the call gives 0: no cost, and no logarithm.
    good = ticks > 0
    round_ids, round_of = np.unique(rounds[good], return_inverse=True)
    input_ids, input_of = np.unique(inputs[good], return_inverse=True)
    return CellSamples(
        rounds=tuple(int(r) for r in round_ids),
        inputs=tuple(int(i) for i in input_ids),
        ticks=ticks[good],
        round_of=round_of.astype(np.int64),
        input_of=input_of.astype(np.int64),
        single_calls=per_call == 1 and all(row.calls == 1 for row in rows),
        clock="cpu" if use_cpu else "wall",
        dropped=int((~good).sum()),
        phases={
            name: np.concatenate([np.asarray(row.phases[name]) / row.calls for row in rows])[good]
            for name in (rows[0].phases if not use_cpu else ())
        },
        metrics=_metrics(rows, per_call, good),
    )


def _metrics(rows: Sequence[Samples], per_call: int, good: Flags) -> dict[str, Array | float]:
    """Return each metric that every row has, of the samples that are ``good`` where each has its
    own value."""
    found: dict[str, Array | float] = {}
    for name, (_, of) in METRICS.items():
        if not all(name in row.metrics for row in rows):
            continue
        if all(len(row.metrics[name]) == len(row.inputs) for row in rows):
            values = [of * np.asarray(r.metrics[name]) / (r.calls * per_call) for r in rows]
            found[name] = np.concatenate(values)[good]
        else:
            operations = sum(row.calls * per_call * len(row.inputs) for row in rows)
            found[name] = of * sum(sum(row.metrics[name]) for row in rows) / operations
    return found
