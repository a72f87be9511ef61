"""Answers to published pages: nothing left out, values as published, files that are wrong."""

from __future__ import annotations

import hashlib
import json
import lzma
import math
import re
from collections.abc import Iterator
from functools import cache
from itertools import chain, combinations, product
from pathlib import Path
from statistics import mean, stdev
from typing import Any

import numpy as np
import pytest
import typer
import yaml
from lab_runs import rows_in
from msgspec.structs import replace
from scipy.stats import chisquare, kruskal, norm, rankdata
from test_documents import wrong_options
from typer.testing import CliRunner

from mldsa_lab import LabError, checkout, plugins
from mldsa_lab.answers import join, page
from mldsa_lab.answers import join as states
from mldsa_lab.answers.join import (
    PageRow,
    RowState,
    answer_figures,
    answer_report,
    computed_states,
    page_counts,
    page_rows,
    row_states,
)
from mldsa_lab.answers.page import (
    AnswerPage,
    AnswerTable,
    MissingFigures,
    OurFigures,
    command_words,
    pages,
    read_page,
)
from mldsa_lab.answers.sources import (
    choices,
    own_findings,
    record_figures,
    record_paths,
    study_figures,
    theory_figures,
)
from mldsa_lab.audit import audit
from mldsa_lab.audit.claims import PublishedValue, published_values, repeated
from mldsa_lab.audit.judgement import verdict_on
from mldsa_lab.audit.reading import example_path
from mldsa_lab.cli.check import check
from mldsa_lab.estimate.compare import compare_groups
from mldsa_lab.estimate.figure import Figure, Figures, evaluate
from mldsa_lab.estimate.interval import Interval, quotient
from mldsa_lab.study.file import FIELDS, Contrast, Gathered, StudyCell, gather_cells
from mldsa_lab_rtl.study_show import published

NAMES = list(pages())
app = typer.Typer(pretty_exceptions_enable=False)
app.command()(check)
run = CliRunner()
VENDOR, CHAIN = "vendor-page", "chain-project"


@cache
def page_figures(name: str) -> Figures:
    """The figures of an answer from the published records, made once."""
    return answer_figures(read_page(name))


def of(figures: str | Figures, table: str, value: str) -> dict[str, Figure]:
    """The figures of a row by name; of a page, or of a part of one."""
    every = page_figures(figures) if isinstance(figures, str) else figures
    rows = (f for f in every if str(f.keys["table"]).startswith(table))
    return {f.name: f for f in rows if every.attribute(f, "value") == value}


def ours(figures: str | Figures, table: str, value: str) -> float:
    """Our value of a row, in the unit in which it is stored."""
    number = of(figures, table, value)["ours"].value
    assert number is not None, value
    return number


@pytest.mark.parametrize("name", NAMES)
def test_every_value_is_in_a_table_or_left_out_with_its_reason(name: str) -> None:
    """A value that the file says to repeat another one is where that one is."""
    answered = read_page(name)
    claims = answered.claims().claims
    shown, groups = {cell.value.label for cell in answered.cells()}, repeated(claims)
    labels = [v.label for claim in claims for v in published_values(claim)]
    hidden = [v for v in labels if shown.isdisjoint(groups.get(v, (v,)))]
    reasons = {o.title: [v for v in hidden if re.fullmatch(o.cells, v)] for o in answered.left_out}
    assert len(reasons) == len(answered.left_out) and all(reasons.values()), reasons
    assert sorted(hidden) == sorted(chain.from_iterable(reasons.values()))


@pytest.mark.parametrize("name", NAMES)
def test_every_value_of_a_table_has_a_figure_of_ours_or_says_why(name: str) -> None:
    explained: list[MissingFigures] = []
    for table, value in read_page(name).cells():
        missing = table.missing_of(value.label)
        assert table.ours_of(value.label) or missing, value.label
        explained += [missing] if missing else []
    assert all(m in explained for table in read_page(name).tables for m in table.missing)


@pytest.mark.e2e
@pytest.mark.parametrize("name", NAMES)
def test_every_mapped_value_has_a_figure(name: str) -> None:
    known = (f for f in page_figures(name) if f.name == "ours")
    for cell, figure in zip(read_page(name).cells(), known, strict=True):
        assert cell.is_mapped == (figure.value is not None), cell.value.label


