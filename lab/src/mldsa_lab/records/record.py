"""A record as a whole: read strictly, written line by line.

Every error of reading names the file, the line and the rule.
"""

from __future__ import annotations

import json
import lzma
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import msgspec

from mldsa_lab import LabError
from mldsa_lab.files import convert, decode_hook, to_builtins
from mldsa_lab.records import rows
from mldsa_lab.records.rows import Row, short_labels
from mldsa_lab.sets import DEFAULT_BUILD, TUNED_BUILD, build_mark

RUN_FACTS = ("started", "tool", "cpu", "architecture", "os", "commit")
"""The names of `Record.facts`."""
NO_CELL = "no cell is of these --sets, --operations and --implementations"

Filters = tuple[Sequence[str], Sequence[str], Sequence[str]]
"""The arguments of `Record.narrow`."""


@dataclass(slots=True)
class Record:
    """A whole record. `warnings`: flaws that the reader tolerated."""

    run: rows.Run
    workers: list[rows.WorkerRow] = field(default_factory=list)
    skipped: list[rows.Skipped] = field(default_factory=list)
    inputs: list[rows.InputRow] = field(default_factory=list)
    gates: list[rows.Gate] = field(default_factory=list)
    definitions: list[rows.Definition] = field(default_factory=list)
    samples: list[rows.Samples] = field(default_factory=list)
    faults: list[rows.Fault] = field(default_factory=list)
    loads: list[rows.Load] = field(default_factory=list)
    end: rows.End | None = None
    warnings: list[str] = field(default_factory=list)

    @property
    def is_interrupted(self) -> bool:
        """True if the run was ended before its last round."""
        return self.end is None or self.end.status != "complete"

    @property
    def machine(self) -> str | None:
        """The machine in a few words: `AMD EPYC (family 25, model 17, stepping 1), 2 cores`."""
        machine = self.run.machine
        if not machine.get("cpu"):
            return None
        numbers = {name: machine.get(name) for name in ("family", "model", "stepping")}
        model = ", ".join(f"{name} {n}" for name, n in numbers.items() if n is not None)
        cores = f", {machine['cores']} cores" if "cores" in machine else ""
        return f"{machine['cpu']}{f' ({model})' if model else ''}{cores}"

    @property
    def date(self) -> str:
        """The day it was begun, in UTC: `2026-11-21`."""
        return self.run.started[:10]

    @property
    def busy(self) -> str:
        """The largest load average where it is above one process a core, as `load average up to
        14.24 on 2 cores`; "" elsewhere."""
        cores, first = self.run.machine.get("cores"), self.run.machine.get("load1")
        loads = [
            x for x in (first, *(row.load1 for row in self.loads)) if isinstance(x, int | float)
        ]
        if not isinstance(cores, int) or max(loads, default=0.0) <= cores:
            return ""
        noun = "core" if cores == 1 else "cores"
        return f"load average up to {max(loads):.2f} on {cores} {noun}"

    @property
    def identity(self) -> tuple[str, str]:
        """The identity of its run: the seed, and the time it was begun."""
        return self.run.seed, self.run.started

    def definition(self, kind: str) -> rows.Definition | None:
        """The first definition of a kind."""
        return next((d for d in self.definitions if d.kind == kind), None)

    @property
    def variants(self) -> dict[str, tuple[rows.Variant, rows.WorkerRow]]:
        """By id the variants, each with its worker, as announced."""
        return {v.id: (v, worker) for worker in self.workers for v in worker.variants}

    def facts(self) -> dict[str, str | int | float | None]:
        """Return the facts about the run that its figures come with; None where the record does not
        say."""
        run = self.run
        known: dict[str, Any] = {**run.machine, "started": run.started, "tool": run.tool}
        known["commit"] = run.commit or known.get("commit")
        return {name: known.get(name) for name in RUN_FACTS}

    def labels(self) -> dict[str, str]:
        """Return the shortest label that tells each measured variant (by id) from the others."""
        measured = {s.variant for s in self.samples}
        return short_labels([v for v, _ in self.variants.values() if v.id in measured])

    def variant(self, variant_id: str) -> rows.Variant:
        """The variant with this id; LabError if the record has none."""
        if variant_id not in self.variants:
            raise LabError(f"unknown variant {variant_id!r}: no worker of the record announces it")
        return self.variants[variant_id][0]

    def narrow(
        self, sets: Sequence[str], operations: Sequence[str], implementations: Sequence[str]
    ) -> Record:
        """Return the record with the cells of these sets, operations and implementations (or
        variant ids, with wildcards); an empty sequence means all."""
        variants = [v for v, _ in self.variants.values()]
        fitting = {v.id for v in variants if v.matches_any(implementations)}

        def is_chosen(row: rows.Samples | rows.Definition | rows.Fault) -> bool:
            return (
                (row.variant is None or row.variant in fitting)
                and (row.set is None or not sets or row.set in sets)
                and (row.operation is None or not operations or row.operation in operations)
            )

        return replace(
            self,
            samples=[row for row in self.samples if is_chosen(row)],
            definitions=[row for row in self.definitions if is_chosen(row)],
            faults=[row for row in self.faults if is_chosen(row)],
        )

    def is_duplicate_build(self, worker: rows.WorkerRow) -> bool:
        """Return whether it is the tuned build of a worker that took part in its default build too.

        An implementation's only figure is then the default build's.
        """
        return worker.build == TUNED_BUILD and any(
            w.build == DEFAULT_BUILD and w.worker + build_mark(TUNED_BUILD) == worker.worker
            for w in self.workers
        )

    def input(self, set_name: str, input_id: int) -> rows.InputRow:
        """The input with this id; ids are unique in a set. LabError if the record has none."""
        for row in self.inputs:
            if row.set == set_name and row.id == input_id:
                return row
        raise LabError(f"unknown input {input_id} of {set_name}: the record has no such line")

    def add(self, row: rows.Row) -> None:
        """Append one row to the list it belongs to."""
        match row:
            case rows.Run():
                raise LabError("a second run line: a record has one run")
            case rows.End():
                self.end = row
            case _:
                getattr(self, _LISTS[type(row)]).append(row)


