"""Files of costs: what is written is read, and what is none is refused."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from msgspec import structs

from mldsa_lab.errors import LabError
from mldsa_lab.inputs.spec import Spec
from mldsa_lab.theory.rejection import RejectionModel
from mldsa_studies.costs import FORMAT, Costs, CostSeries, Described, read_costs, write_costs
from mldsa_studies.signers import random_table

ABOUT = Described(
    variant="toy:portable:compact", implementation="toy", version="1.0",
    backend="portable", key="compact", worker="w", language="C", compiler="cc",
    flags="-O3", clock="c", note="",
)  # fmt: skip


def costs_of(inputs: int = 20, rounds: int = 3, series: int = 2, unit: str = "ns") -> Costs:
    rng = np.random.default_rng(1)
    found = tuple(
        CostSeries(
            structs.replace(ABOUT, variant=f"toy{i}:portable:compact", implementation=f"toy{i}"),
            rng.integers(1, 1 << 40, (rounds, inputs)).astype(np.uint64),
        )
        for i in range(series)
    )
    return Costs(
        "ML-DSA-65",
        unit,
        Spec("ML-DSA-65", bytes(32)),
        np.arange(inputs, dtype=np.uint64),
        random_table(RejectionModel.of("ML-DSA-65"), inputs, rng),
        inputs - 5,
        found,
        {"cpu": "a CPU", "cores": 2},
        tuple({"started": "2026-01-01T00:00:00Z", "load1": None} for _ in range(rounds)),
    )


def test_there_and_back(tmp_path: Path) -> None:
    costs = costs_of()
    write_costs(costs, tmp_path / "c.parquet")
    found = read_costs(tmp_path / "c.parquet")
    assert found.table.traces() == costs.table.traces()
    assert found.index.tolist() == costs.index.tolist() and found.sample == 15
    assert found.spec == costs.spec and found.machine == costs.machine and found.unit == "ns"
    assert found.rounds == costs.rounds and found.tool == costs.tool and len(found) == 20
    for one, two in zip(found.series, costs.series, strict=True):
        assert one.about == two.about and (one.cost == two.cost).all()
    assert [p.name for p in tmp_path.iterdir()] == ["c.parquet"]
    frame = pl.read_parquet(tmp_path / "c.parquet")
    assert frame["cost_1_2"].to_list() == costs.series[1].cost[2].tolist()


def test_some_implementations_alone() -> None:
    costs = costs_of()
    assert [s.variant for s in costs.of(["toy1"]).series] == ["toy1:portable:compact"]
    assert [s.variant for s in costs.of(["toy0:portable:compact"]).series] == [
        "toy0:portable:compact"
    ]
    assert costs.of([]) is costs and costs.of(["other"]).series == ()


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


@pytest.mark.parametrize(
    ("change", "rule"),
    [
        (lambda a: a.update(version=2), "has format version 2, this reader knows 1"),
        (lambda a: a.update(set="ML-DSA-66"), "set: 'ML-DSA-66' must be one of"),
        (lambda a: a.update(unit="minutes"), "unit: 'minutes' must be one of"),
        (lambda a: a.pop("machine"), "machine is missing"),
        (lambda a: a.update(machine=3), "machine: must be an object"),
        (lambda a: a.update(series=[]), "series: .*length"),
        (lambda a: a["series"][0].pop("clock"), r"series\[0\]: clock is missing"),
        (lambda a: a.update(sample=21), "sample must be at most the 20"),
        (lambda a: a.update(sample=True), "sample: must be a whole number"),
        (lambda a: a["spec"].update(set="ML-DSA-44"), "spec: is of ML-DSA-44"),
        (lambda a: a.update(spec=None), "spec: must be an object"),
        (lambda a: a["rounds"].append({}), "must have a column cost_0_3 of type uint64"),
    ],
)
def test_what_is_no_file_of_costs(tmp_path: Path, change: Any, rule: str) -> None:
    path = tmp_path / "c.parquet"
    write_costs(costs_of(), path)
    rewritten(path, change)
    with pytest.raises(LabError, match=rule) as caught:
        read_costs(path)
    assert str(path) in str(caught.value)


def test_columns_that_are_missing_or_of_another_type(tmp_path: Path) -> None:
    path = tmp_path / "c.parquet"
    for options in ({"drop": "attempts"}, {"drop": "cost_0_1"}, {"cast": "cost_1_1"}):
        write_costs(costs_of(), path)
        rewritten(path, **options)
        with pytest.raises(LabError, match=f"a column {next(iter(options.values()))} of type"):
            read_costs(path)


def test_broken_values_and_files(tmp_path: Path) -> None:
    path = tmp_path / "c.parquet"
    costs = costs_of()
    none = replace(costs.series[0], cost=np.zeros((3, 20), dtype=np.uint64))
    write_costs(replace(costs, series=(none,)), path)
    with pytest.raises(LabError, match="toy0:portable:compact: a cost must be above 0"):
        read_costs(path)
    write_costs(costs, path)
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 2])
    with pytest.raises(LabError, match="is not a whole Parquet file"):
        read_costs(path)
    pq.write_table(pa.table({"a": [1]}), path)
    with pytest.raises(LabError, match="no costs of a study"):
        read_costs(path)
    with pytest.raises(LabError, match="cannot read it"):
        read_costs(tmp_path / "missing.parquet")


def test_the_shipped_study_can_be_read() -> None:
    folder = Path(__file__).parents[2] / "records" / "2026-11-22-estimators"
    files = sorted(folder.glob("*.parquet"))
    assert len(files) == 6
    for path in files:
        found = read_costs(path)
        assert found.sample == 1500 < len(found)
        assert len(found.series) >= 4 and len(found.rounds) == (9 if found.unit == "ns" else 1)
        assert np.array_equal(found.index[:1500], np.arange(1500))
    assert sum(path.stat().st_size for path in files) < 1_500_000
