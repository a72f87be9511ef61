"""Choice of signing inputs for a goal, its files, and ready-made selections."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mldsa_lab.theory.law import CostModel
from mldsa_lab.theory.trace import Ints


@dataclass(frozen=True, eq=False, slots=True)
class SelectionResult:
    """The result of a choice. ``positions``: the chosen traces of a table. ``expected``: their
    expected errors, for readers. ``cost_model``: the one that the choice is based on, if any."""

    positions: Ints
    expected: dict[str, Any]
    cost_model: CostModel | None = None


def round_digits(value: float) -> float:
    """Six digits, nine of them behind the point at most: for people to read, and the same on every
    machine."""
    return float(f"{round(float(value), 9):.6g}")
