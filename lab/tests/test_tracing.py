"""The command `trace` and what stands behind it, with the library that does the work."""

from __future__ import annotations

import csv
import json
import multiprocessing
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from lab_runs import here
from msgspec.structs import replace

from mldsa_lab import LabError
from mldsa_lab.checkout import find_root
from mldsa_lab.choice.choice import SelectionRequest, build, choose, complete
from mldsa_lab.inputs import tracing as pools
from mldsa_lab.inputs.input import Input, Spec
from mldsa_lab.inputs.pool import FromFile, Generated, read_pool
from mldsa_lab.inputs.selection import FORMATS, Selection, images
from mldsa_lab.inputs.tracing import (
    Library,
    LibraryMissing,
    build_library,
    load,
    make_pool,
    unfinished,
)
from mldsa_lab.parallel import WorkerPool, WorkItem, dask, in_order, local, process_pool, threads
from mldsa_lab.sets import PARAMETER_SETS, parameter_set

SEED = bytes(range(32))


@pytest.fixture(scope="module")
def library() -> Library:
    return load()


def one_thread(fail_at: int | None = None) -> WorkerPool:
    """A thread of this process; the block that starts at ``fail_at`` is interrupted."""

    class Thread(ThreadPoolExecutor):
        def submit(self, function: Any, /, *arguments: Any, **_: Any) -> Future[Any]:
            if arguments[0].start == fail_at:
                raise KeyboardInterrupt
            return super().submit(function, *arguments)

    return WorkerPool(Thread(1), 3)


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pools, "BLOCK", 16)
    monkeypatch.setattr(pools, "ROWS", 64)


# --- the library ----------------------------------------------------------------------------------


@pytest.mark.parametrize("set_name", PARAMETER_SETS)
def test_the_library_signs_what_it_traces(library: Library, set_name: str) -> None:
    """A signature made of the attempt that the trace says: its length, and that tracing all checks
    differs from tracing those reached in ct0 and hints of rejected attempts alone."""
    inputs = Spec(set_name, SEED, 20, 3, 2, "given").inputs(0, 30)
    every = library.trace(set_name, inputs, "all")
    reached = library.trace(set_name, inputs, "reached")
    assert (every.ends == reached.ends).all()
    assert ((every.codes & 0xFF) == (reached.codes & 0xFF)).all()
    early = (every.codes & 0xFF) != 0xFF
    assert (reached.codes[early] >> 8 == 0xFF).all()
    assert (reached.codes[~early] == every.codes[~early]).all()
    outputs = library.sign(set_name, inputs)
    p = parameter_set(set_name)
    for item, made in zip(inputs, outputs, strict=True):
        assert len(made.pk) == p.public_key_bytes and len(made.sk) == p.private_key_bytes
        assert len(made.signature) == p.signature_bytes
        assert made == library.sign(set_name, [item])[0]
    assert len({made.pk for made in outputs}) == 15


def test_a_context_that_is_too_long_is_an_error(library: Library) -> None:
    item = Input("ML-DSA-44", 0, SEED, b"", bytes(256))
    with pytest.raises(LabError, match=r"tracing 1 inputs of ML-DSA-44: .*context"):
        library.trace("ML-DSA-44", [item])
    with pytest.raises(LabError, match=r"signing 1 inputs of ML-DSA-44: .*context"):
        library.sign("ML-DSA-44", [item])


@pytest.mark.parametrize("set_name", PARAMETER_SETS)
def test_private_keys_stand_for_their_seeds(library: Library, set_name: str) -> None:
    inputs = Spec(set_name, SEED, 20, 3, 2, "given").inputs(0, 12)
    made = library.make(set_name, inputs)
    private = [replace(i, seed=None, pk=None, output=None) for i in made]
    again = library.make(set_name, private)
    assert [(i.trace, i.outputs) for i in again] == [(i.trace, i.outputs) for i in made]
    broken = bytearray(made[4].sk)
    broken[64] ^= 1  # tr
    private[4] = replace(private[4], sk=bytes(broken))
    for work in (library.trace, library.sign):
        with pytest.raises(LabError, match="number 4 of them, from 0: invalid private key: s1"):
            work(set_name, private)
    with pytest.raises(LabError, match="must all be given as seed xi, or all as private key sk"):
        library.trace(set_name, [private[0], inputs[0]])


