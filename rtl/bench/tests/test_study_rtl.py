"""Figures of cores: exact expectations of costs that are affine in the rejections, by phase."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from lab_runs import groups_in, here, rows_in
from msgspec.structs import replace

from mldsa_lab import LabError
from mldsa_lab.checkout import find_root
from mldsa_lab.choice.choice import read_ready
from mldsa_lab.estimate.figure import Figure, parse_identity
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
from mldsa_lab.theory.trace import TraceTable
from mldsa_lab_rtl.clock_rate import ClockRate, CriticalPath, SeedResult
from mldsa_lab_rtl.study import core_rows
from mldsa_lab_rtl.study_files import RandomFile, RandomSignatures, read_study, study_text
from mldsa_lab_rtl.synth import Resources, Taken, _modules

SET = "ML-DSA-65"
CORE = ("toy", "fast")
LOAD, STORE = 500, 414
FIRST, SLOPES = 20_000, np.array([3000, 4000, 5000])


def record() -> Record:
    """A core whose signing costs these cycles, and 700 fewer with its key loaded before."""
    chosen = read_ready(SET, "regression", 10).inputs
    counts = TraceTable.from_traces(SET, [item.trace for item in chosen]).counts()
    result = Record(Run(SCHEMA, "t", "2026-11-23T00:00:00Z", "custom", "00", {}, {}))
    variants = []
    for key in ("compact", "expanded"):
        operations = ("keygen", "sign", "verify") if key == "compact" else ("sign",)
        variants.append(
            Variant(f"toy:fast:{key}", "toy", "1", "fast", key, "ml-dsa", (SET,), operations,
                    "given", True)  # type: ignore[arg-type]
        )  # fmt: skip
    result.add(WorkerRow("toy-fast", "SystemVerilog", "", "", "cycles", "", None, tuple(variants)))
    for item in chosen:
        words = tuple(map(str, item.trace))
        result.add(InputRow(SET, item.id, "design", bytes([item.id]) * 32, b"", b"", words))
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
        result.add(Samples(0, 0, *cell, "sign", 1, ids, {"wall": wall}, phases))
        if variant.key == "compact":
            parts = {"load": (10, 10), "compute": (90, 110), "store": (0, 0)}
            result.add(Samples(0, 1, *cell, "verify", 1, ids[:2], {"wall": (100, 120)}, parts))
    return result


def write_record(path: Path) -> None:
    """Write it as a file."""
    whole = record()
    with RecordWriter(path) as writer:
        for row in (whole.run, *whole.workers, *whole.inputs, *whole.samples):
            writer.write(row)


def at(
    rows: list[Figure], identity: str, phase: str = "total", set_name: str = SET
) -> tuple[float, float, float]:
    """Value and limits of a figure."""
    name, keys = parse_identity(identity)
    requested = {"set": set_name, "phase": phase, **keys}
    places = ("core", "configuration")
    (result,) = (
        f for f in rows
        if f.name == name and {k: v for k, v in f.keys.items() if k not in places} == requested
    )  # fmt: skip
    assert result.value is not None and result.low is not None and result.high is not None
    return result.value, result.low, result.high


def test_exact_counts_have_their_range_as_interval() -> None:
    rows = core_rows(record())
    assert at(rows, "mean operation=verify") == (110, 100, 120)
    assert at(rows, "mean operation=verify", "compute") == (100, 90, 110)
    assert at(rows, "mean operation=verify", "load") == (10, 10, 10)


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


def test_the_mean_of_a_thousand_random_signatures_is_the_exact_one() -> None:
    """Of FAST, in every set: the published record's estimate lies in the published signatures'
    interval."""
    folder = find_root() / "records" / "2026-11-23-rtl"
    exact = [f for f in core_rows(read_record(folder / "cores.jsonl.xz"))
             if f.keys["configuration"] == "fast"]  # fmt: skip
    drawn = read_study(folder / "random.json")
    assert isinstance(drawn, RandomFile)
    assert [(d.configuration, d.set, len(d.cycles)) for d in drawn.signatures] == [
        ("fast", name, 1000) for name in PARAMETER_SETS
    ]
    for one in drawn.signatures:
        _, low, high = at([one.row()], "mean operation=sign inputs=drawn", set_name=one.set)
        assert low < at(exact, "mean operation=sign", set_name=one.set)[0] < high
        means = [sum(one.cycles[10 * n : 10 * n + 10]) / 10 for n in range(10)]
        ends = {f.name: f.value for f in one.averages()}
        assert ends == {"min": min(means), "max": max(means)}


def test_times_are_cycles_at_the_median_clock_rate(tmp_path: Path) -> None:
    """Of the core that has a clock rate; a core of another name has none."""
    path, rows = tmp_path / "record.jsonl", tmp_path / "rows.json"
    write_record(path)
    seeds = tuple(SeedResult(n, 1.0, rate, CriticalPath("a Q", "b D", 5.0, 15.0))
                  for n, rate in ((1, 40.0), (2, 50.0), (3, 55.0)))  # fmt: skip
    for name, measured in (("fast", 1), ("small", 0)):
        clock = ClockRate(
            1, "toy", name, "1", "00", {}, "LFE5U-85F", "CABGA756", 6, 100.0, {}, seeds
        )
        (tmp_path / "clock.json").write_text(clock.to_json())
        done = here("rtl", "study", str(path), str(tmp_path / "clock.json"), "--to", str(rows))
        assert done.status == 0, done.err
        times = [r for r in rows_in(rows) if "set" in r and "technology" in r]
        verified = [r for r in times if r["operation"] == "verify"]
        assert [r["set"] for r in verified] == [SET] * measured
        for r in verified:  # 110 cycles of 20 ns
            assert (r["mean"], r["mean_low"], r["mean_high"]) == (2200, 2000, 2400)


def test_the_command_shows_files(tmp_path: Path) -> None:
    path, area = tmp_path / "record.jsonl", tmp_path / "fast.json"
    rows, drawn, page = (tmp_path / name for name in ("rows.json", "random.json", "page.html"))
    write_record(path)
    taken = Resources(
        1, *CORE, "1", "00", {}, "xc7", {"yosys": "Yosys 0.70"},
        Taken(1000, 100, 20, 4, 2.5, 30), tuple(_modules(STAT, "top")[0]),
    )  # fmt: skip
    area.write_text(taken.to_json())
    assert read_study(area) == taken
    counters = {"attempts": "", "z": "input 4: says 7, and there were 2"}
    signatures = RandomSignatures(*CORE, "00", SET, Hex(b"\1"), (11_000, 12_000, 16_000), counters)
    drawn.write_text(study_text(RandomFile(1, (signatures,))))
    files = [str(file) for file in (path, area, drawn)]
    done = here("rtl", "study", *files, "--to", str(rows), "--to", str(page))
    assert done.status == 0, done.err
    figures = groups_in(rows)
    (row,) = (row for row in figures if row.get("inputs") == "drawn")
    assert row["mean"] == 13_000 and row["mean_low"] < 11_000 < 15_000 < row["mean_high"]
    assert next(r["count"] for r in figures if r.get("resource") == "lut") == 1000
    for text in (done.out, page.read_text()):
        assert "toy fast, ML-DSA-65, counter of z: input 4: says 7, and there were 2" in text
        assert "toy fast by module" in text and "HighPerf, round 3" in text
    assert "ML-DSA-87" not in done.out and "adams-bridge" not in done.out  # not measured
    assert f"{FIRST * 1000 / 1e6:.1f}" in done.out  # best x LUTs
    area.write_text(taken.to_json().replace('"lut": 1000', '"lut": -1'))
    drawn.write_text(drawn.read_text().replace("11000", "0"))
    for file, place in ((area, "lut"), (drawn, "random.json, signatures[0].cycles[0]")):
        done = here("rtl", "study", str(file))
        assert done.status == 2 and place in done.err and str(file) in done.err
    done = here("rtl", "study", str(path), "--sets", "44")
    assert done.status == 2 and f"--sets: cannot be used with {path}" in done.err
