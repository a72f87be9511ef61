"""What a study tries: methods, numbers of inputs, targets, draws."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from mldsa_lab.errors import LabError
from mldsa_studies import greedy

MEAN = 0.0
"""The target that is the mean; other targets are percentiles."""
PERCENTILES = (50.0, 95.0, 99.0)
TARGETS = (MEAN, *PERCENTILES)
SIZES = (1, 2, 3, 10, 100)
"""Numbers of inputs that are studied."""
PARTS = 4
"""Disjoint pools that the measured inputs are cut into for our own methods."""
RANDOM, GREEDY, BALANCED, REGRESSION = METHODS = ("random", "greedy", "balanced", "regression")
"""Ways to choose n inputs and to estimate from their costs, from the plainest to ours."""
FOR_ALL = (RANDOM, REGRESSION)
"""Methods whose one choice serves the mean and all percentiles."""
_MANY = 50


class Task(NamedTuple):
    """One choice to make."""

    method: str
    n: int
    target: float


@dataclass(frozen=True)
class Plan:
    """How a study draws: ``sizes`` of the choices, ``draws`` of each, the ``pool`` of the greedy
    method, the ``seed`` of all randomness."""

    sizes: tuple[int, ...] = SIZES
    draws: int = 40
    pool: int = greedy.POOL
    seed: int = 1

    def draws_of(self, n: int) -> int:
        """Return the draws of selections of ``n`` inputs: a quarter for large ones, which take long
        to choose and differ little."""
        return self.draws if n < _MANY else max(2, self.draws // 4)

    def check(self, inputs: int) -> None:
        """LabError unless so many measured inputs are enough."""
        if self.draws < 2:
            raise LabError(f"{self.draws} draws: must be at least 2")
        if not self.sizes or min(self.sizes) < 1:
            raise LabError("sizes of selections: must be at least 1")
        most = max(self.sizes)
        if inputs // PARTS < most:
            raise LabError(
                f"selections of {most} inputs: need costs of {PARTS * most} inputs, a pool for "
                f"each of {PARTS} draws; there are {inputs}"
            )
        if self.pool < 3 * most:
            raise LabError(f"greedy selection of {most} inputs: needs a pool of {3 * most}")

    def tasks(self) -> list[Task]:
        """Return all choices, in the order of the table."""
        return [
            Task(method, n, target)
            for n in self.sizes
            for method in METHODS
            for target in ((MEAN,) if method in FOR_ALL else TARGETS)
        ]
