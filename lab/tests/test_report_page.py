"""The page's content: complete, escaped, self-contained, and sensible for every kind of record."""

from __future__ import annotations

import base64
import io
import json
import math
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import msgspec
import pytest
from msgspec import structs
from report_records import (
    CLASSICAL,
    ML_DSA,
    SIGNERS,
    Shape,
    Signer,
    build,
    page_of,
    printed,
    report_of,
)
from rich.console import Console

from mldsa_lab.answers.sources import about_record
from mldsa_lab.cli.shared import console, show_path
from mldsa_lab.estimate.figure import REJECTED, breaches
from mldsa_lab.estimate.interval import Interval
from mldsa_lab.estimate.summary import Summary, summarise
from mldsa_lab.kinds.reports import read_reports
from mldsa_lab.records import read_record
from mldsa_lab.screen import Screen
from mldsa_lab.show.grid import (
    MISSING,
    Column,
    Grid,
    Shown,
    Unit,
    choose_unit,
    clean,
    decimals_for,
    estimate,
    format_plain,
    terminal,
)
from mldsa_lab.show.operations.findings import find
from mldsa_lab.show.operations.remarks import command, unit_of
from mldsa_lab.show.page import render
from mldsa_lab.show.report import FiguresFile, Look

SET = "ML-DSA-65"
HOSTILE = "<script>alert(1)</script>\"'&"


class Parts(HTMLParser):
    """Tags, attributes, text of cells and all text of a page; fails on unbalanced tags."""

    VOID = frozenset(("meta", "link", "br", "img", "hr", "input"))

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "script" not in self.open and "style" not in self.open:
            self.texts.append(data)

    def count(self, tag: str) -> int:
        return sum(t == tag for t, _ in self.tags)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.texts).split())


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    sets = ("ML-DSA-44", "ML-DSA-65", "Ed25519", "RSA-2048-PSS")
    target = tmp_path_factory.mktemp("page") / "run.jsonl"
    build(target, Shape(sets=sets, refused=("fips204:portable:compact",)))
    return target


@pytest.fixture(scope="module")
def summary(path: Path) -> Summary:
    return summarise(read_record(path))


@pytest.fixture(scope="module")
def page(path: Path) -> str:
    return render(read_reports([path], Look()))


def test_every_row_is_shown_with_its_numbers(summary: Summary, page: str) -> None:
    parts = Parts(page)
    cells = {t.strip().rstrip("\u2007\u2008") for t in parts.texts}
    shown = 0
    for (set_name, operation, _), rows in summary.tables.items():
        for row in rows if set_name in ML_DSA else ():
            unit = unit_of(rows)
            mean, ratio = estimate(row.mean, unit), estimate(row.interval("ratio"))
            numbers = [mean.value, mean.interval, ratio.value, ratio.interval]
            if operation == "sign":
                costs = (row.value("quantile", percentile=p) for p in (50, 95, 99, 99.9))
                numbers += [format_plain(cost, unit) for cost in costs]
            assert {n for n in numbers if n} <= cells
            assert row.variant.implementation in cells
            shown += 1
    assert shown == 10 * 2 * 3, "ten variants passed the gate, in two sets, three operations"


def test_the_page_loads_nothing_and_is_small(page: str) -> None:
    assert len(page.encode()) < 2_000_000
    assert "http:" not in page and "https:" not in page and "@import" not in page
    for tag, attributes in Parts(page).tags:
        assert tag not in ("img", "iframe", "object", "embed", "audio", "video", "base", "form")
        assert "src" not in attributes
        target = attributes.get("href") or ""
        assert target == "" or target.startswith(("#", "data:"))
        assert not any(name.startswith("on") for name in attributes)
    assert re.findall(r"url\(([^)]*)\)", page) == [
        u for u in re.findall(r"url\(([^)]*)\)", page) if u.startswith("#")
    ]


def test_links_and_ids_fit_together(page: str) -> None:
    parts = Parts(page)
    ids = [a["id"] for _, a in parts.tags if "id" in a]
    assert len(ids) == len(set(ids))
    for _, attributes in parts.tags:
        target = attributes.get("href") or ""
        if target.startswith("#"):
            assert target[1:] in ids


