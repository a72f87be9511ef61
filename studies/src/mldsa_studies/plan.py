"""What a study tries: methods, numbers of inputs, targets, draws."""

from __future__ import annotations

from dataclasses import dataclass

from mldsa_lab.errors import LabError
from mldsa_studies import greedy

MEAN = 0.0
"""Stands for the mean where targets are percentiles."""
PERCENTILES = (50.0, 95.0, 99.0)
"""The percentiles that are studied."""
TARGETS = (MEAN, *PERCENTILES)
SIZES = (1, 2, 3, 10, 100)
"""Numbers of inputs that are studied."""
PARTS = 4
"""Disjoint pools that the measured inputs are cut into for our own methods."""

_MANY = 50


@dataclass(frozen=True)
class Method:
    """A way to choose n inputs and to estimate from what they cost.

    ``for_all``: one choice serves the mean and all percentiles; else each has its own.
    """

    name: str
    title: str
    for_all: bool


RANDOM = Method("random", "random inputs, averaged", True)
GREEDY = Method("greedy", "greedily selected inputs, averaged", False)
BALANCED = Method("balanced", "balanced inputs, averaged", False)
REGRESSION = Method("regression", "designed inputs with regression", True)
METHODS = (RANDOM, GREEDY, BALANCED, REGRESSION)
"""From the plainest to ours."""


@dataclass(frozen=True)
class Plan:
    """How a study draws: ``sizes`` of the choices, ``draws`` of each, the ``pool`` of the greedy
    method, the ``seed`` of all randomness, the ``methods`` that are tried (names; empty: all)."""

    sizes: tuple[int, ...] = SIZES
    draws: int = 40
    pool: int = greedy.POOL
    seed: int = 1
    methods: tuple[str, ...] = ()

    def draws_of(self, n: int) -> int:
        """Draws of selections of ``n`` inputs: a quarter for large ones, which take long to choose
        and differ little."""
        return self.draws if n < _MANY else max(2, self.draws // 4)

    def check(self, inputs: int) -> None:
        """LabError unless so many measured inputs are enough."""
        if self.draws < 2:
            raise LabError(f"{self.draws} draws: must be at least 2")
        for name in self.methods:
            if name not in [m.name for m in METHODS]:
                known = ", ".join(m.name for m in METHODS)
                raise LabError(f"unknown method {name!r}: known are {known}")
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


@dataclass(frozen=True)
class Task:
    """One choice to make."""

    method: Method
    n: int
    target: float


def tasks(plan: Plan) -> list[Task]:
    """All choices of a plan, in the order of its table."""
    return [
        Task(method, n, target)
        for n in plan.sizes
        for method in METHODS
        if not plan.methods or method.name in plan.methods
        for target in ((MEAN,) if method.for_all else TARGETS)
    ]
