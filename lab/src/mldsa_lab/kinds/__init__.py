"""The kinds of measurement. A kind is a module here, and a line in `KINDS`."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from mldsa_lab.records import Record

if TYPE_CHECKING:
    from mldsa_lab.kinds.kind import Kind

KINDS = {
    "block": "",
    "cold": "Measure the 1st to 1,000th operation of fresh processes instead.",
    "memory": "",
    "operations": "",
    "pipeline": "",
}
"""By the name of its module, which `Definition.kind` has too, the help of its flag of `bench`: none
where another command or option measures it."""
FLAGS = {name: text for name, text in KINDS.items() if text}


def load(name: str) -> Kind:
    """Return a kind. Its module is imported only now: with SciPy it takes long to load."""
    kind: Kind = import_module(f"{__name__}.{name}").KIND
    return kind


def kind_of(record: Record) -> Kind:
    """Return the kind of a record: that of its first definition, else operations."""
    return load(next((d.kind for d in record.definitions if d.kind in KINDS), "operations"))
