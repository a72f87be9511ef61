"""Times of signing and verification out of records, as draws that carry their intervals."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from msgspec import structs

from mldsa_lab import LabError, located
from mldsa_lab.checkout import find_root
from mldsa_lab.estimate.fit import Fit
from mldsa_lab.estimate.interval import Interval
from mldsa_lab.estimate.summary import MeasuredCell, summarise
from mldsa_lab.kinds.block import block_figures, read_block_content
from mldsa_lab.records import Record, Variant, read_record
from mldsa_lab.sets import CLASSICAL_SETS, SCHEMES, list_sets
from mldsa_lab.theory.trace import Array
from pqc_impact.schemes import ImpactScheme

DRAWS = 4000
NOUNS = {"keygen": "key generation", "sign": "signing", "verify": "verification"}
OPERATIONS = tuple(NOUNS)
BATCH_MOST = 1000
"""The largest batches that count: a block's signatures are of this order."""
_MACHINE = ("cpu", "family", "model", "features", "cores")
_SEED = 12
CONFIDENCE = 0.95
_DEVIATE = 1.959964
REFERENCE = (
    "records/2026-11-22-epyc-zen5/both-builds.jsonl.xz",
    "records/2026-11-22-epyc-zen5/batches.jsonl.xz",
    "records/2026-11-23-epyc-zen4/impact.jsonl.xz",
)
"""The shipped records that times are from where none is given, those with the narrowest intervals
first. The first two are of one machine; the third has what they lack, on another."""
WIDEST = 0.5
"""The widest 95 % confidence interval that counts, as a part of its value: ± a quarter."""
_MEASURE = (
    "mldsa-lab bench --sets ml-dsa,classical,fn-dsa,SLH-DSA-SHA2-128s --threads all --batch 1000 "
    "--until 5"
)
"""A run whose record has every scheme on one machine."""


def measured(what: str, result: Interval) -> Array:
    """Draws of a positive figure whose interval is ``result``: lognormal, each side its own; the
    first is the figure itself. The same for the same ``what``, whatever else is drawn."""
    normal = _random(what).standard_normal(DRAWS)
    sides = [np.log(x / result.value) if x else 0.0 for x in (result.low, result.high)]
    spread = np.where(normal < 0, -sides[0], sides[1]) / _DEVIATE
    return np.concatenate([[result.value], result.value * np.exp(normal * spread)])


def assumed(what: str, result: Interval) -> Array:
    """Draws of a quantity of a scenario, likewise: anything between its ends alike, if it has
    them."""
    if result.low is None or result.high is None:
        return np.full(DRAWS + 1, result.value)
    drawn = _random(what).uniform(result.low, result.high, DRAWS)
    return np.concatenate([[result.value], drawn])


def relative_width(result: Interval) -> float:
    """How wide an interval is, as a part of its value; 0 where it has no limits."""
    value, low, high = result
    return 0.0 if low is None or high is None or not value else (high - low) / value


def _random(what: str) -> np.random.Generator:
    return np.random.default_rng([_SEED, *what.encode()])


