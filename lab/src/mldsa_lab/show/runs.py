"""Batches and threads as a reader meets them: one series for each variant."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from mldsa_lab.estimate.ratio import Comparison
from mldsa_lab.estimate.summary import SummaryRow
from mldsa_lab.records import Variant
from mldsa_lab.sets import ALL_SETS, PARAMETER_SETS
from mldsa_lab.show.format import Shown, Unit, choose_unit, estimate
from mldsa_lab.show.view import KEYS, SHOWN_OPERATIONS, View, cost, how, is_run, label_of

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
class Batches:
    """Cost of an operation over batch size, best first, those without a batch interface last."""

    set: str
    operation: str
    unit: Unit
    sizes: tuple[int, ...]
    series: tuple[Series, ...]

    @property
    def ratio_size(self) -> int:
        """The size whose ratio is told."""
        return told_size(self.sizes)

    def told(self, series: Series) -> SummaryRow | None:
        """The row that stands for a series."""
        return series.rows.get(self.ratio_size) if series.rows else series.loop


@dataclass(frozen=True, slots=True)
class Threads:
    """Operations per second over numbers of threads, best first; `unit` divides them."""

    set: str
    operation: str
    unit: Unit
    counts: tuple[int, ...]
    series: tuple[Series, ...]

    def rate(self, row: SummaryRow | None) -> Shown:
        """A row's operations per second, in the table's unit."""
        return cost(row, self.unit, "per_second")


def told_size(sizes: Iterable[int]) -> int:
    """The batch size that stands for all; 0 where there is none."""
    known = list(sizes)
    return RATIO_SIZE if RATIO_SIZE in known else max(known, default=0)


def batches(view: View) -> list[Batches]:
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
        table = Batches(set_name, operation, choose_unit([r.mean for r in rows], "ns"), sizes, ())
        listed.sort(key=lambda s: _mean(table.told(s)))
        made.append(Batches(set_name, operation, table.unit, sizes, tuple(listed)))
    return made


def threads(view: View) -> list[Threads]:
    """A table for each set and operation of which several threads were measured."""
    made = []
    measured = (r for r in view.summary.rows if r.per_second is not None)
    for set_name, operation, rows in _cells(view, measured):
        found = _series(view, rows, lambda r: r.threads)
        counts = tuple(sorted({r.threads for r in rows}))
        listed = sorted(found.values(), key=lambda s: -_rate(s))
        smallest = min(r.per_second or 1.0 for r in rows)
        unit = Unit(1e3, "thousand per second") if smallest >= 100 else Unit(1.0, "per second")
        made.append(Threads(set_name, operation, unit, counts, tuple(listed)))
    return made


def scaling(view: View) -> str:
    """What threads do together, in a sentence; empty where they were not measured."""
    found = threads(view)
    known = sorted(
        r.scaling for t in found for s in t.series
        if (r := s.last()) is not None and r.threads == max(t.counts) and r.scaling is not None
    )  # fmt: skip
    if not known:
        return ""
    return (
        f"{max(max(t.counts) for t in found)} threads do {known[len(known) // 2]:.2f} times the "
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


@dataclass(frozen=True, slots=True)
class Versus:
    """An ML-DSA variant beside classical schemes: its cost, and its ratio to each of them."""

    set: str
    operation: str
    label: str
    how: str
    cost: Shown
    unit: str
    ratios: tuple[Shown | None, ...]


@dataclass(frozen=True, slots=True)
class Beside:
    """The classical implementations, by name and by scheme, and what stands beside them."""

    names: tuple[str, ...]
    schemes: tuple[str, ...]
    rows: tuple[Versus, ...]


def versus(view: View) -> Beside:
    """The classical implementations, and the cheapest ML-DSA variants of each kind beside them."""
    compared = view.summary.classical
    schemes = list(dict.fromkeys((c.scheme, c.against) for c in compared))
    schemes.sort(key=lambda s: ALL_SETS.index(s[0]))
    found: dict[tuple[str, str, str], dict[tuple[str, str], Comparison]] = defaultdict(dict)
    for c in compared:
        found[c.set, c.operation, c.variant][c.scheme, c.against] = c
    rows = {(r.set, r.operation, r.variant): r for r in view.summary.rows}
    sets = list(PARAMETER_SETS)
    made = []
    for key in sorted(
        found, key=lambda k: (sets.index(k[0]), SHOWN_OPERATIONS.index(k[1]), -_mean(rows[k]))
    ):
        row = rows[key]
        unit = choose_unit([row.mean], row.unit)
        ratios = tuple(
            estimate(c.ratio) if c else None for c in (found[key].get(scheme) for scheme in schemes)
        )
        label = label_of(view, row.variant)
        made.append(Versus(key[0], key[1], label, how(row), cost(row, unit), unit.name, ratios))
    labels = [view.labels.get(against, against) for _, against in schemes]
    names = [
        label if labels.count(label) == 1 and scheme.lower().split("-")[-1] in label
        else f"{scheme} {label}"
        for (scheme, _), label in zip(schemes, labels, strict=True)
    ]  # fmt: skip
    return Beside(tuple(names), tuple(scheme for scheme, _ in schemes), tuple(made))
