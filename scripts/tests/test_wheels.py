"""Each wheel of `dist/`, in an environment of its own: no cargo, no checkout, an empty home.

`make test-dist` builds `dist/` and runs this. Packages that the wheels need come from the registry
or uv's cache.
"""

from __future__ import annotations

import csv
import hashlib
import json
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DIST = ROOT / "dist"
UV = next(p for p in (Path(sys.prefix) / "bin" / "uv", Path("/usr/bin/uv")) if p.exists())

Run = Callable[..., subprocess.CompletedProcess[str]]


def wheels(name: str, tag: str = "") -> list[Path]:
    """The wheels of a distribution; ``tag``: a part of their platform."""
    return [p for p in sorted(DIST.glob(f"{name}-*.whl")) if tag in p.name]


LAB_WHEELS = wheels("mldsa_lab", "none-any") + wheels("mldsa_lab", "linux")


class Place:
    """An environment with some wheels, and an empty folder to work in."""

    def __init__(self, folder: Path) -> None:
        self.work, self.home, self.bin = folder / "work", folder / "home", folder / "venv" / "bin"
        self.work.mkdir(parents=True)
        self.home.mkdir()
        subprocess.run([UV, "venv", "-q", "-p", sys.executable, folder / "venv"], check=True)

    def install(self, *what: str | Path) -> None:
        """Install wheels, with what they need."""
        words = [UV, "pip", "install", "-q", "-p", self.bin / "python", *what]
        subprocess.run(words, cwd=self.work, check=True)

    def run(self, *words: str | Path, status: int = 0) -> str:
        """Run a program of the environment with nothing else in reach; return what it prints."""
        command = [self.bin / words[0], *words[1:]]
        env = {"PATH": "/usr/bin:/bin", "HOME": str(self.home), "NO_COLOR": "1"}
        done = subprocess.run(
            command,
            cwd=self.work,
            env=env,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        assert done.returncode == status, (words, done.stdout, done.stderr)
        assert "Traceback" not in done.stderr
        return done.stdout + done.stderr


@pytest.fixture(scope="module", params=LAB_WHEELS, ids=lambda wheel: wheel.stem.split("-")[-1])
def lab(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Place:
    """The wheel of mldsa-lab for every platform or for this one, alone."""
    place = Place(tmp_path_factory.mktemp("lab") / "place")
    place.install(request.param)
    place.run("mldsa-lab", "--version")
    return place


def has_library(place: Place) -> bool:
    """Return true if it has the wheel with the library of traces."""
    return bool(
        list(place.bin.parent.glob("lib/*/site-packages/mldsa_lab/tree/**/libmldsa_trace*"))
    )


def test_the_sums_are_right() -> None:
    lines = (DIST / "SHA256SUMS").read_text(encoding="utf-8").splitlines()
    assert len(lines) == len([p for p in DIST.iterdir() if p.suffix in (".whl", ".gz", ".crate")])
    for line in lines:
        digest, name = line.split("  ")
        assert hashlib.sha256((DIST / name).read_bytes()).hexdigest() == digest


def test_ten_inputs_from_nothing(tmp_path: Path) -> None:
    """Environment, installation and selection; 10 s with a warm cache, 60 s are allowed."""
    begin = time.monotonic()
    place = Place(tmp_path / "place")
    place.install(LAB_WHEELS[-1])
    place.run("mldsa-lab", "select", "65", "-n", "10", "--out", "mine")
    spent = time.monotonic() - begin
    print(f"ten inputs after {spent:.1f} s")
    assert len(json.loads((place.work / "mine" / "selection.json").read_text())["inputs"]) == 10
    assert spent < 60


def test_choosing_estimating_and_auditing(lab: Place) -> None:
    said = lab.run("mldsa-lab", "select", "65", "-n", "10", "--out", "mine")
    names = {p.name for p in (lab.work / "mine").iterdir()}
    assert {"selection.json", "selection_hashes.h"} <= names
    assert ("selection.rsp" in names) == has_library(lab) == ("no library" not in said)
    chosen = json.loads((lab.work / "mine" / "selection.json").read_text())["inputs"]
    with (lab.work / "measured.csv").open("w") as file:
        rows = [(i["id"], 1000 * (2 + len(i["trace"])), "cycles") for i in chosen]
        csv.writer(file).writerows([("id", "cost", "unit"), *rows])
    assert "p99" in lab.run("mldsa-lab", "estimate", "mine/selection.json", "measured.csv")
    assert "contradiction" in lab.run("mldsa-lab", "check", "claims", "jvm-study")
    lab.run(
        "mldsa-lab", "select", "87", "--from", "ready", "--goal", "p99", "-n", "1", "--out", "ready"
    )


def test_what_is_missing_is_named_with_its_command(lab: Place) -> None:
    for words, command in (
        (("bench", "--quick"), "pip install 'mldsa-lab[bench]'"),
        (("impact", "bitcoin"), "pip install 'pqc-impact'"),
        (("rtl", "synth"), "pip install 'mldsa-lab-rtl'"),
        (("trace", "44", "-n", "1"), "pip install 'mldsa-lab[pools]'"),
        (("workers", "conform", "go"), "git clone "),
        (("workers", "conform", "python"), "mldsa-lab workers setup python"),
        (("workers", "setup", "java-25"), "git clone "),
        (("study", "estimators"), "make setup setup-study"),
        (("check", "answers", "list"), "git clone "),
    ):
        assert command in lab.run("mldsa-lab", *words, status=2), words
    if not has_library(lab):
        said = lab.run("mldsa-lab", "select", "65", "--budget", "90", status=2)
        assert "rustup" in said and "git clone " in said and "--from ready" in said


@pytest.fixture(scope="module")
def full(tmp_path_factory: pytest.TempPathFactory) -> Place:
    """The wheel for this platform with what measures, and the other packages."""
    place = Place(tmp_path_factory.mktemp("full") / "place")
    (wheel,) = wheels("mldsa_lab", "linux")
    place.install(f"mldsa-lab[bench] @ {wheel.as_uri()}", *wheels("pqc_impact"))
    return place


def test_benchmarks_outside_a_checkout(full: Place) -> None:
    options = ("--sets", "44", "--rounds", "2", "--implementations", "mldsa-lanes:*")
    said = full.run("mldsa-lab", "bench", "--quick", *options, "--out", "runs")
    assert "mldsa-lanes" in said and "mldsa-lab/workers" not in said
    (record,) = (full.work / "runs").glob("*/record.jsonl")
    full.run("mldsa-lab", "report", record, "--to", "page.html")
    full.run("mldsa-lab", "workers", "conform", "rust", "--only", "hello")
    worker = full.work / "worker"
    (program,) = full.bin.parent.glob(
        "lib/*/site-packages/mldsa_lab/tree/lab/workers/prebuilt/*worker*"
    )
    worker.write_text(f"#!/bin/sh\nexec {program}\n")
    worker.chmod(0o755)
    chosen = ("--workers", "./worker", "--out", "program")
    assert "mldsa-lanes" in full.run("mldsa-lab", "bench", "--quick", *options, *chosen)
    (other,) = (full.work / "program").glob("*/record.jsonl")
    assert "mldsa-lanes" in full.run("mldsa-lab", "compare", record, other)
    assert "git clone" in full.run("mldsa-lab", "workers", "doctor")
    java = ("bench", "--quick", "--worker", "any=/usr/lib/jvm/any")
    assert "git clone" in full.run("mldsa-lab", *java, status=2)


def test_the_cost_of_a_migration(full: Place) -> None:
    said = full.run("mldsa-lab", "impact", "bitcoin")
    assert "Bitcoin" in said and (full.work / "out" / "impact-bitcoin").is_dir()


@pytest.mark.parametrize("wheel", wheels("mldsa_lab_rtl"), ids=lambda wheel: wheel.stem)
def test_hardware_cores(wheel: Path, tmp_path: Path) -> None:
    place = Place(tmp_path / "place")
    (lab_wheel,) = wheels("mldsa_lab", "linux")
    place.install(lab_wheel, wheel)
    assert "FPGA" in place.run("mldsa-lab", "rtl", "synth", "--help")
    place.run("python", "-c", "from mldsa_lab_rtl.manifest import Manifest")


USES = {
    "mldsa_lanes": ("python", "-c", "import mldsa_lanes; print(mldsa_lanes.__doc__)"),
    "mldsa_cli": ("mldsa", "--help"),
}


@pytest.mark.parametrize("name", USES)
def test_bindings(name: str, tmp_path: Path) -> None:
    found = wheels(name)
    if not found:
        pytest.skip(f"dist/ has no wheel of {name}")
    place = Place(tmp_path / "place")
    place.install(found[0])
    assert place.run(*USES[name])


def test_the_c_library(tmp_path: Path) -> None:
    """The commands and the program of docs/c.md with the tarball, by each library."""
    (tarball,) = DIST.glob("libmldsa-*.tar.gz")
    shutil.copy(tarball, tmp_path)
    guide = (ROOT / "docs/c.md").read_text(encoding="utf-8")
    program = re.findall("```c\n(.*?)```", guide, re.DOTALL)[0]
    (tmp_path / "program.c").write_text(program, encoding="utf-8")
    unpack, compile_all = re.findall("```sh\n(.*?)```", guide, re.DOTALL)
    export, *compilations = compile_all.splitlines()
    runs = "\n./program\n".join([*compilations, ""])
    script = f"set -e\n{unpack}\n{export}\n{runs}"
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path / "home")}
    said = subprocess.run(
        ["sh", "-c", script],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (said.returncode, said.stdout) == (0, "success\n" * 3), said.stderr
    documents = tmp_path / "home/.local/share/doc/libmldsa"
    assert {p.name for p in documents.iterdir()} == {"c.md", "LICENSE-APACHE", "LICENSE-MIT"}