@pytest.mark.e2e
def test_key_generation_is_of_all_records_of_the_jvm() -> None:
    """The record of the shortest messages was made under load. FIPS 205's counts of hashes have
    192s cost more than 256s, and so has every record but this one."""
    figures = record_figures("records/2026-11-25-xeon-emr-slh-dsa/*.jsonl.xz")
    found = {
        (f.keys["set"], figures.attribute(f, "worker"), f.keys["message_bytes"]): f.value or 0.0
        for f in figures
        if f.name == "mean" and f.keys["operation"] == "keygen"
    }
    for worker in ("java-17", "java-21", "java-25"):
        costs = {}
        for name in ("SLH-DSA-SHA2-192s", "SLH-DSA-SHA2-256s"):
            sizes = [found[name, worker, n] for n in (256, 1024, 65536)]
            costs[name] = found[name, worker, "all"]
            assert costs[name] == sorted(sizes)[1]
        assert costs["SLH-DSA-SHA2-192s"] > 1.2 * costs["SLH-DSA-SHA2-256s"], worker


# The audit and the answers ---------------------------------------------------------------------

COINCIDENCES = {
    # A batch of one, and one signature; one rate of hints for three sets; group sizes and a factor;
    # bits against classical and quantum computers; a confidence and a load; a block and a backlog.
    "vendor-page": {("72", "us"), ("35", "%"), ("128", "bits")},
    "method-post": {("0.985", "")},
    "jvm-study": {("10", ""), ("1", "")},
    "chain-project": {("32", "B"), ("5", "%"), ("30", "%"), ("95", "%"), ("4000", "")},
    "rtl-comparison": {("0.02", "%")},
}
"""Different quantities of a page that have one value, which the audit judges differently."""


