"""A kind of record: its figures, layouts and words. Each kind is a module beside this one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources

from mldsa_lab.estimate.figure import Figure
from mldsa_lab.records import Record
from mldsa_lab.records.reference import DEFAULT_REFERENCE
from mldsa_lab.show import figure_tables
from mldsa_lab.show.figure_tables import TableLayout
from mldsa_lab.show.report import Report, sections_of

ROW_KEYS = ("implementation", "backend", "build", "key")
"""The keys that tell variants apart in a table."""


@cache
def _all_texts() -> dict[str, list[str]]:
    text = resources.files("mldsa_lab.show.kinds").joinpath("texts.md").read_text(encoding="utf-8")
    parts = (part.strip().split("\n\n") for part in f"\n{text}".split("\n# ")[1:])
    return {title: paragraphs for title, *paragraphs in parts}


def texts(title: str) -> list[str]:
    """Return the paragraphs of this title in texts.md; none if it has none."""
    return _all_texts().get(title, [])


@dataclass(frozen=True, slots=True)
class Look:
    """How to look at records: the reference of ratios, the clock, the confidence of intervals."""

    reference: str = DEFAULT_REFERENCE
    clock: str = "cpu"
    confidence: float = 0.95


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of record. ``name``: as the page's title has it."""

    name: str
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
            method=texts(self.name)[0],
            notes=notes,
            source=source,
        )
