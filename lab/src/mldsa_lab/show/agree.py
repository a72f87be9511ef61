"""Whether two runs agree: cell by cell, and as a whole."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from mldsa_lab.errors import LabError
from mldsa_lab.estimate.interval import Interval
from mldsa_lab.estimate.summary import Summary, SummaryRow
from mldsa_lab.sets import OPERATIONS
from mldsa_lab.show.grid import pipe_table

_WHOLE = (
    "operation", "means overlap", "change of means: median, largest", "ratios overlap",
    "change of ratios: median, largest",
)  # fmt: skip
_EACH = (
    "set", "operation", "variant", "mean change", "overlap", "ratio, first run",
    "ratio, second run", "ratio change", "overlap",
)  # fmt: skip
_FLAGS = {None: "no interval", True: "yes", False: "no"}


def change(first: Interval | None, last: Interval | None) -> float | None:
    """The last value over the first; None where one is unknown, and for the reference's ratios."""
    if first is None or last is None or not first.value:
        return None
    if first == last == Interval(1.0, 1.0, 1.0):
        return None
    return last.value / first.value


def common(found: Iterable[Interval | None]) -> bool | None:
    """Whether all intervals share a point; None for fewer than two that have limits."""
    limits = [(i.low, i.high) for i in found if i is not None]
    known = [(low, high) for low, high in limits if low is not None and high is not None]
    if len(known) < 2:
        return None
    return max(low for low, _ in known) <= min(high for _, high in known)


@dataclass(frozen=True, slots=True)
class CellAgreement:
    """One cell in both runs. Changes are of the second run over the first, minus 1.

    ``overlap`` and ``ratio_overlap`` tell whether the intervals have a point in common; None
    where either run has no interval. ``ratio_change`` is None for the reference itself.
    """

    variant: str
    set: str
    operation: str
    mean_change: float
    overlap: bool | None
    ratios: tuple[Interval | None, Interval | None]
    ratio_change: float | None
    ratio_overlap: bool | None

    def texts(self) -> list[str]:
        """The line of a table."""
        ratios = ["" if r is None else f"{r.value:.3f}" for r in self.ratios]
        known = self.ratio_change is not None
        ratios += [f"{self.ratio_change:+.1%}", _FLAGS[self.ratio_overlap]] if known else ["", ""]
        mean = [f"{self.mean_change:+.1%}", _FLAGS[self.overlap]]
        return [self.set, self.operation, self.variant, *mean, *ratios]


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
        wholes = [
            self._whole(operation)
            for operation in OPERATIONS
            if any(c.operation == operation for c in self.cells)
        ]
        lines = [pipe_table(_WHOLE, wholes).rstrip()]
        if every_cell:
            lines += ["", pipe_table(_EACH, [c.texts() for c in self.cells]).rstrip()]
        lines += [
            f"\nNot the same code: the first run's build is {one}, the second's {two}."
            for one, two in self.builds
        ]
        for name, missing in (("first", self.only_a), ("second", self.only_b)):
            if missing:
                lines += ["", f"Only in the {name} run: {', '.join(' '.join(m) for m in missing)}."]
        return "\n".join(lines)

    def _whole(self, operation: str) -> list[str]:
        """The line of an operation in the table of the whole."""
        parts = [operation]
        for of_ratios in (False, True):
            some, many = self.share_overlapping(operation, of_ratios)
            size = self.change(operation, of_ratios)
            parts.append(f"{some} of {many}")
            parts.append("none" if size is None else f"{size[0]:.1%}, {size[1]:.1%}")
        return parts


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
    means = (a.interval("mean"), b.interval("mean"))
    ratios = (a.interval("ratio"), b.interval("ratio"))
    mean, ratio = change(*means), change(*ratios)
    return CellAgreement(
        *key,
        mean_change=0.0 if mean is None else mean - 1,
        overlap=common(means),
        ratios=ratios,
        ratio_change=None if ratio is None else ratio - 1,
        ratio_overlap=None if ratio is None else common(ratios),
    )
