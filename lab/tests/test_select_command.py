"""`mldsa-lab select`: what it writes, how it refuses, and how a selection is signed."""

from __future__ import annotations

import hashlib
import lzma
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

from mldsa_lab import LabError
from mldsa_lab.choice import choice as ready
from mldsa_lab.choice.choice import SelectionRequest, build, choose, complete, read_ready
from mldsa_lab.cli.main import app
from mldsa_lab.cli.select import select
from mldsa_lab.files import to_builtins
from mldsa_lab.inputs import tracing
from mldsa_lab.inputs import tracing as pools
from mldsa_lab.inputs.input import Input, Spec
from mldsa_lab.inputs.pool import Pool
from mldsa_lab.inputs.selection import Selection
from mldsa_lab.inputs.tracing import DATA, SIZE, load, shipped_path, shipped_pool, shipped_spec
from mldsa_lab.sets import PARAMETER_SETS
from mldsa_lab.theory.law import CostModel
from mldsa_lab.theory.rejection import RejectionModel
from mldsa_lab.theory.trace import TraceTable

APP = typer.Typer()
APP.command()(select)


def run(*words: object) -> str:
    result = CliRunner().invoke(APP, [str(w) for w in words])
    if isinstance(result.exception, LabError):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result.output


def trace_pool(*words: object) -> None:
    assert CliRunner().invoke(app, ["trace", *map(str, words)]).exit_code == 0


def test_a_selection_of_the_pool_that_ships(tmp_path: Path) -> None:
    text = run("65", "-n", 3, "--out", tmp_path / "mine")
    selection = Selection.read(tmp_path / "mine" / "selection.json")
    assert sorted(p.name for p in (tmp_path / "mine").iterdir()) == [
        "selection.h", "selection.hex", "selection.json", "selection.map", "selection.rsp",
        "selection_hashes.h",
    ]  # fmt: skip
    shipped = read_ready("ML-DSA-65", "regression", 3)
    assert [i.digests for i in selection.inputs] == [i.digests for i in shipped.inputs]
    assert selection.goal == "regression" and "expected cost" in text
    for item in selection.inputs:
        assert " ".join(map(str, item.trace))[:40] in text
    assert f"3 inputs, {sum(len(i.trace) for i in selection.inputs)} attempts" in text


def test_ready_made_ones_in_full(tmp_path: Path) -> None:
    run(
        "ML-DSA-44",
        "--from",
        "ready",
        "--goal",
        "p95",
        "-n",
        2,
        "--out",
        tmp_path,
        "--formats",
        "json,rsp",
    )
    assert sorted(p.name for p in tmp_path.iterdir()) == ["selection.json", "selection.rsp"]
    selection = Selection.read(tmp_path / "selection.json")
    shipped = read_ready("ML-DSA-44", "p95", 2)
    assert not selection.is_compact and selection.provenance == shipped.provenance
    assert [i.digests for i in selection.inputs] == [i.digests for i in shipped.inputs]
    text = run(
        "87", "--from", "ready", "--goal", "coverage", "--out", tmp_path, "--formats", "json"
    )
    assert "covered" in text and "not shown by the pool" in text


def test_default_numbers_and_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    run("44", "--goal", "mean", "--formats", "json")
    run("44", "--goal", "p5", "-n", 2, "--formats", "json")
    run("44", "--goal", "coverage", "--formats", "json")
    run("44", "--from", "ready", "--goal", "mean", "--formats", "json")
    base = tmp_path / "out" / "selections"
    numbers = {path.parent.name: len(Selection.read(path).inputs) for path in base.glob("*/*.json")}
    assert numbers.pop("ml-dsa-44-coverage") < 9
    assert numbers == {"ml-dsa-44-mean-10": 10, "ml-dsa-44-p5-2": 2}


def test_fresh_pools(tmp_path: Path) -> None:
    """Other inputs than those of the pool that ships: the same for the same options."""
    traced = ["44", "-n", 1200, "--per-key", 0, "--rnd", "given", "--message-bytes", 5]
    more = ["--context-bytes", 3, "--checks", "all"]
    folders = [tmp_path / name for name in ("one", "two", "three")]
    for folder, seed in zip(folders, ("a", "a", "x"), strict=True):
        trace_pool(*traced, *more, "--seed", seed, "--out", folder)
        pool = folder / "ml-dsa-44.parquet"
        run("44", "-n", 2, "--from", pool, "--formats", "json", "--out", folder)
    one, two, three = (Selection.read(f / "selection.json") for f in folders)
    assert one == two and one.inputs != three.inputs
    inputs = one.inputs
    assert len({i.seed for i in inputs}) == 1 and len({i.rnd for i in inputs}) == 2
    assert all((len(i.message), len(i.context)) == (5, 3) for i in inputs)
    assert one.provenance is not None and one.provenance["pool"]["size"] == 1200