def test_the_download_holds_all_figures(summary: Summary, page: str) -> None:
    [link] = [a for t, a in Parts(page).tags if t == "a" and "download" in a]
    data = base64.b64decode((link["href"] or "").partition("base64,")[2])
    (found,) = msgspec.json.decode(data, type=FiguresFile).lists
    figures = {
        (*group.keys.items(), name): (part.value, part.low, part.high)
        for group in found.groups
        for name, part in group.figures.items()
    }
    expected = {(*f.keys.items(), f.name): (f.value, f.low, f.high) for f in summary.figures()}
    assert figures == expected and list(breaches(summary.figures())) == []
    refused = [f for f in summary.figures() if f.verdict == REJECTED]
    assert len(refused) == 2 and all(f.value is None and f.notes for f in refused)
    run = found.head["started"], found.head["cpu"]
    assert run == ("2026-11-21T21:40:00Z", "AMD EPYC 9B14")


def test_rejection_machine_and_reproduction_are_told(summary: Summary, page: str) -> None:
    text = Parts(page).text
    assert "acvp-sigver: 1 of 15 wrong (signature 3 differs at byte 17)" in text
    assert "✗ rejected" in text and text.count("✓ passed") == 10
    assert "AMD EPYC 9B14" in text and "profile release; RUSTFLAGS none" in text
    told = command(summary.record)
    assert told in text and summary.record.run.seed in told
    assert told.startswith("mldsa-lab bench --quick --sets ML-DSA-44,ML-DSA-65")


NATIVE, AWS = (
    next(s for s in SIGNERS if s.implementation == name) for name in ("mldsa-native", "aws-lc")
)


@pytest.mark.parametrize(
    ("signers", "said"),
    [
        ((NATIVE, AWS), "mldsa-native signs ML-DSA-65 fastest, .*"),
        ((replace(NATIVE, cost={SET: (49e3, 400e3, 47e3)}), AWS),
         r"aws-lc signs ML-DSA-65 fastest, 2\.[34]\d*\s\[.*\] times as fast as mldsa-native, .*"),
        ((replace(AWS, implementation="twin"), AWS),
         "(twin and aws-lc|aws-lc and twin) sign ML-DSA-65 fastest: this run cannot tell .*"),
        ((AWS,), r"A mean signature of ML-DSA-65 costs [\d.]+\s\[.*\]\sµs with aws-lc.*"),
    ],
)  # fmt: skip
def test_the_headline_is_what_the_numbers_say(
    tmp_path: Path, signers: tuple[Signer, ...], said: str
) -> None:
    shape = Shape(sets=(SET,), operations=("sign",), signers=signers)
    assert re.fullmatch(said, find(summarise(build(tmp_path / "run.jsonl", shape))).headline)


def test_every_value_of_a_hostile_record_is_escaped(tmp_path: Path) -> None:
    shape = Shape(
        sets=("ML-DSA-44",), operations=("sign",), signers=SIGNERS[:5], rounds=3,
        refused=(SIGNERS[4].id,), crashed=SIGNERS[1].id, hostile=HOSTILE,
    )  # fmt: skip
    page = page_of(build(tmp_path / "run.jsonl", shape))
    parts = Parts(page)
    assert parts.count("script") == 1
    assert page.count("<script>alert") == 0
    # Machine, flags, note of each variant, reason of the gate, fault and skipped worker.
    assert parts.text.count("<script>alert(1)</script>") >= 8


def test_foreign_texts_are_printed_as_they_are(capsys: pytest.CaptureFixture[str]) -> None:
    foreign = "core:bug:expanded [bold]x[/] [0]"
    show_path(console(), "record", Path(foreign))
    show_path(console(stderr=True), "record", Path(foreign))
    with Screen(console()).phase("build") as phase:
        phase.summary = foreign
    shown = capsys.readouterr()
    assert shown.out.count(foreign) == 2 and foreign in shown.err


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (4.5e-5, "0.0000450"),
        (0.0043, "0.00430"),
        (0.0426, "0.0426"),
        (8.8e-6, "8.80e-06"),
        (0, "0"),
    ],
)
def test_small_figures_keep_their_digits(value: float, shown: str) -> None:
    assert format_plain(value, Unit(1.0, "")) == shown == estimate(Interval(value)).value


