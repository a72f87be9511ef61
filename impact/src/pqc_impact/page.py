"""A scenario's figures as one self-contained HTML page, in the style of a run's."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from mldsa_lab.show import plots, svg
from mldsa_lab.show.format import clean
from mldsa_lab.show.grid import Grid, heading
from mldsa_lab.show.page import asset, script_hash, templates
from mldsa_lab.show.plots import DottedCurve, Mark
from pqc_impact.base import ScenarioForm
from pqc_impact.figures import Impact, on_cores
from pqc_impact.file import Chain, Template
from pqc_impact.network import RELAYS
from pqc_impact.quantity import positive
from pqc_impact.show import (
    headline,
    least_sure,
    lines_of,
    overview,
    remarks,
    rules,
    shown,
    sources,
    tables,
    unit_of,
)
from pqc_impact.spreading import as_today, blocks_of, reach, size_of, stale
from pqc_impact.sweep import SHARES
from pqc_impact.times import DRAWS

_WIDTH = 380.0


@dataclass(frozen=True)
class TemplateSection:
    """A form of transaction: its plots with their titles, then its tables."""

    name: str
    plots: list[tuple[str, Markup]]
    grids: list[tuple[str, Grid]]


def render(found: Impact) -> str:
    """The page as text."""
    sections = [
        TemplateSection(
            template.name,
            [*_plots(found, template, number), *_network_plots(found, template, number)],
            tables(found, template),
        )
        for number, template in enumerate(found.scenario.all_templates.values())
        if lines_of(found, template)
    ]
    script = asset("page.js")
    return templates("pqc_impact").get_template("page.html.j2").render(
        found=found, headline=headline(found), overview=overview(found),
        sections=sections, heading=heading, remarks=remarks(found), rules=rules(found),
        sources=sources(found), css=Markup(asset("page.css")), script=Markup(script),
        script_hash=script_hash(script), total_series=svg.SERIES_COUNT, draws=DRAWS,
    )  # fmt: skip


def _wanted(found: Impact, template: ScenarioForm) -> tuple[tuple[str, str], ...]:
    """The figures that are drawn, with their titles."""
    if not isinstance(template, Template):
        return (
            ("bytes", "Bytes of one"),
            ("signing per second and core", "Signed per second and core"),
            ("verification per second and core", "Verified per second and core"),
        )
    on = on_cores(max(found.chain.node.cores))
    first = "bytes per second" if template.per_block else "transactions per second"
    return (
        ("bytes", "Bytes of one"),
        (first, heading(first)),
        (f"verification of a block at today's throughput {on}", f"As many as today, verified {on}"),
        (f"first synchronisation {on}", f"First synchronisation {on}"),
    )


def _plots(found: Impact, template: ScenarioForm, number: int) -> list[tuple[str, Markup]]:
    made = []
    for place, (figure, title) in enumerate(_wanted(found, template)):
        lines = lines_of(found, template)
        rows = [line.row(found, figure) for line in lines]
        unit = unit_of(rows)
        marks = []
        for line, row in zip(lines, rows, strict=True):
            if row is None or not row.value:
                continue
            low, high = (None if x is None else unit.shown(x) for x in (row.low, row.high))
            colour = found.scenario.schemes.index(line.scheme)
            value = unit.shown(row.value)
            marks.append(Mark(line.label, colour, False, value, low, high, shown(row, unit).value))
        if not marks:
            continue
        with svg.drawing():
            kind = least_sure([row for row in rows if row is not None])
            named = unit.name or "number"
            drawn = plots.ranking(sorted(marks, key=lambda m: m.value), named, kind, _WIDTH)
        text = svg.to_svg(drawn, f"t{number}-{place}", clean(f"{template.name}: {title}"))
        made.append((title, Markup(text)))
    return made


def _network_plots(
    found: Impact, template: ScenarioForm, number: int
) -> Iterator[tuple[str, Markup]]:
    """Of each relay, times over block size and stale blocks over the interval."""
    wanted = found.scenario.network if isinstance(found.scenario, Chain) else None
    if wanted is None or template.name not in wanted.templates:
        return
    intervals = {
        text: positive(text, "s", "intervals").value
        for text in (found.chain.interval, *wanted.intervals)
    }
    blocks = blocks_of(wanted)
    today = as_today(1.0 if 1.0 in wanted.of_today else min(wanted.of_today))

    def line(
        name: str, style: str, points: Sequence[tuple[float | None, str, float]]
    ) -> DottedCurve:
        """Through what figures have, scaled, where x is known."""
        rows = [(x, found.find(template.name, name, figure), by) for x, figure, by in points]
        there = sorted((x, r.value * by) for x, r, by in rows if x and r is not None and r.value)
        colour = found.scenario.schemes.index(name)
        return DottedCurve(name, colour, style, [x for x, _ in there], [y for _, y in there])

    def size(name: str, block: str) -> float | None:
        row = found.find(template.name, name, size_of(block))
        return None if row is None or row.value is None else row.value / 1e6

    names = [line.scheme for line in lines_of(found, template, today=False)]
    for relay in RELAYS:
        over_size = [
            line(name, style, [(size(name, b), reach(share, b, relay), 1.0) for b in blocks])
            for name in names
            for share, style in zip(SHARES, (":", "-", "--"), strict=True)
        ]
        over_interval = [
            line(name, "-", [(s, stale(text, today, relay), 100) for text, s in intervals.items()])
            for name in names
        ]
        for place, (lines, title, across, up) in enumerate((
            (over_size, f"Until 50 (dotted), 90 and 99 % (dashed) of nodes: {relay}",
             "MB of a block", "s"),
            (over_interval, f"Stale blocks: {relay}", "s from block to block",
             f"%, {today}"),
        )):  # fmt: skip
            drawn = [one for one in lines if one.x]
            if not drawn:
                continue
            with svg.drawing():
                figure = plots.curves(drawn, across, up, _WIDTH)
            text = svg.to_svg(
                figure, f"t{number}-{relay}-{place}", clean(f"{template.name}: {title}")
            )
            yield title, Markup(text)
