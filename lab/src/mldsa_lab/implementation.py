"""An implementation with one backend and one key form, as worker and record describe it."""

from __future__ import annotations

from msgspec import Struct

from mldsa_lab.files import Positive
from mldsa_lab.sets import Family, KeyForm, Mode, Rnd, SetName, WorkerOperation


class Implementation(Struct, frozen=True, forbid_unknown_fields=True):
    """What both have. ``id``: `implementation:backend:key` and what a record adds to it."""

    id: str
    implementation: str
    version: str
    backend: str
    key: KeyForm
    family: Family
    sets: tuple[SetName, ...]
    operations: tuple[WorkerOperation, ...]
    rnd: Rnd
    context: bool
    mode: Mode = "single"
    batch_size: Positive = 1
    threads: Positive = 1
    note: str = ""

    @property
    def deterministic(self) -> bool:
        """Whether it can sign deterministically (with rnd of 32 zero bytes)."""
        return self.rnd != "none"
