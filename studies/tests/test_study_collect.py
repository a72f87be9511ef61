"""Times are collected round by round, from right signatures alone."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from study_material import SPEC, gathering, python_worker, signed

from mldsa_lab.bench.fleet import Fleet, Station
from mldsa_lab.errors import LabError
from mldsa_lab.inputs.input import SigningInput
from mldsa_lab.theory.rejection import RejectionModel
from mldsa_lab.worker.protocol import Announced
from mldsa_lab.worker.worker import Limits
from mldsa_studies import collect, greedy
from mldsa_studies.choices import wanted_classes
from mldsa_studies.costs import read_costs
from mldsa_studies.jobs import SignedInputs, one_each
from mldsa_studies.plan import Plan
from mldsa_studies.signers import random_table


def variant(id_: str, **more: object) -> Announced:
    implementation, backend, key = id_.split(":")
    fields: dict[str, object] = {
        "id": id_, "implementation": implementation, "version": "1", "backend": backend,
        "key": key, "family": "ml-dsa", "sets": ("ML-DSA-44",), "operations": ("sign",),
        "rnd": "zero", "context": True,
    }  # fmt: skip
    return Announced(**(fields | more))  # type: ignore[arg-type]


def test_rounds_rotate_and_every_round_is_kept(tmp_path: Path) -> None:
    made = signed(6)
    entry, place = python_worker(tmp_path, made)
    told: list[str] = []
    kept: list[int] = []

    def show(text: str, *, step: float = 0) -> None:
        path = tmp_path / "ml-dsa-44-times.parquet"
        if step:
            told.append(text)
            kept.append(len(read_costs(path).rounds) if path.exists() else 0)

    with Fleet() as fleet:
        fleet.add(Station(entry, place, Limits()))
        variants = tuple(fleet.announced.values())
        item = gathering(6, variants, sample=4)
        (path,) = collect.collect_times(fleet, [item], 3, tmp_path, show)
        assert fleet.stations[0].starts == 7  # one to be announced, one for each cell and round
    assert [text.split()[2] for text in told] == [
        "toy:fast:compact", "toy:portable:compact", "toy:fast:compact", "toy:portable:compact",
        "toy:portable:compact", "toy:fast:compact",
    ]  # fmt: skip
    assert kept == [0, 0, 1, 1, 2, 2]
    found = read_costs(path)
    ticks = [1000 + 10 * i.what.message[0] for i in made.inputs]
    for series in found.series:
        assert series.cost.tolist() == [ticks] * 3 and series.about.clock == "own"
    orders = (tmp_path / "order.txt").read_text(encoding="utf-8").splitlines()
    assert len(orders) == 6 and orders[0] == orders[1] != orders[2] == orders[3]
    assert all(sorted(order.split()) == list("012345") for order in orders)
    assert found.unit == "ns" and found.sample == 4 and found.spec == SPEC
    assert found.table.traces() == item.table.traces() and len(found.rounds) == 3


def test_without_a_clock_of_the_thread_it_is_the_wall(tmp_path: Path) -> None:
    made = signed(2)
    entry, place = python_worker(tmp_path, made)
    program = tmp_path / "w.py"
    text = program.read_text(encoding="utf-8").replace("ticks + 7, ticks,", "ticks + 7, '-',")
    program.write_text(text, encoding="utf-8")
    hello = tmp_path / "hello.txt"
    text = hello.read_text(encoding="utf-8").replace("cpu_clock own", "cpu_clock none")
    hello.write_text(text, encoding="utf-8")
    with Fleet() as fleet:
        fleet.add(Station(entry, place, Limits()))
        item = gathering(2, tuple(fleet.announced.values())[:1])
        (path,) = collect.collect_times(fleet, [item], 1, tmp_path)
    found = read_costs(path)
    assert found.series[0].cost.tolist() == [[1007 + 10 * i.what.message[0] for i in made.inputs]]
    assert found.series[0].about.clock == "wall"


def test_a_wrong_signature_is_refused(tmp_path: Path) -> None:
    made = signed(3)
    first, one, two = made.inputs
    mixed = (first, replace(one, outputs=two.outputs), replace(two, outputs=one.outputs))
    wrong = SignedInputs(made.set, mixed)
    entry, place = python_worker(tmp_path, wrong)
    with Fleet() as fleet:
        fleet.add(Station(entry, place, Limits()))
        item = gathering(3, tuple(fleet.announced.values()))
        with pytest.raises(LabError, match=r"ML-DSA-44, input [12]: the signature"):
            collect.collect_times(fleet, [item], 1, tmp_path)
    assert not list(tmp_path.glob("*.parquet"))


def test_failures_are_named() -> None:
    made = signed(2)
    with pytest.raises(LabError, match="input 1: failed: out of memory"):
        made.check(variant("a:b:compact"), [(1, None, "out of memory")])
    strange = SigningInput(bytes(32), b"m", b"context", bytes([1] * 32))
    one = SignedInputs("ML-DSA-44", (replace(made.inputs[0], what=strange),))
    with pytest.raises(LabError, match="input 0: it has a context, and a:b:compact takes none"):
        one.jobs(variant("a:b:compact", context=False, rnd="given"))
    with pytest.raises(
        LabError, match="input 0: its rnd is not zero, and a:b:compact takes no other"
    ):
        one.jobs(variant("a:b:compact"))
    assert one.jobs(variant("a:b:compact", rnd="given"))[0].rnd == strange.rnd


def test_of_an_implementation_the_ordinary_variant_is_taken() -> None:
    announced = [
        variant("lanes:portable:compact"),
        variant("lanes:avx2:compact"),
        variant("lanes:avx2:expanded"),
        variant("go:go:expanded"),
        variant("hedged:c:compact", rnd="none"),
        variant("verifier:c:compact", operations=("verify",)),
        variant("ed:c:compact", family="classical", sets=("Ed25519",)),
    ]

    def ids(*names: str, known: tuple[str, ...] | None = None) -> list[str]:
        return [v.id for v in one_each(announced, names, known)]

    assert ids("go", "lanes") == ["go:go:expanded", "lanes:avx2:compact"]
    assert ids("lanes:portable:compact", "lanes") == [
        "lanes:portable:compact",
        "lanes:avx2:compact",
    ]
    assert ids("lanes", "absent", known=("absent",)) == ["lanes:avx2:compact"]
    for name in ("hedged", "verifier", "ed", "absent"):
        with pytest.raises(LabError, match=f"unknown implementation '{name}'.*known are lanes, go"):
            ids(name)


def test_rare_classes_get_inputs_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    model = RejectionModel.of(SPEC.set)
    everyone = random_table(model, 6000, np.random.default_rng(3))
    plan = Plan(sizes=(1, 2), pool=2000)

    def traces(set_name: str, inputs: list[SigningInput]) -> object:
        start = int.from_bytes(inputs[0].message[:4], "big")
        return everyone.take(np.arange(start, start + len(inputs)))

    def inputs(self: object, start: int, count: int) -> list[SigningInput]:
        return [SigningInput(b"", (start + i).to_bytes(4, "big"), b"", b"") for i in range(count)]

    monkeypatch.setattr(collect, "load", lambda: SimpleNamespace(trace=traces))
    monkeypatch.setattr(type(SPEC), "inputs", inputs)
    added = collect.added_inputs(SPEC, 500, plan, candidates=5500)
    assert added == sorted(set(added)) and min(added) >= 500
    classes = list(map(tuple, greedy.first_failures(everyone).tolist()))
    wanted = wanted_classes(model, plan)
    assert {classes[i] for i in added} <= wanted
    have = Counter(classes[:500]) + Counter(classes[i] for i in added)
    for one in wanted:
        everywhere = classes.count(one)
        least = min(everywhere, collect.MEMBERS)
        assert have[one] == max(least, Counter(classes[:500])[one])
