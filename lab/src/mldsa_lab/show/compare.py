"""Several runs side by side: what they have in common and how far they agree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from mldsa_lab.sets import PARAMETER_SETS
from mldsa_lab.show.agree import change, common
from mldsa_lab.show.format import UNKNOWN, Shown, choose_unit, estimate
from mldsa_lab.show.view import SHOWN_OPERATIONS, TableLine, View


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
    sets = list(dict.fromkeys(s for v in views for of in (v.sets, *v.others.values()) for s in of))
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
        means = [n.row.interval("mean") if n else None for n in lines]
        ratios = [n.row.interval("ratio") if n else None for n in lines]
        rows.append(
            Compared(
                present[0].label, present[0].colour, present[0].row.key == "expanded",
                tuple(estimate(m, unit) for m in means),
                tuple(n.ratio if n else UNKNOWN for n in lines),
                common(means), change(means[0], means[-1]), change(ratios[0], ratios[-1]),
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
