"""JMH: its JSON as rows of a record, documents refused, and real runs where Java is set up."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from lab_runs import groups_in, lab
from msgspec import structs
from report_records import SIGNERS, record_of

from mldsa_lab import LabError
from mldsa_lab.bench.fleet import Fleet, WorkerHandle
from mldsa_lab.bench.jmh import JmhRuns, distribute_over_inputs, make_row, read_result, read_times
from mldsa_lab.bench.options import Jmh
from mldsa_lab.bench.workload import Cell, make_cell
from mldsa_lab.estimate.summary import summarise
from mldsa_lab.inputs.input import Spec
from mldsa_lab.inputs.tracing import load
from mldsa_lab.records import Fault, Row, Samples, read_record
from mldsa_lab.worker.build import build, unmet
from mldsa_lab.worker.registry import BuildDirs, read_registry
from mldsa_lab.worker.worker import Limits

ROOT = Path(__file__).parents[2]
PLACE = BuildDirs.for_tree(ROOT)
JAVA = next(
    e for e in read_registry(ROOT / "lab" / "workers" / "registry.toml") if e.name == "java-25"
)
SHORT = Jmh(warmup_iterations=1, warmup_seconds=0.1, iterations=2, iteration_seconds=0.1)

DOCUMENT = {
    "jmhVersion": "1.37",
    "mode": "avgt",
    "threads": 1,
    "vmName": "OpenJDK 64-Bit Server VM",
    "vmVersion": "25.0.2+10-LTS",
    "measurementIterations": 2,
    "primaryMetric": {"scoreUnit": "ns/op", "rawData": [[100.5, 80.25]]},
    "secondaryMetrics": {"passes": {"rawData": [[1000.0, 2000.0]]}},
}


OF_PROFILER = {
    "gc.count": {"scoreUnit": "counts", "rawData": [[3.0, 0.0]]},
}
PROFILED = DOCUMENT["secondaryMetrics"] | OF_PROFILER  # type: ignore[operator]


def written(folder: Path, document: Any) -> Path:
    path = folder / "jmh.json"
    path.write_text(json.dumps(document))
    return path


# --- documents ------------------------------------------------------------------------------------


def test_what_jmh_says_is_distributed_over_the_inputs(tmp_path: Path) -> None:
    result = read_result(written(tmp_path, [DOCUMENT]))
    assert result.passes == (1000, 2000) and result.machine.endswith("VM 25.0.2+10-LTS")
    times = tmp_path / "times"
    times.write_text("10 20 30\n5 5 10\n")
    taken, memory = read_times(times, 3)
    shared = distribute_over_inputs(result, taken, 3)
    assert not any(memory)
    assert shared == [[50250, 100500, 150750], [120375, 120375, 240750]]
    for ns, passes, parts in zip((100.5, 80.25), result.passes, shared, strict=True):
        assert sum(parts) == ns * passes * 3
    # One input is not timed beside JMH.
    times.write_text("0\n0\n")
    assert distribute_over_inputs(result, read_times(times, 1)[0], 1) == [[100500], [160500]]


def test_memory_is_counted_for_each_input(tmp_path: Path) -> None:
    result = read_result(written(tmp_path, [DOCUMENT | {"secondaryMetrics": PROFILED}]))
    assert result.collections == (3, 0)
    with pytest.raises(LabError, match="JMH: its profiler gc counted no garbage collections"):
        _ = read_result(written(tmp_path, [DOCUMENT])).collections
    times = tmp_path / "times"
    times.write_text("10 20 1000 2000\n5 5 1000 2008\n")
    found = read_times(times, 2, memory=True)
    assert found == ([(10, 20), (5, 5)], [(1000, 2000), (1000, 2008)])
    with pytest.raises(LabError, match="line 1: must be 6 whole numbers of ns and bytes"):
        read_times(times, 3, memory=True)


def test_signing_by_a_stored_document_agrees_with_its_traces(tmp_path: Path) -> None:
    """JMH's mean and the times of the inputs give back the costs of a synthetic signer."""
    record = record_of(sets=("ML-DSA-44",), operations=("sign",), signers=SIGNERS[:1])
    samples, size = record.samples, len(record.samples[0].inputs)
    means = [sum(s.wall) / (s.calls * size) for s in samples]
    document = DOCUMENT | {
        "measurementIterations": len(samples),
        "primaryMetric": {"scoreUnit": "ns/op", "rawData": [means]},
        "secondaryMetrics": {"passes": {"rawData": [[float(s.calls) for s in samples]]}},
    }
    result = read_result(written(tmp_path, [document]))
    # The clock between the inputs is slower than JMH's. Only its proportions count.
    shared = distribute_over_inputs(result, [[3 * ns for ns in s.wall] for s in samples], size)
    record.samples[:] = [
        structs.replace(s, metrics={"wall": tuple(ns)})
        for s, ns in zip(samples, shared, strict=True)
    ]
    (cell,) = summarise(record, clock="wall").cells
    assert cell.cost == pytest.approx(SIGNERS[0].cost["ML-DSA-44"][1], rel=0.05)
    assert cell.notes == ()


