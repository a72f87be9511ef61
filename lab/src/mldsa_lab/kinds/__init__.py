"""The kinds of measurement. A kind is a module here, and a line in `KINDS`."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from mldsa_lab import LabError

if TYPE_CHECKING:
    from mldsa_lab.kinds.kind import Kind
    from mldsa_lab.records import Record

DEFAULT_KIND, TRAFFIC = "operations", "traffic"
KINDS = {
    DEFAULT_KIND: "times of single operations",
    "cold": "the 1st to 1,000th operation of fresh processes",
    "block": "a block of signatures, validated on 1 to all cores",
    "memory": "stack, heap and keys",
    "pipeline": "",
}
"""By the name of its module, as in `Definition.kind`, the subject of `bench --kind`; "" where
studies measure it."""
MEASURED = {name: text for name, text in KINDS.items() if text} | {
    TRAFFIC: "memory, with bytes read and written and misses of caches, by Valgrind"
}
"""The values of `bench --kind`."""


def parse_kind(text: str) -> str:
    """Return the kind that a text of `bench --kind` names. LabError for an unknown one."""
    if text in MEASURED:
        return "memory" if text == TRAFFIC else text
    if text.endswith(".toml"):
        return "block"
    if text in ("pipeline", "jmh"):
        raise LabError(f"--kind {text}: a study measures it: `mldsa-lab study list` names them")
    raise LabError(f"--kind {text}: must be {', '.join(MEASURED)}, or the .toml file of a block")


def load(name: str) -> Kind:
    """Return a kind. Its module is imported only now: with SciPy it takes long to load."""
    kind: Kind = import_module(f"{__name__}.{name}").KIND
    return kind


def kind_of(record: Record) -> Kind:
    """Return the kind of a record: the kind of its first definition, else operations."""
    return load(next((d.kind for d in record.definitions if d.kind in KINDS), DEFAULT_KIND))
