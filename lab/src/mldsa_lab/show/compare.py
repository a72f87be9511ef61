"""Several runs side by side: what they have in common and how far they agree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from mldsa_lab.estimate.summary import Row
from mldsa_lab.sets import PARAMETER_SETS
from mldsa_lab.show.format import MISSING, Unit, aligned, choose_unit, estimate
from mldsa_lab.show.view import SHOWN_OPERATIONS, Line, View


@dataclass(frozen=True, slots=True)
class Cell:
    """One variant in one run: value and text of its mean and ratio, and the mean's interval."""

    mean: float | None
    mean_text: str
    interval: str
    ratio: float | None
    ratio_text: str


@dataclass(frozen=True, slots=True)
class ComparedRow:
    """One variant over several runs; `change` is the last run's mean over the first's, and
    `ratio_change` the same for the ratio (None for the reference). `overlap` tells whether all
    intervals of the mean share a point; None for fewer than two."""

    label: str
    colour: int
    hollow: bool
    cells: tuple[Cell, ...]
    overlap: bool | None
    change: float | None
    ratio_change: float | None


@dataclass(frozen=True, slots=True)
class Compared:
    """One set and operation over several runs."""

    set: str
    operation: str
    unit: str
    rows: tuple[ComparedRow, ...]


def compare(views: Sequence[View]) -> list[Compared]:
    """What several runs measured, ranked by the best mean of each variant."""
    sets = list(dict.fromkeys(s for v in views for s in (*v.sets, *v.classical_sets)))
    made = (_compared(views, s, operation) for s in sets for operation in SHOWN_OPERATIONS)
    return [c for c in made if c is not None]


def _compared(views: Sequence[View], set_name: str, operation: str) -> Compared | None:
    found: dict[str, list[Line | None]] = {}
    for index, view in enumerate(views):
        for table in view.of(set_name):
            for line in table.lines if table.operation == operation else ():
                found.setdefault(line.row.variant, [None] * len(views))[index] = line
    units = {n.row.unit for lines in found.values() for n in lines if n}
    if len(units) != 1:  # nothing, or clocks that cannot be compared
        return None
    ranked = sorted(found.values(), key=_best_mean)
    unit = choose_unit([n.row.mean for lines in ranked for n in lines if n], units.pop())
    columns = [_column([lines[i] for lines in ranked], unit) for i in range(len(views))]
    rows = [_row(lines, tuple(column[i] for column in columns)) for i, lines in enumerate(ranked)]
    return Compared(set_name, operation, unit.name, tuple(rows))


def _column(lines: Sequence[Line | None], unit: Unit) -> list[Cell]:
    """One run's cells from top to bottom, decimal points under each other."""
    means = [
        estimate(n.row.mean, n.row.mean_low, n.row.mean_high, unit) if n else None for n in lines
    ]
    mean_texts = aligned(m.value if m else MISSING for m in means)
    ratio_texts = aligned(n.ratio.value if n else MISSING for n in lines)
    return [
        Cell(
            n.row.mean if n else None, mean_text, m.interval if m else "",
            n.row.ratio if n else None, ratio_text,
        )
        for n, m, mean_text, ratio_text in zip(lines, means, mean_texts, ratio_texts, strict=True)
    ]  # fmt: skip


def _row(lines: Sequence[Line | None], cells: tuple[Cell, ...]) -> ComparedRow:
    present = [n for n in lines if n]
    start, end = lines[0], lines[-1]
    change = ratio_change = None
    if start and end:
        change = _quotient(end.row.mean, start.row.mean)
        if not (start.is_reference and end.is_reference):
            ratio_change = _quotient(end.row.ratio, start.row.ratio)
    return ComparedRow(
        present[0].label, present[0].colour, present[0].row.key == "expanded", cells,
        _all_overlap([n.row for n in present]), change, ratio_change,
    )  # fmt: skip


def agreement(compared: Sequence[Compared]) -> list[str]:
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


def _best_mean(lines: Sequence[Line | None]) -> float:
    return min((n.row.mean for n in lines if n and n.row.mean), default=float("inf"))


def _all_overlap(rows: Sequence[Row]) -> bool | None:
    lows = [r.mean_low for r in rows if r.mean_low is not None]
    highs = [r.mean_high for r in rows if r.mean_high is not None]
    if len(lows) < 2 or len(highs) < 2:
        return None
    return max(lows) <= min(highs)
