"""The page's content: complete, escaped, self-contained, and sensible for every kind of record."""

from __future__ import annotations

import base64
import io
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
    record_of,
    report_of,
    rows,
    write,
)
from rich.console import Console

from mldsa_lab.answers.sources import about_record
from mldsa_lab.cli.shared import console, show_path
from mldsa_lab.estimate.figure import REJECTED, breaches
from mldsa_lab.estimate.interval import Interval
from mldsa_lab.estimate.summary import Summary, summarise
from mldsa_lab.kinds.reports import read_reports
from mldsa_lab.records import Load, read_record
from mldsa_lab.screen import Screen
from mldsa_lab.show.findings import find
from mldsa_lab.show.grid import (
    MISSING,
    Column,
    Grid,
    Shown,
    Unit,
    choose_unit,
    clean,
    count_decimals,
    estimate,
    format_plain,
    terminal,
)
from mldsa_lab.show.page import render
from mldsa_lab.show.remarks import command, unit_of, warnings
from mldsa_lab.show.report import FiguresFile, Look

SET = "ML-DSA-65"
HOSTILE = "<script>alert(1)</script>\"'&\x1b[2J[bold]x"


class Parts(HTMLParser):
    """Tags, attributes and texts of a page; fails on unbalanced tags."""

    VOID = frozenset(("meta", "link", "br", "img", "hr", "input"))

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.feed(text)
        assert self.open == []
        self.text = " ".join(" ".join(self.texts).split())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_startendtag(tag, attrs)
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "script" not in self.open and "style" not in self.open:
            self.texts.append(data)


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A record of foreign texts that are markup for pages and terminals."""
    sets = ("ML-DSA-44", "ML-DSA-65", "Ed25519", "RSA-2048-PSS")
    target = tmp_path_factory.mktemp("page") / "run.jsonl"
    refused, crashed = SIGNERS[7].id, SIGNERS[9].id
    shape = Shape(sets=sets, rounds=4, refused=(refused,), crashed=crashed, hostile=HOSTILE)
    build(target, shape)
    return target


@pytest.fixture(scope="module")
def summary(path: Path) -> Summary:
    return summarise(read_record(path))


@pytest.fixture(scope="module")
def page(path: Path) -> str:
    return render(read_reports([path], Look()))


def test_every_row_is_shown_with_its_numbers(summary: Summary, page: str) -> None:
    cells = {t.strip().rstrip("\u2007\u2008") for t in Parts(page).texts}
    shown = 0
    for (set_name, operation, _), cells_of in summary.tables.items():
        for row in cells_of if set_name in ML_DSA else ():
            unit = unit_of(cells_of)
            mean, ratio = estimate(row.mean, unit), estimate(row.interval("ratio"))
            numbers = [mean.value, mean.interval, ratio.value, ratio.interval]
            if operation == "sign":
                costs = (row.value("quantile", percentile=p) for p in (50, 95, 99, 99.9))
                numbers += [format_plain(cost, unit) for cost in costs]
            assert {n for n in numbers if n} | {row.variant.implementation} <= cells
            shown += 1
    assert shown == 10 * 2 * 3, "ten variants passed the gate, in two sets, three operations"


def test_the_page_is_safe_and_loads_nothing(page: str) -> None:
    assert len(page.encode()) < 2_000_000
    parts = Parts(page)
    ids = [a["id"] for _, a in parts.tags if "id" in a]
    assert len(ids) == len(set(ids))
    for tag, attributes in parts.tags:
        assert tag not in ("img", "iframe", "object", "embed", "audio", "video", "base", "form")
        assert not any(name == "src" or name.startswith("on") for name in attributes)
        target = attributes.get("href") or "data:"
        assert target.startswith("data:") or (target[0] == "#" and target[1:] in ids)
    assert not re.search(r"https?:|@import|url\([^#]", page)
    assert [tag for tag, _ in parts.tags].count("script") == 1 and "<script>alert" not in page
    # Machine, flags, note of each variant, reason of the gate, fault and skipped worker.
    assert parts.text.count("<script>alert(1)</script>") >= 8


def test_the_download_holds_all_figures(summary: Summary, page: str) -> None:
    [link] = [a for t, a in Parts(page).tags if t == "a" and "download" in a]
    data = base64.b64decode((link["href"] or "").partition("base64,")[2])
    (stored,) = msgspec.json.decode(data, type=FiguresFile).lists
    figures = {
        (*group.keys.items(), name): (part.value, part.low, part.high)
        for group in stored.groups
        for name, part in group.figures.items()
    }
    expected = {(*f.keys.items(), f.name): (f.value, f.low, f.high) for f in summary.figures()}
    assert figures == expected and list(breaches(summary.figures())) == []
    refused = [f for f in summary.figures() if f.verdict == REJECTED]
    assert len(refused) == 2 and all(f.value is None and f.notes for f in refused)
    assert stored.head["started"] == "2026-11-21T21:40:00Z"


def test_rejection_machine_and_reproduction_are_told(summary: Summary, page: str) -> None:
    text = Parts(page).text
    assert "acvp-sigver: 1 of 15 wrong (signature 3 differs at byte 17" in text
    assert "✗ rejected" in text and text.count("✓ passed") == 10
    assert "AMD EPYC 9B14" in text and "profile release; RUSTFLAGS none" in text
    stated = command(summary.record)
    assert stated in text and summary.record.run.seed in stated
    assert stated.startswith("mldsa-lab bench --quick --sets ML-DSA-44,ML-DSA-65")


def test_foreign_texts_are_printed_as_they_are(
    path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = printed(read_record(path), 100)
    assert "\x1b" not in text and "[bold]x" in text, "markup must be shown, not obeyed"
    foreign = "core:bug:expanded [bold]x[/] [0]"
    show_path(console(), "record", Path(foreign))
    show_path(console(stderr=True), "record", Path(foreign))
    with Screen(console()).phase("build") as phase:
        phase.summary = foreign
    shown = capsys.readouterr()
    assert shown.out.count(foreign) == 2 and foreign in shown.err
    assert clean("a\x1b[31mb\u202ec\x00") == "a�[31mb�c�"
    assert clean("ξ ρ″ 12\u2007µs\n") == "ξ ρ″ 12\u2007µs\n"


NATIVE, AWS = SIGNERS[3:5]


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
def test_the_headline_is_what_the_numbers_say(signers: tuple[Signer, ...], said: str) -> None:
    record = record_of(sets=(SET,), operations=("sign",), signers=signers)
    assert re.fullmatch(said, find(summarise(record)).headline)


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
         ("Only classical schemes were measured", "The record has no gate results.")),
        (Shape(sets=("ML-DSA-44",), signers=SIGNERS[:1]), ("no measurements of the baseline",)),
        (Shape(sets=(SET,), operations=("sign",), signers=(replace(SIGNERS[2], extra=18),)),
         ("more than signing",)),
    ],
)  # fmt: skip
def test_what_a_record_lacks_is_said(shape: Shape, said: tuple[str, ...]) -> None:
    record = record_of(shape)
    text = Parts(page_of(record)).text
    assert all(part in text for part in said)
    assert len(shape.signers) > 1 or "fastest," not in text
    assert text.count("✗ rejected") == len(shape.refused)
    assert max(map(len, printed(record, 100).splitlines())) <= 100


@pytest.mark.e2e
def test_several_records_are_compared(tmp_path: Path) -> None:
    one = Shape(sets=("ML-DSA-44",), operations=("sign",), signers=SIGNERS[2:6])
    two = replace(one, signers=SIGNERS[3:7], seed=2, drift=1.5)
    paths = [tmp_path / "a.jsonl", tmp_path / "b.jsonl"]
    for path, shape in zip(paths, (one, two), strict=True):
        build(path, shape)
    parts = Parts(render(read_reports(paths, Look())))
    ids = [a["id"] for _, a in parts.tags if "id" in a]
    assert len(ids) == len(set(ids))
    for said in ("Run A", "Run B", "ML-DSA-44 sign in each run", "Agreement of the runs"):
        assert said in parts.text
    assert "intervals apart" in parts.text and "only in run" not in parts.text


def test_cycles_and_nanoseconds_are_not_ranked_together() -> None:
    record = record_of(sets=("ML-DSA-44",), signers=(SIGNERS[3], SIGNERS[8]))
    record.workers[1] = structs.replace(record.workers[1], unit="cycles", cpu_clock=None)
    # Cycles have no wall clock.
    assert not any("w" in mark for s in report_of(record).sections for mark in s.grid.marks)
    tables = summarise(record).tables
    units = {(key[1], unit_of(entries).name, len(entries)) for key, entries in tables.items()}
    assert {u for u in units if u[0] == "sign"} == {("sign", "µs", 1), ("sign", "kcycles", 1)}
    ratios = [row.interval("ratio") for entries in tables.values() for row in entries]
    assert ratios.count(None) == 3 and "kcycles" in page_of(record)


# --- units, rounding and layout -------------------------------------------------------------------


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
    ("value", "low", "high", "shown", "distance"),
    [
        (132.448, 132.1, 132.8, "132.4 [132.1, 132.8]", "±0.4"),
        (132.448, 120, 145, "132 [120, 145]", "±13"),
        (1083.512, 1079, 1088, "1,084 [1,079, 1,088]", "±5"),
        (27.04, 27.038, 27.042, "27.040 [27.038, 27.042]", "±0.002"),
        (27.04, math.nan, 28, "27.0", ""),
        (None, None, None, MISSING, ""),
        (math.inf, None, None, MISSING, ""),
        (100, 98.5, 102, "100.0 [98.5, 102.0]", "±2.0"),
        (36, 35, 80, "36 [35, 80]", "−1/+44"),
        (4.5e-5, None, None, "0.0000450", ""),
        (8.8e-6, None, None, "8.80e-06", ""),
        (0, None, None, "0", ""),
    ],
)
def test_digits_follow_the_interval(
    value: float | None, low: float | None, high: float | None, shown: str, distance: str
) -> None:
    text = estimate(None if value is None else Interval(value, low, high), Unit(1.0, "µs"))
    assert (str(text), text.distance) == (shown, distance)


def test_the_last_digit_is_never_coarser_than_the_interval() -> None:
    for exponent in range(-3, 5):
        for lead in (1.0, 1.4, 2.0, 3.5, 3.6, 5.0, 9.9):
            half = lead * 10.0**exponent
            decimals = count_decimals(5e3, 5e3 - half, 5e3 + half)
            # 5000 keeps at most its four digits; else the last digit is at most the half-width.
            assert decimals == 0 or 10.0**-decimals <= half


@pytest.mark.parametrize("spare", [0, 1])
def test_columns_that_do_not_fit_are_left_out_and_counted(spare: int) -> None:
    cells = [Shown("1.234", "1.211", "1.245")]
    numbers = [Column(f"threads {n}", cells, is_numeric=True, spare=spare) for n in range(9)]
    columns = (Column("scheme", ["ECDSA-secp256k1 DER"], is_head=True), *numbers)
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
    shape = Shape(sets=("ML-DSA-44",), operations=("verify",), signers=SIGNERS[:2], rounds=2)
    first, *others = (row for row in rows(shape) if not isinstance(row, Load))
    first = structs.replace(first, machine={**first.machine, "load1": start, "cores": cores})
    loads = [Load(number, load) for number, load in enumerate(rounds)]
    path = write(tmp_path / "record.jsonl", [first, *others[:-1], *loads, others[-1]])
    assert read_record(path).busy == said
    stated = f"The machine was busy with other work: {said}"
    assert (stated in " ".join(warnings(summarise(read_record(path))))) == bool(said)
    assert said in about_record(str(path)) and about_record(str(path)).endswith(said)
