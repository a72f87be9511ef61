"""`mldsa-lab select`: what it writes, and how it refuses."""

from __future__ import annotations

from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from mldsa_lab.choice.ready import read_ready
from mldsa_lab.cli.select import select
from mldsa_lab.errors import LabError
from mldsa_lab.inputs import library
from mldsa_lab.inputs import shipped as pools
from mldsa_lab.inputs.selection import Selection
from mldsa_lab.theory.cost_model import CostModel

APP = typer.Typer()
APP.command()(select)


def run(*words: object) -> str:
    result = CliRunner().invoke(APP, [str(w) for w in words])
    if isinstance(result.exception, LabError):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result.output


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
    run("ML-DSA-44", "--ready", "p95", "-n", 2, "--out", tmp_path, "--formats", "json,rsp")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["selection.json", "selection.rsp"]
    selection = Selection.read(tmp_path / "selection.json")
    shipped = read_ready("ML-DSA-44", "p95", 2)
    assert not selection.compact and selection.made == shipped.made
    assert [i.digests for i in selection.inputs] == [i.digests for i in shipped.inputs]
    text = run("87", "--ready", "coverage", "--out", tmp_path, "--formats", "json")
    assert "covered" in text and "not shown by the pool" in text


def test_default_numbers_and_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    run("44", "--goal", "mean", "--formats", "json")
    run("44", "--percentile", 5, "-n", 2, "--formats", "json")
    run("44", "--goal", "coverage", "--formats", "json")
    run("44", "--ready", "mean", "--formats", "json")
    base = tmp_path / "out" / "selections"
    numbers = {path.parent.name: len(Selection.read(path).inputs) for path in base.glob("*/*.json")}
    assert numbers.pop("ml-dsa-44-coverage") < 9
    assert numbers == {"ml-dsa-44-mean-10": 10, "ml-dsa-44-p5-2": 2}


def test_fresh_pools(tmp_path: Path) -> None:
    """Other inputs than those of the pool that ships: the same for the same options."""
    options = ["44", "-n", 2, "--per-key", 0, "--rnd", "given", "--message-bytes", 5]
    more = ["--context-bytes", 3, "--pool-size", 1200, "--formats", "json"]
    folders = [tmp_path / name for name in ("one", "two", "three")]
    for folder, seed in zip(folders, ([], [], ["--seed", "x"]), strict=True):
        run(*options, *more, *seed, "--out", folder)
    one, two, three = (Selection.read(f / "selection.json") for f in folders)
    assert one == two and one.inputs != three.inputs
    inputs = [item.what for item in one.inputs]
    assert len({i.xi for i in inputs}) == 1 and len({i.rnd for i in inputs}) == 2
    assert all((len(i.message), len(i.context)) == (5, 3) for i in inputs)
    assert one.made is not None and one.made["pool"]["size"] == 1200
    # Options that say what the shipped pool is anyway take that.
    run("44", "-n", 2, "--message-bytes", 32, "--formats", "json", "--out", tmp_path)
    assert [i.digests for i in Selection.read(tmp_path / "selection.json").inputs] == [
        i.digests for i in read_ready("ML-DSA-44", "regression", 2).inputs
    ]


def test_a_pool_and_a_cost_model_of_ones_own(tmp_path: Path) -> None:
    pool = pools.shipped_path("ML-DSA-65")
    cost = tmp_path / "cost.json"
    cost.write_text(CostModel(50.0, 8.0, 11.0, 14.0, "us", set="ML-DSA-65").to_json())
    options = ["--pool", pool, "--cost-model", cost, "--formats", "json", "--out", tmp_path]
    text = run("65", "--goal", "percentile", "--percentile", 80, "-n", 3, *options)
    selection = Selection.read(tmp_path / "selection.json")
    assert selection.cost_model is not None and selection.cost_model["unit"] == "us"
    assert "costs in us" in text
    with pytest.raises(LabError, match="cost model of ML-DSA-65: cannot be used for ML-DSA-44"):
        run("44", "--goal", "mean", "--cost-model", cost, "--out", tmp_path)


@pytest.mark.parametrize(
    ("words", "rule"),
    [
        (["ed25519"], "unknown parameter set 'ed25519': known are 44, 65, 87, ml-dsa, ML-DSA-44,"),
        (["ml-dsa"], "set 'ml-dsa': must be one of"),
        (["66"], "unknown parameter set '66': known are 44, .*, ML-DSA-87$"),
        (["44", "--max-attempts", "1"], "all 10 inputs have 1 attempt, so that no cost of an"),
        (["44", "--record", "none.jsonl"], "none.jsonl: cannot read it"),
        (["44", "--record", "none.jsonl", "-n", "3"], "-n: cannot be used with --record"),
        (["44", "--ready", "mean", "--record", "x"], "--record: cannot be used with --ready"),
        (["44", "-n", "10001"], "choice of 10001 inputs: the pool has 10000 traces"),
        (["44", "--percentile", "100"], "percentile 100.0: must lie in"),
        (
            ["44", "--formats", "json,xml"],
            "format 'xml': must be one of json, rsp, c, c-hashes, readmemh",
        ),
        (["44", "--ready", "p7"], "ready-made selection 'p7'"),
        (["44", "--ready", "mean", "-n", "7"], "'mean' of 7 inputs"),
        (["44", "--ready", "mean", "--budget", "70"], "--budget: cannot be used with --ready"),
        (["44", "--pool", "none.parquet"], "pool none.parquet: cannot read it"),
        (["44", "--pool", "none.parquet", "--seed", "x"], "--seed: cannot be used with --pool"),
        (["44", "--cost-model", "none.json", "--goal", "mean"], "none.json: cannot read it"),
    ],
)
def test_refusals(words: list[str], rule: str, tmp_path: Path) -> None:
    with pytest.raises(LabError, match=rule):
        run(*words, "--out", tmp_path / "out")
    assert not list(tmp_path.iterdir())


def test_files_that_are_no_pools(tmp_path: Path) -> None:
    whole = pools.shipped_path("ML-DSA-44").read_bytes()
    path = tmp_path / "pool.parquet"
    path.write_bytes(whole[:1000])
    with pytest.raises(LabError, match="is not a whole Parquet file"):
        run("44", "--pool", path, "--out", tmp_path / "out")
    path.write_bytes(whole)
    with pytest.raises(LabError, match="is of ML-DSA-44, not of ML-DSA-65"):
        run("65", "--pool", path, "--out", tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_ready_made_ones_need_no_cargo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(library, "_loaded", [])
    monkeypatch.setattr(library, "find_root", lambda: tmp_path)
    monkeypatch.setattr("shutil.which", lambda name: None)
    text = run("65", "--ready", "mean", "--out", tmp_path / "ready")
    assert "install Rust with rustup" in " ".join(text.split())
    path, header = sorted((tmp_path / "ready").iterdir())
    assert header.name == "selection_hashes.h" and header.stat().st_size < 16_000
    found, shipped = Selection.read(path), read_ready("ML-DSA-65", "mean", 10)
    assert found.compact and found == shipped
    # The default goal has a ready-made one too.
    run("65", "--formats", "json", "--out", tmp_path / "stand-in")
    (path,) = (tmp_path / "stand-in").iterdir()
    assert Selection.read(path) == read_ready("ML-DSA-65", "regression", 10)
    for words in (["65", "--seed", "1"], ["65", "--ready", "mean", "--formats", "c"]):
        with pytest.raises(LabError, match=r"cargo is not installed.* rustup .*--ready NAME"):
            run(*words, "--out", tmp_path / "none")
    assert not (tmp_path / "none").exists()
