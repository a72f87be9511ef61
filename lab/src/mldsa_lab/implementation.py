"""An implementation with one backend and one key form, and a check of it, as worker and record
describe them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

from msgspec import Struct

from mldsa_lab.errors import LabError
from mldsa_lab.files import Count, Positive
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


class Check(Struct, frozen=True, forbid_unknown_fields=True):
    """One named check of the correctness gate."""

    check: str
    cases: Count
    failed: Count
    first_failure: str | None
    """Without cases the reason why the check does not apply."""

    @classmethod
    def of(cls, name: str, cases: int, wrong: Sequence[str]) -> Self:
        """A check with a text for each case that failed."""
        return cls(name, cases, len(wrong), wrong[0] if wrong else None)

    def __post_init__(self) -> None:
        if self.failed > self.cases:
            raise LabError("failed must not be above cases")
