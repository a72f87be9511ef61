"""Java: `--worker FOLDER` takes one of the machine; what the pinned ones announce."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest
from lab_runs import here, lab

from mldsa_lab import LabError
from mldsa_lab.sets import list_sets
from mldsa_lab.study.run import begin
from mldsa_lab.worker.build import Jdk, build, find_jdks, is_set_up, jdk_entries, unmet
from mldsa_lab.worker.fetch import read_lock
from mldsa_lab.worker.registry import BuildDirs, WorkerEntry, read_registry
from mldsa_lab.worker.worker import Worker, WorkerFault

ROOT = Path(__file__).parents[2]
PLACE = BuildDirs.for_tree(ROOT)
OWN = read_registry(ROOT / "lab" / "workers" / "registry.toml")
JAVA = {e.name: e for e in OWN}["java"]
TOLD = {
    "java.specification.version": "21",
    "java.vendor": "Amazon.com Inc.",
    "java.vendor.version": "Corretto-21.0.13.1",
    "java.version": "21.0.13",
}
MODULES = ("java.base", "java.compiler", "java.management")


def make(folder: Path, changed: dict[str, str] | None = None, modules: tuple[str, ...] = MODULES,
         status: int = 0) -> Path:  # fmt: skip
    """A folder with a program that speaks as `java` does of its version and modules."""
    properties = "".join(f"    {k} = {v}\n" for k, v in (TOLD | (changed or {})).items())
    listed = "".join(f"{name}@21.0.13\n" for name in modules)
    (folder / "bin").mkdir(parents=True)
    java = folder / "bin" / "java"
    answers = f"case $1 in --list-modules) printf %s {shlex.quote(listed)};; *) "
    java.write_text(
        f"#!/bin/sh\n{answers}printf %s {shlex.quote(properties)};; esac\nexit {status}\n"
    )
    java.chmod(0o755)
    return folder


@pytest.mark.parametrize(
    ("changed", "name"),
    [
        ({}, "java-21.0.13-corretto"),
        ({"java.vendor": "Eclipse Adoptium", "java.vendor.version": "Temurin-21.0.13+3"},
         "java-21.0.13-temurin"),
        ({"java.vendor": "Debian", "java.vendor.version": ""}, "java-21.0.13-debian"),
        ({"java.vendor": "", "java.vendor.version": ""}, "java-21.0.13"),
        ({"java.version": "27-ea", "java.specification.version": "27"}, "java-27-ea-corretto"),
    ],
)  # fmt: skip
def test_a_jdk_is_named_by_its_version_and_vendor(
    tmp_path: Path, changed: dict[str, str], name: str
) -> None:
    assert Jdk.at(make(tmp_path / "jdk", changed)).name == name


def test_a_jdk_is_the_worker_java_on_its_own_program(tmp_path: Path) -> None:
    folder = make(tmp_path / "jdk")
    first, second = jdk_entries([str(folder), f"mine={folder}"], OWN)
    assert (first.name, second.name) == ("java-21.0.13-corretto", "mine")
    run = second.fill(second.run, BuildDirs(ROOT, Path("/t")))
    assert run[0] == str(folder / "bin" / "java") and "mine" in run
    theirs = JAVA.fill(JAVA.run, BuildDirs(ROOT, Path("/t")))
    assert [part.replace("mine", "java") for part in run[1:]] == theirs[1:]
    assert second.home(Path("/t")) == JAVA.home(Path("/t")) and second.default
    assert is_set_up(second, PLACE) == is_set_up(JAVA, PLACE)
    assert not jdk_entries([], OWN)


@pytest.fixture(scope="module")
def jdks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of a sound JDK and of others."""
    folder = tmp_path_factory.mktemp("jdks")
    make(folder / "sound")
    for name, version, release in (("8", "1.8.0_432", "1.8"), ("11", "11.0.25", "11")):
        make(folder / name, {"java.version": version, "java.specification.version": release})
    make(folder / "silent", {"java.version": ""})
    make(folder / "small", modules=("java.base",))
    make(folder / "broken", status=3)
    (make(folder / "closed") / "bin" / "java").chmod(0o644)
    (folder / "empty").mkdir()
    return folder