def test_a_pool_and_a_cost_model_of_ones_own(tmp_path: Path) -> None:
    pool = pools.shipped_path("ML-DSA-65")
    cost = tmp_path / "cost.json"
    cost.write_text(CostModel(50.0, 8.0, 11.0, 14.0, "us", set="ML-DSA-65").to_json())
    options = ["--from", pool, "--cost-model", cost, "--formats", "json", "--out", tmp_path]
    text = run("65", "--goal", "p80", "-n", 3, *options)
    selection = Selection.read(tmp_path / "selection.json")
    assert selection.cost_model is not None and selection.cost_model["unit"] == "us"
    assert "3 inputs, " in text and "Costs in us" in text
    assert f"next       mldsa-lab estimate {tmp_path / 'selection.json'} measurements.csv" in text
    with pytest.raises(LabError, match="cost model of ML-DSA-65: cannot be used for ML-DSA-44"):
        run("44", "--goal", "mean", "--cost-model", cost, "--out", tmp_path)


def test_files_that_are_no_pools(tmp_path: Path) -> None:
    whole = pools.shipped_path("ML-DSA-44").read_bytes()
    path = tmp_path / "pool.parquet"
    path.write_bytes(whole[:1000])
    with pytest.raises(LabError, match="is not a whole Parquet file"):
        run("44", "--from", path, "--out", tmp_path / "out")
    path.write_bytes(whole)
    with pytest.raises(LabError, match="is of ML-DSA-44, not of ML-DSA-65"):
        run("65", "--from", path, "--out", tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_ready_made_ones_need_no_cargo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tracing, "_loaded", [])
    monkeypatch.setattr(tracing, "find_root", lambda: tmp_path)
    monkeypatch.setattr("shutil.which", lambda name: None)
    text = run("65", "--from", "ready", "--goal", "mean", "--out", tmp_path / "ready")
    assert "install Rust with rustup" in " ".join(text.split())
    path, header = sorted((tmp_path / "ready").iterdir())
    assert header.name == "selection_hashes.h" and header.stat().st_size < 16_000
    found, shipped = Selection.read(path), read_ready("ML-DSA-65", "mean", 10)
    assert found.is_compact and found == shipped
    # The default goal has a ready-made one too.
    run("65", "--formats", "json", "--out", tmp_path / "stand-in")
    (path,) = (tmp_path / "stand-in").iterdir()
    assert Selection.read(path) == read_ready("ML-DSA-65", "regression", 10)
    ready = ["65", "--from", "ready", "--goal", "mean", "--formats", "c"]
    for words in (["65", "--budget", "90"], ready):
        with pytest.raises(LabError, match=r"cargo is not installed.* rustup .*--from ready"):
            run(*words, "--out", tmp_path / "none")
    assert not (tmp_path / "none").exists()


# --- from chosen traces to a signed selection -----------------------------------------------------


def signed(item: Input) -> tuple[object, ...]:
    return item.key, item.message, item.context, item.rnd


def test_a_selection_holds_what_was_signed() -> None:
    pool, request = (
        shipped_pool("ML-DSA-65"),
        SelectionRequest("percentile", 4, 90, max_attempts=20, budget=60),
    )
    choice = choose(pool.table, pool.checks, request)
    selection = build(pool, request, choice, load())
    assert (selection.goal, selection.percentile, selection.ids) == ("percentile", 90, (1, 2, 3, 4))
    assert selection.cost_model == CostModel.default("ML-DSA-65").as_json()
    for item, at in zip(selection.inputs, choice.positions, strict=True):
        assert signed(item) == signed(pool.input(at)) and item.trace == pool.table.trace(at)
        digests = [hashlib.sha256(part).hexdigest() for part in item.outputs]
        assert list(item.digests) == digests
    assert [item.outputs for item in selection.inputs] == load().sign("ML-DSA-65", selection.inputs)
    made = selection.provenance
    assert made is not None and pool.spec is not None
    assert made["pool"] == to_builtins(pool.spec) | {
        "size": 10_000,
        "checks": "all",
        "index": [int(pool.index[at]) for at in choice.positions],
    }
    assert made["options"] == {"count": 4, "max_attempts": 20, "budget": 60}
    assert made["expected"] == choice.expected
    assert Selection.parse(selection.to_json(), "here") == selection