# --- runs -----------------------------------------------------------------------------------------


def java() -> None:
    """Built; the test is skipped where it is not set up."""
    if lacking := unmet(JAVA, PLACE):
        pytest.skip("; ".join(lacking))
    build(JAVA, PLACE, lambda line: None)


def cell_of(fleet: Fleet) -> Cell:
    """Signing by BouncyCastle, two inputs."""
    spec = Spec("ML-DSA-44", bytes(32), message_bytes=32)
    inputs = load(lambda text: None).make("ML-DSA-44", spec.inputs(0, 2))
    made = inputs
    return make_cell(
        fleet.variants["bouncycastle:portable+java-25:compact"], "ML-DSA-44", "sign", made
    )


@pytest.mark.toolchain
def test_outputs_are_checked_and_failures_are_faults(tmp_path: Path) -> None:
    java()
    written_rows: list[Row] = []
    with Fleet() as fleet:
        handle = WorkerHandle(JAVA, PLACE, Limits(*[60.0] * 5))
        fleet.add(handle)
        bench = JmhRuns(SHORT, 60.0, fleet, PLACE, tmp_path / "jmh", [])
        right = cell_of(fleet)
        number = max(right.expected)
        written_rows += bench.sample(right, 0, 0)
        written_rows += bench.sample(
            replace(right, expected={**right.expected, number: bytes(32)}), 0, 1
        )
        dying = "print('<forked VM failed with exit code 137>'); raise SystemExit(1)"
        handle.entry = structs.replace(JAVA, jmh=(sys.executable, "-c", dying))
        written_rows += bench.sample(right, 0, 2)
        handle.entry = structs.replace(JAVA, jmh=("/no/such/java",))
        written_rows += bench.sample(right, 0, 3)
        handle.entry = structs.replace(JAVA, jmh=())
        with pytest.raises(LabError, match="worker java-25: its entry in the registry has no JMH"):
            make_row(handle, PLACE)
    *samples, wrong, died, missing = written_rows
    assert (
        [s.round for s in samples if isinstance(s, Samples)] == [0, 1] == list(range(len(samples)))
    )
    reasons = [f.reason for f in (wrong, died, missing) if isinstance(f, Fault)]
    assert f"sign of input {number} gave a wrong output" in reasons[0]
    assert reasons[1] == "JMH: <forked VM failed with exit code 137>"
    assert "/no/such/java cannot be run" in reasons[2] and not any("\n" in r for r in reasons)
    assert [p.suffix for p in (tmp_path / "jmh").iterdir()] == [".json"]


STUDY = """
format = "mldsa-lab study"
version = 1
title = "JMH for a moment"

[[measure]]
workers = ["java-25"]
implementations = ["jdk"]
sets = ["44"]
operations = ["sign", "verify"]

[profiles.default]
processes = 1

[profiles.default.jmh]
warmup_iterations = 1
warmup_seconds = 0.1
iterations = 3
iteration_seconds = 0.1
profiler = "gc"
"""


@pytest.mark.toolchain
def test_a_study_measured_by_jmh(tmp_path: Path) -> None:
    java()
    path = tmp_path / "moment.toml"
    path.write_text(STUDY)
    out = tmp_path / "out"
    done = lab("study", str(path), "--out", str(out), "--to", "none")
    assert done.status == 0, done.err
    (file,) = out.glob("*/*/record.jsonl")
    record = read_record(file)
    assert record.end is not None and record.end.rounds == 3
    clocks = {w.worker: w.clock for w in record.workers}
    assert clocks["java-25"].startswith("JMH 1.") and "JMH" not in clocks["rust"]
    assert record.run.options["jmh"]["iterations"] == 3
    for operation, inputs in (("sign", 12), ("verify", 24)):
        samples = [s for s in record.samples if s.operation == operation]
        assert [s.round for s in samples] == [0, 1, 2]
        (raw,) = file.parent.glob(f"jmh/*-{operation}.json")
        for one, ns in zip(samples, read_result(raw).nanoseconds, strict=True):
            assert one.cpu is None and len(one.inputs) == inputs
            assert sum(one.wall) / (one.calls * inputs) == pytest.approx(ns, rel=1e-5)
            # A signature's bytes are an array of their own; 10 MB would be no single operation.
            allocated, (collections,) = one.metrics["allocated"], one.metrics["collections"]
            assert len(allocated) == inputs and collections < 10_000
            assert all(2420 < bytes_ / one.calls < 10_000_000 for bytes_ in allocated)
    table = groups_in(out / "study.json")
    cells = {row["operation"]: row["process"] for row in table if "mean" in row}
    assert all(row["allocated"] > 2420 for row in table if "mean" in row)
    # On a busy machine, signing for a tenth of a second may contradict the traces.
    is_excluded = any("ML-DSA-44 sign: " in row.get("of", "") for row in table)
    assert cells == {"verify": 1} if is_excluded else cells == {"sign": 1, "verify": 1}