@pytest.mark.parametrize(
    ("texts", "rule"),
    [
        (["DIR/8"], r"/8\b.* is Java 1\.8\.0_432: the worker needs 17 or newer"),
        (["DIR/11"], r"is Java 11\.0\.25: the"),
        (["DIR/silent"], "does not tell its version"),
        (["DIR/missing"], r"missing: there is no such folder$"),
        (["name=DIR/empty"], r"is no JDK: it has no bin/java$"),
        (["Two Words=DIR/sound"], r"the name must be small letters.*'Two Words'"),
        (["DIR/small"], r"needs the module java\.management, which it lacks"),
        (["DIR/broken"], r"bin/java does not start \(status 3\):"),
        (["DIR/closed"], r"bin/java does not start: Permission denied"),
        (["~nobody-here/jdk"], "home directory"),
        (["x" * 300], "File name too long"),
        ([f"n={'x' * 300}"], "File name too long"),
        (["DIR/sound", "DIR/sound"], r"is called \S+ already; NAME=PATH names another"),
        (["java-25=DIR/sound"], r"is called \S+ already; NAME=PATH names another"),
        (["jdks=DIR/sound"], "name must not be 'jdks', which means several workers"),
    ],
)  # fmt: skip
def test_paths_and_names_that_are_refused(jdks: Path, texts: list[str], rule: str) -> None:
    with pytest.raises(LabError, match=rule):
        jdk_entries([text.replace("DIR", str(jdks)) for text in texts], OWN)


def test_the_refusal_is_one_line_before_anything_is_built(tmp_path: Path) -> None:
    for command in (["bench", "--worker"], ["workers", "conform"], ["workers", "doctor"]):
        done = here(*command, str(tmp_path))
        assert done.status == 2 and not done.out
        assert done.err == f"mldsa-lab: error: {tmp_path} is no JDK: it has no bin/java\n"


def test_java_home_and_the_usual_folders_are_searched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = tmp_path / ".sdkman" / "candidates" / "java"
    make(kept / "21.0.13-amzn")
    make(kept / "11.0.25-amzn", {"java.version": "11.0.25", "java.specification.version": "11"})
    (kept / "current").symlink_to(kept / "21.0.13-amzn")
    make(tmp_path / "own", {"java.version": "23.0.2", "java.specification.version": "23"})
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "own"))
    result = [jdk for jdk in find_jdks() if tmp_path in jdk.folder.parents]
    assert [jdk.name for jdk in result] == ["java-23.0.2-corretto", "java-21.0.13-corretto"]
    assert {jdk.folder.name for jdk in result} == {"own", "21.0.13-amzn"}
    for nowhere in ("/", "x" * 300):
        monkeypatch.setenv("JAVA_HOME", nowhere)
        assert {jdk.name for jdk in find_jdks()} >= {"java-21.0.13-corretto"}


def test_a_study_goes_on_with_the_jdks_it_began_with(tmp_path: Path) -> None:
    study, out = ROOT / "lab" / "studies" / "jvm.toml", tmp_path / "out"
    seed = begin(study, "default", out, ["a=/a", "b=/b"])
    assert begin(study, "default", out, ["a=/a", "b=/b"]) == seed
    (out / "01-01" / "run").mkdir(parents=True)
    (out / "01-01" / "run" / "record.jsonl").touch()
    with pytest.raises(LabError, match="measures, or --worker, was changed"):
        begin(study, "default", out, ["a=/a"])


