"""`mldsa-lab compare`: what changed from one run to another, and what else differs."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
from lab_runs import here
from msgspec import structs
from report_records import CLASSICAL, SIGNERS, Shape, rows

from mldsa_lab.errors import LabError
from mldsa_lab.estimate.change import FASTER, SLOWER, UNCHANGED, Changes, Side, changes
from mldsa_lab.estimate.summary import summarise
from mldsa_lab.records import InputRow, RecordWriter, Run, WorkerRow, read_record
from mldsa_lab.records.rows import Row
from mldsa_lab.show.changes import verdict

SET = "ML-DSA-65"
OURS = "mldsa-lanes:avx2:compact"
SHAPE = Shape(sets=(SET,), signers=SIGNERS, rounds=12)
# Another clock, other noise, and inputs of the same traces.
AGAIN = replace(SHAPE, seed=2)
PUBLISHED = Path(__file__).parents[2] / "records" / "2026-11-21-epyc-zen3"


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


def side(path: Path, confidence: float = 0.95) -> Side:
    record = read_record(path)
    return Side(record, summarise(record, confidence=confidence))


# Of the record of the fixture `before` only: the others are written again and again.
first_side = cache(side)


def on_another_cpu(row: Row) -> Row:
    if isinstance(row, Run):
        return structs.replace(row, machine={**row.machine, "cpu": "Another CPU"})
    return row


@pytest.fixture(scope="module")
def before(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("before") / "record.jsonl", SHAPE)


def compared(
    before: Path,
    tmp_path: Path,
    shape: Shape = AGAIN,
    alter: Callable[[Row], Row] = lambda row: row,
) -> Changes:
    return changes(first_side(before), side(write(tmp_path / "after.jsonl", shape, alter)))


@pytest.mark.simulation
def test_changes_between_runs_of_three_rounds_have_no_interval(tmp_path: Path) -> None:
    paths = [
        write(tmp_path / f"{seed}.jsonl", replace(SHAPE, rounds=3, seed=seed)) for seed in (1, 2)
    ]
    for cell in changes(*(side(path) for path in paths)).cells:
        found = [cell.mean, cell.anchored, cell.effect, *cell.classes.values()]
        assert all(interval is None or interval.low is None for interval in found)


def reasons(found: Changes) -> dict[str, set[str]]:
    """By operation of our signer."""
    return {
        c.after.operation: {reason.code for reason in c.reasons}
        for c in found.cells
        if c.after.implementation == "mldsa-lanes" and c.before.variant == OURS
    }


def test_the_same_programs_again(before: Path, tmp_path: Path) -> None:
    found = compared(before, tmp_path)
    assert len(found.cells) == 33 and len(found.judged) == 33 and found.only == ((), ())
    assert found.reference == "mldsa-native" and found.spread is not None
    # 5 % of 33 cells each way; seven or more come once in a thousand.
    assert sum(c.verdict != UNCHANGED for c in found.cells) < 7
    (ours,) = [c for c in found.cells if c.after.variant == OURS and c.after.operation == "sign"]
    assert set(ours.classes) == {"first", "z", "r", "h"}
    for name in ("first", "z", "r"):
        low, high = ours.classes[name].low, ours.classes[name].high
        assert low is not None and high is not None and low < 1.03 and high > 0.97


@pytest.mark.simulation
def test_the_published_runs_of_the_same_programs() -> None:
    """Real run-to-run differences, which rounds alone do not show."""
    found = changes(*(side(PUBLISHED / f"{name}.jsonl.xz") for name in ("first", "second")))
    assert len(found.judged) == len(found.cells) == 134
    assert found.spread == pytest.approx(0.018, abs=0.001)
    assert sum(c.verdict != UNCHANGED for c in found.cells) <= 134 * 0.05
    assert not any(c.above(1.0) for c in found.cells)


@pytest.mark.parametrize(("factor", "said"), [(1.25, SLOWER), (0.8, FASTER)])
def test_a_change_is_found_where_it_is(
    before: Path, tmp_path: Path, factor: float, said: str
) -> None:
    found = compared(before, tmp_path, slower(AGAIN, factor))
    for cell in found.cells:
        if cell.after.variant == OURS:
            assert cell.verdict == said and not cell.reasons
            assert cell.effect.value == pytest.approx(factor, rel=0.05)
            assert cell.anchored is not None and cell.effect.value == cell.anchored.value
    mine = [c for c in found.cells if c.after.variant == OURS]
    others = [c for c in found.cells if c.after.implementation != "mldsa-lanes"]
    assert len(mine) == 3 and sum(c.verdict != UNCHANGED for c in others) < 6


def test_a_slower_machine_hides_no_change(tmp_path: Path) -> None:
    classical = tuple(name for s in CLASSICAL for name in s.cost)
    shape = replace(SHAPE, sets=(SET, *dict.fromkeys(classical)), signers=SIGNERS + CLASSICAL)
    later = slower(replace(shape, seed=2), 1.15)
    cost = [{n: tuple(1.2 * c for c in of) for n, of in s.cost.items()} for s in later.signers]
    signers = tuple(replace(s, cost=c) for s, c in zip(later.signers, cost, strict=True))  # type: ignore[arg-type]
    first = write(tmp_path / "first.jsonl", shape)
    found = compared(first, tmp_path, replace(later, signers=signers))
    assert {c.verdict for c in found.cells if c.anchored is None} == {UNCHANGED}
    ours = [c.verdict for c in found.cells if c.after.variant == OURS]
    assert ours == [SLOWER] * 3 and found.spread is not None and found.spread < 0.08


@pytest.mark.e2e
def test_what_else_differs_is_said(before: Path, tmp_path: Path) -> None:
    def longer(row: Row) -> Row:
        return structs.replace(row, message=bytes(100)) if isinstance(row, InputRow) else row

    def newer(row: Row) -> Row:
        tell = isinstance(row, WorkerRow) and row.worker == "rust"
        return structs.replace(row, compiler="rustc 1.99.0") if tell else row

    every = {"keygen", "sign", "verify"}
    found = compared(before, tmp_path, AGAIN, on_another_cpu)
    assert reasons(found) == {operation: {"machine"} for operation in every} and not found.judged
    assert "cpu AMD EPYC 9B14 → Another CPU" in found.cells[0].reasons[0].text
    found = compared(before, tmp_path, AGAIN, newer)
    assert reasons(found) == {operation: {"flags"} for operation in every}
    # The reference was compiled anew too, so nothing is judged by it.
    assert found.reference is None and {c.after.language for c in found.judged} == {"Go"}
    found = compared(before, tmp_path, AGAIN, longer)
    assert reasons(found) == {"keygen": set(), "sign": {"inputs"}, "verify": {"inputs"}}
    found = compared(before, tmp_path, shaped(AGAIN, rnd="none"))
    assert reasons(found)["sign"] == {"signing"} and not reasons(found)["verify"]
    (sign,) = [c for c in found.cells if c.after.variant == OURS and c.after.operation == "sign"]
    assert verdict(sign).endswith(", but hedging changed")
    found = compared(before, tmp_path, shaped(AGAIN, backend="avx512"))
    assert reasons(found) == {operation: {"backend"} for operation in every}
    gone = replace(AGAIN, signers=tuple(s for s in AGAIN.signers if s.id != OURS))
    found = compared(before, tmp_path, gone)
    assert not reasons(found) and {key[0] for key in found.only[0]} == {OURS}


def test_few_other_implementations_show_nothing(before: Path, tmp_path: Path) -> None:
    few = replace(AGAIN, signers=tuple(s for s in AGAIN.signers if s.id == OURS))
    found = compared(before, tmp_path, few)
    assert found.spread is None and found.reference is None
    assert [c.effect for c in found.cells] == [c.mean for c in found.cells]


def test_two_variants_of_one_run_share_its_rounds(before: Path) -> None:
    run = side(before)
    with pytest.raises(LabError, match="one run: name what to compare with --pair"):
        changes(run, run)
    found = changes(run, run, [("mldsa-native", OURS)])
    assert found.shared and found.spread is None
    for cell in found.cells:
        paired = run.summary.over(cell.after, cell.before)
        assert cell.effect == paired
    assert [c.after.operation for c in found.cells] == ["keygen", "sign", "verify"]
    for pair, said in (
        (("nosuch", OURS), "--pair: unknown 'nosuch'"),
        ((OURS, "nosuch"), "--pair: unknown 'nosuch'"),
    ):
        with pytest.raises(LabError, match=said):
            changes(run, run, [pair])


@pytest.mark.e2e
def test_the_command(before: Path, tmp_path: Path) -> None:
    after = write(tmp_path / "after.jsonl", slower(AGAIN, 1.25))
    table = tmp_path / "changes.json"
    arguments = ("compare", str(before), str(after))
    passed = here(*arguments, "--fail-above", "40", "--json", str(table))
    assert passed.status == 0, passed.err
    assert "0 of 33 cells are slower by more than 40 %" in " ".join(passed.out.split())
    found = json.loads(table.read_text())
    cells = {(c["variant"][1], c["operation"]): c for c in found["cells"]}
    assert cells[OURS, "sign"]["verdict"] == "slower" and len(cells) == 33
    failed = here(*arguments, "--fail-above", "5")
    assert failed.status == 1
    lines = " ".join(failed.out.split())
    assert "3 of 33 cells are slower by more than 5 %" in lines
    assert f"{SET} sign {OURS}: 1.2" in lines
    assert "Signing by classes of traces" in lines


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
