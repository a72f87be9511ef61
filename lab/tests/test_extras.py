"""What runs with the base install alone, and what is said where an extra is missing."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from mldsa_lab.choice.ready import read_ready
from mldsa_lab.extras import EXTRAS

LAB = Path(__file__).parents[1]
RECORD = LAB.parent / "records" / "2026-11-21-epyc-zen3" / "first.jsonl.xz"
ABSENT = {name for names in EXTRAS.values() for name in names} | {"mldsa_studies", "polars"}

# A module that is None in sys.modules cannot be imported, and is not found.
PROGRAM = """
import sys
sys.modules.update(dict.fromkeys(sys.argv.pop(1).split(",")))
from mldsa_lab.cli.main import main
main()
"""


def base(*words: object) -> subprocess.CompletedProcess[str]:
    """The command where nothing but the base install is there."""
    given = [sys.executable, "-c", PROGRAM, ",".join(sorted(ABSENT)), *map(str, words)]
    return subprocess.run(given, capture_output=True, text=True, timeout=300)


@pytest.fixture(scope="module")
def selection(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A selection, and measurements of it."""
    folder = tmp_path_factory.mktemp("base")
    chosen = read_ready("ML-DSA-44", "regression", 10)
    (folder / "selection.json").write_text(chosen.to_json(compact=True), encoding="utf-8")
    rows = [f"{i.id},{1000 * (2 + len(i.trace))},cycles" for i in chosen.inputs]
    text = "\n".join(["id,cost,unit", *rows]) + "\n"
    (folder / "measured.csv").write_text(text, encoding="utf-8")
    return folder / "selection.json", folder / "measured.csv"


def test_the_base_install_estimates_audits_and_shows(selection: tuple[Path, Path]) -> None:
    for words, said in (
        (("estimate", "--help"), "Percentiles to estimate"),
        (("estimate", *selection), "mean"),
        (("audit", "--list-examples"), "jvm"),
        (("audit", "--example", "jvm-study"), "claim"),
        (("select", "--help"), "goal"),
        (("impact", "votes", "--no-network", "--markdown", "-"), "ML-DSA-44"),
    ):
        done = base(*words)
        assert done.returncode == 0 and said in done.stdout, (words, done.stderr)


def test_a_missing_extra_is_named(selection: tuple[Path, Path], tmp_path: Path) -> None:
    for words, extra in (
        (("bench", "--quick", "--out", tmp_path / "out"), "bench"),
        (("report", RECORD, "--page", tmp_path / "page.html"), "page"),
        (("estimate", *selection, "--plot", tmp_path / "plot.svg"), "page"),
        (("trace", "44", "-n", 1, "--dask", "tcp://localhost:1", "--out", tmp_path), "dask"),
        (("study", "estimators", "--quick"), "bench"),
        (("propagate", "bitcoin-2019", "--bytes", 1000), "impact"),
    ):
        done = base(*words)
        (line,) = done.stderr.splitlines()
        assert done.returncode == 2 and f"pip install ./lab[{extra}]" in line
        assert not list(tmp_path.iterdir())


def test_the_extras_are_those_of_the_package() -> None:
    with (LAB / "pyproject.toml").open("rb") as file:
        listed = tomllib.load(file)["project"]["optional-dependencies"]
    assert set(listed) == {*EXTRAS, "dev"}