@pytest.mark.toolchain
def test_a_jdk_of_the_machine_is_measured_under_its_name(tmp_path: Path) -> None:
    """The pinned runtime, named by its folder."""
    java = {e.name: e for e in OWN}["java-25"]
    for entry in (java, JAVA):
        if lacking := unmet(entry, PLACE):
            pytest.skip(f"{entry.name}: {'; '.join(lacking)}")
    folder = Path(java.fill(java.run, PLACE)[0]).parents[1]
    result = lab(
        "bench", "--quick", "--workers", f"java-25,found={folder}", "--sets", "ml-kem",
        "--implementations", "jdk-ml-kem", "--operations", "decaps", "--rounds", "1",
        "--to", "none", "--out", str(tmp_path),
    )  # fmt: skip
    assert result.status == 0, result.err
    (path,) = tmp_path.glob("*/record.jsonl")
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    workers = {row["worker"]: row for row in rows if row["type"] == "worker"}
    assert set(workers) == {"java-25", "found"}
    own, other = workers["java-25"], workers["found"]
    assert own["compiler"] == other["compiler"] and " 25." in own["compiler"]
    for flag in ("GC ", "UseAVX=", "UseDilithiumIntrinsics=", "UseKyberIntrinsics="):
        assert flag in own["flags"]
    samples = {row["variant"].split(":")[1] for row in rows if row["type"] == "samples"}
    assert samples == {"native+java-25", "native+found"}


# --- the worker beyond the protocol ---------------------------------------------------------------


ENTRIES = {e.name: e for e in OWN}
# Those on pinned runtimes: the machine's own Java may be any.
PINNED = [e for e in ENTRIES.values() if e.folder == "lab/workers/java" and e.program != "java"]


def argv(entry: WorkerEntry) -> list[str]:
    """The command of a worker, built; the test is skipped where it is not set up."""
    if lacking := unmet(entry, PLACE):
        pytest.skip("; ".join(lacking))
    build(entry, PLACE, lambda line: None)
    return entry.fill(entry.run, PLACE)


@pytest.mark.toolchain
@pytest.mark.parametrize("entry", PINNED, ids=lambda entry: entry.name)
def test_versions_are_those_of_the_lock_file(entry: WorkerEntry) -> None:
    with Worker.start(entry.name, argv(entry), cwd=ROOT) as worker:
        announced = worker.hello()
    jars = " ".join(read_lock(ROOT / "lab" / "workers" / "java" / "jars.lock"))
    result = {v.implementation: v for v in announced.variants}
    for name, artifact in (
        ("bouncycastle", "bcprov-jdk18on"), ("bouncycastle-1.83", "bcprov-jdk18on"),
        ("accp", "AmazonCorrettoCryptoProvider"), ("conscrypt", "conscrypt-openjdk-uber"),
    ):  # fmt: skip
        assert f"{artifact}-{result[name].version}" in jars
    assert result["bouncycastle-1.83"].version == "1.83" != result["bouncycastle"].version
    release, _, avx = entry.name.removeprefix("java-").partition("-avx")
    assert f" {release}." in announced.compiler and f"UseAVX={avx}" in announced.flags
    # The pinned runtimes; a later 21 may have it.
    assert ("jdk" in result) == ("jdk-ml-kem" in result) == (release == "25")
    assert len(result["bouncycastle-slh-dsa"].sets) == len(list_sets("slh-dsa"))
    # 17.0.9 has no javax.crypto.KEM: BouncyCastle is called by its own interface.
    assert ("KeyGenerator with" in result["bouncycastle-ml-kem"].note) == (release == "17")
    assert result["bouncycastle-ml-kem"].private_keys == ("seed", "sk")
    assert result["bouncycastle-1.83-ml-kem"].private_keys == ("seed",)
    # Conscrypt signs with NTT forms in its keys, and verifies without.
    conscrypt = [v for v in announced.variants if v.implementation == "conscrypt"]
    if release == "25":
        known = {"expanded": ("sign", "lookup"), "compact": ("verify",)}
        assert {v.key: v.operations for v in conscrypt} == known


@pytest.mark.toolchain
def test_a_provider_without_its_jar_is_left_out(tmp_path: Path) -> None:
    command = argv(ENTRIES["java-25"])
    with Worker.start("java-25", [*command[:-1], str(tmp_path)], cwd=ROOT) as worker:
        assert [v.implementation for v in worker.hello().variants] == ["jdk", "jdk-ml-kem"]
    command = argv(ENTRIES["java-17"])
    with (
        Worker.start("java-17", [*command[:-1], str(tmp_path)], cwd=ROOT) as worker,
        pytest.raises(WorkerFault, match=r"no variant is announced"),
    ):
        worker.hello()
