"""Pipelines: what a file may ask for, which records are taken, what is measured, and that the
stages of a whole add up."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
from lab_runs import build_rust, groups_in, here, lab, rust_station
from msgspec import structs

from mldsa_lab import LabError
from mldsa_lab.bench.engine import Engine
from mldsa_lab.bench.fleet import Fleet
from mldsa_lab.bench.material import _group, spread
from mldsa_lab.bench.options import Pipeline, Stage, _suiting, resolve
from mldsa_lab.checkout import find_root
from mldsa_lab.inputs.input import Spec
from mldsa_lab.inputs.tracing import load
from mldsa_lab.kinds.pipeline import (
    BETWEEN,
    KIND,
    PipelineCase,
    Pipelines,
    PreparedPipeline,
    find_pipelines,
    make_content,
)
from mldsa_lab.records import (
    PIPELINE,
    Definition,
    Fault,
    PipelineContent,
    Record,
    Row,
    Samples,
    Variant,
    read_record,
)
from mldsa_lab.show.report import Look
from mldsa_lab.theory.rejection import RejectionModel
from mldsa_lab.worker.protocol import JobInput

HEAD = """
format = "mldsa-lab study"
version = 1
title = "A small pipeline"
[profiles.default]
seconds = 1
rounds = [2, 2]
processes = 2
"""
STAGES = """
[[pipeline.stage]]
operation = "hash"
set = "SHA3-256"
implementation = "libcrux-sha3"

[[pipeline.stage]]
operation = "sign"
set = "ML-DSA-44"
implementation = "mldsa-lanes"

