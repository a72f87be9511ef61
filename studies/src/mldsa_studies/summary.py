"""What the tables and plots of a study show of its cells."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from mldsa_lab.sets import PARAMETER_SETS
from mldsa_studies.evaluate import COUNT, MEDIAN, ONCE, MethodErrors, Study, target_name
from mldsa_studies.judge import root_mean_square
from mldsa_studies.plan import MEAN, METHODS, PERCENTILES, Method

KINDS = {
    ONCE: "time, each input once",
    MEDIAN: "time, median of the rounds",
    COUNT: "instructions",
}
"""What was measured of each input, in words."""
SHOWN_N = 10
"""The number of inputs that headline, percentiles and distributions are of, if the study has it."""


@dataclass(frozen=True)
class Group:
    """One method with n inputs over several implementations: root mean squares of deviation,
    bias and error, the mean bias, and of the biases' standard errors the root mean square."""

    deviation: float
    bias: float
    mean_bias: float
    bias_error: float
    rmse: float

    @property
    def bias_text(self) -> str:
        """The mean bias to the digits that its standard error allows."""
        return signed_per_cent(self.mean_bias, self.bias_error)


def group(cells: Sequence[MethodErrors]) -> Group | None:
    """Cells of several implementations as one; None without any."""
    if not cells:
        return None
    return Group(
        root_mean_square(c.deviation for c in cells),
        root_mean_square(c.bias for c in cells),
        sum(c.bias for c in cells) / len(cells),
        root_mean_square(c.bias_error for c in cells),
        root_mean_square(c.rmse for c in cells),
    )


@dataclass(frozen=True)
class ErrorTable:
    """Errors in one kind of measurement: ``columns`` are their heads, ``rows`` set, method and a
    group for each column."""

    columns: list[str]
    rows: list[tuple[str, Method, list[Group | None]]]


@dataclass(frozen=True)
class StudyView:
    """The cells of a study, to be asked for by what they are."""

    study: Study

    @cached_property
    def cells(self) -> tuple[MethodErrors, ...]:
        """All cells."""
        return tuple(self.study.cells())

    def pick(self, **wanted: object) -> list[MethodErrors]:
        """Those whose attributes have these values."""
        return [c for c in self.cells if all(getattr(c, k) == v for k, v in wanted.items())]

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

    @property
    def methods(self) -> list[Method]:
        """The methods tried, in their order."""
        found = {c.method for c in self.cells}
        return [m for m in METHODS if m.name in found]

    @property
    def sizes(self) -> list[int]:
        """The numbers of inputs."""
        return sorted({c.n for c in self.cells})

    @property
    def shown_n(self) -> int:
        """`SHOWN_N`, or the largest number of inputs."""
        return SHOWN_N if SHOWN_N in self.sizes else max(self.sizes)

    def of_mean(self, kind: str) -> ErrorTable:
        """Errors of the mean, a column for each number of inputs."""
        return self._table(kind, [(f"n = {n}", n, MEAN) for n in self.sizes])

    def of_percentiles(self, kind: str) -> ErrorTable:
        """Errors of percentiles from `shown_n` inputs, a column for each."""
        return self._table(kind, [(target_name(p), self.shown_n, p) for p in PERCENTILES])

    def _table(self, kind: str, columns: list[tuple[str, int, float]]) -> ErrorTable:
        def of(set_name: str, method: Method, n: int, target: float) -> Group | None:
            return group(self.pick(set=set_name, kind=kind, method=method.name, n=n, target=target))

        rows = [
            (set_name, method, [of(set_name, method, n, target) for _, n, target in columns])
            for set_name in self.sets
            for method in self.methods
        ]
        return ErrorTable([head for head, _, _ in columns], rows)

    def of_methods(self, kind: str) -> Iterator[tuple[Method, Group]]:
        """Errors of the mean from `shown_n` inputs by each method, over all sets."""
        for method in self.methods:
            found = group(self.pick(kind=kind, method=method.name, n=self.shown_n, target=MEAN))
            if found is not None:
                yield method, found

    def headline(self) -> str:
        """What the study says in a line."""
        parts = [
            f"{per_cent(found.rmse)} ({KINDS[kind]})"
            for kind in self.kinds
            for method, found in self.of_methods(kind)
            if method == self.methods[-1]
        ]
        best = self.methods[-1].title
        return f"Mean signing cost from {self.shown_n} {best}: off by {'; '.join(parts)}"

    def sentences(self) -> list[str]:
        """The comparison of the methods, kind by kind."""
        found = []
        for kind in self.kinds:
            parts = [f"{m.title} {per_cent(cell.rmse)}" for m, cell in self.of_methods(kind)]
            title = KINDS[kind][0].upper() + KINDS[kind][1:]
            found.append(
                f"{title}: root mean square error of the mean from {inputs(self.shown_n)}: "
                f"{', '.join(parts)}."
            )
        return found


def inputs(n: int) -> str:
    """`one input`, `2 inputs`."""
    return "one input" if n == 1 else f"{n} inputs"


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
