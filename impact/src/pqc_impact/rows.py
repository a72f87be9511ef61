"""Figures as rows, and those that every form of message or transaction has."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields
from functools import cached_property
from typing import Any, Generic, Literal, TypeVar

import numpy as np

from mldsa_lab.theory.arrays import Array
from pqc_impact.base import F, ScenarioFile
from pqc_impact.expression import evaluate
from pqc_impact.schemes import ImpactScheme
from pqc_impact.times import interval_of

Kind = Literal["exact", "measured", "assumed"]
FORBIDDEN = "forbidden today by: "
"""How figures begin that say which rule of today a thing breaks; their value is what is too much,
none where the rule has no number."""


@dataclass(frozen=True, slots=True)
class ImpactRow:
    """A figure. ``value`` is None where there is none: ``source`` says why. ``low`` and ``high``
    where it varies, is measured or rests on a range; its limits of 95 %."""

    scenario: str
    scheme: str
    figure: str
    template: str
    value: float | None
    low: float | None
    high: float | None
    unit: str
    kind: Kind
    source: str

    def as_dict(self) -> dict[str, Any]:
        """The row under exactly the documented keys."""
        return asdict(self)


ROW_KEYS = tuple(f.name for f in fields(ImpactRow))
"""The keys of a row, in order: the stable interface of `--json`."""


S = TypeVar("S", bound=ScenarioFile[Any])


class FormFigures(Generic[S, F]):
    """The figures of one form in one scheme."""

    def __init__(self, name: str, scenario: S, template: F, scheme: ImpactScheme) -> None:
        self.name, self.scenario, self.template, self.scheme = name, scenario, template, scheme
        self.names = scenario.names(scheme, template)
        beside, compare = scenario.today_of(template)
        self.today_names = scenario.names(compare, beside)
        self.compared = compare.name if beside is template else f"{compare.name}, {beside.name}"

    def _row(
        self, figure: str, value: float | Array | None, unit: str, kind: Kind, source: str,
        ends: tuple[float, float] | None = None,
    ) -> ImpactRow:  # fmt: skip
        low: float | None = None
        high: float | None = None
        if isinstance(value, np.ndarray):
            value, low, high = interval_of(value)
        elif ends is not None and ends[0] != ends[1]:
            low, high = ends
        return ImpactRow(
            self.name, self.scheme.name, figure, self.template.name, value, low, high, unit,
            kind, source,
        )  # fmt: skip

    def _exact(
        self, figure: str, name: str, unit: str, assumes: str = "", source: str = ""
    ) -> ImpactRow:
        """What the form has of a name, with its usual least and most."""
        low, high = sorted((self._least[name], self._most[name]))
        ends = (low, high)
        kind: Kind = "assumed" if assumes else "exact"
        said = assumes or source or f"the template; {self.scheme.source}"
        return self._row(figure, self.names[name], unit, kind, said, ends)

    @cached_property
    def _least(self) -> dict[str, float]:
        return self.scenario.names(self.scheme, self.template, -1)

    @cached_property
    def _most(self) -> dict[str, float]:
        return self.scenario.names(self.scheme, self.template, 1)

    def sizes(self) -> Iterator[ImpactRow]:
        """Bytes, by part too."""
        yield self._exact("bytes", "bytes", "B")
        for part in self.template.parts:
            yield self._exact(f"bytes, {part.name}", part.identifier, "B")
        over = self.names["bytes"] / self.today_names["bytes"]
        yield self._row("bytes over today's", over, "×", "exact", self.compared)

    def rules(self) -> Iterator[ImpactRow]:
        """The rules of today that it breaks."""
        for rule in self.scenario.rules:
            if not rule.about(self.scheme.name, self.template.called):
                continue
            value = evaluate(rule.of, self.names) if rule.of else None
            if value is None or (rule.most is not None and value > rule.most):
                unit = rule.unit if rule.of else ""
                yield self._row(f"{FORBIDDEN}{rule.name}", value, unit, "exact", rule.source)
