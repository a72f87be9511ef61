"""What `bench` and `report` say of a record's signing is what `estimate` says of the same costs."""

from __future__ import annotations

from pathlib import Path

import measure_cases as cases
import numpy as np
import pytest
from report_records import record_of

from mldsa_lab.estimate.cells import gather
from mldsa_lab.estimate.external import estimate
from mldsa_lab.estimate.reader import Measurements
from mldsa_lab.estimate.summary import summarise
from mldsa_lab.records import read_record
from mldsa_lab.theory.trace import parse_trace

PUBLISHED = Path(__file__).parents[2] / "records" / "2026-11-21-epyc-zen3" / "first.jsonl.xz"


@pytest.mark.simulation
@pytest.mark.parametrize(
    ("which", "variant", "set_name", "confidence"),
    [
        ("drawn", "aws-lc:native:compact", "ML-DSA-65", 0.95),
        ("drawn", "mldsa-lanes:portable:expanded", "ML-DSA-65", 0.8),
        ("published", "mldsa-native:avx2:compact", "ML-DSA-44", 0.95),
    ],
)
def test_a_record_and_its_costs_give_the_same_figures(
    which: str, variant: str, set_name: str, confidence: float
) -> None:
    is_drawn = which == "drawn"
    record = record_of(sets=(set_name,)) if is_drawn else read_record(PUBLISHED)
    row = summarise(record, confidence=confidence).by_id[variant, set_name, "sign"]
    in_summary = row.estimate
    assert in_summary is not None
    cell = gather(record, "cpu")[variant, set_name, "sign"]
    rows = [record.input(set_name, i) for i in cell.inputs]
    traces = [parse_trace(row.trace or (), set_name) for row in rows]
    chosen = cases.selection(set_name, traces, seeds=[row.seed for row in rows])
    table = cell.table()
    order = np.arange(table.size, dtype=np.float64).reshape(table.shape)
    measured = Measurements(chosen.ids, tuple(range(len(table))), table, order)
    found = estimate(chosen, measured, confidence=confidence)
    assert tuple(found.mean) == pytest.approx(tuple(in_summary.mean), rel=1e-6)
    assert found.percentiles.keys() == in_summary.quantiles.keys()
    for percent, interval in found.percentiles.items():
        assert tuple(interval) == pytest.approx(tuple(in_summary.quantiles[percent]), rel=1e-6)
    assert in_summary.fit is not None
    for name, cost in zip(("first", "z", "r", "h"), in_summary.fit.iteration_costs, strict=True):
        assert found.costs[name].value == pytest.approx(cost, rel=1e-6)
    assert set(in_summary.notes) <= {w.text for w in found.warnings}
