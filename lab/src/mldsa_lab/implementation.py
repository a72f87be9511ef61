"""An implementation with one backend and one key form, as worker and record describe it."""

from __future__ import annotations

from msgspec import Struct

from mldsa_lab.files import Positive
from mldsa_lab.sets import Family, KeyForm, Mode, Rnd, SetName, WorkerOperation


class Implementation(Struct, frozen=True, forbid_unknown_fields=True):
    """Fields that both have. ``id``: the `announced_id`, and in a record build and runs too."""

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
    def announced_id(self) -> str:
        """The id by which its worker knows it, the same in every build."""
        return f"{self.implementation}:{self.backend}:{self.key}"

    @property
    def deterministic(self) -> bool:
        """Whether it can sign deterministically (with rnd of 32 zero bytes)."""
        return self.rnd != "none"
