"""`mldsa-lab compare`: what changed from one run to another, and what else differs."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
from lab_runs import here, rows_in
from msgspec import structs
from report_records import CLASSICAL, SIGNERS, Shape, rows

from mldsa_lab.errors import LabError
from mldsa_lab.estimate.compare import agreement_figures, compare
from mldsa_lab.estimate.contract import APART, FASTER, OVERLAPPING, SLOWER, UNCHANGED
from mldsa_lab.estimate.figure import Figure, Figures
from mldsa_lab.estimate.summary import Summary, summarise
from mldsa_lab.records import InputRow, RecordWriter, Run, WorkerRow, read_record
from mldsa_lab.records.rows import Row
from mldsa_lab.show.compare import FOLDED, comparison, effects
from mldsa_lab.show.report import as_csv

SET = "ML-DSA-65"
CELL = ("set", "operation", "variant", "quantity")
OURS = "mldsa-lanes:avx2:compact"
SHAPE = Shape(sets=(SET,), signers=SIGNERS, rounds=12)
# Another clock, other noise, and inputs of the same traces.
AGAIN = replace(SHAPE, seed=2)


def shaped(shape: Shape, **changed: object) -> Shape:
    """With these fields of our signer changed."""
    signers = tuple(replace(s, **changed) if s.id == OURS else s for s in shape.signers)  # type: ignore[arg-type]
    return replace(shape, signers=signers)


def slower(shape: Shape, factor: float) -> Shape:
    (ours,) = [s for s in shape.signers if s.id == OURS]
    cost = {name: tuple(factor * c for c in costs) for name, costs in ours.cost.items()}
    return shaped(shape, cost=cost)


def write(path: Path, shape: Shape, alter: Callable[[Row], Row] = lambda row: row) -> Path:
    path.unlink(missing_ok=True)
    with RecordWriter(path) as writer:
        for row in rows(shape):
            writer.write(alter(row))
    return path


def side(path: Path) -> Summary:
    return summarise(read_record(path))


# Of the record of the fixture `before` only: the others are written again and again.
first_side = cache(side)


def compared(*sides: Summary, pairs: tuple[tuple[str, str], ...] = ()) -> Figures:
    return compare(sides, pairs)


def changes(figures: Figures, of: str) -> dict[tuple[object, object], Figure]:
    """By variant and operation."""
    found = figures.select("change", of=of)
    return {(f.keys["variant"], f.keys["operation"]): f for f in found}


def verdicts(figures: Figures) -> list[str]:
    return [f.verdict for f in effects(figures)]


def on_another_cpu(row: Row) -> Row:
    if isinstance(row, Run):
        return structs.replace(row, machine={**row.machine, "cpu": "Another CPU"})
    return row


@pytest.fixture(scope="module")
def before(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("before") / "record.jsonl", SHAPE)


def compare_with(
    before: Path,
    tmp_path: Path,
    shape: Shape = AGAIN,
    alter: Callable[[Row], Row] = lambda row: row,
) -> Figures:
    return compared(first_side(before), side(write(tmp_path / "after.jsonl", shape, alter)))


def test_the_same_programs_again(before: Path, tmp_path: Path) -> None:
    found = compare_with(before, tmp_path)
    assert len(effects(found)) == 33 and not any(f.notes for f in effects(found))
    assert found[-1].keys == {"reference": "mldsa-native"} and found[-1].value is not None
    # 5 % of 33 cells each way; seven or more come once in a thousand.
    assert sum(v != UNCHANGED for v in verdicts(found)) < 7
    agreement = {(f.keys["operation"], f.keys["quantity"], f.keys["statistic"]): f.value
                 for f in agreement_figures(found)}  # fmt: skip
    assert agreement["sign", "ratio", "overlapping"] == agreement["sign", "ratio", "cells"]
    assert (agreement["verify", "ratio", "median"] or 9) < 0.02


@pytest.mark.parametrize(("factor", "said"), [(1.25, SLOWER), (0.8, FASTER)])
def test_a_change_is_found_where_it_is(
    before: Path, tmp_path: Path, factor: float, said: str
) -> None:
    found = compare_with(before, tmp_path, slower(AGAIN, factor))
    mine = [f for f in effects(found) if f.keys["variant"] == OURS]
    assert [(f.verdict, f.notes) for f in mine] == [(said, ())] * 3
    for f in mine:
        key = f.keys["variant"], f.keys["operation"]
        assert f.value == changes(found, "ratio")[key].value
        assert f.value == pytest.approx(factor, rel=0.05)
        assert changes(found, "ratio")[key].verdict == APART
    others = [f for f in effects(found) if not str(f.keys["variant"]).startswith("mldsa-lanes:")]
    assert sum(f.verdict != UNCHANGED for f in others) < 6


def test_a_slower_machine_hides_no_change(tmp_path: Path) -> None:
    classical = tuple(name for s in CLASSICAL for name in s.cost)
    shape = replace(SHAPE, sets=(SET, *dict.fromkeys(classical)), signers=SIGNERS + CLASSICAL)
    later = slower(replace(shape, seed=2), 1.15)
    cost = [{n: tuple(1.2 * c for c in of) for n, of in s.cost.items()} for s in later.signers]
    signers = tuple(replace(s, cost=c) for s, c in zip(later.signers, cost, strict=True))  # type: ignore[arg-type]
    first = write(tmp_path / "first.jsonl", shape)
    found = compare_with(first, tmp_path, replace(later, signers=signers))
    ratios = changes(found, "ratio")
    for f in effects(found):
        if (f.keys["variant"], f.keys["operation"]) not in ratios:
            assert f.verdict == UNCHANGED
    ours = [f.verdict for f in effects(found) if f.keys["variant"] == OURS]
    assert ours == [SLOWER] * 3 and found[-1].value is not None and found[-1].value < 0.08


@pytest.mark.e2e
def test_what_else_differs_is_said(before: Path, tmp_path: Path) -> None:
    def longer(row: Row) -> Row:
        return structs.replace(row, message=bytes(100)) if isinstance(row, InputRow) else row

    def newer(row: Row) -> Row:
        tell = isinstance(row, WorkerRow) and row.worker == "rust"
        return structs.replace(row, compiler="rustc 1.99.0") if tell else row

    def reasons(found: Figures) -> dict[object, list[str]]:
        """By operation of our signer, without details."""
        mine = [f for f in effects(found) if OURS in (f.keys["variant"], f.keys.get("before"))]
        return {f.keys["operation"]: [x.partition(":")[0] for x in f.notes] for f in mine}

    every = ("keygen", "sign", "verify")
    found = compare_with(before, tmp_path, AGAIN, on_another_cpu)
    assert reasons(found) == {operation: ["other machine"] for operation in every}
    assert all(len(f.notes) == 1 for f in effects(found))
    found = compare_with(before, tmp_path, AGAIN, newer)
    assert reasons(found) == {operation: ["other compiler or flags"] for operation in every}
    # The reference was compiled anew too, so nothing is judged by it.
    assert found[-1].keys == {}
    alike = {str(f.keys["variant"]).split(":")[1] for f in effects(found) if not f.notes}
    assert alike == {"go"}
    found = compare_with(before, tmp_path, AGAIN, longer)
    inputs = ["other inputs"]
    assert reasons(found) == {"keygen": [], "sign": inputs, "verify": inputs}
    found = compare_with(before, tmp_path, shaped(AGAIN, rnd="none"))
    assert reasons(found)["sign"] == ["other randomness"] and not reasons(found)["verify"]
    found = compare_with(before, tmp_path, shaped(AGAIN, backend="avx512"))
    assert reasons(found) == {operation: ["other backend"] for operation in every}
    gone = replace(AGAIN, signers=tuple(s for s in AGAIN.signers if s.id != OURS))
    found = compare_with(before, tmp_path, gone)
    lone = [f for f in found if f.name == "effect" and f.value is None]
    assert {(f.keys["variant"], f.notes) for f in lone} == {(OURS, ("only in run 1",))}


def test_few_other_implementations_show_nothing(before: Path, tmp_path: Path) -> None:
    few = replace(AGAIN, signers=tuple(s for s in AGAIN.signers if s.id == OURS))
    found = compare_with(before, tmp_path, few)
    assert found[-1].value is None and found[-1].keys == {}
    means = changes(found, "mean")
    for f in effects(found):
        assert f.interval == means[f.keys["variant"], f.keys["operation"]].interval


def test_two_variants_of_one_run_share_its_rounds(before: Path) -> None:
    run = first_side(before)
    with pytest.raises(LabError, match="one run: name what to compare with --pair"):
        compared(run, run)
    found = compared(run, run, pairs=(("mldsa-native", OURS),))
    assert found[-1].value is None and "the same rounds" in found[-1].notes[0]
    assert [f.keys["operation"] for f in effects(found)] == ["keygen", "sign", "verify"]
    rows = run.by_id
    for f in effects(found):
        operation = str(f.keys["operation"])
        before = str(f.keys["before"]).split()[0]
        one, other = (rows[variant, SET, operation] for variant in (OURS, before))
        assert f.interval == one.over(other, 0.95)
    for names in (("nosuch", OURS), (OURS, "nosuch")):
        with pytest.raises(LabError, match="--pair: unknown 'nosuch'"):
            compared(run, run, pairs=(names,))


def test_three_runs_have_a_column_each(before: Path, tmp_path: Path) -> None:
    middle = side(write(tmp_path / "b.jsonl", slower(AGAIN, 1.5)))
    last = side(write(tmp_path / "c.jsonl", replace(SHAPE, seed=3)))
    found = compared(first_side(before), middle, last)
    runs = [f.keys["run"] for f in found if f.name == "mean" and f.keys["variant"] == OURS]
    assert runs == [1, 2, 3] * 3
    change = changes(found, "ratio")[OURS, "sign"]
    assert change.value == pytest.approx(1, abs=0.05) and change.verdict == APART
    ours = changes(found, "ratio")["aws-lc:native:compact", "sign"]
    assert ours.verdict == OVERLAPPING


def test_csv_has_every_figure_of_a_comparison(before: Path, tmp_path: Path) -> None:
    after = write(tmp_path / "after.jsonl", slower(AGAIN, 1.25))
    shown = comparison(compared(first_side(before), side(after)), 0.95)
    lines = csv.DictReader(io.StringIO(as_csv([shown])))
    cells = {tuple(line.get(key, "") for key in CELL): line for line in lines}
    for f in shown.figures:
        line = cells[tuple(str(f.keys.get(key) or "") for key in CELL)]
        name = " ".join([f.name, *(f"{k}={f.keys[k]}" for k in FOLDED if k in f.keys)])
        assert line[name] == ("" if f.value is None else str(f.value)), name
        assert line.get(f"{name}_verdict", "") == f.verdict
    assert cells["ML-DSA-65", "sign", OURS, ""]["effect_verdict"] == SLOWER
    assert not any(line.get("started") for line in cells.values())


@pytest.mark.e2e
def test_the_command(before: Path, tmp_path: Path) -> None:
    after = write(tmp_path / "after.jsonl", slower(AGAIN, 1.25))
    table = tmp_path / "changes.json"
    arguments = ("compare", str(before), str(after))
    passed = here(*arguments, "--fail-above", "40", "--json", str(table))
    assert passed.status == 0, passed.err
    assert "0 of 33 cells are slower by more than 40 %" in " ".join(passed.out.split())
    found = [row for row in rows_in(table) if "effect" in row]
    cells = {(row["variant"], row["operation"]): row["effect_verdict"] for row in found}
    assert cells[OURS, "sign"] == "slower" and len(cells) == 33
    failed = here(*arguments, "--fail-above", "5")
    assert failed.status == 1
    assert "3 of 33 cells are slower by more than 5 %" in " ".join(failed.out.split())


@pytest.mark.e2e
def test_what_cannot_be_compared_is_refused(before: Path, tmp_path: Path) -> None:
    other = write(tmp_path / "other.jsonl", replace(AGAIN, sets=("ML-DSA-44",)))
    elsewhere = write(tmp_path / "cpu.jsonl", AGAIN, on_another_cpu)
    for arguments, said in (
        ((str(before), str(other)), "the runs have no cell (variant, set, operation) in common"),
        ((str(before), str(before)), "both records are of one run"),
        ((str(before), str(tmp_path / "no")), "no"),
        ((str(before), str(elsewhere), "--fail-above", "5"), "nothing can be judged"),
        ((str(before), str(other), "--pair", "a"), "--pair: must be BEFORE=AFTER, is 'a'"),
    ):
        done = here("compare", *arguments)
        assert done.status == 2 and said in done.err, done.err
