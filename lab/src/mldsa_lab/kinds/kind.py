"""A kind of measurement: its plan, figures, layouts and words. Each is a module in this folder."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

from mldsa_lab.bench.workload import WorkloadPlan
from mldsa_lab.estimate.figure import Figure, Figures
from mldsa_lab.records import Record, busy_notes
from mldsa_lab.show import figure_tables
from mldsa_lab.show.figure_tables import TableLayout
from mldsa_lab.show.report import Look, Report, describe_record, sections_of

ROW_KEYS = ("implementation", "backend", "build", "key")
"""The keys that tell variants apart in a table."""
_FOLDED = ("object", "of", "slot", "level", "per", "against", "percentile")
"""The keys that are in the names of columns of CSV: a line is a cell."""


@dataclass(frozen=True)
class Measured:
    """A record with its figures, as it is looked at."""

    record: Record
    figures: Figures
    look: Look


@dataclass(frozen=True)
class Kind(ABC):
    """A kind of measurement. ``name``: as the page's title has it; ``plan``: of its runs;
    ``method``: how it measures, for the end of the page."""

    name: str
    plan: type[WorkloadPlan]
    method: str

    @abstractmethod
    def read(self, record: Record, look: Look) -> Measured:
        """Return a record with its figures. LabError if it has none."""

    @abstractmethod
    def report(self, measured: Measured, source: str, name: str = "") -> Report:
        """Return the report of a record. ``name`` distinguishes it from others on its page."""


@dataclass(frozen=True)
class TableKind(Kind):
    """A kind whose report is the tables of its figures. ``headline``, ``about`` and ``notes``: its
    texts."""

    headline: Callable[[Record, Figures], str]
    figures: Callable[[Record, float], list[Figure]]
    layouts: Callable[[Record], tuple[TableLayout, ...]]
    about: Callable[[Record], str] = lambda record: ""
    notes: Callable[[Record], list[str]] = lambda record: []

    def read(self, record: Record, look: Look) -> Measured:
        figures = self.figures(record, look.confidence)
        return Measured(record, describe_record(record, figures, look), look)

    def report(self, measured: Measured, source: str, name: str = "") -> Report:
        record, figures, look = measured.record, measured.figures, measured.look
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
            warnings=[*busy_notes([record.busy]), *record.warnings],
            name=name,
            folded=_FOLDED,
        )
