"""A kind of measurement: its plan, figures, layouts and words. Each is a module beside this one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from mldsa_lab.bench.workloads.plan import WorkloadPlan
from mldsa_lab.estimate.figure import Figure
from mldsa_lab.records import Record
from mldsa_lab.show import figure_tables
from mldsa_lab.show.figure_tables import TableLayout
from mldsa_lab.show.report import Look, Report, sections_of

ROW_KEYS = ("implementation", "backend", "build", "key")
"""The keys that tell variants apart in a table."""


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of measurement. ``name``: as the page's title has it; ``plan``: of its runs;
    ``method``: how it measures, for the end of the page."""

    name: str
    plan: type[WorkloadPlan]
    method: str
    headline: Callable[[Record, Sequence[Figure]], str]
    figures: Callable[[Record, float], list[Figure]]
    layouts: Callable[[Record], tuple[TableLayout, ...]]
    about: Callable[[Record], str] = lambda record: ""
    notes: Callable[[Record], list[str]] = lambda record: []

    def report(self, record: Record, source: str, look: Look) -> Report:
        """Return the report of a record. LabError if it has no figures."""
        figures = self.figures(record, look.confidence)
        about = self.about(record)
        notes = [*self.notes(record), *figure_tables.remarks(figures)]
        notes += [f"Excluded: {f.variant} {f.set or ''}: {f.reason}." for f in record.faults]
        where = ", ".join(part for part in (record.machine, record.date) if part)
        return Report(
            kind=self.name,
            headline=self.headline(record, figures),
            figures=figures,
            sections=sections_of(figures, self.layouts(record), look.confidence, about),
            about=f"{about}. {where}" if about else where,
            method=self.method,
            notes=notes,
            source=source,
        )
