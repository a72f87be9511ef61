"""`mldsa-lab compare`: what changed from one run to another, and what else differs."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from lab_runs import here, rows_in
from msgspec import structs
from report_records import SIGNERS, Shape, record_of, rows, write

from mldsa_lab import LabError
from mldsa_lab.estimate.compare import agreement_figures, compare
from mldsa_lab.estimate.figure import APART, FASTER, OVERLAPPING, SLOWER, UNCHANGED, Figure, Figures
from mldsa_lab.estimate.summary import Summary, summarise
from mldsa_lab.kinds.reports import FOLDED, compare_figures, find_effects
from mldsa_lab.records import InputRow, Record, Run, WorkerRow
from mldsa_lab.records.rows import Row
from mldsa_lab.show.report import as_csv

SET = "ML-DSA-65"
CELL = ("set", "operation", "variant", "quantity")
OURS = "mldsa-lanes:avx2:compact"
SHAPE = Shape(sets=(SET,), signers=SIGNERS, rounds=12)
FEW = replace(SHAPE, signers=(*SIGNERS[2:6], SIGNERS[9]))
# Another clock, other noise, and inputs of the same traces.
AGAIN = replace(SHAPE, seed=2)


def shaped(shape: Shape, factor: float = 1.0, **changed: object) -> Shape:
    """With these fields of our signer changed, and its cost."""
    signers = (s.scaled(factor, **changed) if s.id == OURS else s for s in shape.signers)
    return replace(shape, signers=tuple(signers))


def changes(figures: Figures, part: str) -> dict[tuple[object, object], Figure]:
    """By variant and operation."""
    result = figures.select("change", of=part)
    return {(f.keys["variant"], f.keys["operation"]): f for f in result}


def on_another_cpu(row: Row) -> Row:
    if isinstance(row, Run):
        return structs.replace(row, machine={**row.machine, "cpu": "Another CPU"})
    return row


@pytest.fixture(scope="module")
def before() -> Summary:
    return summarise(record_of(SHAPE))


def compare_with(
    before: Summary, shape: Shape = AGAIN, alter: Callable[[Row], Row] = lambda row: row
) -> Figures:
    run, *others = map(alter, rows(shape))
    assert isinstance(run, Run)
    record = Record(run)
    for row in others:
        record.add(row)
    return compare((before, summarise(record)), ())


def test_the_same_programs_again(before: Summary) -> None:
    result = compare_with(before)
    assert len(find_effects(result)) == 33 and not any(f.notes for f in find_effects(result))
    assert result[-1].keys == {"reference": "mldsa-native"} and result[-1].value is not None
    # 5 % of 33 cells each way; seven or more come once in a thousand.
    assert sum(f.verdict != UNCHANGED for f in find_effects(result)) < 7
    agreement = {(f.keys["operation"], f.keys["quantity"], f.keys["statistic"]): f.value
                 for f in agreement_figures(result)}  # fmt: skip
    assert agreement["sign", "ratio", "overlapping"] == agreement["sign", "ratio", "cells"]
    assert (agreement["verify", "ratio", "median"] or 9) < 0.02


@pytest.mark.parametrize(("factor", "said"), [(1.25, SLOWER), (0.8, FASTER)])
def test_a_change_is_found_where_it_is(before: Summary, factor: float, said: str) -> None:
    result = compare_with(before, shaped(AGAIN, factor))
    mine = [f for f in find_effects(result) if f.keys["variant"] == OURS]
    assert [(f.verdict, f.notes) for f in mine] == [(said, ())] * 3
    for f in mine:
        key = f.keys["variant"], f.keys["operation"]
        assert f.value == changes(result, "ratio")[key].value
        assert f.value == pytest.approx(factor, rel=0.05)
        assert changes(result, "ratio")[key].verdict == APART
    others = [
        f for f in find_effects(result) if not str(f.keys["variant"]).startswith("mldsa-lanes:")
    ]
    assert sum(f.verdict != UNCHANGED for f in others) < 6


@pytest.mark.e2e
def test_what_else_differs_is_said() -> None:
    before = summarise(record_of(FEW))
    later = replace(FEW, seed=2)

    def longer(row: Row) -> Row:
        return structs.replace(row, message=bytes(100)) if isinstance(row, InputRow) else row

    def newer(row: Row) -> Row:
        tell = isinstance(row, WorkerRow) and row.worker == "rust"
        return structs.replace(row, compiler="rustc 1.99.0") if tell else row

    def reasons(result: Figures) -> dict[object, list[str]]:
        """By operation of our signer, without details."""
        mine = [
            f for f in find_effects(result) if OURS in (f.keys["variant"], f.keys.get("before"))
        ]
        return {f.keys["operation"]: [x.partition(":")[0] for x in f.notes] for f in mine}

    every = ("keygen", "sign", "verify")
    result = compare_with(before, later, on_another_cpu)
    assert reasons(result) == {operation: ["other machine"] for operation in every}
    assert all(len(f.notes) == 1 for f in find_effects(result))
    result = compare_with(before, later, newer)
    assert reasons(result) == {operation: ["other compiler or flags"] for operation in every}
    # The reference was compiled anew too, so nothing is judged by it.
    assert result[-1].keys == {}
    alike = {str(f.keys["variant"]).split(":")[1] for f in find_effects(result) if not f.notes}
    assert alike == {"go"}
    result = compare_with(before, later, longer)
    inputs = ["other inputs"]
    assert reasons(result) == {"keygen": [], "sign": inputs, "verify": inputs}
    result = compare_with(before, shaped(later, rnd="none"))
    assert reasons(result)["sign"] == ["other randomness"] and not reasons(result)["verify"]
    result = compare_with(before, shaped(later, backend="avx512"))
    assert reasons(result) == {operation: ["other backend"] for operation in every}
    gone = replace(later, signers=tuple(s for s in later.signers if s.id != OURS))
    result = compare_with(before, gone)
    lone = [f for f in result if f.name == "effect" and f.value is None]
    assert {(f.keys["variant"], f.notes) for f in lone} == {(OURS, ("only in run 1",))}


def test_few_other_implementations_show_nothing(before: Summary) -> None:
    few = replace(AGAIN, signers=tuple(s for s in AGAIN.signers if s.id == OURS))
    result = compare_with(before, few)
    assert result[-1].value is None and result[-1].keys == {}
    means = changes(result, "mean")
    for f in find_effects(result):
        assert f.interval == means[f.keys["variant"], f.keys["operation"]].interval


def test_two_variants_of_one_run_share_its_rounds(before: Summary) -> None:
    run = before
    with pytest.raises(LabError, match="one run: name what to compare with --pair"):
        compare((run, run), ())
    result = compare((run, run), (("mldsa-native", OURS),))
    assert result[-1].value is None and "the same rounds" in result[-1].notes[0]
    assert [f.keys["operation"] for f in find_effects(result)] == ["keygen", "sign", "verify"]
    cells = run.by_id
    for f in find_effects(result):
        operation = str(f.keys["operation"])
        first = str(f.keys["before"]).split()[0]
        one, other = (cells[variant, SET, operation] for variant in (OURS, first))
        assert f.interval == one.ratio_to(other, 0.95)
    for names in (("nosuch", OURS), (OURS, "nosuch")):
        with pytest.raises(LabError, match="--pair: unknown 'nosuch'"):
            compare((run, run), (names,))


def test_three_runs_have_a_column_each(before: Summary) -> None:
    shapes = shaped(AGAIN, 1.5), replace(SHAPE, seed=3)
    result = compare((before, *(summarise(record_of(shape)) for shape in shapes)), ())
    runs = [f.keys["run"] for f in result if f.name == "mean" and f.keys["variant"] == OURS]
    assert runs == [1, 2, 3] * 3
    change = changes(result, "ratio")[OURS, "sign"]
    assert change.value == pytest.approx(1, abs=0.05) and change.verdict == APART
    ours = changes(result, "ratio")["aws-lc:native:compact", "sign"]
    assert ours.verdict == OVERLAPPING


def test_csv_has_every_figure_of_a_comparison(before: Summary) -> None:
    after = summarise(record_of(shaped(AGAIN, 1.25)))
    shown = compare_figures(compare((before, after), ()), 0.95)
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
def test_the_command(tmp_path: Path) -> None:
    first, after, other, elsewhere = (tmp_path / f"{name}.jsonl" for name in "abcd")
    later = replace(FEW, seed=2)
    write(first, rows(FEW))
    write(after, rows(shaped(later, 1.25)))
    write(other, rows(replace(later, sets=("ML-DSA-44",))))
    write(elsewhere, map(on_another_cpu, rows(later)))
    table = tmp_path / "changes.json"
    for limit, status, slower in ((40, 0, 0), (5, 1, 3)):
        options = ("--fail-above", str(limit), "--to", str(table))
        done = here("compare", str(first), str(after), *options)
        said = f"{slower} of 15 cells are slower by more than {limit} %"
        assert done.status == status and said in " ".join(done.out.split()), done.err
    result = [row for row in rows_in(table) if "effect" in row]
    cells = {(row["variant"], row["operation"]): row["effect_verdict"] for row in result}
    assert cells[OURS, "sign"] == "slower" and len(cells) == 15
    for second, options, said in (
        (other, (), "the runs have no cell (variant, set, operation) in common"),
        (first, (), "both records are of one run"),
        (tmp_path / "none", (), "none"),
        (elsewhere, ("--fail-above", "5"), "nothing can be judged"),
        (other, ("--pair", "a"), "--pair: must be BEFORE=AFTER, is 'a'"),
    ):
        done = here("compare", str(first), str(second), *options)
        assert done.status == 2 and said in done.err, done.err
