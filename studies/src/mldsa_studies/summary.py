"""What the tables and plots of a study show of its cells."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from mldsa_lab.sets import PARAMETER_SETS
from mldsa_studies.evaluate import COUNT, MEDIAN, ONCE, Cell, Study
from mldsa_studies.plan import METHODS, Method

KINDS = {
    ONCE: "time, each input once",
    MEDIAN: "time, median of the rounds",
    COUNT: "instructions",
}
"""What was measured of each input, in words."""


@dataclass(frozen=True)
class Group:
    """One method with n inputs over several implementations: root mean squares of deviation,
    bias and error, the mean bias, and of the biases' standard errors the root mean square."""

    deviation: float
    bias: float
    mean_bias: float
    bias_error: float
    rmse: float
    worst: float
    """The largest error of one implementation."""


def group(cells: Sequence[Cell]) -> Group | None:
    """Cells of several implementations as one; None without any."""
    if not cells:
        return None
    return Group(
        _root(c.deviation for c in cells),
        _root(c.bias for c in cells),
        sum(c.bias for c in cells) / len(cells),
        _root(c.bias_error for c in cells),
        _root(c.rmse for c in cells),
        max(c.rmse for c in cells),
    )


def _root(values: Iterable[float]) -> float:
    squares = [v * v for v in values]
    return math.sqrt(sum(squares) / len(squares))


@dataclass(frozen=True)
class Shown:
    """The cells of a study, to be asked for by what they are."""

    study: Study
    cells: tuple[Cell, ...]

    @classmethod
    def of(cls, study: Study) -> Shown:
        """All cells."""
        return cls(study, tuple(study.cells()))

    def pick(
        self,
        *,
        set_name: str | None = None,
        kind: str | None = None,
        method: str | None = None,
        n: int | None = None,
        target: float | None = None,
        variant: str | None = None,
    ) -> list[Cell]:
        """Those that are what is said of them."""
        return [
            c
            for c in self.cells
            if (set_name is None or c.set == set_name)
            and (kind is None or c.kind == kind)
            and (method is None or c.method == method)
            and (n is None or c.n == n)
            and (target is None or c.target == target)
            and (variant is None or c.variant == variant)
        ]

    @property
    def sets(self) -> list[str]:
        """The parameter sets, in their order."""
        found = {c.set for c in self.cells}
        return [s for s in PARAMETER_SETS if s in found]

    @property
    def kinds(self) -> list[str]:
        """The kinds of measurement, in the order of `KINDS`."""
        found = {c.kind for c in self.cells}
        return [k for k in KINDS if k in found]

    def variants(self, set_name: str, kind: str) -> list[str]:
        """The variants measured so."""
        return list(dict.fromkeys(c.variant for c in self.pick(set_name=set_name, kind=kind)))

    @property
    def methods(self) -> list[Method]:
        """The methods tried, in their order."""
        found = {c.method for c in self.cells}
        return [m for m in METHODS if m.name in found]

    @property
    def sizes(self) -> list[int]:
        """The numbers of inputs."""
        return sorted({c.n for c in self.cells})


def per_cent(value: float) -> str:
    """A relative size with two digits: 19 %, 2.6 %, 0.081 %."""
    size = 100 * abs(value)
    if size == 0:
        return "0\u00a0%"
    digits = max(0, 1 - math.floor(math.log10(size)))
    return f"{size:.{min(digits, 5)}f}\u00a0%"


def signed_per_cent(value: float, error: float) -> str:
    """A bias to the digits that its standard error allows."""
    scale = 100 * max(error, 1e-7)
    digits = min(max(0, -math.floor(math.log10(scale))), 4)
    text = f"{100 * value:+.{digits}f}".replace("-", "−")
    return f"{'0' if float(f'{100 * value:.{digits}f}') == 0 else text}\u00a0%"
