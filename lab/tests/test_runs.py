"""What a run measures: runs of several operations, workers, variants, and the order of rounds."""

from __future__ import annotations

import hashlib
from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from lab_runs import announced, bench, here, variant

from mldsa_lab import LabError
from mldsa_lab.bench.engine import Engine
from mldsa_lab.bench.fleet import (
    BATCH_SIZES,
    GROUP,
    Fleet,
    in_runs,
    role_of,
    runs_of,
    shaped_variants,
    shapes,
)
from mldsa_lab.bench.launch import needed
from mldsa_lab.bench.options import (
    Options,
    Profile,
    parse_batch_sizes,
    parse_operations,
    parse_seed,
    parse_thread_counts,
    select,
)
from mldsa_lab.bench.workload import Cell, Operations, make_cell, role_in
from mldsa_lab.inputs.input import Input
from mldsa_lab.records import MANY_KEYS, ONE_KEY, Variant
from mldsa_lab.sets import ALL_SETS, CLASSICAL_SETS, PARAMETER_SETS, parse_set_names
from mldsa_lab.worker.protocol import AnnouncedVariant, Runs
from mldsa_lab.worker.registry import WorkerEntry


def batching(**more: object) -> AnnouncedVariant:
    runs = {"mode": "batch", "batch_size": 100_000, "threads": 64}
    return announced("x:y:compact", **{**runs, **more})


def measured(key: str = "compact", **more: object) -> Variant:
    operations = ("keygen", "sign", "verify", "trace")
    return variant(f"x:y:{key}", **{"operations": operations, "note": "a note", **more})


# --- which runs are measured --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("more", "sizes", "threads", "expected"),
    [
        ({}, (1, 8, 1000), (),
         [("batch", 1, 1), ("batch", 8, 1), ("batch", 1000, 1), ("loop", 100, 1)]),
        # Threads take loops and batches, each number once.
        ({}, (1000,), (1, 2),
         [("batch", 1000, 1), ("loop", 100, 1), ("loop", 100, 2), ("batch", 1000, 2)]),
        ({"mode": "single"}, (), (1, 4), [("loop", 100, 1), ("loop", 100, 4)]),
        # What announces no runs, or too short ones, is passed over.
        ({"mode": "single", "batch_size": 1, "threads": 1}, (1, 8), (1, 2), []),
        ({"batch_size": 999}, (1000,), (), []),
        ({"batch_size": 1000}, (1000,), (), [("batch", 1000, 1), ("loop", 100, 1)]),
    ],
)  # fmt: skip
def test_runs_are_those_that_a_variant_announces(
    more: dict[str, object], sizes: tuple[int, ...], threads: tuple[int, ...], expected: object
) -> None:
    assert shapes(batching(**more), sizes, threads) == expected


def test_where_none_of_the_chosen_can_it_is_an_error_with_their_names() -> None:
    for more, batch, threads, said in (
        ({"mode": "single"}, (1, 8), (), "nothing to measure in batches: no chosen.*chosen are x"),
        ({"batch_size": 10_000}, (100_000,), (), "batch interface that takes 100000 operations"),
        ({"threads": 1}, (), (1, 2), "nothing to measure on 2 threads"),
    ):
        fleet = Fleet()
        fleet.announced["x:y:compact"] = batching(**more)
        with pytest.raises(LabError, match=said):
            shaped_variants(fleet, [measured()], batch, threads)


def test_a_variant_in_runs_has_an_id_and_a_note_of_its_own() -> None:
    made = in_runs(measured("expanded"), "batch", 1000, 2)
    assert made.id == "x:y:expanded:batch-1000:threads-2" and made.base == "x:y:expanded"
    assert (made.mode, made.batch_size, made.threads, made.per_call) == ("batch", 1000, 2, 2000)
    assert made.runs and "trace" not in made.operations
    assert made.note == (
        "a note; calls of 1000 operations, the inputs of one key, on each of 2 threads"
    )
    loop = in_runs(measured(), "loop", 100)
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
    runs = runs_of(in_runs(measured(), "batch", size), GROUP)
    assert runs.count == count
    used = Counter(p for n in range(count) for p in runs.positions(n, GROUP))
    assert (len(set(used.values())) == 1 and len(used) == GROUP) == equal
    # Each run is known by its first input.
    assert len({runs.positions(n, GROUP)[0] for n in range(count)}) == count
    assert runs_of(in_runs(measured(), "loop", 100), 24).count in (6, 8)


# --- cells --------------------------------------------------------------------------------------

SIGNED = [
    Input("ML-DSA-44", 50 + i, bytes([i]) * 32, b"m", pk=b"pk%d" % i, sk=b"sk", output=b"sig%d" % i)
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


# --- which workers are built ----------------------------------------------------------------------


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
        baseline=reference, clock="cpu",
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
    rule = r"unknown implementation .*(known are mldsa-lanes, aws-lc|Did you mean 'aws-lc')"
    with pytest.raises(LabError, match=rule):
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
        '[[worker]]\nname = "one"\nlanguage = "Shell"\nfolder = "lab/workers"\n'
        f'build = ["touch", "{marker}"]\nrun = ["true"]\nimplementations = ["it"]\n'
    )
    for option in ("--implementations", "--reference"):
        done = bench(tmp_path / "out", "--registry", str(registry), option, "nosuch", by=here)
        assert done.status == 2 and "'nosuch'" in done.err and "known are it" in done.err
        assert done.folder is None and not marker.exists()
    bench(tmp_path / "out", "--registry", str(registry), "--implementations", "it", by=here)
    assert marker.exists()


