"""Batches, threads and classical schemes in the table, the terminal and the page."""

from __future__ import annotations

import dataclasses
import io
import re
from pathlib import Path

import pytest
from mldsa_lab.show.findings import best_lines, find
from mldsa_lab.show.page import render
from mldsa_lab.show.run_plots import MOST_LEVELS, batch_paths, rate_paths, scaling_paths
from mldsa_lab.show.runs import batches, scaling, threads
from mldsa_lab.show.sections import command
from mldsa_lab.show.tables import leaders, overviews
from mldsa_lab.show.terminal import print_view
from mldsa_lab.show.view import View, is_run
from mldsa_lab.show.view import build as build_view
from msgspec.structs import replace
from report_records import CLASSICAL, SIGNERS, Shape, build
from rich.console import Console

from mldsa_lab.estimate.summary import Summary, SummaryRow, summarise
from mldsa_lab.records import Record
from mldsa_lab.show import run_plots, svg
from mldsa_lab.show.format import Shown

SIZES = (1, 8, 100, 1000)
SET = "ML-DSA-65"
LANES = "mldsa-lanes:avx2:compact"
FEW = (*SIGNERS[2:5], *CLASSICAL[:1])


@pytest.fixture(scope="module")
def record(tmp_path_factory: pytest.TempPathFactory) -> Record:
    shape = Shape(sets=(SET, "Ed25519"), rounds=6, batch_sizes=SIZES, thread_counts=(1, 2, 4))
    return build(tmp_path_factory.mktemp("runs") / "run.jsonl", shape)


@pytest.fixture(scope="module")
def summary(record: Record) -> Summary:
    return summarise(record)


@pytest.fixture(scope="module")
def view(record: Record, summary: Summary) -> View:
    return build_view(record, summary)


def row(summary: Summary, variant: str, operation: str = "sign") -> SummaryRow:
    (found,) = [
        r for r in summary.rows if (r.variant, r.operation, r.set) == (variant, operation, SET)
    ]
    return found


# --- the rows -----------------------------------------------------------------------------------


def test_a_batch_row_is_the_cost_of_one_operation(summary: Summary) -> None:
    single = row(summary, LANES)
    for size in SIZES:
        of_size = row(summary, f"{LANES}:batch-{size}")
        assert (of_size.mode, of_size.batch_size, of_size.threads) == ("batch", size, 1)
        factor = 0.55 + 0.5 / size**0.7
        assert of_size.mean is not None and single.mean is not None
        assert of_size.mean / single.mean == pytest.approx(factor, rel=0.04)
        assert of_size.p50 is None and of_size.clock == "cpu"
        assert of_size.mean_low is not None and of_size.ratio_low is not None
    loop = row(summary, "mldsa-native:native:compact:loop-100")
    assert (loop.mode, loop.batch_size) == ("single", 100)
    assert loop.ratio == pytest.approx(1.02, rel=0.04)


def test_threads_have_throughput_and_scaling(summary: Summary) -> None:
    one = row(summary, f"{LANES}:batch-1000")
    four = row(summary, f"{LANES}:batch-1000:threads-4")
    assert four.clock == "wall" and four.mean is not None
    assert four.per_second == pytest.approx(1e9 / four.mean)
    assert (one.scaling, one.scaling_low) == (1.0, 1.0)
    assert four.scaling == pytest.approx(4 * (1 - 0.012 * 3), rel=0.03)
    assert four.scaling_low is not None and four.scaling_high is not None
    assert four.scaling_low < 4 * (1 - 0.012 * 3) < four.scaling_high
    assert four.per_second_low is not None and four.per_second is not None
    assert four.per_second_low < four.per_second
    single = row(summary, LANES)
    assert single.per_second is None and single.scaling is None


def test_ratios_of_threads_are_to_the_reference_on_as_many(summary: Summary) -> None:
    reference = row(summary, "mldsa-native:native:compact:loop-100:threads-4")
    assert reference.ratio == reference.ratio_low == 1.0
    assert row(summary, "mldsa-native:native:compact").ratio == 1.0
    four = row(summary, f"{LANES}:loop-100:threads-4")
    assert four.ratio == pytest.approx(131 / 132, rel=0.04)


def test_a_variant_id_as_reference_stands_for_its_threads_too(record: Record) -> None:
    found = summarise(record, reference=LANES)
    assert row(found, LANES).ratio == 1.0
    assert row(found, f"{LANES}:loop-100:threads-2").ratio == 1.0


def test_on_the_wall_clock_every_row_says_so(record: Record) -> None:
    assert {r.clock for r in summarise(record, clock="wall").rows} == {"wall"}


