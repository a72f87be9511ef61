"""What runs with the base install alone, and what is said where an extra is missing."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import pytest
from packaging.markers import Marker
from tiers import first_of

from mldsa_lab import plugins
from mldsa_lab.choice.choice import read_ready
from mldsa_lab.plugins import EXTRAS, PACKAGES, target

LAB = Path(__file__).parents[1]
ROOT = LAB.parent
RECORD = ROOT / "records" / "2026-11-21-epyc-zen3" / "first.jsonl.xz"
ABSENT = {name for names in EXTRAS.values() for name in names} | {"polars"}
ABSENT |= {package.name.replace("-", "_") for package in PACKAGES}

# A module that is None in sys.modules cannot be imported, and is not found.
PROGRAM = """
import sys
sys.modules.update(dict.fromkeys(sys.argv.pop(1).split(",")))
from mldsa_lab.cli.main import main
main()
"""


def read(path: Path) -> dict[str, Any]:
    with path.open("rb") as file:
        return tomllib.load(file)


def base(*words: object) -> subprocess.CompletedProcess[str]:
    """The command where nothing but the base install is there."""
    given = [sys.executable, "-c", PROGRAM, ",".join(sorted(ABSENT)), *map(str, words)]
    return subprocess.run(given, capture_output=True, text=True, timeout=300)


@pytest.fixture(scope="module")
def selection(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A selection, and measurements of it."""
    folder = tmp_path_factory.mktemp("base")
    chosen = read_ready("ML-DSA-44", "regression", 10)
    (folder / "selection.json").write_text(chosen.to_json(is_compact=True), encoding="utf-8")
    rows = [f"{i.id},{1000 * (2 + len(i.trace))},cycles" for i in chosen.inputs]
    text = "\n".join(["id,cost,unit", *rows]) + "\n"
    (folder / "measured.csv").write_text(text, encoding="utf-8")
    return folder / "selection.json", folder / "measured.csv"


@pytest.mark.e2e
def test_the_base_install_estimates_audits_and_shows(selection: tuple[Path, Path]) -> None:
    for words, said in (
        (("estimate", "--help"), "Percentiles to estimate"),
        (("estimate", *selection), "mean"),
        (("check", "claims", "list"), "jvm"),
        (("check", "claims", "jvm-study"), "claim"),
        (("select", "--help"), "goal"),
        (("study", "list"), "bench"),
    ):
        done = base(*words)
        assert done.returncode == 0 and said in done.stdout, (words, done.stderr)


# Commands and the extra that each lacks; words in capitals stand for paths.
LACKING = {
    "bench --quick --out OUT/out": "bench",
    "trace 44 -n 1 --out OUT": "pools",
    "select 44 --from OUT/it.parquet --out OUT": "pools",
    "report RECORD --to OUT/page.html": "page",
    "estimate SELECTION MEASURED --to OUT/plot.svg": "page",
    "trace 44 -n 1 --processes tcp://localhost:1 --out OUT": "dask",
    "study estimators --quick": "study",
    "propagate bitcoin-2019 --bytes 1000": "impact",
    "impact bitcoin": "impact",
    "rtl synth": "rtl",
    "rtl study --sets 44": "rtl",
    "workers conform core.toml": "rtl",
}


@pytest.mark.parametrize("command", first_of(list(LACKING), pytest.mark.e2e))
def test_a_missing_extra_is_named(
    command: str, selection: tuple[Path, Path], tmp_path: Path
) -> None:
    chosen, measured = selection
    paths = {"OUT": tmp_path, "SELECTION": chosen, "MEASURED": measured, "RECORD": RECORD}
    words = [re.sub("^[A-Z]+", lambda m: str(paths[m[0]]), word) for word in command.split()]
    done = base(*words)
    (line,) = done.stderr.splitlines()
    assert done.returncode == 2
    extra = LACKING[command]
    wanted = target(extra) if extra in EXTRAS else f"setup-{extra}"
    assert line.endswith(f": `make {wanted}` installs it")
    assert not list(tmp_path.iterdir())


def test_the_extras_are_those_of_the_package_and_each_has_a_group() -> None:
    listed = read(LAB / "pyproject.toml")["project"]["optional-dependencies"]
    assert set(listed) == set(EXTRAS)
    groups = read(ROOT / "pyproject.toml")["dependency-groups"]
    for extra in EXTRAS:
        name = target(extra).removeprefix("setup-")
        assert f"mldsa-lab[{name}]" in groups[name]


def test_the_packages_add_what_an_error_says_of_them() -> None:
    files = [
        ROOT / folder / "pyproject.toml" for folder in ("lab/impact", "rtl/bench", "lab/studies")
    ]
    projects = {p["name"]: p["entry-points"] for p in (read(file)["project"] for file in files)}
    assert set(projects) == {package.name for package in PACKAGES}
    groups = read(ROOT / "pyproject.toml")["dependency-groups"]
    for package in PACKAGES:
        points = projects[package.name]
        assert tuple(points["mldsa_lab.commands"]) == package.commands
        assert tuple(points.get("mldsa_lab.workers", ())) == package.workers
        group = groups[package.target.removeprefix("setup-")]
        assert package.name in [str(name).partition("[")[0] for name in group]


def test_pip_gets_what_uv_does() -> None:
    uv = ROOT / ".venv" / "bin" / "uv"
    if not uv.exists():
        pytest.skip("setup.sh has not installed uv")
    words = [uv, "export", "--quiet", "--frozen", "--only-group", "test", "--no-emit-local"]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=True)
    parts = re.sub(r"^ *#.*\n", "", done.stdout, flags=re.M).replace("\\\n", " ").splitlines()
    wanted = {}
    for requirement, *hashes in (re.split(r" +--hash=", part.strip()) for part in parts):
        pin, _, marker = requirement.partition(" ; ")
        if not marker or Marker(marker).evaluate():
            wanted[pin] = set(hashes)
    program = ROOT / "scripts" / "requirements.py"
    done = subprocess.run(
        [sys.executable, program, "test"], capture_output=True, text=True, check=True
    )
    found = (line.split(" --hash=") for line in done.stdout.splitlines())
    assert {pin: set(hashes) for pin, *hashes in found} == wanted
    assert len(wanted) > 80 and all(wanted.values())


def test_the_lock_names_public_registries_alone() -> None:
    text = (ROOT / "uv.lock").read_text(encoding="utf-8")
    places = set(re.findall(r"https?://[^/\"]+", text))
    assert places == {"https://pypi.org", "https://files.pythonhosted.org"}


def test_an_entry_point_of_another_version_is_skipped(monkeypatch: pytest.MonkeyPatch) -> None:
    group = "mldsa_lab.commands"
    points = [
        EntryPoint("gone", "mldsa_lab.plugins:no_such_object", group),
        EntryPoint("lost", "mldsa_lab.no_such_module:command", group),
        EntryPoint("here", "mldsa_lab.plugins:PACKAGES", group),
    ]
    monkeypatch.setattr(plugins, "entry_points", lambda group: points)
    assert list(plugins._loaded.__wrapped__("commands")) == ["here"]
