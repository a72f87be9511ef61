"""`mldsa-lab study`: the commands, their page and table, and what they refuse."""

from __future__ import annotations

import csv
import json
import re
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import pytest
from study_material import c_worker, need_tools
from test_study_evaluate import costs_of
from typer.testing import CliRunner, Result

from mldsa_lab.choice.ready import read_ready
from mldsa_lab.errors import LabError
from mldsa_lab.inputs.library import load
from mldsa_lab.inputs.selection import Selection
from mldsa_lab.inputs.spec import Spec
from mldsa_lab.worker.build import Place
from mldsa_lab.worker.registry import WorkerEntry
from mldsa_studies import command
from mldsa_studies.callgrind import Counter
from mldsa_studies.costs import write_costs
from mldsa_studies.jobs import SignedInputs

pytestmark = pytest.mark.e2e

QUICK = ("--sizes", "3", "--draws", "4", "--pool", "200", "--processes", "1")


def run(*words: object) -> Result:
    return CliRunner().invoke(command.app, [str(w) for w in words], env={"COLUMNS": "140"})


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Result]:
    folder = tmp_path_factory.mktemp("study")
    (folder / "costs").mkdir()
    write_costs(costs_of("ns", 0.02, 3, inputs=80, added=8), folder / "costs" / "a.parquet")
    write_costs(costs_of("instructions", inputs=80, added=8), folder / "costs" / "b.parquet")
    data = folder / "costs"
    return folder, run("estimators", "--data", data, "--out", folder / "out", *QUICK)


def test_table_page_and_rows(done: tuple[Path, Result]) -> None:
    folder, result = done
    assert result.exit_code == 0, result.exception
    text = result.stdout
    for part in (
        "Error of the mean, time, each input once",
        "Error of the mean, time, median of the rounds",
        "Error of the mean, instructions",
        "Error of percentiles from n = 3, instructions",
        "Mean signing cost from 3 designed inputs with regression: off by",
    ):
        assert part in re.sub(r"\s+", " ", text)
    rows = json.loads((folder / "out" / "estimators.json").read_text(encoding="utf-8"))
    # Balanced selections at p99 find nothing near it among so few.
    assert 3 * 4 * 4 - 3 <= len(rows) <= 3 * 4 * 4
    assert {row["method"] for row in rows} == {"random", "greedy", "balanced", "regression"}
    for row in rows:
        assert row["rmse"] >= 0 and abs(row["bias"]) <= row["rmse"] + 1e-12


class _Page(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.outside: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        if tag not in ("meta", "link", "br"):
            self.open.append(tag)
        self.outside += [v for k, v in attrs if k in ("src", "href") and v and "//" in v]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)


def test_the_page_is_whole_and_loads_nothing(done: tuple[Path, Result]) -> None:
    folder, _ = done
    text = (folder / "out" / "estimators.html").read_text(encoding="utf-8")
    page = _Page()
    page.feed(text)
    assert page.open == [] and page.outside == [] and "script" not in page.tags
    assert page.tags.count("svg") == 9 and page.tags.count("table") == 7
    ids = re.findall(r' id="([^"]+)"', text)
    assert len(ids) == len(set(ids))
    for part in ("What counts as the truth", "a CPU", "ML-DSA-65", "toy:fast:compact"):
        assert part in text or part == "a CPU"
    assert "nan" not in re.sub(r"<[^>]*>", " ", text).lower().split()


def test_plots_stand_alone(done: tuple[Path, Result]) -> None:
    folder, _ = done
    found = sorted(p.name for p in (folder / "out").glob("*.svg"))
    assert found == sorted(
        f"{kind}-{plot}.svg"
        for kind in ("once", "median", "count")
        for plot in ("mean", "spread", "percentiles")
    )
    for name in found:
        root = ElementTree.parse(folder / "out" / name).getroot()
        assert root.tag == "{http://www.w3.org/2000/svg}svg"
        used = set(re.findall(r"var\((--[a-z0-9]+)\)", (folder / "out" / name).read_text()))
        style = root.findtext("{http://www.w3.org/2000/svg}style") or ""
        assert used and all(f"{variable}:" in style for variable in used)


def test_the_same_again(done: tuple[Path, Result], tmp_path: Path) -> None:
    folder, _ = done
    data, out = folder / "costs" / "b.parquet", tmp_path / "t.json"
    result = run(
        "estimators", "--data", data, "--out", tmp_path, "--json", out, "--no-page", *QUICK
    )
    assert result.exit_code == 0, result.exception
    assert not list(tmp_path.glob("*.html"))
    rows = json.loads((folder / "out" / "estimators.json").read_text(encoding="utf-8"))
    again = json.loads(out.read_text(encoding="utf-8"))
    assert again == [row for row in rows if row["unit"] == "instructions"]


