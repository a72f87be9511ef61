"""The Java worker beyond the protocol: what it announces, and what it does without its jars."""

from __future__ import annotations

from pathlib import Path

import pytest
from lab_runs import here

from mldsa_lab.sets import sets_of
from mldsa_lab.worker.build import build, unmet
from mldsa_lab.worker.fetch import read_lock
from mldsa_lab.worker.registry import Place, WorkerEntry, read_registry
from mldsa_lab.worker.worker import Worker, WorkerFault

pytestmark = pytest.mark.toolchain

ROOT = Path(__file__).parents[2]
PLACE = Place.of(ROOT)
ENTRIES = {e.name: e for e in read_registry(ROOT / "workers" / "registry.toml")}
# Those on pinned runtimes: the machine's own Java may be any.
JAVA = [e for e in ENTRIES.values() if e.folder == "workers/java" and e.program != "java"]


def argv(entry: WorkerEntry) -> list[str]:
    """The command of a worker, built; the test is skipped where it is not set up."""
    if lacking := unmet(entry, PLACE):
        pytest.skip("; ".join(lacking))
    build(entry, PLACE, lambda line: None)
    return entry.fill(entry.run, PLACE)


@pytest.mark.parametrize("entry", JAVA, ids=lambda entry: entry.name)
def test_versions_are_those_of_the_lock_file(entry: WorkerEntry) -> None:
    with Worker.start(entry.name, argv(entry), cwd=ROOT) as worker:
        announced = worker.hello()
    jars = " ".join(read_lock(ROOT / "workers" / "java" / "jars.lock"))
    artifacts = {
        "bouncycastle": "bcprov-jdk18on",
        "bouncycastle-1.83": "bcprov-jdk18on",
        "accp": "AmazonCorrettoCryptoProvider",
        "conscrypt": "conscrypt-openjdk-uber",
    }
    found = {v.implementation: v for v in announced.variants}
    beside = {
        f"{name}-{family}" for name in list(artifacts)[:2] for family in ("ml-kem", "slh-dsa")
    }
    assert found.keys() - {"jdk", "jdk-ml-kem"} == artifacts.keys() | beside
    for name, v in found.items():
        artifact = artifacts.get(name.removesuffix("-ml-kem").removesuffix("-slh-dsa"))
        assert artifact is None or f"{artifact}-{v.version}" in jars
    assert found["bouncycastle-1.83"].version == "1.83" != found["bouncycastle"].version
    release, _, avx = entry.name.removeprefix("java-").partition("-avx")
    assert f" {release}." in announced.compiler and f"UseAVX={avx}" in announced.flags
    assert ("jdk" in found) == (release == "25")  # the pinned runtimes; a later 21 may have it
    assert ("jdk-ml-kem" in found) == (release == "25")
    assert len(found["bouncycastle-slh-dsa"].sets) == len(sets_of("slh-dsa"))
    # 17.0.9 has no javax.crypto.KEM: BouncyCastle is called by its own interface.
    assert ("KeyGenerator with" in found["bouncycastle-ml-kem"].note) == (release == "17")
    forms = {v.implementation: v.private_keys for v in announced.variants}
    assert forms["bouncycastle-ml-kem"] == ("seed", "sk") and forms["bouncycastle-1.83-ml-kem"] == (
        "seed",
    )


def test_conscrypt_signs_with_ntt_forms_in_its_keys_and_verifies_without() -> None:
    with Worker.start("java-25", argv(ENTRIES["java-25"]), cwd=ROOT) as worker:
        found = [v for v in worker.hello().variants if v.implementation == "conscrypt"]
    assert {v.key: v.operations for v in found} == {
        "expanded": ("sign", "lookup"),
        "compact": ("verify",),
    }


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


def test_a_provider_that_lacks_a_set_is_refused_in_one_line(tmp_path: Path) -> None:
    argv(ENTRIES["java-25"])
    done = here(
        "bench", "--workers", "java-25", "--implementations", "accp", "--sets", "ml-kem",
        "--out", str(tmp_path / "out"),
    )  # fmt: skip
    assert done.status == 2 and not (tmp_path / "out").exists()
    assert done.err == (
        "mldsa-lab: error: nothing to measure: none of the chosen implementations has ML-KEM-512 "
        "or ML-KEM-768 or ML-KEM-1024\n"
    )
