"""A figure: the only type between estimation and display. `contract.py` lists its words.

A name says what is measured or computed and nothing else: no number, no unit, no qualifier. What
tells two figures apart is a key, and name and keys together are unique. Decision 24 has the
reasons.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from mldsa_lab.errors import LabError
from mldsa_lab.estimate.interval import Interval
from mldsa_lab.records import Record, Variant, WorkerRow

Key = str | int | float | None
Keys = Mapping[str, Key]
FigureKind = Literal["measured", "assumed", "exact", "published"]


@dataclass(frozen=True, slots=True)
class Figure:
    """One number with its confidence limits, and the keys that say what it is of.

    ``unit``: the unit of value and limits, "" for counts, ratios and shares. ``value`` is None
    where the figure is not known; ``notes`` then say why. ``kind``: how certain it is by its
    origin; ``source``: the origin of an assumed, exact or published value. ``verdict``: one of
    `VERDICTS`; ``notes``: what a reader must know.
    """

    keys: Keys
    name: str
    value: float | None
    low: float | None = None
    high: float | None = None
    unit: str = ""
    kind: FigureKind = "measured"
    source: str = ""
    verdict: str = ""
    notes: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        keys: Keys,
        name: str,
        interval: Interval,
        unit: str = "",
        verdict: str = "",
        notes: tuple[str, ...] = (),
    ) -> Figure:
        """Return the figure of an estimate."""
        value, low, high = interval.value, interval.low, interval.high
        return cls(keys, name, value, low, high, unit, verdict=verdict, notes=notes)

    @property
    def interval(self) -> Interval | None:
        """The value with its limits; None where it is not known."""
        return None if self.value is None else Interval(self.value, self.low, self.high)


def parse_identity(text: str) -> tuple[str, dict[str, Key]]:
    """Return the name and the keys that a text gives, as `time of=block threads=8`: values in
    quotes where they hold a space. LabError for another text."""
    try:
        name, *pairs = shlex.split(text)
        keys = dict(pair.split("=", 1) for pair in pairs)
    except ValueError:
        raise LabError(f"{text!r}: must be a name and keys, as 'time of=block threads=8'") from None
    return name, {key: _number_or_text(of) for key, of in keys.items()}


def _number_or_text(text: str) -> Key:
    whole, point, rest = text.partition(".")
    if whole.isdecimal() and (rest.isdecimal() or not point):
        return as_key(float(text))
    return text


def as_key(number: float) -> int | float:
    """Return a number as the value of a key: a whole one has no point."""
    rounded = round(number, 9)
    return int(rounded) if rounded == int(rounded) else rounded


def variant_keys(worker: WorkerRow, variant: Variant) -> dict[str, Key]:
    """Return the keys that name a variant. ``called_from``: the worker's language, where the
    implementation has another."""
    language = worker.language_of(variant)
    return {
        "implementation": variant.implementation,
        "version": variant.version,
        "language": language,
        "called_from": worker.language if worker.language != language else None,
        "backend": variant.backend,
        "build": worker.build,
        "key": variant.key,
        "variant": variant.id,
    }


def keys_by_variant(record: Record) -> dict[str, dict[str, Key]]:
    """Return, by id, the keys of each variant of a record."""
    return {v.id: variant_keys(w, v) for v, w in record.variants.values()}
