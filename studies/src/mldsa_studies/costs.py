"""Files of costs: what each of many inputs costs several implementations, round by round, in
Parquet (docs/study-estimators.md has the columns)."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Final, Literal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from msgspec import Meta, Struct
from numpy.typing import NDArray

from mldsa_lab import __version__
from mldsa_lab.errors import LabError
from mldsa_lab.files import convert, parse_json, plain, write_whole
from mldsa_lab.inputs.spec import Spec
from mldsa_lab.sets import SetName, Unit
from mldsa_lab.theory.table import TraceTable

FORMAT: Final = "mldsa-lab study costs"
VERSION = 1
"""Version of the format."""

_KEY = FORMAT.encode()


class Described(Struct, frozen=True):
    """What an implementation is and how it was measured; ``variant``: its id."""

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


class CostsHead(Struct, frozen=True):
    """The JSON object in a file's metadata; the fields are those of `Costs`."""

    format: Literal["mldsa-lab study costs"]
    version: int
    tool: str
    set: SetName
    unit: Unit
    spec: Spec
    sample: Annotated[int, Meta(ge=1)]
    machine: dict[str, Any]
    series: Annotated[list[Described], Meta(min_length=1)]
    rounds: Annotated[list[dict[str, Any]], Meta(min_length=1)]


@dataclass(frozen=True)
class CostSeries:
    """The costs of one implementation.

    ``cost``: (rounds, inputs) in the file's unit, positive.
    """

    about: Described
    cost: NDArray[np.uint64]

    @property
    def variant(self) -> str:
        """The variant's id, such as ``mldsa-native:avx2:compact``."""
        return self.about.variant


@dataclass(frozen=True)
class Costs:
    """Costs of the same random inputs for several implementations.

    ``unit``: ns or instructions; ``spec``: what the inputs follow from; ``index``: (inputs,) their
    numbers in it; ``sample``: so many of them, the first ones, are a random sample of all
    signatures, the others were added for their traces; ``machine``: as in a record; ``rounds``: of
    each round when it began and the load, ``{"started": text, "load1": number or null}``.
    """

    set: str
    unit: str
    spec: Spec
    index: NDArray[np.uint64]
    table: TraceTable
    sample: int
    series: tuple[CostSeries, ...]
    machine: Mapping[str, Any]
    rounds: tuple[Mapping[str, Any], ...]
    tool: str = f"mldsa-lab {__version__}"

    def __len__(self) -> int:
        return len(self.table)

    def of(self, wanted: Sequence[str]) -> Costs:
        """Those of these implementations or variant ids alone; all where none is named. May end
        up with none."""
        if not wanted:
            return self
        kept = [s for s in self.series if s.variant in wanted or s.about.implementation in wanted]
        return replace(self, series=tuple(kept))


def write_costs(costs: Costs, path: Path) -> None:
    """Write the file, whole or not at all; LabError if it cannot be written."""
    head = CostsHead(
        FORMAT,
        VERSION,
        costs.tool,
        costs.set,
        costs.unit,
        costs.spec,
        costs.sample,
        dict(costs.machine),
        [s.about for s in costs.series],
        [dict(r) for r in costs.rounds],
    )
    offsets = np.concatenate([[0], costs.table.ends]).astype(np.int32)
    columns = {
        "index": pa.array(costs.index),
        "attempts": pa.ListArray.from_arrays(pa.array(offsets), pa.array(costs.table.codes)),
    }
    for number, series in enumerate(costs.series):
        for round_number, row in enumerate(series.cost):
            columns[_column(number, round_number)] = pa.array(row)
    fields = [pa.field(name, column.type, nullable=False) for name, column in columns.items()]
    schema = pa.schema(fields, metadata={_KEY: json.dumps(plain(head), allow_nan=False).encode()})
    table = pa.Table.from_arrays(list(columns.values()), schema=schema)
    # Of numbers that share their high bytes, the bytes of equal place compress far better together.
    split = [name for name in columns if name != "attempts"]

    def write(target: Path) -> None:
        pq.write_table(
            table, target, compression="zstd", compression_level=19, use_dictionary=False,
            use_byte_stream_split=split, write_statistics=False, row_group_size=max(len(costs), 1),
        )  # fmt: skip

    write_whole(path, write)


def read_costs(path: Path) -> Costs:
    """The costs in a file; LabError that names the file and the broken rule."""
    where = f"costs {path}"
    try:
        with pq.ParquetFile(path) as file:
            text = (file.schema_arrow.metadata or {}).get(_KEY)
            if text is None:
                raise LabError(f"{where}: is a Parquet file, but no costs of a study")
            head = _head(text, where)
            rows = file.read()
    except OSError as error:
        raise LabError(f"{where}: cannot read it: {error.strerror or error}") from None
    except pa.ArrowException as error:
        first = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise LabError(f"{where}: is not a whole Parquet file: {first}") from None
    return _costs(head, rows, where)


def _head(text: bytes, where: str) -> CostsHead:
    value = parse_json(text.decode("utf-8", "replace"), where)
    if not isinstance(value, dict) or value.get("version") != VERSION:
        found = value.get("version") if isinstance(value, dict) else None
        raise LabError(f"{where}: has format version {found!r}, this reader knows {VERSION}")
    return convert(value, CostsHead, where)


def _costs(head: CostsHead, rows: Any, where: str) -> Costs:
    expected = [("index", pa.uint64()), ("attempts", pa.list_(pa.uint16()))]
    expected += [
        (_column(s, r), pa.uint64())
        for s in range(len(head.series))
        for r in range(len(head.rounds))
    ]
    for name, kind in expected:
        at = rows.schema.get_field_index(name)
        same = at >= 0 and rows.schema.field(at).type.equals(kind)
        if not same or rows.column(at).null_count:
            raise LabError(f"{where}: must have a column {name} of type {kind} without gaps")
    if head.sample > rows.num_rows:
        raise LabError(f"{where}: sample must be at most the {rows.num_rows} inputs")
    lists = rows["attempts"].combine_chunks()
    try:
        if head.spec.set != head.set:
            raise LabError(f"spec: is of {head.spec.set}, the costs are of {head.set}")
        table = TraceTable(
            head.set,
            lists.flatten().to_numpy(zero_copy_only=False),
            np.cumsum(lists.value_lengths().to_numpy(zero_copy_only=False)).astype(np.int64),
        )
    except LabError as error:
        raise LabError(f"{where}: {error}") from None
    found: list[CostSeries] = []
    for number, about in enumerate(head.series):
        cost = np.stack([rows[_column(number, r)].to_numpy() for r in range(len(head.rounds))])
        if (cost == 0).any():
            raise LabError(f"{where}, {about.variant}: a cost must be above 0")
        found.append(CostSeries(about, cost))
    return Costs(
        head.set,
        head.unit,
        head.spec,
        rows["index"].to_numpy(),
        table,
        head.sample,
        tuple(found),
        head.machine,
        tuple(head.rounds),
        head.tool,
    )


def _column(series: int, round_number: int) -> str:
    return f"cost_{series}_{round_number}"
