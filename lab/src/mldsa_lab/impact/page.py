"""A scenario's figures as one self-contained HTML page, in the style of a run's."""

from __future__ import annotations

from dataclasses import dataclass

from markupsafe import Markup

from mldsa_lab.impact.figures import Impact, on_cores
from mldsa_lab.impact.file import Template
from mldsa_lab.impact.show import (
    TABLES,
    remarks,
    rules,
    schemes_of,
    shown,
    sources,
    unit_of,
)
from mldsa_lab.impact.times import DRAWS
from mldsa_lab.show import plots, svg
from mldsa_lab.show.format import clean
from mldsa_lab.show.grid import Grid, heading
from mldsa_lab.show.page import asset, script_hash, templates
from mldsa_lab.show.plots import Mark

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
            list(_plots(found, template, number)),
            [(title, make(found, template)) for title, make in TABLES.items()],
        )
        for number, template in enumerate(found.scenario.all_templates.values())
        if schemes_of(found, template)
    ]
    script = asset("page.js")
    return templates("mldsa_lab.impact").get_template("page.html.j2").render(
        found=found, sections=sections, heading=heading, remarks=remarks(found), rules=rules(found),
        sources=sources(found), css=Markup(asset("page.css")), script=Markup(script),
        script_hash=script_hash(script), total_series=svg.SERIES_COUNT, draws=DRAWS,
    )  # fmt: skip


def _plots(found: Impact, template: Template, number: int) -> list[tuple[str, Markup]]:
    on = on_cores(max(found.scenario.node.cores))
    first = "bytes per second" if template.per_block else "transactions per second"
    wanted = (
        ("bytes", "Bytes of one"),
        (first, heading(first)),
        (f"verification of a block at today's throughput {on}", f"As many as today, verified {on}"),
        (f"first synchronisation {on}", f"First synchronisation {on}"),
    )
    made = []
    for place, (figure, title) in enumerate(wanted):
        names = schemes_of(found, template)
        rows = [found.find(template.name, name, figure) for name in names]
        unit = unit_of(rows)
        marks = []
        for name, row in zip(names, rows, strict=True):
            if row is None or not row.value:
                continue
            low, high = (None if x is None else unit.shown(x) for x in (row.low, row.high))
            colour = found.scenario.schemes.index(name)
            value = unit.shown(row.value)
            marks.append(Mark(name, colour, False, value, low, high, shown(row, unit).value))
        if not marks:
            continue
        with svg.drawing():
            kind = next(row.kind for row in rows if row is not None)
            drawn = plots.ranking(sorted(marks, key=lambda m: m.value), unit.name, kind, _WIDTH)
        text = svg.to_svg(drawn, f"t{number}-{place}", clean(f"{template.name}: {title}"))
        made.append((title, Markup(text)))
    return made
