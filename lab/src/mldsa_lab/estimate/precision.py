"""How wide the intervals of a record are, while it is being measured and at its end."""

from __future__ import annotations

from mldsa_lab.estimate.summary import summarise
from mldsa_lab.records import Record


def widest(record: Record, *, clock: str, confidence: float) -> tuple[float, str, str] | None:
    """The widest interval: its longer half in percent of the mean, what it is of, and the means
    that count: every signing mean, or every mean where signing was not measured.

    None before there are means; infinite where one has no interval yet.
    """
    left_out = {(fault.variant, fault.set) for fault in record.faults}
    cells = [
        cell
        for cell in summarise(record, clock=clock, confidence=confidence).cells
        if cell.mean is not None
        and not {(cell.variant.id, None), (cell.variant.id, cell.set)} & left_out
    ]
    signing = [cell for cell in cells if cell.operation == "sign"]
    counted = signing or cells
    if not counted:
        return None
    cell = max(counted, key=lambda cell: cell.uncertainty)
    goal = "every signing mean" if signing else "every mean"
    return 100 * cell.uncertainty, " ".join(cell.id), goal
