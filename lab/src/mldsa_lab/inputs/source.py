"""Where a pool's inputs come from: a spec that generates them, or a file that lists them."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, TextIO

import numpy as np
from numpy.typing import NDArray

from mldsa_lab.errors import LabError
from mldsa_lab.files import parse_json
from mldsa_lab.inputs.pool import Given
from mldsa_lab.inputs.spec import MESSAGE_BYTES_MAX, SigningInput, Spec
from mldsa_lab.sets import CONTEXT_BYTES_MAX, SEED_BYTES

COLUMNS = ("id", "xi", "message", "context", "rnd")
"""The columns of a file of inputs; xi and message must be there, the others may be."""

# A message of the longest kind in hexadecimal, and the rest of its line.
csv.field_size_limit(2 * MESSAGE_BYTES_MAX + 4096)


@dataclass(frozen=True)
class Block:
    """Consecutive inputs: ``count`` of a spec from ``start`` on, or those given."""

    set: str
    start: int
    count: int
    spec: Spec | None = None
    given: Given | None = None

    def inputs(self) -> list[SigningInput]:
        """The inputs, made where they are traced if they follow from a spec."""
        if self.given is not None:
            return list(self.given.inputs)
        assert self.spec is not None
        return self.spec.inputs(self.start, self.count)

    def index(self) -> NDArray[np.uint64]:
        """The inputs' numbers."""
        return np.arange(self.start, self.start + self.count, dtype=np.uint64)


class Source(Protocol):
    """Inputs in blocks."""

    @property
    def set(self) -> str:
        """The parameter set they are signed with."""
        ...

    @property
    def spec(self) -> Spec | None:
        """What generated inputs follow from."""
        ...

    @property
    def count(self) -> int | None:
        """How many there are, None where that is not known before the end."""
        ...

    def blocks(self, size: int, done: int = 0) -> Iterator[Block]:
        """All inputs but the first ``done``, ``size`` at a time."""
        ...


@dataclass(frozen=True)
class Generated:
    """Inputs 0 to ``count`` - 1 of a spec."""

    spec: Spec
    count: int

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
    """The inputs that a CSV file (with a header) or a file of JSON lines lists, read line by
    line. Bytes are in hexadecimal; `COLUMNS` says which there are. Of all that is read only the
    ids are remembered, where there are any. LabError names file, line and rule."""

    path: Path
    set: str
    count: None = None
    spec: None = None

    def blocks(self, size: int, done: int = 0) -> Iterator[Block]:
        ids: list[str] = []
        inputs: list[SigningInput] = []
        start = number = 0
        seen: set[str] = set()
        for line, row in self._rows():
            name, item = _row(row, f"{self.path}, line {line}", str(number))
            if "id" in row:
                if name in seen:
                    raise LabError(f"{self.path}, line {line}: the id {name!r} stands twice")
                seen.add(name)
            number += 1
            if number <= done:
                start = number
                continue
            ids.append(name)
            inputs.append(item)
            if len(inputs) == size:
                yield self._block(start, ids, inputs)
                start, ids, inputs = number, [], []
        if inputs:
            yield self._block(start, ids, inputs)
        if not number:
            raise LabError(f"{self.path}: lists no inputs")

    def _block(self, start: int, ids: list[str], inputs: list[SigningInput]) -> Block:
        return Block(self.set, start, len(inputs), given=Given(tuple(ids), tuple(inputs)))

    def _rows(self) -> Iterator[tuple[int, Mapping[str, str]]]:
        try:
            with self.path.open(encoding="utf-8", newline="") as file:
                if self.path.suffix in (".jsonl", ".ndjson"):
                    yield from _json_lines(self.path, file)
                elif self.path.suffix == ".csv":
                    yield from _csv_lines(self.path, file)
                else:
                    raise LabError(f"{self.path}: inputs must be in a .csv, .jsonl or .ndjson file")
        except OSError as error:
            raise LabError(f"{self.path}: cannot read it: {error.strerror}") from None
        except UnicodeDecodeError as error:
            raise LabError(f"{self.path}: {error.reason}: is not UTF-8 text") from None


def _csv_lines(path: Path, file: TextIO) -> Iterator[tuple[int, Mapping[str, str]]]:
    reader = csv.reader(file, strict=True)
    try:
        header = [name.strip() for name in next(reader, [])]
        _columns(header, f"{path}, line 1")
        for row in reader:
            if not row:
                continue
            if len(row) != len(header):
                raise LabError(
                    f"{path}, line {reader.line_num}: has {len(row)} fields, "
                    f"the header has {len(header)}"
                )
            yield reader.line_num, dict(zip(header, row, strict=True))
    except csv.Error as error:
        raise LabError(f"{path}, line {reader.line_num}: {error}") from None


def _json_lines(path: Path, file: TextIO) -> Iterator[tuple[int, Mapping[str, str]]]:
    for number, line in enumerate(file, 1):
        if not line.strip():
            continue
        where = f"{path}, line {number}"
        row = parse_json(line, where)
        if not isinstance(row, dict):
            raise LabError(f"{where}: must be a JSON object")
        _columns(list(row), where)
        for name, value in row.items():
            if name == "id" and type(value) is int:
                row[name] = str(value)
            elif not isinstance(value, str):
                raise LabError(f"{where}: {name} must be a text, is {json.dumps(value)[:40]}")
        yield number, row


def _columns(names: list[str], where: str) -> None:
    for name in names:
        if name not in COLUMNS:
            raise LabError(f"{where}: column {name!r} must be one of {', '.join(COLUMNS)}")
        if names.count(name) > 1:
            raise LabError(f"{where}: column {name!r} stands twice")
    for name in ("xi", "message"):
        if name not in names:
            raise LabError(f"{where}: there must be a column {name!r}")


def _row(row: Mapping[str, str], where: str, name: str) -> tuple[str, SigningInput]:
    values = []
    for column, default in (("xi", ""), ("message", ""), ("context", ""), ("rnd", "00" * 32)):
        text = row.get(column, default)
        if not re.fullmatch(r"(?:[0-9a-fA-F]{2})*", text):
            raise LabError(f"{where}: {column} must be bytes in hexadecimal")
        values.append(bytes.fromhex(text))
    xi, message, context, rnd = values
    for column, value in (("xi", xi), ("rnd", rnd)):
        if len(value) != SEED_BYTES:
            raise LabError(f"{where}: {column} has {len(value)} bytes, must have {SEED_BYTES}")
    if len(message) > MESSAGE_BYTES_MAX:
        raise LabError(f"{where}: message has more than {MESSAGE_BYTES_MAX} bytes")
    if len(context) > CONTEXT_BYTES_MAX:
        raise LabError(
            f"{where}: context has {len(context)} bytes, must have at most {CONTEXT_BYTES_MAX}"
        )
    found = row.get("id", name)
    if not found or len(found) > 200:
        raise LabError(f"{where}: id must have from 1 to 200 characters")
    return found, SigningInput(xi, message, context, rnd)
