"""Which cells stand for an implementation: in a headline, an overview, a plot."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from mldsa_lab.estimate.fit import Fit
from mldsa_lab.estimate.measured_cell import MeasuredCell
from mldsa_lab.estimate.summary import Summary
from mldsa_lab.records import Variant
from mldsa_lab.sets import ALL_SETS, FAMILIES, PARAMETER_SETS, sets_of
from mldsa_lab.show.format import Unit, choose_unit
from mldsa_lab.show.variants import calls, headline_batch_size

SHOWN_OPERATIONS = (
    "sign", "verify", "encaps", "decaps", "keygen", "hash", "handshake", "accept", "lookup",
)  # fmt: skip
"""Operations in the order of a report: signing first, which differs most."""
MAIN_SET = "ML-DSA-65"
"""The set that a headline is of, where it was measured; else the first one."""


def measured_sets(summary: Summary) -> list[str]:
    """Return the ML-DSA sets that were measured, in canonical order."""
    present = {key[0] for key in summary.tables}
    return [s for s in PARAMETER_SETS if s in present]


def main_set(summary: Summary) -> str | None:
    """Return the set that stands for all; None where no ML-DSA was measured."""
    sets = measured_sets(summary)
    return MAIN_SET if MAIN_SET in sets else next(iter(sets), None)


def other_families(summary: Summary) -> list[str]:
    """Return the families beside ML-DSA that were measured."""
    present = {key[0] for key in summary.tables}
    return [f for f in FAMILIES if f != "ml-dsa" and present.intersection(sets_of(f))]


def shown_tables(summary: Summary) -> list[tuple[tuple[str, str, str], list[MeasuredCell]]]:
    """Return the tables of a summary in the order of a report."""
    places = {name: place for place, name in enumerate((*ALL_SETS, *SHOWN_OPERATIONS))}
    return sorted(summary.tables.items(), key=lambda of: (places[of[0][0]], places[of[0][1]]))


def unit_of(cells: Sequence[MeasuredCell]) -> Unit:
    """Return the unit in which the means of these cells are shown."""
    return choose_unit([c.cost for c in cells], cells[0].unit)


def fitted(summary: Summary, set_name: str) -> list[tuple[MeasuredCell, Fit]]:
    """Return the single signatures of a set that have a fit, fastest first."""
    return [(c, c.fit) for c in summary.table(set_name, "sign") if c.fit is not None]


def best_cells(cells: Iterable[MeasuredCell], key: str = "compact") -> list[MeasuredCell]:
    """Return the best variant of each implementation with this key form, the fastest first. Where
    both builds were measured, of the default ones: those are what a user of the library gets."""
    best: dict[str, MeasuredCell] = {}
    for cell in cells:
        if cell.variant.key == key and not cell.is_duplicate_build:
            best.setdefault(cell.variant.implementation, cell)
    return list(best.values())


def headline_cells(summary: Summary, set_name: str, operation: str) -> list[MeasuredCell]:
    """Return the best cell of each implementation and way of calling: single calls and batches of
    the headline's size, on one thread, in default builds where both were measured."""
    cells = [c for c in summary.cells if c.set == set_name and c.mean is not None]
    size = headline_batch_size(c.variant for c in cells)
    best: dict[tuple[str, str], MeasuredCell] = {}
    for cell in cells:
        v = cell.variant
        is_shown = v.batch_size == (size if v.mode == "batch" else 1) and v.threads == 1
        if cell.operation == operation and is_shown and not cell.is_duplicate_build:
            best.setdefault((v.implementation, calls(v)), cell)
    return list(best.values())


def is_expanded_only(summary: Summary, cell: MeasuredCell) -> bool:
    """Return whether this is its implementation's best cell of an operation that it does not
    announce with a compact key."""
    return _is_best_expanded(summary, cell) and not _compact(cell)


def is_excluded_compact(summary: Summary, cell: MeasuredCell) -> bool:
    """Return whether this is its implementation's best cell of an operation that was excluded with
    a compact key before it was measured."""
    record = summary.record
    bad = {gate.variant for gate in record.gates if gate.set == cell.set and not gate.passed}
    bad |= {f.variant for f in record.faults if f.concerns(cell.set, cell.operation)}
    return _is_best_expanded(summary, cell) and any(v.id in bad for v in _compact(cell))


def _is_best_expanded(summary: Summary, cell: MeasuredCell) -> bool:
    """Return whether this is its implementation's best single call, where none is with a compact
    key."""
    name = cell.variant.implementation
    single = [
        c for c in headline_cells(summary, cell.set, cell.operation)
        if c.variant.mode == "single" and c.variant.implementation == name
    ]  # fmt: skip
    return single[:1] == [cell] and all(c.variant.key != "compact" for c in single)


def _compact(cell: MeasuredCell) -> list[Variant]:
    """Return the variants with a compact key that its worker announces for the same."""
    return [
        v
        for v in cell.worker.variants
        if v.implementation == cell.variant.implementation
        and (v.key, v.runs) == ("compact", False)
        and cell.set in v.sets
        and cell.operation in v.operations
    ]
