"""Blocks: what a file may ask for, what is checked and measured, and what is made of the record."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from lab_runs import broken_registry, build_rust, here, lab, place, rows_in, rust_station

from mldsa_lab import LabError, machine
from mldsa_lab.bench.engine import Engine
from mldsa_lab.bench.fleet import Fleet, WorkerHandle
from mldsa_lab.bench.options import BlockFile, find_verifiers, resolve_block, stride
from mldsa_lab.files import decode_toml
from mldsa_lab.kinds.block import BlockCase, Blocks, draw_block, read_block_content
from mldsa_lab.records import BlockContent, Definition, Fault, Row, Samples, Variant, read_record
from mldsa_lab.worker.build import build
from mldsa_lab.worker.protocol import BlockShape
from mldsa_lab.worker.registry import read_registry
from mldsa_lab.worker.worker import Limits

SMALL = """
format = "mldsa-lab block"
version = 1
title = "A small block"
verifications = 24
uses = 3
batches = [1, 8]
threads = [1, 2]
caches = ["warm", "cold"]

[slot_seconds]
"a slot" = 0.4

[profiles.default]
seconds = 1
rounds = [2, 2]

[profiles.quick]
seconds = 1
rounds = [2, 2]
verifications = 12

[[verify]]
set = "ML-DSA-44"
implementations = ["mldsa-lanes:portable:*"]

[[verify]]
set = "Schnorr-secp256k1"
implementations = ["libsecp256k1"]