def test_given_inputs_and_pools_of_the_reached_checks() -> None:
    inputs = Spec("ML-DSA-87", bytes(32)).inputs(0, 60)
    given = tuple((f"case {i}", item) for i, item in enumerate(inputs))
    table = load().trace("ML-DSA-87", inputs, "reached")
    pool = Pool(table, np.arange(60, dtype=np.uint64), "reached", None, given)
    request = SelectionRequest("coverage", 8)
    choice = choose(pool.table, pool.checks, request)
    selection = build(pool, request, choice, load())
    assert selection.provenance is not None
    assert selection.provenance["pool"]["ids"] == [f"case {i}" for i in choice.positions]
    full = load().trace("ML-DSA-87", [inputs[i] for i in choice.positions], "all")
    assert selection.traces() == full.traces()


@pytest.mark.parametrize("checks", ["all", "reached"])
def test_a_pool_of_other_inputs_is_noticed(checks: str) -> None:
    spec = Spec("ML-DSA-44", bytes(32))
    table = load().trace("ML-DSA-44", spec.inputs(0, 40), checks)  # type: ignore[arg-type]
    index = np.arange(40, dtype=np.uint64)
    pool = Pool(table, index, checks, spec)  # type: ignore[arg-type]
    request = SelectionRequest("mean", 5)
    choice = choose(table, pool.checks, request)
    assert len(build(pool, request, choice, load()).inputs) == 5
    shifted = replace(pool, index=index + 1)
    with pytest.raises(LabError, match=r"pool: trace \d+ differs from its input's signature"):
        build(shifted, request, choice, load())


def test_checks_that_the_pool_has_seen_are_compared() -> None:
    """A wrong hint check in an attempt that fails z is seen where all checks were traced."""
    spec = Spec("ML-DSA-44", bytes(32))
    table = load().trace("ML-DSA-44", spec.inputs(0, 40), "all")
    codes = table.codes.copy()
    failing_z = np.flatnonzero(((codes & 0xF) != 0xF) & ((codes >> 12) == 0xF))
    codes[failing_z] = (codes[failing_z] & 0x0FFF) | (3 << 12)
    wrong = TraceTable("ML-DSA-44", codes, table.ends)
    request = SelectionRequest("mean", 5)
    choice = choose(wrong, "all", request)
    index = np.arange(40, dtype=np.uint64)
    with pytest.raises(LabError, match="differs from its input's signature"):
        build(Pool(wrong, index, "all", spec), request, choice, load())
    assert build(Pool(wrong, index, "reached", spec), request, choice, load()).set == "ML-DSA-44"


# --- what ships -----------------------------------------------------------------------------------


SETS = tuple(PARAMETER_SETS)


@pytest.mark.parametrize("name", SETS)
def test_pools_are_traces_of_their_spec(name: str) -> None:
    """The first and the last thousand of ten thousand, traced again."""
    pool = shipped_pool(name)
    assert pool.spec == shipped_spec(name) and pool.checks == "all" and len(pool) == SIZE
    assert (pool.index == np.arange(SIZE)).all()
    assert pool.spec is not None
    for start in (0, SIZE - 1000):
        again = load().trace(name, pool.spec.inputs(start, 1000), "all")
        some = pool.table.take(np.arange(start, start + 1000))
        assert (again.codes == some.codes).all() and (again.ends == some.ends).all()
    model = RejectionModel.for_set(name)
    means = pool.table.counts().mean(axis=0)
    assert means == pytest.approx(model.expected_counts, rel=0.05, abs=0.004)


