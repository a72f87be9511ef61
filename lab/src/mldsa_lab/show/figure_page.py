"""The page of a report: tables, and plots of what their layouts name."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from markupsafe import Markup
from matplotlib.figure import Figure as Drawing

from mldsa_lab.estimate.figure import Figure
from mldsa_lab.show import plots, run_plots, svg
from mldsa_lab.show.figure_tables import Bars, FigureTable, SpreadColumns, display_unit
from mldsa_lab.show.format import Unit, clean, plain
from mldsa_lab.show.grid import Dot, Grid, heading
from mldsa_lab.show.page import asset, script_hash, templates
from mldsa_lab.show.report import Report, Section

_WIDTH, _BARS_WIDTH = 560.0, 380.0
_FEWEST_POINTS = 3
"""Points below which a line says no more than the table."""


@dataclass(frozen=True, slots=True)
class Plot:
    """A plot with its title and its colours' names."""

    title: str
    picture: Markup
    legend: tuple[tuple[str, Dot], ...] = ()


@dataclass(frozen=True, slots=True)
class PageSection:
    """A table with its plots."""

    grid: Grid
    plots: list[Plot]


def render(report: Report) -> str:
    """Return the page as text."""
    script = asset("page.js")
    sections = [PageSection(s.grid, _plots(s, f"t{n}")) for n, s in enumerate(report.sections)]
    return templates("mldsa_lab.show").get_template("figures.html.j2").render(
        report=report, sections=sections, heading=heading,
        css=Markup(asset("page.css")), script=Markup(script), script_hash=script_hash(script),
        total_series=svg.SERIES_COUNT,
    )  # fmt: skip


def _plots(section: Section, anchor: str) -> list[Plot]:
    """The plots of a section: those of its layout, then its own."""
    made = []
    if section.table is not None:
        made += [*_lines(section.table, anchor), *_bars(section.table, anchor)]
    for number, spec in enumerate(section.plots):
        with svg.drawing():
            drawing = spec.draw()
        made.append(_plot(spec.title, drawing, f"{anchor}-p{number}", spec.legend))
    return made


def _lines(table: FigureTable, anchor: str) -> Iterator[Plot]:
    """Lines over the layout's key; bars at its last value where lines have too few points."""
    spread = table.layout.lines
    values = [v for v in table.values(spread.across) if isinstance(v, int)] if spread else []
    if spread is None or not values:
        return
    found = [f for v in values for f in table.at(spread, v) if f and f.value is not None]
    unit = display_unit(found)
    paths = list(_series(table, spread, values, unit))
    with svg.drawing():
        if len(values) >= _FEWEST_POINTS:
            drawing = run_plots.over_key(paths, values, spread.across, unit.name, _WIDTH)
        else:
            bars = [
                plots.PartedBar(
                    path.label,
                    plain(path.end, Unit(1.0, unit.name)),
                    ((svg.series(0), svg.ON_DARK, path.end),),
                )
                for path in paths
            ]
            drawing = plots.amounts(bars, unit.name, _WIDTH)
    title = table.title
    if len(values) < _FEWEST_POINTS:
        title += f", {spread.across} {values[-1]}"
    yield _plot(title, drawing, anchor)


def _series(
    table: FigureTable, spread: SpreadColumns, values: Sequence[int], unit: Unit
) -> Iterator[run_plots.Path]:
    """Of the rows of each series the one that ends lowest, the lowest series first."""
    best: dict[tuple[object, ...], run_plots.Path] = {}
    for of in table.rows.values():
        by_value = {f.keys.get(spread.across): f for f in of if f.name == spread.name}
        known = [(v, by_value[v].interval) for v in values if v in by_value]
        points = tuple((float(v), y.times(1 / unit.divisor)) for v, y in known if y is not None)
        series = tuple(of[0].keys.get(k) for k in table.layout.series)
        label = " ".join(str(part) for part in series if part not in (None, "compact"))
        if points and (series not in best or points[-1][1].value < best[series].end):
            best[series] = run_plots.Path(label, 0, False, points)
    ordered = sorted(best.values(), key=lambda path: path.end)[: svg.SERIES_COUNT]
    for colour, path in enumerate(ordered):
        yield run_plots.Path(path.label, colour, False, path.points)


def _bars(table: FigureTable, anchor: str) -> Iterator[Plot]:
    for operation in table.values(table.layout.of_bars) if table.layout.bars else ():
        rows = [of for of in table.rows.values() if of[0].keys[table.layout.of_bars] == operation]
        for number, bars in enumerate(table.layout.bars):
            drawn = [bar for of in rows if (bar := _bar(of, bars)) is not None]
            if drawn:
                with svg.drawing():
                    drawing = plots.amounts(drawn, _unit_of(bars, rows).name, _BARS_WIDTH)
                legend = tuple((title, Dot(i)) for i, title in enumerate(bars.titles))
                title = f"{heading(str(operation))}: {bars.title[:1].lower()}{bars.title[1:]}"
                yield _plot(title, drawing, f"{anchor}-{operation}-{number}", legend)


def _unit_of(bars: Bars, rows: Sequence[Sequence[Figure]]) -> Unit:
    return display_unit([f for of in rows for f in of if f.name in bars.names])


def _bar(of: Sequence[Figure], bars: Bars) -> plots.PartedBar | None:
    """A row of a plot; None where its first figure is not known."""
    by_name = {f.name: f for f in of}
    if bars.names[0] not in by_name or by_name[bars.names[0]].value is None:
        return None
    unit = display_unit([by_name[bars.names[0]]])
    values = [by_name[n].value or 0.0 if n in by_name else 0.0 for n in bars.names]
    keys = of[0].keys
    words = [keys["implementation"], keys["backend"]]
    words += [keys[k] for k in ("build", "key") if keys[k] not in (None, "default", "compact")]
    words += [f"×{keys['batch_size']}"] if keys.get("batch_size", 1) != 1 else []
    parts = tuple((svg.series(i), svg.ON_DARK, unit.shown(v)) for i, v in enumerate(values))
    return plots.PartedBar(" ".join(map(str, words)), plain(sum(values), unit), parts)


def _plot(
    title: str, drawing: Drawing, anchor: str, legend: tuple[tuple[str, Dot], ...] = ()
) -> Plot:
    return Plot(title, Markup(svg.to_svg(drawing, anchor, clean(title))), legend)