[[verify]]
set = "Ed25519"
implementations = ["dalek-ed25519"]
"""


def write(folder: Path, text: str = SMALL) -> Path:
    path = folder / "small.toml"
    path.write_text(text, encoding="utf-8")
    return path


# --- files ----------------------------------------------------------------------------------------


def test_options_that_the_file_gives_are_refused(tmp_path: Path) -> None:
    for said in ("--sets 44", "--batch 8", "--message-bytes 7", "--until 1", "--baseline aws-lc",
                   "--workers x.toml", "--clock wall"):  # fmt: skip
        option = said.split()
        done = here("bench", "--kind", str(write(tmp_path)), *option)
        assert done.status == 2 and f"{option[0]}: cannot be used with --kind" in done.err
    done = here("bench", "--kind", str(write(tmp_path)), "--build", "both")
    assert done.status == 2 and "a block is measured in one build" in done.err


@pytest.mark.parametrize("inputs", [1, 3, 24, 4000])
def test_strides_visit_everything_far_apart(inputs: int) -> None:
    step = stride(inputs)
    assert math.gcd(step, inputs) == 1
    assert sorted(BlockShape(0, 1, step).turns(inputs)) == list(range(inputs))
    if inputs >= 24:
        assert min(step, inputs - step) > inputs / 4


def test_caches_are_read_in_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for core, sizes in enumerate((("32K", "1024K"), ("32K", "32768K"), ("odd",))):
        for index, size in enumerate(sizes):
            folder = tmp_path / f"cpu{core}" / "cache" / f"index{index}"
            folder.mkdir(parents=True)
            (folder / "size").write_text(f"{size}\n")
    monkeypatch.setattr(machine, "_CPUS", tmp_path)
    assert machine.cache_bytes() == 32 << 20
    monkeypatch.setattr(machine, "_CPUS", tmp_path / "nowhere")
    assert machine.cache_bytes() is None


# --- with the real worker -------------------------------------------------------------------------


@pytest.fixture(scope="module")
def fleet() -> Any:
    build_rust()
    with Fleet() as made:
        made.add(rust_station())
        yield made


def resolved(fleet: Fleet, text: str = SMALL) -> tuple[BlockFile, list[tuple[str, Variant]]]:
    block = resolve_block(decode_toml(text, BlockFile, "x"), 2)
    return block, find_verifiers(block, fleet, list(fleet.variants.values()))


def test_what_cannot_run_here_names_the_block(
    fleet: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    for old, new, said in (
        ("threads = [1, 2]", "threads = [1, 3]", "block 'A small block': threads: 3 are more "),
        ('"libsecp256k1"', '"libsecp"', "block 'A small block': no implementation 'libsecp' of "
         "worker rust has verify of Schnorr-secp256k1: known are libsecp256k1"),
        ("uses = 3", 'uses = 3\nworker = "go"', "'A small block': worker go does not take part"),
        ("uses = 3", "uses = 3\ncold_bytes = 1048576", "must be at least twice the largest cache"),
    ):  # fmt: skip
        assert old in SMALL
        with pytest.raises(LabError) as caught:
            resolved(fleet, SMALL.replace(old, new, 1))
        assert said in str(caught.value), str(caught.value)
    monkeypatch.setattr(machine, "cache_bytes", lambda: None)
    with pytest.raises(LabError, match="caches: their size cannot be read here"):
        resolved(fleet)
    assert resolved(fleet, SMALL.replace(', "cold"', ""))[0].cold_bytes is None


def bench_of(fleet: Fleet, text: str = SMALL) -> tuple[Engine[BlockCase], Blocks, list[Row]]:
    written: list[Row] = []
    block, verifiers = resolved(fleet, text)
    passed = {(v.id, name) for name, v in verifiers}
    workload = Blocks(fleet, block, verifiers, bytes(32), passed)
    return Engine(fleet, workload, written.append), workload, written


@pytest.mark.e2e
def test_everybody_is_checked_and_measured_in_every_way(fleet: Fleet) -> None:
    bench, _, written = bench_of(fleet)
    bench.calibrate(lambda work: None)
    row, *verifiers = written
    assert isinstance(row, Definition)
    content = row.read(BlockContent)
    assert content.stride == stride(24) and content.cold_bytes and content.cache_bytes
    assert content.cold_bytes >= 2 * content.cache_bytes
    told = {
        (str(v.variant).split(":")[0], v.content["batch"]): v
        for v in verifiers
        if isinstance(v, Definition)
    }
    assert len(verifiers) == 8 and not any(isinstance(v, Fault) for v in verifiers)
    lacking = told["libsecp256k1", 8]
    assert lacking.lacking == "libsecp256k1 announces no batch interface" and not lacking.checks
    for name in ("mldsa-lanes", "dalek-ed25519"):
        for batch in (0, 8):
            checks = [(c.check, c.cases, c.failed) for c in told[name, batch].checks]
            assert checks == [("accepts-block", 48, 0), ("refuses-altered", 48, 0)]
    bench.round(0, lambda work: None)
    rows = [v for v in written if isinstance(v, Samples)]
    # Two forms of ML-DSA keys and Ed25519 in two ways of calling, Schnorr in one.
    assert len(rows) == (2 * 2 + 2 + 1) * 4
    assert sorted(v.turn for v in rows) == list(range(len(rows)))
    assert all(len(v.wall) == 1 and v.wall[0] > 0 and v.cpu for v in rows)


def test_keys_are_used_as_often_as_asked() -> None:
    row = BlockContent(12, 3, 20, 7, {})
    drawn = draw_block(row, "ML-DSA-65", bytes(32))
    seeds = [d.seed for d in drawn]
    assert all(len({*seeds[i : i + 3]}) == 1 for i in range(0, 12, 3)) and len({*seeds}) == 4
    assert len({d.message for d in drawn}) == 12 and {len(d.message) for d in drawn} == {20}


@pytest.mark.parametrize(
    ("in_time", "said"),
    [
        (False, "single calls, accepts-block: on 1 threads"),
        pytest.param(True, "no refused of 24", marks=pytest.mark.e2e),
    ],
)
def test_a_signature_that_is_refused_leaves_its_verifier_out(
    fleet: Fleet, in_time: bool, said: str
) -> None:
    bench, workload, written = bench_of(fleet)
    case = bench.cases[0]
    bench.cases = [c for c in bench.cases if c.group == case.group]
    if in_time:
        bench.calibrate(lambda work: None)
    inputs = workload.inputs(case.variant.id, case.set_name)
    inputs[13] = replace(inputs[13], signature=inputs[14].signature)
    bench.round(1, lambda work: None) if in_time else bench.calibrate(lambda work: None)
    fault = written[-1]
    assert isinstance(fault, Fault) and said in fault.reason and not bench.cases
    assert fault.round == (1 if in_time else None)


@pytest.mark.parametrize(
    ("mode", "way"), [("accept-all", "single calls"), ("spoil-batch", "batches of 8")]
)
def test_broken_workers_are_left_out(tmp_path: Path, mode: str, way: str) -> None:
    entries = read_registry(broken_registry(tmp_path / "registry.toml", (mode,)))
    name = f"broken-{mode}"
    entry = next(e for e in entries if e.name == name)
    build(entry, place(), lambda _: None)
    text = SMALL[: SMALL.index("[[verify]]")].replace("uses = 3", f'uses = 3\nworker = "{name}"')
    text += f'[[verify]]\nset = "ML-DSA-65"\nimplementations = ["{name}"]\n'
    with Fleet() as fleet:
        fleet.add(WorkerHandle(entry, place(), Limits()))
        bench, _, written = bench_of(fleet, text)
        bench.calibrate(lambda work: None)
    fault = written[-1]
    assert isinstance(fault, Fault) and not bench.cases
    assert f"block: {way}, refuses-altered: on 1 threads" in fault.reason


@pytest.mark.e2e
def test_the_command_measures_and_shows(tmp_path: Path) -> None:
    path, out = write(tmp_path), tmp_path / "out"
    done = lab("bench", "--kind", str(path), "--quick", "--out", str(out), "--seed", "tests")
    assert done.status == 0, done.err
    (folder,) = out.iterdir()
    record = read_record(folder / "record.jsonl")
    assert read_block_content(record).verifications == 12 and not record.faults
    assert {v.round for v in record.samples} == {0, 1}
    rows = rows_in(folder / "figures.json")
    assert len(rows) == 7 * 4 + 1
    (none,) = [r for r in rows if r["time block"] is None]
    assert none["time block_notes"] and (none["set"], none["batch"]) == ("Schnorr-secp256k1", 8)
    for r in rows:
        if r is none:
            continue
        assert r["time block_low"] is None
        assert r["time signature"] == pytest.approx(r["time block"] / 12)
        assert r["share block a slot"] == pytest.approx(r["time block"] / 0.4e9)
        assert ("scaling" in r) == (r["threads"] > 1)
        assert ("ratio warm" in r) == (r["caches"] == "cold")
    assert "<svg" in (folder / "report.html").read_text()
    table = tmp_path / "x.csv"
    assert here("report", str(folder / "record.jsonl"), "--to", str(table)).status == 0
    assert len(table.read_text().splitlines()) > len(rows)
