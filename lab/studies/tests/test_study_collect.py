"""Times are collected round by round, counts under Callgrind, from right signatures alone."""

from __future__ import annotations

from collections import Counter as Counting
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from lab_runs import announced, build_rust, place
from msgspec.structs import replace
from study_material import SPEC, batch, need_valgrind, python_worker, signed

from mldsa_lab import LabError
from mldsa_lab.bench.fleet import Fleet, WorkerHandle
from mldsa_lab.choice import greedy
from mldsa_lab.choice.choice import complete, read_ready
from mldsa_lab.inputs import tracing
from mldsa_lab.inputs.input import Input
from mldsa_lab.theory.rejection import RejectionModel
from mldsa_lab.theory.trace import TraceTable
from mldsa_lab.worker.protocol import AnnouncedVariant
from mldsa_lab.worker.worker import Limits
from mldsa_studies import callgrind, collect
from mldsa_studies.callgrind import Counter, command, names, take_counts
from mldsa_studies.choices import Plan, wanted_classes
from mldsa_studies.costs import read_costs
from mldsa_studies.jobs import check_signatures, one_each, sign_jobs
from mldsa_studies.signers import random_table


def signer(identity: str, **more: object) -> AnnouncedVariant:
    return announced(identity, **{"operations": ("sign",), "rnd": "zero", **more})


def times(
    fleet: Fleet,
    item: collect.InputBatch,
    variants: Iterable[AnnouncedVariant],
    rounds: int,
    folder: Path,
    show: Callable[..., object] = lambda text, step=0: None,
) -> list[Path]:
    return collect.collect(
        [(item, v) for v in variants], rounds, "ns", folder, partial(collect.measure_time, fleet),
        lambda v: collect.describe(v, fleet.handle(v.id).announcement), show,
    )  # fmt: skip


def test_rounds_rotate_and_every_round_is_kept(tmp_path: Path) -> None:
    built = signed(6)
    entry, where = python_worker(tmp_path, built)
    reported: list[str] = []
    kept: list[int] = []

    def show(text: str, *, step: float = 0) -> None:
        path = tmp_path / "ml-dsa-44-times.parquet"
        if step:
            reported.append(text)
            kept.append(len(read_costs(path).head.rounds) if path.exists() else 0)

    with Fleet() as fleet:
        fleet.add(WorkerHandle(entry, where, Limits()))
        variants = tuple(fleet.announced.values())
        item = batch(6, sample=4)
        (path,) = times(fleet, item, variants, 3, tmp_path, show)
        assert fleet.handles[0].starts == 7  # one to be announced, one for each cell and round
    assert [text.split()[2] for text in reported] == [
        "toy:fast:compact", "toy:portable:compact", "toy:fast:compact", "toy:portable:compact",
        "toy:portable:compact", "toy:fast:compact",
    ]  # fmt: skip
    assert kept == [0, 0, 1, 1, 2, 2]
    result = read_costs(path)
    ticks = [1000 + 10 * i.message[0] for i in built]
    assert result.cost.tolist() == [[ticks] * 3] * 2
    assert all(about.clock == "own" for about in result.head.series)
    orders = (tmp_path / "order.txt").read_text(encoding="utf-8").splitlines()
    assert len(orders) == 6 and orders[0] == orders[1] != orders[2] == orders[3]
    assert all(sorted(order.split()) == list("012345") for order in orders)
    head = result.head
    assert (head.unit, head.sample, head.spec, len(head.rounds)) == ("ns", 4, SPEC, 3)
    assert result.table.traces() == item.table.traces()


def test_a_wrong_signature_is_refused(tmp_path: Path) -> None:
    first, one, two = signed(3)
    wrong = (first, replace(one, output=two.output), replace(two, output=one.output))
    entry, where = python_worker(tmp_path, wrong)
    with Fleet() as fleet:
        fleet.add(WorkerHandle(entry, where, Limits()))
        variants = tuple(fleet.announced.values())
        with pytest.raises(LabError, match=r"compact, input [12]: the signature"):
            times(fleet, batch(3), variants, 1, tmp_path)
    assert not list(tmp_path.glob("*.parquet"))


def test_failures_are_named() -> None:
    built = signed(2)
    with pytest.raises(LabError, match="input 1: failed: out of memory"):
        check_signatures(signer("a:b:compact"), built, [(1, None, "out of memory")])
    strange = replace(built[0], context=b"context", rnd=bytes([1] * 32))
    with pytest.raises(LabError, match="input 0: it has a context, and a:b:compact takes none"):
        sign_jobs([strange], signer("a:b:compact", context=False, rnd="given"))
    (job,) = sign_jobs([strange], signer("a:b:compact", rnd="given"))
    assert job.rnd == bytes([1] * 32)


def test_of_an_implementation_the_ordinary_variant_is_taken() -> None:
    listed = [
        signer("lanes:portable:compact"),
        signer("lanes:avx2:compact"),
        signer("lanes:avx2:expanded"),
        signer("go:go:expanded"),
        signer("hedged:c:compact", rnd="none"),
        signer("verifier:c:compact", operations=("verify",)),
        signer("ed:c:compact", family="classical", sets=("Ed25519",)),
    ]

    def ids(*names: str, optional: tuple[str, ...] = ()) -> list[str]:
        return [v.id for v in one_each(listed, names, optional)]

    both = ["lanes:portable:compact", "lanes:avx2:compact"]
    assert ids("go", "lanes") == ["go:go:expanded", "lanes:avx2:compact"]
    assert ids("lanes:portable:compact", "lanes") == both
    assert ids("lanes", "absent", optional=("absent",)) == ["lanes:avx2:compact"]
    for name in ("hedged", "verifier", "ed", "absent"):
        with pytest.raises(LabError, match=f"unknown implementation '{name}'.*known are lanes, go"):
            ids(name)