# --- the order of rounds, and the words of the command line ---------------------------------------


SETS = tuple(PARAMETER_SETS)
VARIANTS = [
    variant("mldsa-lanes:avx2:compact", sets=SETS),
    variant("mldsa-lanes:avx2:expanded", sets=SETS),
    variant("aws-lc:native:compact", sets=SETS),
    variant("mldsa-oracle:literal:compact", sets=SETS),
    variant("dalek:native:compact", family="classical", sets=("Ed25519",)),
]


def schedule() -> Engine[Cell]:
    cells = [
        Cell(v, name, operation, [], {}, random=False)
        for name in ("ML-DSA-44", "ML-DSA-65")
        for operation in ("keygen", "sign", "verify")
        for v in VARIANTS[:4]
    ]
    return Engine(Fleet(), Operations(Fleet(), cells), lambda row: None)


def test_rounds_visit_every_cell_once_and_each_variant_has_each_place_equally_often() -> None:
    """Over 2 x 4 rounds every variant of a group of 4 is twice at each place of the group."""
    s = schedule()
    places: Counter[tuple[str, int]] = Counter()
    for number in range(8):
        order = s.order(number)
        assert sorted(map(id, order)) == sorted(map(id, s.cases))
        group = [c for c in order if (c.set_name, c.operation) == ("ML-DSA-65", "sign")]
        places.update((c.variant.id, place) for place, c in enumerate(group))
    assert set(places.values()) == {2} and len(places) == 16


def test_a_fault_excludes_the_variant_and_a_refusal_one_set_of_it() -> None:
    cells = schedule().cases
    case = next(c for c in cells if str(c) == "aws-lc:native:compact ML-DSA-44 sign")
    refused = [str(c) for c in cells if case.excludes(c, whole=False)]
    assert refused == [f"aws-lc:native:compact ML-DSA-44 {o}" for o in ("keygen", "sign", "verify")]
    broken = [c for c in cells if case.excludes(c, whole=True)]
    assert [c.variant.implementation for c in broken] == ["aws-lc"] * 6


def test_selection() -> None:
    def ids(*patterns: str, of: tuple[str, ...] = SETS) -> list[str]:
        return [v.id for v in select(VARIANTS, patterns, of)]

    assert ids() == [v.id for v in VARIANTS[:3]]
    assert ids(of=ALL_SETS) == [VARIANTS[i].id for i in (0, 1, 2, 4)]
    assert ids("mldsa-lanes") == [v.id for v in VARIANTS[:2]]
    assert ids("*:expanded") == [VARIANTS[1].id]
    assert ids("aws-lc,mldsa-lanes:avx2:compact") == [VARIANTS[2].id, VARIANTS[0].id]
    assert ids("mldsa-*") == [VARIANTS[i].id for i in (0, 1)]
    assert ids("mldsa-oracle") == ids("mldsa-oracle:*") == [VARIANTS[3].id]


def test_words_of_the_command_line() -> None:
    assert parse_batch_sizes(["32,1", "8", " 32"]) == (1, 8, 32)
    assert parse_batch_sizes(["all"]) == BATCH_SIZES and parse_batch_sizes([]) == ()
    # There is one thread to compare with.
    assert parse_thread_counts(["4,2"], cores=4) == (1, 2, 4)
    assert parse_thread_counts(["all"], cores=3) == (1, 2, 3) and parse_thread_counts([], 3) == ()
    assert parse_thread_counts(["all"], cores=12) == (1, 2, 4, 8, 12)
    assert parse_set_names(["87,44"]) == ("ML-DSA-44", "ML-DSA-87")
    assert parse_set_names(["ml-dsa-65", "ED25519"]) == ("ML-DSA-65", "Ed25519")
    assert (parse_set_names(["all"]), parse_set_names(["classical"])) == (ALL_SETS, CLASSICAL_SETS)
    assert parse_operations(["verify", "sign"]) == ("sign", "verify")


@pytest.mark.parametrize(
    ("parse", "words", "said"),
    [
        *((parse_batch_sizes, ["8", word], f"batch size {word!r}: must be a whole number from 1 to")
          for word in ("0", "x", "1.5", "100001", "٣", "9" * 30)),
        *((partial(parse_thread_counts, cores=4), [word], "number of threads '.*': must be a whole")
          for word in ("0", "two")),
        (partial(parse_thread_counts, cores=4), ["2", "8"], "8 threads: this machine has 4 cores"),
        (partial(parse_thread_counts, cores=1), ["2"], "2 threads: this machine has 1 core to"),
        (parse_set_names, ["44", "45"], "unknown parameter set '45': known are 44, 65, 87"),
        (parse_operations, ["sign,trace"], "unknown operation 'trace': known are keygen"),
        (partial(select, VARIANTS, sets=SETS), ["openssl"], "'openssl'.*known are mldsa-lanes"),
        (partial(select, VARIANTS, sets=SETS), ["dalek"], "measure: none.*has ML-DSA-44"),
    ],
)  # fmt: skip
def test_unknown_words_are_named(parse: Any, words: list[str], said: str) -> None:
    with pytest.raises(LabError, match=said):
        parse(words)


def test_seeds() -> None:
    assert parse_seed("ab" * 32) == b"\xab" * 32
    assert parse_seed("today") == parse_seed("today") != parse_seed("tomorrow")
    assert len(parse_seed("")) == 32