def test_a_hostile_record_prints_no_escape_codes(tmp_path: Path) -> None:
    shape = Shape(
        sets=("ML-DSA-44",), signers=SIGNERS[:3], refused=(SIGNERS[1].id,), hostile="\x1b[2J[bold]x"
    )
    text = printed(build(tmp_path / "run.jsonl", shape), 100)
    assert "\x1b" not in text
    assert "[bold]x" in text, "markup of the console must be shown, not obeyed"


@pytest.mark.parametrize(
    ("shape", "said"),
    [
        (Shape(sets=("ML-DSA-87",), signers=SIGNERS[:3], rounds=2, end=None),
         ("interrupted after 2 rounds", "fewer than 4 rounds")),
        (Shape(sets=("ML-DSA-87",), operations=("verify",), signers=SIGNERS[2:5]),
         ("verifies ML-DSA-87 fastest", "Signing of ML-DSA-87 was not measured in this run.")),
        (Shape(sets=("ML-DSA-44",), signers=SIGNERS, refused=tuple(s.id for s in SIGNERS)),
         ("Nothing was measured in this run", "no variant passed the correctness gate")),
        (Shape(sets=("Ed25519", "RSA-2048-PSS"), signers=CLASSICAL),
         ("Only classical schemes were measured", "The record holds no gate results.")),
        (Shape(sets=("ML-DSA-44",), signers=SIGNERS[:1]), ("no measurements of the reference",)),
        (Shape(sets=(SET,), operations=("sign",), signers=(replace(SIGNERS[2], extra=18),)),
         ("more than signing",)),
    ],
)  # fmt: skip
def test_what_a_record_lacks_is_said(tmp_path: Path, shape: Shape, said: tuple[str, ...]) -> None:
    record = build(tmp_path / "run.jsonl", shape)
    text = Parts(page_of(record)).text
    assert all(part in text for part in said)
    assert len(shape.signers) > 1 or "fastest," not in text
    assert text.count("✗ rejected") == len(shape.refused)
    assert max(map(len, printed(record, 100).splitlines())) <= 100


@pytest.mark.e2e
def test_several_records_are_compared(tmp_path: Path) -> None:
    one = Shape(sets=("ML-DSA-44",), operations=("sign",), signers=SIGNERS[2:6])
    two = Shape(sets=("ML-DSA-44",), operations=("sign",), signers=SIGNERS[3:7], seed=2, drift=1.5)
    paths = [tmp_path / "a.jsonl", tmp_path / "b.jsonl"]
    for path, shape in zip(paths, (one, two), strict=True):
        build(path, shape)
    page = render(read_reports(paths, Look()))
    parts = Parts(page)
    ids = [a["id"] for _, a in parts.tags if "id" in a]
    assert len(ids) == len(set(ids))
    assert "Run A" in parts.text and "Run B" in parts.text
    assert "ML-DSA-44 sign in each run" in parts.text and "intervals apart" in parts.text
    assert "only in run" not in parts.text and "Agreement of the runs" in parts.text


def test_cycles_and_nanoseconds_are_not_ranked_together(tmp_path: Path) -> None:
    record = build(
        tmp_path / "run.jsonl", Shape(sets=("ML-DSA-44",), signers=(SIGNERS[3], SIGNERS[8]))
    )
    record.workers[1] = structs.replace(record.workers[1], unit="cycles", cpu_clock=None)
    record.samples[:] = [
        structs.replace(s, metrics={"wall": s.wall})
        if s.variant in {v.id for v in record.workers[1].variants}
        else s
        for s in record.samples
    ]
    # Cycles have no wall clock.
    assert not any("w" in mark for s in report_of(record).sections for mark in s.grid.marks)
    tables = summarise(record).tables
    units = {(key[1], unit_of(rows).name, len(rows)) for key, rows in tables.items()}
    assert {u for u in units if u[0] == "sign"} == {("sign", "µs", 1), ("sign", "kcycles", 1)}
    assert "kcycles" in page_of(record)


# --- units, rounding, alignment and cleaning ------------------------------------------------------


US = Unit(1e3, "µs")


def shown_in_us(value: float | None, low: float | None, high: float | None) -> Shown:
    return estimate(None if value is None else Interval(value, low, high), US)


