"""Runs of several operations: which are measured, over which inputs, with what expected digests."""

from __future__ import annotations

import hashlib
from collections import Counter

import numpy as np
import pytest
from lab_runs import variant

from mldsa_lab.bench.engine import Engine
from mldsa_lab.bench.fleet import Fleet
from mldsa_lab.bench.options import parse_batch_sizes, parse_thread_counts
from mldsa_lab.bench.shapes import BATCH_SIZES, GROUP, Shape, role_of, shaped_variants, shapes
from mldsa_lab.bench.workloads.operations import Cell, Operations, make_cell, role_in
from mldsa_lab.choice.choice import Wish, choose
from mldsa_lab.errors import LabError
from mldsa_lab.records import MANY_KEYS, ONE_KEY, Variant
from mldsa_lab.sets import PARAMETER_SETS
from mldsa_lab.theory.rejection import RejectionModel
from mldsa_lab.theory.table import TraceTable
from mldsa_lab.worker.protocol import Announced, Runs
from mldsa_lab.worker.request import Item
from mldsa_studies.signers import draw_traces


def announced(**more: object) -> Announced:
    fields: dict[str, object] = {
        "id": "x:y:compact", "implementation": "x", "version": "1", "backend": "y",
        "key": "compact", "family": "ml-dsa", "sets": ("ML-DSA-44",),
        "operations": ("keygen", "sign", "verify", "trace"), "rnd": "given", "context": True,
        "mode": "batch", "batch_size": 100_000, "threads": 64,
    }  # fmt: skip
    return Announced(**{**fields, **more})  # type: ignore[arg-type]


def measured(key: str = "compact", **more: object) -> Variant:
    operations = ("keygen", "sign", "verify", "trace")
    return variant(f"x:y:{key}", **{"operations": operations, "note": "a note", **more})


# --- which runs are measured --------------------------------------------------------------------


def test_a_batch_interface_is_measured_at_every_size_and_in_a_loop() -> None:
    found = shapes(announced(), (1, 8, 1000), ())
    assert [(s.form, s.size, s.threads) for s in found] == [
        ("batch", 1, 1), ("batch", 8, 1), ("batch", 1000, 1), ("loop", 100, 1),
    ]  # fmt: skip


def test_threads_take_loops_and_batches_each_number_once() -> None:
    found = shapes(announced(), (1000,), (1, 2))
    assert [s.suffix for s in found] == [
        ":batch-1000", ":loop-100", ":loop-100:threads-2", ":batch-1000:threads-2",
    ]  # fmt: skip
    single = shapes(announced(mode="single"), (), (1, 4))
    assert [s.suffix for s in single] == [":loop-100", ":loop-100:threads-4"]


def test_a_worker_that_announces_no_runs_is_passed_over() -> None:
    plain = announced(mode="single", batch_size=1, threads=1)
    assert shapes(plain, (1, 8), (1, 2)) == []
    few = announced(mode="batch", batch_size=500)
    assert shapes(few, (1000,), ()) == []


def test_where_none_of_the_chosen_can_it_is_an_error_with_their_names() -> None:
    for more, batch, threads, said in (
        ({"mode": "single"}, (1, 8), (), "nothing to measure in batches: no chosen.*chosen are x"),
        ({"batch_size": 10_000}, (100_000,), (), "batch interface that takes 100000 operations"),
        ({"threads": 1}, (), (1, 2), "nothing to measure on 2 threads"),
    ):
        fleet = Fleet()
        fleet.announced["x:y:compact"] = announced(**more)
        with pytest.raises(LabError, match=said):
            shaped_variants(fleet, [measured()], batch, threads)


def test_a_variant_in_runs_has_an_id_and_a_note_of_its_own() -> None:
    made = Shape("batch", 1000, 2).of(measured("expanded"))
    assert made.id == "x:y:expanded:batch-1000:threads-2" and made.base == "x:y:expanded"
    assert (made.mode, made.batch_size, made.threads, made.per_call) == ("batch", 1000, 2, 2000)
    assert made.runs and "trace" not in made.operations
    assert made.note == (
        "a note; calls of 1000 operations, the inputs of one key, on each of 2 threads"
    )
    loop = Shape("loop", 100).of(measured())
    assert (loop.mode, loop.batch_size, loop.runs) == ("single", 100, True)
    assert "the inputs of many keys" in loop.note
    assert not measured().runs
    assert role_of(loop, "ML-DSA-44") == MANY_KEYS
    assert role_of(made, "ML-DSA-44") == ONE_KEY
    assert role_of(loop, "Ed25519") == "random"


@pytest.mark.parametrize(
    ("size", "count", "equal"),
    [
        (1, 100, True), (8, 100, True), (32, 25, True), (100, 10, True), (1000, 1, True),
        (10_000, 1, True), (150, 4, True), (64, 25, True), (333, 25, False), (1024, 5, False),
        (9973, 1, False), (99_999, 1, False),
    ],
)  # fmt: skip
def test_a_pass_has_many_runs_that_use_all_inputs_equally_often(
    size: int, count: int, equal: bool
) -> None:
    runs = Shape("batch", size).runs(GROUP)
    assert runs.count == count
    used = Counter(p for n in range(count) for p in runs.positions(n, GROUP))
    assert (len(set(used.values())) == 1 and len(used) == GROUP) == equal
    # Each run is known by its first input.
    assert len({runs.positions(n, GROUP)[0] for n in range(count)}) == count
    assert Shape("loop", 100).runs(24).count in (6, 8)


