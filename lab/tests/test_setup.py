"""Setting workers up on request: commands, stamps, what a run says, and jars by checksum."""

from __future__ import annotations

import hashlib
import json
import re
import sys
import tomllib
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest
from lab_runs import bench, here

from mldsa_lab import LabError
from mldsa_lab.bench.fleet import Fleet
from mldsa_lab.bench.launch import start
from mldsa_lab.checkout import BuildError
from mldsa_lab.cli.main import app
from mldsa_lab.cli.shared import console
from mldsa_lab.records import Skipped
from mldsa_lab.screen import Screen
from mldsa_lab.worker import fetch
from mldsa_lab.worker.build import build, is_set_up, set_up, unmet
from mldsa_lab.worker.registry import BuildDirs, WorkerEntry, read_registry
from mldsa_lab.worker.worker import Limits

ROOT = Path(__file__).parents[2]

# Appends a line to {home}/log; fails where {root}/broken is there.
STEP = """
import pathlib, sys
home, root, word = sys.argv[1:]
pathlib.Path(home, "log").open("a").write(word + "\\n")
print("at work on", word)
sys.exit(3 if word == "two" and pathlib.Path(root, "broken").exists() else 0)
"""
ENTRY = f"""
[[worker]]
name = "one"
language = "C"
folder = "lab/workers"
build = ["{{python}}", "-c", ""]
run = ["{{home}}/worker"]
locks = ["{{folder}}/lock"]
setup = [
  ["{{python}}", "-S", "-c", {json.dumps(STEP)}, "{{home}}", "{{root}}", "one"],
  ["{{python}}", "-S", "-c", {json.dumps(STEP)}, "{{home}}", "{{root}}", "two"],
]
[[worker]]
name = "plain"
language = "C"
folder = "lab/workers"
build = []
run = ["plain"]
"""


def setup(*names: str) -> None:
    app(["workers", "setup", *names], standalone_mode=False)


def quiet(line: str) -> None:
    pass


@pytest.fixture
def place(tmp_path: Path) -> BuildDirs:
    (tmp_path / "lab" / "workers").mkdir(parents=True)
    (tmp_path / "lab" / "workers" / "lock").write_text("1\n")
    (tmp_path / "lab" / "workers" / "registry.toml").write_text(ENTRY)
    return BuildDirs(tmp_path, tmp_path / "target")


def entry_of(place: BuildDirs) -> WorkerEntry:
    return read_registry(place.root / "lab" / "workers" / "registry.toml")[0]


def log(place: BuildDirs) -> list[str]:
    return (place.target / "one" / "log").read_text().split()


def test_commands_run_in_order_and_a_changed_lock_file_asks_for_more(place: BuildDirs) -> None:
    entry = entry_of(place)
    assert entry.fill(entry.setup[0], place)[0] == sys.executable
    assert entry.fill(entry.run, place) == [f"{place.target}/one/worker"]
    lines: list[str] = []
    assert not is_set_up(entry, place)
    set_up(entry, place, lines.append)
    assert is_set_up(entry, place) and unmet(entry, place) == []
    assert log(place) == ["one", "two"]
    assert [line for line in lines if line.startswith("at work")] == [
        "at work on one",
        "at work on two",
    ]
    (place.target / "one" / "setup.json").write_text("[]")
    assert not is_set_up(entry, place)
    set_up(entry, place, quiet)
    (place.root / "lab" / "workers" / "lock").write_text("2\n")
    assert not is_set_up(entry, place)
    set_up(entry, place, quiet)
    assert is_set_up(entry, place)
    (place.root / "lab" / "workers" / "registry.toml").write_text(
        ENTRY.replace('"two"]', '"three"]')
    )
    assert not is_set_up(entry_of(place), place)


