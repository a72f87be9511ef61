"""Batches, threads and classical schemes in the table, the terminal and the page."""

from __future__ import annotations

import dataclasses
import math
import re
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from msgspec import structs
from report_records import CLASSICAL, SIGNERS, Shape, page_of, printed, record_of, report_of

from mldsa_lab.estimate.fit import fit_costs
from mldsa_lab.estimate.interval import Interval
from mldsa_lab.estimate.summary import Summary, summarise
from mldsa_lab.records import Record
from mldsa_lab.show import plots, report, svg
from mldsa_lab.show.findings import find, find_standing
from mldsa_lab.show.grid import Grid
from mldsa_lab.show.report import SERIES_COUNT, Look
from mldsa_lab.show.signing_plots import to_curve
from mldsa_lab.theory.rejection import RejectionModel
from mldsa_studies.signers import Signer, draw_traces

SET = "ML-DSA-65"
LANES = "mldsa-lanes:avx2:compact"


@pytest.fixture(scope="module")
def record() -> Record:
    signers = (*SIGNERS[:8], CLASSICAL[0])
    shape = Shape(sets=(SET, "Ed25519"), signers=signers, rounds=5)
    return record_of(shape, batch_sizes=(1, 8, 1000), thread_counts=(1, 2))


def test_a_variant_id_as_reference_stands_for_its_threads_too(record: Record) -> None:
    cells = summarise(record, baseline=LANES).by_id
    for variant in (LANES, f"{LANES}:loop-100:threads-2"):
        assert cells[variant, SET, "sign"].value("ratio") == 1.0


def test_a_rank_is_the_place_of_the_first_row_that_has_it(
    record: Record, monkeypatch: pytest.MonkeyPatch
) -> None:
    summary, rng = summarise(record), np.random.default_rng(5)
    for _ in range(200):
        size = int(rng.integers(1, 14))
        table = rng.random((size, size)) < rng.random()
        monkeypatch.setattr(Summary, "is_slower", lambda _, a, b, t=table: t[a.place, b.place])
        cells = [SimpleNamespace(place=place, has_interval=True) for place in range(size)]
        found = summary.ranks(cells)  # type: ignore[arg-type]
        first = {rank: place for place, rank in reversed(list(enumerate(found, 1)))}
        assert found == sorted(found) and all(rank == place for rank, place in first.items())


def test_all_ratios_of_the_first_measure_are_in_one_line(record: Record) -> None:
    summary = summarise(record)
    standing = find_standing(summary, summary.table(SET, "sign"))
    assert standing is not None
    ratios = find(summary).sentences[0]
    assert ratios.startswith(f"{standing.names} ") and " fastest: " in ratios
    behind = [c for c in standing.cells[1:] if c not in standing.level]
    names = [c.variant.implementation for c in behind]
    assert re.findall(r"× ([^,]+?)(?:,|\.$)", ratios) == names
    values = [float(text) for text in re.findall(r"([\d.]+)×", ratios)]
    costs = [c.ratio_to(standing.cells[0], 0.95).value for c in behind]  # type: ignore[union-attr]
    assert values == pytest.approx(costs, rel=0.06) and values == sorted(values)


# --- colours ------------------------------------------------------------------------------------


def test_no_two_implementations_of_a_report_look_alike() -> None:
    names = [*report._COLOURED[:-8], *(f"new-{n}" for n in range(14))]
    signers = tuple(dataclasses.replace(SIGNERS[0], implementation=name) for name in names)
    shape = Shape(sets=(SET,), signers=signers, operations=("verify",), rounds=1, random=1)
    colours = report.assign_colours([record_of(shape)])
    looks = [(svg.series(colours[n]), svg.marker(colours[n])) for n in names]
    assert len(set(looks)) == len({colour for colour, _ in looks}) == len(names) == 40
    assert colours["libcrux"] != colours["mldsa-lanes-hardened"]
    assert [colours[n] for n in ("mldsa-native", "mldsa-lanes")] == [0, 1]
    alone = report.assign_colours([record_of(shape, signers=(signers[8],))])
    assert alone[names[8]] == colours[names[8]]
    css = (Path(svg.__file__).parent / "page.css").read_text()
    themes = re.split(r"@media", css)
    for theme in (themes[0], themes[1], css[css.index("@media print") :]):
        found = dict(re.findall(r"--s(\d+): (#[0-9a-f]{6})", theme))
        assert len(found) == len(set(found.values())) == SERIES_COUNT


