"""Figures of cores: exact expectations of costs that are affine in the rejections, by phase."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from lab_runs import here
from msgspec.structs import replace

from mldsa_lab.checkout import find_root
from mldsa_lab.choice.ready import read_ready
from mldsa_lab.errors import LabError
from mldsa_lab.files import Hex
from mldsa_lab.records import (
    SCHEMA,
    InputRow,
    Record,
    RecordWriter,
    Run,
    Samples,
    Variant,
    WorkerRow,
    read_record,
)
from mldsa_lab.sets import PARAMETER_SETS
from mldsa_lab.theory.rejection import RejectionModel
from mldsa_lab.theory.table import TraceTable
from mldsa_lab_rtl.study import CoreRow, at, core_rows
from mldsa_lab_rtl.study_random import RandomSignatures, drawn_text, read_drawn
from mldsa_lab_rtl.study_show import CoreFindings
from mldsa_lab_rtl.synth import Resources, Taken, _modules, read_resources

SET = "ML-DSA-65"
CORE = ("toy", "fast")
MODEL = RejectionModel.of(SET)
LOAD, STORE = 500, 414
FIRST, SLOPES = 20_000, np.array([3000, 4000, 5000])


def record() -> Record:
    """A core whose signing costs these cycles, and 700 fewer with its key loaded before."""
    chosen = read_ready(SET, "regression", 10).inputs
    counts = TraceTable.of(SET, [item.trace for item in chosen]).counts()
    found = Record(Run(SCHEMA, "t", "2026-11-23T00:00:00Z", "custom", "00", {}, {}))
    variants = []
    for key in ("compact", "expanded"):
        operations = ("keygen", "sign", "verify") if key == "compact" else ("sign",)
        variants.append(
            Variant(f"toy:fast:{key}", "toy", "1", "fast", key, "ml-dsa", (SET,), operations,
                    "given", True)  # type: ignore[arg-type]
        )  # fmt: skip
    found.add(WorkerRow("toy-fast", "SystemVerilog", "", "", "cycles", "", None, tuple(variants)))
    for item in chosen:
        words = tuple(map(str, item.trace))
        found.add(InputRow(SET, item.id, "design", bytes([item.id]) * 32, b"", b"", words))
    ids = tuple(item.id for item in chosen)
    for variant in variants:
        loaded = 700 if variant.key == "expanded" else 0
        wall = tuple(int(n) for n in FIRST - loaded + counts @ SLOPES)
        load = LOAD - loaded // 2
        phases = {
            "load": (load,) * len(ids),
            "compute": tuple(n - load - STORE for n in wall),
            "store": (STORE,) * len(ids),
        }
        cell = (variant.id, SET)
        found.add(Samples(0, 0, *cell, "sign", 1, ids, wall, None, phases))
        if variant.key == "compact":
            parts = {"load": (10, 10), "compute": (90, 110), "store": (0, 0)}
            found.add(Samples(0, 1, *cell, "verify", 1, ids[:2], (100, 120), None, parts))
    return found


def test_signing_is_the_exact_expectation() -> None:
    rows = core_rows(record())
    mean = FIRST + float(MODEL.expected_counts @ SLOPES)
    wanted = {"sign_best": FIRST, "sign_mean": mean, "sign_loaded_mean": mean - 700,
              "sign_per_z": 3000, "sign_per_r0": 4000}  # fmt: skip
    for figure, cycles in wanted.items():
        row = at(rows, CORE, SET, figure)
        assert row is not None and row.cycles_low is not None and row.cycles_high is not None
        assert row.cycles == pytest.approx(cycles, rel=0.003), figure
        assert row.cycles_low <= row.cycles <= row.cycles_high
    parts = [at(rows, CORE, SET, "sign_mean", phase) for phase in ("load", "compute", "store")]
    total = at(rows, CORE, SET, "sign_mean")
    assert total is not None and [p and p.cycles for p in (parts[0], parts[2])] == [LOAD, STORE]
    assert sum(p.cycles for p in parts if p) == pytest.approx(total.cycles)
    verify = at(rows, CORE, SET, "verify", "compute")
    assert verify is not None and verify.cycles == 100
    p99, p95 = (at(rows, CORE, SET, f"sign_{name}") for name in ("p99", "p95"))
    assert p99 is not None and p95 is not None and p99.cycles > p95.cycles > total.cycles


def test_software_is_no_core() -> None:
    other = record()
    other.workers[0] = replace(other.workers[0], unit="ns")
    with pytest.raises(LabError, match="no worker's cycles are divided into phases"):
        core_rows(other)


STAT = {
    "\\top": {"num_cells_by_type": {"LUT6": 3, "FDRE": 2, "ram$top.a": 1, "ram$top.b": 1,
                                    "add$shared": 2}},
    "\\ram$top.a": {"num_cells_by_type": {"RAMB36E1": 1, "RAM64M": 2, "LUT1": 1, "INV": 4}},
    "\\ram$top.b": {"num_cells_by_type": {"RAMB18E1": 1, "FDSE": 5}},
    "\\add$shared": {"num_cells_by_type": {"DSP48E1": 2, "SRL16E": 3}},
}  # fmt: skip


def test_resources_are_summed_over_instances() -> None:
    rows, whole = _modules(STAT, "top")
    assert {m.module: (m.instances, m.taken) for m in rows} == {
        "top": (1, Taken(3, 0, 2, 0, 0.0, 3)),
        "ram": (2, Taken(9, 8, 5, 0, 1.5, 1)),
        "add": (2, Taken(6, 6, 0, 4, 0.0, 0)),
    }
    assert whole == Taken(18, 14, 7, 4, 1.5, 4)


def resources(lut: int) -> Resources:
    total = Taken(lut, 100, 20, 4, 2.5, 30)
    return Resources(
        "mldsa-lab resources", 1, *CORE, "1", "00", {}, "xc7", {"yosys": "Yosys 0.70"}, total,
        tuple(_modules(STAT, "top")[0]),
    )  # fmt: skip


def test_the_tables_have_our_core_beside_what_was_published(tmp_path: Path) -> None:
    drawn = CoreRow(*CORE, SET, "sign_random", "total", 12345.0, 12000.0, 12700.0)
    found = CoreFindings([*core_rows(record()), drawn], [resources(1000)], 0.95)
    text = found.as_markdown()
    assert "12,345" in text
    mean = FIRST + float(MODEL.expected_counts @ SLOPES)
    assert "HighPerf, round 3" in text and "ePrint 2021/355" in text
    assert f"| {FIRST * 1000 / 1e6:.1f} |" in text  # best x LUTs
    assert "ML-DSA-87" not in text  # which was not measured
    assert "adams-bridge" not in text  # which has figures of ML-DSA-87 alone
    hundred = mean - 700 + 7
    assert f"{hundred:,.0f}"[:4] in text
    path = tmp_path / "r.json"
    path.write_text(resources(1000).to_json())
    assert read_resources(path) == resources(1000)
    path.write_text(resources(1000).to_json().replace('"lut": 1000', '"lut": -1'))
    with pytest.raises(LabError, match=r"r\.json.*lut"):
        read_resources(path)


def written(path: Path) -> Path:
    """The record as a file."""
    whole = record()
    with RecordWriter(path) as writer:
        for row in (whole.run, *whole.workers, *whole.inputs, *whole.samples):
            writer.write(row)
    return path


def test_the_mean_of_a_thousand_random_signatures_is_the_exact_one() -> None:
    """Of FAST, in every set: the published record's estimate lies in the published signatures'
    interval."""
    folder = find_root() / "records" / "2026-11-23-rtl"
    exact = core_rows(read_record(folder / "cores.jsonl.xz"))
    drawn = read_drawn(folder / "random.json")
    assert [(d.configuration, d.set, len(d.cycles)) for d in drawn] == [
        ("fast", name, 1000) for name in PARAMETER_SETS
    ]
    for one in drawn:
        row, found = at(exact, ("mldsa-core", "fast"), one.set, "sign_mean"), one.row(0.95)
        assert row is not None and found.cycles_low is not None and found.cycles_high is not None
        assert found.cycles_low < row.cycles < found.cycles_high


def test_the_command_shows_a_record(tmp_path: Path) -> None:
    path = written(tmp_path / "record.jsonl")
    rows = tmp_path / "rows.json"
    done = here("study", "rtl", "--record", str(path), "--json", str(rows))
    assert done.status == 0, done.err
    keys = [
        "core",
        "configuration",
        "set",
        "figure",
        "phase",
        "cycles",
        "cycles_low",
        "cycles_high",
    ]
    assert all(list(row) == keys for row in json.loads(rows.read_text()))
    assert "a rejected attempt" in done.out
    drawn = tmp_path / "random.json"
    drawn.write_text(
        drawn_text([RandomSignatures(*CORE, "00", SET, Hex(b"\1"), (11_000, 12_000, 16_000))])
    )
    done = here("study", "rtl", "--record", str(path), "--drawn", str(drawn), "--json", str(rows))
    assert done.status == 0 and "random signatures" in done.out, done.err
    (row,) = (row for row in json.loads(rows.read_text()) if row["figure"] == "sign_random")
    assert row["cycles"] == 13_000 and row["cycles_low"] < 11_000 < 15_000 < row["cycles_high"]
    drawn.write_text(drawn.read_text().replace("11000", "0"))
    done = here("study", "rtl", "--record", str(path), "--drawn", str(drawn))
    assert done.status == 2 and "random.json, signatures[0].cycles[0]" in done.err
    done = here("study", "rtl", "--record", str(path), "--sets", "44")
    assert done.status == 2 and "--sets: cannot be used with --record" in done.err
