"""Pools: the traces of many candidate inputs, from a spec or a list, and their files.

A pool file is in Parquet (lab/notes/pools.md has the columns), which needs the extra `pools`. It is
written row group by row group and takes its name once it is complete. It has the columns of inputs
only where these do not follow from a seed.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any, Literal, Self, TextIO

import msgspec
import numpy as np
from numpy.typing import NDArray

from mldsa_lab import LabError, __version__, first_line, located
from mldsa_lab.files import (
    Hex,
    convert,
    decode_format,
    move_into_place,
    parse_json,
    reading,
    temporary_sibling,
    to_builtins,
    writing,
)
from mldsa_lab.inputs.input import MESSAGE_BYTES_MAX, Input, Spec, check_sizes, normalize_rnd
from mldsa_lab.plugins import need
from mldsa_lab.sets import SEED_BYTES, parameter_set
from mldsa_lab.theory.trace import TraceTable

ROWS = 1 << 16
"""Signatures of a row group, the most in memory at a time."""

Checks = Literal["reached", "all"]
"""``reached``: c t0 and the hint weight were checked only in iterations that pass z and r0, as in
Algorithm 7; ``all``: in every iteration."""
Key = Literal["xi", "sk"]
"""The form in which listed inputs have their key: its seed, or the private key."""

NamedInputs = tuple[tuple[str, Input], ...]
"""Inputs of a file, each with its name."""


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


# Inputs of a pool.


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


# Pool files.


FORMAT = "mldsa-lab pool"
VERSION = 1
"""Version of the pool format."""
_KEY = FORMAT.encode()


class About(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """The metadata of a pool: see lab/notes/pools.md."""

    format: Literal["mldsa-lab pool"]
    version: Literal[1]
    tool: str
    set: Literal["ML-DSA-44", "ML-DSA-65", "ML-DSA-87"]
    checks: Checks
    spec: Spec | None

    def __post_init__(self) -> None:
        if self.spec is not None and self.spec.set != self.set:
            raise LabError(f"is of {self.set}, but its spec of {self.spec.set}")


def _arrow() -> Any:
    """Import pyarrow with its Parquet module; LabError that names the extra without it."""
    need("pools", "a pool file")
    import pyarrow
    import pyarrow.parquet

    return pyarrow


def _columns(set_name: str, key: Key | None) -> dict[str, Any]:
    """Return the type of each column; ``key``: the form of the keys of listed inputs."""
    pa = _arrow()
    columns = {
        "index": pa.uint64(),
        **dict.fromkeys(("n_z", "n_r", "n_h"), pa.uint16()),
        "attempts": pa.list_(pa.uint16()),
    }
    if key is not None:
        size = SEED_BYTES if key == "xi" else parameter_set(set_name).private_key_bytes
        columns |= {
            "id": pa.string(),
            key: pa.binary(size),
            "message": pa.binary(),
            "context": pa.binary(),
            "rnd": pa.binary(SEED_BYTES),
        }
    return columns


class PoolWriter:
    """Writes a pool file; it takes its place when the block that uses the writer ends without an
    exception. Else what was written is put at ``keep``, or where that is None nothing is left."""

    def __init__(
        self,
        path: Path,
        set_name: str,
        checks: Checks,
        spec: Spec | None,
        *,
        key: Key | None = None,
        keep: Path | None = None,
    ) -> None:
        """``key``: the form of the keys where inputs are listed. LabError if the file cannot be
        created."""
        self._path = path
        self._keep = keep
        self._rows = 0
        about = {
            "format": FORMAT,
            "version": VERSION,
            "tool": f"mldsa-lab {__version__}",
            "set": set_name,
            "checks": checks,
            "spec": to_builtins(spec),
        }
        pa, columns = _arrow(), _columns(set_name, key)
        fields = [pa.field(name, kind, nullable=False) for name, kind in columns.items()]
        self._schema = pa.schema(fields, metadata={_KEY: json.dumps(about).encode()})
        with writing(path):
            self._temporary = temporary_sibling(path)
            self._file = pa.parquet.ParquetWriter(
                self._temporary, self._schema, compression="zstd", use_dictionary=["attempts"]
            )

    def write(self, pool: Pool) -> None:
        """Append the traces of ``pool`` as one row group."""
        pa, counts = _arrow(), pool.table.counts().astype(np.uint16)
        offsets = np.concatenate([[0], pool.table.ends]).astype(np.int32)
        iterations = pa.ListArray.from_arrays(pa.array(offsets), pa.array(pool.table.codes))
        columns = [pool.index, *counts.T, iterations]
        if pool.listed is not None:
            rows = [(name, i.key, i.message, i.context, i.signing_rnd) for name, i in pool.listed]
            columns += zip(*rows, strict=True)
        table = pa.table(dict(zip(self._schema.names, columns, strict=True)), self._schema)
        with writing(self._path):
            self._file.write_table(table, row_group_size=max(len(pool), 1))
            self._rows += len(pool)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *error: object) -> None:
        try:
            with writing(self._path):
                self._file.close()
                target = self._path if kind is None else self._keep
                if target is not None and (kind is None or self._rows > _rows(target)):
                    move_into_place(self._temporary, target)
        finally:
            with suppress(OSError):
                self._temporary.unlink(missing_ok=True)


def _rows(path: Path) -> int:
    """Traces in a file that an earlier job left; 0 if there is none."""
    pa = _arrow()
    try:
        return int(pa.parquet.ParquetFile(path).metadata.num_rows)
    except (OSError, pa.ArrowException):
        return 0


def read_pool(path: Path, *, limit: int | None = None) -> Pool:
    """The pool in a file, or its first ``limit`` traces; LabError if it is none."""
    parts, rows = [], 0
    for part in read_parts(path):
        parts.append(part)
        rows += len(part)
        if limit is not None and rows >= limit:
            break
    if not parts:
        raise LabError(f"pool {path}: has no traces")
    pool = join_pools(parts)
    return pool if limit is None else pool.take(np.arange(min(limit, rows)))


def read_parts(path: Path) -> Iterator[Pool]:
    """The pool in a file, a row group at a time; LabError if it is none or is cut off."""
    pa = _arrow()
    try:
        with reading(path, "pool "):
            file = pa.parquet.ParquetFile(path)
    except pa.ArrowException as error:
        raise LabError(f"pool {path}: is not a whole Parquet file: {first_line(error)}") from None
    with file:
        about = _about(path, file.schema_arrow)
        for number in range(file.num_row_groups):
            try:
                rows = file.read_row_group(number)
            except (OSError, pa.ArrowException) as error:
                raise LabError(
                    f"pool {path}: row group {number} is damaged: {first_line(error)}"
                ) from None
            if rows.num_rows:
                yield _part(path, rows, about)


def _part(path: Path, rows: Any, about: About) -> Pool:
    lists = rows["attempts"].combine_chunks()
    with located(f"pool {path}"):
        table = TraceTable(
            about.set,
            lists.flatten().to_numpy(zero_copy_only=False),
            np.cumsum(lists.value_lengths().to_numpy(zero_copy_only=False)).astype(np.int64),
        )
    counts = np.column_stack([rows[c].to_numpy() for c in ("n_z", "n_r", "n_h")])
    if (counts != table.counts()).any():
        raise LabError(f"pool {path}: n_z, n_r, n_h must be the counts of the attempts")
    index = rows["index"].to_numpy().astype(np.uint64)
    listed = None
    if about.spec is None:
        names = [name for name in COLUMNS if name in rows.column_names]
        listed = tuple(
            (line["id"], _read_input(path, line, about.set, int(number)))
            for number, line in zip(index, rows.select(names).to_pylist(), strict=True)
        )
    return Pool(table, index, about.checks, about.spec, listed)


def _read_input(path: Path, line: dict[str, Any], set_name: str, number: int) -> Input:
    with located(f"pool {path}: input {line['id']!r}"):
        return InputLine(**line).input(set_name, number)


def _key(about: About, schema: Any) -> Key | None:
    """Return the form of the keys where inputs are listed."""
    if about.spec is not None:
        return None
    return "sk" if "sk" in schema.names else "xi"


def _about(path: Path, schema: Any) -> About:
    """Return the metadata of a pool file; LabError if it is none, or one of another version."""
    text = (schema.metadata or {}).get(_KEY)
    if text is None:
        raise LabError(f"pool {path}: is a Parquet file, but not one that mldsa-lab wrote")
    about = decode_format(text.decode("utf-8", "replace"), About, f"pool {path}", FORMAT, VERSION)
    for name, kind in _columns(about.set, _key(about, schema)).items():
        at = schema.get_field_index(name)
        if at < 0 or schema.field(at).type != kind:
            raise LabError(f"pool {path}: must have a column {name} of type {kind}")
    return about
