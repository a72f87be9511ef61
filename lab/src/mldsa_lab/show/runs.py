"""Batches, threads and classical schemes as a reader meets them: one series for each variant."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from mldsa_lab.estimate.classical import Comparison
from mldsa_lab.estimate.summary import Row
from mldsa_lab.records import Variant, base_id
from mldsa_lab.sets import ALL_SETS, PARAMETER_SETS
from mldsa_lab.show.format import MISSING, Estimate, Unit, choose_unit, estimate
from mldsa_lab.show.view import SHOWN_OPERATIONS, View, is_run

RATIO_SIZE = 1000
"""The batch size whose ratio is told, where it was measured; else the largest."""
KEYS = {"compact": "many keys", "expanded": "one key"}
"""Which keys the operations of a run have, by the variant's key form."""


@dataclass(frozen=True, slots=True)
class Series:
    """A variant over batch sizes or numbers of threads. `rows`: by that number; `loop`: its
    single calls in a row, None where they were not measured or `rows` are such."""

    label: str
    colour: int
    key: str
    mode: str
    rows: dict[int, Row]
    loop: Row | None = None

    @property
    def keys(self) -> str:
        """Whether its operations share a key."""
        return KEYS[self.key]

    @property
    def calls(self) -> str:
        """How its operations are called, where `rows` are over threads."""
        size = next(iter(self.rows.values())).batch_size
        return f"batches of {size:,}" if self.mode == "batch" else "single"

    def last(self) -> Row | None:
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
        return RATIO_SIZE if RATIO_SIZE in self.sizes else max(self.sizes)

    def told(self, series: Series) -> Row | None:
        """The row that stands for a series."""
        return series.rows.get(self.ratio_size) if series.rows else series.loop

    def cost(self, row: Row | None) -> Estimate:
        """A row's cost of one operation in the table's unit."""
        if row is None:
            return Estimate(MISSING, "", "")
        return estimate(row.mean, row.mean_low, row.mean_high, self.unit)


@dataclass(frozen=True, slots=True)
class Threads:
    """Operations per second over numbers of threads, best first; `unit` divides them."""

    set: str
    operation: str
    unit: Unit
    counts: tuple[int, ...]
    series: tuple[Series, ...]

    def rate(self, row: Row | None) -> Estimate:
        """A row's operations per second, in the table's unit."""
        if row is None:
            return Estimate(MISSING, "", "")
        return estimate(row.per_second, row.per_second_low, row.per_second_high, self.unit)


def batches(view: View) -> list[Batches]:
    """A table for each set and operation of which batches were measured."""
    made = []
    for set_name, operation, rows in _cells(view, (r for r in view.summary.rows if r.threads == 1)):
        sizes = sorted({r.batch_size for r in rows if r.mode == "batch"})
        if not sizes:
            continue
        found = _series(view, rows, lambda r: r.batch_size)
        loops = {v: s.rows for (v, mode), s in found.items() if mode == "single"}
        listed = []
        for (base, mode), s in found.items():
            loop = next(iter(loops.get(base, {}).values()), None)
            if mode == "batch":
                listed.append(Series(s.label, s.colour, s.key, mode, s.rows, loop))
            elif (base, "batch") not in found:
                listed.append(Series(s.label, s.colour, s.key, mode, {}, loop))
        unit = choose_unit([r.mean for r in rows], rows[0].unit)
        table = Batches(set_name, operation, unit, tuple(sizes), ())
        listed.sort(key=lambda s: _mean(table.told(s)))
        made.append(Batches(set_name, operation, unit, tuple(sizes), tuple(listed)))
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


def _mean(row: Row | None) -> float:
    return row.mean if row is not None and row.mean is not None else float("inf")


def _rate(series: Series) -> float:
    row = series.last()
    return row.per_second or 0.0 if row is not None else 0.0


def _cells(view: View, rows: Iterable[Row]) -> list[tuple[str, str, list[Row]]]:
    """The rows of runs by set and operation, in the order of a report; nanoseconds alone."""
    found: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        if is_run(row) and row.mean is not None and row.unit == "ns":
            found.setdefault((row.set, row.operation), []).append(row)
    return [
        (set_name, operation, found[set_name, operation])
        for set_name in ALL_SETS
        for operation in SHOWN_OPERATIONS
        if (set_name, operation) in found
    ]


