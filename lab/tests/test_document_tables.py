"""scripts/documents.py fills the tables of documents from records."""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from lab_runs import build_rust
from report_records import SIGNERS, Shape, build
from tiers import first_of

ROOT = Path(__file__).parents[2]


def load_script() -> ModuleType:
    spec = importlib.util.spec_from_file_location(
        "document_script", ROOT / "scripts" / "documents.py"
    )
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


SCRIPT: Any = load_script()
MARKED = [str(path.relative_to(ROOT)) for path in SCRIPT.documents()]
# Impact signs samples, with workers in Rust.
SCENARIOS = [n for n in MARKED if "<!-- mldsa-lab:impact" in (ROOT / n).read_text()]


@pytest.mark.parametrize("name", first_of([n for n in MARKED if n not in SCENARIOS]))
def test_tables_of_documents_are_up_to_date(name: str) -> None:
    """If this fails: `make tables`."""
    assert {"README.md", "docs/rtl.md", "docs/methodology.md"} <= set(MARKED)
    assert SCRIPT.main(["--check", str(ROOT / name)]) == 0


@pytest.mark.toolchain
def test_tables_of_scenarios_are_up_to_date() -> None:
    for worker in ("rust", "rust-families"):
        build_rust(worker)
    assert SCRIPT.main(["--check", *(str(ROOT / name) for name in SCENARIOS)]) == 0


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("documents")
    build(
        made / "run.jsonl", Shape(sets=("ML-DSA-65",), signers=SIGNERS, rounds=4, batch_sizes=(8,))
    )
    return made


def note(folder: Path, words: str) -> Path:
    """A document with a marker, and one within a block of code."""
    target = folder / "NOTES.md"
    text = f"<!-- mldsa-lab:table record=run.jsonl {words} -->\nold\n<!-- /mldsa-lab:table -->\n"
    target.write_text(f"```\n{text}```\n{text}After.\n")
    return target


def rows(folder: Path, words: str) -> list[list[str]]:
    """The cells of the table that the script makes."""
    target = note(folder, words)
    before = target.read_text()
    assert SCRIPT.main(["--check", str(target)]) == 1 and target.read_text() == before
    assert SCRIPT.main([str(target)]) == 0 == SCRIPT.main(["--check", str(target)])
    text = target.read_text()
    example, _, made = text.partition("```\n<!--")[2].partition("```\n")
    assert "\nold\n" in example and "old" not in made and text.endswith("-->\nAfter.\n")
    lines = [line for line in made.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def test_rows_are_implementations_variants_or_operations(folder: Path) -> None:
    header, _, *lines = rows(folder, 'rows=variants columns=key,"by=variant",sign@65.mean')
    assert header == ["key", "by", "sign 65, mean, µs"]
    costs = [float(line[2].split()[0].replace(",", "")) for line in lines]
    assert costs == sorted(costs) and "±" in lines[0][2]
    _, _, *lines = rows(folder, "columns=implementation,sign.ratio implementations=aws-lc,circl")
    assert sorted(line[0] for line in lines) == ["aws-lc", "circl"]
    words = "sets=65 operations=sign,verify implementations=mldsa-lanes"
    header, _, *lines = rows(folder, f"rows=operations {words}")
    assert header == ["", "65"] and {"sign", "sign, expanded key"} <= {line[0] for line in lines}
    _, _, *lines = rows(folder, "rows=fastest sets=65 operations=sign")
    assert re.fullmatch(r"([\w-]+); ([\w-]+) × (\d\.\d\d)", lines[0][1])


@pytest.mark.parametrize(
    ("words", "rule"),
    [
        ("nonsense", "'nonsense': must be NAME=VALUE"),
        ("colour=red", "unknown field `colour`"),
        ("rows=all", "Invalid enum value 'all'"),
        ("columns=sign@65.p42", "column 'sign@65.p42': must be one of"),
        ("sets=66 columns=key", "unknown parameter set '66'"),
        ("implementations=nosuch columns=key", "nothing of what the marker asks for"),
        ("columns='sign", "No closing quotation"),
    ],
)
def test_a_wrong_marker_is_named_and_nothing_is_written(
    folder: Path, capsys: pytest.CaptureFixture[str], words: str, rule: str
) -> None:
    target = note(folder, words)
    before = target.read_text()
    assert SCRIPT.main([str(target)]) == 2 and target.read_text() == before
    error = capsys.readouterr().err
    assert f"{target}:6: " in error and rule in error
    target.write_text("<!-- mldsa-lab:table rows=block -->\n")
    assert SCRIPT.main([str(target)]) == 2 and "has no end" in capsys.readouterr().err
