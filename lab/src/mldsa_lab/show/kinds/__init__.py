"""The kinds of record that are shown as figures, and which one a record is of."""

from __future__ import annotations

from mldsa_lab.records import FRESH, Record
from mldsa_lab.show.kinds.block import BLOCK
from mldsa_lab.show.kinds.cold import COLD
from mldsa_lab.show.kinds.kind import Kind
from mldsa_lab.show.kinds.memory import MEMORY


def kind_of(record: Record) -> Kind | None:
    """Return the kind of a record that is shown as figures; None for one of operations."""
    if record.blocks:
        return BLOCK
    if record.memories:
        return MEMORY
    return COLD if any(s.shape == FRESH for s in record.samples) else None
