"""The page's content: complete, escaped, self-contained, and sensible for every kind of record."""

from __future__ import annotations

import base64
import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from report_records import CLASSICAL, ML_DSA, SIGNERS, Shape, build, page_of, view_of

from mldsa_lab.errors import LabError
from mldsa_lab.files import write_text
from mldsa_lab.kinds.reports import read_reports
from mldsa_lab.records import read_record
from mldsa_lab.show.figure_page import render
from mldsa_lab.show.format import estimate, plain
from mldsa_lab.show.operations.appendix import command
from mldsa_lab.show.operations.findings import find
from mldsa_lab.show.operations.report import FIELDS
from mldsa_lab.show.operations.view import View, unit_of
from mldsa_lab.show.report import Look

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
def view(path: Path) -> View:
    return view_of(read_record(path))


@pytest.fixture(scope="module")
def page(path: Path) -> str:
    return render(read_reports([path], Look()))


def test_every_row_is_shown_with_its_numbers(view: View, page: str) -> None:
    parts = Parts(page)
    cells = {t.strip().rstrip("\u2007\u2008") for t in parts.texts}
    shown = 0
    for (set_name, operation, _), rows in view.tables.items():
        for row in rows if set_name in ML_DSA else ():
            unit = unit_of(rows)
            mean, ratio = estimate(row.interval("mean"), unit), estimate(row.interval("ratio"))
            numbers = [mean.value, mean.interval, ratio.value, ratio.interval]
            if operation == "sign":
                numbers += [plain(q, unit) for q in (row.p50, row.p95, row.p99, row.p999)]
            assert {n for n in numbers if n} <= cells
            assert row.implementation in cells
            shown += 1
    assert shown == 10 * 2 * 3, "ten variants passed the gate, in two sets, three operations"


def test_every_implementation_is_labelled_in_every_plot(view: View, page: str) -> None:
    pictures = re.findall(r"<svg .*?</svg>", page, flags=re.S)
    # Per set: ranking and ratios of three operations; parts and two laws of signing; clouds.
    assert len(pictures) == 2 * (6 + 3 + 9)
    for (set_name, operation, _), rows in view.tables.items():
        mine = [p for p in pictures if f"{set_name} {operation}" in p.split(">")[0]]
        rankings = [p for p in mine if "Mean cost of" in p or "Relative to" in p]
        assert len(rankings) == (2 if set_name in ML_DSA else 0)
        for picture in rankings:
            for row in rows:
                assert f">{view.label(row.variant)}<" in picture


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


def test_the_download_holds_the_documented_rows(view: View, page: str) -> None:
    [link] = [a for t, a in Parts(page).tags if t == "a" and "download" in a]
    data = (link["href"] or "").partition("base64,")[2]
    rows = json.loads(base64.b64decode(data))
    assert all(tuple(row) == FIELDS for row in rows)
    expected = [row.as_dict() for row in view.summary.rows]
    assert [{k: row[k] for k in of} for row, of in zip(rows, expected, strict=True)] == expected
    assert {(row["started"], row["cpu"]) for row in rows} == {
        ("2026-11-21T21:40:00Z", "AMD EPYC 9B14")
    }


def test_rejection_machine_and_reproduction_are_told(view: View, page: str) -> None:
    text = Parts(page).text
    assert "acvp-sigver: 1 of 15 wrong (signature 3 differs at byte 17)" in text
    assert "✗ rejected" in text and text.count("✓ passed") == 10
    assert "java : java is not installed" in text
    assert "AMD EPYC 9B14" in text and "profile release; RUSTFLAGS none" in text
    assert "docs/methodology.md" in text
    told = command(view.record)
    assert told in text and view.record.run.seed in told
    assert told.startswith("mldsa-lab bench --quick --sets ML-DSA-44,ML-DSA-65")


