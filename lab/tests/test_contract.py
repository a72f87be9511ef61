"""Figures keep the contract: listed names, keys and units, and no two of the same name and keys."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

import msgspec
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from lab_runs import load_script
from rich.console import Console

from mldsa_lab import LabError
from mldsa_lab.answers.join import answer_figures
from mldsa_lab.answers.join import figures_of as source_figures
from mldsa_lab.answers.page import pages, read_page
from mldsa_lab.estimate.figure import KEYS, NAMES, UNITS, Figure, Figures, breaches, parse_identity
from mldsa_lab.show.figure_tables import SpreadColumns, TableLayout, grid, tables
from mldsa_lab.show.page import render
from mldsa_lab.show.report import FiguresFile, Report, as_csv, as_json, print_report, sections_of

ROOT = Path(__file__).parents[2]
GOLDEN = ROOT / "lab" / "tests" / "golden"
OTHERS = {"select", "theory"}
"""Files of what is no figure: chosen inputs, probabilities."""
FAST = "method-post"
"""A page whose answer takes seconds."""
CHOICES = "study", "jvm records/2026-11-22-epyc-zen4-jmh/*.jsonl.xz"
FILES = {p.relative_to(GOLDEN).with_suffix("").as_posix() for p in GOLDEN.rglob("*.json")} - OTHERS


@cache
def figures_of(name: str) -> list[Figure]:
    golden = load_script(ROOT / "lab" / "scripts" / "golden.py")
    text = (GOLDEN / f"{name}.json").read_text(encoding="utf-8")
    return [Figure(**one) for one in golden.from_text(text).values()]


@pytest.mark.parametrize("name", sorted(FILES))
def test_golden_figures_keep_the_contract(name: str) -> None:
    figures = figures_of(name)
    assert figures and list(breaches(figures)) == []


def answer_lists(name: str) -> list[Sequence[Figure]]:
    """The figures of an answer, and those of all sources of its tables."""
    page = read_page(name)
    parts = (part for table in page.tables for part in (*table.ours, *table.own))
    sources = dict.fromkeys((part.source, part.argument) for part in parts if part.argument)
    return [answer_figures(page), *(source_figures(*source) for source in sources)]


@pytest.mark.parametrize(
    "name", [FAST, *(pytest.param(n, marks=pytest.mark.e2e) for n in pages() if n != FAST)]
)
def test_figures_of_answers_keep_the_contract(name: str) -> None:
    lists = answer_lists(name)
    assert all(lists) and [line for figures in lists for line in breaches(figures)] == []


def test_the_words_of_the_contract_are_used_and_hold_no_qualifier() -> None:
    lists = [*map(figures_of, FILES), *answer_lists(FAST), source_figures(*CHOICES)]
    every = [f for figures in lists for f in figures]
    for listed, used in (
        (NAMES, {f.name for f in every}),
        (KEYS, {key for f in every for key in f.keys}),
        (UNITS, {f.unit for f in every}),
    ):
        assert set(listed) - used == set()
    assert [name for name in NAMES if not re.fullmatch("[a-z_]+", name)] == []


def test_each_breach_is_told() -> None:
    good = Figure({"set": "ML-DSA-65"}, "mean", 2.0, 1.0, 3.0, "ns")
    bad = {
        "unknown name 'p99'": replace(good, name="p99"),
        "unknown key 'size'": replace(good, keys={"size": 1}),
        "unknown unit 'fortnights'": replace(good, unit="fortnights"),
        "unknown kind 'guessed'": replace(good, kind="guessed"),  # type: ignore[arg-type]
        "unknown verdict 'perhaps'": replace(good, verdict="perhaps"),
        "value or limit is not finite": replace(good, high=float("inf")),
        "limits without a value": replace(good, value=None),
        "the value lies outside its limits": replace(good, low=2.5),
    }
    assert list(breaches([good])) == []
    for text, figure in bad.items():
        (line,) = breaches([figure])
        assert line.startswith(f"{figure.name} of ") and line.endswith(f": {text}")
    assert list(breaches([good, replace(good, value=2.5)])) == [
        "mean of set ML-DSA-65: occurs twice"
    ]


def test_a_column_shows_the_figure_that_has_exactly_its_keys() -> None:
    verify = {"scheme": "A", "of": "block", "operation": "verify"}
    figures = [
        Figure({**verify, "load": "today", "threads": 8}, "time", 5.0, unit="s"),
        *(Figure({**verify, "threads": n}, "time", 1.0 * n, unit="s") for n in (1, 8)),
        Figure({"scheme": "A", "of": "message"}, "time", 9.0, unit="s"),
        Figure({"scheme": "B", "of": "message"}, "time", 9.0, unit="s"),
    ]
    column = SpreadColumns(
        "time", "{value} cores", "threads", keys={"of": "block", "operation": "verify"}
    )
    (table,) = tables(figures, TableLayout("t", (), ("scheme",), (column,)))
    created = grid(table, 0.95)
    assert [c.title for c in created.columns] == ["scheme", "1 cores, s", "8 cores, s"]
    assert [[str(x) for x in c.cells] for c in created.columns[1:]] == [["1.00"], ["8.00"]]


def test_two_figures_of_one_cell_are_refused() -> None:
    about = {"variant": {v: {"implementation": "aws-lc"} for v in ("a", "b")}}
    figures = Figures([Figure({"variant": v}, "mean", 1.0, unit="ns") for v in "ab"], about)
    layout = TableLayout("t", (), ("implementation",), (SpreadColumns("mean", "mean"),))
    (table,) = tables(figures, layout)
    with pytest.raises(LabError, match="mean is 2 figures of a row that differ in variant"):
        grid(table, 0.95)


def test_a_column_of_two_stored_units_names_the_unit_of_each_cell() -> None:
    units = {"a": (14_200.0, "ns"), "b": (5.0, "cycles")}
    figures = [Figure({"scheme": s}, "mean", cost, unit=u) for s, (cost, u) in units.items()]
    (table,) = tables(figures, TableLayout("t", (), ("scheme",), (SpreadColumns("mean", "mean"),)))
    _, cost, unit = grid(table, 0.95).columns
    assert [*map(str, cost.cells), *map(str, unit.cells)] == ["14.2", "5.00", "µs", "cycles"]


def test_an_identity_in_words_is_that_of_the_figure() -> None:
    text = "time of=block 'block=a full block' percentile=99.9 threads=8"
    keys = {"of": "block", "block": "a full block", "percentile": 99.9, "threads": 8}
    assert parse_identity(text) == ("time", keys)
    for wrong in ("", "time of", "time 'of=block"):
        with pytest.raises(LabError, match="must be a name and keys"):
            parse_identity(wrong)


# --- all renderers --------------------------------------------------------------------------------


DIVISORS = {"ns": 1.0, "µs": 1e3, "ms": 1e6, "s": 1e9}
SHOWN = re.compile(r"–|\d+(?:,\d{3})*(?:\.\d+)?(?:e[+-]\d+)?")
PAGE_CELL = re.compile(
    r'<td class="num" data-value="([^"]+)">([^<]*)(?:<span class="sub">([^<]*)</span>)?'
)
Parts = tuple[float | None, float | None, float | None]
PARTS = st.builds(
    lambda value, width: (value, value * (1 - width), value * (1 + width)),
    st.floats(0.5, 1e8),
    st.floats(5e-4, 0.5),
) | st.sampled_from([(None, None, None), (1234.5, None, None)])


def has_numbers(text: str, parts: Parts, divisor: float) -> bool:
    """Return whether a text has these numbers, each rounded to its last digit."""
    shown, known = SHOWN.findall(text), [part for part in parts if part is not None]
    if not known:
        return [*shown] == ["–"]
    for word, part in zip(shown, known, strict=True):
        mantissa, _, exponent = word.partition("e")
        step = 10.0 ** (int(exponent or 0) - len(mantissa.partition(".")[2]))
        if abs(float(word.replace(",", "")) * divisor - part) > (0.5001 * step + 1e-9) * divisor:
            return False
    return True


def in_files(report: Report) -> list[dict[tuple[object, int], Parts]]:
    """Return value and limits by scheme and threads, in the JSON and the CSV of a report."""
    (stored,) = msgspec.json.decode(as_json([report]), type=FiguresFile).lists
    means = [(group.keys, group.figures["mean"]) for group in stored.groups]
    lines = {}
    for line in csv.DictReader(io.StringIO(as_csv([report]))):
        texts = (line.get(name) for name in ("mean", "mean_low", "mean_high"))
        value, low, high = (float(text) if text else None for text in texts)
        lines[line["scheme"], int(line["threads"])] = value, low, high
    return [{(k["scheme"], k["threads"]): (f.value, f.low, f.high) for k, f in means}, lines]


@settings(max_examples=20, phases=[Phase.explicit, Phase.generate])
@given(drawn=st.lists(st.tuples(PARTS, PARTS), max_size=3))
def test_terminal_page_json_and_csv_hold_the_same_numbers(drawn: list[tuple[Parts, Parts]]) -> None:
    table = [((5e3, 4.9e3, 5.2e3), (9e3, None, None)), *drawn]
    parts = {("abcd"[row], n): entries[n > 1] for row, entries in enumerate(table) for n in (1, 8)}
    figures = [
        Figure({"scheme": scheme, "threads": n}, "mean", *entries, unit="ns")
        for (scheme, n), entries in parts.items()
    ]
    columns = (SpreadColumns("mean", "{value} threads", "threads"),)
    sections = sections_of(figures, [TableLayout("", (), ("scheme",), columns)], 0.95)
    report = Report("", "A headline", figures, sections)
    assert in_files(report) == [parts, parts]
    out = io.StringIO()
    print_report(report, Console(file=out, width=200), is_full=False)
    unit = re.search(r"threads, (\S+)", out.getvalue())
    assert unit is not None
    divisor = DIVISORS[unit[1]]
    cells = PAGE_CELL.findall(render([report]))
    for (exact, value, limits), entries in zip(cells, parts.values(), strict=True):
        assert has_numbers(f"{value} {limits}", entries, divisor), (value, entries)
        assert float(exact) == entries[0] or entries[0] is None
    lines = [line for line in out.getvalue().splitlines() if re.match("[abcd] ", line)]
    for line, (one, other) in zip(lines, table, strict=True):
        first, second = re.split(r"(?<=[]\d–]) +(?=[\d–])", line[1:].strip())
        assert has_numbers(first, one, divisor) and has_numbers(second, other, divisor), line