def _series(
    view: View, rows: Sequence[Row], number: Callable[[Row], int]
) -> dict[tuple[str, str], Series]:
    """Series by base variant and mode."""
    variants: dict[str, Variant] = {
        v.id: v for worker in view.record.workers for v in worker.variants
    }
    found: dict[tuple[str, str], Series] = {}
    for row in sorted(rows, key=number):
        base = variants[row.variant].base
        label = view.labels.get(base, base)
        series = found.setdefault(
            (base, row.mode),
            Series(label, view.colours.get(row.implementation, 0), row.key, row.mode, {}),
        )
        series.rows[number(row)] = row
    return found


@dataclass(frozen=True, slots=True)
class Versus:
    """An ML-DSA variant beside classical schemes: its cost, and its ratio to each of them."""

    set: str
    operation: str
    label: str
    how: str
    cost: str
    ratios: tuple[Estimate | None, ...]


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
    found: dict[tuple[str, str, str], dict[tuple[str, str], Comparison]] = {}
    for c in compared:
        found.setdefault((c.set, c.operation, c.variant), {})[c.scheme, c.against] = c
    rows = {(r.set, r.operation, r.variant): r for r in view.summary.rows}
    order = sorted(
        found,
        key=lambda k: (
            list(PARAMETER_SETS).index(k[0]), SHOWN_OPERATIONS.index(k[1]), -_mean(rows[k]),
        ),
    )  # fmt: skip
    made = []
    for key in order:
        row = rows[key]
        how = "expanded key" if row.key == "expanded" else "compact key"
        if row.mode == "batch":
            how = f"batch of {row.batch_size:,}, {KEYS[row.key]}"
        unit = choose_unit([row.mean], row.unit)
        cost = estimate(row.mean, row.mean_low, row.mean_high, unit)
        ratios = tuple(
            estimate(c.ratio.value, c.ratio.low, c.ratio.high) if c else None
            for c in (found[key].get(scheme) for scheme in schemes)
        )
        base = base_id(row.variant)
        label = view.labels.get(base, base)
        made.append(Versus(key[0], key[1], label, how, f"{cost.value} {unit.name}", ratios))
    labels = [view.labels.get(against, against) for _, against in schemes]
    names = [
        label if labels.count(label) == 1 and scheme.lower().split("-")[-1] in label
        else f"{scheme} {label}"
        for (scheme, _), label in zip(schemes, labels, strict=True)
    ]  # fmt: skip
    return Beside(tuple(names), tuple(scheme for scheme, _ in schemes), tuple(made))


def sentences(view: View) -> list[str]:
    """What batches and threads found, in sentences; none where they were not measured."""
    made = []
    for table in batches(view):
        size = table.ratio_size
        measured = (s for s in table.series if size in s.rows and not s.rows[size].again)
        best = next(measured, None)
        if best is None or table.operation not in ("sign", "verify"):
            continue
        row = best.rows[size]
        noun = {"sign": "signature", "verify": "verification"}[table.operation]
        text = (
            f"In batches of {table.ratio_size:,} with {best.keys} a {noun} of {table.set} costs "
            f"{table.cost(row).value}\N{NO-BREAK SPACE}{table.unit.name} with {best.label}"
        )
        if row.ratio is not None and row.ratio != 1.0:
            ratio = estimate(row.ratio, row.ratio_low, row.ratio_high).value
            text += f", {ratio} times {view.summary.reference}"
        made.append(text + ".")
    scalings = [
        r.scaling for t in threads(view) for s in t.series
        if (r := s.last()) is not None and r.threads == max(t.counts) and r.scaling is not None
    ]  # fmt: skip
    if scalings:
        most = max(max(t.counts) for t in threads(view))
        ordered = sorted(scalings)
        made.append(
            f"{most} threads do {ordered[len(ordered) // 2]:.2f} times the work of one "
            f"(the middle of {len(ordered)} series; from {ordered[0]:.2f} to {ordered[-1]:.2f})."
        )
    return made