_LISTS = {
    rows.WorkerRow: "workers", rows.Skipped: "skipped", rows.InputRow: "inputs",
    rows.Gate: "gates", rows.Definition: "definitions", rows.Samples: "samples",
    rows.Fault: "faults", rows.Load: "loads",
}  # fmt: skip


def busy_notes(loads: Sequence[str]) -> list[str]:
    """Return a sentence about the loads of one run or several, as of `Record.busy`; none where all
    are ""."""
    busy = [load for load in loads if load]
    several = (
        f" in {len(busy)} of {len(loads)} runs, in the first of them" if len(loads) > 1 else ""
    )
    return [f"The machine was busy with other work{several}: {busy[0]}."] if busy else []


decode_row: Callable[[bytes | memoryview], rows.Row] = msgspec.json.Decoder(
    rows.Row, dec_hook=decode_hook
).decode
"""The row of a line. msgspec.DecodeError if it is none."""


def read_record(path: Path, *, lenient: bool = False) -> Record:
    """Read and check a whole record.

    A file named `.xz` is decompressed first. LabError names the file, the line and the rule
    broken; another schema version is refused. A last line that was cut off by an interruption is
    left out with a warning. With ``lenient`` so is every line that is no row. If it may have
    announced variants or inputs, later rows of unannounced ones are left out too.
    """
    try:
        data = path.read_bytes()
        if path.suffix == ".xz" and data:
            data = lzma.decompress(data)
    except OSError as error:
        raise LabError(f"record {path}: cannot read it: {error.strerror}") from None
    except lzma.LZMAError as error:
        raise LabError(f"record {path}: is not a complete .xz file: {error}") from None
    *lines, cut_off = data.split(b"\n")  # the last is empty unless the file ends in a line's middle
    if cut_off:
        lines.append(cut_off)
    if not lines:
        raise LabError(f"{path}: not an mldsa-lab record: it is empty")
    order = _Order(_first(lines[0], path))
    bad: dict[int, str] = {}
    is_announcement_lost = False
    for number, line in enumerate(lines[1:], start=2):
        where = f"{path}: line {number}"
        is_last = cut_off and number == len(lines) and order.record.end is None
        try:
            order.take(_row(line), number)
        except LabError as error:
            if is_last and isinstance(error, _NoRow):
                order.record.warnings.append(f"{where}: cut off by an interruption, left out")
            elif lenient and isinstance(error, _NoRow):
                bad[number] = str(error)
                is_announcement_lost |= _may_announce(line)
            elif is_announcement_lost and isinstance(error, _Unannounced):
                bad[number] = str(error)
            else:
                raise LabError(f"{where}: {error}") from None
    if bad:
        first, text = next(iter(bad.items()))
        several = f", with {len(bad) - 1} more" if len(bad) > 1 else ""
        order.record.warnings.append(f"{path}: line {first} was left out{several}: {text}")
    return order.record


class _NoRow(LabError):
    """A line that is no row of a record."""


class _Unannounced(LabError):
    """A row is of a variant or of an input that no line before it announced."""


def _row(line: bytes) -> rows.Row:
    """The row of a line, or _NoRow."""
    try:
        return decode_row(line)
    except msgspec.ValidationError as error:
        raise _NoRow(str(error)) from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise _NoRow(f"must be one JSON object: {error}") from None


