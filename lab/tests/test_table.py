"""Traces in arrays say the same as traces in tuples."""

from __future__ import annotations

import numpy as np
import pytest

from mldsa_lab.errors import LabError
from mldsa_lab.theory.rejection import RejectionModel
from mldsa_lab.theory.table import TraceTable
from mldsa_lab.theory.trace import Attempt, parse_attempt, parse_trace
from mldsa_studies.signers import draw_traces

TEXTS = ["ok", "z0r2 ok", "r5 h3 z1r0h5 ok", "c0 c1h2 z4r5c5h5 ok"]


def test_attempts_and_their_codes() -> None:
    for word in {w for text in TEXTS for w in text.split()}:
        attempt = parse_attempt(word)
        assert Attempt.of(attempt.first_failing) == attempt and attempt <= 0xFFFF


def test_a_table_says_what_the_traces_say() -> None:
    traces = [parse_trace(text.split()) for text in TEXTS]
    traces += draw_traces(RejectionModel.of("ML-DSA-65"), 300, np.random.default_rng(1))
    table = TraceTable.of("ML-DSA-65", traces)
    assert table.traces() == traces
    counts = [[sum(a.rejection == c for a in t) for c in "zrh"] for t in traces]
    assert (table.counts() == counts).all()
    assert table.attempts().tolist() == [len(t) for t in traces]
    some = [7, 0, 299, 7]
    assert table.take(some).traces() == [traces[i] for i in some]
    assert TraceTable.join([table.take([0, 1]), table.take([2])]).traces() == traces[:3]
    flat = [a for t in traces for a in t]
    for number, check in enumerate("zrch"):
        assert table.first_failing(check).tolist() == [a.first_failing[number] for a in flat]
    kinds = {"z": 0, "r": 1, "h": 2, "ok": 3}
    assert table.rejections().tolist() == [kinds[a.rejection] for a in flat]


def test_an_empty_table() -> None:
    table = TraceTable.of("ML-DSA-44", [])
    assert len(table) == 0 and table.counts().shape == (0, 3) and table.traces() == []


@pytest.mark.parametrize(
    ("codes", "ends", "message"),
    [
        ([0xFFFF, 0xFFF0], [1, 2], "trace 1 .* last attempt, and only that"),
        ([0xFFFF, 0xFFFF], [2], "trace 0 .* last attempt, and only that"),
        ([0xFFFF], [2], "must cover all attempts"),
        ([0xFFFF], [], "must cover all attempts"),
        ([0xFFFF, 0xFFFF], [1, 1, 2], "trace 1 .* at least one attempt"),
        ([0xFFF4, 0xFFFF], [2], "index of z must be below 4"),
        ([0xFF4F, 0xFFFF], [2], "index of r must be below 4"),
        ([0x6FFF, 0xFFFF], [2], "index of h must be below 4"),
    ],
)
def test_what_is_no_trace_is_refused(codes: list[int], ends: list[int], message: str) -> None:
    with pytest.raises(LabError, match=message):
        TraceTable("ML-DSA-44", np.array(codes, dtype=np.uint16), np.array(ends, dtype=np.int64))
