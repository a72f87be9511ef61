"""Times of signing and verification out of records, as draws that carry their intervals."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from mldsa_lab.checkout import find_root
from mldsa_lab.errors import LabError
from mldsa_lab.estimate.blocks import block_figures, block_of
from mldsa_lab.estimate.interval import Interval
from mldsa_lab.estimate.summary import summarise
from mldsa_lab.records import Record, base_id, read_record
from mldsa_lab.sets import TUNED_BUILD
from mldsa_lab.theory.arrays import Array
from pqc_impact.schemes import ImpactScheme

DRAWS = 4000
BATCH_MOST = 1000
"""The largest batches that count: a block's signatures are of this order."""
_SEED = 12
CONFIDENCE = 0.95
_DEVIATE = 1.959964
REFERENCE = ("records/2026-11-23-epyc-zen4/impact.jsonl.xz",)
"""The shipped records that times are from where none is given: one run of one machine, so that
schemes are compared with each other and not machines."""


def measured(what: str, found: Interval) -> Array:
    """Draws of a positive figure whose interval is ``found``: lognormal, each side its own; the
    first is the figure itself. The same for the same ``what``, whatever else is drawn."""
    normal = _random(what).standard_normal(DRAWS)
    sides = [np.log(x / found.value) if x else 0.0 for x in (found.low, found.high)]
    spread = np.where(normal < 0, -sides[0], sides[1]) / _DEVIATE
    return np.concatenate([[found.value], found.value * np.exp(normal * spread)])


def assumed(what: str, found: Interval) -> Array:
    """Draws of a quantity of a scenario, likewise: anything between its ends alike, if it has
    them."""
    if found.low is None or found.high is None:
        return np.full(DRAWS + 1, found.value)
    drawn = _random(what).uniform(found.low, found.high, DRAWS)
    return np.concatenate([[found.value], drawn])


def _random(what: str) -> np.random.Generator:
    return np.random.default_rng([_SEED, *what.encode()])


