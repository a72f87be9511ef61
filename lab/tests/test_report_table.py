"""The terminal tables."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path

import pytest
from report_records import CLASSICAL, ML_DSA, SIGNERS, Shape, build, printed, view_of
from rich.console import Console
from tiers import first_of

from mldsa_lab.estimate.summary import summarise
from mldsa_lab.records import Record
from mldsa_lab.show.format import Shown, estimate, plain
from mldsa_lab.show.grid import Column, Grid, terminal
from mldsa_lab.show.operations.view import unit_of


@pytest.fixture(scope="module")
def record(tmp_path_factory: pytest.TempPathFactory) -> Record:
    sets = (*ML_DSA, "Ed25519", "RSA-2048-PSS")
    shape = Shape(sets=sets, refused=("fips204:portable:compact",), crashed="circl:go:compact")
    return build(tmp_path_factory.mktemp("table") / "run.jsonl", shape)


def test_long_names_fold_before_numbers_are_cut_off() -> None:
    name = "mldsa-lanes:avx512:compact:tuned:batch-1000"
    columns = (
        Column("variant", [f"{name} → {name}"], head=True),
        Column("change", [Shown("1.234", "1.211", "1.245")], number=True),
        Column("verdict", ["slower, but hedging changed"]),
    )
    for width in (90, 120):
        out = io.StringIO()
        Console(file=out, width=width).print(terminal(Grid("Changes", "", columns), width))
        text = out.getvalue()
        assert "…" not in text and max(map(len, text.splitlines())) <= width
        assert "1.234 −0.023/+0.011 slower, but hedging changed" in text
        assert text.count("mldsa-lanes:avx512") == 2


@pytest.mark.parametrize("spare", [0, 1])
def test_columns_that_do_not_fit_are_left_out_and_counted(spare: int) -> None:
    numbers = [
        Column(f"threads {n}", [Shown("1.234", "1.211", "1.245")], number=True, spare=spare)
        for n in range(9)
    ]
    columns = (Column("scheme", ["ECDSA-secp256k1 DER"], head=True), *numbers)
    out = io.StringIO()
    Console(file=out, width=80).print(terminal(Grid("Threads", "", columns), 80))
    text = out.getvalue()
    shown = [n for n in range(9) if f"threads {n}" in text]
    assert shown == list(range(len(shown))) and 0 < len(shown) < 9
    assert f"Threads   {9 - len(shown)} columns more on the page" in text
    assert "ECDSA-secp256k1" in text and "…" not in text


@pytest.mark.e2e
@pytest.mark.parametrize("width", first_of([100, 140, 200]))
def test_every_number_is_there_and_no_line_is_cut(record: Record, width: int) -> None:
    text = printed(record, width)
    assert "…" not in text
    assert max(map(len, text.splitlines())) <= width
    view, lines = view_of(record), text.splitlines()
    for (set_name, operation, _), rows in view.tables.items():
        if set_name not in ML_DSA:
            continue
        unit = unit_of(rows)
        title = next(i for i, t in enumerate(lines) if t.split()[:2] == [set_name, operation])
        for row, shown in zip(rows, lines[title + 3 : title + 3 + len(rows)], strict=True):
            words = shown.split()
            words = words[words.index(row.implementation) :]
            assert words[1:3] == [row.backend, row.key]
            mean, ratio = estimate(row.interval("mean"), unit), estimate(row.interval("ratio"))
            assert mean.value in words and ratio.value in words
            if operation == "sign":
                assert all(plain(q, unit) in words for q in (row.p95, row.p99, row.p999))
            assert (mean.interval if width >= 132 else mean.distance) in shown
            for mark in view.marks(row):
                assert mark in words[-1]


def test_a_narrow_terminal_gives_up_the_least_needed(record: Record) -> None:
    lines = printed(record, 80).splitlines()
    assert max(map(len, lines)) <= 80
    signing = next(i for i, t in enumerate(lines) if t.split()[:2] == ["ML-DSA-65", "sign"])
    assert "…" not in "".join(lines[signing : signing + 13])
    assert {"implementation", "mean", "p99.9", "ratio"} <= set(lines[signing + 1].split())


def test_a_hostile_record_prints_no_escape_codes(tmp_path: Path) -> None:
    shape = Shape(
        sets=("ML-DSA-44",), signers=SIGNERS[:3], refused=(SIGNERS[1].id,), hostile="\x1b[2J[bold]x"
    )
    text = printed(build(tmp_path / "run.jsonl", shape), 100)
    assert "\x1b" not in text
    assert "[bold]x" in text, "markup of the console must be shown, not obeyed"


def test_nothing_measured(tmp_path: Path) -> None:
    shape = Shape(
        sets=("ML-DSA-44",), signers=SIGNERS[:2], refused=tuple(s.id for s in SIGNERS[:2])
    )
    text = printed(build(tmp_path / "run.jsonl", shape), 100)
    assert "Nothing was measured" in text
    assert SIGNERS[0].id in text


def test_classical_only(tmp_path: Path) -> None:
    shape = Shape(sets=("Ed25519", "RSA-2048-PSS"), signers=CLASSICAL)
    text = printed(build(tmp_path / "run.jsonl", shape), 100)
    assert "ed25519-dalek" in text and "aws-lc-rsa" in text and "ms" in text
    assert "Only classical schemes were measured" in text


@pytest.mark.parametrize(
    ("name", "extra", "limit"),
    [
        ("mldsa-lanes", 18, "explains 5.64"),
        ("mldsa-lanes-hardened", 18, None),
        ("mldsa-lanes-hardened", 60, "explains 22.45"),
    ],
)
def test_hardened_signers_are_expected_to_check_their_signatures(
    tmp_path: Path, name: str, extra: float, limit: str | None
) -> None:
    signer = replace(SIGNERS[2], implementation=name, extra=extra)
    shape = Shape(sets=("ML-DSA-65",), operations=("sign",), signers=(signer,))
    (row,) = summarise(build(tmp_path / "run.jsonl", shape)).rows
    if limit is None:
        assert row.notes == ()
    else:
        assert "more than signing" in row.notes[0] and limit in row.notes[0]
