"""The worker registry: the committed file, filled templates, tool checks, and every refusal."""

import os
import re
import subprocess
import sys
import tomllib
from collections import defaultdict
from itertools import pairwise
from pathlib import Path

import pytest

from mldsa_lab import LabError
from mldsa_lab.worker.registry import (
    BuildDirs,
    Need,
    compiler_include,
    libclang_folder,
    named,
    read_registry,
    unmet_need,
)

ROOT = Path(__file__).parents[2]

ENTRY = """
[[worker]]
name = "one"
language = "C"
folder = "workers/one"
build = ["cc", "-o", "{target}/one", "{root}/{folder}/one.c"]
run = ["{target}/one"]
env = { CFLAGS = "-O3 -I{root}" }
needs = [{ tool = "cc", version = ["cc", "--version"], minimum = "4.8", hint = "get it" }]
default = true
"""


def write(folder: Path, text: str) -> Path:
    path = folder / "registry.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_the_committed_registry() -> None:
    entries = {
        entry.name: entry for entry in read_registry(ROOT / "lab" / "workers" / "registry.toml")
    }
    assert {"rust", "go"} <= entries.keys()
    for entry in entries.values():
        assert entry.needs or entry.setup, entry.name
    assert all((ROOT / entry.folder).is_dir() for entry in entries.values())


def test_templates_are_filled(tmp_path: Path) -> None:
    (entry,) = read_registry(write(tmp_path, ENTRY))
    place = BuildDirs(Path("/r"), Path("/t"))
    assert entry.fill(entry.build, place) == ["cc", "-o", "/t/one", "/r/workers/one/one.c"]
    assert entry.fill(entry.run, place) == ["/t/one"]
    assert entry.environment(place) == {"CFLAGS": "-O3 -I/r"}
    assert entry.default and entry.needs[0].minimum == "4.8"


def test_builds_differ_in_profile_and_environment(tmp_path: Path) -> None:
    text = ENTRY.replace("{target}/one", "{target}/{profile}/one") + (
        'builds.tuned = { profile = "fast", env = { CFLAGS = "-O3 -march=native" } }\n'
        'builds.default = { profile = "plain", env = { NAME = "{profile}" } }\n'
    )
    (entry,) = read_registry(write(tmp_path, text))
    place = BuildDirs(Path("/r"), Path("/t"))
    assert set(entry.builds) == {"default", "tuned"}
    assert entry.label == "one" and entry.with_build("default") == entry
    assert entry.fill(entry.run, place) == ["/t/plain/one"]
    assert entry.environment(place) == {"CFLAGS": "-O3 -I/r", "NAME": "plain"}
    tuned = entry.with_build("tuned")
    assert tuned.label == "one:tuned"
    assert tuned.fill(tuned.build, place)[2] == "/t/fast/one"
    assert tuned.environment(place) == {"CFLAGS": "-O3 -march=native"}
    (single,) = read_registry(write(tmp_path, ENTRY))
    assert single.with_build("tuned") == single and single.label == "one"


def test_the_default_build_of_the_rust_worker_is_a_dependents() -> None:
    """No flags, whatever the user's environment holds, and a profile that nobody has changed."""
    entries = {
        entry.name: entry for entry in read_registry(ROOT / "lab" / "workers" / "registry.toml")
    }
    rust = entries["rust"]
    env = rust.environment(BuildDirs(ROOT, Path("/t")))
    assert env["RUSTFLAGS"] == env["CFLAGS"] == ""
    assert rust.fill(rust.build, BuildDirs(ROOT, Path("/t")))[4:6] == ["--profile", "release"]
    assert "[profile.release" not in (ROOT / "lab" / "Cargo.toml").read_text(encoding="utf-8")


def test_a_worker_like_another_has_its_keys(tmp_path: Path) -> None:
    text = ENTRY.replace(
        'run = ["{target}/one"]', 'run = ["{program}", "-x", "{options}", "{name}"]'
    )
    text += """
program = "{home}/vm"
locks = ["a", "b"]
setup = [["get", "{lock}"]]
[[worker]]
name = "two.1"
like = "one"
locks = ["c"]
default = false
[[worker]]
name = "three"
like = "two.1"
home_of = "one"
options = ["-o", "{folder}/p"]
"""
    one, two, three = read_registry(write(tmp_path, text))
    place = BuildDirs(Path("/r"), Path("/t"))
    assert one.fill(one.run, place) == ["/t/one/vm", "-x", "one"]
    assert two.fill(two.run, place) == ["/t/two.1/vm", "-x", "two.1"]
    assert three.fill(three.run, place) == ["/t/one/vm", "-x", "-o", "workers/one/p", "three"]
    commands = [[entry.fill(c, place) for c in entry.setup] for entry in (one, two, three)]
    assert commands == [[["get", "a"]], [["get", "c"]], [["get", "c"]]]
    assert [entry.default for entry in (one, two, three)] == [True, False, False]
    assert three.language == "C" and three.needs == one.needs


def test_a_worker_outside_the_tree(tmp_path: Path) -> None:
    text = ENTRY.replace("workers/one", "/elsewhere").replace('{target}/one"]', '{folder}/one"]')
    (entry,) = read_registry(write(tmp_path, text))
    assert entry.fill(entry.run, BuildDirs(Path("/r"), Path("/t"))) == ["/elsewhere/one"]