@pytest.mark.parametrize("name", SETS)
def test_every_selection_is_that_of_signing_again(name: str) -> None:
    """Keys, signatures and traces of all inputs; `complete` compares them."""
    tracing = load()
    for what, count in ready.all_ready():
        selection = ready.read_ready(name, what, count)
        request = ready.request_for(what, count)
        full = complete(selection, tracing)
        assert (selection.set, selection.goal) == (name, request.goal)
        assert selection.percentile == request.percentile
        assert count is None or len(selection.inputs) == count
        assert selection.is_compact and not full.is_compact
        assert full.ids == tuple(range(1, len(full.inputs) + 1))
        assert len({signed(item) for item in full.inputs}) == len(full.inputs)
        # The inputs are those of the shipped pool that `made` names.
        assert selection.provenance is not None
        index = selection.provenance["pool"]["index"]
        spec = shipped_spec(name)
        assert [signed(i) for i in selection.inputs] == [signed(spec.input(i)) for i in index]
        if request.goal in ("mean", "percentile"):
            assert selection.cost_model == CostModel.default(name).as_json()


@pytest.mark.parametrize(
    ("name", "what", "count"),
    [
        ("ML-DSA-44", "regression", 3),
        ("ML-DSA-87", "mean", 10),
        ("ML-DSA-44", "p5", 100),
        ("ML-DSA-65", "coverage", None),
    ],
)
def test_made_again_they_are_the_same_bytes(name: str, what: str, count: int | None) -> None:
    path = ready.ready_path(name, what, count)
    text = ready.make(shipped_pool(name), ready.request_for(what, count), load())
    data = path.read_bytes()
    assert (lzma.decompress(data) if path.suffix == ".xz" else data).decode() == text


def test_nothing_else_ships_and_it_is_small() -> None:
    files = {path for path in DATA.rglob("*") if path.is_file()}
    expected = {shipped_path(name) for name in SETS}
    expected |= {ready.ready_path(name, *which) for name in SETS for which in ready.all_ready()}
    assert files == expected
    assert sum(path.stat().st_size for path in files) < 1_000_000
    assert all(path.stat().st_size < 30_000 for path in files if path.suffix != ".parquet")


@pytest.mark.parametrize(
    ("name", "count", "rule"),
    [
        ("median", 10, "'median': must be one of regression, mean, p5"),
        ("mean", 4, "'mean' of 4 inputs: there is 1, 2, 3, 10, 100"),
        ("mean", None, "'mean' of None inputs"),
        ("coverage", 5, "'coverage' of 5 inputs: there is the fewest, without -n"),
    ],
)
def test_what_there_is_not(name: str, count: int | None, rule: str) -> None:
    with pytest.raises(LabError, match=rule):
        ready.read_ready("ML-DSA-44", name, count)
    with pytest.raises(LabError, match="unknown parameter set"):
        ready.read_ready("ML-DSA-43", "mean", 10)


def test_files_that_are_not_what_they_say(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    selection = ready.read_ready("ML-DSA-44", "mean", 2)
    text = selection.to_json(is_compact=True)
    item = selection.inputs[0]
    for digest, what in zip(item.digests, ("public key", "private key", "signature"), strict=True):
        wrong = Selection.parse(text.replace(digest, "00" * 32), "here")
        with pytest.raises(LabError, match=f"input 1: wrong {what}: signing it gives another"):
            complete(wrong, load())
    other = Selection.parse(text.replace(item.message.hex(), "00" * 32), "here")
    with pytest.raises(LabError, match="input 1: wrong "):
        complete(other, load())
    monkeypatch.setattr(ready, "DATA", tmp_path)
    with pytest.raises(LabError, match="cannot read it"):
        ready.read_ready("ML-DSA-44", "mean", 2)


def test_the_program_says_what_differs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """On one set and two selections: written, then the same, then changed."""
    monkeypatch.setattr(ready, "DATA", tmp_path)
    monkeypatch.setattr(ready, "PARAMETER_SETS", {"ML-DSA-44": None})
    monkeypatch.setattr(ready, "SIZE", 300)
    monkeypatch.setattr(ready, "shipped_path", lambda name: tmp_path / "pool.parquet")
    monkeypatch.setattr(ready, "all_ready", lambda: [("mean", 2), ("p5", 100)][:1])
    assert ready.renew(write=False) == 2 and not list(tmp_path.iterdir())
    assert ready.renew(write=True) == 2
    assert capsys.readouterr().out.count("written: ") == 2
    assert ready.renew(write=False) == 0
    path = tmp_path / "selections" / "ml-dsa-44" / "mean-2.json"
    path.write_text(path.read_text().replace("mean", "means"))
    assert ready.renew(write=False) == 1
    assert "differs: " in capsys.readouterr().out
