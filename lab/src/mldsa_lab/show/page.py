"""One self-contained HTML page from reports: no network, no script needed to read it."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from importlib import resources
from itertools import groupby

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from mldsa_lab.estimate.figure import Figure, Key
from mldsa_lab.show import plots, svg
from mldsa_lab.show.figure_tables import (
    Bars,
    FigureTable,
    Lines,
    Ranking,
    SpreadColumns,
    display_unit,
)
from mldsa_lab.show.grid import (
    SERIES_COUNT,
    Dot,
    Grid,
    Unit,
    clean,
    estimate,
    format_plain,
    heading,
)
from mldsa_lab.show.report import PlotSpec, Report, Section, as_json

_WIDTH, _BARS_WIDTH, _LONG_WIDTH = 560.0, 380.0, 760.0
_FEWEST_POINTS = 3
"""Points below which a line says no more than the table."""
_MOST_LINES = 10
"""Lines with points in one plot: the best."""
_LEVELS = 5
"""Rows without points in a plot of lines: the best, and the baseline."""


@dataclass(frozen=True, slots=True)
class Plot:
    """A plot with its title and its colours' names; of a wide one also a narrow picture."""

    title: str
    picture: Markup
    legend: tuple[tuple[str, Dot], ...]
    narrow: Markup | None


@dataclass(frozen=True, slots=True)
class PlotGroup:
    """Plots that belong together, under one ``text`` and one ``legend``."""

    text: str
    legend: tuple[tuple[str, Dot], ...]
    layout: str
    plots: list[Plot]


@dataclass(frozen=True, slots=True)
class PageTable:
    """A table with its plots."""

    grid: Grid
    groups: list[PlotGroup]


@dataclass(frozen=True, slots=True)
class Chapter:
    """A part of the page that the navigation names."""

    anchor: str
    title: str
    texts: Sequence[str]
    facts: Sequence[tuple[str, str]]
    tables: list[PageTable]


@dataclass(frozen=True, slots=True)
class PagePart:
    """A report as the template shows it. ``data``: its figures as a data: URI of JSON."""

    anchor: str
    report: Report
    first: list[PageTable]
    chapters: list[Chapter]
    data: str


def render(reports: Sequence[Report]) -> str:
    """Return the page of one report, or of several, as text."""
    environment = Environment(
        loader=PackageLoader("mldsa_lab.show", "."),
        autoescape=True, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True,
        # A value without control characters, then escaped like every other.
        finalize=lambda value: value if isinstance(value, Markup) else clean(value),
    )  # fmt: skip
    environment.filters["code"] = as_code
    script = _read_asset("page.js")
    # No other script may run.
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    parts = [
        _make_part(report, f"r{n}-" if len(reports) > 1 else "") for n, report in enumerate(reports)
    ]
    methods = dict.fromkeys(r.method for r in reports if r.method)
    return environment.get_template("figures.html.j2").render(
        parts=parts, methods=list(methods), heading=heading, css=Markup(_read_asset("page.css")),
        script=Markup(script), script_hash=digest, total_series=SERIES_COUNT,
        marker_number=svg.marker_number,
    )  # fmt: skip


def as_code(text: str) -> Markup:
    """A sentence whose parts between backticks are set as code."""
    return Markup(re.sub(r"`([^`]+)`", r"<code>\1</code>", str(escape(clean(text)))))


def _read_asset(name: str) -> str:
    return resources.files("mldsa_lab.show").joinpath(name).read_text(encoding="utf-8").strip()


def _make_part(report: Report, prefix: str) -> PagePart:
    """Chapters in the order of their texts, and others in that of their sections."""
    pages = [
        (s, PageTable(s.grid, _group(s, f"{prefix}t{n}"))) for n, s in enumerate(report.sections)
    ]
    shown = [(s.chapter or s.grid.title, page) for s, page in pages if not s.is_first]
    titles = [title for title, _ in shown]
    order = dict.fromkeys([*report.texts, *titles, *report.facts])
    chapters = []
    for number, title in enumerate(order, 1):
        tables = [page for chapter, page in shown if chapter == title]
        texts, facts = report.texts.get(title, ()), report.facts.get(title, ())
        chapters.append(Chapter(f"{prefix}s{number}", title, texts, facts, tables))
    data = as_json([report]).encode()
    link = f"data:application/json;base64,{base64.b64encode(data).decode()}"
    return PagePart(prefix, report, [p for s, p in pages if s.is_first], chapters, link)


