"""Which workers a run builds, and what is refused before any is built."""

from __future__ import annotations

from pathlib import Path

import pytest
from lab_runs import bench, here

from mldsa_lab.bench.launch import needed
from mldsa_lab.bench.options import Options, Profile
from mldsa_lab.errors import LabError
from mldsa_lab.worker.registry import WorkerEntry

RUST = WorkerEntry(
    "rust", "Rust", ".", (), ("x",), implementations=("mldsa-lanes", "aws-lc"),
    families=("ml-dsa", "classical"),
)  # fmt: skip
GO = WorkerEntry("go", "Go", ".", (), ("x",), implementations=("filippo", "circl"))
UNLISTED = WorkerEntry("own", "C", ".", (), ("x",))


KEMS = WorkerEntry(
    "kems", "Go", ".", (), ("x",), implementations=("circl-ml-kem",), families=("ml-kem",)
)


def chosen(
    *patterns: str,
    reference: str = "mldsa-native",
    unlisted: bool = False,
    sets: tuple[str, ...] = ("ML-DSA-44",),
    workers: tuple[str, ...] = (),
) -> list[str]:
    options = Options(
        sets=sets, operations=("sign",), implementations=patterns, workers=workers,
        profile=Profile("quick", 35.0, 5, 50), rounds=1, sizes=None,  # type: ignore[arg-type]
        reference=reference, clock="cpu",
        confidence=0.95, seed=bytes(32), timeout=1.0, out=Path("out"),
    )  # fmt: skip
    entries = [RUST, GO, KEMS, *([UNLISTED] if unlisted else [])]
    return [entry.name for entry in needed(entries, options)]


@pytest.mark.parametrize(
    ("patterns", "names"),
    [
        ((), ["rust", "go"]),
        (("filippo",), ["go"]),
        (("mldsa-lanes:avx2:*,aws-lc",), ["rust"]),
        (("mldsa*compact",), ["rust"]),
        (("*:expanded",), ["rust", "go"]),
        (("[fc]i*",), ["rust", "go"]),
        (("f*", "aws-lc:native:compact"), ["rust", "go"]),
        (("circl:tuned:?",), ["go"]),
    ],
)
def test_only_workers_that_may_have_a_pattern_are_built(
    patterns: tuple[str, ...], names: list[str]
) -> None:
    assert chosen(*patterns) == names


@pytest.mark.parametrize("pattern", ["nosuch", "nosuch:*", "aws-lcx", "aws", "zz*", "go:*:compact"])
def test_a_pattern_that_no_worker_can_have_is_refused(pattern: str) -> None:
    with pytest.raises(LabError, match=r"unknown implementation .*known are mldsa-lanes, aws-lc"):
        chosen("filippo", pattern)
    # A worker that lists nothing may have anything.
    assert chosen(pattern, unlisted=True) == ["own"]


def test_workers_without_the_sets_that_are_asked_for_are_not_built() -> None:
    # A worker that does not list its families may have any set.
    assert chosen(sets=("Ed25519", "RSA-2048-PSS")) == ["rust", "go"]
    assert chosen(sets=("ML-KEM-768",)) == ["go", "kems"]
    assert chosen(sets=("ML-DSA-44", "ML-KEM-768")) == ["rust", "go", "kems"]
    assert chosen("circl-ml-kem", "aws-lc") == ["rust"]
    # A run that finds nothing to measure has to say so.
    assert chosen("circl-ml-kem") == ["kems"]
    assert chosen(workers=("rust", "go", "kems")) == ["rust", "go", "kems"]


def test_nothing_is_built_before_the_refusal(tmp_path: Path) -> None:
    marker = tmp_path / "built"
    registry = tmp_path / "registry.toml"
    registry.write_text(
        '[[worker]]\nname = "one"\nlanguage = "Shell"\nfolder = "workers"\n'
        f'build = ["touch", "{marker}"]\nrun = ["true"]\nimplementations = ["it"]\n'
    )
    for option in ("--implementations", "--reference"):
        done = bench(tmp_path / "out", "--registry", str(registry), option, "nosuch", by=here)
        assert done.status == 2 and "'nosuch'" in done.err and "known are it" in done.err
        assert done.folder is None and not marker.exists()
    bench(tmp_path / "out", "--registry", str(registry), "--implementations", "it", by=here)
    assert marker.exists()
