"""A kind of record: its figures, layouts and words. Each kind is a module beside this one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from mldsa_lab.estimate.figure import Figure
from mldsa_lab.records import Record
from mldsa_lab.show.figure_tables import TableLayout

ROW_KEYS = ("implementation", "backend", "build", "key")
"""The keys that tell variants apart in a table."""


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of record. ``name``: as the page's title has it."""

    name: str
    headline: Callable[[Record, Sequence[Figure]], str]
    figures: Callable[[Record, float], list[Figure]]
    layouts: Callable[[Record], tuple[TableLayout, ...]]
    method: str
    about: Callable[[Record], str] = lambda record: ""
    notes: Callable[[Record], list[str]] = lambda record: []
