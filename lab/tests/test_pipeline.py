"""Pipelines: what a file may ask for, which records are taken, what is measured, and that the
stages of a whole add up."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
from lab_runs import build_rust, here, lab, rust_station

from mldsa_lab.bench.engine import Engine
from mldsa_lab.bench.fleet import Fleet
from mldsa_lab.bench.pipeline_inputs import spread
from mldsa_lab.bench.pipelines import Line, Pipeline, Stage, _variant, resolve, taking_part
from mldsa_lab.bench.workloads.pipeline import PipelineCase, Pipelines, Prepared
from mldsa_lab.errors import LabError
from mldsa_lab.estimate.interval import over
from mldsa_lab.inputs.library import load
from mldsa_lab.inputs.spec import Spec
from mldsa_lab.records import (
    PIPELINE,
    Chains,
    Fault,
    PipelineRow,
    Record,
    Row,
    Variant,
    read_record,
    to_json,
)  # fmt: skip
from mldsa_lab.sets import OPERATIONS, SCHEME_FAMILIES
from mldsa_lab.show.sections import BESIDE
from mldsa_lab.show.view import SHOWN_OPERATIONS
from mldsa_lab.study.file import read_study
from mldsa_lab.study.pipeline import BETWEEN, PipelineCosts, StudyPipeline
from mldsa_lab.study.run import begin
from mldsa_lab.theory.rejection import RejectionModel
from mldsa_lab.worker.protocol import (
    JobInput,
    Link,
    ProtocolError,
    parse_hello,
    parse_link,
)

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
CHEAP = ("libcrux-sha3", "mldsa-lanes:portable:*", "fn-dsa", "dalek-ed25519")


def write(folder: Path, text: str = SMALL) -> Path:
    path = folder / "small.toml"
    path.write_text(text, encoding="utf-8")
    return path


def stage(operation: str, set_name: str, implementation: str = "x", **more: Any) -> Stage:
    return Stage(operation, set_name, implementation, **more)


# --- files ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('"SHA3-256"', '"SHA3-257"', "pipeline[0].stage[0].set: 'SHA3-257' must be one of"),
        ('"hash"', '"digest"', "pipeline[0].stage[0].operation: 'digest' must be one of"),
        ('operation = "hash"', 'operation = "sign"', "SHA3-256 has no operation sign"),
        ("batch = 8", "batch = 0", "pipeline[1].stage[1].batch: must be a whole number >= 1"),
        ("threads = [1]\nagainst", "threads = [1]\nrecord_bytes = -1\nagainst",
         "pipeline[1].record_bytes: must be a whole number >= 0"),
        ("records = 16\nthreads = [1]\nagainst", "records = 12\nagainst",
         "records: 12 are no whole batches of 8"),
        ("batch = 8", "batch = 3", "the largest batch, 8, must be a multiple of 3"),
        ('operation = "sign"', 'operation = "verify"\nname = "v"',
         "stage 'v': no stage before it signs with ML-DSA-44"),
        ('operation = "verify"', 'operation = "verify"\nsignature = "other"',
         "no stage called 'other' before it signs with ML-DSA-44"),
        ('operation = "sign"', 'operation = "sign"\nsignature = "x"',
         "signature: only verification takes one"),
        ('operation = "verify"', 'operation = "sign"', "two stages are called 'sign ML-DSA-44'"),
        ('name = "batches"', 'name = "one by one"',
         "line 30: pipeline[1]: the name 'one by one' is given twice"),
        ('against = "one by one"', 'against = "two"', "against: no other is called 'two'"),
        ("threads = [1]", "threads = [0]", "pipeline[0].threads[0]: must be a whole number >= 1"),
        ("threads = [1]", "threads = [2]", "threads: 1 must be among them"),
        ("version = 1", "version = 3", "version: 3 must be one of 1"),
        ("[profiles", "[[measure]]\n[profiles", "either [[measure]] or [[pipeline]]"),
        ("seconds = 1", 'seconds = 1\nsets = ["44"]', "of a profile are of [[measure]]"),
        ("[profiles", '[[figures]]\nname = "f"\nby = ["set"]\n[profiles', "has no contrasts"),
    ],
)  # fmt: skip
def test_bad_files_name_place_and_rule(tmp_path: Path, old: str, new: str, said: str) -> None:
    assert old in SMALL
    path = write(tmp_path, SMALL.replace(old, new, 1))
    with pytest.raises(LabError) as caught:
        read_study(path)
    assert str(path) in str(caught.value) and said in str(caught.value)


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


def test_what_cannot_run_here_is_refused_in_one_line(tmp_path: Path) -> None:
    for old, new, said in (
        ('"libcrux-sha3"', '"libcrux-md5"', "unknown implementation 'libcrux-md5'"),
        ("threads = [1]", "threads = [1, 4711]", "4711 threads: this machine has"),
        ('"mldsa-lanes"\n\n', '"fips204"\nbatch = 8\n\n', "has no batch interface"),
        ("records = 16", 'worker = "go"\nrecords = 16', "worker go"),
    ):
        path = write(tmp_path, SMALL.replace(old, new, 1))
        done = here("study", str(path), "--out", str(tmp_path / f"out-{len(said)}"))
        assert done.status == 2 and said in done.err, done.err
        assert len(done.err.strip().splitlines()) == 1 and "Traceback" not in done.err


@pytest.mark.parametrize(
    ("keys", "asked", "passes"),
    [("shared", None, True), ("each", None, False), ("each", "expanded", True)],
)
def test_keys_expanded_before_the_clock_are_asked_for(
    keys: str, asked: str | None, passes: bool
) -> None:
    stage = cast(Stage, SimpleNamespace(operation="sign", set="X", implementation="a", key=asked))
    of = cast(Pipeline, SimpleNamespace(keys=keys, worker="w"))
    only = cast(Variant, SimpleNamespace(
        sets=("X",), operations=("sign",), names=("a",), implementation="a", key="expanded"
    ))  # fmt: skip
    if passes:
        assert _variant(stage, of, [only], "here") is only
    else:
        with pytest.raises(LabError, match="here: a has expanded keys alone"):
            _variant(stage, of, [only], "here")


def test_a_changed_pipeline_is_another_study(tmp_path: Path) -> None:
    path, out = write(tmp_path), tmp_path / "out"
    begin(path, "default", out)
    (out / "1" / "1").mkdir(parents=True)
    (out / "1" / "1" / "record.jsonl").touch()
    begin(write(tmp_path, SMALL + "\n"), "default", out)
    write(tmp_path, SMALL.replace("records = 16", "records = 8"))
    with pytest.raises(LabError, match="--out names another folder"):
        begin(path, "default", out)


# --- records that are taken -----------------------------------------------------------------------


def test_few_records_stand_for_all() -> None:
    model = RejectionModel.of("ML-DSA-44")
    pool = load().trace("ML-DSA-44", Spec("ML-DSA-44", bytes(32), per_key=0).inputs(0, 4000))
    count = 64
    chosen = spread([pool], count)
    assert len(set(chosen)) == count
    counts, attempts = pool.counts()[chosen], np.sort(pool.attempts()[chosen])
    assert abs(attempts.mean() - model.expected_attempts) < 3 / count
    assert abs(counts[:, 0].mean() - model.expected_counts[0]) < 2 / count
    for share in (0.25, 0.5, 0.75, 0.95):
        least, most = (model.attempts_quantile(share + d / count) for d in (-2, 2))
        assert least <= attempts[int(share * count)] <= most
    # As many at random miss the mean by much more, most of the time.
    rng = np.random.default_rng(1)
    missed = [
        abs(pool.attempts()[rng.choice(4000, count)].mean() - model.expected_attempts)
        for _ in range(200)
    ]
    assert np.median(missed) > 6 / count


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
        Pipeline("forced", (replace_key(sign, "compact"),), "rust-all"),
    ]  # fmt: skip
    lines = resolve(asked, fleet, every, 2)
    assert [[v.key for v in line.variants] for line in lines] == [
        ["expanded", "expanded"], ["compact", "compact"], ["compact"],
    ]  # fmt: skip
    last = [v for v in every if v.implementation == "mldsa-lanes" and v.key == "expanded"][-1]
    assert lines[0].variants[0] == last and lines[0].threads == (1, 2)
    assert lines[0].designed == (("ML-DSA-44", False),)
    assert taking_part(lines[:1], every) == [*lines[0].variants]


def replace_key(one: Stage, key: str) -> Stage:
    return Stage(one.operation, one.set, one.implementation, key=key)


@pytest.mark.toolchain
def test_a_worker_without_chains_or_nanoseconds_is_refused(fleet: Fleet) -> None:
    station = fleet.stations[0]
    before = station.announcement
    import msgspec

    asked = [Pipeline("p", (stage("hash", "SHA3-256", "*"),), "rust-all")]
    try:
        for changed, said in (
            ({"chains": False}, "cannot chain stages"),
            ({"unit": "cycles"}, "counts cycles, not ns"),
        ):
            station._announced = msgspec.structs.replace(before, **changed)
            with pytest.raises(LabError, match=f"pipeline 'p': worker rust-all {said}"):
                resolve(asked, fleet, list(fleet.variants.values()), 1)
    finally:
        station._announced = before


class Given:
    """Records as `Drawn` gives them, made by hand."""

    def ids(self, line: Line, number: int) -> range:
        return range(4)


def work_of(fleet: Fleet) -> tuple[Engine[PipelineCase], Prepared, list[Row]]:
    """A hash and a signature of it by Ed25519, whose keys stay in the worker."""
    hashes = stage("hash", "SHA3-256", "libcrux-sha3")
    signs, verifies = (stage(o, "Ed25519", "dalek-ed25519") for o in ("sign", "verify"))
    asked = Pipeline("p", (hashes, signs, verifies), "rust-all", records=4)
    (line,) = resolve([asked], fleet, list(fleet.variants.values()), 2)
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
    pipeline = Prepared(line, fleet.station(line.variants[0].id), inputs, outputs)
    workload._pipelines = [pipeline]
    return Engine(fleet, workload, written.append), pipeline, written


@pytest.mark.toolchain
def test_keys_that_stay_in_the_worker_can_be_chained(fleet: Fleet) -> None:
    bench, _, written = work_of(fleet)
    bench.calibrate(lambda work: None)
    (row,) = written
    assert isinstance(row, PipelineRow)
    assert [(c.check, c.cases, c.failed) for c in row.checks] == [
        ("outputs", 4, 0), ("refuses-altered", 4, 0),
    ]  # fmt: skip
    bench.round(0, lambda work, part: None)
    chains = [r for r in written if isinstance(r, Chains)]
    assert sorted(r.threads for r in chains) == [1, 2]
    for r in chains:
        assert len(r.wall) == 4 * r.threads and sorted(set(r.first)) == [0, 1, 2, 3]
        whole, stages = np.array(r.wall), np.array(r.stages)
        assert (stages > 0).all() and (stages.sum(axis=0) <= whole).all()
        assert whole.sum() <= r.elapsed * r.threads


@pytest.mark.parametrize("place", [0, 2])
@pytest.mark.toolchain
def test_a_pipeline_with_a_wrong_output_is_left_out(fleet: Fleet, place: int) -> None:
    bench, pipeline, written = work_of(fleet)
    pipeline.outputs[place] = [b"\0" * 32] * 4
    bench.calibrate(lambda work: None)
    row, fault = written
    assert isinstance(row, PipelineRow) and row.checks[0].failed == 4
    assert isinstance(fault, Fault) and "gave a wrong output" in fault.reason and not bench.cases


@pytest.mark.toolchain
def test_a_verification_that_accepts_altered_records_is_left_out(fleet: Fleet) -> None:
    bench, pipeline, written = work_of(fleet)
    # As one that looks at no message would: the altered one is what was signed.
    flipped = [replace(job, message=flip_back(job)) for job in pipeline.inputs[2]]
    pipeline.inputs[2] = flipped
    bench.calibrate(lambda work: None)
    fault = written[-1]
    assert isinstance(fault, Fault) and "refuses-altered" in fault.reason, written


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
    found = json.loads((out / "study.json").read_text())
    for process in (1, 2):
        for name, together in (("one by one", 1), ("batches", 8)):
            rows = [r for r in found if (r["pipeline"], r.get("process")) == (name, process)]
            parts = [r["part"] for r in rows if "part" in r]
            (whole,) = [r for r in rows if "whole" in r]
            assert min(parts) > 0 and sum(parts) == pytest.approx(whole["whole"], rel=1e-12)
            assert whole["together"] == together and "p50" in whole and "p99" not in whole
            assert [r["threads"] for r in rows if "per_second" in r] == [1]
    for row in found:
        if "attempts" in row:
            assert row["stage"] == "sign ML-DSA-44"
            assert abs(row["attempts"] - row["expected_attempts"]) < 0.25
    assert [r["pipeline"] for r in found if "ratio" in r] == ["batches"] * 2
    text = (out / "study.md").read_text()
    assert "between stages" in text and "Throughput" in text
    page = (out / "study.html").read_text()
    assert page.count("<svg") == 3 and "A small pipeline" in page
    again = here("study", str(path), "--out", str(out))
    assert again.status == 0 and "gate" not in again.out


def check_record(record: Record) -> None:
    assert [p.pipeline for p in record.pipelines] == ["one by one", "batches"]
    for row in record.pipelines:
        assert all(c.cases and not c.failed for c in row.checks) and len(row.checks) == 2
    hashes, signs, verifies = record.pipelines[0].stages
    assert (signs.message, verifies.message, verifies.signature) == (1, 1, 2)
    for a, b in zip(hashes.inputs, signs.inputs, strict=True):
        row, signed = record.input("SHA3-256", a), record.input("ML-DSA-44", b)
        assert row.role == signed.role == PIPELINE and len(row.message) == 1024
        assert signed.message == hashlib.sha3_256(row.message).digest() and signed.trace
    assert {len(r.wall) for r in record.chains} == {16, 2}
    assert not record.faults and len(record.chains) == 4
    for chain in record.chains:
        of = np.array(chain.stages).sum(axis=0)
        assert (of <= np.array(chain.wall)).all() and sum(chain.wall) <= chain.elapsed


# --- statistics -----------------------------------------------------------------------------------


def test_stages_are_those_of_the_median_pass() -> None:
    rows = [
        Chains(n, 0, "p", 1, sum(whole), (0, 1), whole, None, stages)
        for n, (whole, stages) in enumerate((
            ((10, 30), ((4, 5), (5, 20))), ((12, 20), ((7, 9), (2, 8))),
            ((90, 25), ((5, 6), (5, 17))),
        ))
    ]  # fmt: skip
    from mldsa_lab.study.pipeline import _passes

    found = _passes(rows, 1)
    assert found.whole.tolist() == [12, 25] and found.stages.tolist() == [[7, 6], [2, 17]]
    assert found.level.tolist() == [20, 16, 57.5]
    assert found.rates[1] == pytest.approx(2 / 40 * 1e9)


def test_shares_add_up_and_few_records_have_no_tail() -> None:
    rng = np.random.default_rng(2)
    processes = []
    for _ in range(3):
        stages = rng.uniform(1, 9, (2, 40))
        processes.append(PipelineCosts(stages.sum(axis=0) + 0.5, stages, np.ones(3), {1: 5.0}))
    row = PipelineRow("p", "shared", (1,), (), ())
    stages_of = [replace_name(name) for name in ("a", "b")]
    row = PipelineRow("p", "shared", (1,), tuple(stages_of), ())
    found = StudyPipeline(row, 1, "ns", tuple(processes), {})
    parts = found.parts()
    assert np.allclose(sum(parts.values()), found.whole()) and np.allclose(parts[BETWEEN], 0.5)
    assert found.latency(0.95) is not None and found.latency(0.99) is None
    assert over(np.ones(3), 0.95).low is None
    interval = over(np.array([9.0, 10.0, 10.0, 11.0]), 0.95)
    assert interval.low is not None and interval.low < 10 == interval.value


def replace_name(name: str) -> Any:
    from mldsa_lab.records import PipelineStage

    return PipelineStage(name, "a:b:compact", "SHA3-256", "hash", 0, 0, 0, (0,))


# --- text -----------------------------------------------------------------------------------------


def test_links_are_parsed_strictly() -> None:
    digest = "ab" * 32
    good = f"link 1 7 100 - 40 {digest} 50 {digest}"
    assert parse_link(good, 2) == Link(1, 7, 100, None, ((40, b"\xab" * 32), (50, b"\xab" * 32)))
    assert parse_link("failed 3 no key", 2).failure == "no key"
    for bad, stages in ((good, 1), (good + " 1", 2), (good[:-2], 2), ("sample 1 2 3 4", 0)):
        with pytest.raises(ProtocolError):
            parse_link(bad, stages)
    with pytest.raises(ProtocolError, match="chains must be yes or no"):
        parse_hello(["protocol 1", "chains maybe", "variant x"])


def test_records_of_pipelines_are_checked(tmp_path: Path) -> None:
    head = {"type": "chains", "round": 0, "turn": 0, "pipeline": "p", "threads": 1, "elapsed": 5,
            "first": [0], "wall": [5], "cpu": None, "stages": [[1, 2]]}  # fmt: skip
    import msgspec

    with pytest.raises(msgspec.ValidationError, match="as many entries as first"):
        msgspec.convert(head, Row)
    row = msgspec.convert({**head, "stages": [[1]]}, Row)
    assert to_json(row) == {**head, "stages": [[1]]}


def test_hash_functions_have_a_table_of_their_own() -> None:
    assert set(BESIDE) == set(SCHEME_FAMILIES) - {"ml-dsa"}
    assert set(SHOWN_OPERATIONS) == set(OPERATIONS)