def test_not_there_excluded_and_not_asked_for_are_three_things() -> None:
    names = ("lone", "refused", "unasked")
    signers = [dataclasses.replace(SIGNERS[1], implementation=name) for name in names]
    signers += [dataclasses.replace(SIGNERS[0], implementation=name) for name in names[1:]]
    *_, refused, unasked = (s.id for s in signers)
    record = record_of(sets=(SET,), signers=(*SIGNERS[2:4], *signers), refused=(refused,))
    record.samples[:] = [s for s in record.samples if s.variant != unasked]
    record.gates[:] = [g for g in record.gates if g.variant != unasked]
    shown = report_of(record)
    compact, expanded = (
        next(s.grid for s in shown.sections if s.grid.title == f"{SET}: {kind}")
        for kind in ("single calls, compact key", "expanded keys")
    )
    marks = dict(zip(_cells(compact, "implementation"), compact.marks, strict=True))
    assert (marks["lone"], marks["refused"]) == ("e", "x") and "unasked" not in marks
    place = list(marks).index("refused")
    assert {_cells(compact, o)[place] for o in ("sign", "verify", "keygen")} == {"–"}
    assert set(names) <= set(_cells(expanded, "implementation"))
    told = {str(reason) for reason in shown.remarks["Marks"]}
    assert any("excluded with a compact key" in text for text in told)


def test_each_mark_stands_at_its_rows() -> None:
    record = record_of(sets=(SET,), rounds=8, crashed=SIGNERS[4].id)
    place, first = next(
        (n, s) for n, s in enumerate(record.samples)
        if (s.variant, s.operation) == (SIGNERS[7].id, "sign")
    )  # fmt: skip
    zero = {"cpu": (0, *(first.cpu or ())[1:])}
    record.samples[place] = structs.replace(first, metrics=first.metrics | zero)
    shown = report_of(record)
    grid = next(s.grid for s in shown.sections if s.grid.title == f"{SET} sign")
    marks = dict(zip(_cells(grid, "implementation"), grid.marks, strict=True))
    assert {name: mark for name, mark in marks.items() if mark} == {
        "aws-lc": "f!", "circl": "w", "filippo": "w", "pqcrypto": "h", "fips204": "n",
    }  # fmt: skip
    assert {reason.subject for reason in shown.remarks["Marks"]} == set("hwfn!")


def test_costs_of_a_table_have_the_unit_of_its_means() -> None:
    """A largest call of milliseconds beside means of microseconds."""
    record = record_of(sets=(SET,), rounds=6, signers=SIGNERS[:4])
    for n, s in enumerate(record.samples):
        if s.operation == "verify" and s.round == 0:
            late = {name: (5_000_000, *of[1:]) for name, of in s.metrics.items()}
            record.samples[n] = structs.replace(s, metrics=s.metrics | late)
    grid = next(s.grid for s in report_of(record).sections if s.grid.title == f"{SET} verify")
    assert grid.note.startswith("µs, ") and set(_cells(grid, "max")) == {"5,000"}


def _cells(grid: Grid, title: str) -> list[str]:
    (column,) = (c for c in grid.columns if c.title.split(",")[0] == title)
    return [str(cell) for cell in column.cells]


