"""The result of a check of the correctness suite, as the gate and the record have it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

from msgspec import Struct

from mldsa_lab.errors import LabError
from mldsa_lab.files import Count


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