def _group(section: Section, anchor: str) -> list[PlotGroup]:
    """The plots of a section: those of its layout, then its own."""
    specs = [*(_list_plots(section.table) if section.table else ()), *section.plots]
    groups = []
    for number, ((text, wide, small), members) in enumerate(
        groupby(specs, lambda p: (p.text, p.narrow is not None, p.is_small))
    ):
        listed = list(members)
        legend = listed[0].legend if text else ()
        drawn = [_draw(p, f"{anchor}-{number}-{n}", bool(legend)) for n, p in enumerate(listed)]
        layout = "law" if wide else "clouds" if small else "plots"
        layout += " pair" if layout == "plots" and len(drawn) < 3 else ""
        groups.append(PlotGroup(text, legend, layout, drawn))
    return groups


def _draw(spec: PlotSpec, anchor: str, is_shared: bool) -> Plot:
    pictures = []
    for draw, name in ((spec.draw, anchor), (spec.narrow, f"{anchor}n")):
        if draw is not None:
            with svg.drawing():
                text = svg.to_svg(draw(), name, clean(spec.alt or spec.title))
            pictures.append(Markup(text))
    legend = () if is_shared else spec.legend
    return Plot(spec.title, pictures[0], legend, pictures[1] if spec.narrow else None)


# --- the plots of a layout ------------------------------------------------------------------------


def _list_plots(table: FigureTable) -> Iterator[PlotSpec]:
    for ranking in table.layout.rankings:
        yield from _plot_ranking(table, ranking)
    for lines in table.layout.lines:
        yield from _plot_lines(table, lines)
    for operation in table.values(table.layout.bar_key) if table.layout.bars else ():
        for bars in table.layout.bars:
            yield from _plot_bars(table, operation, bars)


def _plot_ranking(table: FigureTable, ranking: Ranking) -> Iterator[PlotSpec]:
    """A dot with its interval for each row."""
    known = [f for f in table.at(ranking.name) if f and f.value is not None]
    if not known:
        return
    unit, marks = display_unit(known), []
    for f, label, dot in zip(table.at(ranking.name), table.labels(), table.dots(), strict=True):
        if f is not None and f.interval is not None:
            x, text = f.interval.times(1 / unit.divisor), estimate(f.interval, unit).value
            colour = int(dot.colour)
            marks.append(plots.Mark(label, colour, dot.is_hollow, x.value, x.low, x.high, text))
    confidence = "mean and interval"
    draw = partial(plots.ranking, marks, unit.name, confidence, _BARS_WIDTH)
    if ranking.baseline:
        draw = partial(plots.ratios, marks, ranking.baseline, _BARS_WIDTH)
    listed = ", ".join(f"{m.label} {m.text}" for m in marks)
    yield PlotSpec(ranking.title, draw, alt=f"{ranking.title} of {table.title}: {listed}")


def _plot_lines(table: FigureTable, lines: Lines) -> Iterator[PlotSpec]:
    """Lines over a key; bars at its last value where lines have too few points."""
    values = [v for v in table.values(lines.across) if isinstance(v, int)]
    shown = SpreadColumns(lines.name, "", lines.across, keys=lines.keys)
    figures = [f for v in values for f in table.figures_in(shown, v) if f is not None]
    figures = [f for f in figures if f.value is not None]
    if not figures:
        return
    unit, title = display_unit(figures), lines.title or table.title
    paths = list(_make_paths(table, lines, values, unit))
    alt = f"{title} of {table.title}" if lines.title else title
    if len(values) >= _FEWEST_POINTS or lines.title:
        draw = partial(
            plots.over_key, paths, values, lines.x_title or lines.across.replace("_", " "),
            "× one" if lines.is_ratio else unit.name, _LONG_WIDTH if lines.level else _WIDTH,
            is_rate=lines.is_rate, is_ratio=lines.is_ratio,
        )  # fmt: skip
    else:
        bars = [
            plots.PartedBar(
                path.label,
                format_plain(path.end, Unit(1.0, unit.name)),
                ((svg.series(0), svg.ON_DARK, path.end),),
            )
            for path in paths
        ]
        draw = partial(plots.amounts, bars, unit.name, _WIDTH)
        title += f", {lines.across} {values[-1]}"
    yield PlotSpec(title, draw, alt=alt)


