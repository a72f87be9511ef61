"""What `bench` and `report` say of a record's signing is what `estimate` says of the same costs."""

from __future__ import annotations

import csv
import json
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import test_summary
from typer.testing import CliRunner

from mldsa_lab.cli.main import app
from mldsa_lab.estimate.cells import gather
from mldsa_lab.estimate.estimators import QUANTILES
from mldsa_lab.estimate.summary import Summary, summarise
from mldsa_lab.inputs.input import Digests, Input, SigningInput
from mldsa_lab.inputs.selection import Selection
from mldsa_lab.records import Record, read_record
from mldsa_lab.theory.trace import parse_trace

PUBLISHED = Path(__file__).parents[2] / "records" / "2026-11-21-epyc-zen3" / "first.jsonl.xz"


@cache
def record_of(which: str) -> Record:
    return test_summary.make_record() if which == "drawn" else read_record(PUBLISHED)


@cache
def summary_of(which: str, confidence: float) -> Summary:
    return summarise(record_of(which), confidence=confidence)


def as_selection(record: Record, set_name: str, ids: tuple[int, ...]) -> Selection:
    """The designed inputs of a record, as somebody would measure them elsewhere."""
    rows = {row.id: row for row in record.inputs if row.set == set_name}
    made = Digests(*("00" * 32,) * 3)
    inputs = [
        Input(
            number,
            SigningInput(rows[number].seed, rows[number].message, rows[number].context),
            parse_trace(rows[number].trace or (), set_name),
            made,
        )
        for number in ids
    ]
    return Selection(set_name, "regression", tuple(inputs))


@pytest.mark.simulation
@pytest.mark.parametrize(
    ("which", "variant", "set_name", "confidence"),
    [
        ("drawn", "slow:native:compact", "ML-DSA-65", 0.95),
        ("drawn", "cached:native:expanded", "ML-DSA-65", 0.8),
        ("published", "mldsa-native:avx2:compact", "ML-DSA-44", 0.95),
        ("published", "circl:avx2:compact", "ML-DSA-87", 0.95),
    ],
)
def test_a_record_and_its_costs_as_csv_give_the_same_figures(
    which: str, variant: str, set_name: str, confidence: float, tmp_path: Path
) -> None:
    record, summary = record_of(which), summary_of(which, confidence)
    (row,) = [
        r for r in summary.rows
        if (r.variant, r.set, r.operation) == (variant, set_name, "sign")
    ]  # fmt: skip
    cell = gather(record, "cpu")[variant, set_name, "sign"]
    table = cell.table()
    chosen, measured = tmp_path / "selection.json", tmp_path / "costs.csv"
    chosen.write_text(as_selection(record, set_name, cell.inputs).to_json(compact=True))
    with measured.open("w", newline="") as file:
        lines = csv.writer(file)
        lines.writerow(["id", "cost", "unit", "round"])
        for place, costs in zip(cell.rounds, table, strict=True):
            for number, cost in zip(cell.inputs, costs, strict=True):
                if not np.isnan(cost):
                    lines.writerow([number, f"{cost:.17e}", "ns", place])
    figures = tmp_path / "figures.json"
    arguments = ["estimate", str(chosen), str(measured), "--json", str(figures)]
    run = CliRunner().invoke(app, [*arguments, "--confidence", str(confidence)])
    assert run.exit_code == 0, run.output
    found = json.loads(figures.read_text())

    def same(one: dict[str, float], *other: float | None) -> None:
        assert tuple(one.values()) == pytest.approx(other, rel=1e-6)

    same(found["mean"], row.mean, row.mean_low, row.mean_high)
    estimate = summary.estimates[variant, set_name, "sign"]
    for share, of, point in zip(
        QUANTILES, found["percentiles"], (row.p50, row.p95, row.p99, row.p999), strict=True
    ):
        interval = estimate.quantiles[share]
        assert of.pop("percentile") == pytest.approx(100 * share)
        assert interval.value == point
        same(of, interval.value, interval.low, interval.high)
    fit = summary.fits[variant, set_name]
    for name, cost in zip(("first", "z", "r", "h"), fit.attempt_costs, strict=True):
        assert found["costs"][name]["value"] == pytest.approx(cost, rel=1e-6)
    warnings = [f["text"] for f in found["findings"] if f["severity"] == "warning"]
    assert set(row.notes) <= set(warnings)
