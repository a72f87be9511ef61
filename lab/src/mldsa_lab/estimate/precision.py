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
    rows = [
        row
        for row in summarise(record, clock=clock, confidence=confidence).rows
        if row.mean is not None
        and not {(row.variant.id, None), (row.variant.id, row.set)} & left_out
    ]
    signing = [row for row in rows if row.operation == "sign"]
    counted = signing or rows
    if not counted:
        return None
    row = max(counted, key=lambda row: row.uncertainty)
    goal = "every signing mean" if signing else "every mean"
    return 100 * row.uncertainty, " ".join(row.cell), goal
