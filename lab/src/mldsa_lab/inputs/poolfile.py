"""Pool files: pools in Parquet (docs/pools.md has the columns). It needs the extra `pools`.

Written row group by row group and put in its place when it is whole; the columns of inputs are
there only where these do not follow from a seed.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, Self

import numpy as np

from mldsa_lab import LabError, __version__, first_line, located
from mldsa_lab.files import beside, decode_format, put, reading, to_builtins, writing
from mldsa_lab.inputs.input import Input, Spec
from mldsa_lab.inputs.pool import FORMAT, VERSION, About, Checks, InputLine, Key, Pool, join_pools
from mldsa_lab.plugins import need
from mldsa_lab.sets import SEED_BYTES, parameter_set
from mldsa_lab.theory.trace import TraceTable

need("pools", "a pool file")
import pyarrow as pa  # noqa: E402
import pyarrow.parquet as pq  # noqa: E402

_KEY = b"mldsa-lab pool"
_TRACES = [
    ("index", pa.uint64()),
    ("n_z", pa.uint16()),
    ("n_r", pa.uint16()),
    ("n_h", pa.uint16()),
    ("attempts", pa.list_(pa.uint16())),
]


def _listed_columns(set_name: str, key: Key) -> list[tuple[str, Any]]:
    sizes = {"xi": SEED_BYTES, "sk": parameter_set(set_name).private_key_bytes}
    return [
        ("id", pa.string()),
        (key, pa.binary(sizes[key])),
        ("message", pa.binary()),
        ("context", pa.binary()),
        ("rnd", pa.binary(SEED_BYTES)),
    ]


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
        columns = [*_TRACES, *(_listed_columns(set_name, key) if key else [])]
        fields = [pa.field(name, kind, nullable=False) for name, kind in columns]
        self._schema = pa.schema(fields, metadata={_KEY: json.dumps(about).encode()})
        with writing(path):
            self._temporary = beside(path)
            self._file = pq.ParquetWriter(
                self._temporary, self._schema, compression="zstd", use_dictionary=["attempts"]
            )

    def write(self, pool: Pool) -> None:
        """Append the traces of ``pool`` as one row group."""
        counts = pool.table.counts().astype(np.uint16)
        offsets = np.concatenate([[0], pool.table.ends]).astype(np.int32)
        columns: list[Any] = [
            pa.array(pool.index),
            *(pa.array(counts[:, c]) for c in range(3)),
            pa.ListArray.from_arrays(pa.array(offsets), pa.array(pool.table.codes)),
        ]
        if pool.listed is not None:
            rows = [(name, i.key, i.message, i.context, i.signing_rnd) for name, i in pool.listed]
            kinds = [self._schema.field(at).type for at in range(len(_TRACES), len(self._schema))]
            listed = zip(zip(*rows, strict=True), kinds, strict=True)
            columns += [pa.array(values, kind) for values, kind in listed]
        table = pa.Table.from_arrays(columns, schema=self._schema)
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
                    put(self._temporary, target)
        finally:
            with suppress(OSError):
                self._temporary.unlink(missing_ok=True)


def _rows(path: Path) -> int:
    """Traces in a file that an earlier job left; 0 if there is none."""
    try:
        return int(pq.ParquetFile(path).metadata.num_rows)
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
    try:
        with reading(path, "pool "):
            file = pq.ParquetFile(path)
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
        names = [name for name, _ in _listed_columns(about.set, _key(rows.schema))]
        lines = rows.select(names).to_pylist()
        listed = tuple(
            (line["id"], _read_input(path, line, about.set, int(number)))
            for number, line in zip(index, lines, strict=True)
        )
    return Pool(table, index, about.checks, about.spec, listed)


def _read_input(path: Path, line: dict[str, Any], set_name: str, number: int) -> Input:
    with located(f"pool {path}: input {line['id']!r}"):
        return InputLine(**line).input(set_name, number)


def _key(schema: Any) -> Key:
    """The form of the keys of a pool of listed inputs."""
    return "sk" if "sk" in schema.names else "xi"


def _about(path: Path, schema: Any) -> About:
    """What a pool file says of itself; LabError if it is none, or one of another version."""
    text = (schema.metadata or {}).get(_KEY)
    if text is None:
        raise LabError(f"pool {path}: is a Parquet file, but not one that mldsa-lab wrote")
    about = decode_format(text.decode("utf-8", "replace"), About, f"pool {path}", FORMAT, VERSION)
    listed = [] if about.spec is not None else _listed_columns(about.set, _key(schema))
    for name, kind in (*_TRACES, *listed):
        at = schema.get_field_index(name)
        if at < 0 or schema.field(at).type != kind:
            raise LabError(f"pool {path}: must have a column {name} of type {kind}")
    return about