def test_classical_schemes_stand_beside_the_cheapest_of_each_kind(summary: Summary) -> None:
    found = {
        (c.operation, c.variant): c.ratio
        for c in summary.classical
        if c.against.startswith("ed25519-dalek")
    }
    kinds = {v for o, v in found if o == "sign"}
    assert LANES in kinds and "mldsa-lanes:portable:expanded" in kinds
    assert len(kinds) == 4
    (best,) = [v for v in kinds if ":batch" in v and "avx2" in v]
    assert best in (f"{LANES}:batch-1000", f"{LANES}:batch-100")
    assert found["sign", best].value == pytest.approx(0.57 * 131 / 20, rel=0.08)
    assert found["sign", best].low is not None
    assert not any("loop" in v or "threads" in v for _, v in found)


# --- what a reader sees -------------------------------------------------------------------------


def test_runs_stay_out_of_the_ordinary_tables(view: View) -> None:
    assert all(not is_run(line.row) for t in view.tables for line in t.lines)
    assert view.labels[LANES] == "mldsa-lanes avx2"
    assert view.labels[f"{LANES}:batch-8"] == "mldsa-lanes avx2 batch 8"
    assert view.labels[f"{LANES}:loop-100:threads-4"] == "mldsa-lanes avx2 loop 100 4 threads"


def test_a_table_of_batches_has_a_series_for_each_variant(view: View) -> None:
    signing = batches(view)[0]
    assert (signing.set, signing.operation, signing.numbers) == (SET, "sign", SIZES)
    assert signing.ratio_size == 1000
    first = signing.series[0]
    assert first.label == "mldsa-lanes avx2" and first.keys == "many keys"
    assert list(first.rows) == list(SIZES) and first.loop is not None
    expanded = next(s for s in signing.series if s.key == "expanded")
    assert expanded.keys == "one key"
    native = next(s for s in signing.series if s.label == "mldsa-native")
    assert native.rows == {} and signing.told(native) is native.loop
    costs = [signing.told(s) for s in signing.series]
    means = [r.mean for r in costs if r is not None and r.mean is not None]
    assert means == sorted(means) and len(means) == len(signing.series)


def test_a_table_of_threads_has_a_series_for_each_form(view: View) -> None:
    signing = threads(view)[0]
    assert (signing.set, signing.operation, signing.numbers) == (SET, "sign", (1, 2, 4))
    lanes = [s for s in signing.series if s.label == "mldsa-lanes avx2"]
    assert [s.calls for s in lanes] == ["batches of 1,000", "single"]
    assert {t.set for t in threads(view)} == {SET, "Ed25519"}


def test_batches_stand_on_the_first_screen_and_not_in_sentences(view: View) -> None:
    single, more = overviews(view, SET)
    assert not any("batch" in sentence for sentence in find(view).sentences)
    calls = next(c for c in more.columns if c.title == "calls").cells
    assert {"batch of 1,000, many keys", "batch of 1,000, one key", "expanded key"} == set(calls)
    assert [c.title for c in single.columns if c.number] == [
        "#", "sign, µs", "ratio", "verify, µs", "ratio", "keygen, µs", "ratio",
    ]  # fmt: skip
    names = next(c for c in single.columns if c.head).cells
    assert len(set(names)) == len(names), "a row for each implementation, not for each backend"


def test_a_table_names_the_fastest_of_each_operation_and_the_next(view: View) -> None:
    grid = leaders(view)
    assert grid is not None
    by = {c.title: c.cells for c in grid.columns}
    short = SET.removeprefix("ML-DSA-")
    row = list(zip(by["operation"], by["calls"], strict=True)).index(("sign", "compact key"))
    table = view.table(SET, "sign")
    assert table is not None
    first, after, *_ = best_lines(table)
    assert by[f"{short}: fastest"][row] == first.row.implementation
    assert by["next"][row] == after.row.implementation
    factor = by["times"][row]
    assert isinstance(factor, Shown) and factor.number is not None and factor.low
    assert first.row.mean and after.row.mean
    assert factor.number == pytest.approx(after.row.mean / first.row.mean, rel=0.1)
    assert leaders(dataclasses.replace(view, tables=())) is None


def test_the_next_implementation_costs_more_where_rounds_are_noisy(tmp_path: Path) -> None:
    costs = SIGNERS[2].cost
    signers = tuple(dataclasses.replace(s, cost=costs, noise=0.8) for s in SIGNERS[2:8])
    noisy = build(tmp_path / "run.jsonl", Shape(sets=(SET,), signers=signers, rounds=5, seed=3))
    grid = leaders(build_view(noisy, summarise(noisy)))
    assert grid is not None
    (factors,) = (c.cells for c in grid.columns if c.title == "times")
    assert all(isinstance(f, Shown) and f.number is not None and f.number >= 1 for f in factors)


