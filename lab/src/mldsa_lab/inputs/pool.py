"""Pools: the traces of many candidate inputs, from a spec or a list."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any, Literal, TextIO

import msgspec
import numpy as np
from numpy.typing import NDArray

from mldsa_lab import LabError
from mldsa_lab.files import Hex, convert, parse_json, reading
from mldsa_lab.inputs.input import MESSAGE_BYTES_MAX, Input, Spec, check_sizes, normalize_rnd
from mldsa_lab.sets import parameter_set
from mldsa_lab.theory.trace import TraceTable

FORMAT = "mldsa-lab pool"
VERSION = 1
"""Version of the pool format."""
ROWS = 1 << 16
"""Signatures of a row group: what is held in memory at a time."""

Checks = Literal["reached", "all"]
"""``reached``: c t0 and the hint weight were looked at in attempts that pass z and r0 alone, as
Algorithm 7 does; ``all``: in every attempt."""
Key = Literal["xi", "sk"]
"""The form in which listed inputs have their key: its seed, or the private key."""

NamedInputs = tuple[tuple[str, Input], ...]
"""Inputs of a file, each with its name."""


class About(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """The metadata of a pool: see docs/pools.md."""

    format: Literal["mldsa-lab pool"]
    version: Literal[1]
    tool: str
    set: Literal["ML-DSA-44", "ML-DSA-65", "ML-DSA-87"]
    checks: Checks
    spec: Spec | None

    def __post_init__(self) -> None:
        if self.spec is not None and self.spec.set != self.set:
            raise LabError(f"is of {self.set}, but its spec of {self.spec.set}")


@dataclass(frozen=True)
class Pool:
    """Traces of candidate inputs.

    ``index``: (signatures,) the inputs' numbers in ``spec``, or in the list. ``spec``: the source
    of generated inputs; ``listed``: the inputs of a file.
    """

    table: TraceTable
    index: NDArray[np.uint64]
    checks: Checks
    spec: Spec | None = None
    listed: NamedInputs | None = None

    @property
    def set(self) -> str:
        """The parameter set."""
        return self.table.set

    def __len__(self) -> int:
        return len(self.table)

    def input(self, number: int) -> Input:
        """The input of trace ``number`` of the table."""
        if self.listed is not None:
            return self.listed[number][1]
        assert self.spec is not None
        return self.spec.input(int(self.index[number]))

    def take(self, numbers: Sequence[int] | NDArray[np.int64]) -> Pool:
        """The pool of only these traces."""
        places = np.asarray(numbers, dtype=np.int64)
        listed = None if self.listed is None else tuple(self.listed[i] for i in places)
        return replace(self, table=self.table.take(places), index=self.index[places], listed=listed)


def join_pools(parts: Sequence[Pool]) -> Pool:
    """Several parts of one pool, one after another; at least one."""
    listed = None
    if parts[0].listed is not None:
        listed = tuple(item for part in parts for item in part.listed or ())
    return replace(
        parts[0],
        table=TraceTable.join([part.table for part in parts]),
        index=np.concatenate([part.index for part in parts]),
        listed=listed,
    )


# Inputs of a pool: generated, or listed in a file.


# A message of the longest kind in hexadecimal, and the rest of its line.
csv.field_size_limit(2 * MESSAGE_BYTES_MAX + 16384)


class InputLine(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """One input in a file of inputs: a line of JSON, or of CSV under a header. The key is the
    seed ``xi`` or as private key ``sk`` (skEncode)."""

    id: str | int | None = None
    xi: Hex | None = None
    sk: Hex | None = None
    message: Hex
    context: Hex = b""
    rnd: Hex | None = None

    def __post_init__(self) -> None:
        if (self.xi is None) == (self.sk is None):
            raise LabError("must have either xi or sk")
        check_sizes(self)
        if len(self.message) > MESSAGE_BYTES_MAX:
            raise LabError(f"message has more than {MESSAGE_BYTES_MAX} bytes")
        if self.id is not None and not 0 < len(str(self.id)) <= 200:
            raise LabError("id must have from 1 to 200 characters")

    @property
    def key(self) -> Key:
        """The form of the key."""
        return "xi" if self.sk is None else "sk"

    def input(self, set_name: str, number: int) -> Input:
        """Return the input with this number."""
        rnd = normalize_rnd(self.rnd)
        return Input(set_name, number, self.xi, self.message, self.context, rnd, sk=self.sk)


COLUMNS = tuple(field.name for field in msgspec.structs.fields(InputLine))
"""The columns of a file of inputs."""


@dataclass(frozen=True)
class Block:
    """Consecutive inputs: ``count`` of a spec from ``start`` on, or listed ones."""

    set: str
    start: int
    count: int
    spec: Spec | None = None
    listed: NamedInputs | None = None

    def inputs(self) -> list[Input]:
        """The inputs, generated where they are traced if they follow from a spec."""
        if self.listed is not None:
            return [item for _, item in self.listed]
        assert self.spec is not None
        return self.spec.inputs(self.start, self.count)

    def index(self) -> NDArray[np.uint64]:
        """The inputs' numbers."""
        return np.arange(self.start, self.start + self.count, dtype=np.uint64)