@pytest.mark.parametrize("name", NAMES)
def test_audit_and_answer_agree_on_every_value(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By what the two commands write."""
    path = tmp_path / "audit.json"
    shown = run.invoke(app, ["claims", name, "--to", str(path)])
    assert shown.exit_code == 0
    judged: dict[str, list[str]] = {}
    (written,) = json.loads(path.read_text())["lists"]
    for group in written["groups"]:
        keys, claimed = group["keys"], group["figures"].get("claimed")
        if claimed is None or keys["rule"] == "none":
            continue
        for label in written["about"]["finding"][str(keys["finding"])]["values"].split("; "):
            judged.setdefault(label, []).append(claimed["verdict"])
    gravity = ["consistent", "undecidable", "implausible", "contradiction"]
    monkeypatch.setattr(join, "_ours", lambda *_: None)
    found = read_page(name)
    rows = list(answer_figures(found).select("claimed", statistic=None))
    same: dict[tuple[str, str], set[str]] = {}
    for (_, value), figure in zip(found.cells(), rows, strict=True):
        worst = max(judged.get(value.label, ()), key=gravity.index, default="–")
        assert (figure.verdict or "–") == worst, value.label
        same.setdefault((value.value.text, value.unit), set()).add(worst)
    assert {key for key, verdicts in same.items() if len(verdicts) > 1} <= COINCIDENCES[name]


def test_a_repeated_value_has_the_verdict_of_the_first() -> None:
    findings = audit(read_page("vendor-page").claims())
    assert verdict_on("stages, SLH-DSA sign", findings) == (
        "implausible", "implausible (work.floor)",
    )  # fmt: skip
    assert verdict_on("stages, FALCON-512 sign", findings)[0] == "consistent"
    assert verdict_on("scaling, 192 per_second", findings)[0] == "consistent"
    assert verdict_on("stages, SHA3-256 hash", findings) == ("", "–")


def test_the_ends_of_a_published_range_are_figures() -> None:
    """In the unit in which they are stored; the value itself is no number."""
    figures = answer_figures(read_page("method-post"))
    (gap,) = (
        f for f in figures if str(f.keys["cell"]).startswith("selected, 10 ") and f.value is None
    )
    ends = [f for f in figures if f.keys["cell"] == gap.keys["cell"] and "statistic" in f.keys]
    assert [(f.keys["statistic"], f.value) for f in ends] == [("least", 0.02), ("largest", 0.04)]
    assert figures.attribute(gap, "published") == "2 to 4"


def test_our_own_scalings_are_judged_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """The page's figures in the place of ours agree; a thread's throughput of another record does
    not, and the report says so."""
    found = read_page("vendor-page")
    only = replace(found, tables=tuple(t for t in found.tables if t.title.startswith("5.")))
    rates = {"scaling, 1 per_second": 14684.0}

    def published(_: Any, __: Any, value: PublishedValue, *rest: Any) -> Figure:
        units = {"us": ("ns", 1e3), "1/s": ("1/s", 1)}
        unit, factor = units.get(value.unit, (value.unit, 1))
        number = rates.get(value.label, value.value.low.value)
        return Figure({}, "x", factor * number, unit=unit)

    monkeypatch.setattr(join, "_ours", published)
    findings = own_findings(only, answer_figures(only))
    assert {f.rule for f in findings} == {"scaling.arithmetic", "batch.total"}
    assert {f.verdict for f in findings} == {"consistent"}
    rates["scaling, 1 per_second"] = 13800.0
    wrong = [f for f in own_findings(only, answer_figures(only)) if f.verdict != "consistent"]
    assert len(wrong) == 4 and {f.verdict for f in wrong} == {"contradiction"}
    whole = replace(only, tables=tuple(replace(t, own=()) for t in only.tables))
    notes = [n for n in answer_report(whole).notes if n.startswith("our figures contradict")]
    assert len(notes) == 4 and "16" in notes[0] and ", but the others give " in notes[0]


@pytest.mark.e2e
def test_our_own_figures_follow_from_each_other() -> None:
    for name, least in ((VENDOR, 14), (CHAIN, 10)):
        findings = own_findings(read_page(name), page_figures(name))
        assert len(findings) >= least
        assert [f for f in findings if f.verdict != "consistent"] == []


def test_figures_that_follow_from_others() -> None:
    """The key's loading of a hardware core, and a change from a paper's figure."""
    found = read_page("rtl-comparison")
    kept = [t for t in found.tables if t.title[:7] in ("Table 2", "Table 4")]
    figures = answer_figures(replace(found, tables=tuple(kept)))
    loads = (ours(figures, "Table 2", f"level 2, LowRes load {x}") for x in ("key", "message"))
    assert list(loads) == [811 - 18, 18]
    for label, sign in (("LowRes SIGN mean level 2", -1), ("LowRes KEYGEN level 2", 1)):
        ratio = of(figures, "Table 4", f"table 4, comparison, {label}, reference")["ratio"].value
        change = of(figures, "Table 4", f"change of table 4, {label}")["ours"]
        assert ratio and change.low and change.value and change.high
        assert change.value == pytest.approx(sign * (ratio - 1))
        assert change.low < change.value < change.high


def test_formulas_combine_independent_errors() -> None:
    one, other = Interval(12.0, 9.0, 16.0), Interval(4.0, 3.0, 5.0)
    assert evaluate("a - b", {"a": one, "b": other}) == Interval(8.0, 8 - 10**0.5, 8 + 17**0.5)
    assert evaluate("a / b", {"a": one, "b": other}) == quotient(one, other)
    assert evaluate("100 * (a / b - 1)", {"a": one, "b": 8.0}) == Interval(50.0, 12.5, 100.0)
    assert evaluate("100 * (1 - a / b)", {"a": one, "b": 16.0}) == Interval(25.0, 0.0, 43.75)
    assert evaluate("a - b", {"a": one, "b": Interval(4.0)}) == Interval(8.0)
    # No change is no change, whatever the number.
    assert evaluate("100 * (1 - a / b)", {"a": Interval(49.0), "b": 49.0}) == Interval(0.0)


@pytest.mark.parametrize("name", NAMES)
def test_commands_exist(name: str) -> None:
    commands = [command for table in read_page(name).tables for command in table.commands]
    commands += [row.command for row in page_rows() if row.command.startswith("mldsa-lab")]
    assert commands
    assert [c for c in commands if wrong_options(command_words(c))] == []


@pytest.mark.parametrize("name", NAMES)
def test_every_number_of_a_claim_is_a_published_value(name: str) -> None:
    """By the text of the file, which another reader reads."""
    raw = {c["id"]: c for c in yaml.safe_load(example_path(name).read_text())["claims"]}
    known = {"set", "cores", "threads_per_core", "threads", "size", "per_sample", "message_bytes"}
    known |= {"factors", "over", "groups", "level", "power", "workers", "paired"}

    def numbers(part: Any, key: str = "") -> Iterator[float]:
        if key in known or isinstance(part, bool):
            return
        if isinstance(part, dict):
            for k, v in part.items():
                yield from numbers(v, str(k))
        elif isinstance(part, list):
            for v in part:
                yield from numbers(v, key)
        elif isinstance(part, int | float):
            yield float(part)

    for claim in read_page(name).claims().claims:
        ends = [v.value for v in published_values(claim)]
        ends_of = {e for s in ends for e in (s.low.value, s.high.value)}
        assert set(numbers(raw[claim.id])) <= ends_of, claim.id


FIRST, SECOND = (tuple(start + n / 100 for n in range(6)) for start in (1.0, 2.0))


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"jdk": (1.0, 1.1, 1.2, 1.3)}, "jdk only"),
        ({"jdk": (1.0, 1.1, 1.2, 1.3), "other": (2.0, 2.1, 2.2, 2.3)}, "jdk"),
        ({"jdk": (1.0,), "other": (2.0,)}, "too few processes to tell"),
        ({"jdk": (1.0, 2.0, 3.0, 4.0), "other": (1.5, 2.5, 3.5, 4.5)}, "no difference seen"),
        ({"jdk": FIRST, "b": SECOND, "c": SECOND}, "jdk"),
        ({"b": SECOND, "jdk": FIRST, "c": SECOND}, "jdk"),
        ({"jdk": FIRST, "b": FIRST, "c": SECOND}, "no difference seen"),
    ],
)
def test_a_provider_is_advised_only_where_the_test_can_tell(
    values: dict[str, tuple[float, ...]], said: str
) -> None:
    fields = dict.fromkeys(FIELDS, "") | {"worker": "java-25", "set": "ML-DSA-65"}
    measured = Gathered([
        StudyCell(fields | {"implementation": name, "operation": operation}, "ns", np.array(means))
        for operation in ("sign", "verify")
        for name, means in values.items()
    ])  # fmt: skip
    contrast = Contrast("Providers", ("implementation",), ("worker", "set", "operation"))
    found = [
        figure
        for cells in measured.arranged({}, contrast.within, contrast.between).values()
        for figure in compare_groups(
            {name: cell.means for name, cell in cells.items()},
            {"contrast": contrast.name, **next(iter(cells.values())).keys(contrast.within)},
            contrast.tests, contrast.alpha,
        )
    ]  # fmt: skip
    (choice,) = choices(contrast, measured, found)
    assert choice.notes == (said,) and choice.keys == {"set": "ML-DSA-65", "worker": "java-25"}


@pytest.mark.e2e
def test_three_jdks_by_scipy_and_by_ranks() -> None:
    """Kruskal-Wallis of SciPy, and Dunn's test by its formula, on the published forks."""
    argument = "records/2026-11-22-epyc-zen4-jmh/*.jsonl.xz"
    cells = gather_cells(record_paths(argument), "cpu", 0.95).cells
    found = study_figures(f"jvm {argument}")
    jdks = ("java-17", "java-21", "java-25")
    for operation in ("sign", "verify"):
        means = {
            c.fields["worker"]: c.means for c in cells
            if (c.fields["operation"], c.fields["implementation"]) == (operation, "bouncycastle")
        }  # fmt: skip
        ranks = rankdata(np.concatenate([means[jdk] for jdk in jdks])).reshape(3, -1).mean(axis=1)
        spread = math.sqrt(12 * 13 / 12 * 2 / 4)
        for (i, one), (j, other) in combinations(enumerate(jdks), 2):
            p = {
                f.keys.get("test"): f.value for f in found
                if {"first": one, "second": other, "operation": operation}.items() <= f.keys.items()
                and str(f.keys["contrast"]).startswith("JDK 17")
            }  # fmt: skip
            expected = min(1.0, 3 * 2 * norm.sf(abs(ranks[i] - ranks[j]) / spread))
            assert p["dunn"] == pytest.approx(expected)
            assert p["kruskal-wallis"] == pytest.approx(kruskal(*(means[k] for k in jdks)).pvalue)


def test_a_study_keeps_its_name_where_it_was_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def figures(source: str, argument: str) -> Figures:
        asked.append((source, argument))
        return Figures([])

    monkeypatch.setattr(join, "figures_of", figures)
    monkeypatch.setattr(join, "about_record", str)
    command = "mldsa-lab study jvm --profile published"
    answer_report(read_page("jvm-study"), {command: "/out/1/**/*.jsonl*"})
    assert ("record", "/out/1/**/*.jsonl*") in asked and (
        "study",
        "jvm /out/1/**/*.jsonl*",
    ) in asked


@pytest.mark.e2e
def test_ratios_and_units() -> None:
    """Published µs against ns of a record, both stored in seconds, and sizes in bytes."""
    sizes = {"public key": 32 + 320 * 6, "secret key": 128 + 32 * (11 * 4 + 13 * 6)}
    sizes["signature"] = 48 + 5 * 640 + 55 + 6  # c~, z of 20 bits, hint
    for label, expected in sizes.items():
        row = of(VENDOR, "4.2", label)
        assert row["ours"].value == expected == row["claimed"].value
        assert row["ratio"].value == 1
    row = of(VENDOR, "5. Batch", "1000 total")
    cost = ours(VENDOR, "5. Batch", "1000 cost")
    assert row["ours"].value == pytest.approx(1000 * cost)
    assert row["claimed"].value == pytest.approx(68.1e-3)
    assert row["ratio"].value == pytest.approx(1000 * cost / 68.1e-3)
    assert row["ratio"].low == pytest.approx((row["ours"].low or 0) / 68.1e-3)
    assert ours(VENDOR, "5. Batch", "1000 per_second") == pytest.approx(1 / cost)


@pytest.mark.e2e
def test_stages_and_their_whole() -> None:
    """The stages of the pipeline, with what lies between them, are its whole."""
    labels = ("SHA3-256 hash", "ML-DSA-65 sign", "FALCON-512 sign", "SLH-DSA sign")
    stages = sum(ours(VENDOR, "8", label) for label in (*labels, "ML-DSA-65 verify"))
    # Two more verifications, and the time between stages.
    assert 0.9 < stages / ours(VENDOR, "8", "total") < 1


@pytest.mark.e2e
def test_storage_by_other_formulas() -> None:
    """144 blocks a day of whole transactions: of 10 bytes, 41 and a script for the input, and two
    outputs of 34; keys and signatures with what pushes them. 500 GB today, 100 Mbit/s."""
    size = 10 + 40 + 3 + (3 + 2421 + 3 + 1312) + 2 * 34
    before = 10 + 40 + 1 + (1 + 70.494 + 1) + (1 + 33) + 2 * 34
    line, year = 100e6 / 8, 0.0
    expected: dict[tuple[str, str], float] = {}
    for megabytes in (1, 4, 8, 16):
        block = megabytes * 10**6 // size * size
        year = 144 * 365.25 * block
        expected |= {
            ("6.2", f"growth of a year, {megabytes} MB"): year,
            ("6.2", f"growth of ten years, {megabytes} MB"): 10 * year,
            ("6.2", f"total in 2035, {megabytes} MB, total"): 500e9 + 10 * year,
            ("6.1", f"bandwidth, {megabytes} MB"): block / 600,
        }
    expected |= {
        ("6.3", "download today"): 500e9 / line,
        ("6.3", "download in 2035"): (500e9 + 10 * year) / line,
        ("6.2", "disks, 2 TB SSD, Price"): 2 * 60,
        ("6.2", "disks, 10 TB HDD, Price"): 10 * 14,
        ("6.2", "disks, 20 TB HDD, Price"): 20 * 14,
        ("7.2", "mempool"): 10_000 * size,
        ("7.2", "mempool of memory"): 10_000 * size / 16e9,
        ("1.", "block size, 4.3"): 10**6 // before * size,
    }
    assert {row: ours(CHAIN, *row) for row in expected} == pytest.approx(expected)


@pytest.mark.e2e
def test_blocks_are_so_many_verifications() -> None:
    for scheme, row in (("", "Dilithium-2"), (", ECDSA", "ECDSA")):
        one = ours(CHAIN, "1.", f"overview, times, Verification, {row}")
        for count in (500, 1000, 2000, 4000):
            block = of(CHAIN, "7.1", f"block of {count} transactions{scheme}")["ours"]
            assert block.value == pytest.approx(count * one)
            assert block.low and block.high and block.low < block.value < block.high


@pytest.mark.e2e
def test_the_life_cycle_by_the_lines_of_its_records() -> None:
    """Of each record the pass of median time, the lower of two, as the files' JSON has them."""
    root = checkout.find_root() / "records" / "2026-11-25-epyc-zen5-life-cycle"
    spreads: dict[tuple[str, str], list[float]] = {}
    for path in sorted(root.glob("*.xz")):
        lines = map(json.loads, lzma.decompress(path.read_bytes()).splitlines())
        passes = [line for line in lines if line.get("shape", {}).get("pipeline") == "ML-DSA-44"]
        for name in ("keygen", "sign", "verify"):
            calls = []
            for link in range(len(passes[0]["inputs"])):
                order = sorted(passes, key=lambda p: p["metrics"]["wall"][link])
                typical = order[(len(order) - 1) // 2]
                calls.append(typical["phases"][f"{name} ML-DSA-44"][link] / 1e9)
            for figure, make in (("mean", mean), ("min", min), ("max", max), ("sd", stdev)):
                spreads.setdefault((name, figure), []).append(make(calls))
    assert {len(processes) for processes in spreads.values()} == {4}
    for (name, figure), values in spreads.items():
        life_cycle = ours(CHAIN, "2.1–2.3. Key", f"{name}, {figure}")
        assert life_cycle == pytest.approx(mean(values), rel=1e-9), (name, figure)
    parts = ("Key Generation", "Signing", "Verification", "Overhead")
    whole = sum(ours(CHAIN, "2.4", part) for part in parts)
    assert whole == pytest.approx(ours(CHAIN, "2.4", "total"))
    assert sum(ours(CHAIN, "2.4", f"share, {part}") for part in parts) == pytest.approx(1)


@pytest.mark.e2e
def test_threads_that_were_not_measured_keep_the_efficiency() -> None:
    efficiency = ours(VENDOR, "5.1", "192 efficiency")
    assert 0.5 < efficiency < 1
    numbers = (16, 48, 96, 192)
    speedups = [ours(VENDOR, "5.1", f"{n} speedup") / n for n in numbers]
    rates = [ours(VENDOR, "5.1", f"{n} per_second") / n for n in numbers]
    assert speedups == pytest.approx([efficiency] * 4) and rates == pytest.approx([rates[0]] * 4)


@pytest.mark.e2e
def test_hardware_and_aggregation() -> None:
    """3,757 cycles of a verification (rtl/core/README.md) at 67 to 107 MHz, against one core."""
    one = ours(CHAIN, "1.", "overview, times, Verification, Dilithium-2")
    gain = ours(CHAIN, "8.4", "FPGA or ASIC, Expected Speedup")
    assert gain == pytest.approx(one / (3757 / 87e6), rel=1e-3)
    assert ours(CHAIN, "8.2", "Aggregation, Expected Speedup") == 1


def test_rejection_by_other_formulas() -> None:
    """Rates by counting residues, attempts by summing a geometric law, profiles by hand."""
    theory = Figures(theory_figures(""))

    def value(name: str, **keys: Any) -> float:
        (figure,) = theory.select(name, **{"percentile": None, "signatures": None, **keys})
        return figure.value or 0.0

    q = 8380417
    residues = np.arange(q)
    for name, gamma1, beta, l_, gamma2, k in (
        ("ML-DSA-44", 2**17, 78, 4, (q - 1) // 88, 4),
        ("ML-DSA-65", 2**19, 196, 5, (q - 1) // 32, 6),
        ("ML-DSA-87", 2**19, 120, 7, (q - 1) // 32, 8),
    ):
        z = ((2 * (gamma1 - beta) - 1) / (2 * gamma1)) ** (256 * l_)
        assert value("share", of="passes", check="z", set=name) == pytest.approx(z, rel=1e-12)
        low = residues % (2 * gamma2)
        low = np.where(low > gamma2, low - 2 * gamma2, low)
        low = np.where(residues - low == q - 1, low - 1, low)  # FIPS 204, Algorithm 36
        r0 = (np.count_nonzero(abs(low) < gamma2 - beta) / q) ** (256 * k)
        assert value("share", of="passes", check="r0", set=name) == pytest.approx(r0, rel=1e-12)
        accept = 1 - value("share", of="rejected attempts", set=name)
        attempts = math.ceil(math.log(0.05) / math.log(1 - accept))
        assert value("quantile", set=name, percentile=95) == attempts
        best = min(
            (abs((1 + b) / (1 + a + b) - z) + abs(1 / (1 + b) - r0), a, b)
            for a, b in product(range(30), repeat=2)
        )
        nearest = {"set": name, "signatures": 1, "rank": 1}
        counts = [value("count", of="rejections", check=check, **nearest) for check in ("z", "r0")]
        assert [value("distance", **nearest), *counts] == pytest.approx(best)
    of_87 = {"of": "rejections", "check": "z", "set": "ML-DSA-87", "signatures": 1}
    assert [value("count", rank=rank, **of_87) for rank in (1, 2)] == [1, 2]


def test_published_cycles_of_the_comparison_stand_in_one_way() -> None:
    """The table of cores has the figures of this source too."""
    claims = read_page("rtl-comparison").claims().claims
    cells = {v.label: v.value.low.value for c in claims for v in published_values(c)}
    names = {
        "keygen": "table 1, KEYGEN, level {}, LowRes",
        "verify": "table 3, VERIFY, level {}, LowRes",
        "sign_best": "table 2, SIGN, level {}, LowRes best",
        "sign_mean": "table 2, SIGN, level {}, LowRes mean",
    }  # fmt: skip
    levels = {"ML-DSA-44": 2, "ML-DSA-65": 3, "ML-DSA-87": 5}
    rows = [r for r in published()["cores"]["LowRes, round 3"] if r["source"] == "c"]
    assert len(rows) == 3
    for row in rows:
        for name, label in names.items():
            assert cells.get(label.format(levels[row["set"]])) == row.get(name)


@pytest.mark.e2e
def test_states_are_those_of_the_figures() -> None:
    rows = row_states()
    assert [r.number for r, _ in rows] == list(range(1, 100))
    found = {r.number: s for r, s in rows}
    assert set(computed_states()) <= set(found)
    assert {found[n].state for n in (1, 7, 17, 29, 42, 91, 93)} == {"works"}
    assert found[89].state == "partly" and found[89].missing
    assert all(s.missing for s in found.values() if s.state != "works")


def test_values_without_a_figure_count_against_their_rows(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Those that say which rows they belong to against these, and others against all rows of their
    table; what the file says of a row can only be worse."""
    whole = read_page("rtl-comparison")
    (table,) = (t for t in whole.tables if t.title.startswith("Table 3"))
    monkeypatch.setattr(states, "pages", lambda: {"rtl-comparison": None})

    def found(**changes: Any) -> dict[int, RowState]:
        only = replace(whole, tables=(replace(table, **changes),))
        monkeypatch.setattr(states, "read_page", lambda name: only)
        return computed_states()

    why = "the harness counts the loading of a verification as a whole"
    assert table.remark == f"No figure of ours: {why}."
    assert found() == {88: RowState("works", 6, 6), 89: RowState("partly", 3, 12, (why,))}
    unsaid = found(missing=())
    label = "table 3, VERIFY, level 2, LowRes load key"
    reasons = (f"no figure of {label} and 8 more",)
    assert unsaid == {
        88: RowState("partly", 6, 15, reasons), 89: RowState("partly", 3, 12, reasons),
    }  # fmt: skip
    assert found(ours=table.ours[:2])[89].state == "not"
    told = [PageRow(88, "004", "x", "partly", why="a reason"), PageRow(89, "004", "y", "works")]
    found()
    monkeypatch.setattr(states, "page_rows", lambda: told)
    assert [s.state for _, s in row_states()] == ["partly", "partly"]
    assert row_states()[0][1].missing == ("a reason",)


# Files that are wrong --------------------------------------------------------------------------

TABLE = """
title = "t"
[[tables]]
title = "a table"
claims = ["sign"]
[[tables.ours]]
source = "theory"
argument = "x"
figures = { 'sign, (median)' = "mean" }
"""


@pytest.mark.parametrize(
    ("old", "new", "rule"),
    [
        ('"sign"', '"sing"', "table 'a table', claims: the page has no claim 'sing'"),
        ("(median)", "(median", "'sign, (median': no pattern"),
        ('"theory"', '"nowhere"', "source 'nowhere': installed packages have"),
        ('"mean"', "\"mean 'set=ML-DSA-65'\"", "our figure is in no unit"),
        ('"mean"', '"p95"', ""),
        ('"mean"', '"mean \\\\2"', "figures: no reference to groups"),
        ('"mean" }', '"mean" }\nless = "sign, \\\\2"', "less: no reference to groups"),
        ('"mean" }', '"mean" }\nover = "\\\\g<x>"', "over: no reference to groups"),
        ('"mean" }', '"mean" }\nover = "a"\nchange_from = "b"', "over and change_from: give one"),
        ("[[tables]]", '[[left_out]]\ncells = "("\ntitle = "a"\nwhy = "b"\n[[tables]]', "'(': no"),
    ],
)
def test_errors_name_the_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, old: str, new: str, rule: str
) -> None:
    path = tmp_path / "000-vendor-page.toml"
    path.write_text(TABLE.replace(old, new), encoding="utf-8")
    monkeypatch.setattr(page, "pages", lambda: {"vendor-page": path})
    if not rule:
        assert all(f.value is None for f in answer_figures(read_page("vendor-page"))[1::2])
        return
    with pytest.raises(LabError, match=re.escape(rule)):
        answer_figures(read_page("vendor-page"))


@pytest.mark.parametrize(
    ("other", "chain"),
    [
        ({"median": "median"}, "'sign, median' → 'sign, median'"),
        ({"median": "p99", "p99": "median"}, "'sign, median' → 'sign, p99' → 'sign, median'"),
    ],
)
@pytest.mark.parametrize("field", ["less", "over"])
def test_a_figure_may_not_refer_to_itself(
    monkeypatch: pytest.MonkeyPatch, field: str, other: dict[str, str], chain: str
) -> None:
    ours = [
        OurFigures("s", "x", figures={f"sign, {name}": "mean"}, **{field: f"sign, {label}"})
        for name, label in other.items()
    ]
    table = AnswerTable("t", ("sign",), ours=tuple(ours))
    monkeypatch.setattr(
        join, "figures_of", lambda *_: Figures([Figure({}, "mean", 1.0, unit="us")])
    )
    with pytest.raises(LabError, match=f"refers to itself: {re.escape(chain)}") as caught:
        answer_figures(AnswerPage("p", (table,), name="vendor-page"))
    assert str(caught.value).startswith("table 't', 'sign, ")


def test_a_selection_that_fits_several_figures_names_their_keys() -> None:
    figures = Figures([Figure({"set": s, "a": 1}, "mean", 1.0) for s in ("x", "y")])
    with pytest.raises(LabError, match="mean is 2 figures that differ in set"):
        join._select_one(figures, "mean", {"a": ["1"]})
    found = join._select_one(figures, "mean", {"set": ["z", "y", "x"]})
    assert found is not None and found.keys["set"] == "y"


# The command -----------------------------------------------------------------------------------


def test_the_command_lists_shows_and_writes(tmp_path: Path) -> None:
    listed = " ".join(run.invoke(app, ["answers"]).output.split())
    for name in NAMES:
        known, values = page_counts(read_page(name))
        assert name in listed and f"{known} of {values} values have a figure of ours" in listed
    paths = {kind: tmp_path / f"answer.{kind}" for kind in ("json", "csv", "md")}
    options = [word for path in paths.values() for word in ("--to", str(path))]
    result = run.invoke(app, ["answers", "method-post", *options], env={"COLUMNS": "160"})
    assert result.exit_code == 0 and "profile 2 of 87, r0" in result.output
    assert "left out: Mean of random inputs: 100 % by definition" in result.output
    row = next(r for r in rows_in(paths["json"]) if r["value"] == "profile 2 of 87, r0")
    assert (row["claimed"], row["ours"]) == pytest.approx((0.3, 1 / 3))
    assert math.isclose(row["ratio"], 10 / 9)
    assert "| 30 | % | 33.3 | 1.11 | contradiction (product.follows) |" in paths["md"].read_text()
    assert isinstance(run.invoke(app, ["answers", "nothing"]).exception, LabError)


@pytest.mark.e2e
def test_the_commands_of_a_page_measure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a command writes stands in for the published record, and each runs once."""
    ran: list[list[str]] = []
    record = checkout.find_root() / "records" / "2026-11-23-epyc-zen5" / "goals.jsonl.xz"

    def run_tool(command: list[str], *rest: Any, **more: Any) -> None:
        ran.append(command[3:])
        target = Path(command[command.index("--out") + 1]) / "a-run"
        target.mkdir(parents=True)
        (target / "record.jsonl.xz").symlink_to(record)

    text = (pages()["vendor-page"]).read_text().partition('[[tables]]\ntitle = "4.2')[0]
    path = tmp_path / "000-vendor-page.toml"
    path.write_text(text.partition("[[tables.ours]]")[0] + "[[tables.ours]]" + text.split(
        "[[tables.ours]]")[1], encoding="utf-8")  # fmt: skip
    monkeypatch.setattr(page, "pages", lambda: {"vendor-page": path})
    monkeypatch.setattr(checkout, "run_tool", run_tool)
    out = tmp_path / "out"
    result = run.invoke(
        app, ["answers", "vendor-page", "--measure", str(out)], env={"COLUMNS": "200"}
    )
    assert result.exit_code == 0, result.exception
    assert len(ran) == 1 and ran[0][0] == "bench" and str(out) in ran[0][-1]
    assert re.search(r"sign, median +72 +µs +27", result.output)


def test_sources_are_found_by_entry_points() -> None:
    assert {"record", "theory"} <= set(plugins._loaded("figures"))
    report = answer_report(AnswerPage("t", read_page("method-post").tables[:1], name="method-post"))
    assert report.sections and "consistent" in report.headline


def randomness(data: bytes) -> tuple[float, float]:
    """P-values of the chi-squared test of bytes and of the runs test of bits."""
    octets = np.frombuffer(data, dtype=np.uint8)
    bits = np.unpackbits(octets)
    ones = bits.mean()
    runs = 1 + np.count_nonzero(np.diff(bits))
    expected = 2 * len(bits) * ones * (1 - ones)
    spread = 2 * math.sqrt(2 * len(bits)) * ones * (1 - ones)
    uniform = chisquare(np.bincount(octets, minlength=256)).pvalue
    return float(uniform), math.erfc(abs(runs - expected) / spread)


def test_a_counter_behind_a_hash_passes_tests_of_randomness() -> None:
    """Anybody can predict seeds 0, 1, 2, ...: what SHAKE256 makes of them passes, as FIPS 204's
    key generation hashes its seed. The tests do find the bare counter."""
    seeds = [n.to_bytes(32, "big") for n in range(1000)]
    assert max(randomness(b"".join(seeds))) < 1e-9
    hashed = b"".join(hashlib.shake_256(seed + bytes((4, 4))).digest(128) for seed in seeds)
    assert min(randomness(hashed)) > 0.01