@pytest.mark.parametrize(
    ("values", "stored", "name"),
    [
        ([87e3, 675e3], "ns", "µs"), ([900.0, 5e3], "ns", "ns"), ([20e3, 400e6], "ns", "µs"),
        ([2e6, 9e7], "ns", "ms"), ([3e9], "ns", "s"), ([None, 12e3], "ns", "µs"), ([], "ns", "ns"),
        ([9_999.0], "cycles", "cycles"), ([150_000.0, 9e6], "cycles", "kcycles"),
        ([4e7], "instructions", "Minstructions"),
    ],
)  # fmt: skip
def test_unit_follows_the_smallest_value(
    values: list[float | None], stored: str, name: str
) -> None:
    assert choose_unit(values, stored).name == name


@pytest.mark.parametrize(
    ("value", "low", "high", "shown"),
    [
        (132_448, 132_100, 132_800, "132.4 [132.1, 132.8]"),
        (132_448, 131_000, 133_900, "132.4 [131.0, 133.9]"),
        (132_448, 120_000, 145_000, "132 [120, 145]"),
        (1_083_512, 1_079_000, 1_088_000, "1,084 [1,079, 1,088]"),
        (27_040, 27_039, 27_041, "27.040 [27.039, 27.041]"),
        (27_040, None, None, "27.0"),
        (27_040, math.nan, 28_000, "27.0"),
        (None, None, None, MISSING),
        (math.inf, None, None, MISSING),
    ],
)
def test_digits_follow_the_interval(
    value: float | None, low: float | None, high: float | None, shown: str
) -> None:
    assert str(shown_in_us(value, low, high)) == shown


def test_the_last_digit_is_never_coarser_than_the_interval() -> None:
    for exponent in range(-3, 5):
        for lead in (1.0, 1.4, 2.0, 3.5, 3.6, 5.0, 9.9):
            half = lead * 10.0**exponent
            decimals = decimals_for(5e3, 5e3 - half, 5e3 + half)
            # 5000 keeps at most its four digits; else the last digit is at most the half-width.
            assert decimals == 0 or 10.0**-decimals <= half


@pytest.mark.parametrize(
    ("value", "low", "high", "shown"),
    [
        (100_000, 98_500, 102_000, "±2.0"),
        (36_000, 35_000, 80_000, "−1/+44"),
        (36_000, 10_000, 36_500, "−26/+0"),
        (27_040, 27_038, 27_042, "±0.002"),
    ],
)
def test_one_distance_stands_for_both_sides_only_where_they_are_alike(
    value: float, low: float, high: float, shown: str
) -> None:
    assert shown_in_us(value, low, high).distance == shown


def test_control_and_direction_characters_do_not_reach_a_terminal() -> None:
    assert clean("a\x1b[31mb\u202ec\x00") == "a�[31mb�c�"
    assert clean("ξ ρ″ 12\u2007µs\n") == "ξ ρ″ 12\u2007µs\n"


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


@pytest.mark.parametrize(
    ("cores", "start", "rounds", "said"),
    [
        (2, 0.5, (1.9, 2.0), ""),
        (2, 0.5, (1.9, 14.24), "load average up to 14.24 on 2 cores"),
        (2, 6.0, (), "load average up to 6.00 on 2 cores"),
        (1, None, (1.2, None), "load average up to 1.20 on 1 core"),
    ],
)
def test_a_load_over_one_process_a_core_is_told_in_answer_and_page(
    tmp_path: Path, cores: int, start: float | None, rounds: tuple[float, ...], said: str
) -> None:
    path = tmp_path / "record.jsonl"
    build(path, Shape(sets=("ML-DSA-44",), operations=("verify",), signers=SIGNERS[:2], rounds=2))
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    lines[0]["machine"] |= {"load1": start, "cores": cores}
    lines = [line for line in lines if line["type"] != "load"]
    loads = [{"type": "load", "round": n, "load1": x} for n, x in enumerate(rounds)]
    lines[-1:-1] = loads
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    assert read_record(path).busy == said
    (report,) = read_reports([path], Look())
    is_told = f"The machine was busy with other work: {said}" in " ".join(report.warnings)
    assert is_told == bool(said)
    assert (said in about_record(str(path))) and about_record(str(path)).endswith(said)