@dataclass(frozen=True)
class Generated:
    """Inputs 0 to ``count`` - 1 of a spec."""

    spec: Spec
    count: int
    key: None = None

    def __post_init__(self) -> None:
        if self.count < 1:
            raise LabError(f"pool of {self.count} inputs: must have at least 1")

    @property
    def set(self) -> str:
        return self.spec.set

    def blocks(self, size: int, done: int = 0) -> Iterator[Block]:
        for start in range(done, self.count, size):
            yield Block(self.set, start, min(size, self.count - start), spec=self.spec)


@dataclass(frozen=True)
class FromFile:
    """The inputs that a CSV file (with a header) or a file of JSON lines lists (`InputLine`), read
    line by line. Of all that is read only the ids are remembered, where there are any. All keys
    are in one form. LabError names file, line and rule."""

    path: Path
    set: str
    count: None = None
    spec: None = None

    @property
    def key(self) -> Key:
        return next(line.key for _, line in self._lines())

    def blocks(self, size: int, done: int = 0) -> Iterator[Block]:
        inputs = islice(enumerate(self._inputs()), done, None)
        while held := list(islice(inputs, size)):
            yield Block(self.set, held[0][0], len(held), listed=tuple(item for _, item in held))

    def _inputs(self) -> Iterator[tuple[str, Input]]:
        """The name of each input, its number where it has none, and what is signed."""
        seen: set[str] = set()
        key, sk_bytes = self.key, parameter_set(self.set).private_key_bytes
        for number, (where, line) in enumerate(self._lines()):
            if line.id is not None and str(line.id) in seen:
                raise LabError(f"{where}: the id {str(line.id)!r} appears twice")
            if line.key != key:
                raise LabError(f"{where}: must have {key}, as the inputs before it")
            if line.sk is not None and len(line.sk) != sk_bytes:
                raise LabError(f"{where}: sk has {len(line.sk)} bytes, must have {sk_bytes}")
            if line.id is not None:
                seen.add(str(line.id))
            name = str(number if line.id is None else line.id)
            yield name, line.input(self.set, number)

    def _lines(self) -> Iterator[tuple[str, InputLine]]:
        """The inputs, each with its place; at least one."""
        rows = {".jsonl": _json_rows, ".ndjson": _json_rows, ".csv": _csv_rows}
        if self.path.suffix not in rows:
            raise LabError(f"{self.path}: inputs must be in a .csv, .jsonl or .ndjson file")
        where = ""
        try:
            with reading(self.path), self.path.open(encoding="utf-8", newline="") as file:
                for where, row in rows[self.path.suffix](str(self.path), file):
                    yield where, convert(row, InputLine, where)
        except UnicodeDecodeError as error:
            raise LabError(f"{self.path}: {error.reason}: is not UTF-8 text") from None
        if not where:
            raise LabError(f"{self.path}: lists no inputs")


Source = Generated | FromFile
"""Inputs in blocks; ``count`` is None where it is not known before the end."""


def _json_rows(path: str, file: TextIO) -> Iterator[tuple[str, Any]]:
    for number, text in enumerate(file, 1):
        if text.strip():
            where = f"{path}, line {number}"
            yield where, parse_json(text, where)


def _csv_rows(path: str, file: TextIO) -> Iterator[tuple[str, Any]]:
    reader = csv.DictReader(file, strict=True)
    try:
        names = reader.fieldnames or ()
        for name in names:
            if name not in COLUMNS or names.count(name) > 1:
                rule = f"must be one of {', '.join(COLUMNS)}, each once"
                raise LabError(f"{path}, line 1: column {name!r} {rule}")
        for row in reader:
            where = f"{path}, line {reader.line_num}"
            if None in row or None in row.values():
                raise LabError(f"{where}: must have {len(names)} fields, as the header")
            yield where, row
    except csv.Error as error:
        raise LabError(f"{path}, line {reader.reader.line_num}: {error}") from None
