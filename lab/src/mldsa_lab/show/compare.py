"""Several runs side by side: what they have in common and how far they agree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from mldsa_lab.sets import PARAMETER_SETS
from mldsa_lab.show.format import UNKNOWN, Shown, choose_unit
from mldsa_lab.show.view import SHOWN_OPERATIONS, TableLine, View, cost


@dataclass(frozen=True, slots=True)
class Compared:
    """One variant over several runs, unknown where a run lacks it; `change` is the last run's
    mean over the first's, and `ratio_change` the same for the ratio (None for the reference).
    `overlap` tells whether all intervals of the mean share a point; None for fewer than two."""

    label: str
    colour: int
    hollow: bool
    means: tuple[Shown, ...]
    ratios: tuple[Shown, ...]
    overlap: bool | None
    change: float | None
    ratio_change: float | None


@dataclass(frozen=True, slots=True)
class RecordComparison:
    """One set and operation over several runs."""

    set: str
    operation: str
    unit: str
    rows: tuple[Compared, ...]


def compare(views: Sequence[View]) -> list[RecordComparison]:
    """What several runs measured, ranked by the best mean of each variant."""
    sets = list(dict.fromkeys(s for v in views for s in (*v.sets, *v.classical_sets)))
    made = (_compared(views, s, operation) for s in sets for operation in SHOWN_OPERATIONS)
    return [c for c in made if c is not None]


def _compared(views: Sequence[View], set_name: str, operation: str) -> RecordComparison | None:
    found: dict[str, list[TableLine | None]] = {}
    for index, view in enumerate(views):
        for table in view.of(set_name):
            for line in table.lines if table.operation == operation else ():
                found.setdefault(line.row.variant, [None] * len(views))[index] = line
    units = {n.row.unit for lines in found.values() for n in lines if n}
    if len(units) != 1:  # nothing, or clocks that cannot be compared
        return None
    unit = choose_unit([n.row.mean for lines in found.values() for n in lines if n], units.pop())
    ranked = sorted(
        found.values(), key=lambda lines: min(n.row.mean or 0.0 for n in lines if n is not None)
    )
    rows = []
    for lines in ranked:
        present = [n for n in lines if n]
        start, end = lines[0], lines[-1]
        change = ratio_change = None
        if start and end:
            change = _quotient(end.row.mean, start.row.mean)
            if not (start.is_reference and end.is_reference):
                ratio_change = _quotient(end.row.ratio, start.row.ratio)
        rows.append(
            Compared(
                present[0].label, present[0].colour, present[0].row.key == "expanded",
                tuple(cost(n.row, unit) if n else UNKNOWN for n in lines),
                tuple(n.ratio if n else UNKNOWN for n in lines),
                _overlap(present), change, ratio_change,
            )
        )  # fmt: skip
    return RecordComparison(set_name, operation, unit.name, tuple(rows))


def agreement(compared: Sequence[RecordComparison]) -> list[str]:
    """How far the runs agree on signing, in sentences; none if nothing is common."""
    signing = [c for c in compared if c.operation == "sign" and c.set in PARAMETER_SETS]
    rows = [row for c in signing for row in c.rows]
    sentences = []
    known = [r.overlap for r in rows if r.overlap is not None]
    if known:
        sentences.append(
            "The intervals of the mean signing cost have a point in common in all runs for "
            f"{sum(known)} of {len(known)} pairs of implementation and set."
        )
    changes = [abs(r.ratio_change - 1) for r in rows if r.ratio_change is not None]
    if changes:
        middle, most = (
            f"{100 * c:.1f}\N{NO-BREAK SPACE}%" for c in (median(changes), max(changes))
        )
        sentences.append(
            "From the first run to the last the ratios to the reference change by "
            f"{middle} in the median and {most} at most."
        )
    return sentences


def _quotient(a: float | None, b: float | None) -> float | None:
    return a / b if a and b else None


def _overlap(lines: Sequence[TableLine]) -> bool | None:
    lows = [n.row.mean_low for n in lines if n.row.mean_low is not None]
    highs = [n.row.mean_high for n in lines if n.row.mean_high is not None]
    if len(lows) < 2 or len(highs) < 2:
        return None
    return max(lows) <= min(highs)
