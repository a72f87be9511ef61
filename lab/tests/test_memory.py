"""`bench --kind memory`: the meter on a program whose memory is known, real workers, bad input."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from lab_runs import broken_registry, here, lab, place, rows_in
from msgspec import structs

from mldsa_lab import LabError
from mldsa_lab.kinds.memory import (
    build_meter,
    memory_figures,
    read_cachegrind,
    read_kept,
    read_lackey,
    read_regions,
)
from mldsa_lab.records import read_record
from mldsa_lab.theory.rejection import RejectionModel

ROOT = Path(__file__).parents[2]
MINIMAL = ROOT / "lab" / "examples" / "minimal-worker" / "registry.toml"

PLANTED = """
#include <malloc.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
static struct timespec t;
static void *volatile kept;
#define LOOK(clock) clock_gettime(clock, &t)
static void start(void) { LOOK(CLOCK_THREAD_CPUTIME_ID); LOOK(CLOCK_MONOTONIC); }
static void end(void) { LOOK(CLOCK_MONOTONIC); LOOK(CLOCK_THREAD_CPUTIME_ID); }
static pthread_barrier_t together;
static void *thread(void *unused) {
    struct timespec own;
    pthread_barrier_wait(&together);
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &own);
    void *volatile block = malloc(50000);
    nanosleep(&(struct timespec){0, 20000000}, NULL);
    free(block);
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &own);
    return unused;
}
static __attribute__((noinline)) void deep(void) {
    volatile char frame[100000];
    for (size_t i = 0; i < sizeof frame; i++) frame[i] = (char)i;
}
int main(void) {
    void *before = malloc(5000);
    start(); end();
    LOOK(CLOCK_MONOTONIC); /* a warm-up's look at the clock: no region */
    start(); deep(); end();
    start(); kept = malloc(40000); free(kept); kept = malloc(30000); free(kept); end();
    start(); kept = malloc(1000); kept = realloc(kept, 70000); free(kept); end();
    start(); kept = calloc(10, 1000); free(before);
    posix_memalign((void **)&before, 64, 2000); end();
    kept = malloc(123456);
    LOOK(CLOCK_PROCESS_CPUTIME_ID);
    kept = malloc(3000); free(kept); kept = malloc(7000);
    LOOK(CLOCK_PROCESS_CPUTIME_ID);
    pthread_t threads[2];
    pthread_barrier_init(&together, NULL, 2);
    for (int i = 0; i < 2; i++) pthread_create(&threads[i], NULL, thread, NULL);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    return 0;
}
"""


def test_planted_stack_and_allocations_are_seen(tmp_path: Path) -> None:
    (tmp_path / "planted.c").write_text(PLANTED)
    program, lines = tmp_path / "planted", tmp_path / "lines"
    flags = ["-O1", "-fno-builtin", "-pthread"]
    subprocess.run(["cc", *flags, "-o", program, tmp_path / "planted.c"], check=True)
    lines.touch()
    env = {"LD_PRELOAD": str(build_meter(place())), "MLDSA_METER": str(lines)}
    subprocess.run([program], check=True, env={**os.environ, **env})
    empty, deep, two, grown, aligned, *threads = read_regions(lines.read_text())
    assert empty.stack < 1024
    assert all(r.painted >= 1 << 20 for r in (empty, deep, two, grown, aligned))
    assert 100_000 <= deep.stack <= 100_000 + 1024
    assert [r.allocations for r in (empty, deep, two, grown, aligned)] == [0, 0, 2, 2, 2]
    assert (empty.heap, deep.heap) == (0, 0)
    assert 40_000 <= two.heap <= 40_000 + 64  # the second took the place of the first
    assert 70_000 <= two.allocated <= 70_000 + 128
    assert 70_000 <= grown.heap <= 70_000 + 64
    # What is freed meanwhile counts against what is taken.
    assert 10_000 <= aligned.heap <= 10_000 + 64
    # Of threads that do the same at once each has what is its own.
    assert [r.allocations for r in threads] == [1, 1]
    assert all(50_000 <= r.heap <= 50_000 + 64 for r in threads)
    (kept,) = read_kept(lines.read_text())
    assert 7_000 <= kept <= 7_000 + 64


LACKEY = """==7== IR-level counts by type:
==7==    Type        Loads       Stores       AluOps
==7==    -------------------------------------------
==7==    I1              0            0      361,119
==7==    I8         26,700        2,072      131,760
==7==    I64       186,768      126,040      903,883
==7==    V256        1,847        1,510          440
"""


def test_tools_are_read() -> None:
    read = 26_700 + 8 * 186_768 + 32 * 1_847
    assert read_lackey(LACKEY) == (read, 2_072 + 8 * 126_040 + 32 * 1_510)
    text = (
        "desc: D1 cache: 32768 B\nevents: Ir I1mr ILmr Dr D1mr DLmr Dw D1mw DLmw\nfn=x\n"
        "summary: 990169 2789 2618 247850 5953 4729 139861 2928 2807\n"
    )
    assert read_cachegrind(text) == (
        990_169, 247_850 + 139_861, 5953 + 2928, 4729 + 2807,
    )  # fmt: skip
    with pytest.raises(LabError, match="no counts"):
        read_lackey("==7== killed")
    with pytest.raises(LabError, match="no summary"):
        read_cachegrind("events: Ir\n")


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[dict[str, Any]]]:
    """A real run of an implementation in Rust and one in C: its record and its rows."""
    folder = tmp_path_factory.mktemp("memory")
    ran = lab(
        "bench", "--kind", "memory", "--sets", "44", "--implementations", "mldsa-lanes,aws-lc",
        "--seed", "tests", "--batch", "8,100", "--out", str(folder / "out"),
    )  # fmt: skip
    assert ran.status == 0, ran.err
    (run,) = (folder / "out").iterdir()
    return run / "record.jsonl", rows_in(run / "figures.json")


@pytest.mark.e2e
def test_a_real_run(measured: tuple[Path, list[dict[str, Any]]]) -> None:
    path, rows = measured
    record = read_record(path)
    assert len(record.samples) == len(rows)
    assert not record.faults and all(gate.passed for gate in record.gates)
    single = [r for r in rows if r["mode"] == "single"]
    by = {(r["implementation"], r["backend"], r["key"], r["operation"]): r for r in single}
    peer = by["aws-lc", "native", "compact", "sign"]
    # It allocates at least its signature; signing with an expanded key of ours allocates nothing.
    assert peer["heap"] >= peer["bytes signature"] and peer["allocations"] >= 1
    own = by["mldsa-lanes", "portable", "expanded", "sign"]
    assert (own["heap"], own["allocations"], own["allocated"]) == (0, 0, 0)
    assert (own.get("read"), own["bytes public key"]) == (None, 1312)
    assert "<svg" in (path.parent / "report.html").read_text()


# k * l polynomials of A-hat, 256 coefficients of 32 bits each.
A_HAT = 4 * 4 * 256 * 4


@pytest.mark.e2e
def test_a_key_made_ready_keeps_what_it_holds(
    measured: tuple[Path, list[dict[str, Any]]],
) -> None:
    """At least its bytes, or A-hat where that is cached; beside it little."""
    single = [r for r in measured[1] if r["mode"] == "single"]
    assert all(r.get("kept") is None for r in single if r["operation"] == "keygen")
    for r in (r for r in single if r["implementation"] == "mldsa-lanes"):
        least, most = {
            ("sign", "compact"): (
                r["bytes private key"],
                r["bytes private key"] + r["bytes public key"] + 512,
            ),
            ("sign", "expanded"): (A_HAT, 2 * A_HAT),
            ("verify", "compact"): (r["bytes public key"], r["bytes public key"] + 512),
            ("verify", "expanded"): (A_HAT + 4 * 256 * 4, A_HAT + 5 * 256 * 4 + 512),
            ("keygen", "compact"): (0, 0),
        }[r["operation"], r["key"]]
        assert least <= (r.get("kept") or 0) <= most, r
    peers = {r["operation"]: r for r in single if r["implementation"] == "aws-lc"}
    assert peers["sign"]["kept"] >= peers["sign"]["bytes private key"]


@pytest.mark.e2e
def test_a_worker_that_dies_spoils_nothing_else(tmp_path: Path) -> None:
    rows = tmp_path / "rows.json"
    ran = lab(
        "bench", "--kind", "memory",
        "--registry", str(broken_registry(tmp_path / "registry.toml", ("crash",))),
        "--implementations", "broken-crash,mldsa-lanes:portable:compact", "--sets", "44",
        "--operations", "verify", "--out", str(tmp_path / "out"), "--to", str(rows),
    )  # fmt: skip
    assert ran.status == 2
    assert "broken-crash:test:compact ML-DSA-44 verify: the worker ended" in ran.err
    by = {r["implementation"]: r for r in rows_in(rows)}
    assert by["mldsa-lanes"]["stack"] and not by["mldsa-lanes"]["stack_notes"]
    assert by["broken-crash"]["stack"] is None and "ended" in by["broken-crash"]["stack_notes"]


def test_traffic_of_signatures_is_their_mean_by_planted_costs() -> None:
    """1,000 bytes, 300 more for a rejection by z and 400 more for another one."""
    record = read_record(ROOT / "records" / "2026-11-28-xeon-amx" / "traffic.jsonl.xz")
    signed = [s.operation == "sign" and "read" in s.metrics for s in record.samples]
    line = record.samples[place := signed.index(True)]
    traces = [record.input("ML-DSA-44", number).trace or () for number in line.inputs]
    costs = [1000 + sum(300 if a[0] == "z" else 400 for a in trace[:-1]) for trace in traces]
    record.samples[place] = structs.replace(line, metrics=line.metrics | {"read": tuple(costs)})
    model = RejectionModel.for_set("ML-DSA-44")
    z, r, h = model.expected_counts
    figures = {f.name: f for f in memory_figures(record) if f.keys["operation"] == "sign"}
    assert figures["read"].value == pytest.approx(1000 + 300 * z + 400 * (r + h))
    assert figures["count"].value == pytest.approx(model.expected_iterations)
    assert "input" not in figures
    # One signature many times tells no costs apart.
    metrics = {name: counts[:1] * 4 for name, counts in line.metrics.items()}
    record.samples[place] = structs.replace(line, inputs=line.inputs[:1] * 4, metrics=metrics)
    reads = [f for f in memory_figures(record) if f.name == "read"]
    (read,) = (f for f in reads if f.keys["operation"] == "sign")
    assert read.value is None and read.notes[0].startswith("4 signatures are too few, or too much")


@pytest.mark.toolchain
def test_traffic_of_a_peer(tmp_path: Path) -> None:
    if shutil.which("valgrind") is None:
        pytest.skip("valgrind is not installed")
    rows = tmp_path / "rows.json"
    ran = lab(
        "bench", "--kind", "traffic", "--sets", "44", "--operations", "verify",
        "--implementations", "mldsa-lanes:*:compact,aws-lc",
        "--out", str(tmp_path / "out"), "--to", str(rows),
    )  # fmt: skip
    assert ran.status == 0, ran.err
    by = {(r["implementation"], r["backend"]): r for r in rows_in(rows)}
    for key in (("mldsa-lanes", "portable"), ("aws-lc", "native")):
        row = by[key]
        # At least A-hat is written and read again, k * l polynomials of 256 coefficients.
        assert row["read"] > 4 * 4 * 256 * 4 and row["written"] > 4 * 4 * 256
        assert row["instructions"] > 100_000 and row["misses first"] >= row["misses last"]
        assert row["hits first"] == 1 - row["misses first"] / row["accesses"]
    for (_, backend), row in by.items():
        if backend.startswith("avx512"):
            assert row["read"] is None and "Valgrind's CPU" in row["read_notes"]


@pytest.mark.e2e
def test_a_runtime_has_no_row_of_figures(tmp_path: Path) -> None:
    ran = lab(
        "bench", "--kind", "traffic", "--registry", str(MINIMAL), "--sets", "44",
        "--operations", "verify", "--out", str(tmp_path / "out"),
        "--to", str(tmp_path / "rows.json"),
    )  # fmt: skip
    assert ran.status == 0, ran.err
    rows = rows_in(tmp_path / "rows.json")
    assert rows and all(r["stack"] is None and r["read"] is None for r in rows)
    assert {r["stack_notes"] for r in rows} == {
        "a Python runtime keeps stacks and a heap of its own"
    }
    assert {r["read_notes"] for r in rows} == {
        "a Python runtime compiles or interprets while it runs, beside the operation"
    }


def test_bad_input_and_missing_tools_are_said_before_anything_is_built(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    module, out = "mldsa_lab.kinds.memory", tmp_path / "out"
    none = SimpleNamespace(which=lambda _: None)
    for patch, words, said in (
        ({}, ("--until", "2"), "--until: cannot be used with --kind memory"),
        ({}, ("--implementations", "nobody"), "unknown implementation"),
        ({}, ("--batch", "0"), "batch size '0'"),
        ({"shutil": none}, ("--kind", "traffic"), "Valgrind, which is not installed"),
        ({"sys": SimpleNamespace(platform="darwin")}, (), "needs Linux"),
    ):
        with monkeypatch.context() as patched:
            for name, stand_in in patch.items():
                patched.setattr(f"{module}.{name}", stand_in)
            ran = here("bench", "--kind", "memory", *words, "--out", str(out))
        assert ran.status == 2 and said in ran.err, ran.err
    assert not out.exists()