def test_ranks_ascend_where_ratios_contradict_means(tmp_path: Path) -> None:
    signers = tuple(dataclasses.replace(s, noise=0.1 * (1 + i % 3)) for i, s in enumerate(SIGNERS))
    shape = Shape(sets=(SET,), signers=signers, rounds=6, random=8, seed=0)
    noisy = build(tmp_path / "run.jsonl", shape)
    table = build_view(noisy, summarise(noisy)).table(SET, "verify")
    assert table is not None
    assert [line.rank for line in table.lines] == [1, 2, 2, 2, 2, 6, 7, 8, 9, 9, 9]


def test_a_sentence_tells_threads(view: View) -> None:
    text = scaling(view)
    assert "4 threads do 3.8" in text or "4 threads do 3.9" in text


def printed(view: View, width: int) -> str:
    out = io.StringIO()
    print_view(view, Console(file=out, width=width), every=True)
    return out.getvalue()


@pytest.mark.parametrize("width", [80, 100, 120, 200])
def test_the_terminal_has_its_tables_at_any_width(view: View, width: int) -> None:
    text = printed(view, width)
    assert max(map(len, text.splitlines())) <= width
    for title in (
        f"{SET}  sign in batches", f"{SET}  keygen in batches", f"{SET}  sign on threads",
        "Ed25519  verify on threads", "Beside classical schemes",
    ):  # fmt: skip
        assert title in text
    assert "ratio at 1,000" in text and "4 threads" in text and "scaling" in text


def test_the_page_has_its_sections(view: View) -> None:
    page = render([view])
    for anchor in ("batches", "threads", "versus", "fastest"):
        assert f'id="{anchor}"' in page
    assert '<a href="#batches">' in page and '<a href="#threads">' in page
    assert page.count("in batches<span") == 3
    assert 'aria-label="Cost of ML-DSA-65 sign over batch size, in µs"' in page
    assert "Throughput of ML-DSA-65 sign over that of one thread" in page
    ids = re.findall(r'\bid="([^"]+)"', page)
    assert len(ids) == len(set(ids))


@pytest.mark.e2e
def test_several_records_keep_their_anchors_apart(view: View) -> None:
    page = render([view] * 2)
    assert 'id="r1-batches"' in page and 'id="r2-threads"' in page
    ids = re.findall(r'\bid="([^"]+)"', page)
    assert len(ids) == len(set(ids))


@pytest.mark.e2e
def test_a_page_without_runs_has_none_of_them(tmp_path: Path) -> None:
    record = build(
        tmp_path / "r.jsonl",
        Shape(sets=(SET, "Ed25519"), signers=FEW, rounds=2),
    )
    view = build_view(record, summarise(record))
    assert batches(view) == [] and threads(view) == [] and scaling(view) == ""
    page = render([view])
    for text in ('id="batches"', 'id="threads"', 'id="versus"', "in batches"):
        assert text not in page
    assert "Beside classical" not in printed(view, 120)


def test_the_command_names_the_runs(record: Record) -> None:
    run = record.run
    made = replace(run, options={**run.options, "batch_sizes": [1, 8], "thread_counts": [1, 2]})
    record = dataclasses.replace(record, run=made)
    assert "--batch 1,8" in command(record) and "--threads 1,2" in command(record)
    empty = replace(run, options={**run.options, "batch_sizes": [], "thread_counts": []})
    assert "--batch" not in command(dataclasses.replace(record, run=empty))


# --- plots --------------------------------------------------------------------------------------


def test_the_plots_have_a_line_for_each_batch_and_few_levels(view: View) -> None:
    table = batches(view)[0]
    paths = batch_paths(table, "mldsa-native")
    lines = [p for p in paths if p.points]
    assert lines[0].label == "mldsa-lanes avx2, many keys"
    assert len(lines) == 3 and all(len(p.points) == len(SIZES) for p in lines)
    levels = [p for p in paths if p.level is not None]
    assert 1 < len(levels) <= MOST_LEVELS + 1
    assert any(p.label == "mldsa-native, loop" for p in levels)
    slowest = batch_paths(table, "rustcrypto")
    assert any(p.label == "rustcrypto, loop" for p in slowest)


@pytest.mark.parametrize("counts", [(1,), (1, 2), (1, 2, 4, 8, 16, 32, 64)])
def test_plots_are_drawn_for_any_numbers(view: View, counts: tuple[int, ...]) -> None:
    table = threads(view)[0]
    cost = batches(view)[0]
    with svg.drawing():
        for figure in (
            run_plots.throughput(rate_paths(table), counts, "per second", 540),
            run_plots.scaling(scaling_paths(table), counts, 540),
            run_plots.batch_costs(batch_paths(cost, "mldsa-native"), counts, "µs", 760),
        ):
            text = svg.to_svg(figure, "name", "title")
            assert text.startswith("<svg") and "nan" not in text.lower()
            assert f">{counts[-1]}<" in text
