"""The public designs of rtl/others: their manifests, and what makes their text ready."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest
from lab_runs import here, load_script
from msgspec import structs

from mldsa_lab import LabError
from mldsa_lab.checkout import find_root
from mldsa_lab.estimate.figure import parse_identity
from mldsa_lab.files import decode_toml
from mldsa_lab_rtl.binding import header
from mldsa_lab_rtl.manifest import CoreFile, Manifest
from mldsa_lab_rtl.study_show import published, read_findings

OTHERS = find_root() / "rtl" / "others"
MANIFESTS = sorted(OTHERS.glob("*/*.toml"))


@pytest.fixture(scope="module")
def prepare() -> Any:
    return load_script(OTHERS / "prepare.py")


@pytest.fixture
def clone(tmp_path: Path) -> tuple[Path, str]:
    """A repository with a memory's file and a module that reads it, and its commit."""
    folder = tmp_path / "clone"
    folder.mkdir()
    (folder / "words.txt").write_text("1A\n2B")
    (folder / "rom.v").write_text("module rom;\r\ninitial read(words);\r\nendmodule\r\n")

    def git(*words: str) -> str:
        named = ("-c", "user.name=x", "-c", "user.email=x@x")
        argv = ["git", *named, *words]
        return subprocess.run(argv, cwd=folder, check=True, capture_output=True, text=True).stdout

    git("init", "-q")
    git("add", ".")
    git("commit", "-qm", "x")
    return folder, git("rev-parse", "HEAD").strip()


@pytest.mark.parametrize("path", MANIFESTS, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_a_manifest_is_sound(path: Path) -> None:
    """All but its sources, which are no part of this project."""
    file = decode_toml(path.read_text(encoding="utf-8"), CoreFile, str(path))
    released = Manifest(path, structs.replace(file, release="as it is"))
    assert file.standard == "round 3" and "namespace binding" in header(released, "c++")
    assert {"keygen", "sign", "verify"} <= file.operations.listed().keys()
    for source in file.sources:
        assert source.startswith("made/") or (path.parent / source).is_file()


@pytest.mark.parametrize("path", MANIFESTS, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_a_prepared_design_has_its_sources(path: Path) -> None:
    if not (path.parent / "made").is_dir():
        pytest.skip(f"{path.parent.name} is not fetched: python3 rtl/others/prepare.py")
    assert Manifest.read(path).sources()


def test_a_memory_becomes_text(
    prepare: Any, clone: tuple[Path, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(prepare, "HERE", tmp_path)
    (tmp_path / "core").mkdir()
    memory = {"file": "rom.v", "old": "read(words);", "name": "ram", "words": "words.txt"}
    edit = {"file": "rom.v", "old": r"module (\w+)", "new": r"module my_\1"}
    design = {"verilog": ["*.v"], "memories": [memory], "edits": [edit]}
    built = prepare.prepare("core", design, clone[0])
    text = (built / "rom.v").read_text()
    assert text == "module my_rom;\ninitial ram[0] = 'h1A;\nram[1] = 'h2B;\nendmodule\n"
    edit.update(old="none", new="x")
    with pytest.raises(prepare.PrepareError, match=r"rom\.v: nothing matches 'none'"):
        prepare.prepare("core", design, clone[0])
    with pytest.raises(prepare.PrepareError, match=r"has no \*\.vhd"):
        prepare.prepare("core", {"verilog": ["*.vhd"]}, clone[0])


def test_a_clone_must_be_at_the_commit(
    prepare: Any, clone: tuple[Path, str], capsys: pytest.CaptureFixture[str]
) -> None:
    folder, commit = clone
    assert prepare.check_commit(folder, commit) == folder
    assert prepare.main(["highperf", "--clone", str(folder)]) == 2
    said = capsys.readouterr().err
    assert f"is at {commit[:12]}: check out e70f3156e596" in said
    assert prepare.main(["other"]) == 2
    assert "no design 'other': there are highperf, lowres" in capsys.readouterr().err


SIGN, KEPT = "mean operation=sign", "mean operation=sign key=expanded"
PUBLISHED = (
    ("highperf", "HighPerf", "a", {"keygen": ("mean operation=keygen", 0.002),
     "verify": ("mean operation=verify", 0.001), "sign_mean": (SIGN, 0.04)}),
    ("lowres", "LowRes", "c", {"keygen": ("mean operation=keygen", 0.001),
     "verify": ("mean operation=verify", 0.002), "sign_best": ("min operation=sign", 0.002)}),
    ("lowres", "LowRes", "d", {"sign_mean": (KEPT, 0.04)}),
)  # fmt: skip


@pytest.mark.parametrize(("core", "design", "source", "names"), PUBLISHED)
def test_the_record_agrees_with_what_was_published(
    core: str, design: str, source: str, names: dict[str, tuple[str, float]]
) -> None:
    """Means of signing by the exact law; [d] counts no loading, so that it is compared with signing
    by a key that stays."""
    record = find_root() / "records" / "2026-11-27-rtl-others" / "round-3.json"
    of_core = {
        place: figures for place, figures in read_findings([record]).totals.items()
        if str(place[1]).startswith(core)
    }  # fmt: skip
    rows = [r for r in published()["cores"][f"{design}, round 3"] if r["source"] == source]
    assert len(rows) == 3
    for row in rows:
        of_set = [f for (name, _), fs in of_core.items() if name == row["set"] for f in fs]
        for name, (identity, most) in names.items():
            requested, keys = parse_identity(identity)
            places = {"set": row["set"], **keys}
            (ours,) = (f.value for f in of_set if f.name == requested
                       and {k: v for k, v in f.keys.items() if k != "core"} == places)  # fmt: skip
            assert ours == pytest.approx(row[name], rel=most)


def test_resources_stand_beside_the_cycles_of_their_core() -> None:
    folder = find_root() / "records" / "2026-11-27-rtl-others"
    done = here("rtl", "study", *map(str, sorted(folder.glob("*.json"))))
    (row,) = (r for r in done.out.splitlines() if "lowres e70f315-l2, round 3  this run" in r)
    assert "77,596" in row and "49,466" in row


def test_a_file_of_round_3_is_checked(tmp_path: Path) -> None:
    path = tmp_path / "round-3.json"
    path.write_text('{"format":"mldsa-lab round 3 cycles","version":2,"cores":[]}')
    with pytest.raises(LabError, match=r"round-3\.json.*version"):
        read_findings([path])
