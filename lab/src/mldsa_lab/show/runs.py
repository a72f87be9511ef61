"""Batches and threads as a reader meets them: one series for each variant."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from mldsa_lab.estimate.summary import SummaryRow
from mldsa_lab.records import Variant
from mldsa_lab.sets import ALL_SETS
from mldsa_lab.show.format import Unit, choose_unit
from mldsa_lab.show.view import KEYS, SHOWN_OPERATIONS, View, is_run, label_of

RATIO_SIZE = 1000
"""The batch size whose figures stand for all, where it was measured; else the largest."""


@dataclass(frozen=True, slots=True)
class Series:
    """A variant over batch sizes or numbers of threads. `rows`: by that number; `loop`: its
    single calls in a row, None where they were not measured or `rows` are such."""

    label: str
    colour: int
    key: str
    mode: str
    rows: dict[int, SummaryRow]
    loop: SummaryRow | None = None

    @property
    def keys(self) -> str:
        """Whether its operations share a key."""
        return KEYS[self.key]

    @property
    def calls(self) -> str:
        """How its operations are called, where `rows` are over threads."""
        size = next(iter(self.rows.values())).batch_size
        return f"batches of {size:,}" if self.mode == "batch" else "single"

    def last(self) -> SummaryRow | None:
        """The row of the largest number."""
        return self.rows[max(self.rows)] if self.rows else None


@dataclass(frozen=True, slots=True)
class RunTable:
    """The cost of an operation over batch size, or operations per second over numbers of threads;
    best first, those without a batch interface last. `unit` divides the figures."""

    set: str
    operation: str
    unit: Unit
    numbers: tuple[int, ...]
    series: tuple[Series, ...]

    @property
    def ratio_size(self) -> int:
        """The batch size whose ratio is told."""
        return told_size(self.numbers)

    def told(self, series: Series) -> SummaryRow | None:
        """The row over batch sizes that stands for a series."""
        return series.rows.get(self.ratio_size) if series.rows else series.loop


def told_size(sizes: Iterable[int]) -> int:
    """The batch size that stands for all; 0 where there is none."""
    known = list(sizes)
    return RATIO_SIZE if RATIO_SIZE in known else max(known, default=0)


def batches(view: View) -> list[RunTable]:
    """A table for each set and operation of which batches were measured."""
    made = []
    for set_name, operation, rows in _cells(view, (r for r in view.summary.rows if r.threads == 1)):
        sizes = tuple(sorted({r.batch_size for r in rows if r.mode == "batch"}))
        if not sizes:
            continue
        found = _series(view, rows, lambda r: r.batch_size)
        loops = {v: s.rows for (v, mode), s in found.items() if mode == "single"}
        listed = []
        for (base, mode), s in found.items():
            loop = next(iter(loops.get(base, {}).values()), None)
            if mode == "batch" or (base, "batch") not in found:
                sized = s.rows if mode == "batch" else {}
                listed.append(Series(s.label, s.colour, s.key, mode, sized, loop))
        unit = choose_unit([r.mean for r in rows], "ns")
        table = RunTable(set_name, operation, unit, sizes, ())
        listed.sort(key=lambda s: _mean(table.told(s)))
        made.append(replace(table, series=tuple(listed)))
    return made


def threads(view: View) -> list[RunTable]:
    """A table for each set and operation of which several threads were measured."""
    made = []
    measured = (r for r in view.summary.rows if r.per_second is not None)
    for set_name, operation, rows in _cells(view, measured):
        found = _series(view, rows, lambda r: r.threads)
        counts = tuple(sorted({r.threads for r in rows}))
        listed = sorted(found.values(), key=lambda s: -_rate(s))
        smallest = min(r.per_second or 1.0 for r in rows)
        unit = Unit(1e3, "thousand per second") if smallest >= 100 else Unit(1.0, "per second")
        made.append(RunTable(set_name, operation, unit, counts, tuple(listed)))
    return made


def scaling(view: View) -> str:
    """What threads do together, in a sentence; empty where they were not measured."""
    found = threads(view)
    known = sorted(
        r.scaling for t in found for s in t.series
        if (r := s.last()) is not None and r.threads == max(t.numbers) and r.scaling is not None
    )  # fmt: skip
    if not known:
        return ""
    return (
        f"{max(max(t.numbers) for t in found)} threads do {known[len(known) // 2]:.2f} times the "
        f"work of one (the middle of {len(known)} series; from {known[0]:.2f} to {known[-1]:.2f})."
    )


def _mean(row: SummaryRow | None) -> float:
    return row.mean if row is not None and row.mean is not None else float("inf")


def _rate(series: Series) -> float:
    row = series.last()
    return row.per_second or 0.0 if row is not None else 0.0


def _cells(view: View, rows: Iterable[SummaryRow]) -> list[tuple[str, str, list[SummaryRow]]]:
    """The rows of runs by set and operation, in the order of a report; nanoseconds alone."""
    found: dict[tuple[str, str], list[SummaryRow]] = defaultdict(list)
    for row in rows:
        if is_run(row) and row.mean is not None and row.unit == "ns":
            found[row.set, row.operation].append(row)
    return [
        (set_name, operation, found[set_name, operation])
        for set_name in ALL_SETS
        for operation in SHOWN_OPERATIONS
        if (set_name, operation) in found
    ]


def _series(
    view: View, rows: Sequence[SummaryRow], number: Callable[[SummaryRow], int]
) -> dict[tuple[str, str], Series]:
    """Series by base variant and mode."""
    variants: dict[str, Variant] = {v.id: v for w in view.record.workers for v in w.variants}
    found: dict[tuple[str, str], Series] = {}
    for row in sorted(rows, key=number):
        base, colour = variants[row.variant].base, view.colours.get(row.implementation, 0)
        new = Series(label_of(view, base), colour, row.key, row.mode, {})
        found.setdefault((base, row.mode), new).rows[number(row)] = row
    return found