# --- the words of the command line --------------------------------------------------------------


def test_batch_sizes_are_sorted_and_each_once() -> None:
    assert parse_batch_sizes(["32,1", "8", " 32"]) == (1, 8, 32)
    assert parse_batch_sizes(["all"]) == BATCH_SIZES and parse_batch_sizes([]) == ()


@pytest.mark.parametrize("word", ["0", "x", "1.5", "100001", "٣", "9" * 30])
def test_what_is_no_batch_size_is_named(word: str) -> None:
    with pytest.raises(LabError) as error:
        parse_batch_sizes(["8", word])
    assert str(error.value) == f"batch size {word!r}: must be a whole number from 1 to 100000"


def test_thread_counts_have_one_thread_to_compare_with() -> None:
    assert parse_thread_counts(["4,2"], cores=4) == (1, 2, 4)
    assert parse_thread_counts(["all"], cores=3) == (1, 2, 3) and parse_thread_counts([], 3) == ()
    assert parse_thread_counts(["all"], cores=12) == (1, 2, 4, 8, 12)
    for word in ("0", "two"):
        with pytest.raises(LabError, match=r"number of threads '.*': must be a whole"):
            parse_thread_counts([word], cores=4)
    with pytest.raises(LabError, match="8 threads: this machine has 4 cores to run on"):
        parse_thread_counts(["2", "8"], cores=4)
    with pytest.raises(LabError, match="2 threads: this machine has 1 core to run on"):
        parse_thread_counts(["2"], cores=1)


# --- inputs -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", PARAMETER_SETS)
def test_a_balanced_choice_has_the_expected_mean_trace(name: str) -> None:
    model = RejectionModel.of(name)
    pool = draw_traces(model, 4 * GROUP, np.random.default_rng(5))
    choice = choose(TraceTable.of(name, pool), "all", Wish("mean", GROUP))
    assert len(set(choice.positions)) == GROUP
    counts = TraceTable.of(name, [pool[i] for i in choice.positions]).counts()
    # Whole attempts of a hundred signatures: few can be nearer than half of one.
    assert np.abs(counts.mean(axis=0) - model.expected_counts).max() < 0.02
    random = TraceTable.of(name, pool[:GROUP]).counts().mean(axis=0)
    assert np.abs(random - model.expected_counts).max() > 0.05
    # It keeps the law's spread: long signatures decide when a batch ends.
    attempts = counts.sum(axis=1) + 1
    assert (attempts**2).mean() == pytest.approx((2 - model.p_accept) / model.p_accept**2, rel=0.03)


# --- cells --------------------------------------------------------------------------------------

SIGNED = [
    Item("ML-DSA-44", 50 + i, bytes([i]) * 32, b"m", pk=b"pk%d" % i, sk=b"sk", output=b"sig%d" % i)
    for i in range(4)
]


def test_a_cell_of_runs_expects_the_digest_of_all_outputs_in_order() -> None:
    runs = Runs("batch", 3, 4, 1)
    for operation, outputs in {
        "sign": [b"sig%d" % i for i in range(4)],
        "keygen": [b"pk%d" % i for i in range(4)],
        "verify": [b"\1"] * 4,
    }.items():
        cell = make_cell(measured(), "ML-DSA-44", operation, SIGNED, runs)
        assert [i.id for i in cell.inputs] == [50, 51, 52, 53]
        assert cell.expected == {
            50 + first: hashlib.sha256(
                b"".join(outputs[(first + j) % 4] for j in range(3))
            ).digest()
            for first in range(4)
        }


def test_cells_take_the_inputs_of_their_role() -> None:
    single, hedged = measured(), measured(rnd="none")
    assert role_in(single, "ML-DSA-44", "sign") == "design"
    assert role_in(hedged, "ML-DSA-44", "sign") == "random"
    assert role_in(single, "ML-DSA-44", "verify") == role_in(single, "Ed25519", "sign") == "random"
    in_runs = measured(batch_size=100)
    assert role_in(in_runs, "ML-DSA-44", "sign") == role_of(in_runs, "ML-DSA-44")
    cell = make_cell(single, "ML-DSA-44", "keygen", SIGNED)
    assert cell.expected == {50 + i: hashlib.sha256(b"pk%d" % i).digest() for i in range(4)}
    assert make_cell(hedged, "ML-DSA-44", "sign", SIGNED).random


def test_large_runs_are_due_in_every_fourth_round_and_need_no_warm_up() -> None:
    def cell(size: int | None) -> Cell:
        runs = None if size is None else Runs("batch", size, 1)
        return Cell(measured(), "ML-DSA-44", "sign", [], {}, False, runs)

    cells = [cell(None), cell(100), cell(1000), cell(10_000)]
    s = Engine(Fleet(), Operations(Fleet(), cells), lambda row: None)
    seen = [{id(c) for c in s.order(n)} for n in range(9)]
    for n, of_round in enumerate(seen):
        assert all(id(c) in of_round for c in cells[:3])
        assert (id(cells[3]) in of_round) == (n in (0, 4, 8))
    assert [c.warmup("ns") > 0 for c in cells] == [True, True, False, False]