def test_a_row_that_was_cut_short_has_no_rank() -> None:
    slow = SIGNERS[4].scaled(9)
    record = record_of(sets=(SET,), signers=(*SIGNERS[2:4], slow), crashed=slow.id)
    summary = summarise(record)
    assert [cell.variant.id for cell in summary.table(SET, "sign")][-1] == slow.id
    ranked = [f.keys["variant"] for f in summary.figures() if f.name == "rank"]
    assert slow.id not in ranked and len(ranked) == 6
    shown = report_of(record)
    assert slow.implementation not in shown.headline
    grid = next(s.grid for s in shown.sections if s.grid.title.endswith("compact key"))
    places = dict(zip(_cells(grid, "implementation"), _cells(grid, "#"), strict=True))
    assert places[slow.implementation] == "–" and "1" in places.values()


def test_runs_have_tables_in_a_narrow_terminal_and_a_plot(record: Record) -> None:
    text = printed(record, 80)
    assert max(map(len, text.splitlines())) <= 80
    for title in ("sign in batches", "sign on threads", "Beside classical schemes"):
        assert title in text
    page = page_of(record, Look("rustcrypto"))
    [picture] = re.findall(r'<svg [^>]*"Cost over batch size of ML-DSA-65 sign.*?</svg>', page)
    labels = re.findall(r">([^<]+)</text>", picture)
    assert "mldsa-lanes avx2, many keys" in labels
    levels = [label for label in labels if label.endswith(", loop")]
    assert 1 < len(levels) <= 6 and "rustcrypto, loop" in levels


# --- plots --------------------------------------------------------------------------------------


@pytest.mark.parametrize("counts", [(1,), (1, 2), (1, 2, 4, 8, 16, 32, 64), ()])
def test_lines_are_drawn_over_any_numbers(counts: tuple[int, ...]) -> None:
    points = tuple((float(n), Interval(n, 0.9 * n, 1.1 * n)) for n in counts or (3, 50))
    paths = [plots.Path("a", 0, "-", points), plots.Path("b", 1, "--", (), 3.0)]
    for how in ({}, {"is_rate": True}, {"is_ratio": True}):
        with svg.drawing():
            figure = plots.over_key(paths, counts, "threads", "per second", 540, **how)
            text = svg.to_svg(figure, "name", "title")
        assert text.startswith("<svg") and "nan" not in text.lower()
        assert not counts or f">{counts[-1]}<" in text


@pytest.mark.parametrize("noise", [0.0, 0.03])
def test_the_law_drawn_is_that_of_the_percentiles(noise: float) -> None:
    """With the scatter about the fit that the percentiles include."""
    model, rng = RejectionModel.for_set("ML-DSA-65"), np.random.default_rng(1)
    traces = draw_traces(model, 20, rng)
    cost = Signer().cost_of(traces) * np.exp(noise * rng.standard_normal(20))
    fit = fit_costs(traces, cost[None, :], model, noise=0.0)
    curve = to_curve("a", 0, False, fit.law(), 1.0)
    shares = (0.5, 0.95, 0.99, 0.999)
    for share, interval in zip(shares, fit.quantiles(shares, 0.95), strict=True):
        assert curve.quantile(share) == pytest.approx(interval.value, rel=2e-3)


@pytest.mark.parametrize("lowest", [-30.0, -90.0, 0.0])
def test_a_law_that_reaches_below_0_is_drawn_from_where_it_is_above(lowest: float) -> None:
    """Costs that do not follow the attempts, of a caching signer or a busy machine, may be fitted
    by negative ones, for which a log axis has no room."""
    shares = 1 - 0.8 ** np.arange(1.0, 61)
    below = plots.Curve("below", 0, False, lowest + np.arange(60.0), shares)
    assert math.isnan(below.quantile(0.1)) and below.quantile(0.9999) != 0
    sound = plots.Curve("sound", 1, False, np.arange(1.0, 61), shares)
    for curves in ([below], [below, sound]):
        with svg.drawing():
            text = svg.to_svg(plots.distribution(curves, "µs"), "law", "law")
        assert (">below<" in text) == (lowest > -60) and (">sound<" in text) == (sound in curves)
