"""The values that a source published, claim by claim: what stands beside ours in an answer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from msgspec import Struct

from mldsa_lab.audit.claims import Claim, ValueTable
from mldsa_lab.audit.judgement import Judgement
from mldsa_lab.audit.values import Span, StatedFigure

_CONTAINERS = ("figures", "points", "parts", "shares", "attempts", "values", "cells", "stated")
"""Fields whose name says nothing beside what they hold."""
_UNITS = {
    "bytes": "B", "bytes_read": "B", "bytes_written": "B", "bytes_per_second": "B/s",
    "seconds": "s", "per_second": "1/s", "percent": "%", "efficiency": "%", "called": "B",
    "confidence": "%", "slower": "%", "classical_bits": "bits", "quantum_bits": "bits",
    "category": "", "width": "", "speedup": "", "samples": "", "count": "",
    "samples_per_group": "", "operations": "",
}  # fmt: skip
"""Units of fields that have one of their own; others have that of their claim."""
_OTHER = (*_UNITS, "value", "cost", "total", "error", "relative", "bits", "amount")
_OTHER += ("pass_z", "pass_r0", "pass_hint", "accept", "reject", "at_least", "at_most")
_NAMES = ("threads", "size", "where", "of")
"""Fields that tell the parts of a list apart."""
_NAMELESS = ("value", "percent", "bytes", "count")


def value_label(claim: str, name: str) -> str:
    """Return the label of a claim's value of that name."""
    return f"{claim}, {name}" if name else claim


class PublishedValue(NamedTuple):
    """One value: its claim, its ``name`` within it ("" if it is the only one), and its unit."""

    claim: str
    name: str
    value: Span
    unit: str

    @property
    def label(self) -> str:
        """The claim and the name."""
        return value_label(self.claim, self.name)


def published_values(claim: Claim) -> list[PublishedValue]:
    """Return the values of a claim, in the order of its fields."""
    own = getattr(claim, "unit", "")
    if getattr(claim, "form", "").startswith("percent"):
        own = "%"
    values = []
    fields = {"cells": claim.cells} if isinstance(claim, ValueTable) else _fields(claim)
    for path, value in _walk(fields):
        field = next((part for part in reversed(path) if part in _UNITS), "")
        names = [part for part in path if part not in (*_CONTAINERS, *_NAMELESS)]
        span = value if isinstance(value, Span) else Span(value, value)
        unit = _UNITS[field] if field else own
        values.append(PublishedValue(claim.id, " ".join(names), span, unit))
    return values


def judged_labels(claim: Claim, finding: Judgement) -> list[str]:
    """Return the labels of a claim's values that a finding judges: those that its rule names, else
    those that it quotes, else all but the number of samples."""
    values = published_values(claim)
    if finding.values:
        return [v.label for v in values if v.name in finding.values]
    quoted = [v.label for v in values if _is_quoted(v.value, finding)]
    return quoted or [v.label for v in values if v.name != "samples"]


def repeated(claims: Sequence[Claim]) -> dict[str, tuple[str, ...]]:
    """Return by the label of a value the labels of all values that are the same by the file."""
    groups: dict[str, list[str]] = {}
    for claim in claims:
        for name, first in claim.same.items():
            groups.setdefault(first, [first]).append(value_label(claim.id, name))
    return {label: tuple(group) for group in groups.values() for label in group}


def _is_quoted(value: Span, finding: Judgement) -> bool:
    if finding.value == value.low.value:
        return True
    return not value.one and finding.value is None and value.text in finding.claimed


def _fields(part: Struct) -> dict[str, Any]:
    known = (*_CONTAINERS, *_OTHER)
    return {name: getattr(part, name) for name in part.__struct_fields__ if name in known}


def _walk(part: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    if isinstance(part, StatedFigure | Span):
        yield path, part
    elif isinstance(part, int) and not isinstance(part, bool):
        yield path, StatedFigure(float(part), text=str(part))
    elif isinstance(part, dict):
        for name, value in part.items():
            yield from _walk(value, (*path, name))
    elif isinstance(part, tuple):
        for place, value in enumerate(part, 1):
            names = [getattr(value, name, "") for name in _NAMES]
            texts = [" + ".join(v) if isinstance(v, tuple) else str(v) for v in names if v]
            yield from _walk(_fields(value), (*path, ", ".join(texts) or str(place)))