def test_rare_classes_get_inputs_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    model = RejectionModel.for_set(SPEC.set)
    everyone = random_table(model, 6000, np.random.default_rng(3))
    plan = Plan(sizes=(1, 2), pool=2000)

    def traces(set_name: str, inputs: list[Input]) -> object:
        start = int.from_bytes(inputs[0].message[:4], "big")
        return everyone.take(np.arange(start, start + len(inputs)))

    def inputs(self: object, start: int, count: int) -> list[Input]:
        return [Input(SPEC.set, i, b"", i.to_bytes(4, "big")) for i in range(start, start + count)]

    monkeypatch.setattr(collect, "load", lambda: SimpleNamespace(trace=traces))
    monkeypatch.setattr(type(SPEC), "inputs", inputs)
    added = collect.added_inputs(SPEC, 500, plan, candidates=5500)
    assert added == sorted(set(added)) and min(added) >= 500
    classes = list(map(tuple, greedy.first_failures(everyone).tolist()))
    requested = wanted_classes(model, plan)
    assert {classes[i] for i in added} <= requested
    have = Counting(classes[:500]) + Counting(classes[i] for i in added)
    for one in requested:
        least = min(classes.count(one), collect.MEMBERS)
        assert have[one] == max(least, Counting(classes[:500])[one])


DUMP = """\
version: 1
creator: callgrind-3.19.0

desc: Timerange: Basic block 0 - 27
desc: Trigger: {trigger}

positions: line
events: Ir

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
    (folder / f"out.{part}").write_text(DUMP.format(total=total, trigger=trigger))


def test_counts_are_read_in_the_order_of_the_calls(tmp_path: Path) -> None:
    for part in range(1, 13):
        dump(tmp_path, part, 100 * part)
    assert names(tmp_path / "out.1") == {"main", "sign(unsigned long)", "deep"}
    assert take_counts(tmp_path / "out", "sign") == [100 * part for part in range(1, 13)]
    assert take_counts(tmp_path / "out", "sign") == []
    for total, trigger in (
        (5, "Program termination"),
        (5, "--dump-after=other"),
        ("1 2", "--dump-after=sign"),
    ):
        dump(tmp_path, 1, total, trigger)
        with pytest.raises(LabError, match=r"wrote no count after sign: .*out\.1"):
            take_counts(tmp_path / "out", "sign")
    assert command(Path("/x/out"), "f(a,b)")[-2:] == [
        "--toggle-collect=f(a,b)",
        "--dump-after=f(a,b)",
    ]


def test_a_missing_valgrind_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    entry, where = python_worker(tmp_path, signed(1))
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(LabError, match="valgrind is not installed: install it"):
        Counter(entry, where)


@pytest.mark.toolchain
def test_counts_of_the_rust_worker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    need_valgrind()
    build_rust()
    monkeypatch.setattr(callgrind, "PART", 3)
    entry = collect.counting_worker(place())
    inputs = complete(read_ready("ML-DSA-44", "regression", 10), tracing.load()).inputs[:7]
    table = TraceTable.from_traces("ML-DSA-44", [item.trace for item in inputs])
    with Counter(entry, place()) as counter:
        chosen = counter.variant("mldsa-lanes:portable:compact", "ML-DSA-44")
        steps: list[int] = []
        counts = counter.count(chosen, "ML-DSA-44", inputs, steps.append)
        assert steps == [3, 3, 1]
        # The work is linear in the rejections by z and by other checks.
        z = [sum(str(one).startswith("z") for one in item.trace) for item in inputs]
        matrix = np.array([[1, n, len(i.trace) - n] for n, i in zip(z, inputs, strict=True)])
        fit = matrix @ np.linalg.lstsq(matrix, counts.astype(float), rcond=None)[0]
        assert np.abs(fit / counts - 1).max() < 0.02
        for name, set_name, rule in (
            ("other", "ML-DSA-44", "unknown implementation 'other'"),
            ("mldsa-lanes", "ML-DSA-99", "has no set ML-DSA-99"),
        ):
            with pytest.raises(LabError, match=rule):
                counter.variant(name, set_name)
        mixed = replace(inputs[0], known_digests=inputs[1].digests)
        with pytest.raises(LabError, match=r"portable:compact, input \d+: the signature is wrong"):
            counter.count(chosen, "ML-DSA-44", (mixed,))
        index = np.arange(7, dtype=np.uint64)
        (path,) = collect.collect(
            [(collect.InputBatch(SPEC, index, 6, inputs, table), chosen)], 1, "instructions",
            tmp_path, lambda b, v, _: counts,
            lambda v: collect.describe(v, counter.announcement, counter.tool),
        )  # fmt: skip
    result = read_costs(path)
    assert (result.head.unit, len(result), result.head.sample) == ("instructions", 7, 6)
    assert result.cost.tolist() == [[counts.tolist()]]
    assert result.head.series[0].clock.startswith("Callgrind, valgrind")
    with (
        Counter(entry, place(), "no_such_*") as counter,
        pytest.raises(LabError, match="one function no_such_"),
    ):
        counter.count(chosen, "ML-DSA-44", inputs[:1])
