"""Traces: text form, strictness, counts; the pool of candidates, and generated inputs."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mldsa_lab import LabError
from mldsa_lab.files import convert, to_builtins
from mldsa_lab.inputs.input import Spec, candidates
from mldsa_lab.theory.rejection import RejectionModel
from mldsa_lab.theory.trace import (
    ACCEPTED,
    PASSED,
    Iteration,
    TraceTable,
    format_trace,
    parse_iteration,
    parse_trace,
)
from mldsa_studies.signers import draw_traces

checks = st.tuples(*[st.one_of(st.just(PASSED), st.integers(0, 7)) for _ in range(4)])
rejected = checks.map(Iteration.from_indexes).filter(lambda a: a != ACCEPTED)
traces = st.lists(rejected, max_size=30).map(lambda t: (*t, ACCEPTED))


@given(traces)
def test_format_and_parse_are_inverse(trace: tuple[Iteration, ...]) -> None:
    assert parse_trace(format_trace(trace).split()) == trace
    assert [a.rejection == "ok" for a in trace] == [False] * (len(trace) - 1) + [True]


@given(st.text(alphabet="zrchok0123456789 -", max_size=8))
def test_any_text_is_an_attempt_or_a_lab_error(text: str) -> None:
    try:
        assert str(parse_iteration(text)) == text
    except LabError as error:
        assert repr(text) in str(error)


def test_classes_follow_the_order_of_the_standard() -> None:
    trace = parse_trace(["z0r2", "z1h3", "r5", "r0c1", "c2", "h3", "z4r1c0h0", "ok"])
    assert [a.rejection for a in trace] == ["z", "z", "r", "r", "h", "h", "z", "ok"]
    assert [a.failed for a in trace] == [3, 9, 2, 6, 4, 8, 15, 0]
    assert trace[0].first_failing == (0, 2, PASSED, PASSED)
    table = TraceTable.from_traces("ML-DSA-87", [trace, trace[-1:]])
    np.testing.assert_array_equal(table.counts(), [[3, 2, 2], [0, 0, 0]])


def test_candidates_are_reproducible_and_separate() -> None:
    seed = bytes(range(32))
    pool = list(candidates(seed, "ML-DSA-65", 200, message_bytes=59, context_bytes=3))
    assert {(len(c.seed), len(c.message), len(c.context)) for c in pool} == {(32, 59, 3)}
    assert len({c.seed for c in pool}) == len({c.message for c in pool}) == 200
    again = list(candidates(seed, "ML-DSA-65", 5, message_bytes=59, context_bytes=3, start=100))
    assert again == pool[100:105]
    others = [
        *candidates(seed, "ML-DSA-44", 1, message_bytes=59, context_bytes=3),
        *candidates(seed, "ML-DSA-65", 1, message_bytes=60, context_bytes=2),
        *candidates(seed, "ML-DSA-65", 1, message_bytes=59, context_bytes=3, stream="random"),
        *candidates(bytes(32), "ML-DSA-65", 1, message_bytes=59, context_bytes=3),
    ]
    assert len({c.seed for c in (pool[0], *others)}) == 5


def test_candidates_of_a_known_seed() -> None:
    """Pools are part of published records: what a run seed gives must never change."""
    (first,) = candidates(bytes(32), "ML-DSA-44", 1, message_bytes=8)
    assert (first.seed[:8].hex(), first.message.hex()) == ("0639aba0f154a2ae", "f4d3f7c756352d07")


# --- traces in arrays say the same as traces in tuples --------------------------------------------

TEXTS = ["ok", "z0r2 ok", "r5 h3 z1r0h5 ok", "c0 c1h2 z4r5c5h5 ok"]


def test_attempts_and_their_codes() -> None:
    for word in {w for text in TEXTS for w in text.split()}:
        attempt = parse_iteration(word)
        assert Iteration.from_indexes(attempt.first_failing) == attempt and attempt <= 0xFFFF


def test_a_table_says_what_the_traces_say() -> None:
    traces = [parse_trace(text.split()) for text in TEXTS]
    traces += draw_traces(RejectionModel.for_set("ML-DSA-65"), 300, np.random.default_rng(1))
    table = TraceTable.from_traces("ML-DSA-65", traces)
    assert table.traces() == traces
    counts = [[sum(a.rejection == c for a in t) for c in "zrh"] for t in traces]
    assert (table.counts() == counts).all()
    assert table.iterations().tolist() == [len(t) for t in traces]
    some = [7, 0, 299, 7]
    assert table.take(some).traces() == [traces[i] for i in some]
    assert TraceTable.join([table.take([0, 1]), table.take([2])]).traces() == traces[:3]
    flat = [a for t in traces for a in t]
    for number, check in enumerate("zrch"):
        assert table.first_failing(check).tolist() == [a.first_failing[number] for a in flat]
    kinds = {"z": 0, "r": 1, "h": 2, "ok": 3}
    assert table.rejections().tolist() == [kinds[a.rejection] for a in flat]


def test_an_empty_table() -> None:
    table = TraceTable.from_traces("ML-DSA-44", [])
    assert len(table) == 0 and table.counts().shape == (0, 3) and table.traces() == []


# --- generated inputs -----------------------------------------------------------------------------


SEED = bytes(range(32))


@pytest.mark.parametrize("per_key", [0, 1, 3])
@pytest.mark.parametrize("rnd", ["zero", "given"])
def test_inputs_do_not_depend_on_how_many_are_taken(per_key: int, rnd: str) -> None:
    spec = Spec("ML-DSA-65", SEED, 40, 5, per_key, rnd)  # type: ignore[arg-type]
    many = spec.inputs(0, 10)
    assert [spec.input(i) for i in range(10)] == many
    assert spec.inputs(4, 3) == many[4:7]
    assert len({item.message for item in many}) == 10
    sizes = {(len(i.message), len(i.context), len(i.signing_rnd)) for i in many}
    assert sizes == {(40, 5, 32)}
    keys = {0: 1, 1: 10, 3: 4}[per_key]
    assert len({item.seed for item in many}) == keys
    assert len({item.rnd for item in many}) == (1 if rnd == "zero" else 10)
    if rnd == "zero":
        assert many[0].rnd is None and many[0].signing_rnd == bytes(32)


def test_sets_and_seeds_give_other_inputs() -> None:
    one = Spec("ML-DSA-44", SEED).input(0)
    assert Spec("ML-DSA-65", SEED).input(0) != one
    assert Spec("ML-DSA-44", bytes(32)).input(0) != one
    assert Spec("ML-DSA-44", SEED, rnd="given").input(0).rnd is not None


# --- what is refused ------------------------------------------------------------------------------


def fits_65(word: str) -> None:
    parse_trace([word, "ok"], "ML-DSA-65")


def draw(**change: Any) -> None:
    candidates(**{"run_seed": bytes(32), "set_name": "ML-DSA-44", "count": 1, **change})


def build(codes: list[int], ends: list[int]) -> None:
    TraceTable("ML-DSA-44", np.array(codes, dtype=np.uint16), np.array(ends, dtype=np.int64))


def read(**change: object) -> None:
    convert(to_builtins(Spec("ML-DSA-44", SEED)) | change, Spec, "here")


WORDS = ("", "x1", "z", "r2z0", "z0z1", "z8", "z00", "z-1", "ok1", "OK", "z0 r1", "z٣", "h999")
REFUSED = [
    *((partial(parse_iteration, word), "attempt") for word in WORDS),
    *((partial(parse_trace, words.split()), "trace") for words in ("", "z0", "ok ok", "ok r1 ok")),
    (partial(fits_65, "z5"), "below 5"),
    (partial(fits_65, "r6"), "below 6"),
    (partial(fits_65, "h7"), "below 6"),
    (partial(draw, run_seed=bytes(31)), "31 bytes"),
    (partial(draw, set_name="ML-DSA-11"), "ML-DSA-11"),
    (partial(draw, count=-1), "at least 0"),
    (partial(draw, context_bytes=256), r"0\.\.255"),
    (partial(draw, message_bytes=-1), "message size"),
    (partial(build, [0xFFFF, 0xFFF0], [1, 2]), "trace 1 .* last attempt, and only that"),
    (partial(build, [0xFFFF, 0xFFFF], [2]), "trace 0 .* last attempt, and only that"),
    (partial(build, [0xFFFF], [2]), "must cover all attempts"),
    (partial(build, [0xFFFF], []), "must cover all attempts"),
    (partial(build, [0xFFFF, 0xFFFF], [1, 1, 2]), "trace 1 .* at least one attempt"),
    (partial(build, [0xFFF4, 0xFFFF], [2]), "index of z must be below 4"),
    (partial(build, [0xFF4F, 0xFFFF], [2]), "index of r must be below 4"),
    (partial(build, [0x6FFF, 0xFFFF], [2]), "index of h must be below 4"),
    (partial(read, set="ML-DSA-66"), "^here.*unknown parameter set"),
    (partial(read, seed="00"), "^here.*seed of 1 bytes: must have 32"),
    (partial(read, seed="xy"), "^here.*seed: must be bytes in hexadecimal"),
    (partial(read, message_bytes=-1), "^here.*message_bytes: Expected `int` >= 0"),
    (partial(read, message_bytes=True), "^here.*message_bytes: Expected `int`"),
    (partial(read, context_bytes=256), "^here.*context_bytes: Expected `int` <= 255"),
    (partial(read, per_key=-1), "^here.*per_key: Expected `int` >= 0"),
    (partial(read, rnd="random"), "^here.*rnd: 'random' must be one of given, zero"),
]


@pytest.mark.parametrize(("call", "rule"), REFUSED)
def test_what_is_wrong_is_named(call: Callable[[], object], rule: str) -> None:
    fits_65("z4r5")
    with pytest.raises(LabError, match=rule):
        call()