@pytest.mark.parametrize(
    ("words", "rule"),
    [
        (("--data", "nowhere.parquet"), "nowhere.parquet: cannot read it"),
        (("--data", "."), "holds no files of costs"),
        (("--data", "x", "--sizes", "2,two"), "size 'two': must be a whole number"),
        (("--data", "x", "--sizes", "0"), "size '0': must be a whole number"),
        (("--data", "x", "--sets", "Ed25519"), "unknown parameter set 'Ed25519'"),
        (("--data", "x", "--sets", "99"), "unknown parameter set '99'"),
        (("--inputs", "400", "--methods", "best"), "unknown method 'best'"),
        (("--inputs", "40"), "selections of 100 inputs: need costs of 400 inputs"),
    ],
)
def test_what_is_refused(
    words: tuple[str, ...], rule: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = run("estimators", *words)
    assert isinstance(result.exception, LabError) and rule in str(result.exception)
    assert not list(tmp_path.iterdir())


def test_some_methods_alone(done: tuple[Path, Result], tmp_path: Path) -> None:
    folder, _ = done
    data = folder / "costs" / "b.parquet"
    result = run(
        "estimators", "--data", data, "--out", tmp_path, "--methods", "greedy,random", *QUICK
    )
    assert result.exit_code == 0, result.exception
    rows = json.loads((tmp_path / "estimators.json").read_text(encoding="utf-8"))
    assert {row["method"] for row in rows} == {"random", "greedy"}
    assert "balanced" not in result.stdout and "greedily selected inputs, averaged" in result.stdout


def test_nothing_left_to_evaluate(done: tuple[Path, Result], tmp_path: Path) -> None:
    folder, _ = done
    for more in (("--sets", "87"), ("--implementations", "other")):
        result = run("estimators", "--data", folder / "costs", "--out", tmp_path, *more)
        assert isinstance(result.exception, LabError)
        assert "no costs of these parameter sets and implementations" in str(result.exception)
    result = run("estimators", "--data", folder / "costs", "--out", tmp_path)
    assert "need costs of 400 inputs" in str(result.exception)


@pytest.mark.toolchain
def test_counts_of_a_selection(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    need_tools()
    inputs = Spec("ML-DSA-44", bytes(32)).inputs(0, 4)
    chosen = load().make("ML-DSA-44", inputs, first_id=7)
    path = tmp_path / "selection.json"
    text = Selection("ML-DSA-44", "regression", chosen).to_json(compact=True)
    path.write_text(text, encoding="utf-8")
    entry, place = c_worker(tmp_path, SignedInputs("ML-DSA-44", chosen))

    def open_counter(found: WorkerEntry, where: Place, screen: object, function: str) -> Counter:
        assert found is entry and where.root.is_dir()
        return Counter(entry, place, function)

    def worker_entry(where: Place, name: str) -> WorkerEntry:
        assert name == "rust"
        return entry

    monkeypatch.setattr("mldsa_studies.run.open_counter", open_counter)
    monkeypatch.setattr("mldsa_studies.run.worker_entry", worker_entry)
    out = tmp_path / "counts.csv"
    words = ("count", path, "--implementation", "toy", "--function", "sign_one", "--out", out)
    result = run(*words)
    assert result.exit_code == 0, result.exception
    with out.open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [row["id"] for row in rows] == ["7", "8", "9", "10"]
    assert {row["unit"] for row in rows} == {"instructions"}
    order = sorted(range(4), key=lambda i: int(rows[i]["cost"]))
    assert order == sorted(range(4), key=lambda i: inputs[i].message[0])
    wrong = text.replace(chosen[0].digests[2], chosen[1].digests[2])
    path.write_text(wrong, encoding="utf-8")
    assert "input 7: its signature is not that of signing it" in str(run(*words).exception)
    result = run(*words[:-1], tmp_path / "no" / "folder.csv")
    assert "is not a folder that can be written to" in str(result.exception)


def test_what_cannot_be_counted_is_refused_before_the_build(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def build(*arguments: object) -> None:
        raise AssertionError("built")

    monkeypatch.setattr("mldsa_lab.checkout.run_tool", build)
    monkeypatch.setattr("mldsa_lab.worker.build.run_tool", build)
    path = tmp_path / "selection.json"
    ready = read_ready("ML-DSA-44", "regression", 2)
    path.write_text(ready.to_json(compact=True), encoding="utf-8")
    out = tmp_path / "counts.csv"
    for words, rule in (
        ((path, "--implementation", "mldsa-lanes", "--worker", "c"), "unknown worker 'c'"),
        ((path, "--implementation", "nosuch"), "unknown implementation 'nosuch'"),
        ((path, "--implementation", "nosuch:avx2:compact"), "'nosuch:avx2:compact'"),
        ((tmp_path / "none.json", "--implementation", "mldsa-lanes"), "none.json: cannot read"),
    ):
        refused = run("count", *words, "--out", out).exception
        assert isinstance(refused, LabError) and rule in str(refused)
    refused = run("estimators", "--implementations", "nosuch", "--out", tmp_path).exception
    assert isinstance(refused, LabError) and "unknown implementation 'nosuch'" in str(refused)
    assert not out.exists()
