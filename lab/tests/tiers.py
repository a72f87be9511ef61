"""Parameters of a test by tier."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest


def first_of(
    values: Sequence[Any], mark: pytest.MarkDecorator = pytest.mark.simulation
) -> list[Any]:
    """The first value unmarked, and the others for CI only."""
    first, *others = values
    return [first, *(pytest.param(value, marks=mark) for value in others)]
