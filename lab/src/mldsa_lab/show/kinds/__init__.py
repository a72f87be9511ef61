"""The kinds of record, and which one a record is of."""

from __future__ import annotations

from mldsa_lab.records import Record
from mldsa_lab.show.kinds.block import BLOCK
from mldsa_lab.show.kinds.cold import COLD
from mldsa_lab.show.kinds.kind import Kind
from mldsa_lab.show.kinds.memory import MEMORY
from mldsa_lab.show.kinds.pipeline import PIPELINE

KINDS = {"block": BLOCK, "memory": MEMORY, "cold": COLD, "pipeline": PIPELINE}
"""The kinds by what `Definition.kind` calls them, beside operations, which have no definition."""


def kind_of(record: Record) -> Kind | None:
    """Return the kind of a record; None for one of operations (`kinds/operations.py`)."""
    return next((KINDS[d.kind] for d in record.definitions if d.kind in KINDS), None)