def _make_paths(
    table: FigureTable, lines: Lines, values: Sequence[int], unit: Unit
) -> Iterator[plots.Path]:
    """Yield the row of each series that ends best, the best series first.

    Then the levels of the best rows without points, one for each implementation, and of the
    baseline.
    """
    best: dict[tuple[object, ...], tuple[float, plots.Path]] = {}
    levels: dict[Key, plots.Path] = {}
    dots: Sequence[Dot | None] = table.dots() or [None] * len(table.rows)
    shown = SpreadColumns(lines.name, "", lines.across, keys=lines.keys)
    asked: list[Key] = [*values, *filter(None, [lines.level])]
    at_values = {v: table.figures_in(shown, v) for v in asked}
    has_labels = "label" in table.layout.rows
    for number, (row, keys, dot) in enumerate(zip(table.rows, table.known, dots, strict=True)):
        words = row if has_labels else [keys.get(k) for k in lines.series]
        separator = ", " if has_labels else " "
        label = separator.join(str(w) for w in words if w not in (None, "compact", "single"))
        by_value = {v: f for v, rows in at_values.items() if (f := rows[number]) is not None}
        known = [(v, by_value[v].interval) for v in values if v in by_value]
        points = tuple((float(v), y.times(1 / unit.divisor)) for v, y in known if y is not None)
        colour = dot.colour if dot is not None and isinstance(dot.colour, int) else -1
        style = "--" if keys.get(lines.dashed[0]) == lines.dashed[1] else "-"
        path = plots.Path(label, colour, style, points)
        level = by_value.get(lines.level)
        if points:
            series = tuple(keys.get(k) for k in lines.series)
            end = -path.end if lines.is_rate else path.end
            if series not in best or end < best[series][0]:
                best[series] = end, path
        elif level is not None and level.value is not None:
            label, y = f"{keys['label']}, {lines.level}", unit.shown(level.value)
            levels.setdefault(keys["implementation"], plots.Path(label, colour, "-", (), y))
    ordered = [path for _, path in sorted(best.values(), key=lambda pair: pair[0])]
    flats = [
        p for n, (name, p) in enumerate(levels.items()) if n < _LEVELS or name == lines.baseline
    ]
    for number, path in enumerate([*ordered[:_MOST_LINES], *flats]):
        yield replace(path, colour=number if path.colour < 0 else path.colour)


def _plot_bars(table: FigureTable, operation: Key, bars: Bars) -> Iterator[PlotSpec]:
    """A bar for each row whose first figure is known."""
    drawn = []
    figures = zip(*(table.at(n, table.layout.bar_key, operation) for n in bars.names), strict=True)
    for row, label in zip(figures, table.labels(), strict=True):
        if row[0] is None or row[0].value is None:
            continue
        values = [_value_or_zero(f) for f in row]
        parts = tuple(
            (svg.series(i), svg.ON_DARK, bars.unit.shown(v)) for i, v in enumerate(values)
        )
        drawn.append(plots.PartedBar(label, format_plain(sum(values), bars.unit), parts))
    if drawn:
        legend = tuple((title, Dot(i)) for i, title in enumerate(bars.titles))
        title = f"{heading(str(operation))}: {bars.title[:1].lower()}{bars.title[1:]}"
        yield PlotSpec(title, partial(plots.amounts, drawn, bars.unit.name, _BARS_WIDTH), legend)


def _value_or_zero(figure: Figure | None) -> float:
    return figure.value or 0.0 if figure is not None else 0.0
