"""The result of a choice."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mldsa_lab.theory.arrays import Ints
from mldsa_lab.theory.cost_model import CostModel


@dataclass(frozen=True, eq=False, slots=True)
class SelectionResult:
    """``positions``: the chosen traces of a table; ``expected``: the errors to expect of
    them, for the reader; ``cost_model``: the one that the choice rests on, if any."""

    positions: Ints
    expected: dict[str, Any]
    cost_model: CostModel | None = None
