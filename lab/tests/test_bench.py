"""`mldsa-lab bench` end to end with the real Rust worker on a small configuration."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import time
from collections import Counter
from pathlib import Path

import pytest
from lab_runs import Ran, bench, command, here, lab, rows_in, signers_of

from mldsa_lab.machine import cores_to_use
from mldsa_lab.records import read_record
from mldsa_lab.sets import PARAMETER_SETS
from mldsa_lab.theory.trace import parse_trace


@pytest.fixture
def ran(shared_run: Ran) -> Ran:
    return shared_run


def test_it_succeeds_and_names_its_files(ran: Ran) -> None:
    assert ran.status == 0 and ran.folder is not None, ran.err
    names = ["figures.json", "record.jsonl", "report.html"]
    assert sorted(p.name for p in ran.folder.iterdir()) == names
    assert all(str(ran.folder / name) in ran.out for name in names)
    assert "mldsa-native" in ran.out and "Traceback" not in ran.err


def test_the_record_is_complete(ran: Ran) -> None:
    record = ran.record
    assert record.end is not None and (record.end.status, record.end.rounds) == ("complete", 4)
    assert record.faults == [] and record.skipped == [] and record.warnings == []
    assert [load.round for load in record.loads] == [0, 1, 2, 3]
    assert all(gate.passed for gate in record.gates)
    cells = Counter((s.variant, s.set, s.operation) for s in record.samples)
    assert set(cells.values()) == {4}
    chosen = {variant.split(":")[0] for variant, *_ in cells}
    assert chosen >= {"mldsa-lanes", "mldsa-native", "aws-lc"} and "mldsa-oracle" not in chosen
    assert record.run.options["sets"] == ["ML-DSA-44", "Ed25519"] and len(record.run.seed) == 64
    # As a dependent of the libraries gets them, unless asked otherwise.
    (worker,) = record.workers
    assert (worker.build, record.run.options["build"]) == ("default", "default")
    assert worker.flags == "profile release (as Cargo has it); RUSTFLAGS none; CFLAGS none"


def test_inputs_have_the_traces_and_roles_they_should(ran: Ran) -> None:
    record = ran.record
    inputs = [i for i in record.inputs if i.set == "ML-DSA-44"]
    assert Counter(i.role for i in inputs) == {"random": 24, "design": 12}
    for row in inputs:
        parse_trace(row.trace or (), row.set)
        assert (len(row.seed), len(row.message), row.context) == (32, 32, b"")
    assert len({i.seed for i in inputs}) == 36
    roles = {i.id: i.role for i in inputs}
    for s in (s for s in record.samples if s.set in PARAMETER_SETS):
        is_sign = s.operation == "sign"
        designed = is_sign and record.variant(s.variant).deterministic
        assert {roles[i] for i in s.inputs} == {"design" if designed else "random"}
        assert designed or not is_sign or s.calls == 1


@pytest.mark.e2e
def test_the_same_seed_gives_the_same_inputs(ran: Ran, tmp_path: Path) -> None:
    again = bench(
        tmp_path, "--sets", "44", "--implementations", "mldsa-native", "--operations", "keygen",
        "--rounds", "1", "--to", "none", "--workers", "rust",
    )  # fmt: skip
    assert again.status == 0, again.err
    assert again.record.inputs == [i for i in ran.record.inputs if i.set == "ML-DSA-44"]
    assert again.folder is not None and not (again.folder / "report.html").exists()


@pytest.mark.e2e
def test_batches_and_threads_are_measured_beside_the_single_calls(tmp_path: Path) -> None:
    threads = min(cores_to_use(), 2)
    done = bench(
        tmp_path, "--sets", "44,Ed25519", "--workers", "rust", "--rounds", "1",
        "--batch", "1,8,1000", "--threads", str(threads), "--implementations",
        "mldsa-lanes:portable:*,mldsa-native,aws-lc,aws-lc-ed25519",
    )  # fmt: skip
    assert done.status == 0, done.err
    record = done.record
    assert record.faults == [] and record.run.options["batch_sizes"] == [1, 8, 1000]
    assert Counter(i.role for i in record.inputs if i.set == "ML-DSA-44") == {
        "random": 24, "design": 12, "many-keys": 100, "one-key": 100,
    }  # fmt: skip
    assert len({i.seed for i in record.inputs if i.role == "one-key"}) == 1
    seen = {s.variant for s in record.samples}
    for key in ("compact", "expanded"):
        for shape in ("", ":batch-1", ":batch-8", ":batch-1000", ":loop-100"):
            assert f"mldsa-lanes:portable:{key}{shape}" in seen
    assert {"aws-lc:native:compact:loop-100", "aws-lc-ed25519:native:compact:loop-100"} <= seen
    assert (f"mldsa-native:avx2:compact:loop-100:threads-{threads}" in seen) == (threads > 1)
    passed = {g.variant: {c.check for c in g.checks if c.cases} for g in record.gates if g.passed}
    expected = {"acvp-siggen", "acvp-sigver", "batch-keygen", "batch-sign", "batch-verify"}
    for size in (1, 8, 1000):
        assert expected <= passed[f"mldsa-lanes:portable:compact:batch-{size}"]
    by_variant = {
        (r["backend"], r["key"], r["mode"], r["batch_size"], r["threads"]): r
        for r in done.rows
        if (r["implementation"], r.get("operation")) == ("mldsa-lanes", "sign") and "mean" in r
    }
    single = by_variant["portable", "expanded", "single", 1, 1]
    batch = by_variant["portable", "expanded", "batch", 1000, 1]
    # The same work by two ways of estimating it; a wrong divisor would be off by a hundred times.
    assert 0.3 < batch["mean"] / single["mean"] < 2
    loop = by_variant["portable", "expanded", "single", 100, threads]
    assert loop["per_second"] == pytest.approx(1e9 / loop["mean"]) or threads == 1
    assert "in batches" in done.out and done.folder is not None
    assert "<h2>Batches" in (done.folder / "report.html").read_text(encoding="utf-8")


@pytest.mark.skipif(shutil.which("go") is None, reason="go is not installed")
@pytest.mark.toolchain
def test_a_worker_without_runs_cannot_be_measured_so(tmp_path: Path) -> None:
    for option in ("--batch", "--threads"):
        done = bench(tmp_path / option, "--workers", "go", "--sets", "44", option, "all")
        if option == "--threads" and cores_to_use() == 1:
            continue
        assert done.status == 2 and done.folder is None
        chosen = ", ".join(signers_of("go"))  # filippo becomes Go's own from Go 1.27 on
        assert len(done.err.splitlines()) == 1 and f"chosen are {chosen}" in done.err


@pytest.mark.skipif(shutil.which("go") is None, reason="go is not installed")
@pytest.mark.toolchain
def test_a_worker_alone_is_judged_by_the_reference_of_another(tmp_path: Path) -> None:
    done = bench(
        tmp_path / "out", "--workers", "go", "--sets", "44", "--rounds", "2",
        "--operations", "sign", "--to", str(tmp_path / "rows.json"),
    )  # fmt: skip
    assert done.status == 0, done.err
    rows = rows_in(tmp_path / "rows.json")
    assert {r["language"] for r in rows} == {"Go"}
    assert {r["implementation"] for r in rows} == set(signers_of("go"))
    assert not any("ratio" in r for r in rows)  # the default reference was not measured
    gates = {g.variant: {c.check for c in g.checks if c.cases} for g in done.record.gates}
    assert all("reference-sign" in checks for v, checks in gates.items() if "expanded" in v)


def test_report_redraws_from_the_record_alone(
    ran: Ran, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert ran.folder is not None
    source = ran.folder / "record.jsonl"
    page, rows = tmp_path / "again.html", tmp_path / "again.json"
    # A folder without compilers on the path: nothing may be built or started.
    monkeypatch.setenv("PATH", str(tmp_path))
    done = here("report", str(source), "--to", str(page), "--to", str(rows))
    assert done.status == 0, done.err
    assert rows_in(rows) == ran.rows
    assert page.stat().st_size > 10_000
    other = here("report", str(source), "--to", "none", "--reference", "aws-lc", "--clock", "wall")
    assert other.status == 0, other.err


@pytest.mark.e2e
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_keeps_what_was_measured(tmp_path: Path, number: int) -> None:
    arguments = (
        "bench", "--out", str(tmp_path), "--sets", "44", "--implementations",
        "mldsa-native,mldsa-lanes:portable:compact", "--rounds", "100000", "--workers", "rust",
    )  # fmt: skip
    process = subprocess.Popen(
        command(*arguments), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    deadline = time.monotonic() + 600
    record: Path | None = None
    while time.monotonic() < deadline and process.poll() is None:
        record = next(iter(tmp_path.glob("*/record.jsonl")), None)
        if record is not None and record.read_bytes().count(b'{"type":"load"') >= 4:
            break
        time.sleep(0.2)
    assert process.poll() is None, process.communicate()
    os.kill(process.pid, number)
    out, err = process.communicate(timeout=120)
    assert process.returncode == 130, err
    assert record is not None
    read = read_record(record)
    assert read.warnings == []
    assert read.end is not None and read.end.status == "interrupted"
    assert read.end.rounds >= 3
    assert len(read.samples) >= 3 * 6
    assert (record.parent / "report.html").exists()
    assert rows_in(record.parent / "figures.json")
    assert "mldsa-native" in out and "stopped" in out
    assert "Traceback" not in err


def test_a_worker_that_does_not_build_is_left_out(tmp_path: Path) -> None:
    registry = tmp_path / "registry.toml"
    text = ""
    for name, how in (
        ("unbuildable", 'build = ["sh", "-c", "echo the reason why >&2; exit 3"]\nrun = ["true"]'),
        ("missing", 'build = []\nrun = ["/nonexistent/worker"]'),
        ("needy", 'build = []\nrun = ["true"]\n'
         'needs = [{ tool = "no-such-tool", hint = "install it from the shop" }]'),
    ):  # fmt: skip
        text += f'[[worker]]\nname = "{name}"\nlanguage = "?"\nfolder = "lab/workers"\n{how}\n'
        text += "default = true\n"
    registry.write_text(text)
    done = bench(tmp_path / "out", "--registry", str(registry), "--rounds", "1", by=here)
    assert (done.status, done.folder) == (2, None)
    assert "no worker can run here" in done.err and "install it from the shop" in done.err
    assert "the reason why" in done.out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--workers", "cobol"], "unknown worker 'cobol'"),
        (["--workers", "rust", "--implementations", "nope"], "unknown implementation 'nope'"),
        (["--workers", "rust", "--reference", "nope"], "unknown baseline 'nope'"),
        (["--build", "fast"], "'fast' is not one of 'default', 'tuned', 'both'"),
        (["--registry", "nothere.toml"], "nothere.toml"),
        (["--to", "/nonexistent/rows.json"], "/nonexistent/rows.json"),
        (["--nonsense"], "--nonsense"),
        (["--batch", "0"], "batch size '0': must be a whole number from 1 to 100000"),
        (["--threads", "9999"], "9999 threads: this machine has"),
        (["--workers", "rust", "--batch", "all", "--implementations", "mldsa-native"],
         "no chosen implementation has a batch interface"),
    ],
    ids=lambda value: value[0] + value[-1] if isinstance(value, list) else "",
)  # fmt: skip
def test_wrong_options_are_named_in_one_line(
    tmp_path: Path, arguments: list[str], said: str
) -> None:
    done = bench(tmp_path / "out", *arguments, by=here)
    assert (done.status, done.folder, len(done.err.splitlines())) == (2, None, 1)
    assert said in done.err


def test_doctor_and_version() -> None:
    assert lab("--version").out.startswith("mldsa-lab ")
    done = here("workers", "doctor")
    assert done.status == 0
    assert re.match(r"Ready: .*\brust\b", done.out) and "cargo" in done.out
    assert done.out.endswith("next       mldsa-lab bench --quick\n")
