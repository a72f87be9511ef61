"""Files of costs: what is written is read, and what is none is refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from msgspec import structs
from study_material import ABOUT, costs_of

from mldsa_lab import LabError
from mldsa_studies.costs import FORMAT, read_costs, write_costs

ABOUTS = [
    structs.replace(ABOUT, variant=f"toy{i}:portable:compact", implementation=f"toy{i}")
    for i in range(2)
]
COSTS = costs_of("ns", 0.1, 3, 15, 5, ABOUTS)


def test_there_and_back(tmp_path: Path) -> None:
    write_costs(COSTS, tmp_path / "c.parquet")
    result = read_costs(tmp_path / "c.parquet")
    assert result.table.traces() == COSTS.table.traces()
    assert result.index.tolist() == COSTS.index.tolist() and len(result) == 20
    assert result.head == COSTS.head and (result.cost == COSTS.cost).all()
    assert [p.name for p in tmp_path.iterdir()] == ["c.parquet"]
    frame = pl.read_parquet(tmp_path / "c.parquet")
    assert frame["cost_1_2"].to_list() == COSTS.cost[1, 2].tolist()
    for requested in (["toy1"], ["toy1:portable:compact"]):
        (one,) = result.take(requested)
        assert one.head.series[0].implementation == "toy1" and (one.cost == COSTS.cost[1:]).all()
    assert len(result.take([])) == 2 and result.take(["other"]) == []


def rewritten(path: Path, change: Any = None, drop: str = "", cast: str = "") -> None:
    table = pq.read_table(path)
    about = json.loads(table.schema.metadata[FORMAT.encode()])
    if change is not None:
        change(about)
    if drop:
        table = table.drop_columns([drop])
    if cast:
        at = table.schema.get_field_index(cast)
        table = table.set_column(at, cast, table[cast].cast(pa.float64()))
    table = table.replace_schema_metadata({FORMAT.encode(): json.dumps(about).encode()})
    pq.write_table(table, path)


def about(change: Callable[[Any], object]) -> Callable[[Path], None]:
    return partial(rewritten, change=change)


def write_zeros(path: Path) -> None:
    write_costs(replace(COSTS, cost=COSTS.cost * np.uint64(0)), path)


@pytest.mark.parametrize(
    ("damage", "rule"),
    [
        (about(lambda a: a.update(version=2)), "has format version 2, this reader knows 1"),
        (about(lambda a: a.update(set="ML-DSA-66")), "set: 'ML-DSA-66' must be one of"),
        (about(lambda a: a.pop("machine")), "missing required field `machine`"),
        (about(lambda a: a.update(series=[])), "series: .*length"),
        (about(lambda a: a.update(sample=21)), "sample must be at most the 20"),
        (about(lambda a: a["spec"].update(set="ML-DSA-44")), "spec: is of ML-DSA-44"),
        (about(lambda a: a["rounds"].append({})), "must have a column cost_0_3 of type uint64"),
        (partial(rewritten, drop="attempts"), "a column attempts of type"),
        (partial(rewritten, cast="cost_1_1"), "a column cost_1_1 of type"),
        (write_zeros, "toy0:portable:compact: a cost must be above 0"),
        (lambda path: path.write_bytes(path.read_bytes()[:999]), "is not a whole Parquet file"),
        (partial(pq.write_table, pa.table({"a": [1]})), "no costs of a study"),
        (Path.unlink, "cannot read it"),
    ],
)
def test_what_is_no_file_of_costs(
    tmp_path: Path, damage: Callable[[Path], object], rule: str
) -> None:
    path = tmp_path / "c.parquet"
    write_costs(COSTS, path)
    damage(path)
    with pytest.raises(LabError, match=rule) as caught:
        read_costs(path)
    assert str(path) in str(caught.value)