def _may_announce(line: bytes) -> bool:
    """Return whether a damaged line may have announced variants or inputs: it is of such a type,
    or its type is unreadable."""
    kind, quote, _ = line.partition(b'"type":')[2].lstrip(b' "').partition(b'"')
    return not (quote and kind.isalpha()) or kind in (b"worker", b"input")


def _first(line: bytes, path: Path) -> Record:
    """Return a record of only its first line, which must have the known schema."""
    where = f"{path}: line 1"
    try:
        value: Any = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise LabError(f"{where}: must be one JSON object: {error}") from None
    if not isinstance(value, dict) or value.get("type") != "run":
        raise LabError(f"{where}: not an mldsa-lab record: the first line must be of type 'run'")
    schema = value.get("schema")
    if isinstance(schema, int) and schema != rows.SCHEMA:
        known = f"{where}: schema version {schema}: this mldsa-lab reads {rows.SCHEMA}; "
        if schema > rows.SCHEMA:
            raise LabError(f"{known}a newer mldsa-lab wrote it: update this one")
        raise LabError(
            f"{known}`python lab/scripts/convert_records.py {path}` converts older records"
        )
    return Record(convert(value, rows.Run, where))


class _Order:
    """The rules between lines: a line may only refer to lines before it."""

    def __init__(self, record: Record) -> None:
        self.record = record
        self.variants: dict[str, rows.Variant] = {}
        self.inputs: set[tuple[str, int]] = set()
        self.visits: dict[object, int] = {}

    def take(self, row: rows.Row, line: int) -> None:
        """Add the row of a line to the record; LabError if it breaks a rule."""
        if self.record.end is not None:
            raise LabError("nothing may follow the end line")
        match row:
            case rows.WorkerRow():
                if any(row.worker == other.worker for other in self.record.workers):
                    raise LabError(f"worker {row.worker!r} appears twice in the record")
                for announced in row.variants:
                    if announced.id in self.variants:
                        raise LabError(f"variant {announced.id!r} appears twice in it")
                    self.variants[announced.id] = announced
            case rows.InputRow():
                row = row.whole()
                if (row.set, row.id) in self.inputs:
                    raise LabError(f"input {row.id} of {row.set} appears twice in it")
                self.inputs.add((row.set, row.id))
            case rows.Gate() | rows.Definition() | rows.Samples() | rows.Fault():
                self._check_variant(row)
                if isinstance(row, rows.Samples):
                    self._check_once(row, line)
        self.record.add(row)

    def _check_once(self, row: rows.Samples, line: int) -> None:
        first = self.visits.setdefault(row.visit, line)
        if first < line:
            raise LabError(
                f"samples of {row.variant}, {row.set} {row.operation} in round {row.round} appear "
                f"twice, first in line {first}; delete one of the two lines"
            )

    def _check_variant(self, row: rows.Gate | rows.Definition | rows.Samples | rows.Fault) -> None:
        if row.variant is None:
            return  # a definition for all
        variant = self.variants.get(row.variant)
        if variant is None:
            raise _Unannounced(f"variant {row.variant!r} was not announced before")
        if row.set is not None and row.set not in variant.sets:
            raise LabError(f"variant {row.variant!r} does not have {row.set}")
        for number in row.inputs if isinstance(row, rows.Samples) else ():
            if (row.set, number) not in self.inputs:
                raise _Unannounced(f"input {number} of {row.set} was not listed before")


def to_json(row: Row) -> dict[str, Any]:
    """The JSON object of one line, `type` first; bytes become lower-case hexadecimal."""
    values: dict[str, Any] = to_builtins(row)
    return values


class RecordWriter(AbstractContextManager["RecordWriter"]):
    """Appends rows to a new record file; each line is with the system before `write` returns.

    A line goes out in one unbuffered write, so that an interrupt cannot leave half of one behind.
    """

    def __init__(self, path: Path) -> None:
        """Create `path`; LabError if it exists or cannot be written."""
        self.path = path
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = path.open("xb", buffering=0)
        except OSError as error:
            raise LabError(f"record {path}: cannot create it: {error.strerror}") from None

    def write(self, row: Row) -> None:
        """Append one line. LabError if it could not be read again; the record is whole then."""
        text = json.dumps(to_json(row), separators=(",", ":"), allow_nan=False)
        data = memoryview(f"{text}\n".encode())
        try:
            decode_row(data[:-1])
        except msgspec.ValidationError as error:
            raise LabError(f"a record cannot contain this: {error}") from None  # it is published
        try:
            while data:
                data = data[self._file.write(data) :]
        except OSError as error:
            raise LabError(f"record {self.path}: cannot write: {error.strerror}") from None

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def __exit__(self, *error: object) -> None:
        self.close()
