"""Whether two runs agree: cell by cell, and as a whole."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mldsa_lab.errors import LabError
from mldsa_lab.estimate.interval import Interval
from mldsa_lab.estimate.summary import Summary, SummaryRow
from mldsa_lab.sets import OPERATIONS


@dataclass(frozen=True, slots=True)
class CellAgreement:
    """One cell in both runs. Changes are of the second run over the first, minus 1.

    ``overlap`` and ``ratio_overlap`` tell whether the intervals have a point in common; None
    where either run has no interval. ``ratio_change`` is None for the reference itself.
    """

    variant: str
    set: str
    operation: str
    mean_a: float
    mean_b: float
    mean_change: float
    overlap: bool | None
    ratio_a: float | None
    ratio_b: float | None
    ratio_change: float | None
    ratio_overlap: bool | None


@dataclass(frozen=True)
class Agreement:
    """All cells that both runs have, the ids of cells that only one has, and the builds by which
    a cell's runs differ, in words; the older records name none."""

    cells: list[CellAgreement]
    only_a: list[tuple[str, str, str]]
    only_b: list[tuple[str, str, str]]
    builds: tuple[tuple[str, str], ...] = ()

    def share_overlapping(self, operation: str, of_ratios: bool = False) -> tuple[int, int]:
        """Cells of an operation whose intervals overlap, and cells that have intervals."""
        flags = [
            c.ratio_overlap if of_ratios else c.overlap
            for c in self.cells
            if c.operation == operation
        ]
        known = [flag for flag in flags if flag is not None]
        return sum(known), len(known)

    def change(self, operation: str, of_ratios: bool = False) -> tuple[float, float] | None:
        """Median and largest size of the change of the means (or ratios) of an operation."""
        changes = [
            c.ratio_change if of_ratios else c.mean_change
            for c in self.cells
            if c.operation == operation
        ]
        sizes = [abs(x) for x in changes if x is not None]
        return (float(np.median(sizes)), max(sizes)) if sizes else None

    def text(self, every_cell: bool = True) -> str:
        """A Markdown table of the whole and, with ``every_cell``, of each cell."""
        lines = [
            "| operation | means overlap | change of means: median, largest "
            "| ratios overlap | change of ratios: median, largest |",
            "|---|---|---|---|---|",
        ]
        for operation in OPERATIONS:
            if any(c.operation == operation for c in self.cells):
                parts = [operation]
                for of_ratios in (False, True):
                    some, many = self.share_overlapping(operation, of_ratios)
                    change = self.change(operation, of_ratios)
                    parts.append(f"{some} of {many}")
                    parts.append(
                        f"{change[0]:.1%}, {change[1]:.1%}" if change is not None else "none"
                    )
                lines.append(f"| {' | '.join(parts)} |")
        if every_cell:
            lines += [
                "",
                "| set | operation | variant | mean change | overlap | ratio, first run "
                "| ratio, second run | ratio change | overlap |",
                "|---|---|---|---|---|---|---|---|---|",
            ]
            lines += [_line(cell) for cell in self.cells]
        lines += [
            f"\nNot the same code: the first run's build is {one}, the second's {two}."
            for one, two in self.builds
        ]
        for name, missing in (("first", self.only_a), ("second", self.only_b)):
            if missing:
                lines += ["", f"Only in the {name} run: {', '.join(' '.join(m) for m in missing)}."]
        return "\n".join(lines)


def agreement(a: Summary, b: Summary) -> Agreement:
    """Compare two runs' summaries, cell by cell in the order of the first.

    LabError if they differ in reference or clock, or have no cell in common.
    """
    for what, one, two in (("reference", a.reference, b.reference), ("clock", a.clock, b.clock)):
        if one != two:
            raise LabError(f"agreement: the runs differ in {what}, {one!r} and {two!r}")
    first, second = _rows(a), _rows(b)
    common = [key for key in first if key in second]
    if not common:
        raise LabError("agreement: the runs have no cell (variant, set, operation) in common")
    named = [(first[key].build or "unknown", second[key].build or "unknown") for key in common]
    differing = dict.fromkeys(pair for pair in named if pair[0] != pair[1])
    return Agreement(
        [_compare(key, first[key], second[key]) for key in common],
        [key for key in first if key not in second],
        [key for key in second if key not in first],
        tuple(differing),
    )


def _rows(summary: Summary) -> dict[tuple[str, str, str], SummaryRow]:
    return {(r.variant, r.set, r.operation): r for r in summary.rows if r.mean is not None}


def _compare(key: tuple[str, str, str], a: SummaryRow, b: SummaryRow) -> CellAgreement:
    assert a.mean is not None and b.mean is not None
    is_reference = a.ratio == b.ratio == 1.0
    ratios = None if is_reference or a.ratio is None or b.ratio is None else (a.ratio, b.ratio)
    return CellAgreement(
        *key,
        mean_a=a.mean,
        mean_b=b.mean,
        mean_change=b.mean / a.mean - 1,
        overlap=_overlap((a.mean, a.mean_low, a.mean_high), (b.mean, b.mean_low, b.mean_high)),
        ratio_a=a.ratio,
        ratio_b=b.ratio,
        ratio_change=ratios[1] / ratios[0] - 1 if ratios else None,
        ratio_overlap=_overlap(
            (ratios[0], a.ratio_low, a.ratio_high), (ratios[1], b.ratio_low, b.ratio_high)
        )
        if ratios
        else None,
    )


def _overlap(
    a: tuple[float, float | None, float | None], b: tuple[float, float | None, float | None]
) -> bool | None:
    if None in a or None in b:
        return None
    return Interval(*a).overlaps(Interval(*b))


def _line(cell: CellAgreement) -> str:
    def flag(value: bool | None) -> str:
        return "no interval" if value is None else "yes" if value else "no"

    def number(value: float | None) -> str:
        return "" if value is None else f"{value:.3f}"

    change = "" if cell.ratio_change is None else f"{cell.ratio_change:+.1%}"
    return (
        f"| {cell.set} | {cell.operation} | {cell.variant} | {cell.mean_change:+.1%} "
        f"| {flag(cell.overlap)} | {number(cell.ratio_a)} | {number(cell.ratio_b)} | {change} "
        f"| {flag(cell.ratio_overlap) if change else ''} |"
    )