[[pipeline.stage]]
operation = "verify"
set = "ML-DSA-44"
implementation = "mldsa-lanes"
"""
SMALL = f"""{HEAD}
[[pipeline]]
name = "one by one"
records = 16
threads = [1]
{STAGES}
[[pipeline]]
name = "batches"
records = 16
threads = [1]
against = "one by one"
{STAGES.replace('"mldsa-lanes"', '"mldsa-lanes"' + chr(10) + "batch = 8")}
"""


def write(folder: Path, text: str = SMALL) -> Path:
    path = folder / "small.toml"
    path.write_text(text, encoding="utf-8")
    return path


def stage(operation: str, set_name: str, implementation: str = "x", **more: Any) -> Stage:
    return Stage(operation, set_name, implementation, **more)


# --- files ----------------------------------------------------------------------------------------


def test_stages_take_from_those_before_them() -> None:
    first = stage("sign", "Ed25519", name="first")
    asked = Pipeline(
        "p",
        (
            stage("sign", "ML-DSA-44"), stage("hash", "SHA3-256"), first,
            stage("sign", "Ed25519", name="second"), stage("verify", "Ed25519"),
            stage("verify", "Ed25519", name="v", signature="first"),
            stage("verify", "ML-DSA-44"),
        ),
    )  # fmt: skip
    # Message and signature; what is signed before the hash is the record.
    assert asked.sources() == [(0, 0), (0, 0), (2, 0), (2, 0), (2, 4), (2, 3), (0, 1)]
    assert asked.group == 1 and asked.keys == "shared"
    cycle = tuple(stage(operation, "ML-DSA-44") for operation in ("keygen", "sign", "verify"))
    assert Pipeline("life cycle", cycle).sources() == [(0, 0), (0, 0), (0, 2)]


def test_expanded_keys_of_each_record_are_asked_for() -> None:
    named = cast(Stage, SimpleNamespace(implementation="a", key=None))
    only = [cast(Variant, SimpleNamespace(key="expanded"))]
    assert _suiting(named, "shared", only) is only[0]
    with pytest.raises(LabError, match="a has expanded keys alone"):
        _suiting(named, "each", only)


# --- records that are taken -----------------------------------------------------------------------


def test_few_records_stand_for_all() -> None:
    model = RejectionModel.for_set("ML-DSA-44")
    pool = load().trace("ML-DSA-44", Spec("ML-DSA-44", bytes(32), per_key=0).inputs(0, 4000))
    count = 64
    chosen = spread([pool], count)
    assert len(set(chosen)) == count
    counts, attempts = pool.counts()[chosen], np.sort(pool.iterations()[chosen])
    assert abs(attempts.mean() - model.expected_iterations) < 3 / count
    assert abs(counts[:, 0].mean() - model.expected_counts[0]) < 2 / count
    for share in (0.25, 0.5, 0.75, 0.95):
        least, most = (model.iterations_quantile(share + d / count) for d in (-2, 2))
        assert least <= attempts[int(share * count)] <= most


# --- with the real worker -------------------------------------------------------------------------


@pytest.fixture(scope="module")
def fleet() -> Any:
    build_rust("rust-all")
    with Fleet() as made:
        made.add(rust_station("rust-all"))
        yield made


@pytest.mark.toolchain
def test_variants_suit_the_keys(fleet: Fleet) -> None:
    every = list(fleet.variants.values())
    sign = stage("sign", "ML-DSA-44", "mldsa-lanes")
    fn = stage("sign", "FN-DSA-512", "fn-dsa")
    asked = [
        Pipeline("shared", (sign, fn), "rust-all"),
        Pipeline("each", (sign, fn), "rust-all", keys="each"),
        Pipeline("forced", (structs.replace(sign, key="compact"),), "rust-all"),
    ]  # fmt: skip
    found = resolve(asked, fleet, every, 2)
    assert [[fleet.variants[s.implementation].key for s in p.stage] for p in found] == [
        ["expanded", "expanded"], ["compact", "compact"], ["compact"],
    ]  # fmt: skip
    last = [v for v in every if v.implementation == "mldsa-lanes" and v.key == "expanded"][-1]
    assert found[0].stage[0].implementation == last.id and found[0].threads == (1, 2)
    assert _group(found[0], fleet.variants).designed == (("ML-DSA-44", False),)


@pytest.mark.toolchain
def test_a_worker_without_chains_or_nanoseconds_is_refused(fleet: Fleet) -> None:
    handle = fleet.handles[0]
    before = handle.announcement
    asked = [Pipeline("p", (stage("hash", "SHA3-256", "*"),), "rust-all")]
    try:
        for changed, said in (
            ({"chains": False}, "has no chains"),
            ({"unit": "cycles"}, "counts cycles, not ns"),
        ):
            handle._announced = structs.replace(before, **changed)
            with pytest.raises(LabError, match=f"pipeline 'p': worker rust-all {said}"):
                resolve(asked, fleet, list(fleet.variants.values()), 1)
    finally:
        handle._announced = before


class Given:
    """Records as `PipelineInputs` gives them, made by hand."""

    def ids(self, pipeline: Pipeline, number: int) -> range:
        return range(4)


def work_of(fleet: Fleet) -> tuple[Engine[PipelineCase], PreparedPipeline, list[Row]]:
    """A hash and a signature of it by Ed25519, whose keys stay in the worker."""
    hashes = stage("hash", "SHA3-256", "libcrux-sha3")
    signs, verifies = (stage(o, "Ed25519", "dalek-ed25519") for o in ("sign", "verify"))
    asked = Pipeline("p", (hashes, signs, verifies), "rust-all", records=4)
    (found,) = resolve([asked], fleet, list(fleet.variants.values()), 2)
    records = [bytes([i]) * 40 for i in range(4)]
    digests = [hashlib.sha3_256(r).digest() for r in records]
    seeds = [bytes([9]) * 32] * 4
    written: list[Row] = []
    workload = Pipelines(fleet, [], Given(), {}, set())  # type: ignore[arg-type]
    signed = [
        JobInput(i, seed=s, message=d, context=b"", rnd=bytes(32))
        for i, (s, d) in enumerate(zip(seeds, digests, strict=True))
    ]
    inputs = [
        [JobInput(i, message=r) for i, r in enumerate(records)],
        signed,
        [replace(job, rnd=None, signature=b"") for job in signed],
    ]
    outputs: list[list[bytes | None]] = [list(digests), [None] * 4, [b"\1"] * 4]
    content = make_content(found, Given())  # type: ignore[arg-type]
    variants = [fleet.variants[s.variant] for s in content.stages]
    handle = fleet.handle(variants[0].id)
    pipeline = PreparedPipeline("p", content, 1, handle, variants, inputs, outputs)
    workload.cases = [PipelineCase(pipeline, n) for n in found.threads]
    return Engine(fleet, workload, written.append), pipeline, written


@pytest.mark.toolchain
def test_keys_that_stay_in_the_worker_can_be_chained(fleet: Fleet) -> None:
    bench, _, written = work_of(fleet)
    bench.calibrate(lambda work: None)
    (row,) = written
    assert isinstance(row, Definition)
    assert [(c.check, c.cases, c.failed) for c in row.checks] == [
        ("outputs", 4, 0), ("refuses-altered", 4, 0),
    ]  # fmt: skip
    bench.round(0, lambda work: None)
    chains = [r for r in written if isinstance(r, Samples)]
    assert sorted(int(r.shape["threads"]) for r in chains) == [1, 2]
    for r in chains:
        assert len(r.wall) == 4 * int(r.shape["threads"]) and sorted(set(r.inputs)) == [0, 1, 2, 3]
        assert list(r.phases)[-1] == BETWEEN and all(t > 0 for of in r.phases.values() for t in of)
        assert sum(r.wall) <= r.metrics["elapsed"][0] * int(r.shape["threads"])


@pytest.mark.parametrize(
    ("place", "said"), [(0, "gave a wrong output"), (2, "gave a wrong output"), (None, "altered")]
)
@pytest.mark.toolchain
def test_a_pipeline_with_a_wrong_output_or_verdict_is_left_out(
    fleet: Fleet, place: int | None, said: str
) -> None:
    bench, pipeline, written = work_of(fleet)
    if place is None:  # as one that looks at no message: the altered one is what was signed
        pipeline.inputs[2] = [replace(job, message=flip_back(job)) for job in pipeline.inputs[2]]
    else:
        pipeline.outputs[place] = [b"\0" * 32] * 4
    bench.calibrate(lambda work: None)
    fault = written[-1]
    assert isinstance(fault, Fault) and said in fault.reason and not bench.cases, written


def flip_back(job: JobInput) -> bytes:
    message = job.message or b""
    return message[:-1] + bytes([message[-1] ^ 1])


@pytest.mark.toolchain
def test_the_command_measures_and_shows(tmp_path: Path) -> None:
    path, out = write(tmp_path), tmp_path / "out"
    done = lab("study", str(path), "--out", str(out))
    assert done.status == 0, done.err
    records = [read_record(p) for p in sorted(out.glob("*/*/record.jsonl"))]
    assert len(records) == 2
    for record in records:
        check_record(record)
    assert records[0].inputs != records[1].inputs  # each process has records of its own
    found = groups_in(out / "study.json")
    for name in ("one by one", "batches"):
        rows = [r for r in found if r["pipeline"] == name]
        *parts, whole = (r["time"] for r in rows if "time" in r)
        assert len(parts) == 4 and all(part > 0 for part in parts)
        assert sum(parts) == pytest.approx(whole, rel=1e-12)
        seen, expected = (r["count"] for r in rows if r.get("of") == "attempts")
        assert abs(seen - expected) < 0.25
    latency = [r for r in found if "quantile" in r and "stage" not in r]
    assert {r["percentile"] for r in latency if r["pipeline"] == "one by one"} == {50}  # 16 records
    assert [r["pipeline"] for r in found if "ratio" in r] == ["batches"]
    assert "<svg" in (out / "study.html").read_text()
    again = here("study", str(path), "--out", str(out))
    assert again.status == 0 and "gate" not in again.out
    one = here("report", str(next(out.glob("*/*/record.jsonl"))), "--to", "none")
    assert one.status == 0 and "between stages" in one.out


def check_record(record: Record) -> None:
    assert [p.name for p in record.definitions] == ["one by one", "batches"]
    for row in record.definitions:
        assert all(c.cases and not c.failed for c in row.checks) and len(row.checks) == 2
    hashes, signs, verifies = record.definitions[0].read(PipelineContent).stages
    assert (signs.message, verifies.message, verifies.signature) == (1, 1, 2)
    for a, b in zip(hashes.inputs, signs.inputs, strict=True):
        row, signed = record.input("SHA3-256", a), record.input("ML-DSA-44", b)
        assert row.role == signed.role == PIPELINE and len(row.message) == 1024
        assert signed.message == hashlib.sha3_256(row.message).digest() and signed.trace
    assert {len(r.wall) for r in record.samples} == {16, 2}
    assert not record.faults and len(record.samples) == 4
    for row in record.samples:
        assert sum(row.wall) <= row.metrics["elapsed"][0]


def test_a_pipeline_with_a_fault_has_no_figures() -> None:
    """lab/tests/golden has the figures of sound ones."""
    folder = find_root() / "records" / "2026-11-23-epyc-zen4-pipeline"
    record = read_record(folder / "process-1.jsonl.xz")
    name, variant = next(iter(find_pipelines([record]))), record.samples[0].variant
    record.add(Fault(variant, None, None, 1, f"pipeline {name}: it ended"))
    with pytest.raises(LabError, match=f"pipeline {name}: it ended"):
        find_pipelines([record])


def test_batches_say_how_many_records_go_together() -> None:
    folder = Path(__file__).parents[2] / "records" / "2026-11-23-epyc-zen4-pipeline"
    record = read_record(min(folder.glob("process-*.jsonl.xz")))
    shown = KIND.report(KIND.read(record, Look()), "process-1.jsonl.xz")
    (grid,) = (s.grid for s in shown.sections if s.grid.title.startswith("Records per second"))
    columns = {c.title: [str(cell) for cell in c.cells] for c in grid.columns}
    assert columns["together"] == ["1", "1", "64"]