def test_each_build_is_set_up_by_itself(
    place: BuildDirs, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    builds = 'builds = { default = { profile = "release" }, tuned = { profile = "tuned" } }'
    text = ENTRY.replace('"two"]', '"{profile}"]')
    registry = place.root / "lab" / "workers" / "registry.toml"
    registry.write_text(text.replace('name = "one"', f'name = "one"\n{builds}'))
    monkeypatch.setattr(BuildDirs, "for_tree", lambda root: place)
    default = entry_of(place)
    tuned = default.with_build("tuned")
    setup("one")
    assert is_set_up(default, place) and not is_set_up(tuned, place)
    assert unmet(tuned, place) == ["not set up: run `mldsa-lab workers setup one:tuned`"]
    setup("one:tuned")
    assert is_set_up(tuned, place) and log(place) == ["one", "release", "one", "tuned"]
    capsys.readouterr()
    setup()
    assert capsys.readouterr().out == "one (C): set up\none:tuned (C): set up\n"


def test_a_failure_leaves_nothing_that_counts_as_set_up(place: BuildDirs) -> None:
    entry = entry_of(place)
    set_up(entry, place, quiet)
    (place.root / "broken").touch()
    with pytest.raises(BuildError, match="set-up failed with status 3") as caught:
        set_up(entry, place, quiet)
    assert caught.value.lines == ["at work on two"]
    assert not is_set_up(entry, place)
    (place.root / "broken").unlink()
    set_up(entry, place, quiet)
    assert is_set_up(entry, place)
    (place.target / "one" / "setup.json").write_text("{")
    assert not is_set_up(entry, place)


def test_what_was_deleted_is_not_set_up(place: BuildDirs) -> None:
    entry = entry_of(place)
    worker = entry.home(place.target) / "worker"
    worker.parent.mkdir(parents=True)
    worker.mkdir()
    set_up(entry, place, quiet)
    assert is_set_up(entry, place)
    worker.rmdir()
    assert not is_set_up(entry, place)
    # Nothing it runs by is below the target folder: the stamp alone says so.
    set_up(entry, place, quiet)
    assert is_set_up(entry, place)


def test_a_missing_lock_file_is_named(place: BuildDirs) -> None:
    (place.root / "lab" / "workers" / "lock").unlink()
    with pytest.raises(
        LabError, match=r"worker one, lock file .*/workers/lock: cannot read it: No such file"
    ):
        set_up(entry_of(place), place, quiet)
    assert not (place.target / "one" / "log").exists()


def test_a_worker_not_set_up_is_neither_built_nor_measured(
    place: BuildDirs, capsys: pytest.CaptureFixture[str]
) -> None:
    entry, said = entry_of(place), "not set up: run `mldsa-lab workers setup one`"
    with pytest.raises(BuildError, match=f"^{said}$"):
        build(entry, place, quiet)
    with Fleet() as fleet:
        assert start(entry, Limits(), place, fleet, Screen(console())) == [Skipped("one", said)]
    assert f"left out: worker one: {said}" in capsys.readouterr().out


def test_the_command(
    place: BuildDirs, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(BuildDirs, "for_tree", lambda root: place)
    setup()
    assert capsys.readouterr().out == "one (C): not set up\n"
    setup("one", "plain")
    assert "plain (C): nothing to set up\n" in capsys.readouterr().out
    assert is_set_up(entry_of(place), place)
    setup("one")
    out = capsys.readouterr().out
    assert out.endswith("one (C): is set up\nnext       mldsa-lab bench --quick --workers all\n")
    assert log(place) == ["one", "two"]
    setup()
    assert capsys.readouterr().out == "one (C): set up\n"
    with pytest.raises(LabError, match="unknown worker 'two': the registry has one, plain"):
        setup("two")


def test_what_bench_and_doctor_say(place: BuildDirs, tmp_path: Path) -> None:
    folder = place.root / "lab" / "workers"
    registry = str(folder / "registry.toml")
    Path(registry).write_text(ENTRY.replace('folder = "lab/workers"', f'folder = "{folder}"'))
    reported = here("workers", "doctor", "--registry", registry).out
    assert "not set up" in reported and "run `mldsa-lab workers setup one`" in reported
    done = bench(
        tmp_path / "out", "--registry", registry, "--workers", "all", "--sets", "44", by=here
    )
    assert done.status == 2
    assert "worker one: not set up: run `mldsa-lab workers setup one`; worker plain: " in done.err


# --- jars -----------------------------------------------------------------------------------------

JAR = b"a jar"
DIGEST = hashlib.sha256(JAR).hexdigest()
LOCK = f"# pins\n\norg.some:thing:1.0 {DIGEST}\norg.some:thing:1.0:linux-x86_64 {DIGEST}\n"
NAMES = ["thing-1.0-linux-x86_64.jar", "thing-1.0.jar"]


class Handler(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def repository(tmp_path: Path) -> Iterator[str]:
    folder = tmp_path / "repository" / "org" / "some" / "thing" / "1.0"
    folder.mkdir(parents=True)
    for name in NAMES:
        (folder / name).write_bytes(JAR)
    handler = partial(Handler, directory=str(tmp_path / "repository"))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


def listed(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_jars_are_fetched_once_and_no_others_stay(
    tmp_path: Path, repository: str, capsys: pytest.CaptureFixture[str]
) -> None:
    lock, jars = tmp_path / "jars.lock", tmp_path / "jars"
    lock.write_text(LOCK)
    jars.mkdir()
    (jars / "thing-0.9.jar").touch()
    fetch.fetch(lock, jars, repository)
    assert listed(jars) == NAMES and {p.read_bytes() for p in jars.iterdir()} == {JAR}
    assert len(capsys.readouterr().out.splitlines()) == 2
    fetch.fetch(lock, jars, "http://127.0.0.1:9/")  # nobody listens there
    (jars / NAMES[1]).write_bytes(b"spoilt")
    fetch.fetch(lock, jars, repository)
    assert (jars / NAMES[1]).read_bytes() == JAR


def test_a_jar_of_another_checksum_never_gets_its_name(tmp_path: Path, repository: str) -> None:
    lock, jars = tmp_path / "jars.lock", tmp_path / "jars"
    other = hashlib.sha256(b"other").hexdigest()
    lock.write_text(LOCK.replace(f"linux-x86_64 {DIGEST}", f"linux-x86_64 {other}"))
    with pytest.raises(LabError, match=f"x86_64.jar: its SHA-256 is {DIGEST}, .* has {other}"):
        fetch.fetch(lock, jars, repository)
    assert listed(jars) == ["thing-1.0.jar"]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("org.some:absent:1.0 " + DIGEST, "absent-1.0.jar: cannot be fetched: HTTP Error 404"),
        ("org.some:../thing:2.0 " + DIGEST, "line 5: must be `group:artifact:version"),
        ("org.other:thing:1.0 " + DIGEST, "line 5: thing-1.0.jar is named by another line too"),
    ],
)
def test_refusals_of_jars(
    tmp_path: Path,
    repository: str,
    line: str,
    said: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("MLDSA_LAB_MAVEN", repository)
    lock = tmp_path / "jars.lock"
    lock.write_text(LOCK + line + "\n")
    assert fetch.main([str(lock), str(tmp_path / "jars")]) == 2
    err = capsys.readouterr().err
    assert said in err and len(err.splitlines()) == 1


def test_the_container_of_the_jvm_study_has_the_versions_of_the_repository() -> None:
    text = (ROOT / "lab" / "studies" / "Containerfile").read_text()
    workspace = tomllib.loads((ROOT / "lab" / "Cargo.toml").read_text())["workspace"]["package"]
    lab = tomllib.loads((ROOT / "lab" / "pyproject.toml").read_text())["project"]
    (toolchain,) = re.findall(r"--default-toolchain 1\.(\d+)\.\d+ ", text)
    assert int(toolchain) >= int(workspace["rust-version"].removeprefix("1."))
    # Debian bookworm's Python is 3.11.
    assert "/debian:bookworm-" in text and lab["requires-python"] == ">=3.11"
    study = tomllib.loads((ROOT / "lab" / "studies" / "jvm.toml").read_text())
    workers = {w for m in study["measure"] for w in m["workers"]} - {"jdks"}
    (fetched,) = re.findall(r'^ARG WORKERS="(.*)"$', text, re.MULTILINE)
    assert set(fetched.split()) == workers
