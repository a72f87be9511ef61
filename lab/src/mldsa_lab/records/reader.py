"""Reading a record strictly: every error names the file, the line and the rule broken."""

from __future__ import annotations

import json
import lzma
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from mldsa_lab.errors import LabError
from mldsa_lab.files import convert, decode_hook
from mldsa_lab.records import rows
from mldsa_lab.records.record import Record

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
    kind = re.search(rb'"type": *"([a-z]+)"', line)
    return kind is None or kind[1] in (b"worker", b"input")


def _first(line: bytes, path: Path) -> Record:
    """A record that has its first line alone, of the schema that is known."""
    where = f"{path}: line 1"
    try:
        value: Any = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise LabError(f"{where}: must be one JSON object: {error}") from None
    if not isinstance(value, dict) or value.get("type") != "run":
        raise LabError(f"{where}: not an mldsa-lab record: the first line must be of type 'run'")
    schema = value.get("schema")
    if isinstance(schema, int) and schema != rows.SCHEMA:
        raise LabError(
            f"{where}: schema version {schema}: this mldsa-lab reads {rows.SCHEMA}; "
            f"`python scripts/convert_records.py {path}` converts older records"
        )
    return Record(convert(value, rows.Run, where))


class _Order:
    """The rules between lines: what a line may refer to must stand before it."""

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
