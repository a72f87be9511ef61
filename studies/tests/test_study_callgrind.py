"""Instruction counts: what Callgrind writes, and a small worker in C under it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from study_material import c_worker, gathering, need_tools, signed

from mldsa_lab.errors import LabError
from mldsa_lab.worker.build import Place
from mldsa_lab.worker.registry import WorkerEntry
from mldsa_studies import callgrind
from mldsa_studies.callgrind import Counter, command, names, need_valgrind, take_counts
from mldsa_studies.collect import collect_counts
from mldsa_studies.costs import read_costs
from mldsa_studies.jobs import SignedInputs

DUMP = """\
version: 1
creator: callgrind-3.19.0
pid: 9
cmd:  ./t 10
part: {part}

desc: Timerange: Basic block 0 - 27
desc: Trigger: {trigger}

positions: line
events: Ir
summary: {total}

ob=(1) /t
fl=(1) t.c
fn=(1) main
+3 5
cfn=(2) sign(unsigned long)
calls=1 +3
* 100
fn=(3) deep'2
+3 5

totals: {total}
"""


def dump(folder: Path, part: int, total: object, trigger: str = "--dump-after=sign") -> None:
    text = DUMP.format(part=part, total=total, trigger=trigger)
    (folder / f"out.{part}").write_text(text, encoding="utf-8")


def test_counts_are_read_in_the_order_of_the_calls(tmp_path: Path) -> None:
    for part in range(1, 13):
        dump(tmp_path, part, 100 * part)
    (tmp_path / "out").write_text("", encoding="utf-8")
    assert take_counts(tmp_path / "out", "sign") == [100 * part for part in range(1, 13)]
    assert take_counts(tmp_path / "out", "sign") == []
    assert [p.name for p in tmp_path.iterdir()] == ["out"]


@pytest.mark.parametrize(
    ("total", "trigger", "rule"),
    [
        (5, "Program termination", "wrote no count after sign: Program termination"),
        (5, "--dump-after=other", "wrote no count after sign"),
        ("", "--dump-after=sign", "wrote no total after sign"),
        ("1 2", "--dump-after=sign", "wrote no total after sign"),
    ],
)
def test_what_is_no_count(tmp_path: Path, total: object, trigger: str, rule: str) -> None:
    dump(tmp_path, 1, total, trigger)
    with pytest.raises(LabError, match=rule):
        take_counts(tmp_path / "out", "sign")


def test_names_without_their_recursion_levels(tmp_path: Path) -> None:
    dump(tmp_path, 1, 5)
    assert names(tmp_path / "out.1") == {"main", "sign(unsigned long)", "deep"}


def test_a_missing_valgrind_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(LabError, match="valgrind is not installed: install it"):
        need_valgrind()


@pytest.mark.toolchain
def test_a_function_has_to_be_known() -> None:
    need_tools()
    with pytest.raises(LabError, match="worker other: which of its functions"):
        Counter(WorkerEntry("other", "C", ".", (), ("w",)), Place(Path(), Path()))


@pytest.mark.toolchain
def test_a_worker_in_c(tmp_path: Path) -> None:
    need_tools()
    made = signed(7)
    entry, place = c_worker(tmp_path, made)
    with Counter(entry, place, "sign_o*") as counter:
        assert counter.tool.startswith("Callgrind, valgrind")
        variant = counter.variant("toy", "ML-DSA-44")
        assert variant.id == "toy:fast:compact"
        seen: list[int] = []
        counts = counter.count(variant, made, seen.append)
        assert seen == [7]
        again = counter.count(variant, made)
        assert counts.tolist() == again.tolist()
        # The work is linear in the first byte, and nothing else is counted but strtol's few.
        bytes_ = np.array([i.what.message[0] for i in made.inputs], dtype=float)
        fit = np.polynomial.Polynomial.fit(bytes_, counts.astype(float), 1)
        slope = fit.convert().coef[1] / 100
        assert slope == pytest.approx(round(slope), abs=0.05) and 3 <= slope <= 8
        assert np.abs(fit(bytes_) - counts).max() < 40
        with pytest.raises(LabError, match="unknown implementation 'other'"):
            counter.variant("other", "ML-DSA-44")
        with pytest.raises(LabError, match="has no set ML-DSA-65"):
            counter.variant("toy", "ML-DSA-65")
        mixed = replace(made.inputs[0], outputs=made.inputs[1].outputs)
        wrong = SignedInputs(made.set, (mixed, *made.inputs[1:]))
        with pytest.raises(LabError, match=r"toy:fast:compact, ML-DSA-44, input 0: the signature"):
            counter.count(variant, wrong)
    with (
        Counter(entry, place, "no_such_*") as counter,
        pytest.raises(LabError, match="one function no_such_"),
    ):
        counter.count(counter.variant("toy", "ML-DSA-44"), made)


@pytest.mark.toolchain
def test_counts_are_collected_part_by_part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    need_tools()
    monkeypatch.setattr("mldsa_studies.collect.COUNT_PART", 4)
    monkeypatch.setattr(callgrind, "PART", 3)
    made = signed(9)
    entry, place = c_worker(tmp_path, made)
    files: list[tuple[int, int]] = []

    def show(text: str, *, step: float = 0) -> None:
        path = tmp_path / "ml-dsa-44-counts.parquet"
        if path.exists() and step:
            found = read_costs(path)
            files.append((len(found), found.sample))

    with Counter(entry, place, "sign_one") as counter:
        variants = counter.announcement.variants
        item = gathering(9, variants, sample=6)
        (path,) = collect_counts(counter, [item], tmp_path, show)
        whole = counter.count(variants[0], made)
    found = read_costs(path)
    assert set(files) == {(4, 4), (8, 6)}
    assert found.unit == "instructions" and len(found) == 9 and found.sample == 6
    assert [s.variant for s in found.series] == ["toy:fast:compact", "toy:portable:compact"]
    for series in found.series:
        assert series.cost.tolist() == [whole.tolist()]
        assert series.about.clock.startswith("Callgrind")
    assert found.table.traces() == item.table.traces()


def test_the_words_for_callgrind() -> None:
    assert command(Path("/x/out"), None)[-1] == "--callgrind-out-file=/x/out"
    assert command(Path("/x/out"), "f(a,b)")[-2:] == [
        "--toggle-collect=f(a,b)",
        "--dump-after=f(a,b)",
    ]