def test_without_cargo_the_library_is_taken_as_it_was_built(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    load()
    monkeypatch.setenv("PATH", str(tmp_path))
    told: list[str] = []
    assert Library(build_library(find_root(), told.append)).backend and "no cargo" in told[0]
    with pytest.raises(LibraryMissing, match="cargo is not installed"):
        build_library(tmp_path)


def test_a_file_that_is_no_library_is_named(tmp_path: Path) -> None:
    path = tmp_path / "lib.so"
    path.write_bytes(b"no library")
    with pytest.raises(LabError, match=r"lib\.so: cannot be loaded"):
        Library(path)


# --- pools ----------------------------------------------------------------------------------------


def test_the_file_depends_on_the_inputs_alone(tmp_path: Path, small_blocks: None) -> None:
    source = Generated(Spec("ML-DSA-44", SEED, per_key=5), 150)
    told: list[int] = []
    tally = make_pool(source, tmp_path / "one.parquet", one_thread(), progress=told.append)
    assert told[0] == 0 and told[-1] == 150 and told == sorted(told)
    with local(2) as force:
        make_pool(source, tmp_path / "two.parquet", force)
    assert (tmp_path / "one.parquet").read_bytes() == (tmp_path / "two.parquet").read_bytes()
    pool = read_pool(tmp_path / "one.parquet")
    assert pool.index.tolist() == list(range(150))
    direct = load().trace("ML-DSA-44", source.spec.inputs(0, 150))
    assert (pool.table.codes == direct.codes).all() and (pool.table.ends == direct.ends).all()
    assert tally.signatures == 150 and tally.iterations == len(pool.table.codes)
    assert tally.histogram.sum() == 150 and tally.longest == pool.table.iterations().max()
    distances = {name: distance for name, _, _, distance in tally.rows()}
    assert distances.pop("hint fails") is None  # five inputs share a key
    assert all(distance is not None and abs(distance) < 4.5 for distance in distances.values())


def test_an_interrupted_job_goes_on_where_it_was(tmp_path: Path, small_blocks: None) -> None:
    source = Generated(Spec("ML-DSA-44", SEED), 200)
    make_pool(source, tmp_path / "whole.parquet", one_thread())
    path = tmp_path / "pool.parquet"
    with pytest.raises(KeyboardInterrupt):
        make_pool(source, path, one_thread(fail_at=160))
    assert not path.exists() and len(read_pool(unfinished(path))) == 128
    with pytest.raises(KeyboardInterrupt):  # before it has done anything: nothing is lost
        make_pool(source, path, one_thread(fail_at=128))
    assert len(read_pool(unfinished(path))) == 128
    other = Generated(Spec("ML-DSA-44", bytes(32)), 200)
    with pytest.raises(LabError, match="is of a job with other inputs"):
        make_pool(other, path, one_thread())
    assert len(read_pool(unfinished(path))) == 128
    told: list[int] = []
    make_pool(source, path, one_thread(), progress=told.append)
    assert told[0] == 128
    assert path.read_bytes() == (tmp_path / "whole.parquet").read_bytes()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["pool.parquet", "whole.parquet"]


def _rows(count: int) -> list[dict[str, str]]:
    spec = Spec("ML-DSA-65", SEED, 10, 2, 3, "given")
    return [
        {
            "id": f"case-{number}",
            "xi": item.seed.hex(),
            "message": item.message.hex(),
            "context": item.context.hex(),
            "rnd": item.rnd.hex(),
        }
        for number, item in enumerate(spec.inputs(0, count))
    ]


def _csv(path: Path, rows: list[dict[str, str]]) -> Path:
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return path


def _jsonl(path: Path, rows: list[dict[str, str]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.mark.parametrize("write", [_csv, _jsonl])
def test_given_inputs(
    tmp_path: Path, small_blocks: None, write: Callable[[Path, list[dict[str, str]]], Path]
) -> None:
    rows = _rows(70)
    path = write(tmp_path / ("in.csv" if write is _csv else "in.jsonl"), rows)
    make_pool(FromFile(path, "ML-DSA-65"), tmp_path / "pool.parquet", one_thread(), "all")
    pool = read_pool(tmp_path / "pool.parquet")
    assert pool.listed is not None
    inputs = Spec("ML-DSA-65", SEED, 10, 2, 3, "given").inputs(0, 70)
    assert pool.listed == tuple((row["id"], i) for row, i in zip(rows, inputs, strict=True))
    assert (pool.table.codes == load().trace("ML-DSA-65", inputs, "all").codes).all()


def test_a_target_without_a_seed(tmp_path: Path, small_blocks: None) -> None:
    """Private keys from the file to the pool, and from there to a signed selection."""
    known = load().make("ML-DSA-44", Spec("ML-DSA-44", SEED).inputs(0, 40))
    rows = [{"sk": i.sk.hex(), "message": i.message.hex()} for i in known]
    path = _csv(tmp_path / "in.csv", rows)
    make_pool(FromFile(path, "ML-DSA-44"), tmp_path / "pool.parquet", one_thread(), "all")
    pool = read_pool(tmp_path / "pool.parquet")
    assert pool.table.traces() == [i.trace for i in known]
    assert pool.listed is not None and {item.seed for _, item in pool.listed} == {None}
    request = SelectionRequest("regression", 3)
    selection = build(pool, request, choose(pool.table, "all", request), load())
    for compact in (False, True):
        text = selection.to_json(is_compact=compact)
        assert '"xi"' not in text and '"sk"' in text
        assert complete(Selection.parse(text, "here"), load()) == selection
    by_message = {i.message: i.outputs for i in known}
    assert [i.outputs for i in selection.inputs] == [
        by_message[i.message] for i in selection.inputs
    ]
    texts = images(selection, FORMATS)
    assert texts["selection.h"].count("     NULL,\n") == 3 and "\nxi =\n" in texts["selection.rsp"]
    rows[17]["sk"] = rows[17]["sk"][:130] + "ffff" + rows[17]["sk"][134:]
    path = _csv(tmp_path / "in.csv", rows)
    with pytest.raises(LabError, match=r"from 0: invalid private key"):
        make_pool(FromFile(path, "ML-DSA-44"), tmp_path / "other.parquet", one_thread(), "all")


def test_given_inputs_need_no_context_rnd_or_id(tmp_path: Path) -> None:
    path = tmp_path / "in.csv"
    path.write_text(f"message,xi\n00ff,{'01' * 32}\n\n,{'02' * 32}\n")
    (block,) = FromFile(path, "ML-DSA-44").blocks(10)
    assert block.listed is not None and [name for name, _ in block.listed] == ["0", "1"]
    assert block.inputs() == [
        Input("ML-DSA-44", 0, b"\x01" * 32, b"\x00\xff"),
        Input("ML-DSA-44", 1, b"\x02" * 32),
    ]


def test_inputs_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    with pytest.raises(LabError, match=r"none\.csv: cannot read it"):
        list(FromFile(tmp_path / "none.csv", "ML-DSA-44").blocks(10))
    (tmp_path / "bad.csv").write_bytes(b"xi,message\n\xff")
    with pytest.raises(LabError, match=r"bad\.csv: .*is not UTF-8"):
        list(FromFile(tmp_path / "bad.csv", "ML-DSA-44").blocks(10))


# --- processes and threads ------------------------------------------------------------------------


def test_results_are_in_order_for_any_number_of_workers() -> None:
    items = [WorkItem(f"power {n}", pow, (n, 3)) for n in range(20)]
    for force in (local(1), local(2), threads(5), process_pool("2")):
        with force as workers:
            assert list(in_order(items, workers)) == [n**3 for n in range(20)]


def test_a_dead_process_is_named_with_its_item() -> None:
    items = [WorkItem("item one", pow, (2, 3)), WorkItem("item two", os._exit, (3,))]
    with local(1) as force:
        results = in_order(items, force)
        with pytest.raises(LabError, match=r"^item (one|two): its worker failed: "):
            list(results)
    with local(1) as force, pytest.raises(ZeroDivisionError):
        list(in_order([WorkItem("error of the item", divmod, (1, 0))], force))


def test_an_interrupt_leaves_no_process_and_begins_no_item(tmp_path: Path) -> None:
    slow = [WorkItem(f"nap {n}", time.sleep, (0.2,)) for n in range(4)]
    items = [*slow, *(WorkItem("late", (tmp_path / "late").touch, ()) for _ in range(4))]
    with pytest.raises(KeyboardInterrupt), local(1) as force:
        for _ in in_order(items, force._replace(ahead=8)):
            raise KeyboardInterrupt
    assert multiprocessing.active_children() == [] and not (tmp_path / "late").exists()


# --- clusters -------------------------------------------------------------------------------------


@pytest.fixture
def cluster() -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    """The address of a scheduler with two worker processes, and one of these."""
    from distributed import LocalCluster

    with LocalCluster(  # type: ignore[no-untyped-call]
        n_workers=1, threads_per_worker=1, dashboard_address=None, processes=True
    ) as made:
        address = made.scheduler_address
        other = subprocess.Popen(
            [sys.executable, "-m", "distributed.cli.dask_worker", address,
             "--nthreads", "1", "--no-nanny", "--no-dashboard"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )  # fmt: skip
        try:
            made.scheduler.workers  # noqa: B018 - it answers
            yield address, other
        finally:
            other.kill()
            other.wait()


@pytest.mark.e2e
def test_a_cluster_gives_the_same_file_and_may_lose_a_worker(
    tmp_path: Path,
    small_blocks: None,
    cluster: tuple[str, subprocess.Popen[bytes]],
) -> None:
    from distributed import Client

    address, victim = cluster
    with Client(address, set_as_default=False) as client:  # type: ignore[no-untyped-call]
        client.wait_for_workers(2, timeout=60)
    source = Generated(Spec("ML-DSA-44", SEED), 600)
    make_pool(source, tmp_path / "here.parquet", one_thread())

    def progress(done: int) -> None:
        if done >= 100 and victim.poll() is None:
            victim.kill()

    with dask(address) as force:
        make_pool(source, tmp_path / "there.parquet", force, progress=progress)
    assert victim.wait(10) is not None
    assert (tmp_path / "here.parquet").read_bytes() == (tmp_path / "there.parquet").read_bytes()


@pytest.mark.e2e
def test_a_scheduler_that_is_not_there_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mldsa_lab.parallel._CONNECT_S", 1)
    for address in ("tcp://127.0.0.1:1", "nonsense://", ":::"):
        with pytest.raises(LabError, match=r"Dask scheduler .* cannot be reached"), dask(address):
            pass


# --- the command ----------------------------------------------------------------------------------


def test_the_command(tmp_path: Path) -> None:
    words = ("44", "65", "-n", "300", "--seed", "a text", "--per-key", "0")
    done = here("trace", *words, "--out", str(tmp_path))
    assert done.status == 0, done.err
    assert "ML-DSA-44" in done.out and "r0 passes" in done.out
    for name in ("ml-dsa-44", "ml-dsa-65"):
        pool = read_pool(tmp_path / f"{name}.parquet")
        assert len(pool) == 300 and pool.spec is not None and pool.spec.per_key == 0


@pytest.mark.parametrize("command", [("trace", "44"), ("select", "44", "--budget", "90")])
def test_a_folder_that_cannot_be_written_is_noticed_before_the_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...]
) -> None:
    def work(*_: object) -> None:
        raise AssertionError("begun")

    monkeypatch.setattr("mldsa_lab.inputs.tracing.load", work)
    (tmp_path / "file").write_text("")
    done = here(*command, "--out", str(tmp_path / "file" / "more"))
    assert done.status == 2 and "is not a folder that can be written to" in done.err
    (tmp_path / "ml-dsa-44.parquet").mkdir()
    if command[0] == "trace":
        done = here(*command, "--out", str(tmp_path))
        assert done.status == 2 and "ml-dsa-44.parquet: is a folder" in done.err