def interval_of(draws: Array) -> Interval:
    """The figure, with its interval if there is any."""
    value = float(draws[0])
    low, high = np.quantile(draws[1:], [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    return Interval(value) if low == high else Interval(value, float(low), float(high))


@dataclass(frozen=True)
class RecordRate:
    """Operations per second, or per cycle, of so many cores, as draws, and where from."""

    draws: Array
    source: str


@dataclass(frozen=True)
class RecordTime:
    """What a record says of an operation with keys as bytes, on so many threads: ``cost`` of one in
    the unit and, of several threads, their ``per_second`` together. ``tuned``: of such a build."""

    set: str
    operation: str
    unit: str
    implementation: str
    backend: str
    variant: str
    tuned: bool
    mode: str
    batch_size: int
    threads: int
    cost: Interval
    per_second: Interval | None


class RecordTimes:
    """What records say of ``operations``; ``paths``: in the order in which they are asked."""

    def __init__(
        self, paths: Sequence[Path], schemes: Iterable[str], operations: Sequence[str] = ("verify",)
    ) -> None:
        self.records = tuple(_shown(path) for path in paths)
        """The records, as figures name them."""
        wanted = set(schemes)
        self._times = [
            (name, _times(path, wanted, operations))
            for name, path in zip(self.records, paths, strict=True)
        ]

    def rate(
        self, scheme: ImpactScheme, cores: int, implementations: dict[str, str], *,
        operation: str = "verify", unit: str = "ns", stretch: bool = False, batches: bool = False,
    ) -> RecordRate | str:  # fmt: skip
        """Return operations of a scheme per second, or per cycle where records are in that
        ``unit``, one after the other in each of a hybrid's schemes; or why there is none.

        By single calls, or with ``batches`` by the fastest batch interface (by single calls in
        those of a hybrid's schemes that have none). ``stretch``: more cores than were measured are
        taken to share the work evenly, else LabError.
        """
        found = []
        has_batches = not batches
        for part in scheme.parts:
            rows = self._rows(part, None, operation, unit, "batch") if batches else []
            has_batches |= bool(rows)
            wanted = implementations.get(part)
            rows = rows or self._rows(part, wanted, operation, unit, "single")
            if not rows:
                noun = {"verify": "verification", "sign": "signing"}[operation]
                by = f" by {wanted}" if wanted else ""
                in_unit = "" if unit == "ns" else f" in {unit}"
                return f"no {noun} of {part}{by}{in_unit} in {', '.join(self.records)}"
            found.append(_fastest(part, rows, cores, stretch))
        if not has_batches:
            return f"no batch interface for {scheme.name} in {', '.join(self.records)}"
        draws = 1 / sum(1 / rate.draws for rate in found)
        return RecordRate(np.asarray(draws), "; ".join(dict.fromkeys(r.source for r in found)))

    def _rows(
        self, name: str, wanted: str | None, operation: str, unit: str, mode: str
    ) -> list[tuple[str, RecordTime]]:
        """Return the rows of a scheme with their records."""
        return [
            (record, row)
            for record, times in self._times
            for row in times
            if (row.set, row.operation, row.unit, row.mode) == (name, operation, unit, mode)
            and (wanted is None or wanted in (row.implementation, row.variant))
        ]


def _fastest(
    name: str, rows: Sequence[tuple[str, RecordTime]], cores: int, stretch: bool
) -> RecordRate:
    """Return the rate, on so many cores, of what is fastest on one core in the first record that
    has the scheme."""
    first = [row for record, row in rows if record == rows[0][0]]
    best = min(first, key=lambda row: (row.threads, row.tuned, row.cost.value))
    same = [
        (record, row) for record, row in rows
        if base_id(row.variant) == base_id(best.variant)
        and (row.mode == "single" or row.batch_size == best.batch_size or row.threads > 1)
    ]  # fmt: skip
    most = max(row.threads for _, row in same)
    if cores > most and not stretch:
        raise LabError(
            f"node.cores: {cores} cores, and {best.implementation} was measured on {most} in "
            f"verifying {name}: `extrapolate = true` takes more to share the work evenly"
        )
    threads = cores if any(row.threads == cores for _, row in same) else most
    record, row = next((record, row) for record, row in same if row.threads == threads)
    how = f", batches of {row.batch_size:,}" if row.mode == "batch" else ""
    source = f"{row.implementation} ({row.backend}{how}), {record}"
    drawn = f"{row.operation} {row.set} {row.variant} {row.mode} {threads} {record}"
    if threads == 1:
        draws = (1e9 if row.unit == "ns" else 1.0) / measured(drawn, row.cost)
    else:
        assert row.per_second is not None
        draws = measured(drawn, row.per_second)
    if cores != threads:
        source += f"; extrapolated from {threads} to {cores} cores, as if they shared evenly"
    return RecordRate(draws * (cores / threads), source)


def _times(path: Path, schemes: set[str], operations: Sequence[str]) -> list[RecordTime]:
    """Single operations and batches of a record by keys as bytes, in any number of threads; of a
    block its verifications with warm caches."""
    record = read_record(path)
    try:
        if record.definition("block") is not None:
            return _of_block(record) if "verify" in operations else []
        record.samples[:] = [
            s for s in record.samples if s.operation in operations and s.set in schemes
        ]
        found = summarise(record, confidence=CONFIDENCE)
    except LabError as error:
        raise LabError(f"{path}: {error}") from None
    return [
        RecordTime(
            r.set, r.operation, r.unit, r.implementation, r.backend, r.variant,
            r.build == TUNED_BUILD, r.mode, r.batch_size, r.threads, mean,
            r.interval("per_second"),
        )
        for r in found.rows
        if (mean := r.interval("mean")) is not None and r.unit in ("ns", "cycles")
        and r.key == "compact"
        and (r.threads > 1 or r.batch_size <= (BATCH_MOST if r.mode == "batch" else 1))
        and (r.threads == 1 or r.per_second is not None)
    ]  # fmt: skip


def _of_block(record: Record) -> list[RecordTime]:
    count = block_of(record).verifications
    variants = {v.id: v for w in record.workers for v in w.variants}
    made = []
    for f in block_figures(record, CONFIDENCE):
        block = f.interval
        v = variants[str(f.keys["variant"])]
        if f.name != "block" or block is None or v.key != "compact" or f.keys["caches"] != "warm":
            continue
        batch, threads = int(f.keys["batch"] or 0), int(f.keys["threads"] or 1)
        rate = block.inverse(count * 1e9) if threads > 1 else None
        made.append(
            RecordTime(
                str(f.keys["set"]), "verify", "ns", v.implementation, v.backend, v.id, v.tuned,
                "batch" if batch else "single", batch or 1, threads, block.times(1 / count), rate,
            )
        )  # fmt: skip
    return made


def _shown(path: Path) -> str:
    """Its path, within the source tree if it is a shipped one."""
    with suppress(LabError):
        root = find_root()
        if path.is_relative_to(root / "records"):
            return str(path.relative_to(root))
    return str(path)


def reference_records() -> list[Path]:
    """The shipped records."""
    return [find_root() / name for name in REFERENCE]
