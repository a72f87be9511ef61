"""The worker and the variants that a block or a pipeline names."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase

from mldsa_lab.bench.fleet import Fleet, Station
from mldsa_lab.errors import LabError
from mldsa_lab.records import Variant


def find_station(fleet: Fleet, name: str, feature: str) -> Station:
    """Return the worker with this name. LabError unless it announces the feature and measures
    time."""
    station = next((s for s in fleet.stations if s.entry.name == name), None)
    if station is None:
        raise LabError(f"worker {name} does not take part")
    if not getattr(station.announcement, feature):
        raise LabError(f"worker {name} has no {feature} (`{feature} yes`)")
    if station.announcement.unit != "ns":
        raise LabError(f"worker {name} counts {station.announcement.unit}, not ns")
    return station


def find_variants(
    fleet: Fleet,
    station: Station,
    variants: Sequence[Variant],
    pattern: str,
    set_name: str,
    operation: str,
) -> list[Variant]:
    """Return the worker's variants that fit the pattern. LabError if there is none."""
    able = [
        v
        for v in variants
        if fleet.station(v.id) is station and set_name in v.sets and operation in v.operations
    ]
    found = [v for v in able if any(fnmatchcase(n, pattern) for n in v.names)]
    if not found:
        known = ", ".join(dict.fromkeys(v.implementation for v in able)) or "none"
        raise LabError(
            f"no implementation {pattern!r} of worker {station.entry.name} has {operation} of "
            f"{set_name}: known are {known}"
        )
    return found
