"""A figure: the only type between estimation and display."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from mldsa_lab.estimate.interval import Interval
from mldsa_lab.records import Record, Variant, WorkerRow

Key = str | int | None
Keys = Mapping[str, Key]


@dataclass(frozen=True, slots=True)
class Figure:
    """One number with its confidence limits, and the keys that say what it is of.

    ``unit``: "ns", "bytes", "%" or "" for counts and ratios. ``value`` is None where the figure is
    not known; ``flags`` then hold the reason. ``source``: where it is from, beside the record.
    """

    keys: Keys
    name: str
    value: float | None
    low: float | None = None
    high: float | None = None
    unit: str = ""
    source: str = ""
    flags: tuple[str, ...] = field(default=())

    @classmethod
    def of(
        cls, keys: Keys, name: str, interval: Interval, unit: str = "", flags: tuple[str, ...] = ()
    ) -> Figure:
        """Return the figure of an estimate."""
        return cls(keys, name, interval.value, interval.low, interval.high, unit, flags=flags)

    @property
    def interval(self) -> Interval | None:
        """The value with its limits; None where it is not known."""
        return None if self.value is None else Interval(self.value, self.low, self.high)


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