def test_the_headline_is_what_the_numbers_say(tmp_path: Path) -> None:
    """With one signer made slower, the finding changes sides."""
    native = next(s for s in SIGNERS if s.implementation == "mldsa-native")
    aws = next(s for s in SIGNERS if s.implementation == "aws-lc")
    quick = Shape(sets=("ML-DSA-65",), operations=("sign",), signers=(native, aws))
    assert find(view_of(build(tmp_path / "a.jsonl", quick))).headline.startswith(
        "mldsa-native signs ML-DSA-65 fastest, "
    )
    slower = type(native)(
        native.implementation, native.backend, native.key, native.worker,
        {"ML-DSA-65": (49e3, 400e3, 47e3)},
    )  # fmt: skip
    turned = Shape(sets=("ML-DSA-65",), operations=("sign",), signers=(slower, aws))
    findings = find(view_of(build(tmp_path / "b.jsonl", turned)))
    said = re.fullmatch(
        r"aws-lc signs ML-DSA-65 fastest, ([\d.]+)\s\[([\d.]+),\s([\d.]+)\] times as fast as "
        r"mldsa-native, the next", findings.headline
    )  # fmt: skip
    assert said is not None
    factor, low, high = map(float, said.groups())
    assert factor == pytest.approx(400 / 167, rel=0.03) and low < factor < high
    twin = type(aws)("twin", "c", "compact", "rust", aws.cost)
    level = Shape(sets=("ML-DSA-65",), operations=("sign",), signers=(twin, aws))
    findings = find(view_of(build(tmp_path / "c.jsonl", level)))
    assert re.fullmatch(
        "(twin and aws-lc|aws-lc and twin) sign ML-DSA-65 fastest: this run cannot tell them apart",
        findings.headline,
    )
    lone = Shape(sets=("ML-DSA-65",), operations=("sign",), signers=(aws,))
    findings = find(view_of(build(tmp_path / "d.jsonl", lone)))
    assert findings.headline.startswith("A mean signature of ML-DSA-65 costs ")
    assert re.search(r"costs [\d.]+\s\[[\d.]+,\s[\d.]+\]\sµs with aws-lc", findings.headline)
    [basis] = findings.sentences  # nothing is said twice
    assert basis.startswith("Single calls with a compact key")


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


def test_an_interrupted_record_says_so(tmp_path: Path) -> None:
    shape = Shape(sets=("ML-DSA-87",), signers=SIGNERS[:3], rounds=2, end=None)
    text = Parts(page_of(build(tmp_path / "run.jsonl", shape))).text
    assert "interrupted after 2 rounds" in text
    assert "fewer than 4 rounds" in text


def test_one_operation_alone(tmp_path: Path) -> None:
    shape = Shape(sets=("ML-DSA-87",), operations=("verify",), signers=SIGNERS[2:5])
    text = Parts(page_of(build(tmp_path / "run.jsonl", shape))).text
    assert "verifies ML-DSA-87 fastest" in text
    assert "Signing of ML-DSA-87 was not measured in this run." in text
    assert "Key generation of ML-DSA-87 was not measured in this run." in text


def test_one_implementation_alone_is_not_called_fastest(tmp_path: Path) -> None:
    shape = Shape(sets=("ML-DSA-44",), signers=SIGNERS[:1])
    page = page_of(build(tmp_path / "run.jsonl", shape))
    assert "fastest," not in Parts(page).text
    assert "no measurements of the reference" in page


def test_nothing_passed_the_gate(tmp_path: Path) -> None:
    everyone = tuple(s.id for s in SIGNERS)
    shape = Shape(sets=("ML-DSA-44",), signers=SIGNERS, refused=everyone)
    text = Parts(page_of(build(tmp_path / "run.jsonl", shape))).text
    assert "Nothing was measured in this run" in text
    assert "no variant passed the correctness gate" in text
    assert text.count("✗ rejected") == len(everyone)


def test_classical_schemes_alone(tmp_path: Path) -> None:
    shape = Shape(sets=("Ed25519", "ECDSA-P256", "RSA-2048-PSS"), signers=CLASSICAL)
    text = Parts(page_of(build(tmp_path / "run.jsonl", shape))).text
    assert "Only classical schemes were measured" in text
    assert "RSA-2048-PSS" in text and "The record holds no gate results." in text


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
    from msgspec.structs import replace

    record = build(
        tmp_path / "run.jsonl", Shape(sets=("ML-DSA-44",), signers=(SIGNERS[3], SIGNERS[8]))
    )
    record.workers[1] = replace(record.workers[1], unit="cycles", cpu_clock=None)
    record.samples[:] = [
        replace(s, metrics={"wall": s.wall})
        if s.variant in {v.id for v in record.workers[1].variants}
        else s
        for s in record.samples
    ]
    view = view_of(record)
    # Cycles have no wall clock.
    assert not any("w" in view.marks(row) for rows in view.tables.values() for row in rows)
    units = {(key[1], unit_of(rows).name, len(rows)) for key, rows in view.tables.items()}
    assert {u for u in units if u[0] == "sign"} == {("sign", "µs", 1), ("sign", "kcycles", 1)}
    assert "kcycles" in page_of(record)


def test_a_page_that_cannot_be_written_is_a_clear_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    record = build(tmp_path / "r.jsonl", Shape(sets=("Ed25519",), signers=CLASSICAL[:1]))
    with pytest.raises(LabError, match="cannot write it"):
        write_text(tmp_path / "file" / "page.html", page_of(record))