def test_the_places_outside_the_checkout_hold_what_a_build_needs() -> None:
    assert any(libclang_folder().glob("*clang*"))
    assert (Path(compiler_include()) / "stddef.h").is_file()


def test_a_compiler_that_does_not_work_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CC", "no-such-compiler")
    with pytest.raises(LabError, match="the C compiler no-such-compiler does not work"):
        compiler_include()


def test_no_file(tmp_path: Path) -> None:
    with pytest.raises(LabError, match=r"worker registry .*none.toml: cannot read it"):
        read_registry(tmp_path / "none.toml")


def says(text: str, status: int = 0) -> tuple[str, ...]:
    return (sys.executable, "-S", "-c", f"import sys; print({text!r}); sys.exit({status})")


@pytest.mark.parametrize(
    ("text", "minimum", "unmet"),
    [
        ("go version go1.26.8 linux/amd64", "1.25", None),
        ("go version go1.9 linux/amd64", "1.25", "is 1.9, at least 1.25 is needed: get it"),
        ("cargo 1.89.0 (c24e10642 2025-06-23)", "1.89", None),
        ("cargo 1.88.0 (873a06493 2025-05-10)", "1.89", "is 1.88.0, at least 1.89"),
        ("cc (Debian 12.2.0-14) 12.2.0", "4.8", None),
        ("no number", "1.0", "names no version"),
    ],
)
def test_versions(text: str, minimum: str, unmet: str | None) -> None:
    result = unmet_need(Need(sys.executable, "get it", says(text), minimum))
    assert result is None if unmet is None else unmet in str(result)


def test_missing_and_broken_tools() -> None:
    missing = unmet_need(Need("no-such-tool-anywhere", "get it", ("no-such-tool-anywhere",), "1"))
    assert missing == "no-such-tool-anywhere is not installed: get it"
    broken = unmet_need(Need(sys.executable, "get it", says("it is broken", 1), "1"))
    assert broken is not None and "said: it is broken" in broken


def test_a_program_by_its_path_is_a_worker(tmp_path: Path) -> None:
    entries = read_registry(write(tmp_path, ENTRY))
    program = tmp_path / "My_Worker.py"
    program.write_text("#!/bin/sh\n")
    with pytest.raises(LabError, match=r"must be a program, .*: no executable file has this path"):
        named(entries, [str(program)])
    program.chmod(0o755)
    one, other = named(entries, [str(program), "one"])
    assert one.name == "one" and other.name == "my-worker"
    assert (
        other.fill(other.run, BuildDirs(Path("/r"), Path("/t"))) == [str(program)]
        and not other.build
    )
    with pytest.raises(LabError, match=r"unknown worker 'My_Worker.py'.* needs a slash"):
        named(entries, [program.name])


def features(packages: list[str], edges: str) -> dict[str, set[str]]:
    """The sets of features of each crate where Cargo builds these packages together."""
    cargo = os.environ.get("MLDSA_LAB_CARGO", "cargo")
    chosen = [word for package in packages for word in ("-p", package)]
    command = [cargo, "tree", "--locked", "--prefix", "none", "--format", "{p}|{f}", "-e", edges]
    done = subprocess.run(
        [*command, *chosen], cwd=ROOT / "lab", capture_output=True, text=True, check=True
    )
    sets = defaultdict(set)
    for line in done.stdout.splitlines():
        crate, _, names = line.removesuffix(" (*)").partition("|")
        sets[crate].add(names)
    return sets


def test_rust_workers_and_their_tests_compile_each_crate_once() -> None:
    """Cargo compiles a crate, and every crate above it, once for each set of its features."""
    entries = {e.name: e for e in read_registry(ROOT / "lab" / "workers" / "registry.toml")}
    rust, families = entries["rust"], entries["rust-families"]
    kernels = (ROOT / "lab" / "scripts" / "bench_kernels.sh").read_text(encoding="utf-8")
    built = features(packages(rust.build), "normal,build")
    assert "mldsa-worker-rust" in " ".join(built)
    for names, edges in (
        (packages(rust.test), "normal,build,dev"),
        (packages(families.build), "normal,build"),
        (packages(families.test), "normal,build,dev"),
        (
            re.findall(r"-p (\S+?)[\"\s]", kernels.split("programs=")[1].split("\n")[0]),
            "normal,build",
        ),
    ):
        other = features(names, edges)
        assert {c: (built[c], other[c]) for c in built.keys() & other if built[c] != other[c]} == {}


def packages(command: tuple[str, ...]) -> list[str]:
    return [name for option, name in pairwise(command) if option == "-p"]


def test_the_lock_files_agree() -> None:
    """A crate that the library and the lab both have is measured as it is tested."""
    locks = [
        tomllib.loads((ROOT / project / "Cargo.lock").read_text(encoding="utf-8"))["package"]
        for project in ("library", "lab")
    ]
    versions: list[dict[str, set[str]]] = []
    for locked in locks:
        versions.append(defaultdict(set))
        for package in locked:
            versions[-1][package["name"]].add(package["version"])
    library, lab = versions
    both = library.keys() & lab.keys()
    assert len(both) > 100
    # Of some crates one of the two needs an older version too.
    assert [name for name in both if not library[name] & lab[name]] == []