def interval_of(draws: Array) -> Interval:
    """The figure, with its interval if there is any."""
    value = float(draws[0])
    low, high = np.quantile(draws[1:], [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    return Interval(value) if low == high else Interval(value, float(low), float(high))


@dataclass(frozen=True)
class RecordRate:
    """Operations per second, or per cycle, of so many cores, as draws, and their source.

    ``modelled``: more cores than were measured. ``fit``: of signing to its traces. ``libraries``:
    the implementations, one for each scheme of a hybrid. ``elsewhere``: the records of other
    machines than the first record's. ``scaling``: draws of the rate over that of one core, both of
    the record of several cores; None where that is not known.
    """

    draws: Array
    source: str
    modelled: bool = False
    fit: Fit | None = None
    libraries: tuple[str, ...] = ()
    elsewhere: tuple[str, ...] = ()
    scaling: Array | None = None


BUSY = "The machine was busy with other work"
"""Beginning of the remark on records of a busy machine."""


@dataclass(frozen=True, eq=False)
class TimedCalls:
    """How long an operation of a variant takes: its ``mean`` cost, and ``per_second``, which all
    that have several threads have. Equal only to themselves."""

    variant: Variant
    set: str
    operation: str
    unit: str
    mean: Interval
    per_second: Interval | None
    fit: Fit | None = None

    @classmethod
    def from_cell(cls, cell: MeasuredCell) -> TimedCalls:
        """Return the times of a cell whose mean is known."""
        assert cell.mean is not None
        return cls(
            cell.variant, cell.set, cell.operation, cell.unit, cell.mean,
            cell.interval("per_second"), cell.fit,
        )  # fmt: skip

    @property
    def cost(self) -> float:
        """The value of the mean."""
        return self.mean.value


@dataclass(frozen=True)
class _RecordTimes:
    """The times of one record, the machine that they are of, and its load if it was busy.
    ``of_one_thread``: by a row of several threads the same calls on one."""

    name: str
    machine: object
    rows: list[TimedCalls]
    busy: str = ""
    of_one_thread: Mapping[TimedCalls, TimedCalls] = field(default_factory=dict)


class RecordTimes:
    """The times of ``operations`` in records. ``paths``: in the order in which they are asked, the
    shipped ones if there are none. ``widest``: the widest interval, as a part of the value.
    ``implementations``: patterns of those whose times count; LabError if no record has one.

    A wider one on one thread raises LabError. On several threads, and in a shipped record,
    `remarks` names it: their intervals are wide unless a machine has its cores to itself.
    """

    def __init__(
        self,
        paths: Sequence[Path],
        schemes: Iterable[str],
        operations: Sequence[str] = OPERATIONS,
        widest: float = WIDEST,
        implementations: Sequence[str] = (),
    ) -> None:
        self.is_given, self.widest = bool(paths), widest
        paths = paths or [find_root() / name for name in REFERENCE]
        self.records = tuple(_shown(path) for path in paths)
        """The records, as figures name them."""
        self._wide: dict[str, None] = {}
        self._elsewhere: dict[str, None] = {}
        self._busy: dict[str, None] = {}
        requested = set(schemes)
        self._times = [_times(path, requested, operations, implementations) for path in paths]
        if implementations and not any(times.rows for times in self._times):
            raise LabError(f"--implementations: no times of these in {', '.join(self.records)}")
        self._libraries: dict[tuple[str, str], str | None] = {}

    def rate(
        self, scheme: ImpactScheme, cores: int, implementations: dict[str, str], *,
        operation: str = "verify", unit: str = "ns", stretch: bool = False, batches: bool = False,
    ) -> RecordRate | str:  # fmt: skip
        """Return operations of a scheme per second, or per cycle where records are in that
        ``unit``; a hybrid's schemes follow each other. Else return the reason for none.

        By single calls, or with ``batches`` by the fastest batch interface (by single calls in
        those of a hybrid's schemes that have none). ``stretch``: more cores than were measured are
        taken to share the work evenly, else LabError.
        """
        result = []
        has_batches = not batches
        for part in scheme.parts:
            rows = self._timed(part, {}, operation, unit, "batch") if batches else []
            has_batches |= bool(rows)
            rows = rows or self._timed(part, implementations, operation, unit, "single")
            if not rows:
                requested = _named(part, implementations)
                noun = NOUNS[operation]
                by = f" by {requested}" if requested else ""
                in_unit = "" if unit == "ns" else f" in {unit}"
                return f"no {noun} of {part}{by}{in_unit} in {', '.join(self.records)}"
            result.append(self._fastest(part, rows, cores, stretch))
        if not has_batches:
            return f"no batch interface for {scheme.name} in {', '.join(self.records)}"
        draws = 1 / sum(1 / rate.draws for rate in result)
        source = "; ".join(dict.fromkeys(r.source for r in result))
        return RecordRate(
            np.asarray(draws), source, any(r.modelled for r in result),
            libraries=tuple(library for r in result for library in r.libraries),
            elsewhere=tuple(dict.fromkeys(name for r in result for name in r.elsewhere)),
            scaling=result[0].scaling if len(result) == 1 else None,
        )  # fmt: skip

    def signer(
        self, scheme: ImpactScheme, implementations: dict[str, str], batch: int = 1
    ) -> RecordRate | str:
        """Return the signatures per second of one core, with their fit, or the reason for none.

        They are by single calls, or by batches of exactly this size.
        """
        if len(scheme.parts) > 1:
            return "the law of a hybrid's signing time is not known"
        (part,) = scheme.parts
        mode = "single" if batch == 1 else "batch"
        rows = [
            (record, row)
            for record, row in self._timed(part, implementations, "sign", "ns", mode)
            if row.variant.threads == 1 and row.variant.batch_size == batch
        ]
        if not rows:
            what = f"batches of {batch}" if batch > 1 else "signing"
            return f"no {what} of {scheme.name} in {', '.join(self.records)}"
        return self._fastest(part, rows, 1, False)

    def speed_ups(
        self, name: str, operation: str, implementation: str, baseline: str
    ) -> Iterator[tuple[str, Array, str]]:
        """Yield title, draws of the ratio and source of each speed-up of an implementation.

        They compare single calls of each backend with the ``baseline`` one and, in the fastest
        backend, each size of batch with single calls. Each is of one record, the first that has
        both, by default builds with intervals that are not too wide.
        """
        result: set[str] = set()
        for record in self._times:
            rows: dict[tuple[str, int], TimedCalls] = {}
            for row in record.rows:
                v = row.variant
                asked = (row.set, row.operation, v.implementation, v.threads, v.is_tuned)
                is_tight = relative_width(row.mean) <= self.widest
                if asked == (name, operation, implementation, 1, False) and is_tight:
                    rows[v.backend, v.batch_size if v.mode == "batch" else 0] = row
            single = [row for (_, batch), row in rows.items() if not batch]
            best = min(single, key=lambda row: row.cost).variant.backend if single else ""
            for (backend, batch), row in sorted(rows.items()):
                title = f"batches of {batch:,}" if batch else backend
                before = rows.get((backend, 0) if batch else (baseline, 0))
                if before is row or before is None or title in result or batch == 1:
                    continue
                if batch and backend != best:
                    continue
                result.add(title)
                slower, faster = (
                    measured(f"{operation} {name} {r.variant.id} {record.name}", r.mean)
                    for r in (before, row)
                )
                yield title, slower / faster, f"{implementation} ({backend}), {record.name}"

    def _timed(
        self, name: str, implementations: dict[str, str], operation: str, unit: str, mode: str
    ) -> list[tuple[_RecordTimes, TimedCalls]]:
        """Return the rows of a scheme by the implementation that the file names.

        Else by the one that is chosen for all sets of the family, or by any where that one lacks
        the operation.
        """
        if requested := _named(name, implementations):
            return self._rows(name, requested, operation, unit, mode)
        chosen = self._library(name, unit)
        rows = self._rows(name, chosen, operation, unit, mode) if chosen else []
        return rows or self._rows(name, None, operation, unit, mode)

    def _library(self, name: str, unit: str) -> str | None:
        """Return the implementation of all sets of a family that no file names.

        It has the most sets and operations in the first record with the family. Of several the
        fastest counts, by the geometric mean of default builds on one core.
        """
        group = _group(name)
        if (group[0], unit) in self._libraries:
            return self._libraries[group[0], unit]
        best: dict[str, dict[tuple[str, str], tuple[int, bool, float]]] = {}
        for record in self._times:
            for row in record.rows:
                v = row.variant
                if row.set in group and row.unit == unit and v.mode == "single":
                    costs = best.setdefault(v.implementation, {})
                    cost, place = (v.threads, v.is_tuned, row.cost), (row.set, row.operation)
                    costs[place] = min(cost, costs.get(place, cost))
            if best:
                break

        def rank(library: str) -> tuple[int, int, float]:
            costs = best[library].values()
            tuned = sum(is_tuned for _, is_tuned, _ in costs)
            return -len(costs), tuned, sum(math.log(cost) for *_, cost in costs)

        return self._libraries.setdefault((group[0], unit), min(best, key=rank, default=None))

    def _rows(
        self, name: str, requested: str | None, operation: str, unit: str, mode: str
    ) -> list[tuple[_RecordTimes, TimedCalls]]:
        """Return the rows of a scheme with their records."""
        return [
            (record, row)
            for record in self._times
            for row in record.rows
            if (row.set, row.operation, row.unit) == (name, operation, unit)
            and row.variant.mode == mode
            and (requested is None or requested in (row.variant.implementation, row.variant.id))
        ]

    def _fastest(
        self, name: str, rows: Sequence[tuple[_RecordTimes, TimedCalls]], cores: int, stretch: bool
    ) -> RecordRate:
        """Return the rate on so many cores of the fastest row on one core.

        It is of the first record that has the scheme; other records of the same machine add numbers
        of cores.
        """
        result = rows[0][0]
        first = [row for record, row in rows if record is result]
        fastest = min(first, key=lambda row: (row.variant.threads, row.variant.is_tuned, row.cost))
        best = fastest.variant
        same = [
            (record, row) for record, row in rows
            if row.variant.base == best.base and record.machine == result.machine
            and (best.mode == "single" or row.variant.batch_size == best.batch_size
                 or row.variant.threads > 1)
        ]  # fmt: skip
        most = max(row.variant.threads for _, row in same)
        if cores > most and not stretch:
            raise LabError(
                f"node.cores: {cores} cores, and {best.implementation} was measured on {most} in "
                f"{fastest.operation} of {name}: `extrapolate = true` takes more to share the "
                "work evenly"
            )
        threads = cores if any(row.variant.threads == cores for _, row in same) else most
        record, row = next(pair for pair in same if pair[1].variant.threads == threads)
        self._check(record, row)
        v = row.variant
        how = f", batches of {v.batch_size:,}" if v.mode == "batch" else ""
        source = f"{v.implementation} ({v.backend}{how}), {record.name}"
        drawn = f"{row.operation} {row.set} {v.id} {v.mode} {threads} {record.name}"
        draws = measured(drawn, _interval(row))
        if threads == 1:
            draws = (1e9 if row.unit == "ns" else 1.0) / draws
        if cores != threads:
            source += f"; extrapolated from {threads} to {cores} cores, as if they shared evenly"
        library = v.implementation + (" (batches)" if v.mode == "batch" else "")
        elsewhere = () if record.machine == self._times[0].machine else (record.name,)
        rate, scaling = draws * (cores / threads), None
        if (one := record.of_one_thread.get(row)) is not None:
            drawn = f"{row.operation} {row.set} {one.variant.id} {v.mode} 1 {record.name}"
            scaling = rate / measured(drawn, _rate(one))
        return RecordRate(rate, source, cores > most, row.fit, (library,), elsewhere, scaling)

    def _check(self, record: _RecordTimes, row: TimedCalls) -> None:
        """Raise LabError for an interval that is too wide, or remark on it; remark on another
        machine than that of the first record."""
        v = row.variant
        what = f"{NOUNS[row.operation]} of {row.set} by {v.implementation}"
        if v.threads > 1:
            what += f" on {v.threads} threads"
        width = relative_width(_interval(row))
        if width > self.widest:
            if self.is_given and v.threads == 1:
                raise LabError(
                    f"{record.name}: {what}: the 95 % confidence interval is {width:.0%} of the "
                    f"value wide, more than {self.widest:.0%}. Measure again on a quiet machine "
                    f"(`{_MEASURE}`), or accept it with --widest {math.ceil(100 * width)}"
                )
            self._wide[f"{what}, {width:.0%}"] = None
        if record.busy:
            self._busy[f"{record.name}: {record.busy}"] = None
        if record.machine != self._times[0].machine:
            self._elsewhere[f"{row.set} ({v.implementation}, {record.name})"] = None

    @property
    def remarks(self) -> tuple[str, ...]:
        """Remarks on the times that were taken."""
        built = []
        if self._busy:
            built.append(f"{BUSY}: {'; '.join(self._busy)}")
        if self._wide:
            built.append(
                f"Not tight, with 95 % confidence intervals wider than {self.widest:.0%} of the "
                f"value: {'; '.join(self._wide)}. For a record of your own: {_MEASURE}"
            )
        if self._elsewhere:
            built.append(
                "Measured on another machine than the other schemes, so compare them with care: "
                + "; ".join(self._elsewhere)
            )
        return tuple(built)


def _group(name: str) -> tuple[str, ...]:
    """Return the sets that one implementation is chosen for: a family, or a classical scheme."""
    return (name,) if name in CLASSICAL_SETS else list_sets(SCHEMES[name].family)


def _named(name: str, implementations: dict[str, str]) -> str | None:
    """Return the implementation that a file names for a scheme: its own, or the only one that it
    names for sets of the family."""
    if name in implementations:
        return implementations[name]
    named = {implementations[s] for s in _group(name) if s in implementations}
    return named.pop() if len(named) == 1 else None


def _interval(row: TimedCalls) -> Interval:
    """Return what is measured: the cost on one thread, operations per second on several."""
    return row.mean if row.variant.threads == 1 else _rate(row)


def _rate(row: TimedCalls) -> Interval:
    assert row.per_second is not None
    return row.per_second


def _times(
    path: Path, schemes: set[str], operations: Sequence[str], implementations: Sequence[str]
) -> _RecordTimes:
    """Single operations and batches of a record by keys as bytes, in any number of threads; of a
    block its verifications with warm caches."""
    record, name = read_record(path).narrow((), (), implementations), _shown(path)
    machine = {key: record.run.machine.get(key) for key in _MACHINE}
    with located(path):
        if record.definition("block") is not None:
            rows = _of_block(record) if "verify" in operations else []
            return _RecordTimes(name, machine, rows, record.busy)
        compact = {v.id for v, _ in record.variants.values() if v.key == "compact"}
        record.samples[:] = [
            s for s in record.samples
            if s.operation in operations and s.set in schemes and s.variant in compact
        ]  # fmt: skip
        result = summarise(record, confidence=CONFIDENCE)
    timed = [TimedCalls.from_cell(c) for c in result.cells if c.mean and c.unit in ("ns", "cycles")]
    rows = [
        r for r, v in ((row, row.variant) for row in timed)
        if (v.threads > 1 or v.batch_size <= (BATCH_MOST if v.mode == "batch" else 1))
        and (v.threads == 1 or r.per_second)
    ]  # fmt: skip
    one = {_calls(r): r for r in timed if r.variant.threads == 1 and r.per_second}
    ones = {r: one[_calls(r)] for r in rows if r.variant.threads > 1 and _calls(r) in one}
    return _RecordTimes(name, machine, rows, record.busy, ones)


def _calls(row: TimedCalls) -> tuple[str | int, ...]:
    """Identity of a row's calls without the number of threads."""
    v = row.variant
    return v.base, v.mode, v.batch_size, row.set, row.operation


def _of_block(record: Record) -> list[TimedCalls]:
    """Return the verifications of a block by keys as bytes and with warm caches."""
    count = read_block_content(record).verifications
    built = []
    for f in block_figures(record, CONFIDENCE):
        block = f.interval
        v, worker = record.variants[str(f.keys["variant"])]
        if (f.name, f.keys.get("of"), f.keys.get("caches")) != ("time", "block", "warm"):
            continue
        if block is None or v.key != "compact":
            continue
        batch, threads = int(f.keys.get("batch") or 0), int(f.keys["threads"] or 1)
        mode = "batch" if batch else "single"
        called = structs.replace(v, mode=mode, batch_size=batch or 1, threads=threads)
        mean, rate = block.times(1 / count), block.inverse(count * 1e9)
        name = str(f.keys["set"])
        built.append(TimedCalls(called, name, "verify", worker.unit, mean, rate))
    return built


def _shown(path: Path) -> str:
    """Its path, within the source tree if it is a shipped one."""
    with suppress(LabError):
        root = find_root()
        if path.is_relative_to(root / "records"):
            return str(path.relative_to(root))
    return str(path)
