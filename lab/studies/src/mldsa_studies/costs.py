"""Files of costs: the costs of many inputs for several implementations, round by round, in Parquet
(lab/notes/study-estimators.md has the columns)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from msgspec import Meta, Struct, structs
from numpy.typing import NDArray

from mldsa_lab import LabError, __version__, located
from mldsa_lab.files import decode_format, reading, to_builtins, write_whole
from mldsa_lab.inputs.input import Spec
from mldsa_lab.sets import SetName, Unit
from mldsa_lab.theory.trace import TraceTable

FORMAT: Literal["mldsa-lab study costs"] = "mldsa-lab study costs"
VERSION = 1
_KEY = FORMAT.encode()


class Described(Struct, frozen=True):
    """An implementation and how it was measured; ``variant``: its id, such as
    ``mldsa-native:avx2:compact``."""

    variant: str
    implementation: str
    version: str
    backend: str
    key: str
    worker: str
    language: str
    compiler: str
    flags: str
    clock: str
    note: str


class CostsHead(Struct, frozen=True, kw_only=True):
    """The JSON object in a file's metadata.

    ``spec``: the source of the inputs. ``sample``: the first so many are a random sample of all
    signatures; the others were added for their traces. ``machine``: as in a record. ``rounds``: of
    each ``{"started": text, "load1": number or null}``.
    """

    format: Literal["mldsa-lab study costs"] = FORMAT
    version: int = VERSION
    tool: str = f"mldsa-lab {__version__}"
    set: SetName
    unit: Unit
    spec: Spec
    sample: Annotated[int, Meta(ge=1)]
    machine: dict[str, Any]
    series: Annotated[list[Described], Meta(min_length=1)]
    rounds: Annotated[list[dict[str, Any]], Meta(min_length=1)]


@dataclass(frozen=True)
class Costs:
    """Costs of the same inputs for several implementations. ``index``: (inputs,) numbers of the
    inputs in the spec; ``cost``: (series, rounds, inputs) in the head's unit, positive."""

    head: CostsHead
    index: NDArray[np.uint64]
    table: TraceTable
    cost: NDArray[np.uint64]

    def __len__(self) -> int:
        return len(self.table)

    def take(self, requested: Sequence[str]) -> list[Costs]:
        """Return the costs of each of these implementations or variant ids by itself; of all where
        none is named."""
        return [
            replace(self, head=structs.replace(self.head, series=[s]), cost=cost[None])
            for s, cost in zip(self.head.series, self.cost, strict=True)
            if not requested or s.variant in requested or s.implementation in requested
        ]


def write_costs(costs: Costs, path: Path) -> None:
    """Write the file, whole or not at all; LabError if it cannot be written."""
    offsets = np.concatenate([[0], costs.table.ends]).astype(np.int32)
    traces = pa.ListArray.from_arrays(pa.array(offsets), pa.array(costs.table.codes))
    columns = [pa.array(costs.index), traces, *map(pa.array, costs.cost.reshape(-1, len(costs)))]
    table = pa.Table.from_arrays(columns, schema=_schema(costs.head))
    # Of numbers that share their high bytes, the bytes of equal place compress far better together.
    split = [name for name in table.column_names if name != "attempts"]

    def write(target: Path) -> None:
        pq.write_table(
            table, target, compression="zstd", compression_level=19, use_dictionary=False,
            use_byte_stream_split=split, write_statistics=False, row_group_size=max(len(costs), 1),
        )  # fmt: skip

    write_whole(path, write)


def read_costs(path: Path) -> Costs:
    """Read a file. LabError names the file and the broken rule."""
    where = f"costs {path}"
    try:
        with reading(path, "costs "), pq.ParquetFile(path) as file:
            text = (file.schema_arrow.metadata or {}).get(_KEY)
            if text is None:
                raise LabError(f"{where}: is a Parquet file, but no costs of a study")
            rows = file.read()
    except pa.ArrowException as error:
        raise LabError(f"{where}: is not a whole Parquet file: {error}".splitlines()[0]) from None
    head = decode_format(text.decode("utf-8", "replace"), CostsHead, where, FORMAT, VERSION)
    expected = _schema(head)
    for field in expected:
        at = rows.schema.get_field_index(field.name)
        if at < 0 or rows.schema.types[at] != field.type or rows.column(at).null_count:
            rule = f"must have a column {field.name} of type {field.type} without gaps"
            raise LabError(f"{where}: {rule}")
    if head.sample > rows.num_rows:
        raise LabError(f"{where}: sample must be at most the {rows.num_rows} inputs")
    if head.spec.set != head.set:
        raise LabError(f"{where}: spec: is of {head.spec.set}, the costs are of {head.set}")
    lists = rows["attempts"].combine_chunks()
    ends = np.cumsum(lists.value_lengths().to_numpy(zero_copy_only=False)).astype(np.int64)
    with located(where):
        table = TraceTable(head.set, lists.flatten().to_numpy(zero_copy_only=False), ends)
    columns = [rows[name].to_numpy() for name in expected.names[2:]]
    cost = np.array(columns).reshape(len(head.series), len(head.rounds), len(table))
    for about, own in zip(head.series, cost, strict=True):
        if (own == 0).any():
            raise LabError(f"{where}, {about.variant}: a cost must be above 0")
    return Costs(head, rows["index"].to_numpy(), table, cost)


def _schema(head: CostsHead) -> pa.Schema:
    """The columns: after the first two, costs by series and round."""
    kinds = {"index": pa.uint64(), "attempts": pa.list_(pa.uint16())}
    for series in range(len(head.series)):
        kinds |= {f"cost_{series}_{r}": pa.uint64() for r in range(len(head.rounds))}
    fields = [pa.field(name, kind, nullable=False) for name, kind in kinds.items()]
    return pa.schema(fields, {_KEY: json.dumps(to_builtins(head), allow_nan=False).encode()})
