"""Pool files: what is written is read, and what is no pool is refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from mldsa_lab import LabError
from mldsa_lab.inputs.input import Input, Spec
from mldsa_lab.inputs.pool import Key, Pool, PoolWriter, read_parts, read_pool
from mldsa_lab.theory.rejection import RejectionModel
from mldsa_lab.theory.trace import TraceTable
from mldsa_studies.signers import draw_traces

SPEC = Spec("ML-DSA-44", bytes(32), per_key=0)


def _table(count: int, seed: int = 1) -> TraceTable:
    model = RejectionModel.for_set("ML-DSA-44")
    return TraceTable.from_traces(
        "ML-DSA-44", draw_traces(model, count, np.random.default_rng(seed))
    )


def _generated(count: int, start: int = 0) -> Pool:
    index = np.arange(start, start + count, dtype=np.uint64)
    return Pool(_table(count, start), index, "reached", SPEC)


def _write(path: Path, *parts: Pool) -> Path:
    key: Key | None = None
    if parts[0].listed is not None:
        key = "xi" if parts[0].listed[0][1].sk is None else "sk"
    with PoolWriter(path, "ML-DSA-44", parts[0].checks, parts[0].spec, key=key) as writer:
        for part in parts:
            writer.write(part)
    return path


def test_generated_inputs_there_and_back(tmp_path: Path) -> None:
    one, two = _generated(40), _generated(25, 40)
    path = _write(tmp_path / "pool.parquet", one, two)
    found = read_pool(path)
    assert found.table.traces() == one.table.traces() + two.table.traces()
    assert found.index.tolist() == list(range(65)) and found.spec == SPEC and found.listed is None
    assert found.checks == "reached" and found.set == "ML-DSA-44"
    assert found.input(50) == SPEC.input(50)
    assert [len(part) for part in read_parts(path)] == [40, 25]
    assert read_pool(path, limit=45).table.traces() == found.table.traces()[:45]
    some = found.take([60, 2])
    assert some.input(0) == SPEC.input(60) and some.table.trace(1) == found.table.trace(2)
    assert [p.name for p in tmp_path.iterdir()] == ["pool.parquet"]


@pytest.mark.parametrize("key", ["xi", "sk"])
def test_given_inputs_there_and_back(tmp_path: Path, key: str) -> None:
    keys: dict[str, list[bytes | None]] = {"xi": [None] * 5, "sk": [None] * 5}
    keys[key] = [bytes([i] * (32 if key == "xi" else 2560)) for i in range(5)]
    inputs = [
        Input("ML-DSA-44", i, xi, b"m" * i, b"c" * (255 - i), bytes([255 - i] * 32), sk=sk)
        for i, (xi, sk) in enumerate(zip(keys["xi"], keys["sk"], strict=True))
    ]
    given = tuple((f"case {i}", item) for i, item in enumerate(inputs))
    pool = Pool(_table(5), np.arange(5, dtype=np.uint64), "all", None, given)
    found = read_pool(_write(tmp_path / "pool.parquet", pool))
    assert found.listed == given and found.spec is None and found.checks == "all"
    assert found.input(3) == inputs[3]


def test_others_can_read_the_columns(tmp_path: Path) -> None:
    pool = _generated(30)
    frame = pl.read_parquet(_write(tmp_path / "pool.parquet", pool))
    assert frame.columns == ["index", "n_z", "n_r", "n_h", "attempts"]
    assert frame["attempts"].list.len().to_list() == pool.table.iterations().tolist()
    assert frame.select("n_z", "n_r", "n_h").to_numpy().tolist() == pool.table.counts().tolist()


def test_nothing_is_left_of_a_pool_that_is_not_finished(tmp_path: Path) -> None:
    path = _write(tmp_path / "pool.parquet", _generated(3))
    before = path.read_bytes()
    with pytest.raises(RuntimeError), PoolWriter(path, "ML-DSA-44", "all", SPEC) as writer:
        writer.write(_generated(10))
        raise RuntimeError
    assert path.read_bytes() == before and list(tmp_path.iterdir()) == [path]


def test_a_folder_that_cannot_be_written_to_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(LabError, match=r"pool\.parquet: cannot write it: "):
        PoolWriter(tmp_path / "file" / "pool.parquet", "ML-DSA-44", "all", SPEC)


def test_damaged_files_are_named(tmp_path: Path) -> None:
    path = _write(tmp_path / "pool.parquet", _generated(500), _generated(500, 500))
    whole = path.read_bytes()
    for cut in (0, 4, 100, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:cut])
        with pytest.raises(LabError, match=r"pool\.parquet: is not a whole Parquet file"):
            read_pool(path)
    path.write_bytes(whole[:20] + bytes([whole[20] ^ 0xFF] * 40) + whole[60:])
    with pytest.raises(LabError, match=r"pool .*pool\.parquet: "):
        read_pool(path)
    with pytest.raises(LabError, match="cannot read it"):
        read_pool(tmp_path / "none.parquet")


def _about(**changed: object) -> Callable[[pa.Table], pa.Table]:
    """A pool with other words about it."""

    def change(table: pa.Table) -> pa.Table:
        old = json.loads(table.schema.metadata[b"mldsa-lab pool"])
        text = json.dumps(old | changed).encode()
        return table.replace_schema_metadata({b"mldsa-lab pool": text})

    return change


def _wrong_counts(table: pa.Table) -> pa.Table:
    return table.set_column(1, table.schema.field(1), pa.array([99] * 5, pa.uint16()))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (_about(version=2), "has format version 2, this reader knows 1"),
        (_about(set="ML-DSA-65"), "is of ML-DSA-65, but its spec of ML-DSA-44"),
        (_about(checks="some"), "checks: 'some' must be one of all, reached"),
        (_about(spec={"set": 1}), "spec.set: Expected `str`"),
        (_about(spec=None), "must have a column id"),
        (lambda _: pa.table({"a": [1]}), "not one that mldsa-lab wrote"),
        (_wrong_counts, "must be the counts of the attempts"),
        (lambda table: table.slice(0, 0), "has no traces"),
    ],
)
def test_what_is_no_pool_is_refused(
    tmp_path: Path, change: Callable[[pa.Table], pa.Table], message: str
) -> None:
    path = _write(tmp_path / "pool.parquet", _generated(5))
    pq.write_table(change(pq.read_table(path)), path)
    with pytest.raises(LabError, match=message):
        read_pool(path)
